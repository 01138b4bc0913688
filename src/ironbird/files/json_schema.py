"""JSON Schemas of the files that users write, for editors. TOML has no null: a key is present or absent."""

from __future__ import annotations

import json
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_file(schema: dict[str, Any]) -> str:
    """Text of the file for a JSON schema, indented, without null."""
    return json.dumps({"$schema": DIALECT, **without_null(schema)}, indent=1) + "\n"


def without_null(value: Any) -> Any:
    """The schema without branches and defaults that are null."""
    if isinstance(value, list):
        return [without_null(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_null(entry) for key, entry in value.items() if not (key == "default" and entry is None)}
    branches = [entry for entry in kept.get("anyOf", []) if entry != {"type": "null"}]
    if len(branches) == 1:
        return {**{key: entry for key, entry in kept.items() if key != "anyOf"}, **branches[0]}
    return {**kept, "anyOf": branches} if branches else kept
