"""Gains of the attitude loops for a bandwidth, from the exact linear model of the hovering vehicle.

Per axis two gains are free: attitude error to rate, and rate error to angular acceleration. For several ratios of the
two the attitude gain is found with which the answer of the attitude to its set-point falls to -3 dB at the bandwidth;
of those that keep the margins, the one with the smallest peak of the sensitivity is taken. Not modelled: lags of
sensors and estimator, saturation; look at the result with steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.errors import ModelError
from ironbird.model.signal import Number
from ironbird.tuning.loops import Loop, Margins, hover_loop
from ironbird.vehicles import places as at

RATIOS = np.geomspace(1.2, 8.0, 14)  # of the rate gain to the attitude gain
HALF_POWER = 10 ** (-3 / 20)
ATTITUDE, RATE = at.CONTROL("attitude_gain"), at.CONTROL("rate_gain")
PEAK_DB = 1.0  # by which the attitude may answer more than asked, anywhere
CLOSE = 1e-3  # of the bandwidth: found
ROUNDS = 12
NEAR = 200  # frequencies around a bandwidth
COARSE = 4  # every so many of the frequencies are enough for margins while gains are looked for


@dataclass(frozen=True)
class Tuned:
    """Gains of one axis and what they give."""

    axis: str
    attitude_gain: float
    rate_gain: float
    bandwidth_radps: float
    margins: Margins


@dataclass(frozen=True)
class Result:
    """Gains of all axes as parameters of the vehicle."""

    axes: list[Tuned]
    params: dict[str, list[float]]


def bandwidth_of(loop: Loop, axis: int, params: dict[str, Number], near_radps: float) -> tuple[float, float]:
    """Where the answer of an attitude falls below -3 dB, and its peak in dB; nan if not within 20 times of `near`."""
    top = min(20 * near_radps, 0.99 * math.pi / loop.period_s)
    w, H = loop.attitude(axis, params, np.geomspace(near_radps / 20, top, NEAR))
    size = np.abs(H)
    below = np.flatnonzero(size < HALF_POWER)
    peak = 20 * math.log10(float(size.max()))
    if not len(below):
        return math.nan, peak
    i = int(below[0])
    if i == 0:
        return float(w[0]), peak
    part = math.log(size[i - 1] / HALF_POWER) / math.log(size[i - 1] / size[i])
    return float(w[i - 1] * (w[i] / w[i - 1]) ** part), peak


def tune_attitude(
    vehicle: str,
    bandwidth_radps: float,
    *,
    yaw_bandwidth_radps: float | None = None,
    phase_margin_deg: float = 45.0,
    gain_margin_dB: float = 6.0,
) -> Result:
    """Gains of roll, pitch and yaw; without a bandwidth of its own yaw keeps its gains."""
    loop = hover_loop(vehicle)
    present = {path: loop.point[path].tolist() for path in (ATTITUDE, RATE)}
    found = []
    wanted = [("roll", bandwidth_radps), ("pitch", bandwidth_radps)]
    wanted += [("yaw", yaw_bandwidth_radps)] if yaw_bandwidth_radps is not None else []
    for number, (axis, bandwidth) in enumerate(wanted):
        if not 0 < bandwidth < 0.5 * math.pi / loop.period_s:
            raise ModelError(f"a bandwidth of {bandwidth:g} rad/s is not between 0 and a quarter of the sampling rate")
        best = None
        for ratio in RATIOS:
            tried = _at_ratio(loop, number, axis, bandwidth, float(ratio), present)
            if tried is None or not tried.margins.stable:
                continue
            m = tried.margins
            if m.phase_deg < phase_margin_deg or min(m.gain_up_dB, m.gain_down_dB) < gain_margin_dB:
                continue
            if best is None or m.sensitivity < best.margins.sensitivity:
                best = tried
        if best is None:
            raise ModelError(
                f"{vehicle} has no gains of {axis} with a bandwidth of {bandwidth:g} rad/s, {phase_margin_deg:g} "
                f"degrees and {gain_margin_dB:g} dB: ask for less bandwidth or smaller margins"
            )
        found.append(best)
        present[ATTITUDE][number], present[RATE][number] = best.attitude_gain, best.rate_gain
    return Result(found, present)


def _at_ratio(
    loop: Loop, number: int, axis: str, bandwidth: float, ratio: float, present: dict[str, list[float]]
) -> Tuned | None:
    """The gains of one axis with which it has the bandwidth; None if no gain does."""

    def params(gain: float) -> dict[str, Number]:
        changed: dict[str, Number] = {}
        for path, value in ((ATTITUDE, gain), (RATE, ratio * gain)):
            numbers = list(present[path])
            numbers[number] = value
            changed[path] = numbers
        return changed

    gain = bandwidth
    for _ in range(ROUNDS):  # the bandwidth is nearly proportional to the gain
        reached, _ = bandwidth_of(loop, number, params(gain), bandwidth)
        if math.isnan(reached):
            return None
        gain = float(np.clip(gain * bandwidth / reached, 0.02 * bandwidth, 20 * bandwidth))
        if abs(reached / bandwidth - 1) < CLOSE:
            break
    gain = round(gain, 4)
    reached, peak = bandwidth_of(loop, number, params(gain), bandwidth)
    if math.isnan(reached) or abs(reached / bandwidth - 1) > 10 * CLOSE or peak > PEAK_DB:
        return None
    rate = round(ratio * gain, 4)
    seen = loop.frequencies()[::COARSE]
    return Tuned(axis, gain, rate, reached, loop.broken(axis, params(gain), seen).margins)
