"""Twins that start where the fault begins show the same as flights without the fault that fly from the start."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ironbird.campaign.batch import fly_all, fly_batch
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from ironbird.cli.main import app
from ironbird.errors import OrderError
from ironbird.faults.spec import Injection
from ironbird.flight import inside
from ironbird.flight.flight import Flight, fly
from ironbird.flight.mission import Mission
from ironbird.flight.order import Order, Weather, make_order
from ironbird.flight.prepare import fit
from ironbird.flight.twins import WITNESS_S
from ironbird.rig.rig import Rig
from ironbird.rig.system import FunctionSystem
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run_each
from ironbird.vehicles.templates.multicopter import MulticopterSpec

UNTIL_S = 11.0
SUITE = """schema = 1
[[case]]
id = "two"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 11.0
wind.turbulence_mps = 5.0
[[case.fault]]
id = "rotor.speed_loss@1"
severity = { grid = [0.0, 0.1, 0.9] }
start_s = { grid = [0.0, 1.9997, 2.0, 3.3, 10.9, 20.0] }
[[case.fault]]
id = "rotor.blade_damage@1"
instance = 2
severity = 0.2
start_s = 0.5
when = "altitude > 5 m"
[[case.require]]
use = "no_crash"
[[case]]
id = "never"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 11.0
[[case.fault]]
id = "rotor.speed_loss@1"
when = "altitude > 500 m"
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "two.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def flights(suite: Path) -> list[FlightCase]:
    return load_suite(suite).flights()


@pytest.fixture(scope="module")
def results(flights: list[FlightCase]) -> list[FlightResult]:
    return fly_all(flights)


@pytest.fixture(scope="module")
def whole(flights: list[FlightCase]) -> list[Flight]:
    return [fly(case) for case in flights]


def compared(injection: Injection, log: Log, twin: Log, triggered_s: float, until_s: float) -> dict[str, Any]:
    """What a witness should say of two whole flights, worked out again."""
    begin_s = injection.start_s + triggered_s
    last_s = min(until_s, begin_s + injection.rise_s + WITNESS_S)
    rows = min(log.rows(), twin.rows())
    time_s = log.time_s[:rows]
    size = np.abs(log[injection.witness][:rows] - twin[injection.witness][:rows])
    if not size[time_s < last_s].any():  # it may act later
        last_s = until_s
    time_s, size = time_s[time_s < last_s], size[time_s < last_s]
    end_s = min(injection.end_s + triggered_s, time_s[-1])
    during = size[(time_s >= begin_s) & (time_s <= end_s)]
    return {
        "effective": bool(size.any()),
        "first_s": float(time_s[np.argmax(size > 0)]) if size.any() else None,
        "largest": float(during.max()) if during.size else 0.0,
        "mean": float(during.mean()) if during.size else 0.0,
        "ended_s": float(end_s),
    }


def without(order: Order, number: int) -> Order:
    """The order without one of its faults."""
    return replace(order, faults=tuple(f for i, f in enumerate(order.faults) if i != number))


def test_a_witness_is_the_difference_to_the_whole_flight_without_its_fault(
    flights: list[FlightCase], whole: list[Flight]
) -> None:
    effective = 0
    for case, flight in zip(flights, whole, strict=True):
        for number, (injection, witness) in enumerate(zip(case.faults, flight.witnesses, strict=True)):
            twin = fly(without(case, number))
            expected = compared(injection, flight.log, twin.log, flight.triggered_s[number], UNTIL_S)
            found = witness.record()
            assert {key: found[key] for key in expected} == expected, (case.id, injection.text())
            effective += witness.effective
    assert 15 < effective < 2 * len(flights)


def test_a_witness_is_the_same_alone_and_in_a_batch(
    flights: list[FlightCase], results: list[FlightResult], whole: list[Flight]
) -> None:
    assert len(flights) == len(results) > 16  # more than one row of lanes
    for result, flight in zip(results, whole, strict=True):
        assert result.witnesses == [witness.record() for witness in flight.witnesses], result.id
        assert (result.verdict, result.sentence, result.sha256) == (
            flight.verdict, flight.judged.sentence, flight.sha256,
        )  # fmt: skip


