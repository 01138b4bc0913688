"""Set-points inside a controller's cascade, from the log of a flight: of velocity, attitude and rates.

A controller logs its commanded rates, and a wing's controller bank and pitch. The intermediate set-points of the
multicopter's cascade are not logged; they follow from its inputs and gains, which are. Velocity: the law itself, with
its limits. Attitude: the inverse of the rate law, without a value where the rate was limited, where the controller was
given rates, or while the vehicle spins without a rotor. Without the signals, or with gains that were changed in flight,
there is no set-point. Inputs are those of the log's row, so that a curve may be one control period late.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ironbird.blocks.controllers.cascade_ports import CascadePorts
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.compiler.compiled import CompiledModel
from ironbird.flight.order import Order
from ironbird.rotations import conjugate, euler, from_euler, multiply
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle

LIMITED = 1 - 1e-6  # share of the largest rate: beyond it the law cannot be inverted
BY_POSITION_OR_VELOCITY = (0, 1, 4)  # kinds of control with a velocity set-point
WITHOUT_PULL = (1, 4)  # of these, those in which no position is held


class Flight(Protocol):
    """What is needed of a flight, `ironbird.flight.flight.Flight`."""

    log: Log
    order: Order
    vehicle: Vehicle
    model: CompiledModel


def rate_set(flight: Flight) -> np.ndarray | None:
    """Commanded angular velocity in rad/s, [row, 3], as the controller logged it."""
    path = at.CONTROL("rate_set_B")
    if path not in flight.log:
        return None
    return flight.log[path]


def attitude_set(flight: Flight) -> np.ndarray | None:
    """Commanded roll, pitch and yaw in rad, [row, 3]; NaN where it is not known."""
    log = flight.log
    for part in (at.WING_CONTROL, at.WING, at.CONTROL):  # on wings: logged
        if part("roll_set") in log and part("pitch_set") in log:
            logged = np.column_stack([log[part("roll_set")], log[part("pitch_set")], np.full(log.rows(), np.nan)])
            stage = at.NAVIGATOR("stage")  # of a VTOL: 0 hovers
            return np.where(log[stage][:, None] == 0, np.nan, logged) if stage in log else logged
    control = flight.vehicle.diagram.blocks.get(at.CONTROL.path)
    rates = rate_set(flight)
    seen = at.ESTIMATOR.euler if at.ESTIMATOR.euler in log else at.BODY.euler
    gain, most = _gain(flight, "attitude_gain"), _gain(flight, "max_rate")
    if not isinstance(control, MulticopterControl) or rates is None or gain is None or most is None or seen not in log:
        return None
    # rate = -2 gain error; error = sin(half the angle) of the tilt (x, y) and of the turn about z [Brescianini2020]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = -rates / (2 * gain)
        unknown = (np.abs(rates) >= LIMITED * most).any(axis=1) | ~(np.abs(error) < 1).all(axis=1)
        unknown |= _kind(flight) == 3
        if control.spins and at.CONTROL("lost_rotor") in log:
            unknown |= log[at.CONTROL("lost_rotor")] > 0.5
        zero = np.zeros(len(error))
        turn = np.column_stack([np.sqrt(1 - error[:, 2] ** 2), zero, zero, error[:, 2]])
        level = np.sqrt(1 - error[:, 0] ** 2 - error[:, 1] ** 2)
        tilt = np.column_stack([level, error[:, 0], error[:, 1], zero])
        commanded = euler(multiply(from_euler(log[seen]), conjugate(multiply(turn, tilt))))
    return np.asarray(np.where(unknown[:, None], np.nan, commanded))


def velocity_set(flight: Flight) -> np.ndarray | None:
    """Commanded velocity in m/s, [row, 3] north, east, down; NaN where control is by attitude or rate."""
    log = flight.log
    needed = (at.NAVIGATOR.position_set, at.NAVIGATOR.velocity_set)
    seen = at.ESTIMATOR.position if at.ESTIMATOR.position in log else at.BODY.position
    control = flight.vehicle.diagram.blocks.get(at.CONTROL.path)
    if not isinstance(control, CascadePorts) or any(path not in log for path in (*needed, seen)):
        return None
    gain = _gain(flight, "position_gain")
    limits = [_gain(flight, name) for name in ("max_speed", "max_climb", "max_descent")]
    if gain is None or any(limit is None for limit in limits):
        return None
    speed, climb, descent = (float(limit[0]) for limit in limits if limit is not None)
    kind, weight = _kind(flight), at.NAVIGATOR("position_weight")
    pull = gain * (log[at.NAVIGATOR.position_set] - log[seen])
    if weight in log:  # a vehicle that takes commands
        pull = pull * log[weight]
    commanded = log[at.NAVIGATOR.velocity_set] + np.where(np.isin(kind, WITHOUT_PULL)[:, None], 0.0, pull)
    size = np.maximum(np.hypot(commanded[:, 0], commanded[:, 1]), 1e-12)
    commanded[:, :2] *= np.minimum(1.0, speed / size)[:, None]
    commanded[:, 2] = np.clip(commanded[:, 2], -climb, descent)
    return np.asarray(np.where(np.isin(kind, BY_POSITION_OR_VELOCITY)[:, None], commanded, np.nan))


def _kind(flight: Flight) -> np.ndarray:
    """Kind of the controller's set-point by row: 0 position, 1 velocity, 2 attitude, 3 rate, 4 level and sink."""
    path = at.NAVIGATOR("control_kind")
    return np.round(flight.log[path]) if path in flight.log else np.zeros(flight.log.rows())


def _gain(flight: Flight, name: str) -> np.ndarray | None:
    """A parameter of the controller in this flight; None if there is none, or if it was changed in flight."""
    path, model = at.CONTROL(name), flight.model
    if path not in model.params() or any(t.path.partition("[")[0] == path for t in flight.order.tunings):
        return None
    values = np.array(model.flat.values[model.param_rows(path)], float)
    for given, value in flight.order.settings.items():
        base, _, index = given.partition("[")
        if base == path:
            values[int(index.rstrip("]")) if index else slice(None)] = np.ravel(value)
    return values
