"""The release of a PX4 program, and its differences from 1.17, whose parameter names Ironbird writes.

The version is a text in the binary, the parameters are in `etc/extras` of the build folder; running the program to ask
it would start an autopilot. Differences on the simulator link [PX4] src/modules/simulation/simulator_mavlink, ROMFS:

- HIL_SENSOR, HIL_GPS and HIL_ACTUATOR_CONTROLS have the same fields from 1.16 to 1.18;
- the barometer: up to 1.17 one pressure, of any id, is published as two barometers; from 1.18 on ids 0 and 1 are one
  barometer each;
- 1.18: EKF2_GPS_DELAY became one delay (whole milliseconds) for each receiver; the simulated battery is switched off
  by SIM_BAT_DRAIN = 0, as SIM_BAT_ENABLE is gone; multicopters accept a waypoint at the common 10 m, no longer at 2 m;
- 1.16: the dead zone of sticks was MPC_HOLD_DZ, and they had an exponential curve. Its failsafe for the remaining time
  of flight was on by default (COM_FLTT_LOW_ACT), and a smart battery on MAVLink reports no time: PX4 reads 0 s.
"""

from __future__ import annotations

import functools
import json
import lzma
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ironbird.autopilots.px4.airframe import Airframe, Params
from ironbird.autopilots.px4.process import Program
from ironbird.errors import LinkError, shortened
from ironbird.host.process import version_in

# From 1.10 on; PX4 carries texts of older versions for a test of itself
VERSION = re.compile(rb"(?<=\0)(v1\.\d{2}\.\d{1,2}(?:-[0-9A-Za-z.\-]{1,40})?)\0")
PARAMETERS = "extras/parameters.json.xz"  # in `etc`
MOST_BYTES, MOST_MEMORY = 64 << 20, 256 << 20  # of that list, unpacked, and for unpacking it
WRITTEN = (1, 17)  # the release whose names Ironbird writes
FLOWN = ((1, 16), (1, 17), (1, 18))
COPTERS = "rc.mc_defaults"
ACCEPTED_M = 2.0  # NAV_ACC_RAD of multicopters up to 1.17


@dataclass(frozen=True)
class Release:
    """A version of PX4 and the parameters that it has; both empty if they cannot be read."""

    text: str = ""  # as it names itself: v1.17.0, v1.18.0-beta2
    known: frozenset[str] = frozenset()

    @property
    def number(self) -> tuple[int, int]:
        """Major and minor version number; those of 1.17 if unknown."""
        match = re.match(r"v(\d+)\.(\d+)\.", self.text)
        return (int(match[1]), int(match[2])) if match else WRITTEN

    @property
    def barometers(self) -> int:
        """Number of barometers that the simulator link accepts."""
        return 2 if self.number >= (1, 18) else 1

    def has(self, name: str) -> bool:
        """Whether it has a parameter; without a parameter list, judged by the version number."""
        if self.known:
            return name in self.known
        return name not in ABSENT.get(self.number, ())

    def title(self) -> str:
        """Name of the release for messages."""
        return f"PX4 {self.text}" if self.text else "this PX4"

    def note(self, missing: Sequence[str]) -> str:
        """Remark for a flight's record; empty for the release whose names Ironbird writes."""
        if self.number == WRITTEN and not missing:
            return ""
        known = "" if self.number in FLOWN else f"; flown with Ironbird were {', '.join(map(_dotted, FLOWN))}"
        lacks = f"; it has no {', '.join(missing)}: left out" if missing else ""
        return f"{self.title()}: names of parameters and barometers as in {_dotted(self.number)}{lacks}{known}"

    def fit(self, airframe: Airframe, own: Mapping[str, float] | None = None) -> tuple[Airframe, list[str]]:
        """The airframe with the parameter names of this release, and the parameters that it lacks.

        `own` are the user's parameters, which override; one that the release lacks is a `LinkError`.
        """
        missing: list[str] = []
        defaults = dict(airframe.params)
        if self.number >= (1, 18) and airframe.defaults == COPTERS:
            defaults = {"NAV_ACC_RAD": ACCEPTED_M} | defaults
        if self.number < WRITTEN and "SIM_BAT_ENABLE" in defaults:  # a smart battery
            defaults = {"COM_FLTT_LOW_ACT": 0} | defaults
        fitted = replace(airframe, params=self._named(defaults, missing), late=self._named(airframe.late, missing))
        wrong: list[str] = []
        user_params = self._named(own or {}, wrong)
        if wrong:
            raise LinkError(
                f"{self.title()} has no parameter '{shortened(wrong[0])}': look for its name in that version's list of "
                "parameters, or leave it out"
            )
        return fitted.with_params(user_params), sorted(missing)

    def renamed(self, params: Mapping[str, float]) -> Params:
        """Parameters under their names in this release, without those that it lacks."""
        return self._named(params, [])

    def _named(self, params: Mapping[str, float], missing: list[str]) -> Params:
        """Parameters under their names in this release; those that it lacks are added to `missing`."""
        renamed: Params = {}
        for name, value in params.items():
            if self.has(name):
                renamed[name] = value
            elif name in ELSEWHERE:
                renamed |= {other: new for other, new in ELSEWHERE[name](value).items() if self.has(other)}
            else:
                missing.append(name)
        return renamed


# Names of parameters that some releases lack, and their replacement there
ELSEWHERE: dict[str, Callable[[float], Params]] = {
    "EKF2_GPS_DELAY": lambda ms: {"SENS_GPS0_DELAY": round(ms), "SENS_GPS1_DELAY": round(ms)},
    "SIM_BAT_ENABLE": lambda on: {} if on else {"SIM_BAT_DRAIN": 0.0},
    "MAN_DEADZONE": lambda share: {"MPC_HOLD_DZ": share},
    "MPC_XY_MAN_EXPO": lambda share: {},  # sticks are straight from 1.17 on
}
ABSENT = {
    (1, 16): ("MAN_DEADZONE", "SENS_GPS0_DELAY", "SENS_GPS1_DELAY"),
    (1, 17): ("MPC_HOLD_DZ", "MPC_XY_MAN_EXPO", "SENS_GPS0_DELAY", "SENS_GPS1_DELAY"),
    (1, 18): ("MPC_HOLD_DZ", "MPC_XY_MAN_EXPO", "EKF2_GPS_DELAY", "SIM_BAT_ENABLE"),
}


def _dotted(number: tuple[int, int]) -> str:
    return f"{number[0]}.{number[1]}"


def release_of(program: Program) -> Release:
    """The release of a PX4 program: version text and parameter list, cached by the file's time and size."""
    try:
        stat = program.binary.stat()
    except OSError:
        return Release()
    return _release(program, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=8)
def _release(program: Program, changed_ns: int, size: int) -> Release:
    return Release(version_in(program.binary, VERSION), _parameters(program.etc / PARAMETERS))


def _parameters(path: Path) -> frozenset[str]:
    """Parameter names of PX4's own list; empty if no list can be read."""
    try:
        text = lzma.LZMADecompressor(memlimit=MOST_MEMORY).decompress(path.read_bytes(), MOST_BYTES)
        return frozenset(entry["name"] for entry in json.loads(text)["parameters"])
    except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError, RecursionError):
        return frozenset()
