"""LiftDragSurface: a second implementation with unit vectors and arc cosine, closed forms, any flow."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.forces.lift_drag import LiftDragSurface
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

EXAMPLES = settings(deadline=None, max_examples=40, derandomize=True)
RHO, AREA, STALL = 1.2041, 0.5, 0.3391428111
K = {
    "a0": 0.05984281113, "cla": 4.752798721, "cda": 0.6417112299, "cma": -0.3, "alpha_stall": STALL, "cla_stall": -3.85,
    "cda_stall": -0.9233984055, "cma_stall": 0.1, "control_joint_rad_to_cl": -1.0, "cm_delta": -0.2,
}  # fmt: skip
POSITION = [-0.05, 0.3, -0.05]
component = st.floats(-20, 20)
rate = st.floats(-2, 2)


@functools.cache
def model() -> CompiledModel:
    return alone(LiftDragSurface(), area=AREA, position=POSITION, **K)  # type: ignore[arg-type]


def plugin(
    v: np.ndarray, w: np.ndarray, delta: float, forward: np.ndarray, upward: np.ndarray, k: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Force and moment as the plug-in computes them: unit vectors, the angle by its cosine, branch by branch."""
    at_cp = v + np.cross(w, POSITION)
    span = np.cross(forward, upward)
    in_plane = at_cp - (at_cp @ span) * span
    speed = np.linalg.norm(in_plane)
    if speed < 1e-9:
        return np.zeros(3), np.zeros(3)
    drag_way = -in_plane / speed
    lift_way = np.cross(span, in_plane) / speed
    angle = math.acos(max(-1.0, min(1.0, float(lift_way @ upward))))
    alpha = k["a0"] + (angle if lift_way @ forward >= 0 else -angle)
    if alpha > math.pi:
        alpha -= 2 * math.pi
    if alpha < -math.pi:
        alpha += 2 * math.pi
    plate = 0.7 * math.sin(2 * alpha)
    past = abs(alpha) - k["alpha_stall"]
    cd = k["cda"] * abs(alpha)
    cm = k["cma"] * alpha
    cl = k["cla"] * alpha
    if past > 0:
        sign = math.copysign(1.0, alpha)
        line = k["cla"] * k["alpha_stall"] + k["cla_stall"] * past
        cl = max(line, plate) if alpha > 0 else min(-line, plate)
        cd = min(k["cda"] * k["alpha_stall"] + k["cda_stall"] * past, 1 - math.cos(2 * alpha))
        cm = sign * (k["cma"] * k["alpha_stall"] + k["cma_stall"] * past)
        if abs(alpha) > math.pi / 2:  # the plug-in has 90 here, its angle is in radians
            right = k["cma"] * k["alpha_stall"] + k["cma_stall"] * (math.pi / 2 - k["alpha_stall"])
            cm = right * math.sin(alpha)
    cl += k["control_joint_rad_to_cl"] * delta
    cm += k["cm_delta"] * delta
    q = 0.5 * RHO * speed**2
    force = q * AREA * (cl * lift_way + abs(cd) * drag_way)
    return force, np.cross(POSITION, force) + q * AREA * cm * span


def flow(alpha: float, speed: float = 10.0) -> list[float]:
    """Velocity of a surface whose angle of attack, with a0, is alpha."""
    return [speed * math.cos(alpha - K["a0"]), 0.0, speed * math.sin(alpha - K["a0"])]


def test_block_passes_the_public_check() -> None:
    check_block(LiftDragSurface(), params={"area": AREA, "position": POSITION, **K})


@given(v=st.tuples(component, component, component), w=st.tuples(rate, rate, rate), delta=st.floats(-0.5, 0.5))
@EXAMPLES
def test_force_and_moment_are_those_of_the_plugin(v: tuple[float, ...], w: tuple[float, ...], delta: float) -> None:
    for forward, upward in (
        ([1.0, 0, 0], [0, 0, -1.0]),
        ([1.0, 0, 0], [0, -1.0, 0]),
        ([0.6, 0, -0.8], [-0.8, 0, -0.6]),
    ):
        found = outputs_at(
            model(), {"v_air_B": list(v), "w_NB_B": list(w), "density": RHO, "deflection": delta},
            {"forward": forward, "upward": upward},
        )  # fmt: skip

        force, moment = plugin(np.array(v), np.array(w), delta, np.array(forward), np.array(upward), K)
        scale = 1.0 + np.dot(v, v)
        # an arc cosine near 1 knows its angle to 2e-8
        np.testing.assert_allclose(found["force_B"][0], force, rtol=0, atol=1e-7 * scale)
        np.testing.assert_allclose(found["moment_B"][0], moment, rtol=0, atol=1e-7 * scale)


