"""Wing: an independent formula in wind axes, symmetry, the flat plate beyond the stall, mavsim's printed forces."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.forces.wing import Wing
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
DENSITY, S, B, C, E, M, A0 = 1.2682, 0.55, 2.8956, 0.18994, 0.9, 50.0, 0.47
LONGITUDINAL: dict[str, float] = {
    "CL_0": 0.23, "CL_alpha": 5.61, "CL_q": 7.95, "CL_elevator": 0.13, "CD_p": 0.0, "CD_elevator": 0.0135,
    "Cm_0": 0.0135, "Cm_alpha": -2.74, "Cm_q": -38.21, "Cm_elevator": -0.99,
}  # fmt: skip
LATERAL: dict[str, float] = {
    "CY_beta": -0.98, "Cl_beta": -0.13, "Cl_p": -0.51, "Cl_r": 0.25, "Cn_beta": 0.073, "Cn_p": 0.069, "Cn_r": -0.095,
    "CY_aileron": 0.075, "Cl_aileron": 0.17, "Cn_aileron": -0.011, "CY_rudder": 0.19, "Cl_rudder": 0.0024,
    "Cn_rudder": -0.069,
}  # fmt: skip
small = st.floats(-0.3, 0.3)


@functools.cache
def model() -> CompiledModel:
    sizes: dict[str, float] = {
        "area": S, "span": B, "chord": C, "oswald": E, "stall_angle": A0, "stall_rate": M,
    }  # fmt: skip
    return alone(Wing(), **{**sizes, **LONGITUDINAL, **LATERAL})  # type: ignore[arg-type]


def air(speed: float, alpha: float, beta: float = 0.0) -> list[float]:
    return [
        speed * math.cos(alpha) * math.cos(beta),
        speed * math.sin(beta),
        speed * math.sin(alpha) * math.cos(beta),
    ]


def lift_coefficient(alpha: float) -> float:
    """[BeardMcLain] Sec. 4.2.1 as printed, with exponentials."""
    down, up = math.exp(-M * (alpha - A0)), math.exp(M * (alpha + A0))
    sigma = (1 + down + up) / ((1 + down) * (1 + up))
    plate = 2 * math.copysign(1, alpha) * math.sin(alpha) ** 2 * math.cos(alpha)
    return (1 - sigma) * (0.23 + 5.61 * alpha) + sigma * plate


def test_forces_and_moments_at_25_mps_are_the_published_ones() -> None:
    found = outputs_at(
        model(), {"v_air_B": [25.0, 0, 0], "w_NB_B": [0.0, 0, 0], "density": DENSITY, "elevator": -0.2, "rudder": 0.005}
    )

    # chap4_check.py of [BeardMcLain], case 1, without its weight (11 kg at 9.81 m/s^2) and its propeller
    thrust, torque, weight = -12.43072534597213, -0.49879620097737787, 11 * 9.81
    force = np.array([-12.109717001006562 - thrust, 0.20707328125, 63.44373750624077 - weight])
    moment = np.array([0.5063701133123779 + torque, 8.75643373378125, -0.21774997963125006])
    np.testing.assert_allclose(found["force_B"][0], force, rtol=0, atol=5e-14)  # printed digits; 107.91 N taken off
    np.testing.assert_allclose(found["moment_B"][0], moment, rtol=0, atol=1e-14)


def test_forces_in_a_gust_are_the_published_ones() -> None:
    # chap4_check.py, the case with wind: body velocity less the gust, attitude for the weight
    v = np.array([27.3465947, 0.619628233, 1.42257772]) - [-0.00165177, -0.00475441, -0.01717199]
    w = [4.98772167e-03, 1.68736005e-01, 1.71797313e-01]
    found = outputs_at(
        model(),
        {
            "v_air_B": v, "w_NB_B": w, "density": DENSITY, "elevator": -0.15705144, "aileron": 0.01788999,
            "rudder": 0.01084654,
        },
    )  # fmt: skip

    q = np.array([9.38688796e-01, 2.47421558e-01, 6.56821468e-02, 2.30936730e-01])
    down = [
        2 * (q[1] * q[3] - q[0] * q[2]),
        2 * (q[2] * q[3] + q[0] * q[1]),
        q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2,
    ]
    force = np.array([36.22803068339798 - 31.31315544701058, 48.44092504137796, -39.39246596662818])
    moment = np.array([0.10867448074086083 + 1.58778287798956, 0.1249623335264915, -0.09481002421995177])
    # Their sideslip is asin(v / sqrt(u^2 + w^2)); the book's, and ours, is asin(v / V)
    theirs = 0.022801214339060967
    assert math.asin(v[1] / math.hypot(v[0], v[2])) == pytest.approx(theirs, rel=1e-13)
    assert found["beta"][0] == pytest.approx(math.asin(v[1] / np.linalg.norm(v)), rel=1e-13)
    change = 0.5 * DENSITY * S * (v @ v) * (found["beta"][0] - theirs)
    force += change * np.array([0, LATERAL["CY_beta"], 0])
    moment += change * B * np.array([LATERAL["Cl_beta"], 0, LATERAL["Cn_beta"]])
    assert found["alpha"][0] == pytest.approx(0.05259649205640062, rel=1e-13)
    # The weight is known to the nine printed digits of the attitude
    np.testing.assert_allclose(found["force_B"][0], force - 11 * 9.81 * np.array(down), rtol=0, atol=5e-7)  # N
    np.testing.assert_allclose(found["moment_B"][0], moment, rtol=0, atol=1e-12)  # N m


@given(
    speed=st.floats(5, 40), alpha=st.floats(-1.2, 1.2), beta=small, w=st.tuples(small, small, small),
    surfaces=st.tuples(small, small, small),
)  # fmt: skip
@EXAMPLES
def test_force_and_moment_are_the_coefficients_in_wind_axes(
    speed: float, alpha: float, beta: float, w: tuple[float, ...], surfaces: tuple[float, ...]
) -> None:
    aileron, elevator, rudder = surfaces
    found = outputs_at(
        model(),
        {
            "v_air_B": air(speed, alpha, beta), "w_NB_B": np.array(w), "density": DENSITY, "aileron": aileron,
            "elevator": elevator, "rudder": rudder,
        },
        {"CD_p": 0.043},
    )  # fmt: skip

    k = {**LONGITUDINAL, **LATERAL, "CY_p": 0.0, "CY_r": 0.0}
    p, q, r = np.array(w) / (2 * speed) * [B, C, B]
    pressure = 0.5 * DENSITY * speed**2 * S
    lift = lift_coefficient(alpha) + k["CL_q"] * q + k["CL_elevator"] * elevator
    linear = k["CL_0"] + k["CL_alpha"] * alpha
    drag = 0.043 + linear**2 * S / (math.pi * E * B**2) + k["CD_elevator"] * elevator
    c, s = math.cos(alpha), math.sin(alpha)

    def lateral(name: str) -> float:
        surface = k[f"{name}_aileron"] * aileron + k[f"{name}_rudder"] * rudder
        return k[f"{name}_beta"] * beta + k[f"{name}_p"] * p + k[f"{name}_r"] * r + surface

    pitching = k["Cm_0"] + k["Cm_alpha"] * alpha + k["Cm_q"] * q + k["Cm_elevator"] * elevator
    force = pressure * np.array([lift * s - drag * c, lateral("CY"), -lift * c - drag * s])
    moment = pressure * np.array([B * lateral("Cl"), C * pitching, B * lateral("Cn")])
    np.testing.assert_allclose(found["force_B"][0], force, rtol=0, atol=1e-11 * pressure)  # rounding
    np.testing.assert_allclose(found["moment_B"][0], moment, rtol=0, atol=1e-11 * pressure)
    assert found["lift"][0] == pytest.approx(pressure * lift, rel=1e-10, abs=1e-11 * pressure)


@given(alpha=st.floats(-0.3, 0.3), beta=small, w=st.tuples(small, small, small), aileron=small, rudder=small)
@EXAMPLES
def test_mirror_image_of_the_motion_gives_the_mirror_image_of_the_force(
    alpha: float, beta: float, w: tuple[float, float, float], aileron: float, rudder: float
) -> None:
    v = air(25.0, alpha, beta)
    found = outputs_at(
        model(),
        {
            "v_air_B": [v, [v[0], -v[1], v[2]]], "w_NB_B": [w, (-w[0], w[1], -w[2])], "aileron": [aileron, -aileron],
            "rudder": [rudder, -rudder],
        },
    )  # fmt: skip

    np.testing.assert_array_equal(found["force_B"][1], found["force_B"][0] * [1, -1, 1])
    np.testing.assert_array_equal(found["moment_B"][1], found["moment_B"][0] * [-1, 1, -1])


def test_beyond_the_stall_lift_is_that_of_a_flat_plate() -> None:
    angles = np.array([-1.4, -1.0, 1.0, 1.4])
    found = outputs_at(model(), {"v_air_B": [air(10.0, a) for a in angles], "w_NB_B": [0.0, 0, 0], "density": 1.0})

    plate = 2 * np.sign(angles) * np.sin(angles) ** 2 * np.cos(angles)
    np.testing.assert_allclose(found["lift"], 0.5 * 100 * S * plate, rtol=1e-9)  # exp(-50 * 0.53) of the line is left
    assert (found["stalled"] > 1 - 1e-11).all()
    below = outputs_at(model(), {"v_air_B": air(10.0, 0.1), "w_NB_B": [0.0, 0, 0]})
    assert below["stalled"][0] < 1e-7


def test_no_air_means_no_force_and_backwards_flow_stays_finite() -> None:
    found = outputs_at(model(), {"v_air_B": [[0.0, 0, 0], [-5.0, 0.1, -0.1]], "w_NB_B": [1.0, 1.0, 1.0]})

    assert (
        np.abs(found["force_B"][0]).max() < 1e-11 and np.abs(found["moment_B"][0]).max() < 1e-11
    )  # a picometre per second
    assert np.isfinite(found["force_B"]).all() and np.isfinite(found["moment_B"]).all()


def test_drag_by_angle_of_attack_adds_as_in_the_manual() -> None:
    inputs = {"v_air_B": np.array(air(25.0, 0.1)), "w_NB_B": np.zeros(3), "density": np.array(DENSITY)}
    without, with_it = outputs_at(model(), inputs), outputs_at(model(), inputs, {"CD_alpha": 0.3})

    extra = 0.5 * DENSITY * 25.0**2 * S * 0.3 * 0.1  # [RflyModel] 7.2.1.1: C_Dalpha alpha
    assert abs(with_it["drag"][0] - without["drag"][0] - extra) < 1e-9
