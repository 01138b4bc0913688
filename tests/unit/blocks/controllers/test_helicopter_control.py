"""Helicopter control: feed-forward of a hover, directions of every command, the ground, the engine."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ironbird.blocks.actuators.swash_plate import AZIMUTHS_DEG, mixing
from ironbird.blocks.controllers.helicopter_control import HelicopterControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.constants import STANDARD_GRAVITY_MPS2 as GRAVITY
from ironbird.testing import check_block
from ironbird.testing.alone import alone, outputs_at

MASS, TIP, PITCH, INDUCED = 8.2, 129.4, 0.05, 4.4
MIXING = mixing(np.radians(AZIMUTHS_DEG), 0.25, 0.15)
PARAMS: dict[str, Any] = {
    "position_gain": 0.7, "velocity_gain": 1.8, "velocity_integral": 0.4, "tilt_gain": 4.0, "tilt_integral": 0.5,
    "heading_gain": 2.0, "yaw_gain": 0.08, "yaw_integral": 2.0, "max_speed": 8.0, "max_climb": 3.0, "max_descent": 1.5,
    "max_tilt": 0.44, "max_rate": 1.5, "mass": MASS, "rotor_radius": 0.775, "tip_speed": TIP, "hover_pitch": PITCH,
    "hover_induced": INDUCED, "profile_torque": 4.3, "rate_cyclic": 0.0285, "tail_arm": 0.75, "tail_thrust": 8.56,
    "tail_pitch": 0.11, "tail_inflow": 0.12, "side_force": 0.0, "mixing": MIXING.tolist(), "collective_0": 0.08,
    "collective_range": [-0.05, 0.21], "max_cyclic": 0.06, "swash_travel": 0.7, "tail_0": 0.1, "tail_travel": 0.4,
}  # fmt: skip
HOVER = PITCH + 1.5 * INDUCED / TIP


@functools.cache
def model() -> CompiledModel:
    return alone(HelicopterControl(sample_s=0.004), **PARAMS)


def at(params: dict[str, Any] | None = None, euler: tuple[float, float, float] = (0, 0, 0), **inputs: Any) -> Any:
    attitude = Rotation.from_euler("ZYX", euler[::-1]).as_matrix()
    values = {"p_NB_N": [0.0] * 3, "v_NB_N": [0.0] * 3, "R_NB": attitude.ravel(order="F"), "w_NB_B": [0.0] * 3}
    values |= {"position_set": [0.0] * 3, **inputs}
    rows = {name: np.asarray([value], float) for name, value in values.items()}
    found = outputs_at(model(), rows, {name: [value] for name, value in (params or {}).items()})
    return {name: value[0] for name, value in found.items()}


def test_block_passes_the_public_check() -> None:
    check_block(HelicopterControl(sample_s=0.004), params=PARAMS)


def test_hover_asks_for_the_weight_and_for_the_pitch_that_momentum_theory_gives() -> None:
    found = at()

    assert found["lift"] == pytest.approx(MASS * GRAVITY, rel=1e-12)
    np.testing.assert_allclose(found["pitches"], [HOVER, 0.0, 0.0], rtol=1e-12, atol=1e-15)
    torque = MASS * GRAVITY * INDUCED * 0.775 / TIP + 4.3
    load = torque / 0.75 / 8.56
    assert found["tail"] == pytest.approx((0.11 * load + 0.12 * math.sqrt(load) - 0.1) / 0.4, rel=1e-12)
    commands = np.array([found[f"swash_{i}"] for i in (1, 2, 3)])
    np.testing.assert_allclose(commands * 0.7, MIXING @ [HOVER - 0.08, 0.0, 0.0], rtol=1e-12)


def test_places_ahead_beside_and_above_are_answered_by_nose_down_roll_right_and_more_pitch() -> None:
    assert at(position_set=[2.0, 0.0, 0.0])["pitches"][1] < 0  # disc forward
    assert at(position_set=[0.0, 2.0, 0.0])["pitches"][2] > 0  # disc to the right
    assert at(position_set=[0.0, 0.0, -1.0])["pitches"][0] > HOVER
    turned = at(position_set=[2.0, 0.0, 0.0], euler=(0.0, 0.0, math.pi / 2), yaw_set=math.pi / 2)
    assert turned["pitches"][2] < 0 and abs(turned["pitches"][1]) < 1e-12  # heading east: north is to the left


def test_level_hover_turns_back_from_a_tilt_at_the_rate_of_its_gain() -> None:
    found = at(euler=(0.1, 0.0, 0.0))
    np.testing.assert_allclose(found["rate_set_B"][:2], [-4.0 * math.sin(0.1), 0.0], rtol=1e-12, atol=1e-12)
    assert found["pitches"][2] == pytest.approx(-0.0285 * 4.0 * math.sin(0.1), rel=1e-12)  # tau p = B d
    found = at(euler=(0.0, 0.1, 0.0))
    np.testing.assert_allclose(found["rate_set_B"][:2], [0.0, -4.0 * math.sin(0.1)], rtol=1e-12, atol=1e-12)


def test_heading_goes_the_short_way_and_the_gyro_brakes() -> None:
    base = at()["tail"]
    assert at(yaw_set=0.3)["tail"] == pytest.approx(base + 0.08 * 0.6 / 0.4, rel=1e-9)
    short = at(euler=(0.0, 0.0, 3.0), yaw_set=-3.0)
    assert short["rate_set_B"][2] == pytest.approx(2.0 * (2 * math.pi - 6.0), rel=1e-9)
    assert at(w_NB_B=[0.0, 0.0, 0.5])["tail"] == pytest.approx(base - 0.08 * 0.5 / 0.4, rel=1e-9)


def test_main_rotor_leans_against_the_tail_rotor() -> None:
    found = at({"side_force": 7.0})

    lean = math.atan2(7.0, MASS * GRAVITY)  # rad to the right
    assert found["rate_set_B"][0] == pytest.approx(4.0 * math.sin(lean), rel=1e-9)


def test_blades_are_flat_on_the_ground_and_the_engine_stops_only_when_terminated() -> None:
    cases: tuple[tuple[dict[str, Any], float], ...] = (
        ({"armed": 0.0, "disarmed": 1.0}, 1.0),
        ({"armed": 0.0, "disarmed": 0.0}, 0.0),
        ({"armed": 1.0, "grounded": 1.0}, 1.0),
    )
    for inputs, throttle in cases:
        found = at(position_set=[3.0, 3.0, -3.0], euler=(0.05, 0.05, 0.05), **inputs)
        assert found["lift"] == 0.0 and found["throttle"] == throttle
        np.testing.assert_array_equal(found["pitches"], 0.0)


def test_without_position_it_stays_level_and_sinks() -> None:
    found = at(position_set=[9.0, 9.0, 9.0], velocity_set=[0.0, 0.0, 1.0], control_kind=4.0)

    np.testing.assert_allclose(found["pitches"][1:], 0.0, rtol=0, atol=1e-15)
    assert found["lift"] == pytest.approx(MASS * (GRAVITY - 1.8), rel=1e-12)
