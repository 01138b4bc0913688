"""Margins are those of RTAMT, offline in discrete time, on generated formulas and flights of different length."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.requirements.robustness import robustness, robustness_over_time
from ironbird.requirements.trace import Trace

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # typing.io in the parser that RTAMT uses
    rtamt = pytest.importorskip("rtamt", reason="RTAMT does not work with Python 3.13")

STEP_S = 0.02
UNITS = {"part.x": "1", "part/2/motor.y[1]": "1", "mode": "1"}
WORDS = {"hold": 1.0, "land": 2.0}

# A formula is a pair: our text, RTAMT's text. There `x`, `y` are the signals; `hold`, `land` are +inf or -inf.
Pair = tuple[str, str]


@st.composite
def terms(draw: st.DrawFn) -> Pair:
    kind = draw(st.sampled_from(["x", "y", "sum", "difference", "product", "abs", "root"]))
    number = draw(st.integers(-3, 3))
    return {
        "x": ("part.x", "x"),
        "y": ("part/2/motor.y[1]", "y"),
        "sum": (f"(part.x + {abs(number)})", f"(x + {abs(number)})"),
        "difference": ("(part.x - part/2/motor.y[1])", "(x - y)"),
        "product": (f"(part/2/motor.y[1] * {abs(number)})", f"(y * {abs(number)})"),
        "abs": ("abs(part.x)", "abs(x)"),
        "root": ("sqrt(abs(part.x))", "sqrt(abs(x))"),
    }[kind]


@st.composite
def comparisons(draw: st.DrawFn) -> Pair:
    if draw(st.integers(0, 4)) == 0:
        word = draw(st.sampled_from(sorted(WORDS)))
        return f"mode == {word}", f"({word} >= 0)"
    left, right = draw(terms()), draw(terms())
    operator = draw(st.sampled_from(["<", "<=", ">", ">="]))
    return f"{left[0]} {operator} {right[0]}", f"({left[1]} {operator} {right[1]})"


@st.composite
def intervals(draw: st.DrawFn) -> Pair:
    kind = draw(st.integers(0, 3))
    low = draw(st.integers(0, 12))
    high = low + draw(st.integers(0, 20))
    if kind == 0:
        return "", ""
    return f"[{low * STEP_S:.2f}, {high * STEP_S * 1000:.0f} ms]", f"[{low},{high}]"


@st.composite
def joined(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    kind = draw(
        st.sampled_from(["not", "and", "or", "implies", "window", "window", "window", "until", "until", "edge"])
    )
    a, b = draw(inner)
    if kind == "not":
        return f"not ({a})", f"(not ({b}))"
    if kind == "edge":
        edge = draw(st.sampled_from(["rise", "fall"]))
        return f"{edge}({a})", f"({edge}({b}))"
    when, there = draw(intervals())
    if kind == "window":
        window = draw(st.sampled_from(["always", "eventually", "once", "historically"]))
        return f"{window}{when} ({a})", f"({window}{there} ({b}))"
    c, d = draw(inner)
    if kind == "until":
        return f"({a}) until{when} ({c})", f"(({b}) until{there} ({d}))"
    return f"({a}) {kind} ({c})", f"(({b}) {kind} ({d}))"


formulas = st.recursive(comparisons(), joined, max_leaves=4)


def rtamt_margins(text: str, columns: dict[str, list[float]]) -> list[float]:
    specification: Any = rtamt.StlDiscreteTimeSpecification()
    for name in columns:
        specification.declare_var(name, "float")
    specification.spec = text
    specification.parse()
    data = {"time": list(range(len(columns["x"]))), **columns}
    return [margin for _, margin in specification.evaluate(data)]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(formula=formulas, seed=st.integers(0, 2**32 - 1), rows=st.integers(2, 30))
def test_margins_are_those_of_rtamt(formula: Pair, seed: int, rows: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(2, 3, rows)).round(1) * 3
    mode = random.integers(0, 3, (3, rows)).astype(float)
    valid = np.array([rows, random.integers(2, rows + 1), 2])
    for lane in range(3):  # what stands behind the end of a flight must not matter
        x[lane, valid[lane] :] = random.choice([math.nan, math.inf, -math.inf, 1e9])
    trace = Trace(np.arange(rows) * STEP_S, {"part.x": x, "part/2/motor.y[1]": y, "mode": mode}, valid)
    parsed = parse_formula(formula[0], Names(UNITS, words=WORDS))

    margins = robustness_over_time(parsed, trace)

    for lane in range(3):
        columns = {"x": x[lane, : valid[lane]].tolist(), "y": y[lane, : valid[lane]].tolist()}
        for word, number in WORDS.items():
            columns[word] = np.where(mode[lane, : valid[lane]] == number, math.inf, -math.inf).tolist()
        expected = rtamt_margins(formula[1], columns)
        # Both only add, subtract and choose: equal to the last bit.
        np.testing.assert_array_equal(margins[lane, : valid[lane]], expected)
        assert np.isnan(margins[lane, valid[lane] :]).all()
    np.testing.assert_array_equal(robustness(parsed, trace), margins[:, 0])
