"""The page of calls: every call of RflySim's chapter 8.3 has a counterpart, and every counterpart exists."""

from __future__ import annotations

import re
from pathlib import Path

import ironbird as ib

PAGE = Path(__file__).parents[4] / "docs" / "guide" / "control-from-python.md"
CHAPTER_8_3 = [
    "sendMavTakeOff",
    "SendMavArm",
    "SendPosNED",
    "SendCruiseRadius",
    "SendAttPX4",
    "SendCruiseSpeed",
    "SendPosNEDNoYaw",
    "SendGroundSpeed",
    "SendVelNEDNoYaw",
    "SendVelNED",
    "SendVelFRD",
    "SendVelNoYaw",
    "SendPosFRD",
    "SendPosFRDNoYaw",
    "SendCopterSpeed",
    "sendMavLand",
]


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") or line.startswith("| a mission")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_call_of_the_chapter_has_its_row() -> None:
    named = {word for row in rows() for word in re.findall(r"\w+", row[0])}
    assert not set(CHAPTER_8_3) - named


def test_every_counterpart_is_a_call_with_an_example() -> None:
    table = [row for row in rows() if len(row) == 3]
    assert len(table) > 20
    for _, here, example in table:
        called = re.findall(r"v\.(\w+)", example)
        assert called or "ib.connect" in example
        assert all(hasattr(ib.RemoteVehicle, name) for name in called), example
        for name in re.findall(r"`(\w+)(?:\(.*?\))?`", here):
            if name not in ("with", "yaw", "yaw_rate"):
                assert hasattr(ib.RemoteVehicle, name), here
