"""Landing gear with wheels: contact points that roll along and hold across."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ironbird.blocks.forces.ground_contact import GroundContact, yielding_rate
from ironbird.errors import ModelError
from ironbird.model.block import View
from ironbird.model.signal import In, Param
from ironbird.symbolic.smooth import clip

LEAST_RELAXATION_M = 0.02  # m, of a wheel that hardly touches: a shorter one is too fast for the integration step


class WheelContact(GroundContact):
    """`GroundContact` of a vehicle on wheels, with rolling resistance, brakes and side forces.
    Some points are wheels; the others are skids as there.

    A wheel lies in the plane of its heading (the body's x axis, turned by `steer` where it is steered). Along, Coulomb
    friction of rolling resistance and brake; across, the contact patch is a spring that relaxes while the wheel rolls,
    z' = v_y - |v_x| / sigma z, [Pacejka2012] Sec. 7.2.1: at a steady slip angle alpha the side force is k sigma
    tan(alpha), at rest it holds without creeping. The relaxation length sigma is cornering stiffness over grip
    stiffness k, and the cornering stiffness is `cornering` times the load, so that wheels of equal kind steer
    neutrally. Both forces stay in the friction circle, along before across. Not modelled: spin-up and inertia of the
    wheels, longitudinal slip, anti-skid, aligning moment, camber, soft ground, shock struts apart from spring and
    damper of the point.
    """

    source = "[Pacejka2012] Sec. 7.2.1; [Dupont2002]; [RflyModel] 6.4"

    steer = In(unit="rad", default=0.0, doc="angle of the steered wheels, positive to the right")
    brake = In(unit="1", default=0.0, low=0.0, high=1.0, doc="of the braked wheels, 1 is full")
    rolling_resistance = Param(unit="1", low=0.0, high=1.0, tunable=True, doc="force along over the load, free wheel")
    brake_friction = Param(unit="1", low=0.0, high=3.0, tunable=True, doc="the same, added by the full brake")
    cornering = Param(unit="1/rad", low=0.1, tunable=True, doc="side force over load per slip angle")

    def __init__(
        self, points: int, *, wheels: Sequence[int], steered: Sequence[int] = (), braked: Sequence[int] = ()
    ) -> None:
        """Wheels by the number of their point, from 1; those that are steered and braked are among them."""
        super().__init__(points)
        self.wheels, self.steered, self.braked = tuple(wheels), tuple(steered), tuple(braked)
        strange = [n for n in self.wheels if not 1 <= n <= points]
        strange += [n for n in (*self.steered, *self.braked) if n not in self.wheels]
        if strange:
            raise ModelError(
                f"{strange} are no wheels: wheels are {list(self.wheels)} of {points} points, "
                "steered and braked ones are among them"
            )

    def _along(self, u: View, i: int, up: ca.SX) -> ca.SX:
        if i + 1 not in self.wheels:
            return super()._along(u, i, up)
        angle = u.steer if i + 1 in self.steered else ca.SX(0)
        ahead = u.R_NB @ ca.vertcat(ca.cos(angle), ca.sin(angle), 0)
        ahead = ahead - up * ca.dot(up, ahead)
        return ahead / ca.sqrt(ca.dot(ahead, ahead) + 1e-12)

    def _grip(self, u: View, p: View, i: int, z: ca.SX, slip: ca.SX, press: ca.SX) -> tuple[ca.SX, ca.SX]:
        if i + 1 not in self.wheels:
            return super()._grip(u, p, i, z, slip, press)
        most = p.friction * press
        holding = p.rolling_resistance + (p.brake_friction * clip(u.brake, 0, 1) if i + 1 in self.braked else 0)
        along_most = ca.fmin(holding * press, most)
        along = clip(p.grip_stiffness * z[0] + p.grip_damping * slip[0], -along_most, along_most)

        # The patch is left behind as the wheel rolls: z stays finite at a steady slip angle
        relaxation = ca.fmax(p.cornering * press / p.grip_stiffness, LEAST_RELAXATION_M)
        stretching = slip[1] - ca.fabs(slip[0]) / relaxation * z[1]
        across_most = ca.sqrt(ca.fmax(most * most - along * along, 0))
        across = clip(p.grip_stiffness * z[1] + p.grip_damping * stretching, -across_most, across_most)
        return ca.vertcat(along, across), ca.vertcat(
            yielding_rate(z[0], slip[0], along_most / p.grip_stiffness),
            yielding_rate(z[1], stretching, across_most / p.grip_stiffness),
        )
