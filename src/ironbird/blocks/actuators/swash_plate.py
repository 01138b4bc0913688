"""Swash plate: deflections of three servos in, collective and cyclic pitch out."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param

SERVOS = 3
AZIMUTHS_DEG = (180.0, 60.0, -60.0)  # H3-120: one servo behind, two in front; from the nose to the left


class SwashPlate(Block):
    """Turns the positions of a helicopter's three swash-plate servos into collective and cyclic pitch (CCPM).
    The height of the plate is the collective pitch, its slopes are the cyclic pitch.

    A plane through three points, so that with a stuck servo every command changes collective and both cyclic pitches.
    Limits of rate and range and the faults are those of the servos. Height is linear in the deflection. Not modelled:
    bending of the arms, play, interaction of levers.
    """

    source = "closed form of this project"

    collective = Out(unit="rad", doc="pitch of all blades")
    longitudinal = Out(unit="rad", doc="cyclic pitch that tilts the disc back: the plate is high in front")
    lateral = Out(unit="rad", doc="cyclic pitch that tilts the disc to the right: the plate is high on the left")

    azimuth = Param(unit="rad", shape=SERVOS, doc="of the servos' arms, from the nose to the left")
    collective_ratio = Param(unit="1", low=1e-3, doc="collective pitch per deflection of all servos")
    cyclic_ratio = Param(unit="1", low=1e-3, doc="cyclic pitch per deflection of a servo straight under the slope")
    collective_0 = Param(unit="rad", default=0.0, doc="collective pitch with all servos at neutral")

    def __init__(self) -> None:
        super().__init__()
        for i in range(SERVOS):
            self.declare(f"servo_{i + 1}", In(unit="rad", doc=f"deflection of servo {i + 1}, up"))

    def output(self, x: View, u: View, p: View) -> Values:
        lifts = [u[f"servo_{i + 1}"] for i in range(SERVOS)]
        # Height at azimuth psi is h + l cos(psi) + s sin(psi): solved for three servos by Cramer's rule
        c = [ca.cos(p.azimuth[i]) for i in range(SERVOS)]
        s = [ca.sin(p.azimuth[i]) for i in range(SERVOS)]
        ring = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
        area = sum(c[j] * s[k] - c[k] * s[j] for _, j, k in ring)
        height = sum(lifts[i] * (c[j] * s[k] - c[k] * s[j]) for i, j, k in ring) / area
        front = sum(lifts[i] * (s[j] - s[k]) for i, j, k in ring) / area
        left = sum(lifts[i] * (c[k] - c[j]) for i, j, k in ring) / area
        return {
            "collective": p.collective_0 + p.collective_ratio * height,
            "longitudinal": p.cyclic_ratio * front,
            "lateral": p.cyclic_ratio * left,
        }


def mixing(azimuth_rad: np.ndarray, collective_ratio: float, cyclic_ratio: float) -> np.ndarray:
    """Deflections of the servos per collective (above neutral), longitudinal and lateral pitch: 3 x 3."""
    azimuth = np.asarray(azimuth_rad, float)
    columns = [np.full(SERVOS, 1 / collective_ratio), np.cos(azimuth) / cyclic_ratio, np.sin(azimuth) / cyclic_ratio]
    return np.column_stack(columns)
