"""Faults of sensors that ArduPilot simulates itself, as its SIM_ parameters: barometer, compass.

All other faults act in the vehicle or on the link to ArduPilot, as with any control system. A fault that is mapped to
parameters is set over a separate MAVLink link at its start, at its end and while it grows, in simulation time; the echo
of each parameter (PARAM_VALUE) is the evidence that it acts. Faults that act on one parameter at the same time are
joined (offsets add up, scales multiply, of switches the worst counts), and each has its own witness.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ironbird.autopilots.ardupilot.params import MILLIGAUSS_PER_T, MOST_UNITS, PASCAL_PER_METRE, UNIFORM
from ironbird.errors import LinkError
from ironbird.faults.spec import Fault, Injection
from ironbird.protocols.atmosphere import pressure_at_Pa, pressure_height_m
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.systems.ardupilot.parameters import ANSWER_S, TRIES, ParameterLink, as_float32

MOVING_S = 0.1  # s between two values of a parameter that changes with time
RAMP_STEPS = 50
BARO_SAMPLE_S = 0.02  # of ArduPilot's barometers, for delays in samples
REPLACED_SCALE = 1e-3  # of a compass whose offset replaces its field: a thousandth of the earth's field remains
HARD_IRON_MGAUSS = {"X": 5.0, "Y": 13.0, "Z": -18.0}  # of ArduPilot's compasses
UNITS = {  # of parameters, by a part of their names
    "_OFS_": "mGauss", "_ALY_HGT": "m", "_ALY_": "mGauss", "_GLITCH": "m", "_RND": "m", "_DELAY": "ms",
}  # fmt: skip
Route = Literal["vehicle", "parameters", "none"]


@dataclass(frozen=True)
class Moment:
    """State of a fault at one time, from which the value of a parameter is computed."""

    fault: Fault
    severity: float
    age_s: float  # since the fault's start
    height_m: float  # above the sea
    white: Callable[[], float] = lambda: 0.0  # a normal number of deviation 1, another one at each call

    def amount(self, param: str) -> float:
        """Value of a fault's catalogue parameter at this severity, in its own unit (m, Pa, T, samples)."""
        changes = {change.target.rpartition(".")[2]: change for change in self.fault.changes}
        return changes[param].value(self.severity)


Value = Callable[[Moment], float]
Join = Callable[[float, Sequence[float]], float]  # of the healthy value and those of all faults that act, one value


def farthest(healthy: float, values: Sequence[float]) -> float:
    """The value farthest from the healthy one: of switches and delays the worst counts."""
    return max(values, key=lambda value: abs(value - healthy))


def added(healthy: float, values: Sequence[float]) -> float:
    """Offsets add up."""
    return healthy + sum(value - healthy for value in values)


def multiplied(healthy: float, values: Sequence[float]) -> float:
    """Scales multiply."""
    return healthy * math.prod(value / healthy for value in values)


def root_of_squares(healthy: float, values: Sequence[float]) -> float:
    """Deviations of independent noises join as the root of their squares."""
    return math.hypot(healthy, *values)


@dataclass(frozen=True)
class Setting:
    """A SIM_ parameter, its value while the fault acts, and after it; {n} is the instance, axis one of 0 to 2."""

    name: str
    value: Value
    restore: float
    axis: int | None = None
    moving: bool = False  # its value changes with time at constant severity
    join: Join = farthest  # what several faults at once make of it

    @property
    def unit(self) -> str:
        """Unit of the parameter; "1" of switches and factors."""
        return next((unit for part, unit in UNITS.items() if part in self.name), "1")


@dataclass(frozen=True)
class Plan:
    """How a fault is carried out on ArduPilot: its settings, or the reason why it is impossible."""

    route: Route
    settings: tuple[Setting, ...] = ()
    reason: str = ""


VEHICLE = Plan("vehicle")


