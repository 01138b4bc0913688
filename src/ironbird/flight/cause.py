"""Effects of a fault on an autopilot: its flight compared with the same flight without faults, in virtual time.

Until a fault acts both are equal to the last bit, so the first difference in the autopilot's own log is caused by the
fault, and so is everything that follows and does not occur in the healthy flight too, until `WITHIN_S` after the last
fault has ended. Events of both flights within `SAME_S` of each other count as the same: after the first difference
nothing occurs at exactly the same time any more.

Not distinguished: which of several faults caused what; order the flight with one of them for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from ironbird.errors import OrderError
from ironbird.files.trust import Trust
from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.flight import Flight, fly
from ironbird.flight.reactions import WITHIN_S
from ironbird.protocols.own_states import SIDEWAYS
from ironbird.rig.system import AutopilotEvent

EXCHANGE_S = 0.05  # within which a fault shows in the autopilot's log
LEAST_SHARE = 0.02  # of the rest of the flight, below which a measurement carried nothing
MOST_ROWS = 20  # of what was caused, in a summary
SAME_S = 3.0  # what both flights do within this counts as one
OURS = ("fault", "link", "pilot")  # autopilot_events that Ironbird causes itself
STATE_WORDS = {
    "position": "estimated position", "velocity": "estimated velocity", "attitude": "estimated attitude",
    "output": "outputs", "battery": "battery voltage", "test_ratio": "test ratios", "estimator": "estimator in charge",
    "gnss": "GNSS position as it got it", "baro": "height by the barometer as it got it",
}  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """Differences between a flight with faults and its healthy twin."""

    first_s: float  # when the autopilot's own log differs for the first time; infinite if never
    signal: str  # what differs first
    fault: str  # that began to act last before
    begin_s: float  # when
    caused: list[AutopilotEvent]
    carried: str  # which measurements carried the position afterwards; empty if none of them was lost

    def rows(self) -> dict[str, str]:
        """The differences as rows of the flight's summary."""
        if not math.isfinite(self.first_s):
            return {"caused": "nothing: its log is that of the healthy flight to the last byte"}
        rows = {"first divergence": f"{self.signal} at {self.first_s:.3f} s, {self._after(self.first_s)}"}
        for number, event in enumerate(self.caused[:MOST_ROWS], start=1):
            rows[f"caused {number}"] = f"{event.kind}: {event.text}, {self._after(event.time_s)}"
        if len(self.caused) > MOST_ROWS:
            rows["caused later"] = f"{len(self.caused) - MOST_ROWS} more, until {self.caused[-1].time_s:.1f} s"
        if self.carried:
            rows["carried by"] = self.carried
        return rows

    def _after(self, time_s: float) -> str:
        return f"{time_s - self.begin_s:.2f} s after {self.fault}"


def fly_healthy(flight: Flight, folder: Path, trust: Trust | None = None) -> Flight:
    """Fly the same flight without its faults; `OrderError` if it would not repeat otherwise."""
    if not flight.repeats:
        raise OrderError(
            "only a flight that repeats to the bit has a healthy twin: fly with --time virtual (option time=virtual)"
        )
    return fly(replace(flight.order, faults=()), folder=folder, trust=trust)


def cause_of(flight: Flight, healthy: Flight) -> Cause:
    """Differences that the faults of a flight caused; `LinkError` if one of both flights left no log."""
    pair = []
    for one in (flight, healthy):
        estimate = beside(one)
        if not isinstance(estimate, AutopilotEstimate):
            raise estimate if estimate is not None else OrderError("this control system leaves no log to compare")
        pair.append(estimate)
    return compare(*pair)


def compare(faulted: AutopilotEstimate, healthy: AutopilotEstimate) -> Cause:
    """Differences between two logs: of the flight with faults and of its healthy twin."""
    first_s, signal = _first_difference(faulted, healthy)
    own, other = _all_of(faulted), _all_of(healthy)
    flight = faulted.flight
    acting = [(w, fired_s) for w, fired_s in zip(flight.witnesses, flight.triggered_s, strict=True) if w.effective]
    until_s = max((w.injection.end_s + fired_s for w, fired_s in acting), default=math.inf) + WITHIN_S
    caused = [event for event in _unmatched(own, other) if first_s <= event.time_s <= until_s]
    began = [(w.first_s, w.injection.fault.id) for w, _ in acting]
    begin_s, fault = max((pair for pair in began if pair[0] <= first_s + EXCHANGE_S), default=(first_s, "that"))
    begin_s = min(begin_s, first_s)  # a witness is dated by the first row of the log that shows it
    return Cause(first_s, signal, fault, begin_s, caused, _carried(faulted, begin_s, caused))


def _all_of(autopilot: AutopilotEstimate) -> list[AutopilotEvent]:
    modes = [AutopilotEvent(at_s, "mode", name) for at_s, name in autopilot.modes()]
    received = [h for h in autopilot.flight.autopilot_events if h.kind not in (*OURS, "mode")]
    return sorted([*received, *modes, *autopilot.autopilot_events()], key=lambda event: event.time_s)


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


def _unmatched(own: Sequence[AutopilotEvent], other: Sequence[AutopilotEvent]) -> list[AutopilotEvent]:
    """Events of the first list without a partner of the same text in the second; each partner counts once."""
    free = list(other)
    events = []
    for event in own:
        partner = next(
            (
                h
                for h in free
                if (h.kind, h.text) == (event.kind, event.text) and abs(h.time_s - event.time_s) <= SAME_S
            ),
            None,
        )
        if partner is None:
            events.append(event)
        else:
            free.remove(partner)
    return events


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
