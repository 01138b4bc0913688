"""Control of flight on wings and of transitions, for vehicles that hover on rotors."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ironbird.blocks.controllers.vtol_navigator import ACCELERATES, BRAKES, FLIES, HOVERS, SLOWS
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic import quaternion
from ironbird.symbolic.smooth import blend, clip

SLOWEST_MPS = 4.0  # m/s, lower bound of speeds in divisions
STEEPEST_TRACE = 1e-3  # keeps the attitude error finite at a half turn
TRANSITION_ROLL = 0.25  # rad: bank in a transition on rotors
DOWNDRAFT = 0.1  # a path that falls steeper than this may be that of the air: it does not lower the nose
MOST_TURN = 20.0  # rad/s^2: limit of the rate integral
MOST_PITCH = 0.1  # rad: limit of the climb integral
MOST_LIFT = 4.0  # m/s^2: limit of the lift integral
LEARN_S = 1.0  # time over which the thrust in hover is averaged


class VtolControl(Block):
    """Controls a VTOL aircraft on its wings and in transitions, in which the rotors carry what the wings do not.
    Sampled.

    Line following by lateral acceleration towards a point ahead on the line, 2 V^2 / L1 sin(eta) [Park2004]. The angle
    of attack comes from lift = weight with the known lift slope, climb is added to it, thrust is drag, climb and
    acceleration in newtons. The attitude error is the vector part of the error quaternion [Brescianini2013], so that no
    attitude is singular; it gives the angular rates that surfaces follow here and rotors in the hover control. Blending
    by airspeed as [PX4]: below `blend_speed` surfaces rest, from `transition_speed` rotors of a quadplane do. With a
    pusher the vehicle accelerates level; without one (tail-sitter) its nose comes down at `transition_rate` and the
    rotors then pull. Not modelled: circles, stall recovery, sideslip control, flight backwards.
    """

    source = "[Park2004]; [Brescianini2013]; [PX4] VTOL; lift = weight in closed form"
    role = "controller"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude, nose along x")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    airspeed = In(unit="m/s", doc="along the nose")
    stage = In(unit="1", default=0.0, doc="of VtolNavigator")
    path_origin = In(unit="m", shape=3, frame="N", default=0.0, doc="a point of the line")
    path_course = In(unit="rad", default=0.0, doc="direction of the line")
    height_set = In(unit="m", default=0.0, doc="above the take-off point")
    airspeed_set = In(unit="m/s", default=15.0, doc="on wings")
    yaw_set = In(unit="rad", default=0.0, doc="heading in a transition")
    hover_thrust = In(
        unit="N", default=0.0, doc="asked for by the hover control; what hovering takes is learnt from it"
    )
    armed = In(unit="1", default=1.0, doc="0 stops everything")
    rotors_armed = Out(unit="1", doc="for the hover control; 0 while a quadplane flies on its wings")
    rate_set = Out(unit="rad/s", shape=3, doc="for the hover control, in hover axes")
    thrust_set = Out(unit="1", doc="for the hover control: share of the rotors' full thrust")
    roll_set = Out(unit="rad", doc="bank on wings")
    pitch_set = Out(unit="rad", doc="of the nose")
    thrust_wanted = Out(unit="N", doc="along the nose")
    path_error = Out(unit="m", doc="right of the line")
    surface_share = Out(unit="1", doc="0 surfaces rest, 1 they do what they can")

    rate_sum = State(unit="rad/s^2", shape=3, frame="B", init=0.0, doc="integral of the rate error")
    pitch_sum = State(unit="rad", init=0.0, doc="integral of the climb error")
    thrust_sum = State(unit="m/s^2", init=0.0, doc="integral of the airspeed error")
    lift_sum = State(unit="m/s^2", init=0.0, doc="what the rotors need beyond the weight in newtons asked for")
    ramp = State(unit="rad", init=1.5707963267948966, doc="highest pitch of a tail-sitter's nose at this time")

    mass = Param(unit="kg", low=1e-3, doc="assumed")
    inertia = Param(unit="kg*m^2", shape=3, low=1e-9, doc="assumed, diagonal")
    R_HB = Param(unit="1", shape=(3, 3), default=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)), doc="from B to hover axes")
    lift_slope = Param(unit="m^2", low=1e-6, doc="area times slope of the lift, per radian, of all wings")
    drag_slope = Param(unit="m^2", low=0.0, doc="area times slope of the drag, per radian, of all wings")
    zero_lift = Param(unit="rad", default=0.0, doc="angle of attack when the air comes along the nose")
    alpha_low = Param(unit="rad", default=-0.1, tunable=True, doc="least angle of attack asked for")
    alpha_high = Param(unit="rad", default=0.15, tunable=True, doc="greatest angle of attack asked for")
    trim_moment = Param(unit="N*m", default=0.0, doc="nose-up moment that surfaces add in level flight")
    rotor_thrust = Param(unit="N", low=1e-3, doc="of all rotors of the hover control at full throttle")
    max_thrust = Param(unit="N", low=1e-3, tunable=True, doc="along the nose, in cruise")
    blend_speed = Param(unit="m/s", low=0.5, tunable=True, doc="airspeed at which surfaces begin to work")
    transition_speed = Param(unit="m/s", low=1.0, tunable=True, doc="airspeed at which they do so fully")
    transition_thrust = Param(unit="N", low=0.0, tunable=True, doc="along the nose; for a tail-sitter the least")
    transition_rate = Param(
        unit="rad/s", low=0.05, default=0.6, tunable=True, doc="at which a tail-sitter's nose falls"
    )
    l1_period = Param(unit="s", low=0.5, tunable=True, doc="distance of the point ahead over the ground speed")
    max_roll = Param(unit="rad", low=0.05, high=1.2, tunable=True, doc="bank")
    height_gain = Param(unit="1/s", low=0.0, tunable=True, doc="height error to climb rate")
    max_climb = Param(unit="m/s", low=0.1, tunable=True, doc="climb and sink rate asked for")
    climb_gain = Param(unit="1", low=0.0, tunable=True, doc="error of the path angle to pitch")
    climb_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of its integral")
    lift_gain = Param(unit="1/s", low=0.0, tunable=True, doc="climb error to acceleration by rotors in a transition")
    lift_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of its integral, times the lift gain")
    speed_gain = Param(unit="1/s", low=0.0, tunable=True, doc="airspeed error to acceleration")
    speed_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of its integral, times the speed gain")
    pitch_low = Param(unit="rad", tunable=True, doc="least pitch on wings")
    attitude_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="attitude error to rate")
    rate_gain = Param(unit="1/s", shape=3, low=0.0, tunable=True, doc="rate error to angular acceleration by surfaces")
    rate_integral = Param(unit="1/s", low=0.0, tunable=True, doc="rate of its integral, times the rate gain")
    max_rate = Param(unit="rad/s", low=0.1, tunable=True, doc="asked for")

    def __init__(self, surfaces: Sequence[str], *, pusher: int | None, sample_s: float) -> None:
        """`surfaces` are names of outputs; `pusher` is the number of the rotor that pushes, None for a tail-sitter."""
        super().__init__(sample_s=sample_s)
        self.surfaces, self.pusher = tuple(surfaces), pusher
        self.declare(
            "allocation",
            Param(
                unit="1", shape=(len(self.surfaces), 3), doc="moments over dynamic pressure (m^3) to deflections (rad)"
            ),
        )
        self.declare("travel", Param(unit="rad", shape=len(self.surfaces), low=1e-3, doc="deflection at full command"))
        for name in self.surfaces:
            self.declare(name, Out(unit="1", low=-1.0, high=1.0, doc="share of the travel"))
        if pusher is not None:
            self.declare("pusher_coefficient", Param(unit="N*s^2", low=1e-12, doc="c_T, assumed"))
            self.declare("pusher_slope", Param(unit="rad/s", low=1e-3, doc="of the motor curve, assumed"))
            self.declare("pusher_idle", Param(unit="rad/s", default=0.0, doc="of the motor curve, assumed"))
            self.declare(f"throttle_{pusher}", Out(unit="1", low=0.0, high=1.0, doc="command of the pusher"))

    def _roll(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Bank (rad), and distance from the line (m), [Park2004]."""
        v = u.v_NB_N[:2]
        speed = ca.fmax(ca.sqrt(ca.dot(v, v)), SLOWEST_MPS)
        along = ca.vertcat(ca.cos(u.path_course), ca.sin(u.path_course))
        right = ca.vertcat(-along[1], along[0])
        across = ca.dot(u.p_NB_N[:2] - u.path_origin[:2], right)
        ahead = p.l1_period * speed
        to_point = along * ca.sqrt(ca.fmax(ahead * ahead - across * across, 0.01 * ahead * ahead)) - right * across
        distance = ca.sqrt(ca.dot(to_point, to_point))
        sine = (v[0] * to_point[1] - v[1] * to_point[0]) / (speed * distance)
        behind = ca.dot(v, to_point) < 0
        sine = ca.if_else(behind, ca.if_else(sine < 0, -1, 1), clip(sine, -1, 1))
        acceleration = 2 * speed * speed / ahead * sine  # [Park2004] Eq. 1
        return clip(ca.atan(acceleration / STANDARD_GRAVITY_MPS2), -p.max_roll, p.max_roll), across

    def _law(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        accelerates, slows = u.stage == ACCELERATES, u.stage == SLOWS
        speed = ca.fmax(u.airspeed, SLOWEST_MPS)
        pressure = 0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed * speed  # density assumed
        climb = -u.v_NB_N[2]
        slope = clip(climb / speed, -0.5, 0.5)
        roll_set, across = self._roll(u, p)
        # A quadplane may bank a little on its rotors; a nose that points up has no bank
        tilt = 0.0 if self.pusher is None else TRANSITION_ROLL
        roll_set = ca.if_else(accelerates, clip(roll_set, -tilt, tilt), roll_set)

        # Lift = weight gives the angle of attack, climb comes on top
        climb_set = clip(p.height_gain * (u.height_set + u.p_NB_N[2]), -p.max_climb, p.max_climb)
        missing = climb_set - climb
        needed = p.mass * STANDARD_GRAVITY_MPS2 / (ca.cos(roll_set) * pressure * p.lift_slope) - p.zero_lift
        alpha = clip(needed, p.alpha_low, p.alpha_high)
        pitch_raw = alpha + climb_set / speed + p.climb_gain * missing / speed + x.pitch_sum
        pitch_set = ca.fmax(ca.fmin(pitch_raw, p.alpha_high + ca.fmax(slope, -DOWNDRAFT)), p.pitch_low)
        drag = pressure * p.drag_slope * ca.fabs(alpha + p.zero_lift)
        faster = p.speed_gain * (u.airspeed_set - u.airspeed) + x.thrust_sum
        thrust_raw = drag + p.mass * (faster + STANDARD_GRAVITY_MPS2 * climb_set / speed)
        thrust = clip(thrust_raw, 0, p.max_thrust)

        # In a transition rotors carry what the wings do not
        pitch = ca.asin(clip(-u.R_NB[2, 0], -1, 1))
        attack = clip(pitch - slope + p.zero_lift, -0.3, 0.3)
        wings = ca.if_else(u.airspeed > SLOWEST_MPS, pressure * p.lift_slope * attack, 0)
        carry = p.mass * (STANDARD_GRAVITY_MPS2 + p.lift_gain * missing + x.lift_sum) - wings
        if self.pusher is None:
            # The nose comes down at a steady rate; beyond that the wings decide
            pitch_set = ca.fmax(x.ramp, pitch_set)
            pull = clip(carry / ca.fmax(ca.sin(pitch), 0.5), p.transition_thrust, 0.9 * p.rotor_thrust)
            thrust = ca.if_else(accelerates, pull, thrust)
            rotors = thrust
        else:
            # The pitch at which the wings will carry; until then the rotors control the height
            fast = ca.fmax(speed, p.transition_speed)
            carrying = p.mass * STANDARD_GRAVITY_MPS2 / (0.5 * SEA_LEVEL_DENSITY_KGPM3 * fast * fast * p.lift_slope)
            carrying = carrying - p.zero_lift
            pitch_set = ca.if_else(accelerates, clip(carrying, p.alpha_low, p.alpha_high), pitch_set)
            thrust = ca.if_else(accelerates, p.transition_thrust, thrust)
            rotors = ca.if_else(accelerates, clip(carry / ca.fmax(u.R_NB[2, 2], 0.5), 0, 0.9 * p.rotor_thrust), 0)

        # Attitude: in a transition the heading is held, on wings it is left to the turn
        heading = ca.if_else(accelerates, u.yaw_set, ca.atan2(u.R_NB[1, 0], u.R_NB[0, 0]))
        R_d = quaternion.rotation_matrix(quaternion.from_euler(roll_set, pitch_set, heading))
        E = R_d.T @ u.R_NB
        half = 0.5 / ca.sqrt(ca.fmax(1 + ca.trace(E), STEEPEST_TRACE))
        error = half * ca.vertcat(E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1])  # sin(angle/2) axis
        turning = ca.if_else(accelerates, 0, STANDARD_GRAVITY_MPS2 * ca.tan(roll_set) / speed)  # coordinated turn
        rate_set = clip(-2 * p.attitude_gain * error, -p.max_rate, p.max_rate) + R_d[2, :].T * turning

        # Surfaces
        on_wings = ca.logic_or(u.stage == FLIES, slows)
        share = ca.if_else(on_wings, 1, ca.if_else(accelerates, blend(speed, p.blend_speed, p.transition_speed), 0))
        share = ca.if_else(u.armed > 0.5, share, 0)
        rate_error = rate_set - u.w_NB_B
        moment = p.inertia * (p.rate_gain * rate_error + x.rate_sum) + ca.vertcat(0, p.trim_moment, 0)
        deflections = share * (p.allocation @ moment) / pressure
        return {
            "roll_set": roll_set,
            "pitch_set": pitch_set,
            "across": across,
            "thrust": thrust,
            "rotors": rotors,
            "thrust_raw": thrust_raw,
            "missing": missing,
            "speed": speed,
            "rate_set": rate_set,
            "share": share,
            "rate_error": rate_error,
            "deflections": deflections,
            "on_wings": on_wings,
        }

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        law = self._law(x, u, p)
        rate_sum = clip(x.rate_sum + dt * p.rate_integral * p.rate_gain * law["rate_error"], -MOST_TURN, MOST_TURN)
        pitch_sum = clip(x.pitch_sum + dt * p.climb_integral * law["missing"] / law["speed"], -MOST_PITCH, MOST_PITCH)
        faster = u.airspeed_set - u.airspeed
        # The integral stops while the thrust is at a limit
        pushes = ca.logic_or(
            ca.logic_and(law["thrust_raw"] > p.max_thrust, faster > 0), ca.logic_and(law["thrust_raw"] < 0, faster < 0)
        )
        thrust_sum = x.thrust_sum + dt * p.speed_integral * p.speed_gain * ca.if_else(pushes, 0, faster)
        lift_sum = clip(x.lift_sum + dt * p.lift_integral * p.lift_gain * law["missing"], -MOST_LIFT, MOST_LIFT)
        flies = u.stage == FLIES
        resting = ca.logic_or(u.stage == HOVERS, u.stage == BRAKES)
        # A sagging battery gives less thrust per command: the hover shows by how much the command must rise
        hover = clip(u.hover_thrust / p.mass - STANDARD_GRAVITY_MPS2, -MOST_LIFT, MOST_LIFT)
        learnt = x.lift_sum + dt / LEARN_S * (hover - x.lift_sum)
        learnt = ca.if_else(u.stage == HOVERS, learnt, x.lift_sum)
        return {
            "rate_sum": ca.if_else(law["share"] > 0.5, rate_sum, ca.SX.zeros(3)),
            "pitch_sum": ca.if_else(flies, pitch_sum, ca.if_else(u.stage == SLOWS, x.pitch_sum, 0)),
            "thrust_sum": ca.if_else(flies, thrust_sum, 0),
            "lift_sum": ca.if_else(u.stage == ACCELERATES, lift_sum, learnt),
            "ramp": ca.if_else(resting, ca.pi / 2, ca.fmax(x.ramp - p.transition_rate * dt, -ca.pi / 2)),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        law = self._law(x, u, p)
        values: dict[str, ca.SX] = {
            "rotors_armed": u.armed if self.pusher is None else ca.if_else(law["on_wings"], 0, u.armed),
            "rate_set": p.R_HB @ law["rate_set"],
            "thrust_set": law["rotors"] / p.rotor_thrust,
            "roll_set": law["roll_set"],
            "pitch_set": law["pitch_set"],
            "thrust_wanted": law["thrust"],
            "path_error": law["across"],
            "surface_share": law["share"],
        }
        commands = clip(law["deflections"] / p.travel, -1, 1)
        for i, name in enumerate(self.surfaces):
            values[name] = commands[i]
        if self.pusher is not None:
            speed = ca.sqrt(law["thrust"] / p.pusher_coefficient)
            drives = ca.logic_and(u.armed > 0.5, ca.logic_or(law["on_wings"], u.stage == ACCELERATES))
            throttle = clip((speed - p.pusher_idle) / p.pusher_slope, 0, 1)
            values[f"throttle_{self.pusher}"] = ca.if_else(drives, throttle, 0)
        return values
