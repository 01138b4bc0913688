"""What every vehicle file says, whatever its kind; a template adds the rest of the grammar for its kind."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ironbird.errors import UnknownNameError, VehicleError

Vector3 = Annotated[list[float], Field(min_length=3, max_length=3)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
SOURCES = ("measured", "identified", "datasheet", "published", "derived", "assumed")


class Table(BaseModel):
    """A table of a vehicle file: unknown keys are refused, values do not change after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Home(Table):
    """Take-off point."""

    latitude_deg: Annotated[float, Field(ge=-89.9, le=89.9)] = 40.1540302
    longitude_deg: Annotated[float, Field(ge=-180, le=180)] = 116.2593683
    height_m: float = 41.526
    year: Annotated[float, Field(ge=2025.0, le=2030.0)] = 2026.0

    @property
    def latitude_rad(self) -> float:
        """Latitude in radians."""
        return math.radians(self.latitude_deg)

    @property
    def longitude_rad(self) -> float:
        """Longitude in radians."""
        return math.radians(self.longitude_deg)


class Environment(Table):
    """Which environment parts are used, and how often the slow ones run."""

    earth: Literal["flat", "wgs84"] = "flat"
    gravity: Literal["wgs84"] | Positive = "wgs84"
    slow_sample_s: Positive = 0.1  # gravity, atmosphere, magnetic field
    wind_sample_s: Positive = 0.01
    terrain_sample_s: Positive = 0.02


class VehicleSpec(Table):
    """The head of a vehicle file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: str
    template: str
    base: str = ""  # another vehicle, whose file says what this one does not
    summary: str = ""
    mission: str = "square"  # built-in mission that it flies if nothing else is asked for
    home: Home = Home()
    environment: Environment = Environment()
    provenance: dict[str, str] = {}

    def assumed(self) -> list[str]:
        """Values that nobody measured or published."""
        return [key for key, source in self.provenance.items() if source.startswith("assumed")]


def check_provenance(spec: VehicleSpec, where: str) -> None:
    """Each entry begins with where the number comes from."""
    for key, source in spec.provenance.items():
        if source.split(":")[0] not in SOURCES:
            raise VehicleError(
                f"{where}: provenance of '{key}' must begin with one of {', '.join(SOURCES)}; it says '{source}'"
            )


def parse(kind: type[VehicleSpec], data: dict[str, Any], path: Path | str) -> VehicleSpec:
    """Check a vehicle file's content against a template's grammar; the error names every wrong key."""
    try:
        spec = kind.model_validate(data)
    except ValidationError as error:
        raise VehicleError(f"{path}:\n" + "\n".join(_sentences(kind, error))) from None
    check_provenance(spec, str(path))
    return spec


def _sentences(kind: type[BaseModel], error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            text = str(UnknownNameError("key", place, _known_keys(kind)))
        else:
            text = f"{place}: {problem['msg']}"
            if problem["type"] != "missing":
                text += f" (got {problem['input']!r})"
        lines.append(f"  - {text}")
    return lines


def _known_keys(kind: type[BaseModel], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for name, field in kind.model_fields.items():
        key = prefix + (field.alias or name)
        keys.append(key)
        inner = field.annotation
        for candidate in (inner, *getattr(inner, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                keys += _known_keys(candidate, key + ".")
    return keys
