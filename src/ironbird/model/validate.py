"""Validation of a diagram: every problem as one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ironbird.errors import LoopError, ModelError
from ironbird.model.block import Block
from ironbird.model.equations import check_loops, equations_of, feedthrough_edges


def problems(
    blocks: Mapping[str, Block],
    links: Mapping[str, Sequence[str]],
    values: Mapping[str, np.ndarray],
    external: set[str],
) -> Iterator[str]:
    """Unconnected inputs, missing parameters, wrong initial values, wrong equations, algebraic loops.

    `blocks`, `links` and `values` are those of a diagram; `external` are the paths of inputs that come from outside it.
    """
    sound = True
    for path, block in blocks.items():
        for problem in (
            *_input_problems(links, path, block, external),
            *_param_problems(values, path, block),
            *_state_problems(path, block),
        ):
            yield problem
        for problem in _equation_problems(path, block):
            sound = False
            yield problem
    if sound:
        try:
            check_loops(feedthrough_edges(blocks, links))
        except LoopError as error:
            yield str(error)


def open_ends(
    path: str,
    block: Block,
    links: Mapping[str, Sequence[str]],
    values: Mapping[str, np.ndarray],
    external: set[str],
) -> Iterator[str]:
    """Problems of unconnected inputs and parameters without a value, for one block."""
    yield from _input_problems(links, path, block, external)
    yield from _param_problems(values, path, block)


def _input_problems(links: Mapping[str, Sequence[str]], path: str, block: Block, external: set[str]) -> Iterator[str]:
    for name, port in block.inputs.items():
        target = f"{path}.{name}"
        if not (links.get(target) or port.gather or port.default is not None or target in external):
            yield f"input {target} {port.describe()} is not connected and has no default"


def _param_problems(values: Mapping[str, np.ndarray], path: str, block: Block) -> Iterator[str]:
    for name, param in block.params.items():
        if f"{path}.{name}" not in values and param.default is None:
            yield f"parameter {path}.{name} [{param.unit}] has no value and no default"


def _state_problems(path: str, block: Block) -> Iterator[str]:
    for name, state in block.states.items():
        if not isinstance(state.init, str):
            continue
        param = block.params.get(state.init)
        if param is None:
            yield f"state {path}.{name} starts from parameter '{state.init}', which the block does not have"
        elif param.size != state.size:
            yield f"state {path}.{name} and its initial value {path}.{state.init} differ in size"


def _equation_problems(path: str, block: Block) -> Iterator[str]:
    if block.sample_s is not None and not (math.isfinite(block.sample_s) and block.sample_s > 0):
        yield f"block {path} has sample time {block.sample_s} s; it must be positive"
        return
    try:
        equations_of(path, block)
    except ModelError as error:
        yield str(error)
