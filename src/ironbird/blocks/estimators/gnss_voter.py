"""Voter of satellite receivers: selects the one that agrees with the others, with itself, and with the estimate."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ironbird.blocks.estimators.samples import OLDEST_S, flag, next_age
from ironbird.blocks.estimators.selector import norm, numbered
from ironbird.errors import ModelError
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import choose

GNSS = {
    "gnss_position_N": Out(unit="m", shape=3, frame="N", doc="position from the take-off point"),
    "gnss_velocity_N": Out(unit="m/s", shape=3, frame="N", doc="velocity over ground"),
    "gnss_fix": Out(unit="1", doc="3 and above is a three-dimensional fix"),
    "gnss_eph": Out(unit="m", doc="standard deviation of each horizontal component"),
    "gnss_epv": Out(unit="m", doc="standard deviation of the height"),
    "gnss_speed_accuracy": Out(unit="m/s", doc="standard deviation of each velocity component"),
}
LONGEST_STEP_S = 1.5  # s between samples whose positions are compared
SUPPORT = 1e3  # weight of an agreeing receiver: more than any doubt
MOST_DOUBT = 1e2
HEIGHT_M = 5.0  # m of difference from the barometer that count as much as a threshold


class GnssVoter(Block):
    """Selects the most trusted of several GNSS receivers and passes on all its signals. Sampled.

    A receiver is left out while a stamp of its position or velocity is old, one of them stays exactly the same, it has
    no fix, or, for `hold_time`, its positions did not move according to its velocity (a leaking sum of the difference),
    or it disagrees with the one in use. Of the others, the one that agrees with most others in position and velocity is
    used; among equals the one with the least doubt: its own inconsistency, the distance of its velocity from the
    estimate, and of its height from the barometer. The one in use keeps an advantage. So of two that begin to disagree
    the one that jumped is left, before the estimate follows it. If none is usable the least bad one is passed on, with
    its stamps unchanged, and `agreed` and `healthy` are 0.

    `agreed` is the number of receivers that agree with the one in use, itself included. Position and velocity have
    stamps of their own. If a barometer's climb differs from that of a receiver with consistent position and velocity,
    the barometer is wrong: `baro_sound` is 0 for `hold_time`. Not modelled: blending, offsets of antennas.
    """

    source = "agreement, self-consistency and innovation, closed form of this project"
    role = "estimator"

    v_NB_N = In(unit="m/s", shape=3, frame="N", default=0.0, doc="estimated velocity")
    baro_height = In(unit="m", default=0.0, doc="height above take-off")
    stamp = Out(unit="s", doc="of the position in use")
    velocity_stamp = Out(unit="s", doc="of the velocity in use")
    used = Out(unit="1", doc="number of the receiver in use, from 1")
    agreed = Out(unit="1", doc="receivers that agree, with the one in use; 0 if none is fit")
    healthy = Out(unit="1", doc="0 if no receiver is fit for use")
    baro_sound = Out(unit="1", doc="0 while position and velocity of a receiver contradict the barometer")

    max_age = Param(unit="s", default=0.5, low=0.0, tunable=True, doc="a stamp that stands longer is old")
    stuck_samples = Param(unit="1", default=4.0, low=1.0, tunable=True, doc="equal samples until it counts as stuck")
    min_fix = Param(unit="1", default=3.0, low=0.0, tunable=True, doc="a lower fix is left out")
    sum_time = Param(unit="s", default=8.0, low=0.1, tunable=True, doc="memory of the sum of contradictions")
    sum_limit = Param(unit="1", default=2.5, low=0.1, tunable=True, doc="in stated accuracies: contradicts itself")
    apart = Param(unit="1", default=5.0, low=0.1, tunable=True, doc="in stated accuracies: two positions disagree")
    speed_apart = Param(unit="m/s", default=0.7, low=1e-3, tunable=True, doc="two mean velocities disagree")
    climb_limit = Param(unit="m", default=3.0, low=0.1, tunable=True, doc="sum of height that the barometer is off")
    speed_jump = Param(unit="m/s", default=1.0, low=1e-3, tunable=True, doc="two velocities of now disagree")
    speed_off = Param(unit="m/s", default=1.0, low=1e-3, tunable=True, doc="away from the estimate: as bad as a limit")
    speed_time = Param(unit="s", default=1.0, low=1e-2, tunable=True, doc="over which velocities are averaged")
    hold_time = Param(unit="s", default=10.0, low=0.0, tunable=True, doc="out for at least this long")
    advantage = Param(unit="1", default=0.5, low=0.0, tunable=True, doc="of the one in use, in doubt")

    def __init__(self, sources: int = 2, *, sample_s: float = 0.02) -> None:
        super().__init__(sample_s=sample_s)
        if sources < 1:
            raise ModelError(f"a voter needs one receiver or more, not {sources}")
        self.sources = sources
        for name, signal in GNSS.items():
            self.declare(name, signal)
            for i in range(sources):
                port = In(unit=signal.unit, shape=signal.shape, frame=signal.frame, doc=f"source {i + 1}: {signal.doc}")
                self.declare(numbered(name, i), port)
        for i in range(1, sources + 1):
            self.declare(f"stamp_{i}", In(unit="s", doc=f"time of the position of source {i}"))
            self.declare(f"velocity_stamp_{i}", In(unit="s", doc=f"time of the velocity of source {i}"))
            self.declare(f"faulty_{i}", Out(unit="1", doc=f"1 while source {i} is left out"))
        for name, unit, size, init, doc in (
            ("stamps", "s", 2, 0.0, "of position and velocity, at the sample before"),
            ("ages", "s", 2, OLDEST_S, "how long they have stood"),
            ("same", "1", 2, 0.0, "equal fresh samples in a row"),
            ("positions", "m", 3, 0.0, "latest"),
            ("velocities", "m/s", 3, 0.0, "latest"),
            ("sums", "m", 3, 0.0, "by how much the position moved more than the velocity says"),
            ("means", "m/s", 3, 0.0, "mean velocity less the estimated one"),
            ("holds", "s", 1, 0.0, "time for which it stays out"),
        ):
            self.declare(name, State(unit=unit, shape=sources * size, init=init, doc=f"of each receiver: {doc}"))
        self.declare("used_last", State(unit="1", init=1.0, doc="receiver in use at the sample before"))
        self.declare("baro_last", State(unit="m", init=0.0, doc="height at the latest fix"))
        self.declare("baro_sum", State(unit="m", init=0.0, doc="by how much the barometer climbed more"))
        self.declare("baro_hold", State(unit="s", init=0.0, doc="time for which it is not trusted"))

    def _receiver(self, i: int, x: View, u: View, p: View) -> _Receiver:
        """State and doubts of one receiver at this sample."""
        assert self.sample_s is not None
        two, three = slice(2 * i, 2 * i + 2), slice(3 * i, 3 * i + 3)
        stamps = ca.vertcat(u[f"stamp_{i + 1}"], u[f"velocity_stamp_{i + 1}"])
        position, velocity = u[numbered("gnss_position_N", i)], u[numbered("gnss_velocity_N", i)]
        last_position, last_velocity = x.positions[three], x.velocities[three]
        fresh = [stamps[k] != x.stamps[two][k] for k in range(2)]
        ages = [next_age(fresh[k], x.ages[two][k], self.sample_s) for k in range(2)]
        same = []
        for k, (new, old) in enumerate(((position, last_position), (velocity, last_velocity))):
            run = ca.if_else(ca.sum1(ca.fabs(new - old)) > 0, 0, x.same[two][k] + 1)
            same.append(ca.if_else(fresh[k], run, x.same[two][k]))
        # Positions against velocities, between two fixes
        step_s = stamps[0] - x.stamps[two][0]
        moved = position - last_position - 0.5 * (velocity + last_velocity) * step_s
        follows = ca.logic_and(ca.logic_and(step_s > 0, step_s < LONGEST_STEP_S), x.stamps[two][0] > 0)
        sums = ca.if_else(follows, (x.sums[three] + moved) * (1 - ca.fmin(step_s / p.sum_time, 1)), ca.SX.zeros(3))
        sums = ca.if_else(fresh[0], sums, x.sums[three])
        off = velocity - u.v_NB_N
        passed_s = ca.fmax(step_s, 0)  # stamps that go back are ignored
        share = passed_s / (p.speed_time + passed_s)
        means = ca.if_else(fresh[0], x.means[three] + share * (off - x.means[three]), x.means[three])
        stated = ca.vertcat(u[numbered("gnss_eph", i)], u[numbered("gnss_eph", i)], u[numbered("gnss_epv", i)])
        stated = ca.fmax(stated, SMALLEST_M)
        contradiction = ca.fmin(norm(sums / stated) / p.sum_limit, MOST_DOUBT)
        hold = ca.if_else(contradiction > 1, p.hold_time, ca.fmax(x.holds[i] - self.sample_s, 0))
        whole = ca.logic_and(ages[0] <= p.max_age, ages[1] <= p.max_age)
        alive = ca.logic_and(ca.fmax(same[0], same[1]) < p.stuck_samples, u[numbered("gnss_fix", i)] >= p.min_fix)
        height = (position[2] + u.baro_height) / HEIGHT_M
        innovation = (ca.dot(means, means) + ca.dot(off, off)) / p.speed_off**2
        return _Receiver(
            states={
                "stamps": stamps, "ages": ca.vertcat(*ages), "same": ca.vertcat(*same), "positions": position,
                "velocities": velocity, "sums": sums, "means": means, "holds": hold,
            },
            fresh=fresh[0],
            follows=ca.logic_and(fresh[0], follows),
            kept=1 - ca.fmin(step_s / p.sum_time, 1),
            climbed=-0.5 * (velocity[2] + last_velocity[2]) * step_s,
            position=position,
            velocity=velocity,
            means=means,
            stated=stated,
            usable=ca.logic_and(ca.logic_and(whole, alive), x.holds[i] <= 0),
            poor=ca.logic_not(ca.logic_and(whole, alive)),
            doubt=ca.fmin(contradiction**2 + innovation + height**2, MOST_DOUBT),
        )  # fmt: skip

    def _look(self, x: View, u: View, p: View) -> _Vote:
        """Evaluate all receivers: the one to use, and how many agree with it."""
        seen = [self._receiver(i, x, u, p) for i in range(self.sources)]
        agree = [[_agree(one, other, p) if one is not other else ca.SX(1) for other in seen] for one in seen]
        used, best, agreed = x.used_last, ca.SX(-3 * SUPPORT), ca.SX(0)
        fit = sum((flag(one.usable) for one in seen), ca.SX(0))
        for i, one in enumerate(seen):
            support = sum((flag(ca.logic_and(seen[j].usable, agree[i][j])) for j in range(self.sources)), ca.SX(0))
            worth = ca.if_else(one.usable, SUPPORT * support, -SUPPORT - ca.if_else(one.poor, 2 * MOST_DOUBT, 0))
            # While no other contradicts the receiver in use there is no reason to leave it
            stays = ca.if_else(support > 1.5, 2 * MOST_DOUBT, p.advantage)
            rank = worth - one.doubt + ca.if_else(x.used_last == i + 1, stays, 0)
            better = rank > best
            used, best = ca.if_else(better, i + 1, used), ca.if_else(better, rank, best)
            agreed = ca.if_else(better, ca.if_else(one.usable, support, 0), agreed)
        for i, one in enumerate(seen):
            alone = ca.logic_not(choose(used - 1, [ca.SX(row[i]) for row in agree]))
            outvoted = ca.logic_and(ca.logic_and(alone, one.usable), agreed > 0.5)
            one.states["holds"] = ca.if_else(outvoted, p.hold_time, one.states["holds"])
        return _Vote(seen, used, agreed, fit)

    def _stamps(self, used: ca.SX, u: View) -> ca.SX:
        return choose(
            used - 1,
            [ca.vertcat(u[f"stamp_{i + 1}"], u[f"velocity_stamp_{i + 1}"]) for i in range(self.sources)],
        )

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        vote = self._look(x, u, p)
        seen, used = vote.seen, vote.used
        fresh, follows, kept, climbed = (
            choose(used - 1, [getattr(one, name) for one in seen]) for name in ("fresh", "follows", "kept", "climbed")
        )
        baro_sum = kept * (x.baro_sum + u.baro_height - x.baro_last - climbed)
        baro_sum = ca.if_else(follows > 0.5, baro_sum, x.baro_sum)
        wrong = ca.logic_and(ca.fabs(baro_sum) > p.climb_limit, vote.agreed > 0.5)
        states = {name: ca.vertcat(*[one.states[name] for one in seen]) for name in seen[0].states}
        return {
            **states,
            "used_last": used,
            "baro_last": ca.if_else(fresh > 0.5, u.baro_height, x.baro_last),
            "baro_sum": ca.if_else(used == x.used_last, baro_sum, 0),
            "baro_hold": ca.if_else(wrong, p.hold_time, ca.fmax(x.baro_hold - self.sample_s, 0)),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        vote = self._look(x, u, p)
        result: dict[str, ca.SX] = {
            name: choose(vote.used - 1, [u[numbered(name, i)] for i in range(self.sources)]) for name in GNSS
        }
        stamps = self._stamps(vote.used, u)
        result |= {"stamp": stamps[0], "velocity_stamp": stamps[1], "used": vote.used, "agreed": vote.agreed}
        result["healthy"] = flag(vote.fit > 0.5)
        result["baro_sound"] = flag(x.baro_hold <= 0)
        for i, one in enumerate(vote.seen):
            result[f"faulty_{i + 1}"] = 1 - flag(one.usable)
        return result


SMALLEST_M = 1e-3  # accuracy that a receiver states at best


@dataclass
class _Receiver:
    """One receiver at this sample."""

    states: dict[str, ca.SX]  # next states
    fresh: ca.SX  # a new fix
    follows: ca.SX  # a fix shortly after the previous one
    kept: ca.SX  # share of a sum that is kept then
    climbed: ca.SX  # climb between the two fixes, by velocity
    position: ca.SX
    velocity: ca.SX
    means: ca.SX
    stated: ca.SX
    usable: ca.SX
    poor: ca.SX  # not even complete and fresh
    doubt: ca.SX


@dataclass
class _Vote:
    """Result of the evaluation of all receivers."""

    seen: list[_Receiver]
    used: ca.SX
    agreed: ca.SX  # number that agree with the one in use, itself included
    fit: ca.SX  # number of usable receivers


def _agree(one: _Receiver, other: _Receiver, p: View) -> ca.SX:
    """Whether two receivers agree in position and velocity."""
    far = 2 * norm((one.position - other.position) / (one.stated + other.stated)) / p.apart
    fast = ca.fmax(norm(one.means - other.means) / p.speed_apart, norm(one.velocity - other.velocity) / p.speed_jump)
    return ca.fmax(far, fast) < 1
