"""The JSON Schema of vehicle files, for editors: the keys of every template with their ranges, units and meaning.

A file with a `base` gives only what differs, so that no key of its tables is required there. Not in the schema: rules
about several keys (a rotor that names an unknown motor); `ironbird vehicle check` checks them.
"""

from __future__ import annotations

import inspect
import io
import tokenize
from typing import Any

from pydantic import BaseModel

from ironbird.files.json_schema import schema_file
from ironbird.vehicles.kinds import KINDS


def schema_text() -> str:
    """JSON Schema of vehicle files as text."""
    whole: dict[str, Any] = {}
    cases: list[dict[str, Any]] = []
    for name in KINDS:
        spec = KINDS.load(name).spec
        schema = spec.model_json_schema(by_alias=True, ref_template=f"#/$defs/{name}.{{model}}")
        describe(schema, spec)
        for part, table in schema.pop("$defs", {}).items():
            whole[f"{name}.{part}"] = table
        whole[name] = schema
        full = {"properties": {"template": {"const": name}}, "required": ["template"], "not": {"required": ["base"]}}
        cases.append({"if": full, "then": {"$ref": f"#/$defs/{name}"}})
    partial = {f"part.{name}": _optional(table) for name, table in whole.items()}
    based = {"anyOf": [{"$ref": f"#/$defs/part.{name}"} for name in KINDS], "required": ["schema", "id"]}
    cases.append({"if": {"required": ["base"]}, "then": based})
    schema = {
        "title": "A vehicle file of Ironbird",
        "type": "object",
        "properties": {"template": {"enum": [*KINDS]}, "base": {"type": "string"}, "schema": {"const": 1}},
        "anyOf": [{"required": ["template"]}, {"required": ["base"]}],
        "allOf": cases,
        "$defs": whole | partial,
    }
    return schema_file(schema)


def describe(schema: dict[str, Any], grammar: type[BaseModel]) -> None:
    """Add the comments at the keys of a grammar to a schema, where a key has no description."""
    for table, kind in [(schema, grammar), *_tables(schema, grammar)]:
        for key, meaning in meanings(kind).items():
            if key in table.get("properties", {}):
                table["properties"][key].setdefault("description", meaning)


def _tables(schema: dict[str, Any], grammar: type[BaseModel]) -> list[tuple[dict[str, Any], type[BaseModel]]]:
    kinds = {kind.__name__: kind for kind in tables_of(grammar)}
    return [(table, kinds[name]) for name, table in schema.get("$defs", {}).items() if name in kinds]


def tables_of(grammar: type[BaseModel]) -> list[type[BaseModel]]:
    """All classes of tables within a grammar, in order."""
    tables: list[type[BaseModel]] = []

    def look(kind: Any) -> None:
        for part in getattr(kind, "__args__", ()):
            look(part)
        if inspect.isclass(kind) and issubclass(kind, BaseModel) and kind not in tables:
            tables.append(kind)
            for field in kind.model_fields.values():
                look(field.annotation)

    look(grammar)
    return tables[1:]


def meanings(grammar: type[BaseModel]) -> dict[str, str]:
    """The comments at the keys of a table, by key."""
    comments: dict[str, str] = {}
    for kind in reversed(grammar.__mro__):
        if not issubclass(kind, BaseModel) or kind is BaseModel:
            continue
        try:
            source = inspect.cleandoc("\n" + inspect.getsource(kind))
        except (OSError, TypeError):
            continue
        key = ""
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and token.start[1] == 4:
                key = token.string
            elif token.type == tokenize.COMMENT and key in kind.model_fields and "#" in token.line[5:]:
                comments.setdefault(kind.model_fields[key].alias or key, token.string.lstrip("# "))
    return comments


def _optional(value: Any) -> Any:
    """The schema and its nested tables without required keys."""
    if isinstance(value, list):
        return [_optional(entry) for entry in value]
    if not isinstance(value, dict):
        return value.replace("#/$defs/", "#/$defs/part.") if isinstance(value, str) else value
    return {key: _optional(entry) for key, entry in value.items() if key != "required" or not isinstance(entry, list)}
