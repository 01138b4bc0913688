"""QGroundControl's .plan files."""

from __future__ import annotations

import math

from fuzz.target import Refused, attempt, text_of
from ironbird.links.plan_file import Plan, parse_plan

WORDS = (
    '"fileType": "Plan"', '"mission": {', '"items": [', '"type": "SimpleItem"', '"type": "ComplexItem"', '"command": 16',
    '"frame": 3', '"params": [0, 0, 0, null, 47.4, 8.5, 50]', '"plannedHomePosition": [47.4, 8.5, 488]', '"version": 2',
    '"TransectStyleComplexItem"', '"complexItemType": "survey"', "null", "true", "[", "]", "{", "}", "NaN", "1e999", "-1",
)  # fmt: skip


def check(data: bytes) -> None:
    """What is accepted has places on the earth."""
    plan = attempt(parse_plan, text_of(data))
    if isinstance(plan, Refused):
        return
    look(plan)


def look(plan: Plan) -> None:
    """Refuse items that no autopilot can be given."""
    for item in plan.items:
        assert isinstance(item.command, int) and 0 <= item.command < 2**16
        assert -90 <= item.latitude_deg <= 90 and -180 <= item.longitude_deg <= 180
        assert math.isfinite(item.altitude_m)
        assert len(item.params) == 4 and not any(math.isinf(value) for value in item.params)
