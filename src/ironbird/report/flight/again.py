"""The section "Fly it again": the module of the model, the prepared order, and what a reader may change."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from markupsafe import Markup

from ironbird.errors import ExportError
from ironbird.export.wasm.exporter import PACKAGE
from ironbird.export.wasm.flight import prepared, unfit
from ironbird.export.wasm.module import description_of, module_of
from ironbird.flight.flight import Flight
from ironbird.flight.order import Order
from ironbird.report.flight.curves import Json
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import vehicle_kind

MOST_WIND_MPS = 20.0
LABEL = "the flight above"
Control = list[Any]  # name, title, words with # for the value, value, least, most, step


def again(flight: Flight) -> Json:
    """Values for the template of the section; raises if the flight cannot fly in a page."""
    order, model = flight.order, flight.model
    if why := unfit(order):
        raise ExportError(f"--flies: a page cannot fly this flight: {why}; leave --flies out")
    if flight.of_object or flight.log.interrupted:
        raise ExportError("--flies: only a whole flight of a vehicle's file can be flown again in a page")
    description = description_of(model, [injection.fault for injection in order.faults], brief=True)
    table = flown_table(flight, LABEL)
    left = [row["name"] for row in table["judged"] if row["root"] is None]
    return {
        **shared_values(LABEL),
        "parts": [part_of(flight, _needed(description, table), table)],
        "left": ", ".join(left),
        "controls": {"groups": groups_of(order, table["end_s"]), "shrinks": _shrinks(order)},
    }


def shared_values(label: str) -> Json:
    """Values of the template that are the same for every flight; `label` is what the first flight is called."""
    kernel = (PACKAGE / "kernel.js").read_text(encoding="utf-8")
    return {"several": False, "label": label, "kernel": Markup(kernel)}  # a text of this project


def flown_table(flight: Flight, label: str) -> Json:
    """The prepared order of a flight, with its hash and the plots that a page draws."""
    panels = _panels(flight)
    table = prepared(flight.order, flight.model, also=tuple(signal for panel in panels for signal in panel["signals"]))
    return table | {"sha256": flight.sha256, "panels": panels, "position": at.BODY.position, "label": label}


def part_of(flight: Flight, description: Json, table: Json, suffix: str = "") -> Json:
    """Module and data of one flight, as they stand in a page."""
    module = module_of(flight.model)
    return {
        "suffix": suffix,
        "title": flight.vehicle.spec.title or flight.vehicle.id,
        "size_kb": f"{len(module) / 1000:.0f}",
        "module_sha256": description["module_sha256"],
        "model_sha256": flight.model.model_hash,
        "sha256": flight.sha256,
        "module": _packed(module),
        "data": _packed(json.dumps({"info": description, "order": table}, allow_nan=False).encode()),
    }


def _packed(data: bytes) -> str:
    """Bytes compressed and in base64; equal bytes give equal text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _needed(info: Json, table: Json) -> Json:
    """The part of a model's description that the page reads: parameters of the wind, signals that are logged."""
    wind, faults = table["wind_params"].values(), {fault["id"] for fault in table["order"]["faults"]}
    return {
        **info,
        "params": {path: row for path, row in info["params"].items() if path in wind},
        "signals": {path: row for path, row in info["signals"].items() if path in table["log"]},
        "faults": {name: fault for name, fault in info["faults"].items() if name in faults},
    }


def _panels(flight: Flight) -> list[Json]:
    """Plots of both flights: motion by the kind of vehicle, and the witness of the first fault."""
    log = flight.log
    position, velocity, euler = at.BODY.position, at.BODY.velocity, at.BODY.euler
    if vehicle_kind(flight.vehicle.spec).flies:
        motion = [
            _panel("Height above the start", "m", "signal", f"{position}[2]", factor=-1.0),
            _panel("Tilt", "deg", "tilt", f"{euler}[0]", f"{euler}[1]"),
        ]
    else:
        motion = [_panel("Distance from the start", "m", "norm", f"{position}[0]", f"{position}[1]")]
    motion.append(_panel("Speed", "m/s", "norm", *(f"{velocity}[{i}]" for i in range(3))))
    for injection in flight.order.faults[:1]:
        if injection.witness.partition("[")[0] in log:
            declared = log.signals[injection.witness.partition("[")[0]]
            name = injection.witness if declared.size == 1 or "[" in injection.witness else f"{injection.witness}[0]"
            motion.append(_panel(f"Where the fault shows: {name}", declared.unit, "signal", name))
    return [panel for panel in motion if all(signal in log for signal in panel["signals"])]


def _panel(title: str, unit: str, kind: str, *entries: str, factor: float = 1.0) -> Json:
    paths = list(dict.fromkeys(entry.partition("[")[0] for entry in entries))
    return {"title": title, "unit": unit, "kind": kind, "signals": paths, "entries": list(entries), "factor": factor}


def groups_of(order: Order, end_s: float) -> list[Json]:
    """Sliders by what they change."""
    groups: list[Json] = []
    for number, injection in enumerate(order.faults):
        rows: list[Control] = []
        if injection.fault.has_severity:
            rows.append([f"faults.{number}.severity", "severity", "#", injection.severity, 0, 1, 0.005])
        words = "# s after its condition" if injection.when else "# s"
        rows.append([f"faults.{number}.start_s", "start", words, injection.start_s, 0, round(end_s, 1), 0.1])
        part = f", {injection.instance}" if injection.fault.counts_instances else ""
        groups.append({"title": f"Fault {number + 1}: {injection.fault.id.partition('@')[0]}{part}", "rows": rows})
    wind = order.weather
    rows = [
        ["wind.speed_mps", "speed", "# m/s", wind.speed_mps, 0, MOST_WIND_MPS, 0.1],
        ["wind.from_deg", "from", "#°", wind.from_deg, 0, 345, 15],
        ["wind.turbulence_mps", "turbulence (wind at 20 ft)", "# m/s", wind.turbulence_mps, 0, MOST_WIND_MPS, 0.1],
    ]
    return [
        *groups,
        {"title": "Wind", "rows": rows},
        {"title": "Noise", "rows": [["seed", "seed", "", str(order.seed)]]},
    ]


def _shrinks(order: Order) -> str:
    """The slider whose smallest value that breaks a requirement is searched for; empty if there is none."""
    found = [number for number, injection in enumerate(order.faults) if injection.fault.has_severity]
    return f"faults.{found[0]}.severity" if found else ""
