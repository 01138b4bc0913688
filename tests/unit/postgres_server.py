"""A PostgreSQL server of the tests' own, which they may kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

USER = "postgres"  # who runs the server if the tests run as root, which PostgreSQL refuses


class Postgres:
    """A server in a folder of its own, on a free port of this machine alone."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.data = programs, folder / "data"
        self.as_user = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._call("initdb", "-D", str(self.data), "-U", "ironbird", "--auth=trust", "--no-sync", "-E", "UTF8")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n")
            settings.write("fsync = off\nshared_buffers = 16MB\n")  # no power cuts here

    def _call(self, program: str, *arguments: str) -> None:
        command = [*self.as_user, str(self.programs / program), *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/")
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start; after a kill the remains of the old one may stand in the way for a moment."""
        for attempt in range(50):
            try:
                self._call("pg_ctl", "start", "-w", "-s", "-D", str(self.data), "-l", str(self.data / "log.txt"))
                return
            except AssertionError:
                if attempt == 49:
                    raise
                time.sleep(0.2)

    def kill(self) -> None:
        """As the kernel does that is out of memory."""
        os.kill(int((self.data / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)

    def stop(self) -> None:
        """End, whatever state it is in."""
        with contextlib.suppress(AssertionError):
            self._call("pg_ctl", "stop", "-m", "immediate", "-s", "-D", str(self.data))

    def url(self, database: str) -> str:
        """Where a database of this server is; it is made, empty."""
        self._call("dropdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "ironbird", "--if-exists", database)
        self._call("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "ironbird", database)
        return f"postgresql://ironbird@127.0.0.1:{self.port}/{database}"


def programs() -> Path | None:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").is_file():
            return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None
