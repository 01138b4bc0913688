"""Accuracy, special values and reproducibility of ``ib_math.h`` and ``ib_noise.h``.

The headers are compiled into small shared libraries: one lane, eight lanes, and one lane with
the software rounding that processors without a rounding instruction use.  References are mpmath
with 50 digits on a few thousand arguments per function and, where the platform has a long double
with 64 bits, its library functions (good to about 0.001 ulp of a double) on 200,000 arguments.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ironbird

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

HEADERS = Path(ironbird.__file__).parent / "compiler" / "c"
FLAGS = [
    "-O2",
    "-ffreestanding",
    "-nostdlib",
    "-fno-math-errno",
    "-ffp-contract=off",
    "-fno-sanitize=all",
    "-shared",
    "-fPIC",
]
UNARY = [
    "sqrt", "fabs", "floor", "ceil", "sign", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "expm1",
    "log", "log1p", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "num", "truth",
]  # fmt: skip
BINARY = [
    "fmod", "remainder", "copysign", "fmin", "fmax", "atan2", "pow", "hypot",
    "lt", "le", "eq", "ne", "and", "or", "select",
]  # fmt: skip

WRAPPER = r"""
#include "ib_noise.h"
#if IB_W == 1
typedef double block;
typedef uint64_t word_block;
#define LANE(v, i) (v)
#else
typedef double block __attribute__((vector_size(8 * IB_W), aligned(8)));
typedef uint64_t word_block __attribute__((vector_size(8 * IB_W), aligned(8)));
#define LANE(v, i) ((v)[i])
#endif
#define GET(p) (*(const block *)(p))
#define PUT(p, v) (*(block *)(p) = (v))
#define ARGS const double *x, const double *y, double *out, double *more, long n
#define EACH for (long i = 0; i < n; i += IB_W)
#define UNARY(name, value) \
  void run_##name(ARGS) { (void)y; (void)more; EACH { ib_f a = GET(x + i); PUT(out + i, value); } }
#define BINARY(name, value) \
  void run_##name(ARGS) { (void)more; EACH { ib_f a = GET(x + i), b = GET(y + i); PUT(out + i, value); } }
#define F1(name) UNARY(name, ib_##name(a))
#define F2(name) BINARY(name, ib_##name(a, b))
#define MASK(name) BINARY(name, ib_num(ib_##name(a, b)))
F1(sqrt) F1(fabs) F1(floor) F1(ceil) F1(sign) F1(sin) F1(cos) F1(tan) F1(asin) F1(acos) F1(atan)
F1(exp) F1(expm1) F1(log) F1(log1p) F1(sinh) F1(cosh) F1(tanh) F1(asinh) F1(acosh) F1(atanh) F1(erf)
F2(fmod) F2(remainder) F2(copysign) F2(fmin) F2(fmax) F2(atan2) F2(pow) F2(hypot)
MASK(lt) MASK(le) MASK(eq) MASK(ne)
UNARY(num, ib_num(ib_not(ib_lt(a, ib_splat(0.0)))))
UNARY(truth, ib_num(ib_truth(a)))
BINARY(and, ib_num(ib_and(ib_truth(a), ib_truth(b))))
BINARY(or, ib_num(ib_or(ib_truth(a), ib_truth(b))))
void run_select(ARGS) {
  (void)more;
  EACH PUT(out + i, ib_select(ib_lt(GET(x + i), GET(y + i)), GET(x + i), ib_splat(-0.0)));
}
void run_bits(ARGS) {
  (void)y;
  EACH {
    ib_f a = GET(x + i);
    PUT(out + i, ib_as_f(ib_as_u(a) ^ UINT64_C(1)));
    PUT(more + i, ib_as_f((ib_u)(ib_as_i(a) + 1)));
  }
}
void run_sincos(ARGS) {
  (void)y;
  EACH { ib_f s, c; ib_sincos(GET(x + i), &s, &c); PUT(out + i, s); PUT(more + i, c); }
}
int any_nonzero(const double *x) { return ib_any(ib_truth(GET(x))); }
int lanes(void) { return IB_W; }
void philox(const uint64_t *in, uint64_t *out) {
  ib_u r[4];
  ib_philox(ib_splat_u(in[0]), ib_splat_u(in[1]), ib_splat_u(in[2]), ib_splat_u(in[3]),
            ib_splat_u(in[4]), ib_splat_u(in[5]), r);
  for (int i = 0; i < 4; ++i) out[i] = LANE(r[i], IB_W - 1);
}
#define NOISE(name) \
  void name(const uint64_t *seeds, uint64_t stream, uint64_t tick, uint32_t pair, long step, \
            double *a, double *b, long n) { \
    EACH { \
      ib_f s, t; \
      ib_##name(*(const word_block *)(seeds + i), stream, tick + (uint64_t)(step * i), pair, &s, &t); \
      PUT(a + i, s); \
      PUT(b + i, t); \
    } \
  }
