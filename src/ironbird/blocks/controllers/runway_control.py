"""Control of a fixed wing on wheels: in the air as without, on the runway by nose wheel and rudder."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.fixed_wing_control import MOST_SCALE, SLOWEST_MPS, FixedWingControl
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip, wrap_angle

SLOWEST_ROLL_MPS = 2.0  # m/s, lower bound of the speed in the limit of the wheel's angle


class RunwayControl(FixedWingControl):
    """`FixedWingControl` of an aircraft on wheels: while it is `rolling`, nose wheel and rudder steer along the line.
    Sampled.

    Line-of-sight guidance [Fossen2021] Sec. 12.3: the heading leads to a point of the line `look_ahead` before the
    vehicle; the heading error gives a yaw rate, which the nose wheel produces as in the bicycle model, tan(delta) = L r
    / V [Gillespie] Eq. 6-1, and the rudder holds with the gain of the yaw damper. The navigator commands the bank;
    integrals of bank and pitch wait. Not modelled: differential braking, wheels that castor.
    """

    source = "[Fossen2021] Sec. 12.3; [Gillespie] Eq. 6-1; [Park2004]; [Lambregts1983]"

    rolling = In(unit="1", default=0.0, low=0.0, high=1.0, doc="1 on the runway: heading by wheel and rudder")
    steering = Out(unit="1", low=-1.0, high=1.0, doc="of the nose wheel, share of the travel, positive to the right")

    wheel_base = Param(unit="m", low=0.01, doc="from the main wheels to the steered one")
    steer_travel = Param(unit="rad", low=1e-3, doc="of the steered wheel at full command")
    steer_gain = Param(unit="1/s", default=4.0, low=0.0, tunable=True, doc="heading error to yaw rate")
    look_ahead = Param(unit="m", default=10.0, low=0.1, tunable=True, doc="of the point of the line that is aimed at")

    def _turn(self, u: View, p: View) -> ca.SX:
        """Yaw rate (rad/s) that leads to the line."""
        away = u.p_NB_N[:2] - u.path_origin[:2]
        c, s = ca.cos(u.path_course), ca.sin(u.path_course)
        across = c * away[1] - s * away[0]  # right of the line
        heading = ca.atan2(u.R_NB[1, 0], u.R_NB[0, 0])
        return p.steer_gain * wrap_angle(u.path_course - ca.atan(across / p.look_ahead) - heading)

    def _law(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        law = super()._law(x, u, p)
        rolling = u.rolling > 0.5
        turn = self._turn(u, p)
        scale = ca.fmin((p.trim_speed / ca.fmax(u.airspeed, SLOWEST_MPS)) ** 2, MOST_SCALE)
        rudder = p.rudder_trim + scale * p.yaw_damping * (u.w_NB_B[2] - turn)
        law["surfaces"] = ca.vertcat(law["surfaces"][:2], ca.if_else(rolling, rudder, law["surfaces"][2]))
        wheel = ca.atan(p.wheel_base * turn / ca.fmax(norm(u.v_NB_N[:2]), SLOWEST_ROLL_MPS))
        law["steering"] = ca.if_else(rolling, wheel, 0)
        return law

    def update(self, x: View, u: View, p: View) -> Values:
        values = dict(super().update(x, u, p))
        for name in ("roll_sum", "pitch_sum"):
            values[name] = ca.if_else(u.rolling > 0.5, x[name], values[name])
        return values

    def output(self, x: View, u: View, p: View) -> Values:
        steering = clip(self._law(x, u, p)["steering"] / p.steer_travel, -1, 1)
        return {**super().output(x, u, p), "steering": steering}
