"""What Tab offers: names of vehicles, faults, missions, worlds, requirements, control systems, signals, campaigns.

Completion runs at every press of Tab, so each function loads no more than the names need, and an error offers nothing.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

if TYPE_CHECKING:
    from ironbird.faults.spec import Fault

P = ParamSpec("P")
FILES = (".toml",)
COMPLETE = "_IRONBIRD_COMPLETE"  # variable by which a shell asks for completions
BREAKS = "@:="  # signs at which bash breaks words, and that faults and KEY=VALUE have
LOGS = (".ulg", ".bin", ".parquet", ".csv")


def offered(function: Callable[P, Iterable[str]]) -> Callable[P, list[str]]:
    """A source of names that offers nothing if it fails: a traceback in the middle of a line does not help."""

    @functools.wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> list[str]:
        try:
            return list(function(*args, **kwargs))
        except Exception:
            return []

    return safe


@contextlib.contextmanager
def completing_bash() -> Iterator[None]:
    """Around a completion for bash, which breaks words at @, : and =: they are whole for the command.

    What is printed is only the rest behind the last break. If a single word ends in = or :, a second one is printed, so
    that bash puts no blank behind it.
    """
    words, number, before = whole_words(os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ["COMP_CWORD"]))
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(number)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        found = [line.removeprefix(before) for line in printed.getvalue().splitlines() if line]
        if len(found) == 1 and found[0].endswith(("=", ":")):
            found.append(f"{found[0]}VALUE")
        sys.stdout.write("".join(f"{line}\n" for line in found))


def whole_words(broken: Sequence[str], number: int) -> tuple[list[str], int, str]:
    """Words as they were typed, of words that bash broke at `BREAKS`; the number of the one at the cursor.

    The last value is the beginning of that word that bash leaves as it is.
    """
    words: list[str] = []
    place, before, joins = 0, "", False
    for index, part in enumerate(broken):
        is_break = bool(part) and not part.strip(BREAKS)
        if words and (is_break or joins) and not (joins and part.startswith("-") and not is_break):
            if index == number:
                before = words[-1] + (part if is_break else "")
            words[-1] += part
        else:
            words.append(part)
        if index == number:
            place = len(words) - 1
        joins = is_break
    return words, place, before


def fitting(names: Iterable[str], incomplete: str) -> Iterator[str]:
    """Those names that begin with what was typed."""
    return (name for name in names if name.startswith(incomplete))


def _given(ctx: typer.Context, *names: str) -> Any:
    """What the line so far says for the first of some parameters; None if nothing.

    An option that still waits for its value keeps the parser from handing out the arguments: they are then in the
    words that are left.
    """
    arguments = [param.name for param in ctx.command.params if param.param_type_name == "argument"]
    for name in names:
        value = ctx.params.get(name)
        if not value and name in arguments and len(ctx.args) > arguments.index(name):
            value = ctx.args[arguments.index(name)]
        if value:
            return value
    return None


def _files(incomplete: str, endings: tuple[str, ...] = FILES) -> Iterator[str]:
    """Files and folders that begin with what was typed."""
    folder, typed = Path(incomplete).parent, incomplete.rpartition("/")[2]
    if incomplete and not incomplete.endswith("/") and "/" not in incomplete:
        folder = Path()
    elif incomplete.endswith("/"):
        folder = Path(incomplete)
    for path in sorted(folder.glob(f"{typed}*")) if folder.is_dir() else ():
        if path.is_dir():
            yield f"{path}/"
        elif path.suffix.lower() in endings:
            yield str(path)


@offered
def log_files(incomplete: str) -> Iterable[str]:
    """Logs of flights."""
    return _files(incomplete, LOGS)


@offered
def vehicle_names(incomplete: str) -> Iterable[str]:
    """Vehicles of the catalogue, and TOML files."""
    from ironbird.vehicles.names import vehicle_ids

    return [*fitting(vehicle_ids(), incomplete), *_files(incomplete)]


@offered
def mission_names(incomplete: str) -> Iterable[str]:
    """Built-in missions, `none`, and files of missions and plans."""
    from ironbird.flight.mission import mission_names as built_in

    return [*fitting([*built_in(), "none"], incomplete), *_files(incomplete, (".toml", ".plan", ".waypoints"))]


@offered
def world_names(incomplete: str) -> Iterable[str]:
    """Worlds by name, and files of worlds."""
    from ironbird.world.files import WORLDS

    return [*fitting(WORLDS, incomplete), *_files(incomplete, (".toml", ".sdf", ".world", ".yaml"))]


@offered
def fault_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Faults of the catalogue; behind the colon the keys of the grammar, and values of those that have a few."""
    from ironbird.faults.catalog import FAULTS, KEYS

    name, colon, rest = incomplete.partition(":")
    if not colon:
        return fitting(FAULTS, incomplete)
    before, _, last = rest.rpartition(",")
    begin = f"{name}:{before}," if before else f"{name}:"
    fault = FAULTS.get(name)
    key, equals, _ = last.partition("=")
    if equals:
        return fitting((f"{begin}{key}={value}" for value in _fault_values(key, fault, ctx)), incomplete)
    given = {part.partition("=")[0] for part in before.split(",")}
    left = [word for word in (*KEYS, "when") if word not in given and word.startswith(last)]
    if fault is not None:
        absent = {"severity": fault.has_severity, "instance": fault.counts_instances}
        left = [word for word in left if absent.get(word, True)]
    return [f"{begin}{word}=" for word in left]


