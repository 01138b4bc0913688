"""The rig: a vehicle on the bench with its sensors read and its actuators driven from outside.

Sensor values are views of the signals after fault injection, in SI units and the body frame; a sensor's `fresh` is true
when a new sample came since the last call. So a fault of a sensor or an actuator link affects every control system
alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ironbird.compiler.compiled import compile_model
from ironbird.errors import RunError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.model.signal import Number
from ironbird.protocols.geodesy import to_geodetic
from ironbird.rig.link_faults import FlownLinks
from ironbird.runtime.log import Log
from ironbird.runtime.paced import PacedLoop
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RunState, Stop, start
from ironbird.runtime.stepper import Stepper
from ironbird.runtime.tuning import Tuning, apply_tuning
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle, load_vehicle
from ironbird.world.runner import Feed

MOST_REPORTS = 1000  # reports of other vehicles that wait to be sent


@dataclass
class Sensor:
    """One output of a sensor, after fault injection."""

    values: np.ndarray  # a view: always the newest sample
    stamp: np.ndarray  # a view of one entry: time of the newest sample, s
    seen: float = -1.0
    path: str = ""  # of the signal

    def fresh(self) -> bool:
        """Whether a sample came since the last call."""
        new = float(self.stamp[0])
        if new == self.seen:
            return False
        self.seen = new
        return True


@dataclass
class Receiver:
    """A satellite receiver: position, velocity, and details such as satellites and accuracies."""

    position_N: Sensor  # m from home
    velocity_N: Sensor  # m/s
    details: Mapping[str, np.ndarray]  # views of the chip's other outputs: satellites, fix, accuracies
    paths: Sequence[str] = ()  # of these


@dataclass(frozen=True)
class TrafficReport:
    """An ADS-B report of another vehicle."""

    number: int  # of the vehicle that sent it
    name: str
    time_s: float
    position_N: np.ndarray  # m, as its receiver has it
    velocity_N: np.ndarray  # m/s


@dataclass
class Rig:
    """A vehicle that flies, as a control system meets it: sensors to read, actuators to command.

    `rig.step(ticks)` moves time, `rig.command(place, value)` commands an actuator, `rig.truth()` is the true state.

    Attributes
    ----------
    vehicle : Vehicle
        The vehicle.
    state : RunState
        Its run.
    stepper : Stepper
        Moves the run.
    actuators : dict of str to int
        Actuators by place, for example `rotor/1`, with their row of the inputs.
    accels, gyros : list of Sensor
        m/s² and rad/s in body axes.
    magnetometers : list of Sensor
        T.
    barometers, airspeeds : list of Sensor
        Pa.
    rangefinders : list of Sensor
        m.
    flows : list of Sensor
        Optical flow in rad/s.
    receivers : list of Receiver
        Satellite receivers.
    tunings : list of Tuning
        Parameters that were changed on the way.
    injector, ender : callable or None
        Of whoever flies it: begins and ends a fault.
    links : FlownLinks or None
        What link faults do to packets.
    sight : Feed or None
        Samples of sensors of the world.
    traffic : deque of TrafficReport
        Reports of others that are not sent to it yet.
    loop : PacedLoop or None
        A loop in native code that steps it by itself.
    """

    vehicle: Vehicle
    state: RunState
    stepper: Stepper
    actuators: dict[str, int] = field(default_factory=dict)  # place -> row of the inputs
    accels: list[Sensor] = field(default_factory=list)
    gyros: list[Sensor] = field(default_factory=list)
    magnetometers: list[Sensor] = field(default_factory=list)  # T
    barometers: list[Sensor] = field(default_factory=list)  # Pa
    airspeeds: list[Sensor] = field(default_factory=list)  # Pa
    rangefinders: list[Sensor] = field(default_factory=list)  # m
    flows: list[Sensor] = field(default_factory=list)
    receivers: list[Receiver] = field(default_factory=list)
    tunings: list[Tuning] = field(default_factory=list)  # parameters that were changed in flight
    injector: Callable[[Injection], None] | None = None  # set by the flight: schedules a fault and its verification
    links: FlownLinks | None = None  # set by the flight: applies link faults to packets
    sight: Feed | None = None  # samples of sensors of the world
    traffic: deque[TrafficReport] = field(default_factory=lambda: deque(maxlen=MOST_REPORTS))  # not sent to it yet
    ender: Callable[[Injection], None] | None = None  # set by the flight: ends such a fault
    loop: PacedLoop | None = None  # set by the flight: a real-time loop in native code

    @property
    def time_s(self) -> float:
        """Simulation time in seconds."""
        return self.state.tick * self.state.model.step_s

    @property
    def time_us(self) -> int:
        """Simulation time in whole microseconds."""
        return round(self.state.tick * self.state.model.step_s * 1e6)

    def step(self, ticks: int) -> bool:
        """Advance the vehicle by ticks of 1 ms; returns False when it has stopped or the time is over."""
        return self.stepper.step(ticks)

    def command(self, place: str, value: float) -> None:
        """Set the command of an actuator: throttle 0 to 1, deflection or steering -1 to 1."""
        try:
            self.stepper.inputs[self.actuators[place]] = value
        except KeyError:
            raise UnknownNameError("actuator", place, self.actuators, f"vehicle '{self.vehicle.id}'") from None

    def tune(self, path: str, value: float | list[float]) -> None:
        """Change a parameter from the next step on; the change is recorded and applied to twins of this flight too."""
        tuning = Tuning(self.state.tick, path, value)
        apply_tuning(self.state, tuning)
        self.tunings.append(tuning)

    def inject(self, injection: Injection) -> None:
        """Schedule a fault whose times count from now."""
        if self.injector is None:
            raise RunError(f"{injection.fault.id}: this run takes no faults in flight; order it before the start")
        self.injector(injection)

    def end(self, injection: Injection) -> None:
        """End a fault that was injected in flight, given by the same injection."""
        if self.ender is None:
            raise RunError(f"{injection.fault.id}: this run takes no faults in flight, so none can be ended")
        self.ender(injection)

    def disturb_links(self, faults: Sequence[Injection], seed: int) -> None:
        """Let the link faults among these act on the packets of the rig's links."""
        self.links = FlownLinks(self, self.state.model.flat.held.start, faults, seed)

    def held(self, path: str) -> np.ndarray:
        """A view of an output of a sampled block, by path."""
        return self.stepper.held[self.stepper.held_rows(path)]

    def truth(self, name: str) -> np.ndarray:
        """A view of a true state of the body: `p`, `v` (body frame), `q`, `w`."""
        flat = self.state.model.flat
        return self.state.x[0, flat.x.rows(at.BODY(name)), 0]

    def geodetic(self, position_N: np.ndarray | Sequence[float]) -> tuple[float, float, float]:
        """Latitude and longitude in degrees and height in m of a place given in metres from home (flat earth)."""
        return to_geodetic(self.vehicle.spec.home, position_N)

    def finish(self) -> tuple[Log, Stop | None]:
        """The log so far, and why the vehicle stopped."""
        return self.stepper.finish(), self.stepper.stop


