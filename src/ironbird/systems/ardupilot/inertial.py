"""All inertial units of the vehicle for ArduPilot, in virtual time: as files that it reads its samples from.

ArduPilot's simulator can take the samples of each accelerometer and gyroscope from a file, three numbers of four bytes
each time its driver is due (SIM_ACC_FILE_RW, SIM_GYR_FILE_RW) [ArduPilotCode]: /tmp/accel0.dat, for which virtual time
has a place in the run's own folder, and tmp/gyro0.dat in the folder where it runs. It starts over where a file ends,
at the cost of one reading. So a file holds the newest sample many times over, and is empty while a unit is silent. JSON
has room for one unit; in real time that one, imu/1, is all units.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.autopilots.ardupilot.params import MOST_UNITS
from ironbird.host.virtual_time.run import VirtualRun
from ironbird.rig.rig import Rig, Sensor

COPIES = 1000  # of a sample in its file: one reading in a thousand finds the end
MISSING = 0.99  # of its period: a sample that has not come after it is missing


@dataclass
class _File:
    """One sensor and its file."""

    sensor: Sensor
    file: int
    gap_s: float = np.inf  # least time between two samples
    sampled_s: float = -np.inf

    def fill(self, now_s: float) -> None:
        """Write the newest sample, or empty the file if one is missing."""
        if self.sensor.fresh() or not np.isfinite(self.sampled_s):
            self.gap_s = min(self.gap_s, now_s - self.sampled_s)
            self.sampled_s = now_s
            os.pwrite(self.file, self.sensor.values.astype(np.float32).tobytes() * COPIES, 0)
        elif now_s - self.sampled_s > MISSING * self.gap_s:
            os.ftruncate(self.file, 0)


class InertialUnits:
    """The files of all units of a vehicle; `folder` is where ArduPilot runs."""

    def __init__(self, rig: Rig, run: VirtualRun, folder: Path) -> None:
        self.rig = rig
        self.count = min(len(rig.accels), MOST_UNITS)
        self._files: list[_File] = []
        (folder / "tmp").mkdir()
        for number in range(self.count):
            self._add(rig.accels[number], run.folder / f"accel{number}.dat", run.owner)
            self._add(rig.gyros[number], folder / "tmp" / f"gyro{number}.dat", run.owner)

    def _add(self, sensor: Sensor, path: Path, owner: tuple[int, int] | None) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if owner is not None:
            os.chown(path, *owner)
        self._files.append(_File(sensor, file))

    def fill(self) -> None:
        """Offer the newest samples."""
        now_s = self.rig.time_s
        for file in self._files:
            file.fill(now_s)

    def close(self) -> None:
        """Close all files."""
        for one in self._files:
            os.close(one.file)
        self._files.clear()
