"""A brown-out in flight: the flight controller begins anew after its boot time, disarmed or as its file says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ironbird.flight.flight import Flight, fly
from ironbird.flight.prepare import model_of, prepare
from ironbird.runtime.log import Log
from ironbird.runtime.step import run

OFF_S, GAP_S, BOOT_S = 45.0, 0.05, 1.0
SAMPLE_S = 0.01  # of the supply
FILE = f"""schema = 1
base = "quad_f450"
id = "quad_brown_out"
title = "F450 whose flight controller browns out"
[battery]
brown_out_V = 7.0
restart_time_s = {BOOT_S}
air_restart = true
[provenance]
"battery.brown_out_V" = "assumed: a regulator to 5 V that needs 2 V more"
"battery.restart_time_s" = "assumed"
"battery.air_restart" = "assumed"
"""
HIGH = """schema = 1
title = "hover at 100 m"
duration_s = 80.0
[[item]]
kind = "waypoint"
height_m = 100.0
hold_s = 100.0
"""
FAULT = f"battery.power_off@1:severity=1,start={OFF_S},end={OFF_S + GAP_S}"


@dataclass(frozen=True)
class Case:
    """A vehicle and its flight over a gap of the supply."""

    vehicle: Path
    mission: Path
    flight: Flight


def turned_deg(log: Log, rows: np.ndarray) -> np.ndarray:
    """Angle between true and estimated attitude."""
    true, estimated = (log[path][rows].reshape(-1, 3, 3) for path in ("body.R_NB", "estimator.R_NB"))
    trace = np.einsum("nij,nij->n", true, estimated)
    return np.degrees(np.arccos(np.clip((trace - 1) / 2, -1.0, 1.0)))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("brown_out")
    vehicle, mission = folder / "quad_brown_out.toml", folder / "high.toml"
    vehicle.write_text(FILE)
    mission.write_text(HIGH)
    return Case(vehicle, mission, fly(str(vehicle), mission=str(mission), faults=[FAULT], seed=2, until_s=80.0))


def test_it_is_dead_from_the_gap_to_the_end_of_its_boot_time(case: Case) -> None:
    log = case.flight.log
    dead = log.time_s[log["power_rail.alive"] < 0.5]

    assert abs(dead[0] - OFF_S) <= SAMPLE_S + 0.02
    assert abs(dead[-1] - (OFF_S + GAP_S + BOOT_S)) <= SAMPLE_S + 0.02
    assert np.all(log["navigator.mode"][(log.time_s > OFF_S + 0.05) & (log.time_s < dead[-1])] == 0.0)


def test_it_falls_meanwhile_as_a_body_with_drag(case: Case) -> None:
    """Without drag and without thrust it would gain g t; the blades' and the airframe's drag take some of it."""
    log = case.flight.log
    at_boot = np.searchsorted(log.time_s, OFF_S + GAP_S + BOOT_S)
    speed = log["body.v_NB_N"][at_boot, 2]

    assert 0.75 * 9.81 * (GAP_S + BOOT_S) < speed < 9.81 * (GAP_S + BOOT_S)


def test_it_finds_its_attitude_in_the_fall_catches_itself_and_flies_on(case: Case) -> None:
    log = case.flight.log
    boot_s = OFF_S + GAP_S + BOOT_S
    aligned = log.time_s[(log.time_s > boot_s) & (log["estimator.aligned"] > 0.5)][0]

    assert 0.5 < aligned - boot_s < 1.5  # three fixes of a receiver
    assert turned_deg(log, log.time_s > aligned + 0.1).max() < 8.0  # from then on, not only at first
    assert case.flight.stop is None and log["body.p_NB_N"][-1, 2] < -95.0  # it climbed back
    assert case.flight.witnesses[0].effective


def test_after_the_restart_the_control_system_is_what_it_was_at_the_start(case: Case) -> None:
    """While it is dead every state of the control system has its initial value, to the last bit; others go on."""
    order = case.flight.order
    model = model_of(order)
    state, fresh = prepare(model, [order]), prepare(model, [order])
    run(state, OFF_S, log=["navigator.mode"], log_s=1.0)
    assert state.get("navigator.now")[0] > 0.0
    run(state, OFF_S + 0.5, log=["navigator.mode"], log_s=0.1)

    flat = model.flat
    held = [path for path in flat.xd.signals if path.rpartition(".")[0] in flat.diagram.resets]
    assert len(held) > 50
    for path in held:
        np.testing.assert_array_equal(state.get(path), fresh.get(path), err_msg=path)
    assert state.get("battery.used")[0] > 0.0


def test_without_the_option_it_stays_disarmed_and_hits_the_ground(case: Case) -> None:
    flight = fly(
        str(case.vehicle),
        mission=str(case.mission),
        faults=[FAULT],
        seed=2,
        until_s=80.0,
        settings={"power_rail.air_restart": 0.0},
    )
    log = flight.log
    time_s = log.time()
    assert flight.stop is not None and flight.stop.reason == "hard landing"
    assert np.all(log["navigator.mode"][time_s > OFF_S + 0.1] == 0.0)
    assert np.all(log["rotor/1/motor.speed"][time_s > OFF_S + 1.0] < 1.0)


@pytest.mark.parametrize(
    ("base", "volts", "off_s", "height_m"),
    [("vtol_standard", 9.0, 40.0, 15.0), ("aerosonde_wheels", 20.0, 60.0, 40.0)],
    ids=["vtol", "wing"],
)
def test_vehicles_on_wings_align_in_cruise_and_fly_on(
    base: str, volts: float, off_s: float, height_m: float, tmp_path: Path
) -> None:
    vehicle = tmp_path / "browns_out.toml"
    vehicle.write_text(
        f'schema = 1\nbase = "{base}"\nid = "browns_out"\ntitle = "{base} whose controller browns out"\n'
        f"[battery]\nbrown_out_V = {volts}\nrestart_time_s = {BOOT_S}\nair_restart = true\n"
        '[provenance]\n"battery.brown_out_V" = "assumed"\n"battery.restart_time_s" = "assumed"\n'
        '"battery.air_restart" = "assumed"\n'
    )
    fault = f"battery.power_off@1:severity=1,start={off_s},end={off_s + GAP_S}"
    for seed in (2, 3):
        flight = fly(str(vehicle), faults=[fault], seed=seed, until_s=off_s + 20.0)
        log = flight.log

        assert flight.outcome.startswith("flown to the end"), seed
        after = log.time_s > off_s + GAP_S + BOOT_S + 1.2
        assert log["estimator.aligned"][after].min() == 1.0
        away = np.linalg.norm(log["estimator.p_NB_N"] - log["body.p_NB_N"], axis=1)
        assert away[after].max() < 8.0  # the slow error of the receiver is unknown after the restart
        assert turned_deg(log, after).max() < 6.0
        assert -log["body.p_NB_N"][after, 2].max() > height_m  # of 41 and 59 m
