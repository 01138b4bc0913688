"""What the tests with real autopilots share."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from belongings import MARK, Belongings

from ironbird.autopilots.ardupilot.process import find_program
from ironbird.autopilots.px4.process import find_px4
from ironbird.errors import LinkError


@pytest.fixture(params=["px4", "ardupilot"])
def autopilot(request: pytest.FixtureRequest) -> str:
    """Each of both, if it is there."""
    try:
        if request.param == "px4":
            find_px4()
        else:
            find_program("arducopter")
    except LinkError as error:
        pytest.skip(str(error))
    return str(request.param)


@pytest.fixture
def belongings(autopilot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Belongings]:
    """For a run in this process too: its autopilot inherits the mark and the folder.

    The folder is open to all users and its path is short: programs that root starts in virtual time must get in.
    """
    folder = Path(tempfile.mkdtemp(prefix="ib-"))
    folder.chmod(0o755)
    found = Belongings(autopilot, folder)
    monkeypatch.setenv(MARK, found.mark)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield found
    for pid in found.processes():  # of a test that failed
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
