"""Reliability against closed forms: Weibull fits, k of n, importance sampling, trees of vehicles."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ironbird.campaign.batch import fly_all
from ironbird.campaign.suite import check, load_suite
from ironbird.cli.main import app
from ironbird.errors import RecordError, UnknownNameError
from ironbird.faults.catalog import FAULTS
from ironbird.reliability.life import Life, Wear, constant, fit_weibull
from ironbird.reliability.sampling import flight_loss, life_losses
from ironbird.reliability.tree import Event, Kind, Tree, at_least, load_lives, lost_by_fault, tree_of
from ironbird.reliability.wear import life_cases, load_wear, worn
from ironbird.vehicles.load import load_vehicle


def system(*events: tuple[float, int, int]) -> Tree:
    """Parts with a constant rate: MTBF, count, bearable."""
    return Tree("x", [Event(Kind(f"k{i}", constant(m), "", ""), n, b) for i, (m, n, b) in enumerate(events)])


def test_weibull_parameters_are_recovered_within_their_deviations_with_survivors() -> None:
    random = np.random.default_rng(1)
    lives = 800 * random.weibull(1.7, 600)
    end = 900.0

    found = fit_weibull(np.minimum(lives, end), lives < end)

    assert abs(found.shape - 1.7) < 3 * found.shape_sigma and abs(found.scale_h - 800) < 3 * found.scale_sigma_h
    assert found.shape_sigma < 0.1 and found.scale_sigma_h < 40
    with pytest.raises(RecordError, match="failures"):
        fit_weibull(np.array([1.0, 2.0, 3.0]), np.array([True, False, False]))


def test_lives_have_their_closed_forms() -> None:
    assert constant(1000).fails_in(500, 10) == pytest.approx(1 - math.exp(-0.01))  # no memory
    worn = Life(2.0, 1000)
    assert worn.fails_in(500, 10) > 5 * worn.fails_in(50, 10)
    assert worn.mean_h() == pytest.approx(1000 * math.sqrt(math.pi) / 2)
    drawn = worn.drawn(500.0, np.random.default_rng(0).random(200_000))
    assert np.mean(drawn < 100) == pytest.approx(worn.fails_in(500, 100), abs=0.003)
    assert Wear(1e-4, 1e-3).left(100, 50) == pytest.approx(0.94)
    with pytest.raises(RecordError, match="positive"):
        Life(0.0, 1.0)


def test_a_tree_of_single_and_redundant_parts_has_the_exact_probability() -> None:
    tree = system((1000, 4, 0), (500, 3, 1))
    p, q = 1 - math.exp(-1e-3), 1 - math.exp(-2e-3)

    assert at_least(2, 3, q) == pytest.approx(3 * q**2 * (1 - q) + q**3)
    expected = 1 - (1 - p) ** 4 * (1 - at_least(2, 3, q))
    assert tree.probability(0.0, 1.0) == pytest.approx(expected, rel=1e-12)
    shares = [share for *_, share in tree.ranking(0.0, 1.0)]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_importance_sampling_says_one_in_a_hundred_thousand_with_ten_thousand_draws(seed: int) -> None:
    tree = system((2000, 3, 1), (1500, 3, 1), (400_000, 2, 0))
    exact = tree.probability(0.0, 1.0)
    assert 5e-6 < exact < 2e-5

    biased = flight_loss(tree, 0.0, 1.0, draws=10_000, seed=seed)
    plain = flight_loss(tree, 0.0, 1.0, draws=10_000, biased=False, seed=seed)

    assert abs(biased.value - exact) < 3.5 * biased.sigma and biased.sigma < 0.1 * exact
    assert plain.value < 3.1e-4  # none, or one or two of ten thousand: it says nothing


def test_plain_and_biased_draws_agree_where_both_can_speak() -> None:
    tree = system((50, 4, 0), (20, 3, 1))
    exact = tree.probability(0.0, 1.0)

    for biased in (True, False):
        found = flight_loss(tree, 0.0, 1.0, draws=40_000, biased=biased)
        assert abs(found.value - exact) < 4 * found.sigma
    with pytest.raises(RecordError, match="draws"):
        flight_loss(tree, 0.0, 1.0, draws=5)


def test_a_life_of_flights_follows_the_exponential_of_its_rate() -> None:
    losses = life_losses(system((400, 4, 0)), 1.0, 100, vehicles=20_000)

    assert losses[-1] == pytest.approx(1 - math.exp(-1.0), abs=0.015)
    assert np.all(np.diff(losses) >= 0)


def test_trees_of_vehicles_count_their_parts_and_six_rotors_bear_one_loss() -> None:
    quad, hexa = tree_of("quad_f450"), tree_of("hexa_x")
    of = {event.kind.name: event for event in quad.events}

    assert of["rotor"].count == 4 and of["rotor"].bearable == 0 and of["imu"].bearable == 1
    assert next(e for e in hexa.events if e.kind.name == "rotor").bearable == 1
    assert hexa.probability(100, 0.25) < 0.6 * quad.probability(100, 0.25)
    rows = quad.fmea(100, 0.25)
    assert rows[0]["part"].startswith("rotor") and all(row["source"].startswith("assumed") for row in rows)


def test_faults_that_stand_for_parts_exist_in_the_catalogue() -> None:
    known = {name.partition("@")[0] for name in FAULTS}
    for kind in load_lives().values():
        assert not kind.fault or kind.fault in known, f"{kind.name}: {kind.fault}"


def test_verdicts_of_a_campaign_say_how_often_a_fault_loses_the_vehicle() -> None:
    flown = [(["rotor.speed_loss@1"], "pass")] * 7 + [(["rotor.speed_loss@1"], "fail")] * 1
    lost = lost_by_fault([*flown, (["a", "b"], "fail"), (["rotor.speed_loss@1"], "void")])

    tree = tree_of("quad_f450", lost=lost)

    rotor = next(event for event in tree.events if event.kind.name == "rotor")
    assert lost == {"rotor.speed_loss@1": (1, 8)} and rotor.lost == pytest.approx(0.2) and rotor.flights == 8


def test_own_lives_go_first_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "lives.toml"
    file.write_text('[rotor]\nmtbf_h = 100\nsource = "measured: fleet"\n')
    assert load_lives(file)["rotor"].life.scale_h == 100
    for text in ("[rotor]\n", "[rotor]\nmtbf_h = 'x'\n", "rotor = 1\n"):
        file.write_text(text)
        with pytest.raises(RecordError):
            load_lives(file)
    file.write_text("[rotor]\nmtbf = 1\n")
    with pytest.raises(UnknownNameError, match="mtbf_h"):
        load_lives(file)


def test_the_command_prints_contributors_and_writes_its_page(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["vehicle", "reliability", "quad_f450", "--life", "50", "--out", str(tmp_path)])

    assert done.exit_code == 0, done.output
    assert "rotor" in done.output and "Failure modes" in (tmp_path / "reliability.html").read_text()


def test_wear_changes_what_it_says_and_a_life_becomes_cases_that_fly(tmp_path: Path) -> None:
    diagram = load_vehicle("quad_f450", control="reference").diagram
    new, old = ({k: np.asarray(v) for k, v in worn(diagram, *age).items()} for age in ((0.0, 0.0), (200.0, 300.0)))

    assert new["battery.capacity"] == pytest.approx(float(diagram.value("battery.capacity").ravel()[0]))
    assert old["battery.capacity"] == pytest.approx((1 - 6e-4 * 300) * new["battery.capacity"], rel=1e-5)
    assert old["battery.resistance"] == pytest.approx((1 + 2e-3 * 300) * new["battery.resistance"], rel=1e-5)
    assert old["rotor/3/propeller.thrust_coefficient"] == pytest.approx(0.96 * 9.286e-6, rel=1e-4)
    assert np.abs(old["imu/2/chip.accel_bias"]) == pytest.approx([0.04] * 3)
    path = tmp_path / "life.toml"
    arguments = [
        "vehicle",
        "reliability",
        "quad_f450",
        "--cases",
        str(path),
        "--ages",
        "80,400",
        "--out",
        str(tmp_path),
    ]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert check(path) == []
    flights = {flight.id.partition("/")[0]: flight for flight in load_suite(path).flights()}
    assert {"age-00080h", "age-00400h", "age-00400h-rotor", "age-00400h-battery"} <= set(flights)
    young, old_one = fly_all([flights["age-00080h"], flights["age-00400h"]])
    assert young.verdict == "pass", young.sentence
    # 1600 charges leave next to nothing of the battery: the gauge sees it, and the flight is cut short
    assert "landed before the end of the mission" in old_one.outcome and "completed" in young.outcome
    assert old_one.verdict == "fail" and [j.name for j in old_one.judgements if not j.holds] == ["mission"]


@pytest.mark.parametrize("vehicle", ["zagi", "boat_otter", "hexa_x"])
def test_a_life_has_only_the_faults_that_the_vehicle_has_parts_for(vehicle: str, tmp_path: Path) -> None:
    path = tmp_path / "life.toml"
    path.write_text(life_cases(vehicle, [0.0, 50.0], 4.0, load_lives()))

    assert check(path) == []
    flights = load_suite(path).flights()
    assert len(flights) >= 6
    path.write_text(life_cases(vehicle, [0.0, 50.0], 4.0, load_lives(), seeds=3))
    assert len(load_suite(path).flights()) == 3 * len(flights), "as many seeds, not the seed of that number"


def test_a_life_flies_each_of_its_seeds_and_asks_for_the_mission(tmp_path: Path) -> None:
    path = tmp_path / "life.toml"
    path.write_text(life_cases("quad_f450", [0.0], 4.0, load_lives(), seeds=20))

    flights = [flight for flight in load_suite(path).flights() if flight.case_id == "age-00000h"]
    assert [flight.seed for flight in flights] == list(range(1, 21))
    assert {flight.ends for flight in load_suite(path).flights()} == {"completed"}


def test_wear_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    diagram = load_vehicle("quad_f450").diagram
    with pytest.raises(RecordError, match="zero or more"):
        worn(diagram, -1.0, 0.0)
    for text, match in (
        ("[a]\nparameter = 'battery.capacity'\neffect = 'gone'\nper_hour = 1\n", "effect"),
        ("[a]\nparameter = 'battery.capacity'\neffect = 'less'\nper_hour = -1\n", "positive"),
        ("[a]\neffect = 'less'\nper_hour = 1\n", "needs a parameter"),
        ("[a]\nwhat = 1\n", "key"),
    ):
        (tmp_path / "wear.toml").write_text(text)
        with pytest.raises((RecordError, UnknownNameError), match=match):
            load_wear(tmp_path / "wear.toml")
