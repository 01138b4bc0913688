"""Work for workers of a campaign that kills them, or does not; found by name in a new process."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from campaign_data import result_of

from ironbird.campaign.batch import BatchResult, TracePolicy
from ironbird.campaign.case import FlightCase

DEADLY_SEED = 2


def harmless(cases: Sequence[FlightCase], policy: TracePolicy) -> BatchResult:
    """Flies nothing."""
    return BatchResult([result_of(case) for case in cases], 0.1, 0.2, 5.0)


def one_flight_is_deadly(cases: Sequence[FlightCase], policy: TracePolicy) -> BatchResult:
    """Dies as native code does that reads beyond its memory, over one flight."""
    if any(case.seed == DEADLY_SEED for case in cases):
        os.kill(os.getpid(), signal.SIGSEGV)
    return harmless(cases, policy)


def always_killed(cases: Sequence[FlightCase], policy: TracePolicy) -> BatchResult:
    """As by the kernel that is out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def other_code(cases: Sequence[FlightCase], policy: TracePolicy) -> BatchResult:
    """A worker on another machine with another Ironbird."""
    return BatchResult([result_of(case) for case in cases], 0.1, 0.2, 5.0, software="ab" * 32)
