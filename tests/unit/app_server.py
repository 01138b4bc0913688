"""The app as a process of its own, as users start it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0  # the machine may be busy


class Served:
    """A running app."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        deadline = time.monotonic() + PATIENCE_S
        while not any("Ctrl-C" in line for line in self.said):
            assert time.monotonic() < deadline and process.poll() is None, self.said
            time.sleep(0.05)
        self.url, self.guest_url = (
            next(line.split()[1] for line in self.said if line.startswith(word)) for word in ("open:", "guests:")
        )
        self.base, _, self.token = self.url.partition("/?token=")
        self.guest_token = self.guest_url.partition("/?token=")[2]
        self.port = int(self.base.rpartition(":")[2])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())

    def ask(self, path: str, body: bytes | None = None, token: str | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and answer of a request; 413 also if the server hung up before it took all of it."""
        given = {"Authorization": f"Bearer {self.token if token is None else token}", **headers}
        request = urllib.request.Request(self.base + path, body, given)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return int(reply.status), reply.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except urllib.error.URLError as error:
            if isinstance(error.reason, BrokenPipeError | ConnectionResetError):
                return 413, b""
            raise

    def do(self, action: str, **args: Any) -> dict[str, Any]:
        """An action, and its answer."""
        return dict(json.loads(self.ask("/do", json.dumps({"do": action, **args}).encode())[1]))

    def status(self) -> dict[str, Any]:
        """What flies."""
        return dict(json.loads(self.ask("/status")[1]))

    def until(self, name: str, **wanted: Any) -> dict[str, Any]:
        """Wait until a flight is so."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            flight = next((row for row in self.status()["flights"] if row["name"] == name), None)
            if flight is None:  # what flies is told some times a second
                time.sleep(0.05)
                continue
            if all(flight.get(key) == value for key, value in wanted.items()):
                return flight
            assert not flight["failure"], flight["failure"]
            time.sleep(0.05)
        raise AssertionError(f"{name} never became {wanted}")

    def end(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextlib.contextmanager
def served(folder: Path, *, port: int = 0, token: str = "", **variables: str) -> Iterator[Served]:
    """An app that keeps what it flies in a folder."""
    words = [sys.executable, "-m", "ironbird.cli", "app", "--no-browser", f"--http-port={port}"]
    words += [f"--out={folder / 'app'}", f"--logs={folder}", f"--store=sqlite:///{folder / 'store.db'}"]
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "IRONBIRD_APP_TOKEN": token, **variables}
    with subprocess.Popen(
        words, cwd=folder, env=told, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        app = None
        try:
            app = Served(process)
            yield app
        finally:
            if process.poll() is None and app is not None:
                app.end()
            elif process.poll() is None:
                process.kill()
