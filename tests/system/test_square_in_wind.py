"""Navigator and controller fly the square mission in wind with turbulence: every F450 file, eight seeds each."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle

LANES = 8
VEHICLES = ["quad_f450", "quad_f450_coptersim", "quad_f450_mpsoc"]
CORNERS = np.array([[0, 0, -10], [20, 0, -10], [20, 20, -10], [0, 20, -10], [0, 0, -10]], float)


@functools.cache
def flown(vehicle: str) -> Log:
    model = compile_model(load_vehicle(vehicle, control="truth").diagram)
    mission = load_mission("square")
    state = start(model, lanes=LANES, seed=100)
    settings = {
        **mission.params(model.flat.p.signals["navigator.table"].columns),
        **Weather(speed_mps=5.0, from_deg=240.0, turbulence_mps=7.7).params(),  # light turbulence of [MIL8785C]
    }
    for path, value in settings.items():
        state.set_param(path, value)
    signals = ["body.p_NB_N", "body.R_NB", "crash", "navigator", "wind/turbulence.wind_N", "battery.remaining"]
    return run(state, mission.longest_s(5.0), log=signals, log_s=0.05)


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_every_seed_completes_the_mission_without_a_crash(vehicle: str) -> None:
    log = flown(vehicle)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_every_corner_is_reached_in_order_and_the_landing_is_soft(vehicle: str) -> None:
    log = flown(vehicle)

    for lane in range(LANES):
        p = log.lane("body.p_NB_N", lane)
        reached = 0
        for corner in CORNERS:
            near = np.linalg.norm(p[reached:] - corner, axis=1) < 1.0  # m: what counts as there
            assert near.any()
            reached += int(np.argmax(near))
        assert np.linalg.norm(p[-1, :2]) < 1.5  # m: landed at the take-off point
        assert log.lane("crash.impact_speed", lane)[-1] < 1.5  # m/s
        tilt = np.degrees(np.arccos(np.clip(log.lane("body.R_NB", lane)[:, 8], -1, 1)))
        assert tilt.max() < 36.0  # degrees: 35 commanded at most
        assert tilt[-10:].max() < 15.0  # degrees: it stands, or leans into the wind on two feet


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_every_seed_meets_other_turbulence_of_the_right_strength(vehicle: str) -> None:
    log = flown(vehicle)

    gusts = [log.lane("wind/turbulence.wind_N", lane) for lane in range(LANES)]
    assert len({tuple(g[5]) for g in gusts}) == LANES
    down = np.concatenate([g[:, 2] for g in gusts])
    assert 0.6 < down.std() / 0.77 < 1.4  # sigma_w = 0.1 W20; eight lanes of some twenty correlation times
