"""What belongs to a test with a real autopilot, and what is left of it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from ironbird.autopilots.px4.process import LOCKS, open_port

MARK = "IRONBIRD_TEST"  # in the environment of all processes of a test
IRONBIRD = Path(sys.executable).parent / "ironbird"


def wait_for(check: Callable[[], object], seconds: float, what: Callable[[], str] | str) -> None:
    """Until a function says yes."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what if isinstance(what, str) else what()}"
        time.sleep(0.05)


class Belongings:
    """All processes and temporary folders of one test, found by a mark in their environment."""

    def __init__(self, autopilot: str, folder: Path) -> None:
        self.autopilot = autopilot
        self.folder = folder  # the temporary folder of its processes
        self.mark = uuid.uuid4().hex
        self.instances: set[int] = set()  # of PX4, seen while they ran
        self.descriptors, self.threads = _descriptors(), threading.active_count()

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"TMPDIR": str(self.folder), MARK: self.mark}

    def processes(self) -> dict[int, list[str]]:
        """Words of the command of each process, without this one; a zombie counts.

        In virtual time programs get few variables: their home is in the folder.
        """
        found = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and int(path.name) != os.getpid():
                with contextlib.suppress(OSError):
                    words = (path / "environ").read_bytes().split(b"\0")
                    home = f"HOME={self.folder}/".encode()
                    if f"{MARK}={self.mark}".encode() in words or any(word.startswith(home) for word in words):
                        found[int(path.name)] = (path / "cmdline").read_bytes().decode().split("\0")
        return found | {pid: ["zombie"] for pid in self._zombies()}

    @staticmethod
    def _zombies() -> list[int]:
        """Children of this process that ended and were not waited for."""
        children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
        pids = [int(pid) for path in children for pid in path.read_text().split()]
        return [pid for pid in pids if _state(pid) == "Z"]

    def autopilots(self) -> list[int]:
        """The processes of the autopilot itself."""
        name = "px4" if self.autopilot == "px4" else "arducopter"
        found = [(pid, words) for pid, words in self.processes().items() if Path(words[0]).name == name]
        if name == "px4":
            self.instances |= {int(words[words.index("-i") + 1]) for _, words in found if "-i" in words}
        return [pid for pid, _ in found]

    def folders(self) -> list[Path]:
        return list(self.folder.glob("ironbird-*"))

    def console(self) -> str:
        """What the autopilots said so far."""
        said = ""
        for path in (*self.folder.glob("ironbird-*/px4.txt"), *self.folder.glob("ironbird-*/console.txt")):
            with contextlib.suppress(OSError):
                said += path.read_text(errors="replace")
        return said

    def flies(self) -> bool:
        """Whether the vehicles took off: PX4 says so, ArduPilot begins its log when it arms."""
        if self.autopilot == "px4":
            return bool(self.autopilots()) and "Takeoff detected" in self.console()
        return bool(self.autopilots()) and any(
            path.stat().st_size > 4096 for path in self.folder.glob("ironbird-*/logs/*.BIN")
        )

    def run(self, *options: str) -> subprocess.Popen[str]:
        """`ironbird sitl` with its own temporary folder."""
        command = [str(IRONBIRD), "sitl", self.autopilot, "--headless", *options]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip

    def check_nothing_left(self) -> None:
        """No process, folder, lock, socket, port, descriptor, thread."""
        wait_for(lambda: not self.processes(), 10.0, lambda: f"end of {self.processes()}")
        wait_for(lambda: not self.folders(), 5.0, lambda: f"removal of {self.folders()}")
        for instance in self.instances:
            for name in (f"px4_lock-{instance}", f"px4-sock-{instance}"):
                wait_for(lambda name=name: not (LOCKS / name).exists(), 5.0, f"removal of {name}")  # type: ignore[misc]
            open_port(instance)[1].close()  # or says which port is taken
        assert _descriptors() <= self.descriptors
        assert threading.active_count() <= self.threads


def _descriptors() -> int:
    """Open files of this process but compiled code, which stays once it is loaded."""
    found = 0
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing itself
            found += not str(path.readlink()).startswith("/memfd:")
    return found


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
