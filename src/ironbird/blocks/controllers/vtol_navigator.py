"""Navigator of a vehicle with rotors and wings: hover, flight on wings, and the transitions between them."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.mission_table import (
    BACK_TRANSITION,
    CRUISE,
    DESCEND,
    HOVER,
    LAND,
    LANDING,
    MISSION,
    OFFBOARD,
    RETURN,
    TAKE_OFF,
    TERMINATED,
    TRANSITION,
)
from ironbird.blocks.controllers.navigator import BY_RATE, BY_VELOCITY, Navigator
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import choose, clip, limit_length, wrap_angle

# Stages, in their order: on rotors; from rotors to wings; on wings; slowing down on wings; stopping on rotors
HOVERS, ACCELERATES, FLIES, SLOWS, BRAKES = range(5)
ALIGNED_RAD = 0.15  # rad; the nose points along the leg before the vehicle accelerates
STOPPED_MPS = 1.5  # m/s over ground at which the position can be held
BRAKES_S = 2.0  # s that stopping on rotors takes at least: the nose comes up, the wind is estimated
VANE_RADPS = 0.6  # rad/s, fastest turn into the wind
SLOW_SHARE = 0.7  # commanded airspeed while slowing down, as a share of that at which the rotors take over


class VtolNavigator(Navigator):
    """Runs missions, modes and failsafes of a VTOL aircraft, with long legs on wings. Sampled.
    It is the multicopter's `Navigator` with a second state machine of five stages for the legs on wings.

    A leg of a mission, or the way home, that is longer than `wing_distance` is flown in this order: turn to it,
    transition, cruise along the line, slow down on the wings in time to stop at the end, and stop on the rotors. Way
    points without hold time are passed, others (and the last, and the one before a landing) are hovered at. A
    transition that takes too long, and a loss of height on wings, end in hover: the quad-chute of [PX4]; the vehicle
    then returns on its rotors. A hovering vehicle keeps its heading, or turns its wing edgewise to the wind: yaw in the
    mission is not used. Commands and failsafes are the multicopter's; those that need hover stop the vehicle first. Not
    modelled: loiter circles, landing on wings, transitions without airspeed.
    """

    source = "[RflyModel] 9.2.1; [PX4] VTOL: transition, back-transition, quad-chute"

    airspeed = In(unit="m/s", default=0.0, doc="along the nose")
    stage = Out(unit="1", doc="0 hovers, 1 accelerates, 2 flies on wings, 3 slows down on wings, 4 stops on rotors")
    path_origin = Out(unit="m", shape=3, frame="N", doc="where the leg begins")
    path_course = Out(unit="rad", doc="of the leg, from north to east")
    height_set = Out(unit="m", doc="on wings, above the take-off point")
    airspeed_set = Out(unit="m/s", doc="on wings")
    chute = Out(unit="1", doc="1 after a failed flight on wings: the rotors bring the vehicle home")

    step = State(unit="1", init=0.0, doc="stage")
    since = State(unit="s", init=0.0, doc="time in this stage")
    place = State(unit="m", shape=3, frame="N", init="point_0", doc="where the leg begins")
    failed = State(unit="1", init=0.0, doc="1 after a quad-chute")

    wing_speed = Param(unit="m/s", low=1.0, tunable=True, doc="airspeed in cruise")
    wing_distance = Param(unit="m", low=1.0, default=100.0, tunable=True, doc="shorter legs are flown on rotors")
    wing_height = Param(unit="m", low=0.0, default=15.0, tunable=True, doc="no transition below")
    transition_speed = Param(unit="m/s", low=1.0, tunable=True, doc="airspeed at which the wings carry")
    transition_time = Param(unit="s", low=0.0, default=2.0, tunable=True, doc="a transition takes at least so long")
    transition_timeout = Param(unit="s", low=0.1, default=15.0, tunable=True, doc="quad-chute if it takes longer")
    back_speed = Param(unit="m/s", low=1.0, tunable=True, doc="airspeed at which the rotors take over")
    slow_timeout = Param(unit="s", low=0.1, default=20.0, tunable=True, doc="they do so at the latest")
    brake_timeout = Param(
        unit="s", low=0.1, default=10.0, tunable=True, doc="hover at the latest after so long on rotors"
    )
    slowing = Param(unit="m/s^2", low=0.05, tunable=True, doc="assumed deceleration from cruise to hover")
    braking = Param(unit="m/s^2", low=0.05, default=1.5, tunable=True, doc="of the set-point when stopping on rotors")
    acceptance_radius = Param(unit="m", low=1.0, tunable=True, doc="horizontal; a nearer way point is passed")
    weathervane = Param(unit="1/s", default=0.0, low=0.0, tunable=True, doc="lean along x to yaw rate, in hover")
    chute_loss = Param(unit="m", low=0.1, default=12.0, tunable=True, doc="height below the set one: quad-chute")

    def _leg(self, x: View, u: View, p: View, mode: ca.SX) -> dict[str, ca.SX]:
        """Geometry of the present leg."""
        item, after = self._item_at(x.index, p), self._item_at(x.index + 1, p)
        home = mode == RETURN
        lands = item[5] > 0.5 * LAND
        height = ca.fmin(-p.return_height, x.place[2])
        target = ca.if_else(home, ca.vertcat(0, 0, height), item[:3])
        goes = ca.logic_or(home, ca.logic_and(mode == MISSION, ca.logic_not(lands)))
        usable = ca.logic_and(goes, x.failed < 0.5)
        last = x.index >= p.count - 1.5
        stops = ca.logic_or(ca.logic_or(home, last), ca.logic_or(item[4] > 0, after[5] > 0.5 * LAND))
        away = target[:2] - u.p_NB_N[:2]
        leg = target[:2] - x.place[:2]
        length = _length(leg)
        ahead = leg / length
        left = ca.dot(away, ahead)
        travelled = clip(1 - left / length, 0, 1)
        return {
            "target": target,
            "usable": usable,
            "stops": stops,
            "distance": _length(away),
            "left": left,
            "bearing": ca.atan2(away[1], away[0]),
            "course": ca.atan2(leg[1], leg[0]),
            "lands": lands,
            "nearest": x.place + travelled * (target - x.place),
        }

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        values = dict(super().update(x, u, p))
        mode = ca.SX(values["now"])
        leg = self._leg(x, u, p, mode)
        v, height = u.v_NB_N[:2], -u.p_NB_N[2]
        speed = _length(v)
        heading = ca.atan2(u.R_NB[1, 0], u.R_NB[0, 0])

        # On rotors: a long leg begins with a turn on the spot
        high = height > p.wing_height
        wants = ca.logic_and(ca.logic_and(leg["usable"], high), leg["distance"] > p.wing_distance)
        wants = ca.logic_and(wants, x.step == HOVERS)
        aligned = ca.fabs(wrap_angle(leg["bearing"] - heading)) < ALIGNED_RAD
        begins = ca.logic_and(wants, aligned)
        # On wings
        low = height < -leg["nearest"][2] - p.chute_loss
        late = ca.logic_and(x.step == ACCELERATES, x.since > p.transition_timeout)
        flying = ca.logic_or(x.step == ACCELERATES, x.step == FLIES)
        fails = ca.logic_and(flying, ca.logic_or(low, late))
        carried = ca.logic_and(u.airspeed > p.transition_speed, x.since > p.transition_time)
        near_end = ca.logic_and(leg["stops"], leg["left"] < speed * speed / (2 * p.slowing))
        passed = ca.logic_or(leg["distance"] < p.acceptance_radius, leg["left"] < 0)
        passes = ca.logic_and(ca.logic_and(flying, passed), ca.logic_not(leg["stops"]))
        passes = ca.logic_and(passes, leg["usable"])
        turns_home = ca.logic_and(mode == RETURN, x.now != RETURN)  # a leg from here to home begins
        near_end = ca.logic_and(near_end, ca.logic_not(turns_home))
        ends = ca.logic_or(near_end, ca.logic_not(leg["usable"]))
        slow = ca.logic_or(u.airspeed < p.back_speed, ca.logic_or(x.since > p.slow_timeout, low))
        resting = ca.logic_and(speed < STOPPED_MPS, x.since > BRAKES_S)
        stopped = ca.logic_or(resting, x.since > p.brake_timeout)
        following = [
            ca.if_else(begins, ACCELERATES, HOVERS),
            ca.if_else(
                ca.logic_or(fails, ca.logic_not(leg["usable"])), BRAKES, ca.if_else(carried, FLIES, ACCELERATES)
            ),
            ca.if_else(fails, BRAKES, ca.if_else(ends, SLOWS, FLIES)),
            ca.if_else(slow, BRAKES, SLOWS),
            ca.if_else(stopped, HOVERS, BRAKES),
        ]
        off = ca.logic_or(mode < TAKE_OFF, mode == TERMINATED)
        step = ca.if_else(off, HOVERS, choose(x.step, following))
        changed = ca.fabs(step - x.step) > 0.5
        failed = ca.if_else(fails, 1, x.failed)

        # Inputs of the multicopter's state machine
        on_wings = ca.logic_or(step != HOVERS, x.step != HOVERS)
        turns = ca.logic_and(wants, ca.logic_not(begins))
        entered = ca.logic_and(step == BRAKES, x.step != BRAKES)
        down = ca.if_else(ca.logic_and(step == BRAKES, ca.logic_not(entered)), x.point[2], u.p_NB_N[2])
        point = ca.if_else(on_wings, ca.vertcat(u.p_NB_N[:2], down), ca.if_else(turns, x.point, values["point"]))
        slower = limit_length(x.motion[:2], ca.fmax(_length(x.motion[:2]) - p.braking * self.sample_s, 0))
        back_down = clip(x.point[2] - u.p_NB_N[2], -1, 1)
        motion = ca.vertcat(ca.if_else(entered, v, slower), ca.if_else(entered, 0, back_down))
        motion = ca.if_else(step == BRAKES, motion, ca.SX.zeros(3))
        still = ca.logic_or(on_wings, turns)
        begin = ca.if_else(passes, leg["target"], x.place)
        begin = ca.if_else(ca.logic_or(begins, turns_home), u.p_NB_N, begin)
        # A hovering tail-sitter turns the edge of its wing to the wind, which its lean shows: less drag, no lift
        edgewise = -p.weathervane * u.R_NB[2, 0] * ca.if_else(u.R_NB[2, 1] < 0, -1, 1)
        vane_rate = ca.if_else(mode > TAKE_OFF, clip(edgewise, -VANE_RADPS, VANE_RADPS), 0)
        vane = wrap_angle(x.yaw + self.sample_s * vane_rate)
        # The nose follows the leg; a vehicle that stops keeps its heading
        turn = ca.if_else(x.step == ACCELERATES, leg["course"], leg["bearing"])
        course = ca.if_else(x.step == FLIES, heading, ca.if_else(x.step >= SLOWS, x.yaw, turn))
        return {
            **values,
            "now": ca.if_else(ca.logic_and(fails, mode == MISSION), RETURN, mode),
            "point": point,
            "speed": ca.if_else(still, 0, values["speed"]),
            "motion": ca.if_else(on_wings, motion, ca.if_else(turns, ca.SX.zeros(3), values["motion"])),
            "yaw": ca.if_else(still, course, ca.if_else(mode == OFFBOARD, u.offboard_yaw, vane)),
            "index": ca.if_else(on_wings, x.index + ca.if_else(passes, 1, 0), values["index"]),
            "timer": ca.if_else(on_wings, 0, values["timer"]),
            "finished": ca.if_else(on_wings, x.finished, values["finished"]),
            "step": step,
            "since": ca.if_else(changed, 0, clip(x.since + self.sample_s, 0, 1e6)),
            "place": begin,
            "failed": failed,
        }

    def output(self, x: View, u: View, p: View) -> Values:
        values = dict(super().output(x, u, p))
        leg = self._leg(x, u, p, x.now)
        on_wings = ca.logic_and(x.step > HOVERS, x.step < BRAKES)
        hovering = ca.if_else(x.now == MISSION, ca.if_else(leg["lands"], LANDING, HOVER), x.now)
        shown = [hovering, ca.SX(TRANSITION), ca.SX(CRUISE), ca.SX(BACK_TRANSITION), ca.SX(BACK_TRANSITION)]
        stopping = ca.logic_and(x.step == BRAKES, x.now != DESCEND)
        offboard = ca.fmin(values["control_kind"], BY_VELOCITY)  # rates and thrust belong to the wing control here
        kind = ca.if_else(x.now == OFFBOARD, offboard, values["control_kind"])
        kind = ca.if_else(stopping, BY_VELOCITY, kind)
        slows = x.step == SLOWS
        return {
            **values,
            "position_set": ca.if_else(on_wings, leg["nearest"], values["position_set"]),
            "control_kind": ca.if_else(on_wings, BY_RATE, kind),
            "mode": choose(x.step, shown),
            "stage": x.step,
            "path_origin": x.place,
            "path_course": leg["course"],
            "height_set": -leg["nearest"][2],
            "airspeed_set": ca.if_else(slows, SLOW_SHARE * p.back_speed, p.wing_speed),
            "chute": x.failed,
        }


def _length(v: ca.SX) -> ca.SX:
    """Length of a horizontal vector, bounded away from zero."""
    return ca.sqrt(ca.dot(v, v) + 1e-12)
