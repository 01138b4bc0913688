"""Evaluation of test benches: motor and propeller on a stand, inertia on strings; figures with standard deviation.

Not modelled: heat, voltage drop between supply and motor (the speed is measured), inflow from the stand's walls.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import RecordError
from ironbird.files.problems import read_bytes

RPM = 2 * math.pi / 60
COLUMNS = {  # names that stands write: Ironbird's name, factor, offset
    "throttle": ("throttle", 1.0, 0.0),
    "speed_radps": ("speed", 1.0, 0.0),
    "rpm": ("speed", RPM, 0.0),
    "thrust_N": ("thrust", 1.0, 0.0),
    "torque_Nm": ("torque", 1.0, 0.0),
    "voltage_V": ("voltage", 1.0, 0.0),
    "time_s": ("time", 1.0, 0.0),
    # RCbenchmark
    "ESC signal (µs)": ("throttle", 1e-3, -1.0),
    "Thrust (gf)": ("thrust", STANDARD_GRAVITY_MPS2 * 1e-3, 0.0),
    "Torque (N·m)": ("torque", 1.0, 0.0),
    "Voltage (V)": ("voltage", 1.0, 0.0),
    "Motor Electrical Speed (RPM)": ("speed", RPM, 0.0),
    "Time (s)": ("time", 1.0, 0.0),
}
LEAST_ROWS = 5


@dataclass(frozen=True)
class Figure:
    """A figure and its standard deviation."""

    name: str
    unit: str
    value: float
    sigma: float

    def __str__(self) -> str:
        return f"{self.value:.5g} ± {self.sigma:.2g} {self.unit}"


def read_bench(path: Path) -> dict[str, np.ndarray]:
    """Read measurements of a thrust stand: CSV with the columns of COLUMNS; incomplete rows are left out."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise RecordError(f"{path} cannot be read as CSV: {why}; give a table with a head line") from None
    if len(rows) < LEAST_ROWS + 1:
        raise RecordError(f"{path.name} has {max(len(rows) - 1, 0)} rows; a fit needs {LEAST_ROWS}")
    places: dict[str, tuple[int, float, float]] = {}
    for place, cell in enumerate(rows[0]):
        if cell.strip() in COLUMNS:
            places.setdefault(COLUMNS[cell.strip()][0], (place, *COLUMNS[cell.strip()][1:]))
    if "speed" not in places:
        raise RecordError(f"{path.name} has no column of the speed; known columns: {', '.join(COLUMNS)}")
    table: list[list[float]] = []
    for row in rows[1:]:
        try:
            table.append([float(row[place]) * factor + offset for place, factor, offset in places.values()])
        except (ValueError, IndexError):
            continue
    if len(table) < LEAST_ROWS:
        raise RecordError(f"{path.name} has {len(table)} whole rows; a fit needs {LEAST_ROWS}")
    values = np.array(table)
    if not np.isfinite(values).all():
        raise RecordError(f"{path.name}: a cell is not a finite number")
    return dict(zip(places, values.T, strict=True))


def _through_origin(name: str, unit: str, x: np.ndarray, y: np.ndarray) -> Figure:
    value = float(x @ y / (x @ x))
    rest = y - value * x
    return Figure(name, unit, value, math.sqrt(float(rest @ rest) / max(len(x) - 1, 1) / float(x @ x)))


def propulsion(table: dict[str, np.ndarray], *, quadratic: bool = False) -> list[Figure]:
    """Coefficients of thrust and torque, and the throttle curve of a static test, from rows where the motor turns."""
    speed = table["speed"]
    turns = speed > 0.02 * float(np.max(speed))
    if int(turns.sum()) < LEAST_ROWS:
        raise RecordError(f"the motor turns in {int(turns.sum())} rows only; a fit needs {LEAST_ROWS}")
    squared = speed[turns] ** 2
    figures = []
    if "thrust" in table:  # T = cT w^2
        figures.append(_through_origin("thrust_coefficient", "N*s^2", squared, table["thrust"][turns]))
    if "torque" in table:  # M = cM w^2
        figures.append(_through_origin("torque_coefficient", "N*m*s^2", squared, table["torque"][turns]))
    if "throttle" in table and float(np.ptp(table["throttle"][turns])) > 0:
        throttle = table["throttle"][turns]
        names = [("idle_speed", "rad/s"), ("slope", "rad/s"), ("quadratic", "rad/s")][: 3 if quadratic else 2]
        matrix = np.vander(throttle, len(names), increasing=True)
        solution, *_ = np.linalg.lstsq(matrix, speed[turns], rcond=None)
        rest = speed[turns] - matrix @ solution
        variance = float(rest @ rest) / max(len(rest) - len(names), 1)
        sigmas = np.sqrt(variance * np.diag(np.linalg.inv(matrix.T @ matrix)))
        figures += [
            Figure(name, unit, float(v), float(s)) for (name, unit), v, s in zip(names, solution, sigmas, strict=True)
        ]
    return figures


