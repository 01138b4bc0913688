"""Speed log: velocity through the water."""

from __future__ import annotations

from ironbird.blocks.sensors.chain import rounded
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param


class SpeedLog(Block):
    """A speed log: measures velocity through the water in body axes with scale error, offset and white noise. Sampled.

    An electromagnetic log measures two axes, a Doppler log in water track three; this block gives three. Not modelled:
    boundary layer of the hull, bubbles, loss of the echo, rotation at the log's place.
    """

    source = "errors as [ChipLevel] Eq. 6 and 8"

    time = Clock(doc="simulation time")
    v_water_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the water")
    velocity_B = Out(unit="m/s", shape=3, frame="B", doc="as measured")
    stamp = Out(unit="s", doc="time of this sample")
    white = Noise(shape=3, doc="white noise")
    scale = Param(unit="1", default=1.0, low=0.0, high=2.0, tunable=True, doc="factor")
    offset = Param(unit="m/s", shape=3, frame="B", default=0.0, tunable=True, doc="constant error")
    noise = Param(unit="m/s", default=0.0, low=0.0, tunable=True, doc="deviation per sample and axis")
    resolution = Param(unit="m/s", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.1, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def output(self, x: View, u: View, p: View) -> Values:
        value = p.scale * u.v_water_B + p.offset + p.noise * u.white
        return {"velocity_B": rounded(value, p.resolution), "stamp": u.time}