def make_rig(
    vehicle: Vehicle | str,
    *,
    until_s: float,
    seed: int = 0,
    params: Mapping[str, Number] | None = None,
    log: Sequence[str] | None = None,
    log_s: float = 0.02,
) -> Rig:
    """Put a vehicle on the bench. Faults are ordered in the rig's `state` before the first step (`attach`)."""
    if not isinstance(vehicle, Vehicle):
        vehicle = load_vehicle(vehicle, control="external")
    state = start(compile_model(vehicle.diagram), seed=seed, params=params)
    return attach(vehicle, state, until_s=until_s, log=log, log_s=log_s)


def attach(
    vehicle: Vehicle,
    state: RunState,
    *,
    until_s: float,
    log: Sequence[str] | None = None,
    log_s: float = 0.02,
    watch: Sequence[Sequence[Predicate]] = (),
) -> Rig:
    """A rig on a prepared run state, in which parameters are set and faults are ordered."""
    stepper = Stepper(state, until_s=until_s, log=list(log) if log is not None else None, log_s=log_s, watch=watch)
    flat = state.model.flat
    rig = Rig(vehicle, state, stepper)
    rig.actuators = {name: stepper.input_row(name) for name in flat.u.start if not at.is_world_input(name)}

    def sensor(tap: at.Tap) -> Sensor:
        return Sensor(rig.held(tap.value), rig.held(tap.stamp), path=tap.value)

    start = flat.held.start
    rig.accels = [sensor(imu.accel) for imu in at.each(at.imu, start)]
    rig.gyros = [sensor(imu.gyro) for imu in at.each(at.imu, start)]
    rig.magnetometers = [sensor(mag.tap) for mag in at.each(at.magnetometer, start)]
    rig.barometers = [sensor(baro.tap) for baro in at.each(at.barometer, start)]
    rig.airspeeds = [sensor(tube.tap) for tube in at.each(at.airspeed, start)]
    rig.rangefinders = [sensor(finder.tap) for finder in at.each(at.rangefinder, start)]
    rig.flows = [sensor(camera.tap) for camera in at.each(at.optical_flow, start)]
    for gnss in at.each(at.gnss, start):
        chip = gnss.chip("")
        paths = [path for path in start if path.startswith(chip)]
        details = {path.removeprefix(chip): rig.held(path) for path in paths}
        rig.receivers.append(Receiver(sensor(gnss.position), sensor(gnss.velocity), details, paths))
    return rig