def test_a_witness_is_the_same_when_a_flight_of_a_campaign_is_flown_again(
    suite: Path, results: list[FlightResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored = f"sqlite:///{tmp_path}/store.db"
    run = CliRunner().invoke(
        app, ["campaign", "run", str(suite), "--name", "twins", "--workers", "1", "--store", stored, "--out", "out"]
    )
    assert run.exit_code in (0, 1), run.output
    database = Store(stored)
    kept = {result.id: result.witnesses for result in database.results(database.campaign("twins"))}
    assert kept == {result.id: json.loads(json.dumps(result.witnesses)) for result in results}
    for chosen in (results[9], results[14]):
        again = CliRunner().invoke(
            app, ["campaign", "rerun", "twins", chosen.id, "--store", stored, "--out", str(tmp_path / "again")]
        )
        assert "equal to the stored flight, bit for bit" in again.output
        meta = pq.read_schema(tmp_path / "again" / "flight.parquet").metadata
        assert json.loads(meta[b"ironbird.witnesses"]) == kept[chosen.id]


def test_a_result_is_the_same_alone_and_in_company(flights: list[FlightCase], results: list[FlightResult]) -> None:
    for case, result in zip(flights, results, strict=True):
        assert fly_all([case])[0].record() == result.record(), case.id


def test_time_in_native_code_counts_the_twins(flights: list[FlightCase]) -> None:
    batch = fly_batch(flights[:18])
    assert 0.0 < batch.kernel_s < batch.wall_s
    assert math.isclose(batch.simulated_s, sum(result.ended_s for result in batch.flights))


def test_a_block_of_twins_ends_when_its_own_faults_are_seen(
    flights: list[FlightCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen faults from 0.5 s to 3.5 s, in any order: two blocks, of which the first ends 1.6 s before the second."""
    flown: list[tuple[int, float]] = []

    def noted(states: Sequence[RunState], ends_s: Sequence[float], **given: Any) -> list[Log]:
        flown.extend((state.lanes, end_s) for state, end_s in zip(states, ends_s, strict=True))
        return run_each(states, ends_s, **given)

    monkeypatch.setattr(inside, "run_each", noted)
    fault = replace(flights[0].faults[0], severity=0.1)
    starts = [0.5 + 0.2 * (7 * seed % 16) for seed in range(16)]
    orders = [replace(flights[0], seed=i, faults=(replace(fault, start_s=s),)) for i, s in enumerate(starts)]
    inside.fly_lanes(orders, fit(orders[0]).model, threads=1)

    assert [lanes for lanes, _ in flown] == [8, 8]
    for (_, until_s), last_s in zip(flown, (1.9, 3.5), strict=True):
        assert last_s + WITNESS_S <= until_s <= last_s + WITNESS_S + 2 * flights[0].log_s + 1e-9


@pytest.mark.parametrize(
    "faults",
    [
        ["rotor.speed_loss@1:instance=1,severity=0.2,start=3.1,end=5", "battery.low_voltage@1:severity=0.1,start=4"],
        ["rotor.speed_loss@1:instance=1,start=1,when=altitude > 4 m", "rotor.blade_damage@1:instance=3,start=2"],
        [
            "rotor.speed_loss@1:instance=1,severity=0.1,when=altitude > 4 m",
            "battery.low_voltage@1:severity=0.1,start=0",
        ],
        [
            "rotor.speed_loss@1:severity=0.1,start=2",
            "wind.gust@1:axis=0,severity=0.2,start=6",
            "load.drop@2:severity=0.1,start=3",
        ],
    ],
    ids=["timed", "a crash", "a trigger", "three"],
)
def test_the_whole_twin_is_the_flight_without_any_fault_bit_for_bit(faults: list[str]) -> None:
    known: dict[str, Any] = {
        "control": "truth",
        "mission": "hover",
        "until_s": 9.0,
        "seed": 4,
        "weather": Weather(3.0, 50.0, 6.0),
    }
    flight = fly("quad_f450", faults=faults, **known)
    alone = fly("quad_f450", **known)

    assert flight.twin is not None and all(witness.effective for witness in flight.witnesses)
    assert flight.twin.sha256(0) == alone.log.sha256(0) != flight.log.sha256(0)
    assert flight.twin.stops == alone.log.stops and flight.twin.rows() == alone.log.rows()


def test_a_fault_of_a_part_that_stands_still_is_seen_when_the_part_is_used() -> None:
    """Motors that stand until 8 s lose nothing before: the comparison goes on beyond its usual time."""
    armed_s = 3.0 + WITNESS_S
    flight = fly(
        "quad_f450",
        control="truth",
        mission="hover",
        until_s=UNTIL_S,
        settings={"navigator.arm_time": armed_s},
        faults=["rotor.speed_loss@1:severity=0.2,start=1"],
    )
    [witness] = flight.witnesses

    assert abs(witness.first_s - armed_s) < 0.1 and witness.largest > 50.0


def test_a_flight_whose_fault_never_begins_has_no_twin() -> None:
    flight = fly("quad_f450", control="truth", mission="hover", until_s=3.0, faults=["rotor.speed_loss@1:start=20"])
    assert flight.twin is None and not flight.witnesses[0].effective and flight.verdict == "void"


# ---------------------------------------------------------------------- landing


@pytest.mark.parametrize("start_s", [0.0, 1.0, 2.5])
def test_the_comparison_ends_when_the_twin_has_landed(start_s: float) -> None:
    mission = Mission.model_validate({"schema": 1, "item": [{"kind": "waypoint", "height_m": 3.0}, {"kind": "land"}]})
    fault = f"load.drop@2:severity=0.3,start={start_s:g},shape=ramp,rise=30"  # lighter, it comes down later
    flight = fly("quad_f450", control="truth", mission=mission, faults=[fault], until_s=30.0)
    assert flight.twin is not None
    stop = flight.twin.stops[0]
    assert stop is not None and stop.reason == "mission completed" and flight.ended_s > stop.time_s + 0.05
    flying = flight.twin["navigator.mode"] != 0.0
    landed_s = flight.twin.time()[np.flatnonzero(flying)[-1]]  # the last row before it is disarmed
    assert flight.witnesses[0].ended_s == landed_s < stop.time_s


# ---------------------------------------------------------------------- under a control system outside

BOTH = (  # begin within the same piece of 2 s; the second by a trigger
    "rotor.speed_loss@1:instance=1,severity=0.1,start=2.4,end=4.1",
    "rotor.blade_damage@1:instance=2,severity=0.1,start=0.1,when=altitude > 3.2 m",
)


class Kept(FunctionSystem):
    """Keeps the commands of every exchange; may command before the first."""

    def __init__(self, function: Any, step_ticks: int, first: float | None = None) -> None:
        super().__init__(function, step_ticks=step_ticks)
        self.first = first
        self.commands: list[np.ndarray] = []

    def start(self, rig: Rig) -> None:
        if self.first is not None:
            rig.stepper.inputs[:] = self.first

    def exchange(self, rig: Rig) -> None:
        self.function(rig)
        self.commands.append(rig.stepper.inputs.copy())


def climb(rig: Rig) -> None:
    """Holds 6 m of height, level, by feedback: what it commands depends on what the faults do."""
    (_, roll, pitch, _), rates = 2.0 * rig.truth("q"), rig.truth("w")
    height = 0.58 + 0.08 * (rig.truth("p")[2] + 6.0) + 0.15 * rig.truth("v")[2]
    about_x, about_y = -(roll + 0.25 * rates[0]), -(pitch + 0.25 * rates[1])
    spec = rig.vehicle.spec
    assert isinstance(spec, MulticopterSpec)
    for place, rotor in zip(rig.actuators, spec.rotor, strict=True):
        x, y, _ = rotor.position_B_m
        rig.command(place, float(np.clip(height + x * about_y - y * about_x, 0.05, 0.95)))


def replaying(commands: Sequence[np.ndarray]) -> Any:
    left = iter(commands)

    def function(rig: Rig) -> None:
        rig.stepper.inputs[:] = next(left)

    return function


@pytest.mark.parametrize("step_ticks", [4, 3, 7])  # 2000 ticks of a piece are no multiple of 3 and 7
@pytest.mark.parametrize("first", [None, 0.4])
def test_twins_are_given_the_very_commands_of_the_flight(step_ticks: int, first: float | None) -> None:
    known: dict[str, Any] = {"until_s": 6.0, "seed": 2, "weather": Weather(1.0, 20.0, 3.0)}
    system = Kept(climb, step_ticks, first)
    flight = fly("quad_f450", control=system, faults=BOTH, **known)
    assert flight.triggered_s[0] == 0.0 and 2.0 < flight.triggered_s[1] + 0.1 < 4.0
    assert all(witness.effective for witness in flight.witnesses)

    ended_s = len(system.commands) * step_ticks * flight.model.step_s
    for number, (injection, witness) in enumerate(zip(flight.order.faults, flight.witnesses, strict=True)):
        others = tuple(fault for i, fault in enumerate(BOTH) if i != number)
        twin = fly("quad_f450", control=Kept(replaying(system.commands), step_ticks, first), faults=others, **known)
        expected = compared(injection, flight.log, twin.log, flight.triggered_s[number], min(ended_s, 6.0))
        found = witness.record()
        assert {key: found[key] for key in expected} == expected, injection.text()


@pytest.mark.parametrize("start_s", [0.0, 0.5, 2.5])
def test_what_the_control_system_commands_at_the_start_is_no_effect_of_a_fault(start_s: float) -> None:
    idle = f"rotor.speed_loss@1:instance=1,severity=0,start={start_s:g}"
    flight = fly("quad_f450", control=Kept(climb, 4, first=0.4), faults=[idle], until_s=4.0)
    assert not flight.witnesses[0].effective and flight.verdict == "void"


@pytest.mark.parametrize("log_s", [5.0, 8.0])
@pytest.mark.parametrize("start_s", [0.0, 1.0])
def test_a_fault_between_rows_that_are_far_apart_has_a_witness(log_s: float, start_s: float) -> None:
    fault = f"rotor.speed_loss@1:instance=1,severity=0.1,start={start_s:g}"
    order = make_order("quad_f450", control="truth", mission="hover", until_s=20.0, log_s=log_s, faults=[fault])
    flight = fly(order, ends="time")
    assert flight.witnesses[0].effective and flight.verdict == "pass"
    assert flight.witnesses[0].first_s == start_s  # seen in the row that covers its start
    with pytest.raises(OrderError, match=r"log_s = . s: .* judged by the positions in the log; give at most 1 s"):
        fly(order)


@pytest.mark.parametrize("log_s", [0.004, 0.02, 0.1, 0.3, 1.0])  # 0.3 s: a twin begins in the middle of a row, at 8 s
def test_a_fault_shorter_than_a_row_is_seen(log_s: float) -> None:
    fault = "imu.gyro_bias@1:start=8.004,duration=0.004,severity=0.5"
    flight = fly("quad_f450", mission="hover", until_s=10.0, log_s=log_s, faults=[fault], ends="time")
    witness = flight.witnesses[0]
    assert flight.verdict == "pass" and witness.effective
    assert 8.004 <= witness.first_s <= 8.008 and 0.4 < witness.largest < 0.6


@pytest.mark.parametrize("log_s", [0.02, 1.0])
def test_a_fault_without_effect_between_rows_is_not_seen(log_s: float) -> None:
    fault = "imu.gyro_bias@1:start=8.004,duration=0.004,severity=0.0002"
    flight = fly("quad_f450", mission="hover", until_s=10.0, log_s=log_s, faults=[fault], ends="time")
    assert flight.verdict == "void" and not flight.witnesses[0].effective
