"""Writes docs/reference/json.md: the JSON documents of Ironbird, from their schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ironbird.files.json_text import schema_names, schema_path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "json.md"
HEAD = """# JSON documents

Written by `make docs` with `tools/write_json_page.py` from the schemas in `src/ironbird/files/schemas`.

Every JSON object that Ironbird writes into a file, and all that a command prints with `--json`, names its schema in the
first key, for example `"schema": "ironbird/campaign-results/1"`. The number at the end changes when a key is renamed,
removed or changes its meaning; new keys do not change it. Numbers are finite or `null`, never texts: a margin without a
limit is `null`, and the `status` beside it says on which side. Lists in files (`autopilot_events.json`,
`tunings.json`) have no key `schema`. Stores and files of earlier versions, in which infinite numbers are the texts
`"inf"` and `"nan"`, are still read.

Commands that show results as tables print them as `ironbird/tables/1`: `tables` has the title of each, its rows as
texts and, where there are numbers, the same as `figures`. Other commands have a schema of their own. A command that
refuses what it was asked prints nothing on standard output; standard error says why. `ironbird vehicle schema` and
`ironbird case schema` print JSON Schemas, which have the key `$schema`.

With `jq`, `.vehicles[].id` picks the names out of `ironbird vehicle list --json`, and `.tables[0].figures.verdict` the
verdict out of `ironbird fly quad_f450 --json`.

The schemas (JSON Schema 2020-12) come with the package, in the folder `ironbird/files/schemas`.
"""


def page() -> str:
    """The whole page."""
    schemas = {name: json.loads(schema_path(name).read_text(encoding="utf-8")) for name in schema_names()}
    lines = [HEAD, "| schema | what | where |", "| --- | --- | --- |"]
    for name, schema in schemas.items():
        place = schema["description"].partition(". ")[0].rstrip(".")
        lines.append(f"| [`{name}`](#{name.replace('/', '')}) | {schema['title']} | {place} |")
    for name, schema in schemas.items():
        lines += ["", f"## {name}", "", f"{schema['title']}. {schema['description']}", ""]
        lines += ["| key | type | meaning |", "| --- | --- | --- |", *_rows(schema)]
    return "\n".join(lines) + "\n"


def _rows(schema: dict[str, Any], above: str = "") -> list[str]:
    """A row for each key, those of tables below it."""
    rows = []
    for key, below in schema.get("properties", {}).items():
        left_out = "" if key in schema.get("required", []) else " (may be left out)"
        rows.append(f"| `{above}{key}` | {_type(below)} | {below.get('description', '')}{left_out} |")
        rows += _rows(below, f"{above}{key}.") + _rows(below.get("items", {}), f"{above}{key}[].")
        inside = below.get("additionalProperties")
        rows += _rows(inside, f"{above}{key}.*.") if isinstance(inside, dict) else []
    return rows


def _type(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if "$ref" in schema:
        return f"`ironbird/{schema['$ref'].removesuffix('.json')[::-1].replace('-', '/', 1)[::-1]}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    kinds = schema.get("type", "any")
    text = kinds if isinstance(kinds, str) else " or ".join(kinds)
    return f"array of {_type(schema['items'])}" if text == "array" and "items" in schema else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
