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

from ironbird.errors import IronbirdError, OrderError, shortened

if TYPE_CHECKING:
    from ironbird.faults.spec import Injection
    from ironbird.flight.order import Order, Weather
    from ironbird.model.signal import Number
    from ironbird.vehicles.spec import Home

VehicleArgument = Annotated[
    str, typer.Argument(help="A vehicle of the catalogue (see 'ironbird vehicles') or a TOML file.")
]
VehicleOption = Annotated[
    str, typer.Option(help="A vehicle of the catalogue (see 'ironbird vehicles') or a TOML file.")
]
MissionOption = Annotated[
    str | None,
    typer.Option(
        help="square, hover, …, or a TOML file with waypoints; by default the vehicle's own. "
        "'none': the control system gets no commands."
    ),
]
PlanMissionOption = Annotated[
    str | None,
    typer.Option(
        help="A QGroundControl .plan, a waypoint file (WPL 110), or a mission file; by default the vehicle's own."
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
HomeYawOption = Annotated[
    str | None,
    typer.Option(metavar="LAT,LON[,HEIGHT[,YAW]]", help="Where home is, in degrees and m, and the first heading."),
]
HomeOption = Annotated[
    str | None,
    typer.Option(
        metavar="LAT,LON[,HEIGHT[,YEAR]]", help="Take-off point in degrees and m, and year; else the vehicle's own."
    ),
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A parameter of the autopilot, on top of the vehicle's; repeatable."),
]
ParamsOption = Annotated[
    list[Path] | None,
    typer.Option(help="A file of them: .parm, .params of QGroundControl, a start-up script of PX4; repeatable."),
]
WorldOption = Annotated[
    str,
    typer.Option(metavar="NAME|FILE", help="A world of 'ironbird worlds', or a file; else flat ground, no obstacle."),
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
    typer.Option("--set", metavar="PATH=VALUE", help="A parameter, for example body.mass=1.6; may be repeated."),
]
FaultOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID:key=value,…",
        help="A fault, for example 'rotor.speed_loss@1:instance=1,severity=0.2,start=5'; may be repeated.",
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
    ),
]
ControlOption = Annotated[
    str | None,
    typer.Option(
        help="reference: sensors, estimator and failsafes; truth: a controller that sees all; or a control system "
        "outside: px4, ardupilot, hardware, … (see 'ironbird systems')."
    ),
]
ControlArgument = Annotated[str, typer.Argument(help="px4, ardupilot (see 'ironbird systems').")]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="Of a control system outside; see 'ironbird systems'."),
]
UntilOption = Annotated[
    float | None, typer.Option(help="End after this many seconds, whatever the mission says.", min=0.001, max=1e7)
]
OutOption = Annotated[Path | None, typer.Option(help="Folder for the results; out/VEHICLE by default.")]


def weather_of(wind: str | None, turbulence: float, gust: str | None = None) -> Weather:
    """`--wind`, `--turbulence` and `--gust` of the command line."""
    from ironbird.flight.order import Weather

    steady = numbers_of("--wind", wind, 1, 2, "SPEED or SPEED,FROM_DEG, for example 5,270") if wind else [0.0]
    top = numbers_of("--gust", gust, 2, 4, "SPEED,START[,RISE[,HOLD]], for example 8,20,2") if gust else []
    for name, values in (("--wind", steady), ("--gust", top)):
        if values and not 0 <= values[0] <= 100:
            raise IronbirdError(f"{name}: {values[0]:g} m/s is outside 0 to 100 m/s")
    if any(value < 0 for value in top) or (len(top) > 2 and top[2] <= 0):
        raise IronbirdError(f"--gust '{gust}': times are not negative, and the rise is greater than 0")
    names = ("gust_mps", "gust_start_s", "gust_rise_s", "gust_hold_s")
    return Weather(
        steady[0],
        steady[1] if len(steady) == 2 else 0.0,
        turbulence,
        **dict(zip(names, top, strict=False)),
    )


def home_of(text: str | None) -> Home | None:
    """`--home` of the command line."""
    from pydantic import ValidationError

    from ironbird.files.problems import grammar_words
    from ironbird.vehicles.spec import Home

    if text is None:
        return None
    values = numbers_of("--home", text, 2, 4, "LAT,LON[,HEIGHT[,YEAR]], for example 47.4,8.55,488")
    said = dict(zip(("latitude_deg", "longitude_deg", "height_m", "year"), values, strict=False))
    try:
        return Home(**said)
    except ValidationError as error:
        (key, *_), message, cure = grammar_words(Home, said, error)[0]
        raise IronbirdError(f"--home '{text}': {key}: {message}; {cure}") from None


def start_of(text: str | None) -> tuple[float, float, float]:
    """`--start` of the command line: metres north and east, degrees of yaw."""
    if text is None:
        return 0.0, 0.0, 0.0
    north, east, *yaw = numbers_of("--start", text, 2, 3, "NORTH,EAST[,YAW], for example 10,-5,90")
    return north, east, yaw[0] if yaw else 0.0


def home_and_yaw(text: str | None) -> tuple[Home | None, float | None]:
    """`--home` where its fourth number is the heading at the start, as PX4 and ArduPilot have it."""
    if text is None or text.count(",") != 3:
        return home_of(text), None
    yaw = numbers_of("--home", text, 4, 4, "LAT,LON,HEIGHT,YAW, for example 47.4,8.55,488,90")[3]
    return home_of(text.rsplit(",", 1)[0]), yaw


def params_of(autopilot: str, files: Sequence[Path], texts: Sequence[str], case: str = "") -> str:
    """The option `params` from the environment, a case, files and the command line; later ones are on top."""
    from ironbird.autopilots.kind import AutopilotKind, read_params
    from ironbird.flight.systems import kind_of
    from ironbird.protocols.param_files import params_text, read_param_file

    kind = kind_of(autopilot)
    begin = kind.param_variable if isinstance(kind, AutopilotKind) else ""
    told = [f"{n.removeprefix(begin)}={v}" for n, v in sorted(os.environ.items()) if begin and n.startswith(begin)]
    values = read_params(",".join(told))
    values |= read_params(case)
    for file in files:
        values |= read_param_file(file)
    values |= read_params(",".join(texts))
    return params_text(values)


def pace_of(speed: str) -> float | None:
    """`--speed` of the command line: None is as fast as it goes."""
    try:
        factor = None if speed == "max" else float(speed)
        if factor is not None and not 0.01 <= factor <= 100:
            raise ValueError
    except ValueError:
        raise IronbirdError(f"--speed '{shortened(speed)}': give 'max' or a factor from 0.01 to 100") from None
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
            hint = f"; write a list in brackets: [{value}]" if _is_list(value) else ""
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
            raise IronbirdError(f"--option '{text}': give KEY=VALUE, for example folder=build/px4_sitl_default")
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
    return [parse_fault(text, known) for text in faults or ()]


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
            raise OrderError(f"cannot read the plan {shortened(mission)}: {error}") from None
        mission = None
    return make_order(vehicle, mission=mission, **said)
