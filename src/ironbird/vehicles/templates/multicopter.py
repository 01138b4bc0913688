"""Multicopters: any number of rotors at any place, four or more landing points, battery, cascaded control."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.motor import Motor, MotorSecondOrder
from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.blocks.controllers.navigator import Navigator
from ironbird.blocks.forces.rotor import Rotor
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import Positive, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.reference_autopilot import add_senses
from ironbird.vehicles.templates.rotorcraft import (
    CONTROL_SAMPLE_S,
    SPIN,
    AirframeTable,
    BatteryTable,
    Body,
    ContactTable,
    LimitTable,
    SensorTable,
    add_airframe,
    add_battery,
    add_contact,
    add_crash,
    add_navigator,
    export_commands,
    use_estimate,
    use_truth,
)
from ironbird.vehicles.templates.sensors import Suite
from ironbird.vehicles.templates.surroundings import add_body, add_environment
from ironbird.vehicles.templates.wiring import add_link, connect_ports

DESIGN_GRAVITY_MPS2 = 9.81  # of the hover that sets `yaw_lag`; standard gravity would change the bytes of every flight


class MotorTable(BlockTable):
    """A motor with its speed controller: first-order (time constant) or second-order (frequency, damping).

    Speed over throttle s is `idle_speed_radps + slope_radps s + quadratic_radps s^2`.
    """

    time_constant_s: Positive | None = None
    natural_frequency_radps: Positive | None = None
    damping_ratio: Positive | None = None
    curve = params_of(Motor, "slope_radps>0 idle_speed_radps quadratic_radps? dead_zone?")
    first_order = params_of(Motor, "time_constant_s")
    second_order = params_of(MotorSecondOrder, "natural_frequency_radps damping_ratio")

    @model_validator(mode="after")
    def _one_order(self) -> MotorTable:
        second = self.natural_frequency_radps is not None and self.damping_ratio is not None
        if (self.time_constant_s is not None) == second:
            raise ValueError("give either time_constant_s, or natural_frequency_radps and damping_ratio")
        return self

    def add(self, diagram: Diagram, rotor: at.Actuator) -> Handle:
        """The motor at its rotor's place."""
        if self.time_constant_s is not None:
            return diagram.add(rotor.motor.path, Motor(), **self.first_order, **self.curve)
        return diagram.add(rotor.motor.path, MotorSecondOrder(), **self.second_order, **self.curve)

    def top_speed_radps(self) -> float:
        """The most that the curve gives between zero and full throttle, at full voltage."""
        bend = self.quadratic_radps
        best = min(1.0, -self.slope_radps / (2 * bend)) if bend < 0 else 1.0
        return self.slope_radps * best + self.idle_speed_radps + bend * best * best


class PropellerTable(BlockTable):
    """A propeller with the spinning part of its motor."""

    params = params_of(
        Rotor, "thrust_coefficient_Ns2>0 torque_coefficient_Nms2>0 inertia_kgm2 reference_density_kgpm3?"
    )


class RotorTable(BlockTable):
    """Where a motor and propeller sit; motor order is that of the autopilot."""

    name: str
    spin: Literal["ccw", "cw"]
    motor: str = "standard"
    propeller: str = "standard"
    params = params_of(Rotor, "position_B_m axis_B?")

    def check(self, what: str, motors: dict[str, MotorTable], propellers: dict[str, PropellerTable]) -> None:
        """Raise if it names a motor or propeller that the file does not have."""
        if self.motor not in motors:
            raise ValueError(f"{what} names motor '{self.motor}'; known: {', '.join(motors)}")
        if self.propeller not in propellers:
            raise ValueError(f"{what} names propeller '{self.propeller}'; known: {', '.join(propellers)}")


class TailTable(BlockTable):
    """A servo that tilts one rotor, far behind the centre of mass, to the side: the yaw of a tricopter."""

    rotor: str
    travel_deg: Annotated[float, Field(gt=0, le=60)]
    params = params_of(Servo, "travel_deg time_constant_s max_rate_degps")


class ControlTable(BlockTable):
    """Gains of the position and attitude control on the true state."""

    max_tilt_deg: Annotated[float, Field(gt=0, lt=80)]
    cruise_speed_mps: Positive = 5.0
    cruise_acceleration_mps2: Positive = 2.0
    gains = params_of(
        MulticopterControl,
        "position_gain>0 velocity_gain>0 velocity_integral attitude_gain rate_gain rate_integral max_speed_mps "
        "max_climb_mps max_descent_mps max_tilt_deg max_rate_radps",
    )
    cruise = params_of(Navigator, "cruise_speed_mps cruise_acceleration_mps2=acceleration")