NOISE(uniform2)
NOISE(normal2)
"""


def compile_library(folder: Path, name: str, source: str, *extra: str) -> subprocess.CompletedProcess[str]:
    """Compile C text into folder/name with the flags of the project."""
    text = folder / f"{name}.c"
    text.write_text(source, encoding="utf-8")
    defined = ["-Wl,--no-undefined"] if sys.platform == "linux" else []
    files = [f"-I{HEADERS}", str(text), "-o", str(folder / name)]
    command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *defined, *extra, *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    """Address of the first element."""
    return ctypes.c_void_p(array.ctypes.data)


class Library:
    """One compiled variant of the headers."""

    def __init__(self, path: Path) -> None:
        self.handle = ctypes.CDLL(str(path))
        self.lanes = int(self.handle.lanes())

    def both(self, name: str, x: npt.ArrayLike, y: npt.ArrayLike = 0.0) -> tuple[Doubles, Doubles]:
        """Apply a wrapper to all elements; the wrapper may have two results."""
        first, second = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        size = first.size
        padded = -(-size // self.lanes) * self.lanes
        arguments = np.ones((4, padded))
        arguments[0, :size] = first.ravel()
        arguments[1, :size] = second.ravel()
        function = getattr(self.handle, f"run_{name}")
        function(*(pointer(row) for row in arguments), ctypes.c_long(padded))
        return arguments[2, :size].copy(), arguments[3, :size].copy()

    def call(self, name: str, x: npt.ArrayLike, y: npt.ArrayLike = 0.0) -> Doubles:
        """Apply a function to all elements."""
        return self.both(name, x, y)[0]

    def one(self, name: str, x: float, y: float = 0.0) -> float:
        """Apply a function to one number."""
        return float(self.call(name, x, y)[0])

    def philox(self, key: list[int], counter: list[int]) -> list[int]:
        """Four words of the generator."""
        given_words = np.array(key + counter, np.uint64)
        result = np.zeros(4, np.uint64)
        self.handle.philox(pointer(given_words), pointer(result))
        return [int(word) for word in result]

    def noise(
        self, kind: str, seeds: npt.ArrayLike, stream: int = 0, tick: int = 0, pair: int = 0, step: int = 0
    ) -> tuple[Doubles, Doubles]:
        """Pairs of random numbers, one pair per seed; step advances the tick from block to block."""
        words = np.ascontiguousarray(seeds, np.uint64)
        a, b = np.empty(words.size), np.empty(words.size)
        function = getattr(self.handle, kind)
        function(
            pointer(words),
            ctypes.c_uint64(stream),
            ctypes.c_uint64(tick),
            ctypes.c_uint32(pair),
            ctypes.c_long(step),
            pointer(a),
            pointer(b),
            ctypes.c_long(words.size),
        )
        return a, b


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Library]:
    """The compiled variants by name."""
    folder = tmp_path_factory.mktemp("elementary")
    variants = {"one": ["-DIB_W=1"], "eight": ["-DIB_W=8"], "portable": ["-DIB_W=1", "-DIB_NO_ROUND"]}
    result: dict[str, Library] = {}
    for name, options in variants.items():
        build = compile_library(folder, f"{name}.so", WRAPPER, "-Wall", "-Wextra", "-Wno-psabi", *options)
        assert build.returncode == 0, build.stderr
        assert "warning" not in build.stderr, build.stderr
        result[name] = Library(folder / f"{name}.so")
    return result


@pytest.fixture(scope="module")
def library(libraries: dict[str, Library]) -> Library:
    """The eight lane variant; the others are compared with it bit by bit."""
    return libraries["eight"]


# ---- Accuracy ---------------------------------------------------------------------------------

Sampler = Callable[[np.random.Generator, int], Doubles]


def even(low: float, high: float) -> Sampler:
    """Evenly distributed arguments."""
    return lambda rng, count: rng.uniform(low, high, count)


def wide(low: float, high: float) -> Sampler:
    """Positive arguments, evenly distributed in the logarithm."""
    return lambda rng, count: np.clip(np.exp(rng.uniform(np.log(low), np.log(high), count)), low, high)


def signed(sampler: Sampler) -> Sampler:
    """The same with random signs."""
    return lambda rng, count: sampler(rng, count) * rng.choice([-1.0, 1.0], count)


def above(offset: float, sampler: Sampler) -> Sampler:
    """The same, shifted."""
    return lambda rng, count: offset + sampler(rng, count)


def near_quarter_turns(rng: np.random.Generator, count: int) -> Doubles:
    """The doubles nearest to multiples of pi/2 up to 1e6, among them the 16 closest ones."""
    closest = [29, 58, 116, 232, 464, 928, 1856, 204551, 1, 3712, 409102, 2, 29327, 7424, 14479, 3]
    multiples = np.concatenate([closest, rng.integers(1, 636619, count)])[:count]
    return np.array([float(int(k) * mp.pi / 2) for k in multiples])


@dataclass(frozen=True)
class Accuracy:
    """Reference, arguments and the bound in ulp of one function of one argument."""

    name: str
    bound: float
    reference: Callable[..., Any]
    fast: Callable[..., Any] | None
    samplers: tuple[Sampler, ...]


TURNS = (even(-4.0, 4.0), even(-1e6, 1e6), signed(wide(1e-12, 1e6)), near_quarter_turns)
UNIT = (even(-1.0, 1.0), signed(wide(1e-12, 1.0)), lambda rng, count: 1.0 - wide(1e-16, 0.5)(rng, count))
TINY = signed(wide(1e-300, 1e-3))

ACCURACY = [
    Accuracy("sqrt", 0.5001, mp.sqrt, np.sqrt, (wide(1e-308, 1e308), even(0.0, 4.0))),
    Accuracy("sin", 1.6, mp.sin, np.sin, (*TURNS, TINY)),
    Accuracy("cos", 1.6, mp.cos, np.cos, TURNS),
    Accuracy("tan", 1.6, mp.tan, np.tan, (*TURNS, TINY)),
    Accuracy("asin", 1.35, mp.asin, np.arcsin, (*UNIT, TINY)),
    Accuracy("acos", 1.3, mp.acos, np.arccos, UNIT),
    Accuracy("atan", 0.95, mp.atan, np.arctan, (even(-3.0, 3.0), signed(wide(1e-300, 1e300)))),
    Accuracy("exp", 1.05, mp.exp, np.exp, (even(-1.0, 1.0), even(-708.0, 709.7), TINY)),
    Accuracy("expm1", 1.3, mp.expm1, np.expm1, (even(-1.0, 1.0), even(-50.0, 709.7), TINY)),
    Accuracy("log", 1.0, mp.log, np.log,
             (even(0.4, 2.5), wide(1e-320, 1e308), above(1.0, signed(wide(1e-15, 0.5))))),
    Accuracy("log1p", 1.0, mp.log1p, np.log1p, (even(-0.99, 3.0), wide(1e-20, 1e308), TINY)),
    Accuracy("sinh", 1.6, mp.sinh, np.sinh, (even(-2.0, 2.0), even(-710.4, 710.4), TINY)),
    Accuracy("cosh", 0.85, mp.cosh, np.cosh, (even(-2.0, 2.0), even(-710.4, 710.4))),
    Accuracy("tanh", 1.6, mp.tanh, np.tanh, (even(-2.0, 2.0), even(-30.0, 30.0), TINY)),
    Accuracy("asinh", 1.4, mp.asinh, np.arcsinh, (even(-3.0, 3.0), signed(wide(1e-10, 1e308)), TINY)),
    Accuracy("acosh", 1.9, mp.acosh, np.arccosh,
             (even(1.0, 3.0), wide(1.0, 1e308), above(1.0, wide(1e-15, 0.1)))),
    Accuracy("atanh", 1.8, mp.atanh, np.arctanh, (*UNIT, TINY)),
    Accuracy("erf", 1.5, mp.erf, None, (even(-1.0, 1.0), even(-6.5, 6.5), even(1.0, 1.3), TINY)),
]  # fmt: skip
BY_NAME = {case.name: case for case in ACCURACY}


def ulp_error(value: float, exact: Any) -> float:
    """Error in units in the last place of the exact value."""
    if exact == 0:
        return 0.0 if value == 0 else math.inf
    exponent = int(mp.frexp(exact)[1])
    unit = mp.ldexp(mp.mpf(1), max(exponent - 53, -1074))
    return float(abs(mp.mpf(value) - exact) / unit)


def worst_of(values: Doubles, exact: list[Any]) -> tuple[float, int]:
    """Largest error and its position."""
    errors = [ulp_error(float(value), reference) for value, reference in zip(values, exact, strict=True)]
    index = int(np.argmax(errors))
    return errors[index], index


def fast_worst(values: Doubles, exact: npt.NDArray[np.longdouble]) -> tuple[float, int]:
    """Largest error against a long double reference."""
    unit = np.spacing(np.abs(exact.astype(np.float64))).astype(np.longdouble)
    errors = np.abs(values.astype(np.longdouble) - exact) / unit
    index = int(np.argmax(errors))
    return float(errors[index]), index


def samples(case: Accuracy, count: int) -> Doubles:
    """Arguments from all distributions of a case."""
    rng = np.random.default_rng(7)
    return np.concatenate([sampler(rng, count // len(case.samplers)) for sampler in case.samplers])


@pytest.fixture(autouse=True)
def fifty_digits() -> Iterator[None]:
    """Precision of the reference."""
    with mp.workdps(50):
        yield


extended = pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="no 80-bit long double here")


@pytest.mark.parametrize("case", ACCURACY, ids=lambda case: case.name)
def test_error_stays_below_the_stated_bound(library: Library, case: Accuracy) -> None:
    x = samples(case, 2000)
    error, index = worst_of(library.call(case.name, x), [case.reference(mp.mpf(float(v))) for v in x])
    assert error <= case.bound, f"{case.name}({x[index]!r}) is wrong by {error:.3f} ulp"


@extended
@pytest.mark.parametrize("case", [case for case in ACCURACY if case.fast], ids=lambda case: case.name)
def test_error_stays_below_the_stated_bound_on_dense_arguments(library: Library, case: Accuracy) -> None:
    assert case.fast is not None
    quick = tuple(sampler for sampler in case.samplers if sampler is not near_quarter_turns)
    x = samples(replace(case, samplers=quick), 200_000)
    error, index = fast_worst(library.call(case.name, x), case.fast(x.astype(np.longdouble)))
    assert error <= case.bound + 0.01, f"{case.name}({x[index]!r}) is wrong by {error:.3f} ulp"


POWERS: list[tuple[str, Sampler, Sampler | None]] = [
    ("moderate base and exponent", wide(0.5, 2.0), even(-300.0, 300.0)),
    ("any base, small exponent", wide(1e-300, 1e300), even(-0.99, 0.99)),
    ("base near one, huge exponent", above(1.0, signed(wide(1e-14, 0.3))), None),
    ("base at the edges of the reduced range", wide(0.70, 1.43), None),
]


@pytest.mark.parametrize(("base", "exponent"), [row[1:] for row in POWERS], ids=[row[0] for row in POWERS])
def test_power_is_good_to_1_5_ulp_over_the_whole_exponent_range(
    library: Library, base: Sampler, exponent: Sampler | None
) -> None:
    rng = np.random.default_rng(11)
    x = base(rng, 2000)
    y = exponent(rng, 2000) if exponent else rng.uniform(-690.0, 690.0, 2000) / np.log(x)
    exact = [mp.power(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(x, y, strict=True)]
    error, index = worst_of(library.call("pow", x, y), exact)
    assert error <= 1.5, f"pow({x[index]!r}, {y[index]!r}) is wrong by {error:.3f} ulp"


PAIRS = {"plain": even(-1.0, 1.0), "wide": signed(wide(1e-100, 1e100)), "large": signed(wide(1e290, 8e307))}


@pytest.mark.parametrize("pairs", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize(("name", "bound"), [("atan2", 1.6), ("hypot", 1.25)])
def test_functions_of_two_arguments_stay_below_the_stated_bound(
    library: Library, name: str, bound: float, pairs: Sampler
) -> None:
    rng = np.random.default_rng(13)
    x, y = pairs(rng, 2000), pairs(rng, 2000)
    reference: Callable[..., Any] = getattr(mp, name)
    exact = [reference(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(x, y, strict=True)]
    error, index = worst_of(library.call(name, x, y), exact)
    assert error <= bound, f"{name}({x[index]!r}, {y[index]!r}) is wrong by {error:.3f} ulp"


@extended
@pytest.mark.parametrize(("name", "fast", "bound"), [("atan2", np.arctan2, 1.6), ("hypot", np.hypot, 1.25)])
def test_functions_of_two_arguments_stay_below_the_stated_bound_on_dense_arguments(
    library: Library, name: str, fast: Callable[..., Any], bound: float
) -> None:
    rng = np.random.default_rng(17)
    x = np.concatenate([even(-1.0, 1.0)(rng, 100_000), signed(wide(1e-5, 1e5))(rng, 100_000)])
    y = np.concatenate([even(-1.0, 1.0)(rng, 100_000), signed(wide(1e-5, 1e5))(rng, 100_000)])
    exact = fast(x.astype(np.longdouble), y.astype(np.longdouble))
    error, index = fast_worst(library.call(name, x, y), exact)
    assert error <= bound + 0.01, f"{name}({x[index]!r}, {y[index]!r}) is wrong by {error:.3f} ulp"


def test_sine_and_cosine_of_large_angles_are_those_of_an_angle_within_one_ulp(library: Library) -> None:
    x = wide(1.7e6, 2.0**40)(np.random.default_rng(19), 2000)
    sine, cosine = library.both("sincos", x)
    for angle, s, c in zip(x, sine, cosine, strict=True):
        limit = float(np.spacing(angle)) + 2.0**-52
        assert abs(float(mp.sin(mp.mpf(float(angle))) - s)) <= limit
        assert abs(float(mp.cos(mp.mpf(float(angle))) - c)) <= limit


def test_sine_cosine_and_tangent_refuse_angles_above_2_to_the_40(library: Library) -> None:
    x = np.array([2.0**40 * 1.0000001, -1e15, 1e300, math.inf, -math.inf])
    for name in ("sin", "cos", "tan"):
        assert np.isnan(library.call(name, x)).all()


def test_sincos_gives_the_bits_of_sin_and_cos(library: Library) -> None:
    x = samples(BY_NAME["sin"], 20_000)
    sine, cosine = library.both("sincos", x)
    assert sine.tobytes() == library.call("sin", x).tobytes()
    assert cosine.tobytes() == library.call("cos", x).tobytes()


def test_bounded_functions_do_not_leave_their_range(library: Library) -> None:
    x = np.concatenate([samples(BY_NAME[name], 50_000) for name in ("sin", "atan", "erf", "tanh")])
    x = np.clip(x, -(2.0**40), 2.0**40)
    for name, limit in {"sin": 1.0, "cos": 1.0, "erf": 1.0, "tanh": 1.0, "atan": math.pi / 2}.items():
        assert np.max(np.abs(library.call(name, x))) <= limit
    y = np.linspace(-1.0, 1.0, 100_001)
    assert np.max(np.abs(library.call("asin", y))) <= math.pi / 2
    assert 0.0 <= np.min(library.call("acos", y)) <= np.max(library.call("acos", y)) <= math.pi
    assert np.min(library.call("cosh", x)) >= 1.0


# ---- Special values ---------------------------------------------------------------------------

INF, NAN, TINIEST, HUGE = math.inf, math.nan, 5e-324, 1.7976931348623157e308
SPECIAL: list[tuple[str, float, float]] = [
    ("sqrt", 0.0, 0.0), ("sqrt", -0.0, -0.0), ("sqrt", -1.0, NAN), ("sqrt", INF, INF),
    ("sin", 0.0, 0.0), ("sin", -0.0, -0.0), ("cos", -0.0, 1.0), ("tan", -0.0, -0.0),
    ("sin", TINIEST, TINIEST), ("tan", -TINIEST, -TINIEST),
    ("asin", -0.0, -0.0), ("asin", 1.0, math.pi / 2), ("asin", -1.0, -math.pi / 2),
    ("asin", 1.0000000000000002, NAN), ("asin", -INF, NAN),
    ("acos", 1.0, 0.0), ("acos", -1.0, math.pi), ("acos", 0.0, math.pi / 2), ("acos", -2.0, NAN),
    ("atan", -0.0, -0.0), ("atan", 1.0, math.pi / 4), ("atan", INF, math.pi / 2),
    ("atan", -INF, -math.pi / 2),
    ("exp", 0.0, 1.0), ("exp", -0.0, 1.0), ("exp", INF, INF), ("exp", -INF, 0.0), ("exp", 709.79, INF),
    ("exp", HUGE, INF), ("exp", -745.2, 0.0), ("exp", -744.44, TINIEST),
    ("expm1", -0.0, -0.0), ("expm1", -INF, -1.0), ("expm1", INF, INF), ("expm1", -60.0, -1.0),
    ("log", 1.0, 0.0), ("log", 0.0, -INF), ("log", -0.0, -INF), ("log", -1.0, NAN), ("log", -INF, NAN),
    ("log", INF, INF), ("log", TINIEST, math.log(TINIEST)), ("log", HUGE, math.log(HUGE)),
    ("log1p", -0.0, -0.0), ("log1p", -1.0, -INF), ("log1p", -1.5, NAN), ("log1p", INF, INF),
    ("log1p", TINIEST, TINIEST),
    ("sinh", -0.0, -0.0), ("sinh", INF, INF), ("sinh", -INF, -INF), ("sinh", 710.48, INF),
    ("cosh", 0.0, 1.0), ("cosh", -INF, INF), ("cosh", -710.48, INF),
    ("tanh", -0.0, -0.0), ("tanh", INF, 1.0), ("tanh", -INF, -1.0), ("tanh", 25.0, 1.0),
    ("asinh", -0.0, -0.0), ("asinh", INF, INF), ("asinh", -INF, -INF),
    ("acosh", 1.0, 0.0), ("acosh", INF, INF), ("acosh", 0.999, NAN), ("acosh", -1e9, NAN),
    ("acosh", -INF, NAN),
    ("atanh", -0.0, -0.0), ("atanh", 1.0, INF), ("atanh", -1.0, -INF), ("atanh", 1.5, NAN),
    ("atanh", INF, NAN),
    ("erf", -0.0, -0.0), ("erf", INF, 1.0), ("erf", -INF, -1.0), ("erf", 6.0, 1.0),
    ("fabs", -0.0, 0.0), ("fabs", -INF, INF), ("sign", -0.0, -0.0), ("sign", -3.0, -1.0), ("sign", INF, 1.0),
    ("sign", TINIEST, 1.0), ("floor", -0.0, -0.0), ("floor", -INF, -INF), ("ceil", -0.5, -0.0),
    ("truth", 0.0, 0.0), ("truth", -0.0, 0.0), ("truth", NAN, 1.0), ("truth", TINIEST, 1.0),
]  # fmt: skip


def same(value: float, expected: float) -> bool:
    """Equal including the sign of zero; all NaN are equal."""
    if math.isnan(expected):
        return math.isnan(value)
    return value == expected and math.copysign(1.0, value) == math.copysign(1.0, expected)


@pytest.mark.parametrize("variant", ["one", "eight", "portable"])
def test_special_values_of_one_argument_are_those_of_c(libraries: dict[str, Library], variant: str) -> None:
    for name, x, expected in SPECIAL:
        value = libraries[variant].one(name, x)
        assert same(value, expected), f"{name}({x!r}) gives {value!r}, not {expected!r}"


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("num", "truth")])
def test_nan_goes_through_every_function_of_one_argument(library: Library, name: str) -> None:
    assert np.isnan(library.call(name, [NAN, -NAN])).all()


SPECIAL_PAIRS: list[tuple[str, float, float, float]] = [
    ("atan2", 0.0, 0.0, 0.0), ("atan2", -0.0, 0.0, -0.0), ("atan2", 0.0, -0.0, math.pi),
    ("atan2", -0.0, -0.0, -math.pi), ("atan2", 0.0, 5.0, 0.0), ("atan2", -0.0, -5.0, -math.pi),
    ("atan2", 3.0, 0.0, math.pi / 2), ("atan2", -3.0, -0.0, -math.pi / 2), ("atan2", 2.0, 2.0, math.pi / 4),
    ("atan2", 2.0, -2.0, 3 * math.pi / 4), ("atan2", -2.0, -2.0, -3 * math.pi / 4),
    ("atan2", INF, 1.0, math.pi / 2), ("atan2", 0.0, INF, 0.0), ("atan2", -INF, INF, -math.pi / 4),
    ("atan2", 1.0, -INF, math.pi), ("atan2", NAN, 1.0, NAN), ("atan2", 1.0, NAN, NAN),
    ("pow", 0.0, 0.0, 1.0), ("pow", NAN, 0.0, 1.0), ("pow", 1.0, NAN, 1.0), ("pow", NAN, 1.0, NAN),
    ("pow", 2.0, NAN, NAN), ("pow", 0.0, NAN, NAN), ("pow", INF, NAN, NAN), ("pow", 0.0, 2.0, 0.0),
    ("pow", -0.0, 3.0, -0.0), ("pow", -0.0, 2.0, 0.0), ("pow", 0.0, -1.0, INF), ("pow", -0.0, -3.0, -INF),
    ("pow", 0.0, 0.5, 0.0), ("pow", -8.0, 3.0, -512.0), ("pow", -8.0, 2.0, 64.0), ("pow", -8.0, 1 / 3, NAN),
    ("pow", -2.0, -1.0, -0.5), ("pow", 2.0, 10.0, 1024.0), ("pow", 10.0, 15.0, 1e15), ("pow", 3.0, 4.0, 81.0),
    ("pow", 2.0, -1074.0, TINIEST), ("pow", 2.0, 1024.0, INF), ("pow", 2.0, -1080.0, 0.0),
    ("pow", 0.5, INF, 0.0), ("pow", 2.0, INF, INF), ("pow", -1.0, INF, 1.0), ("pow", -1.0, 1e300, 1.0),
    ("pow", 2.0, -INF, 0.0), ("pow", INF, 1e-3, INF), ("pow", INF, -2.0, 0.0), ("pow", -INF, 3.0, -INF),
    ("pow", -1.0, 9007199254740991.0, -1.0), ("pow", HUGE, 1.0, HUGE),
    ("pow", 1.0000000000000002, 1e300, INF),
    ("pow", 0.9999999999999999, 1e300, 0.0),
    ("hypot", 3.0, -4.0, 5.0), ("hypot", 0.0, -0.0, 0.0), ("hypot", 3e300, 4e300, 5e300),
    ("hypot", INF, 1.0, INF),
    ("hypot", 3e-320, 4e-320, 5e-320), ("hypot", NAN, 1.0, NAN), ("hypot", HUGE, HUGE, INF),
    ("fmod", -0.0, 1.0, -0.0), ("fmod", 6.0, -3.0, 0.0), ("fmod", -6.0, 3.0, -0.0), ("fmod", 5.0, INF, 5.0),
    ("fmod", INF, 2.0, NAN), ("fmod", 1.0, 0.0, NAN), ("fmod", NAN, 1.0, NAN), ("fmod", 1.0, NAN, NAN),
    ("fmod", 1e300, 1.0, NAN), ("fmod", 0.0, 0.0, NAN),
    ("remainder", 5.0, 2.0, 1.0), ("remainder", 7.0, 2.0, -1.0), ("remainder", -5.0, 2.0, -1.0),
    ("remainder", 4.0, 2.0, 0.0), ("remainder", -4.0, 2.0, -0.0), ("remainder", 3.0, INF, 3.0),
    ("remainder", 1.0, 2.0, 1.0), ("remainder", 3.0, 2.0, -1.0), ("remainder", 1.0, 0.0, NAN),
    ("fmin", NAN, 1.0, 1.0), ("fmin", 1.0, NAN, 1.0), ("fmin", NAN, NAN, NAN), ("fmin", -1.0, 2.0, -1.0),
    ("fmax", NAN, 1.0, 1.0), ("fmax", 1.0, NAN, 1.0), ("fmax", NAN, NAN, NAN), ("fmax", -1.0, 2.0, 2.0),
    ("copysign", 3.0, -0.0, -3.0), ("copysign", -0.0, 2.0, 0.0),
    ("lt", 1.0, 2.0, 1.0), ("lt", 2.0, 2.0, 0.0), ("lt", NAN, 1.0, 0.0), ("le", 2.0, 2.0, 1.0),
    ("le", 1.0, NAN, 0.0), ("eq", 0.0, -0.0, 1.0), ("eq", NAN, NAN, 0.0), ("ne", NAN, NAN, 1.0),
    ("ne", 1.0, 1.0, 0.0), ("and", 1.0, 2.0, 1.0), ("and", 1.0, 0.0, 0.0), ("or", 0.0, -2.0, 1.0),
    ("or", 0.0, -0.0, 0.0), ("select", 1.0, 2.0, 1.0), ("select", 2.0, 1.0, -0.0), ("select", NAN, 1.0, -0.0),
]  # fmt: skip


@pytest.mark.parametrize("variant", ["one", "eight", "portable"])
def test_special_values_of_two_arguments_are_those_of_c(libraries: dict[str, Library], variant: str) -> None:
    for name, x, y, expected in SPECIAL_PAIRS:
        value = libraries[variant].one(name, x, y)
        assert same(value, expected), f"{name}({x!r}, {y!r}) gives {value!r}, not {expected!r}"


def test_underflow_of_the_exponential_is_gradual(library: Library) -> None:
    x = np.linspace(-745.0, -708.5, 500)
    error, _ = worst_of(library.call("exp", x), [mp.exp(mp.mpf(float(v))) for v in x])
    assert error <= 1.5


def test_bit_casts_change_the_bits_they_are_asked_to_change(library: Library) -> None:
    x = np.array([0.0, 1.0, -2.5, 1e300])
    flipped, next_up = library.both("bits", x)
    assert (flipped.view(np.uint64) == x.view(np.uint64) ^ np.uint64(1)).all()
    assert (next_up.view(np.int64) == x.view(np.int64) + 1).all()


def test_any_sees_a_single_lane(libraries: dict[str, Library]) -> None:
    for item in libraries.values():
        zeros = np.zeros(item.lanes)
        assert item.handle.any_nonzero(pointer(zeros)) == 0
        for lane in range(item.lanes):
            values = zeros.copy()
            values[lane] = -3.0
            assert item.handle.any_nonzero(pointer(values)) == 1


@pytest.mark.parametrize("variant", ["one", "eight", "portable"])
@pytest.mark.parametrize("name", ["floor", "ceil"])
def test_rounding_to_integers_is_exact(libraries: dict[str, Library], variant: str, name: str) -> None:
    rng = np.random.default_rng(23)
    below_half = math.nextafter(0.5, 0.0)
    edges = np.array([below_half, 0.5, 1.5, 2.5, 2.0**51 + 0.5, 2.0**52 - 0.5, 2.0**52, 2.0**53 + 2, 1e300])
    x = np.concatenate([signed(wide(1e-3, 1e17))(rng, 10_000), edges, -edges, np.arange(-20.0, 20.0, 0.25)])
    expected: Doubles = getattr(np, name)(x)
    assert libraries[variant].call(name, x).tobytes() == expected.tobytes()


FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
DIVISOR = st.floats(min_value=1e-280, max_value=1e300).flatmap(lambda y: st.sampled_from([y, -y]))


@settings(max_examples=500, deadline=None)
@given(y=DIVISOR, quotient=st.floats(min_value=-(2.0**52), max_value=2.0**52))
def test_fmod_and_remainder_are_exact(libraries: dict[str, Library], y: float, quotient: float) -> None:
    x = quotient * y
    if abs(x) > 1e300:
        return
    for item in libraries.values():
        assert same(item.one("fmod", x, y), math.fmod(x, y))
        assert same(item.one("remainder", x, y), math.remainder(x, y))


@settings(max_examples=500, deadline=None)
@given(whole=st.integers(0, 2**40), half=st.booleans(), y=st.sampled_from([1.0, 0.1, math.pi, 2 * math.pi]))
def test_fmod_and_remainder_are_exact_at_and_beside_multiples_of_half_the_divisor(
    library: Library, whole: int, half: bool, y: float
) -> None:
    middle = (whole + 0.5 * half) * y
    for x in (middle, math.nextafter(middle, math.inf), math.nextafter(middle, -math.inf)):
        assert same(library.one("fmod", x, y), math.fmod(x, y))
        assert same(library.one("remainder", x, y), math.remainder(x, y))


@settings(max_examples=300, deadline=None)
@given(x=FINITE)
def test_odd_functions_are_odd_and_even_functions_are_even(library: Library, x: float) -> None:
    for name in ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "sign"):
        assert same(library.one(name, -x), -library.one(name, x))
    for name in ("cos", "cosh", "fabs"):
        assert same(library.one(name, -x), library.one(name, x))


@settings(max_examples=300, deadline=None)
@given(x=FINITE, n=st.integers(-60, 60))
def test_power_of_a_negative_base_is_negative_for_odd_exponents(library: Library, x: float, n: int) -> None:
    positive = library.one("pow", abs(x), float(n))
    assert same(library.one("pow", -abs(x), float(n)), -positive if n % 2 else positive)


# ---- Same bits everywhere ---------------------------------------------------------------------


def bits_without_nan_payload(values: Doubles) -> bytes:
    """Bytes with every NaN replaced by the same one."""
    return np.where(np.isnan(values), np.nan, values).tobytes()


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_one_lane_and_eight_lanes_give_identical_bytes(libraries: dict[str, Library], name: str) -> None:
    rng = np.random.default_rng(29)
    count = 25_000
    parts = [
        even(-1.0, 1.0)(rng, count),
        signed(wide(1e-6, 1e6))(rng, count),
        even(0.5, 30.0)(rng, count),
        rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
    ]
    x = np.concatenate(parts)
    y = np.concatenate([rng.permutation(part) for part in parts])
    expected = bits_without_nan_payload(libraries["eight"].call(name, x, y))
    for variant in ("one", "portable"):
        assert bits_without_nan_payload(libraries[variant].call(name, x, y)) == expected


def test_a_lane_does_not_depend_on_its_neighbours(library: Library) -> None:
    rng = np.random.default_rng(31)
    x = signed(wide(1e-6, 1e6))(rng, 8000)
    order = rng.permutation(x.size)
    for name in UNARY:
        straight = library.call(name, x)[order]
        assert bits_without_nan_payload(straight) == bits_without_nan_payload(library.call(name, x[order]))


@pytest.mark.parametrize("cpu", ["x86_64_v3", "x86_64_v4"])
def test_eight_lanes_compile_to_packed_code_without_calls_or_fused_products(tmp_path: Path, cpu: str) -> None:
    source = tmp_path / "wrapper.c"
    source.write_text(WRAPPER, encoding="utf-8")
    assembly = tmp_path / "wrapper.s"
    options = ["-S", "-target", "x86_64-linux-musl", f"-mcpu={cpu}", "-DIB_W=8", "-Wno-psabi", f"-I{HEADERS}"]
    compile_flags = [flag for flag in FLAGS if flag not in ("-shared", "-nostdlib")]
    command = [sys.executable, "-m", "ziglang", "cc", *compile_flags, *options]
    subprocess.run([*command, str(source), "-o", str(assembly)], capture_output=True, check=True)
    lines = assembly.read_text(encoding="utf-8", errors="replace").splitlines()
    operations = [line.split() for line in lines if line.startswith("\t")]
    names = [words[0] for words in operations if words]
    assert names.count("vmulpd") > 400
    assert names.count("vmulpd") > 20 * names.count("vmulsd")
    assert names.count("vsqrtpd") > 0
    assert names.count("vpmuludq") > 0
    assert not [name for name in names if name.startswith(("vfm", "vfnm"))]
    calls = [words[1] for words in operations if words and words[0].startswith("call")]
    assert not [target for target in calls if "ib_" not in target]


@pytest.mark.skipif(sys.platform != "linux", reason="the linker option is for ELF")
def test_libraries_have_no_undefined_external_symbols(libraries: dict[str, Library], tmp_path: Path) -> None:
    # Every library above was linked with --no-undefined; the control shows that this option bites.
    assert len(libraries) == 3
    control = "double sin(double);\ndouble control(double x) { return sin(x); }\n"
    build = compile_library(tmp_path, "control.so", control)
    assert build.returncode != 0
    assert "undefined symbol: sin" in build.stderr


# ---- Noise ------------------------------------------------------------------------------------

ONES = 0xFFFFFFFF
KNOWN_ANSWERS: list[tuple[list[int], list[int], list[int]]] = [
    ([0, 0], [0, 0, 0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([ONES, ONES], [ONES, ONES, ONES, ONES], [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0xA4093822, 0x299F31D0],
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize("variant", ["one", "eight"])
@pytest.mark.parametrize(("key", "counter", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_known_answers_of_random123(
    libraries: dict[str, Library], variant: str, key: list[int], counter: list[int], expected: list[int]
) -> None:
    assert libraries[variant].philox(key, counter) == expected


def plain_philox(key: list[int], counter: list[int]) -> list[int]:
    """Philox4x32-10 in Python integers."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & ONES, (p0 >> 32) ^ c3 ^ k1, p0 & ONES
        k0, k1 = (k0 + 0x9E3779B9) & ONES, (k1 + 0xBB67AE85) & ONES
    return [c0, c1, c2, c3]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1),
    stream=st.integers(0, 2**64 - 1),
    tick=st.integers(0, 2**56 - 1),
    pair=st.integers(0, 255),
)
def test_uniforms_follow_the_documented_layout_of_key_and_counter(
    libraries: dict[str, Library], seed: int, stream: int, tick: int, pair: int
) -> None:
    counter = [tick & ONES, (tick >> 32) | (pair << 24), stream & ONES, stream >> 32]
    words = plain_philox([seed & ONES, seed >> 32], counter)
    expected = [(((words[i] << 32 | words[i + 1]) >> 12) + 0.5) * 2.0**-52 for i in (0, 2)]
    for item in libraries.values():
        a, b = item.noise("uniform2", np.full(item.lanes, seed, np.uint64), stream, tick, pair)
        assert (a == expected[0]).all()
        assert (b == expected[1]).all()
        assert 0.0 < expected[0] < 1.0


