"""Scenarios in cases: varied, judged between vehicles, stored and flown again to the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ironbird.campaign.batch import TracePolicy, fly_all, fly_batch, grouped, lanes_that_fit
from ironbird.campaign.case import FlightCase
from ironbird.campaign.pack import open_pack, repeat
from ironbird.campaign.runner import run_campaign
from ironbird.campaign.scenario_case import scenario_faults
from ironbird.campaign.search import boundary, falsify, shrink
from ironbird.campaign.store import Store
from ironbird.campaign.suite import check, load_suite
from ironbird.cli.main import app
from ironbird.dataset.files import write_dataset
from ironbird.errors import CaseError, StoreError
from ironbird.report.evidence import write_evidence

PAIR = """
schema = 1
world = "field"
until_s = 8.0
log_s = 0.05
[[vehicle]]
name = "one"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
fault = ["rotor.speed_loss@1:instance=1,severity=$loss,start=4"]
[[vehicle]]
name = "two"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
north_m = "$behind"
"""
SUITE = """
schema = 1
[suite]
id = "pairs"
[[case]]
id = "pair"
scenario = "pair.toml"
seeds = [1, 2]
until_s = 6.0
[case.vary]
behind = { grid = [-4.0, -2.0] }
loss = 0.1
[[case.require]]
name = "apart"
formula = "always (distance(one, two) > 3 m)"
severity = "minor"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pair.toml").write_text(PAIR)
    (tmp_path / "suite.toml").write_text(SUITE)
    return tmp_path / "suite.toml"


def test_a_case_varies_a_scenario_and_judges_what_is_between_its_vehicles(suite: Path) -> None:
    flights = load_suite(suite).flights()
    assert [(flight.id, flight.values) for flight in flights] == [
        ("pair/0001/s1", {"behind": -4.0}), ("pair/0001/s2", {"behind": -4.0}),
        ("pair/0002/s1", {"behind": -2.0}), ("pair/0002/s2", {"behind": -2.0}),
    ]  # fmt: skip
    assert len({flight.digest() for flight in flights}) == 4 and lanes_that_fit(flights[:1]) == 1
    assert len({grouped(flight).key for flight in flights}) == 4
    near, far = fly_all([flights[2], flights[0]], threads=1)
    assert (far.verdict, near.verdict) == ("pass", "fail")
    assert far.ended_s == pytest.approx(6.0)
    assert "apart: distance(one, two) was" in near.sentence and near.margin < 0 < far.margin
    judged = next(judgement for judgement in near.judgements if judgement.name == "apart")
    assert judged.severity == "minor" and not judged.holds
    assert [witness["effective"] for witness in near.witnesses] == [True]
    assert str(near.witnesses[0]["fault"]).startswith("one: rotor.speed_loss@1")


def test_a_flight_repeats_from_its_record_and_from_its_file(suite: Path, tmp_path: Path) -> None:
    flight = load_suite(suite).flights()[0]
    assert FlightCase.from_record(flight.record()) == flight
    (tmp_path / "pair.toml").unlink()  # a flight holds all of its scenario
    again = tmp_path / "again" / "case.toml"
    again.parent.mkdir()
    again.write_text(flight.to_toml())
    (read,) = load_suite(again).flights()
    assert read.digest() == flight.digest()
    first, second = (fly_batch([one], threads=workers).flights[0] for one, workers in ((flight, 1), (read, 2)))
    assert first.sha256 == second.sha256 and first.verdict == "pass"


