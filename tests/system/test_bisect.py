"""A history of ten commits with a planted defect: built, flown, found in at most five flights, and gone on with.

The program is a small control program in Python behind ArduPilot's simulator link, in a git repository made here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ironbird.cli.main import app
from ironbird.host.process import is_open_to_all

PROGRAM = '''
"""Level, and at a height, by the state that ArduPilot's simulators send."""
import json, socket, struct, sys

HEIGHT_M = 3.0
LAYOUT = (1, 1, 1), (-1, -1, 1), (1, -1, -1), (-1, 1, -1)  # x, y, sense of yaw
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
simulator = ("127.0.0.1", int(sys.argv[sys.argv.index("--sim-port-out") + 1]))
throttle, frame = [0.0] * 4, 0
while True:
    pwm = [int(1000 + 1000 * min(max(u, 0.0), 1.0)) for u in throttle] + [0] * 12
    link.sendto(struct.pack("<HHI16H", 18458, 1000, frame, *pwm), simulator)
    state = json.loads(link.recv(4096))
    frame += 1
    roll, pitch, yaw = state["attitude"] if "attitude" in state else (0.0, 0.0, 0.0)
    p, q, r = state["imu"]["gyro"]
    lift = 0.64 + 0.15 * (HEIGHT_M + state["position"][2]) + 0.12 * state["velocity"][2]
    a, b, c = -0.35 * roll - 0.07 * p, -0.35 * pitch - 0.07 * q, -0.1 * r
    throttle = [lift - y * a + x * b + s * c for x, y, s in LAYOUT]
'''
CASE = """schema = 1
[[case]]
id = "hover"
vehicle = "quad_f450"
control = "ardupilot"
until_s = 4.0
ends = "time"
require = [{ name = "height", formula = "always[3.5 s, 4 s] altitude > 2 m" }]
[case.options]
time = "virtual"
pilot = "none"
"""
DEFECT, BROKEN = 7, 5  # numbers of commits
PYTHONS = (Path(os.path.realpath(sys.executable)), Path("/usr/bin/python3"))  # one that nobody may start
PYTHON = next((path for path in PYTHONS if path.exists() and (os.geteuid() or is_open_to_all(path.parent))), None)
pytestmark = pytest.mark.skipif(PYTHON is None, reason="no python3 that the user 'nobody' may start")
BUILD = f"{PYTHON} -m py_compile main.py && (echo '#!{PYTHON} -IS'; cat main.py) > arducopter && chmod 755 arducopter"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every user may enter, with the repository and the case."""
    with tempfile.TemporaryDirectory(prefix="ironbird-bisect-") as name:
        place = Path(name)
        place.chmod(0o755)
        repo = place / "repo"
        repo.mkdir()
        _git(repo, "init", "-q", "-b", "main")
        for number in range(11):
            text = PROGRAM + f"# {number}\n"
            text = text.replace("HEIGHT_M = 3.0", "HEIGHT_M = 1.0") if number >= DEFECT else text
            text = text + "this is no Python\n" if number == BROKEN else text
            (repo / "main.py").write_text(text)
            _git(repo, "add", "main.py")
            _git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", f"commit {number}")
        (place / "case.toml").write_text(CASE)
        (place / "repeats.toml").write_text(
            CASE.replace('pilot = "none"\n', "").replace("until_s", 'mission = "hover"\nuntil_s')
        )
        yield place


def _git(repo: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=repo, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def bisect(place: Path, out: str, *words: str, good: str = "main~10", bad: str = "main", build: str = BUILD) -> Result:
    case = "repeats.toml" if "parting" in words else "case.toml"
    given = ["bisect", str(place / case), "--repo", str(place / "repo"), "--good", good, "--bad", bad]
    return CliRunner().invoke(app, [*given, "--build", build, "--out", str(place / out), *words])


@pytest.mark.parametrize("by", ["verdict", "parting"])
def test_the_commit_is_found_in_at_most_five_flights(place: Path, by: str) -> None:
    done = bisect(place, by, "--judge", by, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert list(found["candidates"].values()) == [f"commit {DEFECT}"]
    assert found["flights"] <= 5
    tried = {one["title"]: one for one in found["tried"]}
    assert tried[f"commit {DEFECT}"]["outcome"] == "bad" and tried[f"commit {DEFECT - 1}"]["outcome"] == "good"
    if by == "verdict":
        assert "height" in tried[f"commit {DEFECT}"]["why"]
    else:
        assert "parts at" in tried[f"commit {DEFECT}"]["why"]
        assert tried[f"commit {DEFECT - 1}"]["why"] == "equal, bit for bit"
    commit = tried[f"commit {DEFECT}"]["commit"][:10]
    assert (place / by / "flights" / commit / "flight.parquet").is_file()
    assert not (place / "repo" / "arducopter").exists()  # the repository is only read
    if os.geteuid() == 0:
        assert (place / by / "work" / "tree" / "main.py").stat().st_uid != 0


def test_a_search_that_was_stopped_goes_on_and_one_that_is_another_is_refused(place: Path) -> None:
    state = place / "verdict" / "bisect.json"  # of the test above
    kept = json.loads(state.read_text())
    assert len(kept["tried"]) == 5  # with the commit that does not build
    skipped = next(one for one in kept["tried"] if one["outcome"] == "skipped")
    assert (
        not skipped["flown"] and "the build ended with code 1: " in skipped["why"] and "SyntaxError" in skipped["why"]
    )
    kept["tried"] = kept["tried"][:4]  # as a kill leaves it
    state.write_text(json.dumps(kept))
    again = bisect(place, "verdict")
    assert again.exit_code == 0
    assert again.stderr.count(": building") == 1
    assert f"commit {DEFECT}" in again.stdout and "first bad commit (4 flights)" in " ".join(again.stdout.split())
    other = bisect(place, "verdict", build="true; " + BUILD)
    assert other.exit_code == 2
    assert "is of another search (build differ): give another --out" in " ".join(other.output.split())


def test_what_cannot_be_searched_is_refused_in_words(place: Path) -> None:
    cases = {
        ("main", "main~10"): "is no earlier commit of --bad",
        ("main~10", "main~8"): "flies as the case expects",
        ("main~10", "nothing"): "git rev-parse",
    }
    for number, ((good, bad), words) in enumerate(cases.items()):
        done = bisect(place, f"refused{number}", good=good, bad=bad)
        assert done.exit_code == 2
        assert words in " ".join(done.output.split()), done.output