class MulticopterSpec(VehicleSpec):
    """A multicopter's file."""

    body: Body
    motor: dict[str, MotorTable]
    propeller: dict[str, PropellerTable]
    rotor: Annotated[list[RotorTable], Field(min_length=3)]
    tail: TailTable | None = None
    airframe: AirframeTable
    contact: ContactTable
    battery: BatteryTable
    control: ControlTable
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _parts_exist(self) -> MulticopterSpec:
        for rotor in self.rotor:
            rotor.check(f"rotor '{rotor.name}'", self.motor, self.propeller)
        names = [rotor.name for rotor in self.rotor]
        if self.tail and self.tail.rotor not in names:
            raise ValueError(f"tail names rotor '{self.tail.rotor}'; known: {', '.join(names)}")
        if self.tail and self.rotor[names.index(self.tail.rotor)].position_B_m[0] >= 0:
            raise ValueError(f"tail: rotor '{self.tail.rotor}' is not behind the centre of mass")
        if self.tail is None and len(self.rotor) == 3:
            raise ValueError("three rotors cannot hold the yaw: give a [tail] whose servo tilts one of them")
        return self

    def hover_lift_N(self) -> float:
        """What its rotors lift at full throttle at rest, in air of the density of their coefficients."""
        parts = [(self.motor[rotor.motor], self.propeller[rotor.propeller], rotor) for rotor in self.rotor]
        return float(sum(-r.axis_B[2] * p.thrust_coefficient_Ns2 * m.top_speed_radps() ** 2 for m, p, r in parts))

    def tail_number(self) -> int | None:
        """Which rotor the tail servo tilts, from 0."""
        return [rotor.name for rotor in self.rotor].index(self.tail.rotor) if self.tail else None


def effectiveness(spec: MulticopterSpec) -> np.ndarray:
    """Total thrust and the three moments per newton of each rotor: the control matrix of [RflyModel] 7.1, 4 x n."""
    columns = []
    for rotor in spec.rotor:
        propeller = spec.propeller[rotor.propeller]
        axis = np.array(rotor.axis_B)
        arm = propeller.torque_coefficient_Nms2 / propeller.thrust_coefficient_Ns2
        moment = np.cross(rotor.position_B_m, axis) - SPIN[rotor.spin] * arm * axis
        columns.append([-axis[2], *moment])
    return np.array(columns).T


def allocation(spec: MulticopterSpec) -> np.ndarray:
    """Thrust, roll, pitch and yaw moment to rotor thrusts, n x 4; a tail servo takes the yaw from the rotors."""
    effect = effectiveness(spec)
    if spec.tail is None:
        return np.asarray(np.linalg.pinv(effect))
    return np.hstack([np.linalg.pinv(effect[:3]), np.zeros((len(spec.rotor), 1))])


def exchange(effect: np.ndarray) -> np.ndarray:
    """Column j: how all rotors change when rotor j changes by one newton and thrust and moments stay, n x n.

    These are the columns of the projection on the null space [Oppenheimer2006], scaled to one in the diagonal.
    """
    null = np.eye(effect.shape[1]) - np.linalg.pinv(effect) @ effect
    own = np.diag(null)
    return np.asarray(null / np.where(own > 1e-9, own, np.inf))  # a rotor that nobody can replace gets zeros


