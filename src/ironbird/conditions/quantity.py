"""Units in the text of conditions: their dimensions and their sizes in SI."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from ironbird.errors import ConditionError, UnknownNameError, shortened
from ironbird.units import FOOT_M, KNOT_MPS

Dimension: TypeAlias = tuple[float, ...]  # exponents of m, kg, s, rad, A, K; half powers occur in noise densities

NONE: Dimension = (0.0,) * 6
_BASES = ("m", "kg", "s", "rad", "A", "K")


@dataclass(frozen=True)
class Unit:
    """A unit: its size in SI units, and its dimension."""

    size: float
    dimension: Dimension


def _unit(size: float, m: float = 0, kg: float = 0, s: float = 0, rad: float = 0, A: float = 0, K: float = 0) -> Unit:
    return Unit(size, (m, kg, s, rad, A, K))


SYMBOLS: dict[str, Unit] = {
    "1": _unit(1), "%": _unit(0.01),
    "m": _unit(1, m=1), "km": _unit(1e3, m=1), "cm": _unit(0.01, m=1), "mm": _unit(1e-3, m=1), "ft": _unit(FOOT_M, m=1),
    "s": _unit(1, s=1), "ms": _unit(1e-3, s=1), "min": _unit(60, s=1), "h": _unit(3600, s=1), "Hz": _unit(1, s=-1),
    "kn": _unit(KNOT_MPS, m=1, s=-1),
    "rad": _unit(1, rad=1), "deg": _unit(math.pi / 180, rad=1), "rpm": _unit(math.pi / 30, rad=1, s=-1),
    "kg": _unit(1, kg=1), "g": _unit(1e-3, kg=1), "N": _unit(1, m=1, kg=1, s=-2),
    "Pa": _unit(1, m=-1, kg=1, s=-2), "hPa": _unit(100, m=-1, kg=1, s=-2), "K": _unit(1, K=1),
    "J": _unit(1, m=2, kg=1, s=-2), "W": _unit(1, m=2, kg=1, s=-3), "A": _unit(1, A=1),
    "V": _unit(1, m=2, kg=1, s=-3, A=-1), "ohm": _unit(1, m=2, kg=1, s=-3, A=-2), "T": _unit(1, kg=1, s=-2, A=-1),
}  # fmt: skip
_FACTOR = re.compile(
    r"(?P<sign>[*/]?)(?:sqrt\((?P<root>\w+)\)|(?P<symbol>[A-Za-z]+|%|1)(?:\^(?P<power>-?\d+))?)", re.ASCII
)
HIGHEST_POWER = 99
MOST_FACTORS = 16


@functools.lru_cache(maxsize=4096)  # texts from other programs are parsed here too
def read_unit(text: str) -> Unit:
    """Parse a unit such as `m/s^2`, `deg/s` or `rad/s/sqrt(Hz)`."""
    size, dimension, at, count = 1.0, NONE, 0, 0
    while at < len(text):
        match = _FACTOR.match(text, at)
        if match is None or (match["sign"] == "") != (at == 0):
            raise ConditionError(f"cannot read the unit '{shortened(text)}'")
        symbol = match["root"] or match["symbol"]
        if symbol not in SYMBOLS:
            raise UnknownNameError("unit", symbol, SYMBOLS)
        count += 1
        if count > MOST_FACTORS:
            raise ConditionError(f"the unit '{shortened(text)}' has more than {MOST_FACTORS} factors")
        if len(match["power"] or "") > 3 or abs(int(match["power"] or 1)) > HIGHEST_POWER:
            raise ConditionError(
                f"the power {shortened(match['power'])} in the unit '{shortened(text)}' is not from "
                f"-{HIGHEST_POWER} to {HIGHEST_POWER}"
            )
        power = 0.5 if match["root"] else float(match["power"] or 1)
        power = -power if match["sign"] == "/" else power
        try:
            size *= SYMBOLS[symbol].size ** power
        except OverflowError:
            size = math.inf
        dimension = multiply(dimension, raise_to(SYMBOLS[symbol].dimension, power))
        at = match.end()
    if not 0.0 < size < math.inf:
        raise ConditionError(f"the unit '{shortened(text)}' is too large or too small for a number")
    return Unit(size, dimension)


def multiply(left: Dimension, right: Dimension) -> Dimension:
    """Dimension of the product of two quantities."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def raise_to(dimension: Dimension, power: float) -> Dimension:
    """Dimension of a power of a quantity."""
    return tuple(a * power for a in dimension)


def si_text(dimension: Dimension) -> str:
    """The SI unit of a dimension in the usual notation: `m/s^2`, `N`, `1`."""
    for symbol, unit in SYMBOLS.items():
        if unit.dimension == dimension and unit.size == 1.0 and symbol != "Hz":
            return symbol

    def side(sign: float) -> list[str]:
        powers = [(base, sign * power) for base, power in zip(_BASES, dimension, strict=True) if sign * power > 0]
        return [base if power == 1 else f"{base}^{power:g}" for base, power in powers]

    return "/".join(["*".join(side(1)) or "1", *side(-1)])


def written_unit(dimension: Dimension) -> str:
    """The SI unit of a dimension as written after a number, `m^-1` for `1/m`; empty for half powers."""
    if any(power != round(power) for power in dimension):
        return ""
    above, *below = si_text(dimension).split("/")
    if above != "1" or not below:
        return "/".join([above, *below])
    base, _, power = below[0].partition("^")
    return "/".join([f"{base}^-{power or 1}", *below[1:]])
