"""Orders to the built-in ground station and their times, recorded as text.

    # ironbird: orders to our ground station, 1: microseconds, order, arguments
    40000 mission {}
    31220000 take_off {"height_m": 5.0}
    40120000 tune {"path": "MPC_XY_VEL_MAX", "value": 4.0}

A flight with this text as its script sends the same orders to the autopilot at the same simulation times, in addition
to its mission; if the autopilot runs on simulation time, the flight repeats to the last byte.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any, NamedTuple

from ironbird.errors import LinkError, shortened

HEADER = "# ironbird: orders to our ground station, 1: microseconds, order, arguments"
LONGEST = 64 << 20  # most characters of a record


class Order(NamedTuple):
    """One order to the ground station: the earliest simulation time, its name and arguments."""

    time_us: int
    name: str
    args: dict[str, Any]

    def text(self) -> str:
        """The order as one line, in the form that `read_orders` reads."""
        return f"{self.time_us} {self.name} {json.dumps(self.args)}"


def is_orders(script: str) -> bool:
    """Whether a script is a record of orders, which is flown in addition to a mission, not instead of it."""
    return script.startswith(HEADER)


def read_orders(script: str) -> deque[Order]:
    """Parse a record to orders sorted by time; `LinkError` names a line that is no order."""
    orders: deque[Order] = deque()
    if not script:
        return orders
    if not is_orders(script) or len(script) > LONGEST:
        raise LinkError(f"this is no record of orders of up to {LONGEST >> 20} MB: its first line is not '{HEADER}'")
    for number, line in enumerate(script.splitlines()[1:], start=2):
        time_us, _, rest = line.partition(" ")
        name, _, args = rest.partition(" ")
        try:
            order = Order(int(time_us), name, json.loads(args))
        except (ValueError, RecursionError):
            raise LinkError(f"record of orders, line {number}: '{shortened(line, 60)}' is none") from None
        if not isinstance(order.args, dict) or order.time_us < (orders[-1].time_us if orders else 0):
            raise LinkError(f"record of orders, line {number}: times go up, and arguments have names")
        orders.append(order)
    return orders
