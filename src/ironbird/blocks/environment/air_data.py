"""Motion through the air: velocity over ground minus wind."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out
from ironbird.symbolic.rotation import norm


class AirData(Block):
    """Computes the velocity relative to the air, v_rel = v - v_wind, [Dai] Sec. II-B; the wind is the sum of Eq. 6.

    With `turning` also the angular velocity relative to rotating air (angular gusts).
    """

    source = "[Dai] Eq. 6"

    wind_N = In(unit="m/s", shape=3, frame="N", gather=True, doc="all parts of the wind")
    v_NB_B = In(unit="m/s", shape=3, frame="B", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    v_air_B = Out(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    airspeed = Out(unit="m/s", doc="its size")
    wind_sum_N = Out(unit="m/s", shape=3, frame="N", doc="the whole wind")

    def __init__(self, *, turning: bool = False) -> None:
        super().__init__()
        self.turning = turning
        if turning:
            self.declare("w_NB_B", In(unit="rad/s", shape=3, frame="B", doc="angular velocity"))
            self.declare("rates_N", In(unit="rad/s", shape=3, frame="N", doc="angular velocity of the air"))
            self.declare("w_air_B", Out(unit="rad/s", shape=3, frame="B", doc="angular velocity through the air"))

    def output(self, x: View, u: View, p: View) -> Values:
        v = u.v_NB_B - u.R_NB.T @ u.wind_N
        values = {"v_air_B": v, "airspeed": norm(v), "wind_sum_N": u.wind_N}
        if self.turning:
            values["w_air_B"] = u.w_NB_B - u.R_NB.T @ u.rates_N
        return values