@dataclass(frozen=True)
class Routes:
    """Which sensors ArduPilot gets from the vehicle; the others it simulates itself."""

    receivers: bool = True  # on its serial ports; an ArduPilot that was started by hand has its own
    units: int = 1  # inertial units; one is that of JSON


def _none(reason: str) -> Plan:
    return Plan("none", reason=reason)


def _set(*settings: Setting) -> Plan:
    return Plan("parameters", settings)


def _constant(value: float) -> Value:
    return lambda m: value


def _compass(offset: Callable[[Moment], float], moving: bool = False) -> Plan:
    """Offset of the compass; its sign is changed, because ArduPilot subtracts the parameter."""

    def setting(axis: int, letter: str, hard: float) -> Setting:
        return Setting(
            f"SIM_MAG{{n}}_OFS_{letter}", lambda m: hard - offset(m) * MILLIGAUSS_PER_T, hard, axis, moving, added
        )

    return _set(*(setting(axis, *iron) for axis, iron in enumerate(HARD_IRON_MGAUSS.items())))


def _field_replaced(field_T: Value) -> Plan:
    """Compass that reads a constant field: ArduPilot subtracts an offset, then scales; a small scale leaves it."""

    def setting(axis: int, letter: str, hard: float) -> Setting:
        return Setting(
            f"SIM_MAG{{n}}_OFS_{letter}", lambda m: hard - field_T(m) * MILLIGAUSS_PER_T / REPLACED_SCALE, hard, axis
        )

    return _set(
        Setting("SIM_MAG{n}_SCALING", _constant(REPLACED_SCALE), 1.0),
        *(setting(axis, *iron) for axis, iron in enumerate(HARD_IRON_MGAUSS.items())),
    )


def _baro(name: str, value: Value, restore: float = 0.0, moving: bool = False) -> Plan:
    join = {"GLITCH": added, "RND": root_of_squares}.get(name, farthest)
    return _set(Setting(f"SIM_{{baro}}_{name}", value, restore, None, moving, join))


def _height_error(m: Moment, factor: float) -> float:
    return pressure_height_m(pressure_at_Pa(m.height_m) * factor) - m.height_m


_NO_SPIKES = _none("ArduPilot has no parameter for single wrong samples")
_ALL_COMPASSES = _none("ArduPilot's parameter for it acts on all compasses at once")
_ONE_IMU = _none("in real time the JSON interface carries one inertial unit, imu/1; virtual time carries them all")
_NO_SUCH_IMU = _none(f"ArduPilot takes {MOST_UNITS} inertial units")
_OWN_SATELLITES = _none("an ArduPilot that was started by hand simulates its own satellites")
_SILENT_IMU = {  # JSON cannot be silent
    "imu.accel_dropout@1": _set(Setting("SIM_ACC_FAIL_MSK", _constant(1.0), 0.0)),
    "imu.gyro_dropout@1": _set(Setting("SIM_GYR_FAIL_MSK", _constant(1.0), 0.0)),
}
_HELD = Plan("vehicle", reason="the last value goes on over the link: it looks stuck, not silent")


