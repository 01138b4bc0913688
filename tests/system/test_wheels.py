"""The Aerosonde on wheels: take-off run against the published estimate, runway flights in winds from all sides."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from ironbird.autopilots.ardupilot.channels import wire
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.blocks.controllers.mission_table import LANDING, MISSION, TAKE_OFF
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.errors import LinkError, VehicleError
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec

CALM, BLOCKED = 0, 1  # lanes; then winds
WINDS_DEG = (60.0, 120.0, 180.0, 270.0)
LANES = 2 + len(WINDS_DEG)
SIGNALS = [
    "body.p_NB_N", "body.v_NB_N", "body.euler", "navigator", "crash.impact_speed", "air.airspeed", "contact.load",
    "rotor/1/propeller.thrust", "wing.lift", "wing.drag", "battery.remaining",
]  # fmt: skip


def spec() -> FixedWingSpec:
    found = load_spec("aerosonde_wheels")
    assert isinstance(found, FixedWingSpec)
    return found


@functools.cache
def model() -> CompiledModel:
    return compile_model(load_vehicle("aerosonde_wheels").diagram)


@functools.cache
def flown() -> Log:
    """The airfield's circuit: in calm air, without an airspeed, and in 5 m/s of wind with turbulence."""
    state = start(model(), lanes=LANES, seed=5)
    mission = load_mission("airfield").params(16)
    for lane in range(LANES):
        windy = lane > BLOCKED
        wind = Weather(5.0, WINDS_DEG[lane - 2], 7.7) if windy else Weather()
        for path, value in {**mission, **wind.params()}.items():
            state.set_param(path, value, lane=lane)
    state.set_param("airspeed/1/chip.blocked", 1.0, lane=BLOCKED)
    return run(state, 230.0, log=SIGNALS, log_s=0.05)


def run_of(lane: int) -> slice:
    """Rows from the release of the brakes to the rotation."""
    log = flown()
    runs = log.lane("navigator.mode", lane).ravel() == TAKE_OFF
    fast = log.lane("air.airspeed", lane).ravel() > spec().runway.rotate_speed_mps  # type: ignore[union-attr]
    return slice(int(np.argmax(runs)), int(np.argmax(runs & fast)))


def test_take_off_run_is_the_published_estimate() -> None:
    log, rows, file = flown(), run_of(CALM), spec()
    assert file.wing is not None and file.contact.wheels is not None and file.runway is not None
    wing, resistance, rotation = file.wing, file.contact.wheels.rolling_resistance, file.runway.rotate_speed_mps
    weight, density = file.body.mass_kg * STANDARD_GRAVITY_MPS2, SEA_LEVEL_DENSITY_KGPM3
    v = log.lane("air.airspeed", CALM).ravel()[rows]
    thrust = np.poly1d(np.polyfit(v, log.lane("rotor/1/propeller.thrust", CALM).ravel()[rows], 3))
    alpha = float(np.median(log.lane("body.euler", CALM)[rows][20:, 1]))  # on its wheels
    lift = wing.CL_0 + wing.CL_alpha * alpha
    drag = wing.CD_p + lift**2 / (math.pi * wing.oswald * wing.span_m**2 / wing.area_m2)

    def needs(speed: float) -> float:
        """[Raymer] Eq. 17.99 to 17.102: V dV over the acceleration."""
        q_area = 0.5 * density * speed**2 * wing.area_m2
        force = float(thrust(speed)) - q_area * drag - resistance * (weight - q_area * lift)
        return file.body.mass_kg * speed / force

    north = log.lane("body.p_NB_N", CALM)[:, 0]
    rolled = float(north[rows.stop] - north[rows.start])
    expected = quad(needs, 0.5, rotation)[0]
    assert abs(rolled / expected - 1) < 0.03, f"{rolled:.1f} m, integral {expected:.1f} m"  # trim drag of the elevator
    # The closed form, with the thrust at 0.707 of the speed: [Raymer] Eq. 17.102 to 17.104
    k_t = float(thrust(rotation / math.sqrt(2))) / weight - resistance
    k_a = density * wing.area_m2 / (2 * weight) * (resistance * lift - drag)
    closed = math.log(1 + k_a / k_t * rotation**2) / (2 * STANDARD_GRAVITY_MPS2 * k_a)
    assert abs(rolled / closed - 1) < 0.05, f"{rolled:.1f} m, closed form {closed:.1f} m"
    assert 25.0 < rolled < 60.0


