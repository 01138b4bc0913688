"""`ib.campaign` and `ib.open_campaign`: a suite flown in one line, and its results as an object."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ironbird.campaign.difference import check_meaning, compare
from ironbird.campaign.session import begun_campaign, store_with
from ironbird.errors import IronbirdWarning, StoreError
from ironbird.flight.words import VERDICTS
from ironbird.report.campaign_folder import write_campaign_folder
from ironbird.report.picture import Picture
from ironbird.report.pictures import campaign_picture
from ironbird.report.table import table_of, write_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from ironbird.campaign.case import FlightCase
    from ironbird.campaign.difference import Difference
    from ironbird.campaign.result import FlightResult
    from ironbird.campaign.runner import Progress
    from ironbird.campaign.store import Campaign as StoredCampaign
    from ironbird.campaign.store import Store
    from ironbird.flight.flight import Flight


class Campaign:
    """A campaign that is stored: its flights, verdicts, table and report.

    `ib.campaign` flies one, `ib.open_campaign` opens one that was flown before. Results are read once, when they are
    first needed.

    Attributes
    ----------
    name : str
        Name of the campaign in its store.
    title : str
        Title of the suite; empty if it has none.
    folder : Path
        Folder of the campaign: traces, and the report if no other folder is given.

    Examples
    --------
    >>> campaign = ib.campaign("weak.toml", name="weak")  # doctest: +SKIP
    >>> campaign  # doctest: +SKIP
    <Campaign 'weak': 83 flights, 80 pass, 3 fail>
    >>> campaign.frame().groupby("case").margin.min()  # doctest: +SKIP

    Notes
    -----
    Columns of `frame()`, and of the tables that `write` makes:

    | column | unit | meaning |
    | --- | --- | --- |
    | `flight` | - | Id of the flight: case, point of the plan, seed. |
    | `case` | - | Id of its case. |
    | `seed` | - | Seed of wind and noise. |
    | `verdict` | - | pass, fail, void or error. |
    | `margin` | SI | Smallest margin over all requirements; negative if one is broken. |
    | `score` | 1 | Graded outcome: 1 is safe, 0 is lost. |
    | `level` | - | The score as a word. |
    | `ended_s` | s | Time at which the flight ended. |
    | `impact_mps` | m/s | Speed of the impact in a crash, else 0. |
    | `sha256` | - | Hash of the flight's log. |
    | `value:NAME` | as in the case | One column for each varied parameter. |
    | `margin:NAME` | SI | One column for each requirement: m, rad, s; infinite if it is only true or false. |
    | `sentence` | - | Why the verdict is what it is, in words. |
    """

    def __init__(self, store: Store, stored: StoredCampaign) -> None:
        self._store, self._stored = store, stored
        self._results: list[FlightResult] | None = None
        self.name, self.title, self.folder = stored.name, stored.title, store.folder / stored.name

    def __repr__(self) -> str:
        said = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items() if count)
        return f"<Campaign '{self.name}': {len(self)} flights{', ' if said else ''}{said}>"

    def __len__(self) -> int:
        """Number of flights, judged or not."""
        return sum(self.verdicts.values())

    @property
    def flights(self) -> list[FlightResult]:
        """Results of all judged flights in the order of the plan, as `ib.FlightResult`."""
        if self._results is None:
            with self._reading() as store:
                self._results = store.results(self._stored)
        return self._results

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of flights by verdict: pass, fail, void, error, and open (not flown yet)."""
        counts = {verdict: sum(flight.verdict == verdict for flight in self.flights) for verdict in VERDICTS}
        with self._reading() as store:
            return {**counts, "open": store.counts(self._stored)["open"]}

    @property
    def as_expected(self) -> bool:
        """Whether all flights are judged, and each came out as its case says; the command then has exit code 0."""
        return bool(self.flights) and not self.verdicts["open"] and all(flight.as_expected for flight in self.flights)

    def frame(self) -> DataFrame:
        """All results as a table, one row per flight.

        Returns
        -------
        pandas.DataFrame
            Its columns are listed under Notes of this class.

        Raises
        ------
        StoreError
            If pandas is not installed.
        """
        try:
            import pandas  # noqa: F401
        except ModuleNotFoundError:
            raise StoreError("pandas is not installed: pip install pandas, or use campaign.flights") from None
        return table_of(self.flights).to_pandas()

    def write(self, path: str | Path) -> Path:
        """Write all results as a table.

        Parameters
        ----------
        path : str or Path
            File that ends in `.csv`, `.parquet` or `.json`.

        Returns
        -------
        Path
            The file.
        """
        write_table(self.flights, Path(path))
        return Path(path)

    def report(self, folder: str | Path | None = None) -> Path:
        """Write the page of the campaign, with `results.json` and `junit.xml` beside it.

        Parameters
        ----------
        folder : str or Path, optional
            Folder to write into; the campaign's own by default.

        Returns
        -------
        Path
            The page, `report.html`.
        """
        with self._reading() as store:
            return write_campaign_folder(store, self._stored, Path(folder) if folder is not None else self.folder)

    def plot(self, *across: str, requirement: str = "") -> Picture:
        """Plot margins of the flights: their histogram, and over varied parameters, a point for each flight.

        Parameters
        ----------
        *across : str
            Names of varied parameters; the first three by default.
        requirement : str, optional
            Name of the requirement; by default the first with finite margins.

        Returns
        -------
        Picture
            A notebook shows it in place, `save("file.html")` writes it as a page.

        Examples
        --------
        >>> campaign.plot("wind.speed_mps", requirement="attitude_limit")  # doctest: +SKIP
        """
        return campaign_picture(self.name, self.flights, *across, requirement=requirement)

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_() if self.flights else f"<p>{escape(repr(self))}</p>"

    def diff(self, after: Campaign | str, *, other_meaning: bool = False) -> Difference:
        """Compare this campaign (before) with a later one, flight by flight.

        Parameters
        ----------
        after : Campaign or str
            The later campaign, or its name in the same store.
        other_meaning : bool
            Compare also if one of the two has verdicts of version 0.1, which mean less.

        Returns
        -------
        Difference
            Changed verdicts (`verdicts`), moved margins (`margins`), what was redefined, and flights that only one of
            the two has. Flights are paired by case, varied values and seed.
        """
        later = after
        if not isinstance(later, Campaign):
            with self._reading() as store:
                later = Campaign(store, store.campaign(later))
        if not other_meaning:
            check_meaning([self._stored, later._stored], "diff(…, other_meaning=True)")
        return compare(self.flights, later.flights, [self._cases(), later._cases()])

    def fly(self, flight_id: str) -> Flight:
        """Fly one flight of the campaign again, with all signals in its log.

        Parameters
        ----------
        flight_id : str
            For example `motor-loss/0007/s3`: see `flights` or the column `flight` of `frame()`.

        Returns
        -------
        Flight
            The flight; with the reference autopilot its `sha256` is the stored one.
        """
        from ironbird.flight.flight import fly

        with self._reading() as store:
            case = store.case(self._stored, flight_id)
        if case.scenario:
            raise StoreError(f"flight '{flight_id}' is a scenario: fly it with ib.fly_scenario")
        return fly(case)

    def _cases(self) -> dict[str, FlightCase]:
        with self._reading() as store:
            return {case.id: case for case in store.cases(self._stored)}

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        """The store; its connections are closed afterwards, as worker processes must not inherit them."""
        try:
            yield self._store
        finally:
            self._store.close()


