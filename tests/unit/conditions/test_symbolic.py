"""Numbers of conditions as CasADi expressions are those that are computed from columns."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from ironbird.conditions.evaluate import values
from ironbird.conditions.formula import parse_number
from ironbird.conditions.names import Names
from ironbird.conditions.symbolic import expression

NAMES = Names({"a.x": "m", "b.y": "m", "c.z": "1"})
COLUMNS = {name: np.random.default_rng(k).uniform(0.1, 0.9, 50) for k, name in enumerate(NAMES.units)}


@pytest.mark.parametrize(
    "text",
    [
        "3 m", "-a.x + 2 km - b.y", "a.x * b.y / 3 s", "abs(a.x - b.y)", "sqrt(a.x * b.y)",
        "acos(c.z)",
        "cos(c.z * 1 rad) + sin(2 rad)", "min(a.x, b.y, 0.3 m) + max(a.x, b.y)", "hypot(a.x, b.y)",
        "norm(a.x, b.y, 2 m)",
    ],
)  # fmt: skip
def test_an_expression_is_what_the_language_computes(text: str) -> None:
    term = parse_number(text, NAMES)
    symbols = {name: ca.SX.sym("x") for name in NAMES.units}
    made = ca.Function("made", list(symbols.values()), [expression(term, symbols.__getitem__)])
    found = [float(made(*row)) for row in zip(*COLUMNS.values(), strict=True)]
    expected = np.broadcast_to(values(term, COLUMNS.__getitem__), 50)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)  # another library's cosine
