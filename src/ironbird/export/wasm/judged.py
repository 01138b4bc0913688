"""Requirements of an order for JavaScript: margins of conditions as the kernel's programs, and how they are joined.

The kernel evaluates the conditions at every tick and keeps their extremes between rows, as in every flight; what is
left is the least or greatest of them over a window (`requirements.robustness`). Requirements that need more are named,
and left to `ironbird repeat`.
"""

from __future__ import annotations

import math
import re
from typing import Any

from ironbird.compiler.compiled import CompiledModel
from ironbird.conditions.formula import Join, Node, Not, Window
from ironbird.conditions.margin import UnfitError, programs_of
from ironbird.flight import reached
from ironbird.flight.judge import NO_CRASH, requirements_of
from ironbird.flight.order import Order, Requirement
from ironbird.flight.prepare import names_in
from ironbird.requirements.explain import unit_of
from ironbird.requirements.meaning import parse_requirement
from ironbird.runtime.predicate import Predicate
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec

Json = dict[str, Any]


def judged_of(order: Order, model: CompiledModel) -> tuple[list[Predicate], list[Json]]:
    """Programs that the kernel watches, and for each requirement how its margin follows from them.

    `root` is None where JavaScript does not judge: operators of time inside each other, windows that end in flight by
    their own tick, conditions about how the flight ended.
    """
    programs: dict[Predicate, int] = {}
    judged = [_requirement(one, model, programs) for one in requirements_of(order)]
    return list(programs), judged


def falls_of(order: Order, model: CompiledModel) -> Json | None:
    """Signals and limits by which a vehicle falls when its flight ends (`flight.reached`); None if it cannot fly."""
    if not vehicle_kind(load_spec(order.vehicle)).flies:
        return None
    ground = at.TERRAIN.height_above_ground
    return {
        "position": at.BODY.position,
        "velocity": at.BODY.velocity,
        "ground": ground if ground in model.signals() else None,
        "stands_s": reached.STANDS_S,
        "at_rest_mps": reached.AT_REST_MPS,
        "falls_mps": reached.FALLS_MPS,
        "stands_m": reached.STANDS_M,
        "ground_m": reached.GROUND_M,
        "fall_mps": reached.FALL_MPS,
        "fall_s": reached.FALL_S,
    }


def _requirement(requirement: Requirement, model: CompiledModel, programs: dict[Predicate, int]) -> Json:
    formula = parse_requirement(requirement.formula, names_in(model))
    unit, factor = unit_of(formula), 1.0
    degrees = unit.replace("rad", "deg")
    if degrees != unit and re.search(rf"\d\s*{degrees}\b", requirement.formula):
        unit, factor = degrees, math.degrees(1.0)
    root: Json | None = {"op": "no_crash"}
    if requirement.formula != NO_CRASH.formula:
        try:
            known = programs_of(formula.root, names_in(model), requirement.formula)
            root = _tree(formula.root, known, programs, inside=False)
        except UnfitError:
            root = None
    return {
        "name": requirement.name,
        "formula": requirement.formula,
        "severity": requirement.severity,
        "unit": "" if unit == "1" else unit,
        "factor": factor,
        "root": root,
    }


def _tree(node: Node, known: dict[Node, Predicate], programs: dict[Predicate, int], *, inside: bool) -> Json:
    """A condition as plain data; its leaves are numbers of programs, which stand inside of windows only."""
    if inside and node in known:
        return {"watch": programs.setdefault(known[node], len(programs))}
    if isinstance(node, Join):
        sides = [_tree(side, known, programs, inside=inside) for side in (node.left, node.right)]
        return {"op": node.operator, "left": sides[0], "right": sides[1]}
    if isinstance(node, Not):
        return {"op": "not", "child": _tree(node.child, known, programs, inside=inside)}
    if isinstance(node, Window) and node.operator in ("always", "eventually") and not inside:
        span = node.interval
        return {
            "op": node.operator,
            "low_s": span.low_s,
            "high_s": span.high_s if math.isfinite(span.high_s) else None,
            "last_s": span.last_s,
            "child": _tree(node.child, known, programs, inside=True),
        }
    raise UnfitError
