"""What a campaign is made of: this version of Ironbird, its code, and the files of its vehicles.

A campaign whose flights were flown by two versions or from two definitions proves nothing. So a store keeps with each
campaign what it was begun with, and whoever goes on with it compares.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from ironbird.campaign.case import FlightCase
from ironbird.errors import IronbirdError
from ironbird.flight.systems import code_of, is_outside
from ironbird.vehicles.estimators import code_of_estimator
from ironbird.vehicles.load import CATALOG, read_layers, vehicle_path

ROOT = Path(__file__).parents[1]
OTHERS = ("cli", "report", "proofs", "testing")  # packages that change no flight and no verdict
ARITHMETIC = ("casadi", "numpy")  # packages of others that make and judge the numbers


def ironbird_version() -> str:
    """The version of this installation."""
    return metadata.version("ironbird")


CONTROL = "control "  # begins the keys of `files_of` that are control systems


@functools.cache
def software() -> str:
    """Hash of all code that flies and judges: a development version changes without changing its number."""
    digest = hashlib.sha256()
    for name in ARITHMETIC:
        digest.update(f"{name} {metadata.version(name)}\n".encode())
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT)
        if path.suffix in (".py", ".c", ".h") and inside.parts[0] not in OTHERS:
            digest.update(f"{inside.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def vehicle_files(vehicle: str) -> dict[str, str]:
    """The file of a vehicle and those that it is based on, each with a hash of what it says; comments do not count.

    With an estimator of a user's own also its file.
    """
    found = {}
    for source in read_layers(vehicle_path(vehicle)).sources:
        name = f"catalogue/{source.path.name}" if source.path.parent == CATALOG else str(source.path)
        text = json.dumps(source.data, sort_keys=True, default=str)
        found[name] = hashlib.sha256(text.encode()).hexdigest()
    sensors = read_layers(vehicle_path(vehicle)).data.get("sensors", {})
    estimator = sensors.get("estimator", "ekf") if isinstance(sensors, dict) else "ekf"
    return found | code_of_estimator(str(estimator))


def control_files(case: FlightCase) -> dict[str, str]:
    """Files of the control system of a flight, if it is one outside, with their hashes."""
    try:
        return code_of(case.control, case.options)
    except (IronbirdError, OSError):  # it is not there: the flight will say so
        return {}


def files_of(cases: Iterable[FlightCase]) -> dict[str, dict[str, str]]:
    """All files that the flights of a campaign depend on, by vehicle and by control system."""
    found: dict[str, dict[str, str]] = {}
    for case in cases:
        if case.vehicle not in found:
            found[case.vehicle] = vehicle_files(case.vehicle)
        if is_outside(case.control) and _control(case) not in found:
            found[_control(case)] = control_files(case)
    return found


def _control(case: FlightCase) -> str:
    """A key of `files_of` that no vehicle has."""
    return f"{CONTROL}{case.control} {json.dumps(dict(case.options), sort_keys=True)}"


def programs_of(files: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Programs, libraries and start-up files of control systems outside, of what `files_of` gave: name and hash."""
    outside = (table for key, table in files.items() if key.startswith(CONTROL))
    return {Path(name).name: digest for table in outside for name, digest in sorted(table.items())}


def software_changed(version: str, code: str | None) -> str:
    """What differs between the Ironbird of a campaign and this one."""
    here = ironbird_version()
    if version != here:
        return f"begun with Ironbird {version}, this is Ironbird {here}"
    if code is None:
        return f"begun with an Ironbird {version} that did not note its code"
    if code != software():
        return f"begun with other code of Ironbird {version} ({code[:12]}, this is {software()[:12]})"
    return ""


def definition_changed(case: FlightCase, digest: str, files: Mapping[str, Mapping[str, str]]) -> str:
    """What differs between the definition of a flight when it was stored and now, in words; empty if nothing."""
    try:
        noted = files.get(_control(case))
        if case.digest() == digest:
            own = control_files(case) if noted is not None else {}
            other = [name for name in {**(noted or {}), **own} if (noted or {}).get(name) != own.get(name)]
            return f"the control system {case.control} changed: {', '.join(other)}" if other else ""
        now = vehicle_files(case.vehicle)
    except (IronbirdError, OSError) as error:
        return f"vehicle {case.vehicle} cannot be read: {error}"
    before = files.get(case.vehicle, {})
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)] if before else []
    if changed:
        return f"{', '.join(changed)} changed"
    return f"another version of Ironbird defined the flight (vehicle {case.vehicle})"
