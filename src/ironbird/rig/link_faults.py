"""Link faults in flights: applies the faults that the kernel schedules to packets, in simulation time.

Links are parts of the vehicle's diagram, so that their faults are ordered, shaped and triggered by the kernel like all
others. The mechanics are those of the router (`transport/disturbance.py`). A flight without link faults is not
affected: its links carry the same bytes.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from ironbird.blocks.sensors.route import ROUTE
from ironbird.faults.spec import Injection, is_link
from ironbird.rig.own_witness import OwnWitness
from ironbird.transport.disturbance import Disturbance, LinkWitness, kind_of
from ironbird.transport.frames import Frame, FrameReader

LINKS = {  # name -> what it carries; the kind of control system defines which links exist
    "ground": "from the control system to ground stations",
    "vehicle": "from ground stations to the control system",
    "sensors": "from the sensors to the control system",
    "actuators": "from the control system to the actuators",
    "rc": "from the transmitter's sticks to the control system",
}


class Flown(Protocol):
    """The part of a rig that links need."""

    @property
    def time_s(self) -> float:
        """Simulation time in seconds."""

    def held(self, path: str) -> np.ndarray:
        """A view of an output of a sampled block."""


class FlownLink(Disturbance):
    """One direction of a link, disturbed as the kernel's present outputs say."""

    def __init__(self, name: str, rig: Flown, faults: Sequence[Injection], seed: int) -> None:
        super().__init__(name, faults, seed)
        self._state = rig.held(f"route/{name}.state")
        self._by_kind: dict[str, list[LinkWitness]] = {}
        for witness in self.witnesses:
            self._by_kind.setdefault(kind_of(witness.injection), []).append(witness)

    def acting(self, time_s: float) -> Iterator[tuple[LinkWitness, str, float]]:
        """Each kind of fault that acts now; of several of one kind, the last one that has begun counts as its cause."""
        for kind, amount in zip(ROUTE, self._state.tolist(), strict=True):
            if amount != ROUTE[kind][0] and kind in self._by_kind:
                begun = [w for w in self._by_kind[kind] if w.injection.start_s <= time_s]
                if begun:
                    yield begun[-1], kind, amount


class Way:
    """Packets of one partner on a link: they are put in, and come out when they are due."""

    def __init__(self, link: FlownLink, rig: Flown) -> None:
        self.link, self._rig = link, rig
        self._reader = FrameReader()
        self._queue: list[tuple[float, int, bytes]] = []
        self._numbers = itertools.count()

    def through(self, data: bytes | memoryview = b"") -> list[bytes]:
        """Put bytes in; returns the complete packets that are due now."""
        for frame in self._reader.feed(bytes(data)) if data else ():
            self.put(frame)
        return self.due()

    def put(self, frame: Frame) -> None:
        """Put one packet on the link; it may be delayed, repeated, changed or lost."""
        for due_s, packet in self.link.passes(self._rig.time_s, frame):
            heapq.heappush(self._queue, (due_s, next(self._numbers), packet))

    def due(self) -> list[bytes]:
        """The packets that are due now."""
        now_s = self._rig.time_s
        for packet in self.link.overdue(now_s):
            heapq.heappush(self._queue, (now_s, next(self._numbers), packet))
        packets = []
        while self._queue and self._queue[0][0] <= now_s + 1e-9:
            packets.append(heapq.heappop(self._queue)[2])
        return packets


class FlownLinks:
    """All links of a flight that faults may disturb, by name.

    `held` are the paths of all outputs of sampled blocks in the flight's model: links are among them.
    """

    def __init__(self, rig: Flown, held: Iterable[str], faults: Sequence[Injection], seed: int) -> None:
        self._rig = rig
        self._taken: set[str] = set()
        there = {path.split("/")[1].split(".")[0] for path in held if path.startswith("route/")}
        self._links = {name: FlownLink(name, rig, [f for f in faults if is_link(f)], seed) for name in sorted(there)}

    def take(self, what: str) -> bool:
        """Whether the caller is the first to disturb this connection: a packet meets a fault only once."""
        first = what not in self._taken
        self._taken.add(what)
        return first

    def way(self, name: str) -> Way | None:
        """A link for the packets of one partner; None if no fault can act on it."""
        link = self._links.get(name)
        return Way(link, self._rig) if link is not None and link.witnesses else None

    def acted(self, injection: Injection) -> OwnWitness | None:
        """Evidence that a link fault acted; None for all other faults."""
        if not is_link(injection):
            return None
        for link in self._links.values():
            for witness in link.witnesses:
                if witness.injection == injection:
                    first_s = witness.first_s if witness.disturbed else math.nan
                    return OwnWitness(f"route/{link.name}, {witness.counts()}", "packets", first_s, witness.disturbed)
        return None
