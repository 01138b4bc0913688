"""The continuous integration of an autopilot: its shell steps run here, its files agree with each other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "autopilot_ci"
SUITE = """schema = 1
[[case]]
id = "hover"
vehicle = "quad_f450"
mission = "hover"
until_s = 8.0
ends = "time"
require = [{ name = "height", formula = "always altitude < LIMIT m" }]
"""


@pytest.mark.parametrize(("limit", "code"), [("50", 0), ("-1", 1)])
def test_the_steps_build_fly_and_leave_a_report_for_the_server(tmp_path: Path, limit: str, code: int) -> None:
    (tmp_path / "suite.toml").write_text(SUITE.replace("LIMIT", limit))
    (tmp_path / "ironbird").write_text(f'#!/bin/sh\nexec {sys.executable} -m ironbird.cli "$@"\n')
    (tmp_path / "ironbird").chmod(0o755)
    own = {"AUTOPILOT_BUILD": "touch built", "SUITE": "suite.toml", "WORKERS": "1"}
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(FOLDER / "run.sh")], cwd=tmp_path, env={**os.environ, **own, "PATH": path}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert (tmp_path / "built").exists()
    suite = ET.parse(tmp_path / "out" / "report" / "junit.xml").getroot()
    assert len(list(suite.iter("testcase"))) == 1 and len(list(suite.iter("failure"))) == code


def test_a_build_that_fails_and_a_forgotten_variable_end_the_job(tmp_path: Path) -> None:
    for own, words in (({"AUTOPILOT_BUILD": "exit 7", "SUITE": "s"}, ""), ({"SUITE": "s"}, "AUTOPILOT_BUILD")):
        done = subprocess.run(
            ["sh", str(FOLDER / "run.sh")], cwd=tmp_path, env={"PATH": os.environ["PATH"], **own}, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode != 0 and words in done.stderr


def test_the_files_name_the_same_steps_and_variables() -> None:
    script = (FOLDER / "run.sh").read_text()
    container = (FOLDER / "Containerfile").read_text()
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert f'IRONBIRD="{name}"' in container
    for file in ("github.yml", "gitlab.yml"):
        text = (FOLDER / file).read_text()
        assert "sh /opt/run.sh" in text and "COPY run.sh /opt/run.sh" in container
        for variable in re.findall(r"^ +([A-Z][A-Z_0-9]+): ", text, flags=re.MULTILINE):
            assert variable in script or variable.startswith("GIT_")
    assert "junit: out/report/junit.xml" in (FOLDER / "gitlab.yml").read_text()
