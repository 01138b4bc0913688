"""Rotor speed: sensor of one rotor, and the mean of all."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import rounded
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param


class RotorSpeed(Block):
    """Measures a rotor's speed as the telemetry of a speed controller reports it: with noise, in whole steps.

    With its default parameters the sensor is ideal. Not modelled: delay of the telemetry, lost commutation.
    """

    source = "closed form of this project"

    time = Clock(doc="simulation time")
    speed_rotor = In(unit="rad/s", doc="of the rotor")
    speed_truth = Out(unit="rad/s", doc="of the rotor")
    speed = Out(unit="rad/s", doc="as measured; not below zero")
    stamp = Out(unit="s", doc="time of this sample")
    white = Noise(shape=1, doc="white noise")
    noise = Param(unit="rad/s", default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    resolution = Param(unit="rad/s", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def output(self, x: View, u: View, p: View) -> Values:
        value = rounded(u.speed_rotor + p.noise * u.white, p.resolution)
        return {"speed_truth": u.speed_rotor, "speed": ca.fmax(value, 0), "stamp": u.time}


class MeanRotorSpeed(Block):
    """Computes the mean speed of all rotors, which drives the vibration of inertial sensors.

    Not modelled: beating of rotors that turn at different speeds.
    """

    source = "closed form of this project"

    speeds = In(unit="rad/s", gather=True, doc="of all rotors")
    speed = Out(unit="rad/s", doc="their mean")

    def __init__(self, rotors: int = 1) -> None:
        super().__init__()
        self.rotors = rotors

    def output(self, x: View, u: View, p: View) -> Values:
        return {"speed": u.speeds / self.rotors}
