"""Every reader under attack: all kept inputs, and a second of mutations each; `make fuzz` does hours of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import libfuzzer, native_texts

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


def gcc() -> str:
    if shutil.which("gcc") is None:
        return pytest.fail("no gcc") if os.environ.get("CI") else pytest.skip("no gcc")
    return "gcc"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.slow
def test_no_reader_does_anything_but_accept_or_refuse(tmp_path: Path) -> None:
    from fuzz.target import names

    targets = names()
    command = ("-m", "fuzz", *targets, "--time", str(len(targets)), "--round", "1", "--seed", "1", "--no-tally")

    done = python(*command, "--engine", "plain", "--work", str(tmp_path))

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


@pytest.mark.parametrize("name", libfuzzer.names())
def test_native_readers_take_every_kept_input_under_sanitizers(tmp_path: Path, name: str) -> None:
    assert libfuzzer.replay(name, tmp_path, compiler=gcc()) > 0


def test_a_native_reader_that_writes_beyond_its_array_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = "  if (exception >= FW_EXCEPTIONS) return;"
    text = native_texts.TEXTS["stm32"]()[0]
    assert text.count(guard) == 1
    monkeypatch.setitem(native_texts.TEXTS, "stm32", lambda: [text.replace(guard, "")])

    with pytest.raises(RuntimeError, match=r"index 143 out of bounds for type 'uint8_t ?\[128\]'"):
        libfuzzer.replay("stm32", tmp_path, compiler=gcc())


@pytest.mark.skipif(not libfuzzer.clang(), reason="no clang with libFuzzer: apt-get install clang")
def test_libfuzzer_finds_the_way_into_native_readers(tmp_path: Path) -> None:
    command = ("-m", "fuzz", "mavlink", "provant_frame", "--engine", "libfuzzer", "--time", "4", "--round", "2")

    done = python(*command, "--no-tally", "--work", str(tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    counts = [int(count) for count in re.findall(r"^\w+ in C: (\d+) inputs", done.stdout, re.MULTILINE)]
    assert len(counts) == 2 and min(counts) > 1000
    assert len(list((tmp_path / "provant_frame-native").iterdir())) > 10  # inputs that reached something new


def test_every_target_keeps_inputs_and_the_corpus_stays_small() -> None:
    from fuzz.target import CORPUS, REGRESSIONS, load, names

    kept = {name: load(name).kept() for name in names()} | {name: libfuzzer.kept(name) for name in libfuzzer.names()}

    assert all(kept.values()), [name for name, paths in kept.items() if not paths]
    folders = {path.name for folder in (CORPUS, REGRESSIONS) for path in folder.iterdir()}
    assert folders <= set(kept)
    assert set(libfuzzer.names()) == set(native_texts.TEXTS)
    assert sum(path.stat().st_size for paths in kept.values() for path in paths) < 2**20
