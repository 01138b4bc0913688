"""Excitation signals for identification: sweeps, doublets, 3-2-1-1, multisines.

A signal becomes a stick file, which the reference autopilot flies (`ironbird fly --control sticks`) and PX4 and
ArduPilot too (`ironbird connect sticks`), or a mission of legs there and back, which all three fly in simulation time
(`ironbird fly`, `ironbird fly --control px4 --time virtual`). A mission excites through the autopilot's position
control, so its band ends where that does; a multisine has no legs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import RecordError, UnknownNameError
from ironbird.files.toml_text import write_toml
from ironbird.flight.mission import Item, Mission
from ironbird.systems.commanded.sticks.source import Sticks
from ironbird.systems.commanded.sticks.stick_file import stick_text

AXES = ("roll", "pitch", "throttle", "yaw")
KINDS = ("sweep", "doublet", "3211", "multisine")
C1, C2 = 4.0, 0.0187  # of the exponential sweep [Tischler]
QUIET_S = 3.0  # before and after [Tischler]
LEGS = ("sweep", "doublet", "3211")
SWEEP_LEGS = 9
FOLLOWED_RADPS = 5.0  # what position control of a small vehicle may follow
FULL_TILT_RAD = math.radians(30.0)
SLOWEST_PERIODS = 4.0  # of the lowest frequency that a sweep should last [Tischler]


@dataclass(frozen=True)
class Excitation:
    """A signal with its times; amplitude 1 is a full stick."""

    kind: str
    time_s: np.ndarray
    values: np.ndarray
    advice: list[str]


def excitation(
    kind: str,
    *,
    amplitude: float = 0.3,
    duration_s: float = 60.0,
    band_radps: tuple[float, float] = (0.5, 30.0),
    step_s: float = 0.01,
    seed: int = 0,
) -> Excitation:
    """A signal of a kind; a doublet and a 3-2-1-1 take their pulse length from the middle of the band."""
    if kind not in KINDS:
        raise UnknownNameError("kind of excitation", kind, KINDS)
    low, high = band_radps
    if not 0 < amplitude <= 1:
        raise RecordError(f"amplitude {amplitude:g} is outside 0 to 1 (a full stick)")
    if not 0 < low < high:
        raise RecordError(f"band {low:g} to {high:g} rad/s: give two positive frequencies, the lower first")
    if not (duration_s > 0 and 0 < step_s < duration_s):
        raise RecordError(f"duration {duration_s:g} s and step {step_s:g} s must be positive, the step the shorter")
    if high > 0.8 * math.pi / step_s:
        raise RecordError(f"{high:g} rad/s is too fast for a step of {step_s:g} s")
    advice: list[str] = []
    t = np.arange(0.0, duration_s, step_s)
    middle = math.sqrt(low * high)
    pulse_s = math.pi / middle / 2  # a 3-2-1-1 has its energy around this frequency
    if kind == "sweep":
        values = _sweep(t, duration_s, low, high)
        if duration_s < SLOWEST_PERIODS * 2 * math.pi / low:
            advice.append(
                f"a sweep from {low:g} rad/s should last {SLOWEST_PERIODS * 2 * math.pi / low:.0f} s; this one lasts "
                f"{duration_s:g} s"
            )
    elif kind == "multisine":
        values = _multisine(t, duration_s, low, high, seed)
    else:
        counts = (1, -1) if kind == "doublet" else (3, -2, 1, -1)
        values, begin = np.zeros_like(t), 0.0
        for count in counts:
            last = begin + abs(count) * pulse_s
            values[(t >= begin - 1e-12) & (t < last - 1e-12)] = math.copysign(1.0, count)
            begin = last
        if begin > duration_s:
            raise RecordError(f"a {kind} of this band takes {begin:.2f} s, more than {duration_s:g} s; raise the band")
    quiet = np.zeros(round(QUIET_S / step_s))
    whole = np.concatenate([quiet, amplitude * values, quiet])
    return Excitation(kind, step_s * np.arange(len(whole)), whole, advice)


def _sweep(t: np.ndarray, duration_s: float, low: float, high: float) -> np.ndarray:
    """Exponential sweep, faded in and out [Tischler]."""
    # w(t) = low + K (high - low), K = C2 (exp(C1 t / T) - 1); its integral in closed form
    k = C2 * (duration_s / C1 * (np.exp(C1 * t / duration_s) - 1) - t)
    fade = np.clip(np.minimum(t, duration_s - t) / (0.02 * duration_s), 0.0, 1.0)
    return np.asarray(fade * np.sin(low * t + (high - low) * k))


def _multisine(t: np.ndarray, duration_s: float, low: float, high: float, seed: int) -> np.ndarray:
    """Harmonics of the duration in the band with the phases of Schroeder, which keep the peak low."""
    base = 2 * math.pi / duration_s
    first, last = math.ceil(low / base), math.floor(high / base)
    if last < first:
        raise RecordError(f"no harmonic of {duration_s:g} s lies in {low:g} to {high:g} rad/s; make it longer")
    lines = np.unique(np.round(np.geomspace(first, last, min(last - first + 1, 40))).astype(int))
    index = np.arange(len(lines))
    phases = -math.pi * index * (index + 1) / len(lines) + np.random.default_rng(seed).uniform(0, 0.1, len(lines))
    values = np.cos(base * np.outer(t, lines) + phases).sum(axis=1)
    return np.asarray(values / np.max(np.abs(values)))


def excitation_mission(
    kind: str,
    axis: str,
    *,
    amplitude: float = 0.3,
    band_radps: tuple[float, float] = (0.5, 3.0),
    height_m: float = 20.0,
) -> Mission:
    """Legs along an axis and back whose half periods are those of the excitation; amplitude 1 is a tilt of 30 degrees.

    A leg that is accelerated for half of its time T and braked for the other is g tan(tilt) T^2 / 4 long. Yaw turns
    on the spot instead.
    """
    if kind not in LEGS:
        raise RecordError(f"a {kind} has no legs: take one of {', '.join(LEGS)} for a mission, or a stick file")
    if axis not in AXES:
        raise UnknownNameError("axis", axis, AXES)
    low, high = band_radps
    if not (0 < amplitude <= 1 and 0 < low < high):
        raise RecordError(f"amplitude {amplitude:g} (0 to 1), band {low:g} to {high:g} rad/s (the lower first)")
    acceleration = STANDARD_GRAVITY_MPS2 * math.tan(amplitude * FULL_TILT_RAD)
    middle = math.sqrt(low * high)
    if kind == "sweep":
        legs = [math.pi / w * (-1) ** i for i, w in enumerate(np.geomspace(low, high, SWEEP_LEGS))]
    else:
        legs = [count * math.pi / middle for count in ((1, -1) if kind == "doublet" else (3, -2, 1, -1))]
    place, items = 0.0, [Item(kind="waypoint", height_m=height_m, hold_s=QUIET_S)]
    for seconds in legs:
        place += math.copysign(acceleration * seconds**2 / 4, seconds)
        if axis == "yaw":
            where = {"yaw_deg": math.degrees(math.copysign(amplitude, seconds) * math.pi / 2)}
        elif axis == "throttle":
            where = {"height_m": height_m + np.clip(place, 5.0 - height_m, 200.0)}
        else:
            where = {"north_m" if axis == "pitch" else "east_m": place}
        items.append(Item.model_validate({"kind": "waypoint", "height_m": height_m, **where}))
    items += [Item(kind="waypoint", height_m=height_m, hold_s=QUIET_S), Item(kind="land")]
    title = f"{kind} about {axis}, {low:g} to {high:g} rad/s"
    return Mission.model_validate({"schema": 1, "title": title, "item": items})


def mission_text(mission: Mission) -> str:
    """The mission as TOML text that `load_mission` reads."""
    rows = [
        {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}
        for row in (item.model_dump(exclude_defaults=True) for item in mission.item)
    ]
    return write_toml({"schema": 1, "title": mission.title, "item": rows}, {"item"})


def stick_file(signal: Excitation, axis: str) -> str:
    """Text of a stick file with the signal on one stick, the others centred."""
    if axis not in AXES:
        raise UnknownNameError("stick", axis, AXES)
    rows = [
        (float(t), replace(Sticks(), **{axis: float(v)}))  # type: ignore[arg-type]
        for t, v in zip(signal.time_s, signal.values, strict=True)
    ]
    return stick_text(rows)
