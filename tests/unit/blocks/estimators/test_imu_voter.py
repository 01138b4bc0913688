"""Voter: medians in closed form, and stuck, biased, noisy and stale units left out."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.estimators.imu_voter import ImuVoter
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import ModelError
from ironbird.model.diagram import Diagram
from ironbird.proofs.estimators import IMU_S, KnownFlight, SimpleImu
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone, outputs_at

LANES = 16


@functools.cache
def model(units: int, *, last_stamp_from_outside: bool = False) -> CompiledModel:
    """The known flight with several inertial units and a voter; the stamp of the last unit may be an input."""
    rig = Diagram(f"voter_{units}")
    flight = rig.add("flight", KnownFlight(sample_s=IMU_S), climb_start=1.0, circle_start=2.0)
    voter = rig.add("voter", ImuVoter(units))
    for i in range(1, units + 1):
        imu = rig.add(f"imu/{i}", SimpleImu(sample_s=IMU_S))
        rig.connect(flight.specific_force_B, imu.specific_force_B)
        rig.connect(flight.w_NB_B, imu.w_NB_B)
        rig.connect(imu.accel_B, voter[f"accel_{i}_B"])
        rig.connect(imu.gyro_B, voter[f"gyro_{i}_B"])
        if last_stamp_from_outside and i == units:
            rig.export(voter[f"stamp_{i}"], "last_stamp")
        else:
            rig.connect(imu.stamp, voter[f"stamp_{i}"])
    return compile_model(rig, step_s=IMU_S)


def flown(units: int, *events: ParamEvent, until_s: float = 20.0) -> tuple[RunState, Log]:
    state = start(model(units), lanes=LANES, seed=3)
    for event in events:
        state.add_event(event)
    return state, run(state, until_s, log=["voter", "flight.specific_force_B", "flight.w_NB_B"], log_s=0.02)


def worst(log: Log, from_s: float) -> tuple[float, float]:
    """Largest error of accelerometer and gyro after a time."""
    rows = log.time_s >= from_s
    accel = log.all_lanes("voter.accel_B") - log.all_lanes("flight.specific_force_B")
    gyro = log.all_lanes("voter.gyro_B") - log.all_lanes("flight.w_NB_B")
    return float(np.abs(accel[:, rows]).max()), float(np.abs(gyro[:, rows]).max())


def faults(log: Log, unit: int) -> np.ndarray:
    return log.all_lanes(f"voter.faulty_{unit}")


@pytest.mark.parametrize("units", [1, 2, 3, 4, 5])
def test_value_is_the_component_wise_median(units: int) -> None:
    rng = np.random.default_rng(units)
    values = rng.normal(size=(units, 7, 3))
    inputs = {f"accel_{i + 1}_B": values[i] for i in range(units)}
    inputs |= {f"gyro_{i + 1}_B": -values[i] for i in range(units)}
    inputs |= {f"stamp_{i + 1}": np.ones(7) for i in range(units)}
    found = outputs_at(alone(ImuVoter(units), step_s=IMU_S), inputs)

    np.testing.assert_allclose(found["accel_B"], np.median(values, axis=0), atol=1e-15)
    np.testing.assert_allclose(found["gyro_B"], -np.median(values, axis=0), atol=1e-15)


@pytest.mark.parametrize(("units", "stale"), [(3, 1), (4, 1), (4, 2), (5, 2), (6, 1)])
def test_median_is_that_of_the_units_that_speak(units: int, stale: int) -> None:
    values = np.random.default_rng(10 * units + stale).normal(size=(units, 7, 3))
    values[:stale] += 100.0
    inputs = {f"accel_{i + 1}_B": values[i] for i in range(units)}
    inputs |= {f"gyro_{i + 1}_B": -values[i] for i in range(units)}
    inputs |= {f"stamp_{i + 1}": np.full(7, float(i >= stale)) for i in range(units)}
    found = outputs_at(alone(ImuVoter(units), step_s=IMU_S), inputs)

    np.testing.assert_allclose(found["accel_B"], np.median(values[stale:], axis=0), atol=1e-15)
    np.testing.assert_allclose(found["gyro_B"], -np.median(values[stale:], axis=0), atol=1e-15)


def test_three_good_units_are_all_used() -> None:
    _, log = flown(3)

    for unit in (1, 2, 3):
        assert faults(log, unit)[:, 1:].max() == 0.0
    assert log.all_lanes("voter.healthy")[:, 1:].min() == 1.0 and log.all_lanes("voter.used").max() == 0.0
    assert worst(log, 0.1)[0] < 0.35 and worst(log, 0.1)[1] < 0.03  # 5 deviations of noise and bias


@pytest.mark.parametrize(
    "event",
    [
        ParamEvent("imu/2.gain", 0.0, start_s=5.0),  # stuck at zero
        ParamEvent("imu/2.offset[0]", 3.0, start_s=5.0),  # accelerometer off by 3 m/s^2
        ParamEvent("imu/2.offset[4]", -0.4, start_s=5.0),  # gyro off by 0.4 rad/s
        ParamEvent("imu/2.rough", 60.0, start_s=5.0),  # noise of 3 m/s^2 and 0.18 rad/s
        ParamEvent("imu/2.alive", 0.0, start_s=5.0),  # stamps stand
    ],
    ids=["stuck", "biased accelerometer", "biased gyro", "noisy", "stale"],
)
def test_one_bad_unit_of_three_is_left_out(event: ParamEvent) -> None:
    _, log = flown(3, event)

    late = log.time_s > 5.3
    assert faults(log, 2)[:, late].min() == 1.0
    assert faults(log, 1)[:, 1:].max() == 0.0 and faults(log, 3)[:, 1:].max() == 0.0
    assert log.all_lanes("voter.healthy")[:, 1:].min() == 1.0
    accel, gyro = worst(log, 0.1)  # the median holds from the first bad sample on
    assert accel < 0.4 and gyro < 0.035


def test_excluded_unit_comes_back_after_the_hold_time() -> None:
    _, log = flown(3, ParamEvent("imu/2.offset[0]", 3.0, start_s=5.0, end_s=7.0))

    bad = faults(log, 2)
    assert bad[:, (log.time_s > 5.3) & (log.time_s < 11.9)].min() == 1.0  # to the fault's end and 5 s more
    assert bad[:, log.time_s > 12.8].max() == 0.0


def test_stuck_unit_of_two_leaves_the_other_alone() -> None:
    _, log = flown(2, ParamEvent("imu/1.gain", 0.0, start_s=5.0))

    late = log.time_s > 5.1
    assert faults(log, 1)[:, late].min() == 1.0 and faults(log, 2)[:, 1:].max() == 0.0
    np.testing.assert_array_equal(log.all_lanes("voter.used")[:, late], 2.0)
    assert log.all_lanes("voter.healthy")[:, late].min() == 1.0
    assert worst(log, 5.1)[0] < 0.4


def test_two_that_disagree_are_flagged() -> None:
    _, log = flown(2, ParamEvent("imu/1.offset[2]", 4.0, start_s=5.0))

    healthy = log.all_lanes("voter.healthy")
    assert healthy[:, (log.time_s > 0.1) & (log.time_s < 5.0)].min() == 1.0
    assert healthy[:, log.time_s > 5.3].max() == 0.0
    assert worst(log, 5.3)[0] < 2.4  # the mean: half of the offset


def test_single_unit_passes_through_and_its_failure_is_flagged() -> None:
    _, log = flown(1, ParamEvent("imu/1.gain", 0.0, start_s=5.0), until_s=6.0)
    healthy = log.all_lanes("voter.healthy")

    assert healthy[:, (log.time_s > 0.1) & (log.time_s < 5.0)].min() == 1.0
    assert healthy[:, log.time_s > 5.1].max() == 0.0
    stale = flown(1, ParamEvent("imu/1.alive", 0.0, start_s=5.0), until_s=6.0)[1]
    assert stale.all_lanes("voter.healthy")[:, stale.time_s > 5.1].max() == 0.0


def test_second_failure_of_three_leaves_the_last_one() -> None:
    events = [ParamEvent("imu/2.offset[0]", 3.0, start_s=5.0), ParamEvent("imu/1.gain", 0.0, start_s=8.0)]
    _, log = flown(3, *events)

    np.testing.assert_array_equal(log.all_lanes("voter.used")[:, (log.time_s > 8.1) & (log.time_s < 12.0)], 3.0)


def test_a_voter_of_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="one unit or more, not 0"):
        ImuVoter(0)


def test_block_passes_the_public_check() -> None:
    check_block(ImuVoter(3))


def test_the_stamp_is_not_that_of_a_unit_that_is_left_out() -> None:
    """A unit whose clock stands far ahead is stale; what the estimator is told is as old as the units in use."""
    state = start(model(3, last_stamp_from_outside=True), seed=3)
    state.set_input("last_stamp", 1000.0)
    log = run(state, 2.0, log=["voter.stamp", "voter.faulty_3"], log_s=0.02)

    late = log.time_s > 0.5
    assert log.all_lanes("voter.faulty_3")[:, late].min() == 1.0
    # sampled every 4 ms at the latest before the row
    np.testing.assert_allclose(log.all_lanes("voter.stamp")[0, late].ravel(), log.time_s[late], atol=2 * IMU_S)


def test_vibration_that_all_units_feel_votes_none_of_them_out() -> None:
    """Three units on a frame that shakes by more than the threshold: none is unusual, and all stay in use."""
    state = start(alone(ImuVoter(3, sample_s=IMU_S), step_s=IMU_S))
    rng = np.random.default_rng(1)
    for tick in range(500):
        for unit in (1, 2, 3):
            state.set_input(f"accel_{unit}_B", np.array([0.0, 0.0, -9.81]) + 3.0 * rng.normal(size=3))
            state.set_input(f"gyro_{unit}_B", 0.01 * rng.normal(size=3))
            state.set_input(f"stamp_{unit}", (tick + 1) * IMU_S)
        log = run(state, state.time_s + IMU_S, log_s=IMU_S)
        if tick > 50:
            assert log["block.healthy"][-1] == 1.0 and not any(log[f"block.faulty_{n}"][-1] for n in (1, 2, 3))


@pytest.mark.parametrize(("offset", "healthy"), [(4.0, 1.0), (12.0, 0.0)])
def test_the_last_two_of_three_must_differ_more_than_two_of_two(offset: float, healthy: float) -> None:
    """Each is half of the offset from their mean: 2 and 6 thresholds; two of two may differ by 1, these by 4."""
    events = [ParamEvent("imu/2.alive", 0.0, start_s=3.0), ParamEvent("imu/1.offset[2]", offset, start_s=5.0)]
    _, log = flown(3, *events, until_s=8.0)

    late = log.time_s > 6.0
    assert (
        faults(log, 2)[:, late].min() == 1.0 and faults(log, 1)[:, late].max() == faults(log, 3)[:, late].max() == 0.0
    )
    np.testing.assert_array_equal(log.all_lanes("voter.healthy")[:, late], healthy)