PLANS: dict[str, Plan] = {
    "baro.bias@1": _baro("GLITCH", lambda m: -m.amount("offset") / PASCAL_PER_METRE),
    "baro.drift@1": _baro("GLITCH", lambda m: -m.amount("drift_rate") * m.age_s / PASCAL_PER_METRE, moving=True),
    "baro.scale@1": _baro("GLITCH", lambda m: _height_error(m, m.amount("scale")), moving=True),
    "baro.noise@1": _baro("RND", lambda m: UNIFORM * m.amount("noise") / PASCAL_PER_METRE, 0.2),
    "baro.spike@1": _NO_SPIKES,
    "baro.stuck@1": _baro("FREEZE", _constant(1.0)),
    "baro.open@1": _none("no height has zero pressure, and ArduPilot's barometer is given a height"),
    "baro.short@1": _baro("GLITCH", lambda m: pressure_height_m(m.amount("replacement")) - m.height_m, moving=True),
    "baro.delay@1": _baro("DELAY", lambda m: round(1000 * BARO_SAMPLE_S * m.amount("delay"))),
    "baro.dropout@1": _baro("DISABLE", _constant(1.0)),
    "baro.saturation@1": _none("ArduPilot has no parameter that limits a pressure"),
    "mag.bias@1": _compass(lambda m: m.amount("offset")),
    "mag.drift@1": _compass(lambda m: m.amount("drift_rate") * m.age_s, moving=True),
    "mag.scale@1": _set(Setting("SIM_MAG{n}_SCALING", lambda m: m.amount("scale"), 1.0, join=multiplied)),
    "mag.noise@1": _compass(lambda m: m.amount("noise") * m.white(), moving=True),  # as often as a copter reads it
    "mag.spike@1": _NO_SPIKES,
    "mag.stuck@1": _set(Setting("SIM_MAG{n}_FAIL", _constant(2.0), 0.0)),
    "mag.open@1": _set(Setting("SIM_MAG{n}_SCALING", _constant(0.0), 1.0)),
    "mag.short@1": _field_replaced(lambda m: m.amount("replacement")),
    "mag.delay@1": _ALL_COMPASSES,
    "mag.dropout@1": _set(Setting("SIM_MAG{n}_FAIL", _constant(1.0), 0.0)),
    "mag.saturation@1": _none("ArduPilot has no parameter that limits a field"),
    "airspeed.dropout@1": _HELD,
    "range.dropout@1": _HELD,
}
NOT_LINKED = {"flow": "optical flow is not wired to ArduPilot"}
MAGNETIC, DENIED = "environment.magnetic_anomaly@1", "environment.gnss_denied@1"


def plan_of(injection: Injection, routes: Routes) -> Plan:
    """How a fault acts: in the vehicle, by parameters of ArduPilot, or not at all, with the reason."""
    name = injection.fault.id
    family = name.partition(".")[0]
    if family in NOT_LINKED:
        return _none(NOT_LINKED[family])
    if family == "imu":
        if injection.instance not in range(1, routes.units + 1):
            return _ONE_IMU if routes.units == 1 else _NO_SUCH_IMU
        return _SILENT_IMU.get(name, VEHICLE) if routes.units == 1 else VEHICLE
    if family in ("airspeed", "range") and injection.instance != 1:
        return _none(f"the JSON interface carries one sensor, {family}/1")
    if (family == "gnss" or name == DENIED) and not routes.receivers:
        return _OWN_SATELLITES
    if name == MAGNETIC:
        return _anomaly(injection)
    return PLANS.get(name, VEHICLE)


def _anomaly(injection: Injection) -> Plan:
    """Magnetic anomaly in N added to the earth's field; the length over which ArduPilot weakens it is very large."""
    param = injection.fault.changes[0].target.rpartition(".")[2]
    axes = [i for i in range(3) if injection.axis in (None, i)]
    return _set(
        Setting("SIM_MAG_ALY_HGT", _constant(1e6), 1.0),
        *(
            Setting(f"SIM_MAG_ALY_{'XYZ'[i]}", lambda m: m.amount(param) * MILLIGAUSS_PER_T, 0.0, i, join=added)
            for i in axes
        ),
    )


Shares = Sequence[tuple[Injection, float]]  # the faults that act on a parameter, and the value that each orders


@dataclass
class Echo:
    """A parameter that ArduPilot has confirmed."""

    time_s: float
    name: str
    value: float
    delay_s: float  # in simulation time, since it was sent
    shares: Shares = ()


@dataclass
class _Order:
    """A parameter that was sent and is not confirmed yet."""

    value: float
    time_s: float
    sent_s: float
    sent_wall: float
    quiet: bool  # one of many steps of a ramp: no event is logged
    shares: Shares
    tries: int = 1


