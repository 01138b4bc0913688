"""Navigators of vehicles that hover, commanded from outside: arming, sticks, set-points, loss of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from ironbird.blocks.controllers.command_ports import (
    BY_ALTITUDE,
    BY_ATTITUDE,
    BY_PLACE,
    BY_POSITION_STICKS,
    BY_RATES,
    BY_SETPOINT,
    BY_STABILIZED,
    P_D,
    P_N,
    PITCH,
    ROLL,
    THROTTLE,
    TURN,
    V_D,
    V_N,
    YAW,
    YAW_RATE,
    CommandPorts,
    heading_of,
    is_new,
    seen_with,
    stream_lost,
    turned,
)
from ironbird.blocks.controllers.mission_table import (
    ALTITUDE,
    ARMED,
    DISARMED,
    HOLD,
    MISSION,
    OFFBOARD,
    POSITION,
    RETURN,
    STABILIZED,
    TAKE_OFF,
    command_in_force,
)
from ironbird.blocks.controllers.navigator import BY_POSITION, BY_VELOCITY, SINK_BELOW_M, STANDS_MPS, Navigator
from ironbird.blocks.controllers.spiral_navigator import SpiralNavigator
from ironbird.blocks.controllers.vtol_navigator import HOVERS, VtolNavigator
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.smooth import choose, clip, limit_length, wrap_angle

LEASH_M = 3.0  # m by which sticks may lead the set-point away from the vehicle
YAW_LEASH_RAD = 0.8  # rad, the same for the heading
LIFT_M = 0.3  # m; a set-point farther above a standing vehicle commands a take-off, below a landing
LIFT_MPS = 0.1  # m/s, the same for a speed
LIFT_STICK, LAND_STICK = 0.1, -0.8  # throttle for take-off and landing in the stick modes that hold the height
LIFT_SHARE, LAND_SHARE = 0.5, 0.3  # share of the hover thrust for take-off and landing, where the thrust is commanded
SETTLES_S = 1.0  # s of standing while commanded down that count as a landing
SLIDES_MPS = 0.5  # m/s, horizontal speed below which the estimate counts as standing

if TYPE_CHECKING:
    _Base = Navigator
else:
    _Base = object


class HoverCommands(CommandPorts, _Base):
    """Extension of a hover navigator by external commands. Sampled.

    Armed on the ground (`idle`) the motors idle until lift is commanded: take-off, a mission, a set-point above,
    a raised throttle stick. Sticks: `stabilized` roll, pitch and thrust by stick; `altitude` the same with the height
    held at centred throttle; `position` speeds over ground by stick, and the place is held when they are centred.
    Set-points: position, velocity and acceleration per axis as far as given, heading or its rate; or attitude or rates
    with a thrust. A position without a velocity is flown to with the navigator's own speed and acceleration.
    In these modes the stream of commands must not stop for longer than `link_timeout`: then the vehicle
    holds its place for `link_hold` and returns; an idle one is disarmed. All failsafes of the navigator stay.
    Not modelled: fly-by turns, sticks that take over a mission by themselves.
    """

    attitude_set = Out(unit="rad", shape=3, doc="roll, pitch, yaw, when control is by attitude")
    rate_wanted_B = Out(unit="rad/s", shape=3, frame="B", doc="when control is by rate")
    thrust_set = Out(unit="1", doc="share of full thrust, when control is by attitude or rate")
    position_weight = Out(unit="1", shape=3, doc="0 where no position is asked for")
    velocity_weight = Out(unit="1", shape=3, doc="0 where no velocity is asked for either")
    acceleration_set = Out(unit="m/s^2", shape=3, frame="N", doc="added to what position and velocity need")

    pad = State(unit="m", shape=3, frame="N", init="point_0", doc="where it stands or took off")
    standing = State(unit="s", init=0.0, doc="has stood so long while asked down")

    stick_speed = Param(unit="m/s", default=5.0, low=0.1, tunable=True, doc="over ground at full stick")
    stick_climb = Param(unit="m/s", default=2.0, low=0.1, tunable=True, doc="up and down at full stick")
    stick_tilt = Param(unit="rad", default=0.5, low=0.01, high=1.3, tunable=True, doc="roll and pitch at full stick")
    stick_turn = Param(unit="rad/s", default=1.0, low=0.01, tunable=True, doc="of the heading at full stick")
    hover_thrust = Param(unit="1", default=0.5, low=0.01, high=1.0, tunable=True, doc="thrust of a centred throttle")

    turns_directly = False  # whether the controller accepts attitudes, rates and thrusts

    def _hovers(self, x: View) -> ca.SX:
        """Whether the vehicle hovers, so that sticks and set-points apply."""
        return ca.SX(1)

    # ------------------------------------------------------------------ commands

    def _thrust(self, u: View, p: View) -> ca.SX:
        """Commanded share of the full thrust, by stick or set-point."""
        stick = clip(u.stick[THROTTLE], -1, 1)
        by_stick = p.hover_thrust * (1 + stick) + ca.if_else(stick > 0, stick * (1 - 2 * p.hover_thrust), 0)
        return clip(ca.if_else(u.direct == BY_SETPOINT, u.offboard_thrust, by_stick), 0, 1)

    def _by_thrust(self, u: View) -> ca.SX:
        """Whether attitude (or rates) and thrust are commanded."""
        kind = ca.logic_or(u.offboard_kind == BY_ATTITUDE, u.offboard_kind == BY_RATES)
        return ca.if_else(u.direct == BY_SETPOINT, kind, u.direct == BY_STABILIZED)

    def _asks(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Whether a standing vehicle is commanded up, and a flying one down to the ground."""
        given, target = u.offboard_given, u.offboard_position[2]
        above = ca.logic_and(given[P_D] > 0.5, target < u.p_NB_N[2] - LIFT_M)
        below = ca.logic_and(given[P_D] > 0.5, target > u.p_NB_N[2] + LIFT_M)
        rises = ca.logic_and(given[V_D] > 0.5, u.offboard_velocity[2] < -LIFT_MPS)
        sinks = ca.logic_and(given[V_D] > 0.5, u.offboard_velocity[2] > LIFT_MPS)
        thrust, by_thrust = self._thrust(u, p), self._by_thrust(u)
        by_stick = u.direct > 0.5
        up = ca.if_else(by_stick, u.stick[THROTTLE] > LIFT_STICK, ca.logic_or(above, rises))
        down = ca.if_else(by_stick, u.stick[THROTTLE] < LAND_STICK, ca.logic_or(below, sinks))
        return (
            ca.if_else(by_thrust, thrust > LIFT_SHARE * p.hover_thrust, up),
            ca.if_else(by_thrust, thrust < LAND_SHARE * p.hover_thrust, down),
        )

    def _led(self, u: View) -> ca.SX:
        """Whether the moving set-point leads to the commanded position: all of it given, and no velocity with it."""
        place = ca.logic_and(u.direct == BY_SETPOINT, u.offboard_kind == BY_PLACE)
        whole = ca.sum1(u.offboard_given[P_N:V_N]) > 2.5
        bare = ca.sum1(u.offboard_given[V_N:YAW]) < 0.5
        return ca.logic_and(place, ca.logic_and(whole, bare))

    def _by_stick(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Set-point and its velocity as moved by the sticks, at most a leash away from the vehicle."""
        assert self.sample_s is not None
        level = turned(heading_of(u), ca.vertcat(u.stick[PITCH], u.stick[ROLL]))
        asked = limit_length(level, 1) * p.stick_speed
        step = limit_length(asked - x.motion[:2], p.acceleration * self.sample_s)
        climb = -p.stick_climb * clip(u.stick[THROTTLE], -1, 1)
        climb_step = clip(climb - x.motion[2], -p.acceleration * self.sample_s, p.acceleration * self.sample_s)
        motion = ca.vertcat(x.motion[:2] + step, x.motion[2] + climb_step)
        motion = ca.vertcat(ca.if_else(u.direct == BY_POSITION_STICKS, motion[:2], ca.SX.zeros(2)), motion[2])
        ahead = x.point + motion * self.sample_s - u.p_NB_N
        place = ca.if_else(u.direct == BY_POSITION_STICKS, limit_length(ahead[:2], LEASH_M), ca.SX.zeros(2))
        point = u.p_NB_N + ca.vertcat(place, clip(ahead[2], -LEASH_M, SINK_BELOW_M))
        return point, motion

    # ------------------------------------------------------------------ one sample

    def _navigated(self, x: View, u: View, p: View, command: ca.SX, new: ca.SX) -> dict[str, ca.SX | float]:
        """Next states of the underlying navigator, which works relative to home and gets only the commands it knows."""
        starts = ca.logic_and(new, command == MISSION)
        again = ca.logic_and(starts, u.start_item > -0.5)
        rising = ca.logic_and(ca.logic_and(new, x.now == TAKE_OFF), ca.logic_or(command == HOLD, command == MISSION))
        rests = ca.logic_and(x.now < TAKE_OFF, ca.logic_or(command == OFFBOARD, command == ARMED))
        moved_x = {
            "now": ca.if_else(rising, HOLD, x.now),
            "asked": ca.if_else(new, -1, x.asked),
            "point": x.point - p.home,
            "stay": ca.if_else(rising, x.point, x.stay) - p.home,
            "index": ca.if_else(again, u.start_item, x.index),
            "finished": ca.if_else(starts, 0, x.finished),
        }
        moved_u = {
            "p_NB_N": u.p_NB_N - p.home,
            "offboard_position": u.offboard_position - p.home,
            "offboard_kind": ca.if_else(self._led(u), BY_POSITION, BY_VELOCITY),
            "link_stamp": ca.SX(-1),
            "command": ca.if_else(rests, DISARMED, command),
        }
        moved_p = {
            "point_0": x.pad - p.home,
            "home": ca.SX.zeros(3),
            "table": ca.vertcat(p.table[:3, :] - ca.repmat(p.home, 1, self.items), p.table[3:, :]),
        }
        values = dict(
            super().update(
                seen_with(x, [*self.states], **moved_x),
                seen_with(u, [*self.inputs, *self.clocks], **moved_u),
                seen_with(p, [*self.params], **moved_p),
            )
        )
        for name in ("point", "stay"):
            values[name] = values[name] + p.home
        return values

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        command, new = command_in_force(u, p), is_new(x, u)
        on_ground = x.now < TAKE_OFF
        by_hand = command == OFFBOARD
        lost = stream_lost(x, u, p)
        up, down = self._asks(u, p)
        ready = ca.logic_and(ca.logic_and(u.time >= p.arm_time, u.healthy > 0.5), x.off < 0.5)
        ready = ca.logic_and(ready, ca.logic_not(ca.logic_and(by_hand, lost)))
        lifts = ca.logic_and(ca.logic_and(on_ground, ready), ca.logic_and(by_hand, up))

        values = self._navigated(x, u, p, command, new)

        # The stream of set-points or sticks is lost: hold, then return
        mode = ca.SX(values["now"])
        fails = ca.logic_and(mode == OFFBOARD, lost)
        silent = ca.if_else(fails, dt, ca.if_else(x.silent > 0, x.silent + dt, 0))
        silent = ca.if_else(ca.logic_or(new, mode < TAKE_OFF), 0, silent)
        mode = ca.if_else(fails, HOLD, mode)
        mode = ca.if_else(ca.logic_and(mode == HOLD, silent > p.link_hold), RETURN, mode)
        values["stay"] = ca.if_else(fails, u.p_NB_N, values["stay"])
        stays = ca.logic_and(new, command == HOLD)
        placed = ca.logic_and(stays, u.goto > 0.5)
        values["stay"] = ca.if_else(stays, ca.if_else(u.goto > 0.5, u.offboard_position, x.point), values["stay"])

        # Manual take-off and landing
        mode = ca.if_else(lifts, OFFBOARD, mode)
        flies = ca.logic_and(x.now == OFFBOARD, mode == OFFBOARD)
        slides = ca.dot(u.v_NB_N[:2], u.v_NB_N[:2]) < SLIDES_MPS**2
        stands = ca.logic_and(ca.fabs(u.v_NB_N[2]) < STANDS_MPS, slides)
        standing = ca.if_else(ca.logic_and(flies, ca.logic_and(down, stands)), x.standing + dt, 0)
        mode = ca.if_else(standing > SETTLES_S, DISARMED, mode)
        rests = ca.logic_and(mode < TAKE_OFF, ready)
        idle = ca.logic_and(rests, ca.logic_or(by_hand, command == ARMED))

        # Set-point and heading under manual control
        hovers = self._hovers(x) > 0.5
        steered = ca.logic_and(mode == OFFBOARD, hovers)
        sticks = ca.logic_and(steered, u.direct > BY_STABILIZED + 0.5)
        point, motion = self._by_stick(x, u, p)
        heading = heading_of(u)
        held = ca.if_else(u.offboard_given[YAW_RATE] > 0.5, x.yaw + dt * u.offboard_yaw_rate, x.yaw)
        held = ca.if_else(u.offboard_given[YAW] > 0.5, u.offboard_yaw, held)
        held = ca.if_else(u.offboard_kind == BY_ATTITUDE, u.offboard_attitude[2], held)
        held = ca.if_else(u.offboard_kind == BY_RATES, heading, held)
        leading = wrap_angle(x.yaw + dt * p.stick_turn * clip(u.stick[TURN], -1, 1) - heading)
        leading = heading + clip(leading, -YAW_LEASH_RAD, YAW_LEASH_RAD)
        yaw = ca.if_else(steered, ca.if_else(u.direct == BY_SETPOINT, held, leading), values["yaw"])
        yaw = ca.if_else(ca.logic_and(placed, u.offboard_given[YAW] > 0.5), u.offboard_yaw, yaw)
        return {
            **values,
            "now": mode,
            "point": ca.if_else(sticks, point, values["point"]),
            "motion": ca.if_else(sticks, motion, values["motion"]),
            "yaw": ca.if_else(mode < TAKE_OFF, heading, yaw),
            "off": ca.if_else(ca.logic_and(on_ground, command == DISARMED), 0, values["off"]),
            "ordered": u.order,
            "idle": ca.if_else(idle, 1, 0),
            "silent": ca.fmin(silent, 1e6),
            "pad": ca.if_else(mode < TAKE_OFF, u.p_NB_N, x.pad),
            "standing": standing,
        }

    def output(self, x: View, u: View, p: View) -> Values:
        values = dict(super().output(x, u, p))
        by_hand = ca.logic_and(x.now == OFFBOARD, self._hovers(x) > 0.5)
        by_place = ca.logic_and(u.direct == BY_SETPOINT, u.offboard_kind == BY_PLACE)
        loose = ca.logic_and(ca.logic_and(by_hand, by_place), ca.logic_not(self._led(u)))
        tilts = ca.logic_and(by_hand, u.direct == BY_ALTITUDE)
        thrusts = ca.logic_and(by_hand, self._by_thrust(u))
        place_given, velocity_given = u.offboard_given[P_N:V_N], u.offboard_given[V_N:YAW]
        ones, zeros = ca.SX.ones(3), ca.SX.zeros(3)
        upright = ca.SX([0, 0, 1])

        # Attitude and thrust
        lean = p.stick_tilt * ca.vertcat(clip(u.stick[ROLL], -1, 1), -clip(u.stick[PITCH], -1, 1))
        by_setpoint = u.direct == BY_SETPOINT
        attitude = ca.if_else(by_setpoint, u.offboard_attitude, ca.vertcat(lean, x.yaw))
        thrust = self._thrust(u, p)
        rates = ca.logic_and(by_setpoint, u.offboard_kind == BY_RATES)
        direct = ca.if_else(rates, BY_RATES, BY_ATTITUDE)
        # Without these ports the controller gets the acceleration that the tilted thrust would cause
        axis = quaternion.rotation_matrix(quaternion.from_euler(*ca.vertsplit(attitude)))[:, 2]
        pushed = STANDARD_GRAVITY_MPS2 * (upright - axis * (thrust / p.hover_thrust))
        level = STANDARD_GRAVITY_MPS2 * ca.vertcat(-ca.tan(lean[1]), ca.tan(lean[0]))
        leaning = ca.vertcat(turned(heading_of(u), level), 0)

        position = ca.if_else(
            loose, ca.if_else(place_given > 0.5, u.offboard_position, u.p_NB_N), values["position_set"]
        )
        velocity = ca.if_else(
            loose, velocity_given * u.offboard_velocity, ca.if_else(by_hand, x.motion, values["velocity_set"])
        )
        asked = ca.if_else(place_given + velocity_given > 0.5, ones, zeros)
        position_weight = ca.if_else(loose, place_given, ca.if_else(tilts, upright, ones))
        velocity_weight = ca.if_else(loose, asked, ca.if_else(tilts, upright, ones))
        acceleration = ca.if_else(loose, u.offboard_acceleration, ca.if_else(tilts, leaning, zeros))
        kind = ca.if_else(by_hand, BY_POSITION, values["control_kind"])
        if self.turns_directly:
            kind = ca.if_else(thrusts, direct, kind)
        else:
            position_weight = ca.if_else(thrusts, zeros, position_weight)
            velocity_weight = ca.if_else(thrusts, zeros, velocity_weight)
            acceleration = ca.if_else(thrusts, pushed, acceleration)
        shown = choose(u.direct, [ca.SX(number) for number in (OFFBOARD, STABILIZED, ALTITUDE, POSITION)])
        idle = ca.logic_and(x.now < TAKE_OFF, x.idle > 0.5)
        failsafe = ca.SX(values["failsafe"])
        return {
            **values,
            "position_set": position,
            "velocity_set": velocity,
            "control_kind": kind,
            "attitude_set": attitude,
            "rate_wanted_B": u.offboard_rates,
            "thrust_set": thrust,
            "position_weight": position_weight,
            "velocity_weight": velocity_weight,
            "acceleration_set": acceleration,
            "armed": ca.if_else(idle, 1, values["armed"]),
            "grounded": ca.if_else(idle, 1, values["grounded"]),
            "mode": ca.if_else(by_hand, shown, ca.if_else(idle, ARMED, values["mode"])),
            "failsafe": ca.vertcat(failsafe[:5], ca.if_else(x.silent > 0, 1, 0)),
        }


class CommandedNavigator(HoverCommands, Navigator):
    """`Navigator` of a multicopter that also takes commands in flight: modes, sticks and set-points.
    Set-points go down to attitudes, rates and thrusts.

    Sampled. Modes, missions and failsafes are `Navigator`'s; arming, sticks and set-points as in `HoverCommands`.
    Not modelled: fly-by turns, sticks that take over a mission by themselves.
    """

    source = "[RflyModel] 9.2.1; sticks and set-points of this project"
    turns_directly = True


class CommandedHelicopterNavigator(HoverCommands, Navigator):
    """`Navigator` of a helicopter that also takes commands in flight: modes, sticks and set-points.
    A commanded attitude and thrust become the acceleration they give.

    Sampled. Its controller takes no attitudes: a thrust T along the tilted axis k becomes a = g (e_z - k T / T_hover).
    All else as `CommandedNavigator`. Not modelled: rates, blade angles by command, autorotation by command.
    """

    source = "[RflyModel] 9.2.1; sticks and set-points of this project"


class CommandedSpiralNavigator(HoverCommands, SpiralNavigator):
    """`SpiralNavigator` of a tilt-rotor that also takes commands in flight.
    Positions and velocities, and sticks in mode `position`.

    Sampled. Spirals remain items of its mission; any other command ends one. All else as `CommandedNavigator`. Not
    modelled: attitudes, thrusts and accelerations by command (its controller has no ports for them), tilt by command.
    """

    source = "[ProVANT] Eq. 1; [RflyModel] 9.2.1; sticks and set-points of this project"


class CommandedVtolNavigator(HoverCommands, VtolNavigator):
    """`VtolNavigator` that also takes commands in flight. Sampled.
    In hover those of a multicopter, and positions to fly to on wings.

    With `wings` 1 the way to a place that is held (`goto`) is flown on wings if it is longer than `wing_distance`; any
    other command, or `wings` 0, brings the vehicle back to hover first. Sticks and set-points act in hover. Not
    modelled: circles on wings, sticks on wings.
    """

    source = "[RflyModel] 9.2.1; [PX4] VTOL; sticks and set-points of this project"

    wings = In(unit="1", default=0.0, doc="1: a long way to a place that is held is flown on wings")

    def _hovers(self, x: View) -> ca.SX:
        return ca.if_else(x.step == HOVERS, 1, 0)

    def _leg(self, x: View, u: View, p: View, mode: ca.SX) -> dict[str, ca.SX]:
        """Geometry of the leg relative to home, or of the way to the held position."""
        leg = super()._leg(x, u, p, mode)
        wanted = ca.logic_and(ca.logic_and(mode == HOLD, u.wings > 0.5), x.failed < 0.5)
        home = mode == RETURN
        target = leg["target"] + ca.if_else(home, p.home, ca.SX.zeros(3))
        target = ca.if_else(wanted, x.stay, target)
        away, way = target[:2] - u.p_NB_N[:2], target[:2] - x.place[:2]
        length = ca.sqrt(ca.dot(way, way) + 1e-12)
        left = ca.dot(away, way / length)
        travelled = clip(1 - left / length, 0, 1)
        return {
            **leg,
            "target": target,
            "usable": ca.logic_or(leg["usable"], wanted),
            "stops": ca.logic_or(leg["stops"], wanted),
            "distance": ca.sqrt(ca.dot(away, away) + 1e-12),
            "left": left,
            "bearing": ca.atan2(away[1], away[0]),
            "course": ca.atan2(way[1], way[0]),
            "nearest": x.place + travelled * (target - x.place),
        }
