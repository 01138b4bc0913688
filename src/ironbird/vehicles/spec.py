"""Keys of every vehicle file, whatever its kind; a template adds the rest of the grammar."""

from __future__ import annotations

import fnmatch
import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ironbird.errors import VehicleError
from ironbird.files.problems import Layers, grammar_words
from ironbird.model.diagram import Diagram

Vector3 = Annotated[list[float], Field(min_length=3, max_length=3, strict=False)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
ID_PATTERN = r"^[a-z][a-z0-9_]*$"
ID_CURE = "use small letters, digits and underscore; begin with a letter"
SOURCES = ("measured", "identified", "datasheet", "published", "derived", "given", "assumed")


class Table(BaseModel):
    """Base of tables of a vehicle file: unknown keys are refused, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The table itself: pydantic would otherwise copy a default table for every file."""
        return self


class Home(Table):
    """Take-off point on the Earth.

    Parameters
    ----------
    latitude_deg : float, default 40.1540302
        Latitude in degrees, -89.9 to 89.9.
    longitude_deg : float, default 116.2593683
        Longitude in degrees, -180 to 180.
    height_m : float, default 41.526
        Height above the sea in m.
    year : float, default 2026.0
        Year of the magnetic field, 2025 to 2030.

    Examples
    --------
    >>> ib.Home(latitude_deg=47.0, longitude_deg=8.5, height_m=400.0).height_m
    400.0
    """

    latitude_deg: Annotated[float, Field(ge=-89.9, le=89.9)] = 40.1540302
    longitude_deg: Annotated[float, Field(ge=-180, le=180)] = 116.2593683
    height_m: float = 41.526
    year: Annotated[float, Field(ge=2025.0, le=2030.0)] = 2026.0

    @property
    def latitude_rad(self) -> float:
        """Latitude of the take-off point in rad."""
        return math.radians(self.latitude_deg)

    @property
    def longitude_rad(self) -> float:
        """Longitude of the take-off point in rad."""
        return math.radians(self.longitude_deg)


class Environment(Table):
    """Which environment parts are used, and how often the slow ones run."""

    earth: Literal["flat", "wgs84"] = "flat"
    gravity: Literal["wgs84"] | Positive = "wgs84"
    slow_sample_s: Positive = 0.1  # gravity, atmosphere, magnetic field
    wind_sample_s: Positive = 0.01
    terrain_sample_s: Positive = 0.02
    gust_span_m: NotNegative = 0.0  # angular gusts and gradients over this width; 0 has none


class Integration(Table):
    """Integration of the continuous states: the Runge-Kutta method, and the step, which is the kernel's tick.

    Two stages in 2 ms keep the position of every vehicle of the catalogue within the bound on its page, against steps
    of 0.1 ms; `rk4@0.001` is what worlds and control systems outside the kernel use.
    """

    method: Literal["rk2", "rk4"] = "rk2"
    step_s: Annotated[float, Field(ge=1e-4, le=0.01)] = 0.002

    def text(self) -> str:
        """Method and step as text: `rk4@0.001`."""
        return f"{self.method}@{self.step_s:g}"

    @staticmethod
    def parse(text: str) -> Integration:
        """Parse text such as `rk4@0.001`."""
        method, _, step = text.partition("@")
        try:
            return Integration.model_validate({"method": method, "step_s": float(step)})
        except ValueError:
            raise VehicleError(
                f"integration '{text}' is not METHOD@SECONDS: rk2 or rk4, and a step from 0.0001 to 0.01 s, for "
                "example rk4@0.001"
            ) from None

    def fits(self, diagram: Diagram) -> bool:
        """Whether every sample time of a diagram is a whole number of steps."""
        times = [t for b in diagram.blocks.values() if b.sample_s is not None for t in (b.sample_s, b.offset_s)]
        return all(abs(t / self.step_s - round(t / self.step_s)) < 1e-6 for t in times)


CLOSE = Integration(method="rk4", step_s=1e-3)  # for vehicles with parts that sample every millisecond


class PartTable(Table):
    """A part that the template does not have."""

    block: str  # class of a block of Ironbird, or the name of one of a package or your own (IRONBIRD_BLOCKS)
    params: dict[str, float | list[float] | list[list[float]]] = {}  # values by the names that the block declares
    options: dict[str, Any] = {}  # what the block is made with: sample_s, points, …
    connect: dict[str, str] = {}  # input = "block/path.output"
    feed: dict[str, str] = {}  # output = "block/path.input"


class ReplaceTable(PartTable):
    """Another block in the place of a part of the template, whose values, options and connections it takes over."""

    ports: dict[str, str] = {}  # old port = new port, where names differ; "" if it may be missing


class VehicleSpec(Table):
    """The keys at the top of a vehicle file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    id: Annotated[str, Field(pattern=ID_PATTERN)]
    title: str
    template: str
    base: str = ""  # another vehicle, whose file says what this one does not
    summary: str = ""
    mission: str = "square"  # built-in mission that it flies if nothing else is asked for
    home: Home = Home()
    environment: Environment = Environment()
    integration: Integration = Integration()
    replace: dict[str, ReplaceTable] = {}  # parts of the template by path: a block, or all below a path
    add: dict[str, PartTable] = {}  # parts on top of the template, by path
    provenance: dict[str, str] = {}

    def total_mass_kg(self) -> float:
        """Mass of the whole vehicle in kg."""
        return float(getattr(getattr(self, "body", None), "mass_kg", math.nan))

    def imu_place_B_m(self) -> list[float]:
        """Position of the inertial units from the centre of mass in m, body axes."""
        return list(getattr(getattr(self, "sensors", None), "imu_position_B_m", (0.0, 0.0, 0.0)))

    def hover_lift_N(self) -> float | None:
        """Lift of all rotors together in N, at full throttle and at rest; None if the vehicle does not hover."""
        return None

    def approach(self) -> tuple[float, float, float] | None:
        """Landing approach on wings: height (m) where the glide begins, slope (deg), radius of circles (m), or None."""
        return None

    def lands_on_tail(self) -> bool:
        """Whether the vehicle lands standing on its tail, so that wind meets its wings broadside."""
        return False

    def source_of(self, key: str) -> str:
        """Source in [provenance] of a value by its dotted key; empty if there is none."""
        return source_in(self.provenance, key)

    def assumed(self) -> list[str]:
        """Keys of values that were neither measured nor published."""
        return [key for key, source in self.provenance.items() if source.startswith("assumed")]


def source_in(provenance: Mapping[str, str], key: str) -> str:
    """Source of a value in a provenance table: by its own key first, else by the first pattern that matches."""
    return sources_in(provenance)(key)


def sources_in(provenance: Mapping[str, str]) -> Callable[[str], str]:
    """Function from a dotted key to its source, for many values of one provenance table."""
    wild = [(_fits(pattern), source) for pattern, source in provenance.items() if _WILD.search(pattern)]

    def said(key: str) -> str:
        exact = provenance.get(key)
        return exact if exact is not None else next((source for fits, source in wild if fits(key)), "")

    return said


_WILD = re.compile(r"[*?\[]")  # a pattern without these characters matches only its own key


@functools.lru_cache(maxsize=1024)
def _fits(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(fnmatch.translate(pattern)).match


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values of a file; entries of a list are numbered from 1."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value, start=1):
            yield from leaves(inner, f"{path}.{number}")
    elif value is not None:
        yield path, value


def parse(kind: type[VehicleSpec], file: Layers) -> VehicleSpec:
    """Parse a vehicle file by a template's grammar; raises `VehicleError` with all problems."""
    try:
        spec = kind.model_validate(file.data)
    except ValidationError as error:
        problems = grammar_words(kind, file.data, error, patterns={ID_PATTERN: ("an id", ID_CURE)})
        raise VehicleError(*(file.problem(*words) for words in problems)) from None
    begin = f"begin with one of {', '.join(SOURCES)}"
    unsourced = {key: text for key, text in spec.provenance.items() if text.split(":")[0] not in SOURCES}
    if unsourced:
        message = "'{}' does not say where the number comes from"
        raise VehicleError(*(file.problem(("provenance", k), message.format(t), begin) for k, t in unsourced.items()))
    return spec
