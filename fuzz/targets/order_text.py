"""Orders: `order.toml` in the folder of a flight."""

from __future__ import annotations

from fuzz.target import Refused, attempt, text_of
from ironbird.faults.catalog import FAULTS
from ironbird.flight.order import Order, parse_order

WORDS = (
    "schema = 1\n", "[order]\n", "vehicle = ", "control = ", '"quad_f450"', '"reference"', "seed = ", "until_s = ",
    "log_s = ", "[order.wind]\n", "[order.settings]\n", "[[order.faults]]\n", "[[order.requirements]]\n",
    "[[order.tunings]]\n", "[order.mission]\n", "[[order.mission.item]]\n", "[order.place]\n", "[order.options]\n",
    "tick = 3\n", 'path = "body.mass"\n', "value = [1.0]\n", "lane = 0\n", "speed_mps = ", "kind = ", *list(FAULTS)[:6],
)  # fmt: skip


def check(data: bytes) -> None:
    """What is accepted reads back from its own text, bit for bit."""
    order = attempt(parse_order, text_of(data))
    if isinstance(order, Refused):
        return
    assert isinstance(order, Order)
    text = order.text()
    assert parse_order(text) == order, "it reads back differently"
    assert parse_order(text).text() == text
    attempt(order.digest)
