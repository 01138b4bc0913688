"""Commands `vehicle design …`: vehicles from a parts list."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.completion import fitting, offered
from ironbird.cli.options import MASS_HELP, IdOption, OutPathOption, PayloadOption
from ironbird.cli.output import errors, print_columns, print_report, print_table
from ironbird.errors import MOST_LISTED, IronbirdError, UnknownNameError, shortened
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.design.parts import BatteryPart, Database, Part


@offered
def part_kinds(incomplete: str) -> Iterable[str]:
    """Kinds of parts of the list of parts."""
    from ironbird.design.parts import KINDS

    return fitting(KINDS, incomplete)


def part_names(kind: str) -> Callable[[str], list[str]]:
    """Names of the parts of a kind, in the list of parts."""

    @offered
    def names(incomplete: str) -> Iterable[str]:
        from ironbird.design.parts import load_database

        wanted = incomplete.lower()
        return [part.name for part in load_database().parts(kind) if part.name.lower().startswith(wanted)]

    return names


ROTORS = 4  # of the vehicles that are designed
FRAME_MASS_KG = 0.5  # of frame and electronics that are not given
PartsOption = Annotated[
    list[Path] | None, typer.Option("--parts", help="TOML file of your own parts; may be repeated.")
]
FrameOption = Annotated[
    str,
    typer.Option(
        help="Name of a frame ('vehicle design parts frame'), or the diagonal between motors in m.",
        autocompletion=part_names("frame"),
    ),
]
ControllerOption = Annotated[
    str,
    typer.Option(
        "--flight-controller",
        help="Name of a flight controller; its mass counts where no mass is given.",
        autocompletion=part_names("flight_controller"),
    ),
]
MOST_ROWS = 40  # of a list of parts
LARGEST_M = 5.0  # frame
USUAL_ID = "designed_quad"
UNITS = {"min": 1.0, "h": 60.0, "s": 1 / 60, "kg": 1.0, "g": 1e-3}


CellsOption = Annotated[
    int | None,
    typer.Option(
        help="Cells in series: as many of the battery as give them (the shipped batteries are single cells); by "
        "default those of the battery.",
        min=1,
        max=48,
    ),
]


def evaluate_parts(
    motor: Annotated[str, typer.Option(help="Name of a motor.", autocompletion=part_names("motor"))],
    propeller: Annotated[str, typer.Option(help="Name of a propeller.", autocompletion=part_names("propeller"))],
    esc: Annotated[str, typer.Option(help="Name of a speed controller.", autocompletion=part_names("esc"))],
    battery: Annotated[str, typer.Option(help="Name of a battery.", autocompletion=part_names("battery"))],
    cells: CellsOption = None,
    mass: Annotated[float | None, typer.Option(help=MASS_HELP, min=0.01, max=1000)] = None,
    frame: FrameOption = "0.45",
    flight_controller: ControllerOption = "",
    payload: PayloadOption = "0kg",
    height: Annotated[float, typer.Option(help="Height of the place above the sea, in m.")] = 50.0,
    temperature: Annotated[
        float, typer.Option(help="Temperature of the air at the place, in °C.", min=-60, max=60)
    ] = 25.0,
    parts: PartsOption = None,
    id_: IdOption = None,
    out: OutPathOption = Path("out/design"),
) -> None:
    """Hover, full throttle, payload, range and endurance of a set of parts; writes a vehicle file.

    Example: ironbird vehicle design evaluate --motor 'T-Motor MT2216 V2.0 KV900' --propeller 'APC 10x4.5' --esc 'Afro
    ESC 30Amp' --battery 'Venom 5000mah 3s 20c' --cells 3 --mass 1.5
    """
    from ironbird.design.evaluate import Craft, evaluate, propulsion_mass_kg
    from ironbird.design.parts import load_database

    with errors():
        database = load_database(*(parts or []))
        pack = _pack(database, battery, cells)
        chosen = database.motor(motor), database.propeller(propeller), database.esc(esc), pack
        diagonal_m, base_kg, others = _frame(database, frame, flight_controller, None if mass is None else 0.0)
        carried_kg = _amount("--payload", payload)
        own_kg = base_kg + propulsion_mass_kg(*chosen, ROTORS) if mass is None else mass
        craft = Craft(
            *chosen,
            own_kg + carried_kg,
            diagonal_m,
            height_m=height,
            temperature_C=temperature,
            others=others,
            summed=mass is None,
        )
        _write(evaluate(craft), None, out, id_ or USUAL_ID)


def _pack(database: Database, name: str, cells: int | None) -> BatteryPart:
    """The battery with this name, with that many cells in series."""
    battery = database.battery(name)
    return battery if cells is None else battery.in_series(cells)


def search_parts(
    battery: Annotated[str, typer.Option(help="Name of a battery.", autocompletion=part_names("battery"))],
    esc: Annotated[str, typer.Option(help="Name of a speed controller.", autocompletion=part_names("esc"))],
    cells: CellsOption = None,
    endurance: Annotated[str, typer.Option(help="Hover time that is wanted, for example 25min.")] = "0min",
    payload: PayloadOption = "0kg",
    frame: FrameOption = "0.45",
    flight_controller: ControllerOption = "",
    frame_mass: Annotated[
        float | None,
        typer.Option(help="Of frame and electronics, in kg; by default those named, or 0.5 kg.", min=0, max=1000),
    ] = None,
    parts: PartsOption = None,
    id_: IdOption = None,
    out: OutPathOption = Path("out/design"),
) -> None:
    """Try every motor with every propeller of the database; draws the front of hover time over mass."""
    from ironbird.design.evaluate import evaluate
    from ironbird.design.parts import load_database
    from ironbird.design.search import Wanted, search
    from ironbird.errors import RecordError

    with errors():
        database = load_database(*(parts or []))
        named = frame_mass if frame_mass is not None or not _is_number(frame) else FRAME_MASS_KG
        diagonal_m, base_kg, others = _frame(database, frame, flight_controller, named)
        wanted = Wanted(
            _amount("--endurance", endurance), _amount("--payload", payload), diagonal_m, base_kg, others=others
        )
        with working("trying every motor with every propeller"):
            found = search(database, wanted, _pack(database, battery, cells), database.esc(esc))
        if found.without_mass:
            few = ", ".join(found.without_mass[:MOST_LISTED])
            many = f" and {rest:,} more" if (rest := len(found.without_mass) - MOST_LISTED) > 0 else ""
            typer.secho(f"warning: left out, no mass_kg in their file: {few}{many}", fg="yellow", err=True)
        if not found.front:
            raise RecordError(
                f"none of {found.tried:,} pairs flies {wanted.endurance_min:g} min with {wanted.payload_kg:g} kg on "
                f"{battery}; take a larger battery or frame, or ask for less"
            )
        typer.echo(f"{found.tried:,} pairs tried, {found.possible:,} meet what is wanted")
        _write(evaluate(found.front[0].craft(wanted)), found, out, id_ or USUAL_ID)


def list_parts(
    kind: Annotated[
        str,
        typer.Argument(help="motor, propeller, esc, battery, frame or flight_controller.", autocompletion=part_kinds),
    ],
    contains: Annotated[str, typer.Argument(help="Part of the name.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN>NUMBER",
            help="Only parts with such a figure, in the unit of its column: 'kv>800', 'mass<=60', 'status=measured'; "
            "may be repeated.",
        ),
    ] = None,
    no_limit: Annotated[bool, typer.Option("--no-limit", help=f"Print all rows, not {MOST_ROWS} at most.")] = False,
) -> None:
    """List parts of the database with their figures and the validation status of these.

    Example: ironbird vehicle design parts motor 2216 --where 'kv>800' --where 'kv<1000'
    """
    from ironbird.design.parts import load_database

    with errors():
        found = [part for part in load_database().parts(kind) if contains.lower() in part.name.lower()]
        for text in where or []:
            found = [part for part in found if _holds(part, kind, text)]
        columns = COLUMNS[kind]
        shown = found if no_limit else found[:MOST_ROWS]
        rows = [[part.name, *(column.cell(part) for column in columns.values()), part.status] for part in shown]
        keys = ("name", "maker", *(column.key for column in columns.values()), "status", "source", "estimated")
        figures = {"kind": kind, "count": len(found), "parts": [{k: getattr(part, k) for k in keys} for part in found]}
        heads = ["name", *(f"{name} {column.unit}".strip() for name, column in columns.items()), "status"]
        title = f"Parts: {kind.replace('_', ' ')}"
        print_columns(heads, rows, title, figures, of=len(found), optional=SPARE.get(kind, ()))
    if any(part.estimated for part in shown):
        typer.echo("~ not given: estimated", err=True)
    if len(shown) < len(found):
        first = next(iter(columns))
        typer.echo(
            f"{len(found) - len(shown):,} more: give a part of the name, or --where '{first}>NUMBER' "
            f"({', '.join(columns)}, status), or --no-limit",
            err=True,
        )


@dataclass(frozen=True)
class _Column:
    """A figure of a part in a table: where it is, times how much it is in its unit, and how it is written."""

    key: str
    unit: str = ""
    factor: float = 1.0

    def value(self, part: Part) -> float:
        """In the column's unit."""
        return self.factor * float(getattr(part, self.key))

    def cell(self, part: Part) -> str:
        """The figure of a part as text: four digits, an estimate with ~ and two; '-' if it is not known."""
        value = self.value(part)
        if self.key in part.estimated:
            return f"~{value:.2g}"
        return f"{value:.4g}" if value else "-"


