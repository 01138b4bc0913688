"""Inputs of chips from the sensors of a vehicle, in the chips' axes and SI units.

The vehicle advances tick by tick, and every chip gets new values at the tick at which its sensor updates; they are held
in between, and the chip samples them at its own output rate, with aliasing.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.boards.board import Board, Device
from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.native_board import INPUTS
from ironbird.boards.wiring import Wiring
from ironbird.errors import LinkError
from ironbird.rig.rig import Receiver, Rig
from ironbird.vehicles import places as at

WARM_K = 298.15  # K, of a chip whose vehicle has no thermometer
THROTTLE_CHANNEL = 3  # of a radio without a pilot: throttle low, all others centred
BATTERY_V = 16.0  # V, of a vehicle without a battery
AXES = ("x", "y", "z")


class Feeder:
    """Inputs of all chips of a board from the sensors of a vehicle; raises if the vehicle lacks one of them.

    `values` has a row for each device; `take` updates it.
    """

    def __init__(self, board: Board, rig: Rig, values: np.ndarray | None = None) -> None:
        self.rig = rig
        self.values = np.zeros((len(board.device), INPUTS)) if values is None else values
        self._flat = self.values.reshape(-1)
        self._rows: list[int] = []
        self._gains: list[float] = []
        self._to: list[int] = []
        self._receivers: list[tuple[Receiver, np.ndarray]] = []
        for number, device in enumerate(board.device):
            if device.feed is not None:
                self._connect(number, device)
        self._row, self._gain = np.array(self._rows, np.intp), np.array(self._gains)
        self._target = np.array(self._to, np.intp)
        self._held = rig.stepper.held

    def _link(self, number: int, device: Device, name: str, path: str, gain: float = 1.0, entry: int = 0) -> None:
        self._rows.append(self.rig.stepper.held_rows(path).start + entry)
        self._gains.append(gain)
        self._to.append(INPUTS * number + chip_class(device.chip).feeds.index(name))

    def _vector(self, number: int, device: Device, name: str, path: str) -> None:
        for axis, (entry, sign) in zip(AXES, device.axis_rows(), strict=True):
            if f"{name}_{axis}" in chip_class(device.chip).feeds:
                self._link(number, device, f"{name}_{axis}", path, sign, entry)

    def _connect(self, number: int, device: Device) -> None:
        assert device.feed is not None
        family, _, text = device.feed.partition("/")
        unit, rig, feeds = int(text), self.rig, chip_class(device.chip).feeds
        there = {
            "imu": rig.accels, "mag": rig.magnetometers, "baro": rig.barometers, "airspeed": rig.airspeeds,
            "gnss": rig.receivers,
        }  # fmt: skip
        if family in there and unit > len(there[family]):  # type: ignore[arg-type]
            raise LinkError(
                f"device {device.name} shows {family} {unit}, but vehicle {rig.vehicle.id} has "
                f"{len(there[family])}; give the board another `feed`, or the vehicle the sensor"  # type: ignore[arg-type]
            )
        if "temperature" in feeds:
            self.values[number, feeds.index("temperature")] = WARM_K
        if family == "imu":
            self._vector(number, device, "accel", at.imu(unit).accel.value)
            self._vector(number, device, "gyro", at.imu(unit).gyro.value)
            warm = f"imu/{unit}/chip.temperature"
            if warm in rig.state.model.flat.held.start and "temperature" in feeds:
                self._link(number, device, "temperature", warm)
            if "field_x" in feeds:
                if unit > len(rig.magnetometers):
                    raise LinkError(f"device {device.name} shows mag {unit}, which vehicle {rig.vehicle.id} lacks")
                self._vector(number, device, "field", at.magnetometer(unit).tap.value)
        elif family == "mag":
            self._vector(number, device, "field", at.magnetometer(unit).tap.value)
        elif family == "baro":
            self._link(number, device, "pressure", at.barometer(unit).tap.value)
        elif family == "airspeed":
            self._link(number, device, "differential_pressure", at.airspeed(unit).tap.value)
        elif family == "gnss":
            self._receivers.append((rig.receivers[unit - 1], self.values[number]))
        elif family == "battery":
            if at.BATTERY_MONITOR.voltage in rig.state.model.flat.held.start:
                self._link(number, device, "voltage_0", at.BATTERY_MONITOR.voltage, device.scale)
            else:
                self.values[number, feeds.index("voltage_0")] = BATTERY_V * device.scale
        elif family == "rc":
            self.values[number, feeds.index(f"channel_{THROTTLE_CHANNEL}")] = -1.0

    def take(self) -> None:
        """Update the values with the newest samples."""
        self._flat[self._target] = self._held[self._row] * self._gain
        for receiver, row in self._receivers:
            if not receiver.position_N.fresh():
                continue
            details = receiver.details
            latitude, longitude, height = self.rig.geodetic(receiver.position_N.values)
            row[:3] = math.radians(latitude), math.radians(longitude), height
            row[3:6] = receiver.velocity_N.values
            row[6:11] = [details[name][0] for name in ("eph", "epv", "speed_accuracy", "satellites_used", "fix_type")]


def connect(wiring: Wiring, rig: Rig) -> None:
    """Connect a vehicle to the chips of a board: a request at a time advances the vehicle to that time."""
    feeder = Feeder(wiring.board, rig)
    step_ns = round(rig.state.model.step_s * 1e9)

    def feed() -> None:
        feeder.take()
        wiring.take(feeder.values)

    def before(t: int) -> None:
        now = rig.state.tick * step_ns
        while now + step_ns <= t:
            if not rig.step(1):
                break
            now += step_ns
            wiring.advance(now)
            feed()

    feed()
    wiring.before = before
