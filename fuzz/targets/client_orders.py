"""Recorded orders to the built-in ground station."""

from __future__ import annotations

from fuzz.target import Refused, attempt, text_of
from ironbird.protocols.orders import HEADER, read_orders

WORDS = ("0 arm {}\n", '1000000 goto {"north_m": 1.0}\n', "takeoff", "land", " ", "{}", "[]", "null", "-1 ", "9" * 30)
MOST = 500


def check(data: bytes) -> bool | None:
    """Orders go up in time, and read back from their texts."""
    orders = attempt(read_orders, f"{HEADER}\n{text_of(data)}")
    if isinstance(orders, Refused):
        return None
    again = read_orders("\n".join([HEADER, *(order.text() for order in orders)]))
    assert repr(again) == repr(orders), "it reads back differently"
    return None
