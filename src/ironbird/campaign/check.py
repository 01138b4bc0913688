"""Checks that everything a case names exists: vehicles, missions, faults, parameters, signals; without compiling."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from ironbird.campaign.case import LONGEST_GRID, MOST_FLIGHTS, Case, Spread, is_spread
from ironbird.campaign.planned import (
    FIXED,
    Planned,
    case_words,
    leaves,
    plan_in,
    recorded_commands,
    requirement,
    variable_name,
)
from ironbird.campaign.sampling import MOST_EFFORT, SAMPLED, effort
from ironbird.campaign.scenarios import scenario_in, scenario_source
from ironbird.conditions.trigger import compile_trigger, unit_advice
from ironbird.credibility.evidence import level_of
from ironbird.errors import (
    FaultError,
    IronbirdError,
    MissionError,
    OrderError,
    UnitsWarning,
    UnknownNameError,
    VehicleError,
    shortened,
)
from ironbird.faults.catalog import find_fault, read_fault
from ironbird.faults.file import read_faults_file
from ironbird.files.problems import Cut, Problem, Source, Words, near_words
from ironbird.files.toml_text import KeyPath
from ironbird.flight.ends import MISSION, TIME
from ironbird.flight.judge import MOST_LOG_S, NO_CRASH
from ironbird.flight.mission import Mission, load_mission, mission_names
from ironbird.flight.order import LOG_S, SEVERITY
from ironbird.flight.outline import Outline, outline
from ironbird.flight.prepare import targets_in
from ironbird.flight.systems import OUTSIDE, is_outside, kind_of, read_options
from ironbird.flight.taps import tapped
from ironbird.flight.words import FAIL
from ironbird.flight.worlds import ordered_world
from ironbird.model.diagram import as_column
from ironbird.protocols.plan_file import parse_plan
from ironbird.requirements import library
from ironbird.requirements.meaning import parse_requirement
from ironbird.scenario.grammar import scenario_names
from ironbird.scenario.run import check_between
from ironbird.vehicles import places
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.spec import CLOSE, Integration
from ironbird.world.files import world_names
from ironbird.world.runner import sensor_of
from ironbird.world.sensors import SENSORS

SEVERITIES: tuple[str, ...] = get_args(library.Severity)
DECIDING = {"id", "vehicle", "control", "world", "scenario", "vary"}  # keys without which the others cannot be checked


def problems_of(case: Planned) -> list[Problem]:
    """All problems of a case whose grammar is correct; what cannot be read is left out of the further checks."""
    words = [*_spread_words(case), *_reference_words(case)]
    problems = [case.problem(*word) for word in words]
    problems += [] if case.refused() else _unused_problems(case)
    rest = _without(case, words)
    if rest is None:
        return problems
    words = _grammar_again(replace(rest, data=_dereferenced(rest)))
    problems += [rest.problem(*word) for word in words]
    rest = _without(rest, words)
    if rest is None:
        return problems
    plain = replace(rest, data=_dereferenced(rest))
    plans = [] if rest.cut or rest.refused() else _plan_problems(rest)
    if "scenario" in plain.data:
        return problems + (plans or _scenario_problems(rest, plain))
    names, more = _vehicles(plain)
    problems += plans + more
    problems += _option_problems(plain)
    problems += _world_problems(plain)
    problems += _sight_problems(plain)
    in_world = bool(plain.data.get("world"))
    seen = dict.fromkeys(str(table["name"]) for table in plain.data.get("sight", []))  # duplicates only once
    sights = tuple(seen) if in_world else ()
    outlines = [outline(vehicle, control, in_world=in_world, sights=sights) for vehicle, control in names]
    problems += _log_problems(plain, outlines)
    problems += _mission_problems(plain, outlines)
    problems += _command_problems(plain)
    problems += _setting_problems(plain, outlines)
    problems += _faults_file_problems(plain) or _fault_problems(plain, outlines)
    problems += _requirement_problems(plain, outlines)
    problems += _validation_problems(plain, sorted({vehicle for vehicle, _ in names}))
    return problems


def _world_problems(case: Planned) -> list[Problem]:
    """Problems of a world that does not exist, or whose file is wrong."""
    name = case.data.get("world")
    if not name:
        return []
    try:
        ordered_world(name)
    except IronbirdError as error:
        words = str(error).partition("\n")[0]
        return [case.problem(("world",), words, f"one of {', '.join(world_names())}; or a world file")]
    return []


def _scenario_problems(case: Planned, plain: Planned) -> list[Problem]:
    """Problems of a scenario: missing or wrong, keys that belong into its file, invalid requirements."""
    inside = ("vehicle", "control", "mission", "commands", "world", "sight", "fault", "set", "options", "place")
    problems = [
        plain.problem((key,), "the scenario's file says that", "leave it out here")
        for key in inside
        if plain.data.get(key)
    ]
    try:
        flight = next(case.flights())
        scenario = scenario_in(flight.scenario, case.id)
    except IronbirdError as error:
        words = " ".join(str(error).split())
        return [*problems, plain.problem(("scenario",), shortened(words, 400), f"one of {', '.join(scenario_names())}")]
    names = [member.name for member in scenario.members]
    for number, table in enumerate(plain.data.get("require", [])):
        try:
            check_between(requirement(_nominal(table)).formula, names)
        except IronbirdError as error:
            message, _, cure = str(error).partition("\n")[0].partition("; ")
            at = "use" if "use" in table else "formula"
            problems.append(plain.problem(("require", number, at), message, cure or "correct the formula"))
    return problems


def _sight_problems(case: Planned) -> list[Problem]:
    """Problems of world sensors: without a world, duplicate names, unknown keys or values."""
    tables, problems = case.data.get("sight", []), []
    if tables and not case.data.get("world"):
        return [case.problem(("sight",), "there is no world to see", 'add world = "field"')]
    for number, table in enumerate(tables):
        try:
            for form in _forms(table):
                sensor_of(form)
        except IronbirdError as error:
            message, _, cure = str(error).partition("\n")[0].partition("; ")
            problems.append(case.problem(("sight", number), message, cure or f"one of {', '.join(SENSORS)}"))
        if any(other["name"] == table["name"] for other in tables[:number]):
            problems.append(case.problem(("sight", number, "name"), f"'{table['name']}' is there twice", "rename one"))
    return problems


def _validation_problems(case: Planned, vehicles: Sequence[str]) -> list[Problem]:
    """Problems of modules whose validation level is below what the case demands."""
    wanted = case.data.get("validation")
    if wanted is None:
        return []
    problems = []
    for vehicle in vehicles:
        for module in wanted.get("modules", ["vehicle"]):
            has = level_of(vehicle, module)
            if has.level < wanted["level"]:
                message = (
                    f"level {wanted['level']} of {module} is demanded, vehicle '{vehicle}' has {has.level} ({has.why})"
                )
                command = f"ironbird model credibility LOG --drive --vehicle {vehicle} --evidence {module}"
                cure = f"compare it first: {command}"
                problems.append(case.problem(("validation",), message, cure))
    return problems


def condition_problems(source: Source) -> list[Problem]:
    """Problems of the conditions in a file whose grammar is wrong, as far as they can be read."""
    suite = source.data.get("suite")
    defaults = suite.get("defaults", {}) if isinstance(suite, Mapping) else {}
    places: list[tuple[KeyPath, Any]] = [(("suite", "defaults"), defaults)]
    cases = source.data.get("case")
    places += [(("case", number), case) for number, case in enumerate(cases)] if isinstance(cases, list) else []
    problems: list[Problem] = []
    for path, table in places:
        if isinstance(table, Mapping):
            problems += _conditions_in(source, path, table, defaults if isinstance(defaults, Mapping) else {})
    return problems


def _conditions_in(
    source: Source, path: KeyPath, table: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[Problem]:
    vehicle = table.get("vehicle", defaults.get("vehicle"))
    if not isinstance(vehicle, str):
        return
    if vehicle.endswith(".toml"):
        vehicle = str(source.path.parent / vehicle)
    try:
        names = outline(vehicle, vehicle_kind(load_spec(vehicle)).controls[0]).names
    except IronbirdError:
        return
    for list_, key, usual in (
        ("require", "formula", "correct the formula"),
        ("fault", "when", "correct the condition"),
    ):
        entries = table.get(list_)
        for number, entry in enumerate(entries if isinstance(entries, list) else []):
            text = entry.get(key) if isinstance(entry, Mapping) else None
            if not isinstance(text, str) or not text:
                continue
            try:
                if key == "formula":
                    parse_requirement(text, names)
                else:
                    unit_advice(text, names)
            except IronbirdError as error:
                message, _, cure = str(error).partition("\n")[0].partition("; ")
                yield source.problem((*path, list_, number, key), message, cure or usual)


# ---------------------------------------------------------------------- shared parameters and plans


def _without(case: Planned, words: Sequence[Words]) -> Planned | None:
    """What is left of a case without the places of some problems; None if that lacks what all else depends on."""
    places = (_whole(case.data, path) for path, _, _ in words)
    cut = (case.cut or Cut.of(case.data)).smaller(places).accepted(Case)
    if cut is None or DECIDING & {*case.refused(), *(path[0] for path in cut.without)}:
        return None
    return replace(case, data=cut.data, cut=cut) if words else case


def _whole(data: Any, path: KeyPath) -> KeyPath:
    """The place of a problem, or of the varied value that it is in: half of a list is not what was written."""
    for depth, key in enumerate(path):
        if depth and is_spread(data):  # a case itself has the key `set` too
            return path[:depth]
        if not (key in data if isinstance(data, Mapping) else isinstance(data, list) and key in range(len(data))):
            return path
        data = data[key]
    return path


def _spread_words(case: Planned) -> list[Words]:
    """Problems of varied values that the grammar of cases does not check: in missions, sensors, options."""
    found: list[Words] = []
    for path, value in case.quantities():
        if is_spread(value):
            try:
                Spread.model_validate(value)
            except ValidationError as error:
                words = case_words(Spread, value, error)
                found += [((*path, *place), message, cure) for place, message, cure in words]
    return found


def _reference_words(case: Planned) -> list[Words]:
    """Problems of shared parameters: unknown ones, ones that name others, and names that are taken."""
    shared, found = case.data.get("vary", {}), list[Words]()
    if (name := case.data.get("scenario")) and "\n" not in name:
        try:
            scenario_source(name)
        except IronbirdError as error:
            words = " ".join(str(error).split())
            return [(("scenario",), shortened(words, 400), f"one of {', '.join(scenario_names())}")]
    places: list[tuple[KeyPath, str]] = [(("scenario",), name) for name in sorted(case.placeholders)]
    places += [(path, name) for path, name in _references(case) if name not in case.placeholders]
    for path, name in places:
        if name not in shared:
            unknown = UnknownNameError("shared parameter", name, shared)
            cure = near_words(unknown, f"add {name} = … to [case.vary]")
            found.append((path, str(unknown).partition(";")[0], cure))
    for name, value in shared.items():
        if isinstance(value, str) and value.startswith("$"):
            found.append((("vary", name), "a shared parameter cannot name another", "write its values here"))
    for path, value in case.quantities():
        if is_spread(value) and variable_name(path) in shared:
            cure = "give the shared parameter another name"
            found.append((path, f"'{variable_name(path)}' is also the name of a shared parameter", cure))
    return found


def _references(case: Planned) -> Iterator[tuple[KeyPath, str]]:
    """Places of a case that name a shared parameter, and its name."""
    for path, value in case.quantities():
        if isinstance(value, str) and value.startswith("$"):
            yield path, value[1:]


def _unused_problems(case: Planned) -> list[Problem]:
    """Problems of shared parameters that nothing uses."""
    used = {*case.placeholders, *(name for _, name in _references(case))}
    return [
        case.problem(
            ("vary", name),
            f"nothing uses the shared parameter '{name}'",
            f'write "${name}" where it is meant, or leave it out',
        )
        for name in case.data.get("vary", {})
        if name not in used
    ]


def _dereferenced(case: Planned) -> dict[str, Any]:
    """The case with the values of shared parameters in place of references."""
    shared = case.data.get("vary", {})

    def fill(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("$"):
            return shared[value[1:]]
        if isinstance(value, Mapping) and not is_spread(value):  # its words are what they are
            return {key: fill(entry) for key, entry in value.items()}
        return [fill(entry) for entry in value] if isinstance(value, list) else value

    return {key: value if key in FIXED else fill(value) for key, value in case.data.items() if key != "vary"}


def _grammar_again(case: Planned) -> list[Words]:
    """Problems of the grammar with shared parameters filled in: their values may be out of bounds."""
    try:
        Case.model_validate(case.data)
    except ValidationError as error:
        return case_words(Case, case.data, error)
    return []


def _plan_problems(case: Planned) -> list[Problem]:
    plan, problems = case.plan, []
    seeds = len(case.seeds_at(1))
    if plan.kind in SAMPLED:
        if not case.variables and "seeds" in case.data:
            return [case.problem(("plan",), "nothing varies", "leave seeds out: each sample then has its own")]
        return _too_many(case, (plan.samples or 0) * seeds)
    size = 1
    for name, spread in case.variables.items():
        count = spread.count()
        if count is None:
            cure = 'add steps = 5, or a [case.plan] with kind = "latin_hypercube" or "monte_carlo" and samples'
            message = f"{spread.kind} has no levels for a plan of kind {plan.kind}"
            problems.append(case.problem(_place_of(case, name), message, cure))
        size *= count or 1
    if problems:
        return problems
    if plan.kind == "grid" and size > LONGEST_GRID:
        cure = f'choose kind = "pairwise" or "latin_hypercube"; a grid has at most {LONGEST_GRID} points'
        return [case.problem(("plan", "kind"), f"the grid has {size} points", cure)]
    sizes = [spread.count() or 1 for spread in case.variables.values()]
    if plan.kind == "pairwise" and effort(sizes, plan.strength) > MOST_EFFORT:
        cure = 'vary fewer values or in fewer steps, or choose kind = "latin_hypercube"'
        return [case.problem(("plan", "kind"), f"{len(sizes)} values of {max(sizes)} levels are too many", cure)]
    return _too_many(case, size * seeds) if plan.kind == "grid" else []


def _too_many(case: Planned, flights: int) -> list[Problem]:
    if flights <= MOST_FLIGHTS:
        return []
    cure = f"take fewer points or seeds; the most is {MOST_FLIGHTS}"
    return [case.problem((), f"the case makes {flights} flights", cure)]


def _place_of(case: Planned, name: str) -> KeyPath:
    """Key path of a varied parameter."""
    if name in case.data.get("vary", {}):
        return ("vary", name)
    return next(path for path, value in case.quantities() if is_spread(value) and variable_name(path) == name)


# ---------------------------------------------------------------------- names


def _options(value: Any) -> list[Any]:
    """All values that a place may take; the bounds of a range or distribution."""
    if not is_spread(value):
        return [value]
    spread = Spread.model_validate(value)
    return list(spread.listed() or spread.ends())


def _unknown(case: Planned, path: KeyPath, error: UnknownNameError, otherwise: str) -> Problem:
    return case.problem(path, str(error).partition(";")[0], near_words(error, otherwise))


def _refused(case: Planned, path: KeyPath, error: IronbirdError, cure: str) -> Problem:
    if isinstance(error, UnknownNameError):
        return _unknown(case, path, error, cure)
    if isinstance(error, VehicleError | MissionError):
        cure = "correct that file, or name another"
    return case.problem(path, " ".join(str(error).split()), cure)


def _vehicles(case: Planned) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Vehicle and control in all combinations that exist, and problems of the others."""
    names, problems = [], []
    if "vehicle" not in case.data:
        return [], [case.problem((), "the case has no vehicle", 'add vehicle = "quad_f450"')]
    for vehicle in _options(case.data["vehicle"]):
        try:
            offered = vehicle_kind(load_spec(vehicle)).controls
        except IronbirdError as error:
            cure = f"one of {', '.join(vehicle_ids())}; or a TOML file"
            problems.append(_refused(case, ("vehicle",), error, cure))
            continue
        for control in _options(case.data.get("control", offered[0])):
            if control in OUTSIDE:  # whether it is installed is known when it flies
                if not _adds_parts(control) and not _has_link_faults(case):
                    names.append((vehicle, "external"))
                    continue
                try:
                    outline(vehicle, control)
                    names.append((vehicle, control))
                except IronbirdError as error:
                    problems.append(_refused(case, ("vehicle",), error, "choose another vehicle or control"))
            elif control not in offered:
                known = [*(name for name in offered if name != "external"), *OUTSIDE]
                unknown = UnknownNameError("control system", control, known, f"vehicle '{vehicle}'")
                problems.append(_unknown(case, ("control",), unknown, f"one of {', '.join(known)}"))
            else:
                names.append((vehicle, control))
    return names, problems


