"""Missions of the map's editor: conversion to and from QGroundControl's plan files and to missions of Ironbird."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from ironbird.errors import MissionError
from ironbird.flight.mission import Mission
from ironbird.protocols.plan_file import Home, LocalItem, from_local, parse_plan, plan_text, to_mission
from ironbird.vehicles.load import load_spec

LONGEST = 2_000_000  # characters of a plan


def mission_of_items(items: Sequence[LocalItem]) -> Mission:
    """A mission from items in metres from home."""
    fields = [LocalItem(*item)._asdict() for item in items]
    try:
        return Mission.model_validate({"schema": 1, "title": "drawn on the map", "item": fields})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise MissionError(f"mission: {where}: {first['msg']} (got {first['input']!r})"[:300]) from None


def items_of_plan(text: str, vehicle: str) -> list[LocalItem]:
    """The items of a QGroundControl .plan or waypoint file, in metres from the vehicle's home."""
    if len(text) > LONGEST:
        raise MissionError(f"a plan has {LONGEST} characters at most, this one {len(text)}")
    home = load_spec(vehicle).home
    return to_mission(parse_plan(text).items, home, home.height_m).items


def plan_of_items(items: Sequence[LocalItem], vehicle: str) -> str:
    """The text of a QGroundControl .plan."""
    home = load_spec(vehicle).home
    plan = from_local([LocalItem(*item) for item in items], home)
    return plan_text(plan, Home(home.latitude_deg, home.longitude_deg, home.height_m))
