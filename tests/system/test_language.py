"""Plain technical English: words of tools/word_list.toml are in no text or public name of the project.

Texts are docstrings, comments and messages of all Python code but the tests, help texts of the command line, templates
of pages, texts and comments of JavaScript, the pages of docs/ and those beside them. Not looked at: C, files of
vehicles, cases and suites (their bytes are part of evidence), quotes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ironbird.cli.main import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ironbird"
LIST = tomllib.loads((ROOT / "tools" / "word_list.toml").read_text(encoding="utf-8"))
INSTEAD: dict[str, str] = LIST["instead"]
NAMES: dict[str, str] = LIST["names"]
WORDS = re.compile(r"\b(" + "|".join(re.escape(word) for word in sorted(INSTEAD, key=len, reverse=True)) + r")\b", re.I)
MICROSECONDS = re.compile(r"(?<=[\d²n] )us\b")  # a unit, in tables of registers
CODE = re.compile(r"^```.*?^```|^\$\$.*?^\$\$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|“[^”\n]*”")
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<script>.*?</script>|<style>.*?</style>|<[^>]*>", re.DOTALL)
SCRIPT_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", re.DOTALL)

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "changelog").glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "docs" / "sources.toml",
]
PYTHON = [
    *sorted(SOURCE.rglob("*.py")),
    *(path for folder in ("tools", "bench", "examples") for path in sorted((ROOT / folder).rglob("*.py"))),
]
TEMPLATES = sorted(SOURCE.rglob("*.html.j2"))
SCRIPTS = sorted(SOURCE.rglob("*.js"))

# A line of a stored file, and texts whose bytes are part of evidence
KEPT = (
    "# ironbird: orders to our ground station, 1: microseconds, order, arguments",
    "believes that it holds its height: GNSS height is dropped for 0.2 s once",
    "nothing is said of it",
)


def avoided(text: str) -> list[str]:
    """The words of the list in a text, with what to write instead."""
    plain = MICROSECONDS.sub("", QUOTED.sub("", CODE.sub("", text)))
    return [f"'{found[0]}' (rather: {INSTEAD[found[0].lower()]})" for found in WORDS.finditer(plain)]


def blank(pattern: re.Pattern[str], text: str) -> str:
    """A text without what a pattern matches; its lines keep their numbers."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


def wrong_lines(path: Path, texts: Iterator[tuple[int, str]]) -> list[str]:
    place = path.relative_to(ROOT)
    return [
        f"{place}:{first + below}: {word}"
        for first, text in texts
        for below, line in enumerate(text.split("\n"))
        if not any(kept in line for kept in KEPT)
        for word in avoided(line)
    ]


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings, messages (texts of several words) and comments, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, blank(CODE, node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def script_texts(source: str) -> Iterator[tuple[int, str]]:
    """Comments and texts of several words of JavaScript; names and properties are not among them."""
    for found in SCRIPT_TEXT.finditer(source):
        if " " in found[0].strip("/*\"'` "):
            text = re.sub(r"\$\{[^}]*\}", "", found[0]).strip("\"'`")
            yield source.count("\n", 0, found.start()) + 1, text


def test_words_of_pages() -> None:
    wrong = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".toml":  # keys and places of tests are no sentences
            text = re.sub(r"shown = \[[^\]]*\]", "", text).replace('"', " ")
        wrong += wrong_lines(page, iter([(1, blank(CODE, text))]))
    assert not wrong, "\n".join(wrong)


def test_words_of_docstrings_comments_and_messages() -> None:
    wrong = [line for path in PYTHON for line in wrong_lines(path, python_texts(path.read_text(encoding="utf-8")))]
    assert not wrong, "\n".join(wrong)


def test_words_of_templates_and_scripts() -> None:
    wrong = []
    for path in TEMPLATES:
        wrong += wrong_lines(path, iter([(1, blank(JINJA, path.read_text(encoding="utf-8")))]))
    for path in SCRIPTS:
        wrong += wrong_lines(path, script_texts(path.read_text(encoding="utf-8")))
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


def odd_parts(name: str) -> list[str]:
    """Words of a name that are in the list of names."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return [part for part in parts if part in NAMES]


def public_names(path: Path) -> Iterator[str]:
    """The module, its public classes and functions, and fields of its classes but ports and parameters of blocks."""
    yield path.stem
    is_block = "blocks" in path.relative_to(SOURCE).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name
        if isinstance(node, ast.ClassDef) and not is_block:
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield field.target.id


def test_words_of_names() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name} ({word}: rather {NAMES[word]})"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in public_names(path)
        for word in odd_parts(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_word_of_the_list_is_seen_and_quotes_are_not() -> None:
    assert avoided("The time is told.") == ["'told' (rather: reported, notified, commanded, given)"]
    assert avoided("the autopilot's log, told by the board's clock")  # apostrophes are no quotes
    assert not avoided("`--pilot ours` and 'ours' are names, wept and tours are words, a tick is 16 us.")
    assert [line for line, _ in python_texts('"""A b\nc."""\n\nx = f"{1} is told"  # said\n')] == [1, 4, 4]
    assert [text for _, text in script_texts('said = 1; // it is told\nsay("no word");')] == [
        "// it is told",
        "no word",
    ]
    assert odd_parts("ToldBody") == odd_parts("with_told_body") == ["told"] and not odd_parts("tolder")