def _adds_parts(control: str) -> bool:
    try:
        return kind_of(control).adds_parts
    except IronbirdError:
        return False


def _has_link_faults(case: Planned) -> bool:
    """Whether one of its faults may be a link fault, which only control systems with links have."""
    return any(str(id).startswith("route.") for table in case.data.get("fault", []) for id in _options(table["id"]))


def _option_problems(case: Planned) -> list[Problem]:
    """Problems of options that one of the case's control systems does not have."""
    problems = []
    for control in _options(case.data.get("control", "")):
        given = case.data.get("options", {})
        for key, value in given.items():
            if control in OUTSIDE:
                try:
                    kind = kind_of(control)
                    deciding = {name: given[name] for name in kind.deciding if name in given}
                    read_options(kind, {**deciding, key: value})
                except IronbirdError as error:
                    message, _, cure = " ".join(str(error).split()).partition("; ")
                    problems.append(case.problem(("options", key), message, cure or "see 'ironbird system list'"))
            elif not control or not is_outside(control):
                who = f"control '{control}'" if control else "the vehicle's own control"
                message = f"{who} takes no options"
                problems.append(
                    case.problem(("options", key), message, "leave it out, or name a control system outside")
                )
    return problems


def _command_problems(case: Planned) -> list[Problem]:
    """Problems of recorded commands: unreadable, or no control system would receive them."""
    text = case.data.get("commands")
    if text is None:
        return []
    if case.data.get("control") != "commanded":
        return [case.problem(("commands",), "only control 'commanded' accepts them", 'add control = "commanded"')]
    try:
        recorded_commands(str(text))
    except OrderError as error:
        return [case.problem(("commands",), shortened(str(error), 300), "give the order.toml of a recorded flight")]
    return []