_MASS, _CURRENT = _Column("mass_kg", "g", 1e3), _Column("current_A", "A")
COLUMNS = {
    "motor": {
        "kv": _Column("kv_rpmpV", "rpm/V"), "resistance": _Column("resistance_ohm", "mΩ", 1e3), "mass": _MASS,
    },
    "propeller": {
        "diameter": _Column("diameter_m", "mm", 1e3), "pitch": _Column("pitch_m", "mm", 1e3),
        "blades": _Column("blades"), "mass": _MASS,
    },
    "esc": {"current": _CURRENT, "resistance": _Column("resistance_ohm", "mΩ", 1e3), "mass": _MASS},
    "battery": {
        "cells": _Column("cells"), "capacity": _Column("capacity_Ah", "Ah"), "current": _CURRENT,
        "resistance": _Column("resistance_ohm", "mΩ", 1e3), "mass": _MASS,
    },
    "frame": {"diagonal": _Column("diagonal_m", "mm", 1e3), "rotors": _Column("rotors"), "mass": _MASS},
    "flight_controller": {"current": _CURRENT, "mass": _MASS},
}  # fmt: skip
SPARE = {"battery": ("resistance mΩ", "current A")}  # columns that a narrow terminal may lack
OPERATIONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq}


def _holds(part: Part, kind: str, text: str) -> bool:
    """Whether a part meets a condition of --where."""
    match = re.fullmatch(r"\s*(\w+)\s*(>=|<=|>|<|=)\s*(.+?)\s*", text)
    if match is None:
        raise IronbirdError(f"--where '{shortened(text)}': give COLUMN>NUMBER, for example 'mass<60'")
    name, sign, wanted = match.groups()
    if name == "status" and sign == "=":
        from ironbird.design.parts import STATUSES

        if wanted not in STATUSES:
            raise UnknownNameError("status", wanted, STATUSES)
        return part.status == wanted
    if name not in COLUMNS[kind]:
        raise UnknownNameError("column", name, (*COLUMNS[kind], "status"), f"--where of kind {kind}")
    if not _is_number(wanted):
        raise IronbirdError(f"--where '{shortened(text)}': '{shortened(wanted)}' is no number, or has a unit")
    value, limit = COLUMNS[kind][name].value(part), float(wanted)
    return math.isclose(value, limit, rel_tol=1e-9) if sign == "=" else bool(OPERATIONS[sign](value, limit))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]*\.?[0-9]+", text.strip()) is not None


