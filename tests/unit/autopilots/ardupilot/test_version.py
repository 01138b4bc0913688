"""The release of an ArduPilot program, and what older releases call their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.autopilots.ardupilot.version import BEFORE_4_7, Release, release_of
from ironbird.protocols.parm_file import Param


@pytest.mark.parametrize(
    ("binary", "text", "number"),
    [
        (b"\0ArduCopter V4.7.0 (1511f271)\0", "V4.7.0", (4, 7)),
        (b"\x7fELF..\0ArduPlane V4.8.0-dev (6fb4ba51)\0", "V4.8.0-dev", (4, 8)),
        (b"ArduSub V4.5.12\0", "V4.5.12", (4, 5)),
        (b"nothing of the kind", "", (4, 7)),
    ],
)
def test_the_release_is_read_from_the_binary(tmp_path: Path, binary: bytes, text: str, number: tuple[int, int]) -> None:
    program = tmp_path / "arducopter"
    program.write_bytes(binary)
    assert (release_of(program).text, release_of(program).number) == (text, number)
    assert release_of(tmp_path / "absent").text == ""


def test_older_releases_get_their_own_names_and_units() -> None:
    ours = {"RTL_ALT_M": Param(15, "m"), "WP_SPD": Param(5, "fast"), "LOG_DISARMED": Param(0)}
    assert Release("V4.7.0").named(ours) == ours and Release().named(ours) == ours
    old = Release("V4.6.3").named(ours)
    assert old == {"RTL_ALT": Param(1500, "m"), "WPNAV_SPEED": Param(500, "fast"), "LOG_DISARMED": Param(0)}
    assert all(name not in old for name in BEFORE_4_7)