def _log_problems(case: Planned, outlines: Sequence[Outline]) -> list[Problem]:
    """Problems of a log period that is no multiple of a vehicle's step."""
    chosen, log_s = case.data.get("integration"), float(case.data.get("log_s", LOG_S))
    if log_s > MOST_LOG_S and case.data.get("ends") != TIME:
        message = f"{log_s:g} s between rows: whether the mission was flown is judged by the positions in them"
        return [case.problem(("log_s",), message, f'write at most {MOST_LOG_S:g}, or add ends = "{TIME}"')]
    try:
        steps = Integration.parse(chosen) if chosen else None
    except IronbirdError as error:
        return [_refused(case, ("integration",), error, f'write "{CLOSE.text()}", for example')]
    for known in outlines:
        if known.step_s is None:
            continue
        step_s = steps.step_s if steps else known.step_s
        if round(log_s / step_s) < 1 or abs(round(log_s / step_s) * step_s - log_s) > 1e-9:
            whose = f"integration {chosen} has" if chosen else f"'{known.name}' flies with"
            message = f"{log_s:g} s is no whole number of steps: {whose} steps of {step_s:g} s"
            cure = f'write a multiple of {step_s:g} s, or add integration = "{CLOSE.text()}"'
            return [case.problem(("log_s",) if "log_s" in case.data else ("integration",), message, cure)]
    return []


