"""Effect of ground, vortex ring and other rotors on the thrust of each rotor: a slowly varying factor for each."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip

NEAREST = 0.5  # of the radius: [Cheeseman1955] is not valid nearer to the ground
SLOWEST_MPS = 0.3  # m/s, lower bound of the induced speed, so that a rotor at rest needs no special case
RING_BEGIN, RING_WORST, RING_END = 0.5, 1.0, 1.5  # sink rate over induced speed of the hover, [Leishman2006] Ch. 2
LEAST_N = 1e-3  # N; a rotor with less thrust counts as stopped
DEEPEST = 0.5  # share of the thrust that the vortex ring takes at most


class RotorWakes(Block):
    """Computes how ground effect, vortex ring state and the wakes of other rotors change the thrust of each rotor.
    Sampled.

    Ground effect is 1 / (1 - (R / 4 z)^2 / (1 + (V / v_h)^2)) [Cheeseman1955] at each rotor's own height z above the
    terrain, for the share of its disc that has ground below it (`pad`: a roof or platform with edges). In descent the
    mean induced speed is the quartic of [Leishman2006] Ch. 2 and not that of the propeller's parabola; between 0.5 and
    1.5 times the induced speed of the hover the thrust fluctuates as well, with the time in which the air passes the
    disc. Both fade with flow along the disc. With `meet` a rotor loses thrust in the wakes of others by its row of
    `losses`, times the other's induced speed over its own. Each effect has a switch. The factor acts one sample later:
    a wake takes time to form. Valid from half a radius above the ground. Not modelled: the fountain between rotors near
    the ground, thrust gained in the windmill brake state, wakes that are blown away in forward flight.
    """

    source = "[Cheeseman1955]; [Leishman2006] Ch. 2"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    place = In(unit="m", shape=2, frame="N", default=0.0, doc="where the ground plane is given")
    ground_z = In(unit="m", default=0.0, doc="z (down) of the ground there")
    slope = In(unit="1", shape=2, default=0.0, doc="z per metre north and east")
    ground_effect = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="0 switches it off")
    vortex_ring = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="0 switches it off")
    fluctuation = Param(
        unit="1", default=0.1, low=0.0, high=0.5, tunable=True, doc="deviation of the thrust where the ring is worst"
    )
    pad_centre = Param(unit="m", shape=2, frame="N", default=0.0, tunable=True, doc="north and east of the pad")
    pad_half_width = Param(
        unit="m", shape=2, frame="N", default=1e6, low=0.0, tunable=True, doc="ground is felt this far north and east"
    )

    def __init__(self, rotors: int, *, meet: bool = False, sample_s: float | None = None) -> None:
        super().__init__(sample_s=sample_s)
        self.rotors, self.meet = rotors, meet
        self.declare("white", Noise(shape=rotors, doc="drives the fluctuation"))
        self.declare("factors", State(unit="1", shape=rotors, init=1.0, doc="held"))
        self.declare("rings", State(unit="1", shape=rotors, init=0.0, doc="fluctuation, unit variance"))
        self.declare("positions", Param(unit="m", shape=(3, rotors), frame="B", doc="of the hubs, one per column"))
        self.declare("axes", Param(unit="1", shape=(3, rotors), frame="B", doc="directions of thrust"))
        self.declare("diameters", Param(unit="m", shape=rotors, low=1e-3, doc="of the discs"))
        self.declare(
            "inflows", Param(unit="1", shape=rotors, doc="kappa: relative loss of thrust per climb speed over v_h")
        )
        self.declare("climb_losses", Param(unit="1", shape=rotors, doc="the same for the square of that ratio"))
        if meet:
            lost = Param(
                unit="1", shape=(rotors, rotors), low=0.0, high=1.0, tunable=True, doc="of the row, by the column"
            )
            self.declare("losses", lost)
        for number in range(1, rotors + 1):
            self.declare(f"thrust_{number}", In(unit="N", doc="of this rotor"))
            self.declare(f"factor_{number}", Out(unit="1", doc="of its thrust"))

    def _near_ground(self, u: View, p: View, i: int, radius: ca.SX, advance2: ca.SX) -> ca.SX:
        """[Cheeseman1955]: T / T_free - 1 at constant power, for the share of the disc above the pad."""
        hub = u.p_NB_N + u.R_NB @ p.positions[:, i]
        steep = ca.sqrt(1 + ca.dot(u.slope, u.slope))
        height = (u.ground_z + ca.dot(u.slope, hub[:2] - u.place) - hub[2]) / steep
        near = radius / (4 * ca.fmax(height, NEAREST * radius))
        share = clip(-(u.R_NB[2, :] @ p.axes[:, i]), 0, 1)  # a vertical disc has no ground effect
        for k in range(2):
            share = share * clip((p.pad_half_width[k] - ca.fabs(hub[k] - p.pad_centre[k])) / (2 * radius) + 0.5, 0, 1)
        square = near * near / (1 + advance2)
        return p.ground_effect * share * square / (1 - square)

    def _in_ring(self, p: View, i: int, climb: ca.SX, fade: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Mean loss and deviation of the thrust at a climb speed over v_h."""
        x = clip(climb, -2, 0)
        # [Leishman2006] Ch. 2: v_i / v_h in descent, fitted to measurements, -2 <= x <= 0
        induced = 1 + x * (-1.125 + x * (-1.372 + x * (-1.718 - 0.655 * x)))
        kappa = p.inflows[i]
        # Blade elements feel the flow through the disc: T / T_h = 1 - 2 kappa / (1 - kappa) (x + v_i / v_h - 1)
        blades = -2 * kappa / (1 - kappa) * (x + induced - 1)
        loss = -kappa * x + p.climb_losses[i] * x * x - blades  # of what the propeller's parabola gives
        away = (x + RING_WORST) / (RING_END - RING_WORST)
        rough = ca.fmax(1 - away * away, 0) * p.fluctuation
        return p.vortex_ring * fade * clip(loss, 0, DEEPEST), p.vortex_ring * fade * rough

    def _left(self, u: View, p: View, i: int) -> ca.SX:
        """Share of the thrust left in the wakes of the others: their speed goes with the root of their thrust."""
        left = ca.SX(1)
        for j in range(self.rotors if self.meet else 0):
            ratio = ca.fmax(u[f"thrust_{j + 1}"], 0) / ca.fmax(u[f"thrust_{i + 1}"], LEAST_N)
            left = left - p.losses[i, j] * ca.sqrt(ca.fmin(ratio, 1))
        return ca.fmax(left, 0)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        factors, rings = [], []
        for i in range(self.rotors):
            radius, axis = p.diameters[i] / 2, p.axes[:, i]
            thrust = ca.fmax(u[f"thrust_{i + 1}"], 0)
            swept = 2 * ca.pi * u.density * radius * radius
            hover = ca.fmax(ca.sqrt(thrust / swept), SLOWEST_MPS)  # v_h = sqrt(T / (2 rho A))
            hub = u.v_air_B + ca.cross(u.w_NB_B, p.positions[:, i])
            climb = ca.dot(hub, axis)
            along2 = ca.fmax(ca.dot(hub, hub) - climb * climb, 0) / (hover * hover)
            fade = ca.fmax(1 - along2, 0)  # flow along the disc carries the ring away
            loss, rough = self._in_ring(p, i, climb / hover, fade)
            kept = ca.exp(-self.sample_s * hover / (2 * radius))
            ring = kept * x.rings[i] + ca.sqrt(1 - kept * kept) * u.white[i]
            ground = self._near_ground(u, p, i, radius, along2)
            factors.append(self._left(u, p, i) * (1 + ground) * (1 - loss + rough * clip(ring, -3, 3)))
            rings.append(ring)
        return {"factors": ca.vertcat(*factors), "rings": ca.vertcat(*rings)}

    def output(self, x: View, u: View, p: View) -> Values:
        return {f"factor_{i + 1}": x.factors[i] for i in range(self.rotors)}
