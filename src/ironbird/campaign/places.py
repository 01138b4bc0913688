"""Locations of campaigns: the stores in which they were created, so that they are found from any folder.

`IRONBIRD_STORE` names one store for all folders. Without it campaigns are stored in `out/campaigns` of the present
folder, and the location is recorded in the user's cache folder (`stores.txt`, newest first). Not recorded: stores on a
server; they are named by their URL.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from urllib.parse import quote

from ironbird.compiler.cache import cache_folder
from ironbird.errors import StoreError
from ironbird.files.whole import write_text

VARIABLE = "IRONBIRD_STORE"
MOST = 200  # stores that are remembered
NAME = r"[\w][\w.\-]{0,150}"  # of a campaign: it becomes a folder


def check_name(name: str) -> None:
    """Refuse a name that no campaign may have."""
    if not re.fullmatch(NAME, name):
        raise StoreError(f"{name!r} is no name for a campaign: use letters, digits, '-', '_' and '.'")


def usual_store() -> str | None:
    """The URL that the user has chosen for all folders (IRONBIRD_STORE), if any."""
    return os.environ.get(VARIABLE) or None


def remember(file: Path) -> None:
    """Record the location of a store, newest first; if that fails, campaigns are found from their folder only."""
    place = str(file.resolve())
    try:
        write_text(_notes(), "\n".join([place, *(p for p in _read() if p != place)][:MOST]) + "\n")
    except OSError:
        return


def known_stores() -> list[Path]:
    """Recorded stores that still exist, newest first."""
    return [Path(place) for place in _read() if Path(place).is_file()]


def url_of(file: Path) -> str:
    """URL of a store file, as `--store` takes it."""
    return f"sqlite:///{file}"


def names_in(file: Path) -> list[str] | None:
    """The campaigns of a store that is a file, read by SQLite alone; None if it cannot be read in this way."""
    rows = _asked(file, "SELECT name FROM campaign ORDER BY id")
    return None if rows is None else [name for (name,) in rows if isinstance(name, str)]


def flights_in(file: Path, campaign: str) -> list[str]:
    """The flights of a campaign in a store that is a file; none if it cannot be read by SQLite alone."""
    query = (
        "SELECT f.flight_id FROM flight f JOIN campaign c ON c.id = f.campaign_id WHERE c.name = ? ORDER BY f.number"
    )
    return [flight for (flight,) in _asked(file, query, campaign) or () if isinstance(flight, str)]


def _asked(file: Path, query: str, *values: str) -> list[tuple[object, ...]] | None:
    import sqlite3

    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)) as database:
            return database.execute(query, values).fetchall()
    except (sqlite3.Error, OSError):
        return None


def _notes() -> Path:
    return cache_folder() / "stores.txt"


def _read() -> list[str]:
    try:
        return [line for line in _notes().read_text(encoding="utf-8").splitlines() if line]
    except (OSError, ValueError):
        return []
