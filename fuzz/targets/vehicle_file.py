"""Vehicle files, as far as the diagram; what is accepted can be built."""

from __future__ import annotations

import warnings
from typing import Any

from fuzz.target import FORMATS, Refused, attempt, file_of, in_haste, now_and_then, source_of
from ironbird.errors import PlausibilityWarning
from ironbird.vehicles.kinds import KINDS
from ironbird.vehicles.load import layers_of, load_spec, load_vehicle, spec_of

WORDS = (
    "schema = 1\n", 'id = "a"\n', 'title = "t"\n', "base = ", "template = ", *(f'"{name}"' for name in KINDS),
    '"quad_f450"', "[body]\n", "mass_kg = ", "inertia_diag_kgm2 = ", "[[rotor]]\n", "[home]\n", "[environment]\n",
    "[provenance]\n", "[control]\n", "[battery]\n", "[[surface]]\n", "-", "0.0", "1e308", "1e-308", "[1, 2, 3]",
)  # fmt: skip
MOST = 16384
FORMAT = "toml"
_build = now_and_then(512)  # a diagram takes a hundred times as long as the reader
_build_text = in_haste(8)
warnings.simplefilter("ignore", PlausibilityWarning)


def check(data: bytes) -> bool | None:
    """Accepted or refused in words."""
    path = file_of(data, "vehicle.toml")
    spec = attempt(load_spec, path)
    if isinstance(spec, Refused):
        return spec.at != "read_layers"
    if _build_text():
        attempt(load_vehicle, path)
    return None


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib; few are built."""
    layers = attempt(layers_of, source_of(table, "vehicle.toml"))
    spec = layers if isinstance(layers, Refused) else attempt(spec_of, layers)
    if not isinstance(spec, Refused) and _build():
        attempt(load_vehicle, file_of(FORMATS["toml"].write(table), "vehicle.toml"))
    return None
