"""An ArduPilot process of our own: found, started in a folder of its own, ended with everything it made."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.vehicles.spec import Home

VARIABLE = "IRONBIRD_ARDUPILOT"  # a folder with the programs, or one of them
SPEEDUP = 1000  # as fast as the exchange goes
PDEATHSIG = 1  # PR_SET_PDEATHSIG
LAST_LINES = 5


def find_program(name: str, where: str | Path | None = None) -> Path:
    """The program of a vehicle class: from the argument, the variable IRONBIRD_ARDUPILOT, or the PATH."""
    looked = []
    for source, place in (("argument", where), (VARIABLE, os.environ.get(VARIABLE))):
        if place:
            path = Path(place).expanduser()
            path = path / name if path.is_dir() else path
            if path.name == name and os.access(path, os.X_OK) and path.is_file():
                return path.resolve()
            looked.append(f"{source} {place}")
    found = shutil.which(name)
    if found:
        return Path(found).resolve()
    tried = f" (tried: {', '.join(looked)}, PATH)" if looked else ""
    raise LinkError(
        f"no program '{name}'{tried}: set {VARIABLE} to the folder with ArduPilot's SITL programs, "
        f"which its `./waf configure --board sitl && ./waf {name.removeprefix('ardu')}` puts into build/sitl/bin"
    )


class ArduPilotProcess:
    """One ArduPilot. Its log (.BIN) and what it said are copied to `keep` when it ends; all else is removed.

    `ground_port` is where its first MAVLink link sends to: a ground station binds it (`links/ground.py`). With
    `ground_port` 0 a free port is taken. `extra` are more arguments, such as `--start-time`.
    """

    def __init__(
        self, where: str | Path | None = None, *, ground_port: int = 0, keep: Path | None = None,
        params: str = "", extra: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.where = where
        self.ground_port = ground_port or free_udp_port()
        self.keep = keep
        self.params = params  # text of a .parm file that comes on top
        self.extra = tuple(extra)
        self.folder: Path | None = None
        self.program: Path | None = None
        self.logs: list[Path] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, firmware: str, params: str, *, home: Home, physics_port: int, rate_hz: int, second_port: int | None = None
    ) -> None:
        """Start it with the physics at `physics_port`; `second_port` gets a MAVLink link of its own."""
        self.program = find_program(firmware, self.where)
        self.folder = Path(tempfile.mkdtemp(prefix="ironbird-ardupilot-"))
        atexit.register(self.stop)
        files = ["vehicle.parm"]
        (self.folder / "vehicle.parm").write_text(params)
        if self.params:
            files.append("more.parm")
            (self.folder / "more.parm").write_text(self.params)
        command = [
            str(self.program), "--model", "JSON:127.0.0.1", "--sim-port-out", str(physics_port),
            "--home", f"{home.latitude_deg:.7f},{home.longitude_deg:.7f},{home.height_m:.3f},0", "--wipe",
            "--serial0", f"udpclient:127.0.0.1:{self.ground_port}",
            "--serial1", f"udpclient:127.0.0.1:{second_port}" if second_port else "none:", "--serial2", "none:",
            "--rc-in-port", str(free_udp_port()), "--defaults", ",".join(files), "--speedup", str(SPEEDUP),
            "--rate", str(rate_hz), *self.extra,
        ]  # fmt: skip
        parent, libc = os.getpid(), ctypes.CDLL(None)

        def die_with_parent() -> None:
            with contextlib.suppress(AttributeError):  # Linux only
                libc.prctl(PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with (self.folder / "console.txt").open("wb") as console:
            try:
                self._process = subprocess.Popen(
                    command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
                    start_new_session=True, preexec_fn=die_with_parent,
                )  # fmt: skip
            except OSError as error:
                self.stop()
                raise LinkError(f"{self.program} cannot be started: {error.strerror}") from None

    def running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise if it ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            name = self.program.name if self.program else "ArduPilot"
            raise LinkError(f"{name} ended with code {self._process.returncode}; it said: {self.said() or 'nothing'}")

    def said(self) -> str:
        """Its last lines."""
        if self.folder is None or not (self.folder / "console.txt").is_file():
            return ""
        lines = (self.folder / "console.txt").read_text(errors="replace").splitlines()
        return " / ".join(line.strip() for line in lines[-LAST_LINES:] if line.strip())

    def ask_to_end(self) -> None:
        """It ends when its loop runs on, and writes its log before."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """End it, take its log along, remove its folder. May be called twice."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        folder, self.folder = self.folder, None
        if folder is not None:
            if self.keep is not None:
                self.keep.mkdir(parents=True, exist_ok=True)
                for path in (*sorted(folder.glob("logs/*.BIN")), folder / "console.txt", folder / "vehicle.parm"):
                    if path.is_file():
                        self.logs.append(Path(shutil.copy2(path, self.keep / path.name)))
            shutil.rmtree(folder, ignore_errors=True)
        atexit.unregister(self.stop)


def free_udp_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
