"""Marine vehicles against published figures, against another program's runs, and on their missions in a current.

The stored runs come from Fossen's PythonVehicleSimulator; what differs is in tests/data/marine/README.md.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from ironbird.blocks.actuators.thruster import ForceActuator
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import VehicleError
from ironbird.flight.flight import fly
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import CATALOG

DATA = Path(__file__).parents[1] / "data" / "marine"
VEHICLES = ("rov_bluerov2_heavy", "boat_otter", "boat_cybership2", "auv_remus100")
LANES = 20
STEP_S = 0.005  # the fastest part is a thruster with 0.1 s


# ---------------------------------------------------------------------- published figures


@functools.cache
def pushed(vehicle: str) -> CompiledModel:
    """A vehicle whose thrusters are dead and which is pushed at its origin instead."""
    diagram = load_vehicle(vehicle, control="truth").diagram
    push = diagram.add("push", ForceActuator(), limit=0.0, time_constant=0.1, override=1.0, override_throttle=1.0)
    diagram.export(push.command)
    diagram.connect(push.force_B, diagram.port("body.force_B"))
    for path in diagram.blocks:
        if path.startswith("rotor/") and path.endswith("/motor"):
            diagram.set(f"{path}.health", 0.0)
    return compile_model(diagram, step_s=STEP_S)


def terminal_velocity(vehicle: str, force_B: list[float], **params: object) -> np.ndarray:
    values: dict[str, object] = {path.replace("__", "."): value for path, value in params.items()}
    values |= {"push.axis": force_B, "push.limit": 1.0}
    state = start(pushed(vehicle), params=values)  # type: ignore[arg-type]
    log = run(state, 120.0, log=["body"], log_s=1.0)
    assert log.stops[0] is None
    v: np.ndarray = log["body.v_NB_B"]
    np.testing.assert_allclose(v[-1], v[-10], rtol=0, atol=1e-5)  # it is steady
    return v[-1]


DEEP = [0.0, 0.0, 10.0]
NEUTRAL = 13.5 / 1000.0  # m^3 of fresh water that weigh as much as the BlueROV2


@pytest.mark.parametrize(("push_N", "speed"), [(20.0, 0.331), (40.0, 0.486), (80.0, 0.706)])
def test_bluerov2_surges_at_the_published_speeds(push_N: float, speed: float) -> None:
    v = terminal_velocity("rov_bluerov2_heavy", [push_N, 0.0, 0.0], buoyancy__volume=NEUTRAL, body__p_0=DEEP)

    assert abs(v[0] / speed - 1) < 0.005
    assert abs(v[0] - (-13.7 + math.sqrt(13.7**2 + 4 * 141 * push_N)) / (2 * 141)) < 1e-5  # [VonBenzon2022] drag


@pytest.mark.parametrize("axis", [1, 2])
def test_bluerov2_sways_and_heaves_at_the_published_speeds(axis: int) -> None:
    push = [0.0, 0.0, 0.0]
    push[axis] = 20.0
    v = terminal_velocity("rov_bluerov2_heavy", push, buoyancy__volume=NEUTRAL, body__p_0=DEEP)

    published = {1: math.sqrt(20.0 / 217.0), 2: 0.249}[axis]  # sway has quadratic drag only
    assert abs(v[axis] / published - 1) < 0.005


@pytest.mark.parametrize(("density", "sinks"), [(1000.0, 0.0259), (1028.0, -0.0607)])
def test_bluerov2_sinks_in_fresh_water_and_rises_in_the_sea(density: float, sinks: float) -> None:
    v = terminal_velocity("rov_bluerov2_heavy", [0.0, 0.0, 0.0], buoyancy__density=density, body__p_0=DEEP)

    assert abs(v[2] / sinks - 1) < 0.005


@pytest.mark.parametrize(("push_N", "speed"), [(1.0, 0.4256), (2.0, 0.5787)])
def test_cybership_surges_at_the_computed_speeds(push_N: float, speed: float) -> None:
    v = terminal_velocity("boat_cybership2", [push_N, 0.0, 0.0])

    assert abs(v[0] / speed - 1) < 2e-4  # four digits printed


def test_the_otter_does_not_move_in_still_water_with_its_thrusters_off() -> None:
    drift = terminal_velocity("boat_otter", [0.0, 0.0, 0.0])
    as_published = terminal_velocity("boat_otter", [0.0, 0.0, 0.0], hydrostatics__along_body=1.0)

    assert np.abs(drift).max() < 1e-4  # m/s, although its payload trims it by 1.5 degrees
    assert as_published[0] > 0.08  # m/s: weight turned into body axes, buoyancy not


# ---------------------------------------------------------------------- runs of another program


def otter(left: float, right: float) -> dict[str, object]:
    """Shaft speeds in rad/s, held from the start; buoyancy along the body's axis, as that program has it."""
    found: dict[str, object] = {"hydrostatics.along_body": 1.0}
    for number, speed in ((1, left), (2, right)):
        found[f"rotor/{number}/motor.override"] = 1.0
        found[f"rotor/{number}/motor.override_throttle"] = speed / 103.93086427398005
    return found


