"""Tolerances of flight simulator qualification: plus or minus a share or a fixed amount, whichever is larger.

From 14 CFR Part 60, Appendix C, table C2A (helicopters); in SI units and radians. They are for manned helicopters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import UnknownNameError


@dataclass(frozen=True)
class Bound:
    """The tolerance of one quantity in one manoeuvre."""

    share: float
    amount: float  # in the unit of the signal
    unit: str
    source: str

    def limit(self, real: float) -> float:
        """The tolerable error around a real value, in the signal's unit."""
        return max(self.share * abs(real), self.amount)


def _deg(value: float) -> float:
    return math.radians(value)


BOUNDS: dict[str, Bound] = {
    "hover_pitch": Bound(0.0, _deg(1.5), "rad", "Part 60 C2A 1.d"),
    "hover_roll": Bound(0.0, _deg(1.5), "rad", "Part 60 C2A 1.d"),
    "climb_vertical_speed": Bound(0.10, 0.5, "m/s", "Part 60 C2A 1.e"),
    "landing_height": Bound(0.0, 6.1, "m", "Part 60 C2A 1.j"),
    "landing_yaw": Bound(0.0, _deg(2.0), "rad", "Part 60 C2A 1.j"),
    "step_pitch_rate": Bound(0.10, _deg(2.0), "rad/s", "Part 60 C2A 2.b.3.a"),
    "step_pitch": Bound(0.10, _deg(1.5), "rad", "Part 60 C2A 2.b.3.a"),
    "step_roll_rate": Bound(0.10, _deg(3.0), "rad/s", "Part 60 C2A 2.b.3.b"),
    "step_roll": Bound(0.10, _deg(3.0), "rad", "Part 60 C2A 2.b.3.b"),
    "step_yaw_rate": Bound(0.10, _deg(2.0), "rad/s", "Part 60 C2A 2.b.3.c"),
    "step_yaw": Bound(0.10, _deg(2.0), "rad", "Part 60 C2A 2.b.3.c"),
    "step_acceleration": Bound(0.0, 0.1 * STANDARD_GRAVITY_MPS2, "m/s^2", "Part 60 C2A 2.b.3.d"),
}
USUAL = {  # signal: the bound that a comparison over time takes
    "roll": "step_roll",
    "pitch": "step_pitch",
    "yaw": "step_yaw",
    "roll_rate": "step_roll_rate",
    "pitch_rate": "step_pitch_rate",
    "yaw_rate": "step_yaw_rate",
    "velocity_down": "climb_vertical_speed",
    "down": "landing_height",
    "specific_force_z": "step_acceleration",
}


def bound(name: str) -> Bound:
    """The tolerance with this name; raises UnknownNameError."""
    if name not in BOUNDS:
        raise UnknownNameError("tolerance", name, BOUNDS)
    return BOUNDS[name]