def step_time(time_s: np.ndarray, speed: np.ndarray) -> Figure:
    """Time constant of a step of speed: first-order response by Gauss-Newton, with its standard deviation."""
    w1, w2 = float(np.mean(speed[: max(3, len(speed) // 20)])), float(np.mean(speed[-max(3, len(speed) // 10) :]))
    if abs(w2 - w1) < 6 * float(np.std(speed[-max(5, len(speed) // 10) :])):
        raise RecordError(
            f"the record holds no step of the speed: {w1:.4g} rad/s at its begin, {w2:.4g} rad/s at its end; "
            "record from before the step until the speed is steady"
        )
    share = (speed - w1) / (w2 - w1)
    begin = float(time_s[int(np.argmax(share > 0.1))])
    rise = max(float(time_s[int(np.argmax(share > 0.632))]) - begin, float(np.median(np.diff(time_s))))
    theta = np.array([w1, w2, begin - 0.1 * rise, rise])
    variance, covariance = 0.0, np.eye(4)
    for _ in range(50):
        first, last, at, tau = theta
        grown = np.clip((time_s - at) / tau, 0.0, 700.0)
        decay = np.exp(-grown)
        rest = speed - (first + (last - first) * (1 - decay))
        inside = time_s > at
        jacobian = np.column_stack(
            [decay, 1 - decay, -(last - first) * decay / tau * inside, -(last - first) * decay * grown / tau]
        )
        step, *_ = np.linalg.lstsq(jacobian, rest, rcond=None)
        step[3] = np.clip(step[3], -0.5 * tau, tau)
        theta = theta + step
        variance = float(rest @ rest) / max(len(rest) - 4, 1)
        covariance = np.linalg.pinv(jacobian.T @ jacobian) * variance
        if abs(step[3]) < 1e-9 * tau:
            break
    return Figure("time_constant", "s", float(theta[3]), math.sqrt(float(covariance[3, 3])))


def swing_period(time_s: np.ndarray, angle: np.ndarray) -> Figure:
    """Period of a decaying swing, by least squares of a damped sine; valid below about 15 degrees."""
    centred = angle - angle.mean()
    # the first guess is the highest line of the spectrum, between its lines by zeros beyond the record
    step_s = float(np.median(np.diff(time_s)))
    even = np.interp(np.arange(time_s[0], time_s[-1], step_s), time_s, centred)
    spectrum = np.abs(np.fft.rfft(even * np.hanning(len(even)), 8 * len(even)))
    w = 2 * math.pi * float(np.fft.rfftfreq(8 * len(even), step_s)[int(np.argmax(spectrum))])
    swings = w * float(time_s[-1] - time_s[0]) / (2 * math.pi)
    if swings < 3:
        raise RecordError(f"{swings:.1f} swings are in the record; three are needed")
    decay, t = 0.0, time_s - time_s[0]
    variance, covariance = 0.0, np.eye(5)
    amplitudes = np.zeros(3)
    for _ in range(50):
        envelope = np.exp(-decay * t)
        basis = np.column_stack([envelope * np.cos(w * t), envelope * np.sin(w * t), np.ones_like(t)])
        amplitudes, *_ = np.linalg.lstsq(basis, angle, rcond=None)
        rest = angle - basis @ amplitudes
        wave = basis[:, :2] @ amplitudes[:2]
        by_w = t * envelope * (-amplitudes[0] * np.sin(w * t) + amplitudes[1] * np.cos(w * t))
        jacobian = np.column_stack([basis, by_w, -t * wave])
        step, *_ = np.linalg.lstsq(jacobian, rest, rcond=None)
        w, decay = w + float(step[3]), decay + float(step[4])
        variance = float(rest @ rest) / max(len(rest) - 5, 1)
        covariance = np.linalg.pinv(jacobian.T @ jacobian) * variance
        if abs(step[3]) < 1e-12 * w:
            break
    undamped = math.hypot(w, decay)
    period = 2 * math.pi / undamped
    amplitude = math.hypot(float(amplitudes[0]), float(amplitudes[1]))
    value = period / (1 + amplitude**2 / 16 * _mean_square(decay, t))
    return Figure("period", "s", value, period / w * math.sqrt(covariance[3, 3]))


def _mean_square(decay: float, t: np.ndarray) -> float:
    """Mean of the squared envelope: a pendulum of amplitude a swings slower by a^2 / 16."""
    return float(np.mean(np.exp(-2 * decay * t)))


def bifilar_inertia(
    period: Figure,
    mass: tuple[float, float],
    spacing: tuple[float, float],
    length: tuple[float, float],
) -> Figure:
    """J = m g d^2 T^2 / (16 pi^2 L) about the vertical; each argument with its standard deviation."""
    (m, dm), (d, dd), (ll, dl) = mass, spacing, length
    if min(m, d, ll, period.value) <= 0:
        raise RecordError("mass, spacing, length and period of a pendulum are positive")
    value = m * STANDARD_GRAVITY_MPS2 * d**2 * period.value**2 / (16 * math.pi**2 * ll)
    # (dJ/J)^2 = (dm/m)^2 + 4 (dd/d)^2 + 4 (dT/T)^2 + (dL/L)^2
    relative = math.sqrt((dm / m) ** 2 + 4 * (dd / d) ** 2 + 4 * (period.sigma / period.value) ** 2 + (dl / ll) ** 2)
    return Figure("inertia", "kg*m^2", value, value * relative)
