"""One websocket for each browser: poses of all vehicles, their status, and plots, each computed when it is sent.

Nothing is queued: a frame is computed from the newest state when the previous one has been sent, so a slow browser gets
fewer frames and delays no other client. The server sends binary frames (little-endian) and JSON:

    kind u8 = 1, count u8, 0 u16, 0 u32, then for each vehicle: id, and a frame of `ironbird.app.frames`; f32 each
    kind u8 = 2, count u8, rows u16, id u32, then times and the values of each signal, f32, all of one flight
    {"flights": [...], "refused": 0}  flights and their status, about five times a second

From the browser: {"do": ACTION, "seq": N, ...} of `ironbird.app.actions`, answered by {"seq": N, "ok": ...}; and
{"plots": [[FLIGHT, SIGNAL, ENTRY], ...], "span_s": 30}, which chooses what is plotted.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ironbird.app.frames import FLOATS, Poser
from ironbird.app.live_flight import OVER, LiveFlight
from ironbird.app.rig import Rig
from ironbird.campaign.margins import margin_text
from ironbird.errors import IronbirdError, RunError, shortened
from ironbird.flight.judge import Judged
from ironbird.ground.client.attended import Attended
from ironbird.runtime.log import Log
from ironbird.vehicles.shape import shape_of

POSES_HZ, PLOTS_HZ, STATUS_HZ = 30.0, 10.0, 5.0
HEAD = struct.Struct("<BBHI")
POSES, PLOTS = 1, 2
MOST_PLOTTED = 24  # signals of one browser
MOST_ROWS = 3000  # of one frame of plots
LONGEST_SPAN_S = 600.0
LONGEST_NAME = 40  # of a world
ORDERS_SHOWN = 8  # to an autopilot outside
MOST_ASKED_S = 1e9  # largest span; NaN is refused too
LONGEST_TEXT = 65_536  # characters of a message from a browser


class Live:
    """Computes the messages to browsers; messages that all browsers share are computed once."""

    def __init__(self, rig: Rig, refused: Callable[[], int] = lambda: 0) -> None:
        self.rig, self._refused = rig, refused
        self._posers: dict[str, tuple[int, Poser]] = {}
        self._poses: tuple[float, bytes] = (-math.inf, b"")
        self._status: tuple[float, str] = (-math.inf, "")

    def poses(self) -> bytes:
        """The binary frame with the poses of all vehicles."""
        now = time.monotonic()
        if now - self._poses[0] > 0.5 / POSES_HZ:
            self._poses = now, self._make_poses()
        return self._poses[1]

    def _make_poses(self) -> bytes:
        flights = list(self.rig.flights.values())[-255:]
        poses = np.zeros((len(flights), 1 + FLOATS), "<f4")
        count = 0
        for flight in flights:
            log = flight.log()
            if log is None or not len(log.time_s):
                continue
            poses[count, 0] = number_of(flight.name)
            poses[count, 1:] = self._poser(flight.name, log).frame(log, len(log.time_s) - 1)
            count += 1
        self._posers = {name: poser for name, poser in self._posers.items() if name in self.rig.flights}
        return HEAD.pack(POSES, count, 0, 0) + poses[:count].tobytes()

    def _poser(self, name: str, log: Log) -> Poser:
        known = self._posers.get(name)
        if known is None or known[0] != id(log.plan):
            known = self._posers[name] = id(log.plan), Poser(log, _joints(self.rig.flights[name]))
        return known[1]

    def status(self) -> str:
        """The flights and their status as JSON text."""
        now = time.monotonic()
        if now - self._status[0] > 0.5 / STATUS_HZ:
            flights = [status_of(flight) for flight in list(self.rig.flights.values())]
            for monitor in self.rig.monitors().values():
                monitor.catch_up()
            self._status = now, json.dumps({"flights": flights, "refused": self._refused()}, allow_nan=False)
        return self._status[1]


def _joints(flight: LiveFlight) -> Sequence[str]:
    """Signals of the joints of a flight's vehicle; none if its file is not of the catalogue."""
    try:
        return list(shape_of(flight.order.vehicle)["signals"])
    except IronbirdError:
        return ()


