"""[ChipLevel] Fig. 10: an accelerometer that is noisy and later open, during a mission, with one IMU and with three.

The paper's vehicle has one IMU in use: it shakes under the noise and flies on; when "the open-circuit fault for
communication circuit" comes it crashes at once. An open link to the chip silences accelerometer and gyro: both read
zero. An accelerometer that alone reads zero is another case: the attitude is known from the gyro, the zero is noticed
because it repeats, and GNSS velocity carries the vehicle home.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.faults.catalog import parse_fault
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.prepare import inject
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import CATALOG

SEEDS = 8
NOISE_S, QUIET_S, OPEN_S, END_S = 15.0, 25.0, 30.0, 90.0
NOISE = f"imu.accel_noise@1:instance=1,severity=1,start={NOISE_S},end={QUIET_S}"  # 5 m/s^2 on each axis
ACCEL = f"imu.accel_open@1:instance=1,start={OPEN_S}"
GYRO = f"imu.gyro_open@1:instance=1,start={OPEN_S}"
CASES = {"healthy": (), "noise": (NOISE,), "accelerometer open": (NOISE, ACCEL), "link open": (NOISE, ACCEL, GYRO)}


@functools.cache
def flown(imus: int) -> Log:
    """All cases, each with the same eight seeds: lane = case * SEEDS + seed."""
    text = (CATALOG / "quad_f450.toml").read_text()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quad.toml"
        path.write_text(text.replace("[provenance]", f"[sensors]\nimus = {imus}\n\n[provenance]"))
        model = compile_model(load_vehicle(path, control="reference").diagram)
    state = start(model, lanes=SEEDS * len(CASES), seed=list(range(1, SEEDS + 1)) * len(CASES))
    wind = Weather(speed_mps=3.0, from_deg=240.0, turbulence_mps=4.6)
    for name, value in {**load_mission("square").params(16), **wind.params()}.items():
        state.set_param(name, value)
    for case, faults in enumerate(CASES.values()):
        for seed in range(SEEDS):
            for fault in faults:
                inject(state, parse_fault(fault), case * SEEDS + seed)
    signals = ["body", "navigator", "estimator", "vote/imu", "imu/1/accel_fault", "control", "rotor/1/motor"]
    return run(state, END_S, log=signals, log_s=0.02)


def lanes(case: str) -> range:
    first = list(CASES).index(case) * SEEDS
    return range(first, first + SEEDS)


def tilt_deg(log: Log, lane: int) -> np.ndarray:
    return np.asarray(np.degrees(np.arccos(np.clip(log.lane("body.R_NB", lane)[:, 8], -1, 1))))


def shaking(log: Log, lane: int) -> float:
    """Rms of the angular velocity while the noise lasts."""
    time_s = log.time(lane)
    w = log.lane("body.w_NB_B", lane)[(time_s >= NOISE_S) & (time_s < QUIET_S)]
    return float(np.sqrt((w**2).sum(axis=1).mean()))


def assert_completed(log: Log, lane: int) -> None:
    stop = log.stops[lane]
    assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
    assert not log.lane("navigator.failsafe", lane).any()


@pytest.mark.parametrize("imus", [1, 3])
def test_without_a_fault_the_mission_is_flown(imus: int) -> None:
    for lane in lanes("healthy"):
        assert_completed(flown(imus), lane)


@pytest.mark.parametrize("imus", [1, 3])
def test_the_faults_act_when_they_are_ordered(imus: int) -> None:
    log = flown(imus)

    for lane in lanes("accelerometer open"):
        time_s, seen = log.time(lane), log.lane("imu/1/accel_fault.difference", lane)
        noisy = (time_s >= NOISE_S) & (time_s < QUIET_S)
        assert abs(np.sqrt((seen[noisy] ** 2).mean()) / (5.0 * np.sqrt(3)) - 1) < 0.1  # 500 samples of three axes
        assert not seen[(time_s < NOISE_S) | ((time_s >= QUIET_S) & (time_s < OPEN_S))].any()
        assert not log.lane("imu/1/accel_fault.value", lane)[time_s >= OPEN_S].any()


def assert_at_most_one_lands_early(log: Log, case: str) -> None:
    """Ten seconds of the strongest noise on the only unit may close the gates of the filter, which then lands."""
    reasons = [stop.reason for stop in (log.stops[lane] for lane in lanes(case)) if stop is not None]
    assert len(reasons) == SEEDS and reasons.count(COMPLETED) >= SEEDS - 1, reasons
    assert set(reasons) <= {COMPLETED, "landed before the end of the mission"}


def test_one_imu_noise_shakes_the_vehicle_but_does_not_bring_it_down() -> None:
    log = flown(1)

    for healthy, noisy in zip(lanes("healthy"), lanes("noise"), strict=True):
        assert shaking(log, noisy) > 1.4 * shaking(log, healthy)  # 1.6 to 2.0 are found; the same wind without noise
    assert_at_most_one_lands_early(log, "noise")


def test_one_imu_an_open_link_crashes_the_vehicle_at_once() -> None:
    log = flown(1)

    for lane in lanes("link open"):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == "hard landing"
        assert OPEN_S < stop.time_s < OPEN_S + 8.0  # s: ten metres of height, and one more if it goes up at first
        assert tilt_deg(log, lane).max() > 90.0  # degrees


def test_one_imu_an_open_accelerometer_alone_does_not_end_the_mission() -> None:
    log = flown(1)

    assert_at_most_one_lands_early(log, "accelerometer open")
    for lane in lanes("accelerometer open"):
        time_s = log.time(lane)
        # A value that repeats is noticed, and flight is taken as unaccelerated: the estimator does not fall
        assert log.lane("vote/imu.healthy", lane)[time_s > OPEN_S + 0.1].max() == 0.0
        error = log.lane("estimator.v_NB_N", lane) - log.lane("body.v_NB_N", lane)
        assert np.linalg.norm(error[time_s > OPEN_S], axis=1).max() < 3.0  # m/s: GNSS velocity carries it
        assert -log.lane("body.p_NB_N", lane)[:, 2].min() < 15.0  # m: it had 10 m to hold


@pytest.mark.parametrize("case", ["noise", "accelerometer open", "link open"])
def test_three_imus_survive_every_case_by_voting(case: str) -> None:
    log = flown(3)

    for healthy, lane in zip(lanes("healthy"), lanes(case), strict=True):
        assert_completed(log, lane)
        time_s = log.time(lane)
        out = log.lane("vote/imu.faulty_1", lane)
        assert out[(time_s > NOISE_S + 1) & (time_s < QUIET_S)].mean() > 0.9  # voted out while it is noisy
        if case != "noise":
            assert out[time_s > OPEN_S + 0.2].all()  # 0.1 s of averaging
        for other in (2, 3):
            assert not log.lane(f"vote/imu.faulty_{other}", lane)[
                time_s > 4.0
            ].any()  # s: armed; rotors that stand shake nothing, and 12 bits repeat
        assert abs(shaking(log, lane) / shaking(log, healthy) - 1) < 0.05  # the flight hardly feels it
