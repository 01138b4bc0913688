"""The reference autopilot without its vehicle, to run in a separate process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ironbird.compiler.compiled import compile_model
from ironbird.errors import LinkError
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles import places as at
from ironbird.vehicles.external import cut_vehicle
from ironbird.vehicles.load import Vehicle, load_vehicle

LONGEST_S = 24 * 3600.0
CONNECT_EVERY_S = 0.01  # between two attempts to reach a simulator
FULL_CELL_V = 4.1
# Sensors that links can carry
CARRIED = ("imu/", "mag/", "baro/", "gnss/", "airspeed/", "range/", "flow/", "log/", "monitor/battery.")
EPH_M, EPV_M, SPEED_ACCURACY_MPS, FIXED = 1.0, 1.5, 0.25, 3.0


class ReferenceAutopilot:
    """The control system of a vehicle without the vehicle: sensor values in, actuator commands out."""

    def __init__(
        self, vehicle: Vehicle | str, *, params: Mapping[str, Number] | None = None, arm_after_s: float | None = None
    ) -> None:
        if not isinstance(vehicle, Vehicle):
            vehicle = load_vehicle(vehicle, control="reference")
        self.vehicle = vehicle
        diagram, feeds, driven = cut_vehicle(self.vehicle.diagram)
        read = {source.rpartition(".")[0] for sources in diagram.links.values() for source in sources}
        # a block whose outputs are not read is not part of the control system
        read |= {path.rpartition(".")[0] for path in driven.values()}
        strange = [
            path
            for path, targets in feeds.items()
            if not path.startswith(CARRIED) and any(target.rpartition(".")[0] in read for target in targets)
        ]
        if strange:
            raise LinkError(
                f"vehicle '{vehicle.id}': its control system reads {strange[0]}, for which the links have no message"
            )
        settings: dict[str, Number] = dict(params or {})
        if arm_after_s is not None:
            if at.NAVIGATOR.arm_time not in diagram.param_paths():
                raise LinkError(f"vehicle '{vehicle.id}' knows no arming, so it cannot wait for {arm_after_s:g} s")
            settings[at.NAVIGATOR.arm_time] = arm_after_s
        model = compile_model(diagram)
        self.stepper = Stepper(start(model, params=settings), until_s=LONGEST_S, log=[], log_s=60.0)
        self._rows = {path: [model.flat.u.rows(name) for name in names] for path, names in feeds.items()}
        self.commands = {place: self.view(path) for place, path in driven.items()}
        names = model.flat.held.start
        self._armed = self.view(at.NAVIGATOR.armed) if at.NAVIGATOR.armed in names else None
        self._disarmed = self.view("navigator.disarmed") if "navigator.disarmed" in names else None
        self._tick = 0
        self._means: dict[str, tuple[int, np.ndarray]] = {}  # of inertial samples since they were read: count, sum
        readers = {target.rpartition(".")[0] for path in feeds if path.startswith("imu/") for target in feeds[path]}
        steps = [round((diagram.blocks[path].sample_s or model.step_s) / model.step_s) for path in readers]
        self._inertial_ticks = min(steps, default=1)  # between two steps that read inertial units
        for path in feeds:
            if path.endswith(".stamp"):
                self.feed(path, -1.0)
        self._has_log = "log/1/fault.value" in feeds
        if "monitor/battery.voltage" in feeds:  # default until a link sends one; PX4's has no message for it
            self.feed("monitor/battery.voltage", FULL_CELL_V * float(diagram.value("vote/battery.cells")[0]))

    def view(self, path: str) -> np.ndarray:
        """A view of an output of the control system, by path."""
        return self.stepper.held[self.stepper.held_rows(path)]

    @property
    def reads(self) -> Sequence[str]:
        """Paths of the sensor outputs that it reads."""
        return tuple(self._rows)

    @property
    def armed(self) -> bool:
        """Whether the motors may turn; always true for vehicles without arming."""
        if self._armed is not None:
            return bool(self._armed[0] > 0.5)
        return self._disarmed is None or bool(self._disarmed[0] < 0.5)

    def feed(self, path: str, value: Number | np.ndarray | Sequence[float]) -> None:
        """Set the value of a sensor's output; a path that this autopilot does not read is ignored."""
        for rows in self._rows.get(path, ()):
            self.stepper.inputs[rows] = value

    def sample(self, place: str, value: Number | np.ndarray | Sequence[float], time_s: float) -> None:
        """Set a new sample of a sensor, after fault injection, with its time."""
        self.feed(f"{place}.value", value)
        self.feed(f"{place}.stamp", time_s)

    def inertial_sample(self, place: str, value: Sequence[float] | np.ndarray, time_s: float) -> None:
        """Add a sample of an inertial unit that may sample faster than the control system steps.

        A step reads the mean of the samples since the previous step, as PX4 sums them up (`vehicle_imu`) [PX4]: no
        sample is left out, and vibration above half the rate of the steps is not aliased into them.
        """
        count, total = self._means.get(place, (0, None))
        count, total = count + 1, np.asarray(value) if total is None else total + np.asarray(value)
        self._means[place] = count, total
        self.sample(place, total / count, time_s)

    def fix(
        self,
        number: int,
        position_N: np.ndarray | Sequence[float],
        velocity_N: np.ndarray | Sequence[float],
        time_s: float,
        *,
        kind: float = FIXED,
        eph_m: float = EPH_M,
        epv_m: float = EPV_M,
    ) -> None:
        """Set a new fix of satellite receiver `number`: position and velocity in N, m and m/s."""
        self.sample(f"gnss/{number}/position_fault", position_N, time_s)
        self.sample(f"gnss/{number}/velocity_fault", velocity_N, time_s)
        chip = f"gnss/{number}/chip"
        for name, value in (("fix_type", kind), ("eph", eph_m), ("epv", epv_m), ("speed_accuracy", SPEED_ACCURACY_MPS)):
            self.feed(f"{chip}.{name}", value)

    def advance(self, time_s: float) -> None:
        """Run up to this time and, at the first call, one step further."""
        model = self.stepper.state.model
        tick = round(time_s / model.step_s) + 1
        if tick > self._tick:
            if self._has_log:  # links have no message for a speed log: speed over ground replaces it
                attitude = self.view("estimator.R_NB").reshape(3, 3, order="F")
                over_ground = attitude.T @ self.view(at.ESTIMATOR.velocity)
                self.feed("log/1/fault.value", over_ground)
            self.stepper.step(tick - self._tick)
            if -self._tick % self._inertial_ticks < tick - self._tick:  # a step that reads them was among these
                self._means.clear()
            self._tick = tick
