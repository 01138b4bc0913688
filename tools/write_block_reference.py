"""Writes docs/reference/blocks.md, the list of all blocks by family, and blocks/NAME.md, a page for each block.

A page has the block's docstring, source, equations, ports, states and parameters.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import ironbird.blocks
from block_equations import equations
from ironbird.model.block import Block
from ironbird.model.signal import In, Noise, Out, Param, Signal, State

INDEX = Path(__file__).parents[1] / "docs" / "reference" / "blocks.md"
PAGES = INDEX.parent / "blocks"
_LINES: dict[str, list[str]] = {}
MOST = 150  # lines that are printed at all: what has more is a state machine, which its source shows better
KINDS: tuple[tuple[type[Signal], str], ...] = (
    (In, "input"), (Out, "output"), (State, "state"), (Param, "parameter"), (Noise, "noise"),
)  # fmt: skip

HEAD = """# Blocks

A block is a part of a vehicle's model, as in a block diagram of Simulink: equations with ports, states and parameters
that have units and axes. Written by `make docs`; `ironbird vehicle blocks` lists the same. Each block has a page with
its source, equations, ports, states and parameters. Ports that depend on a size chosen when a block is made (contact
points, rotors) are not listed there.

A block that is called sampled computes at a fixed period and holds its outputs in between, as with a discrete sample
time; all others are continuous. A vector whose name ends in `_B` is in body axes (forward, right, down), one with `_N`
in north, east, down from the take-off point. "Not modelled" lists what a block leaves out.

Equations are printed from the expressions that are compiled: parts of them have the names of the source, `a` with a
number where it gives none; indices count from 1, a colon stands for all or a range, square brackets around a condition
for 1 or 0; sampled blocks are printed for 0.01 s. State machines (navigators) and the Kalman filter are in the source
alone, with their origin.
"""


def blocks() -> list[tuple[str, type[Block]]]:
    """All shipped blocks with the name of their module."""
    found = []
    for module in pkgutil.walk_packages(ironbird.blocks.__path__, "ironbird.blocks."):
        loaded = importlib.import_module(module.name)
        found += [
            (module.name.removeprefix("ironbird."), value)
            for value in vars(loaded).values()
            if inspect.isclass(value)
            and issubclass(value, Block)
            and value.__module__ == module.name
            and value.output is not Block.output  # no bare ports that other blocks share
        ]
    return found


def lines_of(kind: type[Block]) -> list[str]:
    """Equations of a block, made once."""
    if kind.__name__ not in _LINES:
        _LINES[kind.__name__] = equations(kind)
    return _LINES[kind.__name__]


def summary(kind: type[Block]) -> str:
    """The first paragraph of a block's docstring, in one line."""
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split()).replace("|", "\\|")


AFTER_A_NOUN = {"of", "that", "at", "about", "above", "behind", "through", "from", "along", "per", "with"}
NO_NOUN = re.compile(
    r"\b(set|in|truth|lost|carried|regained|apart|front|rear|white|slow|rotor|battery|antenna|item|\d)$"
)


def meaning(name: str, doc: str) -> str:
    """What a signal is, readable alone: `correlation_time`, "of the drift": "correlation time of the drift"."""
    noun = re.sub(r"(_(?:[A-Z]+|[A-Z]+_[A-Z]))+$", "", name).replace("_", " ")
    known = doc.split(" ")[0] in AFTER_A_NOUN and len(noun) > 2 and noun.islower() and not NO_NOUN.search(noun)
    return f"{noun} {doc}" if known else doc


def index() -> str:
    """The page that lists all blocks by family."""
    lines = [HEAD]
    families: dict[str, list[type[Block]]] = {}
    for module, kind in blocks():
        families.setdefault(module.split(".")[1], []).append(kind)
    for family, kinds in families.items():
        lines += [f"## {family.capitalize()}", "", "| block | what it is |", "| --- | --- |"]
        lines += [f"| [{kind.__name__}](blocks/{kind.__name__}.md) | {summary(kind)} |" for kind in kinds]
        lines += [""]
    return "\n".join(lines)


def page(module: str, kind: type[Block]) -> str:
    """The page of one block."""
    family = module.split(".")[1]
    lines = [
        f"# {kind.__name__}",
        "",
        inspect.getdoc(kind) or "",
        "",
        f"Module `ironbird.{module}`; family: [{family}](../blocks.md#{family}); role: {kind.role}; "
        f"source: {kind.source or 'none'}. Keys in square brackets are in [references.bib](../../references.bib).",
        "",
    ]
    found = lines_of(kind)
    if 0 < len(found) <= MOST:
        lines += ["## Equations", "", "```math", "\n\n".join(found), "```", ""]
    signals = {
        name: value for cls in reversed(kind.__mro__) for name, value in vars(cls).items() if isinstance(value, Signal)
    }
    rows = []
    for group, label in KINDS:
        for name, signal in signals.items():
            if isinstance(signal, group):
                tuned = ", tunable" if getattr(signal, "tunable", False) else ""
                unit = signal.describe()[1:-1].replace("*", "\\*")  # no emphasis
                rows.append(f"| {label}{tuned} | `{name}` | {unit} | {meaning(name, signal.doc)} |")
    if rows:
        lines += ["## Signals", "", "| kind | name | unit | meaning |", "| --- | --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The pages of all blocks, by file name."""
    return {f"{kind.__name__}.md": page(module, kind) for module, kind in blocks()}


if __name__ == "__main__":
    PAGES.mkdir(parents=True, exist_ok=True)
    INDEX.write_text(index(), encoding="utf-8")
    written = pages()
    for path in PAGES.glob("*.md"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"wrote {INDEX.name} and {len(written)} pages of blocks")
