"""Parameter names of at most sixteen characters, made from the model's paths; PX4's name where it has one.

A path `rotor/1/command_fault.spike_rate[0]` has a block, a parameter and an index. The block becomes the first three
letters of its first word, then each further word's first letter, with numbers kept: `ROT1CF`. The words of the
parameter follow (`SPIKE_RATE`), and the index. If that is longer than sixteen characters, the words of the parameter
lose their vowels except first letters (`ROT1CF_SPK_RT_0`); if it is still longer, they are cut to three letters, then
to two. Names that are longer even then, and all names that would be equal, end in a hash of four characters of the
whole path.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable

LONGEST = 16
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Parameters of Ironbird that equal one of PX4: ground stations and MAVSDK request them by these names [PX4]
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
    """A unique name for each path; sorted by name, which is the order of the parameters."""
    names = {path: PX4_NAMES.get(path) or _short(path) for path in paths}
    often = Counter(names.values())
    marked = {
        path: name if often[name] == 1 or path in PX4_NAMES else _marked(path, name) for path, name in names.items()
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
    """A word without vowels, except its first letter."""
    return word[:1] + re.sub("[aeiouAEIOU]", "", word[1:])


def _marked(path: str, name: str) -> str:
    number = zlib.crc32(path.encode()) % 36**4
    mark = ""
    for _ in range(4):
        number, digit = divmod(number, 36)
        mark = DIGITS[digit] + mark
    return f"{name[: LONGEST - 5]}_{mark}"
