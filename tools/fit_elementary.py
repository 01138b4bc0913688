"""Fit the polynomial coefficients of ``ib_math.h``.

Every polynomial of the elementary functions is a minimax fit on the reduced range of its
function, computed here with the Remez exchange algorithm at 60 digits (E. Remez, 1934; see
J.-M. Muller, "Elementary Functions: Algorithms and Implementation", chapter 3).  Nothing is
copied from another library.

Usage::

    python tools/fit_elementary.py                   print all coefficients as C literals
    python tools/fit_elementary.py --check ib_math.h ib_noise.h
                                                     verify that the headers hold these numbers
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60

Function = Callable[[mpf], mpf]

ERFC_SHIFT = mpf(2)  # the variable of the complementary error function is t = 2/(x + 2)


@dataclass(frozen=True)
class Fit:
    """One polynomial: minimise max of |weight * (function - polynomial)| on [low, high]."""

    name: str
    formula: str
    function: Function
    weight: Function
    low: mpf
    high: mpf
    terms: int


def solve_on(points: list[mpf], fit: Fit) -> list[mpf]:
    """Coefficients (and the levelled error) that equioscillate on the given points."""
    size = fit.terms + 1
    matrix = mp.matrix(size, size)
    right = mp.matrix(size, 1)
    for row, point in enumerate(points):
        for column in range(fit.terms):
            matrix[row, column] = point**column
        matrix[row, fit.terms] = (-1) ** row / fit.weight(point)
        right[row] = fit.function(point)
    return list(mp.lu_solve(matrix, right))


def horner(coefficients: list[mpf], point: mpf) -> mpf:
    """Value of the polynomial, lowest order first."""
    value = mpf(0)
    for coefficient in reversed(coefficients):
        value = value * point + coefficient
    return value


def remez(fit: Fit, rounds: int = 8, samples: int = 40) -> list[mpf]:
    """Minimax polynomial by Remez exchange: one extremum of the error between its zeros."""
    size = fit.terms + 1
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    points = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * size)) for i in range(size)]
    coefficients: list[mpf] = []
    for _ in range(rounds):
        solution = solve_on(points, fit)
        coefficients, level = solution[:-1], solution[-1]
        grid = [middle - half * mp.cos(mp.pi * i / (samples * size)) for i in range(samples * size + 1)]
        errors = [fit.weight(p) * (fit.function(p) - horner(coefficients, p)) for p in grid]
        extrema: list[tuple[mpf, mpf]] = []
        for point, error in zip(grid, errors, strict=True):
            if extrema and mp.sign(extrema[-1][1]) == mp.sign(error):
                if abs(error) > abs(extrema[-1][1]):
                    extrema[-1] = (point, error)
            else:
                extrema.append((point, error))
        while len(extrema) > size:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        if len(extrema) < size:
            break
        points = [point for point, _ in extrema]
        worst = max(abs(error) for _, error in extrema)
        if worst < abs(level) * mpf("1.01"):
            break
    return coefficients


def worst_error(coefficients: list[mpf], fit: Fit, samples: int = 500) -> float:
    """Largest weighted error, as a power of two."""
    span = fit.high - fit.low
    points = [fit.low + span * i / samples for i in range(samples + 1)]
    error = max(abs(fit.weight(p) * (fit.function(p) - horner(coefficients, p))) for p in points)
    return math.log2(float(error))


def series_near_zero(closed: Function, series: Function, limit: float) -> Function:
    """The closed form, replaced by its Taylor series where the closed form cancels."""
    return lambda p: series(p) if abs(p) < limit else closed(p)


def power_sum(term: Callable[[int], mpf], count: int = 12) -> Function:
    """The series sum of term(i) * p**i."""
    return lambda p: mp.fsum(term(i) * p**i for i in range(count))


def odd_remainder(function: Function, taylor: list[mpf]) -> Function:
    """(f(x)/x - 1) / x**2 as a function of z = x**2, for an odd f with slope 1."""

    def closed(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return (function(x) / x - 1) / z

    return series_near_zero(closed, lambda z: horner(taylor, z), 1e-6)


def relative_odd(function: Function) -> Function:
    """Weight that makes the error of x + x*z*p(z) relative to f(x)."""
    return lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)) if z > 0 else mpf("1e-40")


def taylor_of(function: Function, skip: int, count: int = 6) -> list[mpf]:
    """Every second Taylor coefficient of an odd or even function from order ``skip`` on."""
    with mp.workdps(120):
        return [c for c in mp.taylor(function, 0, skip + 2 * count)[skip::2]]


def erfc_scaled(x: mpf) -> mpf:
    """exp(x**2) * erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x)


