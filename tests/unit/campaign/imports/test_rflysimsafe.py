"""RFlySimSafe's control sequences as cases: against the hand-made table of the 29 published ones, and its grammar."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ironbird.campaign.imports.rflysimsafe import (
    SUITE_FILE,
    import_rows,
    import_sequence,
    published,
    published_suite,
    read_rows,
)
from ironbird.campaign.imports.rflysimsafe_published import CRASHES, HOLDS, LOST, PUBLISHED
from ironbird.campaign.suite import check, load_suite
from ironbird.errors import CaseError, UnknownNameError
from ironbird.faults.catalog import parse_fault, read_fault
from ironbird.faults.rflysimsafe import CASES, MAP_A, MAP_B
from ironbird.faults.rflysimsafe_orders import B_AS_A, translate


def test_the_shipped_suite_is_up_to_date_and_has_the_29_cases() -> None:
    assert SUITE_FILE.read_text() == published_suite(), "run tools/write_case_files.py"
    flights = load_suite(SUITE_FILE).flights()

    assert [flight.case_id for flight in flights] == list(CASES)
    assert {flight.vehicle for flight in flights} == {"quad_f450_rflysimsafe"}
    assert all("map-A" in flight.tags for flight in flights)
    assert [flight.until_s for flight in flights] == [30.0] * 10 + [35.0] * 19


def test_translated_faults_are_those_of_the_table_made_by_hand() -> None:
    """The table's severities were written down case by case; the importer computes them from the sequence."""
    for imported in published():
        case = CASES[imported.case["id"]]
        ours = [read_fault(table) for table in imported.case["fault"]]
        theirs = [parse_fault(f"{order},start=20") for order in case.orders]
        assert len(ours) == len(theirs) and not imported.missing, imported.case["id"]
        for a, b in zip(ours, theirs, strict=True):
            same = ("fault", "instance", "axis", "start_s", "end_s", "shape", "rise_s", "period_s", "duty")
            assert [getattr(a, key) for key in same] == [getattr(b, key) for key in same], imported.case["id"]
            assert a.severity == pytest.approx(b.severity, rel=1e-4)  # the table has five digits


def test_take_off_and_a_second_move_keep_their_times() -> None:
    case = {imported.case["id"]: imported.case for imported in published()}

    hover, leg = case["ST001"], case["ST011"]
    assert hover["set"] == {"navigator.arm_time": 5.0, "navigator.take_off_height": 15.0}
    assert hover["mission"]["item"] == [{"kind": "waypoint", "height_m": 15.0, "hold_s": 1e9}]
    assert leg["set"]["navigator.script"] == [[0.0, 20.0, 1e9, 1e9], [1.0, 3.0, 0.0, 0.0]]  # take-off, mission at 20 s
    assert leg["mission"]["item"] == [{"kind": "waypoint", "north_m": 250.0, "height_m": 15.0, "hold_s": 1e9}]


def test_a_fault_that_is_sent_again_goes_on_with_new_parameters() -> None:
    sequence = "2,1;1,1,5;2,3,0,0,-15;1,1,10;2,6,123544,10;1,1,5;2,6,123544,1;1,1,5;2,6,123540,15,30;1,1,5"
    faults = import_sequence(sequence, id="x").case["fault"]

    assert [(f["id"], f["start_s"], f.get("end_s")) for f in faults[::3]] == [
        ("imu.accel_noise@1", 15.0, 20.0), ("imu.accel_noise@1", 20.0, None), ("wind.gust@1", 25.0, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ("123450,1,0.8", [("rotor.speed_loss@1", 2, 0.2)]),  # one slot: motors 1 and 2
        ("123450,123450,1,1,0.5,1", [("rotor.speed_loss@1", 3, 0.5)]),  # two slots: all four
        ("123450,123544,0.7,1,0", [("rotor.speed_loss@1", 1, 0.3), ("imu.accel_noise@1", 1, 0.011547)]),
        ("123451,123451,1,0.5,1,1", [("rotor.blade_damage@1", 2, 0.75)]),  # thrust goes with the square
        ("123451,1,0.5", [("rotor.blade_damage@1", 2, 0.75), ("rotor.blade_damage@1", 3, 1.0)]),  # not sent is zero
    ],
)
def test_parameters_belong_to_the_slots_of_their_fault(numbers: str, expected: list[tuple[str, int, float]]) -> None:
    faults = import_sequence(f"2,1;2,3,0,0,-15;2,6,{numbers};1,1,5", id="x").case["fault"]

    found = [(f["id"], f["instance"], f["severity"]) for f in faults]
    for fault, instance, severity in expected:
        assert (fault, instance, pytest.approx(severity, rel=1e-4)) in found
    if numbers.startswith("123450,") and "123544" not in numbers:
        assert len(found) == len(expected)


def test_an_id_means_what_its_map_says() -> None:
    assert translate(123544, [5.0], "A")[0][0]["id"] == "imu.accel_noise@1"
    assert translate(123544, [5.0], "B")[0][0]["id"] == "mag.noise@1"
    assert translate(123544, [5.0], "C") == ([], ["fault 123544 of map C (constant wind)"])
    assert translate(123549, [], "A") == ([], ["fault 123549 of map A (pod (camera) fault 1)"])
    with pytest.raises(UnknownNameError, match="unknown map of fault ids 'D'"):
        translate(123544, [5.0], "D")
    for ours, theirs in B_AS_A.items():  # the same word in both maps
        words = set(MAP_B[ours].replace("drift", "shift").replace("failure", "power").lower().split())
        assert words & set(MAP_A[theirs].name.replace(":", "").lower().split()), ours