def _mission_problems(case: Planned, outlines: Sequence[Outline]) -> list[Problem]:
    path: KeyPath = ("mission",)
    text = case.data.get("mission")
    missions: list[Mission] = []
    if isinstance(text, Mapping) and not is_spread(text):
        for form in _forms(text):
            try:
                missions.append(Mission.model_validate({"schema": 1, **form}))
            except ValidationError as error:
                problems = case_words(Mission, form, error)
                return [case.problem((*path, *place), message, cure) for place, message, cure in problems]
    else:
        for name in _options(text) if text is not None else []:
            try:
                if plan := plan_in(str(name)):
                    parse_plan(plan)
                    if not all(control and is_outside(control) for control in _options(case.data.get("control"))):
                        cure = "choose control = 'px4' or 'ardupilot', or a mission of Ironbird"
                        return [case.problem(path, "a plan of another program needs a control system outside", cure)]
                    continue
                missions.append(load_mission(str(name)))
            except IronbirdError as error:
                cure = f"one of {', '.join(mission_names())}; or a TOML file"
                return [_refused(case, path, error, cure)]
    for known in outlines:
        table = known.p.signals.get(places.NAVIGATOR.table)
        if table is None and any(control and is_outside(control) for control in _options(case.data.get("control"))):
            continue  # the autopilot has a navigator of its own
        if table is None:
            cure = "choose a vehicle with a navigator"
            return [case.problem(("vehicle",), f"'{known.name}' has no navigator and flies no mission", cure)]
        for mission in missions:
            if len(mission.item) > table.columns:
                message = (
                    f"the mission has {len(mission.item)} items; the navigator of '{known.name}' takes {table.columns}"
                )
                return [case.problem(path, message, "make it shorter")]
    return []


