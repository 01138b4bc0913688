"""A load that has shifted: the moment of a centre of gravity away from where the model has it."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class ShiftedLoad(Block):
    """Computes the moment of a load that has shifted off the centre of mass.
    M = r x m g in body axes, [CopterSim] section 9.

    Zero while the offset is zero. Not modelled: the change of inertia, the coupling of the offset with acceleration.
    """

    source = "[CopterSim] section 9"

    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    gravity_N = In(unit="m/s^2", shape=3, frame="N", doc="gravity")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the nominal centre of mass")
    mass = Param(unit="kg", low=0.0, tunable=True, doc="of the whole vehicle")
    offset = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="of the centre of gravity")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"moment_B": ca.cross(p.offset, p.mass * (u.R_NB.T @ u.gravity_N))}
