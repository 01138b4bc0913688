"""Effects of a fault on an autopilot: its flight compared with healthy flights of the same order, in virtual time.

Until a fault acts the flight is equal to the healthy one to the last bit, so the first difference in the autopilot's
own log is caused by the fault. What follows is caused by it only if none of the healthy flights shows it
(`flight/healthy.py`), until `WITHIN_S` after the last fault has ended. Events of two flights within `SAME_S` of each
other count as the same: after the first difference nothing occurs at exactly the same time any more. A state that
changes for less than that, as it also does in a healthy flight at another time, is chance too.

A fault takes three steps: it acts at the sensor (its witness), it arrives in the autopilot's own log
(`protocols/own_records.py`), it changes the flight. The last one is seen in the true path: it is that of the healthy
flight to the last bit, or as near to it as the other healthy flights are, or farther away.

Not distinguished: which of several faults caused what, and whether another one than the first arrived; order the flight
with one of them for that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from ironbird.flight.autopilot_estimate import AutopilotEstimate
from ironbird.flight.flight import Flight
from ironbird.flight.healthy import HealthyFlights, Shown, apart_m, own_log, records_of, shown_by
from ironbird.flight.judge import Judged
from ironbird.flight.reactions import WITHIN_S
from ironbird.protocols.own_records import Sight, sight_of
from ironbird.protocols.own_states import SIDEWAYS, are_opposite
from ironbird.rig.system import AutopilotEvent

EXCHANGE_S = 0.05  # within which a fault shows in the autopilot's log
LEAST_SHARE = 0.02  # of the rest of the flight, below which a measurement carried nothing
MOST_ROWS = 20  # of what was caused, in a summary
SAME_S = 3.0  # what both flights do within this counts as one
FARTHER = 3.0  # times as far from the healthy flight as a least bit of a sensor moves it: the vehicle flew another way
LEAST_HEALTHY = 3  # that differ from each other, to show what chance does
FAR_M = 0.5  # least distance of another way
STATE_WORDS = {
    "position": "estimated position", "velocity": "estimated velocity", "attitude": "estimated attitude",
    "output": "outputs", "battery": "battery voltage", "test_ratio": "test ratios", "estimator": "estimator in charge",
    "gnss": "GNSS position as it got it", "baro": "height by the barometer as it got it",
}  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """How far a fault that acted came: into the autopilot's log, and into the flight."""

    fault: str
    sight: Sight | None  # in the autopilot's own log; None if it is not known
    apart_m: float  # largest distance of the true path from that of the healthy flight at the same time
    spread_m: float  # the same of healthy flights whose sensors differ by one least bit
    answered: bool  # whether the autopilot did anything that no healthy flight shows

    @property
    def arrived(self) -> bool:
        """Whether the autopilot's own log shows the fault."""
        return self.sight is not None and self.sight.seen

    @property
    def moved(self) -> bool:
        """Whether the vehicle flew another way than healthy flights do."""
        return self.apart_m > max(FARTHER * self.spread_m, FAR_M)

    @property
    def changed(self) -> bool:
        """Whether the vehicle flew another way, or the autopilot did something else."""
        return self.moved or self.answered

    def sentence(self) -> str:
        """The steps after the first one as text."""
        if self.sight is None:
            arrived = "not known whether it arrived in the autopilot's log"
        else:
            arrived = "arrived" if self.arrived else "did not arrive"
            arrived += f" in the autopilot's log ({self.sight.sentence()})"
        change = f"{arrived}, changed {'the flight' if self.changed else 'nothing'}"
        if self.apart_m == 0.0:
            return f"{change}: the vehicle moved as in the healthy flight, to the last bit"
        way = "flew another way" if self.moved else "moved as healthy flights do"
        chance = f" (one least bit of a sensor: up to {self.spread_m:.2g} m)" if self.spread_m else ""
        return f"{change}: the vehicle {way}, up to {self.apart_m:.2g} m from the one as ordered{chance}"


