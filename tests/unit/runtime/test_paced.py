"""The loop that keeps time: it computes what any run does, notes what is late, and ends when it is told."""

from __future__ import annotations

import ctypes
import time

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.conditions.trigger import compile_trigger
from ironbird.errors import LinkError, RunError
from ironbird.flight.derived import names_of
from ironbird.flight.flight import fly
from ironbird.host.realtime import BY_HOST, BY_NOBODY, BY_OTHERS, Toll, on_time
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.paced import ASKED, ENDED, NOT_YET, STOPPED, PacedLoop, locked_memory
from ironbird.runtime.state import start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.load import load_vehicle

UNTIL_S = 0.3


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    return compile_model(load_vehicle("quad_f450", control="external").diagram)


def stepper(model: CompiledModel, until_s: float = UNTIL_S, event: ParamEvent | None = None) -> Stepper:
    state = start(model, seed=3)
    if event is not None:
        state.add_event(event)
    made = Stepper(state, until_s=until_s, log=["body.*", "imu/*"], log_s=0.002)
    made.inputs[:] = 0.6
    return made


@pytest.mark.clock
def test_a_run_that_keeps_time_has_the_bytes_of_one_that_does_not(model: CompiledModel) -> None:
    paced, free = stepper(model), stepper(model)
    loop = paced.on_time(1)
    begin = time.monotonic()
    loop.start()
    while loop.look():
        time.sleep(0.01)
    assert time.monotonic() - begin >= UNTIL_S - 0.002  # never ahead of the wall
    assert (loop.result, loop.steps, paced.state.tick) == (ENDED, 300, 300)
    while free.step(7):
        pass
    assert paced.finish().data.tobytes() == free.finish().data.tobytes()
    assert paced.state.content(0) == free.state.content(0)
    assert loop.late_s.min() >= 0.0 and len(loop.late_s) == 300


def test_a_loop_that_is_held_stands_between_two_steps_and_takes_events_that_are_added(model: CompiledModel) -> None:
    paced = stepper(model, until_s=2.0)
    loop = paced.on_time(2)
    loop.start()
    with paced.hold(loop, shifted=True):
        stood = paced.state.tick
        assert stood == loop.steps * 2
        time.sleep(0.2)
        assert loop.look() and paced.state.tick == stood
        begin_s = 1e-3 * (stood + 20)
        paced.state.add_event(ParamEvent("body.mass", 2.0, begin_s))
    while loop.look():
        time.sleep(0.01)
    assert loop.result == ENDED and loop.steps == 1000
    free = stepper(model, until_s=2.0, event=ParamEvent("body.mass", 2.0, begin_s))
    while free.step(100):
        pass
    assert paced.finish().data.tobytes() == free.finish().data.tobytes()
    assert loop.late_s[stood // 2 :].min() < 0.1  # time stood too


def test_a_step_is_made_in_parts_and_samples_are_taken_between_them(model: CompiledModel) -> None:
    made, ticks = stepper(model), []
    sample = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(lambda _, tick: ticks.append(tick))
    loop = made.on_time(4, samples=(4, int(ctypes.cast(sample, ctypes.c_void_p).value or 0)))
    assert loop.go(10) == NOT_YET and made.state.tick == 40
    assert ticks == [tick for tick in range(1, 40) if tick % 4]  # the last of a step is for the exchange
    free = stepper(model)
    free.step(40)
    assert made.state.content(0) == free.state.content(0)
    with pytest.raises(RunError, match="4 ticks of a step do not make 3 equal parts"):
        made.on_time(4, samples=(3, 0))


def test_steps_whose_moment_is_over_are_late_and_follow_at_once(model: CompiledModel) -> None:
    made = stepper(model)
    loop = made.on_time(2, begin_ns=time.monotonic_ns() - 10_000_000_000)
    assert loop.go(100) == NOT_YET and loop.steps == 100 and made.state.tick == 200
    assert 9.7 < loop.late_s[-1] <= loop.late_s[0] + 60.0 and loop.late_s[0] > 9.9
    assert loop.go() == ENDED and loop.steps == 150


def test_it_ends_when_it_is_told_and_when_the_vehicle_stops(model: CompiledModel) -> None:
    made = stepper(model, 60.0)
    loop = made.on_time(4)
    loop.start()
    loop.end()
    loop.end()
    assert loop.result == ASKED and made.state.tick < 60_000 and not loop.look()
    fallen = stepper(model, 60.0)
    fallen.inputs[:] = [1.0, 0.0, 0.0, 0.0]
    loop = fallen.on_time(4, begin_ns=0)
    assert loop.go() == STOPPED and fallen.stop is not None
    assert loop.steps == len(loop.given) > 0


def test_copies_of_the_state_are_those_of_the_run_at_their_ticks(model: CompiledModel) -> None:
    when = compile_trigger("time > 0.15 s", names_of(model))
    event = ParamEvent("rotor/1/command_fault.lost", 1.0, when=when)
    made = stepper(model, event=event)
    loop = made.on_time(2, copy_ticks=100, begin_ns=0)
    loop.go()
    made.note_fired()
    copies = list(loop.past())
    assert [copy.tick for copy in copies] == [100, 200, 300]
    assert [copy.fired[0][0] >= 0 for copy in copies] == [False, True, True]
    again = stepper(model, event=event)
    again.step(200)
    again.note_fired()
    assert copies[1].content(0) == again.state.content(0) and copies[1].fired == again.state.fired


def test_a_flight_in_real_time_is_the_same_as_one_that_is_not() -> None:
    free = fly("quad_f450", mission="hover", until_s=0.5)
    paced = fly("quad_f450", mission="hover", until_s=0.5, speed=1.0)
    assert free.sha256 == paced.sha256 and free.log.data.tobytes() == paced.log.data.tobytes()
    assert paced.wall_s >= 0.45 > 0.0


def test_what_cannot_be_is_refused(model: CompiledModel) -> None:
    made = stepper(model)
    with pytest.raises(RunError, match="positive multiple of real time, not -1"):
        PacedLoop(made._run, made._args, made.state, 300, 1, speed=-1.0)
    with pytest.raises(RunError, match="ticks of a step"):
        made.on_time(0)
    loop = made.on_time(1)
    with pytest.raises(LinkError, match=r"there is no core 4000 for this program; it may use \d"):
        loop.start(lambda: on_time(core=4000, priority=False))
    assert loop.steps == 0


def test_what_the_system_granted_is_said_and_given_back(model: CompiledModel) -> None:
    loop = stepper(model, 0.01).on_time(1)
    loop.start(lambda: on_time(core=0))
    loop.end()
    assert "priority" in loop.standing and "memory" in loop.standing and loop.standing.endswith("on core 0")
    with locked_memory() as said:
        assert said == "memory locked" or said.startswith("memory not locked (")


def test_late_steps_are_told_apart_by_what_was_taken(model: CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = stepper(model).on_time(1, begin_ns=0)
    toll = Toll(loop)
    stolen, waited = iter([0.0, 0.5, 0.5, 0.5]), iter([0.0, 0.0, 0.2, 0.2])
    monkeypatch.setattr("ironbird.host.realtime.stolen_s", lambda: next(stolen))
    monkeypatch.setattr(type(loop), "waited_s", property(lambda self: next(waited)))
    monkeypatch.setattr("ironbird.host.realtime.SAMPLE_S", 0.0)
    for _ in range(3):
        toll.look()
        loop.go(100)
    late = np.zeros(300, bool)
    late[[5, 6, 7, 105, 250, 299]] = True
    assert toll.causes(late) == {BY_HOST: 3, BY_OTHERS: 1, BY_NOBODY: 2}
