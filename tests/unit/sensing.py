"""Running one sensor block by itself: samples for given inputs, parameters and events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.model.block import Block
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.state import start
from ironbird.runtime.step import advance, run
from ironbird.testing import alone as by_itself
from ironbird.testing.alone import PLACE, alone


@functools.cache
def sensor(make: Callable[..., Block], *arguments: object, **choices: object) -> CompiledModel:
    """A block compiled at its own sample time, so that one tick is one sample."""
    block = make(*arguments, **choices)
    assert block.sample_s is not None
    return alone(block, step_s=block.sample_s)


def sample(
    model: CompiledModel, samples: int, inputs: Mapping[str, Any], params: Mapping[str, Any] | None = None, *,
    lanes: int = 1, seed: int = 1, events: Sequence[ParamEvent] = (),
) -> Log:  # fmt: skip
    """A log with one row per sample, inputs held."""
    state = start(model, lanes=lanes, seed=seed, params={f"{PLACE}.{k}": v for k, v in (params or {}).items()})
    for name, value in inputs.items():
        state.set_input(name, value)
    for event in events:
        state.add_event(event)
    return run(state, samples * model.step_s, log_s=model.step_s)


def follow(
    model: CompiledModel, inputs: Mapping[str, np.ndarray], params: Mapping[str, Any] | None = None, *,
    seed: int = 1, events: Sequence[ParamEvent] = (),
) -> dict[str, np.ndarray]:  # fmt: skip
    """All outputs for inputs that change from sample to sample: `inputs[name][k]` is that of sample k."""
    state = start(model, seed=seed, params={f"{PLACE}.{k}": v for k, v in (params or {}).items()})
    for event in events:
        state.add_event(event)
    plan = LogPlan.make(model, None, model.step_s)
    pieces = []
    for k in range(len(next(iter(inputs.values())))):
        piece = advance(state, 1, inputs={name: values[k] for name, values in inputs.items()}, plan=plan)
        assert piece is not None
        pieces.append(piece)
    return {path.removeprefix(f"{PLACE}."): np.concatenate([piece[path] for piece in pieces]) for path in plan.signals}


def event(param: str, value: float, start_s: float, end_s: float = float("inf")) -> ParamEvent:
    """One parameter of the block replaced within a time window."""
    return ParamEvent(f"{PLACE}.{param}", value, start_s=start_s, end_s=end_s)


def outputs_at(
    model: CompiledModel, inputs: Mapping[str, Any], params: Mapping[str, Any] | None = None
) -> dict[str, np.ndarray]:
    """All outputs at the first sample, one row per row of the inputs; see `ironbird.testing.alone`."""
    return by_itself.outputs_at(model, inputs, params)
