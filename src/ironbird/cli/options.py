"""Options that several verbs take, each written once, and what they say as parts of an order."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.completion import (
    campaign_names,
    fault_names,
    mission_names,
    param_names,
    requirement_names,
    suite_names,
    system_names,
    vehicle_names,
    world_names,
)
from ironbird.errors import IronbirdError, OrderError, RecordError, UnknownNameError, shortened
from ironbird.files import option_texts as texts

if TYPE_CHECKING:
    from ironbird.faults.spec import Injection
    from ironbird.flight.order import Order, Weather
    from ironbird.model.signal import Number
    from ironbird.vehicles.spec import Home

RECORDS = (".ulg", ".bin", ".parquet", ".csv")  # endings of records of flights
VEHICLE_HELP = "A vehicle of the catalogue ('ironbird vehicle list') or a TOML file."
PROGRAM_HELP = "A build of the autopilot: its program, or the folder that holds it, such as build/px4_sitl_default."
TOLERANCE_HELP = "Tolerable error as a share of the figure or span; in a replay, of values below 1 as it is."
VehicleArgument = Annotated[str, typer.Argument(help=VEHICLE_HELP, autocompletion=vehicle_names)]
VehicleOption = Annotated[str, typer.Option("--vehicle", help=VEHICLE_HELP, autocompletion=vehicle_names)]
OtherVehicleOption = Annotated[str | None, typer.Option("--vehicle", help=VEHICLE_HELP, autocompletion=vehicle_names)]
SuiteArgument = Annotated[
    str,
    typer.Argument(
        help="A case or suite file (TOML), or a built-in suite ('ironbird case list').", autocompletion=suite_names
    ),
]
NameArgument = Annotated[
    str, typer.Argument(help="Name of the campaign ('ironbird campaign list').", autocompletion=campaign_names)
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Store of campaigns: sqlite:///FILE or postgresql://USER@HOST/NAME; by default IRONBIRD_STORE, or a file "
        "in out/campaigns.",
    ),
]
WorkersOption = Annotated[int | None, typer.Option(help="Processes; by default one per core.", min=1, max=256)]
SeedsOption = Annotated[
    int, typer.Option(help="Fly each flight with this many seeds, counted from its own.", min=1, max=10_000)
]
SampleOption = Annotated[int | None, typer.Option(help="Fly only this many flights, drawn over all cases.", min=1)]
TagOption = Annotated[list[str] | None, typer.Option(help="Only cases with this tag or id; may be repeated.")]
HostOption = Annotated[str, typer.Option("--host", help=texts.HOST)]
IdOption = Annotated[str | None, typer.Option("--id", help="Id of the vehicle that is written.")]
PayloadOption = Annotated[str, typer.Option(help="Mass that is carried on top of the vehicle, for example 0.5kg.")]
LIST_HELP = "List what can be named here, and end."
AXIS_HELP = "Axis: roll, pitch, yaw, lift or throttle; of a wing aileron, elevator, rudder or throttle."
MASS_HELP = "Mass of the vehicle without payload in kg; by default the sum of its parts where these are known."
BoardOption = Annotated[str, typer.Option(help=texts.BOARD)]
MissionOption = Annotated[
    str | None,
    typer.Option(
        help="square, hover, … ('ironbird mission list'), a TOML file with waypoints, a QGroundControl .plan or a "
        "waypoint file (WPL 110); by default the vehicle's own. 'none': the control system gets no commands.",
        autocompletion=mission_names,
    ),
]
WindOption = Annotated[
    str | None, typer.Option(metavar="SPEED[,FROM_DEG]", help="Steady wind in m/s and where it comes from.")
]
TurbulenceOption = Annotated[
    float,
    typer.Option(
        help="Dryden turbulence: mean wind at 20 ft in m/s; 7.7 light, 15 moderate, 23 severe.", min=0, max=60
    ),
]
GustOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEED,START[,RISE[,HOLD]]",
        help="One 1-cosine gust from where the wind comes from: m/s at its top, and seconds.",
    ),
]
HomeOption = Annotated[
    str | None,
    typer.Option(
        metavar="LAT,LON[,HEIGHT]", help="Take-off point in degrees, and m above the sea; else the vehicle's own."
    ),
]
YearOption = Annotated[
    float | None, typer.Option(help="Year of the magnetic field, for example 2026.5; else the vehicle's own.")
]
StartOption = Annotated[
    str | None,
    typer.Option(
        metavar="NORTH,EAST[,YAW]", help="Where the vehicle starts, in m from home, and its heading in degrees."
    ),
]
SpeedOption = Annotated[
    str | None,
    typer.Option(
        metavar="max|FACTOR",
        help="Times real time, or max: as fast as it goes. By default max, or 1 if people or programs take part.",
    ),
]
LogStepOption = Annotated[
    float, typer.Option(help="Seconds between two rows of the log, a multiple of the step (0.002).", min=0.001)
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A parameter of PX4 or ArduPilot, on top of the vehicle's; may be repeated.",
        rich_help_panel="Control systems outside",
    ),
]
ParamsOption = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file of such parameters: .parm, .params of QGroundControl, a start-up script of PX4; may be repeated.",
        rich_help_panel="Control systems outside",
    ),
]
WorldOption = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="A world of 'ironbird world list', or a file; else flat ground, no obstacle.",
        autocompletion=world_names,
    ),
]
SightOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND:key=value,…|FILE",
        help="A sensor that sees the world, for example 'ring:name=around,beams=16,rate_hz=10', or a TOML file of "
        "sensors; may be repeated. See docs/guide/worlds.md.",
    ),
]
SeedOption = Annotated[
    int, typer.Option(help="Seed of all random numbers; equal seeds give equal bytes.", min=0, max=2**63 - 1)
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="A parameter, for example body.mass=1.6; may be repeated.",
        autocompletion=param_names,
    ),
]
FaultOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID:key=value,…",
        help="A fault, for example 'rotor.speed_loss@1:instance=1,severity=0.2,start=5'; may be repeated.",
        autocompletion=fault_names,
    ),
]
FaultsFileOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file of your own faults, or a folder of such, that --fault may name; may be repeated. "
        "See docs/guide/own-faults.md.",
    ),
]
RequireOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|FORMULA",
        help="What must hold: a requirement of the library (no_crash, mission_completed) or a formula such as "
        "'always (altitude < 60 m)'; may be repeated. Without any, the vehicle must not crash.",
        autocompletion=requirement_names,
    ),
]
ControlOption = Annotated[
    str | None,
    typer.Option(
        help="Who flies: reference (the autopilot inside, with sensors, estimator, failsafes), truth (control on the "
        "true state), or one outside: px4, ardupilot, hardware, mavlink, … ('ironbird system list').",
        autocompletion=system_names,
    ),
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="An option of a control system outside by its key in order files; may be repeated.",
        rich_help_panel="Control systems outside",
    ),
]
UntilOption = Annotated[
    float | None, typer.Option(help="End after this many seconds at the latest.", min=0.001, max=1e7)
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit code 1 also for what is otherwise a remark: a requirement that held without being put to the test, "
        "or something that 'doctor' misses.",
    ),
]
OUT_HELP = "Where to write: a folder, or a file if the result is one file; the command prints where it wrote."
OutOption = Annotated[Path | None, typer.Option("--out", help=OUT_HELP)]
OutPathOption = Annotated[Path, typer.Option("--out", help=OUT_HELP)]
WindowOption = Annotated[str | None, typer.Option(metavar="FROM,TO", help="Seconds of the record that are used.")]
TestsOption = Annotated[
    Path | None, typer.Option(help="TOML file with [[signal]], [[test]] and [drive] tables; else the usual ones.")
]
SalvageOption = Annotated[bool, typer.Option("--salvage", help="Accept a record that is cut off.")]
BandOption = Annotated[str, typer.Option(metavar="LOW,HIGH", help="Band of frequencies in rad/s.")]
BaudOption = Annotated[int, typer.Option(help=texts.BAUD, min=1200, max=12_000_000)]
LinkOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=WHERE",
        help="A connection of the MAVLink router: udpin:[HOST:]PORT, udpout:HOST:PORT, tcp:HOST:PORT, "
        "tcpin:[HOST:]PORT, serial:DEVICE[:BAUD], pty[:LINK], file:LOG.tlog; may be repeated. Beside a flight the "
        "connection 'vehicle' is there already.",
        rich_help_panel="Control systems outside",
    ),
]
RuleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FROM>TO[:MESSAGE,…][@HZ]",
        help="What the MAVLink router passes on; by default all to all others. May be repeated.",
        rich_help_panel="Control systems outside",
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        help="Telemetry log (.tlog) in which the MAVLink router keeps all packets.",
        rich_help_panel="Control systems outside",
    ),
]


def weather_of(wind: str | None, turbulence: float, gust: str | None = None) -> Weather:
    """`--wind`, `--turbulence` and `--gust` of the command line."""
    steady = (
        numbers_of("--wind", wind, 1, 2, "SPEED or SPEED,FROM_DEG, for example 5,270") if wind is not None else [0.0]
    )
    top = numbers_of("--gust", gust, 2, 4, "SPEED,START[,RISE[,HOLD]], for example 8,20,2") if gust is not None else []
    for name, values in (("--wind", steady), ("--gust", top)):
        if values and not 0 <= values[0] <= 100:
            raise IronbirdError(f"{name}: {values[0]:g} m/s is outside 0 to 100 m/s; give a speed within")
    if any(value < 0 for value in top) or (len(top) > 2 and top[2] <= 0):
        raise IronbirdError(f"--gust '{gust}': times are not negative, and the rise is greater than 0")
    from ironbird.flight.order import Weather

    names = ("gust_mps", "gust_start_s", "gust_rise_s", "gust_hold_s")
    return Weather(
        steady[0],
        steady[1] if len(steady) == 2 else 0.0,
        turbulence,
        **dict(zip(names, top, strict=False)),
    )


def home_of(text: str | None, year: float | None, vehicle: str) -> Home | None:
    """`--home` and `--year` of the command line; what is not given is the vehicle's own."""
    if text is None and year is None:
        return None
    from pydantic import ValidationError

    from ironbird.files.problems import grammar_words
    from ironbird.vehicles.load import load_spec
    from ironbird.vehicles.spec import Home

    values: dict[str, float] = {} if year is None else {"year": year}
    if text is None:
        values |= load_spec(vehicle).home.model_dump(exclude={"year"})
    else:
        if text.count(",") == 3:
            raise IronbirdError(
                f"--home '{shortened(text)}': give LAT,LON[,HEIGHT]; a heading goes into --start 0,0,YAW, a year into "
                "--year"
            )
        numbers = numbers_of("--home", text, 2, 3, "LAT,LON[,HEIGHT], for example 47.4,8.55,488")
        values |= dict(zip(("latitude_deg", "longitude_deg", "height_m"), numbers, strict=False))
    try:
        return Home(**values)
    except ValidationError as error:
        (key, *_), message, cure = grammar_words(Home, values, error)[0]
        option = f"--year {year}" if key == "year" else f"--home '{text}'"
        raise IronbirdError(f"{option}: {key}: {message}; {cure}") from None


