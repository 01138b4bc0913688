"""MAV_CMD_INJECT_FAILURE: faults of the catalogue that a ground station begins and ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mavlink_bench import Bench, bench

import ironbird as ib
from ironbird.faults.catalog import FAULTS
from ironbird.protocols.mavlink import numbers
from ironbird.protocols.mavlink.failures import TYPES, UNITS
from ironbird.rig.commander.commander import Commander
from ironbird.rig.failures import FAULT_OF, Failures
from ironbird.systems.commanded.front import ProgramFront, lasting, until
from ironbird.systems.commanded.kind import CommandedSystem

REJECTED = 1


def test_every_failure_is_a_fault_of_the_catalogue() -> None:
    assert set(FAULT_OF.values()) <= set(FAULTS)
    assert {unit for unit, _ in FAULT_OF} <= set(UNITS) and {how for _, how in FAULT_OF} <= set(TYPES)


def test_a_motor_is_switched_off_and_on_again_and_all_gyros_stick() -> None:
    seen: dict[str, list[float]] = {}
    seen_words: list[str] = []

    def plan(vehicle: Commander) -> Iterator[None]:
        failures = Failures(vehicle)
        motor, gyro = UNITS["motor"], UNITS["gyro"]
        yield from until(lambda: vehicle.arm() is None)
        yield from lasting(vehicle, 1.0)
        seen["idle"] = vehicle.rotor_speeds()
        assert failures.take(motor, TYPES["off"], 2) is None
        yield from lasting(vehicle, 1.0)
        seen["off"] = vehicle.rotor_speeds()
        assert failures.take(motor, TYPES["ok"], 2) is None
        yield from lasting(vehicle, 1.0)
        seen["on"] = vehicle.rotor_speeds()
        seen_words.append(str(failures.take(motor, TYPES["off"], 9)))
        assert failures.take(gyro, TYPES["stuck"], 0) is None
        yield from lasting(vehicle, 0.2)
        stuck = [sensor.values.tolist() for sensor in vehicle.rig.gyros]
        yield from lasting(vehicle, 0.2)
        assert [sensor.values.tolist() for sensor in vehicle.rig.gyros] == stuck

    flight = ib.fly("quad_f450", control=CommandedSystem(ProgramFront(plan)), until_s=60.0)

    assert seen["off"][1] < 0.05 * seen["idle"][1]
    assert seen["off"][0] == pytest.approx(seen["idle"][0], rel=0.05)
    assert seen["on"][1] == pytest.approx(seen["idle"][1], rel=0.05)
    assert [witness.injection.fault.id for witness in flight.witnesses] == [
        "rotor.speed_loss@1", *["imu.gyro_stuck@1"] * len(flight.witnesses[1:]),
    ]  # fmt: skip
    assert flight.witnesses[0].effective
    assert "rotor" in seen_words[0]  # there is no ninth


@pytest.mark.parametrize(
    ("unit", "how", "instance", "words"),
    [
        (UNITS["motor"], TYPES["intermittent"], 1, "'motor' cannot be 'intermittent' here"),
        (UNITS["avoidance"], TYPES["off"], 1, "'avoidance' cannot be 'off' here"),
        (UNITS["motor"], TYPES["ok"], 1, "no failure of 'motor' is active"),
        (77, 1, 1, "no failure has unit 77"),
        (float("nan"), 1, 1, "whole numbers"),
    ],
)
def test_a_failure_that_cannot_be_is_refused_in_words(
    served: Bench, unit: float, how: int, instance: int, words: str
) -> None:
    assert served.command(numbers.INJECT_FAILURE, unit, how, instance) == REJECTED
    served.until_said(words)


@pytest.fixture(scope="module")
def served() -> Iterator[Bench]:
    with bench() as made:
        yield made
