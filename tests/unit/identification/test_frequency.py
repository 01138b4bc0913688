"""Sweeps give the exact linear model back; transfer functions and state-space models are fitted to their responses."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.analysis.level import level_trim
from ironbird.analysis.linear import linearize
from ironbird.analysis.spectra import (
    FrequencyResponse,
    composite_response,
    local_response,
    log_frequencies,
    window_lengths,
)
from ironbird.credibility.record import Record
from ironbird.errors import IronbirdError, RecordError, UnknownNameError
from ironbird.identification.excite import excitation
from ironbird.identification.frequency import state_space, transfer_function
from ironbird.identification.output_error import identify
from ironbird.identification.virtual import CONTROL_S, excited_flight, with_noise

STILL = {"wakes.vortex_ring": 0.0, "wakes.ground_effect": 0.0}
ROTORS = (1, 2, 3, 4)
SIGNS = np.array([1.0, -1.0, 1.0, -1.0]) / np.sqrt(2)  # front right, rear left, front left, rear right
BAND = (0.5, 30.0)
LINK_S = 0.004


@functools.cache
def swept(rig: str) -> Record:
    # small: damping and drag grow with the square, and the linear model has none of them
    sweep = excitation("sweep", amplitude=0.015, duration_s=90.0, band_radps=(0.4, 40.0), step_s=CONTROL_S).values
    more = np.zeros((len(sweep), 4))
    more[:, 2] = sweep
    return excited_flight("quad_f450", more, noise={}, params=STILL, rig=rig)


def command_and_answer(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """About the pitch axis; links take a command up 4 ms after it was given, and then hold it."""
    time_s = record.track("pitch_rate").time_s
    held = [s * record.track(f"motor_{n}").held(time_s + 0.005) for n, s in zip(ROTORS, SIGNS, strict=True)]
    return np.sum(held, axis=0), record.track("pitch_rate").at(time_s)


def of_sampling(w: np.ndarray) -> np.ndarray:
    """A command is held for a control step and taken up one step of the link later."""
    return np.asarray(np.exp(-1j * w * (CONTROL_S / 2 + LINK_S)) * np.sinc(w * CONTROL_S / 2 / np.pi))


@functools.cache
def exact(w: tuple[float, ...]) -> np.ndarray:
    """The model's own derivatives about hover, from the commands about pitch to the pitch rate."""
    point = level_trim("quad_f450", 0.0)
    links = [f"rotor/{n}/command_fault.value" for n in ROTORS]
    linear = linearize(point.model, point.point, inputs=links, outputs=["body.w_NB_B"])
    found = []
    for one in w:
        by_rotor = linear.C @ np.linalg.solve(1j * one * np.eye(len(linear.A)) - linear.A, linear.B) + linear.D
        found.append((by_rotor[1] @ SIGNS) / (SIGNS @ SIGNS))
    return np.array(found)