def test_every_wind_is_taken_off_and_landed_in() -> None:
    log = flown()
    for lane in (CALM, *range(2, LANES)):
        stop, mode = log.stops[lane], log.lane("navigator.mode", lane).ravel()
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        changes = [int(mode[i]) for i in range(1, len(mode)) if mode[i] != mode[i - 1]]
        assert changes == [TAKE_OFF, MISSION, LANDING]
        place, euler = log.lane("body.p_NB_N", lane), log.lane("body.euler", lane)
        height, load = -place[:, 2], log.lane("contact.load", lane).ravel()
        up = int(np.argmax(height > 2.0))
        assert np.abs(place[:up, 1]).max() < 2.5, f"lane {lane}: beside the runway"  # m
        assert np.degrees(np.abs(euler[:up, 0])).max() < 16.0  # the wing tip touches at 12 with both wheels down
        down = int(np.flatnonzero(height > 1.0)[-1])
        assert np.abs(place[down:, 1] - 40.0).max() < 4.0 and log.lane("crash.impact_speed", lane).max() < 2.0
        assert load[-1] > 80.0  # N of 108, in wind: it stands on its wheels
        assert log.lane("battery.remaining", lane)[-1] < 0.99  # it has one


def test_before_the_start_and_after_the_landing_it_stands_still() -> None:
    log = flown()
    for lane in range(2, LANES):
        begin = run_of(lane).start
        assert (
            np.linalg.norm(log.lane("body.p_NB_N", lane)[:begin, :2], axis=1).max() < 0.02
        )  # m, with wind from any side


def test_take_off_without_airspeed_is_rejected_on_the_runway() -> None:
    log = flown()
    stop = log.stops[BLOCKED]
    assert stop is not None and stop.reason == "landed before the end of the mission"
    place = log.lane("body.p_NB_N", BLOCKED)
    assert -place[:, 2].min() < 0.5 and 300.0 < place[-1, 0] < 500.0  # m: braked behind the longest run
    assert np.abs(place[:, 1]).max() < 2.0


def test_autopilots_outside_refuse_wheels_in_words() -> None:
    vehicle = load_vehicle("aerosonde_wheels", control="external")
    for refuses in (lambda: airframe_of(vehicle), lambda: wire(vehicle.spec)):
        with pytest.raises(LinkError, match=r"'aerosonde_wheels' takes off on wheels"):
            refuses()


def test_wheeled_vehicle_hears_commands() -> None:
    inputs = load_vehicle("aerosonde_wheels", control="commanded").diagram.exports
    assert "command" in inputs and "stick" in inputs


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("[contact.wheels]\npoints = [1, 2, 9]\n", r"wheels\.points names \[9\]"),
        ("[contact.wheels]\nsteered = [4]\n", r"name \[4\]"),
        ("[contact.wheels]\nsteered = [2]\nbraked = [1, 3]\n", "must be a nose wheel"),
    ],
)
def test_wheels_that_do_not_fit_are_refused(tmp_path: Path, change: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'schema = 1\nid = "mine"\nbase = "aerosonde_wheels"\n{change}')
    with pytest.raises(VehicleError, match=words):
        load_spec(path)


def test_runway_needs_wheels(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('schema = 1\nid = "mine"\nbase = "aerosonde"\n[runway]\nrotate_speed_mps = 18.0\n')
    with pytest.raises(VehicleError, match="belong together"):
        load_spec(path)
