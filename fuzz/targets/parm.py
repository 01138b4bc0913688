"""ArduPilot's .parm files."""

from __future__ import annotations

from fuzz.target import Refused, attempt, text_of
from ironbird.protocols.parm_file import parse_parm, write_parm

WORDS = ("SIM_RATE_HZ", " 1", ",", "=", "#", "\t", "\n", "FRAME_CLASS 1\n", "1e38", "nan", "inf", "1e-9", "-0")
MOST = 500


def check(data: bytes) -> None:
    """What is accepted is written and read back, to the nine digits of a float."""
    params = attempt(parse_parm, text_of(data))
    if isinstance(params, Refused):
        return
    text = write_parm(params)
    again = parse_parm(text)
    assert list(again) == list(params)
    assert all(again[name].value == float(f"{params[name].value:.9g}") for name in params)
    assert write_parm(again) == text
