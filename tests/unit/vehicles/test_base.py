"""Vehicle files on top of another: what is merged, what is replaced, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import VehicleError
from ironbird.files.problems import Source, read_source
from ironbird.testing import check_vehicle
from ironbird.vehicles.load import load_spec, load_vehicle, read_layers, read_tables, vehicle_path
from ironbird.vehicles.names import CATALOG
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
        (
            '"quad_f450"', '"quad_f45"',
            "mine.toml:2:1: base: unknown vehicle 'quad_f45'; "
            "did you mean 'quad_f450' or 'quad_h250' or 'quad_f450_power'?",
        ),
        (
            '"quad_f450"', '"other.toml"',
            "mine.toml:2:1: base: cannot read other.toml: it does not exist; "
            "give a vehicle of the catalogue, or the path of a TOML file",
        ),
        (
            '"quad_f450"', '"mine.toml"',
            "mine.toml:2:1: base: it goes round in a circle: mine -> mine; name another base",
        ),
        (
            '"quad_f450"', "3",
            "mine.toml:2:1: base: 3 does not fit here; give a vehicle of the catalogue, or a TOML file in quotes",
        ),
        (
            'id = "heavy"\n', "",
            "mine.toml:1:1: id: id is missing; a vehicle with a base needs an id of its own: add id = …",
        ),
        ("mass_kg = ", "mas_kg = ", "mine.toml:6:1: body.mas_kg: unknown key 'mas_kg'; did you mean 'mass_kg'?"),
    ],
)  # fmt: skip
def test_mistakes_say_place_and_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VehicleError) as caught:
        load_spec(written(Path(), HEAVY.replace(old, new, 1)))
    assert str(caught.value) == message


def test_a_mistake_of_the_base_names_the_file_and_line_of_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path(), HEAVY.replace("mass_kg = 1.8", "mass_kg = 1.8\ncolour = 3"), "heavy")
    mine = HEAVY.replace('"quad_f450"', '"heavy.toml"').replace("1.8", "-1.9")

    with pytest.raises(VehicleError) as caught:
        load_spec(written(Path(), mine))

    assert [str(problem) for problem in caught.value.problems] == [
        "mine.toml:6:1: body.mass_kg: -1.9 is outside its bounds; write a number greater than 0",
        "heavy.toml:7:1: body.colour: unknown key 'colour'; leave it out",
    ]


def test_what_an_element_of_an_own_list_lacks_is_not_looked_for_in_the_list_of_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = HEAVY + '[[rotor]]\nposition_B_m = [0.1, 0.1, 0.0]\nspin = "cw"\n'

    with pytest.raises(VehicleError, match=r"^mine\.toml:9:1: rotor\.1\.name: name is missing; add name = …$"):
        load_spec(written(Path(), mine))


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


def test_files_of_the_catalogue_are_read_once_and_stay_as_they_are(tmp_path: Path) -> None:
    for name in ("quad_f450", "hexa_x", "zagi"):
        load_vehicle(name)
        tables = read_tables(vehicle_path(name))
        tables["body"].clear()
    load_spec(written(tmp_path, HEAVY))

    for name in ("quad_f450", "hexa_x", "zagi"):
        kept, fresh = read_layers(vehicle_path(name)).sources[0], read_source(vehicle_path(name))
        assert isinstance(fresh, Source) and kept.data == fresh.data
        assert read_layers(vehicle_path(name)).sources[0] is kept
