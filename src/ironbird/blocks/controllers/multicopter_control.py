"""Cascaded position, velocity, attitude and rate control of a multicopter."""

from __future__ import annotations

import functools
from collections.abc import Callable

import casadi as ca

from ironbird.blocks.actuators.motor import IDLE_THROTTLE
from ironbird.blocks.controllers.cascade_ports import CascadePorts, blind_acceleration
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import ModelError
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.smooth import clip, limit_length

STEEPEST = 1e-3  # keeps the attitude error finite at a half turn
MOST_TRIM = 5.0  # m/s^2: limit of the velocity integral
MOST_LIFT = 15.0  # m/s^2: upwards; at little more than half of its voltage a battery gives a third of the thrust
MOST_TURN = 120.0  # rad/s^2: limit of the rate integral; a rotor lost from the lightest hexacopter needs 95
WATCHED = 0.1  # share of the throttle: a rotor with a lower command is not checked for loss
MOST_LIFT_N = 1e6  # N, more than any rotor gives
NO_TELEMETRY = 1e6  # rad/s: means that no speed is reported
SMALLEST_SHARE = 1e-6  # share of the lift in one rotor
UPRIGHT = 0.3  # least cosine of the lean by which the lift in a spin is divided
SPINS = 6  # number of spin rates with gains, from 0
SMALLEST_PULL = 0.1  # share of a tail rotor's full thrust: with less it does not steer harder


def _fold(pick: Callable[[ca.SX, ca.SX], ca.SX], values: list[ca.SX]) -> ca.SX:
    return functools.reduce(pick, values)


