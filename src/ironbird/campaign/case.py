"""Test cases as text: the grammar of a case file, and one concrete flight.

A case file defines the flight, its faults, and the requirements. Any number in it may be fixed, vary (`{ uniform =
[1.2, 1.6] }`), or name a shared parameter of the case (`"$severity"`). A `FlightCase` is one point of that, without
ranges. `suite.py` reads files and makes flights of them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ironbird.campaign.expected import expected_table
from ironbird.campaign.scenarios import scenario_in
from ironbird.campaign.suite_path import SCHEMA
from ironbird.credibility.modules import MODULES
from ironbird.errors import OrderError
from ironbird.files.json_schema import schema_file
from ironbird.files.toml_text import write_toml
from ironbird.flight.ends import CURE, HELP, MAY_CRASH, ending_formula
from ironbird.flight.mission import LONGEST_S, mission_table
from ironbird.flight.order import MOST_SEED, SHORTEST_LOG_S, Order, Requirement, Weather, plain
from ironbird.protocols.plan_file import is_plan

SCHEMA_FILE = Path(__file__).parent / "case.schema.json"
TABLES = (
    "suite",
    "defaults",
    "case",
    "wind",
    "place",
    "options",
    "set",
    "vary",
    "mission",
    "item",
    "fault",
    "require",
    "sight",
    "plan",
    "validation",
)
SPREADS = ("grid", "set", "range", "uniform", "normal", "log_uniform", "choice")
SIGMAS = 6.0  # a normal distribution without bounds is truncated here, so that its values can be checked beforehand
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
NAME_PATTERN = r"^[^,\s][^,]*$"
REFERENCE_PATTERN = r"^\$[a-z][a-z0-9_]*$"
INTEGRATION_PATTERN = r"^rk[24]@0\.[0-9]{2,6}$"
LONGEST_GRID = 1_000_000
LONGEST_COMMANDS = 1 << 26  # characters of a recorded flight in a case
MOST_FLIGHTS = 10_000_000  # of one case
VALIDATED = tuple(MODULES)  # parts of a model whose validation a case may demand
MOST_STEPS = 10_000  # levels of one range

Real: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Text: TypeAlias = Annotated[str, Field(strict=True)]
Seed: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=MOST_SEED)]
Pair: TypeAlias = Annotated[list[Real], Field(min_length=2, max_length=2)]


def problem(message: str, cure: str, key: str = "") -> PydanticCustomError:
    """A grammar error with its cure; `key` is the entry of the table that is wrong."""
    return PydanticCustomError("ironbird", "{text}", {"text": message, "cure": cure, "key": key})


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


# ---------------------------------------------------------------------- numbers and words that vary


class Spread(_Table):
    """Values of one parameter: a list, a range in steps, or a distribution. Exactly one kind."""

    grid: Annotated[list[Real], Field(min_length=1, description="numbers, each of them")] | None = None
    set_: Annotated[list[Real], Field(min_length=1, description="the same as grid")] | None = Field(None, alias="set")
    range_: Annotated[Pair, Field(description="from, to; needs steps")] | None = Field(None, alias="range")
    uniform: Annotated[Pair, Field(description="least, greatest")] | None = None
    normal: Annotated[Pair, Field(description="mean, standard deviation")] | None = None
    log_uniform: Annotated[Pair, Field(description="least, greatest, both positive")] | None = None
    choice: Annotated[list[Text], Field(min_length=1, description="words, each of them")] | None = None
    steps: (
        Annotated[int, Field(strict=True, ge=2, le=MOST_STEPS, description="levels of a range or a distribution")]
        | None
    ) = None
    within: Annotated[Pair, Field(description="a normal distribution is cut to these limits")] | None = None

    @property
    def kind(self) -> str:
        """The kind of the values: one of SPREADS."""
        names = {"set": self.set_, "range": self.range_}
        return next(name for name in SPREADS if names.get(name, getattr(self, name, None)) is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> Spread:
        fields = sorted({"set_": "set", "range_": "range"}.get(n, n) for n in self.model_fields_set)
        kinds = [name for name in fields if name in SPREADS]
        if len(kinds) != 1:
            having = " and ".join(kinds) or "none of them"
            raise problem(f"a table that varies needs exactly one of {', '.join(SPREADS)}; it has {having}", "keep one")
        if self.range_ is not None and self.steps is None:
            raise problem("a range needs steps", "add steps = 5, or write { uniform = [a, b] } and a sampled plan")
        if self.steps is not None and self.kind in ("grid", "set", "choice"):
            raise problem(f"steps have no meaning with {self.kind}", "leave steps out")
        for bounds in (self.range_, self.uniform, self.log_uniform, self.within):
            if bounds is not None and not bounds[0] < bounds[1]:
                raise problem(f"{bounds[0]:g} .. {bounds[1]:g} is empty", "write the smaller number first")
        if self.normal is not None and not self.normal[1] > 0:
            raise problem(f"standard deviation {self.normal[1]:g} is not positive", "write { normal = [mean, sd] }")
        if self.log_uniform is not None and not self.log_uniform[0] > 0:
            raise problem(f"log_uniform from {self.log_uniform[0]:g} has no logarithm", "begin above zero")
        for low, high in filter(None, (self.range_, self.uniform, self.normal and self._cut())):
            if not math.isfinite(high - low):
                raise problem(f"{low:g} .. {high:g} is too wide for a number", "write bounds that are nearer")
        if self.log_uniform is not None and not math.isfinite(self.log_uniform[1] / self.log_uniform[0]):
            low, high = self.log_uniform
            raise problem(f"{low:g} .. {high:g} is too wide for a number", "write bounds that are nearer")
        if self.within is not None and self.normal is None:
            raise problem("within has a meaning with normal alone", "leave it out")
        values = self.listed()
        if values is not None and len(set(values)) != len(values):
            raise problem("a value appears twice", "write each value once")
        return self

    def listed(self) -> list[float] | list[str] | None:
        """The values of a list; None for a range or a distribution."""
        if self.choice is not None:
            return self.choice
        return self.grid if self.grid is not None else self.set_

    def count(self) -> int | None:
        """Number of values; None for a distribution."""
        values = self.listed()
        return self.steps if values is None else len(values)

    def levels(self) -> list[float] | list[str] | None:
        """The values of a list or a range; None for a distribution."""
        return self._levels

    @functools.cached_property
    def _levels(self) -> list[float] | list[str] | None:
        if (values := self.listed()) is not None:
            return values
        if self.steps is None:
            return None
        if self.range_ is not None:
            return [self._step(i) for i in range(self.steps)]
        return [self._quantile((i + 0.5) / self.steps) for i in range(self.steps)]

    def _step(self, number: int) -> float:
        """One value of a range in steps; values never decrease."""
        assert self.range_ is not None and self.steps is not None
        low, high = self.range_
        return _short(low + (high - low) * number / (self.steps - 1))

    def ends(self) -> list[float]:
        """Least and greatest value of a range or distribution; all numbers of a list."""
        if self.steps is None:
            return self.extremes()
        if self.range_ is not None:
            return [self._step(0), self._step(self.steps - 1)]
        return [self._quantile(0.5 / self.steps), self._quantile((self.steps - 0.5) / self.steps)]

    def nominal(self) -> int:
        """Index of the nominal level: the first of a list, the middle of a range or distribution."""
        levels = self.levels()
        assert levels is not None
        return 0 if self.listed() is not None else len(levels) // 2

    def at(self, share: float) -> float | str:
        """The quantile: the value below which this share of the distribution lies."""
        levels = self.levels()
        return levels[int(share * len(levels))] if levels is not None else self._quantile(share)

    def extremes(self) -> list[float]:
        """All numbers of a list, or the bounds of all values."""
        levels = self.levels()
        if levels is not None:
            return [] if self.choice is not None else cast(list[float], levels)
        return list(self.uniform or self.log_uniform or self._cut())

    def _cut(self) -> tuple[float, float]:
        """Lower and upper limit of a truncated normal distribution."""
        assert self.normal is not None
        mean, deviation = self.normal
        low, high = self.within or (mean - SIGMAS * deviation, mean + SIGMAS * deviation)
        return low, high

    def _quantile(self, share: float) -> float:
        if self.uniform is not None:
            low, high = self.uniform
            return min(max(_short(low + (high - low) * share), low), high)
        if self.log_uniform is not None:
            low, high = self.log_uniform
            return min(max(_short(low * (high / low) ** share), low), high)
        assert self.normal is not None
        normal = statistics.NormalDist(*self.normal)
        low, high = self._cut()
        below, above = normal.cdf(low), normal.cdf(high)
        part = min(max(below + (above - below) * share, 2.0**-60), 1 - 2.0**-53)
        return min(max(_short(normal.inv_cdf(part)), low), high)


def _short(value: float) -> float:
    """A number rounded to twelve digits: short in files, and equal on machines whose logarithms differ slightly."""
    return float(f"{value:.12g}")


def _kind_of(value: Any) -> str:
    return "table" if isinstance(value, Mapping | Spread) else "word" if isinstance(value, str) else "value"


def _words_alone(value: Spread) -> Spread:
    if value.choice is None:
        raise problem("words are needed, not numbers", 'write { choice = ["a", "b"] }')
    return value


_SpreadTag: TypeAlias = Annotated[Spread, Tag("table")]
_ChoiceTag: TypeAlias = Annotated[Annotated[Spread, AfterValidator(_words_alone)], Tag("table")]
Reference: TypeAlias = Annotated[str, Field(pattern=REFERENCE_PATTERN)]
Quantity: TypeAlias = Annotated[
    Annotated[Real, Tag("value")] | Annotated[Reference, Tag("word")] | _SpreadTag, Discriminator(_kind_of)
]
Word: TypeAlias = Annotated[Annotated[Text, Tag("word")] | _ChoiceTag, Discriminator(_kind_of)]
Variable: TypeAlias = Annotated[
    Annotated[Real, Tag("value")] | Annotated[Text, Tag("word")] | _SpreadTag, Discriminator(_kind_of)
]
Vector: TypeAlias = list[Real] | list[list[Real]]
Setting: TypeAlias = Annotated[
    Annotated[Real, Tag("value")] | Annotated[Reference, Tag("word")] | _SpreadTag | Annotated[Vector, Tag("list")],
    Discriminator(lambda value: "list" if isinstance(value, list) else _kind_of(value)),
]
MissionText: TypeAlias = Annotated[
    Annotated[Text, Tag("word")] | _ChoiceTag | Annotated[dict[str, Any], Tag("mission")],
    Discriminator(lambda value: "mission" if isinstance(value, dict) and not is_spread(value) else _kind_of(value)),
]


def is_spread(value: Any) -> bool:
    """Whether a value of a file is a table of varied values."""
    return isinstance(value, Mapping) and any(name in value for name in SPREADS)


@dataclass(frozen=True)
class Limits:
    """Bounds of a quantity, for fixed and varied values."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False  # the lower bound itself is refused
    whole: bool = False
    words: bool = False  # names are accepted as well

    def describe(self) -> str:
        """The bounds as text for error messages."""
        what = "a whole number" if self.whole else "a number"
        if math.isinf(self.high):
            return f"{what} greater than {self.low:g}" if self.above else f"{what} of at least {self.low:g}"
        return f"{what} from {self.low:g} to {self.high:g}" + (f", {self.low:g} excluded" if self.above else "")

    def _is_outside(self, number: float) -> bool:
        return number < self.low or number > self.high or (self.above and number == self.low)

    def check(self, value: Any) -> Any:
        """Return the value if it is within the bounds, else raise a grammar error."""
        if isinstance(value, float | int):
            numbers = [value]
        elif isinstance(value, Spread):
            is_fit = not self.whole and not any(map(self._is_outside, value.ends()))
            numbers = [] if is_fit else value.extremes()
        else:
            return value
        if isinstance(value, Spread) and value.choice is not None and not self.words:
            raise problem("a number is needed, not a choice of words", "write { grid = [1, 2] } with numbers")
        if self.whole and isinstance(value, Spread) and value.count() is None:
            raise problem("whole numbers are needed", "write { grid = [1, 2, 3] }")
        for number in numbers:
            if self._is_outside(number):
                cure = f"write {self.describe()}"
                if isinstance(value, Spread) and value.normal is not None:
                    cure += "; cut the normal distribution with within = [a, b]"
                raise problem(f"{number:g} is outside its bounds", cure)
            if self.whole and number != int(number):
                raise problem(f"{number:g} is no whole number", f"write {self.describe()}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Pydantic's hook: the check runs after the grammar."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Pydantic's hook: adds the bounds of a fixed number to the JSON schema."""
        text = handler(schema)
        for branch in text.get("oneOf", []):
            if branch.get("type") == "number":
                branch["type"] = "integer" if self.whole else "number"
                if math.isfinite(self.low):
                    branch["exclusiveMinimum" if self.above else "minimum"] = self.low
                if math.isfinite(self.high):
                    branch["maximum"] = self.high
        return text


Seconds: TypeAlias = Annotated[Quantity, Limits(0, LONGEST_S)]
PositiveSeconds: TypeAlias = Annotated[Quantity, Limits(0, LONGEST_S, above=True)]
Degrees: TypeAlias = Annotated[Quantity, Limits(-360, 360)]
Speed: TypeAlias = Annotated[Quantity, Limits(0, 100)]
Share: TypeAlias = Annotated[Quantity, Limits(0, 1)]


def _known_ending(value: str) -> str:
    try:
        ending_formula(value)
    except OrderError as error:
        message, _, _ = str(error).partition(":")
        raise problem(message, CURE) from None
    return value


class ExpectTable(_Table):
    """Requirements that are known to break, by name; a failure of another one is a new failure."""

    fail: Annotated[list[Annotated[str, Field(strict=True, pattern=NAME_PATTERN)]], Field(min_length=1)]


Ending: TypeAlias = Annotated[Text, AfterValidator(_known_ending)]


# ---------------------------------------------------------------------- tables of a case file


class WindTable(_Table):
    """Weather of a case: wind, turbulence, and a gust."""

    speed_mps: Speed = 0.0
    from_deg: Degrees = 0.0
    turbulence_mps: Annotated[Speed, Field(description="mean wind at 20 ft; 7.7 light, 15 moderate, 23 severe")] = 0.0
    gust_mps: Annotated[Speed, Field(description="top of a 1-cosine gust, from where the wind comes from")] = 0.0
    gust_start_s: Annotated[Seconds, Field(description="when the gust begins to rise")] = 0.0
    gust_rise_s: PositiveSeconds = 1.0
    gust_hold_s: Seconds = 0.0


class PlaceTable(_Table):
    """Take-off point and year, in place of the vehicle's own."""

    latitude_deg: Annotated[Quantity, Limits(-89.9, 89.9)]
    longitude_deg: Annotated[Quantity, Limits(-180, 180)]
    height_m: Annotated[Quantity, Limits(-1000, 100_000)] = 0.0
    year: Annotated[Quantity, Limits(2025, 2030)] = 2026.0


class FaultTable(_Table):
    """A fault of the catalogue (`ironbird fault list`): which part, how much, when, in what shape."""

    id: Annotated[Word, Field(description="for example rotor.speed_loss@1")]
    instance: (
        Annotated[Variable, Limits(1, 64, whole=True, words=True), Field(description="number or name of the part")]
        | None
    ) = None
    axis: Annotated[Quantity, Limits(0, 8, whole=True), Field(description="one entry of a vector")] | None = None
    severity: Share = 1.0
    start_s: Seconds = 0.0
    end_s: PositiveSeconds | None = None
    duration_s: Annotated[PositiveSeconds, Field(description="instead of end_s")] | None = None
    shape: Literal["step", "ramp", "intermittent"] = "step"
    rise_s: Annotated[PositiveSeconds, Field(description="of a ramp")] | None = None
    period_s: Annotated[PositiveSeconds, Field(description="of an intermittent fault")] | None = None
    duty: Annotated[Share, Field(description="share of the period in which an intermittent fault is there")] = 0.5
    when: Annotated[Text, Field(description="predicate on signals; times count from when it first holds")] = ""
    definition: Annotated[
        str,
        Field(
            strict=True, max_length=LONGEST_COMMANDS, description="text of a file of faults that defines a user's own"
        ),
    ] = ""

    @model_validator(mode="after")
    def _fits(self) -> FaultTable:
        if self.end_s is not None and self.duration_s is not None:
            raise problem("both end_s and duration_s are given", "keep one", "end_s")
        if self.shape == "ramp" and self.rise_s is None:
            raise problem("a ramp needs rise_s", "add rise_s = 2.0", "shape")
        if self.shape == "intermittent" and self.period_s is None:
            raise problem("an intermittent fault needs period_s", "add period_s = 1.0", "shape")
        for key, shape in (("rise_s", "ramp"), ("period_s", "intermittent")):
            if getattr(self, key) is not None and self.shape != shape:
                cure = f'add shape = "{shape}", or leave it out'
                raise problem(f"{key} has no meaning with shape '{self.shape}'", cure, key)
        first, latest = _bounds(self.end_s)[0] if self.end_s is not None else math.inf, _bounds(self.start_s)[1]
        if first <= latest:
            raise problem(f"it may end at {first:g} s, before it starts", "use duration_s, or end later", "end_s")
        return self


def _bounds(value: float | str | Spread) -> tuple[float, float]:
    """Least and greatest value; infinite for a reference to a shared parameter."""
    if isinstance(value, str):
        return math.inf, -math.inf
    numbers = value.ends() if isinstance(value, Spread) else [value]
    return min(numbers), max(numbers)


class RequireTable(_Table):
    """A requirement: one of the library by name, or a formula in signal temporal logic."""

    use: Annotated[Text, Field(description="name in the library")] | None = None
    params: Annotated[dict[str, Variable], Field(description="numbers and words of a library requirement")] = {}
    name: Annotated[Text, Field(min_length=1)] | None = None
    formula: Annotated[Text, Field(description="for example always (altitude < 60 m)")] | None = None
    severity: Annotated[Text, Field(description="how bad a violation is")] | None = None
    covers: Annotated[list[Text], Field(description="ids of the project's requirements that it measures")] = []

    @model_validator(mode="after")
    def _one(self) -> RequireTable:
        if (self.use is None) == (self.formula is None):
            both = "both use and formula are given" if self.use is not None else "neither use nor formula is given"
            raise problem(both, 'write use = "no_crash", or name and formula', "use")
        if self.formula is not None and self.name is None:
            raise problem("a formula needs a name", 'add name = "…"')
        if self.params and self.use is None:
            raise problem("params belong to a requirement of the library", "write them into the formula", "params")
        return self


class PlanTable(_Table):
    """How values of the varied parameters are combined."""

    kind: Literal["one_by_one", "grid", "latin_hypercube", "pairwise", "monte_carlo"]
    samples: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None
    seed: Annotated[Seed, Field(description="of the plan's own random numbers")] = 1
    strength: Annotated[int, Field(strict=True, ge=2, le=6, description="pairwise: values covered together")] = 2

    @model_validator(mode="after")
    def _fits(self) -> PlanTable:
        sampled = self.kind in ("latin_hypercube", "monte_carlo")
        if sampled and self.samples is None:
            raise problem(f"a plan of kind {self.kind} needs samples", "add samples = 100")
        if not sampled and self.samples is not None:
            raise problem(f"samples have no meaning in a plan of kind {self.kind}", "leave samples out", "samples")
        if self.kind != "pairwise" and "strength" in self.model_fields_set:
            cure = 'leave it out, or write kind = "pairwise"'
            raise problem(f"strength has no meaning in a plan of kind {self.kind}", cure, "strength")
        return self


class SeedRange(_Table):
    """Consecutive seeds: the first and their number."""

    first: Seed = 1
    count: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]

    @model_validator(mode="after")
    def _fits(self) -> SeedRange:
        if self.first + self.count - 1 > MOST_SEED:
            raise problem(f"the last seed would be {self.first + self.count - 1}", f"the greatest is {MOST_SEED}")
        return self


