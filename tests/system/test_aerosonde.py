"""The Aerosonde: trims and modes against published and independently computed figures, and its mission in wind."""

from __future__ import annotations

import functools

import bare_wings as wings
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ironbird.analysis.linear import linearize
from ironbird.analysis.operating_point import OperatingPoint, operating_point
from ironbird.analysis.trim import trim
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import ModelError
from ironbird.flight.flight import fly
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.model.signal import Number
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.fixed_wing import SURFACES, FixedWingSpec

LANES = 20
DENSITY, GRAVITY = 1.2682, 9.81  # of the published figures
INPUTS = (*SURFACES, "throttle")

# Computed by an independent script that meets the printed numbers of [BeardMcLain] chap4_check.py to all digits:
# CD_p, airspeed -> angle of attack, roll, elevator, aileron, rudder, throttle, thrust (N), torque (N m)
TRIMS = {
    (0.0, 25.0): (
        0.05010699884095731, -0.0001661549229597053, -0.12504361295376062, 0.0018374813676056239,
        -0.0002929318122269835, 0.6767758132215739, 0.9542510698293675, 0.19671267829555808,
    ),
    (0.0, 35.0): (
        0.003962681533693641, -0.0002753295121262232, 0.002668942017858001, 0.0015554227021784325,
        -0.00024796593802844566, 0.9384284904061289, 0.6459858658492473, 0.32637276611454663,
    ),
    (0.043, 25.0): (
        0.049700304689649824, -0.00053550974171303, -0.12391801499963692, 0.00592223871499442,
        -0.0009441250125353422, 0.7735075535184118, 10.330144986508133, 0.6340088447537574,
    ),
}  # fmt: skip
# Longitudinal (short period, phugoid) and lateral (roll, Dutch roll, spiral) eigenvalues by the same script
MODES = {
    (0.0, 25.0): (
        (-4.877712129062582 + 9.869012934813036j, -0.10493833112114315 + 0.48927191723865954j),
        (-22.44116038970582, -1.1407560854912377 + 4.65506147637137j, 0.08939463133357715),
    ),
    (0.0, 35.0): (
        (-6.821724076699205 + 13.815499404195073j, -0.14583542315624037 + 0.3288022323231506j),
        (-31.665624597675222, -1.4376530155386225 + 6.411978326662992j, 0.05434152765509093),
    ),
    (0.043, 25.0): (
        (-4.894768413040113 + 9.869687483051413j, -0.14262553220937627 + 0.47801898655324554j),
        (-22.44308924826429, -1.1397189683891331 + 4.655280704886066j, 0.089249255605556),
    ),
}


@functools.cache
def airframe() -> CompiledModel:
    spec = load_spec("aerosonde")
    assert isinstance(spec, FixedWingSpec)
    return wings.airframe(spec)


CONSTANT: dict[str, Number] = {"wing_density": DENSITY, "propeller_density": DENSITY, "gravity": [0.0, 0.0, GRAVITY]}


@functools.cache
def trimmed(parasitic_drag: float, airspeed: float) -> OperatingPoint:
    return trim(
        airframe(), inputs=INPUTS, hold={"body.p": [0.0, 0.0, -100.0]}, moving=["body.p"],
        require={
            "air.airspeed": airspeed, "body.v_NB_B": [np.nan, 0.0, np.nan], "body.v_NB_N": [np.nan, np.nan, 0.0],
            "body.euler": [np.nan, np.nan, 0.0],
        },
        guess={"body.v": [airspeed, 0.0, 1.0], "throttle": 0.7, **CONSTANT}, params={"wing.CD_p": parasitic_drag},
    )  # fmt: skip


@pytest.mark.parametrize("case", list(TRIMS))
def test_trim_is_the_independently_computed_one(case: tuple[float, float]) -> None:
    point = trimmed(*case)

    found = [
        point["wing.alpha"], point["body.euler"][:1], point["elevator"], point["aileron"], point["rudder"],
        point["throttle"], point["rotor/1/propeller.thrust"], point["rotor/1/propeller.torque"],
    ]  # fmt: skip
    np.testing.assert_allclose(np.concatenate(found), TRIMS[case], rtol=2e-7, atol=2e-9)  # residuals of two solvers


def test_trim_at_35_mps_with_parasitic_drag_needs_more_than_full_throttle() -> None:
    with pytest.raises(ModelError, match=r"no trim found"):
        trimmed(0.043, 35.0)


@pytest.mark.parametrize("case", list(MODES))
def test_modes_are_the_independently_computed_ones(case: tuple[float, float]) -> None:
    lon, lat = wings.longitudinal_and_lateral(linearize(airframe(), trimmed(*case), outputs=["body.euler"]))

    for A, expected in zip((lon, lat), MODES[case], strict=True):
        values = np.linalg.eigvals(A)
        for mode in expected:
            assert np.abs(values - mode).min() < 1e-8, f"{mode}: {values}"  # 1/s: follows from the trim's


