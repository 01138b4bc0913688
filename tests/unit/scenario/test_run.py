"""Scenarios: the same bytes with any number of workers, hits, ADS-B, requirements between vehicles, the page."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from json_documents import checked

from ironbird.errors import FaultError, ScenarioError, UnknownNameError
from ironbird.report.scenario_page import write_scenario_folder
from ironbird.scenario.fleet import Fleet
from ironbird.scenario.grammar import Scenario, load_scenario
from ironbird.scenario.run import ScenarioFlight, fly_scenario, judge_between

QUAD = 'vehicle = "quad_f450"\ncontrol = "truth"\n'


def scenario(folder: Path, vehicles: str, until_s: float, more: str = "") -> Scenario:
    folder.mkdir(exist_ok=True, parents=True)
    file = folder / "scene.toml"
    file.write_text(f'schema = 1\nworld = "field"\nuntil_s = {until_s}\n{more}\n{vehicles}')
    return load_scenario(file)


def one(name: str, more: str = "") -> str:
    return f'[[vehicle]]\nname = "{name}"\n{QUAD}{more}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scenario")


@functools.cache
def meeting(folder: Path) -> Scenario:
    """Two vehicles that take off 3 m apart; the follower is sent onto the leader."""
    follow = 'north_m = -3.0\nfollow = { vehicle = "leader", offset_m = [0.0, 0.0, 0.0] }\n'
    text = (
        one("leader", 'mission = "hover"\n') + one("follower", follow) + one("other", 'east_m = 8.0\nends = "time"\n')
    )
    require = 'require = ["always (distance(leader, follower) > 2 m)", "always (gap(leader, other) > 2 m)"]'
    return scenario(folder / "meeting", text, 14.0, require)


@functools.cache
def met(folder: Path, workers: int = 1) -> ScenarioFlight:
    return fly_scenario(meeting(folder), workers=workers)


def test_the_same_bytes_with_one_worker_two_workers_and_twice(folder: Path) -> None:
    again = fly_scenario(meeting(folder))

    assert met(folder).sha256 == met(folder, 2).sha256 == again.sha256


def test_two_that_meet_hit_each_other_and_stop(folder: Path) -> None:
    flown = met(folder)

    assert flown.verdict == "fail"
    assert {flown.hits[0].first, flown.hits[0].second} == {"leader", "follower"}
    assert flown.hits[0].speed_mps > 0
    for name in ("leader", "follower"):
        assert "collision" in flown.vehicle(name).judged.outcome
        assert flown.vehicle(name).min_distance_m < 0.1
    assert flown.vehicle("other").judged.verdict == "pass"
    assert flown.gap("leader", "follower").min() < 0.05


def test_requirements_between_vehicles_are_judged_with_a_sentence(folder: Path) -> None:
    near, clear = met(folder).judgements

    assert not near.holds and "distance(leader, follower) was" in near.sentence
    assert clear.holds and clear.margin > 2.0
    higher = judge_between("eventually (leader.height > 8 m)", met(folder))
    assert higher.margin == pytest.approx(float(-met(folder).vehicle("leader").path_N_m[:, 2].min()) - 8.0)
    with pytest.raises(ScenarioError, match="unknown vehicle 'leeder'"):
        judge_between("always (distance(leeder, follower) > 2 m)", met(folder))


def test_the_distance_is_that_of_the_paths(folder: Path) -> None:
    flown = met(folder)

    assert flown.distance("leader", "follower")[0] == pytest.approx(3.0)
    assert flown.distance("leader", "other")[0] == pytest.approx(8.0)
    assert flown.gap("leader", "other")[0] == pytest.approx(8.0 - 2 * 0.301, abs=0.01)


def test_the_page_shows_paths_distances_and_every_vehicle(folder: Path, tmp_path: Path) -> None:
    page = write_scenario_folder(met(folder), tmp_path).read_text()

    for words in ("from above", "distance between the nearest pairs", "leader", "follower", "Hits between vehicles"):
        assert words in page
    assert (tmp_path / "leader.parquet").is_file()
    assert set(checked(tmp_path / "summary.json")["vehicles"]) >= {"leader", "follower"}


def test_a_report_tells_where_a_vehicle_is_and_is_heard_in_range_alone(folder: Path) -> None:
    text = one("a") + one("b", "north_m = 20.0\n") + one("quiet", "north_m = 40.0\nadsb = false\n")
    with_fleet = Fleet(scenario(folder / "heard", text, 2.0, "adsb_range_m = 30.0\n"))
    try:
        while with_fleet.time_s < 1.5:
            with_fleet.advance(1000)
        assert set(with_fleet.heard(0)) == {"b"} and set(with_fleet.heard(2)) == {"a", "b"}
        report = with_fleet.heard(0)["b"]
        np.testing.assert_allclose(report.position[:2], [20.0, 0.0], atol=0.1)
        assert with_fleet.time_s - 0.5 <= report.time_s <= with_fleet.time_s
    finally:
        with_fleet.close()


@functools.cache
def mixed(folder: Path) -> tuple[Fleet, ScenarioFlight]:
    """A vehicle under a control system outside with faults, beside one that has none."""
    faults = [
        "rotor.speed_loss@1:instance=1,severity=0.1,start=4", "gnss.position_bias@1:instance=1,when=altitude > 2 m",
        "imu.gyro_bias@1:instance=1,start=5.9999", "mag.bias@1:instance=1,when=inside.height > 4 m",
        "mag.bias@1:instance=2,when=inside.height > 400 m",
    ]  # fmt: skip
    outside = f'control = "commanded"\noptions = {{ state = "truth" }}\nnorth_m = -6.0\nfault = {faults}\n'
    text = one("inside", 'mission = "hover"\n') + one("outside").replace('control = "truth"\n', outside)
    what = scenario(folder / "mixed", text, 6.0)
    fleet = Fleet(what)
    try:
        while fleet.tick < 2000:
            fleet.advance(50)
    finally:
        fleet.close()
    return fleet, fly_scenario(what)


def test_faults_of_a_vehicle_under_a_control_system_outside_have_their_witness(folder: Path) -> None:
    _, flown = mixed(folder)
    lost, biased, late, across, never = flown.witnesses["outside"]
    high_s = float(flown.time_s[flown.vehicle("inside").path_N_m[:, 2] < -4.0][0])
    assert across.effective and across.first_s == pytest.approx(high_s, abs=0.05)
    assert not never.effective and never.injection.instance == 2
    assert lost.effective and lost.signal == "rotor/1/motor.speed" and 4.0 <= lost.first_s < 4.1
    assert biased.effective and 1.0 < biased.first_s < 5.5  # when it had climbed so far
    assert not late.effective  # it had no time to act: the twin is the flight to the last bit
    assert flown.vehicle("outside").judged.verdict == "void" and flown.vehicle("inside").judged.verdict == "pass"


def test_a_vehicle_under_a_control_system_outside_hears_the_others(folder: Path) -> None:
    fleet, _ = mixed(folder)
    rig = fleet.groups[fleet.place[fleet.number("outside")][0]].rig
    assert rig is not None
    assert {report.name for report in rig.traffic} == {"inside"} and len(rig.traffic) == 4  # every half second
    report = fleet.reports["inside"]
    assert (rig.traffic[-1].position_N == report.position).all() and rig.traffic[-1].time_s == report.time_s


def test_a_fault_has_its_witness_in_a_scenario(folder: Path) -> None:
    text = one("sick", 'fault = ["rotor.speed_loss@1:instance=1,severity=0.2,start=3"]\n') + one(
        "well", "north_m = 9.0\n"
    )

    flown = fly_scenario(scenario(folder / "sick", text, 5.0))

    assert flown.witnesses["sick"][0].effective and not flown.witnesses["well"]
    assert "acted on" in flown.vehicle("sick").judged.sentence


def test_a_fault_may_wait_for_what_happens_between_vehicles(folder: Path) -> None:
    """The follower comes nearer and nearer: its fault begins when it is so near; another one's never does."""
    follow = (
        'north_m = -9.0\nfollow = { vehicle = "leader", offset_m = [-2.0, 0.0, 0.0] }\n'
        'fault = ["rotor.speed_loss@1:severity=0.1,start=1,'
        'when=distance(leader, follower) < 6 m and leader.height > 1 m"]'
    )
    never = 'east_m = 9.0\nfault = ["rotor.speed_loss@1:instance=1,severity=0.1,when=gap(leader, other) < 1 m"]\n'
    text = one("leader", 'mission = "hover"\n') + one("follower", follow) + one("other", never)
    flown = fly_scenario(scenario(folder / "triggers", text, 8.0))
    (near,), (far,) = flown.witnesses["follower"], flown.witnesses["other"]
    apart, high = flown.distance("leader", "follower"), -flown.vehicle("leader").path_N_m[:, 2]
    begins_s = float(flown.time_s[(apart < 6.0) & (high > 1.0)][0]) + 1.0  # of its start, after the trigger
    assert near.effective and near.first_s == pytest.approx(begins_s, abs=0.05)  # a slice and a row of the log
    assert not far.effective and flown.vehicle("other").judged.verdict == "void"
    with pytest.raises(FaultError, match="not 9"):
        Fleet(scenario(folder / "no_part", text.replace("speed_loss@1:", "speed_loss@1:instance=9,", 1), 8.0))
    again = fly_scenario(scenario(folder / "triggers", text, 8.0), workers=2)
    assert again.sha256 == flown.sha256


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("distance(leader, nobody) < 6 m", "unknown vehicle 'nobody'"),
        ("leader.hight > 1 m", "leader.hight"),
        ("distance(leader, other) < 6 s", "s"),
    ],
)
def test_a_trigger_that_cannot_be_read_is_told(folder: Path, when: str, said: str) -> None:
    fault = f'east_m = 9.0\nfault = ["imu.gyro_bias@1:instance=1,when={when}"]\n'
    with pytest.raises(ScenarioError, match=said):
        scenario(folder / "wrong", one("leader") + one("other", fault), 8.0)


