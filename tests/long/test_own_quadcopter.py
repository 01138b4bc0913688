"""docs/guide/own-quadcopter.md, followed literally in an empty folder: each file is written, each command executed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "own-quadcopter.md"


def test_the_hour_with_an_own_quadcopter(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ironbird"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ironbird.cli "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    settings = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "200"}
    said = {}
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", GUIDE.read_text(), flags=re.DOTALL | re.MULTILINE):
        if language in ("toml", "csv"):
            head, _, text = block.partition("\n")
            (work / head.removeprefix("# ")).write_text(text)
        elif language == "sh":
            for line in block.splitlines():
                done = subprocess.run(
                    ["sh", "-c", line], cwd=work, env=settings, capture_output=True, text=True, timeout=600
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
                said[line] = done.stdout
    assert "20 flights" in said["ironbird case check acceptance.toml"]
    assert "bandwidth 6.00" in said["ironbird autotune my_quad.toml --bandwidth 6"]
    gains = "[control] attitude_gain = [3.4302,3.4302,2.0], rate_gain = [11.4326,11.4326,4.0]"
    assert gains in said["ironbird autotune my_quad.toml --bandwidth 6"]
    results = json.loads((work / "out" / "campaigns" / "acceptance" / "results.json").read_text())["flights"]
    assert len(results) == 20 and {flight["verdict"] for flight in results} == {"pass"}
    assert "requirements: 4 of 4 met" in next(text for line, text in said.items() if "evidence acceptance" in line)
    repeated = next(text for line, text in said.items() if "campaign repeat" in line)
    assert re.search(r"equal, bit for bit\W+20", repeated) and "signed by key.pub" in repeated
