"""Checks of the installation for links to autopilots: programs, busy ports and their owners, and cures."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ironbird.autopilots.ardupilot import process as ardupilot
from ironbird.autopilots.ardupilot.process import find_program
from ironbird.autopilots.ardupilot.version import VERSION as ARDUPILOT_VERSION
from ironbird.autopilots.px4 import process as px4
from ironbird.autopilots.px4.process import find_px4
from ironbird.autopilots.px4.version import VERSION as PX4_VERSION
from ironbird.compiler import cache, native
from ironbird.errors import IronbirdError, LinkError
from ironbird.files.extras import PURPOSES, install, missing, packages_of
from ironbird.host.process import GROUND_STATION_PORT, version_in

FIRMWARES = ("arducopter", "arducopter-heli", "arduplane", "ardurover", "ardusub")
ARDUPILOT, FREE_PORTS = "ArduPilot", "free ports"  # names of findings
EXTRA = "extra "  # begins the names of findings about extras
ROOM = 4 << 20  # bytes that the cache should have room for: two models
INSTANCES = 4  # of autopilots whose ports are checked
LISTENING = "0A"  # state of a TCP socket in /proc/net/tcp


@dataclass(frozen=True)
class Port:
    """A UDP or TCP port that a link or another program uses."""

    number: int
    protocol: str  # tcp or udp
    used_for: str
    ours: bool = True  # a link of Ironbird opens it; the others belong to the autopilot
    client: bool = False  # a ground station may hold it: it receives the autopilot there


@dataclass(frozen=True)
class Finding:
    """Result of one check: its name, whether it is good, a text, and the cure."""

    name: str
    good: bool
    text: str
    cure: str = ""
    optional: bool = False  # not installed, and needed only by those who use it

    @property
    def state(self) -> str:
        """Its state in a word: ok, absent (optional and not installed), NOT OK."""
        return "ok" if self.good else "absent" if self.optional else "NOT OK"

    def sentence(self) -> str:
        """The finding as one line of a table."""
        return f"{self.state}: {self.text}" + (f"; {self.cure}" if self.cure else "")

    def data(self) -> dict[str, Any]:
        """The finding as a dictionary for JSON."""
        return {"name": self.name, "good": self.good, "state": self.state, "text": self.text, "cure": self.cure}


@dataclass(frozen=True)
class Holder:
    """The process that holds a port."""

    process: int  # 0 if this user cannot see it
    command: str

    def __str__(self) -> str:
        return f"process {self.process} ({self.command})" if self.process else "a process of another user"


def ports() -> list[Port]:
    """All ports of the links, for the first instances."""
    result = []
    for i in range(INSTANCES):
        step = ardupilot.PORT_STEP * i
        stations = f"ground station of {'PX4 and ' if i == 0 else ''}ArduPilot {i}"
        result += [
            Port(px4.SIMULATOR_PORT + i, "tcp", f"PX4 {i}, simulator link"),
            Port(px4.PILOT_PORT + i, "udp", f"PX4 {i}, the built-in ground station, or MAVSDK with --pilot none"),
            Port(px4.LISTENER_PORT + i, "udp", f"PX4 {i}, the built-in ground station with --pilot none"),
            Port(px4.COMMAND_PORT + i, "udp", f"PX4 {i} itself", ours=False),
            Port(px4.GROUND_PORT + i, "udp", f"PX4 {i} itself, ground station link", ours=False),
            Port(ardupilot.PHYSICS_PORT + step, "udp", f"ArduPilot {i}, simulator link"),
            Port(ardupilot.TCP_PORT + step, "tcp", f"ArduPilot {i} itself, for clients with --pilot none", ours=False),
            Port(GROUND_STATION_PORT + step, "udp", stations, client=True),
        ]
    return result


def examine(proc: Path = Path("/proc")) -> list[Finding]:
    """Run all checks: autopilots, compiler, browser, databases, cache, extras of the package, and ports."""
    browsers = ("chromium", "chromium-browser", "google-chrome")
    findings = [
        _autopilot("PX4", lambda: find_px4().binary, PX4_VERSION),
        *(
            _autopilot(f"{ARDUPILOT} {name.removeprefix('ardu')}", partial(find_program, name), ARDUPILOT_VERSION)
            for name in FIRMWARES
        ),
        _compiler(),
        _cache(),
        _browser(browsers),
        _postgres(),
        *map(_extra, PURPOSES),
    ]
    busy = holders(proc)
    if busy is None:
        findings.append(Finding("ports", False, f"{proc}/net cannot be read", "ports are not checked on this system"))
        return findings
    uses: dict[tuple[str, int], list[Port]] = {}
    for port in ports():
        uses.setdefault((port.protocol, port.number), []).append(port)
    free = [same[0] for key, same in uses.items() if key not in busy]
    findings += [_busy(same, busy[key]) for key, same in uses.items() if key in busy]
    findings.append(Finding(FREE_PORTS, True, ", ".join(f"{port.protocol} {port.number}" for port in free)))
    return findings


def shortened_list(findings: Sequence[Finding]) -> list[Finding]:
    """The same for people: all of ArduPilot in one row if nothing of it is there, and ranges of free ports."""
    ardupilots = [finding for finding in findings if finding.name.startswith(f"{ARDUPILOT} ")]
    together = bool(ardupilots) and not any(finding.good for finding in ardupilots)
    shown = []
    for finding in findings:
        if finding.name == FREE_PORTS:
            shown.append(Finding(FREE_PORTS, True, _ranges(finding.text)))
        elif finding not in ardupilots or not together:
            shown.append(finding)
        elif finding is ardupilots[0]:
            names = ", ".join(one.name.removeprefix(f"{ARDUPILOT} ") for one in ardupilots)
            shown.append(Finding(ARDUPILOT, False, f"no program of {names}", finding.cure, optional=True))
    return shown


def _ranges(ports: str) -> str:
    """Ports in order, those that follow each other as a range: tcp 4560-4563, udp 9002."""
    numbers: dict[str, list[int]] = {}
    for port in dict.fromkeys(ports.split(", ")):
        protocol, _, number = port.partition(" ")
        numbers.setdefault(protocol, []).append(int(number))
    texts = []
    for protocol, found in sorted(numbers.items()):
        ranges: list[list[int]] = []
        for port_number in sorted(found):
            if ranges and port_number == ranges[-1][1] + 1:
                ranges[-1][1] = port_number
            else:
                ranges.append([port_number, port_number])
        words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
        texts.append(f"{protocol} {', '.join(words)}")
    return "; ".join(texts)


# ---------------------------------------------------------------------------------------------- programs


def _autopilot(name: str, find: Callable[[], Path], pattern: re.Pattern[bytes]) -> Finding:
    try:
        program = find()
    except LinkError as error:
        text, _, cure = str(error).partition(": set ")
        return Finding(name, False, text, f"set {cure}" if cure else "", optional=True)
    return Finding(name, True, f"{program}, version {version_in(program, pattern) or 'unknown'}")


def _compiler() -> Finding:
    try:
        return Finding("compiler", True, native.compiler_version())
    except (IronbirdError, OSError) as error:
        return Finding("compiler", False, str(error), "install the package ziglang, or set IRONBIRD_CC")


def _cache() -> Finding:
    """Check of the cache of native code: its owner, who can write there, whether this user can."""
    try:
        folder = cache.checked_folder()
        cache.make_folder()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
    except IronbirdError as error:
        text, _, cure = str(error).rpartition("; ")
        return Finding("cache", False, text, cure)
    except OSError as error:
        text, _, cure = str(cache.cannot_write(folder, error)).rpartition("; ")
        return Finding("cache", False, text, cure)
    return Finding("cache", True, str(folder))


def _browser(programs: tuple[str, ...]) -> Finding:
    for program in programs:
        path = shutil.which(program)
        if path:
            return Finding("browser", True, f"{path}; opens report pages in tests")
    return Finding(
        "browser",
        False,
        "not found; it opens report pages in tests",
        "install chromium to have them tested",
        optional=True,
    )


def _postgres() -> Finding:
    path = shutil.which("pg_ctl")
    candidates = [Path(path)] if path else sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not candidates:
        return Finding(
            "PostgreSQL",
            False,
            "not found; campaigns can be stored there",
            "install postgresql for campaigns of several machines; a file of SQLite serves one",
            optional=True,
        )
    return Finding("PostgreSQL", True, f"{candidates[-1]}; campaigns can be stored there")


def _extra(name: str) -> Finding:
    """Check of an extra of the package: whether all that it brings is installed."""
    if not (absent := missing(name)):
        return Finding(f"{EXTRA}{name}", True, f"installed; {PURPOSES[name]}")
    said = "not installed" if absent == packages_of(name) else f"without {', '.join(absent)}"
    return Finding(f"{EXTRA}{name}", False, f"{said}; {PURPOSES[name]}", install(name), optional=True)


# ---------------------------------------------------------------------------------------------- ports


def _busy(uses: Sequence[Port], held_by: list[Holder]) -> Finding:
    """Check of a port that a process holds; with several uses it is good only if the holder serves all of them."""
    who, used_for = ", ".join(map(str, held_by)), "; ".join(port.used_for for port in uses)
    name = f"{uses[0].protocol} {uses[0].number}"
    if all(port.client for port in uses):
        return Finding(name, True, f"{who} listens ({used_for})")
    ours = any(port.ours for port in uses if not port.client)
    cure = "end it, or use another instance" if ours else "end it if it is no autopilot that shall run meanwhile"
    return Finding(name, False, f"busy, held by {who}; it is the port of: {used_for}", cure)


def holders(proc: Path = Path("/proc")) -> dict[tuple[str, int], list[Holder]] | None:
    """Processes that listen, by protocol and port number; None where the system does not report them."""
    inodes: dict[str, tuple[str, int]] = {}
    readable = False
    for table in ("tcp", "tcp6", "udp", "udp6"):
        protocol = table.removesuffix("6")
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        readable = True
        for line in lines:
            parts = line.split()
            if len(parts) < 10 or (protocol == "tcp" and parts[3] != LISTENING):
                continue
            inodes[parts[9]] = (protocol, int(parts[1].rpartition(":")[2], 16))
    if not readable:
        return None
    by_port: dict[tuple[str, int], list[Holder]] = {}
    owners = _owners(proc, set(inodes))
    for inode, key in inodes.items():
        holder = owners.get(inode, Holder(0, ""))
        if holder not in by_port.setdefault(key, []):
            by_port[key].append(holder)
    return by_port


def _owners(proc: Path, inodes: set[str]) -> dict[str, Holder]:
    """Processes that hold sockets, by inode; those of other users are not visible."""
    owners: dict[str, Holder] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it ended, or is another user's
            for link in (folder / "fd").iterdir():
                with contextlib.suppress(OSError):
                    target = os.readlink(link)
                    inode = target.removeprefix("socket:[").removesuffix("]")
                    if target.startswith("socket:[") and inode in inodes:
                        words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                        owners[inode] = Holder(int(folder.name), words[:80])
    return owners
