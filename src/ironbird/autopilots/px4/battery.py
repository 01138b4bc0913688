"""The vehicle's battery for PX4: a smart battery on its payload port, as PX4's simulator link has no message for it.

BATTERY_STATUS of the component BATTERY, twice a second of simulation time, with the values of the power module [PX4].
The remaining share follows the rule of Ironbird's gauge (`blocks/estimators/battery_gauge.py`): the smaller of the
estimates from charge and from voltage. It is sent by UDP outside the lockstep, so it may be one step early or late.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from ironbird.autopilots.px4.process import PAYLOAD_PORT
from ironbird.blocks.estimators.battery_gauge import left_by_voltage
from ironbird.host.virtual_time.run import VirtualRun
from ironbird.protocols.mavlink import numbers
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import BATTERY_STATUS
from ironbird.rig.rig import Rig
from ironbird.vehicles.load import Vehicle

MONITOR = "monitor/battery"
EVERY_S = 0.5
VIRTUAL_PORT = 14290  # that it sends from, in virtual time
SMOOTH = 0.2  # share of a new voltage: a time constant of 2 s
MOST_CELLS, NO_CELL = 10, 65535
UNKNOWN_C = 32767


def has_battery(vehicle: Vehicle) -> bool:
    """Whether the vehicle has a battery with a power module that measures it."""
    return MONITOR in vehicle.diagram.blocks


class SmartBattery:
    """Sends the measurements of the power module to PX4."""

    def __init__(self, rig: Rig, instance: int, run: VirtualRun | None = None) -> None:
        nominal = rig.vehicle.diagram
        self.cells = min(round(float(nominal.value("battery.cells")[0])), MOST_CELLS)
        self.capacity_As = float(nominal.value("battery.capacity")[0])
        self.resistance_ohm = float(nominal.value("battery.resistance")[0])
        self._voltage, self._current, self._charge = (
            rig.held(f"{MONITOR}.{name}") for name in ("voltage", "current", "charge")
        )
        self._filtered_V: float | None = None
        self._due_s = 0.0
        self._packer = Packer(1 + instance, numbers.MAV_COMP_ID_BATTERY, 256)  # PX4 accepts its own system only
        self._peer: Any = ("127.0.0.1", PAYLOAD_PORT + instance)
        if run is not None:
            self._peer, self._socket = run.address(PAYLOAD_PORT + instance), run.datagrams(VIRTUAL_PORT)
        else:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setblocking(False)

    def poll(self, time_s: float) -> None:
        """Send BATTERY_STATUS if it is due at this simulation time (s)."""
        if time_s < self._due_s:
            return
        self._due_s = time_s + EVERY_S
        voltage, current, charge = float(self._voltage[0]), float(self._current[0]), float(self._charge[0])
        rest = voltage + self.resistance_ohm * current
        before = rest if self._filtered_V is None else self._filtered_V
        self._filtered_V = before + SMOOTH * (rest - before)
        remaining = left(self._filtered_V / self.cells, charge / self.capacity_As)
        cells = [min(max(round(1000 * voltage / self.cells), 0), NO_CELL - 1)] * self.cells
        self._packer.add(
            BATTERY_STATUS,
            round(charge / 3.6),
            -1,
            UNKNOWN_C,
            *cells,
            *[NO_CELL] * (MOST_CELLS - self.cells),
            min(round(100 * current), 32767),
            0,
            numbers.MAV_BATTERY_FUNCTION_PROPULSION,
            numbers.MAV_BATTERY_TYPE_LIPO,
            round(100 * remaining),
            *[0] * 8,
        )
        with contextlib.suppress(OSError):  # PX4 is not there yet, or no longer: the exchange reports it
            self._socket.sendto(self._packer.take(), self._peer)

    def close(self) -> None:
        """Close the UDP port of the battery."""
        self._socket.close()


def left(cell_V: float, used: float) -> float:
    """Remaining share of the charge (0 to 1), from a cell's voltage at rest and the share used by counting."""
    return min(max(min(left_by_voltage(cell_V), 1.0 - used), 0.0), 1.0)