def test_a_wait_for_a_place_moves_the_clock_there(tmp_path: Path) -> None:
    sequence = (
        "2,1;1,1,5;2,3,0,0,-15;1,1,10;2,3,50,-30,-15;1,2,50,-30,-15;2,6,123450,1,0.9;1,1,4;2,3,0,0,-15;1,2,0,0,-15"
    )
    imported = import_sequence(sequence, id="x")
    (fault,) = imported.case["fault"]

    near = "abs(body.p_NB_N[0] - 50 m) < 1 m and abs(body.p_NB_N[1] + 30 m) < 1 m and abs(body.p_NB_N[2] + 15 m) < 1 m"
    assert fault["when"] == f"item == 0 and {near}" and fault["start_s"] == 0.0
    assert [item.get("hold_s", 0.0) for item in imported.case["mission"]["item"]] == [4.0, 0.0]
    assert "until_s" not in imported.case  # it ends with the mission
    (tmp_path / "x.toml").write_text(imported.to_toml())
    assert check(tmp_path / "x.toml") == []


def test_what_has_no_counterpart_is_said_in_the_case() -> None:
    imported = import_sequence("2,1;2,3,0,0,-15;2,4,5,0,0;1,1,5;2,6,123459,123459,-3,4,0;1,1,5", id="x")

    assert imported.missing == ("instruction 2,4,5,0,0", "wind.steady@1 against axis 0: severity has no sign")
    assert "No counterpart: instruction 2,4,5,0,0; wind.steady@1" in imported.to_toml()
    assert [(f["axis"], f["severity"]) for f in imported.case["fault"]] == [(1, 0.2)]


@pytest.mark.parametrize(
    ("sequence", "words"),
    [("2,1;x,1", "'x,1' is not a list of numbers"), ("2,1;1,1", "'1,1' needs 1 number"), ("2,1;1,1,5", "no move")],
)
def test_wrong_sequences_are_refused(sequence: str, words: str) -> None:
    with pytest.raises(CaseError, match=words):
        import_sequence(sequence, id="x")


ROW: dict[str, Any] = {
    "CaseID": 7, "Component": "Motor", "FaultMode": "less efficient",
    "ControlSequence": "2,1;1,1,5;2,3,0,0,-15;1,1,10;2,6,123450,1,0.8;1,1,10",
}  # fmt: skip


def test_rows_are_read_from_both_kinds_of_json_and_from_a_database(tmp_path: Path) -> None:
    one, two, three = tmp_path / "db.json", tmp_path / "123450.json", tmp_path / "fault.db"
    one.write_text(json.dumps({"FAULT_CASE": [ROW], "TEST_CASE": "1", "VISION": "Off"}))
    two.write_text(json.dumps({"7": ROW}))
    with sqlite3.connect(three) as connection:
        connection.execute("create table Quadrotorfaultcase (CaseID, Component, FaultMode, ControlSequence)")
        connection.execute(
            "insert into Quadrotorfaultcase values (?, ?, ?, ?)",
            [ROW[key] for key in ("CaseID", "Component", "FaultMode", "ControlSequence")],
        )
    connection.close()

    assert read_rows(one) == read_rows(two) == read_rows(three) == [ROW]
    (imported,) = import_rows(read_rows(one), map_name="A")
    assert imported.case["id"] == "case-7" and imported.case["title"] == "Motor: less efficient"
    assert imported.case["source"] == f"RFlySimSafe, map A: {ROW['ControlSequence']}"
    for text in ('{"FAULT_CASE": [{"CaseID": 1}]}', '{"FAULT_CASE": 1}', "1", "null", '"text"'):
        one.write_text(text)
        with pytest.raises(CaseError, match="rows with CaseID and ControlSequence are needed"):
            read_rows(one)


def test_published_outcomes_are_told_once_for_every_case() -> None:
    assert list(PUBLISHED) == list(CASES)
    for id, outcome in PUBLISHED.items():
        assert {outcome.software, outcome.hardware} <= {HOLDS, CRASHES, LOST}, id
        assert (outcome.impact_software_mps is not None) == (outcome.software == CRASHES), id
        assert (outcome.impact_hardware_mps is not None) == (outcome.hardware == CRASHES), id
    expected = {flight.case_id: flight.expect for flight in load_suite(SUITE_FILE).flights()}
    assert (expected["ST002"], expected["ST001"]) == ("fail", "pass") and expected["ST018"] not in ("pass", "fail")


def test_the_delay_of_a_climb_is_time_that_passes_before_it() -> None:
    """RflyMAD: `2,1,delay,rate,height`; a fault 5 s later begins 5 s after the delay."""
    faults = import_sequence("2,1,7,1,-15;1,1,5;2,6,123544,10", id="x").case["fault"]
    assert {fault["start_s"] for fault in faults} == {12.0}
