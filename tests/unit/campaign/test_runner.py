"""Batches and dead workers: a deadly flight is found and judged an error, a harmless one never is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign import runner
from ironbird.campaign.batch import BatchResult, TracePolicy
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.runner import Progress, run_campaign
from ironbird.campaign.store import Store
from ironbird.errors import RunError


class Pool(Executor):
    """Flies nothing; dies over deadly flights, and as often as it is told."""

    def __init__(self, deadly: set[str], deaths: list[int]) -> None:
        self.deadly, self.deaths = deadly, deaths
        self.broken = False

    def submit(self, function: Any, /, cases: Sequence[FlightCase], policy: TracePolicy) -> Future[Any]:  # type: ignore[override]
        if self.broken:
            raise BrokenProcessPool("broken before")
        future: Future[Any] = Future()
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

    def open_(place: Any, workers: int | None = None) -> Executor:
        nonlocal opened
        opened += 1
        return Pool(deadly, left)

    monkeypatch.setattr(runner._Place, "open", open_)
    campaign = store.create("a", "", {}, flight_cases(40))
    state = run_campaign(store, campaign, workers=2, lanes=16)
    return store.results(campaign), state, opened


def test_all_goes_well(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    results, state, opened = fly(store, monkeypatch, set())
    assert [r.verdict for r in results] == ["pass"] * 40 and opened == 1
    assert (state.done, state.total, state.flown, state.counts["pass"]) == (40, 40, 40, 40)
    assert state.simulated_s == 200.0 and state.kernel_s == pytest.approx(0.3) and state.left_s == 0.0


def test_a_deadly_flight_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = flight_cases(40)[11].id
    results, state, opened = fly(store, monkeypatch, {bad})
    assert {r.id for r in results if r.verdict != "pass"} == {bad}
    (error,) = [r for r in results if r.id == bad]
    assert error.verdict == "error" and error.sentence == "the worker died 3 times over this flight alone"
    assert state.counts == {"pass": 39, "fail": 0, "void": 0, "error": 1}
    assert opened < 30


@pytest.mark.parametrize("deaths", [1, 5, 20])
def test_kills_from_outside_make_no_errors(store: Store, monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
    results, _, _ = fly(store, monkeypatch, set(), deaths)
    assert [r.verdict for r in results] == ["pass"] * 40


def test_what_no_vehicle_can_fly_is_an_error_and_the_rest_is_flown(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner._Place, "open", lambda place, workers=None: Pool(set(), [0]))
    campaign = store.create("a", "", {}, [flight_case(1), flight_case(2, control="psychic")])
    run_campaign(store, campaign, workers=1)
    good, bad = store.results(campaign)
    assert good.verdict == "pass" and bad.verdict == "error" and "psychic" in bad.sentence


def test_other_troubles_end_the_session_with_a_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Pool):
        def submit(self, function: Any, /, cases: Sequence[FlightCase], policy: TracePolicy) -> Future[Any]:  # type: ignore[override]
            future: Future[Any] = Future()
            future.set_exception(ValueError("no space left on device"))
            return future

    monkeypatch.setattr(runner._Place, "open", lambda place, workers=None: Full(set(), [0]))
    campaign = store.create("a", "", {}, flight_cases(1))
    with pytest.raises(RunError, match="the workers cannot go on: ValueError: no space left on device"):
        run_campaign(store, campaign, workers=1)
    assert store.counts(campaign)["open"] == 1