def campaign(
    suite: str | Path,
    *,
    tag: str | Sequence[str] | None = None,
    sample: int | None = None,
    workers: int | None = None,
    name: str | None = None,
    store: str | None = None,
    dask: str | None = None,
    traces: str = "failing",
    progress: Callable[[Progress], None] | None = None,
) -> Campaign:
    """Fly a suite of test cases and judge every flight: `ironbird campaign run` in one line of Python.

    Ctrl-C raises `KeyboardInterrupt` and keeps what is flown; `ironbird campaign resume NAME` continues. On a terminal
    a line on standard error says how far it is.

    Parameters
    ----------
    suite : str or Path
        A case or suite file (TOML), or the name of a built-in suite, for example `safety`.
    tag : str or sequence of str, optional
        Fly only cases that have one of these tags or ids; all cases by default.
    sample : int, optional
        Fly only this many flights, drawn over all cases in turn; the same ones each time. All by default.
    workers : int, optional
        Number of processes; one per core by default. It does not change any result.
    name : str, optional
        Name of the campaign; the suite's name and the time by default. A name is used once in a store.
    store : str, optional
        `sqlite:///FILE` or `postgresql://USER@HOST/NAME`; by default the variable IRONBIRD_STORE, or a file in
        `out/campaigns` of the current folder.
    dask : str, optional
        Address of a Dask scheduler, `tcp://HOST:PORT`; processes of this computer by default.
    traces : str, default "failing"
        Logs to keep as Parquet files: "failing" (and one of a hundred that pass), "all" or "none".
    progress : callable, optional
        Called with a `Progress` (attributes `done`, `total`, `rate` in flights a second, `left_s`) after every batch,
        in place of the line on standard error.

    Returns
    -------
    Campaign
        The campaign with all results.

    Raises
    ------
    CaseError
        If the suite has problems: all of them, with line and cure.
    StoreError
        If the store cannot be used, or the name is taken.

    Examples
    --------
    >>> campaign = ib.campaign("safety", tag="multicopter", sample=8, workers=1)  # doctest: +SKIP
    >>> campaign.verdicts  # doctest: +SKIP
    {'pass': 8, 'fail': 0, 'void': 0, 'error': 0, 'open': 0}
    """
    tags = [tag] if isinstance(tag, str) else list(tag or [])
    begun = begun_campaign(
        suite, name=name, tags=tags, sample=sample, store=store, workers=workers, dask=dask, traces=traces
    )
    with begun as session, _line(progress) as update:
        session.run(update)
        return Campaign(session.store, session.campaign)


