"""Two logs of one program's own states, sample by sample: where they part first, and how far estimates are apart.

Logs of runs in virtual time with equal input have equal times, and are compared value by value. A log of another clock
or rate is compared at its own times by the newest sample of the other one that is not older than `LATE_S`.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

LATE_S = 0.05  # age of the sample that another clock's sample is compared with
COMMON = 0.5  # share of equal times from which on logs are compared value by value
FLOOR = 1.0  # differences are relative to the value from here on, absolute below
Table = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Parting:
    """The first sample of a topic in which two logs differ."""

    topic: str  # with its instance: estimator_states/1
    name: str  # of the field
    time_s: float
    first: float
    second: float

    def sentence(self) -> str:
        """Where, when, and both values."""
        return f"{self.time_s:.3f} s: {self.topic}.{self.name}, {self.first:.9g} and {self.second:.9g}"


@dataclass(frozen=True)
class TopicDifference:
    """How two logs of a topic differ: the field that is furthest apart, and the first sample that differs."""

    topic: str
    samples: int  # that were compared
    name: str  # of the field that is furthest apart
    largest: float  # difference; of a value beyond 1 as a share of it
    at_s: float
    parted: Parting | None  # first sample with any difference
    beyond: Parting | None  # first sample with a difference beyond the tolerance
    unpaired: int = 0  # samples of one log without a counterpart in the other
    time_s: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    differences: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # the largest of each sample


@dataclass
class LogComparison:
    """The comparison of two logs."""

    tolerance: float
    exact: bool  # compared value by value
    topics: list[TopicDifference]
    missing: list[str]  # topics of the first log that the second one lacks
    estimates: tuple[str, ...]  # patterns of the names of topics that are estimates

    def is_estimate(self, topic: str) -> bool:
        """Whether a topic is an estimate of the vehicle's state."""
        name = topic.partition("/")[0]
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.estimates)

    @property
    def parted(self) -> Parting | None:
        """The first sample of any topic that differs at all."""
        return _first([topic.parted for topic in self.topics])

    @property
    def beyond(self) -> Parting | None:
        """The first sample of an estimate that differs by more than the tolerance."""
        return _first([topic.beyond for topic in self.topics if self.is_estimate(topic.topic)])

    @property
    def largest(self) -> TopicDifference | None:
        """The estimate that is furthest apart."""
        found = [topic for topic in self.topics if self.is_estimate(topic.topic)]
        return max(found, key=lambda topic: topic.largest, default=None)

    @property
    def agrees(self) -> bool:
        """Whether all estimates agree within the tolerance, and there are some."""
        known = [topic for topic in self.topics if self.is_estimate(topic.topic) and topic.samples]
        return bool(known) and self.beyond is None and not any(self.is_estimate(name) for name in self.missing)


def _first(partings: Sequence[Parting | None]) -> Parting | None:
    return min((one for one in partings if one is not None), key=lambda one: one.time_s, default=None)


def compare_logs(
    first: Mapping[str, Table],
    second: Mapping[str, Table],
    *,
    estimates: tuple[str, ...],
    tolerance: float,
    left_out: tuple[str, ...] = (),
) -> LogComparison:
    """Compare topics by name and instance (each with `time_s`); topics named in `left_out` are of another clock."""
    names = [name for name in first if name.partition("/")[0] not in left_out]
    both = [name for name in names if name in second]
    exact = _share(first, second, both) > COMMON
    topics = [_topic(name, first[name], second[name], tolerance, exact) for name in both]
    missing = [name for name in names if name not in second]
    return LogComparison(tolerance, exact, [one for one in topics if one is not None], missing, estimates)


def _share(first: Mapping[str, Table], second: Mapping[str, Table], names: Sequence[str]) -> float:
    """Share of the samples of both logs that have a counterpart with exactly the same time."""
    common = sum(np.isin(first[name]["time_s"], second[name]["time_s"]).sum() for name in names)
    return float(common) / max(sum(len(first[name]["time_s"]) for name in names), 1)


def _topic(topic: str, first: Table, second: Table, tolerance: float, exact: bool) -> TopicDifference | None:
    a_s, b_s = np.asarray(first["time_s"]), np.asarray(second["time_s"])
    if exact:
        _, a, b = np.intersect1d(a_s, b_s, return_indices=True)
        unpaired = len(a_s) + len(b_s) - 2 * len(a)
    else:
        newest = np.searchsorted(b_s, a_s, side="right") - 1
        near = (newest >= 0) & (a_s - b_s[np.maximum(newest, 0)] <= LATE_S)
        a, b = np.nonzero(near)[0], newest[near]
        unpaired = len(a_s) - len(a)
    fields = [name for name in first if name in second and name != "time_s"]
    if not fields:
        return None
    time_s = a_s[a]
    worst, most, at, whole = fields[0], -1.0, 0, np.zeros(len(a))
    parted: Parting | None = None
    beyond: Parting | None = None
    for name in fields:
        left, right = np.asarray(first[name])[a], np.asarray(second[name])[b]
        differ = _apart(left, right)
        whole = np.maximum(whole, differ)
        parted = _earlier(parted, topic, name, time_s, left, right, differ > 0)
        beyond = _earlier(beyond, topic, name, time_s, left, right, differ > tolerance)
        if len(differ) and (place := int(np.argmax(differ))) is not None and differ[place] > most:
            worst, most, at = name, float(differ[place]), place
    at_s = float(time_s[at]) if len(time_s) else math.nan
    return TopicDifference(topic, len(a), worst, max(most, 0.0), at_s, parted, beyond, unpaired, time_s, whole)


def _apart(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Differences of two columns, relative beyond 1; infinite where only one is a number."""
    a, b = left.astype(float), right.astype(float)
    equal = (left == right) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(a - b) / np.maximum(np.abs(a), FLOOR)
    return np.where(equal, 0.0, np.where(np.isfinite(size), size, np.inf))


def _earlier(
    known: Parting | None,
    topic: str,
    name: str,
    time_s: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    differ: np.ndarray,
) -> Parting | None:
    if not differ.any():
        return known
    place = int(np.argmax(differ))
    if known is not None and known.time_s <= time_s[place]:
        return known
    return Parting(topic, name, float(time_s[place]), float(left[place]), float(right[place]))
