"""The release of an ArduPilot program, and parameters that releases before 4.7 call something else.

The version is a text in the binary. Ironbird writes the names of 4.7 [ArduPilotCode].
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from ironbird.host.process import version_in
from ironbird.protocols.parm_file import Params

VERSION = re.compile(rb"Ardu(?:Copter|Plane|Rover|Sub) (V\d{1,2}\.\d{1,2}\.\d{1,2}[0-9A-Za-z.\-]{0,40})")
WRITTEN = (4, 7)  # the release whose names Ironbird writes
# Name in 4.7 -> the name before, and how many of its units are one of today's (metres were centimetres)
BEFORE_4_7 = {
    "RTL_ALT_M": ("RTL_ALT", 100.0),
    "WP_SPD": ("WPNAV_SPEED", 100.0),
    "WP_SPD_UP": ("WPNAV_SPEED_UP", 100.0),
    "WP_SPD_DN": ("WPNAV_SPEED_DN", 100.0),
    "WP_ACC": ("WPNAV_ACCEL", 100.0),
    "ATC_ANGLE_MAX": ("ANGLE_MAX", 100.0),
}


@dataclass(frozen=True)
class Release:
    """A version of ArduPilot; the text is empty if it is not in the binary."""

    text: str = ""

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor version number; those of 4.7 if unknown."""
        match = re.match(r"V(\d+)\.(\d+)\.", self.text)
        return (int(match[1]), int(match[2])) if match else WRITTEN

    def title(self) -> str:
        """Name of the release for messages."""
        return f"ArduPilot {self.text}" if self.text else "this ArduPilot"

    def named(self, params: Params) -> Params:
        """Parameters, written with the names of 4.7, under their names in this release."""
        if self.number >= WRITTEN:
            return params
        renamed: Params = {}
        for name, param in params.items():
            other, units = BEFORE_4_7.get(name, (name, 1.0))
            renamed[other] = replace(param, value=param.value * units) if other != name else param
        return renamed


def release_of(program: Path) -> Release:
    """The release of an ArduPilot program, cached by the file's time and size."""
    try:
        stat = program.stat()
    except OSError:
        return Release()
    return _release(program, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=8)
def _release(program: Path, changed_ns: int, size: int) -> Release:
    return Release(version_in(program, VERSION))