def _nominal(value: Any) -> Any:
    """A value with everything that varies at its first value."""
    return _at(value, 0)


def _forms(table: Mapping[str, Any]) -> Iterator[Any]:
    """A table with everything that varies at its first values, at its second, and so on.

    Every value of a list is in one of them, with some values of the others; of ranges the ends are.
    """
    varied = [value for _, value in leaves(table, ()) if is_spread(value)]
    for number in range(max((len(_options(value)) for value in varied), default=1)):
        yield _at(table, number)


def _at(value: Any, number: int) -> Any:
    """A value with everything that varies at its value of this number, or the last of a shorter list."""
    if is_spread(value):
        options = _options(value)
        return options[min(number, len(options) - 1)]
    if isinstance(value, Mapping):
        return {key: _at(entry, number) for key, entry in value.items()}
    return [_at(entry, number) for entry in value] if isinstance(value, list) else value


def _setting_problems(case: Planned, outlines: Sequence[Outline]) -> list[Problem]:
    problems = []
    for name, text in case.data.get("set", {}).items():
        for known in outlines:
            message = _setting_problem(name, text, known)
            if message is not None:
                problems.append(case.problem(("set", name), *message))
                break
    return problems


def _setting_problem(name: str, text: Any, known: Outline) -> tuple[str, str] | None:
    path, _, index = name.partition("[")
    signal = known.p.signals.get(path)
    if signal is None:
        unknown = UnknownNameError("parameter", path, known.p.signals, f"vehicle '{known.name}'")
        return str(unknown).partition(";")[0], near_words(unknown, "see 'ironbird vehicle params'")
    if index and not (index.endswith("]") and index[:-1] in map(str, range(signal.size))):
        return f"{path} has {signal.size} entries", f"write {path}[0] to {path}[{signal.size - 1}]"
    for value in _options(text):
        if isinstance(value, str):
            return "a number is needed, not words", "write { grid = [1.2, 1.6] } with numbers"
        if signal.size > 1 and not index and not isinstance(value, list):
            return f"{path} has {signal.size} values", f"write all of them as a list, or one as {path}[0]"
        try:
            column = (
                [float(value)] if index and not isinstance(value, list) else as_column(value, signal, name).tolist()
            )
        except IronbirdError as error:
            return str(error), f"write {signal.size} number(s)"
        worst = [number for number in column if not signal.low <= number <= signal.high]
        if worst:
            cure = f"write a number from {signal.low:g} to {signal.high:g}"
            cure += "; cut the normal distribution with within = [a, b]" if "normal" in str(text) else ""
            return f"{worst[0]:g} {signal.unit} is outside its range", cure
    return None


