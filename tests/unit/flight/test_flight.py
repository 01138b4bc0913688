"""Flights: missions, wind, faults with their witness, outcomes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ironbird as ib
from ironbird.errors import FaultError, IronbirdError, MissionError, ModelError, UnknownNameError
from ironbird.flight.flight import Wind, fly
from ironbird.flight.mission import Mission, load_mission


def test_the_square_is_flown_and_the_vehicle_lands_where_it_started(f450: ib.CompiledModel) -> None:
    flight = fly("quad_f450", mission="square", wind=Wind(4.0, 90.0, 5.0), seed=3, model=f450)
    assert flight.outcome.startswith("mission completed at") and flight.survived
    position = flight.log["body.p_NB_N"]
    for corner in ([20, 0], [20, 20], [0, 20]):
        assert np.linalg.norm(position[:, :2] - corner, axis=1).min() < 1.0
    assert np.linalg.norm(position[-1, :2]) < 1.0 and abs(position[-1, 2] + 0.12) < 0.01
    assert flight.log["battery.remaining"][-1] < flight.log["battery.remaining"][0]


def test_wind_comes_from_where_it_says() -> None:
    velocity = Wind(5.0, 270.0).params()["wind/steady.velocity_N"]
    np.testing.assert_allclose(velocity, [0.0, 5.0, 0.0], atol=1e-12)  # from the west, to the east


def test_a_fault_leaves_a_witness_and_the_twin_flies_on(f450: ib.CompiledModel) -> None:
    order = "rotor.speed_loss@1:instance=1,severity=0.2,start=5,end=8"
    flight = fly("quad_f450", mission="hover", faults=[order], until_s=10.0, model=f450)
    witness = flight.witnesses[0]
    assert witness.effective and witness.first_s == pytest.approx(5.02, abs=0.021)  # rows are 20 ms apart
    assert witness.largest > 50.0 and witness.signal == "rotor/1/motor.speed"
    assert "acted on rotor/1/motor.speed from 5.0" in witness.sentence()
    record = json.loads(flight.log.meta["ironbird.witnesses"])[0]
    assert record["ordered"] == {"rotor/1/motor.health": ["scale", 0.8]} and record["ended_s"] == 8.0
    before = flight.log.time_s < 5.0
    np.testing.assert_array_equal(
        flight.log.lane("rotor/1/motor.speed", 0)[before], flight.log.lane("rotor/1/motor.speed", 1)[before]
    )
    alone = fly("quad_f450", mission="hover", until_s=10.0, model=f450)
    assert alone.log.sha256(0) == flight.log.sha256(1)  # the twin is the flight without the fault, bit for bit


def test_each_of_several_faults_has_its_own_witness(f450: ib.CompiledModel) -> None:
    orders = [
        "rotor.speed_loss@1:instance=1,severity=0.1,start=5",
        "rotor.speed_loss@1:instance=2,severity=0,start=6",
        "battery.low_voltage@1:severity=0.05,start=7",
    ]
    flight = fly("quad_f450", mission="hover", faults=orders, until_s=9.0, model=f450)
    first, none, last = flight.witnesses
    assert first.effective and 5.0 <= first.first_s < 5.05
    assert not none.effective  # the other faults do not count as its effect
    assert last.effective and 7.0 <= last.first_s < 7.05


def test_a_fault_of_no_severity_is_reported_as_ineffective(f450: ib.CompiledModel) -> None:
    order = "rotor.speed_loss@1:instance=1,severity=0,start=1"
    flight = fly("quad_f450", mission="hover", faults=[order], until_s=2.0, model=f450)
    assert not flight.witnesses[0].effective and "ineffective" in flight.witnesses[0].sentence()


def test_a_dead_motor_ends_in_a_crash(f450: ib.CompiledModel) -> None:
    flight = fly("quad_f450", mission="hover", faults=["rotor.speed_loss@1:instance=1,start=6"], model=f450)
    assert not flight.survived and flight.stop is not None
    assert flight.stop.reason in ("hard landing", "rollover")
    assert flight.log.rows(0) < flight.log.rows(1)


def test_settings_change_the_flight_and_wrong_ones_are_named(f450: ib.CompiledModel) -> None:
    heavy = fly("quad_f450", mission="hover", until_s=8.0, settings={"body.mass": 1.8}, model=f450)
    light = fly("quad_f450", mission="hover", until_s=8.0, model=f450)
    assert heavy.log["rotor/1/motor.speed"][-1] > 1.09 * light.log["rotor/1/motor.speed"][-1]
    with pytest.raises(IronbirdError, match=r"unknown parameter 'body.mas'; did you mean 'body.mass'"):
        fly("quad_f450", settings={"body.mas": 1.0}, model=f450)
    with pytest.raises(ModelError, match=r"body.mass = -1 kg is outside its range"):
        fly("quad_f450", settings={"body.mass": -1.0}, model=f450)


def test_a_fault_on_a_part_that_does_not_exist_is_refused(f450: ib.CompiledModel) -> None:
    with pytest.raises(FaultError, match=r"rotor/7/motor.health.*did you mean 'rotor/\d/motor.health'"):
        fly("quad_f450", faults=["rotor.speed_loss@1:instance=7"], model=f450)


def test_a_fault_on_a_missing_part_may_be_reported_as_ineffective(f450: ib.CompiledModel) -> None:
    order = "imu.bias@1:instance=1,start=1"  # flown on the true state: there is no sensor
    flight = fly("quad_f450", mission="hover", faults=[order], until_s=2.0, model=f450, allow_missing=True)
    assert flight.witnesses[0].sentence().endswith("ineffective; the vehicle has no such part")


def test_missions_are_checked(tmp_path: Path) -> None:
    assert load_mission("square").item[-1].kind == "land"
    with pytest.raises(UnknownNameError, match=r"unknown mission 'sqare'; did you mean 'square'"):
        load_mission("sqare")
    with pytest.raises(MissionError, match="does not exist"):
        load_mission("nowhere.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text('schema = 1\n[[item]]\nkind = "wander"\n')
    with pytest.raises(MissionError, match=r"item.0.kind: Input should be 'waypoint', 'land', .* \(got 'wander'\)"):
        load_mission(bad)
    bad.write_text("schema = 1\nitem = [")
    with pytest.raises(MissionError, match="is not valid TOML"):
        load_mission(bad)
    long = Mission.model_validate({"schema": 1, "item": [{"kind": "waypoint"}] * 20})
    with pytest.raises(MissionError, match="the mission has 20 items; this vehicle's navigator takes 16"):
        long.params(16)
