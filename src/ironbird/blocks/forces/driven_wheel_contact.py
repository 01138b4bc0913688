"""Landing gear with driven wheels: tyres that push."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ironbird.blocks.forces.wheel_contact import WheelContact
from ironbird.errors import ModelError
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.smooth import clip

SLOWEST_MPS = 1.0  # m/s; below it the power limit is that of this speed


class DrivenWheelContact(WheelContact):
    """`WheelContact` of an aircraft of which some wheels are driven: their motors push along the wheel.

    The driven wheels share the force commanded by `drive`, up to a largest force and power. The force on the ground is
    limited to what rolling resistance, brake and side force leave of the friction circle. Not modelled: longitudinal
    slip, spin and inertia of the wheels, gears, and what `WheelContact` does not model.
    """

    source = "[Gillespie] Eq. 2-9: tractive force; [Pacejka2012] Sec. 7.2.1; [RflyModel] 6.4"

    drive = In(unit="1", default=0.0, low=-1.0, high=1.0, doc="share of the full force; negative drives backward")
    push = Out(unit="N", doc="asked of all driven wheels together, before the friction circle")
    shaft_power = Out(unit="W", doc="that their motors give")
    drive_force = Param(unit="N", low=0.0, tunable=True, doc="of all driven wheels together, at full command")
    drive_power = Param(unit="W", low=0.0, tunable=True, doc="limit of force times speed")
    drive_health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the force left")

    def __init__(
        self,
        points: int,
        *,
        wheels: Sequence[int],
        driven: Sequence[int],
        steered: Sequence[int] = (),
        braked: Sequence[int] = (),
    ) -> None:
        """Wheels by the number of their point, from 1; those that are driven are among them."""
        super().__init__(points, wheels=wheels, steered=steered, braked=braked)
        self.driven = tuple(driven)
        if not self.driven or any(n not in self.wheels for n in self.driven):
            raise ModelError(f"driven wheels {list(self.driven)} are not among the wheels {list(self.wheels)}")

    def _push(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Force (N) of all driven wheels, and their rolling speed (m/s)."""
        speed = ca.dot(u.R_NB[:, 0], u.v_NB_N)
        most = ca.fmin(p.drive_force, p.drive_power / ca.fmax(ca.fabs(speed), SLOWEST_MPS))
        return p.drive_health * clip(u.drive, -1, 1) * most, speed

    def _grip(self, u: View, p: View, i: int, z: ca.SX, slip: ca.SX, press: ca.SX) -> tuple[ca.SX, ca.SX]:
        grip, rate = super()._grip(u, p, i, z, slip, press)
        if i + 1 not in self.driven:
            return grip, rate
        asked = self._push(u, p)[0] / len(self.driven)
        most = p.friction * press
        room = ca.sqrt(ca.fmax(most * most - grip[1] * grip[1], 0))
        return ca.vertcat(clip(grip[0] - asked, -room, room), grip[1]), rate

    def output(self, x: View, u: View, p: View) -> Values:
        push, speed = self._push(u, p)
        return {**super().output(x, u, p), "push": push, "shaft_power": push * speed}
