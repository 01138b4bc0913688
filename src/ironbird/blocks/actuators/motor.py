"""Brushless motor with its speed controller: command in, rotor speed out."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

IDLE_THROTTLE = 1e-3  # the least command of an armed autopilot: 0 is the signal at which a speed controller stops


class MotorCurve(Block):
    """Steady state of a motor: f_ss of [Dai] Eq. 7, w_ss = C_R s + w_b with s = sigma U / U_full, [RflyModel] 7.1.1.

    A curve that bends has a term with s^2 as well: a lower voltage acts like less throttle. Zero below the dead zone,
    and at a command of 0, which a disarmed autopilot sends: w_b is the speed of an armed motor that idles. `health`
    scales the speed: 0 is dead.
    """

    throttle = In(unit="1", low=0.0, high=1.0, doc="command after the mixer")
    voltage_ratio = In(unit="1", default=1.0, doc="supply voltage over that of a full battery")
    alive = In(unit="1", default=1.0, doc="0 while the flight controller is dead: no command comes")
    speed = Out(unit="rad/s", doc="rotor speed; direction of spin belongs to the rotor")
    acceleration = Out(unit="rad/s^2", doc="its derivative")
    slope = Param(unit="rad/s", low=0.0, doc="C_R: speed gained from zero to full throttle, if the curve is straight")
    idle_speed = Param(unit="rad/s", doc="w_b: speed towards zero throttle, armed; may be negative")
    quadratic = Param(unit="rad/s", default=0.0, doc="bend of the curve: factor of the squared throttle")
    dead_zone = Param(unit="1", default=0.0, low=0.0, high=1.0, doc="no rotation below this command")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_throttle, not the command"
    )
    override_throttle = Param(
        unit="1", default=0.0, low=-1.0, high=1.0, tunable=True, doc="1 is a runaway controller, below 0 no drive"
    )
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps the speed as it is")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the speed left; 0 is dead")

    def steady_speed(self, u: View, p: View) -> ca.SX:
        """Steady-state speed of the motor in rad/s."""
        driven = p.override > 0.5
        sigma = clip(ca.if_else(driven, p.override_throttle, u.alive * u.throttle), 0, 1)
        fed = sigma * u.voltage_ratio
        running = p.slope * sigma * u.voltage_ratio + p.idle_speed + p.quadratic * fed * fed  # [RflyModel] 7.1.1
        off = ca.logic_and(driven, p.override_throttle < 0)
        turning = ca.logic_and(ca.logic_and(sigma > 0, sigma >= p.dead_zone), ca.logic_not(off))
        return p.health * ca.if_else(turning, ca.fmax(running, 0), 0)


class Motor(MotorCurve):
    """A brushless motor with its speed controller: the rotor speed follows the throttle command with a first-order lag.
    Steady-state curve and lag as [Dai] Eq. 7.

    Valid from idle to full throttle. Not modelled: current limit, stall, active braking, cogging.
    """

    source = "[Dai] Eq. 7; [RflyModel] 7.1.1"

    omega = State(unit="rad/s", init="omega_0", doc="rotor speed")
    time_constant = Param(unit="s", low=1e-4, tunable=True, doc="63 % rise time")
    omega_0 = Param(unit="rad/s", default=0.0, doc="initial speed")

    def _acceleration(self, x: View, u: View, p: View) -> ca.SX:
        gain = ca.if_else(p.stuck > 0.5, 0, 1 / p.time_constant)
        return (self.steady_speed(u, p) - x.omega) * gain  # [Dai] Eq. 7: 1/(T s + 1)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"omega": self._acceleration(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"speed": x.omega, "acceleration": self._acceleration(x, u, p)}


class MotorSecondOrder(MotorCurve):
    """A brushless motor with its speed controller: the rotor speed follows the throttle with a second-order lag.
    It is the other form that [Dai] Eq. 7 names; `Motor` has the first-order one.

    Valid from idle to full throttle. Not modelled: current limit, stall, active braking, cogging.
    """

    source = "[Dai] Eq. 7"

    omega = State(unit="rad/s", init="omega_0", doc="rotor speed")
    rate = State(unit="rad/s^2", init=0.0, doc="its derivative")
    natural_frequency = Param(unit="rad/s", low=1e-2, tunable=True, doc="of the lag")
    damping_ratio = Param(unit="1", low=0.05, tunable=True, doc="of the lag")
    omega_0 = Param(unit="rad/s", default=0.0, doc="initial speed")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        wn = p.natural_frequency
        rate = wn * wn * (self.steady_speed(u, p) - x.omega) - 2 * p.damping_ratio * wn * x.rate
        free = ca.if_else(p.stuck > 0.5, 0, 1)
        return {"omega": free * x.rate, "rate": free * rate}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"speed": x.omega, "acceleration": ca.if_else(p.stuck > 0.5, 0, x.rate)}