def start_of(text: str | None) -> tuple[float, float, float]:
    """`--start` of the command line: metres north and east, degrees of yaw."""
    if text is None:
        return 0.0, 0.0, 0.0
    north, east, *yaw = numbers_of("--start", text, 2, 3, "NORTH,EAST[,YAW], for example 10,-5,90")
    return north, east, yaw[0] if yaw else 0.0


def params_of(autopilot: str, files: Sequence[Path], texts: Sequence[str], case: str = "") -> str:
    """The option `params` from the environment, a case, files and the command line; later ones are on top."""
    from ironbird.flight.systems import OUTSIDE, kind_of

    kind = kind_of(autopilot) if autopilot in OUTSIDE else None
    if kind is None or "params" not in kind.options.model_fields:
        if files or texts:
            given = texts[0] if texts else files[0]
            raise IronbirdError(
                f"--param{'' if texts else 's'} '{shortened(given)}': control '{autopilot}' has no such parameters; "
                "they are for --control px4 and --control ardupilot; parameters of the vehicle are changed by --set"
            )
        return ""
    from ironbird.autopilots.kind import AutopilotKind, read_params
    from ironbird.protocols.param_files import params_text, read_param_file

    begin = kind.param_variable if isinstance(kind, AutopilotKind) else ""
    told = [f"{n.removeprefix(begin)}={v}" for n, v in sorted(os.environ.items()) if begin and n.startswith(begin)]
    values = read_params(",".join(told))
    values |= read_params(case)
    for file in files:
        values |= read_param_file(file)
    values |= read_params(",".join(texts))
    return params_text(values)


