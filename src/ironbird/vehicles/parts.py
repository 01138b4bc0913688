"""`[replace]` and `[add]` of a vehicle file: other blocks in place of the template's parts, and additional ones."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Generator, Iterator
from typing import Any

from ironbird.errors import IronbirdError, ModelError, ReplaceError, UnknownNameError, VehicleError
from ironbird.files.problems import Layers, Words, near_words
from ironbird.files.toml_text import KeyPath
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram, parts_of
from ironbird.model.validate import open_ends
from ironbird.vehicles.blocks import blocks
from ironbird.vehicles.spec import PartTable, ReplaceTable, VehicleSpec


def change_parts(diagram: Diagram, spec: VehicleSpec, file: Callable[[], Layers], whole: Callable[[], Diagram]) -> None:
    """Replace and add the parts that the vehicle file names; reports all problems at once, each at its key.

    `file` gives the file if there is a problem, `whole` the diagram of the reference autopilot: a part of it that this
    diagram lacks (the estimator, where the true state is seen) is passed over.
    """
    waiting: dict[KeyPath, PartTable] = {("replace", path): table for path, table in spec.replace.items()}
    waiting |= {("add", path): table for path, table in spec.add.items()}
    problems: list[Words] = []
    while waiting:  # a part that reads from another changed part is processed after it
        ready = [at for at, table in waiting.items() if all(_has(diagram, end) for end in _ends(table))]
        for at in ready or list(waiting):
            problems += _change(diagram, at, waiting.pop(at), whole)
    if problems:
        raise VehicleError(*(file().problem(*words) for words in problems))


def _ends(table: PartTable) -> list[str]:
    """Ports of other parts that a part is connected to."""
    return [*table.connect.values(), *table.feed.values()]


def _has(diagram: Diagram, port: str) -> bool:
    block, _, name = port.rpartition(".")
    return block in diagram.blocks and name in diagram.blocks[block].signals


def _change(diagram: Diagram, at: KeyPath, table: PartTable, whole: Callable[[], Diagram]) -> Iterator[Words]:
    """Replace or add one part; yields problems as key, message and fix."""
    path = str(at[1])
    if isinstance(table, ReplaceTable) and path not in parts_of(diagram):
        if path not in (known := parts_of(whole())):
            unknown = UnknownNameError("part", path, known)
            cure = near_words(unknown, f"one of {', '.join(known[:8])} …")
            yield at, str(unknown).partition(";")[0], cure
        return
    block = yield from _block(diagram, at, table)
    if block is None:
        return
    try:
        if isinstance(table, ReplaceTable):
            diagram.replace(path, block, ports=table.ports, connect=table.connect, **table.params)
        else:
            part = diagram.add(path, block, **table.params)
            for name, source in table.connect.items():
                diagram.connect(diagram.port(source), part[name])
        for name, target in table.feed.items():
            diagram.connect(diagram.port(f"{path}.{name}"), diagram.port(target))
    except ReplaceError as error:
        yield from (_split(at, text) for text in error.problems)
        return
    except IronbirdError as error:
        yield _split(at, str(error))
        return
    fed = {port.path for port in diagram.external_inputs().values()}
    for text in open_ends(path, diagram.block(path), diagram.links, diagram.values, fed):
        yield at, text, "connect it in connect, or give it in params"


def _split(at: KeyPath, text: str) -> Words:
    message, _, cure = text.partition("; ")
    return at, message, cure or "take a block with such ports, or name them in ports and connect"


def _block(diagram: Diagram, at: KeyPath, table: PartTable) -> Generator[Words, None, Block | None]:
    """The block of a table, with its parameters set; None if there is a problem, which is yielded."""
    try:
        kind = blocks().load(table.block)
    except UnknownNameError as error:
        own = f"{blocks().variable}={table.block}=FILE.py:CLASS names one of your own"
        yield (*at, "block"), str(error).partition(";")[0], near_words(error, own)
        return None
    except VehicleError as error:
        yield (*at, "block"), str(error), "correct the block, or where it is"
        return None
    old = diagram.blocks.get(str(at[1]))
    block = yield from _made(kind, old, table.options, (*at, "options"))
    wrong = list(_wrong_values(block, table.params, (*at, "params"))) if block is not None else []
    yield from wrong
    return None if wrong else block


def _made(
    kind: type[Block], old: Block | None, options: dict[str, Any], at: KeyPath
) -> Generator[Words, None, Block | None]:
    """A block of a class; missing options are taken from the old block, where both have them."""
    arguments = {name: one for name, one in inspect.signature(kind).parameters.items() if one.kind != one.VAR_KEYWORD}
    strange = [UnknownNameError("option", name, arguments, kind.__name__) for name in options if name not in arguments]
    for error in strange:
        yield (*at, error.name), str(error).partition(";")[0], near_words(error, f"it takes {', '.join(arguments)}")
    values = {name: vars(old)[name] for name in arguments if old is not None and name in vars(old)} | options
    missing = [name for name, one in arguments.items() if one.default is one.empty and name not in values]
    for name in missing:
        yield at, f"{kind.__name__} needs the option {name}", f"add options = {{ {name} = … }}"
    for name in ("sample_s", "offset_s"):
        value = options.get(name, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            yield (*at, name), f"{value!r} is no time", "write seconds, such as 0.004"
            return None
    if strange or missing:
        return None
    try:
        return kind(**values)
    except (Exception, SystemExit) as error:  # the constructor receives whatever the file contains
        yield at, f"{kind.__name__} cannot be made with {values}: {error}", "correct the options"
        return None


def _wrong_values(block: Block, params: dict[str, Any], at: KeyPath) -> Iterator[Words]:
    """Problems of parameter values that the block does not accept."""
    alone = Diagram("part")
    alone.add("part", block)
    for name, value in params.items():
        if name not in block.params:
            unknown = UnknownNameError("parameter", name, block.params, type(block).__name__)
            cure = near_words(unknown, f"it takes {', '.join(block.params)}")
            yield (*at, name), str(unknown).partition(";")[0], cure
            continue
        try:
            alone.set(f"part.{name}", value)
        except ModelError as error:
            signal = block.params[name]
            yield (*at, name), str(error).removeprefix("part."), f"write {signal.describe()}: {signal.doc}"
