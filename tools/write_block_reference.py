"""Writes docs/reference/blocks.md: every block with its ports, states, parameters and source, from the declarations."""

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


def page() -> str:
    """The whole page."""
    lines = [
        "# Blocks",
        "",
        "Written by `make docs` from the declarations. Ports that depend on a size chosen when a block is made",
        "(contact points, rotors) are not listed. Equations are printed from the symbolic expressions where those are",
        "short (an index i runs over the components of a vector; sampled blocks are printed for 0.01 s); the others",
        "stand at their lines of the source, with their origin.",
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
        if found := equations(kind):
            lines += ["```math", "\n\n".join(found), "```", ""]
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
    print(f"wrote {PAGE.name}")
