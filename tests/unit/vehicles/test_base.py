"""Vehicle files on top of another: what is merged, what is replaced, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import VehicleError
from ironbird.testing import check_vehicle
from ironbird.vehicles.load import CATALOG, load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec

HEAVY = """schema = 1
base = "quad_f450"
id = "heavy"
title = "Heavy F450"
[body]
mass_kg = 1.8
[provenance]
"body.mass_kg" = "measured: scale"
"""


def written(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_tables_are_merged_and_the_rest_is_that_of_the_base(tmp_path: Path) -> None:
    spec, base = load_spec(written(tmp_path, HEAVY)), load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec) and isinstance(base, MulticopterSpec)

    assert spec.id == "heavy" and spec.base == "quad_f450" and spec.body.mass_kg == 1.8
    assert spec.body.inertia_diag_kgm2 == base.body.inertia_diag_kgm2
    assert (spec.rotor, spec.motor, spec.control) == (base.rotor, base.motor, base.control)
    assert spec.provenance == base.provenance | {"body.mass_kg": "measured: scale"}
    check_vehicle(tmp_path / "mine.toml")


def test_a_base_may_have_a_base_and_stand_beside_the_file(tmp_path: Path) -> None:
    written(tmp_path, HEAVY, "heavy")
    text = HEAVY.replace('"quad_f450"', '"heavy.toml"').replace('id = "heavy"', 'id = "wide"')
    places = [(0.3, 0.3, "ccw"), (-0.3, -0.3, "ccw"), (0.3, -0.3, "cw"), (-0.3, 0.3, "cw")]
    rotors = "".join(
        f'[[rotor]]\nname = "r{i}"\nposition_B_m = [{x}, {y}, 0.0]\nspin = "{spin}"\n'
        for i, (x, y, spin) in enumerate(places)
    )
    spec = load_spec(written(tmp_path, text.replace("[body]\nmass_kg = 1.8\n", rotors)))

    assert isinstance(spec, MulticopterSpec)
    assert spec.body.mass_kg == 1.8 and [rotor.name for rotor in spec.rotor] == ["r0", "r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"quad_f450"', '"quad_f45"', r"mine\.toml: base: unknown vehicle 'quad_f45'; did you mean 'quad_f450'"),
        ('"quad_f450"', '"other.toml"', r"mine\.toml: base: vehicle file .*other\.toml does not exist"),
        ('"quad_f450"', '"mine.toml"', r"base goes round in a circle: mine -> mine"),
        ('"quad_f450"', "3", r"base is 3; give a vehicle of the catalogue"),
        ('id = "heavy"\n', "", r"it has a base, so it needs an id of its own"),
        ("mass_kg", "mas_kg", r"unknown key 'body\.mas_kg'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(VehicleError, match=message):
        load_spec(written(tmp_path, HEAVY.replace(old, new)))


def test_a_changed_number_does_not_inherit_the_source_of_the_old_one(tmp_path: Path) -> None:
    path = written(tmp_path, HEAVY.replace('"body.mass_kg" = "measured: scale"\n', ""))

    with pytest.raises(AssertionError, match=r"'body\.mass_kg' has no entry in \[provenance\]"):
        check_vehicle(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('rotor = "rear"', 'rotor = "tail"', r"tail names rotor 'tail'; known: front_right, front_left, rear"),
        ('rotor = "rear"', 'rotor = "front_left"', r"rotor 'front_left' is not behind the centre of mass"),
        ("[tail]", "[tale]", r"unknown key 'tale'"),
    ],
)
def test_a_tricopter_needs_its_tail(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (CATALOG / "tri_y.toml").read_text()
    with pytest.raises(VehicleError, match=message):
        load_spec(written(tmp_path, text.replace(old, new)))
