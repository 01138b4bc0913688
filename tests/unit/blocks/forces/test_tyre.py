"""The tyre against the printed Magic Formula, and its behaviour at standstill, in combined slip and in transients."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from ironbird.blocks.forces.tyre import Tyre
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

A = [1.65, -34, 1250, 3036, 12.8, 0.00501, -0.02103, 0.77394, 0.002289, 0.013442, 0.003709, 19.1656, 1.21356, 6.26206]
B = [2.37272, -9.46, 1490, 130, 276, 0.0886, 0.00402, -0.0615, 1.2, 0.0299, -0.176]
C = [
    2.34, 1.495, 6.416654, -3.57403, -0.087737, 0.09841, 0.0027699, -0.0001151, 0.1, -1.33329, 0.025501, -0.02357,
    0.03027, -0.0647, 0.0211329, 0.89469, -0.099443, -3.336941,
]  # fmt: skip
RADIUS, RELAX_X, RELAX_Y = 0.344, 0.2, 0.5


@functools.cache
def model() -> CompiledModel:
    return alone(
        Tyre(), position=[1.2, 0.7, 0.5], radius=RADIUS, a=A, b=B, c=C, relaxation_x=RELAX_X, relaxation_y=RELAX_Y
    )


def curve(x: ArrayLike, stiffness: float, peak: float, shape: float, bend: float) -> np.ndarray:
    bx = stiffness / (shape * peak) * np.asarray(x, float)
    return peak * np.sin(shape * np.arctan(bx - bend * (bx - np.arctan(bx))))


def lateral(degrees: ArrayLike, fz: float, gamma: float = 0.0) -> np.ndarray:
    """[RflyModel] 7.3.1.1 written out anew."""
    stiffness = A[3] * np.sin(2 * np.arctan(fz / A[4])) * (1 - A[5] * abs(gamma))
    shift = A[9] * fz + A[10] + A[8] * gamma
    offset = A[11] * fz * gamma + A[12] * fz + A[13]
    return curve(np.add(degrees, shift), stiffness, A[1] * fz**2 + A[2] * fz, A[0], A[6] * fz + A[7]) + offset


def longitudinal(percent: ArrayLike, fz: float) -> np.ndarray:
    stiffness = (B[3] * fz**2 + B[4] * fz) * np.exp(-B[5] * fz)
    shift = B[9] * fz + B[10]
    bend = B[6] * fz**2 + B[7] * fz + B[8]
    return curve(np.add(percent, shift), stiffness, B[1] * fz**2 + B[2] * fz, B[0], bend)


def aligning(degrees: ArrayLike, fz: float, gamma: float = 0.0) -> np.ndarray:
    stiffness = (C[3] * fz**2 + C[4] * fz) * (1 - C[6] * abs(gamma)) * np.exp(-C[5] * fz)
    shift = C[11] * gamma + C[12] * fz + C[13]
    offset = (C[14] * fz**2 + C[15] * fz) * gamma + C[16] * fz + C[17]
    bend = (C[7] * fz**2 + C[8] * fz + C[9]) * (1 - C[10] * abs(gamma))
    return curve(np.add(degrees, shift), stiffness, C[1] * fz**2 + C[2] * fz, C[0], bend) + offset


def at(
    percent: ArrayLike, degrees: ArrayLike, load: float, camber: float = 0.0, **params: float
) -> dict[str, np.ndarray]:
    """Outputs at given slips of the contact patch, one row each."""
    kappa, tangent = np.broadcast_arrays(np.asarray(percent, float) / 100, np.tan(np.radians(degrees)))
    kappa, tangent = np.atleast_1d(kappa), np.atleast_1d(tangent)
    values = {"damping_time": 0.0} | params
    state = start(model(), lanes=len(kappa), params={f"block.{n}": v for n, v in values.items()})
    inputs: dict[str, Any] = {"v_NB_B": [10.0, 0, 0], "w_NB_B": 0.0, "speed": 10 / RADIUS, "load": load}
    for name, value in inputs.items():
        state.set_input(name, value)
    state.set_input("camber", camber)
    for lane in range(len(kappa)):
        state.set_state("block.kappa", kappa[lane], lane)
        state.set_state("block.tangent", tangent[lane], lane)
    log = run(state, 1e-3, log_s=1e-3)
    return {path.partition(".")[2]: log.all_lanes(path)[:, 0] for path in model().signals()}


@pytest.mark.parametrize("fz", [1.5, 3.0, 4.0, 6.0])
def test_pure_lateral_force_and_moment_are_the_printed_formulas(fz: float) -> None:
    degrees = np.linspace(-20, 20, 41)
    centred = -(B[9] * fz + B[10])  # the slip at which the longitudinal force is zero

    np.testing.assert_allclose(at(centred, degrees, 1000 * fz)["lateral"], lateral(degrees, fz), rtol=1e-7, atol=1e-2)
    np.testing.assert_allclose(at(0.0, degrees, 1000 * fz)["aligning"], aligning(degrees, fz), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fz", [1.5, 3.0, 4.0, 6.0])
def test_pure_longitudinal_force_is_the_printed_formula(fz: float) -> None:
    percent = np.linspace(-100, 100, 41)
    centred = -(A[9] * fz + A[10])

    found = at(percent, centred, 1000 * fz)["longitudinal"]
    np.testing.assert_allclose(found, longitudinal(percent, fz), rtol=1e-7, atol=1e-2)  # 1e-6 under the root


def test_camber_enters_as_printed() -> None:
    degrees = np.linspace(-8, 8, 17)
    for gamma in (-4.0, 3.0):
        found = at(-(B[9] * 4 + B[10]), degrees, 4000.0, camber=np.radians(gamma))
        np.testing.assert_allclose(found["lateral"], lateral(degrees, 4.0, gamma), rtol=1e-7, atol=1e-2)
        found = at(0.0, degrees, 4000.0, camber=np.radians(gamma))
        np.testing.assert_allclose(found["aligning"], aligning(degrees, 4.0, gamma), rtol=1e-9, atol=1e-9)


def test_the_overturning_moment_is_the_load_times_the_sideways_deflection() -> None:
    found = at(0.0, np.linspace(-8, 8, 9), 4000.0, lateral_stiffness=1.2e5)

    np.testing.assert_allclose(found["overturning"], -4000.0 * found["lateral"] / 1.2e5, rtol=1e-12)  # [RflyModel]
    assert np.abs(found["overturning"]).max() > 100.0  # N m


def test_a_positive_slip_angle_pushes_right_and_the_moment_turns_the_wheel_back() -> None:
    found = at(0.0, 4.0, 4000.0)

    assert found["lateral"][0] > 0 and found["aligning"][0] < 0
    trail_m = -found["aligning"][0] / found["lateral"][0]
    assert 0.005 < trail_m < 0.06  # a few centimetres


def test_left_and_right_tyres_are_mirror_images() -> None:
    degrees = np.linspace(-12, 12, 9)
    right, left = at(3.0, degrees, 4000.0), at(3.0, -degrees, 4000.0, side=-1.0)

    np.testing.assert_allclose(left["lateral"], -right["lateral"], rtol=1e-12)
    np.testing.assert_allclose(left["aligning"], -right["aligning"], rtol=1e-12)
    np.testing.assert_allclose(left["longitudinal"], right["longitudinal"], rtol=1e-12)


def test_combined_forces_stay_inside_the_ellipse_and_braking_costs_side_force() -> None:
    percent, degrees = (grid.ravel() for grid in np.meshgrid(np.linspace(-100, 100, 21), np.linspace(-30, 30, 21)))
    found = at(percent, degrees, 4000.0)

    along = found["longitudinal"] / (B[1] * 16 + B[2] * 4)
    across = (found["lateral"] - (A[12] * 4 + A[13])) / (A[1] * 16 + A[2] * 4)
    assert np.hypot(along, across).max() < 1 + 1e-9
    free, braked = at([0.0, -20.0], 5.0, 4000.0)["lateral"]
    assert 0 < braked < 0.5 * free


def test_friction_scales_the_peak_and_keeps_the_stiffness() -> None:
    centred, small = -(B[9] * 4 + B[10]), np.array([-0.05, 0.05]) - (A[9] * 4 + A[10])
    dry, wet = (at(centred, small, 4000.0, friction=mu)["lateral"] for mu in (1.0, 0.5))
    assert abs(np.diff(wet)[0] / np.diff(dry)[0] - 1) < 1e-3  # curvature of the formula within 0.05 degrees
    degrees = np.linspace(2, 12, 101)
    peak = at(centred, degrees, 4000.0, friction=0.5)["lateral"].max() - (A[12] * 4 + A[13])
    assert abs(peak / (0.5 * (A[1] * 16 + A[2] * 4)) - 1) < 1e-3  # grid of 0.1 degrees


@pytest.mark.parametrize("friction", [0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("load", [1500.0, 4000.0, 6000.0])
def test_a_spinning_wheel_drives_and_a_locked_one_brakes_on_any_road(load: float, friction: float) -> None:
    forces = at([-200.0, -100.0, 100.0, 200.0], 0.0, load, friction=friction)["longitudinal"]

    share = forces / (friction * longitudinal(5.0, load / 1000))
    assert np.all(share * [-1, -1, 1, 1] > 0.4)  # the formula by itself turns round here on ice


def test_no_load_no_force() -> None:
    found = at(5.0, 5.0, 0.0)
    assert not np.any(found["force_B"]) and not np.any(found["moment_B"])


def transient(seconds: float, v_B: Sequence[float], speed: float, **states: float) -> Log:
    state = start(model(), params={"block.damping_time": 0.0})
    inputs: dict[str, Any] = {"v_NB_B": v_B, "w_NB_B": 0.0, "speed": speed, "load": 4000.0}
    for name, value in inputs.items():
        state.set_input(name, value)
    for name, slip in states.items():
        state.set_state(f"block.{name}", slip)
    return run(state, seconds, log_s=1e-3)


def test_slips_settle_over_their_relaxation_lengths() -> None:
    v, percent, tangent = 8.0, 0.03, 0.05
    log = transient(0.5, [v, -v * tangent, 0], v * (1 + percent) / RADIUS)

    t = log.time()
    np.testing.assert_allclose(log["block.slip"], percent * (1 - np.exp(-v * t / RELAX_X)), atol=1e-8)  # RK4 at T / 25
    exact = np.arctan(tangent * (1 - np.exp(-v * t / RELAX_Y)))
    np.testing.assert_allclose(log["block.slip_angle"], exact, atol=1e-8)


def test_a_standing_patch_is_a_spring_that_yields_at_its_bound() -> None:
    still = transient(1.0, [0.0, 0, 0], 0.0, kappa=0.01, tangent=-0.02)
    assert np.ptp(still["block.longitudinal"]) == 0.0 and np.ptp(still["block.lateral"]) == 0.0

    dragged = transient(20.0, [0.15, 0.15, 0], 0.0)  # locked, pulled slowly forward and to the right
    assert abs(dragged["block.slip"][-1] + 0.12) < 1e-6 and abs(np.tan(dragged["block.slip_angle"][-1]) + 0.3) < 1e-6
    assert dragged["block.longitudinal"][-1] < 0 and dragged["block.lateral"][-1] < 0


def test_force_and_moment_on_the_body_follow_from_place_and_steering() -> None:
    state = start(model(), params={"block.damping_time": 0.0})
    inputs: dict[str, Any] = {"v_NB_B": [10.0, 0, 0], "w_NB_B": 0.0, "speed": 10 / RADIUS, "load": 4000.0, "steer": 0.3}
    for name, value in inputs.items():
        state.set_input(name, value)
    state.set_state("block.kappa", 0.02)
    state.set_state("block.tangent", 0.05)
    log = run(state, 1e-3, log_s=1e-3)

    fx, fy, mz = (log[f"block.{name}"][0] for name in ("longitudinal", "lateral", "aligning"))
    force = np.array([np.cos(0.3) * fx - np.sin(0.3) * fy, np.sin(0.3) * fx + np.cos(0.3) * fy, 0])
    np.testing.assert_allclose(log["block.force_B"][0], force, rtol=1e-12, atol=1e-9)
    moment = np.cross([1.2, 0.7, 0.5], force)[2] + mz
    over = log["block.overturning"][0]  # about the wheel's own axis ahead
    np.testing.assert_allclose(log["block.moment_B"][0], [np.cos(0.3) * over, np.sin(0.3) * over, moment], rtol=1e-12)


def settled(**inputs: Any) -> Log:
    """After two seconds, many times the relaxation: the contact patch stands."""
    state = start(model())
    for name, value in {"load": 3000.0, **inputs}.items():
        state.set_input(name, value)
    return run(state, 2.0, log_s=0.1)


@pytest.mark.parametrize("steer", [0.05, -0.05])
def test_a_wheel_that_is_steered_slips_by_its_own_angle_and_pushes_to_that_side(steer: float) -> None:
    log = settled(v_NB_B=[10.0, 0.0, 0.0], speed=10.0 * np.cos(steer) / RADIUS, steer=steer)

    assert log["block.slip_angle"][-1] == pytest.approx(steer, rel=1e-6)  # steered right (positive): slips to the right
    assert log["block.slip"][-1] == pytest.approx(0.0, abs=1e-9)  # it rolls with the speed along itself
    assert np.sign(log["block.force_B"][-1, 1]) == np.sign(steer)


def test_in_a_turn_the_wheels_go_at_their_own_speeds() -> None:
    turn, ahead, right = 0.5, 1.2, 0.7  # rad/s to the right; the wheel's place in front of and beside the origin
    log = settled(v_NB_B=[10.0, 0.0, 0.0], w_NB_B=[0.0, 0.0, turn], speed=10.0 / RADIUS)

    along, across = 10.0 - turn * right, turn * ahead  # the inner wheel is slower, the front goes to the right
    assert log["block.slip"][-1] == pytest.approx((10.0 - along) / along, rel=1e-6)  # turns too fast for its place
    assert log["block.slip_angle"][-1] == pytest.approx(-np.arctan(across / along), rel=1e-6)
