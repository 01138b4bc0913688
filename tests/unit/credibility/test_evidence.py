"""Evidence sheets: levels follow from comparisons, grow stale with the vehicle's numbers, and cases may demand them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from flown_records import table

from ironbird.campaign.suite import load_suite
from ironbird.credibility.compare import Comparison, compare
from ironbird.credibility.evidence import add_entry, level_of, read_sheet, sheet_path, standing
from ironbird.credibility.readers import read_record
from ironbird.errors import CaseError, UnknownNameError, VehicleError
from ironbird.vehicles.load import vehicle_path

TIME_S = np.arange(0.0, 20.0, 0.05)
WAVE = np.sin(TIME_S) + 0.3 * np.sin(2.7 * TIME_S)


@pytest.fixture
def vehicle(tmp_path: Path) -> Path:
    return Path(shutil.copy(vehicle_path("quad_f450"), tmp_path / "quad_f450.toml"))


def comparison(tmp_path: Path, name: str, factor: float) -> Comparison:
    real = read_record(table(tmp_path / f"{name}.csv", time_s=TIME_S, pitch=WAVE * (1 + len(name) * 1e-6)))
    other = read_record(table(tmp_path / f"{name}_sim.csv", time_s=TIME_S, pitch=factor * WAVE))
    return compare(real, [other])


def test_a_vehicle_without_a_sheet_has_level_zero(vehicle: Path) -> None:
    assert {one.level for one in standing(vehicle)} == {0}
    assert not sheet_path(vehicle).exists()


def test_a_level_follows_from_the_indices_and_two_records_of_high_credibility_make_four(
    tmp_path: Path, vehicle: Path
) -> None:
    assert add_entry(comparison(tmp_path, "poor", 2.0), vehicle, "body").level == 1
    assert level_of(vehicle, "body").level == 1
    assert add_entry(comparison(tmp_path, "first", 1.001), vehicle, "propulsion").level == 3
    assert level_of(vehicle, "propulsion").level == 3 and level_of(vehicle, "body").level == 1
    add_entry(comparison(tmp_path, "first", 1.001), vehicle, "propulsion")
    assert len(read_sheet(vehicle).entry) == 2  # the same record and window again is no second proof
    add_entry(comparison(tmp_path, "second", 1.001), vehicle, "propulsion")
    assert level_of(vehicle, "propulsion").level == 4


def test_other_numbers_of_the_module_make_its_entries_stale(tmp_path: Path, vehicle: Path) -> None:
    add_entry(comparison(tmp_path, "first", 1.001), vehicle, "body")
    text = vehicle.read_text()

    vehicle.write_text(text.replace("resistance_ohm = 0.02", "resistance_ohm = 0.03"))
    assert level_of(vehicle, "body").level == 3
    vehicle.write_text(text.replace("mass_kg = 1.4", "mass_kg = 1.5"))
    assert level_of(vehicle, "body").level == 0 and "other numbers" in level_of(vehicle, "body").why


def test_a_case_refuses_to_judge_with_a_model_below_what_it_demands(tmp_path: Path, vehicle: Path) -> None:
    case = tmp_path / "case.toml"
    case.write_text(
        f'schema = 1\n[[case]]\nid = "a"\nvehicle = "{vehicle}"\nmission = "hover"\n'
        'validation = { level = 3, modules = ["propulsion"] }\n'
    )
    with pytest.raises(CaseError, match=r"level 3 of propulsion is demanded.*has 0"):
        load_suite(case)
    add_entry(comparison(tmp_path, "first", 1.001), vehicle, "propulsion")

    assert len(load_suite(case).flights()) == 1


def test_wrong_names_and_wrong_sheets_are_refused(tmp_path: Path, vehicle: Path) -> None:
    with pytest.raises(UnknownNameError, match="propulsion"):
        add_entry(comparison(tmp_path, "first", 1.0), vehicle, "propulsio")
    sheet_path(vehicle).parent.mkdir()
    sheet_path(vehicle).write_text('schema = 1\nvehicle = "x"\n[[entry]]\nlevel = 9\n')
    with pytest.raises(VehicleError, match="level"):
        standing(vehicle)
