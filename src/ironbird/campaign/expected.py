"""The outcome that a case expects, and whether a flight had it.

`expect = "pass"`, `"fail"`, or `{ fail = ["no_crash"] }`, which names the requirements that are known to break. A
failure of another requirement, or one before any fault began, is a new failure and not as expected. In stores and files
of results a named expectation is one text: `fail: no_crash, geofence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ironbird.flight.ends import MISSION
from ironbird.flight.words import FAIL, PASS

if TYPE_CHECKING:
    from ironbird.flight.judge import Judged

NAMED = f"{FAIL}: "


def expected_text(expect: str | Mapping[str, Any] | None) -> str | None:
    """The text of an expectation as a case file has it."""
    return NAMED + ", ".join(expect[FAIL]) if isinstance(expect, Mapping) else expect


def expected_table(text: str | None) -> str | dict[str, list[str]] | None:
    """An expectation as a case file has it: the inverse of `expected_text`."""
    return {FAIL: text.removeprefix(NAMED).split(", ")} if text and text.startswith(NAMED) else text


def is_expectation(text: str | None) -> bool:
    """Whether a text is an expectation."""
    return text in (None, PASS, FAIL) or (text is not None and text.startswith(NAMED) and len(text) > len(NAMED))


def is_as_expected(judged: Judged, expect: str | None) -> bool:
    """Whether a flight came out as its case expects; a pass by default.

    A failure is as expected only if it did not come before the faults, a fault acted where there is one, and nothing
    broke but what is named, where requirements are named. After a crash the mission is not completed, nor if the
    case's `until_s` cut it off: that is no other failure.
    """
    if expect in (None, PASS):
        return judged.verdict == PASS
    idle = bool(judged.witnesses) and not any(witness.get("effective", True) for witness in judged.witnesses)
    if judged.verdict != FAIL or judged.early or idle:
        return False
    if expect == FAIL:
        return True
    broken = {j.name for j in judged.judgements if j.counts_as_broken}
    named = set(str(expect).removeprefix(NAMED).split(", "))
    return bool(broken & named) and broken <= named | ({MISSION} if judged.crashed else set())
