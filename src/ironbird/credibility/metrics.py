"""Established measures of agreement, in addition to the credibility index; real is m, simulated is s.

None depends on the purpose of the simulation. Limits are those of their authors, most of them for manned rotorcraft.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.analysis.spectra import FrequencyResponse
from ironbird.credibility.index import coherence_weight

TIC_GOOD = 0.3  # 0.25 to 0.30 is good for time histories of rotorcraft [Tischler]
J_ACCEPTABLE, J_NEAR = 100.0, 50.0  # of flight dynamics; hardly distinguishable [Tischler]
RUSSELL_EXCELLENT, RUSSELL_ACCEPTABLE = 0.15, 0.28
MAGNITUDE_WEIGHT, PHASE_WEIGHT = 1.0, 0.01745  # per dB^2 and degree^2: 7.57 degrees count as 1 dB [Tischler]


@dataclass(frozen=True)
class Theil:
    """Theil's inequality coefficient and the shares of the mean square error; they add up to 1."""

    value: float
    bias: float
    variance: float
    covariance: float


def theil(real: np.ndarray, simulated: np.ndarray) -> Theil:
    """TIC = rms(m - s) / (rms(m) + rms(s)): 0 is perfect, 1 the worst [Theil]."""
    below = float(np.sqrt(np.mean(real**2)) + np.sqrt(np.mean(simulated**2)))
    square = float(np.mean((real - simulated) ** 2))
    if square == 0 or below == 0:
        return Theil(0.0, 0.0, 0.0, 0.0)
    bias = float(np.mean(real) - np.mean(simulated)) ** 2 / square
    variance = float(np.std(real) - np.std(simulated)) ** 2 / square
    return Theil(math.sqrt(square) / below, bias, variance, 1 - bias - variance)


@dataclass(frozen=True)
class Comprehensive:
    """Magnitude, phase and comprehensive error of two curves."""

    magnitude: float
    phase: float
    value: float


def sprague_geers(real: np.ndarray, simulated: np.ndarray) -> Comprehensive:
    """Errors of Sprague and Geers: M = sqrt(Iss/Imm) - 1, P = acos(Ims / sqrt(Imm Iss)) / pi, C = sqrt(M^2 + P^2)."""
    mm, ss, phase = _energies(real, simulated)
    magnitude = math.sqrt(ss / mm) - 1 if mm > 0 else math.inf
    return Comprehensive(magnitude, phase, math.hypot(magnitude, phase))


def russell(real: np.ndarray, simulated: np.ndarray) -> Comprehensive:
    """Errors of Russell: M = sign(x) log10(1 + |x|), x = (Iss - Imm)/sqrt(Iss Imm), C = sqrt(pi/4 (M^2 + P^2))."""
    mm, ss, phase = _energies(real, simulated)
    x = (ss - mm) / math.sqrt(ss * mm) if ss * mm > 0 else math.inf
    magnitude = math.copysign(math.log10(1 + abs(x)), x)
    return Comprehensive(magnitude, phase, math.sqrt(math.pi / 4) * math.hypot(magnitude, phase))


def _energies(real: np.ndarray, simulated: np.ndarray) -> tuple[float, float, float]:
    mm, ss, ms = float(real @ real), float(simulated @ simulated), float(real @ simulated)
    cosine = ms / math.sqrt(mm * ss) if mm * ss > 0 else 0.0
    return mm, ss, math.acos(min(1.0, max(-1.0, cosine))) / math.pi


def cifer_cost(real: FrequencyResponse, simulated: FrequencyResponse) -> float:
    """CIFER's cost J = 20/n sum W [Wg (dB)^2 + Wp (degrees)^2] over the points of both responses [Tischler]."""
    weight = coherence_weight(real.coherence)
    magnitude = real.magnitude_dB - simulated.magnitude_dB
    phase = np.angle(real.response / simulated.response, deg=True)
    return float(20 * np.mean(weight * (MAGNITUDE_WEIGHT * magnitude**2 + PHASE_WEIGHT * phase**2)))


# Envelopes of maximum unnoticeable added dynamics, ratio of simulation to flight [Hoh], MIL-STD-1797: polynomials of s,
# highest power first, and the delay of the exponential in seconds.
_GAIN_UPPER = ((3.16, 31.61, 22.79), (1.0, 27.14, 1.84), 0.0)
_GAIN_LOWER = ((0.0955, 9.92, 2.15), (1.0, 11.60, 4.95), 0.0)
_PHASE_UPPER = ((68.89, 1100.12, -275.22), (1.0, 39.94, 9.99), 0.0059)
_PHASE_LOWER = ((475.32, 184100.0, 29456.1), (1.0, 11.66, 0.0389), -0.0072)


@dataclass(frozen=True)
class Envelope:
    """Bounds of the mismatch over frequency, in dB and degrees."""

    gain_upper_dB: np.ndarray
    gain_lower_dB: np.ndarray
    phase_upper_deg: np.ndarray
    phase_lower_deg: np.ndarray


def unnoticeable(frequency_radps: np.ndarray, scale: float = 1.0) -> Envelope:
    """MUAD envelopes; `scale` divides the frequency, for a vehicle that is faster than a manned one (Froude)."""
    s = 1j * np.asarray(frequency_radps) / scale

    def at(form: tuple[tuple[float, ...], tuple[float, ...], float]) -> np.ndarray:
        return np.asarray(np.polyval(form[0], s) / np.polyval(form[1], s) * np.exp(form[2] * s))

    gains = [20 * np.log10(np.abs(at(form))) for form in (_GAIN_UPPER, _GAIN_LOWER)]
    phases = [np.degrees(np.angle(at(form))) for form in (_PHASE_UPPER, _PHASE_LOWER)]
    return Envelope(gains[0], gains[1], phases[0], phases[1])


def noticed(real: FrequencyResponse, simulated: FrequencyResponse, scale: float = 1.0) -> float:
    """Share of the frequencies at which the mismatch leaves the MUAD envelopes."""
    ratio = simulated.response / real.response
    gain, phase = 20 * np.log10(np.abs(ratio)), np.degrees(np.angle(ratio))
    bounds = unnoticeable(real.frequency_radps, scale)
    outside = (gain > bounds.gain_upper_dB) | (gain < bounds.gain_lower_dB)
    outside |= (phase > bounds.phase_upper_deg) | (phase < bounds.phase_lower_deg)
    return float(np.mean(outside))
