"""Sine, cosine, arc cosine and hypotenuse of columns, with the bits of the kernel (compiler/c/ib_math.h).

NumPy's own functions differ in the last digit between processors, because it uses different code on each. This module
uses only operations that IEEE 754 rounds uniquely, in the order of the kernel: a margin is the same number on every
machine, in one lane and in many, and triggers and requirements have the same values. Angles above 2^40 rad give NaN, as
in the kernel.
"""

from __future__ import annotations

import numpy as np

_MAGIC = float.fromhex("0x1.8p52")  # adding it rounds to a whole number in the low bits
_TWO_BY_PI = float.fromhex("0x1.45f306dc9c883p-1")
_HALF_PI = [float.fromhex(t) for t in ("0x1.921fb544p+0", "0x1.0b46p-34", "0x1.1a626331p-54", "0x1.1701b839a252p-88")]
_MOST = 2.0**40
_PI_HIGH, _PI_LOW = float.fromhex("0x1.921fb54442d18p+1"), float.fromhex("0x1.1a62633145c07p-53")
_SINE = (
    ("-0x1.5555555555548p-3", "-0x1.a01a019bf9b7fp-13", "-0x1.ae5e57810c6a8p-26"),
    ("0x1.111111110f7bp-7", "0x1.71de3564094bap-19", "0x1.5d8ee772117d9p-33"),
)
_COSINE = (
    ("0x1.555555555554cp-5", "0x1.a01a019caef52p-16", "0x1.1ee9ea6d23553p-29"),
    ("-0x1.6c16c16c15162p-10", "-0x1.27e4f807d708fp-22", "-0x1.8fadd085d8478p-37"),
)
_ARC = (
    ("0x1.555555555539p-3", "0x1.6db6db427eca3p-5", "0x1.6e89f45d8934ep-6",
     "0x1.c6fde08ea8936p-7", "0x1.abd5bfb2b0829p-8", "-0x1.09cca2f6e4d22p-6"),
    ("0x1.333333336e791p-4", "0x1.f1c72c37a9db5p-6", "0x1.1c6be0032b663p-6",
     "0x1.8ec2397a10e99p-7", "0x1.3ff068f2f2e3p-6", "0x1.056b3bb8c437dp-5"),
)  # fmt: skip


def cos(x: np.ndarray) -> np.ndarray:
    """Cosine of each entry (rad), with the kernel's bits (ib_cos)."""
    quadrant, sine, cosine = _in_quadrant(x)
    return _flipped(np.where(quadrant & 1, sine, cosine), (quadrant + np.uint64(1)) & 2)


def sin(x: np.ndarray) -> np.ndarray:
    """Sine of each entry (rad), with the kernel's bits (ib_sin)."""
    quadrant, sine, cosine = _in_quadrant(x)
    return _flipped(np.where(quadrant & 1, cosine, sine), ((quadrant & 2) != 0) ^ np.signbit(x))


def acos(x: np.ndarray) -> np.ndarray:
    """Arc cosine of each entry in rad (ib_acos); arguments beyond 1 or -1 count as 1 or -1."""
    x = np.minimum(np.maximum(x, -1.0), 1.0)  # entries of a rotation matrix can be 1 + 1e-16
    a, left = np.abs(x), np.signbit(x)
    big = a > 0.5
    half = (1.0 - a) * 0.5
    z = np.where(big, half, a * a)
    s = np.where(big, 2.0 * np.sqrt(half), a)
    rest = s * (z * _polynomial(z, _ARC))
    flip = left ^ ~big
    v, low = _flipped(s, flip), _flipped(rest, flip)
    high = np.where(big, np.where(left, _PI_HIGH, 0.0), 0.5 * _PI_HIGH)
    t = high + v
    error = (high - t) + v
    return t + (error + (np.where(big, np.where(left, _PI_LOW, 0.0), 0.5 * _PI_LOW) + low))


def hypot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Root of the sum of two squares (ib_hypot), without overflow."""
    ax, ay = np.abs(x), np.abs(y)
    top = np.where(ax < ay, ay, ax)
    large, tiny = top > 2.0**500, top < 2.0**-400
    down = np.where(large, 2.0**-600, np.where(tiny, 2.0**600, 1.0))
    ax, ay = ax * down, ay * down
    return np.sqrt(ax * ax + ay * ay) * np.where(large, 2.0**600, np.where(tiny, 2.0**-600, 1.0))


def _in_quadrant(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quadrant of each angle's absolute value, and sine and cosine of the remainder (ib_reduce, ib_sincos_quadrant)."""
    a = np.abs(np.asarray(x, np.float64))
    t = np.asarray(a * _TWO_BY_PI + _MAGIC)
    n = t - _MAGIC
    r1 = (a - n * _HALF_PI[0]) - n * _HALF_PI[1]
    w = n * _HALF_PI[2]
    r2 = r1 - w
    c = n * _HALF_PI[3] - ((r1 - r2) - w)
    r = np.where(a > _MOST, np.nan, r2 - c)
    z = r * r
    sine = r + r * (z * _polynomial(z, _SINE))
    cosine = 1.0 - z * (0.5 - z * _polynomial(z, _COSINE))
    return t.view(np.uint64), sine, cosine


def _polynomial(z: np.ndarray, parts: tuple[tuple[str, ...], tuple[str, ...]]) -> np.ndarray:
    """Polynomial in z, even and odd terms as two chains, lowest order first (the kernel's order of operations)."""
    z2 = z * z
    even, odd = (_chain(z2, part) for part in parts)
    return even + z * odd


def _chain(x: np.ndarray, factors: tuple[str, ...]) -> np.ndarray:
    *lower, top = [float.fromhex(text) for text in factors]
    total = np.full_like(x, top)
    for factor in reversed(lower):
        total = total * x + factor
    return total


def _flipped(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.where(where, -x, x)
