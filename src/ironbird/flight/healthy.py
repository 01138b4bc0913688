"""Healthy flights of an order with faults: without them, as ordered and with one least bit of a sensor changed.

In virtual time the first one is equal to the flight with faults until a fault acts. From there on any difference,
however small, leads to another flight of the many that this autopilot could have flown in this weather: an output is at
its limit at another gust, the vehicle lands a second later. What such accidents are is shown by the others: each gets
one sample of one inertial sensor changed by one least bit, early in the flight. So only what none of the healthy
flights shows was caused by a fault (`flight/cause.py`).

The healthy flights depend on nothing but the order without its faults: all faults of that order can share them.
"""

from __future__ import annotations

import math
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import LinkError, OrderError
from ironbird.faults.catalog import KNOWN
from ironbird.faults.spec import Injection
from ironbird.files.trust import Trust
from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.flight import LOG_ENDINGS, Flight, fly
from ironbird.flight.order import Order
from ironbird.flight.reactions import possible_reactions
from ironbird.flight.systems import repeats
from ironbird.protocols.own_records import Records, read_records
from ironbird.rig.system import AutopilotEvent
from ironbird.vehicles import places as at

ACCEL_BIT_MPS2 = 16 * STANDARD_GRAVITY_MPS2 / 2**15  # of 16 bits over 16 g
GYRO_BIT_RADPS = math.radians(2000) / 2**15  # of 16 bits over 2000 degrees per second
SAMPLE_S = 0.004  # of the inertial units
TAKEN_OFF = "altitude > 1 m"
PERTURBED = (  # fault that moves a sample, axis, size at severity 1, least bit, time in s: one healthy flight each
    ("imu.accel_bias@1", 0, ACCEL_BIT_MPS2, 1.0),
    ("imu.gyro_bias@1", 1, GYRO_BIT_RADPS, 1.5),
    ("imu.accel_bias@1", 1, ACCEL_BIT_MPS2, 2.0),
    ("imu.gyro_bias@1", 0, GYRO_BIT_RADPS, 2.5),
)
KEPT = 2  # orders whose healthy flights a process keeps
OWN = ("fault", "link", "pilot")  # autopilot_events that Ironbird causes itself


@dataclass(frozen=True)
class Shown:
    """What one flight showed: events that could be reactions, and the true path."""

    events: list[AutopilotEvent]
    path_N: np.ndarray  # [row, 3], m


@dataclass(frozen=True)
class HealthyFlights:
    """The healthy flights of an order: the one as ordered with its log, and what each of them showed."""

    first: AutopilotEstimate
    shown: list[Shown]  # the one as ordered first; a perturbation that had no effect is left out
    records: Records | None = None  # of sensors in the log of the first

    def __len__(self) -> int:
        return len(self.shown)

    @property
    def spread_m(self) -> float:
        """Largest distance of a perturbed flight from the one as ordered, at the same time."""
        return max((float(apart_m(shown.path_N, self.shown[0].path_N).max()) for shown in self.shown[1:]), default=0.0)


def apart_m(path_N: np.ndarray, other_N: np.ndarray) -> np.ndarray:
    """Distance of two paths at the same times, as long as both fly."""
    rows = min(len(path_N), len(other_N))
    return np.asarray(np.linalg.norm(path_N[:rows] - other_N[:rows], axis=1))


def healthy_order(order: Order) -> Order:
    """The order without its faults; `OrderError` if a flight of it would not repeat."""
    if not repeats(order.control, order.options, order.script):
        raise OrderError(
            "only a flight that repeats to the bit has healthy twins: fly with --time virtual (option time=virtual)"
        )
    return replace(order, faults=())


def perturbed_orders(order: Order, *, airborne: bool = False) -> list[Order]:
    """The order without its faults, with one sample of one inertial sensor changed by one least bit in each.

    Early in the flight, or `airborne`, right after take-off: an estimator that starts late forgets what came before.
    """
    healthy = healthy_order(order)
    orders = []
    for fault_id, axis, bit, at_s in PERTURBED:
        fault = KNOWN[fault_id]
        share = bit / fault.changes[0].value(1.0)
        when, start_s = (TAKEN_OFF, at_s - PERTURBED[0][-1]) if airborne else ("", at_s)
        moved = Injection(fault, axis=axis, severity=share, start_s=start_s, end_s=start_s + SAMPLE_S, when=when)
        orders.append(replace(healthy, faults=(moved,)))
    return orders


def fly_healthy(order: Order, folder: Path, trust: Trust | None = None) -> tuple[Flight, HealthyFlights]:
    """Fly the healthy flights of an order; the folder keeps what the autopilot left of the one as ordered."""
    flight = _flown(healthy_order(order), folder, trust)
    first = own_log(flight)
    shown = [shown_by(first)]
    airborne = False
    for early, late in zip(perturbed_orders(order), perturbed_orders(order, airborne=True), strict=True):
        for changed in (late,) if airborne else (early, late):
            with tempfile.TemporaryDirectory() as own:
                found = shown_by(own_log(_flown(changed, Path(own), trust)))
            if not np.array_equal(found.path_N, shown[0].path_N):
                shown.append(found)
                break
            airborne = True  # what is early has no effect
    return flight, HealthyFlights(first, shown, records_of(first))


def _flown(order: Order, folder: Path, trust: Trust | None) -> Flight:
    flight = fly(order, folder=folder, trust=trust)
    if flight.log.interrupted:
        raise KeyboardInterrupt
    return flight


def own_log(flight: Flight) -> AutopilotEstimate:
    """The autopilot's own log beside its flight; raises if there is none."""
    estimate = beside(flight)
    if isinstance(estimate, AutopilotEstimate):
        return estimate
    raise estimate if isinstance(estimate, LinkError) else OrderError("this control system leaves no log to compare")


def records_of(autopilot: AutopilotEstimate) -> Records | None:
    """The records of sensors in its own log, the largest if it wrote several; None if there are none."""
    logs = [path for path in autopilot.flight.logs if path.suffix.lower() in LOG_ENDINGS and path.is_file()]
    return read_records(max(logs, key=lambda path: path.stat().st_size)) if logs else None


def shown_by(autopilot: AutopilotEstimate) -> Shown:
    """What a flight showed, by what was received from the autopilot, its own log, and the truth."""
    flight = autopilot.flight
    modes = [AutopilotEvent(at_s, "mode", name) for at_s, name in autopilot.modes()]
    received = [event for event in flight.autopilot_events if event.kind not in (*OWN, "mode")]
    events = sorted([*received, *modes, *autopilot.autopilot_events()], key=lambda event: event.time_s)
    return Shown(possible_reactions(events, flight.log), np.array(flight.log[at.BODY.position]))


class KeptHealthy:
    """The healthy flights of the last orders, so that faults of one order share them."""

    def __init__(self, most: int = KEPT) -> None:
        self.most = most
        self._kept: OrderedDict[str, HealthyFlights] = OrderedDict()

    def of(self, order: Order, trust: Trust | None = None) -> HealthyFlights:
        """The healthy flights of an order, flown unless another fault of the same order has had them flown."""
        digest = healthy_order(order).digest()
        if digest not in self._kept:
            with tempfile.TemporaryDirectory() as folder:
                self._kept[digest] = fly_healthy(order, Path(folder), trust)[1]
        self._kept.move_to_end(digest)
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return self._kept[digest]
