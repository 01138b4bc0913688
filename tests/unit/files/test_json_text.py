"""JSON documents: numbers or null, the schema's name first, schemas that are schemas."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import pytest
from json_documents import checked, validator

from ironbird.files.json_text import json_data, json_text, number_of, schema_names, schema_path


def test_numbers_that_json_lacks_are_null_at_any_depth() -> None:
    text = json_text({"a": math.inf, "b": [1.5, -math.inf, (math.nan, 2)], "c": {"d": np.float64("nan"), "e": True}})
    assert json.loads(text) == {"a": None, "b": [1.5, None, [None, 2]], "c": {"d": None, "e": True}}
    assert text.endswith("}\n")


def test_what_is_no_plain_data_is_its_text() -> None:
    assert json_data([Path("a/b"), np.float64(0.5), None, "x"]) == ["a/b", 0.5, None, "x"]


def test_numbers_and_arrays_of_numpy_are_numbers_not_texts() -> None:
    data = json_data({"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True), "d": np.array([1.0, np.inf])})
    assert data == {"a": 3, "b": 0.5, "c": True, "d": [1.0, None]}


@pytest.mark.parametrize("sort_keys", [False, True])
def test_the_schema_comes_first(sort_keys: bool) -> None:
    text = json_text({"verdict": "pass", "b": 1, "a": {"d": 1, "c": 2}}, "ironbird/link/1", sort_keys=sort_keys)
    data = json.loads(text)
    assert list(data) == ["schema", *(["a", "b", "verdict"] if sort_keys else ["verdict", "b", "a"])]
    assert list(data["a"]) == (["c", "d"] if sort_keys else ["d", "c"])


def test_only_a_mapping_and_a_known_schema_make_a_document() -> None:
    with pytest.raises(TypeError, match="a JSON document with schema ironbird/link/1 is a mapping, not list"):
        json_text([1], "ironbird/link/1")
    with pytest.raises(ValueError, match=r"there is no JSON schema ironbird/nosuch/1: add nosuch-1\.json"):
        json_text({}, "ironbird/nosuch/1")


def test_numbers_are_read_as_all_versions_wrote_them() -> None:
    assert [number_of(value, 7.0) for value in (1, 2.5, "inf", "-inf", None)] == [1.0, 2.5, math.inf, -math.inf, 7.0]
    assert math.isnan(number_of("nan")) and math.isnan(number_of(None))


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_one_and_names_itself(name: str) -> None:
    schema = json.loads(schema_path(name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == schema_path(name).name and schema["title"] and schema["description"]
    assert schema["properties"].get("schema", {"const": name}) == {"const": name}
    assert set(schema["required"]) <= set(schema["properties"])


def test_tables_of_a_command_are_a_document() -> None:
    table = {"title": "Trim", "rows": {"speed": "0 m/s"}, "figures": {"speed_mps": 0.0, "margin": math.inf}}
    document = checked(json_text({"tables": [table]}, "ironbird/tables/1"))
    assert document["tables"][0]["figures"] == {"speed_mps": 0.0, "margin": None}


def test_a_document_with_words_for_numbers_is_refused() -> None:
    with pytest.raises(AssertionError):
        checked('{"schema": "ironbird/link/1", "verdict": "pass", "sentence": "", "delay_s": "inf"}')
    with pytest.raises(AssertionError):
        checked('{"schema": "ironbird/link/1", "verdict": "pass", "sentence": "", "delay_s": Infinity}')
    assert not validator("ironbird/link/1").is_valid({"schema": "ironbird/link/1", "verdict": "green", "sentence": ""})