@dataclass(frozen=True)
class Cause:
    """Differences between a flight with faults and the healthy flights of its order."""

    first_s: float  # when the autopilot's own log differs for the first time; infinite if never
    signal: str  # what differs first
    fault: str  # that began to act last before
    begin_s: float  # when
    caused: list[AutopilotEvent]  # what none of the healthy flights shows
    carried: str  # which measurements carried the position afterwards; empty if none of them was lost
    healthy: int  # flights that it was compared with
    steps: list[Steps]  # of each fault that acted

    def rows(self) -> dict[str, str]:
        """The differences as rows of the flight's summary."""
        rows = {f"effect {n}": f"{steps.fault} {steps.sentence()}" for n, steps in enumerate(self.steps, start=1)}
        if not math.isfinite(self.first_s):
            return rows | {"caused": "nothing: what its log has of estimates and states is that of the healthy flight"}
        rows["first divergence"] = f"{self.signal} at {self.first_s:.3f} s, {self._after(self.first_s)}"
        none = f"none of {self.healthy} healthy flights (sensors changed by one least bit) shows"
        if self.healthy < LEAST_HEALTHY:
            none += " (too few: changed sensors had no effect, so some of it may be chance)"
        rows["caused"] = f"what follows: {none} it" if self.caused else f"nothing that {none}"
        rows |= {f"caused {n}": text for n, text in enumerate(self.sentences()[:MOST_ROWS], start=1)}
        if len(self.caused) > MOST_ROWS:
            rows["caused later"] = f"{len(self.caused) - MOST_ROWS} more, until {self.caused[-1].time_s:.1f} s"
        if self.carried:
            rows["carried by"] = self.carried
        return rows

    def sentences(self) -> list[str]:
        """What the faults caused, each with its delay."""
        return [f"{event.kind}: {event.text}, {self._after(event.time_s)}" for event in self.caused]

    def _after(self, time_s: float) -> str:
        return f"{time_s - self.begin_s:.2f} s after {self.fault}"


def cause_of(flight: Flight, healthy: HealthyFlights) -> Cause:
    """Differences that the faults of a flight caused; `LinkError` if it left no log."""
    return compare(own_log(flight), healthy)


def with_cause(judged: Judged, cause: Cause) -> Judged:
    """A judgement with what the faults caused beside it."""
    steps = [{"fault": one.fault, "changed": one.changed, "sentence": one.sentence()} for one in cause.steps]
    came = "".join(f"; {one.fault} {one.sentence()}" for one in cause.steps)
    sentence = judged.sentence + came
    return replace(judged, sentence=sentence, healthy=cause.healthy, steps=steps, caused=cause.sentences())


def compare(faulted: AutopilotEstimate, healthy: HealthyFlights) -> Cause:
    """Differences between the log of a flight with faults, and what the healthy flights of its order show."""
    first_s, signal = _first_difference(faulted, healthy.first)
    own, flight = shown_by(faulted), faulted.flight
    acting = [(w, fired_s) for w, fired_s in zip(flight.witnesses, flight.triggered_s, strict=True) if w.effective]
    until_s = max((w.injection.end_s + fired_s for w, fired_s in acting), default=math.inf) + WITHIN_S
    later = [event for event in own.events if first_s <= event.time_s <= until_s]
    caused = [event for event in later if not any(_is_chance(event, own, other) for other in healthy.shown)]
    began = [(w.first_s, w.injection.fault.id) for w, _ in acting]
    begin_s, fault = max((pair for pair in began if pair[0] <= first_s + EXCHANGE_S), default=(first_s, "that"))
    begin_s = min(begin_s, first_s)  # a witness is dated by the first row of the log that shows it
    carried = _carried(faulted, begin_s, caused)
    steps = _steps(faulted, own, healthy, answered=bool(caused))
    return Cause(first_s, signal, fault, begin_s, caused, carried, len(healthy), steps)


def _steps(faulted: AutopilotEstimate, own: Shown, healthy: HealthyFlights, *, answered: bool) -> list[Steps]:
    """How far each fault came that acted; the arrival of the first one only, as it changes what others change too."""
    acting = sorted((w for w in faulted.flight.witnesses if w.effective), key=lambda witness: witness.first_s)
    away_m = float(apart_m(own.path_N, healthy.shown[0].path_N).max(initial=0.0))
    steps = []
    for number, witness in enumerate(acting):
        injection, sight = witness.injection, None
        if number == 0:
            fault = injection.fault.id.partition("@")[0]
            own_records = records_of(faulted)
            if own_records is not None and healthy.records is not None:
                sight = sight_of(fault, injection.instance, own_records, healthy.records)
        steps.append(Steps(injection.fault.id, sight, away_m, healthy.spread_m, answered))
    return steps