def over_ticks(libraries: dict[str, Library], kind: str, count: int, **place: int) -> tuple[Doubles, Doubles]:
    """Pairs of successive ticks of one run."""
    seed = place.pop("seed", 20240607)
    return libraries["one"].noise(kind, np.full(count, seed, np.uint64), step=1, **place)


def test_one_lane_and_eight_lanes_give_the_same_noise(libraries: dict[str, Library]) -> None:
    seeds = np.random.default_rng(37).integers(0, 2**64, 8000, dtype=np.uint64)
    for kind in ("uniform2", "normal2"):
        single = libraries["one"].noise(kind, seeds, stream=9, tick=2**40 + 3, pair=2)
        packed = libraries["eight"].noise(kind, seeds, stream=9, tick=2**40 + 3, pair=2)
        assert single[0].tobytes() == packed[0].tobytes()
        assert single[1].tobytes() == packed[1].tobytes()


def test_normals_are_the_box_muller_transform_of_the_uniforms(libraries: dict[str, Library]) -> None:
    u, turns = over_ticks(libraries, "uniform2", 2000)
    a, b = over_ticks(libraries, "normal2", 2000)
    for i in range(2000):
        radius = mp.sqrt(-2 * mp.log(mp.mpf(float(u[i]))))
        assert abs(float(radius * mp.cos(2 * mp.pi * mp.mpf(float(turns[i]))) - a[i])) < 4e-15
        assert abs(float(radius * mp.sin(2 * mp.pi * mp.mpf(float(turns[i]))) - b[i])) < 4e-15


