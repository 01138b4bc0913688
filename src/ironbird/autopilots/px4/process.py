"""A PX4 process that Ironbird starts, and the ports and locks of its instances."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironbird.autopilots.px4.airframe import AUTOSTART, Airframe
from ironbird.errors import LinkError
from ironbird.host.guard import is_locked
from ironbird.host.process import AutopilotProcess, bind, is_free, is_program, places

VARIABLE = "IRONBIRD_PX4"  # PX4's build folder, or the program in its `bin`
INSTANCES = range(10)  # beyond, PX4 sends to one port for all
SIMULATOR_PORT, PILOT_PORT = 4560, 14540  # TCP that PX4 connects to; UDP that it sends to
LISTENER_PORT = 13280  # UDP that it sends to as well: for a gimbal, which is not modelled
# UDP that PX4 binds, plus the instance: for a pilot, ground stations, devices of its own vehicle, a gimbal
COMMAND_PORT, GROUND_PORT, PAYLOAD_PORT, GIMBAL_PORT = PX4_PORTS = (14580, 18570, 14280, 13030)
LOCKS = Path("/tmp")  # PX4 keeps a lock and a socket per instance here
MAVLINK_FILE = "px4-rc.mavlink"  # of PX4's start-up: opens its links
GROUND_LINK = re.compile(r"\s*mavlink (start|stream) .*-u \$udp_gcs_port_local\b")  # its lines for ground stations
STARTED = "Startup script returned"  # what PX4 prints when its start-up is over
START_FILES = ("etc/init.d-posix/rcS", "etc/init.d-posix/px4-rc.*", "etc/init.d/rc*", "bin/px4-alias.sh")
WATCHED_HZ = {  # messages that a passive ground station needs in addition to heartbeats
    "EXTENDED_SYS_STATE": 5, "ESTIMATOR_STATUS": 5, "GLOBAL_POSITION_INT": 5, "SYS_STATUS": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """Paths of a PX4 build: its binary and its folder `etc`."""

    binary: Path
    etc: Path


def find_px4(where: str | Path | None = None) -> Program:
    """PX4's program from the argument, the variable IRONBIRD_PX4, or the PATH."""
    looked = []
    for source, path in places(where, VARIABLE, "px4"):
        binary = path / "bin" / "px4" if path.is_dir() else path
        etc = binary.resolve().parent.parent / "etc"
        if not is_program(binary):
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


def px4_runs(instance: int) -> bool:
    """Whether a PX4 holds the lock of an instance, even one whose ports are not visible from here."""
    return is_locked(LOCKS / f"px4_lock-{instance}")


def open_port(instance: int | None) -> tuple[int, socket.socket]:
    """Instance number and the listening socket that its PX4 connects to; with None the first whose ports are all free.

    Another run cannot take the same instance while the socket is open.
    """
    candidates: Iterator[int] = iter(INSTANCES if instance is None else (instance,))
    taken = []
    for number in candidates:
        server = bind(socket.SOCK_STREAM, SIMULATOR_PORT + number)
        if server is None:
            taken.append(f"TCP {SIMULATOR_PORT + number}")
            continue
        blocked = [f"UDP {port + number}" for port in PX4_PORTS if not is_free(socket.SOCK_DGRAM, port + number)]
        if px4_runs(number):
            blocked.append(str(LOCKS / f"px4_lock-{number}"))
        if not blocked:
            return number, server
        server.close()
        taken.append(blocked[0])
    raise LinkError(f"no free PX4 instance: taken are {', '.join(taken)}; is another PX4 or simulator running?")


def free_instance(first: int | None = None) -> int:
    """A free instance number, from `first` on; without it, different processes begin at different numbers."""
    begin = os.getpid() if first is None else first
    for offset in INSTANCES:
        number = (begin + offset) % len(INSTANCES)
        if all(is_free(socket.SOCK_DGRAM, port + number) for port in (PILOT_PORT, LISTENER_PORT)):
            with contextlib.suppress(LinkError):
                open_port(number)[1].close()
                return number
    number, server = open_port(None)  # its error lists the taken ports
    server.close()
    return number


class Px4Process(AutopilotProcess):
    """One PX4 process, with its log (.ulg). A `watched` one sends more messages to UDP port 13280 + instance.

    A `quiet` one has no link to ground stations on UDP port 14550.
    """

    name = "PX4"
    prefix = "ironbird-px4-"
    console_name = "px4.txt"
    goodbye_s = 3.0  # for writing its log
    recorded = True

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        keep: Path | None = None,
        watched: bool = False,
        quiet: bool = False,
        virtual: bool = False,
        thread_seed: int = 0,
    ) -> None:
        self._instance = 0
        self._started = False
        super().__init__(where, keep=keep, virtual=virtual, thread_seed=thread_seed)
        self.watched, self.quiet = watched, quiet
        self.program: Program | None = None

    def start(self, airframe: Airframe, title: str, instance: int) -> None:
        """Start PX4; it connects to the port of its instance during its start-up."""
        self.program = find_px4(self.where)
        self._instance = instance
        folder = self._make_folder()
        work = folder / "work"
        work.mkdir()
        etc = self._write_etc(folder / "etc", self.program.etc, airframe.script(title))
        command = [str(self.program.binary), "-d", str(etc), "-w", str(work), "-i", str(instance)]
        settings = {"PX4_SYS_AUTOSTART": str(AUTOSTART), "PX4_SIM_HOST_ADDR": "127.0.0.1", "PX4_SIMULATOR": "ironbird"}
        self._launch(command, cwd=work, settings=settings)

    def started(self) -> bool:
        """Whether its start-up script has ended: before that, modules such as its logger do not run yet."""
        self._started = self._started or STARTED in self.console()
        return self._started

    def _write_etc(self, etc: Path, real: Path, script: str) -> Path:
        """Link PX4's start-up files into a folder, with Ironbird's airframe as the only one; returns the folder."""
        own = etc / "init.d-posix" / "airframes"
        own.mkdir(parents=True)
        if self.watched or self.quiet:
            streams = [
                f"mavlink stream -r {rate} -s {name} -u $(({GIMBAL_PORT}+px4_instance))"
                for name, rate in WATCHED_HZ.items()
            ]
            lines = (real / "init.d-posix" / MAVLINK_FILE).read_text().split("\n")
            links = [line for line in lines if not (self.quiet and GROUND_LINK.match(line))]
            (etc / "init.d-posix" / MAVLINK_FILE).write_text(
                "\n".join([*links, *(streams if self.watched else ()), ""])
            )
        for folder, inside in ((real, etc), (real / "init.d-posix", etc / "init.d-posix")):
            for path in folder.iterdir():
                if not (inside / path.name).exists():
                    (inside / path.name).symlink_to(path)
        (own / f"{AUTOSTART}_ironbird").write_text(script)
        return etc

    def _to_keep(self, folder: Path) -> Sequence[Path]:
        airframes = sorted(folder.glob("etc/init.d-posix/airframes/*_ironbird"))
        return *sorted(folder.glob("work/log/**/*.ulg")), folder / self.console_name, *airframes

    def _locked(self) -> Sequence[Path]:
        if self.run is not None:  # they are in its folder
            return ()
        return LOCKS / f"px4_lock-{self._instance}", LOCKS / f"px4-sock-{self._instance}"
