"""Forces of waves: a hull on a tilted plane, hulls long against the wave, drift."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from ironbird.blocks.forces.hydrodynamics import Hydrostatics
from ironbird.blocks.forces.wave_loads import WaveLoads
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

MASS, HEAVE, ROLL, PITCH, LENGTH, BEAM = 80.0, 7541.0, 967.0, 2441.0, 2.0, 1.08


@functools.cache
def model() -> CompiledModel:
    return alone(
        WaveLoads(), mass=MASS, heave_stiffness=HEAVE, roll_stiffness=ROLL, pitch_stiffness=PITCH, length=LENGTH,
        beam=BEAM, draught=0.2, drift_share=0.25,
    )  # fmt: skip


def loads(**inputs: object) -> dict[str, np.ndarray]:
    calm: dict[str, object] = {
        "elevation": 0.0, "slope_N": [0.0, 0.0], "deviation": 0.0, "frequency": 1e-3, "travel_N": [1.0, 0.0],
        "R_NB": np.eye(3).flatten(), "gravity_N": [0.0, 0.0, 9.81],
    }  # fmt: skip
    return {name: value[0] for name, value in outputs_at(model(), calm | inputs).items()}  # type: ignore[arg-type]


def yawed(yaw: float) -> np.ndarray:
    return Rotation.from_euler("z", yaw).as_matrix().flatten(order="F")


def test_a_calm_sea_does_nothing() -> None:
    found = loads()
    assert not np.any(found["force_B"]) and not np.any(found["moment_B"])


def test_a_high_surface_lifts_and_a_slope_pushes_down_and_tilts() -> None:
    assert loads(elevation=0.1)["force_B"] == pytest.approx([0, 0, -HEAVE * 0.1])
    ahead = loads(slope_N=[0.02, 0.0])  # rises ahead: pushed back, nose up
    assert ahead["force_B"] == pytest.approx([-MASS * 9.81 * 0.02, 0, 0])
    assert ahead["moment_B"] == pytest.approx([0, PITCH * 0.02, 0])
    right = loads(slope_N=[0.0, 0.02])  # rises on the right: pushed left, rolled to the left
    assert right["force_B"] == pytest.approx([0, -MASS * 9.81 * 0.02, 0])
    assert right["moment_B"] == pytest.approx([-ROLL * 0.02, 0, 0])
    # The same slope seen by a boat that points east: what rose to the north is now on its left
    turned = loads(slope_N=[0.02, 0.0], R_NB=yawed(math.pi / 2))
    assert turned["moment_B"] == pytest.approx([ROLL * 0.02, 0, 0], abs=1e-12)


@pytest.mark.parametrize(("yaw", "size"), [(0.0, LENGTH), (math.pi / 2, BEAM)])
def test_a_hull_that_is_long_against_the_wave_feels_its_mean(yaw: float, size: float) -> None:
    number = 2.0
    frequency = math.sqrt(number * 9.81)
    found = loads(elevation=0.1, frequency=frequency, R_NB=yawed(yaw))

    mean = quad(lambda s: math.cos(number * s), -size / 2, size / 2)[0] / size
    assert found["force_B"][2] == pytest.approx(-HEAVE * 0.1 * mean, rel=1e-9)


def test_drift_is_the_reflected_share_of_the_waves_momentum() -> None:
    """Mean over the spectrum of 1/2 rho g a^2 per metre of front; Hs^2 / 16 is half the mean square amplitude."""
    number = 0.8
    above = quad(lambda z: 2 * number * math.exp(2 * number * z), -0.2, 0.0)[0]  # share of the power above the keel
    for yaw, across in ((0.0, BEAM), (math.pi / 2, LENGTH)):
        found = loads(deviation=0.5 / 4, frequency=math.sqrt(number * 9.81), R_NB=yawed(yaw))
        expected = 1026.0 * 9.81 * across * 0.25 * above * 0.5**2 / 16
        along = Rotation.from_euler("z", yaw).as_matrix() @ found["drift_B"]
        np.testing.assert_allclose(along, [expected, 0, 0], rtol=0, atol=1e-9)


def test_a_hull_at_rest_on_a_tilted_surface_is_in_balance_with_it() -> None:
    """Floating as the surface lies, the springs of the hull and those of the waves cancel, wherever flotation is."""
    flotation, slope, elevation = -0.2, 0.01, 0.3
    springs = {"heave_stiffness": HEAVE, "roll_stiffness": ROLL, "pitch_stiffness": PITCH, "flotation_x": flotation}
    still = alone(Hydrostatics(), balanced_mass=0.0, **springs)  # type: ignore[arg-type]
    wave = alone(WaveLoads(), mass=0.0, length=LENGTH, beam=BEAM, **springs)  # type: ignore[arg-type]
    level = np.eye(3).flatten()  # forces along the axes of the level body: small angles
    hull = outputs_at(
        still,
        {"p_NB_N": [0, 0, -elevation], "euler": [-slope, slope, 0], "R_NB": level, "gravity_N": [0, 0, 9.81]},
    )
    sea = outputs_at(
        wave,
        {
            "elevation": elevation, "slope_N": [slope, slope], "deviation": 0.0, "frequency": 1e-3,
            "travel_N": [1.0, 0.0], "R_NB": level, "gravity_N": [0, 0, 9.81],
        },
    )  # fmt: skip
    np.testing.assert_allclose(hull["force_B"] + sea["force_B"], 0, atol=1e-6)
    np.testing.assert_allclose(hull["moment_B"] + sea["moment_B"], 0, atol=1e-6)
