"""Exit codes of all verbs."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight

# One table for all verbs. A flight: what its verdict is. Several flights: 0 if each came out as it should, else 1.
EXIT_CODES = {"pass": 0, "fail": 1, "error": 2, "void": 3}
# Of `sitl` besides, if its verdict is pass, or for a crash also if it is fail
ENDING_CODES = {"landed": 0, "crashed": 4, "never airborne": 5, "still flying": 6, "disarmed": 7}
WRONG = 2  # bad input, a missing program, a rig that failed
INTERRUPTED = 128 + signal.SIGINT
NOBODY_READS = 141  # of a program that SIGPIPE ends, as shells report it


def code_of(flight: Flight) -> int:
    """The exit code of a verb that flies once."""
    return INTERRUPTED if flight.log.interrupted else EXIT_CODES[flight.verdict]


def code_of_ending(flight: Flight, touches: bool, ending: str) -> int:
    """The exit code of a verb that says where the vehicle is; one that `touches` ground or water ends by disarming."""
    code = code_of(flight)
    if ending == "crashed" and code in (EXIT_CODES["pass"], EXIT_CODES["fail"]):
        return ENDING_CODES[ending]
    return code or (0 if touches and ending == "disarmed" else ENDING_CODES[ending])


def code_of_all(codes: Sequence[int]) -> int:
    """The exit code of a verb that flies several times."""
    return INTERRUPTED if INTERRUPTED in codes else int(any(codes))
