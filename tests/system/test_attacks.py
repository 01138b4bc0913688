"""Attacks from outside that once succeeded, made again as they were made: each ends with a sentence and exit code 2.

What is behind each (stack depth, snapshots, limits, sockets, stores) has tests of its own beside the code.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ironbird as ib
from ironbird.cli.main import app
from ironbird.errors import RunError

FLY = ["fly", "quad_f450", "--mission", "hover", "--control", "truth", "--until", "2"]
WHEN = "rotor.speed_loss@1:instance=1,severity=0.1,start=1,when="
CASE = """schema = 1
[[case]]
id = "a"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 3.0
log_s = 0.02
[[case.fault]]
id = "rotor.speed_loss@1"
severity = 0.5
start_s = 1.0
[[case.require]]
name = "r"
formula = "always altitude < 100 m"
[case.plan]
kind = "monte_carlo"
samples = 2
"""


def ironbird(*arguments: str, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command says that is refused."""
    monkeypatch.chdir(cwd)
    done = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"}).invoke(app, arguments)
    assert done.exit_code == 2, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    return done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        # More numbers than the kernel's stack has room for: the flight crashed, with another verdict
        (
            [*FLY, "--fault", WHEN + "not " + "-" * 400 + "altitude > 1 m"],
            "more than 100 brackets in brackets or operators",
        ),
        ([*FLY, "--fault", WHEN + "1 m+(" * 33 + "altitude" + ")" * 33 + " > 5 m"], "is nested too deeply"),
        # Tracebacks
        (["fly", "quad_f450", "--set", "body.mass[x]=1"], "'x' is no index; write body.mass[0]"),
        (["fly", "quad_f450", "--set", "body.mass=" + "9" * 400], "is not finite"),
        (["fly", "quad_f450", "--seed", "9" * 23], "give a whole number from 0 to 9223372036854775807"),
        ([*FLY, "--fault", WHEN + "body.p[²] > 1 m"], "cannot read '²'"),
        ([*FLY, "--fault", WHEN + "(" * 2000 + "altitude"], "more than 100 brackets in brackets"),
        (["fly", "./v.toml"], "v.toml:2:1: template"),
        (["fly", "./deep.toml"], "it is nested too deeply; the most is 32"),
    ],
)
def test_words_of_the_command_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "v.toml").write_text("schema = 1\ntemplate = []\n")
    (tmp_path / "deep.toml").write_text("x = " + "[" * 3000 + "\n")

    assert said in ironbird(*arguments, cwd=tmp_path, monkeypatch=monkeypatch)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("severity = 0.5", "severity = { range = [0, 1], steps = 99999999 }", "write a number of at most 10000"),
        ("until_s = 3.0", "until_s = 1e308", "1e+308 is outside its bounds"),
        ("log_s = 0.02", "log_s = 1e-300", "1e-300 is outside its bounds"),
        ("samples = 2", f"samples = 2\nseed = {2**70}", "is outside its bounds"),
        ("altitude < 100 m", "fault_active == 1e9991", "'1e9991' is too large a number"),
        ("altitude < 100 m", "altitude > 0 mm^-999999", "is not from -99 to 99"),
    ],
)
def test_cases_that_cannot_fly(
    right: str, wrong: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert right in CASE
    (tmp_path / "c.toml").write_text(CASE.replace(right, wrong))

    assert said in ironbird("case", "check", "c.toml", cwd=tmp_path, monkeypatch=monkeypatch)


def test_a_snapshot_runs_nothing_and_must_fit_the_model(f450: ib.CompiledModel, tmp_path: Path) -> None:
    ib.start(f450).save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz", allow_pickle=False) as good:
        arrays = dict(good)

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "ran",)

    np.savez(tmp_path / "evil.npz", **{**arrays, "events": np.frombuffer(pickle.dumps(Evil()), np.uint8)})
    np.savez(tmp_path / "short.npz", **{**arrays, "x": arrays["x"][:, :3]})
    np.savez(tmp_path / "lacks.npz", **{name: array for name, array in arrays.items() if name != "x"})

    ib.advance(ib.restore(f450, tmp_path / "evil.npz"), 1)
    assert not (tmp_path / "ran").exists()
    for name in ("short.npz", "lacks.npz"):
        with pytest.raises(RunError, match=f"{name} is (a damaged|not a) snapshot"):
            ib.restore(f450, tmp_path / name)
