"""Satellite receiver: timing, latency, errors, jamming and spoofing; geodesy against pymap3d."""

from __future__ import annotations

import functools
import math

import numpy as np
import pymap3d
import pytest
from sensing import event, follow, outputs_at, sample, sensor

from ironbird.blocks.sensors.gnss import Gnss
from ironbird.blocks.sensors.products import gnss_params
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.checks import check_block

T = 0.02
PERIOD, DELAY = 10, 4
STILL = {"p_NB_N": [0.0, 0.0, -10.0], "v_NB_N": 0.0}


@functools.cache
def receiver() -> CompiledModel:
    return sensor(Gnss, sample_s=T, period_samples=PERIOD, delay_samples=DELAY)


@functools.cache
def fast() -> CompiledModel:
    return sensor(Gnss, sample_s=0.1, period_samples=1, delay_samples=0)


def test_passes_the_public_check() -> None:
    check_block(Gnss(sample_s=0.01), params=gnss_params("ublox_m8n"))


def test_times_follow_from_the_samples() -> None:
    block = Gnss(sample_s=0.1, period_samples=2, delay_samples=1)
    assert block.period_s == 0.2 and block.latency_s == 0.1


def test_fix_comes_at_its_period_and_shows_where_the_antenna_was() -> None:
    samples = 60
    time = np.arange(samples) * T
    position = np.column_stack([3 * time, -2 * time, np.sin(time)])
    velocity = np.column_stack([np.full(samples, 3.0), np.full(samples, -2.0), np.cos(time)])

    found = follow(receiver(), {"p_NB_N": position, "v_NB_N": velocity})

    last = np.arange(samples) // PERIOD * PERIOD  # sample of the latest fix
    seen = np.maximum(last - DELAY, 0)
    np.testing.assert_array_equal(found["position_N"], position[seen])
    np.testing.assert_array_equal(found["velocity_N"], velocity[seen])
    np.testing.assert_array_equal(found["position_truth_N"], position[last])
    np.testing.assert_allclose(found["stamp"], last * T, atol=1e-15)
    assert (found["fix_type"] == 3).all() and (found["satellites_used"] == 14).all()


def test_antenna_on_an_arm_moves_with_the_body() -> None:
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # yaw 90 degrees
    inputs = {"p_NB_N": [1.0, 2.0, 3.0], "v_NB_N": [4.0, 5.0, 6.0], "R_NB": turn[None], "w_NB_B": [0.0, 0.0, 2.0]}

    found = outputs_at(fast(), inputs, {"antenna": [0.5, 0.0, -0.1]})

    np.testing.assert_allclose(found["position_N"][0], [1.0, 2.5, 2.9], rtol=1e-15)
    np.testing.assert_allclose(
        found["velocity_N"][0], [3.0, 5.0, 6.0], rtol=1e-15
    )  # w x r points to -north after the turn


def test_measured_latitude_and_longitude_are_those_of_the_measured_position() -> None:
    lat, lon, h = 0.7, 2.03, 120.0
    inputs = {**STILL, "latitude_body": lat, "longitude_body": lon, "height_body": h}

    log = sample(fast(), 50, inputs, {"noise_horizontal": 20.0, "noise_vertical": 30.0})

    away = log["block.position_N"] - STILL["p_NB_N"]
    exact = pymap3d.ned2geodetic(*away.T, lat, lon, h, deg=False)
    reach = np.linalg.norm(away, axis=1).max()
    second = reach**2 / 6.36e6**2  # second order in distance over the earth's radius is left out
    np.testing.assert_allclose(log["block.latitude"], exact[0], rtol=0, atol=(1 + math.tan(lat)) * second)
    np.testing.assert_allclose(
        log["block.longitude"], exact[1], rtol=0, atol=(1 + math.tan(lat)) * second / math.cos(lat)
    )
    np.testing.assert_allclose(log["block.height"], exact[2], rtol=0, atol=reach**2 / 6.36e6)


# ---------------------------------------------------------------------- errors


def test_white_errors_have_their_deviations_and_the_receiver_states_them() -> None:
    params = {
        "noise_horizontal": 0.5, "noise_vertical": 1.0, "noise_speed_horizontal": 0.05, "noise_speed_vertical": 0.1,
    }  # fmt: skip
    log = sample(fast(), 10_000, STILL, params)

    np.testing.assert_allclose(log["block.position_N"].std(axis=0), [0.5, 0.5, 1.0], rtol=0.03)  # 0.7 % one deviation
    np.testing.assert_allclose(log["block.velocity_N"].std(axis=0), [0.05, 0.05, 0.1], rtol=0.03)
    assert log["block.eph"][0] == pytest.approx(0.5) and log["block.epv"][0] == pytest.approx(1.0)
    assert log["block.speed_accuracy"][0] == pytest.approx(math.sqrt(2 * 0.05**2 + 0.1**2))


