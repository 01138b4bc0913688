"""Lanes, pieces and ends of runs in closed form: y = g u (1 - exp(-t / T)) in every lane, whatever the others do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from parts import Counter, Lag, Ramp

from ironbird import CompiledModel, Diagram, ParamEvent, advance, compile_model, run, start
from ironbird.errors import ModelError, RunError
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run_each
from ironbird.runtime.tuning import Tuning

T_S = 0.1
TOLERANCE = 1e-9  # RK4 at T/100


@pytest.fixture(scope="module")
def lag() -> CompiledModel:
    diagram = Diagram("lag")
    diagram.export(diagram.add("lag", Lag()).u)
    return compile_model(diagram)


@pytest.fixture(scope="module")
def stopping() -> CompiledModel:
    """A lag that stops at half of its input's unit, and two sampled blocks of which one reads the other."""
    diagram = Diagram("stopping")
    lag, clock = diagram.add("lag", Lag()), diagram.add("clock", Ramp())
    first, second = diagram.add("first", Counter(sample_s=0.01)), diagram.add("second", Counter(sample_s=0.01))
    diagram.export(lag.u)
    diagram.connect(lag.y, first.u)
    diagram.connect(first.seen, second.u)
    diagram.stop("time is over", clock.late)
    return compile_model(diagram)


def rise(time_s: float | np.ndarray, gain: float = 1.0) -> np.ndarray:
    return np.asarray(gain * (1 - np.exp(-np.asarray(time_s) / T_S)))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_lane_flies_to_the_end_with_any_number_of_threads(lag: CompiledModel, threads: int) -> None:
    state = start(lag, lanes=20)  # three blocks of eight, the last not full
    for lane in range(20):
        state.set_input("u", float(lane), lane)

    log = run(state, 0.3, log_s=0.1, threads=threads)

    assert state.time_s == pytest.approx(0.3)
    for lane in range(20):
        assert state.get("lag.x", lane)[0] == pytest.approx(rise(0.3, lane), abs=20 * TOLERANCE)
        np.testing.assert_allclose(log.lane("lag.y", lane), rise(np.arange(3) * 0.1, lane), atol=20 * TOLERANCE)


def test_the_state_after_a_run_in_pieces_is_that_of_its_end(lag: CompiledModel) -> None:
    state = start(lag)
    state.set_input("u", 1.0)
    for until_s in (0.05, 0.051, 0.2):
        run(state, until_s, log_s=0.001)
        assert state.get("lag.x")[0] == pytest.approx(rise(until_s), abs=TOLERANCE)
    advance(state, 30)
    assert (state.tick, state.get("lag.x")[0]) == (230, pytest.approx(rise(0.23), abs=TOLERANCE))


def test_parameters_that_change_on_the_way_act_from_their_tick_on(lag: CompiledModel) -> None:
    state = start(lag)
    state.set_input("u", 1.0)

    run(state, 0.2, tunings=[Tuning(100, "lag.gain", 0.0), Tuning(0, "lag.gain", 2.0)])

    assert state.get("lag.x")[0] == pytest.approx(rise(0.1, 2.0) * math.exp(-1.0), abs=TOLERANCE)


def test_a_lane_that_has_stopped_stays_and_is_not_logged_while_the_others_go_on(stopping: CompiledModel) -> None:
    state = start(stopping, lanes=3)
    for lane in range(3):
        state.set_input("u", 1.0, lane)

    first = run(state, 0.3, log_s=0.1)
    state.stop_tick.reshape(-1)[1] = 300  # lane 1 stops here
    state.stop_reason.reshape(-1)[1] = 0
    rest = run(state, 0.5, log_s=0.1)

    assert first.all_lanes("lag.y").shape == (3, 3)
    assert np.isnan(rest.all_lanes("lag.y")[1]).all() and np.isfinite(rest.all_lanes("lag.y")[[0, 2]]).all()
    assert state.get("lag.x", 1)[0] == pytest.approx(rise(0.3), abs=TOLERANCE)  # where it stopped
    assert state.get("lag.x", 0)[0] == state.get("lag.x", 2)[0] == pytest.approx(rise(0.5), abs=TOLERANCE)


def test_a_lane_stops_at_its_own_time_with_the_row_of_its_stop_logged(lag: CompiledModel) -> None:
    diagram = Diagram("level")
    block = diagram.add("lag", Lag())
    diagram.export(block.u)
    diagram.stop("above half", block.y)  # a flag of more than one half
    state = start(compile_model(diagram), lanes=2)
    state.set_input("u", 1.0, 0)
    state.set_input("u", 0.4, 1)  # never gets there

    log = run(state, 0.2, log_s=0.001)

    stop = log.stops[0]
    assert stop is not None and log.stops[1] is None
    assert stop.time_s == pytest.approx(math.ceil(1000 * T_S * math.log(2)) / 1000)  # the first tick above
    assert log.time(0)[-1] == stop.time_s and log["lag.y"][-1] > 0.5 > log["lag.y"][-2]
    assert state.get("lag.x", 0)[0] == log["lag.y"][-1]  # it stays where it stopped
    assert state.get("lag.x", 1)[0] == pytest.approx(rise(0.2, 0.4), abs=TOLERANCE)
    whole = log.all_lanes("lag.y")
    assert np.isnan(whole[0, log.rows(0) :]).all() and np.isfinite(whole[1]).all() and log.rows(0) < log.rows(1)


