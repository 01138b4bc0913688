"""The test stand: a vehicle on its rig with any control system: true motion, parameters, and faults in flight.

All numbers are SI and radians: metres north, east and down of the vehicle's home, body axes forward, right, down.
Methods that change something return None if it was done, or the reason of a refusal as text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ironbird import rotations
from ironbird.errors import IronbirdError
from ironbird.faults.spec import Injection
from ironbird.model.signal import entry_names
from ironbird.rig.rig import Rig
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import VehicleKind
from ironbird.vehicles.load import Vehicle


@dataclass(frozen=True)
class Motion:
    """A state of motion; arrays are copies."""

    p_N: np.ndarray  # m north, east, down of home
    v_N: np.ndarray  # m/s over ground
    q_NB: np.ndarray  # w x y z
    rpy: np.ndarray  # rad: roll, pitch, yaw
    w_B: np.ndarray  # rad/s
    a_B: np.ndarray  # m/s^2: specific force, as an accelerometer has it


class Stand:
    """One vehicle on its rig: true motion, parameters, faults."""

    def __init__(
        self,
        vehicle: Vehicle,
        rig: Rig,
        *,
        remark: Callable[[str], None] = lambda words: None,
        note: Callable[[str, str], None] = lambda kind, words: None,
    ) -> None:
        self.vehicle, self.rig = vehicle, rig
        self.remark = remark  # gets commands as text
        self.note = note  # gets events: kind and text
        self.by = ""  # who commands at the moment, for events: "MAVLink client 245"; empty if it is none from outside
        flat = rig.state.model.flat
        self._params = {
            name: flat.p.start[path] + place
            for path, signal in flat.p.signals.items()
            if getattr(signal, "tunable", False) and path not in (at.NAVIGATOR.table, at.NAVIGATOR("script"))
            for place, name in enumerate(entry_names(path, signal.size))
        }

    # ------------------------------------------------------------------ what is

    @property
    def kind(self) -> VehicleKind:
        """The kind of vehicle, from its file."""
        return self.vehicle.kind

    @property
    def time_s(self) -> float:
        """Simulation time in seconds."""
        return self.rig.time_s

    @property
    def time_us(self) -> int:
        """Simulation time in whole microseconds."""
        return self.rig.time_us

    def truth(self) -> Motion:
        """The true motion; for vehicles without a free attitude, at the latest row of the log (at most 20 ms ago)."""
        known = self.rig.state.model.flat.x.start
        if all(at.BODY(name) in known for name in ("p", "v", "q", "w")):
            q = self.rig.truth("q").copy()
            q /= np.linalg.norm(q)
            p, v, w = self.rig.truth("p").copy(), rotations.rotate(q, self.rig.truth("v")), self.rig.truth("w").copy()
        else:
            p, v, w = (self.latest(path) for path in (at.BODY.position, at.BODY.velocity, at.BODY.rates))
            q = rotations.from_matrix(self.latest(at.BODY.attitude).reshape(3, 3).T)
        return Motion(p, v, q, rotations.euler(q), w, self.latest(at.BODY.specific_force))

    def rotor_speeds(self) -> list[float]:
        """Speeds of all rotors, rad/s, at the latest row of the log."""
        known = self.rig.stepper.plan.start
        motors = itertools.takewhile(known.__contains__, (at.rotor(n).motor("speed") for n in itertools.count(1)))
        return [float(self.latest(path)[0]) for path in motors]

    def latest(self, path: str) -> np.ndarray:
        """A signal at the latest row of the log; zeros before the first row, NaN if it is not logged."""
        stepper = self.rig.stepper
        plan, log = stepper.plan, stepper.log
        if path not in plan.start:
            return np.full(self.rig.state.model.flat.log.signals[path].size, np.nan)
        rows = stepper.rows
        start, size = plan.start[path], plan.signals[path].size
        return log.data[0, rows - 1, start : start + size, 0].copy() if rows else np.zeros(size)

    # ------------------------------------------------------------------ parameters and faults

    def params(self) -> dict[str, float]:
        """All parameters that can be changed, one entry per number: `control.rate_gain[0]`."""
        values = self.rig.state.params[0, :, 0]
        return {path: float(values[row]) for path, row in self._params.items()}

    def set_param(self, path: str, value: float) -> str | None:
        """Change one parameter from now on."""
        if path not in self._params:
            return f"there is no parameter '{path[:80]}' that can be changed"
        if not math.isfinite(value):
            return f"{path}: {value} is no number"
        return self._tune(path, float(value), f"{path} = {value:g}")

    def inject(self, injection: Injection) -> str | None:
        """Inject a fault whose times count from now; its effect is verified as for one ordered before the flight."""
        try:
            self.rig.inject(injection)
        except IronbirdError as error:
            return str(error)
        self.remark(f"fault {injection.fault.id}")
        return None

    def end(self, injection: Injection) -> str | None:
        """End a fault that was injected before, given by the same injection."""
        try:
            self.rig.end(injection)
        except IronbirdError as error:
            return str(error)
        self.remark(f"end of fault {injection.fault.id}")
        return None

    def _value(self, path: str) -> float | None:
        return float(self.rig.state.params[0, self._params[path], 0]) if path in self._params else None

    def _tune(self, path: str, value: float | list[float], words: str = "") -> str | None:
        try:
            self.rig.tune(path, value)
        except IronbirdError as error:
            return str(error)
        if words:
            self.remark(words)
        return None
