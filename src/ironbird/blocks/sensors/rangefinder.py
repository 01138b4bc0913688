"""Rangefinder: distance to the ground along the body's down axis."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import rounded
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param
from ironbird.symbolic.smooth import clip

LEAST_COSINE = 0.05  # beyond 87 degrees of tilt the beam does not meet the ground


def beam_length(height: ca.SX, R_NB: ca.SX, position: ca.SX) -> ca.SX:
    """Distance to level ground along the body's down axis from a place on the body."""
    above = ca.fmax(height - (R_NB @ position)[2], 0)
    return above / ca.fmax(R_NB[2, 2], LEAST_COSINE)


class Rangefinder(Block):
    """A downward rangefinder: measures the distance to the ground, with noise that grows with distance.
    It is the height above ground over the cosine of the tilt.

    [Dai] Sec. II-C names it among the sensors without an equation. Outside its range `valid` is 0 and the output is the
    nearer limit. The ground is taken as level under the vehicle. With its default parameters the sensor is ideal within
    0 to 1 km. Not modelled: width of the beam, reflectance, sunlight, slope, obstacles.
    """

    source = "[Dai] Sec. II-C; closed form of this project"

    time = Clock(doc="simulation time")
    height_above_ground = In(unit="m", doc="of the body")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")

    distance_truth = Out(unit="m", doc="along the beam")
    distance = Out(unit="m", doc="as measured")
    valid = Out(unit="1", doc="1 inside the range")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=1, doc="white noise")

    position = Param(unit="m", shape=3, frame="B", default=0.0, doc="of the sensor from the centre of mass")
    noise = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="deviation at distance zero")
    noise_share = Param(unit="1", default=0.0, low=0.0, tunable=True, doc="deviation gained per metre of distance")
    nearest = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="least distance")
    farthest = Param(unit="m", default=1000.0, low=0.0, tunable=True, doc="largest distance")
    resolution = Param(unit="m", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def output(self, x: View, u: View, p: View) -> Values:
        ideal = beam_length(u.height_above_ground, u.R_NB, p.position)
        value = rounded(ideal + (p.noise + p.noise_share * ideal) * u.white, p.resolution)
        down = u.R_NB[2, 2] > LEAST_COSINE
        inside = ca.logic_and(ideal >= p.nearest, ideal <= p.farthest)
        return {
            "distance_truth": ideal,
            "distance": clip(value, p.nearest, p.farthest),
            "valid": ca.if_else(ca.logic_and(down, inside), 1, 0),
            "stamp": u.time,
        }
