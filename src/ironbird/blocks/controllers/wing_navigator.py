"""Navigator of a fixed wing: take-off, legs, circles, return, landing and failsafes; puts out the path to follow."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.fixed_wing_control import BANK, LINE, ORBIT
from ironbird.blocks.controllers.mission_table import (
    DISARMED,
    HOLD,
    LAND,
    LANDING,
    LOITER_ITEM,
    MISSION,
    RETURN,
    RETURN_ITEM,
    TAKE_OFF,
    TAKE_OFF_ITEM,
    MissionTable,
    command_in_force,
    link_silent,
    outside_fence,
    script_param,
)
from ironbird.model.block import Values, View
from ironbird.model.signal import Clock, In, Out, Param, State
from ironbird.symbolic.smooth import clip

SHORTEST_LEG_M = 1.0  # m; a shorter leg has no direction: the vehicle flies straight to its end
HEIGHT_REACHED_M = 5.0  # m from the approach height at which the glide may begin
ALIGNED = 0.95  # cosine between velocity and landing course at which the circle is left
STANDS_MPS, STANDS_S = 1.0, 2.0  # m/s and s: slower for so long means that the vehicle is at rest
GROUND_SEEN_M = 10.0  # m; a height over ground below this is used in the landing
ANY_PITCH = 1.5  # rad, no limit
# Stages of a landing: to the approach height, down the slope, above the ground, and up again for another try
OPEN, GLIDE, FLARE, AROUND = 0.0, 1.0, 2.0, 3.0
LEAST_WIND_MPS = 1.0  # m/s; with less tailwind the course is kept


class WingNavigator(MissionTable):
    """Runs missions, modes and landings of a fixed wing, with the same mission table as the multicopter's navigator.
    Sampled.

    Take-off [RflyModel] 9.2.2.1: a launcher is fired, full throttle, a fixed pitch and a straight course until the
    height is reached; every mission of a vehicle that begins on the ground begins so. Waypoints: straight legs on which
    the height changes evenly; one counts as reached within `acceptance_radius`, a vehicle that has passed further away
    turns back. Items with a hold time, loiter items and the last item are circled: time counts from the start of the
    circle. Return circles the take-off point; only the command landing acts then, [RflyModel] 9.2.2.2. Landing: the
    height is adjusted in a circle that touches the approach line, which is left on the landing course for a straight
    glide with the throttle open; near the ground an exponential flare with closed throttle, on the height over ground
    if that is given. The vehicle slides to rest. It goes around (climbs straight ahead to the approach height and
    begins the landing again, `most_rounds` times) when it is off the glide by more than `glide_across` or
    `glide_window` above the decision height, when it is still in the air `overrun` past the touch-down point, and at
    the command take-off. By `course_by_wind` the landing course is turned into the wind that the estimator reports when
    the landing begins: 1 to the other end of the strip, 2 freely. Failsafes: without GNSS or estimator it circles with
    a steady bank at its height (drifting with the wind) until they are back; beyond the fence, without link or with a
    low battery it returns, with an empty one it lands. `mode` is the present action: an item for landing shows as
    `land`. Not modelled: terrain, fillets, offboard flight.
    """

    source = "[RflyModel] 9.2.2; [BeardMcLain] Ch. 10; landing pattern of this project"

    time = Clock(doc="simulation time")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", default=0.0, doc="velocity")
    ground_distance = In(unit="m", default=1e3, doc="height over ground; beyond 10 m it is not used")
    healthy = In(unit="1", default=1.0, doc="0 when the estimator has failed")
    gnss_age = In(unit="s", default=0.0, doc="time since the last good fix")
    wind_N = In(unit="m/s", shape=3, frame="N", default=0.0, doc="velocity of the air, for the landing course")
    battery_remaining = In(unit="1", default=1.0, doc="share of the charge left")
    may_arm = In(unit="1", default=1.0, doc="0 after a restart that leaves the motor off")
    link_stamp = In(
        unit="s", default=-1.0, doc="time of the last message of the control link; negative is no link in use"
    )
    command = In(unit="1", default=float(MISSION), doc="mode asked for, by number: hold, mission, return, land")

    path_kind = Out(unit="1", doc="0 straight line, 1 circle, 2 steady bank without a path")
    path_origin = Out(unit="m", shape=3, frame="N", doc="a point of the line, or the circle's centre")
    path_course = Out(unit="rad", doc="direction of the line, from north to east")
    path_radius = Out(unit="m", doc="of the circle; negative is flown counter-clockwise seen from above")
    bank_set = Out(unit="rad", doc="of path kind 2")
    height_set = Out(unit="m", doc="above the take-off point")
    climb_ahead = Out(unit="m/s", doc="climb rate of the height asked for")
    airspeed_set = Out(unit="m/s", doc="speed through the air")
    speed_weight = Out(unit="1", doc="of speed in pitch: 1 equal, 0 none (flare)")
    pitch_limits = Out(unit="rad", shape=2, doc="lowest and highest pitch at present")
    throttle_limits = Out(unit="1", shape=2, doc="lowest and highest throttle at present")
    position_set = Out(unit="m", shape=3, frame="N", doc="the nearest point of leg, leg before, and circle")
    launch = Out(unit="1", doc="1 fires the launcher")
    disarmed = Out(unit="1", doc="1 on the ground before the start: the estimator may assume rest")
    mode = Out(unit="1", doc="number of what is being done")
    failsafe = Out(unit="1", shape=6, doc="active: battery, GNSS, estimator, geofence, attitude (never), link")
    item = Out(unit="1", doc="number of the present mission item, from 0")
    done = Out(unit="1", doc="1 when the last item is completed")
    landed = Out(unit="1", doc="1 when the vehicle has come to rest otherwise")

    now = State(unit="1", init=float(DISARMED), doc="mode, apart from what a mission item asks for")
    aloft = State(unit="1", init="airborne", doc="1 after take-off")
    asked = State(unit="1", init=-1.0, doc="command seen last")
    index = State(unit="1", init=0.0, doc="present item")
    place = State(unit="m", shape=3, frame="N", init="point_0", doc="where the present leg begins")
    before = State(unit="m", shape=3, frame="N", init="point_0", doc="where the leg before began")
    circling = State(unit="1", init=0.0, doc="1 when the present circle has been reached")
    timer = State(unit="s", init=0.0, doc="circled so long")
    stage = State(unit="1", init=OPEN, doc="of the landing: 0 to the approach, 1 glide, 2 flare, 3 going around")
    rounds = State(unit="1", init=0.0, doc="how often it has gone around")
    turned = State(unit="rad", init=0.0, doc="landing course less the one that was asked for")
    decided = State(unit="1", init=0.0, doc="1 when the course of the present landing is fixed")
    still = State(unit="s", init=0.0, doc="has stood so long after take-off")
    tripped = State(unit="1", shape=6, init=0.0, doc="failsafes; battery and fence stay")
    finished = State(unit="1", init=0.0, doc="1 after the last item")
    down = State(unit="1", init=0.0, doc="1 when at rest without having finished")

    airborne = Param(unit="1", default=1.0, low=0.0, high=1.0, doc="1 begins in flight, 0 on the launcher")
    point_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="where the first leg begins")
    count = Param(unit="1", low=1.0, doc="number of items in use")
    cruise_speed = Param(unit="m/s", low=0.1, tunable=True, doc="through the air")
    acceptance_radius = Param(unit="m", low=1.0, tunable=True, doc="horizontal; a waypoint nearer than this is reached")
    loiter_radius = Param(unit="m", low=1.0, tunable=True, doc="of circles")
    sense = Param(unit="1", default=1.0, low=-1.0, high=1.0, tunable=True, doc="+1 clockwise seen from above, or -1")
    arm_time = Param(unit="s", default=0.0, low=0.0, tunable=True, doc="no launch before: the estimator settles")
    take_off_pitch = Param(unit="rad", default=0.2618, tunable=True, doc="[RflyModel] 9.2.2.1: 15 degrees")
    take_off_height = Param(unit="m", default=30.0, low=1.0, tunable=True, doc="if no item says it")
    launch_course = Param(unit="rad", default=0.0, doc="of the launcher")
    return_height = Param(unit="m", default=50.0, low=1.0, tunable=True, doc="if no item says it")
    landing_place = Param(unit="m", shape=2, default=0.0, tunable=True, doc="of a landing without an item")
    landing_course = Param(unit="rad", default=0.0, tunable=True, doc="of a landing without an item")
    approach_height = Param(unit="m", default=30.0, low=1.0, tunable=True, doc="where the glide begins")
    approach_speed = Param(unit="m/s", default=20.0, low=0.1, tunable=True, doc="through the air")
    glide_slope = Param(unit="rad", default=0.08, low=0.01, high=0.5, tunable=True, doc="below the horizon")
    flare_time = Param(unit="s", default=2.0, low=0.1, tunable=True, doc="height over sink rate in the flare")
    touch_sink = Param(unit="m/s", default=0.4, low=0.05, tunable=True, doc="sink rate at the ground")
    flare_pitch = Param(unit="rad", default=0.0, tunable=True, doc="least pitch in the flare")
    course_by_wind = Param(
        unit="1",
        default=0.0,
        low=0.0,
        high=2.0,
        tunable=True,
        doc="0 as asked, 1 that or its opposite, 2 into the wind",
    )
    most_rounds = Param(unit="1", default=2.0, low=0.0, tunable=True, doc="how often it goes around by itself")
    decision_height = Param(unit="m", default=8.0, low=0.0, tunable=True, doc="below it the glide is not judged")
    glide_across = Param(unit="m", default=30.0, low=1.0, tunable=True, doc="beside the glide: it goes around")
    glide_window = Param(unit="m", default=15.0, low=1.0, tunable=True, doc="above or below the glide: it goes around")
    overrun = Param(unit="m", default=250.0, low=1.0, tunable=True, doc="in the air so far behind the place: around")
    battery_low = Param(unit="1", default=0.2, low=0.0, high=1.0, tunable=True, doc="return below this share")
    battery_critical = Param(unit="1", default=0.1, low=0.0, high=1.0, tunable=True, doc="land below this share")
    belly_height = Param(unit="m", default=0.0, low=0.0, doc="of the centre of mass when the vehicle lies")
    blind_bank = Param(unit="rad", default=0.26, tunable=True, doc="without GNSS; PX4's failsafe has 15 degrees")
    gnss_timeout = Param(unit="s", default=3.0, low=0.0, tunable=True, doc="circle with steady bank if older")
    fence_radius = Param(unit="m", default=1e6, low=1.0, tunable=True, doc="return beyond this distance")
    fence_height = Param(unit="m", default=1e6, low=1.0, tunable=True, doc="return above this height")
    link_timeout = Param(unit="s", default=2.0, low=0.0, tunable=True, doc="return when the link is silent for longer")
    script = script_param()

    # ------------------------------------------------------------------ present task

    def _task(self, x: View, p: View) -> dict[str, ca.SX]:
        """The present item, and the mode that is flown."""
        item = self._item(x, p)
        last = x.index >= p.count - 1.5
        begun = ca.if_else(ca.logic_and(x.aloft > 0.5, x.now < TAKE_OFF), MISSION, x.now)
        by_item = begun == MISSION
        kind = ca.if_else(by_item, item[5], 1e3)
        mode = ca.if_else(kind == LAND, LANDING, begun)
        mode = ca.if_else(kind == LOITER_ITEM, HOLD, mode)
        mode = ca.if_else(kind == RETURN_ITEM, RETURN, mode)
        return {"item": item, "last": last, "begun": begun, "by_item": by_item, "kind": kind, "mode": mode}

    def _approach(self, x: View, u: View, p: View, task: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """Landing line: course, remaining distance, and the circle that touches it where the glide begins."""
        item, by_item = task["item"], task["by_item"]
        asked = ca.if_else(by_item, item[3], p.landing_course)
        course = asked + x.turned
        touch = ca.if_else(by_item, item[:2], p.landing_place)
        along = ca.vertcat(ca.cos(course), ca.sin(course))
        right = ca.vertcat(-along[1], along[0])
        slope = ca.tan(p.glide_slope)
        entry = touch - along * (p.approach_height / slope)
        gap = touch - u.p_NB_N[:2]
        left = ca.dot(gap, along)
        seen = u.ground_distance < GROUND_SEEN_M
        return {
            "asked": asked,
            "course": course,
            "along": along,
            "across": ca.dot(gap, right),
            "touch": touch,
            "slope": slope,
            "left": left,
            "centre": entry + right * (ca.if_else(p.sense < 0, -1, 1) * p.loiter_radius),
            "from_entry": u.p_NB_N[:2] - entry,
            "height": ca.if_else(seen, u.ground_distance, -u.p_NB_N[2]) - p.belly_height,
            "sink": ca.fmax(ca.dot(u.v_NB_N[:2], along), 0) * slope,
        }

    def _leg(self, x: View, u: View, p: View, task: dict[str, ca.SX], approach: dict[str, ca.SX]) -> dict[str, ca.SX]:
        """Geometry of the present leg and of the circle at its end."""
        item, mode = task["item"], task["mode"]
        lands, returns = mode == LANDING, mode == RETURN
        asked = ca.if_else(ca.logic_and(task["by_item"], item[2] < 0), -item[2], p.return_height)
        target = ca.if_else(task["by_item"], item[:3], x.place)  # without an item: hold the stored position
        target = ca.if_else(returns, ca.vertcat(0, 0, -asked), target)
        target = ca.if_else(lands, ca.vertcat(approach["centre"], -p.approach_height), target)
        waypoint = ca.logic_and(task["by_item"], ca.fabs(task["kind"] + 0.5) < 1)  # FLY, and what other kinds fly to
        stays = ca.logic_or(ca.logic_not(waypoint), ca.logic_or(task["last"], item[4] > 0))
        away = u.p_NB_N[:2] - target[:2]
        distance = _length(away)
        leg = target[:2] - x.place[:2]
        length = _length(leg)
        short = length < SHORTEST_LEG_M
        ahead = ca.if_else(short, -away / distance, leg / length)
        travelled = ca.if_else(short, length, ca.dot(u.p_NB_N[:2] - x.place[:2], ahead))
        share = ca.if_else(short, 1, clip(travelled / length, 0, 1))
        between = ca.logic_and(share > 0, share < 1)
        return {
            "target": target,
            "stays": stays,
            "hold": ca.if_else(task["by_item"], item[4], 1e9),
            "away": away,
            "distance": distance,
            "ahead": ahead,
            "travelled": travelled,
            "short": short,
            "down": x.place[2] + share * (target[2] - x.place[2]),
            "climb": ca.if_else(between, (x.place[2] - target[2]) / length * ca.dot(u.v_NB_N[:2], ahead), 0),
            "passed": ca.logic_and(ca.dot(away, ahead) > 0, ca.logic_not(short)),
        }

    def _trips(self, x: View, u: View, p: View) -> ca.SX:
        """Failsafes in the order of the port; battery and fence stay when their cause is gone."""
        conditions = (
            u.battery_remaining < p.battery_low, u.gnss_age > p.gnss_timeout, u.healthy < 0.5, outside_fence(u, p), 0,
            link_silent(u, p),
        )  # fmt: skip
        now = ca.vertcat(*[ca.if_else(ca.SX(c), 1, 0) for c in conditions])
        return ca.fmax(now, ca.vertcat(1, 0, 0, 1, 0, 0) * x.tripped) * x.aloft

    def _blind(self, x: View, task: dict[str, ca.SX]) -> ca.SX:
        """Whether the position is lost; a glide that has begun is flown to its end."""
        committed = ca.logic_and(task["mode"] == LANDING, x.stage > 0.5 * GLIDE)
        lost = ca.logic_or(x.tripped[1] > 0.5, x.tripped[2] > 0.5)
        return ca.logic_and(lost, ca.logic_not(committed))

    # ------------------------------------------------------------------ one sample

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        task = self._task(x, p)
        approach = self._approach(x, u, p, task)
        leg = self._leg(x, u, p, task, approach)
        begun, aloft = task["begun"], x.aloft > 0.5
        blind = self._blind(x, task)

        # Progress of the present task
        near = leg["distance"] < p.acceptance_radius + ca.if_else(leg["stays"], p.loiter_radius, 0)
        # A circle begins one acceptance radius outside it: room to turn onto it
        circling = ca.if_else(ca.logic_and(leg["stays"], near), 1, x.circling)
        timer = ca.if_else(circling > 0.5, x.timer + dt, 0)
        circled = ca.logic_and(circling > 0.5, timer >= leg["hold"])
        lands = task["mode"] == LANDING
        over = ca.if_else(leg["stays"], ca.logic_and(circled, ca.logic_not(lands)), near)
        over = ca.logic_or(over, task["kind"] == TAKE_OFF_ITEM)
        complete = ca.logic_and(ca.logic_and(task["by_item"], aloft), ca.logic_and(over, ca.logic_not(blind)))
        advance = ca.logic_and(complete, ca.logic_not(task["last"]))
        missed = ca.logic_and(leg["passed"], ca.logic_not(ca.logic_or(near, circling > 0.5)))
        command = command_in_force(u, p)
        new = ca.fabs(command - x.asked) > 0.5
        stage = self._next_stage(x, u, p, approach, circling)
        stage = self._around(x, u, p, approach, stage, ca.logic_and(new, command == TAKE_OFF))
        stage = ca.if_else(lands, stage, OPEN)
        around = ca.logic_and(stage == AROUND, x.stage < AROUND)
        again = ca.logic_and(x.stage == AROUND, stage == OPEN)  # high enough: to the circle again

        # At rest: the landing is over, or an engine has failed
        slow = ca.dot(u.v_NB_N, u.v_NB_N) < STANDS_MPS**2
        still = ca.if_else(ca.logic_and(slow, aloft), x.still + dt, 0)
        rests = still > STANDS_S
        well = ca.logic_and(rests, ca.logic_and(task["by_item"], ca.logic_and(lands, task["last"])))

        # Mode: commands, the end of the take-off, failsafes
        mode, begin, climbed, tripped = self._next_mode(x, u, p, task, command, new)
        entered = ca.logic_and(ca.fabs(mode - begun) > 0.5, ca.logic_not(begin))
        here = u.p_NB_N
        anew = ca.logic_or(entered, ca.logic_and(advance, task["kind"] == TAKE_OFF_ITEM))
        anew = ca.logic_or(anew, again)
        # The course of a landing is fixed where it begins, and after a go-around
        still_open = ca.logic_and(lands, ca.logic_and(stage == OPEN, circling < 0.5))
        decides = ca.logic_and(still_open, ca.logic_or(x.decided < 0.5, again))
        turned = ca.if_else(decides, self._turn(u, p, approach["asked"]), x.turned)

        restart = ca.vertcat(here[:2], leg["target"][2])  # a leg that missed its end begins again from here
        place = ca.if_else(ca.logic_and(missed, ca.logic_not(blind)), restart, x.place)
        place = ca.if_else(advance, leg["target"], place)
        fresh = ca.logic_or(advance, entered)
        return {
            "now": mode,
            "aloft": ca.if_else(climbed, 1, x.aloft),
            "asked": command,
            "index": x.index + ca.if_else(advance, 1, 0),
            "place": ca.if_else(anew, here, place),
            "before": ca.if_else(anew, here, ca.if_else(advance, x.place, x.before)),
            "circling": ca.if_else(ca.logic_or(fresh, around), 0, circling),
            "timer": ca.if_else(fresh, 0, clip(timer, 0, 1e6)),
            "stage": ca.if_else(fresh, OPEN, stage),
            "rounds": x.rounds + ca.if_else(around, 1, 0),
            "turned": ca.if_else(lands, turned, 0),
            "decided": ca.if_else(lands, ca.if_else(decides, 1, x.decided), 0),
            "still": ca.fmin(still, 1e6),
            "tripped": tripped,
            "finished": ca.if_else(ca.logic_or(ca.logic_and(complete, task["last"]), well), 1, x.finished),
            "down": ca.if_else(ca.logic_and(rests, ca.logic_not(well)), 1, x.down),
        }

    def _next_mode(
        self, x: View, u: View, p: View, task: dict[str, ca.SX], command: ca.SX, new: ca.SX
    ) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Mode after commands, the end of the take-off and failsafes; also whether a mode began, climbed, tripped."""
        begun, aloft, lands = task["begun"], x.aloft > 0.5, task["mode"] == LANDING
        starts = ca.logic_or(command == TAKE_OFF, command == MISSION)
        ready = ca.logic_and(ca.logic_and(u.time >= p.arm_time, u.healthy > 0.5), u.may_arm > 0.5)
        begin = ca.logic_and(ca.logic_and(begun < TAKE_OFF, ca.logic_not(aloft)), ca.logic_and(ready, starts))
        known = ca.logic_and(command >= HOLD, command <= LANDING)
        heard = ca.logic_and(ca.logic_and(new, aloft), known)
        heard = ca.logic_and(heard, ca.logic_or(begun < RETURN, command > RETURN))
        mode = ca.if_else(heard, command, begun)
        climbed = ca.logic_and(begun == TAKE_OFF, -u.p_NB_N[2] >= self._top(x, p, task))
        mode = ca.if_else(climbed, ca.if_else(command == TAKE_OFF, HOLD, MISSION), mode)
        mode = ca.if_else(begin, TAKE_OFF, mode)
        tripped = self._trips(x, u, p)
        home = ca.logic_or(ca.logic_or(tripped[0] > 0.5, tripped[3] > 0.5), tripped[5] > 0.5)
        # A landing of the mission is completed; only it has precedence over the return
        goes = ca.logic_and(ca.logic_and(home, aloft), mode < RETURN)
        goes = ca.logic_and(goes, ca.logic_not(ca.logic_and(lands, tripped[3] + tripped[5] < 0.5)))
        mode = ca.if_else(goes, RETURN, mode)
        empty = ca.logic_and(ca.logic_and(u.battery_remaining < p.battery_critical, aloft), ca.logic_not(lands))
        mode = ca.if_else(empty, LANDING, mode)
        return mode, begin, climbed, tripped

    def _top(self, x: View, p: View, task: dict[str, ca.SX]) -> ca.SX:
        """Height (m) at which the take-off ends."""
        return ca.if_else(task["item"][5] == TAKE_OFF_ITEM, -task["item"][2], p.take_off_height)

    def _next_stage(self, x: View, u: View, p: View, approach: dict[str, ca.SX], circling: ca.SX) -> ca.SX:
        """Next stage of a landing: from the circle to the slope when height and course are right, then to the flare."""
        v = u.v_NB_N[:2]
        aligned = ca.dot(v, approach["along"]) > ALIGNED * _length(v)
        beside = ca.dot(approach["from_entry"], approach["from_entry"]) < (0.5 * p.loiter_radius) ** 2
        level = ca.fabs(-u.p_NB_N[2] - p.approach_height) < HEIGHT_REACHED_M
        leaves = ca.logic_and(ca.logic_and(aligned, beside), ca.logic_and(level, circling > 0.5))
        stage = ca.if_else(ca.logic_and(x.stage < 0.5 * GLIDE, leaves), GLIDE, x.stage)
        # Where the exponential's sink rate is that of the slope
        low = approach["height"] / p.flare_time + p.touch_sink < approach["sink"]
        low = ca.logic_or(low, approach["height"] < p.touch_sink * p.flare_time)
        return ca.if_else(ca.logic_and(x.stage == GLIDE, low), FLARE, stage)

    def _around(self, x: View, u: View, p: View, approach: dict[str, ca.SX], stage: ca.SX, ordered: ca.SX) -> ca.SX:
        """The stage, or a go-around: off the glide, past the touch-down point, or by command; then up again."""
        high = approach["height"] - approach["left"] * approach["slope"]
        off = ca.logic_or(ca.fabs(approach["across"]) > p.glide_across, ca.fabs(high) > p.glide_window)
        off = ca.logic_and(ca.logic_and(off, stage == GLIDE), approach["height"] > p.decision_height)
        long = ca.logic_and(approach["left"] < -p.overrun, approach["height"] > p.touch_sink * p.flare_time)
        descends = ca.logic_or(stage == GLIDE, stage == FLARE)
        tries = ca.logic_and(ca.logic_or(off, ca.logic_and(long, descends)), x.rounds < p.most_rounds - 0.5)
        goes = ca.logic_or(tries, ca.logic_and(ordered, descends))
        climbed = ca.logic_and(x.stage == AROUND, -u.p_NB_N[2] > p.approach_height - HEIGHT_REACHED_M)
        return ca.if_else(goes, AROUND, ca.if_else(climbed, OPEN, stage))

    def _turn(self, u: View, p: View, asked: ca.SX) -> ca.SX:
        """Change (rad) of the commanded landing course because of the wind."""
        wind = u.wind_N[:2]
        behind = ca.cos(asked) * wind[0] + ca.sin(asked) * wind[1]
        opposite = ca.if_else(behind > LEAST_WIND_MPS, ca.pi, 0)
        freely = ca.if_else(_length(wind) > LEAST_WIND_MPS, ca.atan2(-wind[1], -wind[0]) - asked, 0)
        return ca.if_else(p.course_by_wind > 1.5, freely, ca.if_else(p.course_by_wind > 0.5, opposite, 0))

    def _nearest(self, x: View, u: View, p: View, leg: dict[str, ca.SX]) -> ca.SX:
        """Nearest planned position: near a corner it may be between one leg and the next."""
        here, target, circles = u.p_NB_N, leg["target"], x.circling > 0.5
        span = target[:2] - x.place[:2]
        most = ca.if_else(leg["stays"], ca.fmax(1 - p.loiter_radius / _length(span), 0), 1)  # legs end at the circle
        now = _on_leg(here, x.place, target, most)
        around = ca.vertcat(target[:2] + leg["away"] * (p.loiter_radius / leg["distance"]), target[2])
        other = ca.if_else(circles, around, _on_leg(here, x.before, x.place, 1))
        nearer = _length(here[:2] - other[:2]) < _length(here[:2] - now[:2])
        return ca.if_else(nearer, other, now)

    def output(self, x: View, u: View, p: View) -> Values:
        task = self._task(x, p)
        approach = self._approach(x, u, p, task)
        leg = self._leg(x, u, p, task, approach)
        mode, here = task["mode"], u.p_NB_N
        rising = mode <= TAKE_OFF  # on the launcher, or climbing away from it
        gliding = ca.logic_and(mode == LANDING, x.stage > 0.5 * GLIDE)
        rounding = ca.logic_and(gliding, x.stage == AROUND)
        flaring = ca.logic_and(gliding, x.stage == FLARE)
        blind = self._blind(x, task)
        circles = ca.logic_and(x.circling > 0.5, ca.logic_not(ca.logic_or(rising, gliding)))
        over = ca.logic_or(x.finished * (mode == LANDING) > 0.5, x.down > 0.5)

        # Path: leg or circle, then what overrides it
        along = ca.if_else(leg["short"], here[:2], x.place[:2] + leg["ahead"] * leg["travelled"])
        down = ca.if_else(circles, leg["target"][2], leg["down"])
        origin = ca.vertcat(ca.if_else(circles, leg["target"][:2], along), down)
        course = ca.atan2(leg["ahead"][1], leg["ahead"][0])
        nearest = self._nearest(x, u, p, leg)
        straight = ca.vertcat(ca.cos(p.launch_course), ca.sin(p.launch_course))
        climbing = ca.vertcat(p.point_0[:2] + straight * ca.dot(straight, here[:2] - p.point_0[:2]), here[2])
        # On the slope the error is that of the height over ground, once measured; past the aim it continues
        too_high = approach["height"] - ca.fmin(approach["left"] * approach["slope"], p.approach_height)
        slope_down = here[2] + ca.if_else(flaring, 0, too_high)
        slope_down = ca.if_else(rounding, -p.approach_height, slope_down)
        glide = ca.vertcat(approach["touch"] - approach["along"] * approach["left"], slope_down)
        origin = ca.if_else(rising, climbing, ca.if_else(gliding, glide, origin))
        course = ca.if_else(rising, p.launch_course, ca.if_else(gliding, approach["course"], course))
        nearest = ca.if_else(rising, climbing, ca.if_else(gliding, glide, nearest))
        height = ca.if_else(rising, self._top(x, p, task), -origin[2])
        exponential = -(ca.fmax(approach["height"], 0) / p.flare_time + p.touch_sink)
        climb = ca.if_else(flaring, exponential, ca.if_else(rounding, 0, -approach["sink"]))
        fixed = ca.vertcat(p.take_off_pitch, p.take_off_pitch)
        pitch = ca.if_else(rising, fixed, ca.vertcat(ca.if_else(flaring, p.flare_pitch, -ANY_PITCH), ANY_PITCH))
        closed = ca.logic_or(ca.logic_or(mode < TAKE_OFF, flaring), over)
        least = ca.if_else(ca.logic_and(mode == TAKE_OFF, ca.logic_not(over)), 1, 0)
        kind = ca.if_else(circles, ORBIT, LINE)
        return {
            "path_kind": ca.if_else(blind, BANK, kind),
            "path_origin": origin,
            "path_course": course,
            "path_radius": p.loiter_radius * ca.if_else(p.sense < 0, -1, 1),
            "bank_set": p.blind_bank * ca.if_else(p.sense < 0, -1, 1),
            "height_set": height,
            "climb_ahead": ca.if_else(gliding, climb, ca.if_else(ca.logic_or(circles, rising), 0, leg["climb"])),
            "airspeed_set": ca.if_else(mode == LANDING, p.approach_speed, p.cruise_speed),
            "speed_weight": ca.if_else(flaring, 0, 1),
            "pitch_limits": pitch,
            "throttle_limits": ca.vertcat(least, ca.if_else(closed, 0, 1)),
            "position_set": nearest,
            "launch": ca.if_else(mode == TAKE_OFF, 1, 0),
            "disarmed": ca.if_else(ca.logic_or(mode < TAKE_OFF, over), 1, 0),
            "mode": ca.if_else(ca.logic_or(blind, ca.logic_and(x.finished > 0.5, mode == MISSION)), HOLD, mode),
            "failsafe": x.tripped,
            "item": x.index,
            "done": x.finished,
            "landed": x.down,
        }


def _length(v: ca.SX) -> ca.SX:
    """Length of a horizontal vector, bounded away from zero."""
    return ca.sqrt(ca.dot(v, v) + 1e-12)


def _on_leg(here: ca.SX, a: ca.SX, b: ca.SX, most: ca.SX | float) -> ca.SX:
    """The point of a leg, up to a share of it, that is nearest in the horizontal."""
    leg = b - a
    share = clip(ca.dot(here[:2] - a[:2], leg[:2]) / (ca.dot(leg[:2], leg[:2]) + 1e-12), 0, most)
    return a + share * leg
