"""`ib.case_check` and `ib.search`: problems of case files, and flights that fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ironbird.campaign import search as searching
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.search import Candidate, Shrunk, falsify
from ironbird.campaign.suite import check, planned_case
from ironbird.files.problems import Problem
from ironbird.files.whole import write_text


def case_check(file: str | Path) -> list[Problem]:
    """Check a case or suite file without flying it: `ironbird case check`.

    Parameters
    ----------
    file : str or Path
        A TOML file, or the name of a built-in suite.

    Returns
    -------
    list of Problem
        Everything that is wrong, in the order of the file; empty if it can be flown.

    Examples
    --------
    >>> ib.case_check("safety")
    []
    >>> for problem in ib.case_check("mine.toml"):  # doctest: +SKIP
    ...     print(problem)
    mine.toml:9:24: case.gust.wind.speed_mps.list: unknown key 'list'; did you mean 'set'?
    """
    return check(file)


@dataclass(frozen=True)
class SearchResult:
    """What a search for failing flights found.

    Attributes
    ----------
    flown : list of Candidate
        All flights in the order of the search, each with `case` and `result`.
    smallest : Shrunk or None
        The smallest flight found that still fails, with `case`, `result` and `sentence()`; None if no flight failed, or
        it was not asked for.
    """

    flown: list[Candidate]
    smallest: Shrunk | None = None

    @property
    def failing(self) -> list[Candidate]:
        """Flights that failed, in the order of the search."""
        return searching.Falsification(self.flown).failing

    @property
    def worst(self) -> Candidate:
        """The flight with the smallest margin, as `case` and `result`."""
        return searching.Falsification(self.flown).worst

    @property
    def case(self) -> FlightCase:
        """The flight to look at: the smallest that fails, or else the one with the smallest margin."""
        return self.smallest.case if self.smallest is not None else self.worst.case

    @property
    def result(self) -> FlightResult:
        """Its result."""
        return self.smallest.result if self.smallest is not None else self.worst.result

    def sentence(self) -> str:
        """The result in words: how many flights failed, the worst one, and the smallest that fails."""
        found = searching.Falsification(self.flown).sentence()
        small = self.smallest
        return found if small is None else f"{found}; smallest found ({small.flown} more flights): {small.sentence()}"

    def write(self, path: str | Path) -> Path:
        """Write `case` as a case file that `ib.campaign` flies.

        Parameters
        ----------
        path : str or Path
            TOML file to write.

        Returns
        -------
        Path
            The file.
        """
        write_text(Path(path), self.case.to_toml())
        return Path(path)

    def __repr__(self) -> str:
        return f"<SearchResult: {self.sentence()}>"


def search(
    suite: str | Path,
    case: str | None = None,
    *,
    trials: int = 200,
    seed: int = 0,
    shrink: bool = True,
    by: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> SearchResult:
    """Look for values of a case's varied parameters at which its requirements break: `ironbird campaign search`.

    A tree-structured Parzen estimator (Optuna) proposes points in rounds of 32, which fly side by side in this process.
    Equal arguments give equal results.

    Parameters
    ----------
    suite : str or Path
        A case or suite file (TOML), or the name of a built-in suite. The case must have something that varies, for
        example `severity = { uniform = [0, 1], steps = 5 }`.
    case : str, optional
        Id of the case; needed if the file has several.
    trials : int, default 200
        Number of flights to spend, without those of shrinking.
    seed : int, default 0
        Seed of the search.
    shrink : bool, default True
        Make the worst failing flight smaller as long as it fails by the same requirement.
    by : str, optional
        Name of that requirement; by default the most severe that the worst flight breaks.
    progress : callable, optional
        Called with the share of the trials that are flown, 0 to 1.

    Returns
    -------
    SearchResult
        All flights, the worst one, and the smallest that fails.

    Raises
    ------
    CaseError
        If the file has problems.
    UnknownNameError
        If the file has no such case.
    OrderError
        If the file has several cases and none is named.
    IronbirdError
        If nothing varies, or no flight could be judged.

    Examples
    --------
    >>> found = ib.search("weak.toml", trials=64)  # doctest: +SKIP
    >>> found.write("worst.toml")  # doctest: +SKIP
    PosixPath('worst.toml')
    """
    found = falsify(planned_case(suite, case), trials=trials, seed=seed, progress=progress)
    small = searching.shrink(found.worst.case, by=by) if shrink and found.failing else None
    return SearchResult(found.flown, small)