def _once(seeds: list[int]) -> list[int]:
    if len(set(seeds)) != len(seeds):
        raise problem("a seed appears twice", "write each seed once")
    return seeds


def _whole_steps(log_s: float) -> float:
    if abs(round(log_s / SHORTEST_LOG_S) * SHORTEST_LOG_S - log_s) > 1e-9:
        raise problem(f"{log_s:g} s is no whole number of steps of {SHORTEST_LOG_S:g} s", "write 0.02, for example")
    return log_s


Seeds: TypeAlias = Annotated[
    Annotated[Seed, Tag("value")]
    | Annotated[list[Seed], Field(min_length=1), AfterValidator(_once), Tag("list")]
    | Annotated[SeedRange, Tag("table")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "table" if isinstance(value, dict) else "value"),
]


class ValidationTable(_Table):
    """Validation level that the vehicle's evidence sheet must have before a case is flown."""

    level: Annotated[int, Field(strict=True, ge=1, le=4, description="of validation, after NASA-STD-7009")]
    modules: Annotated[list[Literal[VALIDATED]], Field(min_length=1)] = ["vehicle"]  # type: ignore[valid-type]


class SightTable(BaseModel):
    """A sensor that sees the world; its other keys are those of its kind (docs/guide/worlds.md)."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    kind: Annotated[Text, Field(description="rangefinder, ring, scanning_lidar, camera, …")]
    name: Annotated[
        str, Field(strict=True, pattern=r"^[A-Za-z]\w{0,59}$", description="in sight/NAME.range, and of faults")
    ]


class Defaults(_Table):
    """Keys that the cases of a suite share; also the keys of a case."""

    vehicle: Annotated[Word, Field(description="catalogue id, or a TOML file relative to this one")] | None = None
    control: (
        Annotated[
            Word,
            Field(description="reference, truth, or a control system outside: px4, ardupilot, …; else the usual one"),
        ]
        | None
    ) = None
    mission: (
        Annotated[
            MissionText, Field(description="built-in name, TOML file, plan, or a table with items; else the vehicle's")
        ]
        | None
    ) = None
    commands: (
        Annotated[
            str,
            Field(
                strict=True,
                max_length=LONGEST_COMMANDS,
                description="order.toml of a flight under control 'commanded', or its text: the same commands",
            ),
        ]
        | None
    ) = None
    until_s: Annotated[PositiveSeconds, Field(description="the flight ends then at the latest")] | None = None
    ends: Annotated[Ending, Field(description=HELP)] | None = None
    may_crash: Annotated[bool, Field(strict=True, description=MAY_CRASH)] | None = None
    seeds: (
        Annotated[
            Seeds,
            Field(
                description="3 is the one seed 3; [1, 2, 3] or { first = 1, count = 3 } are three; else 0, or the "
                "number of the sample in a sampled plan"
            ),
        ]
        | None
    ) = None
    log_s: (
        Annotated[
            float,
            Field(strict=True, ge=SHORTEST_LOG_S, le=LONGEST_S, description="time between rows of the log"),
            AfterValidator(_whole_steps),
        ]
        | None
    ) = None
    integration: (
        Annotated[
            str,
            Field(
                strict=True,
                pattern=INTEGRATION_PATTERN,
                description="method and step in s in place of the vehicle's own, such as rk4@0.001",
            ),
        ]
        | None
    ) = None
    expect: (
        Annotated[
            Literal["pass", "fail"] | ExpectTable,
            Field(description='known outcome; { fail = ["no_crash"] } names the requirements that break'),
        ]
        | None
    ) = None
    tags: list[Text] = []
    wind: WindTable = Field(default_factory=WindTable)  # an instance would build the grammar at import time
    place: PlaceTable | None = None
    world: (
        Annotated[Text, Field(description="name of a world, a file relative to this one, or the text of a world file")]
        | None
    ) = None
    scenario: (
        Annotated[
            str,
            Field(
                strict=True,
                max_length=LONGEST_COMMANDS,
                description="name of a scenario, or a file relative to this one: all its vehicles fly, $name is filled",
            ),
        ]
        | None
    ) = None
    sight: Annotated[list[SightTable], Field(description="sensors that see the world")] = []
    options: Annotated[dict[str, str | bool | int | float], Field(description="of a control system outside")] = {}
    set: Annotated[dict[str, Setting], Field(description="parameters by path, for example body.mass")] = {}
    vary: Annotated[dict[str, Variable], Field(description='shared parameters, used in other keys as "$name"')] = {}
    faults_files: Annotated[
        list[Text], Field(description="files of a user's own faults, or folders of such, relative to this one")
    ] = []
    fault: list[FaultTable] = []
    require: list[RequireTable] = []
    plan: PlanTable | None = None
    validation: (
        Annotated[ValidationTable, Field(description="refuse to judge with a model that was validated less")] | None
    ) = None


class Case(Defaults):
    """One test case of a file, with its id, title and remarks."""

    id: Annotated[str, Field(strict=True, pattern=ID_PATTERN, description="unique in the suite")]
    title: Text = ""
    note: Annotated[Text, Field(description="remarks, for people")] = ""
    source: Annotated[Text, Field(description="where the case comes from, for people")] = ""


class SuiteTable(_Table):
    """The head of a suite: id, title, included files, defaults."""

    id: Annotated[str, Field(strict=True, pattern=ID_PATTERN)]
    title: Text = ""
    include: Annotated[list[Text], Field(description="case files, relative to this one; * stands for any name")] = []
    defaults: Defaults = Field(default_factory=Defaults, description="for every case; a case's own keys go first")


class CaseFile(_Table):
    """A case file of Ironbird: one or more test cases, or a suite of them."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    title: Text = ""
    suite: SuiteTable | None = None
    case: list[Case] = []


