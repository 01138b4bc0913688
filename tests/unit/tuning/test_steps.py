"""Step responses: their figures on curves with known ones, in lanes as alone, and gains that keep what they promise."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ironbird.blocks.controllers.navigator import BY_POSITION, BY_VELOCITY
from ironbird.cli.main import app
from ironbird.errors import ModelError, RunError, UnknownNameError
from ironbird.model.signal import Number
from ironbird.report.tuning_page import sweep_plots
from ironbird.runtime.step import run
from ironbird.tuning.autotune import Result, bandwidth_of, tune, tune_attitude
from ironbird.tuning.loops import hover_loop
from ironbird.tuning.steady import hovering
from ironbird.tuning.steps import STEPS, Answer, answers_to, step_of, usual_step
from ironbird.vehicles import places as at


def answer(value: np.ndarray, time_s: np.ndarray) -> Answer:
    return Answer(time_s, 3.0 * value, 3.0, "", 0.0)


def test_figures_of_a_first_order_lag_are_the_closed_form() -> None:
    t = np.arange(0, 12, 1e-3)
    found = answer(1 - np.exp(-t), t)
    assert found.rise_s == pytest.approx(math.log(9), abs=1e-3)
    assert found.delay_s == pytest.approx(math.log(2), abs=1e-3)
    assert found.settling_s == pytest.approx(math.log(20), abs=2e-3)
    assert found.overshoot == 0.0 and abs(found.error) < 1e-4


def test_the_overshoot_of_a_damped_oscillation_is_the_closed_form() -> None:
    t, damping = np.arange(0, 40, 1e-3), 0.3
    root = math.sqrt(1 - damping**2)
    value = 1 - np.exp(-damping * t) * np.cos(root * t - math.asin(damping)) / root
    assert answer(value, t).overshoot == pytest.approx(math.exp(-math.pi * damping / root), abs=1e-4)


def test_what_never_arrives_has_no_figures() -> None:
    t = np.arange(0, 1, 1e-2)
    found = answer(0.4 * t, t)
    assert math.isnan(found.rise_s) and math.isnan(found.settling_s) and found.error == pytest.approx(-0.62, abs=0.01)


def test_lanes_answer_as_each_alone() -> None:
    slow = {"control.rate_gain": [10.0, 10.0, 4.0]}
    side = answers_to("quad_f450", STEPS["roll"], sets=[{}, slow])
    alone = answers_to("quad_f450", STEPS["roll"], sets=[slow])
    assert np.array_equal(side[1].value, alone[0].value)
    assert side[0].overshoot < 0.02 < 0.15 < side[1].overshoot  # a slow rate loop under the same attitude gain


@pytest.mark.parametrize("name", sorted(STEPS))
def test_every_step_is_followed(name: str) -> None:
    (found,) = answers_to("quad_f450", step_of(name))
    assert found.failure == "" and abs(found.error) < 0.05 and 0 < found.rise_s < 4


def test_gains_that_do_not_fly_are_said() -> None:
    good, bad = answers_to("quad_f450", STEPS["roll"], sets=[{}, {"control.rate_gain": [0.2, 0.2, 0.2]}])
    assert good.failure == "" and "at" in bad.failure and math.isnan(bad.settling_s)


def test_wrong_steps_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'roll'"):
        step_of("rol")
    with pytest.raises(RunError, match="is none"):
        answers_to("quad_f450", STEPS["roll"], 0.0)
    with pytest.raises(ModelError, match="takes no set-point of roll"):
        answers_to("heli_xcell60", STEPS["roll"])


def test_tuned_gains_have_the_bandwidth_and_rise_as_fast_as_it_says() -> None:
    found = tune_attitude("quad_f450", 8.0)
    assert bandwidth_of(hover_loop("quad_f450", found.params), 0, {}, 8.0)[0] == pytest.approx(8.0, rel=0.01)
    assert found.axes[0].margins.phase_deg >= 45 and found.axes[0].margins.gain_up_dB >= 6
    (flown,) = answers_to("quad_f450", STEPS["roll"], 2.0, [found.params])
    assert flown.rise_s == pytest.approx(2.2 / 8.0, rel=0.15)  # of a response without overshoot: 0.35 over the hertz
    with pytest.raises(ModelError, match="ask for less bandwidth"):
        tune_attitude("quad_f450", 60.0)


def test_the_verbs_print_figures_and_write_pages(tmp_path: Path) -> None:
    call = CliRunner().invoke
    swept = call(
        app,
        ["vehicle", "step", "quad_f450", "--sweep", "control.rate_gain[0]=10:20:2", "--json", "--out", str(tmp_path)],
    )
    data = json.loads(swept.output)
    assert swept.exit_code == 0 and [row["set"] for row in data["answers"]] == [
        {"control.rate_gain[0]": 10.0}, {"control.rate_gain[0]": 20.0},
    ]  # fmt: skip
    assert "<polyline" in (tmp_path / "step_roll.html").read_text()
    margins = call(app, ["vehicle", "margins", "quad_f450", "--axis", "roll", "--out", str(tmp_path)])
    assert (
        margins.exit_code == 0
        and "closed" in margins.output
        and "stable" in margins.output
        and (tmp_path / "margins.html").is_file()
    )
    for wrong in ("x", "a=1:2", "a=1:2:0.5", "a=1:2:9999"):
        refused = call(app, ["vehicle", "step", "quad_f450", "--sweep", wrong])
        assert refused.exit_code == 2 and "--sweep" in refused.output


@pytest.fixture(scope="module")
def outer() -> Result:
    return tune("quad_f450", attitude_radps=10.0, velocity_radps=2.5, position_radps=1.0)


def amplitude_in_flight(params: Mapping[str, Number], kind: int, name: str, answer: str, w: float) -> float:
    """How much of a slow sine of a set-point to the north the flying vehicle follows; the last whole periods of it."""
    state = hovering("quad_f450", params=params)
    run(state, 20.0, log=[answer], threads=1)
    state.set_input("offboard_kind", float(kind))
    size, period_s, answers, times = 0.2, 2 * math.pi / w, [], []
    while (elapsed := state.time_s - 20.0) < 5 * period_s:
        given = [size * math.sin(w * elapsed), 0.0, -10.0 if name == "offboard_position" else 0.0]
        state.set_input(name, given)
        log = run(state, state.time_s + 0.02, log=[answer], log_s=0.02, threads=1)  # the navigator's period
        times.append(elapsed)
        answers.append(float(log[answer][0, 0]))
    t, y = np.array(times), np.array(answers)
    late = t >= 2 * period_s
    fit = np.linalg.lstsq(np.column_stack([np.sin(w * t[late]), np.cos(w * t[late]), np.ones(late.sum())]), y[late])[0]
    return float(np.hypot(fit[0], fit[1]) / size)


def test_velocity_and_position_follow_with_the_bandwidth_that_was_asked_for_in_flight(outer: Result) -> None:
    for kind, name, answer, w in (
        (BY_VELOCITY, "offboard_velocity", at.BODY.velocity, 2.5),
        (BY_POSITION, "offboard_position", at.BODY.position, 1.0),
    ):
        found = amplitude_in_flight(outer.params, kind, name, answer, w)
        assert found == pytest.approx(10 ** (-3 / 20), rel=0.05)  # drag and the navigator's 20 ms are what is left


def test_outer_loops_keep_margins_and_what_cannot_be_is_refused(outer: Result) -> None:
    assert [t.loop for t in outer.outer] == ["velocity", "position"]
    assert set(outer.margins) == {"lift", "roll", "pitch", "yaw"} and all(m.stable for m in outer.margins.values())
    with pytest.raises(ModelError, match="cannot follow its position with a bandwidth of 9 rad/s"):
        tune("quad_f450", position_radps=9.0)
    with pytest.raises(ModelError, match="give a bandwidth"):
        tune("quad_f450")


def test_a_sweep_is_drawn_over_one_parameter_and_as_fields_over_two() -> None:
    def answer(overshoot: float) -> Answer:
        time_s = np.linspace(0, 1, 50)
        return Answer(time_s, np.where(time_s > 0.2, 1 + overshoot, time_s * 5), 1.0, "", 0.0)

    one = [{"control.rate_gain[0]": float(v), "body.mass": 1.5} for v in (10, 20, 30)]
    plots = sweep_plots([answer(0.01 * v) for v in (1, 2, 3)], one)
    assert len(plots) == 3 and "overshoot (%) over control.rate_gain[0]" in plots[0] and "<polyline" in plots[0]
    two = [{"a": float(x), "b": float(y)} for x in (1, 2) for y in (3, 4)]
    failed = Answer(np.zeros(0), np.zeros(0), 1.0, "rollover at 3.00 s", math.nan)
    field = sweep_plots([answer(0.1), answer(0.2), answer(0.3), failed], two)[0]
    words = re.findall(">([^<]*)</text>", field)
    assert {"overshoot (%)", "a", "upwards: b", "10", "20", "30", "-"} <= set(words)  # what did not fly has no number
    assert sweep_plots([answer(0.1)], [{}]) == []


@pytest.mark.parametrize(("name", "rise_s"), [("bank", 2.0), ("pitch", 2.0), ("height", 15.0), ("airspeed", 20.0)])
def test_every_step_of_a_wing_is_followed(name: str, rise_s: float) -> None:
    step = step_of(name, "aerosonde")
    plain, other = answers_to("aerosonde", step, sets=[{}, {"body.mass": 13.0}])
    assert plain.failure == "" and 0 < plain.rise_s < rise_s and plain.overshoot < 0.5
    assert abs(plain.error) < 0.08 and abs(plain.value[0]) < 0.02 * step.usual  # it begins in steady flight
    assert not np.array_equal(plain.value, other.value)  # a lane of its own


def test_a_wing_has_steps_of_its_own() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'bank'"):
        step_of("bannk", "aerosonde")
    with pytest.raises(UnknownNameError):
        step_of("speed_north", "aerosonde")
    assert (usual_step("aerosonde"), usual_step("quad_f450")) == ("bank", "roll")
