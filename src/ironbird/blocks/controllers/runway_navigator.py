"""Navigator of a fixed wing on wheels: take-off run, rotation, and the roll after the landing."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.fixed_wing_control import BANK
from ironbird.blocks.controllers.mission_table import LANDING, TAKE_OFF
from ironbird.blocks.controllers.wing_navigator import FLARE, STANDS_MPS, STANDS_S, WingNavigator
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State

TOUCHES_M = 0.15  # height of the wheels below which the vehicle counts as rolling after the flare


class RunwayNavigator(WingNavigator):
    """`WingNavigator` of a fixed wing on wheels: it takes off from a runway and rolls out after the landing. Sampled.

    Before the start the brakes hold. Take-off: brakes off, full throttle, along the runway (`launch_course` through
    `point_0`) with the pitch of the standing vehicle; at `rotate_speed` through the air the nose goes up to
    `take_off_pitch`; wings are held level up to `clear_height`, then it climbs as after a launch. A run in which the
    airspeed stays below `rotate_speed` at the end of `run_length` is rejected: throttle closed, brakes. After the flare
    the vehicle rolls along the landing course, nose down, with `landing_brake`, until it stands. Not modelled: taxiing,
    crosswind technique, a tail wheel's stages.
    """

    source = "[Raymer] 17.8: ground roll, rotation, transition; [RflyModel] 9.2.2"

    airspeed = In(unit="m/s", default=0.0, doc="speed through the air")
    rolling = Out(unit="1", doc="1 on the runway: steered by wheel and rudder")
    brake = Out(unit="1", low=0.0, high=1.0, doc="of the wheels, 1 is full")

    rotated = State(unit="1", init=0.0, doc="1 after the speed of rotation")
    rejected = State(unit="1", init=0.0, doc="1 when the take-off was given up")

    rotate_speed = Param(unit="m/s", low=0.1, tunable=True, doc="the nose goes up")
    runway_pitch = Param(unit="rad", default=0.0, tunable=True, doc="of the vehicle on its wheels")
    clear_height = Param(unit="m", default=2.0, low=0.0, tunable=True, doc="wings are level below, after take-off")
    run_length = Param(unit="m", default=300.0, low=1.0, tunable=True, doc="longest run before rotation")
    landing_brake = Param(unit="1", default=0.5, low=0.0, high=1.0, tunable=True, doc="after touch-down")

    def _on_runway(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Whether it stands or runs for take-off; is low before or after that; rolls out after a landing."""
        task = self._task(x, p)
        height = self._approach(x, u, p, task)["height"]
        runs = ca.logic_and(task["begun"] <= TAKE_OFF, x.rotated < 0.5)
        low = ca.logic_and(task["begun"] <= TAKE_OFF, height < p.clear_height)
        out = ca.logic_and(ca.logic_and(task["mode"] == LANDING, x.stage == FLARE), height < TOUCHES_M)
        return runs, low, out

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        values = dict(super().update(x, u, p))
        runs, _, _ = self._on_runway(x, u, p)
        travelled = u.p_NB_N[:2] - p.point_0[:2]
        rejects = ca.logic_and(runs, ca.dot(travelled, travelled) > p.run_length**2)
        rejected = ca.if_else(rejects, 1, x.rejected)
        rotates = ca.logic_and(ca.logic_and(runs, rejected < 0.5), u.airspeed >= p.rotate_speed)
        # Standing after a rejected take-off: the flight is over
        slow = ca.dot(u.v_NB_N, u.v_NB_N) < STANDS_MPS**2
        given_up = ca.logic_and(rejected > 0.5, slow)
        still = ca.if_else(given_up, x.still + self.sample_s, values["still"])
        return {
            **values,
            "rotated": ca.if_else(rotates, 1, x.rotated),
            "rejected": rejected,
            "still": still,
            "down": ca.if_else(ca.logic_and(given_up, still > STANDS_S), 1, values["down"]),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        values = dict(super().output(x, u, p))
        runs, low, out = self._on_runway(x, u, p)
        rolling = ca.logic_or(ca.logic_or(runs, low), out)
        rejected = x.rejected > 0.5
        on_wheels = ca.vertcat(p.runway_pitch, p.runway_pitch)
        stands = values["disarmed"] > 0.5
        brake = ca.if_else(out, p.landing_brake, 0)
        brake = ca.if_else(ca.logic_or(stands, rejected), 1, brake)
        closed = ca.logic_and(rejected, x.aloft < 0.5)
        return {
            **values,
            "rolling": ca.if_else(rolling, 1, 0),
            "brake": brake,
            "path_kind": ca.if_else(rolling, BANK, values["path_kind"]),
            "bank_set": ca.if_else(rolling, 0, values["bank_set"]),
            "pitch_limits": ca.if_else(ca.logic_or(runs, out), on_wheels, values["pitch_limits"]),
            "throttle_limits": ca.if_else(closed, ca.SX.zeros(2), values["throttle_limits"]),
        }
