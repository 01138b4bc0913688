"""Writes docs/sources.md from docs/sources.toml: what the source documents ask for, and what of it works.

    python tools/write_sources_page.py [--follow]

It refuses to write while a citation of the table is wrong. With --follow, citations of tests that moved to another
file, under a name that occurs once, are corrected in the table first.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command

from ironbird.cli.main import app

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "sources.toml"
PAGE = ROOT / "docs" / "sources.md"
STATES = ("works", "partly", "not yet")
COMMANDS = ("ironbird", "make", "python")
SHOW_NOTHING = ("pytest.mark.skip", "pytest.mark.xfail")
command_of = cache(get_command)
HEAD = """# What the sources ask for

Ironbird takes its aims from five documents, named by their keys in [references.bib](references.bib). This page lists
what they ask for, in Ironbird's words, and how far it is done:

- **works**: verified by a test or a command; a limit that matters is in the last column.
- **partly**: what is verified works, what is missing is in the last column.
- **not yet**: missing. What is cited comes near it.

Tests are cited by file and function; those in `tests/autopilots` need the programs of PX4 or ArduPilot. A row is one
thing asked for, so sections that list many ports weigh more than those with one idea: the counts measure no effort.
The page is written by `tools/write_sources_page.py` from [sources.toml](sources.toml).
"""


@dataclass(frozen=True)
class Row:
    """One thing that a document asks for."""

    id: str
    at: str  # section, equation, figure or table
    asks: str
    state: str
    shown: tuple[str, ...] = ()  # tests, commands, pages, sources
    missing: str = ""  # for what works: its limits


@dataclass(frozen=True)
class Document:
    """A source with all that it asks for."""

    key: str
    title: str
    rows: tuple[Row, ...]


def read(table: Path = TABLE) -> list[Document]:
    """The table."""
    found = tomllib.loads(table.read_text(encoding="utf-8"))["document"]
    return [
        Document(
            document["key"],
            document["title"],
            tuple(Row(**{**row, "shown": tuple(row.get("shown", ()))}) for row in document["rows"]),
        )
        for document in found
    ]


def all_tests(root: Path = ROOT) -> dict[str, set[str]]:
    """Names of the test functions of each test file, without those that are always skipped or expected to fail."""
    return {
        path.relative_to(root).as_posix(): {
            node.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
            and not any(ast.unparse(mark).partition("(")[0] in SHOW_NOTHING for mark in node.decorator_list)
        }
        for path in sorted((root / "tests").rglob("test_*.py"))
    }


def is_command(citation: str) -> bool:
    return citation.split()[0] in COMMANDS


def new_places(citation: str, tests: dict[str, set[str]]) -> list[str]:
    """Citations under which the test function of a citation is found."""
    name = citation.partition("::")[2].partition("[")[0]
    return [f"{file}::{name}" for file, names in tests.items() if name in names]


def problem_of_test(citation: str, tests: dict[str, set[str]]) -> str:
    """Why a cited test is not there, or nothing."""
    file, _, name = citation.partition("::")
    if name.partition("[")[0] in tests.get(file, set()) or (not name and file in tests):
        return ""
    places = new_places(citation, tests) if name else []
    if len(places) == 1:
        return f"{citation} moved to {places[0]} (--follow corrects the table)"
    if places:
        return f"{citation} is not there; tests of this name: {', '.join(places)}"
    return f"{citation} is not there" if file in tests else f"{citation}: no such test file"


def problem_of_command(citation: str) -> str:
    """Why a cited command cannot be given, or nothing. Values of options and arguments are not looked at."""
    program, *words = shlex.split(citation)
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
        return "" if words and words[0] in targets else f"`{citation}`: the Makefile has no such target"
    if program == "python":
        if not words or not (ROOT / words[0]).is_file():
            return f"`{citation}`: no such script"
        script = (ROOT / words[0]).read_text(encoding="utf-8")
        unknown = [word for word in words if word.startswith("--") and f'"{word}"' not in script]
        return f"`{citation}`: no option {unknown[0]}" if unknown else ""
    command = command_of(app)
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return f"`{citation}`: no command {words[0]!r}"
        command = command.commands[words.pop(0)]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word not in options]
    return f"`{citation}`: no option {unknown[0]}" if unknown else ""


def problem_of(citation: str, tests: dict[str, set[str]]) -> str:
    """What is wrong with a citation, or nothing."""
    if citation.startswith("tests/"):
        return problem_of_test(citation, tests)
    if is_command(citation):
        return problem_of_command(citation)
    return "" if (ROOT / citation).exists() else f"{citation}: no such file"


def problems(rows: Iterable[Row], tests: dict[str, set[str]]) -> Iterator[str]:
    """All that is wrong with rows, each with the row's id."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            yield f"{row.id}: stands twice"
        seen.add(row.id)
        if row.state not in STATES:
            yield f"{row.id}: state {row.state!r} is none of {', '.join(STATES)}"
        if row.state == "works" and not any(is_command(c) or c.startswith("tests/") for c in row.shown):
            yield f"{row.id}: works, but no test or command shows it"
        if row.state != "works" and not row.missing:
            yield f"{row.id}: does not say what is missing"
        for problem in filter(None, (problem_of(citation, tests) for citation in row.shown)):
            yield f"{row.id}: {problem}"