def test_a_pilot_of_your_own_takes_the_reins(folder: Path) -> None:
    class Counter:
        asked = 0

        def fly(self, fleet: Fleet, number: int) -> None:
            self.asked += 1
            assert fleet.members[number].name == "a"

    counter = Counter()
    fly_scenario(scenario(folder / "own", one("a"), 1.0), pilots={"a": counter})

    assert counter.asked == 20  # every 50 ms
    with pytest.raises(UnknownNameError, match="'b'"):
        fly_scenario(scenario(folder / "own", one("a"), 1.0), pilots={"b": counter})


def test_a_sensor_sees_the_other_vehicle_and_not_its_own(folder: Path) -> None:
    around = '[[vehicle.sight]]\nkind = "ring"\nname = "around"\nbeams = 4\nmax_m = 20.0\n'
    down = '[[vehicle.sight]]\nkind = "rangefinder"\nname = "down"\neuler_deg = [0, -90, 0]\n'
    fault = 'fault = ["sight.black@1:instance=around,start=5,end=6"]\nmission = "hover"\n'
    text = one("watcher", fault + around + down) + one("other", 'north_m = 5.0\nmission = "hover"\n')
    flown = fly_scenario(scenario(folder / "seen", text, 7.0))

    ahead = [s for s in flown.vehicle("watcher").samples if s.sensor == "around"]
    half_m = flown.balls["other"][0][:, 0].max() + flown.balls["other"][1]  # of its hull, towards the watcher
    assert ahead[40].data["range_m"][0] == pytest.approx(5.0 - half_m, abs=0.1)
    assert np.isnan(ahead[40].data["range_m"][1:]).all() and np.isnan(ahead[55].data["range_m"]).all()
    assert flown.verdict == "pass" and "10 of 10 samples" in flown.witnesses["watcher"][0].signal
    assert fly_scenario(flown.scenario, workers=2).sha256 == flown.sha256


def test_what_was_flown_is_kept_when_somebody_ends_it(folder: Path) -> None:
    class Ender:
        def fly(self, fleet: Fleet, number: int) -> None:
            if fleet.time_s > 2.0:
                raise KeyboardInterrupt

    flown = fly_scenario(meeting(folder), pilots={"other": Ender()})
    assert flown.interrupted and flown.verdict == "error" and 2.0 <= flown.time_s[-1] < 2.2
