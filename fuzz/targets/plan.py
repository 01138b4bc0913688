"""QGroundControl's .plan files."""

from __future__ import annotations

import math
import struct
from typing import Any

from fuzz.target import Refused, attempt, text_of
from ironbird.protocols.plan_file import Plan, parse_plan, plan_of

WORDS = (
    '"fileType": "Plan"', '"mission": {', '"items": [', '"type": "SimpleItem"', '"type": "ComplexItem"', '"command": 16',
    '"frame": 3', '"params": [0, 0, 0, null, 47.4, 8.5, 50]', '"plannedHomePosition": [47.4, 8.5, 488]', '"version": 2',
    '"TransectStyleComplexItem"', '"complexItemType": "survey"', "null", "true", "[", "]", "{", "}", "NaN", "1e999", "-1",
)  # fmt: skip


FORMAT = "json"


def check(data: bytes) -> bool | None:
    """What is accepted can be sent to an autopilot."""
    plan = attempt(parse_plan, text_of(data))
    if isinstance(plan, Refused):
        return plan.at not in ("parse_plan", "_parse_json")
    look(plan)
    return None


def check_table(table: Any) -> bool | None:
    """The same below json; a text that begins with a bracket is a table."""
    plan = attempt(plan_of, table if isinstance(table, dict) else {"fileType": "Plan", "mission": table})
    if not isinstance(plan, Refused):
        look(plan)
    return None


def look(plan: Plan) -> None:
    """Refuse items that no autopilot can be given."""
    for item in plan.items:
        assert isinstance(item.command, int) and 0 <= item.command < 2**16
        struct.pack("<ii", round(item.latitude_deg * 1e7), round(item.longitude_deg * 1e7))
        struct.pack("<4ff", *item.params, item.altitude_m)
        assert math.isfinite(item.altitude_m)
