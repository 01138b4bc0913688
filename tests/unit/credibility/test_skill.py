"""Skill is the headline of a driven model, and the record distinguishes wrong models from the right one or says not."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.credibility.airborne import airborne
from ironbird.credibility.compare import Comparison, compare
from ironbird.credibility.drive import Driven, _multiply, drive
from ironbird.credibility.plan import DriveTable, Plan, load_plan
from ironbird.credibility.readers import read_record, record_of
from ironbird.credibility.record import Record, Track
from ironbird.credibility.skill import Skill, judged, overall
from ironbird.credibility.summary import distinguished, verdict
from ironbird.credibility.wrong import WRONG, with_wrong_models
from ironbird.errors import RecordError
from ironbird.flight.flight import fly
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.vehicles.load import load_vehicle

DATA = Path(__file__).parents[2] / "data"
H250 = DriveTable(
    inputs={"rotor/1": "thrust_1", "rotor/4": "thrust_2", "rotor/2": "thrust_3", "rotor/3": "thrust_4"},
    scale=0.18181,
    set={"rotor/1/motor.health": 0.0},
)
SIGNALS = ("velocity_down", "roll_rate", "pitch_rate", "yaw_rate")
CURVES = [{"name": signal, "kind": "time", "signal": signal} for signal in SIGNALS]


@functools.cache
def own() -> Record:
    """A flight of the F450 round a square in calm air, with every command."""
    return record_of(fly("quad_f450", mission="square", until_s=12.0, log_s=0.004).log, Path("own.parquet"))


def driven_by(
    real: Record, vehicle: str | Path, how: DriveTable, window_s: tuple[float, float], restart_s: float,
    params: dict[str, Number] | None = None,
) -> tuple[Driven, Comparison]:  # fmt: skip
    given: dict[str, Any] = {"window_s": window_s, "restart_s": restart_s, "params": params or {}}
    driven = drive(real, vehicle, how, **given)
    plan = driven.fitted(Plan.model_validate({"test": CURVES}))
    found = driven.beside(compare(driven.real, [driven.simulated], plan, shift_s=0.0))
    return driven, with_wrong_models(found, driven, real, vehicle, how, given)


def test_skill_of_a_model_is_one_minus_its_error_over_that_of_no_model() -> None:
    skills = [Skill("a", "m/s", 0.1, 0.2, 0.4), Skill("b", "rad", 2.0, 1.0, 4.0)]

    assert skills[0].against_unchanged == pytest.approx(0.5) and skills[1].against_unchanged == pytest.approx(-1.0)
    assert overall(skills, "against_unchanged") == pytest.approx(0.0, abs=1e-12)  # sqrt(0.5 * 2) = 1
    assert overall(skills, "against_straight") == pytest.approx(1 - math.sqrt(0.125))


def test_a_wrong_model_is_told_only_by_more_than_chance() -> None:
    noise = np.random.default_rng(1).standard_normal((40, 50))
    moved = noise + 0.5
    seen = judged("moved", ["a"], ["m/s"], [0.2 * noise], [0.2 * noise + 0.5])
    unseen = judged("moved", ["a"], ["m/s"], [noise], [noise + 0.01])
    nearer = judged("moved", ["a"], ["m/s"], [moved], [noise])

    assert (seen.word, unseen.word, nearer.word) == ("yes", "no", "against")


@pytest.mark.parametrize(("pieces", "word"), [(7, "no"), (8, "yes")])
def test_a_few_pieces_tell_nothing_and_the_reason_is_given(pieces: int, word: str) -> None:
    noise = np.random.default_rng(1).standard_normal((pieces, 50))
    found = judged("moved", ["a"], ["m/s"], [0.2 * noise], [0.2 * noise + 0.5])

    assert found.word == word
    assert found.why.startswith("7 pieces are too few, at least 8") is (word == "no")


def test_our_own_record_tells_every_wrong_model_and_they_have_less_skill() -> None:
    driven, found = driven_by(own(), "quad_f450", DriveTable(), (6.0, 12.0), 0.5)

    words = {wrong.name: wrong.word for wrong in found.wrong}
    assert found.skill is not None and min(found.skill) > 0.8
    assert verdict(found).split(": ")[1].startswith("skill 0.9")
    assert set(words.values()) == {"yes"}, words
    for wrong in found.wrong:
        factors, delay_s = WRONG[wrong.name]
        other = drive(own(), "quad_f450", window_s=(6.0, 12.0), restart_s=0.5, factors=factors, delay_s=delay_s)
        (right,), (bad,) = (one.skills([wrong.signal]) for one in (driven, other))
        assert bad.against_unchanged < right.against_unchanged, wrong


@pytest.mark.parametrize("log", ["h250", "px4_vision"])
def test_on_shipped_logs_a_wrong_model_has_less_skill_or_the_record_says_that_it_cannot_tell(log: str) -> None:
    if log == "h250":
        real, vehicle, how = read_record(DATA / "h250" / "multi_10.csv"), "quad_h250", H250
        _, found = driven_by(real, vehicle, how, (9.5, 13.4), 1.0)
    else:
        folder = DATA / "px4_vision"
        how = load_plan(folder / "tests.toml").drive
        _, found = driven_by(
            read_record(folder / "flight.csv"), folder / "quad_px4_vision.toml", how, (14.0, 26.0), 0.3
        )

    assert [wrong.name for wrong in found.wrong] == list(WRONG)
    lines = distinguished(found)
    for wrong in found.wrong:
        line = next(line for line in lines if wrong.name in line)
        if wrong.word == "yes":
            assert wrong.wrong_error > wrong.error
        else:
            assert line.startswith(("this record cannot distinguish:", "this record is nearer to a wrong model")), line
    if found.worthless:
        assert "no index is given" in verdict(found) and not found.passed


def test_a_figure_of_a_restarted_signal_is_refused_and_one_piece_gives_it() -> None:
    test = {"name": "spin", "kind": "performance", "signal": "yaw_rate", "figure": "mean", "tolerance": 0.1}
    plan = Plan.model_validate({"test": [test]})
    real = read_record(DATA / "h250" / "multi_10.csv")
    driven = drive(real, "quad_h250", H250, window_s=(9.5, 12.6), restart_s=1.0)
    with pytest.raises(RecordError, match=r"'spin'.*every 1 s, so its mean is that of the record.*--restart 2.99"):
        driven.fitted(plan)
    whole = drive(own(), "quad_f450", window_s=(6.0, 8.0), restart_s=2.0)
    assert [test.name for test in whole.fitted(plan).test] == ["spin"]
    usual = drive(own(), "quad_f450", window_s=(6.0, 8.0), restart_s=0.5).fitted(Plan())
    assert {test.signal for test in usual.test if test.kind == "performance"} <= {
        "specific_force_x", "specific_force_y", "specific_force_z",
    }  # fmt: skip


def test_a_factor_multiplies_what_was_set_in_every_lane() -> None:
    model = compile_model(load_vehicle("quad_f450", control="external").diagram)
    state = start(model, lanes=3, params={"body.mass": 2.0})
    state.set_param("battery.voltage_factor", 0.5, 1)
    _multiply(state, {"body.mass": 1.2, "battery.voltage_factor": 0.5})

    for path, values in (("body.mass", [2.4, 2.4, 2.4]), ("battery.voltage_factor", [0.5, 0.25, 0.5])):
        rows = model.flat.p.rows(path)
        assert np.moveaxis(state.params[:, rows, :], 1, 2).ravel()[:3] == pytest.approx(values)


def test_time_on_the_ground_is_cut_and_a_record_of_flight_is_whole() -> None:
    t = np.arange(0.0, 40.0, 0.02)
    height = np.interp(t, [5.0, 10.0, 30.0, 35.0], [0.0, 10.0, 10.0, 0.0])
    command = Track(t, np.where((t < 4.0) | (t > 36.0), 0.05, 0.6), "1")
    record = Record(Path("a.csv"), "csv", {"down": Track(t, -height, "m")})

    low, high = airborne(record, [command])
    assert low == pytest.approx(6.5, abs=0.03) and high == pytest.approx(33.5, abs=0.03)
    assert airborne(record, [Track(t, 0.0 * t + 0.6, "1")]) == pytest.approx((0.0, 39.98))
    dip = Track(t, np.where(t < 0.1, 0.05, 0.6), "1")  # an excitation that begins low
    assert airborne(record, [dip])[0] == 0.0


def test_the_rating_of_iso_18571_says_its_rate() -> None:
    t = np.arange(0.0, 30.0, 0.02)
    wave = Record(Path("a.csv"), "csv", {"pitch": Track(t, np.sin(t), "rad")})
    plan = Plan.model_validate({"test": [{"name": "a", "kind": "time", "signal": "pitch"}]})

    (rate,) = [m.detail for m in compare(wave, [wave], plan, shift_s=0.0).measures if m.name.startswith("ISO")]

    assert rate.endswith("at 16.67 Hz, one of 3 samples")
