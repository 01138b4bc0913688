"""Vehicle files: grammar, errors that name the key, the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import UnknownNameError, VehicleError
from ironbird.testing import check_vehicle
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.names import CATALOG, vehicle_ids


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
    ("old", "new", "messages"),
    [
        (
            "mass_kg = 1.4", "mass = 1.4",
            [
                "mine.toml:9:1: body.mass_kg: mass_kg is missing; add mass_kg = …",
                "mine.toml:10:1: body.mass: unknown key 'mass'; did you mean 'mass_kg'?",
            ],
        ),
        (
            "mass_kg = 1.4", "mass_kg = 1.4\nsummary = 'x'",
            ["mine.toml:11:1: body.summary: unknown key 'summary'; it belongs to the head of the file"],
        ),
        (
            "mass_kg = 1.4", "  mass_kg = -1.4",
            ["mine.toml:10:3: body.mass_kg: -1.4 is outside its bounds; write a number greater than 0"],
        ),
        ("= 1.4\n", "= 'heavy'\n", ["mine.toml:10:1: body.mass_kg: 'heavy' does not fit here; write a number"]),
        ("= 1.4\n", "= '1.4'\n", ["mine.toml:10:1: body.mass_kg: '1.4' does not fit here; write a number"]),
        ("= 1.4\n", "= true\n", ["mine.toml:10:1: body.mass_kg: true does not fit here; write a number"]),
        ("cells = 3", "cells = true", ["mine.toml:62:1: battery.cells: true does not fit here; write a whole number"]),
        (
            "mass_kg = 1.4", "mass_kg = 1.4\nmass_kg = 1.5",
            ["mine.toml:11:14: file: not valid TOML: key 'mass_kg' is given twice; keep one of the two"],
        ),
        ("mass_kg = 1.4", "", ["mine.toml:9:1: body.mass_kg: mass_kg is missing; add mass_kg = …"]),
        (
            'spin = "ccw"', 'spin = "left"',
            [
                "mine.toml:35:1: rotor.1.spin: 'left' is not known here; one of ccw, cw",
                "mine.toml:39:1: rotor.2.spin: 'left' is not known here; one of ccw, cw",
            ],
        ),
        (
            'id = "quad_f450"', 'id = "Quad"',
            ["mine.toml:4:1: id: 'Quad' is not an id; use small letters, digits and underscore; begin with a letter"],
        ),
        (
            'template = "multicopter"', 'template = "multicoptr"',
            ["mine.toml:6:1: template: unknown template 'multicoptr'; did you mean 'multicopter' or 'helicopter'?"],
        ),
        (
            'template = "multicopter"', 'template = "multicopter"\nenvironment.gravity = "low"',
            ["mine.toml:7:13: environment.gravity: 'low' is not known here; one of wgs84, or write a number"],
        ),
        (
            "schema = 1", "schema = 2",
            [
                "mine.toml:3:1: schema: schema 2 is not known; this version reads 1; "
                "write schema = 1, or use the version of Ironbird that the file was made for"
            ],
        ),
        ("schema = 1", "", ["mine.toml:1:1: schema: the file does not say its schema; begin it with schema = 1"]),
        (
            "[body]", "[body",
            ["mine.toml:9:6: file: not valid TOML: Expected ']' at the end of a table declaration; correct this line"],
        ),
        (
            '"published: [Dai] Fig. 14, flyeval F450"', '"somewhere"',
            [
                "mine.toml:84:1: provenance.body.*: 'somewhere' does not say where the number comes from; "
                "begin with one of measured, identified, datasheet, published, derived, given, assumed"
            ],
        ),
        (
            'name = "front_right"', 'name = "front_right"\nmotor = "big"',
            ["mine.toml:1:1: file: rotor 'front_right' names motor 'big'; known: standard"],
        ),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_say_place_and_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, messages: list[str]
) -> None:
    edited(tmp_path, old, new)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VehicleError) as caught:
        load_vehicle("mine.toml")
    assert [str(problem) for problem in caught.value.problems] == messages
    assert str(caught.value) == "\n".join(messages)


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    assert load_spec(edited(tmp_path, "mass_kg = 1.4", "mass_kg = 2")).total_mass_kg() == 2.0


def test_what_a_part_needs_is_asked_for_where_the_part_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(tmp_path, "time_constant_s = 0.0119", "")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        VehicleError, match=r"^mine\.toml:\d+:1: motor\.standard: what is given does not fit together; give ei"
    ):
        load_vehicle("mine.toml")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.toml").write_bytes(b'schema = 1\ntitle = "M\xfccke"\n')

    with pytest.raises(VehicleError) as missing:
        load_vehicle("nowhere.toml")
    with pytest.raises(VehicleError) as latin:
        load_vehicle("latin.toml")

    cure = "give a vehicle of the catalogue, or the path of a TOML file"
    assert str(missing.value) == f"nowhere.toml:1:1: file: it does not exist; {cure}"
    assert (
        str(latin.value) == "latin.toml:2:11: file: cannot read it: byte 0xfc is not UTF-8 text; save the file as UTF-8"
    )


def test_unknown_vehicles_get_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown vehicle 'quad_f45'; did you mean 'quad_f450'"):
        load_vehicle("quad_f45")


@pytest.mark.parametrize("key", ["position", "height"])
def test_a_product_that_is_not_known_is_refused_where_it_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'schema = 1\nid = "mine"\nbase = "rover_differential"\n[sensors]\n{key} = "sextant"\n')
    with pytest.raises(VehicleError, match=rf"mine.toml:5:1: sensors.{key}: unknown product 'sextant'; known: "):
        load_spec(path)


def test_a_number_without_provenance_fails_the_check(tmp_path: Path) -> None:
    path = edited(tmp_path, '"battery.efficiency" = ', '"battery.color" = ')
    with pytest.raises(AssertionError, match=r"'battery.efficiency' has no entry in \[provenance\]"):
        check_vehicle(path)


def test_the_rotating_earth_is_another_block_in_the_same_place(tmp_path: Path) -> None:
    path = edited(tmp_path, 'template = "multicopter"', 'template = "multicopter"\nenvironment.earth = "wgs84"')
    vehicle = load_vehicle(path, control="truth")
    assert type(vehicle.diagram.blocks["body"]).__name__ == "RigidBodyWgs84"
    check_vehicle(path)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("motor", r"the pusher names motor 'big'; known: lift, pusher"),
        ("propeller", r"the pusher names propeller 'big'; known: lift, pusher"),
    ],
)
def test_a_pusher_that_names_what_is_not_there_is_told_what_is(tmp_path: Path, key: str, message: str) -> None:
    head, mark, rest = (CATALOG / "vtol_standard.toml").read_text().partition("[pusher]")
    path = tmp_path / "mine.toml"
    lines = [f'{key} = "big"' if line.startswith(f"{key} =") else line for line in rest.splitlines()]
    path.write_text(head + mark + "\n".join(lines))
    with pytest.raises(VehicleError, match=message):
        load_spec(path)
