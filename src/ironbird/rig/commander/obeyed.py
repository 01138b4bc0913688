"""A control system of Ironbird that accepts orders in flight: a commander inside it, and a record of its orders.

Where the navigator that flies is not part of the vehicle's own model (the reference autopilot on chips) or its
controller is in another program (the firmware's base station), the inputs of the model do not hold everything; so the
calls are recorded, as orders to a ground station are (`ironbird.protocols.orders`), and replayed at their times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ironbird.errors import IronbirdError, LinkError, UnknownNameError, shortened
from ironbird.protocols.orders import HEADER, Order, read_orders
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.commander import Commander

ASKED_AGAIN = ("arm", "mission")  # repeated by the caller until accepted; a refusal changes nothing
Command = Callable[..., str | None]


def _tune(commander: Commander, path: str, value: float) -> str | None:
    return commander.set_param(str(path), float(value))


def _read_params(commander: Commander) -> str | None:
    """Do nothing: the parameters of the model are known."""
    return None


def _goto(commander: Commander, north_m: float, east_m: float, height_m: float | None = None) -> str | None:
    down = float("nan") if height_m is None else -float(height_m)
    return commander.reposition((float(north_m), float(east_m), down))


COMMANDS: dict[str, Command] = {  # what a commander can do, by the names of the ground station's orders
    "arm": Commander.arm,
    "disarm": Commander.disarm,
    "take_off": Commander.take_off,
    "land": Commander.land,
    "return": Commander.return_home,
    "hold": Commander.hold,
    "mission": Commander.start_mission,
    "set_mission": Commander.set_mission,
    "mode": Commander.set_mode,
    "goto": _goto,
    "sticks": Commander.sticks,
    "tune": _tune,
    "read_params": _read_params,
}


class Obeyed:
    """Carries out orders to one commander and records them.

    `script` is the text of an earlier record; its orders are carried out at their recorded times.
    """

    def __init__(self, commander: Commander, script: str = "") -> None:
        self.commander = commander
        self._played: deque[Order] = read_orders(script)
        self._lines = [HEADER]
        for order in self._played:
            if order.name not in COMMANDS:
                raise UnknownNameError("order", shortened(order.name, 40), COMMANDS)

    def order(self, name: str, args: Mapping[str, Any], time_us: int) -> str | None:
        """Carry out an order at once; returns None, or the reason of a refusal. Wrong arguments raise `TypeError`."""
        values = dict(args)
        line = Order(time_us, name, values).text()  # refuse arguments that a record cannot hold
        if name == "set_mission":
            values = {**values, "items": [LocalItem(*item) for item in values.get("items", ())]}
        refusal = COMMANDS[name](self.commander, **values)
        if refusal is None or name not in ASKED_AGAIN:
            self._lines.append(line)
        return refusal

    def play(self, time_us: int) -> None:
        """Carry out recorded orders that are due; called at the end of an exchange, where live orders come too."""
        while self._played and self._played[0].time_us <= time_us:
            order = self._played.popleft()
            try:
                self.order(order.name, order.args, time_us)
            except (TypeError, ValueError, OverflowError, IronbirdError) as error:  # of a record written by hand
                raise LinkError(f"record of orders, '{shortened(order.text(), 60)}': {error}") from None

    def record(self) -> str:
        """All orders so far, as a script."""
        return "\n".join(self._lines) + "\n"
