"""A verdict does not depend on the distance between rows of the log: the kernel keeps the extremes of every tick."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.conditions.margin import programs_of
from ironbird.errors import ConditionError, OrderError
from ironbird.flight.flight import fly
from ironbird.flight.judge import Judged
from ironbird.flight.order import Order
from ironbird.flight.prepare import fit, names_in
from ironbird.requirements.meaning import parse_requirement
from ironbird.runtime.predicate import Op, Predicate
from ironbird.runtime.state import start
from ironbird.runtime.step import run

ROWS_S = (0.004, 0.02, 0.1, 1.0)
TOUCH_DOWN = "rate spikes for a few ticks when the feet touch the ground"


def judged(log_s: float, *requirements: str, **more: object) -> Judged:
    """The square, with some requirements."""
    flight = fly("quad_f450", mission="square", log_s=log_s, requirements=list(requirements), **more)  # type: ignore[arg-type]
    assert isinstance(flight.judged, Judged)
    return flight.judged


def margins(log_s: float, *requirements: str, **more: object) -> list[float]:
    """The margins of the requirements."""
    found = {j.formula: j.margin for j in judged(log_s, *requirements, **more).judgements}
    return [found[text] for text in requirements]


def test_margins_are_those_of_every_tick_whatever_the_log() -> None:
    texts = (
        "always (rate <= 80 deg/s)", "always (contact.load < 45 N)", "eventually (contact.load > 40 N)",
        "always (tilt < 20 deg and rate < 200 deg/s)", "not eventually (rate > 80 deg/s)",
        "always (altitude < 3 m or climb > -2 m/s)",
    )  # fmt: skip
    tick = margins(0.002, *texts)
    for log_s in ROWS_S:
        assert margins(log_s, *texts) == tick
    assert tick[0] < 0.0, TOUCH_DOWN


def test_without_the_extremes_the_rows_alone_would_pass() -> None:
    flight = fly("quad_f450", mission="square", requirements=["always (rate <= 80 deg/s)"])
    assert flight.verdict == "fail"
    rates = np.linalg.norm(flight.log["body.w_NB_B"], axis=1)
    assert math.degrees(rates.max()) < 80.0  # no row shows it
    broken = next(j for j in flight.judged.judgements if j.margin < 0)
    low, high = broken.time_s, broken.time_s + 0.02
    assert f"between {low:.2f} s and {high:.2f} s; required: at most 80 deg/s" in broken.sentence
    assert low <= broken.broken_s < high


def test_a_joined_condition_that_a_row_shows_too_is_reported_with_its_value() -> None:
    """Of `A and B` the kernel keeps one margin; the row beside the extreme says which of both it was, and its value."""
    text = "distance <= 10 m and height <= 120 m"
    result = judged(1.0, f"always ({text})")
    broken = next(j for j in result.judgements if j.margin < 0)
    value, rest = broken.sentence.removeprefix("distance was ").split(" m at ", 1)
    assert 10.0 < float(value) <= 10.0 - broken.margin + 0.005
    assert "required: at most 10 m" in rest
    beyond = f"{-broken.margin:.4g} m"
    assert f"({beyond} beyond)" in rest or f"'{text}' was violated by {beyond} between" in rest


def test_the_hash_of_a_flight_does_not_depend_on_its_requirements_about_signals_that_are_logged_anyway() -> None:
    plain = fly("quad_f450", mission="hover", until_s=5.0, ends="time")
    watched = fly("quad_f450", mission="hover", until_s=5.0, ends="time", requirements=["always (tilt < 80 deg)"])
    assert plain.sha256 == watched.sha256


def test_windows_end_at_the_row_of_their_end() -> None:
    """The spike of the landing lies between two rows: a window that ends before it does not see it."""
    flight = fly("quad_f450", mission="square", requirements=["always (rate <= 80 deg/s)"])
    row_s = next(j.time_s for j in flight.judged.judgements if j.margin < 0)
    until, beyond = f"always[0, {row_s:.2f}] (rate <= 80 deg/s)", f"always[0, {row_s + 0.02:.2f}] (rate <= 80 deg/s)"
    before, after = margins(0.02, until, beyond)
    assert before > 0.0 > after
    texts = [form.format(end) for end in (row_s, row_s + 0.02) for form in (
        "eventually[0, {:.2f}] (rate > 80 deg/s)", "(altitude < 100 m) until[0, {:.2f}] (rate > 80 deg/s)"
    )]  # fmt: skip
    result = judged(0.02, *texts)
    found = {j.formula: j for j in result.judgements}
    assert [found[text].holds for text in texts] == [False, False, True, True]
    for text in texts[:2]:
        value = float(found[text].sentence.removeprefix("rate was at best ").split(" deg/s", 1)[0])
        assert value - 80.0 == pytest.approx(math.degrees(found[text].margin), abs=0.01)


def test_a_pulse_between_rows_is_a_rise() -> None:
    limit = "rate > 80 deg/s"
    seen, calm = margins(0.02, f"eventually rise({limit})", f"always (rise({limit}) implies altitude > 100 m)")
    assert seen > 0.0 > calm


def test_a_fault_that_begins_between_rows_does_not_blame_what_came_before() -> None:
    """Before the fault the vehicle stands still; the fault begins within a row and rolls it over."""
    fault = "rotor.speed_loss@1:instance=1,severity=1,start=6.011"
    for log_s in (0.004, 0.02):
        result = judged(log_s, "always (fault_active == 0 implies rate < 40 deg/s)", faults=[fault], may_crash=True)
        assert result.judgements[0].margin >= 0.0


def test_a_condition_joined_with_the_fault_needs_rows_of_20_ms() -> None:
    """What lies between the rows around the beginning of the fault is not judged: rows further apart hide more."""
    text = "always (fault_active == 0 or rotor/1/motor.speed > 400 rad/s)"
    with pytest.raises(OrderError, match=r"order of events.* give at most 0\.02 s"):
        judged(0.1, text)
    assert judged(0.1, "always (rise(fault_active == 1) implies eventually[0, 1 s] (tilt < 1 deg))").margin >= 0.0


@pytest.mark.parametrize("past", ["once ({})", "not historically (not {})", "once[0, 1 s] ({})"])
def test_what_is_true_of_every_moment_holds_between_rows_too(past: str) -> None:
    limit = "rate > 80 deg/s"
    always, never = (
        f"always ({limit} implies {past.format(limit)})",
        f"eventually ({limit} and not {past.format(limit)})",
    )
    held, seen = margins(0.02, always, never)
    assert held >= 0.0 >= seen


def test_a_condition_that_held_between_rows_alone_put_its_requirement_to_the_test() -> None:
    seen, never = "always (rate > 80 deg/s implies altitude < 2 m)", "always (rate > 90 deg/s implies altitude < 2 m)"
    found = {j.formula: j.untested for j in judged(0.02, seen, never).judgements}
    assert found[seen] == ""
    assert found[never] == "its condition never held: rate > 90 deg/s"


def test_a_crash_has_its_time_and_not_that_of_a_row() -> None:
    fault = "rotor.speed_loss@1:instance=1,severity=1,start=8.5"
    result = judged(1.0, faults=[fault])
    assert result.verdict == "fail" and not result.early
    crash = next(j for j in result.judgements if j.name == "no_crash")
    assert crash.broken_s == result.ended_s > 8.5


def test_lanes_watch_their_own_programs() -> None:
    """Nine lanes in two blocks, each with a limit of its own: extremes equal those of a log of every tick."""
    model = fit(Order(vehicle="quad_f450", control="truth")).model
    names = names_in(model)
    watch = []
    for lane in range(9):
        formula = parse_requirement(f"always (speed < {lane + 1} m/s)", names)
        watch.append(tuple(programs_of(formula.root, names, formula.text).values()))
    coarse = run(start(model, lanes=9, seed=list(range(9))), 2.0, log=["body"], log_s=0.1, watch=watch)
    fine = run(start(model, lanes=9, seed=list(range(9))), 2.0, log=["body"], log_s=model.step_s)
    assert coarse.watches is not None
    ticks = round(0.1 / model.step_s)
    for lane, (program,) in enumerate(watch):
        found = coarse.watches.of_lane(program, lane)
        assert found is not None
        speed = np.linalg.norm(fine.lane("body.v_NB_N", lane), axis=1).reshape(-1, ticks)
        assert np.allclose(found[0], lane + 1 - speed.max(axis=1), rtol=0, atol=1e-12)
        assert np.allclose(found[1], lane + 1 - speed.min(axis=1), rtol=0, atol=1e-12)
    assert [len(own) for own in coarse.watches.slots] == [8, 1]
    assert coarse.watches.of_lane(watch[0][0], 8) is None


def test_a_program_that_reads_no_signal_is_watched() -> None:
    model = fit(Order(vehicle="quad_f450", control="truth")).model
    clock = Predicate("time", ((Op.PUSH_TIME, 0),), ())
    log = run(start(model), 1.0, log=["body"], log_s=0.1, watch=[[clock]])
    assert log.watches is not None
    found = log.watches.of_lane(clock, 0)
    assert found is not None
    low, high = found
    assert low == pytest.approx(log.time_s) and high == pytest.approx(log.time_s + 0.1 - model.step_s)


def test_a_condition_too_long_for_the_kernel_is_refused_with_its_cure() -> None:
    names = names_in(fit(Order(vehicle="quad_f450", control="truth")).model)
    text = "always (" + " and ".join(f"speed < {number} m/s" for number in range(1, 80)) + ")"
    formula = parse_requirement(text, names)
    with pytest.raises(ConditionError, match="make two requirements of it"):
        programs_of(formula.root, names, text)
