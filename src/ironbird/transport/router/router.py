"""Router: connections, each with its own threads, and rules for what is forwarded between them.

A reader splits received bytes into packets and sends them to each connection that a rule names; packets that are not
due yet or find no room wait in a queue, from which a writer sends them. No connection waits for another: a full queue
loses its oldest packet, which is counted. Rules carry a filter and a rate limit ([NguyenHa]: "forward status"); link
faults act on the packets to a connection.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ironbird.errors import LinkError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.host.realtime import prioritised
from ironbird.transport.cable import Cable
from ironbird.transport.disturbance import Disturbance, LinkWitness, check_faults
from ironbird.transport.frames import Frame, FrameReader, name_of
from ironbird.transport.router.cables import STAMP, FileCable

LOOK_S = 0.05  # s between two checks of a reader whether the router still runs
MOST_WAITING = 4096  # most packets in the queue of one connection
MOST_LATENCIES = 2000  # most latencies kept for the statistics of a connection
NO_ROOM_S = 5e-4  # s until a line without room is tried again
GIVEN_UP_S = 0.5  # s that a packet may wait for room
AGAIN_S = 0.5  # s until a lost connection is opened again
WINDOW_S = 2.0  # s over which rates are counted


@dataclass(frozen=True)
class Rule:
    """A forwarding rule from one connection to another, with a filter and a rate limit."""

    source: str
    to: str
    only: frozenset[str] = frozenset()  # names or numbers of the forwarded messages; empty: all
    without: frozenset[str] = frozenset()
    most_hz: float = 0.0  # rate limit of each message in Hz; 0: no limit


@dataclass
class Traffic:
    """Statistics of one message on one connection."""

    count: int = 0
    size: int = 0  # total bytes
    lost: int = 0  # by gaps in the sender's sequence numbers; a count of the connection, stored with each message
    last: bytes = b""
    times: deque[float] = field(default_factory=lambda: deque(maxlen=4096))

    def rate_hz(self, now: float) -> float:
        """Messages per second over the last `WINDOW_S` seconds."""
        while self.times and self.times[0] < now - WINDOW_S:
            self.times.popleft()
        return len(self.times) / WINDOW_S


class Connection:
    """One connection of the router with its cable, its queue and its counters."""

    def __init__(self, name: str, cable: Cable, protocol: str = "mavlink") -> None:
        if protocol not in ("mavlink", "raw"):
            raise LinkError(f"connection {name}: protocol '{protocol}' is not mavlink or raw")
        self.name, self.cable, self.protocol = name, cable, protocol
        self.received: dict[str, Traffic] = {}
        self.sent: dict[str, Traffic] = {}
        self.overflowed = 0  # packets dropped because the queue was full
        self.unsent = 0  # packets dropped because the line had no room for too long or was lost
        self.lost = 0  # packets missing by the sequence numbers of their senders
        self.trouble = ""  # why the connection is not open
        self.latencies_s: deque[float] = deque(maxlen=MOST_LATENCIES)
        self.reader = FrameReader()
        self.disturbance = Disturbance(name)
        # called with the name of the connection, the direction and the bytes
        self.watch: Callable[[str, bool, bytes], None] | None = None
        self._last: dict[tuple[int, int], int] = {}
        self._queue: list[tuple[float, int, Frame, bytes, float]] = []
        self._numbers = itertools.count()
        self._sending = False
        self._changed = threading.Condition()
        self._lock = threading.Lock()

    def packets(self, data: bytes) -> list[Frame]:
        """Split received bytes into packets."""
        if self.protocol == "raw":
            return [Frame(-1, 0, 0, 0, data)]
        return self.reader.feed(data)

    def heard(self, frame: Frame, now: float) -> None:
        """Count a packet received at a time `now` in s."""
        if frame.id >= 0:
            sender = (frame.sysid, frame.compid)
            if sender in self._last:
                self.lost += (frame.sequence - self._last[sender] - 1) % 256
            self._last[sender] = frame.sequence
        self._tally(self.received, frame, now)

    def _tally(self, traffic: dict[str, Traffic], frame: Frame, now: float) -> None:
        name = name_of(frame.id)
        with self._lock:
            entry = traffic.get(name)
            if entry is None:  # created only once: it takes most of the time of a packet
                entry = traffic[name] = Traffic()
            entry.count += 1
            entry.size += len(frame.data)
            entry.last = frame.data
            entry.times.append(now)

    def figures(self, traffic: dict[str, Traffic], now: float) -> dict[str, tuple[int, float, bytes]]:
        """Count, rate in Hz and last packet of each kind of message."""
        with self._lock:
            return {name: (one.count, one.rate_hz(now), one.last) for name, one in traffic.items()}

    def put(self, time_s: float, frame: Frame) -> None:
        """Send a packet at a time in s since the start: at once if the queue is empty, else through the queue."""
        begin = time.monotonic()
        with self._changed:
            for due_s, data in self.disturbance.passes(time_s, frame):
                rest = data
                if due_s <= time_s and not self._queue and not self._sending:
                    try:
                        rest = data[self.cable.write(memoryview(data)) :]
                    except (OSError, ValueError):  # connection lost: its reader opens it again
                        self.unsent += 1
                        continue
                    if not rest:
                        now = time.monotonic()
                        self.wrote(frame, data, now - begin, now)
                        continue
                heapq.heappush(self._queue, (due_s, next(self._numbers), frame, rest, time_s))
                self._changed.notify()
            while len(self._queue) > MOST_WAITING:
                heapq.heappop(self._queue)
                self.overflowed += 1

    def take(self, now_s: float, wait_s: float) -> tuple[Frame, bytes, float, float] | None:
        """The next due packet with its arrival time and due time in s; waits for at most `wait_s`."""
        with self._changed:
            self._sending = False
            for data in self.disturbance.overdue(now_s):
                heapq.heappush(self._queue, (now_s, next(self._numbers), Frame(-1, 0, 0, 0, data), data, now_s))
            if not self._queue or self._queue[0][0] > now_s:
                until = self._queue[0][0] - now_s if self._queue else wait_s
                self._changed.wait(min(wait_s, max(until, 0.0)))
                return None
            due_s, _, frame, data, came_s = heapq.heappop(self._queue)
            self._sending = True  # until the writer asks for the next packet
            return frame, data, came_s, due_s

    def wake(self) -> None:
        """Wake the writer so that it checks its queue again."""
        with self._changed:
            self._changed.notify()

    def wrote(self, frame: Frame, data: bytes, late_s: float, now: float) -> None:
        """Count a packet that was sent."""
        if self.watch is not None:
            self.watch(self.name, False, data)
        self.latencies_s.append(late_s)
        self._tally(self.sent, frame, now)


class Router:
    """Connections and the rules between them; a `with` block starts and stops it."""

    def __init__(
        self,
        connections: Sequence[Connection],
        rules: Sequence[Rule],
        *,
        faults: Sequence[Injection] = (),
        seed: int = 0,
        save: Path | None = None,
        priority: bool = False,
    ) -> None:
        self._priority = priority
        self.connections = {connection.name: connection for connection in connections}
        if len(self.connections) < len(connections):
            names = [connection.name for connection in connections]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise LinkError(f"connections must have different names; more than one is named {', '.join(twice)}")
        for rule in rules:
            for name in (rule.source, rule.to):
                if name not in self.connections:
                    raise UnknownNameError("connection", name, self.connections, "a rule")
        check_faults(faults, list(self.connections))
        for connection in connections:
            connection.disturbance = Disturbance(connection.name, faults, seed)
        self._rules: dict[str, list[tuple[Rule, dict[int, float]]]] = {name: [] for name in self.connections}
        for rule in rules:
            self._rules[rule.source].append((rule, {}))
        self._ends = threading.Event()
        self._threads: list[threading.Thread] = []
        self._save_path, self._saving = save, threading.Lock()
        self._save: BinaryIO | None = None
        self.begin = time.monotonic()

    def __enter__(self) -> Router:
        opened: list[Connection] = []
        try:
            for connection in self.connections.values():
                connection.cable.open()
                opened.append(connection)
            if self._save_path is not None:
                self._save = self._save_path.open("xb")
        except FileExistsError:
            self._close(opened)
            raise LinkError(f"{self._save_path} is there already: give another file") from None
        except (LinkError, OSError) as error:
            self._close(opened)
            raise error if isinstance(error, LinkError) else LinkError(str(error)) from None
        self.begin = time.monotonic()
        for connection in self.connections.values():
            for work in (self._read, self._write):
                thread = threading.Thread(
                    target=self._run, args=(work, connection), name=f"{connection.name} {work.__name__}"
                )
                thread.daemon = True
                thread.start()
                self._threads.append(thread)
        return self

    def _run(self, work: Callable[[Connection], None], connection: Connection) -> None:
        with prioritised() if self._priority else contextlib.nullcontext():
            work(connection)

    def __exit__(self, *exc: object) -> None:
        self._ends.set()
        for connection in self.connections.values():
            connection.wake()
        for thread in self._threads:
            thread.join(5.0)
        for connection in self.connections.values():
            for data in connection.disturbance.overdue(math.inf):  # no further frame can overtake it
                with contextlib.suppress(OSError, ValueError):
                    connection.cable.write(memoryview(data))
        self._close(list(self.connections.values()))

    def _close(self, opened: list[Connection]) -> None:
        for connection in opened:
            connection.cable.close()
        if self._save is not None:
            self._save.close()
            self._save = None

    @property
    def time_s(self) -> float:
        """Time in s since the start of the router."""
        return time.monotonic() - self.begin

    @property
    def witnesses(self) -> list[LinkWitness]:
        """Effect counts of all link faults of the router."""
        return [witness for connection in self.connections.values() for witness in connection.disturbance.witnesses]

    @property
    def finished(self) -> bool:
        """Whether all files have been played to the end and no other kind of connection exists."""
        cables = [connection.cable for connection in self.connections.values()]
        files = [cable for cable in cables if isinstance(cable, FileCable)]
        return bool(files) and all(cable.finished for cable in files)

    def _read(self, connection: Connection) -> None:
        while not self._ends.is_set():
            try:
                connection.cable.wait(LOOK_S)
                data = connection.cable.read()
            except (OSError, ValueError) as error:
                self._reopen(connection, error)
                continue
            if not data:
                continue
            time_s, now = self.time_s, time.monotonic()
            if connection.watch is not None:
                connection.watch(connection.name, True, data)
            for frame in connection.packets(data):
                connection.heard(frame, now)
                self._keep(frame)
                self._forward(connection, frame, time_s)

    def _reopen(self, connection: Connection, error: Exception) -> None:
        """Keep trying to open a lost connection again; the other connections continue."""
        connection.trouble = str(error)
        if self._ends.wait(AGAIN_S):
            return
        try:
            connection.cable.close()
            connection.cable.open()
            connection.trouble = ""
        except (LinkError, OSError) as again:
            connection.trouble = str(again)

    def _forward(self, connection: Connection, frame: Frame, time_s: float) -> None:
        name = name_of(frame.id)
        for rule, next_s in self._rules[connection.name]:
            if rule.only and name not in rule.only and str(frame.id) not in rule.only:
                continue
            if name in rule.without or str(frame.id) in rule.without:
                continue
            if rule.most_hz > 0.0:
                allowed_s = next_s.get(frame.id, time_s)
                if time_s < allowed_s:
                    continue
                next_s[frame.id] = max(allowed_s, time_s - 1.0 / rule.most_hz) + 1.0 / rule.most_hz
            self.connections[rule.to].put(time_s, frame)

    def _keep(self, frame: Frame) -> None:
        if self._save is not None and frame.id >= 0:
            with self._saving:
                self._save.write(STAMP.pack(time.time_ns() // 1000) + frame.data)

    def _write(self, connection: Connection) -> None:
        while not self._ends.is_set():
            item = connection.take(self.time_s, LOOK_S)
            if item is None:
                continue
            frame, data, came_s, due_s = item
            if self._sent(connection, data):
                connection.wrote(frame, data, self.time_s - max(came_s, due_s), time.monotonic())
            else:
                connection.unsent += 1

    def _sent(self, connection: Connection, data: bytes) -> bool:
        left, deadline = memoryview(data), time.monotonic() + GIVEN_UP_S
        try:
            while left:
                count = connection.cable.write(left)
                left = left[count:]
                if left and (time.monotonic() > deadline or self._ends.wait(NO_ROOM_S)):
                    return False
        except (OSError, ValueError):
            return False  # connection lost: the reader opens it again
        return True
