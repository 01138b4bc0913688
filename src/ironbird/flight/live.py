"""Changing parameters of a running flight from another terminal.

A request is one line of JSON, `{"set": {PATH: VALUE}}`, ended by a newline or by closing the sending side; so is the
answer. No request can stop the flight: it never waits for a client, and an invalid request changes nothing. Only the
user who flies (and root) can use the socket: by its mode, and by the credentials of the other end.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import stat
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from ironbird.errors import IronbirdError, RunError
from ironbird.flight.prepare import one_for_many
from ironbird.runtime.state import RunState
from ironbird.runtime.tuning import Tuning, apply_tuning

SOCKET = "control.sock"
TIMEOUT_S = 2.0  # how long a client may take for its request, and `tune` for an answer
LONGEST = 65536  # bytes of a request or an answer
MOST_PEERS = 16  # at once
MOST_VALUES = 256  # of one request
LONGEST_PATH = 300
LONGEST_ERROR = 500
CREDENTIALS = struct.Struct("3i")  # of SO_PEERCRED on Linux: process, user, group


@dataclass
class _Client:
    """A client that has connected and not yet been answered."""

    socket: socket.socket
    since: float
    request: bytearray = field(default_factory=bytearray)


class LiveControl:
    """Server side: a socket in the flight's folder. Requests are applied between ticks and recorded."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SOCKET
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() not in (0, folder.stat().st_uid):
            raise RunError(f"cannot listen at {self.path}: the folder belongs to another user; choose one of your own")
        self._clients: list[_Client] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _clear(self.path)
            os.fchmod(self._socket.fileno(), 0o600)  # on Linux the file is made with this mode
            self._socket.bind(str(self.path))
            self.path.chmod(0o600)
            made = self.path.lstat()
            self._file = made.st_dev, made.st_ino
            self._socket.listen(MOST_PEERS)
            self._socket.setblocking(False)
        except OSError as error:
            self._socket.close()
            raise RunError(f"cannot listen at {self.path}: {error}") from error
        except RunError:
            self._socket.close()
            raise

    def poll(self, state: RunState) -> list[Tuning]:
        """Serve waiting requests; returns the changes. Never waits, never raises."""
        changed: list[Tuning] = []
        self._accept()
        now = time.monotonic()
        waiting = []
        for client in self._clients:
            if self._read(client, now):
                self._answer(client.socket, self._serve(state, bytes(client.request), changed))
            else:
                waiting.append(client)
        self._clients = waiting
        return changed

    def close(self) -> None:
        """Stop listening and remove the socket."""
        for client in self._clients:
            self._answer(client.socket, _refusal("the flight is over"))
        self._clients = []
        self._socket.close()
        with contextlib.suppress(OSError):  # it was removed; one that took its place stays
            there = self.path.lstat()
            if (there.st_dev, there.st_ino) == self._file:
                self.path.unlink()

    # ------------------------------------------------------------------ clients

    def _accept(self) -> None:
        """Accept waiting clients; a few at a time, and no more than can be served at once."""
        for _ in range(2 * MOST_PEERS):
            try:
                peer, _ = self._socket.accept()
            except OSError:  # no client waits, or no file handle is left for them
                return
            peer.setblocking(False)
            if not _may_speak(peer):
                self._answer(peer, _refusal("this flight belongs to another user"))
            elif len(self._clients) >= MOST_PEERS:
                self._answer(peer, _refusal(f"{MOST_PEERS} others are connected; try again"))
            else:
                self._clients.append(_Client(peer, time.monotonic()))

    def _read(self, client: _Client, now: float) -> bool:
        """Read bytes of a client; returns whether the request is complete or its time is over."""
        try:
            data = client.socket.recv(LONGEST + 1 - len(client.request))
        except BlockingIOError:
            return now - client.since > TIMEOUT_S
        except OSError:  # gone: no client to answer
            return True
        client.request += data
        return not data or b"\n" in data or len(client.request) > LONGEST

    def _answer(self, peer: socket.socket, answer: dict[str, object]) -> None:
        """Send as much of the answer as fits without waiting, and close the connection."""
        with contextlib.suppress(OSError):
            peer.send(json.dumps(answer).encode() + b"\n")
        peer.close()

    # ------------------------------------------------------------------ requests

    def _serve(self, state: RunState, request: bytes, changed: list[Tuning]) -> dict[str, object]:
        """Apply all changes of a request, or none."""
        try:
            tunings = [Tuning(state.tick, path, value) for path, value in _wanted(request).items()]
            for tuning in tunings:
                state.model.check_value(tuning.path, tuning.value)
                one_for_many(state.model, tuning.path, tuning.value)
            _apply(state, tunings)
            changed += tunings
        except IronbirdError as error:
            return _refusal(str(error))
        except Exception as error:  # a request is external data: it must not end the flight
            return _refusal(f"not understood: {error or type(error).__name__}")
        return {"ok": True, "time_s": state.time_s}