def _first_difference(faulted: AutopilotEstimate, healthy: AutopilotEstimate) -> tuple[float, str]:
    """Time on the simulation's clock, and name, of the first difference over all quantities of both logs."""
    first_s, signal = math.inf, ""
    for name, series in faulted.log.estimated.items():
        other = healthy.log.estimated.get(name)
        if other is None or series.values.shape[1:] != other.values.shape[1:]:
            continue
        rows = min(len(series), len(other))
        same = (series.time_s[:rows] == other.time_s[:rows]) & (series.values[:rows] == other.values[:rows]).all(axis=1)
        differing = np.flatnonzero(~same)
        if len(differing):
            at_s = float(faulted.clock.simulated(series.time_s[differing[:1]])[0])
            if at_s < first_s:
                first_s, signal = at_s, STATE_WORDS.get(name, name)
    pairs = zip_longest(faulted.log.states, healthy.log.states)
    changed = next((a for a, b in pairs if a != b and a is not None), None)
    if changed is not None:
        at_s = float(faulted.clock.simulated(np.array([changed.time_s]))[0])
        if at_s < first_s:
            first_s, signal = at_s, changed.text
    return first_s, signal


def _is_chance(event: AutopilotEvent, own: Shown, other: Shown) -> bool:
    """Whether a healthy flight shows an event, however often: at about that time, or at any time if it does not last.

    A state that changes back within `SAME_S` does not last: a measurement at the edge of its test is rejected for a
    moment at another gust.
    """
    if any(_key(h) == _key(event) and abs(h.time_s - event.time_s) <= SAME_S for h in other.events):
        return True
    back = {
        e.text
        for e in own.events
        if e.kind == event.kind and abs(e.time_s - event.time_s) <= SAME_S and are_opposite(e.text, event.text)
    }
    shown = {h.text for h in other.events if h.kind == event.kind}
    return event.text in shown and bool(back & shown)


def _key(event: AutopilotEvent) -> tuple[str, str]:
    """What an event says; which of several outputs is at its limit is chance."""
    return event.kind, re.sub(r"^output \d+ at", "an output at", event.text)


def _carried(autopilot: AutopilotEstimate, begin_s: float, caused: Sequence[AutopilotEvent]) -> str:
    """Which measurements held the horizontal position after the fault removed one, and for which share of the time."""
    gone = " no longer fused"
    lost = [h.time_s for h in caused if h.kind == "fusion" and h.text.removesuffix(gone) in SIDEWAYS]
    if not lost:
        return ""
    until_s = autopilot.flight.ended_s
    since: dict[str, float] = {}
    spans: dict[str, list[tuple[float, float]]] = {}
    for event in (
        *autopilot.autopilot_events(),
        *(AutopilotEvent(until_s, "fusion", name + gone) for name in SIDEWAYS),
    ):
        name = event.text.removesuffix(gone).removesuffix(" fused")
        if event.kind != "fusion" or name not in SIDEWAYS:
            continue
        if not event.text.endswith(gone):
            since.setdefault(name, event.time_s)
        elif name in since:
            spans.setdefault(name, []).append((since.pop(name), event.time_s))
    words = []
    for name, pieces in spans.items():
        held = [(max(first, lost[0]), last) for first, last in pieces if last > lost[0]]
        share = sum(last - first for first, last in held) / max(until_s - lost[0], 1e-9)
        if share > LEAST_SHARE:
            took = f", {held[0][0] - begin_s:.1f} s after the fault" if pieces[0][0] > begin_s else ""
            words.append(f"{name} ({100 * share:.0f} % of the rest{took})")
    return " and ".join(words) or f"nothing measured from {lost[0] - begin_s:.1f} s after the fault on: dead reckoning"
