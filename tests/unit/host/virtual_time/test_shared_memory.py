"""The simulator's side of virtual time: what is allowed, what must repeat, who uses the processor."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ironbird.errors import LinkError
from ironbird.host.process import SHORT_PLACE, place_of_runs
from ironbird.host.virtual_time.run import Outcome, VirtualRun, _used_s


def test_time_is_allowed_from_the_zero_of_the_simulator_on_and_never_taken_back(tmp_path: Path) -> None:
    run = VirtualRun(tmp_path, simulated=True)
    try:
        assert run.head.grant_ns == 0
        run.allow_more(0.002)
        run.zero_is_now()
        run.allow(5)
        assert run.head.grant_ns == 2_005_000
        run.allow(1)
        assert run.head.grant_ns == 2_005_000
    finally:
        run.close()


def test_the_digest_of_a_run_is_of_all_that_must_repeat_and_of_no_wall_time() -> None:
    outcome = Outcome(0, b"said", "0123", 7, 1.5, 0.1)
    assert replace(outcome, wall_s=9.0).digest() == outcome.digest()
    others = [
        replace(outcome, code=1), replace(outcome, output=b"other"), replace(outcome, trace="0124"),
        replace(outcome, switches=8), replace(outcome, virtual_s=1.500000001), replace(outcome, failure="deadlock"),
    ]  # fmt: skip
    assert len({one.digest() for one in (outcome, *others)}) == 7


def test_processor_time_of_a_thread_is_that_of_the_system() -> None:
    who = os.getpid(), threading.get_native_id()
    before, begin_s = _used_s(*who), time.thread_time()
    while time.thread_time() < begin_s + 0.2:
        pass
    assert _used_s(*who) - before == pytest.approx(time.thread_time() - begin_s, abs=0.1)


def test_the_folder_of_a_run_is_where_paths_of_its_sockets_are_short_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    deep = tmp_path / ("a" * 90)
    deep.mkdir()
    assert place_of_runs("ironbird-px4-", short=True) in (str(tmp_path), SHORT_PLACE)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert place_of_runs("ironbird-px4-", short=True) == SHORT_PLACE
    monkeypatch.setattr("ironbird.host.process.SHORT_PLACE", str(deep))
    with pytest.raises(LinkError, match="set TMPDIR to another folder"):
        place_of_runs("ironbird-px4-", short=True)
