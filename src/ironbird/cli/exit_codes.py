"""Exit codes of all verbs."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight

# One table for all verbs. A flight: what its verdict is. Several flights: 0 if each came out as it should, else 1.
EXIT_CODES = {"pass": 0, "fail": 1, "error": 2, "void": 3}
WRONG = 2  # bad input, a missing program, a rig that failed
INTERRUPTED = 128 + signal.SIGINT
NOBODY_READS = 141  # of a program that SIGPIPE ends, as shells report it


def code_of(flight: Flight, *, strict: bool = False) -> int:
    """The exit code of a verb that flies once; with `strict` a pass that shows less than it should is none."""
    if flight.log.interrupted:
        return INTERRUPTED
    return EXIT_CODES["fail" if strict and flight.judged.shows_less else flight.verdict]


def code_of_all(codes: Sequence[int]) -> int:
    """The exit code of a verb that flies: that of the flight, or of several flights together."""
    if len(codes) == 1:
        return codes[0]
    return INTERRUPTED if INTERRUPTED in codes else int(any(codes))
