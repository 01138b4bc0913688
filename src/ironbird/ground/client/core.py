"""The protocol core of the client: one thread that receives, keeps the streams going and advances every call.

A call is a generator, as the steps of a ground station are (`ground/handshakes.py`): it yields while it waits. The
faces (`faces.py`) hand calls over and wait for their result, blocking or in asyncio. Each call has one deadline for all
that it does. Time is the wall's, but streams also follow the vehicle's clock, so that a simulation that is faster than
real time gets its set-points as often as it needs them.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ironbird.errors import IronbirdError, LinkError
from ironbird.ground.client.listener import Listener
from ironbird.ground.client.setpoints import SetPoint
from ironbird.ground.handshakes import Script, Step
from ironbird.ground.wires import Wire
from ironbird.protocols.mavlink import dialect, numbers

T = TypeVar("T")
Call = Generator[None, None, T]
STREAM_S = 0.05  # between two set-points, of the wall and of the vehicle's clock; autopilots want 0.5 s at most
LOOK_S = 0.02  # between two looks at what a call waits for, if nothing comes
IDLE_S = 0.2
SEE_MODE_S = 3.0  # heartbeats come once a second
ASK_STREAMS_S = 2.0  # what was asked for and does not come is asked for again
ASK_STREAMS = 5  # times
MOST_NOTES = 200


@dataclass
class Running:
    """A call on its way."""

    script: Generator[None, None, Any]
    future: Future[Any] = field(default_factory=Future)
    until: float = math.inf  # monotonic
    within_s: float = math.inf
    step: Step | None = None


class Core(Listener):
    """What a client knows of one vehicle, and its thread. `start` it, `submit` calls, `close` it in any case."""

    refusals = (numbers.MAV_RESULT_DENIED, numbers.MAV_RESULT_UNSUPPORTED)

    def __init__(self, wire: Wire, *, system: int = 0) -> None:
        super().__init__(wire, system=system)
        self.streams: dict[str, SetPoint] = {}
        self._wall_0 = time.monotonic()
        self._sent = (-math.inf, -math.inf)  # when the streams were, by the wall and by the vehicle
        self._running: list[Running] = []
        self._now: Running | None = None
        self._broken: LinkError | None = None
        self._closing = False
        self._lock = threading.Lock()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"ironbird client {wire.name}", daemon=True)

    # ------------------------------------------------------------------------------------------ the thread

    def start(self) -> None:
        """Start receiving."""
        self._thread.start()

    def submit(self, script: Generator[None, None, T]) -> Future[T]:
        """Have a call gone on with; its future has the result or the error."""
        running = Running(script)
        with self._lock:
            if self._closing:
                raise LinkError(f"{self.wire.name}: the connection is closed")
            self._running.append(running)
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        return running.future

    def close(self) -> None:
        """End the streams, all calls that wait, and the thread. May be called twice."""
        with self._lock:
            self._closing = True
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        if self._thread.is_alive():
            self._thread.join()
        self._fail_all(LinkError(f"{self.wire.name}: the connection was closed while a call waited"))
        super().close()
        self._wake.close()
        self._woken.close()

    def _run(self) -> None:
        while not self._closing:
            came = self._wait_for_bytes()
            received = self.received
            self._turn(time.monotonic() - self._wall_0)
            if came and received == self.received:
                time.sleep(1e-3)  # a line that hangs up is always ready, and empty
        self.streams.clear()

    def _turn(self, now_s: float) -> None:
        if self._broken is None:
            try:
                self.listen(now_s)
                self._keep_streams()
            except OSError as error:
                self._broken = LinkError(f"{self.wire.name}: the link is cut: {error.strerror or error}")
        with self._lock:
            running = list(self._running)
        over = [one for one in running if not self._goes_on(one)]
        if over:
            with self._lock:
                self._running = [one for one in self._running if one not in over]

    def _goes_on(self, one: Running) -> bool:
        """Go on with a call; False when it is over."""
        if one.future.cancelled():
            one.script.close()
            return False
        self._now, self._step = one, one.step
        try:
            if self._broken is not None:
                raise self._broken
            self._check_deadlines()
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
        one.step, self._now = self._step, None
        return True

    def _wait_for_bytes(self) -> bool:
        with self._lock:
            wait_s = LOOK_S if self._running else STREAM_S if self.streams else IDLE_S
        handles = [self._woken.fileno()] + ([self.wire.handle] if self._broken is None else [])
        ready, _, _ = select.select(handles, [], [], wait_s)
        if self._woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
        return self._broken is None and self.wire.handle in ready

    def _fail_all(self, error: LinkError) -> None:
        with self._lock:
            running, self._running = self._running, []
        for one in running:
            one.script.close()
            _settle(one.future, None, error)

    # ------------------------------------------------------------------------------------------ streams

    def stream(self, name: str, point: SetPoint) -> None:
        """Say this from now on, at once and then again and again."""
        self.streams[name] = point
        self._send(point)

    def _keep_streams(self) -> None:
        wall, vehicle = self._now_s, self.telemetry.time_s
        if self.streams and (wall - self._sent[0] >= STREAM_S or vehicle - self._sent[1] >= STREAM_S):
            for point in list(self.streams.values()):
                self._send(point)

    def _send(self, point: SetPoint) -> None:
        vehicle = self.telemetry.time_s
        self._sent = (self._now_s, vehicle if math.isfinite(vehicle) else -math.inf)
        fields = dict(point.fields)
        if point.message is dialect.MANUAL_CONTROL:
            fields["target"] = self._system
        else:
            stamp_ms = round(1000 * self._now_s) & 0xFFFFFFFF
            fields |= {"time_boot_ms": stamp_ms, "target_system": self._system, "target_component": self._component}
        self._say(point.message, **fields)

    # ------------------------------------------------------------------------------------------ calls

    def allow(self, within_s: float) -> None:
        """The deadline of the call that goes on now."""
        if not 0.0 < within_s <= 1e7:
            raise LinkError(f"a deadline of {within_s!r} s: give more than 0")
        assert self._now is not None
        self._now.until, self._now.within_s = self._wall_s() + within_s, within_s

    def wait(self, name: str, done: Callable[[], bool]) -> Script:
        """Until something is so, or the call's deadline."""
        yield from self._wait(name, done, wall_s=math.inf, sim_s=math.inf)

    def _begin(self, name: str, wall_s: float, sim_s: float) -> Step:
        now = self._wall_s()
        left_s = self._now.until - now if self._now is not None else wall_s
        self._step = Step(name, max(left_s, 0.0), math.inf, now, self._now_s)
        return self._step

    def _failed(self, step: Step, why: str) -> LinkError:
        within_s = self._now.within_s if self._now is not None else math.nan
        who = f"{self.dialect.name} (system {self._system})" if self._system else "no vehicle"
        heard = f"{self._wall_s() - self._last_wall:.1f} s ago {self._last}" if self._last else "none"
        others = f"; received, but not from the vehicle: {', '.join(sorted(self._others))}" if self._others else ""
        if why.startswith("not done"):
            why = f"not done within {within_s:g} s"
        return LinkError(
            f"{self.wire.name}, {who}: '{step.name}' {why}"
            + (f"; {step.note}" if step.note else "")
            + f"; last heartbeat: {self.last_heartbeat or 'none'}; last text: {self.last_text or 'none'}; "
            + f"last message: {heard}{others}"
        )

    def _arm(self) -> Script:
        if not self.armed:
            yield from super()._arm()

    def change_mode(self, word: str) -> Script:
        """Ask for a mode by word or by the autopilot's own name, and see it in the heartbeat."""
        name = self.modes.get(word.lower(), word).upper()
        while self.mode != name:  # asked again if it fell back before it was seen
            yield from self._set_mode(name)

    def _see_mode(self, name: str) -> Script:
        until = self._wall_s() + SEE_MODE_S
        step = self._begin(f"mode {name} in the heartbeat", 0, 0)
        step.note = "it was accepted"
        while self.mode != name and self._wall_s() < until:
            yield


def _settle(future: Future[Any], value: Any, error: BaseException | None) -> None:
    """Result or error, unless no caller waits any more."""
    if future.set_running_or_notify_cancel():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
