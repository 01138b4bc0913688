"""Multicopters: any number of rotors at any place, four or more landing points, battery, cascaded control."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.blocks.actuators.motor import Motor, MotorSecondOrder
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.blocks.controllers.navigator import FLY, ROWS, Navigator
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.blocks.forces.ground_contact import GroundContact
from ironbird.blocks.forces.load import ShiftedLoad
from ironbird.blocks.forces.rotor import Rotor
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.blocks.power.battery import Battery
from ironbird.blocks.sensors.signal_fault import SignalFault
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.reference_autopilot import Senses, Suite, add_senses
from ironbird.vehicles.templates.surroundings import add_body, add_environment

CONTROL_SAMPLE_S = 0.004
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
BATTERY_SAMPLE_S = 0.01
ARM_TIME_S = 3.0  # the estimator settles before arming
MISSION_ITEMS = 16
HOVER_HEIGHT_M = 10.0
CCW, CW = 1.0, -1.0


class Body(Table):
    """Mass and its distribution."""

    mass_kg: Positive
    inertia_diag_kgm2: Vector3 | None = None
    inertia_kgm2: Annotated[list[Vector3], Field(min_length=3, max_length=3)] | None = None

    @model_validator(mode="after")
    def _one_inertia(self) -> Body:
        if (self.inertia_diag_kgm2 is None) == (self.inertia_kgm2 is None):
            raise ValueError("give either inertia_diag_kgm2 or inertia_kgm2")
        return self

    def inertia(self) -> np.ndarray:
        """As a 3x3 matrix."""
        return np.array(self.inertia_kgm2) if self.inertia_kgm2 else np.diag(self.inertia_diag_kgm2 or [])


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


class AirframeTable(Table):
    """Drag of everything but the rotors."""

    drag_Ns2pm2: Vector3
    damping_Nms2prad2: Vector3
    centre_B_m: Vector3 = [0.0, 0.0, 0.0]


class ContactTable(Table):
    """Landing gear."""

    points_B_m: Annotated[list[Vector3], Field(min_length=3)]
    stiffness_Npm: Positive
    damping_Nspm: NotNegative
    friction: NotNegative
    grip_stiffness_Npm: Positive
    grip_damping_Nspm: NotNegative


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


class SensorTable(Table):
    """Sensors of the reference autopilot."""

    imus: Annotated[int, Field(ge=1, le=6)] = 3
    magnetometers: Annotated[int, Field(ge=1, le=4)] = 2
    gnss: Annotated[int, Field(ge=1, le=4)] = 2
    barometers: Annotated[int, Field(ge=1, le=4)] = 1
    estimator: Literal["ekf", "complementary"] = "ekf"


class LimitTable(Table):
    """What counts as a crash."""

    max_impact_mps: Positive = 3.0
    max_ground_tilt_deg: Annotated[float, Field(gt=0, lt=180)] = 60.0
    max_distance_m: Positive = 5000.0


class MulticopterSpec(VehicleSpec):
    """A multicopter's file."""

    body: Body
    motor: dict[str, MotorTable]
    propeller: dict[str, PropellerTable]
    rotor: Annotated[list[RotorTable], Field(min_length=3)]
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
        return self


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


