"""Batches: which flights may share one, and which traces are kept of them."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from campaign_data import flight_case, result_of

from ironbird.campaign.batch import (
    TracePolicy,
    draw_over_cases,
    fly_all,
    fly_batch,
    grouped,
    lanes_that_fit,
    trace_name,
)
from ironbird.faults.catalog import parse_fault
from ironbird.flight.judge import log_paths
from ironbird.runtime.tuning import Tuning


def test_flights_that_change_on_the_way_share_no_batch() -> None:
    plain, other = flight_case(1), flight_case(2)
    tuned = flight_case(3, tunings=(Tuning(500, "body.mass", 1.6),))
    retuned = flight_case(4, tunings=(Tuning(500, "body.mass", 1.7),))
    assert grouped(plain).key == grouped(other).key
    assert len({grouped(case).key for case in (plain, tuned, retuned)}) == 3
    assert lanes_that_fit([plain, other]) > 1 == lanes_that_fit([tuned]) == lanes_that_fit([plain, tuned])

    results = fly_all([plain, tuned, other])
    assert [result.verdict for result in results] == ["pass"] * 3, [result.sentence for result in results]
    assert [result.digest for result in results] == [plain.digest(), tuned.digest(), other.digest()]


def test_flights_of_another_length_or_with_other_rows_share_no_batch() -> None:
    cases = [
        flight_case(1),
        flight_case(2, log_s=0.04),
        flight_case(3, until_s=6.0),
        flight_case(4, vehicle="quad_h250"),
    ]
    assert len({grouped(case).key for case in cases}) == 4


def test_flights_that_keep_other_signals_get_their_own_results(tmp_path: Path) -> None:
    faults = [f"rotor.speed_loss@1:instance={2 - n % 2},severity={0.02 * n},start=1" for n in range(1, 6)]
    cases = [flight_case(n, until_s=2.0, faults=(parse_fault(text),)) for n, text in enumerate(faults, start=1)]

    together = fly_batch(cases, TracePolicy.of("all", str(tmp_path))).flights
    alone = [fly_batch([case], TracePolicy.of("all", str(tmp_path))).flights[0] for case in cases]

    assert len({log_paths(case) for case in cases}) == 2
    assert together == alone
    assert len({result.sha256 for result in together}) == len(cases)


@pytest.mark.parametrize(
    ("verdict", "failing", "kept"),
    [
        ("fail", True, True), ("void", True, True), ("error", True, True), ("fail", False, False),
        ("pass", True, False), ("pass", False, False),
    ],
)  # fmt: skip
def test_traces_of_flights_that_did_not_pass_are_kept(verdict: str, failing: bool, kept: bool) -> None:
    policy = TracePolicy("folder", failing=failing, share_of_passing=0.0, most_per_case=3)
    result = result_of(flight_case(), verdict)

    assert policy.wants(result, 2) is kept
    assert not policy.wants(result, 3)  # enough of this case
    assert not TracePolicy(None, failing=failing).wants(result, 0)  # nowhere to put them


def test_the_share_of_passing_flights_is_drawn_by_their_digests() -> None:
    half = TracePolicy("folder", share_of_passing=0.5)
    passed = result_of(flight_case())

    assert half.wants(replace(passed, digest="7fffffff" + "0" * 56), 0)
    assert not half.wants(replace(passed, digest="80000000" + "0" * 56), 0)


def test_a_worker_that_is_killed_leaves_no_half_trace_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(table: object, path: Path, **options: object) -> None:
        Path(path).write_bytes(b"PAR1 and a half")
        raise KeyboardInterrupt

    case = flight_case(until_s=0.5, faults=())
    policy = TracePolicy(str(tmp_path), share_of_passing=1.0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pyarrow.parquet, "write_table", killed)
        fly_batch([case], policy)
    assert not (tmp_path / trace_name(case.id)).exists()

    result = fly_batch([case], policy).flights[0]
    assert result.trace == trace_name(case.id) and (tmp_path / result.trace).is_file()


def test_a_draw_of_few_flights_sees_every_case() -> None:
    flights = [flight_case(n, id=f"{case}/{n:04d}/s1", case_id=case) for case in ("a", "b", "c") for n in range(20)]

    for each in (1, 2, 3, 5):
        few = draw_over_cases(flights, 3 * each)
        assert sorted(flight.case_id for flight in few) == ["a"] * each + ["b"] * each + ["c"] * each
    drawn = draw_over_cases(flights, 6)
    assert drawn == draw_over_cases(flights, 6) and [f for f in flights if f in drawn] == drawn
    assert drawn == [f for f in draw_over_cases(flights, 9) if f in drawn]  # more flights are these and others


def test_a_trace_holds_the_signals_of_its_own_flight_whatever_the_others_log(tmp_path: Path) -> None:
    plain = flight_case()
    texts = "rotor.speed_loss@1:instance=1,severity=0.1,start=1", "battery.low_voltage@1:severity=0.1,start=1"
    rotor, battery = (
        replace(plain, id=f"{plain.case_id}/{i}/s{i}", seed=i, faults=(parse_fault(text),))
        for i, text in enumerate(texts)
    )
    policy = TracePolicy(str(tmp_path), share_of_passing=1.0)
    together = fly_batch([rotor, battery], policy)
    columns = [pyarrow.parquet.read_schema(tmp_path / (result.trace or "")).names for result in together.flights]
    assert ["rotor/1/motor.speed" in own for own in columns] == [True, False]

    before = [(tmp_path / (result.trace or "")).read_bytes() for result in together.flights]
    alone = [fly_batch([case], policy).flights[0] for case in (rotor, battery)]
    assert [result.sha256 for result in alone] == [result.sha256 for result in together.flights]
    assert [(tmp_path / (result.trace or "")).read_bytes() for result in alone] == before
