"""Plain technical English: words of tools/word_list.toml are not in help texts, guides, README and messages."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ironbird.cli.main import app

ROOT = Path(__file__).parents[2]
INSTEAD: dict[str, str] = tomllib.loads((ROOT / "tools" / "word_list.toml").read_text())["instead"]
WORDS = re.compile(r"\b(" + "|".join(re.escape(word) for word in INSTEAD) + r")\b", re.IGNORECASE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|“[^”\n]*”")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md")), ROOT / "docs" / "reference" / "files.md"]


def avoided(text: str) -> list[str]:
    """The words of the list in a text, with what to write instead."""
    plain = QUOTED.sub("", CODE.sub("", text))
    return [f"'{found[0]}' (rather: {INSTEAD[found[0].lower()]})" for found in WORDS.finditer(plain)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_words_of_pages(page: Path) -> None:
    lines = CODE.sub(lambda found: "\n" * found[0].count("\n"), page.read_text(encoding="utf-8")).splitlines()
    wrong = [f"{page.name}:{number}: {word}" for number, line in enumerate(lines, 1) for word in avoided(line)]
    assert not wrong, "\n".join(wrong)


def helps(command: Any, path: str = "ironbird") -> Iterator[tuple[str, str]]:
    yield path, command.help or ""
    for option in command.params:
        yield f"{path} {'/'.join(getattr(option, 'opts', [option.name]))}", getattr(option, "help", "") or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from helps(below, f"{path} {name}")


def test_words_of_help_texts() -> None:
    found = [(place, word) for place, text in helps(typer.main.get_command(app)) for word in avoided(text)]
    assert not found, "\n".join(f"{place}: {word}" for place, word in found)


def messages(source: Path) -> Iterator[tuple[int, str]]:
    """Texts of a module that are several words long; docstrings are not among them, help texts are."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


@pytest.mark.parametrize("source", sorted((ROOT / "src" / "ironbird" / "cli").glob("*.py")), ids=lambda path: path.name)
def test_words_of_messages(source: Path) -> None:
    found = [f"{line}: {word}" for line, text in messages(source) if " " in text for word in avoided(text)]
    assert not found, "\n".join(found)


def test_a_word_of_the_list_is_seen_and_quotes_are_not() -> None:
    assert avoided("The time is told.") == ["'told' (rather: reported, notified, commanded)"]
    assert not avoided("`--pilot ours` and 'ours' are names, wept and tours are words.")
