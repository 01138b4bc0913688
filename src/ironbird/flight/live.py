"""A running flight that listens: parameters can be changed from another terminal while it flies."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

from ironbird.errors import IronbirdError, RunError
from ironbird.runtime.state import RunState
from ironbird.runtime.tuning import Tuning, apply_tuning

SOCKET = "control.sock"
TIMEOUT_S = 2.0
LONGEST = 65536


class LiveControl:
    """The flight's end: a socket in its folder. Requests are applied between ticks and recorded."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SOCKET
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self.path))
        except OSError as error:
            raise RunError(f"cannot listen at {self.path}: {error}") from error
        self._socket.listen(4)
        self._socket.setblocking(False)

    def poll(self, state: RunState) -> list[Tuning]:
        """Serve the requests that wait; returns what was changed."""
        changed: list[Tuning] = []
        while True:
            try:
                peer, _ = self._socket.accept()
            except BlockingIOError:
                return changed
            with peer:
                peer.settimeout(TIMEOUT_S)
                with contextlib.suppress(OSError):
                    answer = self._serve(state, peer.recv(LONGEST), changed)
                    peer.sendall(json.dumps(answer).encode())

    def _serve(self, state: RunState, request: bytes, changed: list[Tuning]) -> dict[str, object]:
        try:
            wanted = json.loads(request)["set"]
            tunings = [Tuning(state.tick, str(path), value) for path, value in wanted.items()]
            for tuning in tunings:
                apply_tuning(state, tuning)
                changed.append(tuning)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return {"ok": False, "error": f"not understood: {error}"}
        except IronbirdError as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, "time_s": state.time_s}

    def close(self) -> None:
        """Stop listening and leave nothing behind."""
        self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()


def tune(folder: Path, values: dict[str, object]) -> float:
    """Change parameters of a flight that runs in a folder; returns the simulation time at which they changed."""
    path = folder / SOCKET
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(TIMEOUT_S)
            peer.connect(str(path))
            peer.sendall(json.dumps({"set": values}).encode())
            peer.shutdown(socket.SHUT_WR)
            answer = json.loads(peer.recv(LONGEST))
    except (OSError, ValueError) as error:
        raise RunError(f"no flight listens at {path} ({error}); start one with 'ironbird fly … --speed 1'") from None
    if not answer["ok"]:
        raise RunError(str(answer["error"]))
    return float(answer["time_s"])
