"""Every shell command of README.md and of the guides is executed, page by page, and ends as the page says.

The commands of a page run in the order in which it has them, in a folder of its own that holds the files which the page
shows: blocks of TOML, CSV or JSON whose first line is a comment with a file's name, and texts that a Python block writes
by `Path("name").write_text("…")`. The exit code is 0 unless the comment of the command says otherwise: `# exit code 1:
why`. `SAYS` has what a command prints where the page makes a claim about it.

What a page takes for granted and a test has not is made here (`PREPARED`), or the command is run in another way
(`RUNS_AS`, `SERVERS`, the stand-ins for PX4 and ArduPilot). `NOT_RUN` is the whole list of commands that are not executed;
tests/system/test_doc_commands.py still reads them with the real command line.
"""

from __future__ import annotations

import ast
import fcntl
import functools
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
SHELLS = ("sh", "bash", "shell", "console")
PATIENCE_S = 300.0  # for one command; the machine may be busy
FILE_LINE = re.compile(r"^# ([\w./-]+\.(?:toml|csv|json|mix|yaml|sdf|urdf|xml))\n")


class Command(NamedTuple):
    """A command of a page."""

    text: str  # without its comment, on one line
    code: int  # exit code that the page announces

    def __str__(self) -> str:
        return self.text


# ---------------------------------------------------------------------- what a page has


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and text of each block of code."""
    yield from re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def split_comment(line: str) -> tuple[str, str]:
    """A line of a shell, and the comment at its end."""
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (not place or line[place - 1].isspace()):
            return line[:place].strip(), line[place + 1 :].strip()
    return line.strip(), ""


def commands_of(text: str) -> list[Command]:
    """The commands of all shell blocks of a page, in order."""
    found = []
    for language, block in blocks(text):
        if language in SHELLS:
            for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
                command, comment = split_comment(line)
                if command:
                    code = re.match(r"exit code (\d+): \S", comment)
                    found.append(Command(command, int(code[1]) if code else 0))
    return found


def files_of(text: str) -> dict[str, str]:
    """Files that a page shows, by name."""
    found: dict[str, str] = {}
    for language, block in blocks(text):
        if language == "python":
            found.update(_written(ast.parse(block), found))
        elif name := FILE_LINE.match(block):
            found[name[1]] = block
    return found


def _written(code: ast.Module, found: dict[str, str]) -> dict[str, str]:
    """What `Path("name").write_text(text)` writes, where text is a constant or the name of one."""
    texts: dict[str, str] = {}
    files: dict[str, str] = {}
    for statement in code.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                texts[name] = text
            case ast.Assign(targets=[ast.Name(id=name)]):
                texts.pop(name, None)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Call(func=ast.Name(id="Path"), args=[ast.Constant(value=str(path))]),
                        attr="write_text",
                    ),
                    args=[argument],
                )
            ):
                if isinstance(argument, ast.Constant):
                    files[path] = str(argument.value)
                elif isinstance(argument, ast.Name) and argument.id in texts:
                    files[path] = texts[argument.id]
    return files
