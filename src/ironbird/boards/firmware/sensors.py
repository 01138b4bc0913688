"""Chips of an emulated board, fed by the sensors of a vehicle at its tick, and voltages at its converter."""

from __future__ import annotations

import numpy as np

from ironbird.boards.feed import BATTERY_V, Feeder
from ironbird.boards.firmware.device import Board
from ironbird.boards.firmware.machine import Machine
from ironbird.rig.rig import Rig
from ironbird.vehicles import places as at


class BoardSensors:
    """Inputs of the chips and pins of a board. Call `take` after the machine has run up to now.

    Chips sample the latest outputs of the vehicle's sensors at their own rates, as on the boards of `ironbird.boards`.
    """

    def __init__(self, board: Board, machine: Machine, rig: Rig) -> None:
        self.machine, self.rig = machine, rig
        sensors = board.sensors()
        self._feeder = Feeder(sensors, rig)
        self._chips = []
        for device, row in zip(sensors.device, self._feeder.values, strict=True):
            chip = machine.chips[device.name]
            inputs = np.ctypeslib.as_array(chip.fields.inputs)
            self._chips.append((chip, inputs, row[: len(inputs)]))
        held = rig.state.model.flat.held.start
        self._analog: list[tuple[int, float, np.ndarray]] = []
        for pin in board.analog:
            path = at.BATTERY_MONITOR.voltage if pin.feed == "battery.voltage" else at.BATTERY_MONITOR.current
            if path in held:
                self._analog.append((pin.channel, pin.scale, rig.held(path)))
            elif pin.feed == "battery.voltage":
                machine.analog(pin.channel, BATTERY_V * pin.scale)
        self.take()

    def take(self) -> None:
        """Update all inputs; until now chips sample the previous values."""
        now_ns = self.rig.state.tick * round(self.rig.state.model.step_s * 1e9)
        self._feeder.take()
        for chip, inputs, values in self._chips:
            chip.advance(now_ns)
            inputs[:] = values
        for channel, scale, value in self._analog:
            self.machine.analog(channel, float(value[0]) * scale)
        self.machine.serve_serial_chips(self.rig.time_s)
