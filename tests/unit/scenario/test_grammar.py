"""Scenario files: what they say becomes orders, and what is wrong is said with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ironbird.errors import ScenarioError, UnknownNameError
from ironbird.scenario.grammar import load_scenario, scenario_names
from ironbird.vehicles import places as at

HEAD = 'schema = 1\nworld = "field"\nuntil_s = 5.0\n'
QUAD = '[[vehicle]]\nname = "a"\nvehicle = "quad_f450"\ncontrol = "truth"\n'


def test_a_start_grid_has_rows_and_columns_around_its_place(tmp_path: Path) -> None:
    scenario = load_scenario(_file(tmp_path, HEAD + QUAD + "count = 5\ncolumns = 3\nspacing_m = 4.0\nnorth_m = 10.0\n"))

    starts: list[Any] = [member.order.settings[at.BODY("p_0")] for member in scenario.members]
    assert [member.name for member in scenario.members] == ["a_1", "a_2", "a_3", "a_4", "a_5"]
    assert [start[:2] for start in starts] == [[10.0, -4.0], [10.0, 0.0], [10.0, 4.0], [6.0, -4.0], [6.0, 0.0]]
    assert len({member.order.seed for member in scenario.members}) == 5


def _file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "scene.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "vehicle"),
        (HEAD + QUAD + QUAD, "'a' is there twice"),
        (HEAD + QUAD.replace("quad_f450", "quad_f45O"), "unknown vehicle 'quad_f45O'"),
        (HEAD + QUAD + 'follow = { vehicle = "b", offset_m = [1, 0, 0] }\n', "there is no vehicle 'b'"),
        (HEAD + QUAD + "colour = 3\n", "colour"),
        (HEAD.replace("5.0", "-5.0") + QUAD, "until_s"),
        (HEAD + QUAD + "count = 5000\n", "count"),
        (HEAD + QUAD + "count = true\n", "true does not fit here; write a whole number"),
        (HEAD + QUAD + "north_m = '3'\n", "'3' does not fit here; write a number"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=r"scene\.toml") as error:
        load_scenario(_file(tmp_path, text))
    assert said in str(error.value)


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match="leader_follower"):
        load_scenario("leader_folower")
    assert {"leader_follower", "landing_on_a_deck", "round_the_wall"} <= set(scenario_names())


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    one = load_scenario(_file(tmp_path, HEAD + QUAD))
    same = load_scenario(_file(tmp_path, 'title = "words"\n' + HEAD + QUAD))
    other = load_scenario(_file(tmp_path, HEAD + QUAD + "north_m = 1.0\n"))

    assert one.digest() == same.digest() != other.digest()
