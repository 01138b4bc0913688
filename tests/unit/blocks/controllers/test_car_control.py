"""Controllers of ground vehicles: signs, feed-forward, limits."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ironbird.blocks.controllers.car_control import CarControl, RoverControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

SAMPLE_S, BASE, ANGLE, GAIN, DAMPING = 0.01, 2.4, 0.9, 2.0, 0.05
RADIUS, SEPARATION, FULL = 0.033, 0.16, 6.67


@functools.cache
def car() -> CompiledModel:
    return alone(
        CarControl(sample_s=SAMPLE_S), step_s=SAMPLE_S, wheelbase=BASE, max_angle=ANGLE, max_drive=5.0, max_brake=15.0,
        cross_gain=GAIN, yaw_damping=DAMPING, speed_gain=1.5, speed_integral=0.3, max_lateral=6.0,
    )  # fmt: skip


@functools.cache
def rover() -> CompiledModel:
    return alone(
        RoverControl(sample_s=SAMPLE_S), step_s=SAMPLE_S, wheel_radius=RADIUS, wheel_separation=SEPARATION,
        max_wheel_speed=FULL, course_gain=4.0, cross_gain=8.0, max_turn=2.84,
    )  # fmt: skip


def control(model: CompiledModel, seconds: float = SAMPLE_S, *, yaw: float = 0.0, **inputs: Any) -> Log:
    """On a path to the north, at the given heading."""
    values: dict[str, Any] = {
        "p_NB_N": 0.0, "v_NB_B": [5.0, 0, 0], "w_NB_B": 0.0, "position_set": 0.0, "tangent_set": [1.0, 0.0],
        "curvature_set": 0.0, "speed_set": 5.0, "R_NB": Rotation.from_euler("z", yaw).as_matrix().flatten(order="F"),
    }  # fmt: skip
    state = start(model)
    for name, value in {**values, **inputs}.items():
        state.set_input(name, value)
    return run(state, seconds, log_s=SAMPLE_S)


def angle(**inputs: Any) -> float:
    return float(control(car(), **inputs)["block.steer"][0]) * ANGLE


def test_on_the_path_nothing_is_asked_for() -> None:
    log = control(car())
    assert [log[f"block.{name}"][0] for name in ("steer", "drive", "brake", "cross_track")] == [0.0, 0.0, 0.0, 0.0]


def test_steering_is_the_sum_of_its_four_terms() -> None:
    # Path 0.4 m to the right, car pointing 0.1 rad to the left, sliding to the left, turning right
    found = angle(
        yaw=-0.1, position_set=[0.0, 0.4, 0.0], v_NB_B=[5.0, -0.2, 0], curvature_set=0.01, w_NB_B=[0.0, 0, 0.08]
    )

    terms = 0.1 + math.atan(0.2 / 5.0) + math.atan(GAIN * 0.4 / 6.0) + math.atan(BASE * 0.01) - DAMPING * (0.08 - 0.05)
    assert abs(found - terms) < 1e-12


def test_errors_do_not_depend_on_the_direction_of_the_path() -> None:
    def turned(by: float) -> float:
        rotate = Rotation.from_euler("z", by).as_matrix()
        return angle(yaw=by - 0.2, position_set=rotate @ [0.3, 0.5, 0], tangent_set=(rotate @ [1.0, 0, 0])[:2])

    for by in (0.5, 2.0, math.pi, -2.5):
        assert abs(turned(by) - turned(0.0)) < 1e-12


def test_steering_keeps_to_the_range_and_to_the_lateral_acceleration() -> None:
    assert abs(angle(yaw=-1.5, v_NB_B=[0.5, 0, 0]) - ANGLE) < 1e-12
    assert abs(angle(yaw=-1.5, v_NB_B=[15.0, 0, 0]) - math.atan(BASE * 6.0 / 225)) < 1e-12


def test_speed_control_drives_brakes_and_stands() -> None:
    slow, fast = control(car(), v_NB_B=[4.0, 0, 0]), control(car(), v_NB_B=[8.0, 0, 0])
    assert abs(slow["block.drive"][0] - 1.5 / 5) < 1e-12 and slow["block.brake"][0] == 0.0
    assert abs(fast["block.brake"][0] - 4.5 / 15) < 1e-12 and fast["block.drive"][0] == 0.0
    ahead = control(car(), acceleration_set=1.0)
    assert abs(ahead["block.drive"][0] - 1.0 / 5) < 1e-12
    stand = control(car(), v_NB_B=0.0, speed_set=0.0)
    assert stand["block.brake"][0] == 0.3 and stand["block.drive"][0] == 0.0


def test_integral_grows_at_its_rate_and_not_beyond_the_limits() -> None:
    log = control(car(), 1.0, v_NB_B=[4.0, 0, 0])
    np.testing.assert_allclose(log["block.drive"], (1.5 + 0.45 * log.time()) / 5, atol=1e-9)
    far = control(car(), 10.0, v_NB_B=[-20.0, 0, 0])  # more than full drive is asked for: no integration
    assert np.all(far["block.drive"] == 1.0)
    settled = control(car(), 30.0, v_NB_B=[4.5, 0, 0])
    assert abs(settled["block.drive"][-1] - (0.75 + 1.5) / 5) < 1e-9  # integral part at its limit


@pytest.mark.parametrize("curvature", [0.0, 2.0, -5.0])
def test_rover_wheels_make_speed_and_curvature(curvature: float) -> None:
    log = control(rover(), v_NB_B=[0.1, 0, 0], speed_set=0.1, curvature_set=curvature)

    left, right = (log[f"block.{side}"][0] * FULL * RADIUS for side in ("left", "right"))
    assert abs((left + right) / 2 - 0.1) < 1e-12
    assert abs((left - right) / SEPARATION - 0.1 * curvature) < 1e-12


def test_rover_turns_on_the_spot_when_it_faces_elsewhere_and_slows_both_wheels_together() -> None:
    log = control(rover(), yaw=-2.0, speed_set=0.1)
    assert log["block.left"][0] > 0 and abs(log["block.left"][0] + log["block.right"][0]) < 1e-12
    turn = (log["block.left"][0] - log["block.right"][0]) * FULL * RADIUS / SEPARATION
    assert turn <= 2.84 * (1 + 1e-12)
    fast = control(rover(), speed_set=0.3, curvature_set=5.0)
    assert abs(fast["block.left"][0] - 1.0) < 1e-12
    ratio = (0.3 - 1.5 * SEPARATION / 2) / (0.3 + 1.5 * SEPARATION / 2)
    assert abs(fast["block.right"][0] - ratio) < 1e-12
    assert control(rover(), yaw=-2.0, speed_set=0.0)["block.left"][0] == 0.0
