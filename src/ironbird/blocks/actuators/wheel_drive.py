"""Wheels: drive and brake torque to wheel speed, and wheels whose speed is controlled."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

STICK_RAD = 0.02  # twist at which a standing brake begins to slide
STICK_TIME_S = 0.01  # damping over stiffness of a standing brake
RELEASE_S = 0.05  # an open brake loses its twist with this time constant
STICK_RADPS = 10.0  # faster rotation twists the brake no faster: the twist is at its limit anyway
TURNING_RADPS = 0.5  # rad/s above which rolling resistance has its full size


class WheelDrive(Block):
    """Computes the speed of a driven and braked wheel from drive, brake and ground forces.
    I dw/dt = T_drive - T_brake - R Fx - M_y with M_y = Fz R f of [RflyModel] 7.3.1.1.

    The drive torque lags behind its command and is limited by torque and power. The brake is a friction with a
    small elastic twist (a single-state model, [Dupont2002]), so that a braked wheel stands. `seized` adds the full
    brake torque whatever the command. Not modelled: engine speed and gears, differential, brake fade, antilock.
    """

    source = "[RflyModel] 7.3.1.1; [CommonRoad] multi-body model: wheels; [Dupont2002]"

    drive = In(unit="1", low=-1.0, high=1.0, doc="share of the full drive torque; negative drives backward")
    brake = In(unit="1", low=0.0, high=1.0, doc="share of the full brake torque")
    tyre_force = In(unit="N", doc="Fx of the tyre in the wheel's axes")
    load = In(unit="N", default=0.0, doc="normal force")
    speed = Out(unit="rad/s", doc="rotation, positive forward")
    drive_torque = Out(unit="N*m", doc="at the wheel")
    brake_torque = Out(unit="N*m", doc="at the wheel, against the rotation")
    shaft_power = Out(unit="W", doc="that the drive gives")
    omega = State(unit="rad/s", init="omega_0", doc="rotation")
    torque = State(unit="N*m", init=0.0, doc="drive torque before its limits")
    twist = State(unit="rad", init=0.0, doc="elastic twist of the brake")
    radius = Param(unit="m", low=1e-3, doc="rolling radius")
    inertia = Param(unit="kg*m^2", low=1e-6, doc="of wheel and drive about the axle")
    max_drive = Param(unit="N*m", low=0.0, tunable=True, doc="full drive torque at this wheel; 0 is not driven")
    max_power = Param(unit="W", low=0.0, tunable=True, doc="limit of drive torque times speed")
    max_brake = Param(unit="N*m", low=0.0, tunable=True, doc="full brake torque")
    time_constant = Param(unit="s", low=5e-3, tunable=True, doc="lag of the drive torque")
    rolling_resistance = Param(unit="1", low=0.0, tunable=True, doc="share of the load")
    omega_0 = Param(unit="rad/s", default=0.0, doc="initial rotation")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the drive torque left")
    brake_health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the brake torque left")
    seized = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 blocks the wheel")

    def _drive(self, x: View, p: View) -> ca.SX:
        limit = p.max_power / ca.fmax(ca.fabs(x.omega), 1)
        return clip(x.torque, -limit, limit)

    def _brake(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Brake torque and rate of the twist: T = T_b (z + t dz/dt) / z_max, dz/dt = w - |w| z / z_max."""
        size = ca.fmax(clip(u.brake, 0, 1) * p.brake_health, p.seized) * p.max_brake
        open_ = ca.if_else(size > 1e-3, 0, 1 / RELEASE_S)
        turning = clip(x.omega, -STICK_RADPS, STICK_RADPS)
        rate = turning - (ca.fabs(turning) / STICK_RAD + open_) * x.twist
        return size * (x.twist + STICK_TIME_S * rate * (1 - clip(ca.fabs(x.omega), 0, 1))) / STICK_RAD, rate

    def derivative(self, x: View, u: View, p: View) -> Rates:
        brake, twist_rate = self._brake(x, u, p)
        rolling = p.rolling_resistance * u.load * p.radius  # [RflyModel] 7.3.1.1: M_y = Fz R_e R_p
        resistance = rolling * x.omega / ca.sqrt(x.omega * x.omega + TURNING_RADPS**2)
        total = self._drive(x, p) - brake - resistance - p.radius * u.tyre_force
        asked = p.health * p.max_drive * clip(u.drive, -1, 1)
        return {
            "omega": total / p.inertia,
            "torque": (asked - x.torque) / p.time_constant,
            "twist": twist_rate,
        }

    def project(self, x: View, p: View) -> Values:
        return {"twist": clip(x.twist, -STICK_RAD, STICK_RAD)}

    def output(self, x: View, u: View, p: View) -> Values:
        drive = self._drive(x, p)
        return {
            "speed": x.omega,
            "drive_torque": drive,
            "brake_torque": self._brake(x, u, p)[0],
            "shaft_power": drive * x.omega,
        }


class WheelServo(Block):
    """A wheel motor with a speed controller: the wheel follows a limited speed command with a first-order lag.
    [Dai] Eq. 7; the motor is geared.

    The load reduces the speed that the motor can reach by its linear torque curve, w = w_max (1 - T / T_stall): the
    controller holds the commanded speed until then. Not modelled: inertia of the vehicle, encoder resolution.
    """

    source = "[Dai] Eq. 7"

    command = In(unit="1", low=-1.0, high=1.0, doc="share of the full speed")
    load_torque = In(unit="N*m", default=0.0, doc="against forward rotation")
    speed = Out(unit="rad/s", doc="rotation, positive forward")
    acceleration = Out(unit="rad/s^2", doc="its derivative")
    omega = State(unit="rad/s", init=0.0, doc="rotation")
    max_speed = Param(unit="rad/s", low=0.0, tunable=True, doc="full speed")
    time_constant = Param(unit="s", low=5e-3, tunable=True, doc="63 % rise time")
    stall_torque = Param(unit="N*m", default=1e6, low=1e-3, tunable=True, doc="at which the motor stands")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the speed left; 0 is dead")
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps the speed as it is")
    override = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives by override_command")
    override_command = Param(unit="1", default=0.0, low=-1.0, high=1.0, tunable=True, doc="of a runaway controller")

    def _rate(self, x: View, u: View, p: View) -> ca.SX:
        command = clip(ca.if_else(p.override > 0.5, p.override_command, u.command), -1, 1)
        share = u.load_torque / p.stall_torque
        reached = clip(p.health * p.max_speed * command, -p.max_speed * (1 + share), p.max_speed * (1 - share))
        return ca.if_else(p.stuck > 0.5, 0, (reached - x.omega) / p.time_constant)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"omega": self._rate(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"speed": x.omega, "acceleration": self._rate(x, u, p)}
