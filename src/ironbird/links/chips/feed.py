"""What chips measure: the sensors of a vehicle on the rig, in the chips' own axes and units of SI.

The vehicle is moved to the time of each request, tick by tick, and every chip takes the new values at the tick at which
they came out; between them they hold, and the chip samples them at its own output rate, aliasing included.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ironbird.chips.board import Device
from ironbird.errors import LinkError
from ironbird.links.chips.wiring import Wiring
from ironbird.links.rig import Rig
from ironbird.vehicles import places as at

WARM_K = 298.15  # of a chip whose vehicle has no thermometer there
Values = Callable[[], dict[str, float]]


def connect(wiring: Wiring, rig: Rig) -> None:
    """Let a vehicle feed the chips of a board; raises if the vehicle lacks a sensor that the board needs."""
    sources = [(i, _values(device, rig)) for i, device in enumerate(wiring.board.device) if device.feed]
    step_ns = round(rig.state.model.step_s * 1e9)

    def feed() -> None:
        for number, values in sources:
            wiring.feed(number, **values())

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


def _values(device: Device, rig: Rig) -> Values:
    assert device.feed is not None
    family, _, text = device.feed.partition("/")
    number = int(text) - 1
    names = set(wiring_feeds(device))
    rows = device.axis_rows()

    def sensor(kind: str, sensors: list) -> np.ndarray:
        if number >= len(sensors):
            raise LinkError(
                f"device {device.name} shows {kind} {number + 1}, but vehicle {rig.vehicle.id} has {len(sensors)}; "
                "give the board another `feed`, or the vehicle the sensor"
            )
        return sensors[number].values

    def turned(name: str, values: np.ndarray) -> dict[str, float]:
        keys = (f"{name}_x", f"{name}_y", f"{name}_z")
        return {key: sign * float(values[axis]) for key, (axis, sign) in zip(keys, rows, strict=True)}

    if family == "imu":
        accel, gyro = sensor("imu", rig.accels), sensor("imu", rig.gyros)
        mag = sensor("mag", rig.magnetometers) if "field_x" in names else None
        path = f"imu/{number + 1}/chip.temperature"
        warm = rig.held(path) if path in rig.state.model.flat.held.start else None

        def inertial() -> dict[str, float]:
            out = turned("accel", accel) | turned("gyro", gyro)
            out["temperature"] = float(warm[0]) if warm is not None else WARM_K
            if mag is not None:
                out |= turned("field", mag)
            return {name: value for name, value in out.items() if name in names}

        return inertial
    if family == "mag":
        field = sensor("mag", rig.magnetometers)
        fixed = {"temperature": WARM_K} if "temperature" in names else {}
        return lambda: turned("field", field) | fixed
    if family == "baro":
        pressure = sensor("baro", rig.barometers)
        return lambda: {"pressure": float(pressure[0]), "temperature": WARM_K}
    if family == "airspeed":
        tube = sensor("airspeed", rig.airspeeds)
        return lambda: {"differential_pressure": float(tube[0]), "temperature": WARM_K}
    if family == "gnss":
        if number >= len(rig.receivers):
            raise LinkError(f"device {device.name} shows gnss {number + 1}, but vehicle {rig.vehicle.id} has no such")
        receiver = rig.receivers[number]
        details = receiver.details

        def fix() -> dict[str, float]:
            latitude, longitude, height = rig.geodetic(receiver.position_N.values)
            north, east, down = (float(v) for v in receiver.velocity_N.values)
            return {
                "latitude": math.radians(latitude),
                "longitude": math.radians(longitude),
                "height": height,
                "velocity_n": north,
                "velocity_e": east,
                "velocity_d": down,
                "eph": float(details["eph"][0]),
                "epv": float(details["epv"][0]),
                "speed_accuracy": float(details["speed_accuracy"][0]),
                "satellites": float(details["satellites_used"][0]),
                "fix": float(details["fix_type"][0]),
            }

        return fix
    if family == "battery":
        path = at.BATTERY_MONITOR.voltage
        if path not in rig.state.model.flat.held.start:
            return lambda: {"voltage_0": 16.0 * device.scale}
        volts = rig.held(path)
        return lambda: {"voltage_0": float(volts[0]) * device.scale}
    return lambda: {}


def wiring_feeds(device: Device) -> tuple[str, ...]:
    """The inputs that a device has."""
    from ironbird.chips.catalog import chip_class

    return chip_class(device.chip).feeds
