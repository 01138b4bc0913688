"""Witness: the evidence that a fault acted, by comparison with the same flight without it.

A difference counts as an effect if the part could show it: more than `NOISE_SHARE` of the noise of the healthy signal
(the median change between two samples) and more than `ROUNDING` of its size. A severity below `LEAST_SEVERITY` does not
count: in a closed loop any change grows into a visible difference.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ironbird.blocks.controllers.mission_table import DISARMED
from ironbird.compiler.compiled import CompiledModel
from ironbird.faults.spec import Injection
from ironbird.runtime.log import Log
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.watch import watch_signal
from ironbird.vehicles import places as at

LEAST_SEVERITY = 1e-3  # of the full fault: less is ordered next to nothing, and feedback would still make a difference
NOISE_S = 0.1  # between rows of a log whose changes are taken for noise
NOISE_SHARE = 0.01  # of the median change of the healthy signal between two rows
ROWS_THAT_SHOW = 4  # of a log: a fault that is shorter is watched between the rows as well
FINE_S = 0.05  # s between rows; with longer ones any fault is watched between them
MOST_ENTRIES = 16  # of a witness signal that is watched between rows
ROUNDING = 1e-9  # of the greatest size of the healthy signal
TINY = 1e-12  # in the unit of the signal: less is no effect on any part


@dataclass(frozen=True)
class Witness:
    """What a fault did: the difference between the flight and a twin without this fault.

    Attributes
    ----------
    injection : Injection
        The fault as it was ordered.
    signal : str
        The signal that shows it.
    unit : str
        Unit of that signal.
    first_s : float
        Time of the first row that differs in s; NaN if none does.
    largest : float
        Largest difference while the fault was active.
    mean : float
        Mean difference in that time.
    ended_s : float
        End of the fault or of the comparison in s, whichever came first.
    most : float, default inf
        Largest difference at any time.
    least : float, default 0.0
        Difference from which on the part could show it; smaller ones are no effect.
    """

    injection: Injection
    signal: str
    unit: str
    first_s: float  # first logged sample that differs; NaN if none does
    largest: float  # largest difference while the fault was ordered and compared
    mean: float  # mean size of the difference in that time
    ended_s: float  # end of the fault or of the comparison, whichever came first
    most: float = math.inf  # largest difference at any time, also after the fault
    least: float = 0.0  # difference from which on the part could show it

    @functools.cached_property
    def ordered(self) -> str:
        """The text of the fault as ordered."""
        return self.injection.text()

    @property
    def effective(self) -> bool:
        """Whether the fault changed the signal by what the part could show, and was not ordered next to nothing."""
        return math.isfinite(self.first_s) and self.most >= self.least and not self._is_nothing

    @property
    def _is_nothing(self) -> bool:
        return self.injection.fault.has_severity and self.injection.severity < LEAST_SEVERITY

    def record(self) -> dict[str, object]:
        """The witness as plain data: the ordered fault, the signal, and the effect."""
        orders = zip(self.injection.targets, self.injection.fault.changes, strict=True)
        return {
            "fault": self.ordered,
            "ordered": {t: [c.effect.effect, c.value(self.injection.severity)] for t, c in orders},
            "signal": self.signal,
            "unit": self.unit,
            "effective": self.effective,
            "first_s": self.first_s if self.effective else None,
            "largest": self.largest,
            "mean": self.mean,
            "ended_s": self.ended_s if math.isfinite(self.ended_s) else None,
        }

    def effect(self) -> str:
        """The effect of the fault as text."""
        if not self.signal:
            return "ineffective; no signal of the vehicle or its control system shows it"
        unit = "" if self.unit == "1" else f" {self.unit}"
        if not math.isfinite(self.first_s):
            return f"ineffective; {self.signal} did not differ from the healthy twin"
        if self._is_nothing:
            return f"ineffective; a severity of {self.injection.severity:g} is less than {LEAST_SEVERITY:g}"
        if not self.effective:
            size, least = f"{self.most:.2g}{unit}", f"{self.least:.2g}{unit}"
            return f"ineffective; {self.signal} differed by {size} at most; less than {least} is below its own noise"
        return (
            f"acted on {self.signal} from {self.first_s:.3f} s; largest difference {self.largest:.4g}{unit}, "
            f"mean {self.mean:.4g}{unit}, compared until {self.ended_s:.3f} s"
        )

    def sentence(self) -> str:
        """The fault as ordered, and its effect, as text."""
        return f"{self.ordered}: {self.effect()}"


def observe(
    injection: Injection,
    log: Log,
    faulted: int,
    twin: Log,
    healthy: int,
    triggered_s: float = 0.0,
    until_s: float = math.inf,
    first_row: int = 0,
) -> Witness:
    """Compare the fault's witness signal in two lanes that differ only by the fault.

    The lanes may be of two logs with the same distance between rows; they are compared before `until_s`, and only
    until the twin has landed. The twin's log may begin at a later row (`first_row`), before which both are equal, and
    within that row, which has no values then but extremes.
    """
    signal = injection.witness
    if signal not in log:
        return Witness(injection, "", "", math.nan, 0.0, 0.0, math.nan)
    rows = min(log.rows(faulted), first_row + _flying_rows(twin, healthy), int(log.time_s.searchsorted(until_s)))
    time = log.time_s[:rows]
    difference, most, least = np.zeros(max(0, rows - first_row)), 0.0, 0.0  # from `first_row` on
    between = False
    if difference.size:
        before = twin.lane(signal, healthy)[: rows - first_row]
        each = np.abs(log.lane(signal, faulted)[first_row:rows] - before).reshape(len(before), -1)
        begun = int(twin.begins_within)  # rows without values
        each[:begun] = 0.0
        between = _between_rows(each, injection, (log, faulted, first_row), (twin, healthy, 0))
        difference = each.max(axis=1)
        apart_s = float(time[1] - time[0]) if rows > 1 else 0.0
        most, least = _size(each, before[begun:].reshape(len(before) - begun, -1), apart_s)
    differs = difference > 0.0
    begin = injection.start_s + triggered_s
    end = min(injection.end_s + triggered_s, float(time[-1]) if rows else 0.0)
    first, last = int(time.searchsorted(begin)), int(time.searchsorted(end, side="right"))
    if between:  # from the row in which it begins
        first, end = max(0, int(time.searchsorted(begin, side="right")) - 1), max(begin, end)
        last = max(last, min(first + 1, rows))
    during = difference[max(0, first - first_row) : max(0, last - first_row)]
    if min(first_row, last) > first:  # the fault was ordered, the twin does not differ yet
        during = np.concatenate([np.zeros(min(first_row, last) - first), during])
    earliest = int(differs.argmax()) if differs.size else 0
    acted = bool(differs.size and differs[earliest])
    return Witness(
        injection=injection,
        signal=signal,
        unit=log.plan.signals[signal].unit,
        first_s=max(float(time[first_row + earliest]), begin if between else 0.0) if acted else math.nan,
        largest=float(during.max()) if during.size else 0.0,
        mean=float(during.mean()) if during.size else 0.0,
        ended_s=end,
        most=most,
        least=least,
    )


def witness_programs(injection: Injection, model: CompiledModel, log_s: float) -> list[Predicate]:
    """The entries of a fault's witness signal, to be watched between rows; none if rows alone show the fault."""
    on_s = injection.period_s * injection.duty if injection.shape == "intermittent" else math.inf
    if min(on_s, injection.end_s - injection.start_s) >= ROWS_THAT_SHOW * log_s and log_s <= FINE_S:
        return []
    if injection.witness not in model.signals():
        return []
    rows = model.flat.log.rows(injection.witness)
    if rows.stop - rows.start > MOST_ENTRIES:
        return []
    from_s = _from_s(injection, model.step_s)
    return list(dict.fromkeys(p for row in range(rows.start, rows.stop) for p in watch_signal(row, from_s)))