def follow(table: Path, tests: dict[str, set[str]]) -> None:
    """Corrects the citations of tests that moved to one other file."""
    text = table.read_text(encoding="utf-8")
    for citation in sorted({c for document in read(table) for row in document.rows for c in row.shown if "::" in c}):
        places = new_places(citation, tests)
        if citation not in places and len(places) == 1:
            text = text.replace(f'"{citation}"', f'"{places[0]}"')
    table.write_text(text, encoding="utf-8")


def summary(documents: list[Document]) -> str:
    """How many rows there are in each state, as README states it."""
    count = Counter(row.state for document in documents for row in document.rows)
    works, partly, missing = (count[state] for state in STATES)
    return f"{works} of {count.total()} work, {partly} work partly, {missing} not yet"


def line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def shown(citation: str) -> str:
    """A command as code, everything else as a link to its file."""
    if is_command(citation):
        return f"`{citation}`"
    path = Path(citation.partition("::")[0])
    target = path.relative_to("docs") if path.is_relative_to("docs") else Path("..") / path
    text = f"`{citation.removeprefix(f'{path.parent}/')}`" if citation.startswith("tests/") else target.name
    return f"[{text}]({target.as_posix()})"


def page(documents: list[Document]) -> str:
    """The page."""
    lines = [HEAD, line(("document", "title", *STATES, "all")), line(["---"] * (len(STATES) + 3))]
    whole: Counter[str] = Counter()
    for document in documents:
        count = Counter(row.state for row in document.rows)
        whole += count
        link = f"[{document.key}](#{document.key.lower()})"
        lines.append(line((link, document.title, *(count[state] for state in STATES), count.total())))
    lines.append(line(("all", "", *(whole[state] for state in STATES), whole.total())))
    for document in documents:
        lines += ["", f"## {document.key}", "", document.title, ""]
        lines += [line(("id", "where", "what is asked", "state", "shown by", "missing, or limits")), line(["---"] * 6)]
        for row in document.rows:
            citations = ", ".join(map(shown, row.shown))
            lines.append(line((row.id, row.at, row.asks, row.state, citations or "-", row.missing or "-")))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--follow", action="store_true", help="correct citations of tests that moved")
    tests = all_tests()
    if parser.parse_args().follow:
        follow(TABLE, tests)
    documents = read()
    if found := list(problems((row for document in documents for row in document.rows), tests)):
        sys.exit("\n".join(found))
    PAGE.write_text(page(documents), encoding="utf-8")


if __name__ == "__main__":
    main()
