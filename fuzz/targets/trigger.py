"""Triggers of faults: conditions compiled for the kernel's stack machine."""

from __future__ import annotations

import warnings

from fuzz.names import WORDS as WORDS
from fuzz.names import f450_names
from fuzz.target import Refused, attempt, text_of
from ironbird.conditions.trigger import compile_trigger, unit_advice
from ironbird.errors import UnitsWarning
from ironbird.runtime.predicate import LONGEST, STACK, Predicate

MOST = 400
warnings.simplefilter("ignore", UnitsWarning)


def check(data: bytes) -> None:
    """What is accepted fits the kernel; with the units that it lacked it compiles to the same code."""
    text, names = text_of(data), f450_names()
    predicate = attempt(compile_trigger, text, names)
    if isinstance(predicate, Refused):
        return
    assert isinstance(predicate, Predicate)
    assert len(predicate.code) <= LONGEST and predicate.depth <= STACK
    predicate.check_rows(max(names.rows.values()) + 1)
    advice = unit_advice(text, names)
    if advice is not None and (advised := attempt(compile_trigger, advice, names)):
        # Longer than the old text, so it may be too long or too deep; else it must mean the same
        if isinstance(advised, Predicate):
            assert unit_advice(advice, names) is None, f"'{advice}' still lacks units"
        else:
            told = str(advised.error)
            assert any(word in told for word in ("more than", "deeply", "power")), f"'{advice}': {told}"