def _faults_file_problems(case: Planned) -> list[Problem]:
    """Problems of files of faults that cannot be read; the first problem of each."""
    problems = []
    for number, file in enumerate(case.data.get("faults_files", [])):
        try:
            read_faults_file(Path(file))
        except FaultError as error:
            why = " ".join(str(error).partition("\n")[0].split())
            problems.append(case.problem(("faults_files", number), why, "correct that file, or name another"))
    return problems


def _fault_problems(case: Planned, outlines: Sequence[Outline]) -> list[Problem]:
    problems = []
    for number, table in enumerate(case.data.get("fault", [])):
        problems += list(_one_fault(case, ("fault", number), table, outlines))
        problems += _too_late(case, ("fault", number), table)
    return problems


def _too_late(case: Planned, path: KeyPath, table: Mapping[str, Any]) -> list[Problem]:
    """The problem of a fault that can only begin after the end of the flight."""
    until_s, start_s = case.data.get("until_s"), table.get("start_s", 0.0)
    least_s, most_s = (min(_numbers(start_s), default=0.0), max(_numbers(until_s), default=math.inf))
    if table.get("when") or least_s < most_s:
        return []
    message = f"it begins at {least_s:g} s, and the flight ends at {most_s:g} s: it cannot act"
    return [case.problem((*path, "start_s"), message, "begin earlier, or write a longer until_s")]


