"""Vehicles with rotors and wings: closed forms of hover and cruise, transitions, missions in wind, the quad-chute."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import MODES
from ironbird.blocks.controllers.vtol_navigator import ACCELERATES, BRAKES, FLIES, HOVERS
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import VehicleError
from ironbird.flight.flight import Flight, fly
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED, LANDED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing import check_vehicle
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.names import CATALOG

VEHICLES = ("vtol_standard", "vtol_tailsitter")
LANES = 20
STEP_S = {"truth": 0.001, "reference": 0.002}  # the fastest part is a motor with 12.5 ms
MASS = {"vtol_standard": 5.0, "vtol_tailsitter": 1.6}


@functools.cache
def model(vehicle: str, control: str) -> CompiledModel:
    return compile_model(load_vehicle(vehicle, control=control).diagram, step_s=STEP_S[control])


@functools.cache
def calm(vehicle: str) -> Flight:
    return fly(vehicle, control="truth")


@functools.cache
def windy(vehicle: str) -> Log:
    """Twenty seeds on sensors, in 5 m/s of wind from twenty directions with light turbulence of [MIL8785C]."""
    state = start(model(vehicle, "reference"), lanes=LANES, seed=40)
    for path, value in {**load_mission("vtol_circuit").params(16), **Weather(5.0, 0.0, 7.7).params()}.items():
        state.set_param(path, value)
    for lane in range(LANES):
        for path, value in Weather(5.0, 360.0 * lane / LANES, 7.7).params().items():
            state.set_param(path, value, lane)
    return run(state, 400.0, log=["body.p_NB_N", "body.v_NB_N", "navigator", "air.airspeed"], log_s=0.1)


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_file_and_diagram_pass_the_public_check(vehicle: str) -> None:
    check_vehicle(vehicle)
    assert load_spec(vehicle).mission == "vtol_circuit"


# ---------------------------------------------------------------------- closed forms


@pytest.mark.parametrize(
    ("vehicle", "c_T", "upward"),
    [("vtol_standard", 2e-5, 1.0), ("vtol_tailsitter", 1.54858e-5, math.cos(0.17) ** 2)],  # rotors tilted twice by 0.17
)
def test_hover_takes_the_rotor_speed_of_the_closed_form(vehicle: str, c_T: float, upward: float) -> None:
    flight = fly(vehicle, control="truth", mission="hover", until_s=30.0)

    log = flight.log
    weight = MASS[vehicle] * log["gravity.gravity_N"][-1, 2]
    density = log["atmosphere.density"][-1]
    speed = math.sqrt(weight / (4 * c_T * (density / 1.225) * upward))
    found = np.array([log[f"rotor/{n}/motor.speed"][-500:].mean() for n in (1, 2, 3, 4)])
    assert found.mean() == pytest.approx(speed, rel=2e-3)  # 783 and 511 rad/s; the air is still
    np.testing.assert_allclose(found, speed, rtol=0.01)
    if vehicle == "vtol_standard":
        assert log["rotor/5/motor.speed"].max() == 0.0


@pytest.mark.parametrize(
    ("vehicle", "slope", "a0"),
    [
        # Published: two halves and the elevator, whose own angle is -0.2; and two halves
        ("vtol_standard", 1.01 * 4.752798721, (1.0 * 0.05984281113 - 0.01 * 0.2) / 1.01),
        ("vtol_tailsitter", 0.3 * 4.752798721, 0.05984281113),
    ],
)
def test_cruise_is_flown_at_the_angle_of_attack_where_lift_is_weight(vehicle: str, slope: float, a0: float) -> None:
    log = calm(vehicle).log
    steady = (log["navigator.stage"] == FLIES) & (log["navigator.item"] == 2)
    steady[: int(np.flatnonzero(steady)[0]) + 750] = False  # 15 s after the corner
    steady &= np.abs(log["wing_control.roll_set"]) < 0.02
    assert steady.sum() > 50
    speed, pitch = log["air.airspeed"][steady].mean(), log["body.euler"][steady, 1].mean()

    pressure = 0.5 * log["atmosphere.density"][steady].mean() * speed**2
    weight = MASS[vehicle] * log["gravity.gravity_N"][-1, 2]
    assert speed == pytest.approx(15.0, abs=0.15)
    # The elevator (deflected) and thrust carry a few percent of the weight
    assert pitch == pytest.approx(weight / (pressure * slope) - a0, abs=0.006)
    panels = [path for path in log.signals if path.endswith("panel.force_B")]
    upward = -sum(log[path][steady, 2].mean() for path in panels)
    assert upward == pytest.approx(weight, rel=0.02)
    assert np.abs(log["body.p_NB_N"][steady, 2] + 40.0).max() < 0.3  # m


# ---------------------------------------------------------------------- transitions and missions


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_mission_in_still_air_goes_through_all_modes(vehicle: str) -> None:
    flight = calm(vehicle)
    mode = flight.log["navigator.mode"]
    order = [MODES[int(m)] for m in mode[np.flatnonzero(np.diff(mode, prepend=-1))]]

    assert flight.outcome.startswith(COMPLETED)
    assert order[:8] == ["disarmed", "take-off", "hover", "transition", "cruise", "back-transition", "hover", "land"]
    assert np.linalg.norm(flight.log["body.p_NB_N"][-1, :2]) < 0.5  # m from where it began
    height = -flight.log["body.p_NB_N"][:, 2]
    wings = (flight.log["navigator.stage"] == ACCELERATES) | (flight.log["navigator.stage"] == FLIES)
    assert np.abs(height[wings] - 40.0).max() < 1.5


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_twenty_seeds_complete_the_mission_in_wind(vehicle: str) -> None:
    log = windy(vehicle)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        assert log.lane("navigator.chute", lane).max() == 0.0
        cruise = log.lane("navigator.stage", lane) == FLIES
        assert log.lane("air.airspeed", lane)[cruise].min() > {"vtol_standard": 10.0, "vtol_tailsitter": 8.0}[vehicle]
    assert len({log.lane("body.p_NB_N", lane)[-1].tobytes() for lane in range(LANES)}) == LANES


@pytest.mark.parametrize(
    ("vehicle", "longest_s", "loss_m", "balloon_m"),
    [("vtol_standard", 12.0, 8.0, 8.0), ("vtol_tailsitter", 6.0, 4.0, 15.0)],
)
def test_transitions_in_wind_are_short_and_keep_their_height(
    vehicle: str, longest_s: float, loss_m: float, balloon_m: float
) -> None:
    log = windy(vehicle)

    for lane in range(LANES):
        stage, height = log.lane("navigator.stage", lane), -log.lane("body.p_NB_N", lane)[:, 2]
        transition = stage == ACCELERATES
        assert 2.0 <= 0.1 * transition.sum() < longest_s
        assert height[transition].min() > 40.0 - loss_m
        back = stage > FLIES
        assert 40.0 - loss_m - 2.0 < height[back].min() and height[back].max() < 40.0 + balloon_m
        assert 0.1 * back.sum() < 40.0


# ---------------------------------------------------------------------- what goes wrong


def test_loss_of_the_pusher_in_cruise_opens_the_quad_chute_and_the_rotors_bring_it_home() -> None:
    flight = fly(
        "vtol_standard", control="truth", weather=Weather(5.0, 270.0, 7.7), seed=2,
        faults=["rotor.floating@1:instance=5,start=15,when=mode == 'cruise'"],
    )  # fmt: skip

    log, time_s = flight.log, flight.log.time()
    chute = log["navigator.chute"] > 0.5
    height = -log["body.p_NB_N"][:, 2]
    assert flight.outcome.startswith(LANDED) and flight.survived
    lost = np.flatnonzero(log["navigator.stage"] == FLIES)[0] * 0.02 + 15.0
    assert lost < time_s[chute][0] < lost + 15.0  # the speed is used up first
    returning = chute & (log["navigator.mode"] != MODES.index("land")) & (log["navigator.mode"] > 0)
    assert height[returning].min() > 40.0 - 10.0 - 4.0  # chute_loss_m, and what it takes to catch it
    assert (log["navigator.stage"][chute & (time_s > time_s[chute][0] + 15.0)] == HOVERS).all()
    assert np.linalg.norm(log["body.p_NB_N"][-1, :2]) < 2.0


def test_transition_without_pusher_is_given_up_in_time() -> None:
    flight = fly(
        "vtol_standard", control="truth",
        faults=["rotor.blade_damage@1:instance=5,severity=1,start=0"],
    )  # fmt: skip

    log = flight.log
    assert flight.outcome.startswith(LANDED)
    assert not (log["navigator.stage"] == FLIES).any()
    assert 14.5 < 0.02 * (log["navigator.stage"] == ACCELERATES).sum() < 15.5  # transition_timeout_s
    assert (log["navigator.stage"] == BRAKES).any()


@pytest.mark.parametrize("control", ["truth", "reference"])
def test_tail_sitter_turns_about_its_upright_nose_through_every_heading(control: str) -> None:
    """At a pitch of 90 degrees roll and yaw are one: neither control nor estimator may notice."""
    yaw = math.radians(170.0)
    half = math.sqrt(0.5)
    upright = [half * math.cos(yaw / 2), -half * math.sin(yaw / 2), half * math.cos(yaw / 2), half * math.sin(yaw / 2)]
    flight = fly(
        "vtol_tailsitter", control=control, mission="hover", until_s=20.0,
        settings={"body.q_0": upright},
    )  # fmt: skip

    R = flight.log["body.R_NB"].reshape(-1, 3, 3).transpose(0, 2, 1)
    assert flight.survived
    np.testing.assert_allclose(R[0, :, 2], [math.cos(yaw), math.sin(yaw), 0.0], rtol=0, atol=1e-12)  # belly
    assert R[:, 2, 0].max() < -math.cos(math.radians(8.0))  # the nose stays up
    belly = np.unwrap(np.arctan2(R[:, 1, 2], R[:, 0, 2]))
    assert belly[-1] == pytest.approx(0.0, abs=math.radians(6.0))  # heading of the mission's start
    assert np.abs(flight.log["body.w_NB_B"]).max() < 2.5  # rad/s: 1.5 are asked for about the nose, nothing jumps


# ---------------------------------------------------------------------- grammar


@pytest.mark.parametrize(
    ("vehicle", "old", "new", "message"),
    [
        ("vtol_standard", "hover_pitch_deg = 0", "hover_pitch_deg = 90", "give either a .pusher."),
        ("vtol_tailsitter", 'aero = "fin"', 'aero = "keel"', "surface 'fin' names aero 'keel'; known: wing, fin"),
        ("vtol_standard", 'spin = "cw"\nmotor = "pusher"', 'spin = "cw"\nmotor = "x"', "the pusher names motor 'x'"),
        ("vtol_tailsitter", "[body]", '[environment]\nearth = "wgs84"\n[body]', "written for environment.earth"),
        ("vtol_tailsitter", 'axes = ["roll", "pitch"]', 'axes = ["rol"]', "axes"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused(tmp_path, vehicle: str, old: str, new: str, message: str) -> None:  # type: ignore[no-untyped-def]
    text = (CATALOG / f"{vehicle}.toml").read_text()
    assert old in text
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(VehicleError, match=message):
        load_spec(path)
