"""Frequency responses from records: overlapping windows, coherence, composite windows.

After Tischler and Remple (CIFER): Hann windows that overlap by half, transforms at the requested frequencies only,
response H = Gxy / Gxx, and several window lengths combined by their random errors; or without windows, by local
polynomials. Noise on the input biases H; it is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.errors import IronbirdError

OVERLAP_FACTOR = math.sqrt(0.55)  # factor of the random error for windows that overlap by half [Tischler]
GOOD_COHERENCE = 0.6  # below it a response is unreliable [Tischler]
LEAST_WINDOWS = 3
LOCAL_LINES = 8  # spectral lines on each side of a frequency
PERIODS = 2.5  # periods of a frequency in a window from which on its leakage is small


@dataclass(frozen=True)
class Spectra:
    """Auto and cross spectra of single windows, [window, frequency]; stored singly so that they can be resampled."""

    frequency_radps: np.ndarray
    gxx: np.ndarray
    gyy: np.ndarray
    gxy: np.ndarray
    window_s: float
    record_s: float

    def drawn(self, rows: np.ndarray) -> Spectra:
        """The spectra of selected windows; an index may occur more than once."""
        return Spectra(
            self.frequency_radps, self.gxx[rows], self.gyy[rows], self.gxy[rows], self.window_s, self.record_s
        )

    def response(self) -> FrequencyResponse:
        """Frequency response from the means over the windows."""
        return _response(
            self.frequency_radps,
            self.gxx.mean(axis=0),
            self.gyy.mean(axis=0),
            self.gxy.mean(axis=0),
            self.record_s / self.window_s,
        )


@dataclass(frozen=True)
class FrequencyResponse:
    """H over frequency, with coherence and the relative random error of its magnitude."""

    frequency_radps: np.ndarray
    response: np.ndarray
    coherence: np.ndarray
    random_error: np.ndarray

    @property
    def magnitude_dB(self) -> np.ndarray:
        """Magnitude of the response in dB."""
        return np.asarray(20 * np.log10(np.maximum(np.abs(self.response), 1e-300)))

    @property
    def phase_deg(self) -> np.ndarray:
        """Phase in degrees, unwrapped from the lowest frequency."""
        return np.asarray(np.degrees(np.unwrap(np.angle(self.response))))


def _response(w: np.ndarray, gxx: np.ndarray, gyy: np.ndarray, gxy: np.ndarray, count: float) -> FrequencyResponse:
    safe = np.maximum(gxx, 1e-300)
    coherence = np.clip(np.abs(gxy) ** 2 / (safe * np.maximum(gyy, 1e-300)), 0.0, 1.0)
    # random error of |H|, and of its phase in radians [Tischler]
    error = OVERLAP_FACTOR * np.sqrt(1 - coherence) / np.sqrt(np.maximum(coherence, 1e-12) * 2 * max(count, 1.0))
    return FrequencyResponse(w, gxy / safe, coherence, error)


def log_frequencies(band_radps: tuple[float, float], points: int) -> np.ndarray:
    """Logarithmically spaced frequencies over a band, in rad/s."""
    return np.geomspace(band_radps[0], band_radps[1], points)


def window_spectra(
    x: np.ndarray, y: np.ndarray, step_s: float, window_s: float, frequency_radps: np.ndarray
) -> Spectra:
    """Spectra of all windows of a length in an evenly sampled record; mean and drift are taken off first."""
    x, y = _without_drift(x), _without_drift(y)
    size = round(window_s / step_s)
    if size < 8 or len(x) < size:
        raise IronbirdError(
            f"a window of {window_s:.3g} s does not fit a record of {len(x) * step_s:.3g} s in steps of "
            f"{step_s:.3g} s; "
            "give a shorter window or a longer record"
        )
    if float(np.max(frequency_radps)) > math.pi / step_s:
        raise IronbirdError(
            f"{np.max(frequency_radps):.3g} rad/s is above half the sample rate, {math.pi / step_s:.3g} rad/s; "
            "lower the band"
        )
    first = np.arange(0, len(x) - size + 1, max(size // 2, 1))
    window = np.hanning(size)
    kernel = np.exp(-1j * np.outer(frequency_radps, np.arange(size) * step_s)) * step_s
    rows = first[:, None] + np.arange(size)[None, :]
    transform_x = (x[rows] * window) @ kernel.T
    transform_y = (y[rows] * window) @ kernel.T
    scale = 2.0 / (size * step_s * float(np.mean(window**2)))
    return Spectra(
        frequency_radps,
        scale * np.abs(transform_x) ** 2,
        scale * np.abs(transform_y) ** 2,
        scale * np.conj(transform_x) * transform_y,
        window_s,
        len(x) * step_s,
    )


def composite_response(
    x: np.ndarray, y: np.ndarray, step_s: float, windows_s: Sequence[float], frequency_radps: np.ndarray
) -> FrequencyResponse:
    """Several window lengths in one response, each weighted by its random error to the power of minus four.

    These are the starting values of CIFER's COMPOSITE, which are good by themselves; its optimisation is not
    implemented.
    """
    by_window = [window_spectra(x, y, step_s, window_s, frequency_radps) for window_s in windows_s]
    singles = [spectra.response() for spectra in by_window]
    errors = np.array([np.maximum(single.random_error, 1e-6) for single in singles])
    slow = np.array([[PERIODS * 2 * math.pi / w > spectra.window_s for w in frequency_radps] for spectra in by_window])
    errors[slow & ~slow.all(axis=0)] *= 10.0  # too few periods in a window
    weights = (errors / errors.min(axis=0)) ** -4.0
    weights = weights**2 / np.sum(weights**2, axis=0)
    gxx = sum(w * s.gxx.mean(axis=0) for w, s in zip(weights, by_window, strict=True))
    gyy = sum(w * s.gyy.mean(axis=0) for w, s in zip(weights, by_window, strict=True))
    gxy = sum(w * s.gxy.mean(axis=0) for w, s in zip(weights, by_window, strict=True))
    counts = np.array([s.record_s / s.window_s for s in by_window])
    return _response(
        frequency_radps, np.asarray(gxx), np.asarray(gyy), np.asarray(gxy), float(np.mean(weights.T @ counts))
    )


def window_lengths(band_radps: tuple[float, float], record_s: float, count: int = 5) -> list[float]:
    """Window lengths for a band: from twenty periods of the highest frequency to three of the lowest [Tischler]."""
    longest = min(3 * 2 * math.pi / band_radps[0], record_s / LEAST_WINDOWS)
    shortest = min(20 * 2 * math.pi / band_radps[1], longest)
    return np.unique(np.geomspace(shortest, longest, count)).tolist()


def _without_drift(x: np.ndarray) -> np.ndarray:
    along = np.linspace(-1.0, 1.0, len(x))
    slope, mean = np.polyfit(along, np.asarray(x, float), 1)
    return np.asarray(x - mean - slope * along)


def local_response(
    x: np.ndarray, y: np.ndarray, step_s: float, frequency_radps: np.ndarray, half: int = LOCAL_LINES
) -> FrequencyResponse:
    """Response without windows: around each frequency, response and leakage are smooth curves of second order.

    The local polynomial method [Schoukens]: lines k of the whole record's transform obey Y(k) = H(k) X(k) + T(k), where
    T comes from motion before the record, or continues after it. Windows cut such records at every edge, which causes
    errors at frequencies with few periods; here both ends are one unknown. The coherence follows from the residual of
    the curves.
    """
    if len(x) < 8 * half:
        raise IronbirdError(f"{len(x)} samples are too few for a response; {8 * half} are needed")
    base = 2 * math.pi / (len(x) * step_s)
    low, high = 2 * base, math.pi / step_s - half * base
    if float(np.min(frequency_radps)) < low or float(np.max(frequency_radps)) > high:
        raise IronbirdError(
            f"a record of {len(x) * step_s:.3g} s in steps of {step_s:.3g} s covers {low:.3g} to {high:.3g} rad/s; "
            f"{np.min(frequency_radps):.3g} to {np.max(frequency_radps):.3g} rad/s were asked for"
        )
    fx, fy = (np.fft.rfft(_without_drift(values)) for values in (x, y))
    response, coherence, error = [], [], []
    for w in frequency_radps:
        middle = w / base
        lines = np.arange(max(1, round(middle) - half), round(middle) + half + 1)
        powers = ((lines - middle) / half)[:, None] ** np.arange(3)
        matrix = np.concatenate([powers * fx[lines][:, None], powers], axis=1)
        scale = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
        solution, *_ = np.linalg.lstsq(matrix / scale, fy[lines], rcond=1e-12)
        solution = solution / scale
        left = fy[lines] - matrix @ solution
        noise = float(np.sum(np.abs(left) ** 2)) / max(len(lines) - matrix.shape[1], 1)
        shown = float(np.mean(np.abs(fx[lines]) ** 2)) * abs(solution[0]) ** 2
        spread = np.linalg.pinv((matrix / scale).conj().T @ (matrix / scale))[0, 0].real / scale[0] ** 2
        response.append(solution[0])
        coherence.append(shown / max(shown + noise, 1e-300))
        error.append(math.sqrt(noise * max(spread, 0.0) / 2) / max(abs(solution[0]), 1e-300))
    return FrequencyResponse(frequency_radps, np.array(response), np.array(coherence), np.array(error))
