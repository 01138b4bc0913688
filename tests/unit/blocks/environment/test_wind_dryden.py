"""Dryden turbulence: exact sampling, variances, correlations and spectra of MIL-F-8785C, scales worked out by hand."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.signal import get_window, welch

from ironbird.blocks.environment.wind_dryden import WindDryden, _second_order
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone, outputs_at

FOOT_M = 0.3048
SPEED = 25.0
HEIGHT_M = 200 * FOOT_M
LANES = 1024


@functools.cache
def model(sample_s: float) -> CompiledModel:
    return alone(WindDryden(sample_s=sample_s), step_s=sample_s, wind_20ft=10.0)


@functools.cache
def turbulence(sample_s: float, samples: int, lanes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wind [lane, sample, axis], its deviations and time scales L / V, at one height and airspeed."""
    state = start(model(sample_s), lanes=lanes, seed=7)
    state.set_input("height_above_ground", HEIGHT_M)
    state.set_input("airspeed", SPEED)
    wind = run(state, samples * sample_s, log=["block.wind_N"], log_s=sample_s).all_lanes("block.wind_N")
    scales = outputs_at(model(sample_s), {"height_above_ground": HEIGHT_M, "airspeed": SPEED})
    return wind, scales["sigma"][0], scales["length"][0] / SPEED


# ---------------------------------------------------------------------- scales


@pytest.mark.parametrize(
    ("height_ft", "length_u_ft", "length_w_ft", "ratio_u"),
    [  # L_u = h / (0.177 + 0.000823 h)^1.2, sigma_u / sigma_w = (0.177 + 0.000823 h)^-0.4, worked out by hand
        (10.0, 75.63911, 10.0, 1.962978),  # 0.18523
        (100.0, 505.1693, 100.0, 1.715849),  # 0.2593
        (500.0, 944.6572, 500.0, 1.236236),  # 0.5885
        (1000.0, 1000.0, 1000.0, 1.0),  # 1.0 exactly
    ],
)  # fmt: skip
def test_low_altitude_scales_are_the_formulas(
    height_ft: float, length_u_ft: float, length_w_ft: float, ratio_u: float
) -> None:
    found = outputs_at(model(0.01), {"height_above_ground": height_ft * FOOT_M, "airspeed": SPEED})

    lengths = np.array([length_u_ft, length_u_ft, length_w_ft]) * FOOT_M
    np.testing.assert_allclose(found["length"][0], lengths, rtol=1e-6)  # seven digits worked out
    np.testing.assert_allclose(found["sigma"][0], [ratio_u, ratio_u, 1.0], rtol=1e-6)  # sigma_w = 0.1 W20 = 1 m/s


@pytest.mark.parametrize(
    ("height_ft", "length_ft", "sigma"),
    [(1500.0, 1375.0, 1.5), (2000.0, 1750.0, 2.0), (3000.0, 1750.0, 2.0), (30000.0, 1750.0, 2.0)],
)
def test_scales_go_over_to_those_of_medium_altitude(height_ft: float, length_ft: float, sigma: float) -> None:
    inputs = {"height_above_ground": height_ft * FOOT_M, "airspeed": SPEED}
    found = outputs_at(model(0.01), inputs, {"sigma_medium": 2.0})

    np.testing.assert_allclose(found["length"][0], length_ft * FOOT_M, rtol=1e-14)  # 1000 and 1750 ft, half and half
    np.testing.assert_allclose(found["sigma"][0], sigma, rtol=1e-14)


def test_turbulence_does_not_grow_below_ten_feet() -> None:
    found = outputs_at(model(0.01), {"height_above_ground": [-1.0, 0.0, 10 * FOOT_M], "airspeed": SPEED})

    np.testing.assert_array_equal(found["length"], np.tile(found["length"][2], (3, 1)))


# ---------------------------------------------------------------------- exact sampling


@pytest.mark.parametrize("d", [1e-5, 1e-3, 0.0199, 0.0201, 0.1, 1.0, 5.0])
def test_sample_step_is_that_of_the_continuous_filter(d: float) -> None:
    z, n = ca.SX.sym("z", 2), ca.SX.sym("n", 2)
    after = _second_order(z, ca.SX(d), n[0], n[1])
    transition, drive = (np.array(ca.DM(ca.jacobian(after, v))) for v in (z, n))

    exact = expm(np.array([[-1.0, 0.0], [1.0, -1.0]]) * d)
    np.testing.assert_allclose(transition, exact, rtol=1e-13)  # rounding
    # White noise through the two lags: impulse responses sqrt2 exp(-s) and sqrt2 s exp(-s)
    q11, q12, q22 = (
        quad(lambda s, n=n: 2 * s**n * math.exp(-2 * s), 0, d, epsabs=0, epsrel=1e-13)[0] for n in range(3)
    )
    np.testing.assert_allclose(drive @ drive.T, [[q11, q12], [q12, q22]], rtol=1e-9)  # six terms of the series