def _fault_values(key: str, fault: Fault | None, ctx: typer.Context) -> Iterable[str]:
    """Usual values of a key of a fault: severities, shapes, numbers and names of parts."""
    if key == "severity":
        return ("0.1", "0.2", "0.5", "1")
    if key == "axis":
        return ("0", "1", "2")
    if key == "shape":
        from ironbird.faults.spec import SHAPES

        return SHAPES
    if key == "instance" and fault is not None:
        return _instances(fault, ctx)
    return ()


def _instances(fault: Fault, ctx: typer.Context) -> Iterable[str]:
    """The parts of the vehicle in the line so far that a fault may break."""
    target = next((c.target for c in fault.changes), "") or next((tap.signal for tap in fault.taps), "")
    begin, placeholder, _ = target.partition("{instance}")
    if not placeholder:
        return ()
    from ironbird.vehicles.load import load_vehicle

    diagram = load_vehicle(_given(ctx, "vehicle") or "quad_f450").diagram
    return dict.fromkeys(
        path.removeprefix(begin).partition("/")[0] for path in diagram.blocks if path.startswith(begin)
    )


@offered
def requirement_names(incomplete: str) -> Iterable[str]:
    """Ready requirements."""
    from ironbird.requirements.library import TEMPLATES

    return fitting(TEMPLATES, incomplete)


@offered
def system_names(incomplete: str) -> Iterable[str]:
    """Control systems, and front ends as their short names."""
    from ironbird.flight.systems import system_names as known
    from ironbird.systems.commanded.front import FRONTS

    return fitting(dict.fromkeys([*known(), *(name for name in FRONTS if name != "mission")]), incomplete)


@offered
def suite_names(incomplete: str) -> Iterable[str]:
    """Built-in suites, and case files."""
    from ironbird.campaign.suite_path import suite_names as built_in

    return [*fitting(built_in(), incomplete), *_files(incomplete)]


@offered
def scenario_names(incomplete: str) -> Iterable[str]:
    """Built-in scenarios, and scenario files."""
    from ironbird.scenario.grammar import scenario_names as built_in

    return [*fitting(built_in(), incomplete), *_files(incomplete)]


@offered
def chip_names(incomplete: str) -> Iterable[str]:
    """Chips by name."""
    from ironbird.boards.chips.catalog import CHIPS

    return fitting(CHIPS, incomplete)


