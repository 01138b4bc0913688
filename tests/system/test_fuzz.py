"""Every reader under attack: all kept inputs, and a second of mutations each; `make fuzz` does hours of it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from fuzz import engine, libfuzzer, markup, native_texts, tally
from fuzz.__main__ import next_turns
from fuzz.engine import Outcome
from fuzz.tables import Tables
from fuzz.target import FORMATS, Target

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
    command = ("-m", "fuzz", *targets, "--time", str(0.3 * len(targets)), "--round", "0.3", "--seed", "1", "--no-tally")

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


def _first(draw: random.Random) -> bytes:
    return b"one" if draw.random() < 0.5 else b"other"


def test_a_planted_mistake_in_a_table_is_found_and_its_text_kept(tmp_path: Path) -> None:
    def read(table: dict[str, Any]) -> None:
        for entry in table["row"]:
            assert isinstance(entry, dict) and not isinstance(entry.get("depth"), list), "planted"

    bases = [{"row": [{"depth": 1, "name": "a"}], "other": True}]
    toml = FORMATS["toml"]
    target = Target(
        "planted", lambda data: None, (), 64, tables=lambda: Tables(bases, ["depth"], null=False), check_table=read,
        text=toml.write,
    )  # fmt: skip

    found = engine.plain(target, 30.0, 1, tmp_path)

    assert any(why in found.told for why in ("KeyError", "TypeError", "planted"))
    table = toml.read(Path(found.find).read_bytes())
    with pytest.raises((KeyError, AssertionError, TypeError)):
        read(table)
    assert bases == [{"row": [{"depth": 1, "name": "a"}], "other": True}]


def test_tables_that_a_reader_takes_are_begun_with_more_often() -> None:
    bases = [{"kind": "wrong", "number": number} for number in range(99)] + [{"kind": "right"}]
    shares = []
    for is_favoured in (False, True):
        tables, source = Tables(bases, [], null=False), random.Random(1)
        if is_favoured:
            tables.favour(lambda table: table["kind"] == "right")
        made = [tables.make(source) for _ in range(4000)]
        shares.append(sum("number" not in table and "kind" in table for table in made) / len(made))

    assert shares[1] > shares[0] + 0.05


def test_looks_that_take_long_are_always_taken_at_kept_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzz import target

    monkeypatch.setattr(target, "_haste", [])
    look = target.in_haste(4)
    assert [look() for _ in range(3)] == [True] * 3
    monkeypatch.setattr(target, "_haste", [True])
    assert sum(look() for _ in range(8)) == 2


def test_changed_documents_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "BYTES", 0.0)
    base = b"#<a x=\"1\"><b><c y='2'/></b><d>3 4</d></a>"
    made = markup.Markup([base, b"no document"], [], 400, skip=1)
    source = random.Random(1)

    found = {made.make(source) for _ in range(500)}

    assert len(found) > 200
    for data in found:
        assert data[:1] == b"#" and ElementTree.fromstring(data[1:]).tag == "a"


def test_an_input_counts_once_also_in_the_next_run(tmp_path: Path) -> None:
    read: list[bytes] = []

    def check(data: bytes) -> bool | None:
        read.append(data)
        return False if data == b"one" else None

    target = Target("planted", check, (), 64, make=_first)
    first, second = (engine.plain(target, 0.3, seed, tmp_path) for seed in (1, 2))

    assert first.inputs + second.inputs == len(read) == len(set(read))
    assert read.count(b"one") == read.count(b"other") == 1
    assert first.beyond == first.inputs - 1 and second.beyond == second.inputs  # one was refused at first sight


def test_the_tally_counts_packets_of_ports_and_the_reader_that_is_there_soonest_is_next(tmp_path: Path) -> None:
    file = tmp_path / "tally.json"
    more = [
        tally.add(file, Outcome("a", "plain", 100, 2.0, beyond=60, packets={"port 1": 700, "1 struct": 600})),
        tally.add(file, Outcome("a", "libfuzzer", 50, 1.0)),
        tally.add(file, Outcome("b", "plain", 10, 1.0, packets={"PING": 30})),
    ]
    rows = tally.read(file)

    assert more == [700, 0, 30]
    assert [tally.seen(rows["a"]), tally.seen(rows["b"]), tally.seen({})] == [700, 30, 0]
    assert rows["a"]["by_engine"] == {"plain": 100, "libfuzzer": 50}
    assert (rows["a"]["looked"], rows["a"]["beyond"]) == (100, 60)
    turns = [(name, None, "") for name in ("a", "b", "c")]
    assert next_turns(turns, {"a": 1.0, "b": 10.0}, rows, 1000) == [turns[2]]  # not tried yet
    rates = {"a": 10.0, "b": 20.0, "c": 1.0}
    assert next_turns(turns, rates, rows, 1000) == [turns[0]]  # 300 at 10 a second, before 970 at 20
    assert next_turns(turns, rates, rows, 700) == [turns[1]] and next_turns(turns[:2], rates, rows, 30) == []


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
