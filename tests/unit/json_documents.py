"""JSON documents of Ironbird, read strictly and checked against their schemas."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import referencing

from ironbird.files.json_text import FOLDER, schema_path


@functools.cache
def validator(name: str) -> Any:
    """A validator of a schema by its name; schemas may refer to each other."""
    known = [referencing.Resource.from_contents(json.loads(path.read_text())) for path in FOLDER.glob("*.json")]
    registry: Any = referencing.Registry().with_resources([(entry.id() or "", entry) for entry in known])
    return jsonschema.Draft202012Validator(json.loads(schema_path(name).read_text()), registry=registry)


def strict(text: str) -> Any:
    """JSON as the standard has it, and without numbers that are texts."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    data = json.loads(text, parse_constant=refuse)
    assert not [value for value in leaves(data) if value in ("inf", "-inf", "nan", "Infinity", "NaN")]
    return data


def leaves(data: Any) -> list[Any]:
    if isinstance(data, dict | list):
        return [leaf for value in (data.values() if isinstance(data, dict) else data) for leaf in leaves(value)]
    return [data]


def checked(file: Path | str, schema: str = "") -> dict[str, Any]:
    """A document (file or text) that keeps to the schema that it names first; a line of a file names none."""
    data = strict(file.read_text(encoding="utf-8") if isinstance(file, Path) else file)
    if not schema:
        first, schema = next(iter(data.items()))
        assert first == "schema"
    validator(schema).validate(data)
    return dict(data)
