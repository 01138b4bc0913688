"""True pose of a vehicle, held for code outside the kernel to read between two steps."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out


class PoseSample(Block):
    """Holds position, velocity and attitude of the last sample, from which a world computes what is near. Sampled.

    Not modelled: nothing; values are only held.
    """

    source = "a register of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    position = Out(unit="m", shape=3, frame="N", doc="at the last sample")
    velocity = Out(unit="m/s", shape=3, frame="N", doc="at the last sample")
    attitude = Out(unit="1", shape=(3, 3), doc="at the last sample")
    rates = Out(unit="rad/s", shape=3, frame="B", doc="at the last sample")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"position": u.p_NB_N, "velocity": u.v_NB_N, "attitude": u.R_NB, "rates": u.w_NB_B}
