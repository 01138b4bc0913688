"""Mission files: each mistake is told with its place and its cure."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ironbird.errors import MissionError
from ironbird.flight.mission import Mission, load_mission, mission_table

GOOD = """schema = 1
title = "There and back"
duration_s = 60.0
[[item]]
kind = "waypoint"
north_m = 10.0
height_m = 5.0
[[item]]
kind = "land"
"""
KINDS = "waypoint, land, spiral, takeoff, loiter, return"


def test_the_unbroken_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert [item.kind for item in load_mission(path).item] == ["waypoint", "land"]


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        (
            "north_m", "nort_m",
            ["mine.toml:6:1: item.1.nort_m: unknown key 'nort_m'; did you mean 'north_m' or 'east_m'?"],
        ),
        (
            "north_m = 10.0", "cruise_speed_mps = 3.0",
            [
                "mine.toml:6:1: item.1.cruise_speed_mps: unknown key 'cruise_speed_mps'; "
                "it belongs to the head of the file"
            ],
        ),
        ("= 10.0", "= [1.0]", ["mine.toml:6:1: item.1.north_m: [1.0] does not fit here; write a number"]),
        ("= 10.0", "= '10'", ["mine.toml:6:1: item.1.north_m: '10' does not fit here; write a number"]),
        ("= 10.0", "= true", ["mine.toml:6:1: item.1.north_m: true does not fit here; write a number"]),
        ("60.0", "0.0", ["mine.toml:3:1: duration_s: 0.0 is outside its bounds; write a number greater than 0"]),
        (
            "height_m = 5.0", "  hold_s = -1",
            ["mine.toml:7:3: item.1.hold_s: -1 is outside its bounds; write a number of at least 0"],
        ),
        ('kind = "land"\n', "", ["mine.toml:8:1: item.2.kind: kind is missing; add kind = …"]),
        ('"land"', '"lnad"', ["mine.toml:9:1: item.2.kind: 'lnad' is not known here; did you mean 'land'?"]),
        ('"land"', '"xyz"', [f"mine.toml:9:1: item.2.kind: 'xyz' is not known here; one of {KINDS}"]),
        (
            "[[item]]", "[[items]]",
            [
                "mine.toml:1:1: item: item is missing; add a [[item]] table",
                "mine.toml:4:1: items: unknown key 'items'; did you mean 'item' or 'title'?",
            ],
        ),
        ("schema = 1\n", "", ["mine.toml:1:1: schema: the file does not say its schema; begin it with schema = 1"]),
        ('"land"', "", ["mine.toml:9:8: file: not valid TOML: Invalid value; correct this line"]),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_say_place_and_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, messages: list[str]
) -> None:
    assert old in GOOD
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(MissionError) as caught:
        load_mission("mine.toml")
    assert [str(problem) for problem in caught.value.problems] == messages
    assert str(caught.value) == "\n".join(messages)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.toml").write_bytes(b'schema = 1\ntitle = "M\xfccke"\n')

    with pytest.raises(
        MissionError, match=r"^nowhere\.toml:1:1: file: cannot read it: No such file .*; give one of .*cir"
    ):
        load_mission("nowhere.toml")
    with pytest.raises(
        MissionError, match=r"^latin\.toml:2:11: file: cannot read it: byte 0xfc is not UTF-8 text; save"
    ):
        load_mission("latin.toml")


def test_the_navigator_is_told_metres_down_and_radians() -> None:
    items = [
        {"kind": "waypoint", "north_m": 1.0, "east_m": 2.0, "height_m": 3.0, "yaw_deg": 90.0, "hold_s": 4.0},
        {"kind": "land"},
    ]
    mission = Mission.model_validate({"schema": 1, "item": items, "cruise_speed_mps": 2.5})

    params = mission.params(3)

    # Rows: north, east, down, yaw, hold, kind; a column for each place of the table
    np.testing.assert_allclose(params["navigator.table"][:5, 0], [1.0, 2.0, -3.0, math.pi / 2, 4.0], rtol=1e-15)
    assert (
        not params["navigator.table"][:5, 1:].any()
        and params["navigator.table"][5, 0] != params["navigator.table"][5, 1]
    )
    assert (params["navigator.count"], params["navigator.cruise_speed"]) == (2.0, 2.5)
    assert mission.params(2)["navigator.table"].shape[1] == 2
    with pytest.raises(MissionError, match=r"the mission has 2 items; this vehicle's navigator takes 1"):
        mission.params(1)


def test_a_mission_is_given_three_times_its_way_and_its_holds() -> None:
    items = [
        {"kind": "waypoint", "north_m": 3.0, "east_m": 4.0, "hold_s": 7.0},
        {"kind": "waypoint", "north_m": 3.0, "east_m": 4.0, "height_m": 10.0},
        {"kind": "land"},
    ]
    mission = Mission.model_validate({"schema": 1, "item": items})

    # 30 s, three times 5 + 10 + 10 m at 2 m/s, the hold, and three times 10 m of landing at half a metre a second
    assert mission.longest_s(2.0) == pytest.approx(30.0 + 3 * 25.0 / 2.0 + 7.0 + 3 * 10.0 / 0.5)


def test_a_mission_reads_back_from_its_table_to_the_sign_of_zero() -> None:
    item = {"kind": "waypoint", "north_m": -0.0, "east_m": 0.0, "height_m": 5.0, "yaw_deg": -0.0, "hold_s": -0.0}
    mission = Mission.model_validate({"schema": 1, "item": [item]})

    again = Mission.model_validate({"schema": 1, **mission_table(mission)})

    assert again.model_dump_json() == mission.model_dump_json() and "-0.0" not in mission.model_dump_json()
