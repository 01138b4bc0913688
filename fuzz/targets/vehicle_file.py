"""Vehicle files, as far as the diagram; what is accepted can be built."""

from __future__ import annotations

from fuzz.target import Refused, attempt, file_of
from ironbird.vehicles.load import TEMPLATES, load_spec, load_vehicle

WORDS = (
    "schema = 1\n", 'id = "a"\n', 'title = "t"\n', "base = ", "template = ", *(f'"{name}"' for name in TEMPLATES),
    '"quad_f450"', "[body]\n", "mass_kg = ", "inertia_diag_kgm2 = ", "[[rotor]]\n", "[home]\n", "[environment]\n",
    "[provenance]\n", "[control]\n", "[battery]\n", "[[surface]]\n", "-", "0.0", "1e308", "1e-308", "[1, 2, 3]",
)  # fmt: skip
MOST = 16384


def check(data: bytes) -> None:
    """Accepted or refused in words."""
    path = file_of(data, "vehicle.toml")
    spec = attempt(load_spec, path)
    if isinstance(spec, Refused):
        return
    attempt(load_vehicle, path)
