"""Doctor: what is installed for links to autopilots, which ports are busy and by whom, and what to do about it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.compiler import native
from ironbird.errors import IronbirdError

PX4_VARIABLE, ARDUPILOT_VARIABLE = "IRONBIRD_PX4", "IRONBIRD_ARDUPILOT"
PX4_VERSION = re.compile(rb"\0(v1\.\d{1,2}\.\d{1,2}(?:-[0-9A-Za-z.\-]{1,40})?)\0")
ARDUPILOT_VERSION = re.compile(rb"Ardu(?:Copter|Plane|Rover|Sub) (V\d\.\d\.\d[0-9A-Za-z.\-]{0,20})\0")
FIRMWARES = ("arducopter", "arduplane", "ardurover", "ardusub")
INSTANCES = 4  # of autopilots whose ports are looked at
LISTENING = "0A"  # state of a TCP socket in /proc/net/tcp


@dataclass(frozen=True)
class Port:
    """A port that a link uses."""

    number: int
    protocol: str  # tcp or udp
    used_for: str
    ours: bool = True  # a link of ours wants to open it; the others belong to other programs


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    good: bool
    text: str
    cure: str = ""

    def sentence(self) -> str:
        """For a table."""
        return f"{'ok' if self.good else 'NOT OK'}: {self.text}" + (f"; {self.cure}" if self.cure else "")

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "good": self.good, "text": self.text, "cure": self.cure}


@dataclass(frozen=True)
class Holder:
    """Who holds a port."""

    process: int  # 0 if it is not ours to see
    command: str

    def __str__(self) -> str:
        return f"process {self.process} ({self.command})" if self.process else "a process of another user"


def ports() -> list[Port]:
    """All ports of the links, for the first instances."""
    found = []
    for i in range(INSTANCES):
        found += [
            Port(4560 + i, "tcp", f"PX4 {i}, simulator link"),
            Port(14540 + i, "udp", f"PX4 {i}, pilot"),
            Port(14580 + i, "udp", f"PX4 {i} itself", ours=False),
            Port(18570 + i, "udp", f"PX4 {i} itself, ground station link", ours=False),
            Port(9002 + 10 * i, "udp", f"ArduPilot {i}, simulator link"),
            Port(5760 + 10 * i, "tcp", f"ArduPilot {i} itself", ours=False),
        ]
    return found


def examine(proc: Path = Path("/proc"), environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Look at everything."""
    environ = os.environ if environ is None else environ
    findings = [_px4(environ), *_ardupilot(environ), _compiler(), _program(
        "browser", ("chromium", "chromium-browser", "google-chrome"), environ, "opens reports in tests",
        "install chromium to have the pages tested",
    ), _postgres(environ)]  # fmt: skip
    busy = holders(proc)
    if busy is None:
        findings.append(Finding("ports", False, f"{proc}/net cannot be read", "ports are not checked on this system"))
        return findings
    findings += [_port(port, busy.get((port.protocol, port.number), [])) for port in ports()]
    station = busy.get(("udp", 14550), [])
    findings.append(
        Finding(
            "ground station (udp 14550)", True, f"{station[0]} listens" if station else "nobody listens; not needed"
        )
    )
    return findings


# ---------------------------------------------------------------------------------------------- programs


def _px4(environ: Mapping[str, str]) -> Finding:
    place = environ.get(PX4_VARIABLE, "")
    cure = f"build PX4 with `make px4_sitl_default` and set {PX4_VARIABLE} to its folder build/px4_sitl_default"
    if place:
        folder = Path(place).expanduser()
        program = next((p for p in (folder / "bin" / "px4", folder) if p.is_file() and os.access(p, os.X_OK)), None)
        if program is None:
            return Finding("PX4", False, f"{PX4_VARIABLE}={place} holds no bin/px4", cure)
        if folder.is_dir() and not (folder / "etc").is_dir():
            return Finding("PX4", False, f"{place} has no folder etc with its start-up files", cure)
    else:
        found = shutil.which("px4", path=environ.get("PATH", ""))
        if found is None:
            return Finding("PX4", False, f"not found: neither {PX4_VARIABLE} nor PATH has it", cure)
        program = Path(found)
    return Finding("PX4", True, f"{program}, version {version_in(program, PX4_VERSION) or 'unknown'}")