# ---------------------------------------------------------------------- statistics


@pytest.mark.parametrize("sample_s", [0.01, 0.1])
def test_variance_is_sigma_squared_from_the_first_sample_on(sample_s: float) -> None:
    lanes = 8192
    wind, sigma, _ = turbulence(sample_s, 12, lanes)

    share = wind.var(axis=0) / sigma**2  # [sample, axis]
    assert np.abs(share - 1).max() < 4.5 * math.sqrt(2 / lanes)  # 36 estimates, each with this deviation
    assert np.abs(wind.mean(axis=0) / sigma).max() < 4.5 / math.sqrt(lanes)


@pytest.mark.parametrize("sample_s", [0.02, 0.2])
def test_variance_is_right_at_any_sample_time(sample_s: float) -> None:
    samples, lanes = 1000, LANES
    wind, sigma, scale_s = turbulence(sample_s, samples, lanes)

    # Deviation of a variance from a correlated record: sqrt(2 / N), N = lanes times length over correlation time
    independent = lanes * np.maximum(1, samples * sample_s / (2 * scale_s))
    share = wind.var(axis=(0, 1)) / sigma**2
    assert np.all(np.abs(share - 1) < 4 * np.sqrt(2 / independent))


def correlation(lag: np.ndarray | float, axis: int) -> np.ndarray:
    """Of u, and of v and w: the Fourier transforms of the Dryden spectra; lag in units of L / V."""
    a = np.asarray(lag, float)
    return np.exp(-a) if axis == 0 else np.exp(-a) * (1 - a / 2)


@pytest.mark.parametrize("sample_s", [0.02, 0.2])
def test_correlation_over_time_is_drydens(sample_s: float) -> None:
    samples, lanes = 1000, LANES
    wind, sigma, scale_s = turbulence(sample_s, samples, lanes)

    for axis in range(3):
        independent = lanes * max(1.0, samples * sample_s / (2 * scale_s[axis]))
        for lag in (1, 5, 20, 60):
            x = wind[:, :, axis]
            found = np.mean(x[:, 1:-lag] * x[:, 1 + lag :]) / sigma[axis] ** 2
            expected = correlation(lag * sample_s / scale_s[axis], axis)
            assert abs(found - expected) < 4 * math.sqrt(2 / independent)


def test_components_are_independent_of_each_other() -> None:
    wind, sigma, _ = turbulence(0.2, 1000, LANES)

    for a, b in ((0, 1), (0, 2), (1, 2)):
        together = np.mean(wind[:, :, a] * wind[:, :, b]) / (sigma[a] * sigma[b])
        assert abs(together) < 4 / math.sqrt(LANES * 40)  # 40 correlation times in each lane


def spectrum(frequency_hz: np.ndarray, scale_s: float, axis: int) -> np.ndarray:
    """[MIL8785C] 3.7.2 as a one-sided density over frequency, for sigma = 1."""
    x2 = (2 * np.pi * frequency_hz * scale_s) ** 2
    shape = 2 / (1 + x2) if axis == 0 else (1 + 3 * x2) / (1 + x2) ** 2
    return np.asarray(2 * scale_s * shape)  # Phi(Omega) = sigma^2 L / pi shape; d Omega = 2 pi / V df


