"""Draft of a vehicle file: its tables, the source of each number, and what could not be imported."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ironbird.files.toml_text import write_toml
from ironbird.vehicles.spec import ID_PATTERN


@dataclass
class Draft:
    """Tables of a vehicle file. `missing` has one sentence for everything in the source that was left out."""

    tables: dict[str, Any]
    provenance: dict[str, str]
    missing: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Name of the vehicle, used as its id."""
        return str(self.tables["id"])

    def text(self) -> str:
        """Text of the vehicle file; what could not be imported is listed in comments at its top."""
        head = [f"# Imported: {self.tables['summary']}", "# Frame B: x forward, y right, z down."]
        head += [f"# Not understood: {sentence}" for sentence in self.missing]
        headed = {*_tables(self.tables), "provenance"}
        body = write_toml({"schema": 1, **self.tables, "provenance": self.provenance}, headed)
        return "\n".join(head) + "\n" + body


def _tables(data: Any) -> set[str]:
    """Keys of all tables nested in the data."""
    names: set[str] = set()
    for key, value in data.items() if isinstance(data, dict) else []:
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            names.add(key)
            names |= _tables(value)
    return names


def as_id(text: str) -> str:
    """A text converted to a valid id of a vehicle file."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_") or "vehicle"
    return name if re.fullmatch(ID_PATTERN, name) else f"v_{name}"
