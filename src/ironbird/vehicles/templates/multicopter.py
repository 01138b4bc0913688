"""Multicopters: any number of rotors at any place, four or more landing points, battery, cascaded control."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.motor import Motor, MotorSecondOrder
from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.blocks.forces.load import ShiftedLoad
from ironbird.blocks.forces.rotor import Rotor
from ironbird.blocks.power.battery import Battery
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.common import add_link
from ironbird.vehicles.templates.reference_autopilot import Suite, add_senses
from ironbird.vehicles.templates.rotorcraft import (
    CONTROL_SAMPLE_S,
    Body,
    ContactTable,
    LimitTable,
    SensorTable,
    add_contact,
    add_crash,
    add_navigator,
    use_estimate,
    use_truth,
)  # fmt: skip
from ironbird.vehicles.templates.surroundings import add_body, add_environment

BATTERY_SAMPLE_S = 0.01
CCW, CW = 1.0, -1.0


class MotorTable(Table):
    """A motor with its speed controller: first-order (time constant) or second-order (frequency, damping).

    Speed over throttle s is `idle_speed_radps + slope_radps s + quadratic_radps s^2`.
    """

    slope_radps: Positive
    idle_speed_radps: float
    quadratic_radps: float = 0.0
    dead_zone: NotNegative = 0.0
    time_constant_s: Positive | None = None
    natural_frequency_radps: Positive | None = None
    damping_ratio: Positive | None = None

    @model_validator(mode="after")
    def _one_order(self) -> MotorTable:
        second = self.natural_frequency_radps is not None and self.damping_ratio is not None
        if (self.time_constant_s is not None) == second:
            raise ValueError("give either time_constant_s, or natural_frequency_radps and damping_ratio")
        return self

    def top_speed_radps(self) -> float:
        """The most that the curve gives between zero and full throttle, at full voltage."""
        bend = self.quadratic_radps
        best = min(1.0, -self.slope_radps / (2 * bend)) if bend < 0 else 1.0
        return self.slope_radps * best + self.idle_speed_radps + bend * best * best


class PropellerTable(Table):
    """A propeller with the spinning part of its motor."""

    thrust_coefficient_Ns2: Positive
    torque_coefficient_Nms2: Positive
    inertia_kgm2: NotNegative
    reference_density_kgpm3: Positive = 1.225


class RotorTable(Table):
    """Where a motor and propeller sit; motor order is that of the autopilot."""

    name: str
    position_B_m: Vector3
    spin: Literal["ccw", "cw"]
    axis_B: Vector3 = [0.0, 0.0, -1.0]
    motor: str = "standard"
    propeller: str = "standard"


class TailTable(Table):
    """A servo that tilts one rotor, far behind the centre of mass, to the side: the yaw of a tricopter."""

    rotor: str
    travel_deg: Annotated[float, Field(gt=0, le=60)]
    time_constant_s: Positive
    max_rate_degps: Positive


class AirframeTable(Table):
    """Drag of everything but the rotors."""

    drag_Ns2pm2: Vector3
    damping_Nms2prad2: Vector3
    centre_B_m: Vector3 = [0.0, 0.0, 0.0]


class BatteryTable(Table):
    """Battery and what else it feeds."""

    cells: Annotated[int, Field(ge=1)]
    capacity_Ah: Positive
    resistance_ohm: NotNegative
    efficiency: Annotated[float, Field(gt=0, le=1)]
    electronics_W: NotNegative


class ControlTable(Table):
    """Gains of the position and attitude control on the true state."""

    position_gain: Positive
    velocity_gain: Positive
    velocity_integral: NotNegative
    attitude_gain: Vector3
    rate_gain: Vector3
    rate_integral: NotNegative
    max_speed_mps: Positive
    max_climb_mps: Positive
    max_descent_mps: Positive
    max_tilt_deg: Annotated[float, Field(gt=0, lt=80)]
    max_rate_radps: Vector3
    cruise_speed_mps: Positive = 5.0
    cruise_acceleration_mps2: Positive = 2.0


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
            if rotor.motor not in self.motor:
                raise ValueError(f"rotor '{rotor.name}' names motor '{rotor.motor}'; known: {', '.join(self.motor)}")
            if rotor.propeller not in self.propeller:
                known = ", ".join(self.propeller)
                raise ValueError(f"rotor '{rotor.name}' names propeller '{rotor.propeller}'; known: {known}")
        names = [rotor.name for rotor in self.rotor]
        if self.tail and self.tail.rotor not in names:
            raise ValueError(f"tail names rotor '{self.tail.rotor}'; known: {', '.join(names)}")
        if self.tail and self.rotor[names.index(self.tail.rotor)].position_B_m[0] >= 0:
            raise ValueError(f"tail: rotor '{self.tail.rotor}' is not behind the centre of mass")
        if self.tail is None and len(self.rotor) == 3:
            raise ValueError("three rotors cannot hold the yaw: give a [tail] whose servo tilts one of them")
        return self

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
        spin = CCW if rotor.spin == "ccw" else CW
        moment = np.cross(rotor.position_B_m, axis) - spin * arm * axis
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
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg,
        inertia_kgm2=spec.body.inertia().tolist(), height_above_home_m=lowest,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    navigator = add_navigator(
        diagram, cruise_speed_mps=spec.control.cruise_speed_mps, lowest_m=lowest,
        acceleration_mps2=spec.control.cruise_acceleration_mps2,
    )  # fmt: skip
    control = _add_control(diagram, spec, navigator)
    battery = diagram.add(
        "battery", Battery(sample_s=BATTERY_SAMPLE_S), cells=spec.battery.cells,
        capacity=3600 * spec.battery.capacity_Ah, resistance=spec.battery.resistance_ohm,
        efficiency=spec.battery.efficiency, electronics_power=spec.battery.electronics_W,
    )  # fmt: skip
    motors = [
        add_rotor(diagram, spec, number, rotor, body, parts, control, battery)
        for number, rotor in enumerate(spec.rotor, start=1)
    ]
    if control_kind == "truth":
        use_truth(diagram, body, control, navigator)
    else:
        senses = add_senses(
            diagram, body, parts, spec.home, Suite(**spec.sensors.model_dump()), rotors=motors, battery=battery,
            capacity=3600 * spec.battery.capacity_Ah, cells=spec.battery.cells, start_height_m=lowest,
        )  # fmt: skip
        use_estimate(diagram, senses, control, navigator)
    add_airframe(diagram, spec, body, parts)
    load = diagram.add("load", ShiftedLoad(), mass=spec.body.mass_kg)
    diagram.connect(body.R_NB, load.R_NB)
    diagram.connect(parts["gravity"].gravity_N, load.gravity_N)
    diagram.connect(load.moment_B, body.moment_B)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, body, contact)
    return diagram


def add_cascade(diagram: Diagram, path: str, spec: MulticopterSpec) -> Handle:
    """The block of position, attitude and rate control, not wired yet."""
    table = spec.control
    motors = [spec.motor[r.motor] for r in spec.rotor]
    propellers = [spec.propeller[r.propeller] for r in spec.rotor]
    hover = math.sqrt(spec.body.mass_kg * 9.81 / sum(q.thrust_coefficient_Ns2 for q in propellers))
    yaw_lag = float(np.mean([q.inertia_kgm2 / (2 * q.torque_coefficient_Nms2 * hover) for q in propellers]))
    top = [m.top_speed_radps() for m in motors]
    effect = effectiveness(spec)
    more: dict[str, Any] = {"exchange": exchange(effect).tolist()} if len(spec.rotor) > 4 else {}
    tail = spec.tail_number()
    if spec.tail is not None and tail is not None:
        yaw_lag = 0.0  # the servo yaws, not the rotors' speeds
        more |= {
            "tail_arm": -spec.rotor[tail].position_B_m[0], "tail_travel": math.radians(spec.tail.travel_deg),
            "reaction": effect[3].tolist(),
        }  # fmt: skip
    return diagram.add(
        path, MulticopterControl(len(spec.rotor), sample_s=CONTROL_SAMPLE_S, tail=tail),
        mass=spec.body.mass_kg, inertia=np.diag(spec.body.inertia()).tolist(),
        position_gain=table.position_gain, velocity_gain=table.velocity_gain,
        velocity_integral=table.velocity_integral, attitude_gain=table.attitude_gain, rate_gain=table.rate_gain,
        rate_integral=table.rate_integral, yaw_lag=yaw_lag, max_speed=table.max_speed_mps,
        max_climb=table.max_climb_mps,
        max_descent=table.max_descent_mps, max_tilt=math.radians(table.max_tilt_deg), max_rate=table.max_rate_radps,
        allocation=allocation(spec).tolist(), **more,
        max_thrust=[q.thrust_coefficient_Ns2 * w * w for q, w in zip(propellers, top, strict=True)],
        thrust_coefficient=[q.thrust_coefficient_Ns2 for q in propellers],
        motor_slope=[m.slope_radps for m in motors], motor_idle=[m.idle_speed_radps for m in motors],
        motor_quadratic=[m.quadratic_radps for m in motors],
    )  # fmt: skip


def _add_control(diagram: Diagram, spec: MulticopterSpec, navigator: Handle) -> Handle:
    control = add_cascade(diagram, "control", spec)
    for port in ("position_set", "velocity_set", "yaw_set", "armed", "grounded", "control_kind"):
        diagram.connect(navigator[port], control[port])
    # What a program outside may command: modes, the link's heartbeat, offboard set-points
    for port in (
        "command", "link_stamp", "offboard_kind", "offboard_position", "offboard_velocity", "offboard_yaw",
    ):  # fmt: skip
        diagram.export(navigator[port])
    for port in ("attitude_set", "rate_wanted_B", "thrust_set"):
        diagram.export(control[port], f"offboard_{port.removesuffix('_wanted_B').removesuffix('_set')}")
    return control


def add_rotor(
    diagram: Diagram, spec: MulticopterSpec, number: int, rotor: RotorTable, body: Handle,
    parts: dict[str, Handle], control: Handle, battery: Handle,
) -> Handle:  # fmt: skip
    """Motor, propeller and the link to them, driven by the control's port `throttle_N`; returns the motor."""
    table, blades = spec.motor[rotor.motor], spec.propeller[rotor.propeller]
    curve = {
        "slope": table.slope_radps, "idle_speed": table.idle_speed_radps, "quadratic": table.quadratic_radps,
        "dead_zone": table.dead_zone,
    }  # fmt: skip
    if table.time_constant_s is not None:
        motor = diagram.add(f"rotor/{number}/motor", Motor(), time_constant=table.time_constant_s, **curve)
    else:
        assert table.natural_frequency_radps is not None and table.damping_ratio is not None
        motor = diagram.add(
            f"rotor/{number}/motor", MotorSecondOrder(), natural_frequency=table.natural_frequency_radps,
            damping_ratio=table.damping_ratio, **curve,
        )  # fmt: skip
    tilting = spec.tail is not None and spec.tail.rotor == rotor.name
    propeller = diagram.add(
        f"rotor/{number}/propeller", Rotor(tilting=tilting), position=rotor.position_B_m, axis=rotor.axis_B,
        spin=CCW if rotor.spin == "ccw" else CW, thrust_coefficient=blades.thrust_coefficient_Ns2,
        torque_coefficient=blades.torque_coefficient_Nms2, inertia=blades.inertia_kgm2,
        reference_density=blades.reference_density_kgpm3,
    )  # fmt: skip
    link = add_link(diagram, f"rotor/{number}", control[f"throttle_{number}"], CONTROL_SAMPLE_S)
    diagram.connect(link.value, motor.throttle)
    if spec.tail is not None and tilting:
        servo = diagram.add(
            "surface/tail/servo", Servo(), travel=math.radians(spec.tail.travel_deg),
            time_constant=spec.tail.time_constant_s, max_rate=math.radians(spec.tail.max_rate_degps),
        )  # fmt: skip
        tail = add_link(diagram, "surface/tail", control.tail_command, CONTROL_SAMPLE_S)
        diagram.connect(tail.value, servo.command)
        diagram.connect(servo.deflection, propeller.tilt)
    diagram.connect(battery.voltage_ratio, motor.voltage_ratio)
    diagram.connect(motor.speed, propeller.speed)
    diagram.connect(motor.acceleration, propeller.acceleration)
    diagram.connect(parts["atmosphere"].density, propeller.density)
    diagram.connect(propeller.force_B, body.force_B)
    diagram.connect(propeller.moment_B, body.moment_B)
    diagram.connect(propeller.momentum_B, body.momentum_B)
    diagram.connect(propeller.shaft_power, battery.shaft_power)
    return motor


def add_airframe(diagram: Diagram, spec: MulticopterSpec, body: Handle, parts: dict[str, Handle]) -> None:
    """Drag of everything but rotors and wings."""
    airframe = diagram.add(
        "airframe", AirframeDrag(), drag=spec.airframe.drag_Ns2pm2, damping=spec.airframe.damping_Nms2prad2,
        centre=spec.airframe.centre_B_m,
    )  # fmt: skip
    diagram.connect(parts["air"].v_air_B, airframe.v_air_B)
    diagram.connect(body.w_NB_B, airframe.w_NB_B)
    diagram.connect(parts["atmosphere"].density, airframe.density)
    diagram.connect(airframe.force_B, body.force_B)
    diagram.connect(airframe.moment_B, body.moment_B)
