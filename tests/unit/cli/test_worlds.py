"""The verbs about worlds: what they print, draw and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.world.png import read_png

RUN = CliRunner()


def test_worlds_are_listed_and_shown_as_json() -> None:
    listed = json.loads(RUN.invoke(app, ["world", "list", "--json"]).stdout)["worlds"]
    assert {"field", "harbour", "mountain"} <= set(listed)
    shown = json.loads(RUN.invoke(app, ["world", "show", "harbour", "--json"]).stdout)["worlds"]["harbour"]
    assert shown == listed["harbour"] and shown["movers"] == ["ship", "tug"]


def test_a_world_is_drawn_and_looked_at(tmp_path: Path) -> None:
    drawing, picture = tmp_path / "f.svg", tmp_path / "f.png"
    assert RUN.invoke(app, ["world", "draw", "field", "--out", str(drawing)]).exit_code == 0
    words = [element.text for element in ElementTree.fromstring(drawing.read_text()).iter() if element.text]
    assert "hangar" in words and any("100 m" in word or "10 m" in word for word in words)
    done = RUN.invoke(app, ["world", "look", "field", "--pixels", "32,24", "--out", str(picture)])
    assert done.exit_code == 0 and read_png(picture.read_bytes())[0].shape == (24, 32, 3)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "nowhere"], "unknown world 'nowhere'"),
        (["check", "field", "--start", "60,-25"], "starts inside 'hangar'"),
        (["look", "field", "--camera", "1,2"], "is not three numbers"),
        (["draw", "field", "--out", "a.jpg"], "a drawing is .svg or .png"),
        (["look", "field", "--pixels", "64"], "is not width,height"),
        (["look", "field", "--turn", "nan,0,0"], "is not finite"),
        (["show", "missing.sdf"], "cannot read it: No such file"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(words: list[str], says: str) -> None:
    done = RUN.invoke(app, ["world", *words])
    assert done.exit_code == 2 and says in done.output.replace("\n", " ")
