"""Heat in a motor and its speed controller: shaft power in, temperatures and the reduced supply out."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_TEMPERATURE_K
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

COPPER_PER_K, COPPER_AT_K = 0.0039, 298.15  # resistance of copper, and the temperature of data sheets


class DriveHeat(Block):
    """Computes the temperatures of a motor's winding, its housing and the speed controller. Sampled.
    First-order heating, as motor data sheets give it [MaxonKey].

    The losses are those of the drive's efficiency, P = P_shaft (1 / eta - 1); `controller_share` of them heats the
    speed controller, the rest the winding, where it grows with the copper's resistance. The temperature of the winding
    exceeds that of the housing, and that of the housing that of the air, each by a thermal resistance times the loss
    with a time constant. With `derate_band` the supply is reduced linearly from that far below the limits, down to
    `derate_least`. Valid for losses that change slowly against the turn of a rotor. Not modelled: cooling by the
    propeller's wash beyond what the resistances hold, iron losses by speed, the battery's larger current into a hot
    winding, damage.
    """

    source = "[MaxonKey]: thermal behaviour"

    shaft_power = In(unit="W", doc="what the propeller takes")
    voltage_ratio = In(unit="1", default=1.0, doc="supply voltage over that of a full battery")
    air_temperature = In(unit="K", default=SEA_LEVEL_TEMPERATURE_K, doc="of the air around")
    fed = Out(unit="1", doc="voltage ratio that is left after derating")
    winding = Out(unit="K", doc="temperature of the winding")
    controller = Out(unit="K", doc="temperature of the speed controller")
    loss = Out(unit="W", doc="heat of both")
    over = Out(unit="1", doc="1 above a limit")

    winding_rise = State(unit="K", init=0.0, doc="winding above the housing")
    housing_rise = State(unit="K", init=0.0, doc="housing above the air")
    controller_rise = State(unit="K", init=0.0, doc="speed controller above the air")

    efficiency = Param(unit="1", low=0.05, high=1.0, doc="of motor and speed controller together")
    winding_resistance = Param(unit="K/W", low=0.0, doc="from winding to housing")
    winding_time = Param(unit="s", low=0.1, doc="time constant of the winding")
    housing_resistance = Param(unit="K/W", low=0.0, tunable=True, doc="from housing to air; a blocked vent raises it")
    housing_time = Param(unit="s", low=0.1, doc="time constant of the motor")
    controller_resistance = Param(unit="K/W", low=0.0, tunable=True, doc="from speed controller to air")
    controller_time = Param(unit="s", low=0.1, doc="time constant of the speed controller")
    controller_share = Param(unit="1", default=0.3, low=0.0, high=1.0, doc="of the losses")
    winding_limit = Param(unit="K", default=398.15, low=0.0, tunable=True, doc="125 degrees Celsius in data sheets")
    controller_limit = Param(unit="K", default=383.15, low=0.0, tunable=True, doc="110 degrees Celsius")
    derate_band = Param(unit="K", default=0.0, low=0.0, tunable=True, doc="below the limits; 0 does not derate")
    derate_least = Param(unit="1", default=0.7, low=0.0, high=1.0, tunable=True, doc="share of the supply at the limit")

    def _losses(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Heat losses (W) of winding and speed controller."""
        total = ca.fmax(u.shaft_power, 0) * (1 / p.efficiency - 1)
        copper = 1 + COPPER_PER_K * (self._winding(x, u) - COPPER_AT_K)
        return total * (1 - p.controller_share) * ca.fmax(copper, 0), total * p.controller_share

    def _winding(self, x: View, u: View) -> ca.SX:
        return u.air_temperature + x.housing_rise + x.winding_rise

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        motor, controller = self._losses(x, u, p)

        def rise(value: ca.SX, power: ca.SX, resistance: ca.SX, time: ca.SX) -> ca.SX:
            """Exact step of R P = rise + tau rise', [MaxonKey], for a loss that is held."""
            return value + (resistance * power - value) * (1 - ca.exp(-dt / time))

        return {
            "winding_rise": rise(x.winding_rise, motor, p.winding_resistance, p.winding_time),
            "housing_rise": rise(x.housing_rise, motor, p.housing_resistance, p.housing_time),
            "controller_rise": rise(x.controller_rise, controller, p.controller_resistance, p.controller_time),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        winding, controller = self._winding(x, u), u.air_temperature + x.controller_rise
        excess = ca.fmax(winding - p.winding_limit, controller - p.controller_limit)
        hot = clip(1 + excess / ca.fmax(p.derate_band, 1e-9), 0, 1)
        left = ca.if_else(p.derate_band > 0, 1 - hot * (1 - p.derate_least), 1)
        motor, other = self._losses(x, u, p)
        return {
            "fed": u.voltage_ratio * left,
            "winding": winding,
            "controller": controller,
            "loss": motor + other,
            "over": ca.if_else(excess > 0, 1, 0),
        }