def test_sampled_blocks_see_what_others_put_out_at_the_same_instant(stopping: CompiledModel) -> None:
    state = start(stopping)
    state.set_input("u", 1.0)

    log = run(state, 0.1, log_s=0.01)

    np.testing.assert_array_equal(log["first.seen"], log["lag.y"])
    np.testing.assert_array_equal(log["second.seen"], log["lag.y"])  # not one sample later
    np.testing.assert_array_equal(log["second.count"], np.arange(10))


def test_equal_values_at_other_times_have_another_hash(lag: CompiledModel) -> None:
    short, long = run(start(lag), 0.1, log_s=0.01), run(start(lag), 0.2, log_s=0.02)

    assert not short["lag.y"].any() and not long["lag.y"].any() and short.rows() == long.rows() == 10
    assert short.sha256() != long.sha256()


def test_what_is_ordered_in_a_branch_is_not_ordered_in_the_run(lag: CompiledModel) -> None:
    state = start(lag, lanes=2)
    state.add_event(ParamEvent("lag.gain", 2.0), 0)
    branch = state.branch()

    branch.add_event(ParamEvent("lag.gain", 3.0), 1)
    branch.fired[0][0] = 7

    assert [len(events) for events in state.events] == [1, 0] and state.fired == [[-1], []]


def test_events_without_duration_are_refused(lag: CompiledModel) -> None:
    with pytest.raises(RunError, match="window must not be empty"):
        start(lag).add_event(ParamEvent("lag.gain", 1.0, start_s=1.0, end_s=1.0))


def test_hashes_of_all_lanes_are_those_of_each(stopping: CompiledModel) -> None:
    state = start(stopping, lanes=20)  # three blocks of eight, the last not full
    for lane in range(20):
        state.set_input("u", float(lane), lane)
    log = run(state, 0.3, log_s=0.01)
    paths = [list(log.signals), ["lag.y", "second.seen"], ["first.seen"]]
    wanted = [paths[lane % 3] for lane in range(20)]

    assert log.sha256_of_lanes(wanted) == [log.sha256(lane, wanted[lane]) for lane in range(20)]
    assert len(set(log.sha256_of_lanes(wanted))) == 20
    part = log.part(8, 20)
    assert part.sha256_of_lanes(wanted[8:]) == log.sha256_of_lanes(wanted)[8:]
    np.testing.assert_array_equal(part.all_lanes("lag.y"), log.all_lanes("lag.y")[8:])
    np.testing.assert_array_equal(part.lane("lag.y", 11), log.lane("lag.y", 19))


def test_values_of_many_lanes_are_set_as_one_by_one(lag: CompiledModel) -> None:
    together, apart = start(lag, lanes=20), start(lag, lanes=20)
    for path in ("lag.gain", "lag.x_0"):
        values = {lane: 1.0 + lane for lane in range(3, 20, 2)}
        together.set_param_of(path, values)
        for lane, value in values.items():
            apart.set_param(path, value, lane)
    np.testing.assert_array_equal(together.params, apart.params)
    np.testing.assert_array_equal(together.x, apart.x)  # begins at x_0

    with pytest.raises(ModelError, match=r"outside its range"):
        together.set_param_of("lag.time_constant", {1: 0.1, 2: 0.0})
    with pytest.raises(ModelError, match=r"is not a number|is not finite"):
        together.set_param_of("lag.gain", {1: math.nan})
    with pytest.raises(RunError, match=r"lane 20 does not exist"):
        together.set_param_of("lag.gain", {20: 1.0})
    advance(together)
    with pytest.raises(RunError, match=r"only before the run starts"):
        together.set_param_of("lag.gain", {0: 1.0})


def test_many_small_runs_in_rounds_are_the_same_as_one_after_the_other(stopping: CompiledModel) -> None:
    def begun() -> list[RunState]:
        states = [start(stopping, lanes=lanes, seed=lanes) for lanes in (8, 3, 8)]
        for number, state in enumerate(states):
            state.set_input("u", 1.0 + number)
            state.add_event(ParamEvent("lag.gain", value=0.5, effect="scale", start_s=0.02))
        advance(states[1], 30)
        return states

    ends_s, polled = (0.05, 0.31, 0.0), [0, 0]
    for way in (0, 1):
        states = begun()

        def poll(state: RunState, way: int = way) -> None:
            polled[way] += 1

        if way:
            logs = run_each(states, ends_s, log=["lag.y"], log_s=0.01, poll=poll, piece_ticks=20)
        else:
            alone = [
                run(state, end_s, log=["lag.y"], log_s=0.01, threads=1, poll=poll, piece_ticks=20)
                for state, end_s in zip(states, ends_s, strict=True)
            ]
            expected = states
    for own, other, log, whole in zip(states, expected, logs, alone, strict=True):
        assert own.tick == other.tick and own.x.tobytes() == other.x.tobytes()
        assert log.data.tobytes() == whole.data.tobytes() and log.stops == whole.stops
    assert polled[0] == polled[1] > 10 and len(logs[2].time_s) == 0
