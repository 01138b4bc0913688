"""Places of keys in TOML files, and the writer: both against the standard library's reader."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ironbird.files.toml_text import KeyPath, locate, place_of, write_toml
from ironbird.vehicles.names import CATALOG


def paths(data: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key and every element of what the standard library read."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*path, key)
        yield from paths(value, (*path, key))


TEXT = '''# a comment = [1]
schema = 1
"a b".c = "x = [1]"  # [no table]
[t.u]                # a table
k = [ [1, 2],        # ] not yet
  { a = 1, b.c = "}" } ]
[[t.list]]
x = """several lines
[[no]] = 1 \\""" """
y = 1979-05-27 07:32:00
[t.list.sub]
z = 'lite"ral['
[[t.list.deep]]
q = 1
[[t.list.deep]]
q = 2
[[t.list]]
x = { y = [ { z = 1 }, { z = 2 } ] }
"k\\u0065y" = true
'''


def test_every_key_and_element_has_its_place() -> None:
    places = locate(TEXT)

    assert set(places) == set(paths(tomllib.loads(TEXT)))
    assert places["schema",] == (2, 1)
    assert places["a b", "c"] == (3, 7)
    assert places["t", "u", "k", 1, "b"] == (6, 12)
    assert places["t", "list", 0, "y"] == (10, 1)
    assert places["t", "list", 0, "deep", 1, "q"] == (16, 1)
    assert places["t", "list", 1] == (17, 1)
    assert places["t", "list", 1, "x", "y", 1, "z"] == (18, 26)
    assert places["t", "list", 1, "key"] == (19, 1)


def test_a_path_that_is_not_there_has_the_place_of_the_table_around_it() -> None:
    places = locate(TEXT)

    assert place_of(places, ("t", "list", 1, "missing", 3)) == (17, 1)
    assert place_of(places, ("nothing",)) == (1, 1)


def test_places_agree_with_the_standard_reader_on_every_vehicle() -> None:
    for file in CATALOG.glob("*.toml"):
        text = file.read_text()
        places = locate(text)
        assert set(places) == set(paths(tomllib.loads(text))), file.name
        for path, (line, column) in places.items():
            if isinstance(path[-1], str):
                found = text.splitlines()[line - 1][column - 1 :]
                assert found.startswith(("[", path[-1], f'"{path[-1]}"')), (file.name, path)


KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.one_of(st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.booleans(), KEYS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


@given(data=TABLES, cases=st.lists(TABLES, min_size=1, max_size=3), faults=st.lists(TABLES, min_size=1, max_size=2))
def test_what_is_written_is_read_again_and_has_places(
    data: dict[str, Any], cases: list[dict[str, Any]], faults: list[dict[str, Any]]
) -> None:
    whole = {key: value for key, value in data.items() if key != "case"} | {"case": [dict(case) for case in cases]}
    whole["case"][0]["fault"] = faults
    text = write_toml(whole, ("case", "fault"))

    assert tomllib.loads(text) == whole
    assert set(locate(text)) == set(paths(whole))


def test_keys_in_quotes_are_read_as_the_library_reads_them() -> None:
    text = '"\\\\U0001F600" = 1\n"\\U0001F600\\u00e9" = 2\n"\\U00000022\\t\\"" = 3\n'

    assert {path[0] for path in locate(text)} == set(tomllib.loads(text)) and len(locate(text)) == 3