def test_a_data_set_of_scenarios_is_refused_in_words(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="pair/0001/s1 is a scenario; a data set has flights of one vehicle"):
        write_dataset(load_suite(suite).flights(), tmp_path / "set")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pair.toml", "pear.toml", "pear.toml"),
        ("loss = 0.1\n", "", "add loss = … to [case.vary]"),
        ("loss = 0.1\n", "loss = 0.1\nmore = 1.0\n", "nothing uses the shared parameter 'more'"),
        ("loss = 0.1\n", "loss = 7.0\n", "severity 7 is outside"),
        ("distance(one, two)", "distance(one, three)", "three"),
        ("distance(one, two) > 3 m", "one.hight > 3 m", "one.hight"),
        ("seeds = [1, 2]", 'vehicle = "quad_f450"', "the scenario's file says that"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(suite: Path, old: str, new: str, said: str) -> None:
    suite.write_text(SUITE.replace(old, new))
    problems = [str(problem) for problem in check(suite)]
    assert any(said in problem and "suite.toml" in problem for problem in problems), problems


OWN = """
schema = 1
world = "yard/yard.toml"
until_s = 4.0
log_s = 0.05
[[vehicle]]
name = "one"
vehicle = "own.toml"
control = "truth"
mission = "up.toml"
[[vehicle]]
name = "two"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
north_m = "$behind"
"""
OWN_SUITE = """
schema = 1
[suite]
id = "own"
[[case]]
id = "own"
scenario = "own_pair.toml"
[case.vary]
behind = { grid = [-4.0, -6.0] }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of a scenario whose vehicle, mission and world are files of a project, flown and packed."""
    home = tmp_path_factory.mktemp("project")
    work = home / "work"
    (work / "yard").mkdir(parents=True)
    (work / "own_pair.toml").write_text(OWN)
    (work / "suite.toml").write_text(OWN_SUITE)
    (work / "own.toml").write_text('schema = 1\nid = "own"\nbase = "quad_f450"\n[body]\nmass_kg = 1.6\n')
    (work / "up.toml").write_text('schema = 1\nduration_s = 4.0\n[[item]]\nkind = "takeoff"\nheight_m = 3.0\n')
    (work / "yard" / "roof.obj").write_text("v 0 0 0\nv 4 0 0\nv 0 4 0\nv 0 0 4\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (work / "yard" / "yard.toml").write_text(
        'schema = 1\n[terrain]\nkind = "plane"\n[[mesh]]\nname = "roof"\nfile = "roof.obj"\nnorth_m = 30.0\n'
    )
    flights = load_suite(work / "suite.toml").flights()
    with contextlib.closing(Store(f"sqlite:///{home}/store.db")) as store:
        campaign = store.create("night", "", {"suite.toml": OWN_SUITE}, flights)
        store.write(campaign, [(0, fly_batch(flights[:1], TracePolicy(None)).flights[0])])
        assert run_campaign(store, campaign, workers=1).done == 2  # it goes on with what is open
        write_evidence(store, campaign, home / "evidence.zip")
    return home


def test_a_pack_holds_all_files_of_a_scenario_and_repeats_without_the_project(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "work", tmp_path / "kept")
    try:
        shutil.rmtree(project / "work")
        with zipfile.ZipFile(project / "evidence.zip") as file:
            names = file.namelist()
            flights = file.read("flights.jsonl").decode()
        assert str(project) not in flights  # nothing of this machine
        assert {name.rpartition("/")[2] for name in names if name.startswith("worlds/")} == {"yard.toml", "roof.obj"}
        assert len([name for name in names if name.startswith("vehicles/")]) == 2
        again = repeat(project / "evidence.zip", tmp_path / "again", workers=1)
        assert (again.flown, again.same, again.outside, again.differing) == (2, 2, 0, [])
    finally:
        shutil.copytree(tmp_path / "kept", project / "work")


def test_a_pack_whose_scenario_names_files_elsewhere_is_refused(project: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(project / "evidence.zip") as file:
        file.extractall(tmp_path / "pack")
    flights = tmp_path / "pack" / "flights.jsonl"
    flights.write_text(flights.read_text().replace('vehicle = \\"vehicles/', 'vehicle = \\"/tmp/vehicles/'))
    sums = tmp_path / "pack" / "SHA256SUMS"
    lines = [line for line in sums.read_text().splitlines() if not line.endswith("  flights.jsonl")]
    lines.append(f"{hashlib.sha256(flights.read_bytes()).hexdigest()}  flights.jsonl")
    sums.write_text("\n".join(lines) + "\n")
    with pytest.raises(StoreError, match="none of its vehicles"), open_pack(tmp_path / "pack"):
        pass


def test_search_map_and_shrink_work_on_scenarios(suite: Path) -> None:
    plan = '[case.plan]\nkind = "monte_carlo"\nsamples = 2\n'
    varied = SUITE.replace("{ grid = [-4.0, -2.0] }", "-9.0").replace("loss = 0.1", "loss = { uniform = [0.0, 1.0] }")
    suite.write_text(varied + plan)
    (case,) = load_suite(suite).cases
    line = boundary(case, "loss", tolerance=0.3)
    assert line is not None and 0.5 < line.value < 1.0  # a quadcopter falls when one of its rotors gives too little
    lost = next(candidate.case for candidate in line.flown if candidate.result.verdict == "fail")
    windy = replace(lost, scenario=lost.scenario.replace("[[vehicle]]", "[wind]\nspeed_mps = 1.0\n[[vehicle]]", 1))
    small = shrink(windy, tolerance=0.5)
    (fault,) = scenario_faults(small.case)
    assert 0.0 < fault.severity <= scenario_faults(lost)[0].severity
    assert small.sentence().startswith("rotor.speed_loss@1 of part 1 with severity") and "calm air" in small.sentence()
    again = falsify(case, trials=2, seed=1)
    assert [flown.case.digest() for flown in falsify(case, trials=2, seed=1).flown] == [
        flown.case.digest() for flown in again.flown
    ]


def test_a_scenario_of_a_campaign_is_flown_again_by_its_name(project: Path, tmp_path: Path) -> None:
    def command(*words: str) -> Result:
        return CliRunner().invoke(app, ["campaign", *words, "--store", f"sqlite:///{project}/store.db"])

    flight = load_suite(project / "work" / "suite.toml").flights()[1].id
    again = command("rerun", "night", flight, "--out", str(tmp_path / "again"))
    assert again.exit_code == 0 and "equal to the stored flight, bit for bit" in again.output
    assert (tmp_path / "again" / "report.html").is_file()
    assert command("resume", "night").exit_code == 0  # nothing is left to fly
    own = project / "work" / "own.toml"
    text = own.read_text()
    try:
        own.write_text(text.replace("1.6", "1.7"))
        changed = command("rerun", "night", flight, "--out", str(tmp_path / "changed"))
    finally:
        own.write_text(text)
    assert changed.exit_code != 0 and "own.toml changed" in " ".join(changed.output.split())
