"""Gains of the loops for a bandwidth, from the exact linear model of the hovering vehicle.

Attitude: per axis two gains are free: attitude error to rate, and rate error to angular acceleration. For several
ratios of the two the attitude gain is found with which the response of the attitude to its set-point falls to -3 dB at
the bandwidth; of those that keep the margins, the one with the smallest peak of the sensitivity is taken.

Velocity, then position, with the inner loops already tuned: the gain is found with which the response to the north
falls to -3 dB at the bandwidth; it is refused if the response resonates, or if the loops broken at the actuators lose
their margins. Not modelled: lags of sensors and estimator, saturation; check the result with step responses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.errors import ModelError
from ironbird.model.signal import Number
from ironbird.tuning.loops import Loop, Margins, hover_loop
from ironbird.vehicles import places as at

RATIOS = np.geomspace(1.2, 8.0, 14)  # ratio of the rate gain to the attitude gain
HALF_POWER = 10 ** (-3 / 20)
ATTITUDE, RATE = at.CONTROL("attitude_gain"), at.CONTROL("rate_gain")
PEAK_DB = 1.0  # dB, largest peak of the attitude's closed-loop response
OUTER = {"velocity": at.CONTROL("velocity_gain"), "position": at.CONTROL("position_gain")}
OUTER_PEAK_DB = {"velocity": 4.0, "position": 3.0}  # dB; the integral of the velocity loop raises its peak
CLOSE = 1e-3  # relative error of the bandwidth at which the search ends
ROUNDS = 12
NEAR = 200  # number of frequencies around a bandwidth
COARSE = 4  # only every so many frequencies are used for margins during the search


@dataclass(frozen=True)
class Tuned:
    """Gains of one axis, and the bandwidth and margins that result."""

    axis: str
    attitude_gain: float
    rate_gain: float
    bandwidth_radps: float
    margins: Margins


@dataclass(frozen=True)
class TunedOuter:
    """Gain of the velocity or position loop, and the bandwidth that results."""

    loop: str
    gain: float
    bandwidth_radps: float  # rad/s, to the north
    vertical_radps: float  # rad/s, up and down, with the same gain
    peak_dB: float


@dataclass(frozen=True)
class Result:
    """Gains of all axes as parameters of the vehicle, with the resulting margins."""

    axes: list[Tuned]
    params: dict[str, list[float]]
    outer: tuple[TunedOuter, ...] = ()
    # margins of all loops with these gains, broken at the actuators
    margins: dict[str, Margins] = field(default_factory=dict)


def bandwidth_of(
    loop: Loop, axis: int, params: Mapping[str, Number], near_radps: float, of: str = "attitude"
) -> tuple[float, float]:
    """Bandwidth (-3 dB) in rad/s of the response to a set-point, and its peak in dB; nan if not within 20 x `near`."""
    top = min(20 * near_radps, 0.99 * math.pi / loop.period_s)
    w, H = loop.answer(of, axis, params, np.geomspace(near_radps / 20, top, NEAR))
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


def tune(
    vehicle: str,
    *,
    attitude_radps: float | None = None,
    yaw_radps: float | None = None,
    velocity_radps: float | None = None,
    position_radps: float | None = None,
    phase_margin_deg: float = 45.0,
    gain_margin_dB: float = 6.0,
) -> Result:
    """Tune the loops for which a bandwidth is given, from the inside out; the others are unchanged."""
    outer = {"velocity": velocity_radps, "position": position_radps}
    if all(bandwidth is None for bandwidth in (attitude_radps, yaw_radps, *outer.values())):
        raise ModelError(
            "give a bandwidth in rad/s: --bandwidth (of roll and pitch, attitude_radps in Python), --yaw-bandwidth, "
            "--velocity-bandwidth or --position-bandwidth; for example --bandwidth 10"
        )
    least = {"phase_margin_deg": phase_margin_deg, "gain_margin_dB": gain_margin_dB}
    loop = hover_loop(vehicle)
    params: dict[str, list[float]] = {}
    axes: list[Tuned] = []
    if attitude_radps is not None or yaw_radps is not None:
        inner = tune_attitude(vehicle, attitude_radps, yaw_bandwidth_radps=yaw_radps, loop=loop, **least)
        axes, params = inner.axes, dict(inner.params)
    tuned = []
    for name, bandwidth in outer.items():
        if bandwidth is not None:
            tuned.append(_tune_outer(loop, name, bandwidth, params))
            params[OUTER[name]] = np.round(loop.point[OUTER[name]] * tuned[-1].gain, 4).tolist()
            tuned[-1] = replace(tuned[-1], gain=params[OUTER[name]][0])
    margins = {axis: loop.broken(axis, params, loop.frequencies()[::COARSE]).margins for axis in loop.closed_axes()}
    for axis, m in margins.items():
        if tuned and not (m.stable and m.phase_deg >= phase_margin_deg and m.gain_up_dB >= gain_margin_dB):
            raise ModelError(
                f"with these gains {axis} of {vehicle} has a phase margin of {m.phase_deg:.1f} degrees and "
                f"{m.gain_up_dB:.1f} dB{'' if m.stable else ' and is not stable'}; {phase_margin_deg:g} degrees and "
                f"{gain_margin_dB:g} dB were asked for: ask for less bandwidth or smaller margins"
            )
    return Result(axes, params, tuple(tuned), margins)


def _tune_outer(loop: Loop, name: str, bandwidth: float, params: Mapping[str, list[float]]) -> TunedOuter:
    """Scale a loop's gain until it has the bandwidth to the north."""
    if OUTER[name] not in loop.model.params():
        raise ModelError(f"the controller of '{loop.model.name}' has no gain {OUTER[name]}")
    present, factor = loop.point[OUTER[name]], 1.0
    reached = peak = math.nan
    for _ in range(ROUNDS):
        tried: dict[str, Number] = {**params, OUTER[name]: (present * factor).tolist()}
        reached, peak = bandwidth_of(loop, 0, tried, bandwidth, name)
        if math.isnan(reached) or abs(reached / bandwidth - 1) < CLOSE:
            break
        factor = float(np.clip(factor * bandwidth / reached, 1e-3, 1e3))
    if math.isnan(reached) or abs(reached / bandwidth - 1) > 10 * CLOSE or peak > OUTER_PEAK_DB[name]:
        result = "no gain gives it" if math.isnan(reached) else f"{reached:.2f} rad/s with a peak of {peak:.1f} dB"
        raise ModelError(
            f"'{loop.model.name}' cannot follow its {name} with a bandwidth of {bandwidth:g} rad/s ({result}; at most "
            f"{OUTER_PEAK_DB[name]:g} dB): ask for less, or tune what is inside of it for more first"
        )
    vertical, _ = bandwidth_of(loop, 2, tried, bandwidth, name)
    return TunedOuter(name, factor, reached, vertical, peak)


def tune_attitude(
    vehicle: str,
    bandwidth_radps: float | None,
    *,
    yaw_bandwidth_radps: float | None = None,
    phase_margin_deg: float = 45.0,
    gain_margin_dB: float = 6.0,
    loop: Loop | None = None,
) -> Result:
    """Tune roll, pitch and yaw; without a bandwidth they are unchanged."""
    loop = loop or hover_loop(vehicle)
    present = {path: loop.point[path].tolist() for path in (ATTITUDE, RATE)}
    tuned = []
    bandwidths = {"roll": bandwidth_radps, "pitch": bandwidth_radps, "yaw": yaw_bandwidth_radps}
    for number, (axis, bandwidth) in enumerate(bandwidths.items()):
        if bandwidth is None:
            continue
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
        tuned.append(best)
        present[ATTITUDE][number], present[RATE][number] = best.attitude_gain, best.rate_gain
    return Result(tuned, present)


def _at_ratio(
    loop: Loop, number: int, axis: str, bandwidth: float, ratio: float, present: dict[str, list[float]]
) -> Tuned | None:
    """Gains of one axis that give the bandwidth at a ratio of rate to attitude gain; None if none does."""

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
