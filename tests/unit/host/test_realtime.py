"""Real-time priority: taken where the system permits it, seen in others, given back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ironbird.host.realtime import real_time, real_time_of


def test_an_ordinary_process_has_none_and_one_that_is_gone_has_none() -> None:
    assert real_time_of(os.getpid()) == 0
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert real_time_of(done.pid) == 0


def test_it_is_taken_seen_not_inherited_and_given_back() -> None:
    taken = real_time(7)
    if taken is None:
        with pytest.raises(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7))
        return
    with taken:
        assert real_time_of(os.getpid()) == 7
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        assert real_time_of(child.pid) == 0  # what we start must not hold up the machine
        child.communicate(b"\n")
    assert real_time_of(os.getpid()) == 0
