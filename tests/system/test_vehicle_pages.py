"""docs/vehicles: every vehicle has a page, and what follows from its file and blocks alone is up to date."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from ironbird.report.flight.parameters import parameter_groups
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.names import vehicle_ids

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "vehicles"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("write_vehicle_pages")


def test_the_pages_say_what_files_and_blocks_say(tool: ModuleType) -> None:
    for name in vehicle_ids():
        page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        first, mark, second = page.partition(f"\n{tool.MEASURED}\n")
        assert mark and first == tool.static_part(name), f"{name}: run `make docs` and look at the change"
        for part in ("## Modes", "## Mission", "## Block diagram"):
            assert part in second, name


def test_the_index_is_up_to_date(tool: ModuleType) -> None:
    assert (FOLDER / "index.md").read_text(encoding="utf-8") == tool.index(), "run `make docs`"


def test_the_gallery_shows_every_vehicle(tool: ModuleType) -> None:
    page = (FOLDER / "gallery.md").read_text(encoding="utf-8")
    assert page == tool.gallery(), "run `make docs`"
    for name in vehicle_ids():
        assert f"(../pictures/vehicles/{name}.png)" in page
        assert (FOLDER.parent / "pictures" / "vehicles" / f"{name}.png").is_file()


def test_every_value_has_its_provenance_and_unit_on_the_page(tool: ModuleType) -> None:
    for name in ("quad_f450", "car_escort", "boat_otter"):
        lines = tool.static_part(name).splitlines()
        for group, rows in parameter_groups(load_spec(name)):
            for row in rows if group not in ("base", "mission") else []:
                (line,) = [text for text in lines if text.startswith(f"| `{row['key']}` |")]
                assert f"| {row['kind']} |" in line
    assert "| `body.mass_kg` | 1.4 | kg | published | [Dai] Fig. 14, flyeval F450 |" in tool.static_part("quad_f450")
    keys = ("rotor.1.position_B_m", "contact.stiffness_Npm", "control.position_gain", "rotor.2.axis_B")
    units = [tool.unit_cell(load_spec("quad_f450"), key) for key in keys]
    assert units == ["m", "N/m", "1/s", "-"]


def test_equations_and_gaps_come_from_the_blocks(tool: ModuleType) -> None:
    text = tool.static_part("car_escort")

    assert "(4 times, `wheel/*/tyre`): Computes the forces and the moment of a tyre" in text
    assert "- Tyre: spin of the contact patch, temperature, wear, inflation pressure, aquaplaning." in text
    assert "Not modelled:" not in text.partition("## What is not modelled")[0]


def test_hostile_names_in_pictures_stay_text(tool: ModuleType) -> None:
    hostile = "</title><script>alert('1')</script>"
    vehicle = load_vehicle("quad_f450", control="truth")
    named = replace(vehicle, spec=vehicle.spec.model_copy(update={"id": hostile}))
    picture = tool.top_view(named)
    assert "<script" not in picture
    assert ElementTree.fromstring(picture)[0].text == f"{hostile} from above"
