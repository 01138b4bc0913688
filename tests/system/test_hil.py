"""Hardware in the loop by the verbs: bench, board and a serial line at 921600 baud, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from json_documents import checked

IRONBIRD = (sys.executable, "-c", "from ironbird.cli.main import main; main()")


@contextlib.contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_the_board_takes_off_over_a_serial_line(tmp_path: Path) -> None:
    """Twelve seconds of real time. Means and losses hold on a busy machine too; what is late there is told."""
    with started(sys.executable, "-m", "ironbird.transport.serial_wire", "921600") as line:
        assert line.stdout is not None and line.stdin is not None
        near, far = line.stdout.readline().split()
        with started(*IRONBIRD, "connect", "autopilot", "--serial", far, "--mission", "hover") as board:
            assert board.stderr is not None and board.stderr.readline() == "quad_f450: ready\n"
            command = [*IRONBIRD, "hil", "--port", near, "--until", "12", "--headless", "--out", str(tmp_path)]
            flown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            line.stdin.close()
            assert line.wait(60) == 0
            heard = checked(board.communicate(timeout=60)[0])  # it ends when the line does
    assert flown.returncode in (0, 2), flown.stderr  # an error of the rig if this machine is too busy
    link = json.loads((tmp_path / "link.json").read_text())
    assert link["verdict"] == {0: "pass", 2: "error"}[flown.returncode], link["sentence"]
    # [NguyenHa] table 4 asks for 500, 5 and 400 Hz and got 14 to 17 % less
    assert heard["sensors"] == 6000 and heard["fixes"] == 60 and heard["lost"] == 0
    assert link["sensor_hz"] == pytest.approx(500.0, rel=0.02) and link["control_hz"] == pytest.approx(400.0, rel=0.02)
    assert link["lost_frames"] == 0 and link["unsent_steps"] == 0 and link["garbage"] == 0
    assert 2.0 < link["delay_ms"] < 100.0  # a frame of 77 bytes takes 0.8 ms on the line, one of 93 takes 1.0
    height_m = -parquet.read_table(tmp_path / "flight.parquet")["body.p_NB_N[2]"].to_numpy()
    assert height_m[-1] > 5.0
    assert "Link lateness" in (tmp_path / "flight.html").read_text()
