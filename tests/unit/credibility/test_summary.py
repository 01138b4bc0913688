"""A comparison in a few lines: the verdict, the worst tests in physical units, the likely cause, the next command."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.credibility.amounts import amount
from ironbird.credibility.compare import Comparison, compare
from ironbird.credibility.plan import Plan
from ironbird.credibility.record import Record, Track
from ironbird.credibility.summary import CAUSES, Cause, likely_cause, verdict, worst_tests
from ironbird.errors import RecordError
from ironbird.identification.free import WORDS

T = np.arange(0.0, 20.0, 0.02)
UNITS = {"velocity_down": "m/s", "pitch": "rad", "yaw_rate": "rad/s", "motor_1": "1"}
DATA = Path(__file__).parents[2] / "data" / "px4_vision"


def record(name: str, **tracks: np.ndarray) -> Record:
    return Record(Path(name), "csv", {key: Track(T, values, UNITS[key]) for key, values in tracks.items()}, [])


def wave(seconds: float, size: float = 1.0) -> np.ndarray:
    return size * np.sin(2 * math.pi * T / seconds)


def found(real: Record, simulated: Record) -> Comparison:
    names = [name for name in real.tracks if name != "motor_1"]
    tests = [{"name": f"{name} over time", "kind": "time", "signal": name} for name in names]
    plan = Plan.model_validate({"tolerance": 0.05, "test": tests})
    return compare(real, [simulated], plan, shift_s=0.0)


def test_equal_records_pass_and_have_no_cause() -> None:
    real = record("real.csv", velocity_down=wave(5.0), pitch=wave(3.0, 0.3))
    same = found(real, real)
    assert verdict(same).startswith("pass: all 2 tests pass; overall index 1.00 (1.00 to 1.00): 1 is no error, 0.6 is")
    assert likely_cause(same) is None


def test_worst_tests_are_in_physical_units_beside_the_tolerable_error() -> None:
    real = record("real.csv", velocity_down=wave(5.0), pitch=wave(3.0, 0.3), yaw_rate=wave(4.0, 0.2))
    off = record("sim.csv", velocity_down=wave(5.0) + 3.4, pitch=wave(3.0, 0.3) + 0.01, yaw_rate=wave(4.0, 0.2))
    comparison = found(real, off)
    assert verdict(comparison).startswith("fail: 1 of 3 tests fail (index below 0.6); overall index ")
    lines = worst_tests(comparison)
    assert lines[0].startswith("velocity_down over time: 3.4 m/s off, tolerable 0.1 m/s, index 0.02, fail")
    assert lines[1].startswith("pitch over time: 0.573 ° off, tolerable 1.72 °, index ") and lines[1].endswith("pass")
    cause = likely_cause(comparison)
    assert cause is not None and "thrust or mass" in cause.text and cause.free == ("thrust",)
    assert amount(0.5, "1") == "0.5" and amount(math.pi, "rad/s") == "180 °/s"


def test_angles_are_in_degrees_in_all_texts_of_a_test() -> None:
    plan = Plan.model_validate(
        {"tolerance": 0.05, "test": [{"name": "p", "kind": "performance", "signal": "pitch", "figure": "std"}]}
    )
    real, off = record("real.csv", pitch=wave(3.0, 0.3)), record("sim.csv", pitch=wave(3.0, 0.6))
    (index,) = compare(real, [off], plan, shift_s=0.0).indices
    assert re.fullmatch(r"std 12\.\d+ ° real, 24\.\d+ ° simulated", index.text), index.text


def test_an_error_of_alignment_names_an_option_that_there_is() -> None:
    with pytest.raises(RecordError, match="--time-shift compares them all the same"):
        compare(record("a.csv", pitch=wave(3.0)), [record("b.csv", pitch=np.sign(wave(0.7)))], Plan())
    with pytest.raises(RecordError, match="give --time-shift"):
        compare(record("a.csv", pitch=0 * T), [record("b.csv", pitch=0 * T)], Plan())
    options = CliRunner().invoke(app, ["model", "credibility", "--help"], env={"COLUMNS": "200"}).stdout
    assert "--time-shift" in options


def test_delay_of_most_signals_is_a_lag() -> None:
    real = record("real.csv", velocity_down=wave(5.0), pitch=wave(3.0, 0.3))
    late = record(
        "sim.csv",
        velocity_down=np.sin(2 * math.pi * (T - 0.3) / 5.0),
        pitch=0.3 * np.sin(2 * math.pi * (T - 0.3) / 3.0),
    )
    cause = likely_cause(found(real, late))
    assert cause is not None and cause.free == ("motor_time",)
    assert "300 ms late in velocity_down, pitch" in cause.text


def test_record_with_few_commands_a_second_says_so_for_pitch() -> None:
    real = record("real.csv", pitch=wave(3.0, 0.3), motor_1=wave(3.0))
    slow = Record(real.path, "csv", {**real.tracks, "motor_1": Track(T[::5], wave(3.0)[::5], "1")}, [])
    off = record("sim.csv", pitch=wave(3.0, 0.3) + 0.4, motor_1=wave(3.0))
    cause, other = likely_cause(found(slow, off)), likely_cause(found(real, off))
    assert cause is not None and cause.text.startswith("the record has 10 commands a second")
    assert "log them faster" in cause.helps and not cause.free
    assert other is not None and other.free == ("inertia_x", "inertia_y", "motor_time")


@pytest.mark.parametrize("cause", CAUSES.values())
def test_causes_name_parameters_that_identify_knows_or_what_else_helps(cause: Cause) -> None:
    assert bool(cause.free) != bool(cause.helps)
    for word in cause.free:
        assert any(word == known or word.startswith(f"{known}_") for known in WORDS), word


def test_the_command_prints_verdict_worst_cause_and_the_next_command(tmp_path: Path) -> None:
    vehicle, tests = DATA / "quad_px4_vision.toml", DATA / "tests.toml"
    words = ["model", "credibility", str(DATA / "flight.csv"), "--drive", "--vehicle", str(vehicle)]
    done = CliRunner().invoke(app, [*words, "--tests", str(tests), "--out", str(tmp_path)])
    assert done.exit_code == 1
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[1].startswith("fail: skill -") and "against no change" in lines[1] and "no index is given" in lines[1]
    assert "index 0." not in done.stdout and "overall index" not in done.stdout
    assert any("likely cause: thrust or mass" in line and line.endswith("--free thrust") for line in lines)
    assert lines[-1] == f"report: {tmp_path / 'credibility.html'}"
    page = (tmp_path / "credibility.html").read_text()
    assert "no index is given" in page and "<li>overall" not in page and 'id="skill"' in page
    numbers = json.loads((tmp_path / "credibility.json").read_text())
    assert numbers["overall"] is None and numbers["skill"]["against_no_change"] < 0 and not numbers["passed"]
