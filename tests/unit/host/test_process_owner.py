"""Who runs a program that root starts: in real time as well not root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ironbird.host import process as host
from ironbird.host.process import AutopilotProcess, place_of_runs


class Teller(AutopilotProcess):
    """Says who runs it and writes into its folder."""

    name = "the teller"
    prefix = "ironbird-test-"

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        return (folder / "made",)

    def start(self) -> None:
        folder = self._make_folder()
        self._launch(["/bin/sh", "-c", "id -u; grep -i ^CapEff /proc/self/status; echo x > made"], cwd=folder)
        assert self._process is not None
        assert self._process.wait(30) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give itself up")
def test_a_program_in_real_time_is_not_roots_and_can_write_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(host.KEEP_USER_VARIABLE, raising=False)
    teller = Teller(keep=tmp_path)
    try:
        teller.start()
        who, rights = teller.console().split("\n")[:2]
        assert who != "0" and int(rights.split()[1], 16) == 0
    finally:
        teller.stop()
    assert (tmp_path / "made").read_text() == "x\n" and teller.folder is None
    monkeypatch.setenv(host.KEEP_USER_VARIABLE, "1")
    assert teller._owner() is None


def test_a_folder_that_others_cannot_enter_is_not_used_by_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(closed))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert place_of_runs("ironbird-px4-", short=False) == host.SHORT_PLACE
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert place_of_runs("ironbird-px4-", short=False) == str(closed)
