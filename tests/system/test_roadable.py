"""The roadable Aerosonde joins car and wing: it drives, takes off, flies, lands and drives on, by physics that hold."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import LANDING, MISSION, TAKE_OFF
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.flight.flight import Flight, fly
from ironbird.flight.mission import load_mission
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec

NAME = "roadable_aerosonde"
GRAVITY = STANDARD_GRAVITY_MPS2
LOG_S = 0.05


def spec() -> FixedWingSpec:
    found = load_spec(NAME)
    assert isinstance(found, FixedWingSpec)
    return found


@functools.cache
def flown() -> Flight:
    return fly(NAME, seed=3, log_s=LOG_S)


def column(name: str) -> np.ndarray:
    return flown().log[name].ravel()


@functools.cache
def bare() -> CompiledModel:
    """The vehicle without its control system: its actuators are inputs."""
    return compile_model(load_vehicle(NAME, control="external").diagram)


def driven(until_s: float, **inputs: float) -> Log:
    """A drive in calm air with steady commands."""
    state = start(bare(), lanes=1, seed=1)
    for name, value in inputs.items():
        state.set_input(name, value)
    return run(
        state, until_s, log=["body", "contact", "wing", "rotor/1/propeller.thrust", "atmosphere.density"], log_s=0.02
    )


def test_one_mission_drives_takes_off_flies_lands_and_drives_on_to_its_last_point() -> None:
    flight = flown()
    assert flight.survived and "mission completed" in flight.outcome
    places = flight.log["body.p_NB_N"]
    item, mode, load = column("navigator.item"), column("navigator.mode"), column("contact.load")
    drives = column("navigator.rolling") * (mode == MISSION) > 0.5
    kinds = [entry.kind for entry in load_mission("road_and_air").item]
    first, landing = kinds.index("takeoff"), kinds.index("land")
    before, after = drives & (item < first), drives & (item > landing)

    way = np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1)
    assert way[before[1:]].sum() > 250 and way[after[1:]].sum() > 150  # m on the road, on both sides of the flight
    for rows in (before, after):
        assert np.all(load[rows] > 0) and np.all(places[rows, 2] > -0.5)  # on its wheels
        assert np.all(column("control.throttle")[rows] == 0)  # the tyres push, not the propeller
        assert column("contact.push")[rows].max() > 10
    flies = (mode == MISSION) & ~drives
    assert np.all(load[flies] == 0) and -places[flies, 2].max() > 30
    order = [np.flatnonzero(rows)[0] for rows in (before, mode == TAKE_OFF, flies, mode == LANDING, after)]
    assert order == sorted(order)

    last = load_mission("road_and_air").item[-1]
    assert (
        np.hypot(places[-1, 0] - last.north_m, places[-1, 1] - last.east_m) < 5.0
    )  # 3 m by the estimate, and its error
    assert np.linalg.norm(flight.log["body.v_NB_N"][-1]) < 0.6  # it stands


def test_it_leaves_the_ground_when_the_wing_carries_the_weight() -> None:
    """Lift and the upward part of the thrust at lift-off are the weight; the speed is that of the lift coefficient."""
    rows = np.flatnonzero((column("navigator.mode") == TAKE_OFF) & (column("contact.load") > 0))
    off = rows[-1] + 1
    pitch, mass = flown().log["body.euler"][off, 1], spec().total_mass_kg()
    up = column("wing.lift")[off] + column("rotor/1/propeller.thrust")[off] * math.sin(pitch)
    sinking = flown().log["body.v_NB_N"][:, 2]
    rising = (sinking[off - 1] - sinking[off + 1]) / (2 * LOG_S)
    assert up == pytest.approx(mass * (GRAVITY + rising), rel=0.03)  # without drag, at a climb of some degrees
    speed, wing, runway = column("air.airspeed")[off], spec().wing, spec().runway
    assert wing is not None and runway is not None
    assert runway.rotate_speed_mps <= speed < 1.3 * runway.rotate_speed_mps
    coefficient = column("wing.lift")[off] / (0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed**2 * wing.area_m2)
    assert wing.CL_0 < coefficient < wing.CL_0 + wing.CL_alpha * math.radians(15)  # below the stall


def test_the_speed_on_the_road_is_where_the_push_meets_rolling_resistance_and_drag() -> None:
    share = 0.35
    log = driven(120.0, drive=share)
    speed = log["body.v_NB_B"][:, 0]
    assert abs(speed[-1] - speed[-250]) < 0.02  # steady over the last five seconds

    file = spec()
    assert file.wing is not None and file.contact.wheels is not None
    wing, v = file.wing, float(speed[-1])
    alpha = float(log["body.euler"][-1, 1])
    pressure = 0.5 * float(log["atmosphere.density"][-1])
    lift = wing.CL_0 + wing.CL_alpha * alpha
    drag = wing.CD_p + lift**2 / (math.pi * wing.oswald * wing.span_m**2 / wing.area_m2)
    push = min(share * 25.0, share * 150.0 / v)
    load = file.body.mass_kg * GRAVITY - pressure * v**2 * wing.area_m2 * lift
    resistance = file.contact.wheels.rolling_resistance * load + pressure * v**2 * wing.area_m2 * drag
    windmill = -float(log["rotor/1/propeller.thrust"][-1])  # the propeller stands in the wind
    assert push == pytest.approx(resistance + windmill, rel=0.01)


def test_the_turning_circle_is_wheel_base_over_tangent_of_the_steering_angle() -> None:
    """[Gillespie] Eq. 6-1: at low speed and with equal slip of all wheels the radius is L / tan(delta)."""
    log = driven(20.0, drive=0.18, steering=0.6)
    file = spec()
    assert file.contact.wheels is not None
    angle = 0.6 * math.radians(file.contact.wheels.steer_travel_deg)
    ahead, turn = log["body.v_NB_B"][:, 0], log["body.w_NB_B"][:, 2]
    rows = (ahead > 0.05) & (ahead < 0.4)
    assert rows.sum() > 100
    radius = np.median(ahead[rows] / turn[rows])
    assert radius == pytest.approx(file.contact.wheel_base_m() / math.tan(angle), rel=0.01)  # slip by its speeding up


def test_a_wheel_motor_without_force_leaves_it_where_it_is() -> None:
    flight = fly(NAME, seed=3, until_s=20.0, settings={"contact.drive_health": 0.0})
    assert np.linalg.norm(flight.log["body.p_NB_N"][-1, :2]) < 0.5


def test_on_the_true_state_it_begins_in_the_air_passes_the_road_and_drives_after_the_landing() -> None:
    flight = fly(NAME, control="truth", log_s=0.1)
    assert flight.survived and "mission completed" in flight.outcome
    assert flight.log["contact.push"].max() > 5
