"""Documentation of a chip: its page from its register table, and recorded traffic in register names."""

from __future__ import annotations

import inspect

from ironbird.boards.chips.catalog import CHIPS, chip_class
from ironbird.boards.chips.chip import Chip, RegisterChip
from ironbird.boards.chips.trace import Transaction


def facts(kind: type[Chip]) -> dict[str, str]:
    """Properties of a chip as short texts."""
    out = {"part": kind.part, "what": kind.summary, "buses": ", ".join(kind.buses)}
    if "i2c" in kind.buses:
        out["I2C address"] = f"0x{kind.address:02X}"
    out["fastest bus clock"] = f"{kind.clock_hz:,} Hz".replace(",", " ")
    if kind.feeds:
        out["measures"] = ", ".join(kind.feeds)
    if kind.outputs:
        out["drives"] = f"{kind.outputs[0]} to {kind.outputs[-1]}"
    out["source"] = kind.source
    return out


def rows(kind: type[Chip]) -> list[tuple[str, ...]]:
    """The register table: address, name, reset value, writable bits, access, meaning."""
    banked = any(register.bank for register in kind.registers)
    return [
        (
            (f"{r.bank}." if banked else "") + f"{r.address:02X}",
            r.name,
            f"{r.reset:02X}",
            f"{r.mask:02X}" + (f" + {r.self_clearing:02X} self-clearing" if r.self_clearing else ""),
            r.access,
            r.doc,
        )
        for r in sorted(kind.registers, key=lambda r: r.index)
    ]


HEAD = ("address", "name", "reset", "writable", "access", "meaning")


def page(kind: type[Chip]) -> str:
    """Documentation page of a chip as Markdown text."""
    what = f"Simulation of the {kind.part} down to its registers, commands and timing, as a driver sees them."
    lines = [f"# {kind.part}", "", what, "", inspect.cleandoc(kind.__doc__ or ""), ""]
    lines += [f"- {key}: {value}" for key, value in facts(kind).items()]
    table = rows(kind)
    if table:
        lines += ["", "| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]
    lines += [
        "",
        f"Model: `ironbird.boards.chips.parts.{kind.id()}`. This page is written by `tools/write_chip_pages.py`.",
        "",
    ]
    return "\n".join(lines)


def index() -> str:
    """Page that lists all chips, in Markdown."""
    lines = ["# Chips", "", "Sensors and actuators that are simulated to their registers, buses and pins, so that"]
    lines += [
        "drivers of autopilots run on them unchanged ([guide](../guide/chips.md)). Each page has the register table.",
        "",
    ]
    lines += ["| chip | what | buses |", "| --- | --- | --- |"]
    for name in CHIPS:
        kind = chip_class(name)
        lines.append(f"| [{kind.part}]({name}.md) | {kind.summary} | {', '.join(kind.buses)} |")
    return "\n".join([*lines, ""])


def explain(transaction: Transaction, kind: type[Chip]) -> str:
    """A transaction in the names of a chip's registers: `read WHO_AM_I 98`, `write CONFIG 47`."""
    if not transaction.sent or transaction.bus == "UART":
        return ""
    names = {register.index: register.name for register in kind.registers}
    first = transaction.sent[0]
    if not issubclass(kind, RegisterChip):
        return names.get(first, "")
    if transaction.bus == "SPI":
        reading, place = bool(first & kind.READ), first & kind.ADDRESS
        data = transaction.received[kind.DUMMY :] if reading else transaction.sent[1:]
    else:
        reading, place = transaction.length > 0, first & kind.ADDRESS
        data = transaction.received if reading else transaction.sent[1:]
    if not reading and not data:
        return f"points at {names.get(place, f'0x{place:02X}')}"
    more = f" and {len(data) - 1} more" if len(data) > 1 else ""
    value = f" {data[0]:02x}" if data else ""
    return f"{'read' if reading else 'write'} {names.get(place, f'0x{place:02X}')}{value}{more}"
