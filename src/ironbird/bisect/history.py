"""A copy of a git repository in which commits are checked out and built, by an unprivileged user."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import OrderError
from ironbird.host.guard import shorten
from ironbird.host.process import is_open_to_all, passed_on
from ironbird.host.virtual_time.run import become, owner_of_programs

GIT_S = 600.0
SLICE_S = 0.2
LAST_LINES = 5


@dataclass(frozen=True)
class Built:
    """The outcome of a build: why it failed, or an empty text."""

    problem: str
    wall_s: float


class WorkTree:
    """A clone of a repository for building: the repository itself is read only."""

    def __init__(self, repository: Path, place: Path) -> None:
        self.repository, self.place = repository.resolve(), place.resolve()
        self.owner = owner_of_programs("bisection")
        self._home = self.place / "home"
        self.tree = self.place / "tree"
        if not (self.repository / ".git").exists() and not (self.repository / "HEAD").exists():
            raise OrderError(f"--repo {repository} is no git repository")

    def prepare(self) -> None:
        """Make the clone, or check that one is there."""
        if (self.tree / ".git").is_dir():
            return
        self._home.mkdir(parents=True, exist_ok=True)
        (self._home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
        if self.owner is not None:
            if not is_open_to_all(self.place.parent):
                raise OrderError(
                    f"commits are built as 'nobody', who may not enter {self.place.parent}: give another place by "
                    "--work"
                )
            for path in (self.place, self._home, self._home / ".gitconfig"):
                os.chown(path, *self.owner)
        self.git("clone", "--quiet", "--shared", "--no-checkout", str(self.repository), str(self.tree), at=self.place)

    def git(self, *words: str, at: Path | None = None) -> str:
        """The output of a git command in the clone; its error is an `OrderError`."""
        try:
            done = subprocess.run(
                ["git", *words],
                cwd=at or self.tree,
                env=self._variables(),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=GIT_S,
                check=False,
                preexec_fn=lambda: become(self.owner),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise OrderError(f"git {words[0]}: {error}") from None
        if done.returncode:
            raise OrderError(f"git {' '.join(words)} failed: {done.stderr.strip()[-500:] or 'no message'}")
        return done.stdout.strip()

    def commit(self, name: str) -> str:
        """The full hash of a commit by any of its names."""
        return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", at=self.repository)

    def between(self, good: str, bad: str) -> list[str]:
        """Commits after the good one up to the bad one, oldest first, along first parents."""
        found = self.git("rev-list", "--first-parent", "--reverse", f"{good}..{bad}", at=self.repository).split()
        if not found or self.git("merge-base", good, bad, at=self.repository) != good:
            raise OrderError(
                f"--good {good[:10]} is no earlier commit of --bad {bad[:10]}: exchange them, or choose others"
            )
        return found

    def title(self, commit: str) -> str:
        """The first line of a commit's message."""
        return self.git("log", "-1", "--format=%s", commit, at=self.repository)

    def build(self, commit: str, command: str, log: Path, limit_s: float) -> Built:
        """Check out a commit and run the build command there; its output goes to a file, whose middle is cut out."""
        self.git("checkout", "--quiet", "--force", "--detach", commit)
        begin = time.monotonic()
        with log.open("ab") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self.tree,
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: become(self.owner),
            )
        late = False
        try:
            while process.poll() is None and not late:
                shorten(log)
                late = time.monotonic() - begin > limit_s
                time.sleep(SLICE_S)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            shorten(log)
        wall_s = time.monotonic() - begin
        if late:
            return Built(f"the build has not ended after {limit_s:g} s", wall_s)
        if process.returncode:
            return Built(f"the build ended with code {process.returncode}: {_last(log)}", wall_s)
        return Built("", wall_s)

    def _variables(self) -> Mapping[str, str]:
        home = {"HOME": str(self._home)} if self._home.is_dir() else {}
        return {**passed_on(), **home, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _last(log: Path) -> str:
    lines: Sequence[str] = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-LAST_LINES:]) or "no output"
