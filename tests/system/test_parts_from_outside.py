"""A package outside the repository adds parts of every family by entry points: the ordinary commands list and use them.

One package is written and put on the path, as an installer would; each command runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ironbird

FILES = {
    "outside_parts/__init__.py": "",
    "outside_parts/blocks.py": '''
import ironbird as ib
from ironbird.blocks.estimators.complementary import ComplementaryFilter

class SlowFilter(ComplementaryFilter):
    """The complementary filter with a low-pass of the velocity. Not modelled: what its parent does not."""

    share = ib.Param(unit="1", default=0.9, low=0.0, high=1.0, tunable=True, doc="of the new velocity that is taken")

    def update(self, x, u, p):
        new = super().update(x, u, p)
        return {**new, "v": x.v + p.share * (new["v"] - x.v)}
''',
    "outside_parts/thermo9.py": '''
from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.table import Register

class Thermo9(RegisterChip):
    """A thermometer. Not modelled: its heat."""

    part = "THERMO9"
    summary = "thermometer of a package"
    source = "made up"
    buses = ("i2c",)
    address = 0x48
    registers = (Register(0x00, "WHO", 0x99, 0x00, "identity"),)
''',
    "outside_parts/worlds.py": 'from pathlib import Path\nMEADOW = Path(__file__).parent / "meadow.toml"\n',
    "outside_parts/meadow.toml": 'schema = 1\ntitle = "A meadow of a package"\n[terrain]\nkind = "plane"\n',
    "outside_parts/exporters.py": '''
from ironbird.export.job import Exporter

class Names(Exporter):
    """Names of the parts."""

    name, summary = "names", "the names of all blocks"

    def write(self, job, folder):
        (folder / "names.txt").write_text("\\n".join(job.cut.vehicle.diagram.blocks))
        return {"of": job.vehicle}

NAMES = Names()
''',
    "outside_parts/sections.py": """
from markupsafe import Markup
from ironbird.report.flight.section import Section

ROWS = Section("Rows of a package", lambda flight: [("vehicle <id>", flight.vehicle.id)])
TEXT = Section("Text of a package", lambda flight: Markup("<b>bold</b>"))
BROKEN = Section("Broken", lambda flight: 1 / 0)
""",
    "outside_parts/systems.py": """
from ironbird.rig.system import FunctionSystem, Kind, Options, Seat

class Still(Kind):
    name, title, summary, options, longest_s = "still", "Still", "Leaves the rotors off.", Options, 2.0

    def seat(self, task):
        return Seat(FunctionSystem(lambda rig: rig.command("rotor/1", 0.0)))

STILL = Still()
""",
    "outside_parts/kinds.py": '''
from dataclasses import replace
from ironbird.vehicles.kinds import KINDS
from ironbird.vehicles.spec import Positive
from ironbird.vehicles.templates.multicopter import MulticopterSpec, build

class LadenSpec(MulticopterSpec):
    """A multicopter with a load at its centre of mass."""

    load_kg: Positive

def build_laden(spec, control_kind="truth"):
    diagram = build(spec, control_kind)
    diagram.set("body.mass", spec.body.mass_kg + spec.load_kg)
    return diagram

LADEN = replace(KINDS.load("multicopter"), name="laden", spec=LadenSpec, build=build_laden, px4="", ardupilot="")
''',
    "outside_parts/faults.py": 'from pathlib import Path\nTIRED = Path(__file__).parent / "tired.toml"\n',
    "outside_parts/tired.toml": """
schema = 1

[[fault]]
id = "outside.tired_motor@1"
summary = "A motor of a package that is tired."
severity = "0 is healthy, 1 is half of the speed"
witness = "rotor/{instance}/motor.speed"

[[fault.change]]
parameter = "rotor/{instance}/motor.health"
scale = [1.0, 0.5]
""",
    "outside_parts-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: outside-parts\nVersion: 1.0\n",
    # A family that is added to Ironbird gets its group and its part here, and a test below
    "outside_parts-1.0.dist-info/entry_points.txt": """
