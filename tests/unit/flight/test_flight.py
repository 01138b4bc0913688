"""Flights: missions, wind, faults with their witness, outcomes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ironbird.errors import FaultError, IronbirdError, MissionError, ModelError, OrderError, UnknownNameError
from ironbird.flight.flight import fly, flying
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Weather, make_order
from ironbird.rig.system import AutopilotEvent, FunctionSystem
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.spec import Home


def test_the_square_is_flown_and_the_vehicle_lands_where_it_started() -> None:
    flight = fly("quad_f450", mission="square", weather=Weather(4.0, 90.0, 5.0), seed=3, control="truth")
    assert flight.outcome.startswith("mission completed at") and flight.survived
    position = flight.log["body.p_NB_N"]
    for corner in ([20, 0], [20, 20], [0, 20]):
        assert np.linalg.norm(position[:, :2] - corner, axis=1).min() < 1.0
    assert np.linalg.norm(position[-1, :2]) < 1.0 and abs(position[-1, 2] + 0.12) < 0.01
    assert flight.log["battery.remaining"][-1] < flight.log["battery.remaining"][0]


def test_wind_comes_from_where_it_says() -> None:
    velocity = Weather(5.0, 270.0).params()["wind/steady.velocity_N"]
    np.testing.assert_allclose(velocity, [0.0, 5.0, 0.0], atol=1e-12)  # from the west, to the east


def test_a_fault_leaves_a_witness_and_the_twin_flies_on() -> None:
    order = "rotor.speed_loss@1:instance=1,severity=0.2,start=5,end=8"
    flight = fly("quad_f450", mission="hover", faults=[order], until_s=10.0, control="truth")
    witness = flight.witnesses[0]
    assert witness.effective and witness.first_s == pytest.approx(5.02, abs=0.021)  # rows are 20 ms apart
    assert witness.largest > 50.0 and witness.signal == "rotor/1/motor.speed"
    assert "acted on rotor/1/motor.speed from 5.0" in witness.sentence()
    record = json.loads(flight.log.meta["ironbird.witnesses"])[0]
    assert record["ordered"] == {"rotor/1/motor.health": ["scale", 0.8]} and record["ended_s"] == 8.0
    assert flight.twin is not None
    before = flight.log.time_s < 5.0
    np.testing.assert_array_equal(flight.log["rotor/1/motor.speed"][before], flight.twin["rotor/1/motor.speed"][before])
    alone = fly("quad_f450", mission="hover", until_s=10.0, control="truth")
    assert alone.log.sha256(0) == flight.twin.sha256(0)  # the twin is the flight without the fault, bit for bit
    assert alone.twin is None


def test_each_of_several_faults_has_its_own_witness() -> None:
    orders = [
        "rotor.speed_loss@1:instance=1,severity=0.1,start=5",
        "rotor.speed_loss@1:instance=2,severity=0,start=6",
        "battery.low_voltage@1:severity=0.05,start=7",
    ]
    flight = fly("quad_f450", mission="hover", faults=orders, until_s=9.0, control="truth")
    first, none, last = flight.witnesses
    assert first.effective and 5.0 <= first.first_s < 5.05
    assert not none.effective  # the other faults do not count as its effect
    assert last.effective and 7.0 <= last.first_s < 7.05


def test_a_fault_of_no_severity_is_reported_as_ineffective() -> None:
    order = "rotor.speed_loss@1:instance=1,severity=0,start=1"
    flight = fly("quad_f450", mission="hover", faults=[order], until_s=2.0, control="truth")
    assert not flight.witnesses[0].effective and "ineffective" in flight.witnesses[0].sentence()


def test_a_dead_motor_ends_in_a_crash() -> None:
    flight = fly("quad_f450", mission="hover", faults=["rotor.speed_loss@1:instance=1,start=6"], control="truth")
    assert not flight.survived and flight.stop is not None
    assert flight.stop.reason in ("hard landing", "rollover")
    assert flight.twin is not None and flight.log.rows() < flight.twin.rows()
    assert flight.verdict == "fail" and flight.judged.crashed


def test_settings_change_the_flight_and_wrong_ones_are_named() -> None:
    heavy = fly("quad_f450", mission="hover", until_s=8.0, settings={"body.mass": 1.8}, control="truth")
    light = fly("quad_f450", mission="hover", until_s=8.0, control="truth")
    assert heavy.log["rotor/1/motor.speed"][-1] > 1.09 * light.log["rotor/1/motor.speed"][-1]
    with pytest.raises(IronbirdError, match=r"unknown parameter 'body.mas'; did you mean 'body.mass'"):
        fly("quad_f450", settings={"body.mas": 1.0}, control="truth")
    with pytest.raises(ModelError, match=r"body.mass = -1 kg is outside its range"):
        fly("quad_f450", settings={"body.mass": -1.0}, control="truth")


def test_a_fault_on_a_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(FaultError, match="has rotor 1 to 4, not 7"):
        fly("quad_f450", faults=["rotor.speed_loss@1:instance=7"], control="truth")


def test_a_fault_on_a_missing_part_is_refused() -> None:
    order = "imu.bias@1:instance=1,start=1"  # flown on the true state: there is no sensor
    with pytest.raises(FaultError, match=r"imu.bias@1:.*vehicle 'quad_f450' has no imu that could break"):
        fly("quad_f450", mission="hover", faults=[order], until_s=2.0, control="truth")


def test_missions_are_checked() -> None:
    assert load_mission("square").item[-1].kind == "land"
    with pytest.raises(UnknownNameError, match=r"unknown mission 'sqare'; did you mean 'square'"):
        load_mission("sqare")
    long = Mission.model_validate({"schema": 1, "item": [{"kind": "waypoint"}] * 20})
    with pytest.raises(MissionError, match="the mission has 20 items; this vehicle's navigator takes 16"):
        long.params(16)


def test_a_vehicle_that_was_loaded_elsewhere_flies_there_and_its_order_says_so() -> None:
    there = Home(latitude_deg=46.0, longitude_deg=7.0, height_m=2000.0)
    moved = load_vehicle("quad_f450", control="truth", home=there)
    flight = fly(moved, mission="hover", until_s=1.0)
    assert flight.order.place == there and not flight.repeats
    assert fly(flight.order).sha256 == flight.sha256  # the order alone has it all
    assert fly(moved, mission="hover", until_s=1.0, place=there).sha256 == flight.sha256
    with pytest.raises(OrderError, match=r"vehicle 'quad_f450' was loaded with another home: load it with home="):
        fly(moved, mission="hover", place=Home())

    usual = fly(load_vehicle("quad_f450", control="truth"), mission="hover", until_s=1.0)
    assert usual.order.place is None and not usual.repeats
    assert fly(usual.order).repeats and fly(usual.order).sha256 == usual.sha256 != flight.sha256


def test_an_order_is_flown_with_faults_and_requirements_as_texts() -> None:
    order = make_order("quad_f450", control="truth", mission="hover", until_s=1.5, ends="time")
    fault = "rotor.speed_loss@1:instance=1,severity=0.1,start=1"
    flight = fly(order, faults=[fault], requirements=["no_crash", "always (altitude < 60 m)"])
    assert [injection.text() for injection in flight.order.faults] == [fault]
    assert [requirement.name for requirement in flight.order.requirements] == ["no_crash", "always (altitude < 60 m)"]
    assert flight.verdict == "pass" and flight.witnesses[0].effective
    with pytest.raises(UnknownNameError, match=r"unknown fault 'rotor.speedloss@1'; did you mean"):
        fly(order, faults=["rotor.speedloss@1"])


def test_tracking_is_judged_without_the_start() -> None:
    time_s = np.arange(0.0, 20.0, 0.5)
    np.testing.assert_array_equal(flying(time_s, time_s), time_s[time_s >= 5.0])
    np.testing.assert_array_equal(flying(time_s[:9], time_s[:9]), [2.0, 2.5, 3.0, 3.5, 4.0])  # half of a short one


def test_only_flights_in_the_kernel_of_a_vehicle_from_its_file_promise_the_same_bytes() -> None:
    order = make_order("quad_f450", control="truth", mission="hover", until_s=0.2)

    assert fly(order).repeats
    assert not fly("quad_f450", control=FunctionSystem(lambda rig: None), until_s=0.2).repeats
    assert not fly(load_vehicle("quad_f450", control="truth"), mission="hover", until_s=0.2).repeats


def test_a_control_that_is_neither_a_name_nor_a_control_system_is_refused() -> None:
    with pytest.raises(
        OrderError, match=r"control is a int: give a name of 'ironbird system list', or a ControlSystem"
    ):
        fly("quad_f450", control=5)  # type: ignore[arg-type]


def test_the_hash_of_all_covers_what_an_autopilot_sent_and_its_logs(tmp_path: Path) -> None:
    flight = fly("quad_f450", control="truth", mission="hover", until_s=0.1)
    (tmp_path / "one.ulg").write_bytes(b"log")
    changed = [
        replace(flight, autopilot_events=[AutopilotEvent(0.05, "text", "hello")]),
        replace(flight, logs=[tmp_path / "one.ulg"]),
    ]
    hashes = {flight.sha256_of_all, *(other.sha256_of_all for other in changed)}
    (tmp_path / "one.ulg").write_bytes(b"another")
    assert len(hashes | {changed[1].sha256_of_all}) == 4
    assert {flight.sha256} == {other.sha256 for other in changed}
