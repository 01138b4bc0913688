"""Writes docs/reference/blocks.md, every block with its ports, states, parameters and source, and equations/*.md.

Short equations stand with their block, long ones on a page for each kind of block.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import ironbird.blocks
from block_equations import equations
from ironbird.model.block import Block
from ironbird.model.signal import In, Noise, Out, Param, Signal, State

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "blocks.md"
EQUATIONS = PAGE.parent / "equations"
SHORT = 14  # lines of equations that stand with their block
_LINES: dict[str, list[str]] = {}
MOST = 150  # lines that are printed at all: what has more is a state machine, which its source shows better
KINDS: tuple[tuple[type[Signal], str], ...] = (
    (In, "input"), (Out, "output"), (State, "state"), (Param, "parameter"), (Noise, "noise"),
)  # fmt: skip


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


def equation_pages() -> dict[str, str]:
    """The pages of long equations, by file name."""
    groups: dict[str, list[str]] = {}
    for module, kind in blocks():
        lines = lines_of(kind)
        if SHORT < len(lines) <= MOST:
            part = [f"## {kind.__name__}", "", f"[`{module}`](../blocks.md#{kind.__name__.lower()})", ""]
            groups.setdefault(module.split(".")[1], []).extend([*part, "```math", "\n\n".join(lines), "```", ""])
    head = (
        "Written by `make docs` from the expressions that are compiled; [blocks](../blocks.md) says how to read them."
    )
    return {
        f"{group}.md": "\n".join([f"# Equations: {group}", "", head, "", *lines]) for group, lines in groups.items()
    }


def page() -> str:
    """The whole page."""
    lines = [
        "# Blocks",
        "",
        "Written by `make docs` from the declarations. Ports that depend on a size chosen when a block is made",
        "(contact points, rotors) are not listed. Equations are printed from the expressions that are compiled: parts",
        "of them have the names of the source, `a` with a number where it gives none; indices count from 1, a colon",
        "stands for all or a range, square brackets around a condition for 1 or 0; sampled blocks are printed for",
        "0.01 s. Long ones are on [pages of their own](equations/bodies.md); state machines (navigators) and the",
        "Kalman filter are in the source alone, with their origin.",
        "",
    ]
    for module, kind in blocks():
        lines += [
            f"## {kind.__name__}",
            "",
            f"`{module}`; role: {kind.role}; source: {kind.source or 'none'}",
            "",
            inspect.getdoc(kind) or "",
            "",
        ]
        found = lines_of(kind)
        if 0 < len(found) <= SHORT:
            lines += ["```math", "\n\n".join(found), "```", ""]
        elif SHORT < len(found) <= MOST:
            kinds = module.split(".")[1]
            lines += [f"[{len(found)} lines of equations](equations/{kinds}.md#{kind.__name__.lower()})", ""]
        signals = {
            name: value
            for cls in reversed(kind.__mro__)
            for name, value in vars(cls).items()
            if isinstance(value, Signal)
        }
        rows = []
        for group, label in KINDS:
            for name, signal in signals.items():
                if isinstance(signal, group):
                    tuned = ", tunable" if getattr(signal, "tunable", False) else ""
                    unit = signal.describe()[1:-1].replace("*", "\\*")  # no emphasis
                    rows.append(f"| {label}{tuned} | `{name}` | {unit} | {signal.doc} |")
        if rows:
            lines += ["| kind | name | unit | meaning |", "| --- | --- | --- | --- |", *rows, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())
    EQUATIONS.mkdir(exist_ok=True)
    for name, text in equation_pages().items():
        (EQUATIONS / name).write_text(text)
    print(f"wrote {PAGE.name} and {len(equation_pages())} pages of equations")
