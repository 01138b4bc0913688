"""Identity of a campaign: the version of Ironbird, its code, and the files of its vehicles.

A campaign whose flights were flown by two versions or from two definitions proves nothing. So a store keeps the
identity with which each campaign was begun, and it is compared when the campaign is continued.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ironbird.campaign.case import FlightCase
from ironbird.campaign.scenario_case import orders_of
from ironbird.errors import IronbirdError
from ironbird.flight.order import Order
from ironbird.flight.systems import code_of, is_outside
from ironbird.vehicles.blocks import code_of_blocks
from ironbird.vehicles.load import read_layers, vehicle_path
from ironbird.vehicles.names import CATALOG

ROOT = Path(__file__).parents[1]
OTHERS = ("cli", "report", "proofs", "testing")  # packages that change no flight and no verdict
FIRST_MEANING = (0, 2)  # first version whose verdicts mean what docs/guide/verdicts.md says (decision records 75, 77)
ARITHMETIC = ("casadi", "numpy")  # third-party packages that compute and judge the numbers


def ironbird_version() -> str:
    """The version of this installation."""
    return metadata.version("ironbird")


CONTROL = "control "  # prefix of the keys of control systems in `files_of`


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
    """The file of a vehicle and those that it is based on, each with a hash of its content; comments do not count.

    Files of a user's own blocks are included.
    """
    hashes = {}
    for source in read_layers(vehicle_path(vehicle)).sources:
        name = f"catalogue/{source.path.name}" if source.path.parent == CATALOG else str(source.path)
        text = json.dumps(source.data, sort_keys=True, default=str)
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()
    return hashes | code_of_blocks(_named_blocks(read_layers(vehicle_path(vehicle)).data))


def _named_blocks(data: Mapping[str, Any]) -> list[str]:
    """Blocks that a vehicle file names, even if it is invalid: the estimator, replaced and added ones."""
    tables = [data.get(key) for key in ("replace", "add")]
    parts = [part for table in tables if isinstance(table, dict) for part in table.values()]
    sensors = data.get("sensors")
    blocks = [sensors.get("estimator")] if isinstance(sensors, dict) else []
    blocks += [part.get("block") for part in parts if isinstance(part, dict)]
    return [name for name in blocks if isinstance(name, str)]


def _code(files: Mapping[str, str]) -> dict[str, str]:
    """Those of a vehicle's files that contain code of user blocks."""
    return {name: digest for name, digest in files.items() if name.endswith(".py")}


def control_files(order: Order) -> dict[str, str]:
    """Files of an order's control system, if it is an external one, with their hashes."""
    try:
        return code_of(order.control, order.options)
    except (IronbirdError, OSError):  # it is missing: the flight will report it
        return {}


def files_of(cases: Iterable[FlightCase]) -> dict[str, dict[str, str]]:
    """All files that the flights of a campaign depend on, by vehicle and by control system."""
    by_owner: dict[str, dict[str, str]] = {}
    for order in (order for case in cases for order in orders_of(case)):
        if order.vehicle not in by_owner:
            by_owner[order.vehicle] = vehicle_files(order.vehicle)
        if is_outside(order.control) and _control(order) not in by_owner:
            by_owner[_control(order)] = control_files(order)
    return by_owner


def _control(order: Order) -> str:
    """Key of an order's control system in `files_of`; differs from all vehicles."""
    return f"{CONTROL}{order.control} {json.dumps(dict(order.options), sort_keys=True)}"


def programs_of(files: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Programs, libraries and start-up files of external control systems from `files_of`: name and hash."""
    outside = (table for key, table in files.items() if key.startswith(CONTROL))
    return {Path(name).name: digest for table in outside for name, digest in sorted(table.items())}


def software_changed(version: str, code: str | None) -> str:
    """Difference between the Ironbird of a campaign and this one, as text."""
    here = ironbird_version()
    if version != here:
        return f"begun with Ironbird {version}, this is Ironbird {here}"
    if code is None:
        return f"begun with an Ironbird {version} that did not note its code"
    if code != software():
        return f"begun with other code of Ironbird {version} ({code[:12]}, this is {software()[:12]})"
    return ""


def earlier_meaning(version: str | None) -> str:
    """What verdicts of another version do not say, as text; empty if they mean what those of this one do.

    A flight of which no version was noted is an earlier one.
    """
    parts = re.findall(r"\d+", version or "")[:2]
    if tuple(map(int, parts)) >= FIRST_MEANING:
        return ""
    return (
        f"verdicts of Ironbird {version or '0.1'}: a pass does not say that the mission was flown, and requirements "
        "were judged at the rows of the log alone; fly it again for verdicts of today"
    )


def definition_changed(case: FlightCase, digest: str, files: Mapping[str, Mapping[str, str]]) -> str:
    """Difference between the definition of a flight when it was stored and now, as text; empty if none."""
    try:
        orders = orders_of(case)
        if case.digest() == digest:
            for order in orders:
                noted = files.get(_control(order))
                own = control_files(order) if noted is not None else {}
                other = [name for name in {**(noted or {}), **own} if (noted or {}).get(name) != own.get(name)]
                if other:
                    return f"the control system {order.control} changed: {', '.join(other)}"
                noted_code = _code(files.get(order.vehicle, {}))
                if noted_code and noted_code != (code := _code(vehicle_files(order.vehicle))):
                    return f"blocks of {order.vehicle} changed: {', '.join(dict(noted_code.items() ^ code.items()))}"
            return ""
        now = {order.vehicle: vehicle_files(order.vehicle) for order in orders}
    except (IronbirdError, OSError) as error:
        what = f"scenario {case.case_id}" if case.scenario else f"vehicle {case.vehicle}"
        return f"{what} cannot be read: {error}"
    known = {name: (files[name], own) for name, own in now.items() if files.get(name)}
    changed = [name for old, new in known.values() for name in {**old, **new} if old.get(name) != new.get(name)]
    if changed:
        return f"{', '.join(dict.fromkeys(changed))} changed"
    return f"another version of Ironbird defined the flight (vehicle {case.vehicle})"
