"""The command that explains a mixer file: tables, data, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from ironbird.cli.main import app

TEXT = "R: 6x 10000 10000 8000 0\nM: 1\nO: 10000 10000 0 -5000 5000 20000\nS: 2 1 10000 5000 0 -10000 10000\nZ:\n"


def test_a_mixer_file_is_explained_in_tables(tmp_path: Path) -> None:
    (tmp_path / "hexa.mix").write_text(TEXT)
    result = CliRunner().invoke(app, ["vehicle", "mixer", str(tmp_path / "hexa.mix")])

    assert result.exit_code == 0
    for words in (
        "multirotor 6x, hexacopter X", "output 3", "+0.8660 pitch -0.8000 yaw", "front left, cw", "3↻", "hexa_x",
        "output 7", "gimbal pitch (2/1) x 1 below zero, 0.5 above", "takes 2 s", "output 8", "stays at zero",
    ):  # fmt: skip
        assert words in result.stdout


def test_data_has_the_matrix_the_rotors_and_the_vehicles(tmp_path: Path) -> None:
    (tmp_path / "hexa.mix").write_text(TEXT + " M: 1\n")
    data = json.loads(CliRunner().invoke(app, ["vehicle", "mixer", str(tmp_path / "hexa.mix"), "--json"]).stdout)

    assert data["outputs"] == 8 and [m["kind"] for m in data["mixers"]] == ["multirotor", "sum", "null"]
    rotor = data["mixers"][0]
    assert rotor["matrix"][0] == [-1.0, 0.0, -0.8, 1.0] and rotor["vehicles"] == ["hexa_x"]
    expected = {"name": "front_right", "x": 0.866025, "y": 0.5, "z": 0.0, "spin": "ccw", "axis": None}
    assert rotor["rotors"][4] | {"axis": None} == expected
    assert data["mixers"][1]["first_output"] == 7 and data["mixers"][1]["travel_s"] == 2.0
    assert data["warnings"] == ["line 6 is indented: PX4 takes 'M: 1' for a comment"]


def test_mistakes_end_with_code_2_and_the_place(tmp_path: Path) -> None:
    (tmp_path / "bad.mix").write_text("Quad\nR: 4xx\n")
    result = CliRunner().invoke(app, ["vehicle", "mixer", str(tmp_path / "bad.mix")])

    assert result.exit_code == 2 and "bad.mix: line 2, column 4: unknown geometry '4xx'" in result.output