def _from_s(injection: Injection, step_s: float) -> float:
    """Time from which on a witness is watched between rows: half a tick before the fault begins; 0 with a trigger."""
    return 0.0 if injection.when else (round(injection.start_s / step_s) - 0.5) * step_s


def _between_rows(
    each: np.ndarray, injection: Injection, faulted: tuple[Log, int, int], healthy: tuple[Log, int, int]
) -> bool:
    """Raise the differences [row, entry] to those of the extremes between rows; False if these are not known."""
    (log, _, _), (twin, _, _), known = faulted, healthy, False
    from_s = _from_s(injection, log.plan.step_s)
    begun = int(twin.begins_within and from_s <= 0.0)  # of that row the flight has what came before as well
    columns = log.plan.columns([injection.witness]) if injection.witness in log.plan.start else []
    for entry, column in enumerate(columns):
        for program, extreme in zip(watch_signal(int(log.plan.index[column]), from_s), (0, 1), strict=True):
            pair = []
            for flown, lane, first_row in (faulted, healthy):
                found = None if flown.watches is None else flown.watches.of_lane(program, lane)
                pair += [] if found is None else [found[extreme][first_row + begun : first_row + len(each)]]
            if len(pair) == 2:
                known = True
                with np.errstate(invalid="ignore"):  # of a row in which there was no tick yet
                    each[begun:, entry] = np.fmax(each[begun:, entry], np.abs(pair[0] - pair[1]))
    return known


def _size(each: np.ndarray, healthy: np.ndarray, apart_s: float) -> tuple[float, float]:
    """Largest difference, and the smallest one that the part could show, of the entry [row, entry] that shows most.

    Rows that are farther apart than `NOISE_S` show motion, not noise: then rounding alone counts.
    """
    most = each.max(axis=0)
    if not len(healthy):  # the twin has only begun
        return float(most.max()), TINY
    changes = np.abs(np.diff(healthy, axis=0))
    fresh = [column[column > 0.0] for column in changes.T]  # rows with a new sample
    noise = np.array([np.median(column) if column.size and apart_s <= NOISE_S else 0.0 for column in fresh])
    least = np.maximum(np.maximum(NOISE_SHARE * noise, ROUNDING * np.abs(healthy).max(axis=0)), TINY)
    entry = int(np.argmax(most / least))
    return float(most[entry]), float(least[entry])


def _flying_rows(twin: Log, lane: int) -> int:
    """Rows until the twin has landed and disarmed: later differences only mean that one of the two still flies."""
    rows = twin.rows(lane)
    if at.NAVIGATOR.mode not in twin:
        return rows
    mode = twin.lane(at.NAVIGATOR.mode, lane)
    if not rows or mode[-1] != DISARMED:
        return rows
    flying = np.flatnonzero(mode != DISARMED)
    return int(flying[-1]) + 1 if flying.size else rows