def schema_text() -> str:
    """The JSON Schema of case files, for editors."""
    return schema_file(CaseFile.model_json_schema(by_alias=True))


# ---------------------------------------------------------------------- one concrete flight


@dataclass(frozen=True, kw_only=True)
class FlightCase(Order):
    """One concrete flight of a case: an order, and the labels under which a suite keeps it.

    Parameters
    ----------
    id : str
        Case, number of the point, seed: `motor-loss/0007/s3`; unique in its suite.
    case_id : str
        Id of the case.
    title : str, default ""
        Title of the case.
    expect : str or None, default None
        The verdict that is right; None is pass.
    tags : tuple of str, default ()
        Tags of the case.
    values : dict, default {}
        The varied parameters by name.
    scenario : str, default ""
        Text of a scenario that is flown as a whole; the vehicle is then its first.
    vehicle, control, mission, mission_name, script, weather, place, settings, faults, requirements, ends, may_crash
        As in `Order`.
    seed, until_s, log_s, tunings, options, world, sight, integration
        As in `Order`.
    """

    id: str  # case, number of the point, seed: 'motor-loss/0007/s3'; unique in its suite and stable
    case_id: str
    title: str = ""
    expect: str | None = None
    tags: tuple[str, ...] = ()
    values: dict[str, float | str] = field(default_factory=dict)  # the varied parameters, for statistics and maps
    scenario: str = ""  # text of a scenario that is flown as a whole; the vehicle is then its first

    def digest(self, shared: dict[object, Any] | None = None) -> str:
        """Hash of the order; of a scenario also of all its vehicles and the case's requirements."""
        if not self.scenario:
            return super().digest(shared)
        required = [[r.name, r.formula, r.severity] for r in self.requirements]
        text = json.dumps([scenario_in(self.scenario, self.case_id).digest(), required])
        return hashlib.sha256(text.encode()).hexdigest()

    def to_toml(self) -> str:
        """Text of a case file that flies exactly this flight."""
        if self.scenario:
            whole = {
                "id": self.case_id, "title": self.title, "scenario": self.scenario, "seeds": [self.seed],
                "expect": expected_table(self.expect), "tags": list(self.tags),
                "require": [_require_table(requirement) for requirement in self.requirements],
            }  # fmt: skip
            whole = {key: value for key, value in whole.items() if value not in (None, "", [], {})}
            return f"# {self.id}\n" + write_toml({"schema": SCHEMA, "case": [whole]}, TABLES)
        commands = ""
        if self.control == "commanded" and self.script:
            bare = Order(vehicle=self.vehicle, control=self.control, script=self.script, tunings=self.tunings)
            commands = bare.text()
        elif (self.script and not is_plan(self.script)) or self.tunings:
            raise OrderError(f"flight {self.id}: a case file holds no record of a ground station and no live tunings")
        usual = asdict(Weather())
        wind = {key: float(value) for key, value in asdict(self.weather).items() if value != usual[key]}
        case: dict[str, Any] = {
            "id": self.case_id, "title": self.title, "vehicle": self.vehicle, "control": self.control,
            "mission": self.script
            if is_plan(self.script)
            else self.mission_name or (mission_table(self.mission) if self.mission else None),
            "commands": commands, "until_s": self.until_s, "ends": self.ends, "may_crash": self.may_crash or None,
            "seeds": [self.seed], "log_s": float(self.log_s), "integration": self.integration,
            "expect": expected_table(self.expect), "tags": list(self.tags), "wind": wind,
            "place": self.place.model_dump() if self.place else None, "world": self.world,
            "sight": [dict(table) for table in self.sight],
            "options": dict(self.options), "set": {path: plain(value) for path, value in self.settings.items()},
            "fault": [fault.table() for fault in self.faults],
            "require": [_require_table(requirement) for requirement in self.requirements],
        }  # fmt: skip
        case = {key: value for key, value in case.items() if value not in (None, "", [], {})}
        return f"# {self.id}\n" + write_toml({"schema": SCHEMA, "case": [case]}, TABLES)

    def record(self) -> dict[str, Any]:
        """The flight as plain data for the store."""
        data = {**{key: getattr(self, key) for key in LABELS}, **super().record(), "tags": list(self.tags)}
        return {**data, "scenario": self.scenario} if self.scenario else data

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> FlightCase:
        """The flight of plain data, the inverse of `record`; raises `OrderError` if they are invalid."""
        try:
            labels = {key: record[key] for key in LABELS}
            scenario = record.get("scenario", "")
            return FlightCase(**labels, **Order.fields_of(record), tags=tuple(record["tags"]), scenario=scenario)
        except KeyError as error:
            raise OrderError(f"this is no record of a flight: it lacks {error}") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise OrderError(f"this is no record of a flight: {' '.join(str(error).split())}") from None