def fits() -> list[Fit]:
    """All polynomials of the header."""
    quarter = mp.pi / 4 * mpf("1.0005")
    half_ln2 = mp.log(2) / 2 * mpf("1.0001")
    log_limit = (mpf((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) * mpf("1.00001")) ** 2
    tiny = mpf("1e-40")

    def exp_rest(r: mpf) -> mpf:
        return (mp.exp(r) - 1 - r) / r**2

    def log_rest(z: mpf) -> mpf:
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) / s - 2) / z

    def pow_rest(z: mpf) -> mpf:
        s = mp.sqrt(z)
        return (mp.atanh(s) / s - 1 - z / 3) / z**2

    def cos_rest(z: mpf) -> mpf:
        return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2

    def erf_rest(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return mp.erf(x) / x - 1

    def erfc_variable(t: mpf) -> mpf:
        return erfc_scaled(ERFC_SHIFT / t - ERFC_SHIFT) if t > 0 else mpf(0)

    def erfc_weight(t: mpf) -> mpf:
        x = ERFC_SHIFT / t - ERFC_SHIFT
        return mp.exp(-x * x) + mpf("1e-3") * mp.exp(-x)

    return [
        Fit(
            "SIN",
            "sin(r) = r + r z p(z), z = r^2, |r| <= pi/4",
            odd_remainder(mp.sin, taylor_of(mp.sin, 3)),
            relative_odd(mp.sin),
            mpf(0),
            quarter**2,
            6,
        ),
        Fit(
            "COS",
            "cos(r) = 1 - z/2 + z^2 p(z), z = r^2, |r| <= pi/4",
            series_near_zero(cos_rest, lambda z: horner(taylor_of(mp.cos, 4), z), 1e-6),
            lambda z: z * z + tiny,
            mpf(0),
            quarter**2,
            6,
        ),
        Fit(
            "TAN",
            "tan(r) = r + r z p(z), z = r^2, |r| <= pi/4",
            odd_remainder(mp.tan, taylor_of(mp.tan, 3)),
            relative_odd(mp.tan),
            mpf(0),
            quarter**2,
            14,
        ),
        Fit(
            "ATAN",
            "atan(u) = u + u z p(z), z = u^2, |u| <= 7/16",
            odd_remainder(mp.atan, taylor_of(mp.atan, 3)),
            relative_odd(mp.atan),
            mpf(0),
            mpf("0.4376") ** 2,
            11,
        ),
        Fit(
            "ASIN",
            "asin(s) = s + s z p(z), z = s^2 <= 1/4",
            odd_remainder(mp.asin, taylor_of(mp.asin, 3)),
            relative_odd(mp.asin),
            mpf(0),
            mpf("0.25"),
            12,
        ),
        Fit(
            "EXP",
            "exp(r) = 1 + r + r^2 p(r), |r| <= ln(2)/2",
            series_near_zero(exp_rest, power_sum(lambda i: 1 / mp.factorial(i + 2)), 1e-5),
            lambda r: r * r + mpf("0.002"),
            -half_ln2,
            half_ln2,
            10,
        ),
        Fit(
            "LOG",
            "log((1+s)/(1-s)) = 2 s + s z p(z), z = s^2, |s| <= 3 - 2 sqrt(2)",
            series_near_zero(log_rest, power_sum(lambda i: mpf(2) / (2 * i + 3)), 1e-6),
            lambda z: z / 2 + tiny,
            mpf(0),
            log_limit,
            7,
        ),
        Fit(
            "POW",
            "atanh(s) = s (1 + z/3 + z^2 p(z)), z = s^2, |s| <= 3 - 2 sqrt(2)",
            series_near_zero(pow_rest, power_sum(lambda i: mpf(1) / (2 * i + 5)), 1e-5),
            lambda z: z * z + tiny,
            mpf(0),
            log_limit,
            7,
        ),
        Fit(
            "ERF",
            "erf(x) = x + x p(z), z = x^2 <= 1",
            series_near_zero(erf_rest, lambda z: horner(taylor_of(mp.erf, 1), z) - 1, 1e-9),
            lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)) if z > 0 else mpf(1),
            mpf(0),
            mpf(1),
            12,
        ),
        Fit(
            "ERFC",
            "exp(x^2) erfc(x) = p(t), t = 2/(x + 2), 1 <= x <= 6",
            erfc_variable,
            erfc_weight,
            ERFC_SHIFT / (6 + ERFC_SHIFT),
            ERFC_SHIFT / (1 + ERFC_SHIFT),
            13,
        ),
    ]


