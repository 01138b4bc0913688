"""Worlds as the 3D view gets them: every one that comes with Ironbird, with places and colours as its file says."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_rig import PATIENCE_S

from ironbird.app.actions import act
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.report import scenery
from ironbird.report.scenery import drawn, scenery_of
from ironbird.rotations import from_euler
from ironbird.world.files import load_world, world_names
from ironbird.world.model import Box, Heightfield, Material, Mesh, Sphere, World


def heights_of(ground: dict[str, Any]) -> np.ndarray:
    """Heights that a page unpacks, [north, east]."""
    packed = ground["heights"]
    steps = np.frombuffer(base64.b64decode(packed["bdata"]), "<i2")
    return (steps * packed["scale"] + packed["offset"]).reshape(len(ground["north"]), len(ground["east"]))


@pytest.mark.parametrize("name", world_names())
def test_every_world_is_drawn_as_plain_data(name: str) -> None:
    world, found = load_world(name), scenery_of(name)
    assert len(json.dumps(found, allow_nan=False)) < 4_000_000
    assert len(found["things"]) == len(world.obstacles) and not found["left_out"]
    assert len(found["movers"]) == len(world.movers) and len(found["pads"]) == len(world.pads)


def test_a_terrain_is_thinned_and_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenery, "MOST_POINTS", 5)
    heights = np.add.outer(np.arange(21.0), 10.0 * np.arange(11.0))
    ground = Heightfield(heights, 2.0, 3.0, north_m=-20.0, east_m=5.0)
    found = drawn(World("w", terrain=ground))["ground"]
    assert found["north"] == [-20.0, -10.0, 0.0, 10.0, 20.0] and found["east"][0] == 5.0 and found["east"][-1] == 35.0
    for i, north in enumerate(found["north"]):
        for j, east in enumerate(found["east"]):
            assert heights_of(found)[i, j] == pytest.approx(float(ground.height_at(north, east)), abs=2e-3)


def test_things_have_their_place_turn_size_and_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    white, q = Material("w", colour=(1.0, 1.0, 1.0)), tuple(from_euler([0.0, 0.0, np.pi / 2]))
    box = Box("b", (1.0, 2.0, -3.0), q, white, size_m=(4.0, 5.0, 6.0))
    ball = Sphere("s", (0.0, 0.0, -1.0), radius_m=2.0)
    sheet = Mesh("m", (0.0, 0.0, 0.0), vertices_m=np.eye(3), triangles=np.array([[0, 1, 2]]))
    things = drawn(World("w", obstacles=(box, ball, sheet)))["things"]
    assert things[0]["p"] == [1.0, 2.0, -3.0] and things[0]["size"] == [4.0, 5.0, 6.0]
    np.testing.assert_allclose(things[0]["R"], [0, 1, 0, -1, 0, 0, 0, 0, 1], atol=1e-9)  # its nose points east
    assert things[0]["colour"] == "#ffffff" and things[1]["colour"] == "#bcbcbc"  # half of the light, in sRGB
    assert things[2]["triangles"] == [0, 1, 2] and len(things[2]["vertices"]) == 9
    monkeypatch.setattr(scenery, "MOST_TRIANGLES", 0)
    assert drawn(World("w", obstacles=(box, sheet)))["left_out"] == ["m"]


def test_a_flight_has_the_world_that_was_chosen_and_no_other(tmp_path: Path) -> None:
    with Rig(tmp_path) as rig:
        answer = act(rig, PILOT, "start", {"world": "field", "speed": "max", "until_s": 6.0})
        flight = rig.flight(answer["result"]["flight"])
        assert flight.order.world == "field" and flight.join(PATIENCE_S) and not flight.failure
        for wrong in ("../../etc/passwd", "/etc/passwd", "schema = 1\ntitle = ''"):
            refused = act(rig, PILOT, "start", {"world": wrong})
            assert not refused["ok"] and "unknown world" in refused["error"]
