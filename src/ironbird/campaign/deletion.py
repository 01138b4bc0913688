"""Deleting a campaign, with the files that Ironbird wrote for it; not while it is being flown.

Who flies a campaign holds it: by a lock of a file in its folder (SQLite), or by a lock of the server (PostgreSQL). A
hold ends with its process or connection, also if that is killed. The file is seen by processes of one computer alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from ironbird.campaign.store import Campaign, Store
from ironbird.errors import StoreError

LOCK = ".lock"
WRITTEN = ("traces", "flights", "report.html", "junit.xml", "results.json", LOCK)  # by Ironbird, for a campaign alone
SPACE = 0x1B  # of locks of a PostgreSQL server, beside those of other programs


@dataclass(frozen=True)
class Belongings:
    """What is deleted with a campaign, and what else is in its folder.

    Attributes
    ----------
    folder : Path
        Its folder, with traces and reports.
    flights : int
        Rows of the store.
    files : int
        Files that Ironbird wrote.
    size : int
        Of these, in bytes.
    kept : list of str
        Other entries of the folder, which stay: packs of evidence, a user's own files.
    """

    folder: Path
    flights: int
    files: int
    size: int
    kept: list[str]


def belongings(store: Store, campaign: Campaign) -> Belongings:
    """What would be deleted with a campaign."""
    folder = store.trace_folder(campaign.name).parent
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    own = [folder / name for name in there if name in WRITTEN]
    files = [file for path in own for file in ([path] if not _is_folder(path) else path.rglob("*")) if file.is_file()]
    return Belongings(
        folder,
        sum(store.counts(campaign).values()),
        sum(file.name != LOCK for file in files),
        sum(file.lstat().st_size for file in files),
        [name for name in there if name not in WRITTEN],
    )


def delete_campaign(store: Store, campaign: Campaign) -> Belongings:
    """Delete a campaign and the files that Ironbird wrote for it; `StoreError` if it is being flown.

    Returns what was deleted.
    """
    with held(store, campaign, alone=True):
        found = belongings(store, campaign)
        store.delete(campaign.name)
        for path in (found.folder / name for name in WRITTEN):
            if _is_folder(path):
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something is kept in it, or it was never made
            found.folder.rmdir()
    return found


@contextlib.contextmanager
def held(store: Store, campaign: Campaign, *, alone: bool = False) -> Iterator[None]:
    """Hold a campaign inside the `with` block: with others who fly it, or alone to delete it.

    `StoreError` if it is not there any more, or if others hold it and it cannot be had alone.
    """
    with _locked_file(store, campaign, alone) if store.sqlite else _locked_on_server(store, campaign, alone):
        if campaign.name not in store.names() or store.campaign(campaign.name).id != campaign.id:
            raise StoreError(f"campaign '{campaign.name}' was deleted")
        yield


def _refusal(campaign: Campaign, alone: bool) -> StoreError:
    if alone:
        return StoreError(f"campaign '{campaign.name}' is being flown: end that first (Ctrl-C), or wait for its end")
    return StoreError(f"campaign '{campaign.name}' is being deleted")


@contextlib.contextmanager
def _locked_file(store: Store, campaign: Campaign, alone: bool) -> Iterator[None]:
    path = store.trace_folder(campaign.name).parent / LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o664)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; see to the rights of the folder") from None
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refusal(campaign, alone) from None
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked_on_server(store: Store, campaign: Campaign, alone: bool) -> Iterator[None]:
    lock = "pg_try_advisory_lock" if alone else "pg_try_advisory_lock_shared"
    connection = store.patiently(lambda _: store.engine.connect())
    try:
        held = connection.execute(sa.select(getattr(sa.func, lock)(SPACE, campaign.id))).scalar()
        connection.commit()
        if not held:
            raise _refusal(campaign, alone)
        yield
    finally:
        with contextlib.suppress(DBAPIError):  # the server was away: its locks are gone
            connection.invalidate()  # not back into the pool: the lock ends with the connection
            connection.close()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