def _numbers(value: Any) -> list[float]:
    """The numbers that a quantity takes, or its bounds; none for a word or what is not given."""
    if is_spread(value):
        return [float(number) for number in Spread.model_validate(value).extremes()]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _one_fault(
    case: Planned, path: KeyPath, table: Mapping[str, Any], outlines: Sequence[Outline]
) -> Iterator[Problem]:
    for id in _options(table["id"]):
        try:
            fault = find_fault(id, table.get("definition", ""))
        except UnknownNameError as error:
            yield _unknown(case, (*path, "id"), error, "see 'ironbird fault list', or name its file in faults_files")
            return
        except FaultError as error:
            yield case.problem((*path, "definition"), str(error).partition("\n")[0], "correct the definition")
            return
        if "instance" in table and not fault.counts_instances:
            yield case.problem((*path, "instance"), f"{id} has no instances", "leave the key out")
            return
        if not fault.has_severity and _options(table.get("severity", 1.0)) != [1.0]:
            message = f"{id} has no severity ({fault.severity})"
            yield case.problem((*path, "severity"), message, "leave the key out")
            return
        for instance in _options(table.get("instance", 1)):
            for axis in _options(table.get("axis")):
                concrete = _nominal({**table, "id": id})
                concrete |= {"instance": instance} if "instance" in table else {}
                concrete |= {"axis": axis} if axis is not None else {}
                for known in outlines:
                    problem = _fault_on(case, path, concrete, known)
                    if problem is not None:
                        yield problem
                        return


