"""Processes of autopilots: finding the program, starting it in its own folder, ending it and removing its files.

Three mechanisms clean up: `stop`; `atexit` if `stop` was not called; and a guard process (`host/guard.py`) if Ironbird
is killed. The autopilot itself ends together with Ironbird in any case.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import hashlib
import mmap
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ironbird.errors import LinkError
from ironbird.host import guard
from ironbird.host.virtual_time.record import ENDING, Record
from ironbird.host.virtual_time.run import VirtualRun, become, owner_of_programs

GONE_S = 5.0  # s, limit for a program to end after it was asked to
PDEATHSIG = 1  # PR_SET_PDEATHSIG
NO_NEW_PRIVS = 38  # PR_SET_NO_NEW_PRIVS: the program and its children get no more rights than this process
LAST_LINES = 5
LAST_BYTES = 65536
# Environment of an autopilot: only these variables, so that no tokens, passwords or keys are passed on. Variables that
# begin with IRONBIRD_ or LC_ are passed on too, and those listed in IRONBIRD_PASS.
PASSED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH",
    "ASAN_OPTIONS", "UBSAN_OPTIONS",
)  # fmt: skip
PASS_VARIABLE = "IRONBIRD_PASS"
KEEP_USER_VARIABLE = "IRONBIRD_KEEP_USER"  # if set, root's programs stay root's in real time
GROUND_STATION_PORT = 14550  # UDP port where QGroundControl and other ground stations listen
REST_S = 60.0  # s of wall time, limit for all threads of a program in virtual time to block
MOST_PATH = 107  # characters, longest path of a local socket
SOCKET = "/xxxxxxxx/run/tmp/px4-sock-0"  # the longest socket path of a run, relative to the parent of its folder
SHORT_PLACE = "/tmp"
FOLDER = "{folder}"  # stands for the folder of a process in its record


def places(where: str | Path | None, variable: str, program: str) -> Iterator[tuple[str, Path]]:
    """Candidate paths of an autopilot, each with the name of its source: the argument, the variable, the PATH."""
    for source, place in (("argument", where), (variable, os.environ.get(variable)), ("PATH", shutil.which(program))):
        if place:
            yield source, Path(place).expanduser()


def passed_on() -> dict[str, str]:
    """The environment variables that are passed on to started programs."""
    more = {name.strip() for name in os.environ.get(PASS_VARIABLE, "").split(",")}
    return {
        name: value
        for name, value in os.environ.items()
        if name in PASSED or name in more or name.startswith(("IRONBIRD_", "LC_"))
    }


def is_program(path: Path) -> bool:
    """Whether a file exists and can be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def version_in(program: Path, pattern: re.Pattern[bytes]) -> str:
    """A version text that a pattern matches in a program's binary; empty if there is none."""
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            match = pattern.search(text)
            return match.group(1).decode() if match else ""
    except (OSError, ValueError):  # no permission, or an empty file
        return ""


def bind(kind: int, port: int) -> socket.socket | None:
    """A socket bound to a loopback port (listening, if TCP); None if the port is in use."""
    made = socket.socket(socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        if kind == socket.SOCK_STREAM:
            made.listen(1)
    except OSError:
        made.close()
        return None
    return made


def is_free(kind: int, port: int) -> bool:
    """Whether a loopback port is free now."""
    probe = bind(kind, port)
    if probe is not None:
        probe.close()
    return probe is not None


def free_udp_port() -> int:
    """A UDP port number that is free now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_tcp_port(first: int, step: int) -> int:
    """The first free TCP port of the series `first`, `first + step`, ..."""
    return next(port for port in range(first, 1 << 16, step) if is_free(socket.SOCK_STREAM, port))


def place_of_runs(prefix: str, *, short: bool) -> str:
    """Parent folder for a program's own: open to others if root starts it, and `short` enough for sockets in it."""
    usual = tempfile.gettempdir()
    for place in (usual, SHORT_PLACE):
        fits = not short or len(place) + len(prefix) + len(SOCKET) <= MOST_PATH
        if fits and os.access(place, os.W_OK) and (os.geteuid() != 0 or is_open_to_all(Path(place))):
            return place
    raise LinkError(
        f"{usual} is closed to other users, as whom root starts programs, or has too long a path for the sockets of "
        f"virtual time ({MOST_PATH} characters), and {SHORT_PLACE} cannot be used: set TMPDIR to another folder"
    )


def is_open_to_all(folder: Path) -> bool:
    """Whether every user may enter a folder."""
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.resolve().parents))