def test_below_the_stall_lift_is_a_line_across_the_flow_and_drag_along_it() -> None:
    angles = np.array([-0.3, -0.05984281113, 0.0, 0.1, 0.33])
    delta = 0.2
    air = np.array([flow(a) for a in angles])
    found = outputs_at(
        model(),
        {"v_air_B": air, "w_NB_B": [0.0, 0, 0], "density": RHO, "deflection": delta},
        {"cma": 0.0, "cm_delta": 0.0},
    )

    pressure = 0.5 * RHO * 100 * AREA
    lift = K["cla"] * angles + K["control_joint_rad_to_cl"] * delta  # alpha is that of the flow, with a0
    np.testing.assert_allclose(found["alpha"], angles, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["lift"], pressure * lift, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["drag"], pressure * K["cda"] * np.abs(angles), rtol=0, atol=1e-9)
    along = np.einsum("ij,ij->i", found["force_B"], air) / 10
    across = np.einsum("ij,ij->i", found["force_B"], np.cross([0, 1.0, 0], air)) / 10
    np.testing.assert_allclose(along, -found["drag"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(across, found["lift"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["moment_B"], np.cross(POSITION, found["force_B"]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("place", [-math.pi / 2, -STALL, 0.0, STALL, math.pi / 2, math.pi])
def test_coefficients_are_continuous_at_the_stall_at_90_degrees_and_backwards(place: float) -> None:
    step = 1e-7
    found = outputs_at(model(), {"v_air_B": [flow(place - step), flow(place + step)], "w_NB_B": [0.0, 0, 0]})

    for name in ("force_B", "moment_B"):
        np.testing.assert_allclose(found[name][0], found[name][1], rtol=0, atol=5e-5)  # 31 N times slope times step


def test_at_90_degrees_to_the_flow_drag_is_the_published_line_and_lift_is_none() -> None:
    found = outputs_at(model(), {"v_air_B": [flow(math.pi / 2)], "w_NB_B": [0.0, 0, 0], "density": RHO})

    line = abs(K["cda"] * STALL + K["cda_stall"] * (math.pi / 2 - STALL))  # 0.92
    assert found["drag"][0] == pytest.approx(0.5 * RHO * 100 * AREA * line, rel=1e-9)
    assert abs(found["lift"][0]) < 1e-9


def test_rolling_is_damped_by_the_wing_that_goes_down() -> None:
    found = outputs_at(
        model(), {"v_air_B": [[15.0, 0, 0], [15.0, 0, 0]], "w_NB_B": [[0.0, 0, 0], [0.5, 0, 0]], "density": RHO}
    )

    down = 0.5 * POSITION[1]  # right wing sinks when rolling right
    assert found["alpha"][1] - found["alpha"][0] == pytest.approx(math.atan2(down, 15.0), abs=1e-9)
    assert found["moment_B"][1, 0] < found["moment_B"][0, 0]


def test_still_air_gives_no_force() -> None:
    found = outputs_at(model(), {"v_air_B": [[0.0, 0, 0], [0.0, 5.0, 0.0]], "w_NB_B": [0.0, 0, 0]})

    assert np.abs(found["force_B"]).max() < 1e-20 and np.abs(found["moment_B"]).max() < 1e-20
    assert np.isfinite(found["alpha"]).all()


def test_a_surface_in_the_wake_of_a_propeller_has_the_pressure_of_momentum_theory() -> None:
    """At rest all of the flow is the wake: q = T / A, so lift is cl area T / A."""
    wing = alone(
        LiftDragSurface(washed=True), area=0.15, cla=4.75, cda=0.6, alpha_stall=0.6, cla_stall=-3.85, cda_stall=0.9,
        a0=0.1, wash_area=0.06, wash_share=1.0,
    )  # fmt: skip
    still = {"v_air_B": np.zeros(3), "w_NB_B": np.zeros(3), "density": np.array(1.225)}
    hover = outputs_at(wing, {**still, "wash_thrust": np.array(4.0)})
    half = outputs_at(wing, {**still, "wash_thrust": np.array(4.0)}, {"wash_share": 0.5})
    cruise = outputs_at(wing, {**still, "v_air_B": np.array([15.0, 0.0, 0.0]), "wash_thrust": np.array(4.0)})

    assert abs(hover["lift"][0] - 4.75 * 0.1 * 0.15 * 4.0 / 0.06) < 1e-9
    assert abs(half["lift"][0] / hover["lift"][0] - 0.5) < 1e-12
    pressure = 0.5 * 1.225 * 15.0**2 + 4.0 / 0.06  # Bernoulli: the disc adds T / A
    assert abs(cruise["lift"][0] - 4.75 * 0.1 * 0.15 * pressure) < 1e-9