def test_derivatives_and_linear_model_have_the_printed_digits() -> None:
    # [BeardMcLain] chap5_check.py: state derivatives, and A and B by forward differences of 0.01, at its rounded trim
    x_0 = np.array([24.968743, 0, 1.249755, 0, 0.0500111928, 0, 0, 0, 0])  # u v w, roll pitch yaw, p q r
    u_0 = np.array([0.001836, -0.124778, -0.000303, 0.676752])
    point = operating_point(airframe(), {"wing.CD_p": 0.0})

    def rates(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        q = Rotation.from_euler("ZYX", x[5:2:-1]).as_quat()
        values = dict(zip(INPUTS, u, strict=True))
        for path, value in {"body.v": x[:3], "body.q": q[[3, 0, 1, 2]], "body.w": x[6:], **values, **CONSTANT}.items():
            point.set(path, value)
        return point.rates()[[3, 4, 5, 10, 11, 12]]

    here = rates(x_0, u_0)
    A = np.array([(rates(x_0 + 0.01 * e, u_0) - here) / 0.01 for e in np.eye(9)]).T
    B = np.array([(rates(x_0, u_0 + 0.01 * e) - here) / 0.01 for e in np.eye(4)]).T
    printed = [-5.12768098e-04, 1.58782607e-03, 9.98742522e-03, -4.98388573e-05, -1.47473075e-06, 2.51707628e-04]
    np.testing.assert_allclose(here, printed, rtol=0, atol=6e-10)  # pitch to 5e-11 rad, times 9.81 m/s^2
    printed_lon = [
        [-0.20676658, 0.50039026, -1.21983882, -9.79511927],
        [-0.56064206, -4.46393561, 24.37105023, -0.53938541],
        [0.19993539, -3.99297865, -5.29473836, 0.0],
    ]
    lon, lat = [0, 2, 4], [1, 3, 5]
    np.testing.assert_allclose(A[np.ix_(lon, [0, 2, 7, 4])], printed_lon, rtol=0, atol=6e-9)  # last printed digit
    printed_lat = [[1.24975500, -24.9687430, 9.79757127], [-22.6288510, 10.9050409, 0], [-0.115091678, -1.22765475, 0]]
    np.testing.assert_allclose(A[np.ix_(lat, [6, 8, 3])], printed_lat, rtol=6e-9, atol=1e-12)
    # The column of v differs in the seventh digit: their sideslip is asin(v / sqrt(u^2 + w^2)), see test_wing.py
    np.testing.assert_allclose(A[lat, 1], [-0.776772629, -3.86671935, 0.783077145], rtol=1e-6)
    printed_elevator, printed_throttle = [-0.13840016, -2.58618345, -36.11239041], [8.20722086, 0.0, 0.0]
    np.testing.assert_allclose(B[lon, 1], printed_elevator, rtol=0, atol=6e-9)
    np.testing.assert_allclose(B[lon, 3], printed_throttle, rtol=0, atol=6e-9)
    np.testing.assert_allclose(
        B[np.ix_(lat, [0, 2])],
        [[1.48617191, 3.76496884], [130.88368125, -1.79637441], [5.01173513, -24.88134191]], rtol=0, atol=6e-9,
    )  # fmt: skip


def test_vehicle_starts_in_the_trim_of_its_file() -> None:
    model = compile_model(load_vehicle("aerosonde", control="truth").diagram)
    commands = [f"surface/{name}/command_fault.value" for name in SURFACES]
    point = trim(
        model, inputs=[*commands, "rotor/1/command_fault.value"], hold={"body.p": [0.0, 0.0, -100.0]},
        moving=["body.p"], guess={"rotor/1/command_fault.value": 0.7},
        require={
            "air.airspeed": 25.0, "body.v_NB_B": [np.nan, 0.0, np.nan], "body.v_NB_N": [np.nan, 0.0, 0.0],
        },
    )  # fmt: skip

    begin = operating_point(model)
    np.testing.assert_allclose(begin["body.v"], point["body.v"], rtol=0, atol=2e-5)  # m/s: six digits in the file
    np.testing.assert_allclose(begin["body.q"], point["body.q"], rtol=0, atol=1e-6)
    for name in SURFACES:
        angle = f"surface/{name}/servo.angle"
        np.testing.assert_allclose(begin[angle], point[angle], rtol=0, atol=1e-6)
    np.testing.assert_allclose(begin["control.throttle"], point["rotor/1/command_fault.value"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(begin["control.elevator"], point[commands[1]], rtol=0, atol=1e-5)
    np.testing.assert_allclose(begin["control.aileron"], point[commands[0]], rtol=0, atol=1e-3)  # gain times the roll


@functools.cache
def flown() -> Log:
    model = compile_model(load_vehicle("aerosonde", control="truth").diagram)
    mission = load_mission("circuit")
    state = start(model, lanes=LANES, seed=100)
    settings = {
        **mission.params(model.flat.p.signals["navigator.table"].columns),
        **Weather(speed_mps=5.0, from_deg=240.0, turbulence_mps=7.7).params(),  # light turbulence of [MIL8785C]
    }
    for path, value in settings.items():
        state.set_param(path, value)
    signals = ["body.p_NB_N", "body.euler", "navigator", "air.airspeed", "wing.alpha", "control.path_error"]
    return run(state, mission.longest_s(25.0), log=signals, log_s=0.1)


def test_every_seed_completes_the_circuit_without_a_crash() -> None:
    log = flown()

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        assert np.array_equal(np.unique(log.lane("navigator.item", lane)), [0, 1, 2, 3])
        assert np.degrees(np.abs(log.lane("body.euler", lane)[:, 0])).max() < 52  # 45 commanded
        assert np.degrees(log.lane("wing.alpha", lane)).max() < 14  # the start in wind; the stall is at 27


def test_every_seed_stays_near_path_height_and_airspeed() -> None:
    log = flown()

    settled, heights, speeds, errors = [], [], [], []
    for lane in range(LANES):
        height = -log.lane("body.p_NB_N", lane)[:, 2]
        part = log.lane("navigator.item", lane).ravel() + 10 * log.lane("navigator.path_kind", lane).ravel()
        begins = np.concatenate([[0], np.flatnonzero(np.diff(part)) + 1])
        rows = np.arange(len(part))
        since = rows - begins[np.searchsorted(begins, rows, "right") - 1]
        settled.append(log.lane("control.path_error", lane).ravel()[since > 120])  # 12 s after a corner
        heights.append(height - log.lane("navigator.height_set", lane).ravel())
        speeds.append(log.lane("air.airspeed", lane).ravel()[100:] - 25.0)  # after the start, which the wind upsets
        gap = log.lane("body.p_NB_N", lane) - log.lane("navigator.position_set", lane)
        errors.append(np.linalg.norm(gap, axis=1))
    for name, found, rms, most in (
        ("across the path, 12 s after corners (m)", settled, 1.5, 7.0),
        ("height (m)", heights, 2.2, 8.0),
        ("airspeed (m/s)", speeds, 0.6, 3.0),
        ("distance from the path with its corners cut (m)", errors, 10.0, 40.0),
    ):
        values = np.concatenate(found)
        assert np.sqrt(np.mean(values**2)) < rms and np.abs(values).max() < most, (
            f"{name}: {np.sqrt(np.mean(values**2)):.2f} rms, {np.abs(values).max():.2f} at most"
        )


def test_equal_seeds_give_equal_flights_and_the_summary_speaks_of_the_path() -> None:
    flights = [
        fly("aerosonde", control="truth", weather=Weather(5.0, 240.0, 7.7), seed=3, until_s=20.0) for _ in range(2)
    ]

    assert flights[0].sha256 == flights[1].sha256
    assert flights[0].survived and flights[0].outcome == "flown to the end at 20.00 s"
    assert "tracking error" in flights[0].summary()


def test_descent_and_climb_end_at_the_height_asked_for() -> None:
    place = {"north_m": 3000.0, "kind": "waypoint"}
    down = Mission.model_validate(
        {"schema": 1, "item": [{"kind": "waypoint", "height_m": 30.0, "hold_s": 60.0}, {**place, "height_m": 160.0}]}
    )
    flight = fly("aerosonde", control="truth", mission=down, until_s=150.0)

    height, time_s = -flight.log["body.p_NB_N"][:, 2], flight.log.time()
    item = flight.log["navigator.item"].ravel()
    assert flight.survived and item[-1] == 1
    assert height[item == 0].min() > 25.0  # m: little below the 30 m that were asked for
    assert np.abs(height[(item == 0) & (time_s > 50.0)] - 30.0).max() < 2.0
    assert flight.log["air.airspeed"].min() > 17.0 and flight.log["air.airspeed"].max() < 32.0  # m/s


def test_without_its_propeller_it_glides_above_the_stall_to_the_ground() -> None:
    flight = fly(
        "aerosonde", control="truth", mission="circuit", weather=Weather(5.0, 240.0, 7.7),
        faults=["rotor.blade_damage@1:severity=1,start=10"],
    )  # fmt: skip

    assert not flight.survived and flight.stop is not None and flight.stop.reason == "ground hit"
    assert flight.witnesses[0].effective
    assert flight.stop.time_s > 40.0  # s: 100 m with a glide ratio of about 10
    assert np.degrees(flight.log["wing.alpha"]).max() < 20.0  # the stall is at 27
    assert -flight.log["body.p_NB_N"][-1, 2] < 1.5  # m: the tip of a banked wing touches first


def test_hard_over_aileron_ends_in_the_ground() -> None:
    settings = {"surface/aileron/servo.override": 1.0, "surface/aileron/servo.override_command": 1.0}
    flight = fly("aerosonde", control="truth", mission="circuit", settings=settings)

    assert flight.stop is not None and flight.stop.reason == "ground hit" and flight.stop.time_s < 15.0
