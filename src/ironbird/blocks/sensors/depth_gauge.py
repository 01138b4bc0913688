"""Depth gauge: pressure of the water and the height that follows from it."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import drift_now, drift_step, rounded
from ironbird.constants import SEA_LEVEL_PRESSURE_PA, STANDARD_GRAVITY_MPS2
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip


class DepthGauge(Block):
    """A depth gauge: measures the absolute pressure of still water, with drift and noise as a barometer.
    p = p_air + rho g h, [Fossen2021] Ch. 4.

    Above the water it reads the air. The air's pressure at the surface is a parameter: weather does not change during
    a dive. Sampled. Not modelled: temperature, waves overhead, flow past the port, density that changes with depth.
    """

    source = "[Fossen2021] Ch. 4; errors as [ChipLevel] Eq. 14"

    time = Clock(doc="simulation time")
    depth = In(unit="m", doc="below the surface")
    pressure_truth = Out(unit="Pa", doc="of the water")
    pressure = Out(unit="Pa", doc="as measured")
    stamp = Out(unit="s", doc="time of this sample")
    white = Noise(shape=2, doc="white noise, and what drives the drift")
    started = State(unit="1", init=0.0, doc="0 until the first sample")
    drifted = State(unit="Pa", init=0.0, doc="drift so far")
    density = Param(unit="kg/m^3", default=1026.0, low=900.0, high=1100.0, tunable=True, doc="of the water")
    surface_pressure = Param(unit="Pa", default=SEA_LEVEL_PRESSURE_PA, low=0.0, tunable=True, doc="of the air")
    noise = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    drift = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="deviation of the drift")
    correlation_time = Param(unit="s", default=300.0, low=1e-3, doc="of the drift")
    low = Param(unit="Pa", default=0.0, low=0.0, tunable=True, doc="smallest value that can be shown")
    high = Param(unit="Pa", default=1e8, low=0.0, tunable=True, doc="largest value that can be shown")
    resolution = Param(unit="Pa", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        return {"started": ca.SX(1), "drifted": drift_step(x, u, p, self.sample_s)}

    def output(self, x: View, u: View, p: View) -> Values:
        ideal = p.surface_pressure + p.density * STANDARD_GRAVITY_MPS2 * ca.fmax(u.depth, 0)  # [Fossen2021] Ch. 4
        value = rounded(ideal + drift_now(x, u, p) + p.noise * u.white[0], p.resolution)
        return {"pressure_truth": ideal, "pressure": clip(value, p.low, p.high), "stamp": u.time}


class WaterHeight(Block):
    """Computes the height above the water surface (negative below) from a measured pressure.
    It is connected after a gauge's fault tap.

    The assumed density may differ from the water's. Not modelled: any error of the sensor.
    """

    source = "[Fossen2021] Ch. 4"

    pressure = In(unit="Pa", doc="of the water")
    stamp_in = In(unit="s", doc="of the pressure")
    value = Out(unit="m", doc="height above the surface")
    stamp = Out(unit="s", doc="of the pressure")
    density = Param(unit="kg/m^3", default=1026.0, low=900.0, high=1100.0, tunable=True, doc="that is assumed")
    surface_pressure = Param(unit="Pa", default=SEA_LEVEL_PRESSURE_PA, low=0.0, tunable=True, doc="that is assumed")

    def __init__(self, *, sample_s: float | None = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def output(self, x: View, u: View, p: View) -> Values:
        return {"value": (p.surface_pressure - u.pressure) / (p.density * STANDARD_GRAVITY_MPS2), "stamp": u.stamp_in}
