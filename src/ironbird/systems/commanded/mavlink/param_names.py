"""Names of parameters in sixteen signs: from the paths of the model, the same each time, and PX4's where it has one.

A path `rotor/1/command_fault.spike_rate[0]` has a block, a parameter and a place. The block becomes the first three
letters of its first word, then each further word's first letter, with numbers kept: `ROT1CF`. The words of the
parameter follow (`SPIKE_RATE`), and the place. If that is longer than sixteen signs, the words of the parameter lose
their vowels except first letters (`ROT1CF_SPK_RT_0`); if it is still longer, they are cut to three letters, then to
two. What is longer even then, and all names that would be alike, end in a mark of four signs made from the whole path.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable

LONGEST = 16
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Parameters of Ironbird that mean the same as one of PX4: ground stations and MAVSDK ask for them by these names [PX4]
PX4_NAMES = {
    "navigator.take_off_height": "MIS_TAKEOFF_ALT",
    "navigator.return_height": "RTL_RETURN_ALT",
    "navigator.landing_speed": "MPC_LAND_SPEED",
    "navigator.cruise_speed": "MPC_XY_CRUISE",
    "navigator.link_timeout": "COM_OF_LOSS_T",
    "navigator.loiter_radius": "NAV_LOITER_RAD",
    "navigator.battery_low": "BAT_LOW_THR",
    "navigator.battery_critical": "BAT_CRIT_THR",
    "navigator.fence_radius": "GF_MAX_HOR_DIST",
    "navigator.fence_height": "GF_MAX_VER_DIST",
}


def names_of(paths: Iterable[str]) -> dict[str, str]:
    """The name of each path, none twice; in the order of the names, which is the order of the parameters."""
    found = {path: PX4_NAMES.get(path) or _short(path) for path in paths}
    often = Counter(found.values())
    marked = {
        path: name if often[name] == 1 or path in PX4_NAMES else _marked(path, name) for path, name in found.items()
    }
    return dict(sorted(marked.items(), key=lambda row: row[1]))


def _short(path: str) -> str:
    block, _, rest = path.rpartition(".")
    name, _, place = rest.partition("[")
    head = _block(block)
    tail = "".join(f"_{number}" for number in re.findall(r"\d+", place))
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    ways: tuple[Callable[[str], str], ...] = (str, _bare, lambda word: _bare(word)[:3], lambda word: _bare(word)[:2])
    text = ""
    for way in ways:
        text = "_".join([head, *map(way, words)]).upper() + tail
        if len(text) <= LONGEST:
            return text
    return _marked(path, text)


def _block(block: str) -> str:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", block) if word]
    return "".join(
        word[:3] if not place else word if word.isdigit() else word[:1] for place, word in enumerate(words)
    ).upper()


def _bare(word: str) -> str:
    """Without vowels but the first letter."""
    return word[:1] + re.sub("[aeiouAEIOU]", "", word[1:])


def _marked(path: str, name: str) -> str:
    number = zlib.crc32(path.encode()) % 36**4
    mark = ""
    for _ in range(4):
        number, digit = divmod(number, 36)
        mark = DIGITS[digit] + mark
    return f"{name[: LONGEST - 5]}_{mark}"
