"""Work that takes longer than a second: a bar on a terminal, lines in a log, both on standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ironbird.files.work import Work

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LATE_S = 1.0  # work below that is not shown
LOOK_S = 0.2  # between two looks at the work
EVERY_S = 10.0  # between two lines of the same work in a log


class _Job:
    """Work with the time of its begin and of its latest line, and its bar."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.began_s = time.monotonic()
        self.told_s: float | None = None  # None: nothing was shown of it
        self.task: TaskID | None = None

    def line(self, now_s: float) -> str:
        """How far it is."""
        share = self.work.share
        if not share:
            return f"{self.work.what} …"
        left_s = (now_s - self.began_s) * (1.0 - share) / share
        return f"{self.work.what}: {100 * share:.0f} %, {max(left_s, 0.0):.0f} s left"


class Display:
    """Shows the work of this process while it goes on; other processes that inherit it by a fork are silent."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: list[_Job] = []
        self._thread: threading.Thread | None = None
        self._bar: Progress | None = None
        self._process = os.getpid()

    def begin(self, work: Work) -> None:
        """Show it if it is not over in a second."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._jobs.append(_Job(work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="work shown", daemon=True)
                self._thread.start()

    def end(self, work: Work) -> None:
        """Say how long it took, if it was shown and had no bar."""
        if os.getpid() != self._process:
            return
        with self._changed:
            job = next(job for job in self._jobs if job.work is work)
            self._jobs.remove(job)
            if job.told_s is not None:
                self._close(job, time.monotonic() - job.began_s)
            if not self._jobs:
                if self._bar is not None:
                    self._bar.stop()
                    self._bar = None
                self._changed.notify()

    def _look(self) -> None:
        """In a thread of its own: show what has become late, until there is no work."""
        with self._changed:
            while self._jobs:
                now_s = time.monotonic()
                for job in self._jobs:
                    if now_s - job.began_s >= LATE_S:
                        self._show(job, now_s)
                self._changed.wait(LOOK_S)
            self._thread = None

    def _show(self, job: _Job, now_s: float) -> None:
        if not on_terminal():
            if job.told_s is None or (job.work.share and now_s - job.told_s >= EVERY_S):
                job.told_s = now_s
                _print(job.line(now_s))
            return
        if self._bar is None:
            self._bar = _bar()
        if job.task is None:
            job.told_s = now_s
            job.task = self._bar.add_task(job.work.what, total=None)
            self._bar.tasks[-1].start_time = job.began_s
        if job.work.share is not None:
            self._bar.update(job.task, total=1.0, completed=job.work.share)

    def _close(self, job: _Job, taken_s: float) -> None:
        if job.task is None:
            _print(f"{job.work.what}: {taken_s:.1f} s")
            return
        assert self._bar is not None
        self._bar.remove_task(job.task)
        if job.work.share is None:
            self._bar.console.print(f"{job.work.what}: {taken_s:.1f} s", markup=False, highlight=False)


def on_terminal() -> bool:
    """Whether standard error is a terminal that can draw over its last line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _bar() -> Progress:
    """Bars that vanish at the end; what others print meanwhile stands above them."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns: list[Any] = [
        TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
    ]  # fmt: skip
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    bar.start()
    return bar
