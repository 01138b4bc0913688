"""Every reader under attack: all kept inputs, and a second of mutations each; `make fuzz` does hours of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANTED = """
import json, os, sys, time
from pathlib import Path
from fuzz import engine
from fuzz.target import Target

def check(data):
    if data.startswith(b"ab"):
        {what}

target = Target("planted", check, (b"ab",), 64)
print(json.dumps(vars(engine.run(target, "plain", 30.0, 1, Path(sys.argv[1])))))
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.slow
def test_no_reader_does_anything_but_accept_or_refuse(tmp_path: Path) -> None:
    from fuzz.target import names

    targets = names()
    command = ("-m", "fuzz", "--time", str(len(targets)), "--round", "1", "--seed", "1", "--no-tally")

    done = python(*command, "--work", str(tmp_path))

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    flown = {name: int(count) for name, count in re.findall(r"^(\w+): (\d+) inputs", done.stdout, re.MULTILINE)}
    assert set(flown) == set(targets) and min(flown.values()) > 0


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("raise KeyError(1)", "KeyError"),
        ("while True: pass", "took longer than"),
        ("os.kill(os.getpid(), 11)", "status -11"),  # as native code ends that reads where it may not
    ],
)
def test_a_planted_mistake_is_found_and_its_input_kept(tmp_path: Path, what: str, says: str) -> None:
    done = python("-c", PLANTED.format(what=what), str(tmp_path))

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert says in found["told"]
    assert Path(found["find"]).read_bytes().startswith(b"ab")


def test_every_target_keeps_inputs_and_the_corpus_stays_small() -> None:
    from fuzz.target import CORPUS, REGRESSIONS, load, names

    kept = {name: load(name).kept() for name in names()}

    assert all(kept.values()), [name for name, paths in kept.items() if not paths]
    folders = {path.name for folder in (CORPUS, REGRESSIONS) for path in folder.iterdir()}
    assert folders <= set(names())
    assert sum(path.stat().st_size for paths in kept.values() for path in paths) < 2**20
