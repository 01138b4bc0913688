"""Selector of redundant sensors: the first that is fresh, alive and in agreement with the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from ironbird.blocks.estimators.samples import OLDEST_S, flag, next_age
from ironbird.errors import ModelError
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import choose

Distance = Callable[[Sequence[ca.SX]], ca.SX]

MAGNETOMETER = {"mag_B": Out(unit="T", shape=3, frame="B", doc="magnetic field")}
FAR_OUT = 1e30  # larger than every usable value, for sorting
UNUSUAL = 3.0  # factor of the median distance: a difference that all sources show is no failure of one
BAROMETER = {"baro_height": Out(unit="m", doc="height above take-off")}


class Selector(Block):
    """Selects the first healthy one of several redundant sensors and passes on all its signals.
    The first signal of `carries` is the one compared.

    A source is left out while its stamp is old, its value stays exactly the same over many samples, or (three sources
    and more) its mean distance from the median was above the threshold within the hold time. With none left the last
    one is kept, its stamp is held (so that it does not count as fresh) and `healthy` is 0. Input ports carry the
    source's number: `mag_1_B`, `stamp_3`. Not modelled: blending, differences in time between sources.
    """

    source = "component-wise median and latched exclusion, closed form of this project"
    role = "estimator"

    stamp = Out(unit="s", doc="of the source in use")
    used = Out(unit="1", doc="number of the source in use, from 1")
    healthy = Out(unit="1", doc="0 if no source is fit for use")

    max_age = Param(unit="s", default=0.5, low=0.0, tunable=True, doc="a stamp that stands longer is old")
    stuck_samples = Param(unit="1", default=25.0, low=1.0, tunable=True, doc="equal samples until it counts as stuck")
    distance_time = Param(unit="s", default=0.2, low=1e-3, tunable=True, doc="over which the distance is averaged")
    hold_time = Param(unit="s", default=5.0, low=0.0, tunable=True, doc="out for at least this long after disagreement")

    def __init__(
        self,
        sources: int = 3,
        carries: Mapping[str, Out] | None = None,
        *,
        sample_s: float = 0.004,
    ) -> None:
        super().__init__(sample_s=sample_s)
        self.carries = dict(carries or MAGNETOMETER)
        if sources < 1:
            raise ModelError(f"a selector needs one source or more, not {sources}")
        self.sources = sources
        self.compared = next(iter(self.carries))
        first = self.carries[self.compared]
        for name, signal in self.carries.items():
            self.declare(name, signal)
            for i in range(sources):
                port = In(unit=signal.unit, shape=signal.shape, frame=signal.frame, doc=f"source {i + 1}: {signal.doc}")
                self.declare(numbered(name, i), port)
        for i in range(sources):
            self.declare(f"stamp_{i + 1}", In(unit="s", doc=f"time of the sample of source {i + 1}"))
            self.declare(f"faulty_{i + 1}", Out(unit="1", doc=f"1 while source {i + 1} is left out"))
        declare_watch(self, sources, first.size, 1)
        self.declare("used_last", State(unit="1", init=1.0, doc="source in use at the sample before"))
        self.declare("stamp_last", State(unit="s", init=0.0, doc="stamp handed on at the sample before"))
        self.declare(
            "threshold",
            Param(unit=first.unit, default=1e30, low=0.0, tunable=True, doc="distance from the median"),
        )

    def _look(self, x: View, u: View, p: View) -> tuple[Watch, ca.SX]:
        assert self.sample_s is not None
        values = [u[numbered(self.compared, i)] for i in range(self.sources)]
        stamps = [u[f"stamp_{i + 1}"] for i in range(self.sources)]
        parts = [[value] for value in values]
        seen = watch(parts, stamps, x, p, self.sample_s, lambda d: norm(d[0]) / p.threshold)
        return seen, self._choose(seen, x, u, p)

    def _choose(self, seen: Watch, x: View, u: View, p: View) -> ca.SX:
        """Number of the source to use: the first usable one, else the last one used."""
        used = x.used_last
        for i in reversed(range(self.sources)):
            used = ca.if_else(seen.usable[i], i + 1, used)
        return used

    def _stamp(self, seen: Watch, used: ca.SX, x: View, u: View) -> ca.SX:
        stamp = choose(used - 1, [u[f"stamp_{i + 1}"] for i in range(self.sources)])
        return ca.if_else(seen.count > 0.5, stamp, x.stamp_last)

    def update(self, x: View, u: View, p: View) -> Values:
        seen, used = self._look(x, u, p)
        return {**seen.states, "used_last": used, "stamp_last": self._stamp(seen, used, x, u)}

    def output(self, x: View, u: View, p: View) -> Values:
        seen, used = self._look(x, u, p)
        result: dict[str, ca.SX] = {
            name: choose(used - 1, [u[numbered(name, i)] for i in range(self.sources)]) for name in self.carries
        }
        result["stamp"] = self._stamp(seen, used, x, u)
        result["used"] = used
        result["healthy"] = flag(seen.count > 0.5)
        for i in range(self.sources):
            result[f"faulty_{i + 1}"] = 1 - flag(seen.usable[i])
        return result


def numbered(name: str, index: int) -> str:
    """Name of a port with the source's number before the frame: `mag_B` of the first is `mag_1_B`."""
    stem, _, frame = name.rpartition("_")
    if stem and frame in ("N", "B", "E", "I"):
        return f"{stem}_{index + 1}_{frame}"
    return f"{name}_{index + 1}"


