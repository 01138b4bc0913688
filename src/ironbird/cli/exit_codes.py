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


def code_of(flight: Flight) -> int:
    """The exit code of a verb that flies once."""
    return INTERRUPTED if flight.log.interrupted else EXIT_CODES[flight.verdict]


def code_of_ending(flight: Flight, ending: str) -> int:
    """The exit code of a flight whose `ending` is known: one that passed and did not land, or disarm, is no success."""
    code = code_of(flight)
    if code or not ending:
        return code
    from ironbird.protocols.plan_file import TOUCHES
    from ironbird.rig.mission_plan import class_of

    ended = "disarmed" if class_of(flight.vehicle) in TOUCHES else "landed"
    return EXIT_CODES["pass" if ending == ended else "fail"]


def code_of_all(codes: Sequence[int]) -> int:
    """The exit code of a verb that flies several times."""
    return INTERRUPTED if INTERRUPTED in codes else int(any(codes))
