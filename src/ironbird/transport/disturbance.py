"""Link faults: loss, delay, corruption and throttling of the packets to one connection, drawn from a seed.

A packet goes in with its time and comes out as packets with the times at which they are due. All random numbers of a
packet are drawn whether or not they are needed, so the n-th packet has the same fate whatever happened to the others.
Without a fault packets pass unchanged. Time is the caller's: wall time in a router, simulation time in a flight. Not
modelled: radio propagation; a frame is lost, late or wrong as a whole.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.protocols.mavlink import dialect
from ironbird.transport.frames import Frame

ACKS = frozenset({dialect.COMMAND_ACK.id, dialect.MISSION_ACK.id, dialect.PARAM_VALUE.id})
HELD_S = 0.5  # s that a packet waits to be overtaken by the next one; then it is sent alone
MOST_WAITING_S = 5.0  # s that a packet may wait in a throttled link before it is lost


@dataclass
class LinkWitness:
    """Counts of what one link fault did to packets."""

    injection: Injection
    first_s: float = -1.0
    lost: int = 0
    late: int = 0
    changed: int = 0
    doubled: int = 0
    passed: int = 0  # packets that passed unchanged while the fault was active

    @property
    def disturbed(self) -> int:
        """Number of packets that the fault changed, delayed or dropped."""
        return self.lost + self.late + self.changed + self.doubled

    def sentence(self) -> str:
        """The fault as defined, and its effect, as a sentence."""
        name = self.injection.text()
        if not self.disturbed:
            return f"{name}: ineffective; no packet of {self.passed} was lost, late, changed or doubled"
        return f"{name}: acted from {self.first_s:.3f} s: {self.counts()}"

    def counts(self) -> str:
        """The effects with their numbers of packets, as text."""
        counts = {"lost": self.lost, "late": self.late, "changed": self.changed, "doubled": self.doubled}
        parts = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none disturbed"
        return f"{parts} of {self.disturbed + self.passed} packets"


class Disturbance:
    """The link faults of one direction of a link."""

    def __init__(self, name: str, faults: Sequence[Injection] = (), seed: int = 0) -> None:
        self.name = name
        self.witnesses = [LinkWitness(fault) for fault in faults if fault.instance == name]
        self._draws = random.Random(f"{seed} {name}")
        self._held: bytes | None = None  # packet that waits to be overtaken
        self._held_s = 0.0  # time from which it waits
        self._last_s = 0.0  # time at which the previous packet was due
        self._free_s = 0.0  # time at which a throttled link is free again

    def passes(self, time_s: float, frame: Frame) -> list[tuple[float, bytes]]:
        """Pass a packet into the link at a time: the resulting packets with the times at which they are due."""
        if not self.witnesses:
            return [(time_s, frame.data)]
        draws = {key: self._draws.random() for key in ("drop", "duplicate", "reorder", "corrupt", "jitter", "where")}
        data, due_s, twice = frame.data, time_s, False
        for witness, kind, amount in self.acting(time_s):
            fate = self._fate(kind, amount, draws, frame, time_s)
            if fate == "lost":
                self._count(witness, time_s, "lost")
                return self._release(time_s)
            if fate == "late":
                due_s += self._late_s(kind, amount, draws, len(data), time_s)
            if fate == "changed":
                place = int(draws["where"] * len(data))
                data = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
            twice = twice or fate == "doubled"
            if fate == "held" and self._held is None:
                self._count(witness, time_s, "late")
                self._held, self._held_s = data, time_s
                return []
            self._count(witness, time_s, fate if fate != "held" else "")
        due_s = max(due_s, self._last_s)
        self._last_s = due_s
        return [(due_s, data)] * (2 if twice else 1) + self._release(due_s)

    def acting(self, time_s: float) -> Iterator[tuple[LinkWitness, str, float]]:
        """Faults of the link that are active at a time, each as its witness (counts of packets), kind and strength."""
        for witness in self.witnesses:
            fault, change = witness.injection, witness.injection.fault.changes[0]
            there = fault.strength(time_s)
            if there > 0.0:
                kind = kind_of(fault)
                throttled = kind == "throttle"  # the value of this kind at severity 0 is not zero
                yield (
                    witness,
                    kind,
                    change.value(there * fault.severity) if throttled else there * change.value(fault.severity),
                )

    def overdue(self, time_s: float) -> list[bytes]:
        """The held packet, if it has waited too long to be overtaken."""
        if self._held is None or time_s < self._held_s + HELD_S:
            return []
        return [data for _, data in self._release(time_s)]

    def _fate(self, kind: str, amount: float, draws: dict[str, float], frame: Frame, time_s: float) -> str:
        if kind == "cut" or (kind == "drop" and draws["drop"] < amount):
            return "lost"
        if kind == "heartbeats_only":
            return "" if frame.id == dialect.HEARTBEAT.id else "lost"
        if kind == "acks_only":
            return "" if frame.id in ACKS else "lost"
        if kind == "throttle":
            return "lost" if self._free_s - time_s > MOST_WAITING_S else "late"
        if kind in ("delay", "jitter"):
            return "late"
        if kind == "corrupt" and draws["corrupt"] < amount:
            return "changed"
        if kind == "reorder" and draws["reorder"] < amount:
            return "held"
        return "doubled" if kind == "duplicate" and draws["duplicate"] < amount else ""

    def _late_s(self, kind: str, amount: float, draws: dict[str, float], size: int, time_s: float) -> float:
        if kind == "throttle":
            self._free_s = max(self._free_s, time_s) + size / amount
            return self._free_s - time_s
        return amount * (draws["jitter"] if kind == "jitter" else 1.0)

    def _release(self, time_s: float) -> list[tuple[float, bytes]]:
        held, self._held = self._held, None
        return [] if held is None else [(max(time_s, self._last_s), held)]

    @staticmethod
    def _count(witness: LinkWitness, time_s: float, fate: str) -> None:
        if not fate:
            witness.passed += 1
            return
        setattr(witness, fate, getattr(witness, fate) + 1)
        if witness.first_s < 0.0:
            witness.first_s = time_s


def kind_of(fault: Injection) -> str:
    """Kind of a link fault: `drop`, `delay`, ..."""
    return fault.fault.changes[0].target.rpartition(".")[2]


def check_faults(faults: Sequence[Injection], names: Sequence[str]) -> None:
    """Raise if a fault names an unknown connection or waits for a signal, which a router does not have."""
    for fault in faults:
        if fault.when:
            raise FaultError(f"{fault.fault.id}: a link has no signals for 'when' outside a flight; give times")
        if fault.instance not in names:
            raise UnknownNameError("connection", str(fault.instance), names, f"fault {fault.fault.id}")
