"""A simple expert diagnosis: residuals that are small on a healthy vehicle, and thresholds from healthy flights.

It is the baseline of data sets, not the best possible method: redundant sensors are compared with each other (analytic
redundancy, [Isermann2006] ch. 6), rotor speeds with their commands, the battery's voltage with its current. A threshold
is `MARGIN` times the greatest residual in healthy rows of the training flights; the family whose residual exceeds its
threshold by most is the diagnosis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HEALTHY, OTHER = "healthy", "other"
FAMILIES = ("imu", "mag", "gnss", "baro", "rotor", "battery")  # that it can be distinguished
MARGIN = 1.2
Columns = Mapping[str, np.ndarray]  # of one flight: [row] by name


def family_of(fault_id: str) -> str:
    """The family of a fault (`gnss.jamming@1`: gnss), or `other`."""
    first = fault_id.partition(".")[0]
    return first if first in FAMILIES else OTHER


def _parts(columns: Columns, pattern: str) -> dict[str, list[np.ndarray]]:
    """Vectors of equal parts by their number: `imu/1/accel_fault.value[0]`, ..."""
    parts: dict[str, list[np.ndarray]] = {}
    for name, values in columns.items():
        match = re.fullmatch(pattern, name)
        if match:
            parts.setdefault(match[1], []).append(values)
    return parts


def _spread(columns: Columns, pattern: str) -> np.ndarray | None:
    """Greatest distance of a part from the median of all, or of two parts from each other; None with one part."""
    parts = [np.stack(vector, axis=1) for vector in _parts(columns, pattern).values()]
    if len(parts) < 2:
        return None
    table = np.stack(parts)  # part, row, axis
    middle = np.median(table, axis=0)
    return np.asarray(np.abs(table - middle).max(axis=(0, 2)))


@dataclass(frozen=True)
class Diagnosis:
    """Regressions and thresholds learned from healthy rows."""

    rotor: np.ndarray  # speed by 1, command, voltage
    battery: np.ndarray  # voltage by 1, current, charge used
    thresholds: dict[str, float]

    @staticmethod
    def learn(flights: Sequence[tuple[Columns, np.ndarray]]) -> Diagnosis:
        """Learn from flights and flags of their healthy rows."""
        rotor = _fit([_rotor_rows(c, healthy) for c, healthy in flights], 3)
        battery = _fit([_battery_rows(c, healthy) for c, healthy in flights], 3)
        bare = Diagnosis(rotor, battery, {})
        most: dict[str, float] = {}
        for columns, healthy in flights:
            for name, residual in bare.residuals(columns).items():
                values = residual[healthy]
                if len(values):
                    most[name] = max(most.get(name, 0.0), float(np.nanmax(values)))
        return Diagnosis(rotor, battery, {name: MARGIN * max(value, 1e-9) for name, value in most.items()})

    def residuals(self, columns: Columns) -> dict[str, np.ndarray]:
        """Residuals over time by name (`imu.accel`); the family is in front of the dot."""
        residuals: dict[str, np.ndarray | None] = {
            "imu.accel": _spread(columns, r"imu/(\d+)/accel_fault\.value\[\d\]"),
            "imu.gyro": _spread(columns, r"imu/(\d+)/gyro_fault\.value\[\d\]"),
            "mag.field": _spread(columns, r"mag/(\d+)/fault\.value\[\d\]"),
            "gnss.position": _spread(columns, r"gnss/(\d+)/position_fault\.value\[\d\]"),
            "gnss.velocity": _spread(columns, r"gnss/(\d+)/velocity_fault\.value\[\d\]"),
        }
        height, position = columns.get("baro/1/altitude.value"), columns.get("gnss/1/position_fault.value[2]")
        if height is not None and position is not None:
            change = (height - height[0]) + (position - position[0])
            residuals["baro.height"] = np.abs(change)
        speeds = {n: v[0] for n, v in _parts(columns, r"monitor/rotor/(\d+)\.speed").items()}
        voltage = columns.get("monitor/battery.voltage")
        worst = np.zeros(len(next(iter(columns.values()))))
        for number, speed in speeds.items():
            command = columns.get(f"control.throttle_{number}")
            if command is not None and voltage is not None:
                rows = np.stack([np.ones_like(command), _smooth(command), voltage], axis=1)
                worst = np.maximum(worst, np.where(command > 0.05, np.abs(_smooth(speed) - rows @ self.rotor), 0.0))
        if speeds:
            residuals["rotor.speed"] = worst
        current, charge = columns.get("monitor/battery.current"), columns.get("monitor/battery.charge")
        if voltage is not None and current is not None and charge is not None:
            rows = np.stack([np.ones_like(current), current, charge], axis=1)
            residuals["battery.voltage"] = np.abs(_smooth(voltage - rows @ self.battery))
        return {name: np.nan_to_num(values, nan=np.inf) for name, values in residuals.items() if values is not None}

    def diagnose(self, columns: Columns) -> tuple[str, float]:
        """The most suspicious family, and its residual over the threshold (below 1: healthy)."""
        ratios: dict[str, float] = {}
        for name, residual in self.residuals(columns).items():
            family = name.partition(".")[0]
            if name in self.thresholds and len(residual):
                ratio = float(residual.max()) / self.thresholds[name]
                ratios[family] = max(ratios.get(family, 0.0), ratio)
        family, ratio = max(ratios.items(), key=lambda item: item[1], default=(HEALTHY, 0.0))
        return (family, ratio) if ratio > 1.0 else (HEALTHY, ratio)


def _smooth(values: np.ndarray, width: int = 5) -> np.ndarray:
    """Moving mean over `width` rows: motors follow their commands within some hundredths of a second."""
    if len(values) < width:
        return values
    padded = np.concatenate([np.full(width - 1, values[0]), values])
    return np.convolve(padded, np.full(width, 1.0 / width), mode="valid")


def _rotor_rows(columns: Columns, healthy: np.ndarray) -> np.ndarray:
    voltage, tables = columns.get("monitor/battery.voltage"), []
    for number, (speed, *_) in _parts(columns, r"monitor/rotor/(\d+)\.speed").items():
        command = columns.get(f"control.throttle_{number}")
        if command is not None and voltage is not None:
            rows = np.stack([np.ones_like(command), _smooth(command), voltage, _smooth(speed)], axis=1)
            tables.append(rows[healthy & (command > 0.05)])
    return np.concatenate(tables) if tables else np.empty((0, 4))


def _battery_rows(columns: Columns, healthy: np.ndarray) -> np.ndarray:
    names = ("monitor/battery.current", "monitor/battery.charge", "monitor/battery.voltage")
    if any(name not in columns for name in names):
        return np.empty((0, 4))
    current, charge, voltage = (columns[name] for name in names)
    return np.stack([np.ones_like(current), current, charge, voltage], axis=1)[healthy]


def _fit(tables: Sequence[np.ndarray], size: int) -> np.ndarray:
    rows = np.concatenate([t for t in tables if len(t)]) if any(len(t) for t in tables) else np.empty((0, size + 1))
    rows = rows[np.isfinite(rows).all(axis=1)]
    return np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0] if len(rows) else np.zeros(size)
