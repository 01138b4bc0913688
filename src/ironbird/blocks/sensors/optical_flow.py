"""Optical flow sensor: angular rate of the ground's image under the vehicle."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import rounded
from ironbird.blocks.sensors.rangefinder import LEAST_COSINE, beam_length
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param
from ironbird.symbolic.smooth import clip


class OpticalFlow(Block):
    """An optical flow sensor: measures rotation plus translation over distance, in PX4's sign.
    A right-handed turn about an axis gives positive flow.

    flow = (w_x - v_y / d, w_y + v_x / d) with velocity, rates and distance d in body axes at the sensor, [Dai] Sec.
    II-D. `rotation` is the part of the turn as the sensor's own gyroscope gives it, so that the translation is flow
    minus rotation. Quality falls to 0 outside the range of distance or beyond the largest rate. With its default
    parameters the sensor is ideal. Not modelled: image, texture, light, rolling shutter, slope of the ground.
    """

    source = "[Dai] Sec. II-D; sign of PX4's SensorOpticalFlow; closed form of this project"

    time = Clock(doc="simulation time")
    v_NB_B = In(unit="m/s", shape=3, frame="B", doc="velocity over ground")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    height_above_ground = In(unit="m", doc="of the body")

    flow_truth = Out(unit="rad/s", shape=2, doc="about x and y of the body")
    flow = Out(unit="rad/s", shape=2, doc="as measured")
    rotation_truth = Out(unit="rad/s", shape=2, doc="turn about x and y")
    rotation = Out(unit="rad/s", shape=2, doc="as the sensor's gyroscope gives it")
    quality = Out(unit="1", doc="0 no use, 1 best")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=4, doc="white noise of flow and rotation")

    position = Param(unit="m", shape=3, frame="B", default=0.0, doc="of the sensor from the centre of mass")
    noise = Param(unit="rad/s", default=0.0, low=0.0, tunable=True, doc="deviation of the flow per sample")
    rotation_noise = Param(unit="rad/s", default=0.0, low=0.0, tunable=True, doc="deviation of the rotation per sample")
    nearest = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="least distance that is in focus")
    farthest = Param(unit="m", default=1000.0, low=0.0, tunable=True, doc="largest distance with texture")
    largest_rate = Param(unit="rad/s", default=1e3, low=0.0, tunable=True, doc="fastest flow that is tracked")
    resolution = Param(unit="rad/s", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def output(self, x: View, u: View, p: View) -> Values:
        distance = beam_length(u.height_above_ground, u.R_NB, p.position)
        v = u.v_NB_B + ca.cross(u.w_NB_B, p.position)
        turn = u.w_NB_B[:2]
        ideal = turn + ca.vertcat(-v[1], v[0]) / ca.fmax(distance, 0.01)
        value = rounded(ideal + p.noise * u.white[:2], p.resolution)
        inside = ca.logic_and(distance >= p.nearest, distance <= p.farthest)
        seen = ca.logic_and(ca.logic_and(inside, u.R_NB[2, 2] > LEAST_COSINE), ca.mmax(ca.fabs(ideal)) < p.largest_rate)
        return {
            "flow_truth": ideal,
            "flow": clip(value, -p.largest_rate, p.largest_rate),
            "rotation_truth": turn,
            "rotation": turn + p.rotation_noise * u.white[2:],
            "quality": ca.if_else(seen, 1, 0),
            "stamp": u.time,
        }
