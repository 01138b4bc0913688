"""The pages of measured flights with real autopilots say what their figures say."""

from __future__ import annotations

import json

import pytest

import write_autopilots_page
import write_chip_flights_page
import write_comparison_page
import write_findings_page
from write_autopilots_page import AUTOPILOTS, SEEDS

PAGES = [write_autopilots_page, write_chip_flights_page, write_comparison_page, write_findings_page]


@pytest.mark.parametrize("tool", PAGES, ids=lambda tool: tool.__name__)
def test_page_is_up_to_date(tool: object) -> None:
    figures = json.loads(tool.FIGURES.read_text())  # type: ignore[attr-defined]
    assert tool.PAGE.read_text() == tool.page(figures), "run the tool again"  # type: ignore[attr-defined]


def test_all_that_the_page_speaks_of_was_flown() -> None:
    figures = json.loads(write_autopilots_page.FIGURES.read_text())
    assert {(row["autopilot"], row["seed"]) for row in figures["square"]} == {(a, s) for a in AUTOPILOTS for s in SEEDS}


@pytest.mark.parametrize("autopilot", AUTOPILOTS)
def test_flights_on_chips_landed_repeated_and_their_faults_have_a_witness(autopilot: str) -> None:
    figures = json.loads(write_chip_flights_page.FIGURES.read_text())
    assert figures[autopilot]["repeats"]
    for name in (autopilot, autopilot + write_chip_flights_page.LATER):
        flights = figures[name]["flights"]
        assert figures[name]["good"] == f"{len(flights)} of {len(flights)}" and len(flights) >= 10, name
        assert [flight["seed"] for flight in flights] == list(range(1, len(flights) + 1)), name
        assert all(fault["witness"].startswith("wire/") for fault in figures[name]["faults"].values()), name
    assert len(figures[autopilot]["faults"]) >= 18


@pytest.mark.parametrize("autopilot", AUTOPILOTS)
def test_each_common_fault_is_seen_in_the_autopilots_own_log_or_has_no_counterpart(autopilot: str) -> None:
    rows = json.loads(write_comparison_page.FIGURES.read_text())[autopilot]
    assert set(rows) <= set(write_comparison_page.planned())
    unseen = {
        name: row
        for name, row in rows.items()
        if name != write_comparison_page.HEALTHY and not row.get("seen") and row["outcome"] != "no counterpart"
    }
    assert unseen == {}
    assert all(row["why"] for row in rows.values() if row["outcome"] == "no counterpart")


def test_each_finding_was_flown_and_is_a_failure_that_its_own_log_shows() -> None:
    figures = json.loads(write_findings_page.FIGURES.read_text())
    assert set(figures) - {"pack"} <= set(write_findings_page.planned()) and len(figures) >= 2
    for row in (row for name, row in figures.items() if name != "pack"):
        assert row["broken"] and row["seen"] and row["sha256_of_all"] and row["believed"]


def test_each_finding_has_a_map_over_its_own_fault() -> None:
    maps = write_findings_page.planned("finding_maps")
    for name, case in write_findings_page.planned().items():
        finding, mapped = write_findings_page.only(case), next(iter(maps[name].flights()))
        assert (mapped.control, mapped.vehicle, mapped.mission) == (finding.control, finding.vehicle, finding.mission)
        assert [f.fault.id for f in mapped.faults] == [f.fault.id for f in finding.faults]
        assert mapped.requirements == finding.requirements and mapped.options == finding.options
        assert len(maps[name].variables) == 2


def test_the_reference_autopilot_ends_no_worse_than_px4_in_any_common_fault() -> None:
    figures = json.loads(write_comparison_page.FIGURES.read_text())
    own, other = figures["reference"], figures["px4"]
    rank = write_comparison_page.rank_of
    assert [name for name in own if name in other and rank(own[name]) > rank(other[name])] == []
    away = [name for name, row in other.items() if rank(row) == 2]
    assert away and all(rank(own[name]) < 2 for name in away)  # where PX4 flies away


def test_the_first_reactions_come_when_the_estimator_switches_and_the_field_is_called_disturbed() -> None:
    rows = json.loads(write_comparison_page.FIGURES.read_text())["px4"]
    for name, text, after_s in (
        ("imu.gyro_stuck", "estimator 1 takes over from 0", 0.6),
        ("environment.magnetic_anomaly", "magnetic field disturbed", 0.2),
    ):
        first = rows[name]["caused"][0]
        assert first[2] == text and first[0] == pytest.approx(after_s, abs=0.1)


@pytest.mark.parametrize("autopilot", AUTOPILOTS)
def test_a_fault_whose_trigger_does_not_fire_caused_nothing(autopilot: str) -> None:
    row = json.loads(write_autopilots_page.FIGURES.read_text())["never"][autopilot]
    assert row["caused"] == [] and row["acted_s"] is None and not row.get("seen")
