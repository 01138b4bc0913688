"""Fixed wings: wing and tail with three surfaces, one electric propeller, path and total-energy control.

The vehicle starts in the air, in trimmed flight to the north at the height and airspeed of its file's table `start`
(initial states of `body`, deflections of the servos): take-off and landing are not modelled. Wind comes on top of the
start: with a wind along the nose the first airspeed is not the trimmed one.
"""

from __future__ import annotations

import math
from typing import Annotated

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.fixed_wing_control import FixedWingControl
from ironbird.blocks.controllers.navigator import FLY, ROWS
from ironbird.blocks.controllers.wing_navigator import WingNavigator
from ironbird.blocks.forces.ground_contact import GroundContact
from ironbird.blocks.forces.propeller_map import PropellerMap
from ironbird.blocks.forces.wing import Wing
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.blocks.sensors.signal_fault import SignalFault
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.symbolic import quaternion
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.surroundings import add_body, add_environment

CONTROL_SAMPLE_S = 0.004
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
MISSION_ITEMS = 16
SURFACES = ("aileron", "elevator", "rudder")


class Body(Table):
    """Mass and its distribution."""

    mass_kg: Positive
    inertia_kgm2: Annotated[list[Vector3], Field(min_length=3, max_length=3)]


class WingTable(Table):
    """Size and aerodynamic coefficients, per radian; names and signs as [BeardMcLain]."""

    area_m2: Positive
    span_m: Positive
    chord_m: Positive
    oswald: Positive
    stall_angle_rad: Positive
    stall_rate_prad: Positive
    CL_0: float
    CL_alpha: float
    CL_q: float
    CL_elevator: float
    CD_p: float
    CD_q: float = 0.0
    CD_elevator: float
    Cm_0: float
    Cm_alpha: float
    Cm_q: float
    Cm_elevator: float
    CY_0: float = 0.0
    CY_beta: float
    CY_p: float = 0.0
    CY_r: float = 0.0
    CY_aileron: float
    CY_rudder: float
    Cl_0: float = 0.0
    Cl_beta: float
    Cl_p: float
    Cl_r: float
    Cl_aileron: float
    Cl_rudder: float
    Cn_0: float = 0.0
    Cn_beta: float
    Cn_p: float
    Cn_r: float
    Cn_aileron: float
    Cn_rudder: float


class PropellerTable(Table):
    """Propeller with its motor; coefficients are constant, linear and squared in the advance ratio."""

    diameter_m: Positive
    CT: Vector3
    CQ: Vector3
    motor_KV_radpsV: Positive
    resistance_ohm: Positive
    idle_current_A: NotNegative
    voltage_V: Positive
    position_B_m: Vector3 = [0.0, 0.0, 0.0]


class ServoTable(Table):
    """Servos of all surfaces."""

    travel_rad: Positive
    time_constant_s: Positive
    max_rate_radps: Positive


class ContactTable(Table):
    """Points that touch the ground first; the aircraft has no gear."""

    points_B_m: Annotated[list[Vector3], Field(min_length=3)]
    stiffness_Npm: Positive
    damping_Nspm: NotNegative
    friction: NotNegative
    grip_stiffness_Npm: Positive
    grip_damping_Nspm: NotNegative


class StartTable(Table):
    """Trimmed level flight to the north, where the vehicle begins."""

    height_m: Positive
    airspeed_mps: Positive
    angle_of_attack_rad: float
    roll_rad: float
    aileron_rad: float
    elevator_rad: float
    rudder_rad: float
    throttle: Annotated[float, Field(ge=0, le=1)]


class ControlTable(Table):
    """Gains of guidance, energy and attitude control on the true state."""

    cruise_speed_mps: Positive
    acceptance_radius_m: Positive
    loiter_radius_m: Positive
    line_gain_pm: Positive
    line_angle_deg: Positive
    orbit_gain: Positive
    course_gain: Positive
    max_roll_deg: Annotated[float, Field(gt=0, lt=65)]
    height_gain: Positive
    height_integral: NotNegative
    energy_gain_pm: Positive
    energy_integral: NotNegative
    max_climb_mps: Positive
    pitch_low_deg: float
    pitch_high_deg: float
    roll_gain: Positive
    roll_damping_s: NotNegative
    roll_integral: NotNegative
    pitch_gain: Positive
    pitch_damping_s: NotNegative
    pitch_integral: NotNegative
    yaw_damping_s: NotNegative


