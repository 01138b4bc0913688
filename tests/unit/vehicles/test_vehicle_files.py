"""Vehicle files: grammar, errors that name the key, the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import UnknownNameError, VehicleError
from ironbird.testing import check_vehicle
from ironbird.vehicles.load import CATALOG, load_spec, load_vehicle, vehicle_ids


@pytest.mark.parametrize("name", vehicle_ids())
def test_every_vehicle_of_the_catalogue_passes_the_public_check(name: str) -> None:
    assert load_spec(name).id == name
    check_vehicle(name)


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = (CATALOG / "quad_f450.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass_kg = 1.4", "mass = 1.4", "unknown key 'body.mass'; did you mean 'body.mass_kg'"),
        ("mass_kg = 1.4", "mass_kg = -1.4", r"body.mass_kg: Input should be greater than 0 \(got -1.4\)"),
        ("mass_kg = 1.4", "mass_kg = 'heavy'", "body.mass_kg: Input should be a valid number"),
        ("mass_kg = 1.4", "", "body.mass_kg: Field required"),
        ('spin = "ccw"', 'spin = "left"', "rotor.0.spin: Input should be 'ccw' or 'cw'"),
        ('template = "multicopter"', 'template = "multicoptr"', "unknown template 'multicoptr'; did you mean"),
        ("schema = 1", "schema = 2", "schema: Input should be 1"),
        ("[body]", "[body", "is not valid TOML"),
        ("time_constant_s = 0.0119", "", "give either time_constant_s, or natural_frequency_radps"),
        ('"published: [Dai] Fig. 14, flyeval F450"', '"somewhere"', "provenance of 'body.\\*' must begin with one of"),
        ('name = "front_right"', 'name = "front_right"\nmotor = "big"', "rotor 'front_right' names motor 'big'"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(VehicleError, match=message):
        load_vehicle(edited(tmp_path, old, new))


def test_unknown_vehicles_get_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown vehicle 'quad_f45'; did you mean 'quad_f450'"):
        load_vehicle("quad_f45")
    with pytest.raises(VehicleError, match="does not exist"):
        load_vehicle("nowhere.toml")


def test_a_number_without_provenance_fails_the_check(tmp_path: Path) -> None:
    path = edited(tmp_path, '"battery.efficiency" = ', '"battery.color" = ')
    with pytest.raises(AssertionError, match=r"'battery.efficiency' has no entry in \[provenance\]"):
        check_vehicle(path)


def test_the_rotating_earth_is_another_block_in_the_same_place(tmp_path: Path) -> None:
    path = edited(tmp_path, 'template = "multicopter"', 'template = "multicopter"\nenvironment.earth = "wgs84"')
    vehicle = load_vehicle(path)
    assert type(vehicle.diagram.blocks["body"]).__name__ == "RigidBodyWgs84"
    check_vehicle(path)
