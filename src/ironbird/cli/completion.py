"""What Tab offers: names of vehicles, faults, missions, worlds, requirements, control systems, signals, campaigns.

Completion runs at every press of Tab, so each function loads no more than the names need, and an error offers nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ParamSpec

import typer

P = ParamSpec("P")
FILES = (".toml",)
LOGS = (".ulg", ".bin", ".parquet", ".csv")


def _names(function: Callable[P, Iterable[str]]) -> Callable[P, list[str]]:
    """A source of names that offers nothing if it fails: a traceback in the middle of a line helps nobody."""

    @functools.wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> list[str]:
        try:
            return list(function(*args, **kwargs))
        except Exception:
            return []

    return safe


def _fitting(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))


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


@_names
def log_files(incomplete: str) -> Iterable[str]:
    """Logs of flights."""
    return _files(incomplete, LOGS)


@_names
def vehicle_names(incomplete: str) -> Iterable[str]:
    """Vehicles of the catalogue, and TOML files."""
    from ironbird.vehicles.load import vehicle_ids

    return [*_fitting(vehicle_ids(), incomplete), *_files(incomplete)]


@_names
def mission_names(incomplete: str) -> Iterable[str]:
    """Built-in missions, `none`, and files of missions and plans."""
    from ironbird.flight.mission import mission_names as built_in

    return [*_fitting([*built_in(), "none"], incomplete), *_files(incomplete, (".toml", ".plan", ".waypoints"))]


@_names
def world_names(incomplete: str) -> Iterable[str]:
    """Worlds by name, and files of worlds."""
    from ironbird.world.files import WORLDS

    return [*_fitting(WORLDS, incomplete), *_files(incomplete, (".toml", ".sdf", ".world", ".yaml"))]


@_names
def fault_names(incomplete: str) -> Iterable[str]:
    """Faults of the catalogue; behind the colon the keys of the grammar."""
    from ironbird.faults.catalog import FAULTS

    name, colon, rest = incomplete.partition(":")
    if not colon:
        return _fitting(FAULTS, incomplete)
    before, _, last = rest.rpartition(",")
    keys = ("instance=", "axis=", "severity=", "start=", "duration=", "when=")
    begin = f"{name}:{before}," if before else f"{name}:"
    return [begin + key for key in keys if key.startswith(last) and key not in before]


@_names
def requirement_names(incomplete: str) -> Iterable[str]:
    """Ready requirements."""
    from ironbird.requirements.library import TEMPLATES

    return _fitting(TEMPLATES, incomplete)


@_names
def system_names(incomplete: str) -> Iterable[str]:
    """Control systems, and front ends as their short names."""
    from ironbird.flight.systems import system_names as known
    from ironbird.systems.commanded.front import FRONTS

    return _fitting(dict.fromkeys([*known(), *(name for name in FRONTS if name != "mission")]), incomplete)


@_names
def suite_names(incomplete: str) -> Iterable[str]:
    """Built-in suites, and case files."""
    from ironbird.campaign.suite import suite_names as built_in

    return [*_fitting(built_in(), incomplete), *_files(incomplete)]


@_names
def scenario_names(incomplete: str) -> Iterable[str]:
    """Built-in scenarios, and scenario files."""
    from ironbird.scenario.grammar import scenario_names as built_in

    return [*_fitting(built_in(), incomplete), *_files(incomplete)]


@_names
def chip_names(incomplete: str) -> Iterable[str]:
    """Chips by name."""
    from ironbird.boards.chips.catalog import CHIPS

    return _fitting(CHIPS, incomplete)


@_names
def campaign_names(incomplete: str) -> Iterable[str]:
    """Campaigns of the usual store."""
    from ironbird.campaign.places import usual_store
    from ironbird.campaign.store import Store

    return _fitting(Store(usual_store()).names(), incomplete)


@_names
def export_names(incomplete: str) -> Iterable[str]:
    """Targets of export."""
    from ironbird.export.registry import EXPORTERS

    return _fitting(EXPORTERS, incomplete)


@_names
def param_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Parameters of the vehicle in the line so far, as PATH=."""
    from ironbird.compiler.compiled import STEP_S
    from ironbird.compiler.flatten import lay_out
    from ironbird.vehicles.load import load_vehicle

    flat = lay_out(load_vehicle(ctx.params["vehicle"], control=ctx.params.get("control")).diagram, STEP_S)
    return [f"{path}=" for path in flat.p.signals if path.startswith(incomplete)]


@_names
def signal_names(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Signals of the vehicle in the line so far."""
    from ironbird.compiler.compiled import STEP_S
    from ironbird.compiler.flatten import lay_out
    from ironbird.vehicles.load import load_vehicle

    flat = lay_out(load_vehicle(ctx.params["vehicle"], control=ctx.params.get("control")).diagram, STEP_S)
    return _fitting(flat.log.signals, incomplete)
