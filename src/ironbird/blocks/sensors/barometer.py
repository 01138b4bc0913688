"""Barometer: static pressure and pressure altitude."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import drift_now, drift_step, rounded
from ironbird.constants import (
    GAS_CONSTANT_JPKGK,
    SEA_LEVEL_DENSITY_KGPM3,
    SEA_LEVEL_PRESSURE_PA,
    SEA_LEVEL_TEMPERATURE_K,
    STANDARD_GRAVITY_MPS2,
    TROPOSPHERE_LAPSE_KPM,
)
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip

# The lapse rate is -beta of [ChipLevel] Eq. 15, in K/m
EXPONENT = TROPOSPHERE_LAPSE_KPM * GAS_CONSTANT_JPKGK / STANDARD_GRAVITY_MPS2


def altitude_of(pressure: ca.SX) -> ca.SX:
    """Pressure altitude in the standard atmosphere below 11 km: h = T0/L (1 - (p/p0)^(L R/g))."""
    ratio = ca.fmax(pressure / SEA_LEVEL_PRESSURE_PA, 1e-3)
    return SEA_LEVEL_TEMPERATURE_K / TROPOSPHERE_LAPSE_KPM * (1 - ca.exp(EXPONENT * ca.log(ratio)))


class Barometer(Block):
    """A barometer: measures static pressure with the error of the moving air, drift and noise, [ChipLevel] Eq. 14-15.

    The error acts on the pressure, where it arises: a share of the dynamic pressure is added, and the altitude
    follows by the standard law; with a share of 1 this is Eq. 15 with beta in K/m (the paper prints K/km) and the air's
    true density. Drift is a Gauss-Markov process, drawn from its steady state at the start. The atmosphere may be
    sampled more slowly than the barometer: between its samples pressure follows the height by the law of
    hydrostatics. Altitude is geopotential and valid below 11 km. With its default parameters the chip is ideal.
    Not modelled: temperature, direction of the flow, propeller wash, light on the element.
    """

    source = "[ChipLevel] Eq. 14-15; [ICAO7488]"

    time = Clock(doc="simulation time")
    pressure_air = In(unit="Pa", doc="static pressure of the air, AtmosphereIsa.pressure")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="of the air")
    height = In(unit="m", default=0.0, doc="geometric height; only its change between samples of the air counts")
    v_air_B = In(unit="m/s", shape=3, frame="B", default=0.0, doc="velocity through the air")

    pressure_truth = Out(unit="Pa", doc="static pressure")
    pressure = Out(unit="Pa", doc="as measured")
    altitude_truth = Out(unit="m", doc="pressure altitude")
    altitude = Out(unit="m", doc="as measured")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=2, doc="white noise, and what drives the drift")
    started = State(unit="1", init=0.0, doc="0 until the first sample")
    drifted = State(unit="Pa", init=0.0, doc="drift so far")
    seen_pressure = State(unit="Pa", init=0.0, doc="latest pressure of the air")
    seen_height = State(unit="m", init=0.0, doc="height at which it came")

    offset = Param(unit="Pa", default=0.0, tunable=True, doc="constant error")
    noise = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    drift = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="deviation of the drift")
    correlation_time = Param(unit="s", default=300.0, low=1e-3, doc="of the drift")
    wind_share = Param(unit="1", default=0.0, low=-2.0, high=2.0, tunable=True, doc="of the dynamic pressure")
    low = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="smallest value that can be shown")
    high = Param(unit="Pa", default=1e6, low=0.0, tunable=True, doc="largest value that can be shown")
    resolution = Param(unit="Pa", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def _base(self, x: View, u: View) -> ca.SX:
        """Height (m) at which the present pressure of the air was sampled."""
        return ca.if_else(u.pressure_air != x.seen_pressure, u.height, x.seen_height)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        return {
            "started": ca.SX(1),
            "drifted": drift_step(x, u, p, self.sample_s),
            "seen_pressure": u.pressure_air,
            "seen_height": self._base(x, u),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        ideal = u.pressure_air - STANDARD_GRAVITY_MPS2 * u.density * (u.height - self._base(x, u))
        dynamic = 0.5 * u.density * ca.dot(u.v_air_B, u.v_air_B)
        value = ideal + p.wind_share * dynamic + p.offset + drift_now(x, u, p) + p.noise * u.white[0]
        value = clip(rounded(value, p.resolution), p.low, p.high)
        return {
            "pressure_truth": ideal,
            "pressure": value,
            "altitude_truth": altitude_of(ideal),
            "altitude": altitude_of(value),
            "stamp": u.time,
        }


class PressureAltitude(Block):
    """Computes the pressure altitude of a measured pressure by the standard law.
    It is connected after a barometer's fault tap.

    Valid below 11 km. Not modelled: any error of the sensor.
    """

    source = "[ICAO7488]"

    pressure = In(unit="Pa", doc="static pressure")
    stamp_in = In(unit="s", doc="of the pressure")
    value = Out(unit="m", doc="pressure altitude")
    stamp = Out(unit="s", doc="of the pressure")

    def __init__(self, *, sample_s: float | None = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def output(self, x: View, u: View, p: View) -> Values:
        return {"value": altitude_of(u.pressure), "stamp": u.stamp_in}
