"""The plane of PX4's simulation: forces of its panels by hand, trim, mission in wind."""

from __future__ import annotations

import bare_wings as wings
import numpy as np

from ironbird.analysis.operating_point import operating_point
from ironbird.analysis.trim import trim
from ironbird.compiler.compiled import compile_model
from ironbird.flight.flight import fly
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.checks import check_vehicle
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec

LANES = 20


def test_file_starts_in_the_trim_that_its_panels_give() -> None:
    check_vehicle("px4_plane")
    spec = load_spec("px4_plane")
    assert isinstance(spec, FixedWingSpec)
    begin = operating_point(compile_model(load_vehicle("px4_plane", control="truth").diagram))
    density, gravity = float(begin["atmosphere.density"][0]), [float(g) for g in begin["gravity.gravity_N"]]
    point = trim(
        wings.airframe(spec), inputs=("aileron", "elevator", "rudder", "speed"), hold={"body.p": [0.0, 0.0, -50.0]},
        moving=["body.p"],
        require={"air.airspeed": 15.0, "body.v_NB_B": [np.nan, 0.0, np.nan], "body.v_NB_N": [np.nan, 0.0, 0.0]},
        guess={
            "body.v": [15.0, 0.0, -0.7], "speed": 840.0, "elevator": 0.05, "gravity": gravity,
            **{f"{name}_density": density for name in spec.panel},
        },
    )  # fmt: skip

    np.testing.assert_allclose(begin["body.v"], point["body.v"], rtol=0, atol=2e-5)  # m/s: six digits in the file
    np.testing.assert_allclose(begin["body.q"], point["body.q"], rtol=0, atol=1e-6)
    start_table = spec.start
    given = [start_table.aileron_rad, start_table.elevator_rad, start_table.rudder_rad, 3500 * start_table.throttle]
    found = [point[name][0] for name in ("aileron", "elevator", "rudder", "speed")]
    assert np.all(np.abs(np.subtract(given, found)) < [1e-6, 1e-6, 1e-6, 2e-3])
    # By hand, [LiftDrag] below the stall: four panels and the tail carry the weight; the body's pitch is alpha
    alpha = start_table.angle_of_attack_rad
    pressure = 0.5 * density * 15.0**2
    lift = 4 * 0.6 * pressure * 4.752798721 * (0.05984281113 + alpha)
    lift += 0.01 * pressure * (4.752798721 * (-0.2 + alpha) + 4.0 * start_table.elevator_rad)
    thrust = 8.54858e-06 * found[3] ** 2 * (1 - 15.0 * np.cos(alpha) / 25)
    disc = 8.06428e-05 * found[3] * 15.0 * np.sin(alpha)  # the rotor resists the flow across it
    np.testing.assert_allclose(lift + thrust * np.sin(alpha) + disc, 1.5 * gravity[2], rtol=2e-4)  # six digits


def test_every_seed_flies_out_and_returns_in_wind() -> None:
    model = compile_model(load_vehicle("px4_plane", control="reference").diagram)
    mission = load_mission("return")
    state = start(model, lanes=LANES, seed=100)
    wind = Weather(speed_mps=5.0, from_deg=270.0, turbulence_mps=7.7)
    for path, value in {**mission.params(16), **wind.params()}.items():
        state.set_param(path, value)
    log = run(state, 300.0, log=["body.p_NB_N", "navigator.mode", "navigator.height_set"], log_s=0.1)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        assert np.array_equal(np.unique(log.lane("navigator.mode", lane)), [0, 1, 3, 4])
        p = log.lane("body.p_NB_N", lane)
        assert np.abs(np.hypot(p[-100:, 0], p[-100:, 1]) - 60.0).max() < 15.0  # m: circles home at 60 m
        assert np.abs(-p[-100:, 2] - 60.0).max() < 6.0  # m, with the drift of barometer and GNSS


def test_it_lands_in_calm_air() -> None:
    flight = fly("px4_plane", control="truth", mission="meadow")

    assert flight.outcome.startswith(COMPLETED)
    assert np.hypot(*(flight.log["body.p_NB_N"][-1, :2] - [0.0, 20.0])) < 40.0  # m