def _fault_on(case: Planned, path: KeyPath, table: Mapping[str, Any], known: Outline) -> Problem | None:
    """The first problem of a fault on a vehicle, or None."""
    try:
        order = read_fault(table)
    except FaultError as error:
        return case.problem(path, str(error), "see 'ironbird fault list'")
    if order.taps:
        try:
            known = Outline(tapped(known.diagram, order.taps), known.step_s)
        except FaultError as error:
            return case.problem(
                (*path, "id"), " ".join(str(error).split()), "correct the fault, or choose another vehicle"
            )
    try:
        targets = targets_in(known, order)
    except FaultError as error:
        pattern = next((t for t in order.targets if "*" in t or t not in known.p.signals), None)
        if pattern is None:  # all are there, but one has no axes
            message, _, cure = str(error).removeprefix(f"{order.text()}: ").partition("; ")
            return case.problem((*path, "axis"), message, cure)
        unknown = UnknownNameError("parameter", pattern, known.p.signals, f"vehicle '{known.name}'")
        key = "instance" if order.fault.counts_instances and "instance" in table else "id"
        if parts := order.parts_among(known.p.signals):
            message = f"vehicle '{known.name}' has {parts}, not {order.instance}"
            return case.problem((*path, key), message, f"write instance = {parts.split()[1].rstrip(',')}, for example")
        where = f"{order.fault.id} needs {pattern}, which vehicle '{known.name}' does not have"
        other = "choose another vehicle, control or fault"
        part = pattern.partition("/")[0]
        near = any(name.startswith(f"{part}/") for name in known.p.signals)
        sensors = f"there is no {part} with this control; under 'reference' vehicles have sensors: {other}"
        return case.problem((*path, key), where, near_words(unknown, other) if near else sensors)
    for target, _ in targets:
        name, _, index = target.partition("[")
        size = known.p.signals[name].size
        if order.axis is not None and size > 1 and int(index[:-1]) >= size:
            return case.problem((*path, "axis"), f"{name} has {size} entries", f"write 0 to {size - 1}")
    if order.when:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitsWarning)  # reported below, with its place
                compile_trigger(order.when, known.names)
            if advice := unit_advice(order.when, known.names):
                warning = case.problem((*path, "when"), f"'{order.when}' is read in SI units", f"write '{advice}'")
                warnings.warn(str(warning), UnitsWarning, stacklevel=2)
        except IronbirdError as error:
            message, _, cure = str(error).partition("\n")[0].partition("; ")
            return case.problem(
                (*path, "when"), message, cure or 'write, for example, altitude > 5 m and mode == "mission"'
            )
    return None


def _requirement_problems(case: Planned, outlines: Sequence[Outline]) -> list[Problem]:
    problems = []
    names: set[str] = set()
    for number, table in enumerate(case.data.get("require", [])):
        path: KeyPath = ("require", number)
        severity = table.get("severity", SEVERITY)
        if severity not in SEVERITIES:
            unknown = UnknownNameError("severity", severity, SEVERITIES)
            problems.append(_unknown(case, (*path, "severity"), unknown, f"one of {', '.join(SEVERITIES)}"))
        try:
            known = requirement(_nominal(table))
            for vehicle in outlines:
                parse_requirement(known.formula, vehicle.names)
        except IronbirdError as error:
            message, _, cure = str(error).partition("\n")[0].partition("; ")
            at = "params" if isinstance(error, UnknownNameError) and error.kind == "parameter" else "use"
            at = at if "use" in table else "formula"
            problems.append(case.problem((*path, at), message, cure or _cure_of_requirement(table)))
            continue
        if known.name in names:
            problems.append(case.problem(path, f"the name '{known.name}' is taken", 'add name = "…" with another name'))
        names.add(known.name)
    return problems or _expectation_problems(case, names | {NO_CRASH.name, MISSION})


def _expectation_problems(case: Planned, names: set[str]) -> list[Problem]:
    """Problems of an expectation: names of requirements that the case does not have."""
    expect = case.data.get("expect")
    expected = expect[FAIL] if isinstance(expect, Mapping) else []
    unknown = [UnknownNameError("requirement", name, names) for name in expected if name not in names]
    return [_unknown(case, ("expect",), error, f"one of {', '.join(sorted(names))}") for error in unknown]


def _cure_of_requirement(table: Mapping[str, Any]) -> str:
    template = library.TEMPLATES.get(table.get("use", ""))
    if template is None:
        return "correct the formula" if "formula" in table else f"one of {', '.join(library.TEMPLATES)}"
    return f"write params = {{ … }} with {', '.join(template.parameters) or 'nothing in it'}"