class MulticopterControl(CascadePorts):
    """Controls a multicopter from position to rotor commands by cascaded loops, for any rotor layout.
    Position P, velocity PI, attitude P, rate PI, and control allocation.

    The scheme is the cascade that multicopter autopilots share; the attitude error is sin(angle/2) times the axis
    [Brescianini2013], of the tilt first and separately of the turn about the thrust axis [Brescianini2020], so that a
    vehicle that cannot hold its heading still holds its tilt. When motors saturate, roll and pitch have precedence over
    lift and lift over yaw, and the integrals stop. With `tail` a servo that tilts one rotor controls yaw. Attitude and
    rate set-points (offboard) enter the inner loops of the same cascade.

    With more than four rotors and telemetry of their speeds a rotor that gives less than `lost_share` of the thrust
    expected from its command, for `lost_time`, counts as lost: the others replace it with a separate allocation, which
    holds lift, roll and pitch exactly and yaw as far as possible.

    With `spins` a quadcopter that has lost a rotor gives up its heading [Mueller2014]: it spins about an axis that is
    fixed in its body (`lean`), and control turns that axis towards the force that is needed, by the other three rotors:
    linear-quadratic in the rates and the axis, with gains for several rates of spin. The motors' lag is shortened by
    the speeds of the telemetry. Not modelled: thrust-curve identification, a second lost rotor, a rotor that turns
    but does not lift.
    """

    source = "[Brescianini2013]; [Brescianini2020]; [Mueller2014]; [PX4Mixer]; [Dai] Eq. 3"

    control_kind = In(unit="1", default=0.0, doc="0 position, 1 velocity, 2 attitude, 3 rate, 4 level and sink")
    attitude_set = In(unit="rad", shape=3, default=0.0, doc="roll, pitch, yaw, when control is by attitude")
    rate_wanted_B = In(unit="rad/s", shape=3, frame="B", default=0.0, doc="when control is by rate")
    thrust_set = In(unit="1", default=0.0, doc="share of full thrust, when control is by attitude or rate")
    armed = In(unit="1", default=1.0, doc="0 stops the motors")
    grounded = In(unit="1", default=0.0, doc="1 while standing after a landing: level, thrust off, integrals cleared")
    thrust_total = Out(unit="N", doc="commanded")
    moment_set_B = Out(unit="N*m", shape=3, frame="B", doc="commanded")
    rate_set_B = Out(unit="rad/s", shape=3, frame="B", doc="commanded angular velocity")

    lost_share = Param(
        unit="1", default=0.3, low=0.0, high=1.0, tunable=True, doc="of the thrust: with less it is lost"
    )
    lost_time = Param(unit="s", default=0.1, low=0.0, tunable=True, doc="for so long")
    motor_lag = Param(unit="s", default=0.05, low=1e-3, doc="with which a motor's speed may follow, assumed")

    yaw_moment = State(unit="N*m", init=0.0, doc="yaw moment asked for, smoothed")
    rate_sum = State(unit="rad/s^2", shape=3, frame="B", init=0.0, doc="integral of the rate error")

    mass = Param(unit="kg", low=1e-3, doc="assumed")
    inertia = Param(unit="kg*m^2", shape=3, low=1e-9, doc="assumed, diagonal")
    carried = Param(unit="1", default=0.5, low=0.0, doc="of the weight: with less lift the rate integral waits")
    position_gain = Param(unit="1/s", low=0.0, tunable=True, doc="position error to velocity")
    velocity_gain = Param(unit="1/s", low=0.0, tunable=True, doc="velocity error to acceleration")
    velocity_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the velocity gain")
    attitude_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="attitude error to rate, per axis")
    rate_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="rate error to angular acceleration")
    rate_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of the integral, times the rate gain")
    yaw_lag = Param(
        unit="s", default=0.0, low=0.0, tunable=True, doc="of the yaw moment: rotor inertia over 2 c_M w in hover"
    )
    max_speed = Param(unit="m/s", low=0.1, tunable=True, doc="horizontal")
    max_climb = Param(unit="m/s", low=0.1, tunable=True, doc="up")
    max_descent = Param(unit="m/s", low=0.1, tunable=True, doc="down")
    max_tilt = Param(unit="rad", low=0.05, high=1.4, tunable=True, doc="of the commanded thrust")
    max_rate = Param(unit="rad/s", shape=3, low=0.1, tunable=True, doc="commanded")

    def __init__(self, rotors: int, *, sample_s: float, tail: int | None = None, spins: bool = False) -> None:
        super().__init__(sample_s=sample_s)
        if spins and (rotors != 4 or tail is not None):
            raise ModelError("only a quadcopter without a tail servo comes down spinning after the loss of a rotor")
        self.rotors = rotors
        self.spins = spins
        self.watched = rotors > 4 or spins  # for a lost rotor
        self.tail = tail  # index of the rotor that a servo tilts sideways, from 0
        if tail is not None:
            self.declare("tail_command", Out(unit="1", low=-1.0, high=1.0, doc="tilt of the tail rotor to the right"))
            self.declare("tail_arm", Param(unit="m", low=1e-3, doc="of the tail rotor behind the centre of mass"))
            self.declare("tail_travel", Param(unit="rad", low=1e-3, doc="tilt at full command"))
            self.declare("reaction", Param(unit="m", shape=rotors, doc="yaw moment per newton of each rotor"))
        self.declare(
            "allocation",
            Param(
                unit="1", shape=(rotors, 4), doc="thrust, roll, pitch, yaw moment to rotor thrusts (inverse geometry)"
            ),
        )
        if rotors > 4:
            doc = "a newton that one rotor cannot give, made up for by the others (null space, 1 in the diagonal)"
            self.declare("exchange", Param(unit="1", shape=(rotors, rotors), default=0.0, doc=doc))
        if spins:
            doc = "upward axis of the spin in the body after the loss of each rotor in turn, unit length, side by side"
            self.declare("lean", Param(unit="1", shape=(3, rotors), doc=doc))
            doc = "of rotor and propeller about the shaft, negative for one that turns clockwise seen from above"
            self.declare("rotor_inertia", Param(unit="kg*m^2", shape=rotors, doc=doc))
            doc = (
                "moment per rate (roll, pitch) and axis (forward, right), rows of two axes; for each rotor SPINS spins"
            )
            self.declare("spin_gains", Param(unit="N*m", shape=(8, SPINS * rotors), doc=doc))
            doc = "between two spins of the gains, after the loss of each rotor; negative is to the left"
            self.declare("spin_step", Param(unit="rad/s", shape=rotors, doc=doc))
            doc = "of a thrust that is not there yet, asked for on top: shortens the motors' lag"
            self.declare("motor_lead", Param(unit="1", default=1.0, low=0.0, tunable=True, doc=doc))
            doc = "of the horizontal gains that is used while it spins"
            self.declare("spin_share", Param(unit="1", default=0.5, low=0.0, high=1.0, tunable=True, doc=doc))
            doc = "of the commanded thrust while it spins"
            self.declare("spin_tilt", Param(unit="rad", default=0.3, low=0.05, high=1.0, tunable=True, doc=doc))
        if self.watched:
            doc = "allocation without one rotor, for each in turn side by side"
            self.declare("without", Param(unit="1", shape=(rotors, 4 * rotors), default=0.0, doc=doc))
            doc = "speed by telemetry; 1e6 is not reported"
            for i in range(rotors):
                self.declare(f"rotor_speed_{i + 1}", In(unit="rad/s", default=NO_TELEMETRY, doc=doc))
            self.declare("expected", State(unit="rad/s", shape=rotors, init=0.0, doc="speeds that commands mean"))
            self.declare("weak", State(unit="s", shape=rotors, init=0.0, doc="for how long a rotor has been too slow"))
            self.declare("lost", State(unit="1", init=0.0, doc="number of the rotor that is lost, from 1; 0 is none"))
            self.declare("lost_rotor", Out(unit="1", doc="number of the rotor that is lost, from 1; 0 is none"))
        self.declare("max_thrust", Param(unit="N", shape=rotors, low=1e-6, doc="of one rotor at full throttle"))
        self.declare("thrust_coefficient", Param(unit="N*s^2", shape=rotors, low=1e-12, doc="assumed"))
        self.declare("motor_slope", Param(unit="rad/s", shape=rotors, low=1e-3, doc="assumed"))
        self.declare("motor_idle", Param(unit="rad/s", shape=rotors, doc="assumed"))
        self.declare("motor_quadratic", Param(unit="rad/s", shape=rotors, default=0.0, doc="assumed"))
        for i in range(rotors):
            self.declare(f"throttle_{i + 1}", Out(unit="1", low=0.0, high=1.0, doc=f"command of motor {i + 1}"))

    def _force(self, x: View, u: View, p: View, standing: ca.SX, spinning: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Commanded force of the rotors in N (frame N) from position and velocity, and the velocity error."""
        blind = u.control_kind == 4
        by_velocity = ca.logic_or(u.control_kind == 1, blind)
        pull = ca.if_else(by_velocity, ca.SX.zeros(3), p.position_gain * (u.position_set - u.p_NB_N))
        wanted = u.velocity_set + u.position_weight * pull
        horizontal = limit_length(wanted[:2], p.max_speed)
        vertical = clip(wanted[2], -p.max_climb, p.max_descent)
        velocity_error = u.velocity_weight * (ca.vertcat(horizontal, vertical) - u.v_NB_N)
        trim = ca.vertcat(u.velocity_weight[:2] * x.velocity_sum[:2], x.velocity_sum[2])
        acceleration = p.velocity_gain * velocity_error + trim + u.acceleration_set
        sink, sink_error = blind_acceleration(vertical, u.sink_rate, u.v_NB_N[2], p.velocity_gain, x.velocity_sum[2])
        acceleration = ca.vertcat(acceleration[:2], ca.if_else(blind, sink, acceleration[2]))
        velocity_error = ca.vertcat(velocity_error[:2], ca.if_else(blind, sink_error, velocity_error[2]))
        max_tilt = p.max_tilt
        if self.spins:
            acceleration = acceleration * ca.vertcat(*[ca.if_else(spinning, p.spin_share, 1)] * 2, 1)
            max_tilt = ca.if_else(spinning, p.spin_tilt, p.max_tilt)
        up = ca.fmax(STANDARD_GRAVITY_MPS2 - acceleration[2], 0.3 * STANDARD_GRAVITY_MPS2)  # never turn upside down
        # With less lift than the weight (touching down) the tilt stays what it would be in hover: no tipping over
        carried = ca.fmin(up / STANDARD_GRAVITY_MPS2, 1)
        sideways = limit_length(carried * acceleration[:2], up * ca.tan(max_tilt))
        sideways = ca.if_else(ca.logic_or(standing, blind), ca.SX.zeros(2), sideways)
        return p.mass * ca.vertcat(sideways, -up), velocity_error

    def _rate_set(self, u: View, p: View, force: ca.SX) -> ca.SX:
        """Angular rates that turn body z against the force and the nose to the heading, rad/s."""
        thrust = ca.sqrt(ca.dot(force, force))
        z_d = -force / thrust
        heading = ca.vertcat(ca.cos(u.yaw_set), ca.sin(u.yaw_set), 0)
        y_d = ca.cross(z_d, heading)
        y_d = y_d / ca.sqrt(ca.dot(y_d, y_d))
        R_d = ca.horzcat(ca.cross(y_d, z_d), y_d, z_d)
        asked = quaternion.rotation_matrix(quaternion.from_euler(*ca.vertsplit(u.attitude_set)))
        R_d = ca.if_else(u.control_kind == 2, asked, R_d)
        E = R_d.T @ u.R_NB
        # Tilt first [Brescianini2020]: the shortest turn that brings the thrust axis home, whatever the heading; then
        # the turn about it. E = (tilt) (turn by psi about z) has E33 = cos(tilt), and with 1 + E33 = n
        # n cos(psi) = E11 + E22, n sin(psi) = E21 - E12
        n = ca.fmax(1 + E[2, 2], STEEPEST)
        tilt_half = 1 / ca.sqrt(2 * n)  # sin(tilt / 2) = sin(tilt) / (2 cos(tilt / 2))
        turn_half = 1 / ca.sqrt(2 * n * ca.fmax(n + E[0, 0] + E[1, 1], STEEPEST))
        error = ca.vertcat(E[2, 1] * tilt_half, -E[2, 0] * tilt_half, (E[1, 0] - E[0, 1]) * turn_half)
        rate_set = clip(-2 * p.attitude_gain * error, -p.max_rate, p.max_rate)
        return ca.if_else(u.control_kind == 3, u.rate_wanted_B, rate_set)

    def _law(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        direct = ca.logic_or(u.control_kind == 2, u.control_kind == 3)  # by attitude or rate
        standing = u.grounded > 0.5
        spinning = x.lost > 0.5 if self.spins else ca.SX(0)
        force, velocity_error = self._force(x, u, p, standing, spinning)
        rate_set = self._rate_set(u, p, force)

        # Rates
        rate_error = rate_set - u.w_NB_B
        angular = p.rate_gain * rate_error + x.rate_sum
        moment = p.inertia * angular + ca.cross(u.w_NB_B, p.inertia * u.w_NB_B)

        # Allocation: thrust along the present axis, roll and pitch first, as much yaw as is left
        # A rotor that is sped up pushes the body back by its inertia, long before its drag does: the yaw moment that
        # is asked for is smoothed by that very lag, so that what comes out is what was meant.
        assert self.sample_s is not None
        share = self.sample_s / (self.sample_s + p.yaw_lag)
        yaw_moment = x.yaw_moment + share * (moment[2] - x.yaw_moment)
        moment = ca.vertcat(moment[:2], yaw_moment)
        lift = ca.fmax(-ca.dot(force, u.R_NB[:, 2]), 0)
        if self.spins:
            rate_set, moment, lift = (
                ca.if_else(spinning, given, usual)
                for given, usual in zip(self._spin(x, u, p, force), (rate_set, moment, lift), strict=True)
            )
        lift = ca.if_else(direct, u.thrust_set * ca.sum1(p.max_thrust), lift)
        lift = ca.if_else(standing, 0, lift)
        moment = ca.if_else(standing, ca.SX.zeros(3), moment)
        thrusts, given_lift, tilt_share, yaw_share = self._allocate(x, p, lift, moment)
        if self.spins:
            told = ca.vertcat(*[u[f"rotor_speed_{i + 1}"] for i in range(self.rotors)])
            missing = ca.if_else(told < NO_TELEMETRY, thrusts - p.thrust_coefficient * told * told, 0)
            thrusts = clip(thrusts + ca.if_else(spinning, p.motor_lead, 0) * missing, 0, p.max_thrust)
        tail_command = ca.SX(0)
        if self.tail is not None:
            # M_z = sum of reactions - arm * thrust * sin(tilt), and the sine is taken for the angle
            pull = p.tail_arm * ca.fmax(thrusts[self.tail], SMALLEST_PULL * p.max_thrust[self.tail])
            asked = (ca.dot(p.reaction, thrusts) - moment[2]) / (pull * p.tail_travel)
            tail_command = clip(asked, -1, 1)
            yaw_share = 1 / ca.fmax(ca.fabs(asked), 1)
        return {
            "velocity_error": velocity_error,
            "rate_error": rate_error,
            "lift": given_lift,
            "moment": moment,
            "rate_set": rate_set,
            "thrusts": thrusts,
            "tilt_share": tilt_share,
            "yaw_share": yaw_share,
            "missing_lift": lift - given_lift,
            "tail_command": tail_command,
        }

    def _spin(self, x: View, u: View, p: View, force: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rates of the steady spin, moment and lift that turn the axis of the spin towards the force [Mueller2014].

        The moment keeps the axis turning, w x (J w + H), and brings rates and the force's direction in body axes to
        those of the steady spin at the present yaw rate, which is not controlled.
        """
        n, r = self._of_lost(x, p.lean), u.w_NB_B[2]
        told = ca.vertcat(*[u[f"rotor_speed_{i + 1}"] for i in range(self.rotors)])
        momentum = ca.dot(p.rotor_inertia, ca.if_else(told < NO_TELEMETRY, told, 0))
        thrust = ca.sqrt(ca.dot(force, force))
        h = u.R_NB.T @ (force / thrust)
        rate_set = n * (r / n[2])
        steady = ca.cross(rate_set, p.inertia * rate_set - ca.vertcat(0, 0, momentum))
        place = clip(r / self._of_lost(x, p.spin_step.T), 0, SPINS - 1)
        rows = ca.SX.zeros(8)
        for k in range(SPINS):
            gains = self._of_lost(x, p.spin_gains[:, k::SPINS])
            rows += ca.fmax(1 - ca.fabs(place - k), 0) * gains  # linear between two spins
        error = ca.vertcat((u.w_NB_B - rate_set)[:2], (h - n)[:2])
        moment = steady[:2] - ca.vertcat(ca.dot(rows[:4], error), ca.dot(rows[4:], error))
        lift = ca.fmax(thrust * ca.dot(h, n), 0) / ca.fmax(-n[2], UPRIGHT)
        return rate_set, ca.vertcat(moment, 0), lift

    def _of_lost(self, x: View, columns: ca.SX) -> ca.SX:
        """The column of the lost rotor."""
        found = columns[:, 0]
        for i in range(1, self.rotors):
            found = ca.if_else(x.lost == i + 1, columns[:, i], found)
        return found

    def _allocate(self, x: View, p: View, lift: ca.SX, moment: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Rotor thrusts (N), their lift, and the shares of the tilting and yaw moments that can be provided.

        Roll and pitch have precedence over lift, lift over yaw, as in PX4 without air mode [PX4Mixer]: lift is reduced
        so that a rotor can still give its part of roll and pitch, and never raised. Closed form, no search.
        """
        idle = ca.fmax(p.motor_idle + IDLE_THROTTLE * (p.motor_slope + IDLE_THROTTLE * p.motor_quadratic), 0)
        low, high = p.thrust_coefficient * idle * idle, ca.SX(p.max_thrust)  # an idling motor cannot give less
        allocation = p.allocation
        if self.watched:
            for i in range(self.rotors):
                gone = x.lost == i + 1
                allocation = ca.if_else(gone, p.without[:, 4 * i : 4 * i + 4], allocation)
                low[i], high[i] = ca.if_else(gone, 0, low[i]), ca.if_else(gone, 0, high[i])
        even = allocation[:, 0]
        tilt = allocation[:, 1] * moment[0] + allocation[:, 2] * moment[1]
        if self.rotors > 4:  # more than four rotors share the same thrust and moments in another way
            asked = even * lift + tilt
            tilt += ca.if_else(x.lost > 0.5, 0, p.exchange @ (clip(asked, low, high) - asked))
        # No rotor leaves its range while the lift is between the greatest `least` and the smallest `most`, at first
        # without roll and pitch, then with all of them
        least, most, least_tilted, most_tilted = [], [], [], []
        for i in range(self.rotors):
            per_newton = 1 / ca.fmax(even[i], SMALLEST_SHARE)
            unused = even[i] < SMALLEST_SHARE  # a lost rotor is not considered
            least.append(ca.if_else(unused, 0, low[i] * per_newton))
            most.append(ca.if_else(unused, MOST_LIFT_N, high[i] * per_newton))
            least_tilted.append(ca.if_else(unused, 0, (low[i] - tilt[i]) * per_newton))
            most_tilted.append(ca.if_else(unused, MOST_LIFT_N, (high[i] - tilt[i]) * per_newton))
        top, top_tilted = _fold(ca.fmin, most), _fold(ca.fmin, most_tilted)
        room, room_tilted = top - _fold(ca.fmax, least), top_tilted - _fold(ca.fmax, least_tilted)
        # The room is a concave function of the share: its chord gives a share that fits (all of it if that fits)
        tilt_share = room / ca.fmax(room - room_tilted, room)
        lift = ca.fmin(lift, top + tilt_share * (top_tilted - top))
        base = even * lift + tilt_share * tilt
        yaw = allocation[:, 3] * moment[2]
        yaw_share = ca.SX(1)
        for i in range(self.rotors):
            left = ca.if_else(yaw[i] > 0, high[i] - base[i], base[i] - low[i])
            part = ca.fmax(left, 0) / ca.fmax(ca.fabs(yaw[i]), 1e-9)
            yaw_share = ca.fmin(yaw_share, ca.if_else(ca.fabs(yaw[i]) > 0, part, 1))
        return clip(base + yaw_share * yaw, low, high), lift, tilt_share, yaw_share

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        law = self._law(x, u, p)
        gain = p.velocity_integral * p.velocity_gain * self.sample_s
        # What the motors cannot provide is not integrated further, only back
        sinking = ca.logic_and(law["missing_lift"] > 0, law["velocity_error"][2] < 0)
        gain = gain * ca.vertcat(1, 1, ca.if_else(sinking, 0, 1))
        summed = x.velocity_sum + gain * law["velocity_error"]
        velocity_sum = ca.vertcat(clip(summed[:2], -MOST_TRIM, MOST_TRIM), clip(summed[2], -MOST_LIFT, MOST_TRIM))
        rate_gain = p.rate_integral * p.rate_gain * self.sample_s
        cut = ca.vertcat(law["tilt_share"], law["tilt_share"], law["yaw_share"]) < 1
        windup = ca.logic_and(cut, law["moment"] * law["rate_error"] > 0)
        # With little lift the legs may hold the vehicle: their resistance must not be trimmed out
        windup = ca.logic_or(windup, law["lift"] < p.carried * STANDARD_GRAVITY_MPS2 * p.mass)
        step = ca.if_else(windup, 0, rate_gain * law["rate_error"])
        rate_sum = clip(x.rate_sum + step, -MOST_TURN, MOST_TURN)
        armed = ca.logic_and(u.armed > 0.5, u.grounded < 0.5)
        # Without a position to hold, the vertical integral continues and the horizontal one is reset
        blind_sum = ca.vertcat(0, 0, velocity_sum[2])
        keep = ca.if_else(ca.logic_and(armed, u.control_kind == 4), blind_sum, ca.SX.zeros(3))
        values: dict[str, ca.SX] = {
            "velocity_sum": ca.if_else(ca.logic_and(armed, u.control_kind < 2), velocity_sum, keep),
            "rate_sum": ca.if_else(armed, rate_sum, ca.SX.zeros(3)),
            "yaw_moment": ca.if_else(armed, law["moment"][2], 0),
        }
        if self.watched:
            values |= self._watch_rotors(x, u, p, law["thrusts"], armed)
            # The allocation now contains what the integral had compensated
            noticed = ca.logic_and(values["lost"] > 0.5, x.lost < 0.5)
            forgotten = values["lost"] > 0.5 if self.spins else noticed
            values["rate_sum"] = ca.if_else(forgotten, ca.SX.zeros(3), values["rate_sum"])
        return values

    def _watch_rotors(self, x: View, u: View, p: View, thrusts: ca.SX, armed: ca.SX) -> dict[str, ca.SX]:
        """Next states of the rotor check: expected speeds (with the motors' lag) against those of the telemetry."""
        assert self.sample_s is not None
        share = self.sample_s / (self.sample_s + p.motor_lag)
        meant = ca.sqrt(thrusts / p.thrust_coefficient)
        expected = ca.fmin(x.expected + share * (meant - x.expected), meant)
        lost, weak = x.lost, []
        for i in range(self.rotors):
            speed = u[f"rotor_speed_{i + 1}"]
            slow = speed**2 < p.lost_share * expected[i] ** 2
            turning = ca.logic_and(armed, expected[i] > ca.fmax(p.motor_idle[i], 0) + WATCHED * p.motor_slope[i])
            weak.append(ca.if_else(ca.logic_and(slow, turning), x.weak[i] + self.sample_s, 0))
            lost = ca.if_else(ca.logic_and(lost < 0.5, weak[i] > p.lost_time), i + 1, lost)
        return {"expected": expected, "weak": ca.vertcat(*weak), "lost": ca.if_else(u.armed > 0.5, lost, 0)}

    def output(self, x: View, u: View, p: View) -> Values:
        law = self._law(x, u, p)
        speeds = ca.sqrt(law["thrusts"] / p.thrust_coefficient)
        # Rising branch of w = q s^2 + C_R s + w_b, in the form that is (w - w_b) / C_R when q is zero
        gain = speeds - p.motor_idle
        root = ca.sqrt(ca.fmax(p.motor_slope * p.motor_slope + 4 * p.motor_quadratic * gain, 0))
        throttles = clip(2 * gain / (p.motor_slope + root), IDLE_THROTTLE, 1)
        values: dict[str, ca.SX] = {
            "thrust_total": law["lift"],
            "moment_set_B": law["moment"],
            "rate_set_B": law["rate_set"],
        }
        if self.watched:
            values["lost_rotor"] = x.lost
        if self.tail is not None:
            values["tail_command"] = ca.if_else(u.armed > 0.5, law["tail_command"], 0)
        for i in range(self.rotors):
            values[f"throttle_{i + 1}"] = ca.if_else(u.armed > 0.5, throttles[i], 0)
        return values
