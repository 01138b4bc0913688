"""Data for replay and lookup: logs in a folder, campaigns of a store, pictures of vehicles. Nothing is run.

Files are found by listing the folder: a name from outside is searched in that list only, so it leads to no other file.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ironbird.app.frames import replay_frames
from ironbird.errors import RecordError, shortened

if TYPE_CHECKING:
    from ironbird.campaign.store import Store
    from ironbird.flight.order import Order

ENDINGS = (".parquet", ".ulg", ".bin")
MOST_FILES = 500
DEEPEST = 4  # folders below the one that is listed
OTHER_MEANING = "also with verdicts of version 0.1"  # at the box that lets two campaigns be compared all the same
Found = TypeVar("Found")


@dataclass(frozen=True)
class Records:
    """Logs of flights below a folder."""

    folder: Path

    def names(self) -> list[str]:
        """Paths of logs below the folder, the newest first; links are not followed."""
        logs: list[tuple[float, str]] = []
        for place, folders, files in os.walk(self.folder):
            if len(Path(place).relative_to(self.folder).parts) >= DEEPEST:
                folders.clear()
            for file in files:
                path = Path(place) / file
                if path.suffix.lower() in ENDINGS and file != "autopilot.parquet" and not path.is_symlink():
                    logs.append((path.stat().st_mtime, path.relative_to(self.folder).as_posix()))
        return [name for _, name in sorted(logs, reverse=True)[:MOST_FILES]]

    def frames(self, name: str) -> np.ndarray:
        """Frames of a log by its name in the list."""
        if name not in self.names():
            raise RecordError(f"there is no log '{shortened(name, 80)}' below {self.folder}")
        return replay_frames(self.folder / name)


@dataclass(frozen=True)
class Campaigns:
    """Campaigns of a store, opened for each call."""

    url: str | None = None

    def _open(self, look: Callable[[Store], Found]) -> Found:
        from ironbird.campaign.store import Store

        store = Store(self.url)
        try:
            return look(store)
        finally:
            store.close()

    def check(self) -> None:
        """Raise if the address is not one of a store, or the store cannot be opened; it need not exist yet."""
        from ironbird.campaign.store import store_address

        store_address(self.url)
        if self.there():
            self._open(lambda store: None)

    def there(self) -> bool:
        """Whether the store exists; the check does not create one."""
        from ironbird.campaign.store import default_url

        url = self.url or default_url()
        return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).is_file()

    def listed(self) -> list[dict[str, Any]]:
        """Name, title and progress of each campaign."""

        def look(store: Store) -> list[dict[str, Any]]:
            rows = []
            for name in store.names():
                campaign = store.campaign(name)
                rows.append({"name": name, "title": campaign.title, **store.counts(campaign)})
            return rows

        return self._open(look) if self.there() else []

    def matrix(self, name: str) -> list[dict[str, Any]]:
        """A row for each case: verdicts, the worst margin, and the flight that had it."""
        from ironbird.campaign.summary import by_case

        def look(store: Store) -> list[dict[str, Any]]:
            cases = by_case(store.results(store.campaign(name)))
            return [
                {"case": case.case_id, **case.verdicts, "as expected": case.as_expected,
                 "margin": f"{case.worst.margin:.3g}", "worst": case.worst.id, "why": case.worst.sentence}
                for case in cases
            ]  # fmt: skip

        return self._open(look)

    def frames(self, name: str, flight: str) -> np.ndarray:
        """Frames of a stored flight, if its trace was kept; nothing is flown."""

        def look(store: Store) -> np.ndarray:
            campaign = store.campaign(name)
            stored = store.flight(campaign, flight)
            path = store.trace_path(campaign, stored.result) if stored.result is not None else None
            if path is None:
                raise RecordError(f"{shortened(flight, 80)}: its trace was not kept: it has to be flown again")
            return replay_frames(path)

        return self._open(look)

    def points(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """By case, each flight with the numbers that its case varies; cases that vary fewer than two are left out."""

        def look(store: Store) -> dict[str, list[dict[str, Any]]]:
            by_case: dict[str, list[dict[str, Any]]] = {}
            for one in store.results(store.campaign(name)):
                values = {key: value for key, value in one.values.items() if not isinstance(value, str)}
                row = {"id": one.id, "values": values, "verdict": one.verdict, "margin": one.margin}
                by_case.setdefault(one.case_id, []).append(row)
            return {case: rows for case, rows in by_case.items() if max(len(row["values"]) for row in rows) > 1}

        return self._open(look)

    def kept(self, name: str, flight: str) -> tuple[bool, str]:
        """Whether a flight's trace was kept, and its vehicle."""

        def look(store: Store) -> tuple[bool, str]:
            campaign = store.campaign(name)
            stored = store.flight(campaign, flight)
            trace = store.trace_path(campaign, stored.result) if stored.result is not None else None
            return trace is not None, Path(stored.case.vehicle).stem

        return self._open(look)

    def order(self, name: str, flight: str) -> Order:
        """The order of a stored flight."""

        def look(store: Store) -> Order:
            return store.flight(store.campaign(name), flight).case

        return self._open(look)

    def page(self, name: str) -> str:
        """The campaign's report page: matrix, maps, plots."""
        from ironbird.report.campaign_page import write_campaign_page

        def look(store: Store) -> str:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "report.html"
                write_campaign_page(store, store.campaign(name), path)
                return path.read_text()

        return self._open(look)

    def compared(self, before: str, after: str, *, other_meaning: bool = False) -> dict[str, Any]:
        """Differences between two campaigns; `StoreError` if their verdicts do not mean the same, unless allowed."""
        from ironbird.campaign.difference import check_meaning, compare

        def look(store: Store) -> dict[str, Any]:
            campaigns = [store.campaign(name) for name in (before, after)]
            if not other_meaning:
                check_meaning(campaigns, f"the tick at '{OTHER_MEANING}'")
            pair = [store.results(campaign) for campaign in campaigns]
            return compare(pair[0], pair[1]).record()

        return self._open(look)


@functools.lru_cache(maxsize=64)
def diagram_of(vehicle: str) -> str:
    """A vehicle's block diagram as SVG."""
    from ironbird.report.diagram_svg import write_diagram_svg
    from ironbird.vehicles.load import load_vehicle

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "diagram.svg"
        write_diagram_svg(load_vehicle(vehicle).diagram, path)
        return path.read_text()
