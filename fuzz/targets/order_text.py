"""Orders: `order.toml` in the folder of a flight."""

from __future__ import annotations

from typing import Any

from fuzz.target import Refused, attempt, now_and_then, text_of
from ironbird.faults.catalog import FAULTS
from ironbird.flight.order import Order, order_of, parse_order

WORDS = (
    "schema = 1\n", "[order]\n", "vehicle = ", "control = ", '"quad_f450"', '"reference"', "seed = ", "until_s = ",
    "log_s = ", "[order.wind]\n", "[order.settings]\n", "[[order.faults]]\n", "[[order.requirements]]\n",
    "[[order.tunings]]\n", "[order.mission]\n", "[[order.mission.item]]\n", "[order.place]\n", "[order.options]\n",
    "tick = 3\n", 'path = "body.mass"\n', "value = [1.0]\n", "lane = 0\n", "speed_mps = ", "kind = ", *list(FAULTS)[:6],
)  # fmt: skip


FORMAT = "toml"
_look = now_and_then(32)


def check(data: bytes) -> bool | None:
    """What is accepted reads back from its own text, bit for bit."""
    order = attempt(parse_order, text_of(data))
    if isinstance(order, Refused):
        return order.at != "parse_order"
    look(order)
    return None


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib."""
    order = attempt(order_of, table)
    if not isinstance(order, Refused) and _look():
        look(order)
    return None


def look(order: Order) -> None:
    """Refuse what does not read back."""
    assert isinstance(order, Order)
    text = order.text()
    assert parse_order(text) == order, "it reads back differently"
    assert parse_order(text).text() == text
    attempt(order.digest)