def pace_of(speed: str | None) -> float | None:
    """`--speed` of the command line: infinite for max; None if it is not given."""
    try:
        factor = None if speed is None else math.inf if speed == "max" else float(speed)
        if factor is not None and not (0.01 <= factor <= 100 or speed == "max"):
            raise ValueError
    except ValueError:
        raise IronbirdError(f"--speed '{shortened(str(speed))}': give 'max' or a factor from 0.01 to 100") from None
    return factor


def numbers_of(name: str, text: str, least: int, most: int, form: str) -> list[float]:
    """Numbers with commas between them; `form` says what they are to be."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not least <= len(numbers) <= most or not all(map(math.isfinite, numbers)):
        raise IronbirdError(f"{name} '{shortened(text)}': give {form}")
    return numbers


def window_of(text: str | None) -> tuple[float, float] | None:
    """`--window FROM,TO` in seconds of a record; None is all of it."""
    if not text:
        return None
    first, last = numbers_of("--window", text, 2, 2, "FROM,TO in seconds, for example 10,25")
    if first >= last:
        raise IronbirdError(
            f"--window '{shortened(text)}': {first:g} s is not before {last:g} s; give the earlier time first"
        )
    return first, last


def settings_of(texts: list[str] | None, option: str = "--set ") -> dict[str, Number]:
    """`--set PATH=VALUE` of the command line; `option` is what stands before it in messages."""
    values: dict[str, Number] = {}
    for text in texts or []:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise IronbirdError(f"{option}'{shortened(text)}': give PATH=VALUE, for example body.mass=1.6")
        try:
            values[path.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            hint = f"; write a list in brackets: [{value}]" if _is_list(value) else _without_unit(path.strip(), value)
            raise IronbirdError(
                f"{option}'{shortened(text)}': '{shortened(value)}' is not a number or a list of numbers{hint}"
            ) from None
    return values


def sight_of(texts: list[str] | None) -> list[dict[str, Any]]:
    """`--sight` of the command line: tables of sensors."""
    tables: list[dict[str, Any]] = []
    for text in texts or []:
        if text.endswith(".toml"):
            from ironbird.world.runner import sensor_tables

            tables += sensor_tables(text)
            continue
        kind, _, rest = text.partition(":")
        table: dict[str, Any] = {"kind": kind.strip()}
        for part in filter(None, (part.strip() for part in re.split(r",(?![^\[]*\])", rest))):
            key, equals, value = (word.strip() for word in part.partition("="))
            if not equals:
                raise IronbirdError(f"--sight '{shortened(text)}': '{shortened(part)}' is not key=value")
            try:
                table[key] = json.loads(value)
            except (ValueError, RecursionError):
                table[key] = value
        table.setdefault("name", kind.strip())
        tables.append(table)
    return tables


def _without_unit(path: str, text: str) -> str:
    """The cure for a number with a unit; empty if it is none."""
    from ironbird.conditions.quantity import read_unit, si_text

    match = re.fullmatch(r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z%°].*?)\s*", text)
    if match is None:
        return ""
    try:
        number, unit = float(match[1]), read_unit(match[2].replace("°", "deg"))
    except (ValueError, IronbirdError):
        return "; write the number alone, in SI units and radians"
    return f"; write it without a unit, in SI ({si_text(unit.dimension)}): {path}={number * unit.size:g}"


def _is_list(text: str) -> bool:
    """Whether brackets around it would make it a list of numbers."""
    try:
        return "," in text and all(math.isfinite(float(part)) for part in text.split(","))
    except ValueError:
        return False


def options_of(texts: list[str] | None) -> dict[str, Any]:
    """`--option KEY=VALUE` of the command line; a number or true and false are read as such, else it is a text."""
    values: dict[str, Any] = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise IronbirdError(
                f"--option '{shortened(text)}': give KEY=VALUE, for example folder=build/px4_sitl_default"
            )
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = value
        values[key.strip()] = read if isinstance(read, bool | int | float) else value
    return values


def faults_of(faults: list[str] | None, files: list[Path] | None) -> list[Injection]:
    """Faults of the catalogue, and of files of one's own."""
    from ironbird.faults.catalog import Catalogue, parse_fault

    known = Catalogue(files or ())
    known.users()  # a file that cannot be read is refused, also if no fault of it is ordered
    return [parse_fault(text, known) for text in faults or ()]