class LimitTable(Table):
    """What counts as a crash."""

    max_impact_mps: Positive = 3.0
    max_ground_tilt_deg: Annotated[float, Field(gt=0, lt=180)] = 60.0
    max_distance_m: Positive = 5000.0


class FixedWingSpec(VehicleSpec):
    """A fixed wing's file."""

    body: Body
    wing: WingTable
    propeller: PropellerTable
    servo: ServoTable
    contact: ContactTable
    start: StartTable
    control: ControlTable
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _flat_earth(self) -> FixedWingSpec:
        if self.environment.earth != "flat":
            raise ValueError("a fixed wing starts in the air, which is written for environment.earth = 'flat' only")
        return self


def build(spec: FixedWingSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a fixed wing, wired as [Dai] Eq. 3 and 4; `control_kind` can only be `truth`."""
    diagram = Diagram(spec.id)
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg, inertia_kgm2=spec.body.inertia_kgm2,
        height_above_home_m=spec.start.height_m,
    )  # fmt: skip
    _start_in_the_air(diagram, spec.start)
    parts = add_environment(diagram, body, spec.home, spec.environment)
    navigator = _add_navigator(diagram, spec, body)
    control = _add_control(diagram, spec, body, parts["air"], navigator)
    wing, propeller = add_aerodynamics(diagram, spec, body, parts["air"])
    diagram.connect(parts["atmosphere"].density, wing.density, propeller.density)
    for name in SURFACES:
        servo = diagram.add(
            f"surface/{name}/servo", Servo(), travel=spec.servo.travel_rad, time_constant=spec.servo.time_constant_s,
            max_rate=spec.servo.max_rate_radps, angle_0=getattr(spec.start, f"{name}_rad"),
        )  # fmt: skip
        diagram.connect(_add_link(diagram, f"surface/{name}", control[name]).value, servo.command)
        diagram.connect(servo.deflection, wing[name])
    diagram.connect(_add_link(diagram, "rotor/1", control.throttle).value, propeller.throttle)
    _add_crash(diagram, spec, body, parts["terrain"])
    return diagram


def add_aerodynamics(diagram: Diagram, spec: FixedWingSpec, body: Handle, air: Handle) -> tuple[Handle, Handle]:
    """Wing and propeller on a body; deflections, throttle and density are left open."""
    sizes = {
        "area": spec.wing.area_m2, "span": spec.wing.span_m, "chord": spec.wing.chord_m,
        "stall_angle": spec.wing.stall_angle_rad, "stall_rate": spec.wing.stall_rate_prad,
    }  # fmt: skip
    coefficients = {key: value for key, value in spec.wing.model_dump().items() if key == "oswald" or key[0] == "C"}
    wing = diagram.add("wing", Wing(), **sizes, **coefficients)
    table = spec.propeller
    propeller = diagram.add(
        "rotor/1/propeller", PropellerMap(), diameter=table.diameter_m, CT=table.CT, CQ=table.CQ,
        speed_constant=table.motor_KV_radpsV, resistance=table.resistance_ohm, idle_current=table.idle_current_A,
        voltage=table.voltage_V, position=table.position_B_m,
    )  # fmt: skip
    diagram.connect(air.v_air_B, wing.v_air_B)
    diagram.connect(air.airspeed, propeller.airspeed)
    diagram.connect(body.w_NB_B, wing.w_NB_B)
    for part in (wing, propeller):
        diagram.connect(part.force_B, body.force_B)
        diagram.connect(part.moment_B, body.moment_B)
    return wing, propeller


def _start_in_the_air(diagram: Diagram, start: StartTable) -> None:
    """Level flight without sideslip over ground: roll and pitch so that the velocity is horizontal, to the north."""
    alpha, roll = start.angle_of_attack_rad, start.roll_rad
    pitch = math.atan(math.tan(alpha) * math.cos(roll))
    forward, down = start.airspeed_mps * math.cos(alpha), start.airspeed_mps * math.sin(alpha)
    north = forward * math.cos(pitch) + down * math.sin(pitch) * math.cos(roll)
    yaw = math.atan2(down * math.sin(roll), north)
    diagram.set("body.v_0", [forward, 0.0, down])
    diagram.set("body.q_0", _constants(quaternion.from_euler(ca.SX(roll), ca.SX(pitch), ca.SX(yaw))))


def _constants(column: ca.SX) -> list[float]:
    """Numbers of an expression that has no symbols."""
    return [float(ca.DM(entry)) for entry in ca.vertsplit(column)]


def _add_navigator(diagram: Diagram, spec: FixedWingSpec, body: Handle) -> Handle:
    begin = [0.0, 0.0, -spec.start.height_m]
    loiter = np.zeros((ROWS, MISSION_ITEMS))  # without a mission the vehicle circles where it began
    loiter[:, 0] = [*begin, 0.0, 1e9, FLY]
    navigator = diagram.add(
        "navigator", WingNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1, table=loiter.tolist(),
        cruise_speed=spec.control.cruise_speed_mps, acceptance_radius=spec.control.acceptance_radius_m,
        loiter_radius=spec.control.loiter_radius_m, point_0=begin,
    )  # fmt: skip
    diagram.connect(body.p_NB_N, navigator.p_NB_N)
    return navigator


def _add_control(diagram: Diagram, spec: FixedWingSpec, body: Handle, air: Handle, navigator: Handle) -> Handle:
    table, start, wing = spec.control, spec.start, spec.wing
    alpha = start.angle_of_attack_rad
    control = diagram.add(
        "control", FixedWingControl(sample_s=CONTROL_SAMPLE_S), travel=[spec.servo.travel_rad] * 3,
        trim_speed=start.airspeed_mps, aileron_0=start.aileron_rad, elevator_trim=start.elevator_rad,
        rudder_trim=start.rudder_rad, throttle_trim=start.throttle, pitch_trim=alpha,
        lift_angle=alpha + wing.CL_0 / wing.CL_alpha, line_gain=table.line_gain_pm,
        line_angle=math.radians(table.line_angle_deg), orbit_gain=table.orbit_gain, course_gain=table.course_gain,
        max_roll=math.radians(table.max_roll_deg), height_gain=table.height_gain,
        height_integral=table.height_integral, energy_gain=table.energy_gain_pm,
        energy_integral=table.energy_integral, max_climb=table.max_climb_mps,
        pitch_low=math.radians(table.pitch_low_deg), pitch_high=math.radians(table.pitch_high_deg),
        roll_gain=table.roll_gain, roll_damping=table.roll_damping_s, roll_integral=table.roll_integral,
        pitch_gain=table.pitch_gain, pitch_damping=table.pitch_damping_s, pitch_integral=table.pitch_integral,
        yaw_damping=table.yaw_damping_s,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], control[port])
    for port in ("path_kind", "path_origin", "path_course", "path_radius", "height_set", "airspeed_set"):
        diagram.connect(navigator[port], control[port])
    diagram.connect(air.airspeed, control.airspeed)
    return control


def _add_link(diagram: Diagram, place: str, command: Port) -> Handle:
    """The link between control system and actuator: one period, and a tap for its faults."""
    latch = diagram.add(f"{place}/command", CommandLatch(sample_s=CONTROL_SAMPLE_S))
    link = diagram.add(f"{place}/command_fault", SignalFault(1, "1", sample_s=CONTROL_SAMPLE_S))
    diagram.connect(command, latch.command)
    diagram.connect(latch.value, link.value_in)
    diagram.connect(latch.stamp, link.stamp_in)
    return link


def _add_crash(diagram: Diagram, spec: FixedWingSpec, body: Handle, terrain: Handle) -> None:
    """The ground, and what it does to an aircraft that meets it."""
    table = spec.contact
    contact = diagram.add(
        "contact", GroundContact(len(table.points_B_m)), points=np.array(table.points_B_m).T.tolist(),
        stiffness=table.stiffness_Npm, damping=table.damping_Nspm, friction=table.friction,
        grip_stiffness=table.grip_stiffness_Npm, grip_damping=table.grip_damping_Nspm,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], contact[port])
    for port in ("place", "ground_z", "slope"):
        diagram.connect(terrain[port], contact[port])
    diagram.connect(contact.force_B, body.force_B)
    diagram.connect(contact.moment_B, body.moment_B)
    crash = diagram.add(
        "crash", CrashDetector(sample_s=MONITOR_SAMPLE_S), max_impact=spec.limits.max_impact_mps,
        max_ground_tilt=math.radians(spec.limits.max_ground_tilt_deg), max_distance=spec.limits.max_distance_m,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB"):
        diagram.connect(body[port], crash[port])
    diagram.connect(contact.load, crash.load)
    diagram.stop("ground hit", crash.hard_landing)
    diagram.stop("rollover", crash.rollover)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port("navigator.done"))
