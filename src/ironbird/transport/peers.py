"""Which process is at the other end of a loopback connection, from the system's tables.

Ports on loopback are open to every program of this computer, and the protocols of the autopilots have no passwords. But
Linux reports the user and the socket of each port (`/proc/net` [ProcPid]), and the sockets of each process that may be
inspected. So other programs are distinguished from the autopilot that Ironbird started.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from typing import Literal

from ironbird.errors import LinkError, shortened

Kind = Literal["tcp", "udp"]
ASK_AGAIN_S = 0.5  # s after which a refused port is looked up again: it may belong to another process by then
MOST_STRANGERS = 256  # limit of remembered refused addresses

LOCAL, REMOTE, USER, INODE = 1, 2, 7, 9  # columns of /proc/net/tcp and udp


class Doorkeeper:
    """Accepts packets from process `pid` and its session, and from root; without `pid`, from the same user.

    On systems other than Linux, which do not report the owner of a port, all packets are accepted.
    """

    def __init__(self, kind: Kind, own_port: int, pid: int | None) -> None:
        self.kind: Kind = kind
        self.own_port = own_port
        self.pid = pid
        self.refused = 0  # number of packets or connections
        self._known: set[tuple[str, int]] = set()
        self._strangers: dict[tuple[str, int], float] = {}

    def lets_in(self, source: tuple[str, int]) -> bool:
        """Whether packets from an address are accepted; refused addresses are looked up again now and then."""
        if source in self._known:
            return True
        now = time.monotonic()
        if now < self._strangers.get(source, 0.0):
            self.refused += 1
            return False
        if is_of(self.pid, self.kind, source, self.own_port):
            self._known.add(source)
            return True
        if len(self._strangers) >= MOST_STRANGERS:
            self._strangers.clear()
        self._strangers[source] = now + ASK_AGAIN_S
        self.refused += 1
        return False


def own_address(host: str) -> str:
    """This computer's address from which another host is reached, the only one to listen on. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))
        except OSError as error:
            raise LinkError(
                f"there is no way to {shortened(host)}: {error.strerror or error}; give an address"
            ) from None
        return str(probe.getsockname()[0])


def is_of(pid: int | None, kind: Kind, source: tuple[str, int], own_port: int) -> bool:
    """Whether a port on loopback is held by a process or its session; with None, by a process of the same user.

    Ports held by root are accepted if this process is not root's: root may do anything, and programs in containers use
    root's ports. Programs that root starts may run as another user (`owner_of_programs`): for root the session alone
    decides.
    """
    if not source[0].startswith("127."):
        return pid is None  # another computer: its processes are not known here
    if not os.path.exists("/proc/net/udp"):
        return True
    ours = os.geteuid()
    sockets = list(_sockets(kind, source[1], own_port))
    if any(user == 0 != ours for user, _ in sockets):
        return True
    held = {inode for user, inode in sockets if user == ours or (ours == 0 and pid is not None)}
    if pid is None or not held:
        return bool(held)
    return any(not held.isdisjoint(_held_by(process)) for process in _session(pid))


def _sockets(kind: Kind, port: int, own_port: int) -> Iterator[tuple[int, int]]:
    """User id and socket inode of each socket on a port; for TCP only those connected to `own_port`."""
    for name in (kind, f"{kind}6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{name}", encoding="ascii") as table:
            next(table)
            for line in table:
                cells = line.split()
                if int(cells[LOCAL].rpartition(":")[2], 16) == port and (
                    kind == "udp" or int(cells[REMOTE].rpartition(":")[2], 16) == own_port
                ):
                    yield int(cells[USER]), int(cells[INODE])


def _session(pid: int) -> Iterator[int]:
    """The ids of a process and of its descendants that are still in its session."""
    yield pid
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != pid:
            with contextlib.suppress(OSError):
                if os.getsid(int(name)) == pid:
                    yield int(name)


def _held_by(pid: int) -> set[int]:
    """Inodes of the sockets that a process holds."""
    inodes: set[int] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    inodes.add(int(target[8:-1]))
    return inodes
