"""The border to native code: what does not fit the kernel is refused in Python, each time with the reason."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parts import Lag

from ironbird import CompiledModel, Diagram, ParamEvent, advance, compile_model, restore, run, start
from ironbird.errors import IronbirdError, ModelError, RunError
from ironbird.runtime.border import MOST_TICKS
from ironbird.runtime.log import LogPlan
from ironbird.runtime.predicate import Op, Predicate
from ironbird.runtime.state import RunState
from ironbird.runtime.stepper import Stepper


@pytest.fixture(scope="module")
def lag() -> CompiledModel:
    diagram = Diagram("lag")
    block = diagram.add("lag", Lag())
    diagram.export(block.u)
    return compile_model(diagram)


@pytest.mark.parametrize(
    ("until_s", "says"),
    [(math.nan, "until_s = nan is not finite"), (math.inf, "until_s = inf is not finite"), (1e308, "too long"),
     (-1.0, "cannot go back"), ("soon", "not a number that fits"), (10**400, "not a number that fits")],
)  # fmt: skip
def test_an_end_that_is_no_time_is_refused(lag: CompiledModel, until_s: Any, says: str) -> None:
    with pytest.raises(RunError, match=says):
        run(start(lag), until_s)
    if until_s != -1.0:
        with pytest.raises(RunError, match=says):
            Stepper(start(lag), until_s=until_s)


@pytest.mark.parametrize(
    ("log_s", "says"),
    [(math.nan, "log_s = nan is not finite"), (math.inf, "not finite"), (1e-300, "not a whole number of steps"),
     (-0.01, "not a whole number of steps"), (1e300, "too long"), (None, "not a number that fits")],
)  # fmt: skip
def test_a_distance_of_rows_that_is_none_is_refused(lag: CompiledModel, log_s: Any, says: str) -> None:
    with pytest.raises(RunError, match=says):
        run(start(lag), 0.1, log_s=log_s)


@pytest.mark.parametrize(
    ("seed", "says"),
    [(-1, "seed = -1 is outside"), (2**64, "outside 0 .. 18446744073709551615"), (2**70, "outside"),
     (1.5, "seed = 1.5 is not a whole number"), ([1, -1], "seed = -1"), ([1], "1 seeds for 2 lanes"),
     ([1, 2**64], "outside"), (2**64 - 1, "seed of the last lane"), ("12", "not a whole number")],
)  # fmt: skip
def test_a_seed_that_is_none_is_refused(lag: CompiledModel, seed: Any, says: str) -> None:
    with pytest.raises(RunError, match=says):
        start(lag, lanes=2, seed=seed)


def test_seeds_of_numpy_and_the_largest_one_are_taken(lag: CompiledModel) -> None:
    largest = 2**64 - 1
    assert start(lag, seed=largest).seeds.tolist() == [[largest]]
    assert start(lag, lanes=2, seed=np.int64(3)).seeds[0, :2].tolist() == [3, 4]  # type: ignore[arg-type]
    assert start(lag, lanes=2, seed=np.array([5, 1])).seeds[0, :2].tolist() == [5, 1]  # type: ignore[arg-type]


@pytest.mark.parametrize("lanes", [0, -1, 2**62, 1.5, None, "2"])
def test_a_count_of_lanes_that_is_none_is_refused(lag: CompiledModel, lanes: Any) -> None:
    with pytest.raises(RunError, match="lanes = "):
        start(lag, lanes=lanes)


@pytest.mark.parametrize("lane", [-1, 2, 0.5, "0", 2**70])
def test_a_lane_that_is_none_is_refused(lag: CompiledModel, lane: Any) -> None:
    state = start(lag, lanes=2)
    for call in (
        lambda: state.get("lag.x", lane),
        lambda: state.set_param("lag.gain", 1.0, lane),
        lambda: state.set_input("u", 1.0, lane),
        lambda: state.add_event(ParamEvent("lag.gain", 1.0), lane),
        lambda: state.pick([lane]),
    ):
        with pytest.raises(RunError, match="lane"):
            call()
    with pytest.raises(RunError, match="at least one"):
        state.pick([])


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [("lag.gain", math.inf, "not finite"), ("lag.gain", math.nan, "not a number"), ("lag.gain", 10**400, "needs"),
     ("lag.gain[x]", 1.0, "'x' is no index"), ("lag.gain[²]", 1.0, "is no index"), ("lag.gain[]", 1.0, "is no index"),
     ("lag.gain[-1]", 1.0, "no index"), ("lag.gain[1]", 1.0, "index 1 is outside"), ("lag.gain[0", 1.0, "no index"),
     ("lag.gain[0]]", 1.0, "is no index"), ("lag.nothing[0]", 1.0, "unknown parameter"), ("lag.gain", "much", "needs")],
)  # fmt: skip
def test_a_parameter_or_value_that_is_none_is_refused(lag: CompiledModel, path: str, value: Any, says: str) -> None:
    with pytest.raises(IronbirdError, match=says):
        start(lag, params={path: value})


def test_an_infinite_mass_is_refused_wherever_it_is_given(f450: CompiledModel) -> None:
    with pytest.raises(ModelError, match=r"body.mass = \[inf\] \[kg\] is not finite"):
        start(f450, params={"body.mass": math.inf})
    diagram = Diagram("d")
    diagram.export(diagram.add("lag", Lag(), gain=math.inf).u)
    with pytest.raises(ModelError, match=r"lag.gain = .*not finite"):
        compile_model(diagram)


@pytest.mark.parametrize("step_s", [math.nan, math.inf, 0.0, -1e-3, 1e-300, 1e9])
def test_a_step_that_is_none_is_refused(step_s: float) -> None:
    diagram = Diagram("d")
    diagram.add("lag", Lag())
    with pytest.raises(ModelError, match=r"step .* s is outside"):
        compile_model(diagram, step_s=step_s)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"value": math.inf}, "value = inf is not finite"),
        ({"value": "one"}, "not a number that fits"),
        ({"start_s": math.nan}, "start_s = nan is not finite"),
        ({"start_s": 1e300}, "start_s = .* too long"),
        ({"start_s": -math.inf}, "not finite"),
        ({"end_s": math.nan}, "must not be empty"),
        ({"end_s": -math.inf}, "must not be empty"),
        ({"end_s": 1e300}, "end_s = .* too long"),
        ({"shape": "ramp", "rise_s": math.nan}, "rise_s > 0"),
        ({"shape": "ramp", "rise_s": math.inf}, "rise_s = inf is not finite"),
        ({"shape": "ramp", "rise_s": 1e300}, "rise_s = .* too long"),
        ({"shape": "intermittent", "period_s": math.inf}, "period_s = inf is not finite"),
        ({"shape": "intermittent", "period_s": 1e300}, "period_s = .* too long"),
        ({"shape": "intermittent", "period_s": 1.0, "duty": math.nan}, "0 < duty < 1"),
        ({"shape": "wave"}, "unknown effect"),
    ],
)
def test_an_event_that_the_kernel_cannot_count_is_refused(
    lag: CompiledModel, changes: dict[str, Any], says: str
) -> None:
    event = dataclasses.replace(ParamEvent("lag.gain", 2.0), **changes)
    with pytest.raises(RunError, match=says):
        start(lag).add_event(event)


def test_numbers_that_a_shape_does_not_use_are_not_looked_at(lag: CompiledModel) -> None:
    state = start(lag)
    state.add_event(ParamEvent("lag.gain", 2.0, start_s=-5.0, rise_s=math.nan, period_s=math.inf, duty=math.nan))
    state.set_input("u", 1.0)
    run(state, 1.0)
    assert state.get("lag.x")[0] == pytest.approx(2.0, abs=1e-3)


@pytest.mark.parametrize(
    "code", [((99, 0),), ((Op.PUSH_CONSTANT, -1),), ((Op.PUSH_TIME, 2**70),), ((Op.PUSH_SIGNAL, -3),), ((5, 0),)]
)
def test_a_predicate_that_the_kernel_cannot_run_is_refused(code: Any) -> None:
    with pytest.raises(RunError, match="trigger 'x'"):
        Predicate("x", code, ())


def test_a_predicate_of_another_model_is_refused(lag: CompiledModel) -> None:
    beyond = Predicate("y", ((Op.PUSH_SIGNAL, lag.flat.log.size),), ())
    with pytest.raises(RunError, match="another model"):
        start(lag).add_event(ParamEvent("lag.gain", 2.0, when=beyond))


def _other(array: np.ndarray) -> list[tuple[str, Any]]:
    """The same array spoiled in several ways."""
    frozen = array.copy()
    frozen.flags.writeable = False
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::2]
    kind = np.float32 if array.dtype == np.float64 else np.int32
    return [
        ("the kernel takes", array.astype(kind)),
        ("the kernel takes", array[:0]),
        ("the kernel takes", array.reshape(-1)[:-1]),
        ("the kernel takes", array.astype(array.dtype.newbyteorder())),
        ("the kernel takes", array.tolist()),
        ("not one writeable piece", frozen),
        *([] if wide.flags.c_contiguous else [("not one writeable piece", wide)]),  # one number is always contiguous
    ]


@pytest.mark.parametrize("lanes", [1, 9])
@pytest.mark.parametrize("name", ["x", "params", "inputs", "seeds", "stop_tick", "stop_reason", "stop_row"])
def test_a_spoiled_array_never_reaches_the_kernel(lag: CompiledModel, name: str, lanes: int) -> None:
    for says, spoiled in _other(getattr(start(lag, lanes=lanes), name)):
        state = start(lag, lanes=lanes)
        setattr(state, name, spoiled)
        with pytest.raises(RunError, match=f"{name} of a run state is .*{says}|{name} of a run state is {says}"):
            advance(state)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda s: setattr(s, "tick", -1), "tick of a run state = -1"),
        (lambda s: setattr(s, "tick", 2**63), "tick of a run state"),
        (lambda s: setattr(s, "tick", MOST_TICKS), "tick at the end of a run"),
        (lambda s: setattr(s, "lanes", 17), "the kernel takes"),
        (lambda s: setattr(s, "width", 1), "the kernel takes"),
        (lambda s: s.events.append([]), "events of 10 lanes, not of 9"),
    ],
)
def test_a_spoiled_run_state_never_reaches_the_kernel(
    lag: CompiledModel, spoil: Callable[[RunState], None], says: str
) -> None:
    state = start(lag, lanes=9)
    spoil(state)
    with pytest.raises(RunError, match=says):
        advance(state)


@pytest.mark.parametrize("ticks", [-1, 1.5, 2**63, None])
def test_a_count_of_ticks_that_is_none_is_refused(lag: CompiledModel, ticks: Any) -> None:
    with pytest.raises(RunError, match="ticks"):
        advance(start(lag), ticks)


def test_a_log_planned_for_another_model_is_refused(lag: CompiledModel, f450: CompiledModel) -> None:
    plan = LogPlan.make(f450, None, 0.02)
    with pytest.raises(RunError, match="planned for another model: row 216 of 1 signals"):
        advance(start(lag), plan=plan)
    good = LogPlan.make(lag, None, 0.02)
    for index in (np.array([-1]), np.array([0], np.int32), np.array([0.0]), np.zeros((1, 1), np.int64)):
        with pytest.raises(RunError, match=r"another model|not a column of whole numbers"):
            advance(start(lag), plan=dataclasses.replace(good, index=index))
    for every in (0, -3):
        with pytest.raises((RunError, ZeroDivisionError)):
            advance(start(lag), plan=dataclasses.replace(good, every=every))


def test_a_log_without_signals_but_too_many_rows_is_refused(lag: CompiledModel) -> None:
    with pytest.raises(RunError, match="the log would take"):
        run(start(lag), 1e8, log=[], log_s=1e-3)


def test_a_poll_that_turns_time_back_is_found(lag: CompiledModel) -> None:
    def back(state: RunState) -> None:
        if state.tick > 3000:
            state.tick = 100

    state = start(lag)
    advance(state, 1000)
    with pytest.raises(RunError, match="row of the log"):
        run(state, 10.0, poll=back, log_s=1e-3)


def test_an_event_added_while_a_stepper_runs_acts(lag: CompiledModel) -> None:
    """The arguments of a stepper hold addresses of the events: they are made anew when events are added."""
    state = start(lag)
    stepper = Stepper(state, until_s=2.0)
    stepper.inputs[0] = 1.0
    stepper.step(500)
    state.add_event(ParamEvent("lag.gain", 3.0, start_s=0.6))
    junk = [np.full(40, 7.0) for _ in range(200)]  # would lie where freed events were
    stepper.step(1500)
    assert state.get("lag.x")[0] == pytest.approx(3.0, abs=1e-3) and len(junk) == 200
    assert len(stepper.finish().time_s) == 100


@pytest.mark.parametrize(
    ("head", "arrays", "says"),
    [
        ({"tick": 2**70}, {}, "not a whole number from 0"),
        ({"lanes": 10**9}, {}, "not a whole number from 1"),
        ({"lanes": 0}, {}, "not a whole number from 1"),
        ({"lanes": "2"}, {}, "not a whole number"),
        ({"fired": [[2**63], []]}, {}, "not a whole number"),
        ({"fired": [[], []]}, {}, "damaged"),
        ({"fired": 5}, {}, "damaged"),
        ({"events": [[5], []]}, {}, "damaged"),
        ({}, {"stop_tick": -7}, "stop ticks of the lanes must be -1"),
        ({}, {"stop_tick": -1}, "stop ticks of the lanes must be -1"),
        ({}, {"stop_row": -7}, "in a state row beyond the model's"),
    ],
)
def test_a_snapshot_beyond_the_kernels_numbers_is_refused(
    lag: CompiledModel, tmp_path: Path, head: dict[str, Any], arrays: dict[str, int], says: str
) -> None:
    import json

    state = start(lag, lanes=2)
    state.add_event(ParamEvent("lag.gain", 2.0), 0)
    state.save(tmp_path / "good.npz")
    restore(lag, tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz", allow_pickle=False) as data:
        parts = dict(data)
    text = json.dumps(json.loads(parts["head"].tobytes()) | head).encode()
    changed = {name: np.full_like(parts[name], value) for name, value in arrays.items()}
    np.savez(tmp_path / "bad.npz", **parts | {"head": np.frombuffer(text, np.uint8)} | changed)
    with pytest.raises(RunError, match=says):
        restore(lag, tmp_path / "bad.npz")