# ---------------------------------------------------------------------- watching several like sensors


@dataclass
class Watch:
    """Result of a check of all sources: which are usable, the value they agree on, next states."""

    usable: list[ca.SX]  # conditions
    count: ca.SX  # number of usable ones
    agreed: list[ca.SX]  # by part: median of the usable ones
    distance: list[ca.SX]  # mean distance from it, in thresholds
    states: dict[str, ca.SX]


def declare_watch(block: Block, sources: int, size: int, parts: int) -> None:
    """Declare the states that `watch` needs, for sources of `size` numbers in `parts` separately checked parts."""
    block.declare("stamps", State(unit="s", shape=sources, init=0.0, doc="stamps at the sample before"))
    block.declare("ages", State(unit="s", shape=sources, init=OLDEST_S, doc="how long each stamp has stood"))
    block.declare("values", State(unit="1", shape=sources * size, init=0.0, doc="latest fresh values"))
    block.declare("same", State(unit="1", shape=sources * parts, init=0.0, doc="equal fresh samples in a row"))
    block.declare("distances", State(unit="1", shape=sources, init=0.0, doc="mean distance, in thresholds"))
    block.declare("holds", State(unit="s", shape=sources, init=0.0, doc="time for which a source stays out"))


def watch(
    values: Sequence[Sequence[ca.SX]],
    stamps: Sequence[ca.SX],
    x: View,
    p: View,
    sample_s: float,
    distance: Distance,
) -> Watch:
    """Check all sources: `values[i]` are the parts of source i; `distance` reduces their differences to one number."""
    n, parts = len(values), len(values[0])
    flat = [ca.vertcat(*value) for value in values]
    size = flat[0].rows()
    ages, same, usable = [], [], []
    for i in range(n):
        fresh = stamps[i] != x.stamps[i]
        ages.append(next_age(fresh, x.ages[i], sample_s))
        stuck = ca.SX(0)
        start = i * size
        for j in range(parts):
            old = x["values"][start : start + values[i][j].rows()]
            start += values[i][j].rows()
            change = ca.sum1(ca.fabs(values[i][j] - old))
            run = ca.if_else(change > 0, 0, x.same[i * parts + j] + 1)
            same.append(ca.if_else(fresh, run, x.same[i * parts + j]))
            stuck = ca.logic_or(stuck, same[-1] >= p.stuck_samples)
        fine = ca.logic_and(ages[i] <= p.max_age, ca.logic_not(stuck))
        usable.append(ca.logic_and(fine, x.holds[i] <= 0))
    number = [flag(condition) for condition in usable]
    count = sum(number, ca.SX(0))
    agreed = [_agreed([value[j] for value in values], number, count) for j in range(parts)]
    apart: list[ca.SX] = []
    holds = []
    for i in range(n):
        d = distance([values[i][j] - agreed[j] for j in range(parts)])
        apart.append(x.distances[i] + ca.fmin(sample_s / p.distance_time, 1) * (ca.fmin(d, 1e6) - x.distances[i]))
    usual = median(apart)  # vibration separates all of them
    for i in range(n):
        judged = count - number[i] > 1.5  # two others must agree before one is voted out
        out = ca.logic_and(apart[i] > ca.fmax(1, UNUSUAL * usual), judged)
        holds.append(ca.if_else(out, p.hold_time, ca.fmax(x.holds[i] - sample_s, 0)))
    return Watch(
        usable,
        count,
        agreed,
        apart,
        {
            "stamps": ca.vertcat(*stamps),
            "ages": ca.vertcat(*ages),
            "values": ca.vertcat(*flat),
            "same": ca.vertcat(*same),
            "distances": ca.vertcat(*apart),
            "holds": ca.vertcat(*holds),
        },
    )


def _agreed(values: Sequence[ca.SX], number: Sequence[ca.SX], count: ca.SX) -> ca.SX:
    """Component-wise median of the usable values; the mean of all if none is usable."""
    line = _in_order([ca.if_else(number[i] > 0.5, values[i], FAR_OUT) for i in range(len(values))])
    found = sum(values, ca.SX.zeros(values[0].rows())) / len(values)
    for usable in range(1, len(values) + 1):
        found = ca.if_else(ca.fabs(count - usable) < 0.5, _middle(line[:usable]), found)
    return found


def median(values: Sequence[ca.SX]) -> ca.SX:
    """Component-wise median of several vectors."""
    return _middle(_in_order(values))


def _in_order(values: Sequence[ca.SX]) -> list[ca.SX]:
    """The values sorted component by component, by exchanging neighbours."""
    line = list(values)
    for turn in range(len(line)):
        for i in range(turn % 2, len(line) - 1, 2):
            line[i], line[i + 1] = ca.fmin(line[i], line[i + 1]), ca.fmax(line[i], line[i + 1])
    return line


def _middle(line: Sequence[ca.SX]) -> ca.SX:
    """The middle of a sorted row, or the mean of the two in the middle."""
    middle = len(line) // 2
    return line[middle] if len(line) % 2 else 0.5 * (line[middle - 1] + line[middle])


def norm(v: ca.SX) -> ca.SX:
    """Euclidean length of a vector, without an offset at zero."""
    return ca.sqrt(ca.dot(v, v))
