"""A PX4 process of our own: found, started in a folder of its own, ended with everything it made."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.links.px4_airframes import AUTOSTART, Airframe

VARIABLE = "IRONBIRD_PX4"  # PX4's build folder, or the program in its `bin`
PDEATHSIG = 1  # PR_SET_PDEATHSIG
LAST_LINES = 5
INSTANCES = range(10)  # beyond, PX4 sends to one port for all
SIMULATOR_PORT, PILOT_PORT = 4560, 14540  # TCP that PX4 connects to; UDP that it sends to
PX4_PORTS = (14580, 18570, 14280, 13030)  # UDP that PX4 binds, plus the instance
LOCKS = Path("/tmp")  # PX4 keeps a lock and a socket per instance here
FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, process
GOODBYE_S = 3.0  # for writing its log


@dataclass(frozen=True)
class Program:
    """Where PX4 is."""

    binary: Path
    etc: Path


def find_px4(where: str | Path | None = None) -> Program:
    """PX4 from the argument, the variable IRONBIRD_PX4, or the PATH."""
    looked = []
    for source, place in (("argument", where), (VARIABLE, os.environ.get(VARIABLE)), ("PATH", shutil.which("px4"))):
        if not place:
            continue
        path = Path(place).expanduser()
        binary = path / "bin" / "px4" if path.is_dir() else path
        etc = binary.resolve().parent.parent / "etc"
        if not (binary.is_file() and os.access(binary, os.X_OK)):
            looked.append(f"{source}: {binary} is no program")
        elif not (etc / "init.d-posix" / "rcS").is_file():
            looked.append(f"{source}: {etc} has no init.d-posix/rcS")
        else:
            return Program(binary.resolve(), etc)
    tried = f" ({'; '.join(looked)})" if looked else ""
    raise LinkError(
        f"PX4 was not found{tried}: set {VARIABLE} to its build folder, which `make px4_sitl_default` makes as "
        f"build/px4_sitl_default (with bin/px4 and etc)"
    )


def _bind(kind: int, port: int) -> socket.socket | None:
    """A bound socket on loopback, or None if the port is taken."""
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


def px4_runs(instance: int) -> bool:
    """Whether some PX4 holds the lock of an instance, even one whose ports cannot be seen from here."""
    try:
        with (LOCKS / f"px4_lock-{instance}").open("r+b") as lock:
            asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            found = struct.unpack(FLOCK, fcntl.fcntl(lock, fcntl.F_GETLK, asked))
    except OSError:
        return False
    return bool(found[0] != fcntl.F_UNLCK)


def _udp_free(port: int) -> bool:
    probe = _bind(socket.SOCK_DGRAM, port)
    if probe is not None:
        probe.close()
    return probe is not None


def open_port(instance: int | None) -> tuple[int, socket.socket]:
    """The instance and the listening socket that its PX4 connects to; with None the first whose ports are all free.

    Another run cannot take the same instance while the socket is open.
    """
    wanted: Iterator[int] = iter(INSTANCES if instance is None else (instance,))
    taken = []
    for number in wanted:
        server = _bind(socket.SOCK_STREAM, SIMULATOR_PORT + number)
        if server is None:
            taken.append(f"TCP {SIMULATOR_PORT + number}")
            continue
        blocked = [f"UDP {port + number}" for port in PX4_PORTS if not _udp_free(port + number)]
        if px4_runs(number):
            blocked.append(str(LOCKS / f"px4_lock-{number}"))
        if not blocked:
            return number, server
        server.close()
        taken.append(blocked[0])
    raise LinkError(f"no free PX4 instance: taken are {', '.join(taken)}; is another PX4 or simulator running?")


def free_instance() -> int:
    """An instance that nobody uses at the moment; processes that ask at the same time begin at different ones."""
    for offset in INSTANCES:
        number = (os.getpid() + offset) % len(INSTANCES)
        with contextlib.suppress(LinkError):
            open_port(number)[1].close()
            return number
    return open_port(None)[0]  # says what is taken


class Px4Process:
    """One PX4. Its log (.ulg) and what it said are copied to `keep` when it ends; all else is removed."""

    def __init__(self, where: str | Path | None = None, *, keep: Path | None = None) -> None:
        self.where = where
        self.keep = keep
        self.folder: Path | None = None
        self.program: Program | None = None
        self.logs: list[Path] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._instance = 0

    def start(self, airframe: Airframe, title: str, instance: int) -> None:
        """Start it; it connects to the port of its instance as soon as its start-up gets there."""
        self.program = find_px4(self.where)
        self.folder = Path(tempfile.mkdtemp(prefix="ironbird-px4-"))
        atexit.register(self.stop)
        self._instance = instance
        work = self.folder / "work"
        work.mkdir()
        etc = self._write_etc(self.program.etc, airframe.script(title))
        command = [str(self.program.binary), "-d", str(etc), "-w", str(work), "-i", str(instance)]
        settings = {"PX4_SYS_AUTOSTART": str(AUTOSTART), "PX4_SIM_HOST_ADDR": "127.0.0.1", "PX4_SIMULATOR": "ironbird"}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PX4_")}
        parent, libc = os.getpid(), ctypes.CDLL(None)

        def die_with_parent() -> None:
            with contextlib.suppress(AttributeError):  # Linux only
                libc.prctl(PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with (self.folder / "px4.txt").open("wb") as console:
            try:
                self._process = subprocess.Popen(
                    command, cwd=work, env=inherited | settings, stdin=subprocess.DEVNULL, stdout=console,
                    stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=die_with_parent,
                )  # fmt: skip
            except OSError as error:
                self.stop()
                raise LinkError(f"{self.program.binary} cannot be started: {error.strerror}") from None

    def _write_etc(self, real: Path, script: str) -> Path:
        """PX4's start-up files as links, with our airframe as the only one."""
        assert self.folder is not None
        etc = self.folder / "etc"
        own = etc / "init.d-posix" / "airframes"
        own.mkdir(parents=True)
        for folder, inside in ((real, etc), (real / "init.d-posix", etc / "init.d-posix")):
            for path in folder.iterdir():
                if not (inside / path.name).exists():
                    (inside / path.name).symlink_to(path)
        (own / f"{AUTOSTART}_ironbird").write_text(script)
        return etc

    def running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise if it ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise LinkError(f"PX4 ended with code {self._process.returncode}; it said: {self.said() or 'nothing'}")

    def said(self) -> str:
        """Its last lines."""
        lines = self.console().splitlines()
        return " / ".join(line.strip() for line in lines[-LAST_LINES:] if line.strip())

    def console(self) -> str:
        """All that it said so far."""
        if self.folder is None or not (self.folder / "px4.txt").is_file():
            return ""
        return (self.folder / "px4.txt").read_text(errors="replace")

    def stop(self) -> None:
        """End it, take its log along, remove its folder. May be called twice."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            deadline = time.monotonic() + GOODBYE_S
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            with contextlib.suppress(ProcessLookupError, PermissionError):  # all of its group, also what it started
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not px4_runs(self._instance):  # it removes this itself unless it had to be killed
                (LOCKS / f"px4-sock-{self._instance}").unlink(missing_ok=True)
        folder, self.folder = self.folder, None
        if folder is not None:
            if self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                airframes = sorted(folder.glob("etc/init.d-posix/airframes/*_ironbird"))
                for path in (*sorted(folder.glob("work/log/**/*.ulg")), folder / "px4.txt", *airframes):
                    if path.is_file():
                        self.logs.append(Path(shutil.copy2(path, self.keep / path.name)))
            shutil.rmtree(folder, ignore_errors=True)
        atexit.unregister(self.stop)
