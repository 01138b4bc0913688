"""A vehicle that starts at another place flies the same way from there, with its launcher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ironbird.errors import OrderError
from ironbird.flight.order import Order, make_order
from ironbird.flight.pose import start_settings
from ironbird.flight.prepare import model_of, prepare
from ironbird.runtime.step import run
from ironbird.scenario.grammar import load_scenario
from ironbird.vehicles import places as at

UNTIL_S = 4.0  # the catapult fires at 1 s and has let go at 2 s


def motion(order: Order) -> tuple[np.ndarray, np.ndarray]:
    """Position from the start (m) and velocity (m/s) over time."""
    log = run(prepare(model_of(order), [order]), UNTIL_S, log=[at.BODY.position, at.BODY.velocity])
    position = log[at.BODY.position]
    return position - position[0], log[at.BODY.velocity]


@pytest.mark.parametrize("vehicle", ["aerosonde", "zagi"])
def test_a_launcher_moves_with_the_start(vehicle: str) -> None:
    order = make_order(vehicle)
    there = replace(order, settings=start_settings(order, 50.0, -30.0))
    (flown, velocity), (flown_there, velocity_there) = motion(order), motion(there)
    assert np.linalg.norm(velocity, axis=1).max() > 12.0  # it was launched
    assert flown_there == pytest.approx(flown, abs=1e-3)
    assert velocity_there == pytest.approx(velocity, abs=1e-3)


@pytest.mark.slow
def test_in_a_scenario_too_and_above_the_ground(tmp_path: Path) -> None:
    (tmp_path / "wings.toml").write_text(
        'schema = 1\ntitle = "Two wings"\nworld = "field"\nuntil_s = 4.0\nrequire = ["always (left.speed < 40 m/s)"]\n'
        '[[vehicle]]\nname = "left"\nvehicle = "aerosonde"\n'
        '[[vehicle]]\nname = "right"\nvehicle = "aerosonde"\nnorth_m = -100.0\neast_m = 40.0\nheight_m = 20.0\n'
    )
    left, right = load_scenario(tmp_path / "wings.toml").members
    (flown, _), (flown_there, velocity) = motion(left.order), motion(right.order)
    assert flown_there == pytest.approx(flown, abs=0.2)  # the air is thinner there
    assert np.linalg.norm(velocity, axis=1).max() < 40.0


def test_a_start_without_its_launcher_is_refused() -> None:
    order = make_order("aerosonde", settings={"body.p_0": [5.0, 0.0, -1.5]})
    with pytest.raises(OrderError, match=r"but not its launcher.*--start NORTH,EAST, or set launcher/catapult.start"):
        prepare(model_of(order), [order])