def open_campaign(name: str, store: str | None = None) -> Campaign:
    """Open a campaign that was flown before.

    Parameters
    ----------
    name : str
        Its name: see `ironbird campaign list`.
    store : str, optional
        URL of its store; by default the variable IRONBIRD_STORE, the current folder, or else the newest store of this
        computer that has the campaign.

    Returns
    -------
    Campaign
        The campaign as it is stored; flights that are not judged yet are counted as `open`.

    Raises
    ------
    UnknownNameError
        If no store has it.

    Examples
    --------
    >>> before, after = ib.open_campaign("monday"), ib.open_campaign("tuesday")  # doctest: +SKIP
    >>> [change.flight_id for change in before.diff(after).verdicts]  # doctest: +SKIP
    []
    """
    database = store_with(name, store)
    try:
        return Campaign(database, database.campaign(name))
    finally:
        database.close()


@contextmanager
def _line(own: Callable[[Progress], None] | None) -> Iterator[Callable[[Progress], None]]:
    """How far a campaign is, in one line on standard error that is written over; nothing in files and pipes.

    What happened to workers is a warning.
    """
    shown = own is None and sys.stderr.isatty()
    width = warned = 0

    def update(state: Progress) -> None:
        nonlocal width, warned
        for text in state.said[warned:]:
            warnings.warn(text, IronbirdWarning, stacklevel=2)
        warned = len(state.said)
        if own is not None:
            own(state)
        if shown:
            verdicts = ", ".join(f"{count} {verdict}" for verdict, count in state.counts.items() if count)
            text = f"{state.done}/{state.total}  {state.rate:.1f}/s  {verdicts}"
            width = max(width, len(text))
            sys.stderr.write(f"\r{text:{width}}")
            sys.stderr.flush()

    try:
        yield update
    finally:
        if width:
            sys.stderr.write("\n")