def build(spec: MulticopterSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a multicopter, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state; `reference` on sensors and an estimator.
    """
    diagram = Diagram(spec.id)
    lowest = max(point[2] for point in spec.contact.points_B_m)
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg,
        inertia_kgm2=spec.body.inertia().tolist(), height_above_home_m=lowest,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    hover = np.zeros((ROWS, MISSION_ITEMS))  # without a mission the vehicle hovers
    hover[:, 0] = [0.0, 0.0, -HOVER_HEIGHT_M, 0.0, 1e9, FLY]
    navigator = diagram.add(
        "navigator", Navigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1, table=hover.tolist(),
        cruise_speed=spec.control.cruise_speed_mps, acceleration=spec.control.cruise_acceleration_mps2,
        point_0=[0.0, 0.0, -lowest],
    )  # fmt: skip
    control = _add_control(diagram, spec, navigator)
    battery = diagram.add(
        "battery", Battery(sample_s=BATTERY_SAMPLE_S), cells=spec.battery.cells,
        capacity=3600 * spec.battery.capacity_Ah, resistance=spec.battery.resistance_ohm,
        efficiency=spec.battery.efficiency, electronics_power=spec.battery.electronics_W,
    )  # fmt: skip
    motors = [
        _add_rotor(diagram, spec, number, rotor, body, parts, control, battery)
        for number, rotor in enumerate(spec.rotor, start=1)
    ]
    if control_kind == "truth":
        _use_truth(diagram, body, control, navigator)
    else:
        senses = add_senses(
            diagram, body, parts, spec.home, Suite(**spec.sensors.model_dump()), rotors=motors, battery=battery,
            capacity=3600 * spec.battery.capacity_Ah, cells=spec.battery.cells, start_height_m=lowest,
        )  # fmt: skip
        _use_estimate(diagram, senses, control, navigator)
    _add_airframe(diagram, spec, body, parts)
    load = diagram.add("load", ShiftedLoad(), mass=spec.body.mass_kg)
    diagram.connect(body.R_NB, load.R_NB)
    diagram.connect(parts["gravity"].gravity_N, load.gravity_N)
    diagram.connect(load.moment_B, body.moment_B)
    contact = _add_contact(diagram, spec, body, parts)
    _add_crash(diagram, spec, body, contact)
    return diagram


def _add_control(diagram: Diagram, spec: MulticopterSpec, navigator: Handle) -> Handle:
    table = spec.control
    motors = [spec.motor[r.motor] for r in spec.rotor]
    propellers = [spec.propeller[r.propeller] for r in spec.rotor]
    hover = math.sqrt(spec.body.mass_kg * 9.81 / sum(q.thrust_coefficient_Ns2 for q in propellers))
    yaw_lag = float(np.mean([q.inertia_kgm2 / (2 * q.torque_coefficient_Nms2 * hover) for q in propellers]))
    top = [m.top_speed_radps() for m in motors]
    control = diagram.add(
        "control", MulticopterControl(len(spec.rotor), sample_s=CONTROL_SAMPLE_S),
        mass=spec.body.mass_kg, inertia=np.diag(spec.body.inertia()).tolist(),
        position_gain=table.position_gain, velocity_gain=table.velocity_gain,
        velocity_integral=table.velocity_integral, attitude_gain=table.attitude_gain, rate_gain=table.rate_gain,
        rate_integral=table.rate_integral, yaw_lag=yaw_lag, max_speed=table.max_speed_mps,
        max_climb=table.max_climb_mps,
        max_descent=table.max_descent_mps, max_tilt=math.radians(table.max_tilt_deg), max_rate=table.max_rate_radps,
        allocation=np.linalg.pinv(effectiveness(spec)).tolist(),
        max_thrust=[q.thrust_coefficient_Ns2 * w * w for q, w in zip(propellers, top, strict=True)],
        thrust_coefficient=[q.thrust_coefficient_Ns2 for q in propellers],
        motor_slope=[m.slope_radps for m in motors], motor_idle=[m.idle_speed_radps for m in motors],
        motor_quadratic=[m.quadratic_radps for m in motors],
    )  # fmt: skip
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


def _use_truth(diagram: Diagram, body: Handle, control: Handle, navigator: Handle) -> None:
    """Control on the true state."""
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], control[port])
    for port in ("p_NB_N", "v_NB_N", "R_NB"):
        diagram.connect(body[port], navigator[port])


def _use_estimate(diagram: Diagram, senses: Senses, control: Handle, navigator: Handle) -> None:
    """Control on the estimator's state, with failsafes."""
    estimator = senses.estimator
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(estimator[port], control[port])
    for port in ("p_NB_N", "v_NB_N", "R_NB", "healthy", "gnss_age"):
        if port in estimator:
            diagram.connect(estimator[port], navigator[port])
    if "zero_velocity" in estimator:
        diagram.connect(navigator.disarmed, estimator.zero_velocity)
    if senses.gauge is not None:
        diagram.connect(senses.gauge.remaining, navigator.battery_remaining)
    diagram.set("navigator.arm_time", ARM_TIME_S)


def _add_rotor(
    diagram: Diagram, spec: MulticopterSpec, number: int, rotor: RotorTable, body: Handle,
    parts: dict[str, Handle], control: Handle, battery: Handle,
) -> Handle:  # fmt: skip
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
    propeller = diagram.add(
        f"rotor/{number}/propeller", Rotor(), position=rotor.position_B_m, axis=rotor.axis_B,
        spin=CCW if rotor.spin == "ccw" else CW, thrust_coefficient=blades.thrust_coefficient_Ns2,
        torque_coefficient=blades.torque_coefficient_Nms2, inertia=blades.inertia_kgm2,
        reference_density=blades.reference_density_kgpm3,
    )  # fmt: skip
    # The link between control system and vehicle: one period, and a tap for its faults
    latch = diagram.add(f"rotor/{number}/command", CommandLatch(sample_s=CONTROL_SAMPLE_S))
    link = diagram.add(f"rotor/{number}/command_fault", SignalFault(1, "1", sample_s=CONTROL_SAMPLE_S))
    diagram.connect(control[f"throttle_{number}"], latch.command)
    diagram.connect(latch.value, link.value_in)
    diagram.connect(latch.stamp, link.stamp_in)
    diagram.connect(link.value, motor.throttle)
    diagram.connect(battery.voltage_ratio, motor.voltage_ratio)
    diagram.connect(motor.speed, propeller.speed)
    diagram.connect(motor.acceleration, propeller.acceleration)
    diagram.connect(parts["atmosphere"].density, propeller.density)
    diagram.connect(propeller.force_B, body.force_B)
    diagram.connect(propeller.moment_B, body.moment_B)
    diagram.connect(propeller.momentum_B, body.momentum_B)
    diagram.connect(propeller.shaft_power, battery.shaft_power)
    return motor


def _add_airframe(diagram: Diagram, spec: MulticopterSpec, body: Handle, parts: dict[str, Handle]) -> None:
    airframe = diagram.add(
        "airframe", AirframeDrag(), drag=spec.airframe.drag_Ns2pm2, damping=spec.airframe.damping_Nms2prad2,
        centre=spec.airframe.centre_B_m,
    )  # fmt: skip
    diagram.connect(parts["air"].v_air_B, airframe.v_air_B)
    diagram.connect(body.w_NB_B, airframe.w_NB_B)
    diagram.connect(parts["atmosphere"].density, airframe.density)
    diagram.connect(airframe.force_B, body.force_B)
    diagram.connect(airframe.moment_B, body.moment_B)


def _add_contact(diagram: Diagram, spec: MulticopterSpec, body: Handle, parts: dict[str, Handle]) -> Handle:
    table = spec.contact
    contact = diagram.add(
        "contact", GroundContact(len(table.points_B_m)), points=np.array(table.points_B_m).T.tolist(),
        stiffness=table.stiffness_Npm, damping=table.damping_Nspm, friction=table.friction,
        grip_stiffness=table.grip_stiffness_Npm, grip_damping=table.grip_damping_Nspm,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], contact[port])
    for port in ("place", "ground_z", "slope"):
        diagram.connect(parts["terrain"][port], contact[port])
    diagram.connect(contact.force_B, body.force_B)
    diagram.connect(contact.moment_B, body.moment_B)
    return contact


def _add_crash(diagram: Diagram, spec: MulticopterSpec, body: Handle, contact: Handle) -> None:
    crash = diagram.add(
        "crash", CrashDetector(sample_s=MONITOR_SAMPLE_S), max_impact=spec.limits.max_impact_mps,
        max_ground_tilt=math.radians(spec.limits.max_ground_tilt_deg), max_distance=spec.limits.max_distance_m,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB"):
        diagram.connect(body[port], crash[port])
    diagram.connect(contact.load, crash.load)
    diagram.stop("hard landing", crash.hard_landing)
    diagram.stop("rollover", crash.rollover)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port("navigator.done"))
    diagram.stop("landed before the end of the mission", diagram.port("navigator.landed"))