def kolmogorov(values: Doubles, cumulative: Doubles) -> float:
    """Kolmogorov-Smirnov statistic times the square root of the count, for sorted values."""
    count = values.size
    steps = np.arange(count + 1) / count
    distance = max(float(np.max(steps[1:] - cumulative)), float(np.max(cumulative - steps[:-1])))
    return distance * math.sqrt(count)


COUNT = 200_000


def test_uniforms_are_uniform(libraries: dict[str, Library]) -> None:
    for values in over_ticks(libraries, "uniform2", COUNT):
        ordered = np.sort(values)
        assert kolmogorov(ordered, ordered) < 1.95  # exceeded once in 1000
        assert abs(float(np.mean(values)) - 0.5) < 4 / math.sqrt(12 * COUNT)


def test_normals_have_the_moments_and_the_distribution_of_a_normal(libraries: dict[str, Library]) -> None:
    for values in over_ticks(libraries, "normal2", COUNT):
        assert abs(float(np.mean(values))) < 4 / math.sqrt(COUNT)
        assert abs(float(np.mean(values**2)) - 1.0) < 4 * math.sqrt(2 / COUNT)
        assert abs(float(np.mean(values**3))) < 4 * math.sqrt(15 / COUNT)
        assert abs(float(np.mean(values**4)) - 3.0) < 4 * math.sqrt(96 / COUNT)
        ordered = np.sort(values)
        cumulative = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in ordered])
        assert kolmogorov(ordered, cumulative) < 1.95