def beyond(found: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Largest error in decibels and degrees."""
    ratio = found / wanted
    return float(np.max(np.abs(20 * np.log10(np.abs(ratio))))), float(np.max(np.abs(np.degrees(np.angle(ratio)))))


@pytest.mark.parametrize("rig", ["", "pitch"])
def test_a_sweep_recovers_the_exact_linear_model_within_one_decibel_and_five_degrees(rig: str) -> None:
    command, answer = command_and_answer(swept(rig))
    w = log_frequencies(BAND, 20)

    found = local_response(command, answer, CONTROL_S, w)

    decibels, degrees = beyond(found.response, exact(tuple(w)) * of_sampling(w))
    assert decibels < 1.0 and degrees < 5.0
    assert np.min(found.coherence) > 0.98


def test_composite_windows_agree_where_windows_hold_enough_periods() -> None:
    command, answer = command_and_answer(swept(""))
    w = log_frequencies((0.8, 30.0), 20)

    found = composite_response(command, answer, CONTROL_S, window_lengths(BAND, len(command) * CONTROL_S), w)

    decibels, degrees = beyond(found.response, exact(tuple(w)) * of_sampling(w))
    assert decibels < 1.0 and degrees < 5.0


def test_noise_shows_in_coherence_and_the_random_error_is_that_of_repeats() -> None:
    w = log_frequencies((2.0, 20.0), 6)
    found = [
        local_response(*command_and_answer(with_noise(swept(""), {"pitch_rate": 0.02}, seed)), CONTROL_S, w)
        for seed in range(60)
    ]

    spread = np.std([np.abs(f.response) for f in found], axis=0) / np.abs(found[0].response)
    said = np.sqrt(np.mean([f.random_error**2 for f in found], axis=0))
    assert np.all((spread / said > 0.6) & (spread / said < 1.6)), spread / said
    assert np.mean(found[0].coherence) < np.mean(local_response(*command_and_answer(swept("")), CONTROL_S, w).coherence)
    with pytest.raises(IronbirdError, match="covers"):
        local_response(np.zeros(1000), np.zeros(1000), 0.01, np.array([0.01, 1.0]))


def test_a_transfer_function_is_fitted_with_its_delay() -> None:
    w = log_frequencies(BAND, 20)
    s = 1j * w
    truth = 40.0 * (s + 2) / (s**2 + 3 * s + 50) * np.exp(-0.03 * s)
    measured = FrequencyResponse(w, truth, np.ones(20), np.zeros(20))

    fit = transfer_function(measured, 1, 2)

    assert dict(zip(fit.names, fit.values, strict=True)) == pytest.approx(
        {"b0": 80.0, "b1": 40.0, "a0": 50.0, "a1": 3.0, "delay": 0.03}, rel=1e-4
    )
    assert fit.cost < 1e-6 and fit.doubts() == []
    with pytest.raises(RecordError, match="poles"):
        transfer_function(measured, 3, 2)
    with pytest.raises(RecordError, match="coherence"):
        transfer_function(FrequencyResponse(w, truth, np.full(20, 0.1), np.zeros(20)), 1, 2)


def test_the_rig_tells_the_motor_time_and_the_turning_moment_by_a_state_space_fit() -> None:
    record = with_noise(swept("pitch"), {"pitch_rate": 0.005}, 1)
    w = log_frequencies((1.0, 30.0), 20)
    measured = local_response(*command_and_answer(record), CONTROL_S, w)

    def matrices(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        moment, motor_s, damping = theta  # rotors that turn with the frame damp it; the motors' speed lags
        a = np.array([[-damping, moment], [0.0, -1 / motor_s]])
        held_s = CONTROL_S / 2 + LINK_S
        return a, np.array([[0.0], [1 / motor_s]]), np.array([[1.0, 0.0]]), np.zeros((1, 1)), held_s

    fit = state_space(matrices, ["moment", "motor_time", "damping"], np.array([50.0, 0.03, 1.0]), [(0, 0, measured)])

    # moment by the file's numbers: 4 rotors of k w^2 at hover, arm along x, over the inertia, for a unit of command
    k, slope, hover, inertia, arm = 9.286e-6, 691.33, 608.0, 0.01704, 0.225 / np.sqrt(2)
    expected = 4 * 2 * k * hover * slope * arm / inertia / (2 * np.sqrt(2))
    assert fit.values[0] == pytest.approx(expected, rel=0.06)
    assert fit.values[1] == pytest.approx(0.0119, abs=0.0015)
    assert fit.cost < 5.0 and "moment" not in fit.doubts()


def test_the_rig_gives_the_inertia_back_within_its_bounds() -> None:
    record = with_noise(swept("pitch"), seed=2)

    found = identify(
        record, "quad_f450", ["inertia_y"], signals=["pitch", "pitch_rate"], continuous=False, piece_s=1.0,
        window_s=(60.0, 75.0), params={"battery.resistance": 0.0, **STILL},
    )  # fmt: skip

    (inertia,) = found.estimates
    assert abs(inertia.value - inertia.before) < 3.5 * inertia.sigma and inertia.relative < 0.02
    with pytest.raises(UnknownNameError, match="axis"):
        excited_flight("quad_f450", np.zeros((5, 4)), rig="up")
