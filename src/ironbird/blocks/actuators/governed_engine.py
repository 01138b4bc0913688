"""Engine of a helicopter with its governor: speed of the rotor shaft under load."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

SLOWEST_RADPS = 5.0  # below this speed the engine gives the torque of this speed: clutch


class GovernedEngine(Block):
    """A piston engine whose governor holds the shaft speed by the throttle, as a helicopter has it, [Gavrilets2015].
    J dw/dt = P_max d / w - load, with the throttle d.

    The governor is proportional and integral on the speed error, the throttle follows with a lag. A command of 1 is the
    nominal speed, 0 shuts the engine off. `health` scales the power, `stuck` keeps the throttle, `override` sets it to
    `override_throttle` whatever the governor's output (below 0 is off). The engine only drives: there is a free-wheel.
    Not modelled: power over engine speed, fuel, temperature, yaw of the body against the shaft.
    """

    source = "[Gavrilets2015]; [Dai] Eq. 7"

    throttle = In(unit="1", low=0.0, high=1.0, doc="speed asked for over nominal speed")
    load_torque = In(unit="N*m", gather=True, doc="of all rotors, at the main shaft")
    speed = Out(unit="rad/s", doc="of the main rotor")
    acceleration = Out(unit="rad/s^2", doc="its derivative")
    torque = Out(unit="N*m", doc="of the engine at the main shaft")
    opening = Out(unit="1", doc="throttle of the engine: share of full power")

    omega = State(unit="rad/s", init="omega_0", doc="shaft speed")
    valve = State(unit="1", init="valve_0", doc="throttle of the engine")
    total = State(unit="rad", init="total_0", doc="integral of the speed error")

    nominal_speed = Param(unit="rad/s", low=1.0, doc="at command 1")
    max_power = Param(unit="W", low=1.0, tunable=True, doc="at full throttle")
    inertia = Param(unit="kg*m^2", low=1e-6, doc="of all that turns, at the main shaft")
    governor_gain = Param(unit="s", low=0.0, tunable=True, doc="throttle per speed error")
    governor_integral = Param(unit="1/rad", low=1e-6, tunable=True, doc="throttle per integral of the speed error")
    time_constant = Param(unit="s", low=1e-3, tunable=True, doc="lag of the throttle")
    omega_0 = Param(unit="rad/s", default=0.0, doc="initial speed")
    valve_0 = Param(unit="1", default=0.0, low=0.0, high=1.0, doc="initial throttle")
    total_0 = Param(unit="rad", default=0.0, doc="initial integral")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_throttle, not the governor"
    )
    override_throttle = Param(
        unit="1", default=0.0, low=-1.0, high=1.0, tunable=True, doc="1 is a runaway engine, below 0 it is off"
    )
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps the throttle as it is")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the power left; 0 is dead")

    def _torque(self, x: View, p: View) -> ca.SX:
        power = p.health * p.max_power * clip(x.valve, 0, 1)
        return power / ca.fmax(x.omega, SLOWEST_RADPS)

    def _acceleration(self, x: View, u: View, p: View) -> ca.SX:
        return (self._torque(x, p) - u.load_torque) / p.inertia

    def derivative(self, x: View, u: View, p: View) -> Rates:
        running = u.throttle > 0.01
        error = clip(u.throttle, 0, 1) * p.nominal_speed - x.omega
        asked = p.governor_gain * error + p.governor_integral * x.total
        opening = ca.if_else(running, clip(asked, 0, 1), 0)
        opening = ca.if_else(p.override > 0.5, clip(p.override_throttle, 0, 1), opening)
        # The integral waits while the throttle is at its end and the error would drive it further
        outward = ca.logic_or(ca.logic_and(asked > 1, error > 0), ca.logic_and(asked < 0, error < 0))
        waits = ca.logic_or(outward, ca.logic_not(running))
        return {
            "omega": self._acceleration(x, u, p),
            "valve": ca.if_else(p.stuck > 0.5, 0, (opening - x.valve) / p.time_constant),
            "total": ca.if_else(waits, 0, error),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        return {
            "speed": x.omega,
            "acceleration": self._acceleration(x, u, p),
            "torque": self._torque(x, p),
            "opening": clip(x.valve, 0, 1),
        }
