"""An order prepared for the module of its model: what JavaScript needs to fly it, and to change it.

Names, units and conditions are read by Python, once; JavaScript gets rows, numbers and the postfix code that the kernel
evaluates. `fly` of kernel.js then has the hash of `ironbird fly`.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.conditions.trigger import compile_trigger
from ironbird.errors import ExportError
from ironbird.export.wasm.judged import falls_of, judged_of
from ironbird.flight.derived import paths_to_log
from ironbird.flight.duration import end_s
from ironbird.flight.far_field import CELL_M
from ironbird.flight.judge import log_paths
from ironbird.flight.order import Order, record_text
from ironbird.flight.prepare import far_field_of, names_in, prepare
from ironbird.flight.systems import is_outside
from ironbird.flight.words import HARMLESS
from ironbird.runtime.predicate import Predicate
from ironbird.vehicles import places as at

WIND = ("speed_mps", "from_deg", "turbulence_mps")  # what JavaScript may change of the weather
DIRECTIONS = 15  # degrees between the directions of wind that a page offers


def unfit(order: Order) -> str:
    """Why an order cannot fly in a module; empty if it can."""
    if is_outside(order.control):
        return f"its control system '{order.control}' is a program of its own, which no page can run"
    if order.world:
        return f"obstacles of the world '{order.world[:40]}' are looked up by Python"
    if order.tunings:
        return "its parameters change in flight"
    return ""


def prepared(order: Order, model: CompiledModel, *, also: tuple[str, ...] = ()) -> dict[str, Any]:
    """An order for the module of its model; `also` are signals that are logged besides those that are judged."""
    if why := unfit(order):
        raise ExportError(f"this flight cannot fly as WebAssembly: {why}")
    state = prepare(model, [order])
    flat, names = model.flat, names_in(model)
    values, usual = np.ascontiguousarray(state.params[0, :, 0]), np.asarray(flat.values, np.float64)
    other = np.flatnonzero(values.view(np.int64) != usual.view(np.int64))  # bits: -0 is not 0
    hashed = log_paths(order, model)
    conditions = {i.when: compile_trigger(i.when, names) for i in order.faults if i.when}
    watched, judged = judged_of(order, model)
    falls = falls_of(order, model)
    also += (falls["ground"],) if falls is not None and falls["ground"] is not None else ()
    far = far_field_of([order], model)
    return {
        "model_sha256": model.model_hash,
        "order_sha256": order.digest(),
        "order": {**Order.record(order), "seed": str(order.seed)},  # a number of JavaScript holds 53 bits
        "text": order_text(order),
        "end_s": end_s(order, model),
        "params": [[int(row), float(values[row])] for row in other],
        "conditions": {text: program_of(found) for text, found in conditions.items()},
        "log": paths_to_log([*hashed, *also], model),
        "hashed": list(hashed),
        "watched": [program_of(program) for program in watched],
        "judged": judged,
        "harmless": list(HARMLESS),
        "falls": falls,
        "cell": {"row": far.row, "size_m": CELL_M.tolist()} if far.row is not None else None,
        "wind_params": {
            "velocity": at.WIND_STEADY.velocity,
            "turbulence": at.WIND_TURBULENCE.wind_20ft,
            "direction": at.WIND_TURBULENCE("direction"),
            "gust": at.WIND_GUST("amplitude_N"),
        },
        "directions": _directions(order),
    }


def program_of(predicate: Predicate) -> dict[str, Any]:
    """A compiled condition as plain data."""
    return {
        "text": predicate.text,
        "code": [[int(op), argument] for op, argument in predicate.code],
        "constants": list(predicate.constants),
    }


def _directions(order: Order) -> list[list[float]]:
    """Directions of wind: degrees, then where it blows to in rad, and its cosine and sine."""
    degrees = sorted({float(order.weather.from_deg), *map(float, range(0, 360, DIRECTIONS))})
    towards = {one: math.radians(one) + math.pi for one in degrees}
    return [[one, angle, math.cos(angle), math.sin(angle)] for one, angle in towards.items()]


def order_text(order: Order) -> list[str]:
    """The order as TOML in pieces: every second one is the name of a value that JavaScript may change.

    With the order's own values in their places it is the text of an equal order.
    """
    marks: dict[str, str] = {}  # what stands in the text -> name of the value

    def mark(name: str) -> float:
        value = 123456.0 + (len(marks) + 1) / 1024  # exact, and in no order
        marks[repr(value)] = name
        return value

    record = Order.record(order)
    record["wind"] |= {name: mark(f"wind.{name}") for name in WIND}
    for number, (table, injection) in enumerate(zip(record["faults"], order.faults, strict=True)):
        names = ["start_s", *(["severity"] if injection.fault.has_severity else [])]
        table |= {name: mark(f"faults.{number}.{name}") for name in names}
    record["seed"] = mark("seed")
    if order.until_s is not None:
        record["until_s"] = mark("until_s")
    pieces = re.split("(" + "|".join(map(re.escape, marks)) + ")", record_text(record))
    return [marks.get(piece, piece) if i % 2 else piece for i, piece in enumerate(pieces)]