def check_record(path: Path) -> None:
    """Raise `RecordError` if a file is missing or its suffix is not that of a flight log, before anything is loaded."""
    cure = "give a record that ends in .ulg (PX4), .BIN (ArduPilot), .parquet or .csv"
    if path.is_dir():
        raise RecordError(f"{path} is a folder; {cure}, such as its flight.parquet")
    if not path.is_file():
        raise RecordError(f"{path}: no such file; {cure}")
    if path.suffix.lower() not in RECORDS:
        raise RecordError(f"{path} is no record of a flight: {cure}")


def check_store(url: str | None) -> None:
    """Refuse an address that is no store, before anything is loaded."""
    from ironbird.campaign.places import usual_store

    address = url if url is not None else usual_store()
    if address is not None and not re.match(r"(sqlite|postgresql)(\+\w+)?://", address):
        raise IronbirdError(
            f"--store '{shortened(address)}' is no store of campaigns: give sqlite:///FILE or "
            "postgresql://USER@HOST/NAME"
        )


def check_suite(suite: str, tags: Sequence[str] | None = None, case: str | None = None, *, one: bool = False) -> None:
    """Refuse a suite that cannot be read, and tags and cases that it does not have, before anything is loaded.

    With `one` a case must be named if there are several.
    """
    from ironbird.campaign.suite_path import glance_at

    glance = glance_at(suite)
    for tag in tags or ():
        if tag not in glance.tags and tag not in glance.cases:
            raise UnknownNameError("tag", tag, glance.tags or glance.cases, suite)
    if one and case is None and len(glance.cases) > 1:
        listed = f"'ironbird case list {suite}' lists them"
        raise IronbirdError(f"{suite} has {len(glance.cases)} cases: name one by --case; {listed}")
    if case is not None and case not in glance.cases:
        raise UnknownNameError("case", case, glance.cases, suite, f"ironbird case list {suite}")


def order_from(vehicle: str, *, mission: str | None = None, **said: Any) -> Order:
    """An order from what the command line says; a mission may be a plan of another program."""
    from ironbird.files.problems import read_bytes
    from ironbird.flight.order import make_order

    if mission == "none":
        return replace(make_order(vehicle, **said), mission=None, mission_name="")
    if mission is not None and Path(mission).suffix not in ("", ".toml"):
        try:
            said["script"] = read_bytes(Path(mission)).decode("utf-8-sig")
            said["script_name"] = Path(mission).name
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise OrderError(
                f"--mission '{shortened(mission)}': cannot read this plan: {why}; give a .plan of QGroundControl, "
                "a waypoint file, a TOML file, or a name of 'ironbird mission list'"
            ) from None
        mission = None
    return make_order(vehicle, mission=mission, **said)
