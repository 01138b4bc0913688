"""Suites: defaults, includes, plans, seeds; and flights that are the same every time."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ironbird.campaign.suite import check, load_suite
from ironbird.errors import IronbirdError
from ironbird.vehicles.names import CATALOG

CASE = """schema = 1
title = "Lost motor in wind"
[[case]]
id = "motor-loss"
vehicle = "quad_f450"
mission = "hover"
seeds = { first = 1, count = 2 }
tags = ["motor"]
[case.wind]
speed_mps = { grid = [0.0, 5.0] }
turbulence_mps = "$much"
[case.vary]
much = { grid = [0.1, 0.2, 0.4] }
[case.set]
"body.mass" = { uniform = [1.2, 1.6], steps = 3 }
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = "$much"
start_s = 5.0
[[case.require]]
use = "no_crash"
"""


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_a_grid_flies_every_combination_with_every_seed(tmp_path: Path) -> None:
    suite = load_suite(write(tmp_path, "case.toml", CASE))
    flights = suite.flights()

    assert suite.id == "case" and suite.title == "Lost motor in wind"
    assert len(flights) == suite.count() == 3 * 2 * 3 * 2
    assert len({flight.id for flight in flights}) == len({flight.digest() for flight in flights}) == 36
    assert flights[0].id == "motor-loss/0001/s1" and flights[-1].id == "motor-loss/0018/s2"
    assert list(flights[0].values) == ["much", "wind.speed_mps", "body.mass"]
    assert {tuple(flight.values.values()) for flight in flights} == {
        (m, w, b) for m in (0.1, 0.2, 0.4) for w in (0.0, 5.0) for b in (1.26666666667, 1.4, 1.53333333333)
    }


def test_a_shared_parameter_moves_all_its_places_together(tmp_path: Path) -> None:
    for flight in load_suite(write(tmp_path, "case.toml", CASE)).flights():
        assert flight.faults[0].severity == flight.weather.turbulence_mps == flight.values["much"]
        assert flight.settings == {"body.mass": flight.values["body.mass"]}
        assert (
            flight.control == "reference"
            and flight.mission is not None
            and flight.mission.title == "hover at 10 m height"
        )
        assert (
            flight.requirements[0].formula == "always (crashed == 0)" and flight.requirements[0].severity == "critical"
        )


@pytest.mark.parametrize(
    ("plan", "points"),
    [
        ('kind = "one_by_one"', 1 + 2 + 1 + 2),
        ('kind = "pairwise"', 9),
        ('kind = "pairwise"\nstrength = 3', 18),
        ('kind = "latin_hypercube"\nsamples = 7', 7),
        ('kind = "monte_carlo"\nsamples = 11\nseed = 5', 11),
    ],
)
def test_plans_fly_the_points_that_they_promise(tmp_path: Path, plan: str, points: int) -> None:
    suite = load_suite(write(tmp_path, "case.toml", f"{CASE}[case.plan]\n{plan}\n"))

    assert suite.count() == len(suite.flights()) == 2 * points
    if "one_by_one" in plan:
        first = suite.flights()[0].values
        assert first == {"much": 0.1, "wind.speed_mps": 0.0, "body.mass": 1.4}  # the nominal point
        assert all(sum(flight.values[name] != first[name] for name in first) <= 1 for flight in suite.flights())


def test_samples_without_seeds_have_their_own(tmp_path: Path) -> None:
    text = CASE.replace("seeds = { first = 1, count = 2 }\n", "").replace(", steps = 3", "")
    flights = load_suite(
        write(tmp_path, "case.toml", text + '[case.plan]\nkind = "monte_carlo"\nsamples = 3\n')
    ).flights()

    assert [flight.id for flight in flights] == [f"motor-loss/000{i}/s{i}" for i in (1, 2, 3)]
    assert all(1.2 <= float(flight.values["body.mass"]) <= 1.6 for flight in flights)
    plain = load_suite(write(tmp_path, "one.toml", 'schema = 1\n[[case]]\nid = "a"\nvehicle = "quad_f450"\n'))
    assert [flight.id for flight in plain.flights()] == ["a/0001/s0"]
    assert plain.flights()[0].mission_name == "square"  # the vehicle's own


def test_flights_do_not_depend_on_the_process_or_on_anybody_elses_random_numbers(tmp_path: Path) -> None:
    file = write(
        tmp_path, "case.toml", CASE.replace(", steps = 3", "") + '[case.plan]\nkind = "latin_hypercube"\nsamples = 20\n'
    )
    random.seed(1)
    np.random.seed(1)
    here = [(flight.id, flight.digest()) for flight in load_suite(file).flights()]
    random.seed(2)
    np.random.seed(2)
    assert [(flight.id, flight.digest()) for flight in load_suite(file).flights()] == here
    script = (
        "import sys; from ironbird.campaign.suite import load_suite; "
        "print([(f.id, f.digest()) for f in load_suite(sys.argv[1]).flights()])"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert elsewhere.stdout.strip() == str(here)


SUITE = """schema = 1
[suite]
id = "acceptance"
title = "Acceptance"
include = ["cases/*.toml"]
[suite.defaults]
vehicle = "my_quad.toml"
log_s = 0.1
tags = ["all"]
[suite.defaults.wind]
from_deg = 90.0
speed_mps = 3.0
[[suite.defaults.require]]
use = "no_crash"
[[suite.defaults.fault]]
id = "battery.low_voltage@1"
severity = 0.1
[[case]]
id = "inline"
mission = "hover"
"""


def test_a_suite_gathers_cases_and_gives_them_its_defaults(tmp_path: Path) -> None:
    vehicle = (CATALOG / "quad_f450.toml").read_text().replace('id = "quad_f450"', 'id = "my_quad"')
    write(tmp_path, "my_quad.toml", vehicle)
    write(tmp_path, "cases/b.toml", CASE)
    write(tmp_path, "cases/a.toml", 'schema = 1\n[[case]]\nid = "first"\n[case.wind]\nspeed_mps = 1.0\n')
    suite = load_suite(write(tmp_path, "suite.toml", SUITE))

    assert (suite.id, suite.title, suite.count()) == ("acceptance", "Acceptance", 38)
    first, motor, inline = suite.flights()[0], suite.flights()[1], suite.flights()[-1]
    assert [first.case_id, motor.case_id, inline.case_id] == ["first", "motor-loss", "inline"]
    assert first.vehicle == str(tmp_path / "my_quad.toml") and motor.vehicle == "quad_f450"
    assert (first.weather.speed_mps, first.weather.from_deg, first.log_s) == (1.0, 90.0, 0.1)
    assert (motor.weather.speed_mps, motor.weather.from_deg) == (0.0, 90.0)  # its own grid, not the default
    assert [fault.fault.id for fault in motor.faults] == ["battery.low_voltage@1", "rotor.speed_loss@1"]
    assert motor.tags == ("all", "motor")
    assert [r.name for r in motor.requirements] == ["no_crash"]  # its own instead of the default of the same name
    assert [r.name for r in first.requirements] == ["no_crash"]


def test_problems_of_a_suite_are_told_in_the_file_that_has_them(tmp_path: Path) -> None:
    write(tmp_path, "cases/a.toml", CASE.replace("speed_loss", "speed_los"))
    write(tmp_path, "cases/b.toml", CASE.replace("schema = 1", "schema = 3"))
    text = (
        SUITE.replace("my_quad.toml", "quad_f450").replace("low_voltage", "low_voltag").replace("inline", "motor-loss")
    )
    found = check(write(tmp_path, "suite.toml", text))

    assert {(Path(p.file).name, p.line, p.key) for p in found} == {
        ("b.toml", 1, "schema"),
        ("a.toml", 17, "case.motor-loss.fault.1.id"),
        ("suite.toml", 16, "suite.defaults.fault.1.id"),
        ("suite.toml", 19, "case.motor-loss.id"),  # taken
    }
    shared = next(p for p in found if p.line == 19)
    assert shared.message == f"the id 'motor-loss' is taken by {tmp_path}/cases/a.toml:4"


def test_a_suite_does_not_include_a_suite(tmp_path: Path) -> None:
    write(tmp_path, "cases/inner.toml", SUITE)
    found = check(write(tmp_path, "suite.toml", SUITE.replace("my_quad.toml", "quad_f450")))

    assert [(p.line, p.key) for p in found] == [(5, "suite.include.1")]
    assert "inner.toml is a suite" in found[0].message


@pytest.mark.parametrize("name", ["own.parm", "own.params", "own.sh"])
def test_a_file_of_an_autopilots_parameters_is_taken_by_its_values(name: str, tmp_path: Path) -> None:
    text = {
        ".parm": "A_ONE 1\nA_TWO,2.5\n", ".params": "# Vehicle-Id\n1\t1\tA_ONE\t1\t6\n1\t1\tA_TWO\t2.5\t9\n",
        ".sh": "param set-default A_ONE 1\nparam set A_TWO 2.5\n",
    }[Path(name).suffix]  # fmt: skip
    (tmp_path / name).write_text(text)
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'schema = 1\n[[case]]\nid = "a"\nvehicle = "quad_f450"\ncontrol = "px4"\nmission = "hover"\n'
        f'[case.options]\nparams = "{name}"\n'
    )
    (flight,) = load_suite(suite).flights()
    assert flight.options == {"params": "A_ONE=1,A_TWO=2.5"}
    (tmp_path / name).unlink()
    with pytest.raises(IronbirdError, match="cannot read"):
        load_suite(suite)


PLAN_CASE = 'schema = 1\n[[case]]\nid = "a"\nvehicle = "quad_f450"\ncontrol = "{control}"\nmission = "{file}"\n'
WAYPOINTS = "QGC WPL 110\n0 1 0 16 0 0 0 0 47.4 8.5 488 1\n1 0 3 22 0 0 0 0 0 0 12 1\n2 0 3 21 0 0 0 0 0 0 0 1\n"


def test_a_plan_of_another_program_is_a_mission_for_autopilots(tmp_path: Path) -> None:
    plan, suite = tmp_path / "own.waypoints", tmp_path / "suite.toml"
    plan.write_text(WAYPOINTS)
    suite.write_text(PLAN_CASE.format(control="px4", file=plan.name))
    loaded = load_suite(suite)
    (flight,) = loaded.flights()
    assert flight.script == WAYPOINTS and flight.mission is None and flight.mission_name == "own.waypoints"
    assert flight.place is not None and flight.place.latitude_deg == 47.4
    assert loaded.sources()["own.waypoints"] == WAYPOINTS
    again = tmp_path / "again.toml"
    again.write_text(flight.to_toml())
    plan.unlink()
    (repeated,) = load_suite(again).flights()
    assert repeated.digest() == flight.digest()  # the case holds the plan itself


@pytest.mark.parametrize(
    ("control", "text", "says"),
    [
        ("reference", WAYPOINTS, "needs a control system outside"),
        ("px4", "QGC WPL 110\nx\n", "line 2 has 1 columns"),
        ("px4", None, "cannot be read"),
    ],
)
def test_a_plan_that_cannot_be_flown_is_a_problem_of_the_case(
    control: str, text: str | None, says: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "own.plan").write_text(text)
    suite = tmp_path / "suite.toml"
    suite.write_text(PLAN_CASE.format(control=control, file="own.plan"))
    with pytest.raises(IronbirdError, match=says):
        load_suite(suite)


def test_one_number_as_seeds_is_said_to_be_one_seed(tmp_path: Path) -> None:
    suite = load_suite(write(tmp_path, "case.toml", CASE.replace("seeds = { first = 1, count = 2 }", "seeds = 3")))
    assert {flight.seed for flight in suite.flights()} == {3}
    (warning,) = suite.warnings()
    assert "seeds = 3 is one flight of each point" in str(warning) and "{ first = 1, count = 3 }" in warning.cure
    assert load_suite(write(tmp_path, "case.toml", CASE)).warnings() == []
