"""Attitude and rates of a vehicle in the axes in which it hovers."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class HoverFrame(Block):
    """Converts attitude and angular velocity from body axes B to hover axes H, which are fixed in the body.

    A tail-sitter hovers with its nose up: level flight of a multicopter, seen in H, is B pitched up by 90 degrees. A
    rotation matrix has no singular attitude. Not modelled: a frame that moves in the body.
    """

    source = "closed form of this project: R_NH = R_NB R_BH"
    role = "transform"

    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    R_NH = Out(unit="1", shape=(3, 3), doc="attitude of the hover axes")
    w_NH_H = Out(unit="rad/s", shape=3, doc="angular velocity in hover axes")

    R_HB = Param(unit="1", shape=(3, 3), doc="from B to H")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"R_NH": u.R_NB @ p.R_HB.T, "w_NH_H": p.R_HB @ u.w_NB_B}
