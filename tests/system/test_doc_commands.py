"""Every command that the documentation prints is one: its verbs, options and values are read by the real command line.

Nothing is executed here; commands of README.md and of the guides are (tests/system/test_doc_runs.py), and so are all
Python blocks of the guides (tests/system/test_docs.py).
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from ironbird.cli.main import app
from ironbird.faults.catalog import parse_fault
from ironbird.flight.mission import load_mission

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = {"commands.md"}  # usage lines of all verbs, written from the command line itself
ROOT_COMMAND = typer.main.get_command(app)
SHELLS = ("sh", "bash", "shell", "console")
OTHERS = {"cd", "cmake", "ctest", "dask", "export", "node", "ssh-keygen"}  # not of this project
OWN_SYSTEMS = ("hold-height",)  # control systems that a guide teaches to write
MENTIONED = "Missing parameter"  # within a sentence a verb may stand without what it needs
PLACEHOLDERS = re.compile(r"…|\.\.\.|\[[A-Z-]|\||--[\w-]+$|--\w+/--|\b(?:FILE|KIND|NAME|FOLDER|A B)\b")


def shell_lines(text: str) -> Iterator[str]:
    """The commands of all shell blocks, and of blocks without a language that begin with `ironbird`."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        if language in SHELLS or (not language and block.startswith(("ironbird ", "export "))):
            for line in block.replace("\\\n", " ").splitlines():
                words = list(shlex.shlex(line, posix=True, punctuation_chars="&;|<>"))
                if words:
                    yield line


def inline_commands(text: str) -> Iterator[str]:
    """`ironbird …` within a line, without those that are patterns of commands."""
    for code in re.findall(r"(?<!`)`(ironbird [^`\n]+)`(?!`)", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        if not PLACEHOLDERS.search(code):
            yield code


def commands(line: str) -> Iterator[list[str]]:
    """The programs of a line with their words; comments and redirections are left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&;|<>")
    lexer.whitespace_split = True
    words: list[str] = []
    to_file = False
    for word in [*lexer, ";"]:
        if set(word) & set("<>") and set(word) <= set("&<>"):
            to_file = True
        elif to_file:
            to_file = False
        elif word and set(word) <= set("&;|"):
            if words:
                yield words
            words = []
        elif words or "=" not in word.split("/")[0] or word.startswith("-"):
            words.append(word)


def wrong(words: list[str]) -> str:
    """What is wrong with a command; empty if nothing is."""
    program, *rest = words
    if program == "ironbird":
        return _wrong_verb(rest)
    if program == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
        return ", ".join(f"no target {word}" for word in rest if "=" not in word and word not in targets)
    if program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        asked = [name.strip() for word in rest for group in re.findall(r"\[(.+)\]", word) for name in group.split(",")]
        return ", ".join(f"no extra {name}" for name in asked if name not in extras)
    if program in ("python", "python3", ".venv/bin/python"):
        if rest[0] == "-m":
            return "" if importlib.util.find_spec(rest[1]) else f"no module {rest[1]}"
        return "" if (ROOT / rest[0]).is_file() or rest[0] == "-c" else f"no file {rest[0]}"
    return "" if program in OTHERS else f"unknown program {program}"


def _wrong_verb(words: list[str]) -> str:
    command: Any = ROOT_COMMAND
    path = ["ironbird"]
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command = command.commands[words[0]]
        path.append(words[0])
        words = words[1:]
    if {"--help", "--version", "--install-completion"} & set(words):
        return ""
    if len(path) > 1 and hasattr(command, "commands") and not words:
        return ""  # a group of verbs by its name
    if hasattr(command, "commands") and not getattr(command, "invoke_without_command", False):
        return f"no verb {' '.join([*path, *words[:1]])}"
    if "--control" in words and words[words.index("--control") + 1] in OWN_SYSTEMS:
        words = ["quad_f450"]  # its options are declared on the page
    try:
        command.make_context(" ".join(path), list(words))
        for option, value in pairwise(words):
            if option == "--fault" and "…" not in value and "--faults-file" not in words:
                parse_fault(value)
            elif option == "--mission" and value != "none" and not Path(value).suffix:
                load_mission(value)
    except Exception as error:
        return f"{' '.join(path)}: {getattr(error, 'message', None) or error}"
    return ""


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in GENERATED], ids=lambda path: path.name)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = [
        f"{line.strip()}\n    {fault}"
        for line in [*shell_lines(text), *inline_commands(text)]
        for words in commands(line)
        if (fault := wrong(words)) and not (MENTIONED in fault and line not in shell_lines(text))
    ]
    assert not found, "\n".join([f"{page.relative_to(ROOT)}:", *found])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ironbird fly quad_f450 --wnd 5", "No such option"),
        ("ironbird fly quad_f450 --fault rotor.nothing@1", "unknown fault"),
        ("ironbird fly quad_f450 --mission hovver", "hover"),
        ("ironbird flyy quad_f450", "no verb ironbird flyy"),
        ("ironbird campaign run", "Missing parameter"),
        ("ironbird fly quad_f450 --control hardware --baud 1", "1200"),
        ("make nothing", "no target nothing"),
        ("pip install 'ironbird[nothing]'", "no extra nothing"),
        ("python examples/nothing.py", "no file"),
        ("frobnicate", "unknown program"),
    ],
)
def test_a_wrong_command_is_seen(line: str, said: str) -> None:
    (words,) = commands(line)
    assert said in wrong(words)


def test_lines_are_read_as_a_shell_reads_them() -> None:
    line = "FOO=1 ironbird fly a --fault 'x@1:a=1,when=h > 3' > log | head && ironbird vehicles  # all of them"
    found = list(commands(line))
    assert found[0] == ["ironbird", "fly", "a", "--fault", "x@1:a=1,when=h > 3"]
    assert ["ironbird", "vehicles"] in found
    assert list(commands('ssh-keygen -N "" -f key')) == [["ssh-keygen", "-N", "", "-f", "key"]]
