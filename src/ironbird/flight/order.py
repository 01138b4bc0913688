"""The order of a flight: everything that defines it, with a digest and a text that reads back exactly.

Equal orders give equal flights on any machine, if the control system repeats at all.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import numpy as np
from pydantic import ValidationError

from ironbird.errors import IronbirdError, OrderError, UnknownNameError, shortened
from ironbird.faults.catalog import KNOWN, Catalogue, parse_fault, read_fault, unknown_fault
from ironbird.faults.spec import Fault, Injection
from ironbird.files.problems import grammar_words, read_bytes, read_toml
from ironbird.files.toml_text import write_toml
from ironbird.flight.ends import ending_formula
from ironbird.flight.mission import LONGEST_S, Item, Mission, load_mission
from ironbird.flight.worlds import ordered_world
from ironbird.model.signal import Number
from ironbird.requirements import library
from ironbird.runtime.tuning import Tuning
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Stamp, file_stamp, load_spec, read_tables, usual_control, vehicle_path
from ironbird.vehicles.spec import Home, Integration

SCHEMA = 1
LOG_S = 0.02  # between rows of a log, if nothing else is ordered
SHORTEST_LOG_S = 1e-3  # the shortest step of a flight inside
MOST_SEED = 2**63 - 1  # what a store holds
SEVERITY = "major"  # of a requirement that does not say how bad its violation is
Option: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class Weather:
    """Wind, turbulence and one discrete gust.

    Parameters
    ----------
    speed_mps : float, default 0.0
        Steady wind in m/s.
    from_deg : float, default 0.0
        Direction that the wind comes from in degrees: 0 is north, 90 is east.
    turbulence_mps : float, default 0.0
        Mean wind at 20 ft in m/s that sets the strength of turbulence (Dryden).
    gust_mps : float, default 0.0
        Top of a 1-cosine gust in m/s, from where the wind comes from.
    gust_start_s : float, default 0.0
        Time at which the gust begins, in s.
    gust_rise_s : float, default 1.0
        Time in which it rises, and in which it falls, in s.
    gust_hold_s : float, default 0.0
        Time at its top in s.

    Examples
    --------
    >>> ib.Weather(5.0, 270.0, turbulence_mps=3.0).describe()
    '5 m/s from 270°, turbulence 3 m/s at 20 ft'
    """

    speed_mps: float = 0.0
    from_deg: float = 0.0
    turbulence_mps: float = 0.0  # mean wind at 20 ft that sets the strength of the turbulence
    gust_mps: float = 0.0  # top of a 1-cosine gust that comes from where the wind comes from
    gust_start_s: float = 0.0
    gust_rise_s: float = 1.0
    gust_hold_s: float = 0.0

    def describe(self) -> str:
        """The weather as one line of text."""
        text = f"{self.speed_mps:g} m/s from {self.from_deg:g}°" if self.speed_mps else "calm"
        if self.turbulence_mps:
            text += f", turbulence {self.turbulence_mps:g} m/s at 20 ft"
        return text + (f", gust of {self.gust_mps:g} m/s at {self.gust_start_s:g} s" if self.gust_mps else "")

    def params(self) -> dict[str, Number]:
        """Parameters of the wind blocks."""
        towards = math.radians(self.from_deg) + math.pi
        values: dict[str, Number] = {
            at.WIND_STEADY.velocity: _along(towards, self.speed_mps),
            at.WIND_TURBULENCE.wind_20ft: self.turbulence_mps,
            at.WIND_TURBULENCE("direction"): towards,
        }
        if self.gust_mps:
            values |= {
                at.WIND_GUST("amplitude_N"): _along(towards, self.gust_mps),
                at.WIND_GUST("start_time"): self.gust_start_s,
                at.WIND_GUST("rise_time"): self.gust_rise_s,
                at.WIND_GUST("hold_time"): self.gust_hold_s,
            }
        return values

    def digest_data(self) -> list[float]:
        """Numbers that enter the digest of an order.

        Without a gust only the first three, so that digests equal those of versions that had no gusts.
        """
        values = [float(value) for value in vars(self).values()]
        return values if self.gust_mps else values[:3]


def _along(direction_rad: float, speed_mps: float) -> list[float]:
    return [speed_mps * math.cos(direction_rad), speed_mps * math.sin(direction_rad), 0.0]


@dataclass(frozen=True)
class Requirement:
    """What must hold during a flight: a formula with a name.

    `ib.Requirement.of("no_crash")` takes one of the library by name, `ib.Requirement.of("always (tilt < 30 deg)")`
    makes one of a formula; `ib.fly(requirements=[…])` takes both texts as they are.

    Parameters
    ----------
    name : str
        Name in reports.
    formula : str
        Signal temporal logic with units, for example `always (altitude < 60 m)`.
    severity : str, default "major"
        How bad a violation is, in words of the project.
    use : str, default ""
        Name in the library that it was made from; empty for a formula.
    params : dict, optional
        Parameters of the one in the library.
    covers : tuple of str, default ()
        Ids of the project's requirements that it measures: see `ironbird evidence pack --requirements`.

    Examples
    --------
    >>> ib.Requirement.of("always (tilt < 30 deg)").severity
    'major'
    """

    name: str
    formula: str
    severity: str = SEVERITY
    use: str = ""
    params: dict[str, float | str] = field(default_factory=dict)
    covers: tuple[str, ...] = ()  # ids of the project's requirements; they change neither flight nor verdict

    def __post_init__(self) -> None:
        if isinstance(self.covers, str) or not all(isinstance(id, str) for id in self.covers):
            raise OrderError(f"covers of requirement {self.name} = {shortened(repr(self.covers))} is no list of ids")
        object.__setattr__(self, "covers", tuple(self.covers))
        for key in ("name", "formula", "severity", "use"):
            if not isinstance(getattr(self, key), str):
                raise OrderError(f"{key} of a requirement = {shortened(repr(getattr(self, key)))} is no text")
        if not isinstance(self.params, Mapping):
            raise OrderError(f"params of requirement {self.name} = {shortened(repr(self.params))} is no table")

    @staticmethod
    def of(text: Requirement | str, **params: float | str) -> Requirement:
        """A requirement of the library by its name (`no_crash`), or a formula (`always (altitude < 60 m)`)."""
        if isinstance(text, Requirement):
            return text
        if text.strip() in library.TEMPLATES or text.isidentifier():
            known = library.get(text.strip(), **params)
            return Requirement(known.name, known.formula_text, known.severity, text.strip(), dict(params))
        return Requirement(text, text)

    def record(self) -> dict[str, Any]:
        """The requirement as plain data; `covers` only if it has any."""
        data = {**vars(self), "params": dict(self.params), "covers": list(self.covers)}
        return data if self.covers else {key: value for key, value in data.items() if key != "covers"}

    def text(self) -> str:
        """The requirement for the command line: the library's name if its parameters are defaults, else the formula."""
        return self.use if self.use and not self.params else self.formula


