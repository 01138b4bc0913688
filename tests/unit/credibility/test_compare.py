"""Comparisons: known errors have known indices, intervals cover, and a model is judged by the record it is driven
with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flown_records import flight_log, table
from json_documents import checked
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.credibility.compare import compare
from ironbird.credibility.drive import drive
from ironbird.credibility.plan import DriveTable, Plan, figure
from ironbird.credibility.readers import read_record
from ironbird.credibility.record import Record
from ironbird.credibility.uncertainty import block_length, drawn_rows
from ironbird.errors import RecordError

TIME_S = np.arange(0.0, 30.0, 0.02)
STEP = 1 - np.exp(-TIME_S / 2)
NOISE = np.random.default_rng(4).standard_normal(len(TIME_S))


def one_test(**words: object) -> Plan:
    return Plan.model_validate({"test": [{"name": "a", "kind": "time", "signal": "height", **words}]})


def records(tmp_path: Path, *simulated: np.ndarray, real: np.ndarray = STEP) -> tuple[Record, list[Record]]:
    paths = [table(tmp_path / f"s{n}.csv", time_s=TIME_S, height_m=values) for n, values in enumerate(simulated)]
    return read_record(table(tmp_path / "r.csv", time_s=TIME_S, height_m=real)), [read_record(p) for p in paths]


def test_equal_records_have_the_index_one_everywhere(tmp_path: Path) -> None:
    real, others = records(tmp_path, STEP)

    found = compare(real, others)

    assert found.overall == pytest.approx((1.0, 1.0, 1.0)) and found.passed
    assert found.shifts[0].seconds == pytest.approx(0.0, abs=1e-3)
    assert {m.name for m in found.measures} >= {"Theil TIC", "ISO 18571 R", "Sprague-Geers C", "Russell C"}
    assert all(event.most < 1e-12 and event.delay_s == 0 for event in found.events)


def test_an_offset_as_large_as_the_tolerable_error_has_the_index_six_tenths(tmp_path: Path) -> None:
    span = float(np.ptp(STEP))
    real, others = records(tmp_path, STEP + 0.05 * span)

    found = compare(real, others, one_test(), shift_s=0.0)

    assert found.indices[0].value == pytest.approx(0.6, abs=1e-12) and found.indices[0].passed
    assert found.indices[0].tolerance == pytest.approx(0.05 * span)
    assert found.events[0].most == pytest.approx(0.05 * span)
    limited = compare(real, others, one_test(limit=0.5), shift_s=0.0).indices[0]
    assert limited.tolerance == 0.5 and limited.value > 0.99


def test_the_error_event_names_the_worst_moment_that_a_mean_hides(tmp_path: Path) -> None:
    bump = STEP + np.where((TIME_S > 20) & (TIME_S < 20.3), 0.5, 0.0)
    real, others = records(tmp_path, bump)

    event = compare(real, others, one_test(), shift_s=0.0).events[0]

    assert event.most == pytest.approx(0.5) and 20 < event.at_s < 20.3
    assert event.longest_s == pytest.approx(0.28, abs=0.03) and event.beyond_s == event.longest_s


def test_a_late_simulation_is_told_apart_from_a_wrong_one(tmp_path: Path) -> None:
    wave = np.sin(TIME_S)
    real, others = records(tmp_path, np.sin(TIME_S - 0.3), real=wave)

    event = compare(real, others, one_test(), shift_s=0.0).events[0]

    assert event.delay_s == pytest.approx(0.3, abs=0.021) and event.best_rms < 0.02


def test_figures_of_a_step_are_those_of_a_first_order_lag() -> None:
    assert figure("rise_time", TIME_S, STEP) == pytest.approx(2 * np.log(9), abs=0.05)
    assert figure("settling_time", TIME_S, STEP) == pytest.approx(2 * np.log(20), abs=0.05)
    assert figure("overshoot", TIME_S, STEP) == pytest.approx(0.0, abs=1e-5)
    assert figure("final", TIME_S, STEP) == pytest.approx(1.0, abs=1e-4)
    assert figure("rms", np.arange(2.0), np.array([3.0, 4.0])) == pytest.approx(np.sqrt(12.5))


def test_the_interval_of_a_mean_holds_the_truth_about_as_often_as_it_says(tmp_path: Path) -> None:
    inside = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        noise = np.convolve(random.standard_normal(1019), np.ones(20) / 20, mode="valid")  # remembers 20 samples
        rows = drawn_rows(len(noise), block_length(noise), seed=seed)
        low, high = np.percentile(noise[rows].mean(axis=1), [2.5, 97.5])
        inside += low <= 0 <= high
    assert 48 <= inside <= 60  # 57 expected; blocks make intervals a little short


def test_more_runs_widen_the_interval_to_what_the_runs_say(tmp_path: Path) -> None:
    real, others = records(tmp_path, STEP + 0.01, STEP + 0.05)

    both = compare(real, others, one_test(), shift_s=0.0).indices[0]

    single = [compare(real, [other], one_test(), shift_s=0.0).indices[0].value for other in others]
    assert both.runs == pytest.approx(single) and both.value == pytest.approx(np.mean(single))
    assert both.low == pytest.approx(single[1], abs=0.01) and both.high == pytest.approx(single[0], abs=0.01)


def test_a_frequency_test_finds_a_wrong_gain_and_a_plan_weighs_its_classes(tmp_path: Path) -> None:
    u = NOISE
    y = np.convolve(u, 0.02 * np.exp(-TIME_S[:500] / 0.5), mode="full")[: len(u)]
    plan = Plan.model_validate(
        {
            "mean": "arithmetic",
            "weights": {"frequency": 1.0, "time": 3.0},
            "test": [
                {"name": "f", "kind": "frequency", "signal": "y", "input": "u", "band_radps": [1.0, 20.0]},
                {"name": "t", "kind": "time", "signal": "y", "limit": 0.1},
            ],
        }
    )
    real = read_record(table(tmp_path / "r.csv", time_s=TIME_S, u=u, y=y))
    same = read_record(table(tmp_path / "s.csv", time_s=TIME_S, u=u, y=y))
    louder = read_record(table(tmp_path / "l.csv", time_s=TIME_S, u=u, y=2 * y))

    equal, loud = (compare(real, [other], plan, shift_s=0.0) for other in (same, louder))

    assert equal.overall[0] == pytest.approx(1.0)
    frequency = next(i for i in loud.indices if i.test.kind == "frequency")
    assert frequency.error == pytest.approx(6.0, abs=0.1) and not frequency.passed  # 6.02 dB, weighted by coherence
    values = {name: value[0] for name, value in loud.classes.items()}
    assert loud.overall[0] == pytest.approx(0.25 * values["frequency"] + 0.75 * values["time"])
    costs = {m.name: m.value for m in loud.measures if m.signal == "y"}
    assert costs["CIFER J"] > 100 and costs["MUAD, share outside"] > 0.5


# ---------------------------------------------------------------------- driven models


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flown") / "flight.parquet"
    flight_log().to_parquet(path)
    return path


def test_the_model_that_made_a_record_foretells_it_and_a_heavier_one_does_not(flown: Path) -> None:
    real = read_record(flown).without(["battery_voltage"])
    plan = Plan.model_validate(
        {"test": [{"name": "fall", "kind": "time", "signal": "velocity_down", "window_s": [2.0, 5.9]}]}
    )
    found = []
    for params in ({}, {"body.mass": 1.7}):
        driven = drive(real, "quad_f450", window_s=(2.0, 5.9), restart_s=0.5, params=params)
        comparison = compare(driven.real, [driven.simulated], driven.fitted(plan), shift_s=0.0)
        found.append(driven.beside(comparison))

    assert found[0].indices[0].value > 0.98
    assert found[1].indices[0].value < 0.5
    skills = [next(m.value for m in one.measures if m.name.startswith("skill")) for one in found]
    assert skills[0] > 0.8 > skills[1]


def test_a_log_of_another_vehicle_or_without_commands_drives_nothing(flown: Path) -> None:
    real = read_record(flown)
    with pytest.raises(RecordError, match="another vehicle"):
        drive(real, "hexa_x")
    with pytest.raises(RecordError, match="no command"):
        drive(real.without(["motor_2"]), "quad_f450")
    with pytest.raises(RecordError, match="pitch_rate"):
        drive(real.without(["pitch_rate"]), "quad_f450")
    with pytest.raises(RecordError, match="scale and offset"):
        drive(real, "quad_f450", DriveTable(inputs={f"rotor/{n}": f"motor_{n}" for n in (1, 2, 3, 4)}, scale=1000.0))
    with pytest.raises(RecordError, match="can be driven"):
        drive(real, "quad_f450", window_s=(3.0, 3.1))


def test_the_command_compares_writes_a_page_and_numbers_and_says_pass_or_fail(
    tmp_path: Path, flown: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["model", "credibility", str(flown), str(flown), "--out", str(out), "--json"])

    assert result.exit_code == 0, result.output
    numbers = checked(out / "credibility.json")
    assert numbers["overall"]["value"] == pytest.approx(1.0) and numbers["passed"]
    page = (out / "credibility.html").read_text()
    assert "<svg" in page and "95 % interval" in page and "<script" not in page
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        result = CliRunner().invoke(app, ["model", "credibility", str(flown), str(flown)])
        assert f"report: out/credibility-{number}/credibility.html" in result.output
    refused = CliRunner().invoke(app, ["model", "credibility", str(flown), "--drive"])
    assert refused.exit_code == 2 and "--vehicle" in refused.output
