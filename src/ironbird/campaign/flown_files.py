"""The vehicle files of a campaign as they were when it was created: files may change, evidence must not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ironbird.campaign.case import FlightCase
from ironbird.campaign.scenario_case import orders_of
from ironbird.errors import StoreError
from ironbird.files.toml_text import write_toml
from ironbird.flight.order import vehicle_digest
from ironbird.vehicles.load import read_tables, vehicle_path

VEHICLE = "vehicle:"  # prefix of a stored vehicle among a campaign's files, followed by its name in the orders
_PLAIN = re.compile(r"[^A-Za-z0-9_.-]+")


def vehicle_texts(cases: Iterable[FlightCase]) -> dict[str, str]:
    """Text of each vehicle of some flights as one file without a base, by its name in the orders."""
    return {f"{VEHICLE}{name}": _text(name) for name in _names(cases)}


def _names(cases: Iterable[FlightCase]) -> dict[str, None]:
    """Names of all vehicles; a scenario has several."""
    return dict.fromkeys(order.vehicle for case in cases for order in orders_of(case))


def _text(name: str) -> str:
    data = read_tables(vehicle_path(name))
    return write_toml(data, [key for key, value in data.items() if isinstance(value, dict | list)])


def write_vehicles(source: Mapping[str, str], cases: Iterable[FlightCase], folder: Path) -> dict[str, Path]:
    """Write the stored vehicles of a campaign; returns the file of each by its name in the orders.

    A campaign of an older version stored none: then the present file must be the one that was flown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    for name in _names(cases):
        text = source.get(f"{VEHICLE}{name}")
        if text is None:
            text = _text(name)
        part = folder / "part.toml"
        part.write_text(text, encoding="utf-8")
        digest = vehicle_digest(str(part))
        files[name] = part.rename(folder / f"{_PLAIN.sub('_', Path(name).stem)}-{digest[:8]}.toml")
    return files


def same_definition(case: FlightCase, digest: str) -> None:
    """Raise if the definition of a flight no longer has this digest."""
    if case.digest() != digest:
        raise StoreError(
            f"flight {case.id} cannot be packed: its vehicle file was changed since, and the campaign was made by a "
            "version that did not keep it; fly it again in a new campaign"
        )