@dataclass(frozen=True, kw_only=True)
class Order:
    """One flight: what is flown, by whom, where, in what weather, what breaks, what must hold, until when.

    `ib.make_order` makes one with what the vehicle usually has. An order does not change; `dataclasses.replace` makes
    another one. Equal orders give equal flights.

    Parameters
    ----------
    vehicle : str
        Catalogue name, or the path of a TOML file.
    control : str
        reference, truth, or an external control system: px4, ardupilot, hardware, …
    mission : Mission or None, default None
        None: the control system gets no mission.
    mission_name : str, default ""
        Built-in name, or that of a plan's file; empty for a mission of your own.
    script : str, default ""
        Text of a QGroundControl plan or waypoint file that is flown instead of the mission.
    weather : Weather, default calm
        Wind, turbulence and gust.
    place : Home or None, default None
        Take-off point and year; None: the vehicle's own.
    settings : mapping of str to number or list, default {}
        Parameters by path, in SI units.
    faults : tuple of Injection, default ()
        What breaks.
    requirements : tuple of Requirement, default ()
        What must hold, besides `no_crash` and how the flight ends.
    ends : str, default ""
        How the flight may end (`ironbird.flight.ends`): completed, completed or landed, time. Empty: completed if it
        has a mission or a plan, else time.
    may_crash : bool, default False
        Whether a crash breaks no requirement: `no_crash` is not judged.
    seed : int, default 0
        Seed of all noise.
    until_s : float or None, default None
        Length in s; None: until the mission is done.
    log_s : float, default 0.02
        Time between rows of the log in s.
    tunings : tuple of Tuning, default ()
        Parameters that change during the flight.
    options : mapping, default {}
        Options of an external control system, as its kind declares them.
    world : str, default ""
        Name of a world, the path of its file, or its text; empty: flat ground without obstacles.
    sight : tuple of mapping, default ()
        Sensors that see the world: tables with `kind`, `name` and keys of the kind.
    integration : str, default ""
        METHOD@STEP_S in place of the vehicle's own, such as rk4@0.001.

    Raises
    ------
    OrderError
        If a value is not possible.
    """

    vehicle: str  # catalogue id, or the path of a TOML file
    control: str  # reference, truth, or a control system outside: px4, ardupilot, hardware, ...
    mission: Mission | None = None  # None: the control system gets no mission
    mission_name: str = ""  # built-in name, or that of a plan's file; empty for a mission of one's own
    script: str = ""  # text of a QGroundControl plan or waypoint file that a control system outside flies instead
    weather: Weather = Weather()
    place: Home | None = None  # take-off point and year, in place of the vehicle's own
    settings: Mapping[str, Number] = field(default_factory=dict)  # parameters by path
    faults: tuple[Injection, ...] = ()
    requirements: tuple[Requirement, ...] = ()  # besides `no_crash` and how the flight ends
    ends: str = ""  # how the flight may end; empty: completed if there is a mission, else time
    may_crash: bool = False  # `no_crash` is not judged
    seed: int = 0
    until_s: float | None = None  # None: the mission's own end
    log_s: float = LOG_S
    tunings: tuple[Tuning, ...] = ()  # parameters changed during the flight
    options: Mapping[str, Option] = field(default_factory=dict)  # of the control system, as its kind declares them
    world: str = ""  # name of a world, the path of its file, or the text of one; none: flat ground, nothing to hit
    sight: tuple[Mapping[str, Any], ...] = ()  # sensors that see the world: tables with kind, name and their own keys
    integration: str = ""  # METHOD@STEP_S in place of the vehicle's own, such as rk4@0.001

    def __post_init__(self) -> None:
        for name in ("vehicle", "control", "mission_name", "script", "world", "integration", "ends"):
            if not isinstance(getattr(self, name), str):
                raise OrderError(f"{name} = {shortened(repr(getattr(self, name)))} is no text")
        for path, value in self.settings.items():
            if why := _no_setting(value):
                raise OrderError(f"setting {path} = {shortened(repr(value))} {why}")
        for tuning in self.tunings:
            if why := _no_setting(tuning.value):
                where = f"tuning of {tuning.path} at tick {shortened(tuning.tick)}"
                raise OrderError(f"{where}: value = {shortened(repr(tuning.value))} {why}")
        for key, chosen in self.options.items():
            if not isinstance(chosen, str | bool | int | float) or _is_infinite(chosen):
                raise OrderError(f"option {key} = {shortened(repr(chosen))} is not a text, a number, or true or false")
        object.__setattr__(self, "settings", {path: plain(value) for path, value in self.settings.items()})
        if not isinstance(self.seed, int) or not 0 <= self.seed <= MOST_SEED:
            raise OrderError(f"seed {shortened(self.seed)} is not a whole number from 0 to 2^63 - 1")
        for name, least in (("until_s", 0.0), ("log_s", SHORTEST_LOG_S)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int | float | np.number):
                raise OrderError(f"{name} = {shortened(repr(value))} is no number: give seconds, such as 5.0")
            if value is not None and not (least <= value <= LONGEST_S and value > 0):
                raise OrderError(
                    f"{name} = {shortened(value)}: give a time "
                    + (f"from {least:g} s" if least else "greater than 0")
                    + f"{'' if least else ' and up'} to {LONGEST_S:g} s"
                )
        if self.integration:
            Integration.parse(self.integration)
        if self.ends:
            ending_formula(self.ends)
        if not isinstance(self.may_crash, bool):
            raise OrderError(f"may_crash = {shortened(repr(self.may_crash))} is not true or false")
        if self.sight and not self.world:
            raise OrderError("sensors that see the world are ordered, and no world: name one, such as 'field'")
        if self.sight:
            from ironbird.flight.sights import sensors_of

            names = [sensor.name for sensor in sensors_of(self.sight)]
            if len(set(names)) < len(names):
                raise OrderError(f"two sensors have one name among {', '.join(names)}; give each its own")
        if self.place is not None and not isinstance(self.place, Home):
            example = "ib.Home(latitude_deg=47.4, longitude_deg=8.5, height_m=400.0)"
            raise OrderError(f"place = {shortened(repr(self.place))} is no place: give {example}")
        if not isinstance(self.weather, Weather):
            given = shortened(repr(self.weather))
            raise OrderError(f"weather = {given} is no weather: give ib.Weather(speed_mps=5.0, from_deg=270.0)")
        for name, value in vars(self.weather).items():
            if _no_number(value):
                raise OrderError(f"{name} of the weather = {shortened(repr(value))} is no finite number")
            if value < 0 and name != "from_deg":
                raise OrderError(f"{name} of the weather = {value:g} is less than 0; from_deg says where it comes from")

    def items(self) -> list[Item]:
        """Items of the mission; empty if the control system gets no mission."""
        return list(self.mission.item) if self.mission is not None else []

    # ------------------------------------------------------------------ identity

    def digest(self, shared: dict[object, Any] | None = None) -> str:
        """Hash of everything that influences the result; names, tags and notes do not.

        Flights whose digests are computed one after the other may share a dictionary, which caches common parts.
        """
        shared = {} if shared is None else shared
        if self.vehicle not in shared:
            shared[self.vehicle] = vehicle_digest(self.vehicle)
        if id(self.mission) not in shared:
            dumped = self.mission.model_dump(mode="json", by_alias=True) if self.mission else None
            shared[id(self.mission)] = dumped, self.mission  # kept alive, so that no other object gets its id
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "vehicle": shared[self.vehicle],
            "control": self.control,
            "mission": shared[id(self.mission)][0],
            "wind": self.weather.digest_data(),
            "settings": {path: plain(value) for path, value in self.settings.items()},
            "faults": [fault.table() for fault in self.faults],
            "requirements": [[r.name, r.formula, r.severity] for r in self.requirements],
            "seed": self.seed,
            "until_s": None if self.until_s is None else float(self.until_s),
            "log_s": float(self.log_s),
        }
        if self.script:
            data["script"] = self.script
        if self.place is not None:
            data["place"] = self.place.model_dump()
        if self.tunings:
            data["tunings"] = [asdict(tuning) for tuning in self.tunings]
        if self.options:
            data["options"] = dict(self.options)
        if self.world:
            data["world"] = ordered_world(self.world).digest  # hash of the content of its files
        if self.sight:
            from ironbird.flight.sights import digest_of

            data["sight"] = digest_of(self.sight)
        if self.integration:
            data["integration"] = self.integration
        if self.ends:
            data["ends"] = self.ends
        if self.may_crash:
            data["may_crash"] = True
        return hashlib.sha256(_DIGESTED.encode(data).encode()).hexdigest()

    @property
    def has_plan(self) -> bool:
        """Whether its script replaces the mission; orders to the built-in ground station do not."""
        if not self.script:
            return False
        from ironbird.protocols.orders import is_orders

        return not is_orders(self.script)

    @property
    def has_plan_file(self) -> bool:
        """Whether its script is a plan of another program, not a record of commands."""
        return self.has_plan and _is_plan(self.script)

    # ------------------------------------------------------------------ plain data and text

    def record(self) -> dict[str, Any]:
        """Plain data for files and stores; `from_record` reads it back to an equal order."""
        return {
            "vehicle": self.vehicle,
            "control": self.control,
            "mission": self.mission.model_dump(mode="json", by_alias=True) if self.mission else None,
            "mission_name": self.mission_name,
            "script": self.script,
            "wind": dict(vars(self.weather)),
            "place": self.place.model_dump() if self.place else None,
            "settings": {path: plain(value) for path, value in self.settings.items()},
            "faults": [fault.table() for fault in self.faults],
            "requirements": [r.record() for r in self.requirements],
            "ends": self.ends,
            "may_crash": self.may_crash,
            "seed": self.seed,
            "until_s": self.until_s,
            "log_s": self.log_s,
            "tunings": [asdict(tuning) for tuning in self.tunings],
            "options": dict(self.options),
            "world": self.world,
            "sight": [dict(table) for table in self.sight],
            "integration": self.integration,
        }

    @staticmethod
    def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of an order from its record; keys that an older version did not write get defaults."""
        mission, place = record.get("mission"), record.get("place")
        return {
            **{key: record[key] for key in NEEDED},
            **{key: record[key] for key in _PLAIN_KEYS if key in record},
            "mission": Mission.model_validate(mission) if mission is not None else None,
            "weather": Weather(**record.get("wind", {})),
            "place": Home(**place) if place is not None else None,
            "settings": dict(record.get("settings", {})),
            "faults": tuple(read_fault(table, old=True) for table in record.get("faults", [])),
            "requirements": tuple(Requirement(**table) for table in record.get("requirements", [])),
            "tunings": tuple(Tuning(**table) for table in record.get("tunings", [])),
            "options": dict(record.get("options", {})),
            "sight": tuple(dict(table) for table in record.get("sight", [])),
        }

    def text(self) -> str:
        """The order as TOML; `parse_order` reads it back to an equal order, bit for bit."""
        return record_text(Order.record(self))


def record_text(record: Mapping[str, Any]) -> str:
    """The record of an order (`Order.record`) as TOML."""
    return "# An order; fly it with 'ironbird repeat'\n" + write_toml(
        {
            "schema": SCHEMA,
            "order": {k: _without_null(v) for k, v in record.items() if k in NEEDED or v not in NOTHING},
        },
        (
            "order",
            "mission",
            "item",
            "wind",
            "place",
            "settings",
            "faults",
            "requirements",
            "tunings",
            "options",
            "sight",
        ),
    )


def parse_order(text: str, where: str = "order") -> Order:
    """Read the text of an order: the inverse of `Order.text`.

    Parameters
    ----------
    text : str
        Content of an order.toml.
    where : str, default "order"
        What messages call it.

    Returns
    -------
    Order
        Equal to the one that was written, bit for bit.

    Raises
    ------
    OrderError
        If the text is none.

    Examples
    --------
    >>> text = ib.make_order("quad_f450", mission="hover", until_s=2.0).text()
    >>> ib.parse_order(text).until_s
    2.0
    """
    try:
        data = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise OrderError(f"{where}: not valid TOML: {error}; give the order.toml of a flight") from None
    return order_of(data, where)


def order_of(data: Mapping[str, Any], where: str = "order") -> Order:
    """The order from the tables of its text."""
    if data.get("schema") != SCHEMA or not isinstance(data.get("order"), dict):
        raise OrderError(f"{where}: there is no [order] of schema {SCHEMA}; give the order.toml of a flight")
    try:
        _check_keys(data["order"])
        return Order(**Order.fields_of(data["order"]))
    except IronbirdError as error:
        raise OrderError(f"{where}: {error}") from None
    except KeyError as error:
        raise OrderError(f"{where}: [order] lacks {error}; give the order.toml of a flight") from None
    except ValidationError as error:  # of the mission or the place
        grammar, table = (Home, "place") if error.title == "Home" else (Mission, "mission")
        path, message, cure = grammar_words(grammar, data["order"].get(table), error)[0]
        raise OrderError(f"{where}: {'.'.join(str(part) for part in (table, *path))}: {message}; {cure}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise OrderError(f"{where}: this is not an order as 'ironbird fly' writes it: {error}") from None


def load_order(path: str | Path) -> Order:
    """Read the order of a flight from its folder.

    Parameters
    ----------
    path : str or Path
        Folder of a flight, or its order.toml.

    Returns
    -------
    Order
        What was flown; `ib.fly` flies it again.

    Raises
    ------
    OrderError
        If there is none.

    Examples
    --------
    >>> order = ib.load_order("out/quad_f450")  # doctest: +SKIP
    >>> ib.fly(order).sha256  # doctest: +SKIP
    """
    path = Path(path)
    path = path / "order.toml" if path.is_dir() else path
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise OrderError(f"cannot read {path}: {why}; give the folder of a flight, or its order.toml") from None
    return parse_order(text, str(path))


class Ordered(TypedDict, total=False):
    """The arguments of `make_order` but vehicle and control, as `ib.fly` takes them."""

    mission: Mission | str | Path | None
    faults: Sequence[Injection | str] | Injection | str
    faults_files: Sequence[str | Path]
    requirements: Sequence[Requirement | str] | Requirement | str
    ends: str
    may_crash: bool
    weather: Weather | None
    settings: Mapping[str, Number] | None
    tunings: Sequence[Tuning]
    options: Mapping[str, Option] | None
    script: str
    seed: int
    until_s: float | None
    log_s: float
    place: Home | None
    world: str | Path
    sight: Sequence[Mapping[str, Any]]
    integration: str
    script_name: str


def make_order(
    vehicle: str | Path,
    *,
    control: str | None = None,
    mission: Mission | str | Path | None = None,
    faults: Sequence[Injection | str] | Injection | str = (),
    faults_files: Sequence[str | Path] = (),
    requirements: Sequence[Requirement | str] | Requirement | str = (),
    ends: str = "",
    may_crash: bool = False,
    weather: Weather | None = None,
    settings: Mapping[str, Number] | None = None,
    tunings: Sequence[Tuning] = (),
    options: Mapping[str, Option] | None = None,
    script: str = "",
    seed: int = 0,
    until_s: float | None = None,
    log_s: float = LOG_S,
    place: Home | None = None,
    world: str | Path = "",
    sight: Sequence[Mapping[str, Any]] = (),
    integration: str = "",
    script_name: str = "",
) -> Order:
    """An order: everything that defines a flight. What is not given is what the vehicle usually has.

    Parameters
    ----------
    vehicle : str or Path
        Catalogue name, or a TOML file.
    control : str, optional
        Name of a control system (`ib.system_names()`); the vehicle's usual one by default.
    mission, faults, faults_files, requirements, ends, may_crash, weather, settings, tunings, options, script, seed
        As in `ib.fly`.
    until_s, log_s, place, world, sight, integration, script_name
        As in `ib.fly`.

    Returns
    -------
    Order
        Give it to `ib.fly`; `order.text()` is its TOML file.

    Raises
    ------
    UnknownNameError
        If a vehicle, mission, fault or requirement has no such name.
    OrderError
        If arguments do not fit together.

    Examples
    --------
    >>> order = ib.make_order("quad_f450", mission="hover", until_s=2.0, seed=3)
    >>> ib.parse_order(order.text()) == order
    True
    """
    if mission is None and script and _is_plan(script):
        flown, name = None, script_name
        place = planned_place(script, load_spec(vehicle).home) if place is None else place
    else:
        source = load_spec(vehicle).mission if mission is None else mission
        flown = source if isinstance(source, Mission) else load_mission(source)
        name = source if isinstance(source, str) and not source.endswith(".toml") else ""
    return Order(
        vehicle=str(vehicle),
        control=control or usual_control(vehicle),
        mission=flown,
        mission_name=name,
        faults=read_faults(faults, Catalogue(faults_files)),
        requirements=read_requirements(requirements),
        ends=ends,
        may_crash=may_crash,
        weather=Weather() if weather is None else weather,
        settings=_table("settings", settings, "'body.mass': 1.5"),
        tunings=tuple(tunings),
        options=_table("options", options, "'time': 'virtual'"),
        script=script,
        seed=seed,
        until_s=until_s,
        log_s=log_s,
        place=place,
        world=str(world),
        sight=tuple(dict(table) for table in sight),
        integration=integration,
    )


def _table(name: str, given: Mapping[str, Any] | None, example: str) -> dict[str, Any]:
    """An argument that is a table; None is an empty one."""
    if given is not None and not isinstance(given, Mapping):
        raise OrderError(f"{name} = {shortened(repr(given))} is no table: give a dict, such as {{{example}}}")
    return dict(given or {})


def _is_plan(script: str) -> bool:
    from ironbird.protocols.plan_file import is_plan

    return is_plan(script)


def planned_place(script: str, usual: Home) -> Home | None:
    """The home that a plan was made from; None if it has none, or the vehicle's own."""
    from ironbird.protocols.plan_file import parse_plan

    planned = parse_plan(script).home
    if planned is None:
        return None
    try:
        place = Home(**planned._asdict(), year=usual.year)
    except ValidationError:
        raise OrderError(
            f"the plan's home {planned.latitude_deg:g}, {planned.longitude_deg:g} is too near a pole"
        ) from None
    return None if place == usual else place


