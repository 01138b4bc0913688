"""PX4's mixer files."""

from __future__ import annotations

from fuzz.target import Refused, attempt, text_of
from ironbird.vehicles.mixer import MixerFile, parse_mixer

WORDS = (
    "R: 4x 10000 10000 10000 0\n", "M: 1\n", "S: 0 0 10000 10000 0 -10000 10000\n", "O: 10000 10000 0 -10000 10000\n",
    "Z:\n", "H: 3\n", "T: 0 3000 6000 8000 10000\n", "P: 500 1500 2500 3500 4500\n", "S: 0 10000 10000 0 -8000 8000\n",
    "\n", " ", ":", "-", "99999999999", "6x", "8c",
)  # fmt: skip
MOST = 800


def check(data: bytes) -> bool | None:
    """What is accepted mixes numbers to numbers, and says itself line by line."""
    file = attempt(parse_mixer, text_of(data))
    if isinstance(file, Refused):
        return file.at != "parse_mixer"
    assert isinstance(file, MixerFile)
    outputs = file.apply({(group, index): 0.5 for group in range(4) for index in range(8)})
    assert len(outputs) == file.count
    assert all(mixer.texts() for mixer in file.mixers)
    return None
