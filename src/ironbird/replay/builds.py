"""Autopilots whose flights can be replayed: how a build is found and started, and what its log holds."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.autopilots.ardupilot.process import find_program
from ironbird.autopilots.px4.airframe import number
from ironbird.autopilots.px4.process import find_px4
from ironbird.autopilots.px4.version import release_of
from ironbird.errors import LinkError
from ironbird.protocols.autopilot_log import open_ulog
from ironbird.protocols.dataflash import read_dataflash
from ironbird.replay.program import Program

Tables = dict[str, Mapping[str, np.ndarray]]
SETTING = re.compile(r"^(param set(?:-default)?) (\S+) (\S+)$")


class Autopilot(ABC):
    """What a replay has to know about an autopilot."""

    title: str
    ending: str  # of its logs
    estimates: tuple[str, ...]  # patterns of the names of topics with estimates of the vehicle's state
    left_out: tuple[str, ...] = ()  # topics with times or loads of the computer

    @abstractmethod
    def program(self, where: str | None, about: Mapping[str, Any]) -> Program:
        """The build at a path, or that of its variable."""

    def figures(self, first: Tables, second: Tables) -> dict[str, str]:
        """How far two logs' estimates of the vehicle's motion are apart, in words."""
        return {}

    @abstractmethod
    def tables(self, path: Path) -> Tables:
        """All topics of a log by name and instance, each with its times in seconds since the program's start."""


class _Px4(Autopilot):
    title = "PX4"
    ending = ".ulg"
    estimates = ("estimator_*", "vehicle_attitude", "vehicle_local_position", "vehicle_global_position", "wind")

    def program(self, where: str | None, about: Mapping[str, Any]) -> Program:
        """A build folder or its binary; parameters of recorded start-up files get the names of its release."""
        found = find_px4(where)
        release = release_of(found)

        start = found.etc / "init.d-posix"
        links = {f"etc/{path.name}": str(path) for path in sorted(found.etc.iterdir())}
        links |= {f"etc/init.d-posix/{path.name}": str(path) for path in sorted(start.iterdir())}

        def files(texts: Mapping[str, str]) -> Mapping[str, str]:
            return {name: "\n".join(_fitted(text.split("\n"), release.renamed)) for name, text in texts.items()}

        return Program(release.title(), found.binary, links, files, "work/log/**/*.ulg")

    def tables(self, path: Path) -> Tables:
        """Topics of a ULog; the estimates of several EKFs are instances."""
        found: Tables = {}
        for one in open_ulog(path, None).data_list:
            stamps = np.asarray(one.data.get("timestamp", ()), float)
            if len(stamps):
                name = one.name if not one.multi_id else f"{one.name}/{one.multi_id}"
                found[name] = {"time_s": stamps * 1e-6, **{k: v for k, v in one.data.items() if k != "timestamp"}}
        return found

    def figures(self, first: Tables, second: Tables) -> dict[str, str]:
        """Attitude, velocity and position of the estimates that PX4 uses, at the times of the first log."""
        found = {}
        if (pair := _paired(first, second, "vehicle_attitude")) is not None:
            q = [np.column_stack([one[f"q[{i}]"] for i in range(4)]) for one in pair]
            angle = 2 * np.arccos(np.clip(np.abs(np.sum(q[0] * q[1], axis=1)), 0, 1))
            found["attitude"] = _apart(np.degrees(angle), "°")
        pair = _paired(first, second, "vehicle_local_position", "xy_valid", "z_valid", "v_xy_valid", "v_z_valid")
        if pair is not None:
            for name, axes, unit in (("velocity", ("vx", "vy", "vz"), "m/s"), ("position", ("x", "y", "z"), "m")):
                away = np.linalg.norm(np.column_stack([pair[0][axis] - pair[1][axis] for axis in axes]), axis=1)
                found[name] = _apart(away, unit)
            origins = [np.array([one[key][-1] for key in ("ref_lat", "ref_lon", "ref_alt")], float) for one in pair]
            if not np.array_equal(origins[0], origins[1]):
                found["position"] += "; each from its own origin"
        return found


def _paired(first: Tables, second: Tables, topic: str, *valid: str) -> list[dict[str, np.ndarray]] | None:
    """A topic of both logs at the times of the first one that are within the second one and valid in both."""
    if topic not in first or topic not in second:
        return None
    a, b = first[topic], second[topic]
    newest = np.searchsorted(b["time_s"], a["time_s"], side="right") - 1
    rows = newest >= 0
    for name in valid:
        rows &= (a[name] > 0) & (b[name][np.maximum(newest, 0)] > 0)
    if not rows.any():
        return None
    names = [name for name in a if name in b]
    return [{name: a[name][rows] for name in names}, {name: b[name][newest[rows]] for name in names}]


def _apart(sizes: np.ndarray, unit: str) -> str:
    sizes = sizes[np.isfinite(sizes)]
    if not len(sizes):
        return "not known"
    return f"apart by {math.sqrt(float(np.mean(sizes**2))):.3g} {unit} rms, {float(sizes.max()):.3g} {unit} at most"


def _fitted(lines: list[str], renamed: Any) -> list[str]:
    """Lines of a start-up file with the parameter names of another release."""
    fitted: list[str] = []
    for line in lines:
        found = SETTING.match(line)
        if found is None:
            fitted.append(line)
            continue
        value = float(found[3]) if re.search(r"[.eEn]", found[3]) else int(found[3])
        new = renamed({found[2]: value})
        fitted += [line] if new == {found[2]: value} else [f"{found[1]} {k} {number(v)}" for k, v in new.items()]
    return fitted


class _ArduPilot(Autopilot):
    title = "ArduPilot"
    ending = ".BIN"
    estimates = ("XKF*", "XKQ", "NKF*", "ATT", "AHR2", "POS")
    left_out = ("PM", "CPU", "STAK", "MON", "DSF", "SIM2", "FILE", "FMT", "UNIT", "MULT")

    def program(self, where: str | None, about: Mapping[str, Any]) -> Program:
        """A folder with programs, or one of them; which one is that of the record."""
        binary = find_program(about["binary"], where)
        return Program(str(about["binary"]), binary, {}, lambda texts: texts, "logs/*.BIN")

    def tables(self, path: Path) -> Tables:
        """Records of a DataFlash log by kind; those of several cores or sensors (field C or I) are instances."""
        found: Tables = {}
        for name, table in read_dataflash(path, None).tables.items():
            if "TimeUS" not in table:
                continue
            core = next((key for key in ("C", "I") if key in table), None)
            cores = np.asarray(table[core]) if core is not None else np.zeros(len(table["TimeUS"]), int)
            for one in np.unique(cores):
                rows = cores == one
                columns = {key: np.asarray(column)[rows] for key, column in table.items() if key != "TimeUS"}
                plain = {key: column for key, column in columns.items() if column.dtype.kind in "fiub"}
                place = name if not one else f"{name}/{int(one)}"
                found[place] = {"time_s": np.asarray(table["TimeUS"], float)[rows] * 1e-6, **plain}
        return found


AUTOPILOTS: dict[str, Autopilot] = {"px4": _Px4(), "ardupilot": _ArduPilot()}


def autopilot_of(about: Mapping[str, Any]) -> Autopilot:
    """The autopilot that a record is of."""
    try:
        return AUTOPILOTS[about["autopilot"]]
    except KeyError:
        raise LinkError(
            f"a record of autopilot {about.get('autopilot', '?')} cannot be replayed: known are {', '.join(AUTOPILOTS)}"
        ) from None