def _ardupilot(environ: Mapping[str, str]) -> list[Finding]:
    place = environ.get(ARDUPILOT_VARIABLE, "")
    findings = []
    for name in FIRMWARES:
        target = name.removeprefix("ardu")
        cure = (
            f"build it with `./waf configure --board sitl && ./waf {target}` and set {ARDUPILOT_VARIABLE} "
            "to build/sitl/bin"
        )
        path = Path(place).expanduser() / name if place else Path("/nonexistent")
        if not path.is_file():
            found = shutil.which(name, path=environ.get("PATH", ""))
            if found is None:
                where = f"neither {ARDUPILOT_VARIABLE}={place}" if place else f"neither {ARDUPILOT_VARIABLE}"
                findings.append(Finding(f"ArduPilot {target}", False, f"not found: {where} nor PATH has it", cure))
                continue
            path = Path(found)
        text = f"{path}, version {version_in(path, ARDUPILOT_VERSION) or 'unknown'}"
        findings.append(Finding(f"ArduPilot {target}", os.access(path, os.X_OK), text))
    return findings


def version_in(program: Path, pattern: re.Pattern[bytes]) -> str:
    """A version that stands as text in a program; running it to ask would start an autopilot."""
    try:
        found = pattern.search(program.read_bytes())
    except OSError:
        return ""
    return found.group(1).decode() if found else ""


def _compiler() -> Finding:
    try:
        return Finding("compiler", True, native.compiler_version())
    except (IronbirdError, OSError) as error:
        return Finding("compiler", False, str(error), "install the package ziglang, or set IRONBIRD_CC")


def _program(name: str, programs: tuple[str, ...], environ: Mapping[str, str], use: str, cure: str) -> Finding:
    for program in programs:
        found = shutil.which(program, path=environ.get("PATH", ""))
        if found:
            return Finding(name, True, f"{found}; {use}")
    return Finding(name, False, f"not found; it {use}", cure)


def _postgres(environ: Mapping[str, str]) -> Finding:
    found = shutil.which("pg_ctl", path=environ.get("PATH", ""))
    candidates = [Path(found)] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    if not candidates:
        return Finding(
            "PostgreSQL", False, "not found; campaigns can be stored there",
            "install postgresql for campaigns of several machines; a file of SQLite serves one",
        )  # fmt: skip
    return Finding("PostgreSQL", True, f"{candidates[-1]}; campaigns can be stored there")


# ---------------------------------------------------------------------------------------------- ports


def _port(port: Port, held_by: list[Holder]) -> Finding:
    name = f"{port.protocol} {port.number}"
    if not held_by:
        return Finding(name, True, f"free ({port.used_for})")
    who = ", ".join(map(str, held_by))
    cure = "end it, or use another instance" if port.ours else "an autopilot is running already; end it"
    return Finding(name, False, f"busy ({port.used_for}): {who}", cure)


def holders(proc: Path = Path("/proc")) -> dict[tuple[str, int], list[Holder]] | None:
    """Who listens on which port, by protocol and number; None where the system does not say."""
    inodes: dict[str, tuple[str, int]] = {}
    seen = False
    for table in ("tcp", "tcp6", "udp", "udp6"):
        protocol = table.removesuffix("6")
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        seen = True
        for line in lines:
            parts = line.split()
            if len(parts) < 10 or (protocol == "tcp" and parts[3] != LISTENING):
                continue
            inodes[parts[9]] = (protocol, int(parts[1].rpartition(":")[2], 16))
    if not seen:
        return None
    found: dict[tuple[str, int], list[Holder]] = {}
    wanted = {key: inode for inode, key in inodes.items()}
    owners = _owners(proc, set(wanted.values()))
    for inode, key in inodes.items():
        holder = owners.get(inode, Holder(0, ""))
        if holder not in found.setdefault(key, []):
            found[key].append(holder)
    return found


def _owners(proc: Path, inodes: set[str]) -> dict[str, Holder]:
    """Processes that hold sockets, by inode; those of other users cannot be seen."""
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
