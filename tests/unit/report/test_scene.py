"""The 3D scene: vehicles from their files, worlds as data, and what a browser draws of a crash."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Tab, chromium
from flight_pages import Page

from ironbird.flight.flight import Flight, fly
from ironbird.flight.passage import first_obstacle
from ironbird.report.flight.page import write_flight_page
from ironbird.report.scenery import drawn
from ironbird.vehicles.load import CATALOG, load_vehicle
from ironbird.vehicles.shape import shape, shape_of
from ironbird.world.files import load_world
from ironbird.world.model import Heightfield

VEHICLES = sorted(path.stem for path in CATALOG.glob("*.toml"))
PLACED = {"rod": ("begin", "end"), "box": ("at",), "ball": ("at",), "wing": ("root", "tip"), "propeller": ("at",)}


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_each_vehicle_is_drawn_from_its_file(vehicle: str) -> None:
    loaded = load_vehicle(vehicle)
    made = shape(loaded)

    assert len(made["parts"]) >= 8 and len(json.dumps(made)) < 20_000
    places = [part[key] for part in made["parts"] for key in PLACED.get(part["kind"], ())]
    assert np.isfinite(places).all()
    for path in made["signals"]:
        block, _, port = path.partition("[")[0].rpartition(".")
        assert port in loaded.diagram.blocks[block].outputs, path
    for joint in made["joints"]:
        assert math.hypot(*joint["axis"]) == pytest.approx(1.0, abs=1e-3) and joint["signal"] < len(made["signals"])
    rotors = [part["place"] for part in made["parts"] if part["kind"] == "propeller"]
    assert len(rotors) >= len(made["rotors"]) and len(set(rotors)) == len(rotors)


def test_rotors_stand_where_the_file_puts_them_and_are_as_large() -> None:
    made = shape_of("quad_f450")
    propellers = [part for part in made["parts"] if part["kind"] == "propeller"]

    assert [part["at"][:2] for part in propellers] == [pytest.approx(place[:2], abs=1e-3) for place in made["rotors"]]
    assert [part["radius"] for part in propellers] == pytest.approx([0.23876 / 2] * 4, abs=1e-4)
    assert [made["joints"][part["joint"]]["gain"] for part in propellers] == [1.0, 1.0, -1.0, -1.0]  # ccw, ccw, cw, cw
    wing = [part for part in shape_of("aerosonde")["parts"] if part["kind"] == "wing"]
    assert max(abs(part["tip"][1]) for part in wing) == pytest.approx(2.8956 / 2, rel=0.04)  # with its tips


def test_a_steered_wheel_hangs_on_the_steering() -> None:
    made = shape_of("car_escort")
    wheels = {part["place"]: part["joint"] for part in made["parts"] if part["place"].startswith("wheel/")}

    front, rear = (made["joints"][wheels[f"wheel/{number}"]] for number in (1, 3))
    assert made["signals"][made["joints"][front["parent"]]["signal"]] == "steering/servo.deflection"
    assert rear["parent"] == -1 and made["signals"][rear["signal"]] == "wheel/3/drive.speed"


def test_heights_of_a_terrain_are_those_of_the_world_to_a_centimetre() -> None:
    world = load_world("mountain")
    data = drawn(world)["ground"]
    packed = data["heights"]
    heights = np.frombuffer(base64.b64decode(packed["bdata"]), "<i2") * packed["scale"] + packed["offset"]

    assert isinstance(world.ground, Heightfield)
    truth = world.height_at(*np.meshgrid(data["north"], data["east"], indexing="ij"))
    assert np.abs(heights.reshape(truth.shape) - truth).max() < 0.01


@pytest.fixture(scope="module")
def crash() -> Flight:
    """The first square of a newcomer in the forest: it goes through a tree."""
    return fly(
        "quad_f450", control="truth", world="forest", faults=["rotor.speed_loss@1:instance=2,severity=0.1,start=9"]
    )


@pytest.fixture(scope="module")
def opened(crash: Flight, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("scene")
    write_flight_page(crash, folder / "flight.html")
    with chromium(folder) as browser:
        tab = browser.tab(900, 700)
        tab.open((folder / "flight.html").as_uri())
        tab.until("document.readyState == 'complete' && document.querySelector('#replay canvas[data-labels]')")
        yield tab


COLOURS = """(() => {
  const gl = document.querySelector('#replay canvas').getContext('webgl2');
  const w = gl.drawingBufferWidth, h = gl.drawingBufferHeight;
  const all = new Uint8Array(4 * w * h), kinds = new Set(); gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, all);
  let red = 0;
  for (let i = 0; i < all.length; i += 4) {
    kinds.add((all[i] >> 4) * 256 + (all[i + 1] >> 4) * 16 + (all[i + 2] >> 4));
    if (all[i] > 120 && all[i] > 2.2 * all[i + 1] && all[i] > 2.2 * all[i + 2]) red++;
  }
  return [w * h, kinds.size, red];
})()"""  # points, kinds of colours, red points


def test_a_crash_shows_what_was_hit_in_red_and_by_its_name(crash: Flight, opened: Tab) -> None:
    assert not crash.survived and crash.stop is not None and crash.stop.reason == "collision"
    opened.until(f"{COLOURS}[2] > 2000")
    points, kinds, red = opened.js(COLOURS)
    assert kinds > 40 and 0.02 < red / points < 0.6
    hit = opened.js("JSON.parse(document.getElementById('figures').textContent).replay.hit.name")
    assert crash.order.mission is not None
    foreseen = first_obstacle(crash.order.mission.item, load_world("forest"), reach_m=0.225, speed_mps=5.0)
    assert foreseen is not None and foreseen.name == hit and abs(foreseen.time_s - crash.stop.time_s) < 3.0
    assert f"It hit {hit} at " in opened.js("document.querySelector('.story').innerText")
    labels = [
        text
        for text, *_ in json.loads(opened.js("document.querySelector('#replay canvas[data-labels]').dataset.labels"))
    ]
    assert any(text.startswith("hit pine ") for text in labels), labels

    opened.js("document.querySelector('[data-camera=chase]').click()")
    opened.js(
        "(s => { s.value = 5; s.dispatchEvent(new Event('input')); })(document.querySelector('[data-part=slider]'))"
    )
    opened.until(f"{COLOURS}[2] < {red // 20}")  # nothing is broken yet
    assert opened.js(COLOURS)[1] > 40
    assert opened.errors() == [] and opened.requested() == set()


def test_all_cameras_draw_the_flight(opened: Tab) -> None:
    seen: list[list[int]] = []
    for camera in ("chase", "orbit", "board", "ground", "top", "whole"):
        opened.js(f"document.querySelector('[data-camera={camera}]').click()")
        opened.until(f"(now => now[1] > 15 && now.join() != {json.dumps(','.join(map(str, seen[-1:])))})({COLOURS})")
        seen.append(opened.js(COLOURS))
    assert opened.errors() == []


def test_names_of_a_world_are_text_and_never_a_script(
    crash: Flight, opened: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    world = load_world("forest")
    things = tuple(dataclasses.replace(one, name=f"{hostile}{n}") for n, one in enumerate(world.obstacles))
    harm = dataclasses.replace(world, obstacles=things, title=hostile)
    monkeypatch.setattr("ironbird.report.scenery.scenery_of", lambda name: drawn(harm))
    monkeypatch.setattr("ironbird.flight.worlds.ordered_world", lambda name: harm)
    write_flight_page(crash, tmp_path / "flight.html")
    page = Page((tmp_path / "flight.html").read_text())

    assert page.figures["replay"]["hit"]["name"].startswith(hostile)
    assert "img" not in page.tags and len(page.scripts) == 3
    opened.open((tmp_path / "flight.html").as_uri())  # the last test of this tab
    labels = "document.querySelector('#replay canvas[data-labels]')?.dataset.labels"
    opened.until(f"({labels} || '').includes('hit </script>')")
    assert opened.js("document.querySelectorAll('img').length") == 0 and opened.errors() == []