def test_correlated_error_is_steady_from_the_start_and_fades_with_its_time() -> None:
    params = {"wander_horizontal": 2.0, "wander_vertical": 3.0, "correlation_time": 5.0}
    log = sample(fast(), 60, STILL, params, lanes=1600)

    error = log.all_lanes("block.position_N") - STILL["p_NB_N"]
    for k in (0, 1, 59):
        np.testing.assert_allclose(error[:, k].std(axis=0), [2.0, 2.0, 3.0], rtol=0.08)  # 1.8 % one deviation
    correlation = np.mean(error[:, 5, :2] * error[:, 55, :2]) / 4.0
    assert abs(correlation - math.exp(-1.0)) < 0.08  # 3200 products


# ---------------------------------------------------------------------- faults


def test_jamming_takes_satellites_accuracy_and_at_last_the_fix() -> None:
    params = {"noise_horizontal": 1.0, "satellites": 12.0}
    events = [event("jamming", 0.5, 5.0, 10.0), event("jamming", 1.0, 10.0, 15.0)]
    moving = {
        "p_NB_N": np.column_stack([np.arange(200) * 0.1, np.zeros(200), np.zeros(200)]),
        "v_NB_N": np.ones((200, 3)),
    }

    found = follow(fast(), moving, params, events=events)

    clear, half, dead, again = slice(0, 50), slice(50, 100), slice(100, 150), slice(150, 200)
    assert (found["satellites_used"][half] == 6).all() and (found["eph"][half] == 2.0).all()
    assert (found["fix_type"][half] == 3).all()
    assert found["position_N"][half, 1].std() > 1.3 * found["position_N"][clear, 1].std()
    assert (found["satellites_used"][dead] == 0).all() and (found["fix_type"][dead] == 0).all()
    np.testing.assert_array_equal(found["position_N"][dead], np.tile(found["position_N"][99], (50, 1)))
    assert (found["eph"][dead] > 100).all()
    assert (np.diff(found["stamp"]) > 0).all()  # messages go on
    assert (found["fix_type"][again] == 3).all() and (found["eph"][again] == 1.0).all()
    assert (np.abs(found["position_N"][again, 0] - moving["p_NB_N"][again, 0]) < 5.0).all()


def test_too_few_satellites_are_no_fix() -> None:
    found = outputs_at(fast(), STILL, {"satellites": [3.0, 4.0]})
    np.testing.assert_array_equal(found["fix_type"], [0.0, 3.0])


def test_spoofing_drags_the_position_off_and_lets_go_at_once() -> None:
    events = [event("spoof_velocity_N[1]", 2.0, 2.0, 6.0), event("spoof_velocity_N[1]", 2.0, 8.0)]

    found = follow(fast(), {"p_NB_N": np.zeros((100, 3)), "v_NB_N": np.zeros((100, 3))}, events=events)

    k = np.arange(100)
    pulled = np.where((k >= 20) & (k < 60), 0.2 * (k - 20), np.where(k >= 80, 0.2 * (k - 80), 0.0))
    np.testing.assert_allclose(found["position_N"][:, 1], pulled, atol=1e-12)
    np.testing.assert_array_equal(found["velocity_N"][:, 1], np.where(((k >= 20) & (k < 60)) | (k >= 80), 2.0, 0.0))
    assert not found["position_N"][:, [0, 2]].any()


def test_half_of_the_velocity_error_is_correlated_over_seconds_and_its_deviation_stays() -> None:
    params = {"noise_speed_horizontal": 0.1, "noise_speed_vertical": 0.2, "speed_correlated": 0.5}
    log = sample(fast(), 30_000, STILL, params)
    error = log["block.velocity_N"]

    np.testing.assert_allclose(error.std(axis=0), [0.1, 0.1, 0.2], rtol=0.05)  # 1,500 correlation times
    for lag_s in (0.1, 1.0, 4.0):
        lag = round(lag_s / 0.1)
        expected = 0.5 * math.exp(-lag_s / 2.0)
        for axis in error.T:
            assert abs(np.corrcoef(axis[:-lag], axis[lag:])[0, 1] - expected) < 0.06


def test_tilt_and_horizon_take_their_share_of_the_sky() -> None:
    c, s = math.cos(math.radians(60)), math.sin(math.radians(60))
    tilted = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    params = {"satellites": 18.0, "noise_horizontal": 1.0}

    free = outputs_at(fast(), {**STILL, "R_NB": tilted[None]}, params)
    lune = outputs_at(fast(), {**STILL, "R_NB": tilted[None]}, {**params, "masking": 1.0})
    street = outputs_at(fast(), STILL, {**params, "mask_elevation": math.radians(30)})

    assert free["satellites_used"][0] == 18 and free["eph"][0] == 1.0
    assert lune["satellites_used"][0] == 12 and abs(lune["eph"][0] - math.sqrt(18 / 12)) < 1e-12  # 60 of 180 degrees
    assert street["satellites_used"][0] == 9 and abs(street["eph"][0] - math.sqrt(2)) < 1e-12  # a zone of half the sky