def looks_independent(first: Doubles, second: Doubles) -> bool:
    """No correlation of the values, of their squares, or of a value with the other's square."""
    limit = 4.5 / math.sqrt(first.size)
    pairs = [(first, second), (first**2, second**2), (first, second**2), (first**2, second)]
    return all(abs(float(np.corrcoef(p, q)[0, 1])) < limit for p, q in pairs)


def test_the_two_normals_of_a_pair_are_independent(libraries: dict[str, Library]) -> None:
    assert looks_independent(*over_ticks(libraries, "normal2", COUNT))


@pytest.mark.parametrize("lag", [1, 2, 3, 8, 100])
def test_neighbouring_ticks_are_independent(libraries: dict[str, Library], lag: int) -> None:
    for values in over_ticks(libraries, "normal2", COUNT):
        assert looks_independent(values[lag:], values[:-lag])


@pytest.mark.parametrize(
    "place",
    [
        {"stream": 1},
        {"stream": 2**32},
        {"seed": 20240608},
        {"seed": 20240607 + 2**32},
        {"pair": 1},
        {"tick": 2**32},
    ],
    ids=["stream", "stream high", "seed", "seed high", "pair", "tick high"],
)
def test_neighbouring_streams_seeds_and_pairs_are_independent(
    libraries: dict[str, Library], place: dict[str, int]
) -> None:
    base = over_ticks(libraries, "normal2", COUNT)
    other = over_ticks(libraries, "normal2", COUNT, **place)
    for first in base:
        for second in other:
            assert looks_independent(first, second)


def test_lanes_with_consecutive_seeds_are_independent(libraries: dict[str, Library]) -> None:
    a, b = libraries["eight"].noise("normal2", np.arange(COUNT, dtype=np.uint64), stream=5, tick=123)
    assert looks_independent(a[1:], a[:-1])
    assert looks_independent(b[1:], b[:-1])
    assert looks_independent(a, b)


def test_one_changed_seed_bit_changes_half_of_the_output_bits(libraries: dict[str, Library]) -> None:
    rng = np.random.default_rng(41)
    changed = total = 0
    for _ in range(50):
        key = [int(v) for v in rng.integers(0, 2**32, 2)]
        counter = [int(v) for v in rng.integers(0, 2**32, 4)]
        base = libraries["one"].philox(key, counter)
        for bit in range(64):
            other = list(key)
            other[bit // 32] ^= 1 << (bit % 32)
            words = libraries["one"].philox(other, counter)
            changed += sum((p ^ q).bit_count() for p, q in zip(base, words, strict=True))
            total += 128
    assert abs(changed / total - 0.5) < 0.005