@offered
def campaign_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Campaigns of the store that the line so far names, or of the usual one and all on this computer."""
    from ironbird.campaign.places import known_stores, names_in, usual_store

    url = _given(ctx, "store") or usual_store()
    if url is not None and not url.startswith("sqlite:///"):
        from ironbird.campaign.store import Store

        return fitting(Store(url).names(), incomplete)
    files = known_stores() if url is None else []
    files.insert(0, Path(url.removeprefix("sqlite:///") if url else "out/campaigns/ironbird.db"))
    return fitting(dict.fromkeys(name for file in files for name in names_in(file) or ()), incomplete)


@offered
def case_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Cases of the suite in the line so far."""
    from ironbird.campaign.suite_path import glance_at

    return fitting(glance_at(_first(_given(ctx, "suite", "suites"))).cases, incomplete)


@offered
def tag_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Tags of the suite in the line so far, then ids of its cases."""
    from ironbird.campaign.suite_path import glance_at

    glance = glance_at(_first(_given(ctx, "suite", "suites")))
    return fitting([*sorted(glance.tags), *glance.cases], incomplete)


def _first(value: Any) -> str:
    return str(value[0] if isinstance(value, list | tuple) else value)


@offered
def board_names(incomplete: str) -> Iterable[str]:
    """Boards by name."""
    from ironbird.boards.board import board_ids

    return fitting(board_ids(), incomplete)


@offered
def block_names(incomplete: str) -> Iterable[str]:
    """Blocks by name."""
    from ironbird.vehicles.blocks import blocks

    return fitting(blocks(), incomplete)


@offered
def axis_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Axes of the loops of the vehicle in the line so far; without one, those of sticks."""
    if not _given(ctx, "vehicle"):
        return fitting(("roll", "pitch", "yaw", "throttle"), incomplete)
    from ironbird.tuning.loops import axis_names as known

    return fitting(known(_given(ctx, "vehicle")), incomplete)


@offered
def step_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Steps that the vehicle in the line so far can fly."""
    from ironbird.tuning.steady import is_wing
    from ironbird.tuning.steps import STEPS, WING_STEPS

    return fitting(WING_STEPS if is_wing(_given(ctx, "vehicle")) else STEPS, incomplete)


@offered
def action_names(incomplete: str) -> Iterable[str]:
    """Actions of the app."""
    from ironbird.app.actions import ACTIONS

    return fitting(ACTIONS, incomplete)


@offered
def action_arguments(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Arguments of the action of the app in the line so far, as KEY=."""
    from ironbird.app.actions import arguments

    return fitting((f"{key}=" for key in arguments(_given(ctx, "action"))), incomplete)


def file_names(*endings: str) -> Callable[[str], list[str]]:
    """Folders, and files with these endings."""

    @offered
    def names(incomplete: str) -> Iterable[str]:
        return _files(incomplete, endings)

    return names


def words(*known: str) -> Callable[[str], list[str]]:
    """A choice of a few words."""

    @offered
    def names(incomplete: str) -> Iterable[str]:
        return fitting(known, incomplete)

    return names


@offered
def beside_names(incomplete: str) -> Iterable[str]:
    """Control systems as CONTROL=, and behind that vehicles."""
    control, equals, vehicle = incomplete.partition("=")
    if not equals:
        return [f"{name}=" for name in system_names(incomplete)]
    return [f"{control}={name}" for name in vehicle_names(vehicle)]


