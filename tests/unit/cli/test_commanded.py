"""`fly --control commanded` without anybody who commands: where the vehicle stands, and what its order says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ironbird.cli.main import app
from ironbird.flight.order import load_order
from ironbird.runtime.parquet_log import read_log
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import Home

OWN = "40.1540302,116.2593683,41.526"  # the vehicle's own home: its kernel is there already


def served(folder: Path, *words: str) -> Result:
    command = ["fly", "quad_f450", "--control", "commanded", *words, "--out", str(folder)]
    return CliRunner().invoke(app, command, env={"COLUMNS": "220", "NO_COLOR": "1", "TERM": "dumb"})


@pytest.mark.parametrize(
    ("words", "place", "yaw_deg", "home"),
    [
        (("--until", "5", "--start", "10,5,90"), (10.0, 5.0), 90.0, None),
        (("--until", "1", "--home", OWN, "--start", "0,0,-30"), (0.0, 0.0), -30.0, Home()),
        (("--until", "1", "--home", OWN, "--start", "3,-4,-30"), (3.0, -4.0), -30.0, Home()),
    ],
)
def test_vehicle_begins_where_start_and_home_say(
    tmp_path: Path, words: tuple[str, ...], place: tuple[float, float], yaw_deg: float, home: Home | None
) -> None:
    done = served(tmp_path, *words)
    assert done.exit_code == (0 if home is None else 3), done.output  # within 1 s it does not leave the ground

    log, order = read_log(tmp_path / "flight.parquet"), load_order(tmp_path / "order.toml")
    np.testing.assert_allclose(log[at.BODY.position][0, :2], place, atol=1e-9)
    np.testing.assert_allclose(log["body.euler"][0, 2], math.radians(yaw_deg), atol=1e-9)
    assert order.control == "commanded" and order.until_s == float(words[1])
    assert order.place == home
    if home is None:  # armed when the estimator has settled, and on its way up
        assert log[at.BODY.position][-1, 2] < -1.0 and "mission from item 0" in order.script
        np.testing.assert_allclose(log[at.ESTIMATOR.position][-1, :2], place, atol=1.0)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--start", "10"), "give NORTH,EAST[,YAW]"),
        (("--start", "1,nan"), "give NORTH,EAST[,YAW]"),
        (("--home", "47,8,400,north"), "a heading goes into --start"),
        (("--front", "telepathy"), "telepathy"),
        (("--front", "rflysim", "--mode", "udp_half"), "udp_half"),
        (("--front", "rflysim", "--vehicle-id", "0"), "--vehicle-id"),
    ],
)
def test_what_cannot_be_read_ends_with_a_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = served(tmp_path, *words)
    assert done.exit_code == 2 and says in done.output and "Traceback" not in done.output