@dataclass
class Plotter:
    """The plotted signals of one browser, and the rows already sent to it."""

    rig: Rig
    wanted: dict[str, list[tuple[str, int]]] = field(default_factory=dict)  # flight -> signals and entries
    span_s: float = 30.0
    _sent: dict[str, int] = field(default_factory=dict)

    def choose(self, series: Any, span_s: Any = 30.0) -> None:
        """Choose other signals: [[FLIGHT, SIGNAL, ENTRY], ...]; all rows are sent again."""
        if not isinstance(series, list) or len(series) > MOST_PLOTTED:
            raise RunError(f"plots are a list of {MOST_PLOTTED} signals at most")
        chosen: dict[str, list[tuple[str, int]]] = {}
        for entry in series:
            if not isinstance(entry, list) or len(entry) != 3 or not isinstance(entry[2], int):
                raise RunError("a plot is [FLIGHT, SIGNAL, ENTRY]")
            chosen.setdefault(str(entry[0]), []).append((str(entry[1]), entry[2]))
        if not isinstance(span_s, int | float) or not abs(span_s) < MOST_ASKED_S:
            raise RunError(f"a span is a number of seconds, not {span_s!r}")
        self.wanted, self._sent = chosen, {}
        self.span_s = min(max(float(span_s), 1.0), LONGEST_SPAN_S)

    def frames(self) -> list[bytes]:
        """New rows, one binary frame for each flight."""
        frames = []
        for name, series in self.wanted.items():
            flight = self.rig.flights.get(name)
            log = flight.log() if flight is not None else None
            if log is not None and len(log.time_s):
                frames += self._of(name, log, series)
        return frames

    def _of(self, name: str, log: Log, series: Sequence[tuple[str, int]]) -> list[bytes]:
        last = len(log.time_s)
        row_s = log.plan.every * log.plan.step_s
        first = max(self._sent.get(name, 0), last - int(self.span_s / row_s))
        rows = np.arange(first, last, max(1, -(-(last - first) // MOST_ROWS)))
        self._sent[name] = last
        if not len(rows):
            return []
        columns = [log.time_s[rows]]
        for path, entry in series:
            column = column_of(log, path, entry)
            columns.append(log.data[0, rows, column, 0] if column is not None else np.full(len(rows), np.nan))
        head = HEAD.pack(PLOTS, len(series), len(rows), number_of(name))
        return [head + np.array(columns, "<f4").tobytes()]


def column_of(log: Log, path: str, entry: int) -> int | None:
    """The log column of an entry of a signal; None if the log has none."""
    signal = log.plan.signals.get(path)
    if signal is None or not 0 <= entry < signal.size:
        return None
    return log.plan.start[path] + entry


def number_of(name: str) -> int:
    """The number at the end of a flight's name."""
    return int(name.rpartition("-")[2])


def status_of(flight: LiveFlight) -> dict[str, Any]:
    """Status of one flight: plain data without infinities, which JSON lacks."""
    order, log = flight.order, flight.log()
    row: dict[str, Any] = {
        "name": flight.name, "id": number_of(flight.name), "vehicle": order.vehicle, "state": flight.state,
        "control": order.control, "failure": shortened(flight.failure, 300), "speed": flight.speed,
        "time_s": float(log.time_s[-1]) if log is not None and len(log.time_s) else 0.0, "mode": "", "armed": False,
        "failsafes": [], "battery": None, "target": None, "item": 0, "items": [], "wishes": list(flight.wishes),
        "wind": order.weather.describe(), "faults": _faults(flight), "listens": flight.listens, "verdict": "",
        "orders": [], "said": shortened(flight.deaf, 300) if flight.state != OVER else "", "world": _world(order.world),
    }  # fmt: skip
    if flight.flight is not None:
        judged = flight.flight.judged
        row |= {"verdict": flight.flight.verdict, "sentence": shortened(judged.sentence, 600), "worst": _worst(judged)}
        row["hit"] = flight.hit
    if flight.commander is not None and flight.state != OVER:
        row |= _autopilot(flight)
    elif flight.pilot is not None:
        row |= _outside(flight.pilot)
    return row


def _worst(judged: Judged) -> str:
    """The requirement with the least margin, with its margin."""
    near = [one for one in judged.judgements if math.isfinite(one.margin)]
    worst = min(near, key=lambda one: one.margin, default=None)
    return f"{shortened(worst.name, 60)}: {margin_text(worst)}" if worst is not None else ""


def _world(world: str) -> str:
    """A name for a world: its own, or one derived from the text or the path in the order."""
    if not world or (len(world) < LONGEST_NAME and world.isidentifier()):
        return world
    return hashlib.sha256(world.encode()).hexdigest()[:16]


def _autopilot(flight: LiveFlight) -> dict[str, Any]:
    commander = flight.commander
    assert commander is not None
    status = commander.status()
    return {
        "mode": status.mode, "armed": status.armed, "failsafes": list(status.failsafes), "item": status.item,
        "battery": _finite(status.battery_share), "voltage": _finite(status.battery_voltage_V),
        "healthy": status.healthy, "satellites": status.satellites,
        "target": [_finite(value) for value in status.position_set.tolist()],
        "items": [[item.north_m, item.east_m, item.height_m] for item in commander.mission()],
    }  # fmt: skip


def _outside(pilot: Attended) -> dict[str, Any]:
    """Status of an external autopilot, and the results of the commands that it was sent."""
    telemetry = pilot.telemetry
    orders = [one for one in list(pilot.orders) if one.order.name != "sticks"][-ORDERS_SHOWN:]
    return {
        "mode": telemetry.mode, "armed": telemetry.armed, "failsafes": ["failsafe"] if pilot.station.failsafe else [],
        "item": telemetry.item, "healthy": telemetry.ready,
        "battery": _finite(telemetry.battery_share), "voltage": _finite(telemetry.battery_voltage_V),
        "satellites": telemetry.satellites, "said": shortened(telemetry.text, 200),
        "items": [[item.north_m, item.east_m, item.height_m] for item in list(pilot.items)],
        "orders": [
            {"time_s": 1e-6 * one.order.time_us, "order": shortened(one.words(), 100), "state": one.state,
             "why": shortened(one.why, 400)} for one in orders
        ],
    }  # fmt: skip


def _faults(flight: LiveFlight) -> list[dict[str, Any]]:
    rows = []
    time_s = flight.tick * flight.step_s
    for number, (twin, witness) in enumerate(zip(list(flight.twins), _witnessed(flight), strict=False)):
        injection = twin.injection
        rows.append(
            {
                "number": number,
                "fault": injection.fault.id,
                "text": injection.text(),
                "part": "/".join(injection.targets[0].split("/")[:2]) if "/" in injection.targets[0] else "",
                "start_s": injection.start_s,
                "active": injection.start_s <= time_s < injection.end_s and flight.state != OVER,
                "acts": witness.effective,
                "witness": witness.effect(),
            }
        )
    return rows


def _witnessed(flight: LiveFlight) -> list[Any]:
    return [twin.witness() for twin in list(flight.twins)]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
