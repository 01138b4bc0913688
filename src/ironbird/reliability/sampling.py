"""Monte Carlo over a vehicle's life, plain and with importance sampling.

Losses in single flights are rare: 1e-5 needs millions of plain draws. Importance sampling draws failures of parts far
more often than they happen (failure biasing) and weights each draw by the ratio of the true to the drawn probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.errors import RecordError
from ironbird.reliability.tree import Tree

LEVEL = 1.959964
CHUNK = 200_000


@dataclass(frozen=True)
class Sampled:
    """A probability with its 95 % interval."""

    value: float
    sigma: float
    draws: int

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of the 95 % interval, not below zero."""
        return max(0.0, self.value - LEVEL * self.sigma), self.value + LEVEL * self.sigma


def flight_loss(
    tree: Tree, age_h: float, hours: float, *, draws: int = 10_000, biased: bool = True, seed: int = 0
) -> Sampled:
    """Probability to lose the vehicle in one flight of `hours`, with parts of age `age_h`.

    Biased: failure probabilities of parts are raised until about half of the draws contain an event.
    """
    if draws < 100:
        raise RecordError(f"{draws} draws say nothing; take 100 at least")
    random = np.random.default_rng(seed)
    true = np.array([e.part_probability(age_h, hours) for e in tree.events])
    counts = np.array([e.count for e in tree.events])
    needed = np.array([e.bearable + 1 for e in tree.events])
    lost = np.array([e.lost for e in tree.events])
    drawn = true
    if biased:
        # each event is about equally likely, and half of the draws contain one
        event_share = 0.5 / len(tree.events)
        drawn = np.clip(
            (event_share / np.array([math.comb(c, k) for c, k in zip(counts, needed, strict=True)])) ** (1 / needed),
            true,
            0.5,
        )
    total = squared = 0.0
    left = draws
    while left > 0:
        size = min(left, CHUNK)
        left -= size
        failed = random.binomial(counts, drawn, (size, len(counts)))
        log_weight = np.zeros(size)
        if biased:
            up = np.log(np.maximum(true, 1e-300)) - np.log(drawn)
            down = np.log1p(-true) - np.log1p(-drawn)
            log_weight = (failed * up + (counts - failed) * down).sum(axis=1)
        happens = failed >= needed
        # the vehicle survives if it tolerates every event that happens
        loses = 1 - np.prod(np.where(happens, 1 - lost, 1.0), axis=1)
        values = np.exp(log_weight) * loses
        total += float(values.sum())
        squared += float((values**2).sum())
    mean = total / draws
    return Sampled(mean, math.sqrt(max(squared / draws - mean**2, 0.0) / draws), draws)


def life_losses(tree: Tree, flight_h: float, flights: int, *, vehicles: int = 10_000, seed: int = 0) -> np.ndarray:
    """Share of vehicles lost by the end of each flight: plain Monte Carlo over lives, parts are not replaced."""
    if flights < 1 or vehicles < 100 or flight_h <= 0:
        raise RecordError("give at least one flight of positive length and 100 vehicles")
    random = np.random.default_rng(seed)
    ends = np.full(vehicles, np.inf)
    for event in tree.events:
        times = np.sort(event.kind.life.drawn(0.0, random.random((vehicles, event.count))), axis=1)
        when = times[:, event.bearable]
        borne = random.random(vehicles) >= event.lost
        ends = np.minimum(ends, np.where(borne, np.inf, when))
    return np.asarray([float(np.mean(ends <= flight_h * n)) for n in range(1, flights + 1)])
