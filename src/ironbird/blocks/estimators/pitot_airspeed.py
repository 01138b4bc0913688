"""Airspeed from the pressures that an autopilot measures."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import GAS_CONSTANT_JPKGK, SEA_LEVEL_PRESSURE_PA, SEA_LEVEL_TEMPERATURE_K
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class PitotAirspeed(Block):
    """Computes the true airspeed sqrt(2 q / rho) from measured dynamic and static pressure and an assumed temperature.
    Sampled.

    A temperature that is 10 K off makes an error of 1.7 %. Zero where the dynamic pressure is not positive. Not
    modelled: compressibility, zeroing of the sensor before the flight.
    """

    source = "[ICAO7488]; [MPSoC] 3"
    role = "estimator"

    pressure = In(unit="Pa", doc="dynamic, behind the tap")
    stamp_in = In(unit="s", doc="of the dynamic pressure")
    static_pressure = In(unit="Pa", default=SEA_LEVEL_PRESSURE_PA, doc="of the barometer")
    airspeed = Out(unit="m/s", doc="true airspeed")
    stamp = Out(unit="s", doc="of the dynamic pressure")
    temperature = Param(unit="K", default=SEA_LEVEL_TEMPERATURE_K, low=150.0, tunable=True, doc="assumed, of the air")

    def output(self, x: View, u: View, p: View) -> Values:
        density = ca.fmax(u.static_pressure, 1e3) / (GAS_CONSTANT_JPKGK * p.temperature)
        return {"airspeed": ca.sqrt(2 * ca.fmax(u.pressure, 0) / density), "stamp": u.stamp_in}