def read_faults(
    faults: Sequence[Injection | str] | Injection | str, known: Mapping[str, Fault] = KNOWN
) -> tuple[Injection, ...]:
    """Faults as injections, or one alone; texts are parsed with the `known` faults."""
    given = [faults] if isinstance(faults, Injection | str) else faults
    return tuple(fault if isinstance(fault, Injection) else parse_fault(fault, known) for fault in given)


def read_requirements(requirements: Sequence[Requirement | str] | Requirement | str) -> tuple[Requirement, ...]:
    """Requirements as objects, names of the library or formulas, or one alone."""
    given = [requirements] if isinstance(requirements, Requirement | str) else requirements
    return tuple(Requirement.of(requirement) for requirement in given)


def plain(value: Any) -> Any:
    """A value as plain data: numbers as floats, sequences as lists."""
    return float(value) if isinstance(value, int | float | np.number) else [plain(entry) for entry in value]


def _without_null(value: Any) -> Any:
    """A value without null, which TOML does not have: keys with it are left out."""
    if isinstance(value, dict):
        return {key: _without_null(entry) for key, entry in value.items() if entry is not None}
    return [_without_null(entry) for entry in value] if isinstance(value, list) else value


def _check_keys(order: Mapping[str, Any]) -> None:
    """Refuse unknown keys and values that are no numbers."""
    _known("[order]", order, _KEYS)
    numbers = {name: order[name] for name in ("seed", "until_s", "log_s") if name in order}
    for name, value in numbers.items():
        if not _is_number(value) or (name == "seed" and not isinstance(value, int)):
            raise OrderError(f"{name} = {value!r} is no {'whole ' * (name == 'seed')}number")
    for name, kind in _TABLE_KEYS.items():
        entry = order.get(name, {})
        for table in entry if isinstance(entry, list) else [entry]:
            _known(f"[order.{name}]", table, kind)
    for table in order.get("faults", []):
        _known("[order.faults]", table, _FAULT_KEYS)
        if "definition" not in table and table.get("id") not in KNOWN:
            raise unknown_fault(str(table.get("id")))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _is_infinite(value: Any) -> bool:
    """Whether a value is infinite, also an integer that no float can hold."""
    try:
        return not isinstance(value, str) and not math.isfinite(value)
    except OverflowError:
        return True


