"""Writes docs/reference/commands.md: every verb of the command `ironbird` with its arguments and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from ironbird.cli.exit_codes import EXIT_CODES, INTERRUPTED
from ironbird.cli.main import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"


def page() -> str:
    """The whole page."""
    codes = ", ".join(f"{code} {verdict}" for verdict, code in EXIT_CODES.items())
    lines = [
        "# Command reference",
        "",
        "Written by `make docs` with `tools/write_command_reference.py`; `ironbird COMMAND --help` says the same.",
        "",
        f"Exit codes of all commands. A flight: {codes}, {INTERRUPTED} interrupted. Several flights: 0 if each",
        "came out as its case says, else 1. Bad input, a missing program or a file that cannot be written: 2.",
        "",
    ]
    for name, command in _commands("ironbird", get_command(app)):
        lines += _section(name, command)
    return "\n".join(lines).rstrip() + "\n"


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield name, command
    for child, below in children.items():
        yield from _commands(f"{name} {child}", below)


def _section(name: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join([name, *(_argument(p) for p in arguments), *(["[OPTIONS]"] if options else [])])
    lines = [
        f"## {name}",
        "",
        "```",
        usage,
        "```",
        "",
        inspect.cleandoc(command.help or "").replace("\f", "").replace("\\[", "["),
        "",
    ]
    rows = [(f"`{_argument(p)}`", _help(p), "") for p in arguments]
    rows += [(f"`{_names(p)}`".replace("|", "\\|"), _help(p), _default(p)) for p in options]
    if rows:
        lines += ["| argument or option | meaning | default |", "| --- | --- | --- |"]
        lines += [*(f"| {a} | {b} | {c} |" for a, b, c in rows), ""]
    return lines


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _names(parameter: Any) -> str:
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.metavar or _type(parameter)}"


def _type(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return {str: "TEXT", Path: "PATH", float: "NUMBER", int: "INTEGER"}.get(kind, "TEXT")


def _help(parameter: Any) -> str:
    return (getattr(parameter, "help", "") or "").replace("\\[", "[").replace("|", "\\|").replace("\n", " ")


def _default(parameter: Any) -> str:
    value = parameter.default
    return "" if value is None or callable(value) or value in ((), [], False, "") else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