def remus(rpm: float, rudder_deg: float) -> dict[str, object]:
    """Propeller and rudder, held from the start, in deep water."""
    return {
        "rotor/1/motor.override": 1.0, "rotor/1/motor.override_throttle": rpm / 1525.0,
        "surface/rudder/servo.override": 1.0, "surface/rudder/servo.override_command": rudder_deg / 15.0,
        "surface/stern/servo.override": 1.0, "surface/stern/servo.override_command": 0.0, "body.p_0": [0.0, 0.0, 10.0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("vehicle", "file", "settings", "until_s"),
    [
        ("boat_otter", "otter_n100_100_60s", otter(100.0, 100.0), 60.0),
        ("boat_otter", "otter_n100_80_60s", otter(100.0, 80.0), 60.0),
        ("auv_remus100", "remus100_1525rpm_100s", remus(1525.0, 0.0), 100.0),
        ("auv_remus100", "remus100_rudder5deg_1200rpm_100s", remus(1200.0, 5.0), 100.0),
    ],
)
def test_open_loop_runs_agree_with_fossens_program(
    vehicle: str, file: str, settings: dict[str, object], until_s: float
) -> None:
    model = compile_model(load_vehicle(vehicle, control="truth").diagram, step_s=STEP_S)
    state = start(model, params=settings)  # type: ignore[arg-type]
    log = run(state, until_s, log=["body"], log_s=0.1)
    assert log.stops[0] is None

    reference = np.loadtxt(DATA / f"{file}.csv", delimiter=",", skiprows=1)[: log.rows()]
    np.testing.assert_allclose(log.time(), reference[:, 0], rtol=0, atol=1e-9)
    euler = np.unwrap(log["body.euler"], axis=0)
    position = log["body.p_NB_N"] - log["body.p_NB_N"][0]
    ours = np.hstack([position, euler, log["body.v_NB_B"], log["body.w_NB_B"]])
    theirs = reference[:, 1:13]
    span = np.abs(theirs).max(axis=0)
    worst = np.abs(ours - theirs).max(axis=0)
    # 1 % of each column's largest value at all times; the largest is 0.41 %, Euler's steps in the first second
    assert np.all(worst <= 0.01 * span + 1e-12), dict(zip("xyzφθψuvwpqr", worst / np.maximum(span, 1e-12), strict=True))
    # Euler's steps no longer matter once it is steady
    np.testing.assert_allclose(ours[-1, 6:], theirs[-1, 6:], rtol=0, atol=2e-4 * span[6:].max())


@pytest.mark.parametrize(
    ("vehicle", "settings", "until_s", "speed"),
    [
        ("boat_otter", otter(103.93086427398005, 103.93086427398005), 60.0, 3.220),
        ("boat_otter", otter(60.0, 60.0), 60.0, 1.118),
        ("auv_remus100", remus(1000.0, 0.0), 100.0, 1.674),
    ],
)
def test_speeds_at_other_revolutions_agree_with_fossens_program(
    vehicle: str, settings: dict[str, object], until_s: float, speed: float
) -> None:
    model = compile_model(load_vehicle(vehicle, control="truth").diagram, step_s=STEP_S)
    log = run(start(model, params=settings), until_s, log=["body"], log_s=0.1)  # type: ignore[arg-type]

    assert abs(log["body.v_NB_B"][-1, 0] - speed) < 0.0006  # m/s: three decimals printed


# ---------------------------------------------------------------------- missions in a current


@functools.cache
def sailed(vehicle: str) -> Log:
    """The vehicle's own mission in 0.3 m/s of current from twenty directions."""
    loaded = load_vehicle(vehicle, control="truth")
    model = compile_model(loaded.diagram, step_s=STEP_S)
    mission = load_mission(loaded.spec.mission)
    state = start(model, lanes=LANES, seed=100)
    for path, value in mission.params(model.flat.p.signals["navigator.table"].columns).items():
        state.set_param(path, value)
    state.set_param("current.speed", 0.3)
    for lane in range(LANES):
        state.set_param("current.direction", 2 * math.pi * lane / LANES, lane)
    cruise = float(model.flat.values[model.param_rows("navigator.cruise_speed")][0])
    return run(state, mission.longest_s(cruise), log=["body", "navigator"], log_s=0.2)


def errors(log: Log, lane: int) -> np.ndarray:
    """Distance from the set-point, or from the path and its depth."""
    return np.linalg.norm(log.lane("body.p_NB_N", lane) - log.lane("navigator.position_set", lane), axis=1)


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_every_lane_completes_its_mission_in_a_current(vehicle: str) -> None:
    log = sailed(vehicle)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
    ends = {log.lane("body.p_NB_N", lane)[-1].tobytes() for lane in range(LANES)}
    assert len(ends) == LANES  # each met another current


@pytest.mark.parametrize(
    ("vehicle", "rms_m", "settled_m"),
    [
        ("rov_bluerov2_heavy", 0.16, 0.40),  # corners of 0.25 m/s with 0.55 m/s through the water
        ("boat_otter", 2.1, 0.8),  # rms is that of the corners, cut at 8 m
        ("boat_cybership2", 1.5, 1.5),  # at 0.5 m/s the current is 60 % of its speed
        ("auv_remus100", 4.8, 6.0),  # corners cut at 20 m; a rudder of 15 degrees turns it in 20 m
    ],
)
def test_tracking_error_in_a_current_stays_below(vehicle: str, rms_m: float, settled_m: float) -> None:
    log = sailed(vehicle)

    for lane in range(LANES):
        error, item = errors(log, lane), log.lane("navigator.item", lane)
        assert math.sqrt(np.mean(error**2)) < rms_m
        for number in np.unique(item):
            leg = error[item == number]
            assert leg[int(0.75 * len(leg)) :].max() < settled_m  # the last quarter of every leg


def test_bluerov2_keeps_level_in_the_current() -> None:
    log = sailed("rov_bluerov2_heavy")

    for lane in range(LANES):
        tilt = np.degrees(np.arccos(np.clip(log.lane("body.R_NB", lane)[:, 8], -1, 1)))
        assert tilt.max() < 10.0  # degrees


# ---------------------------------------------------------------------- wind and waves


def test_beam_wind_drifts_the_model_ship_at_the_speed_of_the_balance() -> None:
    """Drag of the hull in sway equals the wind's force, both in closed form; yaw is kept out of it."""
    wind_mps = 4.0
    params: dict[str, object] = {f"manoeuvring.{name}": 0.0 for name in ("N_v", "N_vv", "N_rv", "N_vr")}
    params |= {f"rotor/{number}/motor.health": 0.0 for number in (1, 2, 3)}
    params |= {"body.centre_of_mass": [0.0, 0.0, 0.0], "crash.max_distance": 1e4}
    params |= Weather(wind_mps, 270.0).params()  # from the west: a boat that points north drifts to its right
    model = compile_model(load_vehicle("boat_cybership2", control="truth").diagram, step_s=STEP_S)
    state = start(model, params=params)  # type: ignore[arg-type]
    log = run(state, 200.0, log=["body.v_NB_B", "body.euler", "atmosphere.density"], log_s=1.0)

    v = float(log["body.v_NB_B"][-1, 1])
    assert abs(log["body.euler"][-1, 2]) < 1e-3
    factor = 0.5 * float(log["atmosphere.density"][-1]) * 0.825 * 0.14

    def balance(speed: float) -> float:  # still air is part of the hull's drag
        return factor * ((wind_mps - speed) ** 2 + speed**2) - 0.88965 * speed - 36.47287 * speed**2

    assert abs(v / brentq(balance, 0.0, 1.0) - 1) < 1e-4  # found 0.1455 m/s


def test_waves_lift_the_otter_by_their_height_and_drift_it_along() -> None:
    """Long waves carry a small boat: it heaves as the surface does, and rolls and pitches little."""
    model = compile_model(load_vehicle("boat_otter", control="truth").diagram, step_s=STEP_S)
    sea: dict[str, object] = {
        "waves.significant_height": 0.4, "waves.peak_frequency": 1.0, "waves.damping": 0.05,
        "waves.direction": math.pi / 2,
        "rotor/1/motor.health": 0.0, "rotor/2/motor.health": 0.0,
    }  # fmt: skip
    log = run(
        start(model, params=sea, lanes=8, seed=4),  # type: ignore[arg-type]
        120.0, log=["body.p_NB_N", "waves.elevation", "body.R_NB"], log_s=0.1,
    )  # fmt: skip
    heave, surface = -log.all_lanes("body.p_NB_N")[:, 100:, 2], log.all_lanes("waves.elevation")[:, 100:]

    heave = heave - heave.mean()
    assert np.corrcoef(heave.ravel(), surface.ravel())[0, 1] > 0.97
    assert abs(heave.std() / surface.std() - 1) < 0.05
    assert np.all(log.all_lanes("body.p_NB_N")[:, -1, 1] > 0.1)  # m to the east, where the waves run
    assert np.degrees(np.arccos(log.all_lanes("body.R_NB")[:, :, 8].min())) < 20.0


def test_a_calm_sea_and_still_air_change_nothing() -> None:
    """Bit for bit: neither part of the weather does anything by default."""
    hashes: list[str] = []
    for loaded in (load_vehicle("boat_otter", control="truth"), load_vehicle("boat_otter", control="truth")):
        if hashes:
            for path in ("wind_loads.lateral_area", "wave_loads.mass", "wave_loads.heave_stiffness"):
                loaded.diagram.set(path, 0.0)
        state = start(compile_model(loaded.diagram, step_s=STEP_S), params=otter(100.0, 80.0))  # type: ignore[arg-type]
        hashes.append(run(state, 10.0, log=["body"], log_s=0.1).sha256(0))
    assert hashes[0] == hashes[1]


@functools.cache
def sensed(vehicle: str) -> Log:
    """The first 20 s of the mission on what the sensors say: current, and for boats wind and waves."""
    loaded = load_vehicle(vehicle, control="reference")
    model = compile_model(loaded.diagram, step_s=0.002)
    state = start(model, lanes=LANES, seed=100)
    values: dict[str, object] = {**load_mission(loaded.spec.mission).params(16), "current.speed": 0.3}
    if vehicle == "boat_otter":
        values |= {**Weather(5.0, 270.0, 7.7).params(), "waves.significant_height": 0.2, "waves.peak_frequency": 3.0}
    for path, value in values.items():
        state.set_param(path, value)  # type: ignore[arg-type]
    for lane in range(LANES):
        state.set_param("current.direction", 2 * math.pi * lane / LANES, lane)
    return run(state, 20.0, log=["body", "navigator", "estimator"], log_s=0.2)


@pytest.mark.parametrize(
    ("vehicle", "estimate_m", "path_m"),
    [
        ("boat_otter", 5.0, 6.0),  # a receiver that wanders by 1.1 m per axis
        ("boat_cybership2", 0.01, 1.5),  # cameras in the basin
        ("auv_remus100", 2.0, 6.0),  # an acoustic fix each second
        ("rov_bluerov2_heavy", 2.0, 2.0),
    ],
)
def test_every_lane_is_on_its_way_with_sensors_and_filter(vehicle: str, estimate_m: float, path_m: float) -> None:
    log = sensed(vehicle)

    for lane in range(LANES):
        assert log.stops[lane] is None
        off = (log.lane("body.p_NB_N", lane) - log.lane("estimator.p_NB_N", lane))[5:]  # aligned after 0.4 s
        assert np.linalg.norm(off, axis=1).max() < estimate_m
        assert errors(log, lane)[50:].max() < path_m  # after 10 s
        assert np.all(log.lane("estimator.healthy", lane)[10:] == 1.0)


# ---------------------------------------------------------------------- flights and faults


def test_fly_takes_the_vehicles_own_mission_and_a_dead_thruster_is_survived() -> None:
    flight = fly(
        "rov_bluerov2_heavy",
        control="truth",
        faults=["rotor.speed_loss@1:instance=1,severity=1.0,start=20"],
        settings={"current.speed": 0.1},
    )

    assert flight.mission_title == "6 m box at 3 m depth"
    assert flight.outcome.startswith("mission completed")
    assert flight.witnesses[0].sentence()


def test_leaving_the_area_is_a_loss() -> None:
    flight = fly("boat_otter", control="truth", settings={"crash.max_distance": 50.0})

    assert flight.outcome.startswith("out of bounds") and not flight.survived


# ---------------------------------------------------------------------- grammar


@pytest.mark.parametrize(
    ("vehicle", "old", "new", "message"),
    [
        ("boat_otter", 'name = "left"', 'name = "left"\npropeller = "big"', "thruster 'left' names propeller 'big'"),
        ("boat_otter", "[control]", '[[actuator]]\nname = "x"\nlimit_N = 1.0\ntime_constant_s = 1.0\n[control]',
         r"give either \[\[thruster\]\] or \[\[actuator\]\]"),
        ("auv_remus100", 'name = "stern"', 'name = "rudder"', "needs one"),
        ("rov_bluerov2_heavy", "[station]", "[stations]", "unknown key 'stations'"),
        ("rov_bluerov2_heavy", "inertia_diag_kgm2 = [0.26, 0.23, 0.37]", "", "give either inertia_diag_kgm2"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_named(tmp_path: Path, vehicle: str, old: str, new: str, message: str) -> None:
    text = (CATALOG / f"{vehicle}.toml").read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(VehicleError, match=message):
        load_vehicle(path, control="truth")
