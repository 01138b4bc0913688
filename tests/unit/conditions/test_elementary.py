"""Functions of conditions have the bits of the kernel, and so the same bits on every machine."""

from __future__ import annotations

import ctypes
import functools

import mpmath
import numpy as np
import pytest

from ironbird.compiler import native
from ironbird.conditions import elementary

TEXT = """
#include "ib_math.h"
#define EXPORT __attribute__((visibility("default")))
#define ONE(name, value) EXPORT void name(const double *a, const double *b, double *to, long n) \
    { for (long i = 0; i < n; ++i) to[i] = value; }
ONE(run_cos, ib_cos(a[i]))
ONE(run_sin, ib_sin(a[i]))
ONE(run_acos, ib_acos(ib_at_least(ib_at_most(a[i], 1.0), -1.0)))
ONE(run_hypot, ib_hypot(a[i], b[i]))
"""
SPECIAL = np.array([
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.0 + 2**-52, -1.0 - 2**-52, np.pi, -np.pi / 2, 1e-320, 1e6, -1.6e6, 2.0**40,
    2.0**41, 1e300, -1e-300, 1e155, np.inf, -np.inf, np.nan,
])  # fmt: skip


@functools.cache
def kernel() -> ctypes.CDLL:
    return native.load(TEXT, 1)


def by_kernel(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found, run = np.empty_like(a), getattr(kernel(), f"run_{name}")
    run.argtypes, run.restype = [ctypes.c_void_p] * 3 + [ctypes.c_long], None
    run(a.ctypes.data, b.ctypes.data, found.ctypes.data, len(a))
    return found


@pytest.mark.parametrize("name", ["cos", "sin", "acos", "hypot"])
def test_bits_are_those_of_the_kernel(name: str) -> None:
    random = np.random.default_rng(1)
    wide = random.normal(size=200_000) * 10.0 ** random.uniform(-12, 9, 200_000)
    inside = random.uniform(-1.2, 1.2, 200_000)
    a = np.concatenate([wide, inside, np.repeat(SPECIAL, len(SPECIAL))])
    b = np.concatenate([inside, wide, np.tile(SPECIAL, len(SPECIAL))])
    with np.errstate(all="ignore"):
        found = getattr(elementary, name)(*((a, b) if name == "hypot" else (a,)))
    expected = by_kernel(name, a, b)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    real = ~np.isnan(expected)
    assert found[real].tobytes() == expected[real].tobytes()


@pytest.mark.parametrize("name", ["cos", "sin", "acos"])
def test_values_are_those_of_mpmath(name: str) -> None:
    arguments = np.linspace(-0.999, 0.999, 101) if name == "acos" else np.linspace(-30.0, 30.0, 101)
    expected = [float(getattr(mpmath, name)(mpmath.mpf(float(x)))) for x in arguments]
    np.testing.assert_allclose(getattr(elementary, name)(arguments), expected, rtol=4e-16, atol=1e-16)


def test_a_single_number_is_taken_too() -> None:
    assert float(elementary.cos(np.asarray(0.0))) == 1.0 and float(elementary.sin(np.asarray(-0.0))) == 0.0
    assert float(elementary.hypot(np.asarray(3.0), np.asarray(-4.0))) == 5.0
