"""Navigator of a tilt-rotor that can also fly a spiral."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.mission_table import MISSION, SPIRAL
from ironbird.blocks.controllers.navigator import Navigator
from ironbird.model.block import Values, View
from ironbird.model.signal import Param, State

FOREVER_S = 1e9


class SpiralNavigator(Navigator):
    """`Navigator` that also flies climbing circles: mission items of kind `spiral`, [ProVANT] Eq. 1. Sampled.

    A spiral starts at the item's place, north-most, and takes the item's hold time: `spiral_turns` turns with
    `spiral_radius` while the point climbs `spiral_climb`. While it lasts, the mode machine works in a frame that moves
    with the spiral. A command that ends the mission ends the spiral where it is. Not modelled: a gentle start: the
    point is at full speed at once, as in the published trajectory.
    """

    source = "[ProVANT] Eq. 1; [RflyModel] 9.2.1"

    phase = State(unit="s", init=0.0, doc="time since the spiral began; 0 before")
    spiral_radius = Param(unit="m", default=5.0, low=0.0, tunable=True, doc="d")
    spiral_turns = Param(unit="1", default=3.0, low=0.0, tunable=True, doc="n")
    spiral_climb = Param(unit="m", default=10.0, tunable=True, doc="h")

    def _item(self, x: View, p: View) -> ca.SX:
        """The present item; a spiral stays the present item until this class ends it."""
        item = super()._item(x, p)
        return ca.vertcat(item[:4], ca.if_else(item[5] == SPIRAL, FOREVER_S, item[4]), item[5])

    def _duration(self, x: View, p: View) -> ca.SX:
        return super()._item(x, p)[4]

    def _offset(self, phase: ca.SX, duration: ca.SX, p: View) -> tuple[ca.SX, ca.SX]:
        """Offset (m) of the spiral from its start, and its derivative, [ProVANT] Eq. 1; y is east, z is down."""
        speed = 2 * ca.pi * p.spiral_turns / ca.fmax(duration, 1e-3)
        angle, climb = speed * phase, p.spiral_climb / ca.fmax(duration, 1e-3)
        d = p.spiral_radius
        place = ca.vertcat(d * ca.cos(angle) - d, -d * ca.sin(angle), -climb * phase)
        rate = ca.vertcat(-d * speed * ca.sin(angle), -d * speed * ca.cos(angle), -climb)
        return place, rate

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        duration = self._duration(x, p)
        running = x.phase > 0
        offset, _ = self._offset(x.phase, duration, p)
        offset = ca.if_else(running, offset, ca.SX.zeros(3))
        names = [*self.inputs, *self.clocks]
        moved = View({**{name: u[name] for name in names}, "p_NB_N": u.p_NB_N - offset}, "inputs")
        values = dict(super().update(x, moved, p))

        spiral = ca.logic_and(values["now"] == MISSION, self._item(x, p)[5] == SPIRAL)
        begins = ca.logic_and(spiral, values["timer"] > 0)
        goes_on = ca.logic_and(spiral, ca.logic_or(running, begins))
        over = ca.logic_and(goes_on, x.phase + self.sample_s > duration)
        last = x.index >= p.count - 1.5
        lets_go = ca.logic_and(running, ca.logic_or(over, ca.logic_not(goes_on)))  # the set-point stays where it is
        for name in ("point", "stay"):
            values[name] = ca.if_else(lets_go, values[name] + offset, values[name])
        values["phase"] = ca.if_else(ca.logic_and(goes_on, ca.logic_not(over)), x.phase + self.sample_s, 0)
        values["index"] = values["index"] + ca.if_else(ca.logic_and(over, ca.logic_not(last)), 1, 0)
        values["timer"] = ca.if_else(over, 0, values["timer"])
        values["finished"] = ca.if_else(ca.logic_and(over, last), 1, values["finished"])
        return values

    def output(self, x: View, u: View, p: View) -> Values:
        place, rate = self._offset(x.phase, self._duration(x, p), p)
        running = x.phase > 0
        values = dict(super().output(x, u, p))
        values["position_set"] = values["position_set"] + ca.if_else(running, place, ca.SX.zeros(3))
        values["velocity_set"] = values["velocity_set"] + ca.if_else(running, rate, ca.SX.zeros(3))
        return values