def _frame(
    database: Database, text: str, flight_controller: str, mass_kg: float | None
) -> tuple[float, float, tuple[Part, ...]]:
    """Diagonal of a frame, the mass of frame and flight controller (a given one, or of the named parts), and these."""
    others: tuple[Part, ...] = (database.flight_controller(flight_controller),) if flight_controller else ()
    if _is_number(text):
        if not 0 < float(text) <= LARGEST_M:
            raise IronbirdError(f"--frame {text}: a diagonal is above 0 and at most {LARGEST_M:g} m")
        if mass_kg is None:
            raise IronbirdError("without --mass, --frame is the name of a frame: its mass is needed")
        return float(text), mass_kg, others
    part = database.frame(text)
    if part.rotors != ROTORS:
        raise IronbirdError(f"--frame '{text}' has {part.rotors} rotors; designs have {ROTORS}")
    others = (part, *others)
    return part.diagonal_m, sum(p.mass_kg for p in others) if mass_kg is None else mass_kg, others


def _amount(option: str, text: str) -> float:
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", text)
    if match is None or match[2] not in UNITS:
        raise IronbirdError(f"{option} '{text}': give a number with its unit, for example 25min or 0.5kg")
    return float(match[1]) * UNITS[match[2]]


def _write(evaluation: object, found: object, out: Path, name: str) -> None:
    from ironbird.design.evaluate import Evaluation, Value
    from ironbird.design.page import write_design_page
    from ironbird.design.search import Found
    from ironbird.design.vehicle import write_design

    assert isinstance(evaluation, Evaluation)
    paths = write_design(evaluation, out, name)
    page = out / "design.html"
    write_design_page(
        evaluation, page, found=found if isinstance(found, Found) else None, files=[p.name for p in paths.values()]
    )
    figures = {"mass": Value(evaluation.craft.mass_kg, 0.0, "kg"), **evaluation.figures}
    print_table({key: str(value) for key, value in figures.items()}, name, figures)
    print_table({f"{kind} {part.name}": part.status for kind, part in evaluation.craft.parts()}, "status of figures")
    for text in evaluation.warnings:
        typer.secho(f"warning: {text}", fg="yellow", err=True)
    for kind, path in paths.items():
        typer.echo(f"{kind}: {path}")
    print_report(page)
