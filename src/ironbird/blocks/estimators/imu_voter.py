"""Voter of inertial units: one accelerometer and gyro out of several, without a failing one."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.estimators.samples import flag
from ironbird.blocks.estimators.selector import Watch, declare_watch, norm, watch
from ironbird.errors import ModelError
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param

SECOND = 4.0  # thresholds by which the last two of three or more units may differ: vibration, not a second failure


class ImuVoter(Block):
    """Combines redundant inertial units into one measurement and leaves out faulty ones.
    Component-wise median of all usable units; the mean of two; the one that is left.

    A unit is left out while its stamp is old or its accelerometer or gyro gives exactly the same numbers over many
    samples; with three or more also if its mean distance from the median was above a threshold and well above that of
    the others within the hold time (for bias and noise; vibration separates all of them and votes none out). If two
    disagree, neither can be preferred: the output is their mean and `healthy` is 0; the last two of three or more must
    differ more for that. With none left the median of all is given and `healthy` is 0. A sensor at rest whose noise is
    below its resolution repeats itself for a while, and a noise-free one looks stuck: raise `stuck_samples` then. Not
    modelled: lever arms between units, different mounting, temperature.
    """

    source = "component-wise median and latched exclusion, closed form of this project"
    role = "estimator"

    accel_B = Out(unit="m/s^2", shape=3, frame="B", doc="specific force")
    gyro_B = Out(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    stamp = Out(unit="s", doc="newest of the units in use")
    used = Out(unit="1", doc="number of the unit in use if it is one alone, from 1; 0 is a median or mean")
    healthy = Out(unit="1", doc="0 if no unit is fit for use, or the two that are disagree")

    accel_threshold = Param(
        unit="m/s^2", default=1.0, low=1e-6, tunable=True, doc="mean distance that votes a unit out"
    )
    gyro_threshold = Param(unit="rad/s", default=0.1, low=1e-6, tunable=True, doc="mean distance that votes a unit out")
    max_age = Param(unit="s", default=0.02, low=0.0, tunable=True, doc="a stamp that stands longer is old")
    stuck_samples = Param(unit="1", default=25.0, low=1.0, tunable=True, doc="equal samples until it counts as stuck")
    distance_time = Param(unit="s", default=0.1, low=1e-3, tunable=True, doc="over which the distance is averaged")
    hold_time = Param(unit="s", default=5.0, low=0.0, tunable=True, doc="out for at least this long after disagreement")

    def __init__(self, imus: int = 3, *, sample_s: float = 0.004) -> None:
        super().__init__(sample_s=sample_s)
        if imus < 1:
            raise ModelError(f"a voter needs one unit or more, not {imus}")
        self.imus = imus
        for i in range(1, imus + 1):
            self.declare(f"accel_{i}_B", In(unit="m/s^2", shape=3, frame="B", doc=f"specific force of unit {i}"))
            self.declare(f"gyro_{i}_B", In(unit="rad/s", shape=3, frame="B", doc=f"angular velocity of unit {i}"))
            self.declare(f"stamp_{i}", In(unit="s", doc=f"time of the sample of unit {i}"))
            self.declare(f"faulty_{i}", Out(unit="1", doc=f"1 while unit {i} is left out"))
        declare_watch(self, imus, 6, 2)

    def _look(self, x: View, u: View, p: View) -> Watch:
        assert self.sample_s is not None
        numbers = range(1, self.imus + 1)
        return watch(
            [[u[f"accel_{i}_B"], u[f"gyro_{i}_B"]] for i in numbers],
            [u[f"stamp_{i}"] for i in numbers],
            x,
            p,
            self.sample_s,
            lambda d: ca.fmax(norm(d[0]) / p.accel_threshold, norm(d[1]) / p.gyro_threshold),
        )

    def update(self, x: View, u: View, p: View) -> Values:
        return dict(self._look(x, u, p).states)

    def output(self, x: View, u: View, p: View) -> Values:
        seen = self._look(x, u, p)
        stamp = newest = ca.SX(0)
        used = worst = ca.SX(0)
        for i in range(self.imus):
            newest = ca.fmax(newest, u[f"stamp_{i + 1}"])
            stamp = ca.fmax(stamp, ca.if_else(seen.usable[i], u[f"stamp_{i + 1}"], 0))
            used = used + ca.if_else(seen.usable[i], i + 1, 0)
            worst = ca.fmax(worst, ca.if_else(seen.usable[i], seen.distance[i], 0))
        two = ca.fabs(seen.count - 2) < 0.5
        undecided = ca.logic_and(two, worst > (1 if self.imus == 2 else SECOND))
        some = seen.count > 0.5
        result: dict[str, ca.SX] = {
            "accel_B": seen.agreed[0], "gyro_B": seen.agreed[1], "stamp": ca.if_else(some, stamp, newest),
            "used": ca.if_else(ca.fabs(seen.count - 1) < 0.5, used, 0),
            "healthy": flag(ca.logic_and(some, ca.logic_not(undecided))),
        }  # fmt: skip
        for i in range(self.imus):
            result[f"faulty_{i + 1}"] = 1 - flag(seen.usable[i])
        return result
