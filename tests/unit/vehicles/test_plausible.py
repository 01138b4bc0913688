"""Numbers that no vehicle has are refused before anything flies; odd ones are pointed at."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import pytest

from ironbird.campaign.flown_files import vehicle_texts, write_vehicles
from ironbird.errors import OrderError, PlausibilityWarning, VehicleError
from ironbird.flight.order import make_order, vehicle_digest
from ironbird.flight.prepare import fit, prepare
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import CATALOG, vehicle_ids

HEAD = 'schema = 1\nbase = "quad_f450"\nid = "mine"\n'


def own(tmp_path: Path, text: str) -> Path:
    (tmp_path / "mine.toml").write_text(HEAD + text)
    return tmp_path / "mine.toml"


@pytest.mark.parametrize("name", vehicle_ids())
def test_the_catalogue_is_plausible(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlausibilityWarning)
        load_spec(name)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("inertia_diag_kgm2 = [0.01, 0.01, 0.9]", "0.9 kg m^2 is more than the sum of the other two, 0.02"),
        ("inertia_diag_kgm2 = [0.01, 0.0201, 0.01]", "no body has such an inertia"),  # a flat plate has 0.02
        ("inertia_diag_kgm2 = [0.017, -0.017, 0.031]", "this one has -0.017 kg m^2"),
        ("mass_kg = 1100.0", "it weighs 1.079e+04 N and its rotors lift 27.08 N at full throttle"),
        ("mass_kg = 2.77", "it cannot take off"),  # 27.16 N on 27.08 N
    ],
)
def test_the_impossible_is_refused(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(VehicleError) as refused:
        load_spec(own(tmp_path, f"[body]\n{body}\n"))
    assert said in str(refused.value) and "mine.toml:5:1: body." in str(refused.value)


def test_the_possible_is_not_refused(tmp_path: Path) -> None:
    load_spec(own(tmp_path, "[body]\nmass_kg = 2.76\ninertia_diag_kgm2 = [0.01, 0.01, 0.02]\n"))  # a flat plate


def test_the_weight_is_that_of_the_vehicles_own_gravity(tmp_path: Path) -> None:
    load_spec(own(tmp_path, "[body]\nmass_kg = 3.2\n[environment]\ngravity = 3.71\n"))  # 11.9 N on Mars
    with pytest.raises(VehicleError, match="it weighs 35 N"):
        load_spec(own(tmp_path, "[environment]\ngravity = 25.0\n"))


def test_an_inertia_with_products_is_judged_by_its_principal_moments(tmp_path: Path) -> None:
    text = (CATALOG / "aerosonde.toml").read_text()
    rows = "inertia_kgm2 = [[0.8244, 0.0, -0.1204], [0.0, 1.135, 0.0], [-0.1204, 0.0, 1.759]]"
    assert rows in text
    for change, said in (
        ("inertia_kgm2 = [[0.824, 0.0, -0.12], [0.0, 1.135, 0.0], [0.12, 0.0, 1.759]]", "is symmetric"),
        ("inertia_kgm2 = [[0.824, 0.0, -1.5], [0.0, 1.135, 0.0], [-1.5, 0.0, 1.759]]", "three positive principal"),
    ):
        (tmp_path / "wing.toml").write_text(text.replace(rows, change))
        with pytest.raises(VehicleError, match=said):
            load_spec(tmp_path / "wing.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[body]\nmass_kg = 0.1\n", r"lift 27\.6 times its weight"),
        ("[body]\ninertia_diag_kgm2 = [1.7, 1.7, 3.1]\n", r"1\.7 kg m\^2 about x is that of 1\.4 kg at 1\.1 m"),
        ("[control]\nrate_gain = [0.5, 0.5, 0.5]\n", r"damps roll by 0\.12 of the critical damping"),  # sqrt(.5/8)/2
    ],
)
def test_the_odd_is_pointed_at(tmp_path: Path, text: str, said: str) -> None:
    with pytest.warns(PlausibilityWarning) as seen:
        load_spec(own(tmp_path, text))
    assert any(re.search(said, str(warning.message)) for warning in seen)


def test_settings_of_an_order() -> None:
    model = fit(make_order("quad_f450", control="truth")).model
    with pytest.warns(PlausibilityWarning, match=r"body\.mass = 1100 is far from 1\.4"):
        prepare(model, [make_order("quad_f450", control="truth", settings={"body.mass": 1100.0})])
    with pytest.raises(OrderError, match=r"control\.rate_gain has 3 values, \[22, 22, 4\]: give all of them"):
        prepare(model, [make_order("quad_f450", control="truth", settings={"control.rate_gain": 30.0})])
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlausibilityWarning)
        settings = {"body.mass": 1.6, "control.rate_gain[0]": 30.0, "control.rate_integral": 0.0}
        prepare(model, [make_order("quad_f450", control="truth", settings=settings)])


# ---------------------------------------------------------------------- what a base hands down


def test_a_base_hands_down_numbers_but_no_words(tmp_path: Path) -> None:
    spec = load_spec(own(tmp_path, "[body]\nmass_kg = 1.1\n"))
    assert spec.title == "mine, based on quad_f450"
    assert spec.summary == "As quad_f450, with other values of: body."
    assert spec.source_of("body.mass_kg") == "assumed: mine.toml gives no source"
    assert spec.source_of("body.inertia_diag_kgm2").startswith("published: [Dai]")
    told = load_spec(own(tmp_path, '[body]\nmass_kg = 1.1\n[provenance]\n"body.mass_kg" = "measured: scales"\n'))
    assert told.source_of("body.mass_kg") == "measured: scales"


def test_a_pattern_of_the_file_goes_before_a_key_of_its_base() -> None:
    assert load_spec("hexa_plus").source_of("contact.stiffness_Npm") == "derived: the F450's, by mass"


@pytest.mark.parametrize("name", vehicle_ids())
def test_a_vehicle_kept_as_one_file_is_the_same_vehicle(name: str, tmp_path: Path) -> None:
    from campaign_data import flight_case

    case = flight_case(vehicle=name)
    files = write_vehicles(vehicle_texts([case]), [case], tmp_path)
    assert vehicle_digest(str(files[name])) == vehicle_digest(name)
    assert load_spec(files[name]).model_copy(update={"base": load_spec(name).base}) == load_spec(name)


def test_hundreds_of_rotors_are_refused_before_anything_is_built(tmp_path: Path) -> None:
    def rotors(count: int) -> Path:
        rows = (
            f"[[rotor]]\nname = 'r{n}'\nposition_B_m = [{math.cos(n):.6f}, {math.sin(n):.6f}, 0.0]\n"
            f"spin = '{('ccw', 'cw')[n % 2]}'\n"
            for n in range(count)
        )
        return own(tmp_path, "[body]\nmass_kg = 10.0\ninertia_diag_kgm2 = [2.0, 2.0, 4.0]\n" + "".join(rows))

    for count in (33, 300):
        with pytest.raises(VehicleError, match=f"{count} rotors are too many: a vehicle has at most 32; describe"):
            load_spec(rotors(count))
    assert len(load_spec(rotors(32)).rotor) == 32  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("reach_m", "said"),
    [
        (
            0.0075,
            r"reach 0\.0075 m from below the centre of mass, which is 0\.23 m high: it falls over when tilted by ",
        ),
        (0.0225, "put the feet at least 0.023 m out"),
        (0.0235, ""),
    ],
)
def test_feet_like_a_pin_are_pointed_at(tmp_path: Path, reach_m: float, said: str) -> None:
    feet = [[x, y, 0.23] for x in (reach_m, -reach_m) for y in (reach_m, -reach_m)]
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", PlausibilityWarning)
        load_spec(own(tmp_path, f"[contact]\npoints_B_m = {feet}\n"))
    assert bool(noted) == bool(said)
    assert not said or re.search(said, str(noted[0].message))


def test_feet_that_are_all_on_one_side_are_pointed_at(tmp_path: Path) -> None:
    feet = [[x, y, 0.12] for x in (0.05, 0.2) for y in (0.1, -0.1)]
    with pytest.warns(PlausibilityWarning, match="it cannot stand"):
        load_spec(own(tmp_path, f"[contact]\npoints_B_m = {feet}\n"))
