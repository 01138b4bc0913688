"""A vehicle file in the making: its tables, where each number comes from, and what was not understood."""

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
        """The vehicle's name."""
        return str(self.tables["id"])

    def text(self) -> str:
        """As a vehicle file; what was not understood stands in comments at its head."""
        head = [f"# Imported: {self.tables['summary']}", "# Frame B: x forward, y right, z down."]
        head += [f"# Not understood: {sentence}" for sentence in self.missing]
        headed = {*_tables(self.tables), "provenance"}
        body = write_toml({"schema": 1, **self.tables, "provenance": self.provenance}, headed)
        return "\n".join(head) + "\n" + body


def _tables(data: Any) -> set[str]:
    """Names of all tables within tables."""
    found: set[str] = set()
    for key, value in data.items() if isinstance(data, dict) else []:
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            found.add(key)
            found |= _tables(value)
    return found


def as_id(text: str) -> str:
    """A name that a vehicle file may have."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_") or "vehicle"
    return name if re.fullmatch(ID_PATTERN, name) else f"v_{name}"
