"""Standard atmosphere: temperature, pressure, density and speed of sound over height."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import (
    GAS_CONSTANT_JPKGK,
    SEA_LEVEL_PRESSURE_PA,
    SEA_LEVEL_TEMPERATURE_K,
    STANDARD_GRAVITY_MPS2,
    TROPOSPHERE_LAPSE_KPM,
)
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param

EARTH_RADIUS_M = 6356766.0  # of the geopotential height [ICAO7488]
HEAT_RATIO = 1.4
# Base geopotential height (m) and temperature gradient (K/m) of each layer [ICAO7488]
LAYERS = (
    (0.0, -TROPOSPHERE_LAPSE_KPM), (11000.0, 0.0), (20000.0, 0.001), (32000.0, 0.0028), (47000.0, 0.0),
    (51000.0, -0.0028), (71000.0, -0.002),
)  # fmt: skip


class AtmosphereIsa(Block):
    """Gives temperature, pressure and density of the standard atmosphere at the vehicle's height [ICAO7488].
    Valid from -5 to 80 km. Temperature and pressure may have an offset.

    Heights are taken as heights above mean sea level. Not modelled: humidity, weather, diurnal change.
    """

    source = "[ICAO7488]"

    height = In(unit="m", doc="geometric height")
    temperature = Out(unit="K", doc="air temperature")
    pressure = Out(unit="Pa", doc="static pressure")
    density = Out(unit="kg/m^3", doc="air density")
    speed_of_sound = Out(unit="m/s", doc="speed of sound")
    temperature_offset = Param(
        unit="K", default=0.0, low=-80.0, high=80.0, tunable=True, doc="warmer than standard at all heights"
    )
    pressure_factor = Param(
        unit="1", default=1.0, low=0.8, high=1.2, tunable=True, doc="sea-level pressure over standard"
    )

    def output(self, x: View, u: View, p: View) -> Values:
        H = EARTH_RADIUS_M * u.height / (EARTH_RADIUS_M + u.height)  # geopotential height
        temperature: ca.SX = ca.SX(0)
        pressure: ca.SX = ca.SX(0)
        base_t, base_p = SEA_LEVEL_TEMPERATURE_K, SEA_LEVEL_PRESSURE_PA
        for number, (base_h, gradient) in enumerate(LAYERS):
            last = number + 1 == len(LAYERS)
            top_h = 1e9 if last else LAYERS[number + 1][0]
            inside = top_h > H if number == 0 else ca.logic_and(base_h <= H, top_h > H)
            t = base_t + gradient * (H - base_h)
            if gradient:
                exponent = -STANDARD_GRAVITY_MPS2 / (GAS_CONSTANT_JPKGK * gradient)
                ratio = ca.fmax(t / base_t, 1e-3)
                pr = base_p * ca.exp(exponent * ca.log(ratio))
            else:
                pr = base_p * ca.exp(-STANDARD_GRAVITY_MPS2 * (H - base_h) / (GAS_CONSTANT_JPKGK * base_t))
            temperature = temperature + ca.if_else(inside, t, 0)
            pressure = pressure + ca.if_else(inside, pr, 0)
            if not last:
                top_t = base_t + gradient * (top_h - base_h)
                if gradient:
                    base_p *= (top_t / base_t) ** (-STANDARD_GRAVITY_MPS2 / (GAS_CONSTANT_JPKGK * gradient))
                else:
                    base_p *= float(ca.exp(-STANDARD_GRAVITY_MPS2 * (top_h - base_h) / (GAS_CONSTANT_JPKGK * base_t)))
                base_t = top_t
        pressure = pressure * p.pressure_factor
        temperature = temperature + p.temperature_offset
        return {
            "temperature": temperature,
            "pressure": pressure,
            "density": pressure / (GAS_CONSTANT_JPKGK * temperature),
            "speed_of_sound": ca.sqrt(HEAT_RATIO * GAS_CONSTANT_JPKGK * temperature),
        }
