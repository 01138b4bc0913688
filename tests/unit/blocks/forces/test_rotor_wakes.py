"""Ground effect, vortex ring and wakes of other rotors against their published points."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.forces.rotor_wakes import RotorWakes
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.rotor_air import coaxial_share, overlap, wake_losses
from ironbird.vehicles.templates.multicopter import MulticopterSpec

R_M, THRUST_N, RHO, SAMPLE_S = 0.12, 3.43, 1.225, 0.01
V_H = math.sqrt(THRUST_N / (2 * RHO * math.pi * R_M**2))
KAPPA, SQUARE = 0.15, 0.075


@functools.cache
def model() -> CompiledModel:
    return alone(
        RotorWakes(2, sample_s=SAMPLE_S), step_s=SAMPLE_S, positions=[[0.3, -0.3], [0.0, 0.0], [0.0, 0.0]],
        axes=[[0.0, 0.0], [0.0, 0.0], [-1.0, -1.0]], diameters=[2 * R_M, 2 * R_M], inflows=[KAPPA, KAPPA],
        climb_losses=[SQUARE, SQUARE],
    )  # fmt: skip


def factors(
    height_m: float, v: tuple[float, float, float] = (0.0, 0.0, 0.0), *, until_s: float = 0.03, **params: object
) -> np.ndarray:
    state = start(model(), seed=1)
    for name, value in {"fluctuation": 0.0, **params}.items():
        state.set_param(f"block.{name}", value)  # type: ignore[arg-type]
    inputs = {"p_NB_N": [0.0, 0.0, -height_m], "R_NB": np.eye(3), "v_air_B": v, "w_NB_B": [0.0, 0.0, 0.0]}
    for name, value in {**inputs, "thrust_1": THRUST_N, "thrust_2": THRUST_N}.items():
        state.set_input(name, np.asarray(value, float))
    log = run(state, until_s, log=["block.factor_1", "block.factor_2"], log_s=SAMPLE_S)
    return np.stack([log["block.factor_1"], log["block.factor_2"]], axis=-1)


@pytest.mark.parametrize(("z_over_r", "gain"), [(1.0, 0.0667), (2.0, 0.0159), (0.5, 1 / 3), (0.2, 1 / 3)])
def test_ground_effect_has_the_points_of_cheeseman_and_bennett(z_over_r: float, gain: float) -> None:
    assert abs(factors(z_over_r * R_M)[-1][0] - 1 - gain) < 1e-4  # nearer than half a radius it grows no further


def test_ground_effect_fades_with_speed_and_height_and_can_be_switched_off() -> None:
    hover, fast = factors(R_M)[-1][0], factors(R_M, (2 * V_H, 0.0, 0.0))[-1][0]

    assert abs((1 - 1 / fast) / (1 - 1 / hover) - 1 / 5) < 1e-9  # [Cheeseman1955]: 1 / (1 + (V / v_h)^2)
    assert factors(10.0)[-1][0] - 1 < 1e-5
    assert factors(R_M, ground_effect=0.0)[-1][0] == 1.0


def test_a_rotor_beyond_the_edge_of_a_pad_feels_no_ground_and_one_over_the_edge_half_of_it() -> None:
    beyond = factors(R_M, pad_centre=[0.3, 0.0], pad_half_width=[0.2, 5.0])[-1]
    edge = factors(R_M, pad_centre=[0.3, 0.0], pad_half_width=[0.6, 5.0])[-1]

    np.testing.assert_allclose(beyond, [1 + 1 / 15, 1.0], atol=1e-9)
    np.testing.assert_allclose(edge, [1 + 1 / 15, 1 + 1 / 30], atol=1e-9)


@pytest.mark.parametrize(("x", "induced"), [(-0.5, 1.3935), (-1.0, 1.816), (-1.5, 2.083)])
def test_descent_has_the_induced_speed_that_leishman_fits_to_measurements(x: float, induced: float) -> None:
    """Blade elements at constant speed: T / T_h = 1 - 2 k / (1 - k) (x + v_i / v_h - 1)."""
    factor = factors(100.0, (0.0, 0.0, -x * V_H))[-1][0]

    parabola = -KAPPA * x + SQUARE * x * x  # what the rotor itself adds in descent
    blades = -2 * KAPPA / (1 - KAPPA) * (x + induced - 1)
    assert abs((1 - factor) - (parabola - blades)) < 2e-3


def test_climb_and_forward_flight_know_no_vortex_ring() -> None:
    assert abs(factors(100.0, (0.0, 0.0, -3.0))[-1][0] - 1) < 1e-6
    assert abs(factors(100.0, (1.2 * V_H, 0.0, V_H))[-1][0] - 1) < 1e-6
    assert abs(factors(100.0, (0.0, 0.0, V_H), vortex_ring=0.0)[-1][0] - 1) < 1e-6


@pytest.mark.parametrize(("x", "deviation"), [(-0.4, 0.0), (-1.0, 0.1), (-1.6, 0.0)])
def test_thrust_fluctuates_in_the_band_of_the_vortex_ring(x: float, deviation: float) -> None:
    found = factors(100.0, (0.0, 0.0, -x * V_H), until_s=60.0, fluctuation=0.1)[10:]

    np.testing.assert_allclose(found.std(axis=0), deviation, atol=0.15 * deviation + 1e-9)  # 1,400 passing times
    if deviation:
        assert abs(np.corrcoef(found.T)[0, 1]) < 0.15  # each rotor has its own ring


def test_a_ring_forgets_itself_while_the_air_passes_a_diameter() -> None:
    """The thrust of a sample resembles that of the one before by exp(-dt v_h / (2 R)), and so on."""
    found = factors(100.0, (0.0, 0.0, V_H), until_s=100.0, fluctuation=0.1)[10:]
    off = found - found.mean(axis=0)
    for samples in (1, 2, 4):
        alike = (off[samples:] * off[:-samples]).mean(axis=0) / off.var(axis=0)
        np.testing.assert_allclose(alike, math.exp(-samples * SAMPLE_S * V_H / (2 * R_M)), atol=0.06)


# ---------------------------------------------------------------------- wakes of other rotors


def test_a_coaxial_pair_at_equal_torque_takes_the_published_power() -> None:
    share = coaxial_share()

    assert abs(share * (1 + share) ** 2 - 2) < 1e-12
    total = 1 + share  # both take the power T_u v_u: two apart would take 2 (total / 2)^1.5
    assert abs(2 / (2 * (total / 2) ** 1.5) - 1.281) < 1e-3  # [Leishman2006] Ch. 2
    assert abs((1 + share) / 2 - 0.848) < 1e-3  # the pair loses 15 %, the lower rotor 30 %


def test_lower_rotors_lose_thrust_and_others_do_not() -> None:
    up = [0.0, 0.0, -1.0]
    lost = wake_losses([[0, 0, -0.03], [0, 0, 0.03], [0.5, 0, 0]], [up, up, up], [0.24] * 3)

    np.testing.assert_allclose(
        np.array(lost), np.array([[0, 0, 0], [1 - coaxial_share(), 0, 0], [0, 0, 0]]), atol=1e-12
    )


@pytest.mark.parametrize(("upper_N", "left"), [(THRUST_N, 0.7), (THRUST_N / 4, 0.85), (0.0, 1.0)])
def test_the_wake_of_a_rotor_goes_with_its_own_induced_speed(upper_N: float, left: float) -> None:
    block = RotorWakes(2, meet=True, sample_s=SAMPLE_S)
    pair = alone(
        block, step_s=SAMPLE_S, positions=[[0.0, 0.0], [0.0, 0.0], [-0.03, 0.03]], axes=[[0.0, 0.0], [0.0, 0.0],
        [-1.0, -1.0]], diameters=[2 * R_M, 2 * R_M], inflows=[0.0, 0.0], climb_losses=[0.0, 0.0],
        losses=[[0.0, 0.0], [0.3, 0.0]],
    )  # fmt: skip
    state = start(pair)
    inputs = {"p_NB_N": [0.0, 0.0, -50.0], "v_air_B": [0.0, 0.0, 0.0], "w_NB_B": [0.0, 0.0, 0.0]}
    for name, value in {**inputs, "R_NB": np.eye(3), "thrust_1": upper_N, "thrust_2": THRUST_N}.items():
        state.set_input(name, np.asarray(value, float))
    log = run(state, 0.05, log=["block.factor_1", "block.factor_2"], log_s=SAMPLE_S)

    assert abs(log["block.factor_1"][-1] - 1) < 1e-6 and abs(log["block.factor_2"][-1] - left) < 1e-6


def test_rotors_that_overlap_in_one_plane_take_the_power_of_tandem_rotors() -> None:
    up = [0.0, 0.0, -1.0]

    assert overlap(0.0, 1.0) == 1.0 and overlap(1.0, 1.0) == 0.0
    assert abs(overlap(0.5, 1.0) - (2 / 3 - math.sqrt(3) / (2 * math.pi))) < 1e-12  # lens of two discs
    lost = wake_losses([[0, 0, 0], [0.12, 0, 0]], [up, up], [0.24] * 2)
    expected = 1 - (1 + (math.sqrt(2) - 1) * overlap(0.5, 1.0)) ** (-2 / 3)
    np.testing.assert_allclose(np.array(lost), np.array([[0, expected], [expected, 0]]), rtol=1e-12)


@pytest.mark.parametrize(("vehicle", "lower"), [("hexa_coax", 3), ("octo_coax", 4), ("octo_x", 0), ("quad_f450", 0)])
def test_the_layouts_of_the_catalogue_have_the_wakes_of_their_geometry(vehicle: str, lower: int) -> None:
    spec = load_spec(vehicle)
    assert isinstance(spec, MulticopterSpec)
    sizes = [spec.propeller[r.propeller].diameter_m or 0.0 for r in spec.rotor]
    lost = np.array(wake_losses([r.position_B_m for r in spec.rotor], [r.axis_B for r in spec.rotor], sizes))

    assert np.count_nonzero(lost) == lower
    np.testing.assert_allclose(lost[lost > 0], 1 - coaxial_share(), rtol=1e-9)