def c_literal(value: mpf) -> str:
    """The nearest double as a C hexadecimal literal without trailing zeros."""
    text = float(value).hex()
    return re.sub(r"\.?0*p", "p", text)


def split_constant(value: mpf, bits: list[int]) -> list[float]:
    """Cody-Waite parts: each truncated below 2**-bit, the last one rounded to double."""
    parts: list[float] = []
    rest = value
    for bit in bits:
        part = mp.floor(rest * mpf(2) ** bit) / mpf(2) ** bit
        parts.append(float(part))
        rest -= part
    parts.append(float(rest))
    return parts


def constants() -> dict[str, list[float]]:
    """Constants that are stored in several parts."""
    return {
        "PIO2 for reduction": split_constant(mp.pi / 2, [32, 53, 86]),
        "LN2": split_constant(mp.log(2), [41]),
        "PI": [float(mp.pi), float(mp.pi - float(mp.pi))],
        "PI/2": [float(mp.pi / 2), float(mp.pi / 2 - float(mp.pi / 2))],
        "PI/4": [float(mp.pi / 4), float(mp.pi / 4 - float(mp.pi / 4))],
        "ATAN(1/2)": [float(mp.atan(0.5)), float(mp.atan(0.5) - float(mp.atan(0.5)))],
        "1/3": split_constant(mpf(1) / 3, [27]),
        "2/PI": [float(2 / mp.pi)],
        "1/LN2": [float(1 / mp.log(2))],
        "2*PI": [float(2 * mp.pi)],
    }


def main() -> int:
    """Print the table, or compare it with a header."""
    parser = argparse.ArgumentParser(description="Fit the polynomials of ib_math.h")
    parser.add_argument("--check", type=Path, nargs="+", help="headers in which every number must occur")
    arguments = parser.parse_args()
    header = "".join(path.read_text(encoding="utf-8") for path in arguments.check or [])
    missing = 0
    for name, parts in constants().items():
        literals = [c_literal(mpf(part)) for part in parts]
        print(f"{name}\n    " + ",\n    ".join(literals))
        missing += sum(literal not in header for literal in literals)
    for fit in fits():
        coefficients = [mpf(float(c)) for c in remez(fit)]
        literals = [c_literal(c) for c in coefficients]
        print(f"{fit.name}: {fit.formula}; fit error 2^{worst_error(coefficients, fit):.1f}")
        print("    " + ",\n    ".join(literals))
        missing += sum(literal not in header for literal in literals)
    if arguments.check and missing:
        print(f"{missing} numbers do not occur in the headers")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
