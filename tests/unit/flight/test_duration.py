"""How long a flight may last, what its control system is called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ironbird.errors import OrderError
from ironbird.flight.duration import CRUISE_SPEED, LONGEST_S, end_s, mission_of
from ironbird.flight.mission import Mission
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of
from ironbird.flight.systems import INSIDE, kind_of, title_of

ITEMS = [
    {"kind": "waypoint", "north_m": 30.0, "height_m": 0.0},
    {"kind": "waypoint", "north_m": 30.0, "east_m": 40.0, "height_m": 0.0, "hold_s": 5.0},
]


def test_a_flight_lasts_as_ordered_or_as_its_mission_may_take() -> None:
    """Without an order: half a minute, three times the 70 m at cruise speed, and the hold."""
    path = Mission.model_validate({"schema": 1, "item": ITEMS, "cruise_speed_mps": 4.0})
    of_vehicle = Mission.model_validate({"schema": 1, "item": ITEMS})
    timed = Mission.model_validate({"schema": 1, "item": ITEMS, "duration_s": 12.5})
    order = make_order("quad_f450", control="truth", mission=path, until_s=7.0)
    model = model_of(order)
    assert end_s(order, model) == 7.0
    assert end_s(make_order("quad_f450", control="truth", mission=path), model) == 30.0 + 3 * 70.0 / 4.0 + 5.0
    assert end_s(make_order("quad_f450", control="truth", mission=timed), model) == 12.5

    cruise = float(model.flat.values[model.param_rows(CRUISE_SPEED)][0])
    assert end_s(make_order("quad_f450", control="truth", mission=of_vehicle), model) == 35.0 + 210.0 / cruise
    faster = make_order("quad_f450", control="truth", mission=of_vehicle, settings={CRUISE_SPEED: 2 * cruise})
    assert end_s(faster, model) == 35.0 + 105.0 / cruise


def test_a_control_system_outside_has_its_own_end() -> None:
    model = model_of(make_order("quad_f450", control="truth", mission="hover"))
    assert end_s(make_order("quad_f450", control="commanded"), model) == kind_of("commanded").longest_s
    handed_over = make_order("quad_f450", control="truth", mission="hover")
    object.__setattr__(handed_over, "control", "python:Mine")
    assert end_s(handed_over, model) == LONGEST_S


def test_without_a_mission_there_is_none() -> None:
    with pytest.raises(OrderError, match="needs a mission: give one"):
        mission_of(replace(make_order("quad_f450", control="truth", mission="hover"), mission=None))


def test_titles_are_those_of_the_system_or_its_own_name() -> None:
    assert [title_of(name) for name in INSIDE] == list(INSIDE.values())
    assert title_of("px4") == kind_of("px4").title != "px4"
    assert title_of("mine.py:Controller") == "mine.py:Controller"
