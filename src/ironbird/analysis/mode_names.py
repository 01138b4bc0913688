"""Names of linear modes as flight mechanics has them, from the eigenvalue and the motions that take part.

On wings: short period and phugoid (along: surge, heave, pitch), Dutch roll, roll subsidence and spiral (across: sway,
roll, yaw), [EtkinReid1996] Ch. 6. In hover: heave, yaw, and for each of the two tilting axes either an oscillation of
tilt and speed, or subsidences of speed and tilt, [Padfield2007] Ch. 4. On water and road: by the motion with the
largest share. A mode without motion of the body is the lag of its block. Not considered: how well a name fits if
longitudinal and lateral motion are coupled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ALONG, ACROSS = ("surge", "heave", "pitch"), ("sway", "roll", "yaw")
_MOTIONS = {  # body states: velocity and rates in body axes, quaternion w x y z
    "body.v[0]": "surge", "body.v[1]": "sway", "body.v[2]": "heave",
    "body.w[0]": "roll", "body.w[1]": "pitch", "body.w[2]": "yaw",
    "body.q[1]": "roll", "body.q[2]": "pitch", "body.q[3]": "yaw",
}  # fmt: skip
STATES = {  # motions in words
    "body.v[0]": "speed forward", "body.v[1]": "speed to the right", "body.v[2]": "speed down",
    "body.w[0]": "roll rate", "body.w[1]": "pitch rate", "body.w[2]": "yaw rate",
    "body.q[1]": "roll angle", "body.q[2]": "pitch angle", "body.q[3]": "heading",
}  # fmt: skip
REAL = 1e-9  # ratio of imaginary part to magnitude below which a root does not oscillate


@dataclass(frozen=True)
class Seen:
    """Properties of a mode that determine its name: eigenvalue, share of each motion, leading other block if any."""

    value: complex
    shares: dict[str, float]
    other: str = ""

    @property
    def oscillates(self) -> bool:
        """Whether it is a pair of complex roots."""
        return abs(self.value.imag) > REAL * abs(self.value)

    @property
    def along(self) -> bool:
        """Whether the motion is in the plane of symmetry."""
        return sum(self.shares.get(m, 0.0) for m in ALONG) >= sum(self.shares.get(m, 0.0) for m in ACROSS)

    @property
    def leader(self) -> str:
        """The motion with the largest share."""
        return max(self.shares, key=lambda motion: self.shares[motion])

    @property
    def settles(self) -> str:
        """The noun for a real root: subsidence or divergence."""
        return "divergence" if self.value.real > 0 else "subsidence"


def seen(value: complex, states: Sequence[str], shares: Sequence[float]) -> Seen:
    """Properties of a mode from the participation factors of its states."""
    motions: dict[str, float] = {}
    others: dict[str, float] = {}
    for state, share in zip(states, shares, strict=True):
        motion = _MOTIONS.get(state)
        if motion is not None:
            motions[motion] = motions.get(motion, 0.0) + float(share)
        elif not state.startswith("body."):
            block = re.sub(r"/\d+(?=/|$)", "", state.rpartition(".")[0])
            others[block] = others.get(block, 0.0) + float(share)
    leads = max(others, key=lambda block: others[block], default="")
    if not motions or (leads and others[leads] > sum(motions.values())):
        return Seen(value, motions or {"surge": 0.0}, leads or "body")
    return Seen(value, motions)


def names_of_modes(modes: Sequence[Seen], *, wings: bool, hover: bool) -> list[str]:
    """A name for each mode; `wings` if they carry the vehicle, `hover` if it has no airspeed."""
    names = [""] * len(modes)
    own = [i for i, mode in enumerate(modes) if not mode.other]
    for i, mode in enumerate(modes):
        if mode.other:
            names[i] = f"lag of {mode.other.rpartition('/')[2] or mode.other}"
        elif hover:
            names[i] = _in_hover(mode)
        elif not wings:
            names[i] = f"{mode.leader} oscillation" if mode.oscillates else f"{mode.leader} {mode.settles}"
    if wings and not hover:
        _along(*_by_kind([i for i in own if modes[i].along], modes), modes, names)
        _across(*_by_kind([i for i in own if not modes[i].along], modes), modes, names)
    return names


def _in_hover(mode: Seen) -> str:
    if mode.oscillates and mode.leader not in ("heave", "yaw"):
        return f"hover oscillation {'along' if mode.along else 'across'}"
    return f"{mode.leader} oscillation" if mode.oscillates else f"{mode.leader} {mode.settles}"


def _by_kind(indices: list[int], modes: Sequence[Seen]) -> tuple[list[int], list[int]]:
    """Indices of the modes that oscillate and of those that do not, the fastest first."""
    ordered = sorted(indices, key=lambda i: -abs(modes[i].value))
    return [i for i in ordered if modes[i].oscillates], [i for i in ordered if not modes[i].oscillates]


def _along(swing: list[int], steady: list[int], modes: Sequence[Seen], names: list[str]) -> None:
    for place, i in enumerate(swing):
        slow = place > 0 or (len(swing) == 1 and modes[i].shares.get("surge", 0) > modes[i].shares.get("heave", 0))
        names[i] = "phugoid" if slow else "short period"
    for i in steady:
        lacks = len(swing) == 1 and names[swing[0]] == "phugoid" and modes[i].leader != "surge"
        names[i] = "short period, one of two real roots" if lacks else f"{modes[i].leader} {modes[i].settles}"


def _across(swing: list[int], steady: list[int], modes: Sequence[Seen], names: list[str]) -> None:
    for place, i in enumerate(swing):
        names[i] = "Dutch roll" if place == 0 else "roll and spiral, coupled"
    for place, i in enumerate(steady):
        if place == 0 and len(steady) > 1:
            names[i] = f"roll {modes[i].settles}"
        else:
            names[i] = "spiral" if place == len(steady) - 1 else f"{modes[i].leader} {modes[i].settles}"
