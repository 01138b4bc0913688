"""Waypoint files in the text form 'QGC WPL 110'."""

from __future__ import annotations

from fuzz.target import Refused, attempt, text_of
from fuzz.targets.plan import look
from ironbird.protocols.plan_file import parse_plan

WORDS = ("QGC WPL 110\n", "0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n", "\t", "\n", "22", "1e999", "nan", "-180", "3")
MOST = 1000


def check(data: bytes) -> bool | None:
    """What is accepted can be sent to an autopilot."""
    plan = attempt(parse_plan, text_of(data))
    if isinstance(plan, Refused):
        return plan.at not in ("parse_plan", "_parse_json")
    look(plan)
    return None
