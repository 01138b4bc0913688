"""Plans: how values of the varied parameters of a case are combined.

All plans are pure functions. Random ones take their numbers from a hash of the seed, the names and the position in the
plan: there is no generator state, so one more parameter or sample does not change the others.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence

KINDS = ("one_by_one", "grid", "latin_hypercube", "pairwise", "monte_carlo")
MOST_EFFORT = 1e6  # of a covering array: some seconds
SAMPLED = ("latin_hypercube", "monte_carlo")  # need `samples`; the others need levels

Row = tuple[int, ...]  # the number of one level of each parameter


def uniform(seed: int, *labels: str | int) -> float:
    """A number in [0, 1) that depends on the seed and the labels alone."""
    return _share(hashlib.sha256(_joined(seed, *labels)))


def _joined(*labels: str | int) -> bytes:
    return "\x1f".join(map(str, labels)).encode()


def _share(hashed: hashlib._Hash) -> float:
    return (int.from_bytes(hashed.digest()[:8], "big") >> 11) / 2**53


def _uniforms(count: int, seed: int, *labels: str | int) -> list[float]:
    """`uniform` of the labels and each number below `count`; the common part is hashed once."""
    first, numbers = hashlib.sha256(_joined(seed, *labels, "")), []
    for number in range(count):
        hashed = first.copy()
        hashed.update(b"%d" % number)
        numbers.append(_share(hashed))
    return numbers


def shuffled(count: int, seed: int, *labels: str | int) -> list[int]:
    """The numbers 0 to count - 1 in random order."""
    return sorted(range(count), key=lambda i: uniform(seed, *labels, "order", i))


def one_by_one(sizes: Sequence[int], nominal: Sequence[int]) -> list[Row]:
    """The nominal point, then every other level of each parameter with the others at their nominal level."""
    rows = [tuple(nominal)]
    for place, size in enumerate(sizes):
        for level in range(size):
            if level != nominal[place]:
                rows.append((*nominal[:place], level, *nominal[place + 1 :]))
    return rows


def full_grid(sizes: Sequence[int]) -> list[Row]:
    """Every combination; the last parameter changes fastest."""
    return list(itertools.product(*(range(size) for size in sizes)))


def monte_carlo(samples: int, names: Sequence[str], seed: int, label: str) -> list[tuple[float, ...]]:
    """Independent shares in [0, 1), one per parameter and sample."""
    columns = [_uniforms(samples, seed, label, name) for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * samples


def latin_hypercube(samples: int, names: Sequence[str], seed: int, label: str) -> list[tuple[float, ...]]:
    """Shares in [0, 1): each of `samples` equal strata of each parameter is met exactly once, [McKay1979]."""
    columns = [shuffled(samples, seed, label, name) for name in names]
    return [
        tuple(
            (column[i] + uniform(seed, label, name, "within", i)) / samples
            for name, column in zip(names, columns, strict=True)
        )
        for i in range(samples)
    ]


def effort(sizes: Sequence[int], strength: int) -> float:
    """Approximate steps of a covering array: rows, times levels and groups of each added parameter."""
    ordered = sorted(sizes, reverse=True)
    rows = math.prod(ordered[: min(strength, len(sizes))])
    added = sum(size * math.comb(place, strength - 1) for place, size in enumerate(ordered) if place >= strength)
    return float(rows) * max(1, added)


def covering_array(sizes: Sequence[int], strength: int) -> list[Row]:
    """Rows in which every combination of levels of any `strength` parameters appears, [Lei2007]; few, not the fewest.

    Parameters are added one at a time, the greatest first: existing rows take the level that covers most open
    combinations, then rows are added for the rest. Several orders of ties are tried and the shortest array is kept.
    """
    strength = min(strength, len(sizes))
    if not sizes:
        return [()]
    order = sorted(range(len(sizes)), key=lambda place: (-sizes[place], place))
    ordered = [sizes[place] for place in order]
    best: list[list[int]] = []
    for attempt in range(8):
        rows = _grow(ordered, strength, attempt)
        if not best or len(rows) < len(best):
            best = rows
    back = [order.index(place) for place in range(len(sizes))]
    return sorted({tuple(row[place] for place in back) for row in best})


def _grow(sizes: Sequence[int], strength: int, attempt: int) -> list[list[int]]:
    rows = [list(row) for row in itertools.product(*(range(size) for size in sizes[:strength]))]
    for place in range(strength, len(sizes)):
        groups = list(itertools.combinations(range(place), strength - 1))
        # what is open: for each group of earlier parameters and each of its levels, the levels of the new parameter
        open_: set[tuple[int, tuple[int, ...], int]] = {
            (g, levels, new)
            for g, group in enumerate(groups)
            for levels in itertools.product(*(range(sizes[p]) for p in group))
            for new in range(sizes[place])
        }
        used = [0] * sizes[place]
        for number, row in enumerate(rows):
            gains = [_covered(row, new, groups, open_) for new in range(sizes[place])]
            turn = uniform(attempt, place, number)
            new = min(
                range(sizes[place]),
                key=lambda v: (-len(gains[v]), used[v], (v + int(turn * sizes[place])) % sizes[place]),
            )
            row.append(new)
            used[new] += 1
            open_ -= gains[new]
        for g, levels, new in sorted(open_):
            levels_at = dict(zip((*groups[g], place), (*levels, new), strict=True))
            for row in rows:  # a row whose free positions fit
                if all(row[p] in (-1, level) for p, level in levels_at.items()):
                    break
            else:
                row = [-1] * (place + 1)
                rows.append(row)
            for p, level in levels_at.items():
                row[p] = level
    used_levels = [[sum(row[p] == level for row in rows) for level in range(size)] for p, size in enumerate(sizes)]
    for row in rows:  # free places take the level that is rarest so far
        for p, level in enumerate(row):
            if level < 0:
                row[p] = min(range(sizes[p]), key=lambda v: (used_levels[p][v], v))
                used_levels[p][row[p]] += 1
    return rows


def _covered(
    row: Sequence[int], new: int, groups: Sequence[tuple[int, ...]], open_: set[tuple[int, tuple[int, ...], int]]
) -> set[tuple[int, tuple[int, ...], int]]:
    """The open combinations that a row covers if the new parameter takes this level there."""
    combinations = ((g, tuple(row[p] for p in group), new) for g, group in enumerate(groups))
    return {entry for entry in combinations if entry in open_}