def _no_number(value: Any) -> bool:
    if type(value) is float:
        return not math.isfinite(value)
    return not _is_number(value) or _is_infinite(value)


def _no_setting(value: Any) -> str:
    """Why a value is no setting of a parameter (a number, a list of numbers, or a matrix); empty if it is one."""
    rows = value if isinstance(value, list | tuple | np.ndarray) else [value]
    inner = [row if isinstance(row, list | tuple | np.ndarray) else [row] for row in rows]
    entries = [entry for row in inner for entry in row]
    if not entries or not all(map(_is_number, entries)):
        return "is not a number or a list of numbers"
    if any(map(_is_infinite, entries)):
        return "is not finite"
    mixed = len({isinstance(row, list | tuple | np.ndarray) for row in rows}) > 1
    return "has rows of different lengths" if mixed or len({len(row) for row in inner}) > 1 else ""


def _known(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise UnknownNameError("key", key, known, where)


_DIGESTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
NEEDED = ("vehicle", "control")
NOTHING: tuple[Any, ...] = (None, [], {}, "", False)  # what the text of an order leaves out
_KEYS = (
    "vehicle", "control", "mission", "mission_name", "script", "wind", "place", "settings", "faults", "requirements",
    "ends", "may_crash", "seed", "until_s", "log_s", "tunings", "options", "world", "sight", "integration",
)  # fmt: skip
_PLAIN_KEYS = ("mission_name", "script", "ends", "may_crash", "seed", "until_s", "log_s", "world", "integration")
_TABLE_KEYS = {
    name: tuple(entry.name for entry in fields(kind))
    for name, kind in (("wind", Weather), ("requirements", Requirement), ("tunings", Tuning))
}
_FAULT_KEYS = ("id", "definition", *(entry.name for entry in fields(Injection) if entry.name != "fault"))


def vehicle_digest(vehicle: str) -> str:
    """Hash of the content of a vehicle file and its base files; comments do not count."""
    path = vehicle_path(vehicle)
    return _file_digest(path, file_stamp(path))


@functools.lru_cache(maxsize=256)
def _file_digest(path: Path, stamp: Stamp) -> str:
    data = read_tables(path)
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
