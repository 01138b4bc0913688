"""Longest duration of a flight: as ordered, as its mission takes, or as its control system limits it."""

from __future__ import annotations

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError
from ironbird.flight.mission import Mission
from ironbird.flight.order import Order
from ironbird.flight.systems import is_outside, kind_of
from ironbird.vehicles import places as at

LONGEST_S = 600.0  # of a flight under an object that says nothing of its end
CRUISE_SPEED = at.NAVIGATOR.cruise_speed
OBJECT = "python:"  # a control system that was handed over as an object: `python:NAME`


def end_s(order: Order, model: CompiledModel) -> float:
    """Latest end of the flight in s: as ordered, else by the mission, else by the control system's own limit."""
    return own_end_s(order, model) if order.until_s is None else order.until_s


def own_end_s(order: Order, model: CompiledModel) -> float:
    """Latest end of the flight in s if its order says none: by the mission, else by the control system's own limit."""
    if is_outside(order.control):
        return LONGEST_S if order.control.startswith(OBJECT) else kind_of(order.control).longest_s
    mission = mission_of(order)
    if mission.duration_s is not None:
        return mission.duration_s
    cruise = order.settings.get(CRUISE_SPEED, mission.cruise_speed_mps)
    if cruise is None:
        cruise = float(model.flat.values[model.param_rows(CRUISE_SPEED)][0])
    return mission.longest_s(float(np.asarray(cruise)))


def mission_of(order: Order) -> Mission:
    """The mission of an order; raises if it has none, or a plan of another program instead."""
    if order.script:
        raise OrderError(f"control '{order.control}' flies no plan of another program: give a mission")
    if order.mission is None:
        raise OrderError(f"control '{order.control}' needs a mission: give one, for example 'hover'")
    return order.mission
