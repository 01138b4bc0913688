"""Preparation: what an order sets is set in its lane, whatever the other lanes order, and models follow their files."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.errors import ModelError
from ironbird.flight.flight import fly
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import fit, model_of, prepare
from ironbird.rig.system import FunctionSystem
from ironbird.runtime.step import run
from ironbird.vehicles.load import file_stamp
from ironbird.vehicles.names import CATALOG
from ironbird.vehicles.templates.multicopter import MulticopterSpec

WIND = "wind/steady.velocity_N"
UPDRAFT = f"{WIND}[2]"


@pytest.mark.parametrize("speeds", [(0.0, 5.0), (5.0, 0.0), (0.0, 0.0), (5.0, 5.0, 0.0)])
def test_a_setting_of_one_entry_is_there_in_every_lane_whatever_the_others_order(speeds: tuple[float, ...]) -> None:
    order = make_order("quad_f450", control="truth", mission="hover", settings={UPDRAFT: -1.5})
    model = model_of(order)

    state = prepare(model, [replace(order, weather=Weather(speed, 180.0)) for speed in speeds])

    rows = model.param_rows(WIND)
    for lane, speed in enumerate(speeds):
        block, place = divmod(lane, state.width)
        assert state.params[block, rows, place] == pytest.approx(
            [speed, 0.0, -1.5], abs=1e-12
        )  # of the sine of 180 degrees


def test_orders_follow_a_file_that_their_vehicle_is_based_on(tmp_path: Path) -> None:
    base, own = tmp_path / "base.toml", tmp_path / "own.toml"
    shutil.copy(CATALOG / "quad_f450.toml", base)
    own.write_text('schema = 1\nbase = "base.toml"\nid = "own"\ntitle = "Own"\n')
    order = make_order(own, control="truth", mission="hover")
    digest, light, stamp = order.digest(), fit(order), file_stamp(own)
    assert fit(order) is light and [Path(name).name for name, _ in stamp] == ["own.toml", "base.toml"]

    base.write_text(base.read_text().replace("mass_kg = 1.4", "mass_kg = 1.41"))
    os.utime(base, ns=(0, dict(stamp)[str(base)] + 10**9))  # whatever the clock of the file system counts in

    heavy = fit(order).vehicle.spec
    assert order.digest() != digest and file_stamp(own) != stamp
    assert isinstance(heavy, MulticopterSpec) and heavy.body.mass_kg == 1.41


def test_a_setting_of_our_navigator_is_refused_under_a_control_system_outside() -> None:
    with pytest.raises(ModelError, match=r"vehicle 'quad_f450': unknown parameter 'navigator.cruise_speed'; did you"):
        fly(
            "quad_f450",
            control=FunctionSystem(lambda rig: None),
            settings={"navigator.cruise_speed": 2.0},
            until_s=0.1,
        )


def test_each_lane_has_its_own_seed_and_its_own_faults() -> None:
    order = make_order(
        "quad_f450", control="truth", mission="hover", faults=["wind.steady@1:axis=1,severity=0.5,start=3"]
    )
    model = model_of(order)

    state = prepare(model, [replace(order, seed=5), replace(order, seed=2**63 - 1, faults=())])

    assert [int(seed) for seed in state.seeds.reshape(-1)[:2]] == [5, 2**63 - 1]
    (event,), rest = state.events
    assert rest == [] and (event.param, event.value, event.start_s) == (f"{WIND}[1]", 10.0, 3.0)  # half of 20 m/s


def test_a_fault_of_one_axis_leaves_the_others_as_they_were() -> None:
    order = make_order(
        "quad_f450", control="truth", mission="hover", until_s=0.5, log_s=0.1,
        faults=["wind.steady@1:axis=1,severity=0.5,start=0.2", "wind.steady@1:severity=0.1,start=0.3"],
    )  # fmt: skip

    wind = fly(order).log["air.wind_sum_N"]

    # East alone, then 2 m/s on every axis more
    np.testing.assert_allclose(wind, [[0, 0, 0], [0, 0, 0], [0, 10, 0], [2, 12, 2], [2, 12, 2]], atol=1e-12)


DISARMED = {"navigator.arm_time": 1e3}


def test_rotors_of_a_disarmed_vehicle_stand_and_the_gear_carries_all_of_its_weight() -> None:
    order = make_order("quad_f450", control="truth", mission="hover", settings=DISARMED)
    log = run(prepare(model_of(order), [order]), 2.0, log=["contact.load", "rotor/1/motor.speed", "gravity"], log_s=0.1)

    assert log["rotor/1/motor.speed"][-1] == 0.0  # at idle the rotors would lift 7 % of the weight
    assert abs(log["contact.load"][-1] / (1.4 * log["gravity.gravity_N"][-1][2]) - 1) < 1e-4


@pytest.mark.parametrize("slope", [(0.5, 0.0), (0.0, -0.5), (0.3, 0.3)])
def test_a_vehicle_stands_on_a_slope_at_the_start_and_stays_there(slope: tuple[float, float]) -> None:
    settings: dict[str, Any] = {**DISARMED, "terrain.plane_slope": list(slope), "terrain.base_z": -2.0}
    order = make_order("quad_f450", control="truth", mission="hover", settings=settings)
    log = run(prepare(model_of(order), [order]), 3.0, log=["body.p_NB_N", "body.R_NB", "contact.load"], log_s=0.05)

    assert log.stops[0] is None  # level, with two legs in the ground, it is thrown over within a second
    assert np.ptp(log["body.p_NB_N"], axis=0).max() < 0.01  # m: the gear settles
    up = -log["body.R_NB"][-1].reshape(3, 3, order="F")[:, 2]
    np.testing.assert_allclose(up, np.array([*slope, -1.0]) / np.sqrt(1 + slope[0] ** 2 + slope[1] ** 2), atol=0.02)


def test_filter_barometers_and_navigator_begin_where_a_raised_ground_puts_the_vehicle() -> None:
    level, raised = (
        make_order("quad_f450", control="reference", mission="hover", settings={"terrain.base_z": z})
        for z in (0.0, -30.0)
    )
    names = [
        "estimator.p_NB_N",
        "estimator.gnss_wander_N",
        "estimator.baro_bias",
        "navigator.position_set",
        "body.p_NB_N",
    ]
    low, high = (run(prepare(model_of(order), [order]), 2.5, log=names, log_s=0.5) for order in (level, raised))

    for name in ("body.p_NB_N", "estimator.p_NB_N", "navigator.position_set"):
        np.testing.assert_allclose(high[name] - low[name], [[0.0, 0.0, -30.0]] * len(low[name]), atol=0.05)
    # The step is no error of a sensor
    np.testing.assert_allclose(high["estimator.gnss_wander_N"], low["estimator.gnss_wander_N"], atol=0.05)
    np.testing.assert_allclose(high["estimator.baro_bias"], low["estimator.baro_bias"], atol=0.05)


def test_a_start_in_the_air_is_left_alone_by_the_slope() -> None:
    settings: dict[str, Any] = {"terrain.plane_slope": [0.5, 0.0], "body.p_0": [0.0, 0.0, -20.0]}
    order = make_order("quad_f450", control="truth", mission="hover", settings=settings)
    state = prepare(model_of(order), [order])

    np.testing.assert_array_equal(state.get("body.p"), [0.0, 0.0, -20.0])
    np.testing.assert_array_equal(state.get("body.q"), [1.0, 0.0, 0.0, 0.0])


def test_a_vehicle_with_one_short_leg_still_stands_on_the_slope() -> None:
    legs = [[0.3, 0.3, 0.12], [-0.3, 0.3, 0.12], [0.3, -0.3, 0.12], [-0.3, -0.3, 0.05]]
    settings: dict[str, Any] = {
        **DISARMED,
        "terrain.plane_slope": [0.1, 0.0],
        "contact.points": np.transpose(legs).tolist(),
    }
    order = make_order("quad_f450", control="truth", mission="hover", settings=settings)
    state = prepare(model_of(order), [order])
    nose_down = 2 * np.arcsin(state.get("body.q")[2])
    np.testing.assert_allclose(abs(nose_down), np.arctan(0.1), rtol=1e-6)