def build(spec: MulticopterSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a multicopter, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state; `reference` on sensors and an estimator.
    """
    diagram = Diagram(spec.id)
    lowest = spec.contact.lowest_m()
    mass, inertia = spec.body.mass_kg, spec.body.inertia().tolist()
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=mass, inertia_kgm2=inertia, height_above_home_m=lowest
    )
    parts = add_environment(diagram, body, spec.home, spec.environment)
    navigator = add_navigator(diagram, lowest, spec.control.cruise)
    control = _add_control(diagram, spec, navigator)
    battery = add_battery(diagram, spec.battery)
    motors = [
        add_rotor(diagram, spec, number, rotor, body, parts, control, battery)
        for number, rotor in enumerate(spec.rotor, start=1)
    ]
    if control_kind == "truth":
        use_truth(diagram, body, control, navigator)
    else:
        suite = Suite(**spec.sensors.model_dump())
        senses = add_senses(
            diagram, body, parts, spec.home, suite, rotors=motors, battery=battery, start_height_m=lowest
        )
        use_estimate(diagram, senses, control, navigator)
    add_airframe(diagram, spec.airframe, mass, body, parts)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, body, contact)
    return diagram


def add_cascade(diagram: Diagram, spec: MulticopterSpec) -> Handle:
    """The block of position, attitude and rate control, not wired yet."""
    motors = [spec.motor[r.motor] for r in spec.rotor]
    propellers = [spec.propeller[r.propeller] for r in spec.rotor]
    thrust = [q.thrust_coefficient_Ns2 for q in propellers]
    hover = math.sqrt(spec.body.mass_kg * DESIGN_GRAVITY_MPS2 / sum(thrust))
    yaw_lag = float(np.mean([q.inertia_kgm2 / (2 * q.torque_coefficient_Nms2 * hover) for q in propellers]))
    effect = effectiveness(spec)
    more: dict[str, Number] = {"exchange": exchange(effect).tolist()} if len(spec.rotor) > 4 else {}
    tail = spec.tail_number()
    if spec.tail is not None and tail is not None:
        yaw_lag = 0.0  # the servo yaws, not the rotors' speeds
        more["tail_arm"] = -spec.rotor[tail].position_B_m[0]
        more["tail_travel"] = math.radians(spec.tail.travel_deg)
        more["reaction"] = effect[3].tolist()
    more |= {
        "mass": spec.body.mass_kg,
        "inertia": np.diag(spec.body.inertia()).tolist(),
        "yaw_lag": yaw_lag,
        "allocation": allocation(spec).tolist(),
        "max_thrust": [c * m.top_speed_radps() * m.top_speed_radps() for c, m in zip(thrust, motors, strict=True)],
        "thrust_coefficient": thrust,
        "motor_slope": [m.slope_radps for m in motors],
        "motor_idle": [m.idle_speed_radps for m in motors],
        "motor_quadratic": [m.quadratic_radps for m in motors],
    }
    block = MulticopterControl(len(spec.rotor), sample_s=CONTROL_SAMPLE_S, tail=tail)
    return diagram.add(at.CONTROL.path, block, **spec.control.gains, **more)


def _add_control(diagram: Diagram, spec: MulticopterSpec, navigator: Handle) -> Handle:
    control = add_cascade(diagram, spec)
    ports = ("position_set", "velocity_set", "yaw_set", "armed", "grounded", "control_kind")
    connect_ports(diagram, navigator, control, *ports)
    export_commands(diagram, navigator)
    for port in ("attitude_set", "rate_wanted_B", "thrust_set"):
        diagram.export(control[port], f"offboard_{port.removesuffix('_wanted_B').removesuffix('_set')}")
    return control


def add_rotor(
    diagram: Diagram,
    spec: MulticopterSpec,
    number: int,
    rotor: RotorTable,
    body: Handle,
    parts: dict[str, Handle],
    control: Handle,
    battery: Handle,
) -> Handle:
    """Motor, propeller and the link to them, driven by the control's port `throttle_N`; returns the motor."""
    place = at.rotor(number)
    motor = spec.motor[rotor.motor].add(diagram, place)
    tilting = spec.tail is not None and spec.tail.rotor == rotor.name
    blades = spec.propeller[rotor.propeller].params
    block = Rotor(tilting=tilting)
    propeller = diagram.add(place.propeller.path, block, **rotor.params, spin=SPIN[rotor.spin], **blades)
    diagram.connect(add_link(diagram, place, control[f"throttle_{number}"], CONTROL_SAMPLE_S), motor.throttle)
    if spec.tail is not None and tilting:
        tail = at.surface("tail")
        servo = diagram.add(tail.servo.path, Servo(), **spec.tail.params)
        diagram.connect(add_link(diagram, tail, control.tail_command, CONTROL_SAMPLE_S), servo.command)
        diagram.connect(servo.deflection, propeller.tilt)
    diagram.connect(battery.voltage_ratio, motor.voltage_ratio)
    connect_ports(diagram, motor, propeller, "speed", "acceleration")
    diagram.connect(parts["atmosphere"].density, propeller.density)
    connect_ports(diagram, propeller, body, "force_B", "moment_B", "momentum_B")
    diagram.connect(propeller.shaft_power, battery.shaft_power)
    return motor
