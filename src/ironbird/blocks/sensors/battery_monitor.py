"""Battery monitor: voltage, current and charge as the autopilot's power module reports them."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import rounded
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State


class BatteryMonitor(Block):
    """Measures voltage and current of the battery with scale error, offset and noise, and adds up the charge drawn.
    It is a voltage divider and a current shunt.

    With its default parameters the monitor is ideal. Not modelled: temperature, dependence of the shunt on load.
    """

    source = "closed form of this project"

    time = Clock(doc="simulation time")
    voltage_battery = In(unit="V", doc="at the terminals")
    current_battery = In(unit="A", doc="drawn")

    voltage_truth = Out(unit="V", doc="at the terminals")
    voltage = Out(unit="V", doc="as measured")
    current_truth = Out(unit="A", doc="drawn")
    current = Out(unit="A", doc="as measured; not below zero")
    charge = Out(unit="A*s", doc="measured current added up")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=2, doc="white noise of voltage and current")
    used = State(unit="A*s", init=0.0, doc="charge counted")

    voltage_scale = Param(unit="1", default=1.0, tunable=True, doc="of the divider")
    current_scale = Param(unit="1", default=1.0, tunable=True, doc="of the shunt")
    voltage_offset = Param(unit="V", default=0.0, tunable=True, doc="constant error")
    current_offset = Param(unit="A", default=0.0, tunable=True, doc="constant error")
    voltage_noise = Param(unit="V", default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    current_noise = Param(unit="A", default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    voltage_resolution = Param(unit="V", default=0.0, low=0.0, doc="smallest step; 0 is none")
    current_resolution = Param(unit="A", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.05, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def _current(self, u: View, p: View) -> ca.SX:
        value = p.current_scale * u.current_battery + p.current_offset + p.current_noise * u.white[1]
        return ca.fmax(rounded(value, p.current_resolution), 0)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        return {"used": x.used + self.sample_s * self._current(u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        voltage = p.voltage_scale * u.voltage_battery + p.voltage_offset + p.voltage_noise * u.white[0]
        return {
            "voltage_truth": u.voltage_battery,
            "voltage": rounded(voltage, p.voltage_resolution),
            "current_truth": u.current_battery,
            "current": self._current(u, p),
            "charge": x.used,
            "stamp": u.time,
        }