@dataclass
class _Run:
    """An injection and its progress."""

    injection: Injection
    plan: Plan
    event: int | None  # place of the event whose trigger starts it
    level: float = 0.0
    refreshed_s: float = -math.inf
    started_s: float = 0.0
    numbers: random.Random = field(default_factory=random.Random)
    values: dict[str, float] = field(default_factory=dict)  # of parameters, while it acts


def level(injection: Injection, time_s: float) -> float:
    """Severity (0 to 1) at a time in s since the trigger; a ramp rises in steps."""
    if not injection.start_s <= time_s < injection.end_s:
        return 0.0
    since = time_s - injection.start_s
    if injection.shape == "ramp":
        return injection.severity * math.ceil(min(since / injection.rise_s, 1.0) * RAMP_STEPS) / RAMP_STEPS
    if injection.shape == "intermittent" and since % injection.period_s >= injection.duty * injection.period_s:
        return 0.0
    return injection.severity


@dataclass
class FaultDriver:
    """Sets the parameters of all faults that ArduPilot simulates itself."""

    rig: Rig
    injections: Sequence[Injection]
    note: Callable[[Rig, str, str], None]
    link: ParameterLink
    routes: Routes = field(default_factory=Routes)
    healthy: Mapping[str, float] = field(default_factory=dict)  # of parameters, where it is not that of the table
    echoes: list[Echo] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._runs: list[_Run] = []
        for injection in self.injections:
            plan = plan_of(injection, self.routes)
            if plan.reason:
                self.note(self.rig, "fault", f"{injection.fault.id}: {plan.reason}")
            if plan.route == "parameters":
                numbers = random.Random(f"{self.rig.state.seed_of(0)} {injection.text()}")  # repeats with the flight
                self._runs.append(_Run(injection, plan, _trigger(self.rig, injection), numbers=numbers))
        self._orders: dict[str, _Order] = {}
        self.link.listeners.append(self.take)

    def poll(self) -> None:
        """Send parameters that are due."""
        changed: dict[str, tuple[Setting, bool]] = {}
        for run in self._runs:
            for setting, quiet in self._follow(run).items():
                name = parameter(setting, run.injection.instance)
                changed[name] = (setting, quiet and changed.get(name, (setting, True))[1])
        for name, (setting, quiet) in changed.items():
            self._join(name, setting, quiet)
        self._remind()

    def settled(self) -> bool:
        """Whether ArduPilot has confirmed every parameter sent so far."""
        return not self._orders

    def acted(self, injection: Injection) -> OwnWitness | None:
        """The first parameter that ArduPilot confirmed while this fault acted on it; None if it acts in the vehicle."""
        plan = plan_of(injection, self.routes)
        if plan.route == "vehicle":
            return None
        settings = {parameter(setting, injection.instance): setting for setting in plan.settings}
        healthy = {name: self.healthy.get(name, setting.restore) for name, setting in settings.items()}
        made = [
            (echo, value)
            for echo in self.echoes
            for other, value in echo.shares
            if other == injection and not _same(value, healthy[echo.name])
        ]
        if not made:
            return OwnWitness(next(iter(healthy), ""), "1", math.nan, 0.0)
        first, _ = made[0]
        size = max(abs(value - healthy[echo.name]) for echo, value in made if echo.name == first.name)
        return OwnWitness(first.name, settings[first.name].unit, first.time_s, size)

    def _follow(self, run: _Run) -> dict[Setting, bool]:
        """Bring a fault's values up to date; the settings that changed, and whether the change is a quiet one."""
        begin = self._begin_s(run)
        if begin is None:
            return {}
        now, injection = self.rig.time_s, run.injection
        severity = level(injection, now - begin)
        moving = severity > 0 and any(setting.moving for setting in run.plan.settings)
        if severity == run.level and not (moving and now - run.refreshed_s >= MOVING_S):
            return {}
        if run.level == 0 and severity > 0:
            run.started_s = now
            self.note(self.rig, "fault", f"{injection.fault.id} begins")
        elif severity == 0:
            self.note(self.rig, "fault", f"{injection.fault.id} is over")
        quiet = (run.level > 0 and 0 < severity < injection.severity) or severity == run.level
        run.level, run.refreshed_s = severity, now
        moment = self._moment(run, severity, now)
        settings = [s for s in run.plan.settings if s.axis is None or injection.axis in (None, s.axis)]
        run.values = {parameter(s, injection.instance): s.value(moment) for s in settings} if severity > 0 else {}
        return dict.fromkeys(settings, quiet)

    def _join(self, name: str, setting: Setting, quiet: bool) -> None:
        """Order what all faults that act on a parameter make of it; its healthy value if none does."""
        shares = [(run.injection, run.values[name]) for run in self._runs if name in run.values]
        healthy = self.healthy.get(name, setting.restore)
        value = setting.join(healthy, [value for _, value in shares]) if shares else healthy
        self._order(name, value, quiet, shares)

    def _begin_s(self, run: _Run) -> float | None:
        """Simulation time (s) from which an injection's times count; None before its trigger has fired."""
        if run.event is None:
            return 0.0
        fired = int(self.rig.state.kernel_events.fired[run.event])
        return None if fired < 0 else fired * self.rig.state.model.step_s

    def _moment(self, run: _Run, severity: float, now: float) -> Moment:
        home = self.rig.vehicle.spec.home
        return Moment(
            run.injection.fault,
            severity,
            age_s=now - run.started_s,
            height_m=home.height_m - float(self.rig.truth("p")[2]),
            white=lambda: run.numbers.gauss(0.0, 1.0),
        )

    def _order(self, name: str, value: float, quiet: bool, shares: Shares) -> None:
        value = as_float32(value)
        self._orders[name] = _Order(value, self.rig.time_s, self.rig.time_s, self.link.wall_s(), quiet, shares)
        self.link.set(name, value)

    def _remind(self) -> None:
        wall, now = self.link.wall_s(), self.rig.time_s
        for name, order in self._orders.items():
            if wall - order.sent_wall > ANSWER_S and now - order.sent_s > ANSWER_S:
                if order.tries >= TRIES:
                    raise LinkError(f"ArduPilot did not confirm {name} = {order.value:g}, sent {order.tries} times")
                order.tries += 1
                order.sent_s, order.sent_wall = now, wall
                self.link.set(name, order.value)

    def take(self, name: str, value: float) -> None:
        """Take a parameter that ArduPilot has sent: the confirmation of an order, or none."""
        order = self._orders.get(name)
        if order is None or not _same(value, order.value):
            return
        del self._orders[name]
        echo = Echo(self.rig.time_s, name, value, self.rig.time_s - order.time_s, order.shares)
        self.echoes.append(echo)
        if not order.quiet:
            self.note(self.rig, "fault", f"{name} = {value:g} confirmed after {echo.delay_s:.3f} s")


def _same(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-9)


def parameter(setting: Setting, instance: int | str) -> str:
    """Name of the parameter of a setting for an instance."""
    baro = "BARO" if instance == 1 else f"BAR{instance}"
    return setting.name.format(n=instance, baro=baro)


def _trigger(rig: Rig, injection: Injection) -> int | None:
    """Index of the kernel's event record that stores the time at which an injection's condition first became true.

    None if the injection has no condition; `LinkError` if the run has no such event.
    """
    if not injection.when:
        return None
    events = rig.state.events[0]
    for record, (_, number) in enumerate(rig.state.kernel_events.owners):
        when = events[number].when
        if when is not None and when.text == injection.when:
            return record
    raise LinkError(f"{injection.text()}: the run has no event with its trigger; order the fault in the rig's state")
