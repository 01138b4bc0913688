"""Stepping one vehicle a few ticks at a time gives the bytes of a plain run."""

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.errors import RunError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.prepare import inject
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.load import load_vehicle

MODEL = compile_model(load_vehicle("quad_f450", control="external").diagram)
FAULT = parse_fault("rotor.speed_loss@1:instance=1,severity=0.3,start=0.5")


def test_steps_give_the_same_bytes_as_a_run() -> None:
    whole = start(MODEL, seed=3)
    inject(whole, FAULT)
    for number in range(1, 5):
        whole.set_input(f"rotor/{number}", 0.7)
    expected = run(whole, 1.0, log=["body", "imu*"], log_s=0.02)

    state = start(MODEL, seed=3)
    inject(state, FAULT)
    stepper = Stepper(state, until_s=1.0, log=["body", "imu*"], log_s=0.02)
    stepper.inputs[[stepper.input_row(f"rotor/{number}") for number in range(1, 5)]] = 0.7
    ticks = iter([1, 7, 4, 250, 3] + [5] * 200)
    while stepper.step(next(ticks)):
        pass
    log = stepper.finish()
    assert log.sha256() == expected.sha256()
    assert stepper.stop is None


def test_commands_act_and_views_are_live() -> None:
    state = start(MODEL)
    stepper = Stepper(state, until_s=2.0, log=["rotor/1/motor"])
    row, accel = stepper.input_row("rotor/1"), stepper.held[stepper.held_rows("imu/1/accel_fault.value")]
    stepper.step(100)
    before = accel.copy()
    stepper.inputs[row] = 0.5
    stepper.step(100)
    assert not np.array_equal(before, accel)
    stepper.step(10**6)
    assert not stepper.step(1)  # the time is over
    speed = stepper.finish()["rotor/1/motor.speed"]
    assert speed[3] < 200.0 and speed[-1] > 400.0  # rad/s


def test_mistakes_are_named() -> None:
    with pytest.raises(RunError, match="one vehicle, not 9"):
        Stepper(start(MODEL, lanes=9), until_s=1.0)
    stepper = Stepper(start(MODEL), until_s=1.0, log=["body"])
    with pytest.raises(UnknownNameError, match="rotor/4"):
        stepper.input_row("rotor/9")
    with pytest.raises(UnknownNameError, match="imu/1"):
        stepper.held_rows("imu/1/gyro_fault.valu")