def _clear(path: Path) -> None:
    """Remove a socket that an earlier flight of this user left; nothing else is removed."""
    try:
        there = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(there.st_mode):
        raise RunError(f"{path} is there and is no socket of a flight: move it away, or choose another folder")
    if there.st_uid != os.geteuid():
        raise RunError(f"{path} is the socket of another user: choose another folder")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except FileNotFoundError:
            return
        except BlockingIOError:  # a process listens, with many clients waiting
            pass
    raise RunError(f"another flight listens at {path}: wait for its end, or choose another folder")


def _may_speak(peer: socket.socket) -> bool:
    """Whether the other end belongs to the same user, or root; where that is unknown, the socket's mode protects."""
    try:
        _, user, _ = CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    except AttributeError:  # not Linux
        return True
    except OSError:
        return False
    return user in (0, os.geteuid())


def _refusal(why: str) -> dict[str, object]:
    return {"ok": False, "error": why if len(why) <= LONGEST_ERROR else why[:LONGEST_ERROR] + "…"}


def _wanted(request: bytes) -> dict[str, float | list[float]]:
    """Values by path of a request; `ValueError` explains what is wrong."""
    if len(request) > LONGEST:
        raise ValueError(f"a request has {LONGEST} bytes at most")
    try:
        data = json.loads(request, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    values = data.get("set") if isinstance(data, dict) else None
    if not isinstance(values, dict) or not values:
        raise ValueError('a request is {"set": {PATH: VALUE}}')
    if len(values) > MOST_VALUES:
        raise ValueError(f"a request sets {MOST_VALUES} values at most")
    for path in values:
        if len(path) > LONGEST_PATH:
            raise ValueError(f"no path is longer than {LONGEST_PATH} letters")
    return {
        path: [_number(part) for part in value] if isinstance(value, list) else _number(value)
        for path, value in values.items()
    }


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a value is a number or a list of numbers")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _apply(state: RunState, tunings: Sequence[Tuning]) -> None:
    """Apply all changes, or none if one is not tunable."""
    before = state.params.copy()
    try:
        for tuning in tunings:
            apply_tuning(state, tuning)
    except BaseException:
        state.params[...] = before
        raise


def tune(folder: Path, values: dict[str, object]) -> float:
    """Change parameters of a flight that runs in a folder; returns the simulation time at which they changed."""
    path = folder / SOCKET
    request = json.dumps({"set": values}).encode() + b"\n"
    if len(request) > LONGEST:
        raise RunError(f"a request has {LONGEST} bytes at most, this one {len(request)}")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(TIMEOUT_S)
            peer.connect(str(path))
            if not _may_speak(peer):
                raise RunError(f"{path} is the socket of another user")
            with contextlib.suppress(BrokenPipeError):  # it may have refused already: the answer reports it
                peer.sendall(request)
                peer.shutdown(socket.SHUT_WR)
            answer = json.loads(_all(peer))
            if not isinstance(answer, dict):
                raise ValueError("the answer is no flight's")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise RunError(f"no flight listens at {path} ({why}); start one with 'ironbird fly … --speed 1'") from None
    if not answer.get("ok"):
        raise RunError(str(answer.get("error", "refused")))
    return float(answer["time_s"])


def _all(peer: socket.socket) -> bytes:
    """Bytes received until the other side closes, up to a limit."""
    parts = bytearray()
    while (data := peer.recv(LONGEST)) and len(parts) <= LONGEST:
        parts += data
    return bytes(parts)
