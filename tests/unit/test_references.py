"""Citations in the code lead to an entry of docs/references.bib."""

from __future__ import annotations

import functools
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIBLIOGRAPHY = ROOT / "docs" / "references.bib"
SOURCES = sorted(path for path in (ROOT / "src" / "ironbird").rglob("*") if path.suffix in {".py", ".toml", ".h", ".c"})

# A key in brackets: three letters or more, a capital first, and a small letter or a digit in it. A subscript
# (`dict[Key]`, `x[IB_NX]`) has a name before the bracket. `[Key]` itself is what texts call a key.
CITATION = re.compile(r"(?<![\w\])])\[([A-Z](?=[A-Za-z]*[a-z0-9])[A-Za-z0-9]{2,})\]")
PLACEHOLDERS = {"Key"}


def texts(path: Path) -> list[str]:
    """The parts of a file in which a citation can stand: comments and strings of Python, all of other files."""
    if path.suffix != ".py":
        return [path.read_text()]
    with path.open("rb") as handle:
        return [
            token.string
            for token in tokenize.tokenize(handle.readline)
            if token.type in (tokenize.COMMENT, tokenize.STRING)
        ]


@functools.cache
def citations(path: Path) -> set[str]:
    return {key for text in texts(path) for key in CITATION.findall(text)} - PLACEHOLDERS


def entries() -> dict[str, str]:
    """Entries of the bibliography by key."""
    found: dict[str, str] = {}
    for part in re.split(r"^@", BIBLIOGRAPHY.read_text(), flags=re.MULTILINE)[1:]:
        key = part.partition("{")[2].partition(",")[0].strip()
        assert key not in found, f"[{key}] stands twice in {BIBLIOGRAPHY.name}"
        found[key] = part
    return found


def test_every_citation_has_an_entry() -> None:
    known = entries()
    dangling = [
        f"{path.relative_to(ROOT)}: [{key}]" for path in SOURCES for key in sorted(citations(path)) if key not in known
    ]

    assert not dangling, "not in docs/references.bib:\n" + "\n".join(dangling)


def test_every_entry_says_who_what_and_when() -> None:
    for key, text in entries().items():
        for field in ("author", "title", "year"):
            assert re.search(rf"^\s+{field} = \{{.+\}},?$", text, flags=re.MULTILINE), f"[{key}] has no {field}"
        assert text.count("{") == text.count("}"), f"[{key}] has unbalanced braces"


def test_citations_are_found_at_all() -> None:
    found = set().union(*(citations(path) for path in SOURCES))

    assert {"Dai", "RflyModel", "CopterSim", "MPSoC", "NIMA8350", "Stevens", "ICAO7488", "MIL8785C", "WMM2025"} <= found


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("F = m a, [Dai] Eq. 5 and [RflyModel] 6.5", ["Dai", "RflyModel"]),
        ('"[WMM2025]; [Dai] Sec. II-B"', ["WMM2025", "Dai"]),
        ("([MIL8785C] 3.7.2)", ["MIL8785C"]),
        ("found: dict[Key, list[Item]] = x[Rows]", []),
        ("[A] [MAG] [m/s] [0, 1] [x] [IB_NX] [[rotor]]", []),
    ],
)
def test_pattern_takes_keys_and_leaves_subscripts_and_units(text: str, keys: list[str]) -> None:
    assert CITATION.findall(text) == keys
