"""Binary search over commits of which some cannot be tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["good", "bad", "skipped"]


@dataclass(frozen=True)
class Found:
    """The first bad commit, or those among which it is, as the ones between cannot be tried."""

    candidates: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether it is one commit."""
        return len(self.candidates) == 1


def search(commits: Sequence[str], judge: Callable[[str], Outcome]) -> Found:
    """Find the first bad one of commits, oldest first: what is before them is good, and the last one is bad.

    Each question halves those that are left; one that cannot be tried is replaced by its nearest neighbour.
    """
    low, high = -1, len(commits) - 1  # the newest good one, the oldest bad one
    skipped: set[int] = set()
    while True:
        between = [place for place in range(low + 1, high) if place not in skipped]
        if not between:
            return Found(tuple(commits[low + 1 : high + 1]))
        middle = (low + high) / 2
        place = min(between, key=lambda one: (abs(one - middle), one))
        outcome = judge(commits[place])
        if outcome == "skipped":
            skipped.add(place)
        elif outcome == "good":
            low = place
        else:
            high = place
