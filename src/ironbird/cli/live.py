"""Lines while something flies that people or programs command: events, and a line of figures that moves."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from ironbird.cli.working import on_terminal

if TYPE_CHECKING:
    from ironbird.rig.system import AutopilotEvent

CLEAR_LINE = "\r\x1b[K"
EVERY_S = 5.0  # wall time between two lines of figures in a log
STATES = ("armed", "mode")  # kinds of events that say a state: the same again is no news
SAID_BY_ARMING = (("mode", "disarmed"), ("mode", "armed"))


class FlightLines:
    """Prints events on standard error, each with its simulation time, and below them the line of figures.

    On a terminal that line is drawn over again; in a log it is a line every five seconds if it is `logged`. `name` is
    put before the lines of one of several vehicles; with `begin` false, how to end the flight is not printed.
    """

    def __init__(self, name: str = "", *, logged: bool = False, begin: bool = True) -> None:
        self._name, self._logged, self._begin = name, logged, begin
        self._states: dict[str, str] = {}
        self._shown = False  # a line of figures stands there
        self._logged_s = time.monotonic()
        self._lock = threading.Lock()

    def event(self, event: AutopilotEvent) -> None:
        """Print an event of the flight, unless it only repeats a state that was printed before."""
        known = self._states.get(event.kind)
        if (event.kind in STATES and event.text == known) or (event.kind, event.text) in SAID_BY_ARMING:
            return
        if event.kind == "begin" and not self._begin:
            return
        self._states[event.kind] = event.text
        said = event.sentence() if event.kind == "begin" else f"{event.time_s:7.1f} s  {event.sentence()}"
        self.say(said, err=True)

    def say(self, text: str, *, err: bool = False) -> None:
        """Print a line above the line of figures."""
        with self._lock:
            self._clear()
            typer.echo(f"{self._name}: {text}" if self._name and err else text, err=err)

    def figures(self, line: str) -> None:
        """Replace the line of figures by a newer one."""
        with self._lock:
            if on_terminal():
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(CLEAR_LINE + line[:width])
                sys.stderr.flush()
                self._shown = True
            elif self._logged and time.monotonic() - self._logged_s >= EVERY_S:
                self._logged_s = time.monotonic()
                typer.echo(line, err=True)

    def close(self) -> None:
        """Take the line of figures away."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()
            self._shown = False

    def shower(self, wanted: bool) -> Callable[[str], None] | None:
        """What gets lines of figures, if there is a terminal for them or a log that has them."""
        return self.figures if wanted and (on_terminal() or self._logged) else None
