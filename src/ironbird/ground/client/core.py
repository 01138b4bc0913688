"""The protocol core of the client: one thread that receives, sends the streams and advances every call.

A call is a generator, as the steps of a ground station are (`ground/handshakes.py`): it yields while it waits. The
interfaces (`faces.py`) submit calls and wait for their result, blocking or in asyncio. Each call has one deadline for
all that it does. Time is wall time, but streams also follow the vehicle's clock, so that a simulation faster than real
time gets its set-points as often as it needs them.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, TypeVar

from ironbird.errors import IronbirdError, LinkError
from ironbird.ground.client.call_handshakes import CallHandshakes, Running
from ironbird.ground.client.listener import Listener
from ironbird.ground.client.setpoints import SetPoint
from ironbird.ground.station import Station
from ironbird.ground.wires import Wire
from ironbird.protocols.mavlink import dialect

T = TypeVar("T")
Call = Generator[None, None, T]
STREAM_S = 0.05  # between two set-points, of the wall and of the vehicle's clock; autopilots want 0.5 s at most
LOOK_S = 0.02  # between two checks of what a call waits for, if nothing arrives
IDLE_S = 0.2
MOST_NOTES = 200


class Core:
    """A station for one vehicle, its telemetry, and the thread of its calls.

    Call `start`, or `turn` periodically; `submit` calls; `close` in any case. If `simulated`, only the time given to
    `turn` counts.
    """

    def __init__(self, wire: Wire, *, system: int = 0, simulated: bool = False) -> None:
        self.station = Station(wire, system=system, simulated=simulated)
        self.listener = Listener(self.station)
        self.hands = CallHandshakes(self.station)
        self.streams: dict[str, SetPoint] = {}
        self._wall_0 = time.monotonic()
        self._sent = (-math.inf, -math.inf)  # when the streams were, by the wall and by the vehicle
        self._running: list[Running] = []
        self._broken: LinkError | None = None
        self._closing = False
        self._lock = threading.Lock()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"ironbird client {wire.name}", daemon=True)

    # ------------------------------------------------------------------------------------------ the thread

    def start(self) -> None:
        """Start the thread that receives and advances calls."""
        self._thread.start()

    def submit(self, script: Generator[None, None, T]) -> Future[T]:
        """Run a call; its future gets the result or the error."""
        running = Running(script)
        with self._lock:
            if self._closing:
                raise LinkError(f"{self.station.wire.name}: the connection is closed")
            self._running.append(running)
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        return running.future

    def close(self) -> None:
        """End the streams, all waiting calls, and the thread; further calls do nothing."""
        with self._lock:
            self._closing = True
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        if self._thread.is_alive():
            self._thread.join()
        self._fail_all(LinkError(f"{self.station.wire.name}: the connection was closed while a call waited"))
        self.station.close()
        self._wake.close()
        self._woken.close()

    def _run(self) -> None:
        while not self._closing:
            came = self._wait_for_bytes()
            received = self.station.received
            self.turn(time.monotonic() - self._wall_0)
            if came and received == self.station.received:
                time.sleep(1e-3)  # a closed line is always readable, and empty
            del self.station.autopilot_events[:-MOST_NOTES]
        self.streams.clear()

    def turn(self, now_s: float) -> None:
        """Receive, send what is due, and advance every call; `now_s` is the time for streams."""
        if self._broken is None:
            try:
                self.listener.listen(now_s)
                self._keep_streams()
            except OSError as error:
                self._broken = LinkError(f"{self.station.wire.name}: the link is cut: {error.strerror or error}")
        with self._lock:
            running = list(self._running)
        over = [one for one in running if not self._goes_on(one)]
        if over:
            with self._lock:
                self._running = [one for one in self._running if one not in over]

    def _goes_on(self, one: Running) -> bool:
        """Advance a call; returns False when it is over."""
        if one.future.cancelled():
            one.script.close()
            return False
        self.hands.now, self.hands.step = one, one.step
        try:
            if self._broken is not None:
                raise self._broken
            self.hands.check_deadlines()
            next(one.script)
        except StopIteration as end:
            _settle(one.future, end.value, None)
            return False
        except IronbirdError as error:
            one.script.close()
            _settle(one.future, None, error)
            return False
        except Exception as error:  # of a function that the caller gave
            _settle(one.future, None, error)
            return False
        one.step, self.hands.now = self.hands.step, None
        return True

    def _wait_for_bytes(self) -> bool:
        with self._lock:
            wait_s = LOOK_S if self._running else STREAM_S if self.streams else IDLE_S
        handles = [self._woken.fileno()] + ([self.station.wire.handle] if self._broken is None else [])
        ready, _, _ = select.select(handles, [], [], wait_s)
        if self._woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
        return self._broken is None and self.station.wire.handle in ready

    def _fail_all(self, error: LinkError) -> None:
        with self._lock:
            running, self._running = self._running, []
        for one in running:
            one.script.close()
            _settle(one.future, None, error)

    # ------------------------------------------------------------------------------------------ streams

    def stream(self, name: str, point: SetPoint) -> None:
        """Send a set-point from now on periodically, under a name that a later one replaces."""
        self.streams[name] = point
        self._send(point)

    def _keep_streams(self) -> None:
        wall, vehicle = self.station.now_s, self.listener.telemetry.time_s
        if self.streams and (wall - self._sent[0] >= STREAM_S or vehicle - self._sent[1] >= STREAM_S):
            for point in list(self.streams.values()):
                self._send(point)

    def _send(self, point: SetPoint) -> None:
        vehicle = self.listener.telemetry.time_s
        self._sent = (self.station.now_s, vehicle if math.isfinite(vehicle) else -math.inf)
        fields = dict(point.fields)
        if point.message is dialect.MANUAL_CONTROL:
            fields["target"] = self.station.system
        else:
            stamp_ms = round(1000 * self.station.now_s) & 0xFFFFFFFF
            fields |= {"time_boot_ms": stamp_ms, **self.station.target}
        self.station.say(point.message, **fields)


def _settle(future: Future[Any], value: Any, error: BaseException | None) -> None:
    """Set the result or the error of a future, unless no caller waits any more."""
    if future.set_running_or_notify_cancel():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
