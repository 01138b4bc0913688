"""A stand-in for a PX4 board on a cable: it sends controls by its own clock [PX4Hitl]."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

from ironbird.autopilots.standin.px4 import HEARTBEAT, Px4Side
from ironbird.errors import LinkError
from ironbird.host.realtime import WallClock, undisturbed
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.rig.reference_autopilot import ReferenceAutopilot
from ironbird.transport.cable import Cable

CATCH_UP_S = 0.5


@dataclass
class Heard:
    """Statistics of what a board received over its cable, from the first sensors on."""

    seconds: float = 0.0
    sensors: int = 0
    fixes: int = 0
    controls: int = 0  # sent while it received something
    lost: int = 0  # frames that are missing by their numbers
    garbage: int = 0  # bytes that belong to no frame

    def data(self) -> dict[str, float]:
        """The statistics with rates, as a dictionary; sensors are counted from the first to the last."""
        passed = max(self.seconds, 1e-9)
        rates = {"sensor_hz": max(self.sensors - 1, 0) / passed, "gnss_hz": self.fixes / passed}
        return {**vars(self), **rates, "control_hz": self.controls / passed}


def run_px4_board(
    pilot: ReferenceAutopilot,
    cable: Cable,
    *,
    patience_s: float = 30.0,
    connect_s: float = 600.0,
    clock: WallClock | None = None,
    priority: bool = True,
) -> Heard:
    """Run as a PX4 board on a cable, until it is cut: sensors arrive at any time, controls leave by its own clock.

    As PX4 it sends controls 200 times a second until SET_MESSAGE_INTERVAL requests another rate.
    """
    clock = clock or WallClock()
    side, parser, packer = Px4Side(pilot, alone=True), Parser(count_lost=True), Packer()
    statistics = Heard()
    first_at, last_at, beat_at = 0.0, clock.now(), -math.inf
    due, sent = 0.0, 0
    rest = b""
    cable.open()
    with contextlib.closing(cable), undisturbed(priority=priority):
        while True:
            try:
                data = cable.read()
            except OSError:  # hung up
                break
            now = clock.now()
            for number, payload, _, _ in parser.feed(data) if data else ():
                last_at = now
                statistics.fixes += number == dialect.HIL_GPS.id
                if side.take(number, payload):
                    side.run()
            if side.sensors:
                if not statistics.sensors:
                    first_at = due = now
                statistics.sensors, statistics.seconds = side.sensors, last_at - first_at
                statistics.controls = sent if data else statistics.controls
                if now >= due:  # late ones are made up for
                    due = max(due + 1.0 / side.control_hz, now - CATCH_UP_S)
                    sent += 1
                    packer.add(dialect.HIL_ACTUATOR_CONTROLS, *side.controls())
            if now - beat_at >= 1.0:
                beat_at = now
                packer.add(dialect.HEARTBEAT, *HEARTBEAT)
            rest += packer.take()
            if rest:
                try:
                    rest = rest[cable.write(memoryview(rest)) :]
                except OSError:
                    break
            if now - last_at > (patience_s if side.sensors else connect_s):
                if side.sensors:
                    break
                raise LinkError(f"{cable.name}: no sensors came over the cable for {connect_s:g} s")
            cable.wait((due if side.sensors else now + 0.1) - clock.now())
    statistics.lost, statistics.garbage = parser.lost, parser.skipped
    return statistics
