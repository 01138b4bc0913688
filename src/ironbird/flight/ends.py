"""How a flight may end: the key `ends` of an order, and the formula that judges it.

`completed`: the mission is flown to its end, in truth. `completed or landed`: a landing on the way (a failsafe) is
accepted too, anywhere or `within 20 m of 0, 0` (m north and east of the take-off point). `time`: the mission need not
be completed; the flight is judged as far as it went. Without the key it is `completed` if there is a mission or a plan,
else `time`.
"""

from __future__ import annotations

import re

from ironbird.errors import OrderError, shortened

HELP = (
    "How the flight may end: completed (the mission, in truth), 'completed or landed' (a failsafe landing is "
    "accepted), 'completed or landed within 20 m of 0, 0', or time (only what was flown is judged). By default "
    "completed if there is a mission, else time."
)
MAY_CRASH = "A crash breaks no requirement: no_crash is not judged."
MISSION = "mission"  # name of the requirement that the flight ends as ordered
COMPLETED, LANDED, TIME = "completed", "completed or landed", "time"
WAYS = (COMPLETED, LANDED, f"{LANDED} within R m of NORTH, EAST", TIME)
CURE = "give " + ", ".join(f"'{way}'" for way in WAYS[:-1]) + f" or '{TIME}'"
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_AREA = re.compile(rf"completed or landed within {_NUMBER} ?m of {_NUMBER}, ?{_NUMBER}")


def ending_formula(ends: str) -> str:
    """The formula of a way to end; empty for `time`.

    Raises
    ------
    OrderError
        If there is no such way.
    """
    if ends == TIME:
        return ""
    if ends == COMPLETED:
        return "eventually (completed == 1)"
    if ends == LANDED:
        return "eventually (completed == 1 or landed == 1)"
    if not isinstance(ends, str) or not (area := _AREA.fullmatch(ends)):
        raise OrderError(f"ends = {shortened(repr(ends))} is no way to end: {CURE}")
    radius, north, east = area.groups()
    if float(radius) <= 0:
        raise OrderError(f"ends = '{ends}': the radius must be greater than 0 m")
    place = f"hypot(body.p_NB_N[0] - {north} m, body.p_NB_N[1] - {east} m)".replace("- -", "+ ")
    return f"eventually (completed == 1 or landed == 1 and {place} <= {radius} m)"
