"""Requirements: the language of conditions, read and judged on a short trace."""

from __future__ import annotations

import numpy as np

from fuzz.names import WORDS as WORDS
from fuzz.names import f450_names
from fuzz.target import Refused, attempt, now_and_then, text_of
from ironbird.conditions.formula import Formula, parse_formula
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace

MOST = 400
ROWS, STEP_S = 8, 0.5
COLUMN = np.random.default_rng(1).normal(scale=10.0, size=(1, ROWS))
_again = now_and_then(16)


def check(data: bytes) -> None:
    """What is accepted reads the same again, and has a margin that is a number."""
    text = text_of(data)
    formula = attempt(parse_formula, text, f450_names())
    if isinstance(formula, Refused):
        return
    assert not _again() or parse_formula(text, f450_names()) == formula, "the same text reads differently"
    assert isinstance(formula, Formula)
    columns = {name: COLUMN for name in formula.signals if name != "time"}
    margin = robustness(formula, Trace(STEP_S * np.arange(ROWS), columns, np.array([ROWS])))
    assert not np.isnan(margin).any(), "a margin is no number"
