"""What a flight does not use is not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMAND = [
    "ironbird", "fly", "quad_f450", "--wind", "5", "--fault", "rotor.speed_loss@1:instance=1,severity=0.2,start=5",
    "--require", "no_crash", "--until", "8", "--ends", "time",
]  # fmt: skip
SCRIPT = """
import runpy, sys
sys.argv = {command!r}
try:
    runpy.run_module("ironbird.cli", run_name="__main__")
except SystemExit as end:
    print("exit", end.code)
rooms = {rooms!r}
print("loaded", *sorted(name for name in sys.modules if name.split(".")[1:2] and name.split(".")[1] in rooms))
"""
ROOMS = ["world", "protocols", "transport", "host", "rig", "ground", "boards", "autopilots", "systems"]
USED = ["ironbird.protocols", "ironbird.protocols.geodesy"]  # where on the earth the magnetic field is looked up


def test_a_plain_flight_loads_no_world_and_nothing_of_control_systems_outside(tmp_path: Path) -> None:
    script = SCRIPT.format(command=[*COMMAND, "--out", str(tmp_path)], rooms=ROOMS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)

    lines = done.stdout.splitlines()
    assert "exit 0" in lines, done.stdout + done.stderr
    assert lines[-1].split() == ["loaded", *USED]
