"""Where each key of a TOML file stands: our own reader of places, held against the standard library's of values."""

from __future__ import annotations

from typing import Any

from fuzz.target import file_of
from ironbird.files.problems import Problem, Source, read_source
from ironbird.files.toml_text import KeyPath

WORDS = (
    "[a]\n", "[[a]]\n", "[a.b]\n", "[[a.b]]\n", "a.b = ", '"a b" = ', "'c' = ", "{ x = 1, y = 2 }", "[1, 2]", '"""', "'''",
    "\\u00e9", "\\U0001F600", "# c\n", "1979-05-27 07:32:00", "0x1f", "1_0", "+inf", "nan", "\r\n", "\t", "= ", "\\\n",
)  # fmt: skip
MOST = 1200


def check(data: bytes) -> bool | None:
    """Every key of a file that is valid has a place in it."""
    source = read_source(file_of(data, "some.toml"))
    if isinstance(source, Problem):
        assert str(source)
        return False
    _has_places(source, source.data, ())
    return None


def _has_places(source: Source, value: Any, path: KeyPath) -> None:
    if path:
        assert path in source.places, f"{path} has no place"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        _has_places(source, inner, (*path, key))
