"""Parameters changed while a flight goes on: from Python and from another terminal, recorded and replayed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ironbird as ib
from ironbird.errors import ModelError, RunError
from ironbird.runtime.tuning import Tuning, read_tunings, write_tunings

COMMAND = [sys.executable, "-m", "ironbird.cli"]


def test_tunings_act_at_their_tick_and_replay(f450: ib.CompiledModel, tmp_path: Path) -> None:
    record = [Tuning(2000, "body.mass", 1.6), Tuning(2500, "wind/steady.velocity_N", [3.0, 0.0, 0.0])]
    write_tunings(tmp_path / "t.json", record)
    assert read_tunings(tmp_path / "t.json") == record
    hashes = set()
    for tunings in (record, read_tunings(tmp_path / "t.json")):
        hashes.add(ib.run(ib.start(f450, seed=1), 5.0, tunings=tunings).sha256())
    assert len(hashes) == 1
    by_hand = ib.start(f450, seed=1)
    first = ib.run(by_hand, 2.0)
    by_hand.set_param("body.mass", 1.6)
    second = ib.run(by_hand, 2.5)
    by_hand.set_param("wind/steady.velocity_N", [3.0, 0.0, 0.0])
    third = ib.run(by_hand, 5.0)
    assert first.followed_by(second).followed_by(third).sha256() in hashes


def test_a_running_flight_is_tuned_from_another_terminal_and_replayed(tmp_path: Path) -> None:
    fly = [*COMMAND, "fly", "quad_f450", "--control", "truth", "--mission", "hover", "--until", "6"]
    flight = subprocess.Popen(
        [*fly, "--speed", "1", "--out", "live"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "live" / "control.sock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.0)
        tuned = [*COMMAND, "vehicle", "set", "live"]
        for arguments, code in ((["body.mass=1.7"], 0), (["body.mas=1"], 2), (["battery.cells=4"], 2)):
            done = subprocess.run([*tuned, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=30)
            assert done.returncode == code, done.stdout + done.stderr
        _, err = flight.communicate(timeout=60)
    finally:
        flight.kill()
    assert flight.returncode == 0, err
    assert not (tmp_path / "live" / "control.sock").exists()
    record = read_tunings(tmp_path / "live" / "tunings.json")
    assert [t.path for t in record] == ["body.mass"] and record[0].tick > 0
    subprocess.run([*fly, "--replay", "live/tunings.json", "--out", "again"], cwd=tmp_path, check=True, timeout=60)
    hashes = {json.loads((tmp_path / d / "summary.json").read_text())["sha256"] for d in ("live", "again")}
    assert len(hashes) == 1


def test_wrong_tunings_are_refused(f450: ib.CompiledModel, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"navigator.count is not tunable"):
        ib.run(ib.start(f450), 1.0, tunings=[Tuning(10, "navigator.count", 2.0)])
    with pytest.raises(ModelError, match=r"outside its range"):
        ib.run(ib.start(f450), 1.0, tunings=[Tuning(10, "body.mass", -1.0)])
    (tmp_path / "bad.json").write_text("[{")
    with pytest.raises(RunError, match="is not a record of tunings"):
        read_tunings(tmp_path / "bad.json")