[ironbird.blocks]
slow_filter = outside_parts.blocks:SlowFilter
Motor = outside_parts.blocks:SlowFilter
[ironbird.chips]
thermo9 = outside_parts.thermo9:Thermo9
[ironbird.worlds]
meadow = outside_parts.worlds:MEADOW
[ironbird.exporters]
names = outside_parts.exporters:NAMES
[ironbird.sections]
rows = outside_parts.sections:ROWS
text = outside_parts.sections:TEXT
broken = outside_parts.sections:BROKEN
[ironbird.vehicle_kinds]
laden = outside_parts.kinds:LADEN
[ironbird.faults]
tired = outside_parts.faults:TIRED
[ironbird.systems]
still = outside_parts.systems:STILL
""",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def ironbird_says(site: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints, with the package on the path."""
    source = Path(ironbird.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{source}", "COLUMNS": "200"}
    command = [sys.executable, "-m", "ironbird.cli", *arguments]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_block_is_listed_and_takes_the_place_of_the_estimator(site: Path) -> None:
    listed = json.loads(ironbird_says(site, "vehicle", "blocks", "--json"))["blocks"]
    assert listed["slow_filter"]["home"] == "outside_parts.blocks:SlowFilter"
    assert listed["Motor"]["home"].startswith("ironbird.blocks.")  # no one takes the name of Ironbird's own
    text = 'schema = 1\nid = "mine"\nbase = "quad_f450"\n[replace.estimator]\nblock = "slow_filter"\n'
    text += 'params = { share = 0.8 }\nports = { sink_rate = "" }\n'
    (site / "mine.toml").write_text(text, encoding="utf-8")

    assert "no problems" in ironbird_says(site, "vehicle", "check", "mine.toml")
    assert "estimator.share" in ironbird_says(site, "vehicle", "params", "mine.toml", "estimator.share")


def test_a_chip_is_listed_and_shown(site: Path) -> None:
    assert "thermometer of a package" in ironbird_says(site, "board", "list")
    assert "WHO" in ironbird_says(site, "board", "chip", "thermo9")


def test_a_world_is_listed_and_checked(site: Path) -> None:
    assert "A meadow of a package" in ironbird_says(site, "world", "list")
    assert "meadow: 0 obstacles" in ironbird_says(site, "world", "check", "meadow")


def test_an_exporter_is_listed_and_writes(site: Path) -> None:
    assert "the names of all blocks" in ironbird_says(site, "export", "--list")
    ironbird_says(site, "export", "names", "quad_f450", "--part", "controller", "--out", "names")
    assert "control" in (site / "names" / "names.txt").read_text(encoding="utf-8").splitlines()


def test_a_control_system_flies_in_a_world_and_the_page_has_the_sections(site: Path) -> None:
    assert "Leaves the rotors off." in ironbird_says(site, "system", "list")
    flown = ["--control", "still", "--world", "meadow", "--until", "1", "--out", "flown"]
    ironbird_says(site, "fly", "quad_f450", *flown, code=3)
    page = (next((site / "flown").rglob("*.html"))).read_text(encoding="utf-8")
    assert "<dt>vehicle &lt;id&gt;</dt><dd>quad_f450</dd>" in page  # a text is escaped
    assert "<b>bold</b>" in page  # unless it says that it is HTML
    assert "outside_parts.sections:BROKEN fails: ZeroDivisionError: division by zero" in page


def test_a_vehicle_kind_is_listed_and_its_file_is_checked_and_flown(site: Path) -> None:
    assert "outside_parts.kinds:LADEN" in ironbird_says(site, "vehicle", "kinds", "--json")
    schema = json.loads(ironbird_says(site, "vehicle", "schema"))
    assert "load_kg" in schema["$defs"]["laden"]["properties"]
    text = 'schema = 1\nid = "porter"\nbase = "quad_f450"\ntemplate = "laden"\nload_kg = 0.2\n'
    text += '[provenance]\nload_kg = "assumed: a parcel"\n'
    (site / "porter.toml").write_text(text, encoding="utf-8")

    assert "no problems" in ironbird_says(site, "vehicle", "check", "porter.toml")
    said = ironbird_says(site, "fly", "porter.toml", "--mission", "hover", "--until", "12", "--out", "porter")
    assert "porter" in said and "no_crash" not in said
    refused = ironbird_says(site, "sitl", "px4", "--vehicle", "porter.toml", code=2)
    assert "PX4" in refused


def test_a_fault_is_listed_shown_flown_and_acts(site: Path) -> None:
    assert "A motor of a package that is tired." in ironbird_says(site, "fault", "find", "tired")
    fault = "outside.tired_motor@1:instance=1,severity=0.4,start=5"
    said = ironbird_says(site, "fly", "quad_f450", "--mission", "hover", "--until", "8", "--fault", fault, "--out", "f")
    assert "outside.tired_motor@1" in said and "did not act" not in said
    ironbird_says(site, "fault", "show", "outside.tired_motor@1", "--out", "shown")


def test_a_part_that_cannot_be_loaded_is_named_with_its_home(site: Path) -> None:
    text = 'schema = 1\nid = "odd"\nbase = "quad_f450"\ntemplate = "ladden"\n'
    (site / "odd.toml").write_text(text, encoding="utf-8")
    assert "'laden'" in ironbird_says(site, "vehicle", "check", "odd.toml", code=2)
