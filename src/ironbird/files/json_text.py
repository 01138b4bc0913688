"""JSON that any program can read: finite numbers or null, and the name of the schema in every document.

A document is a JSON object whose first key is `schema`, for example "ironbird/campaign-results/1". The number at the
end of this name changes when a key is renamed, removed or changes its meaning; new keys do not change it. The schemas
are files beside this module (`schemas/campaign-results-1.json`, JSON Schema 2020-12). Lists have no such key. What
commands print with `--json` is a document too (`cli.output.print_json`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "schemas"
PREFIX = "ironbird/"


def json_text(data: object, schema: str = "", *, indent: int | None = 2, sort_keys: bool = False) -> str:
    """Data as JSON text that ends with a line break.

    `data` may hold mappings, lists, tuples, arrays, texts, numbers, booleans and None; a number that is infinite or NaN
    becomes null, anything else its text. With `schema` (a name of `schema_names`) `data` must be a mapping, and the key
    `schema` comes first.
    """
    plain = json_data(data, schema)
    if schema and sort_keys:  # but for the schema's name, which stays first
        plain = {"schema": schema, **json.loads(json.dumps(plain, sort_keys=True, allow_nan=False))}
    ordered = sort_keys and not schema
    return json.dumps(plain, indent=indent, ensure_ascii=False, sort_keys=ordered, allow_nan=False) + "\n"


def json_data(data: object, schema: str = "") -> Any:
    """Data as a JSON document holds it, before it becomes text: without NaN and infinities, with its schema."""
    if not schema:
        return _finite(data)
    if not isinstance(data, Mapping):
        raise TypeError(f"a JSON document with schema {schema} is a mapping, not {type(data).__name__}")
    if not schema_path(schema).is_file():
        raise ValueError(f"there is no JSON schema {schema}: add {schema_path(schema).name}")
    return {"schema": schema, **_finite({key: value for key, value in data.items() if key != "schema"})}


def number_of(value: object, without: float = math.nan) -> float:
    """A number of a JSON document; null is `without`. Versions before 2026-11 wrote "inf", "-inf" and "nan" as text."""
    return without if value is None else float(value)  # type: ignore[arg-type]


def schema_names() -> list[str]:
    """Names of all schemas."""
    return sorted(f"{PREFIX}{path.stem[::-1].replace('-', '/', 1)[::-1]}" for path in FOLDER.glob("*.json"))


def schema_path(name: str) -> Path:
    """The file of a schema by its name: ironbird/flight-summary/1 is flight-summary-1.json."""
    return FOLDER / f"{name.removeprefix(PREFIX).replace('/', '-')}.json"


def _finite(data: object) -> Any:
    if data is None or isinstance(data, bool | int | str):
        return data
    if isinstance(data, float):
        return float(data) if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if hasattr(data, "tolist"):  # of NumPy, which need not be loaded
        return _finite(data.tolist())
    return str(data)