@offered
def option_keys(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Options of the control system in the line so far, by their keys in order files, as KEY=."""
    from ironbird.cli.tree import OWNERS

    control = _given(ctx, "control")
    return fitting((f"{key}=" for key, owners in OWNERS.items() if not control or control in owners), incomplete)


@offered
def sight_names(incomplete: str) -> Iterable[str]:
    """Kinds of sensors that see the world, and files of such."""
    from ironbird.world.sensors import SENSORS

    return [*fitting((f"{kind}:" for kind in SENSORS), incomplete), *_files(incomplete)]


@offered
def export_names(incomplete: str) -> Iterable[str]:
    """Targets of export."""
    from ironbird.export.registry import EXPORTERS

    return fitting(EXPORTERS, incomplete)


@offered
def param_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Parameters of the vehicle in the line so far, as PATH=."""
    from ironbird.compiler.compiled import STEP_S
    from ironbird.compiler.flatten import lay_out
    from ironbird.vehicles.load import load_vehicle

    flat = lay_out(load_vehicle(_given(ctx, "vehicle"), control=_given(ctx, "control")).diagram, STEP_S)
    return [f"{path}=" for path in flat.p.signals if path.startswith(incomplete)]


@offered
def signal_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Signals of the vehicle in the line so far."""
    from ironbird.compiler.compiled import STEP_S
    from ironbird.compiler.flatten import lay_out
    from ironbird.vehicles.load import load_vehicle

    flat = lay_out(load_vehicle(_given(ctx, "vehicle"), control=_given(ctx, "control")).diagram, STEP_S)
    return fitting(flat.log.signals, incomplete)


@offered
def signal_paths(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Signals of the vehicle in the line so far, and their short names, wherever they hold what was typed."""
    return signal_names(ctx, incomplete)


@offered
def param_paths(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Parameters of the vehicle in the line so far, without a value."""
    return [name.removesuffix("=") for name in param_names(ctx, incomplete)]


@offered
def flight_ids(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Flights of the campaign in the line so far, if its store is a file."""
    from ironbird.campaign.places import flights_in, known_stores, usual_store

    url = _given(ctx, "store") or usual_store()
    here = Path(url.removeprefix("sqlite:///") if url else "out/campaigns/ironbird.db")
    found = (flights_in(file, _given(ctx, "name")) for file in (here, *(known_stores() if url is None else ())))
    return fitting(next((ids for ids in found if ids), []), incomplete)


@offered
def varied_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Varied parameters of the cases of the suite in the line so far."""
    from ironbird.campaign.suite import load_suite

    wanted = _given(ctx, "case")
    cases = [case for case in load_suite(_given(ctx, "suite")).cases if wanted in (None, case.id)]
    return fitting(dict.fromkeys(name for case in cases for name in case.variables), incomplete)


@offered
def module_names(incomplete: str) -> Iterable[str]:
    """Modules of a vehicle that evidence speaks of."""
    from ironbird.credibility.modules import MODULES

    return fitting(MODULES, incomplete)


@offered
def exported_parts(incomplete: str) -> Iterable[str]:
    """Parts of a vehicle that can be exported."""
    from ironbird.export.parts import PARTS

    return fitting(PARTS, incomplete)


@offered
def free_words(incomplete: str) -> Iterable[str]:
    """What can be identified, one after the other with commas."""
    from ironbird.identification.free import WORDS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{word}" for word in WORDS if word.startswith(last) and word not in before.split(",")]


@offered
def hdl_names(incomplete: str) -> Iterable[str]:
    """Chips, and boards."""
    return [*chip_names(incomplete), *board_names(incomplete)]


@offered
def fault_words(incomplete: str) -> Iterable[str]:
    """Words by which faults are found: families, and what people call them."""
    from ironbird.faults.catalog import FAMILIES, FAULTS

    known = [name.partition(".")[0] for name in FAULTS]
    known += [word for family in FAMILIES for words_ in family.KEYWORDS.values() for word in words_.split()]
    return fitting(dict.fromkeys(known), incomplete)


RECORDS = file_names(".ulg", ".bin", ".BIN", ".parquet", ".csv")
TOML = file_names(".toml")
# What Tab offers for options that do not say it themselves; an option has one meaning in all commands
OPTIONS: dict[str, Callable[..., list[str]]] = {
    "--against": vehicle_names,
    "--axis": axis_names,
    "--beside": beside_names,
    "--board": board_names,
    "--by": requirement_names,
    "--campaign": campaign_names,
    "--case": case_names,
    "--chip": chip_names,
    "--chips": board_names,
    "--dask": words("tcp://", "tls://"),
    "--device": words("25k", "45k", "85k", "hx8k"),
    "--ends": words("completed", "completed or landed", "time"),
    "--evidence": module_names,
    "--fault-map": words("A", "B", "C"),
    "--faults-file": TOML,
    "--format": words("sdf", "urdf", "ardupilot-json", "px4", "jsbsim"),
    "--free": free_words,
    "--from": words("auto", "keyboard"),
    "--integration": words("rk2@0.001", "rk2@0.002", "rk4@0.001", "rk4@0.002"),
    "--layout": TOML,
    "--link": words("gcs=udpout:127.0.0.1:14550", "vehicle="),
    "--lives": TOML,
    "--map": words("A", "B", "C"),
    "--mean": words("rms", "arithmetic"),
    "--method": words("output-error", "equation-error"),
    "--numbers": words("paper", "code"),
    "--option": option_keys,
    "--pages": words("failed", "all"),
    "--part": exported_parts,
    "--parts": TOML,
    "--precision": words("double", "single"),
    "--replay": file_names(".json"),
    "--route": TOML,
    "--sight": sight_names,
    "--signals": words(),
    "--speed": words("max", "1"),
    "--store": words("sqlite:///", "postgresql://"),
    "--sweep": param_names,
    "--system": system_names,
    "--tag": tag_names,
    "--target": words("linux64", "aarch64", "win64"),
    "--tests": TOML,
    "--to": words("mcap", "mat", "csv", "ulg", "parquet"),
    "--traces": words("failing", "all", "none"),
    "--type": vehicle_names,
    "--wear": TOML,
    "--weight": words("performance=", "time=", "frequency="),
}
# The same for arguments, by command and name
ARGUMENTS: dict[str, Callable[..., list[str]]] = {
    "bench.autopilots:case": suite_names,
    "bisect:case": suite_names,
    "bench.determinism:vehicle": vehicle_names,
    "bench.fleet:vehicle": vehicle_names,
    "board.hdl:chips": hdl_names,
    "campaign.dataset:suites": suite_names,
    "campaign.map:across": varied_names,
    "campaign.map:along": varied_names,
    "campaign.rerun:flight": flight_ids,
    "campaign.show:flight": flight_ids,
    "campaign.shrink:flight": flight_ids,
    "case.check:files": suite_names,
    "evidence.repeat:pack": file_names(".zip"),
    "evidence.verify:pack": file_names(".zip"),
    "fault.find:words": fault_words,
    "log.convert:log": RECORDS,
    "model.credibility:real": RECORDS,
    "model.credibility:simulated": RECORDS,
    "model.excite:kind": words("sweep", "doublet", "3211", "multisine"),
    "model.identify:record": RECORDS,
    "model.noise:record": RECORDS,
    "model.response:record": RECORDS,
    "vehicle.blocks:block": block_names,
    "vehicle.check:files": vehicle_names,
    "vehicle.params:pattern": param_paths,
    "vehicle.signals:pattern": signal_paths,
    "vehicle.step:axis": step_names,
    "world.check:files": world_names,
}


@dataclass(frozen=True)
class Offered:
    """One word that Tab offers, with the fields that shells' scripts print."""

    value: str
    type: str = "plain"
    help: str | None = None


def offer(params: Iterable[Any], path: str) -> None:
    """Let the parameters of a command offer what the tables say, as far as they offer nothing by themselves."""
    for param in params:
        if getattr(param, "_custom_shell_complete", None) is not None:
            continue
        if param.param_type_name == "argument":
            source = ARGUMENTS.get(f"{path}:{param.name}")
        else:
            source = next((OPTIONS[name] for name in param.opts if name in OPTIONS), None)
        if source is not None:
            param.shell_complete = functools.partial(_offered, source)
            param.offers = True


def _offered(source: Callable[..., list[str]], ctx: Any, incomplete: str) -> list[Offered]:
    takes = inspect.signature(source).parameters
    found = source(ctx, incomplete) if "ctx" in takes else source(incomplete)
    return [Offered(word) for word in found]
