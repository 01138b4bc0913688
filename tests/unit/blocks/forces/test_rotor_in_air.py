"""Rotors in moving air: tables of propellers, momentum theory, and the vector formulas of drag and flapping."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.forces.rotor import Rotor, RotorInAir
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.rotor_air import fit_table, hummingbird_scaled
from ironbird.vehicles.templates.multicopter import MulticopterSpec

EXAMPLES = settings(deadline=None, max_examples=20, derandomize=True)
TABLES = Path(__file__).parents[3] / "data" / "propellers"
C_T, C_M, HUB, UP = 9.286e-6, 1.189e-7, np.array([0.16, -0.1, -0.05]), np.array([0.0, 0.0, -1.0])
K = {"inflow": 1.5e-4, "climb_loss": 8e-3, "translational_lift": 5e-3, "rotor_drag": 1.7e-4, "flapping": 2e-6,
     "torque_inflow": -2.7e-6, "torque_climb": 2.4e-4}  # fmt: skip
vectors = st.tuples(*[st.floats(-8, 8)] * 3).map(np.array)


@functools.cache
def model(*, upright: bool = False) -> CompiledModel:
    block = RotorInAir(flaps=True, upright=upright)
    return alone(
        block, position=HUB.tolist(), spin=1.0, thrust_coefficient=C_T, torque_coefficient=C_M, inertia=8e-5,
        **K,  # type: ignore[arg-type]
    )  # fmt: skip


def table(name: str) -> np.ndarray:
    return np.loadtxt(TABLES / name, delimiter=",", skiprows=1)


@pytest.mark.parametrize("upright", [False, True])
@given(v=vectors, w=vectors, spin=st.sampled_from([-1.0, 1.0]), speed=st.floats(0, 900), wake=st.floats(0.5, 1.3))
@EXAMPLES
def test_force_moment_and_power_are_the_vector_formulas(
    upright: bool, v: np.ndarray, w: np.ndarray, spin: float, speed: float, wake: float
) -> None:
    found = outputs_at(
        model(upright=upright), {"speed": speed, "v_air_B": v, "w_NB_B": w, "wake": wake}, {"spin": spin}
    )

    hub = v + np.cross(w, HUB)
    climb = float(hub @ UP)
    along = hub - climb * UP
    turning = speed + spin * float(w @ UP)
    thrust = C_T * turning**2 - K["inflow"] * speed * climb - K["climb_loss"] * climb * abs(climb)
    thrust = wake * (thrust + K["translational_lift"] * float(along @ along))
    torque = C_M * turning**2 - K["torque_inflow"] * speed * climb - K["torque_climb"] * climb * abs(climb)
    force = UP * thrust - K["rotor_drag"] * speed * along
    moment = np.cross(HUB, force) - UP * spin * torque + K["flapping"] * speed * np.cross(along, UP)
    np.testing.assert_allclose(found["force_B"][0], force, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found["moment_B"][0], moment, rtol=0, atol=1e-13)
    assert abs(found["shaft_power"][0] - torque * speed) < 1e-10


def test_in_still_air_at_rest_it_is_the_rotor_of_the_published_model() -> None:
    inputs = {"speed": 600.0, "acceleration": 100.0}
    rest = {"v_air_B": np.zeros(3), "w_NB_B": np.zeros(3)}
    params = {"position": HUB, "spin": 1.0, "thrust_coefficient": C_T, "torque_coefficient": C_M, "inertia": 8e-5}
    plain = outputs_at(alone(Rotor(), **{k: np.asarray(v).tolist() for k, v in params.items()}), inputs)
    moving = outputs_at(model(), {**inputs, **rest})

    for name, value in plain.items():
        np.testing.assert_allclose(moving[name], value, rtol=0, atol=1e-14)


def test_flow_from_ahead_tilts_the_disc_back_and_the_nose_up() -> None:
    inputs = {"speed": np.array(600.0), "v_air_B": np.array([5.0, 0.0, 0.0]), "w_NB_B": np.zeros(3)}
    ahead = outputs_at(model(), inputs, {"position": [0.0, 0.0, 0.0]})

    assert ahead["force_B"][0][0] < 0 and ahead["moment_B"][0][1] > 0


@pytest.mark.parametrize(
    ("name", "rpm", "diameter_m", "bound"),
    [("apc_10x45mr_6000rpm.csv", 6000.0, 0.254, 0.025), ("apc_sf_9x47_5000rpm.csv", 5000.0, 0.2286, 0.025)],
)
def test_thrust_and_power_over_advance_ratio_are_those_of_the_table(
    name: str, rpm: float, diameter_m: float, bound: float
) -> None:
    rows = table(name)
    fit = fit_table(rows, rpm=rpm, spread_rpm=600.0)
    n, rho = rpm / 60, 1.225
    c_t, c_p = rows[0, 2] if rows[0, 1] == 0 else rows[:3, 2].mean(), rows[:3, 3].mean()
    thrust = c_t * rho * diameter_m**4 / (4 * math.pi**2)
    torque = c_p * rho * diameter_m**5 / (8 * math.pi**3)
    keys = {k.rpartition("_")[0]: v for k, v in fit.coefficients(thrust, torque, diameter_m).items()}
    speeds = [[0.0, 0.0, -j * n * diameter_m] for j in rows[:, 1]]
    off = {"translational_lift": 0.0, "rotor_drag": 0.0, "flapping": 0.0}
    found = outputs_at(
        model(),
        {"speed": np.full(len(rows), 2 * math.pi * n), "v_air_B": np.array(speeds), "w_NB_B": np.zeros((len(rows), 3))},
        {"thrust_coefficient": thrust, "torque_coefficient": torque, **keys, **off},
    )

    inside = rows[:, 1] <= 0.6
    scale = rho * n**2 * diameter_m**4
    assert np.abs(found["thrust"] / scale - rows[:, 2])[inside].max() < bound * rows[0, 2]
    assert np.abs(found["shaft_power"] / (scale * n * diameter_m) - rows[:, 3])[inside].max() < 2 * bound * rows[0, 3]


def test_coefficients_of_the_f450_file_are_those_of_the_table() -> None:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    propeller = spec.propeller["standard"]
    assert propeller.diameter_m is not None
    fit = fit_table(table("apc_10x45mr_6000rpm.csv"), rpm=6000.0)
    made = fit.coefficients(propeller.thrust_coefficient_Ns2, propeller.torque_coefficient_Nms2, propeller.diameter_m)

    for key, value in made.items():
        assert abs(getattr(propeller, key) / value - 1) < 2e-3, key  # four digits in the file
    scaled = hummingbird_scaled(propeller.diameter_m)
    assert abs(propeller.translational_lift_Ns2pm2 / scaled["translational_lift_Ns2pm2"] - 1) < 1e-3
    assert 0.6 < propeller.rotor_drag_Ns2pm / scaled["rotor_drag_Ns2pm"] < 1.2  # from the published level flight


@pytest.mark.parametrize(
    ("vehicle", "low", "high"), [("quad_f450", 0.65, 0.78), ("quad_f450_mpsoc", 0.6, 0.78), ("quad_h250", 0.55, 0.65)]
)
def test_hover_power_is_that_of_momentum_theory_over_a_usual_figure_of_merit(
    vehicle: str, low: float, high: float
) -> None:
    spec = load_spec(vehicle)
    assert isinstance(spec, MulticopterSpec)
    propeller = spec.propeller["standard"]
    assert propeller.diameter_m is not None
    thrust = spec.body.mass_kg * 9.80665 / 4
    speed = math.sqrt(thrust / propeller.thrust_coefficient_Ns2)
    ideal = thrust * math.sqrt(thrust / (2 * 1.225 * math.pi * propeller.diameter_m**2 / 4))

    assert low < ideal / (propeller.torque_coefficient_Nms2 * speed**3) < high
