"""The standard atmosphere against `ambiance`, printed tables and the hydrostatic equation."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from ambiance import Atmosphere
from scipy.integrate import quad

from ironbird.blocks.environment.atmosphere_isa import AtmosphereIsa
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

G, R, EARTH_M = 9.80665, 287.05287, 6356766.0
BOUNDARIES_M = [0.0, 11e3, 20e3, 32e3, 47e3, 51e3, 71e3]  # geopotential
HEIGHTS_M = np.linspace(-4000.0, 79_000.0, 1001)


@functools.cache
def model() -> CompiledModel:
    return alone(AtmosphereIsa())


def geometric(geopotential_m: float) -> float:
    return EARTH_M * geopotential_m / (EARTH_M - geopotential_m)


@functools.cache
def found() -> dict[str, np.ndarray]:
    return outputs_at(model(), {"height": HEIGHTS_M})


@functools.cache
def expected() -> Atmosphere:
    return Atmosphere(HEIGHTS_M)


def test_temperature_and_speed_of_sound_are_ambiances() -> None:
    np.testing.assert_allclose(found()["temperature"], expected().temperature, rtol=1e-14)  # rounding
    np.testing.assert_allclose(found()["speed_of_sound"], expected().speed_of_sound, rtol=1e-14)


def test_pressure_and_density_are_ambiances() -> None:
    # ambiance prints each layer's base pressure with six digits: 2.1e-6 is its rounding, not ours (see the next test)
    np.testing.assert_allclose(found()["pressure"], expected().pressure, rtol=2.1e-6)
    np.testing.assert_allclose(found()["density"], expected().density, rtol=2.1e-6)
    below_11_km = HEIGHTS_M < 11e3
    np.testing.assert_allclose(found()["pressure"][below_11_km], expected().pressure[below_11_km], rtol=3e-7)


@pytest.mark.parametrize(
    "height_m", [-3000.0, 500.0, 9144.0, 15_000.0, 25_000.0, 40_000.0, 49_000.0, 60_000.0, 75_000.0]
)
def test_pressure_is_the_weight_of_the_air_above(height_m: float) -> None:
    # dp / p = -g dH / (R T), summed up with ambiance's temperature: no layer's base pressure enters
    def slope(geopotential_m: float) -> float:
        return -G / (R * float(Atmosphere(geometric(geopotential_m)).temperature[0]))

    top = EARTH_M * height_m / (EARTH_M + height_m)
    inside = [b for b in BOUNDARIES_M if min(0.0, top) < b < max(0.0, top)]
    logarithm, _ = quad(slope, 0.0, top, points=inside or None, epsabs=1e-12, epsrel=1e-12)

    pressure = outputs_at(model(), {"height": height_m})["pressure"][0]
    assert abs(pressure / (101325.0 * np.exp(logarithm)) - 1) < 1e-9  # the sum's own error


@pytest.mark.parametrize(
    ("height_m", "temperature", "pressure", "density"),
    [  # [ICAO7488] Table 1, geometric heights, as printed
        (0.0, 288.150, 101325.0, 1.22500),
        (1000.0, 281.651, 89876.3, 1.11166),
        (5000.0, 255.676, 54048.3, 0.736429),
        (10_000.0, 223.252, 26499.9, 0.413510),
        (20_000.0, 216.650, 5529.29, 0.0889097),
    ],
)  # fmt: skip
def test_values_are_those_of_the_printed_table(
    height_m: float, temperature: float, pressure: float, density: float
) -> None:
    at = outputs_at(model(), {"height": height_m})

    assert abs(at["temperature"][0] - temperature) < 5.1e-4  # half of the last digit printed
    assert abs(at["pressure"][0] / pressure - 1) < 2e-6  # six digits printed
    assert abs(at["density"][0] / density - 1) < 5e-6  # six digits printed


@pytest.mark.parametrize("boundary_m", BOUNDARIES_M)
def test_layers_meet(boundary_m: float) -> None:
    height = geometric(boundary_m)
    at = outputs_at(model(), {"height": [height - 1e-6, height + 1e-6]})

    assert abs(np.diff(at["temperature"])[0]) < 1e-7  # K: the gradient over 2 micrometres
    assert abs(np.diff(at["pressure"])[0] / at["pressure"][0]) < 1e-9  # 2 micrometres are 3e-10
    assert abs(np.diff(at["density"])[0] / at["density"][0]) < 1e-9


def test_offsets_act_as_a_warmer_day_and_another_sea_level_pressure() -> None:
    params = {"temperature_offset": 15.0, "pressure_factor": 0.98}
    at = outputs_at(model(), {"height": 2000.0}, params)
    standard = Atmosphere(2000.0)

    assert abs(at["temperature"][0] - float(standard.temperature[0]) - 15.0) < 1e-12  # rounding
    assert abs(at["pressure"][0] / float(standard.pressure[0]) / 0.98 - 1) < 3e-7  # ambiance's six digits
    assert abs(at["density"][0] * R * at["temperature"][0] / at["pressure"][0] - 1) < 1e-14  # the gas law