def expected_welch(sample_s: float, segment: int, scale_s: float, axis: int) -> np.ndarray:
    """What Welch's method shows of a spectrum: folded at half the sample rate and smeared by the Hann window."""
    fine = 64 * segment
    f = np.fft.fftfreq(fine, sample_s)
    folded = np.sum([spectrum(np.abs(f + k / sample_s), scale_s, axis) for k in range(-40, 41)], axis=0)
    window = get_window("hann", segment)
    kernel = np.abs(np.fft.fft(window, fine)) ** 2 / (fine * np.sum(window**2))
    smeared = np.fft.ifft(np.fft.fft(folded) * np.fft.fft(kernel)).real
    return np.asarray(smeared[: fine // 2 : 64])


def test_spectra_are_the_dryden_forms() -> None:
    sample_s, segment, lanes = 0.2, 250, LANES
    wind, sigma, scale_s = turbulence(sample_s, 1000, lanes)

    for axis in range(3):
        _, density = welch(wind[:, :, axis], fs=1 / sample_s, nperseg=segment, detrend=False)
        found = density.mean(axis=0) / sigma[axis] ** 2
        expected = expected_welch(sample_s, segment, scale_s[axis], axis)
        for band in np.array_split(np.arange(1, segment // 2), 12):
            # lanes times 6.6 segments (7, half overlapped); neighbouring bins share 44 % through the window
            weight = expected[band].sum() ** 2 / np.sum(expected[band] ** 2)
            deviation = math.sqrt(1.94 / (lanes * 6.6 * weight))
            assert abs(found[band].sum() / expected[band].sum() - 1) < 4 * deviation


def test_spectrum_integrates_to_the_variance_and_transforms_to_the_correlation() -> None:
    f = np.linspace(0, 400, 4_000_001)
    for axis in range(3):
        density = spectrum(f, 1.0, axis)
        assert abs(np.trapezoid(density, f) - 1) < 1.5e-3  # the tail beyond 400 Hz holds 3 / (4 pi^2 400)
        assert abs(np.trapezoid(density * np.cos(2 * np.pi * f * 0.7), f) - correlation(0.7, axis)) < 1e-5


def test_along_axis_follows_the_mean_wind() -> None:
    model_ = alone(WindDryden(sample_s=0.1), step_s=0.1, wind_20ft=10.0, direction=math.pi / 2)
    state = start(model_, lanes=512, seed=7)
    state.set_input("height_above_ground", HEIGHT_M)
    state.set_input("airspeed", SPEED)
    east = run(state, 1.2, log=["block.wind_N"], log_s=0.1).all_lanes("block.wind_N")

    north = turbulence(0.1, 12, 8192)[0][:512]
    np.testing.assert_allclose(east[:, :, 1], north[:, :, 0], rtol=0, atol=1e-14)  # the same draws, turned to the east
    np.testing.assert_allclose(east[:, :, 0], -north[:, :, 1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(east[:, :, 2], north[:, :, 2], rtol=0, atol=1e-14)


def test_same_seed_gives_the_same_air_and_another_seed_another() -> None:
    again = start(model(0.1), lanes=2, seed=[7, 7])
    other = start(model(0.1), lanes=2, seed=[7, 8])
    for state in (again, other):
        state.set_input("height_above_ground", HEIGHT_M)
        state.set_input("airspeed", SPEED)
    same = run(again, 2.0, log=["block.wind_N"], log_s=0.1).all_lanes("block.wind_N")
    different = run(other, 2.0, log=["block.wind_N"], log_s=0.1).all_lanes("block.wind_N")

    np.testing.assert_array_equal(same[0], same[1])
    assert np.abs(different[0] - different[1]).min() > 0


# ---------------------------------------------------------------------- angular gusts


def test_angular_gusts_have_the_deviations_of_their_spectra() -> None:
    """[MIL8785C] 3.7.1.3: Phi_p, and Omega^2 Phi / (1 + (4 b Omega / pi)^2) of the gusts down and across (3 b)."""
    span, sample_s, lanes = 2.9, 0.01, 256
    angular = alone(WindDryden(angular=True, sample_s=sample_s), step_s=sample_s, wind_20ft=10.0, span=span)
    state = start(angular, lanes=lanes, seed=7)
    state.set_input("height_above_ground", HEIGHT_M)
    state.set_input("airspeed", SPEED)
    rates = run(state, 8.0, log=["block.rates_N"], log_s=0.05).all_lanes("block.rates_N")[:, 20:]
    scales = outputs_at(model(sample_s), {"height_above_ground": HEIGHT_M, "airspeed": SPEED})
    sigma, length = scales["sigma"][0], scales["length"][0]

    shape = 0.8 / length[2] * (math.pi * length[2] / (4 * span)) ** (1 / 3)
    rolling = sigma[2] * math.sqrt(shape * math.pi**2 / (8 * span))

    def gradient(axis: int, widths: float) -> float:
        def density(k: float) -> float:
            a = (length[axis] * k) ** 2
            gust = sigma[axis] ** 2 * length[axis] / math.pi * (1 + 3 * a) / (1 + a) ** 2
            return k * k * gust / (1 + (widths * span * k / math.pi) ** 2)

        return math.sqrt(quad(density, 0, 50, limit=400)[0])  # rad/m: the sample's own limit is 12

    expected = [rolling, gradient(2, 4.0), gradient(1, 3.0)]
    np.testing.assert_allclose(rates.std(axis=(0, 1)), expected, rtol=0.12)  # samples of 0.25 m along the path
