"""Values of the command line: --set, --option, --wind, --gust, --home, --require; the first byte chooses."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from fuzz.target import Refused, argument_of, attempt, in_haste
from ironbird.cli.options import home_of, options_of, settings_of, weather_of
from ironbird.flight.order import Order, Requirement, Weather, parse_order

WORDS = (
    "body.mass=",
    "[1,2,3]",
    "[[1,2],[3,4]]",
    "[",
    "]",
    ",",
    "=",
    "1e308",
    "NaN",
    "Infinity",
    "true",
    "47.4,8.55",
    "-",
)
MOST = 300
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_look = in_haste(16)  # tomllib takes ten times as long as the reader


def check(data: bytes) -> None:
    """What is accepted makes an order that reads back from its text."""
    kind, text = data[0] % 6 if data else 0, argument_of(data[1:])
    readers: list[Any] = [
        lambda: {"settings": settings_of([text])},
        lambda: {"options": options_of([text])},
        lambda: {"weather": weather_of(text, 0.0)},
        lambda: {"weather": weather_of(None, 0.0, text)},
        lambda: {"place": home_of(text, None, "quad_f450")},
        lambda: {"requirements": (Requirement.of(text),)},
    ]
    said = attempt(readers[kind])
    if isinstance(said, Refused):
        return
    order = attempt(lambda: Order(vehicle="quad_f450", control="reference", **said))
    if isinstance(order, Refused):
        return
    for value in order.settings.values():
        assert np.isfinite(np.array(value, dtype=float)).all(), f"{value} is no parameter"
    assert all(math.isfinite(value) for value in vars(order.weather).values())
    assert isinstance(order.weather, Weather)
    if _look() and not _NO_UTF8.search(text):  # a text of TOML has no bytes that are no UTF-8
        assert parse_order(order.text()) == order
