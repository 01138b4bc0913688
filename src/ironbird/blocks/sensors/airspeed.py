"""Airspeed sensor: pitot tube with a differential pressure chip."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import rounded, turn_on_draw
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip


class Airspeed(Block):
    """A pitot tube: measures dynamic pressure along the tube, and gives the airspeeds that follow from it, [MPSoC] 3.

    The tube measures the component of the flow along the body's x axis; flow from behind gives a negative pressure.
    Airspeeds are zero where the measured pressure is not positive. Incompressible: 1 % of pressure is missing at Mach
    0.2. With its default parameters the chip is ideal. Not modelled: compressibility, flow angles, ice and water (a
    blocked tube is `blocked`, and slower faults are the tap's).
    """

    source = "[MPSoC] 3; [ICAO7488]"

    time = Clock(doc="simulation time")
    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="of the air")

    pressure_truth = Out(unit="Pa", doc="dynamic pressure")
    pressure = Out(unit="Pa", doc="as measured")
    true_airspeed_truth = Out(unit="m/s", doc="along the tube")
    true_airspeed = Out(unit="m/s", doc="as measured")
    indicated_airspeed = Out(unit="m/s", doc="as measured, with the density of the sea level")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=1, doc="white noise; the first draw is the offset")
    started = State(unit="1", init=0.0, doc="0 until the first sample")
    drawn = State(unit="Pa", init=0.0, doc="offset")

    offset = Param(unit="Pa", default=0.0, tunable=True, doc="constant error")
    offset_spread = Param(unit="Pa", default=0.0, low=0.0, doc="deviation of the offset drawn at the start")
    noise = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    blocked = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="share of the pressure that is lost")
    range = Param(unit="Pa", default=1e5, low=0.0, tunable=True, doc="largest value that can be shown")
    resolution = Param(unit="Pa", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def _drawn(self, x: View, u: View, p: View) -> ca.SX:
        return turn_on_draw(x.started, x.drawn, p.offset_spread * u.white)

    def update(self, x: View, u: View, p: View) -> Values:
        return {"started": ca.SX(1), "drawn": self._drawn(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        speed = u.v_air_B[0]
        ideal = 0.5 * u.density * speed * ca.fabs(speed)
        value = (1 - p.blocked) * ideal + p.offset + self._drawn(x, u, p) + p.noise * u.white
        value = clip(rounded(value, p.resolution), -p.range, p.range)
        twice = 2 * ca.fmax(value, 0)
        return {
            "pressure_truth": ideal,
            "pressure": value,
            "true_airspeed_truth": ca.fmax(speed, 0),
            "true_airspeed": ca.sqrt(twice / u.density),
            "indicated_airspeed": ca.sqrt(twice / SEA_LEVEL_DENSITY_KGPM3),
            "stamp": u.time,
        }
