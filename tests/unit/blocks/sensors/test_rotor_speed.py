"""Rotor speed: steps, noise, and the mean of all rotors."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sensing import outputs_at, sample, sensor

from ironbird.blocks.sensors.rotor_speed import MeanRotorSpeed, RotorSpeed
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.checks import check_block


@functools.cache
def telemetry() -> CompiledModel:
    return sensor(RotorSpeed, sample_s=0.02)


def test_pass_the_public_check() -> None:
    check_block(RotorSpeed(), params={"noise": 1.0, "resolution": 1.5})
    check_block(MeanRotorSpeed(4))


def test_speed_is_shown_in_whole_steps() -> None:
    found = outputs_at(telemetry(), {"speed_rotor": [0.0, 470.9, 471.8]}, {"resolution": 1.5})

    np.testing.assert_array_equal(found["speed"], [0.0, 471.0, 472.5])
    np.testing.assert_array_equal(found["speed_truth"], [0.0, 470.9, 471.8])


def test_noise_has_its_deviation_and_speed_is_not_negative() -> None:
    log = sample(telemetry(), 10_000, {"speed_rotor": 500.0}, {"noise": 3.0})
    still = sample(telemetry(), 100, {"speed_rotor": 0.0}, {"noise": 3.0})

    assert log["block.speed"].std() == pytest.approx(3.0, rel=0.03)
    assert still["block.speed"].min() == 0.0


def test_mean_is_that_of_all_rotors() -> None:
    diagram = Diagram("mean")
    mean = diagram.add("mean", MeanRotorSpeed(3))
    for i in range(3):
        rotor = diagram.add(f"rotor/{i}", RotorSpeed(sample_s=0.001))
        diagram.export(rotor.speed_rotor, f"speed_{i}")
        diagram.connect(rotor.speed, mean.speeds)
    state = start(compile_model(diagram))
    for i, speed in enumerate((100.0, 400.0, 700.0)):
        state.set_input(f"speed_{i}", speed)

    assert run(state, 0.001, log_s=0.001)["mean.speed"][0] == 400.0
