"""Long work says what it does: whoever works reports it here, whoever listens shows it.

Without a listener nothing is reported: libraries and tests stay silent. The command line listens
(`ironbird.cli.working`) and shows what takes longer than a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol


class Work:
    """Work under way: what is done, and the share of it that is done already, 0 to 1 (None: not known)."""

    __slots__ = ("share", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.share: float | None = None

    def update(self, share: float) -> None:
        """So much is done."""
        self.share = share


class Listener(Protocol):
    """Gets all work of this process, from any thread."""

    def begin(self, work: Work) -> None:
        """Work begins; its share may change until the end."""

    def end(self, work: Work) -> None:
        """It is over, or failed."""


_listener: Listener | None = None


@contextmanager
def working(what: str) -> Iterator[Callable[[float], None]]:
    """Around work that may take long, named as in "compiling the model of quad_f450"; gives what takes its progress."""
    listener = _listener
    if listener is None:
        yield _ignore
        return
    work = Work(what)
    listener.begin(work)
    try:
        yield work.update
    finally:
        listener.end(work)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Report all work to this listener; with None, report nothing."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def _ignore(share: float) -> None:
    """Progress that is not shown."""