LABELS = ("id", "case_id", "title", "expect", "values")  # of a flight, besides its order and tags


@dataclass(frozen=True)
class Imported:
    """A case imported from another tool, and a list of what has no counterpart here."""

    case: dict[str, Any]  # a table of a case file
    missing: tuple[str, ...] = ()

    def to_toml(self) -> str:
        """Text of a case file with this case."""
        return case_file([self])


def case_file(cases: Sequence[Imported], head: Mapping[str, Any] | None = None) -> str:
    """Text of a case file with imported cases; what has no counterpart is in each case's note."""
    tables = []
    for imported in cases:
        remark = imported.case.get("note", "")
        lost = [f"No counterpart: {'; '.join(imported.missing)}."] if imported.missing else []
        note = {"note": " ".join(filter(None, [remark, *lost]))} if remark or lost else {}
        tables.append({key: value for key, value in (imported.case | note).items() if value not in ("", [], {})})
    return write_toml({"schema": SCHEMA, **(head or {}), "case": tables}, TABLES)


def _require_table(requirement: Requirement) -> dict[str, Any]:
    """Table of a requirement as in a case file; a formula of the library is not written out."""
    if requirement.use:
        table: dict[str, Any] = {"use": requirement.use, "params": requirement.params, "name": requirement.name}
    else:
        table = {"name": requirement.name, "formula": requirement.formula}
    table |= {"severity": requirement.severity, "covers": list(requirement.covers)}
    return {key: value for key, value in table.items() if value not in ("", {}, [])}