class AutopilotProcess(ABC):
    """One autopilot process. When it ends, its log and output are copied to `keep`; its other files are removed."""

    prefix: str  # prefix of the folder's name
    console_name = "console.txt"
    slack_s = 0.0  # s; in virtual time its sleeps end at multiples of this
    goodbye_s = 0.0  # s that `stop` waits for the process to end by itself
    recorded = False  # whether all that it gets passes through its run's sockets, so that a record of them repeats it

    def __init__(
        self, where: str | Path | None = None, *, keep: Path | None = None, virtual: bool = False, thread_seed: int = 0
    ) -> None:
        self.where = where
        self.keep = keep
        self.folder: Path | None = None
        self.logs: list[Path] = []
        self.figures: dict[str, str] = {}  # for the summary of a flight; filled when the process is asked to end
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.run: VirtualRun | None = None  # set in virtual time; its sockets exist before the program starts
        if virtual:
            folder = self._make_folder(virtual=True)
            (folder / "run").mkdir()
            try:
                self.run = VirtualRun(folder / "run", simulated=True, slack_s=self.slack_s, thread_seed=thread_seed)
            except BaseException:
                self.stop()
                raise

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the program for messages."""

    @abstractmethod
    def _to_keep(self, folder: Path) -> Sequence[Path]:
        """Files of its folder that are copied to `keep`."""

    def _locked(self) -> Sequence[Path]:
        """A lock file outside its folder and its companion files; the program removes them unless it is killed."""
        return ()

    @property
    def pid(self) -> int | None:
        """Process id; None before the start and after the end."""
        return self._process.pid if self._process is not None else None

    def _make_folder(self, *, virtual: bool = False) -> Path:
        """Folder of the process; created on first use, with the guard that removes it if this process cannot."""
        if self.folder is not None:
            return self.folder
        if self.keep is not None:
            self.keep.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=self.prefix, dir=place_of_runs(self.prefix, short=virtual)))
        atexit.register(self.stop)
        command = [sys.executable, "-I", "-S", guard.__file__, str(self.folder)]
        command += map(str, () if virtual else self._locked())
        self._guard = subprocess.Popen(
            command,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=passed_on(),
        )
        return self.folder

    def _launch(self, command: Sequence[str], *, cwd: Path, settings: Mapping[str, str] | None = None) -> None:
        """Start the command in its folder, without a shell, with the environment of `passed_on` and `settings`.

        The process leads its own session and process group, gets no more rights than this process, and ends with it.
        """
        assert self.folder is not None
        parent, libc, run, owner = os.getpid(), ctypes.CDLL(None), self.run, self._owner()
        if run is not None and self.recorded and self.keep is not None:
            run.record = Record(self.record_path, self._about(command, cwd, settings or {}))
        if owner is not None:  # this process is root's: the program runs as another user
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, *owner, follow_symlinks=False)
            if run is None:  # ArduPilot ends if it may not signal its parent: the saved user id allows it
                os.setresuid(-1, -1, owner[0])

        def die_with_parent() -> None:
            if run is not None:
                run.prepare_child()
            elif owner is not None:
                become(owner)
            with contextlib.suppress(AttributeError):  # Linux only
                libc.prctl(PDEATHSIG, signal.SIGKILL)
                libc.prctl(NO_NEW_PRIVS, *(ctypes.c_ulong(argument) for argument in (1, 0, 0, 0)))
            if os.getppid() != parent:
                os._exit(1)

        with (self.folder / self.console_name).open("ab") as console:  # the guard keeps it short
            try:
                self._process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env=self._variables(settings or {}),
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=die_with_parent,
                )
            except OSError as error:
                self.stop()
                other = isinstance(error, PermissionError) and owner is not None
                hint = "; it is not run as root but as 'nobody', who must be able to read its folder" if other else ""
                if other and self.run is None:
                    hint += f" (in real time {KEEP_USER_VARIABLE}=1 keeps the user)"
                raise LinkError(f"{command[0]} cannot be started: {error.strerror}{hint}") from None
        if run is not None:
            run.share_processor_with(self._process.pid)
        self._tell_guard(f"{guard.GROUP}{self._process.pid}\n{guard.CONSOLE}{self.folder / self.console_name}\n")

    @property
    def record_path(self) -> Path:
        """Path of the record of what is sent to the program, in its folder."""
        assert self.folder is not None
        return (self.folder / self.console_name).with_suffix(ENDING)

    def _about(self, command: Sequence[str], cwd: Path, settings: Mapping[str, str]) -> dict[str, Any]:
        """How the program was started, for whoever starts it or another build of it with the record."""
        assert self.folder is not None and self.run is not None
        folder = self.folder
        own = [path for path in sorted(folder.rglob("*")) if not path.is_relative_to(self.run.folder)]
        return {
            "autopilot": self.prefix.split("-")[1],
            "binary": Path(command[0]).name,
            "program": hashlib.sha256(Path(command[0]).read_bytes()).hexdigest(),
            "command": [text.replace(str(folder), FOLDER) for text in command[1:]],
            "cwd": str(cwd.relative_to(folder)),
            "settings": dict(settings),
            "folders": [str(path.relative_to(folder)) for path in own if path.is_dir() and not path.is_symlink()],
            "files": {
                str(path.relative_to(folder)): path.read_text(errors="replace")
                for path in own
                if path.is_file() and not path.is_symlink()
            },
            **self.run.about(),
        }

    def _owner(self) -> tuple[int, int] | None:
        """User and group id that the program gets if this process runs as root; None: the same user."""
        if self.run is None and os.environ.get(KEEP_USER_VARIABLE):
            return None
        return owner_of_programs(self.name)

    def _variables(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Environment variables of the process."""
        return self.run.variables(settings) if self.run is not None else passed_on() | dict(settings)

    def _tell_guard(self, line: str) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(OSError):  # another program has killed it
                self._guard.stdin.write(line.encode())
                self._guard.stdin.flush()

    def running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def check(self, where: str = "") -> None:
        """Raise `LinkError` if the process ended by itself; `where` is the progress of the run, for the message."""
        if self._process is not None and self._process.poll() is not None:
            ended = f"{self.name} {_end(self._process.returncode)} {where}".rstrip()
            raise LinkError(f"{ended}; its output: {self.said() or 'nothing'}")

    def settle(self, where: Callable[[], str] = str) -> None:
        """In virtual time, wait until all threads block; `LinkError` if they never do. In real time, do nothing."""
        if self.run is None:
            return

        def check() -> None:
            self.check(where())

        try:
            self.run.settle(REST_S, check)
        except LinkError as error:
            raise LinkError(f"{self.name}: {error} {where()}".rstrip()) from None
        if self.run.head.ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if self._process is not None:
                    self._process.wait(GONE_S)
            check()

    def said(self) -> str:
        """The last lines of its output."""
        if self.folder is None or not (self.folder / self.console_name).is_file():
            return ""
        with (self.folder / self.console_name).open("rb") as console:
            console.seek(max(0, os.fstat(console.fileno()).st_size - LAST_BYTES))
            lines = console.read(LAST_BYTES).decode(errors="replace").splitlines()
        return " / ".join(line.strip() for line in lines[-LAST_LINES:] if line.strip())

    def console(self) -> str:
        """All of its output so far, as text."""
        if self.folder is None or not (self.folder / self.console_name).is_file():
            return ""
        return (self.folder / self.console_name).read_text(errors="replace")

    def ask_to_end(self) -> None:
        """Ask the process to end; it writes its log and ends when its main loop handles the signal."""
        if self._process is None or self._process.poll() is not None:
            return
        if self.run is None:
            self._process.terminate()
            return
        with contextlib.suppress(LinkError):  # stuck or already gone: `stop` ends it by force
            self.settle()
            head = self.run.head
            self.figures = {
                "virtual time": f"{head.switches} switches between {head.threads} threads, trace {self.run.trace}"
            }
            self.run.order_signal(signal.SIGTERM)

    def stop(self) -> None:
        """End the process, copy its log, remove its folder. May be called twice."""
        if self._process is not None:
            self._end(self._process)
            self._process = None
        if self.run is not None:
            self.run.close()
        folder = self.folder
        if folder is not None:
            guard.shorten(folder / self.console_name)
            if self.keep is not None:
                kept = (*self._to_keep(folder), self.record_path)
                copies = [shutil.copy2(path, self.keep / path.name) for path in kept if path.is_file()]
                self.logs = [Path(copy) for copy in copies]
            shutil.rmtree(folder, ignore_errors=True)
            self.folder = None
        if self._guard is not None:
            self._tell_guard(guard.DONE)
            self._guard.communicate()
            self._guard = None
        atexit.unregister(self.stop)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self.ask_to_end()
        deadline = time.monotonic() + self.goodbye_s
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        # the whole process group, with the processes that it started
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if self._locked():
            lock, *others = self._locked()
            guard.remove_unless_locked(lock, others)


def _end(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
