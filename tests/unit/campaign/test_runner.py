"""Batches and dead workers: a deadly flight is found and judged an error, a harmless one never is."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import deadly_worker
import pytest
import sqlalchemy as sa
from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign import runner
from ironbird.campaign.batch import BatchResult, TracePolicy, get_ready
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.runner import Progress, begun_crew, run_campaign, start_campaign
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from ironbird.compiler.compiled import LANES
from ironbird.errors import RunError, StoreError


class Pool(Executor):
    """Flies nothing; dies over deadly flights, and as often as it is told."""

    def __init__(self, deadly: set[str], deaths: list[int]) -> None:
        self.deadly, self.deaths = deadly, deaths
        self.broken = False

    def submit(  # type: ignore[override]
        self, function: Any, /, cases: Sequence[FlightCase] = (), policy: TracePolicy | None = None
    ) -> Future[Any]:
        if self.broken:
            raise BrokenProcessPool("broken before")
        future: Future[Any] = Future()
        if function is get_ready:
            return future
        self.deaths[0] -= 1
        if self.deaths[0] >= 0 or self.deadly & {case.id for case in cases}:
            self.broken = True
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            future.set_result(BatchResult([result_of(case) for case in cases], 0.1, 0.2, 5.0 * len(cases)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing to end."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        yield opened


def fly(
    store: Store, monkeypatch: pytest.MonkeyPatch, deadly: set[str], deaths: int = 0
) -> tuple[list[FlightResult], Progress, int]:
    opened = 0
    left = [deaths]

    def open_(place: Any, workers: int | None = None, **_: Any) -> Executor:
        nonlocal opened
        opened += 1
        return Pool(deadly, left)

    monkeypatch.setattr(runner.Crew, "open", open_)
    campaign = store.create("a", "", {}, flight_cases(40))
    state = run_campaign(store, campaign, workers=2, lanes=16)
    return store.results(campaign), state, opened


def test_all_goes_well(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    results, state, opened = fly(store, monkeypatch, set())
    assert [r.verdict for r in results] == ["pass"] * 40 and opened == 1
    assert (state.done, state.total, state.flown, state.counts["pass"]) == (40, 40, 40, 40)
    assert state.simulated_s == 200.0 and state.kernel_s == pytest.approx(0.3) and state.left_s == 0.0


def test_flights_begin_while_their_campaign_is_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    handed_out: list[int] = []

    class Counting(Pool):
        def submit(self, function: Any, /, cases: Sequence[FlightCase] = (), policy: TracePolicy | None = None) -> Any:  # type: ignore[override]
            handed_out.append(len(cases))
            return super().submit(function, cases, policy)

    monkeypatch.setattr(runner.Crew, "open", lambda place, workers=None, **_: Counting(set(), [0]))
    cases = flight_cases(40)
    policy = TracePolicy(None)
    with begun_crew(2) as crew:
        assert handed_out == [0, 0]  # they get ready
        campaign = store.create("a", "", {}, cases, named=lambda: crew.fly_ahead(cases, policy, lanes=8))
        assert handed_out[2:] == [8] * 5  # four for each worker would be more than there are; nothing of it is stored
        assert store.counts(campaign)["open"] == 40
        state = run_campaign(store, campaign, cases=cases, crew=crew, policy=policy, lanes=8)
    assert sum(handed_out) == 40 and state.done == 40
    assert [result.id for result in store.results(campaign)] == [case.id for case in cases]


def test_the_first_flights_of_a_suite_fly_while_the_others_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flown: list[str] = []

    class Noting(Pool):
        def submit(self, function: Any, /, cases: Sequence[FlightCase] = (), policy: TracePolicy | None = None) -> Any:  # type: ignore[override]
            flown.extend(case.id for case in cases)
            return super().submit(function, cases, policy)

    monkeypatch.setattr(runner.Crew, "open", lambda place, workers=None, **_: Noting(set(), [0]))
    monkeypatch.setattr(runner, "FIRST_LANES", 8)
    (tmp_path / "suite.toml").write_text(
        'schema = 1\ntitle = "t"\n[[case]]\nid = "hover"\nvehicle = "quad_f450"\ncontrol = "truth"\n'
        'mission = "hover"\nuntil_s = 5.0\n[case.seeds]\ncount = 60\n'
    )
    suite = load_suite(tmp_path / "suite.toml")
    counts: list[int] = []
    whole = suite.flights()

    def read(_: object) -> list[FlightCase]:
        counts.append(len(flown))
        return whole

    monkeypatch.setattr(type(suite), "flights", read)
    with begun_crew(2) as crew:
        campaign, cases = start_campaign(store, crew, suite, "a", TracePolicy(None))
        assert counts == [32] and list(cases) == whole  # two batches of eight for each worker were handed out before
        state = run_campaign(store, campaign, cases=cases, crew=crew, policy=TracePolicy(None))
    assert sorted(flown) == sorted(case.id for case in whole) and state.done == 60
    assert [result.id for result in store.results(campaign)] == [case.id for case in whole]


def test_flights_that_keep_the_same_signals_fly_beside_each_other() -> None:
    cases = flight_cases(264)
    kinds = ["ab"[i % 2] if i < 256 else "c" for i in range(264)]  # 128, 128 and 8 flights
    group = runner._Group(list(range(264)), cases, 5.0, rate=1000.0)
    group.arrange(kinds)
    batches = []
    while group.cases:
        batches.append(group.cut(96, 1))

    assert [case for batch in batches for case in batch.cases] == [cases[i] for batch in batches for i in batch.numbers]
    assert sorted(i for batch in batches for i in batch.numbers) == list(range(264)) and not group.runs
    assert len(batches[0].cases) == 96
    mixed = [batch for batch in batches if len({kinds[i] for i in batch.numbers}) > 1]
    assert all(len(batch.cases) <= runner.FIRST_LANES for batch in mixed)
    assert {kinds[i] for batch in batches[:3] for i in batch.numbers} == {"a", "b"}  # none waits for the end


def test_a_flight_that_is_taken_alone_leaves_the_rows_of_the_others() -> None:
    group = runner._Group(list(range(6)), flight_cases(6), 5.0)
    group.arrange(["a", "b", "a", "b", "c", "a"])
    assert (group.numbers, group.runs) == ([0, 2, 5, 1, 3, 4], [3, 2, 1])
    for at, runs in ((4, [3, 1, 1]), (4, [3, 1]), (0, [2, 1])):
        group.shorten(at)
        assert group.runs == runs


def test_an_interruption_while_workers_are_started_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Executor] = []

    class Interrupted(Pool):
        def submit(self, *_: Any, **__: Any) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setattr(runner.Crew, "open", lambda place, workers=None, **_: Interrupted(set(), [0]))
    monkeypatch.setattr(runner.Crew, "close", lambda place, executor: closed.append(executor))
    with pytest.raises(KeyboardInterrupt), begun_crew(2, copied=True):
        pass
    assert len(closed) == 1


def test_a_name_that_is_taken_begins_no_flight(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    cases = flight_cases(2)
    store.create("a", "", {}, cases)
    with pytest.raises(StoreError, match="there is a campaign 'a' already"):
        store.create("a", "", {}, cases, named=lambda: begun.append("a"))
    assert not begun


def test_a_deadly_flight_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = flight_cases(40)[11].id
    results, state, opened = fly(store, monkeypatch, {bad})
    assert {r.id for r in results if r.verdict != "pass"} == {bad}
    (error,) = [r for r in results if r.id == bad]
    assert error.verdict == "error" and error.sentence.startswith("the worker died 3 times over this flight alone: ")
    assert state.counts == {"pass": 39, "fail": 0, "void": 0, "error": 1}
    assert opened < 30


@pytest.mark.parametrize("deaths", [1, 5, 7])
def test_kills_from_outside_make_no_errors(store: Store, monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
    results, _, _ = fly(store, monkeypatch, set(), deaths)
    assert [r.verdict for r in results] == ["pass"] * 40


def test_what_no_vehicle_can_fly_is_an_error_and_the_rest_is_flown(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.Crew, "open", lambda place, workers=None, **_: Pool(set(), [0]))
    campaign = store.create("a", "", {}, [flight_case(1), flight_case(2, control="psychic")])
    run_campaign(store, campaign, workers=1)
    good, bad = store.results(campaign)
    assert good.verdict == "pass" and bad.verdict == "error" and "psychic" in bad.sentence


def test_other_troubles_end_the_session_with_a_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Pool):
        def submit(self, function: Any, /, *given: Any) -> Future[Any]:  # type: ignore[override]
            future: Future[Any] = Future()
            future.set_exception(ValueError("no space left on device"))
            return future

    monkeypatch.setattr(runner.Crew, "open", lambda place, workers=None, **_: Full(set(), [0]))
    campaign = store.create("a", "", {}, flight_cases(1))
    with pytest.raises(RunError, match="the workers cannot continue: ValueError: no space left on device"):
        run_campaign(store, campaign, workers=1)
    assert store.counts(campaign)["open"] == 1


# ---------------------------------------------------------------------- how workers die


def test_if_every_worker_dies_it_ends_soon_and_the_flights_stay_open(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = 0

    def open_(place: Any, workers: int | None = None, **_: Any) -> Executor:
        nonlocal opened
        opened += 1
        return Pool({case.id for case in flight_cases(40)}, [0])

    monkeypatch.setattr(runner.Crew, "open", open_)
    campaign = store.create("a", "", {}, flight_cases(40))
    with pytest.raises(RunError, match="every worker dies, 3 in a row and then 5 over one flight each"):
        run_campaign(store, campaign, workers=2, lanes=16)
    assert store.counts(campaign)["open"] == 40 and opened < 12


def test_real_workers_say_how_they_died(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "fly_for_runner", deadly_worker.always_killed)
    monkeypatch.setattr(runner, "PROBES", 1)
    monkeypatch.setattr(runner, "MOST_DEATHS", 1)
    campaign = store.create("a", "", {}, flight_cases(20))
    said: list[str] = []
    with pytest.raises(RunError, match=r"killed by SIGKILL \(by hand, or by the kernel because memory ran out"):
        run_campaign(store, campaign, workers=2, progress=lambda state: said.extend(state.said))
    assert store.counts(campaign)["open"] == 20
    assert said[0].startswith("a worker died: killed by SIGKILL ")  # not SIGTERM, with which the pool ends the other


def test_a_real_deadly_flight_is_judged_with_its_signal(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "fly_for_runner", deadly_worker.one_flight_is_deadly)
    monkeypatch.setattr(runner, "MOST_DEATHS", 1)
    campaign = store.create("a", "", {}, flight_cases(2))
    run_campaign(store, campaign, workers=1)
    good, bad = store.results(campaign)
    assert good.verdict == "pass" and bad.verdict == "error"
    assert "died 1 times over this flight alone: killed by SIGSEGV" in bad.sentence


def test_a_worker_with_other_code_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "fly_for_runner", deadly_worker.other_code)
    campaign = store.create("a", "", {}, flight_cases(3))
    with pytest.raises(RunError, match="a worker has other code of Ironbird than this process"):
        run_campaign(store, campaign, workers=1)
    assert store.counts(campaign)["open"] == 3


def test_words_for_ends_of_processes() -> None:
    assert runner.death(None) == "it did not say how"
    assert runner.death(-9).startswith("killed by SIGKILL") and "memory" in runner.death(-9)
    assert runner.death(-7).startswith("killed by SIGBUS") and "cache" in runner.death(-7)
    assert runner.death(-15) == "killed by SIGTERM"
    assert runner.death(-40).startswith("killed by ") and runner.death(1).startswith("it ended with exit code 1;")


# ---------------------------------------------------------------------- sizes of batches


@pytest.mark.parametrize(("rate", "most"), [(20.0, 80), (0.5, LANES), (1e6, 496)])
def test_batches_take_seconds_whatever_the_lanes(rate: float, most: int) -> None:
    """A worker that flies 20 flights a second gets some 80 of them, one that is slow the smallest batch."""
    cases = [flight_case()] * 2000
    plan = runner._Plan([runner._Group(list(range(2000)), cases, 5.0)], 512, 2, TracePolicy())
    sizes = []
    while plan:
        batch = plan.next()
        sizes.append(len(batch.cases))
        plan.learn(batch, BatchResult([], 0.0, len(batch.cases) / rate, 0.0))
    assert sum(sizes) == 2000
    assert sizes[0] == runner.FIRST_LANES and max(sizes[1:]) == most
    assert max(sizes) == most or rate < 1  # at the end no more than half of each worker's share
    assert sizes[-1] <= LANES


def test_small_batches_keep_no_more_traces() -> None:
    """2,000 failing flights keep as many traces in batches of 16 as in four batches of 512."""
    cases = [flight_case()] * 2000
    failing = result_of(flight_case(), "fail")
    plan = runner._Plan([runner._Group(list(range(2000)), cases, 5.0)], 16, 1, TracePolicy("somewhere"))
    kept = 0
    while plan:
        batch = plan.next()
        policy = plan.policy_for(batch)
        count = 0
        while count < len(batch.cases) and policy.wants(failing, count):
            count += 1
        plan.learn(batch, BatchResult([replace(failing, trace="x.parquet")] * count, 0.0, 1.0, 0.0))
        kept += count
    assert kept == 4 * TracePolicy().most_per_case


# ---------------------------------------------------------------------- one definition, one version


@pytest.fixture
def vehicle(tmp_path: Path) -> Path:
    (tmp_path / "under.toml").write_text('schema = 1\nid = "under"\nbase = "quad_f450"\n')
    path = tmp_path / "mine.toml"
    path.write_text('schema = 1\nid = "mine"\nbase = "under.toml"\n')
    return path


def half_flown(store: Store, vehicle: Path) -> Any:
    cases = [flight_case(n, vehicle=str(vehicle) if n % 2 else "quad_f450") for n in range(1, 9)]
    campaign = store.create("a", "", {}, cases)
    store.write(campaign, [(n, result_of(cases[n])) for n in range(4)])
    return campaign


@pytest.fixture
def flown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.Crew, "open", lambda place, workers=None, **_: Pool(set(), [0]))


@pytest.mark.usefixtures("flown")
def test_a_changed_base_of_a_vehicle_is_refused_and_named(store: Store, vehicle: Path) -> None:
    campaign = half_flown(store, vehicle)
    base = vehicle.parent / "under.toml"
    base.write_text(base.read_text() + "mass_kg = 3.9\n")
    with pytest.raises(RunError) as caught:
        run_campaign(store, store.campaign("a"), workers=1)
    text = str(caught.value)
    assert "campaign 'a' cannot continue: 2 of its 4 open flights are no longer what was defined" in text
    assert f"{base} changed (2 flights: hover/0005/s5, hover/0007/s7)" in text and "mine.toml changed" not in text
    assert "under another name" in text and "--redefined" in text
    assert store.counts(campaign)["open"] == 4  # nothing was flown, nothing judged

    base.write_text('schema = 1\nid = "under"\nbase = "quad_f450"\n# a remark is no change\n')
    assert run_campaign(store, campaign, workers=1).counts["pass"] == 8


@pytest.mark.usefixtures("flown")
def test_redefined_flights_can_be_closed_as_errors(store: Store, vehicle: Path) -> None:
    campaign = half_flown(store, vehicle)
    shutil.move(vehicle, vehicle.with_suffix(".old"))  # not even there any more
    with pytest.raises(RunError, match=r"mine.toml cannot be read"):
        run_campaign(store, campaign, workers=1)
    state = run_campaign(store, campaign, workers=1, redefined=True)
    assert state.counts == {"pass": 6, "fail": 0, "void": 0, "error": 2}
    gone = [result for result in store.results(campaign) if result.verdict == "error"]
    assert [r.id for r in gone] == ["hover/0005/s5", "hover/0007/s7"]
    assert all(r.sentence.startswith("redefined: vehicle ") and r.outcome == "not flown" for r in gone)


@pytest.mark.usefixtures("flown")
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("ironbird", "0.0.1", "begun with Ironbird 0.0.1, this is Ironbird "),
        ("software", "ab" * 32, "begun with other code of Ironbird "),
    ],
)
def test_another_version_is_refused(store: Store, vehicle: Path, column: str, value: str, words: str) -> None:
    half_flown(store, vehicle)
    with store.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE campaign SET {column} = '{value}'"))
    with pytest.raises(RunError, match=f"4 of its 4 open flights.*\n.*{words}"):
        run_campaign(store, store.campaign("a"), workers=1)
    state = run_campaign(store, store.campaign("a"), workers=1, redefined=True)
    assert state.counts["error"] == 4


@pytest.mark.usefixtures("flown")
def test_an_old_store_that_did_not_note_its_code_is_not_gone_on_with(store: Store, vehicle: Path) -> None:
    """Which code flew the first half is unknown: the second half would be another campaign."""
    half_flown(store, vehicle)
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE campaign SET software = NULL, files = NULL"))
    with pytest.raises(RunError, match=r"begun with an Ironbird .* that did not note its code"):
        run_campaign(store, store.campaign("a"), workers=1)
    assert run_campaign(store, store.campaign("a"), workers=1, redefined=True).counts["error"] == 4
