"""Fixed wings: a coefficient model or lifting surfaces, a propeller, any surfaces; L1 and total-energy control.

With `reference` the vehicle begins at rest on a catapult at the take-off point, nose to the north, and every mission
begins with a launch. With `truth` it begins in the air, in trimmed flight to the north at the height and airspeed of
its file's table `start`: wind comes on top of that. Landings end sliding on the contact points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import casadi as ca
import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.motor import Motor
from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.fixed_wing_control import FixedWingControl
from ironbird.blocks.controllers.surface_mixer import SurfaceMixer
from ironbird.blocks.controllers.wing_navigator import WingNavigator
from ironbird.blocks.estimators.pitot_airspeed import PitotAirspeed
from ironbird.blocks.forces.catapult import Catapult
from ironbird.blocks.forces.lift_drag import LiftDragSurface
from ironbird.blocks.forces.propeller_map import PropellerMap
from ironbird.blocks.forces.puller import Puller
from ironbird.blocks.forces.simple_propeller import SimplePropeller
from ironbird.blocks.forces.wing import Wing
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.symbolic import quaternion
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.common import MISSION_ITEMS, add_link, connect_ports, connect_seen, mission_table
from ironbird.vehicles.templates.reference_autopilot import Suite, add_senses
from ironbird.vehicles.templates.rotorcraft import ARM_TIME_S, ContactTable, SensorTable, add_contact
from ironbird.vehicles.templates.sensors import AIRSPEED_SAMPLE_S, VIBRATION, Products
from ironbird.vehicles.templates.surroundings import add_body, add_environment

CONTROL_SAMPLE_S = 0.004
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
SURFACES = ("aileron", "elevator", "rudder")  # axes of the controller, and surfaces of an aircraft with a tail
STATE = ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B")


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
    CD_elevator: float = 0.0
    CD_elevator_size: float = 0.0
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


class PanelTable(Table):
    """One lifting surface of an aircraft that is made of such; names as the Gazebo plug-in [LiftDrag]."""

    area_m2: Positive
    position_B_m: Vector3
    upward_B: Vector3 = [0.0, 0.0, -1.0]
    a0_rad: float
    cla: float
    cda: float
    alpha_stall_rad: Positive
    cla_stall: float
    cda_stall: float
    control_joint_rad_to_cl: float = 0.0
    surface: str = ""  # whose deflection acts on it; none if empty


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


class SimplePropellerTable(Table):
    """Propeller by momentum, [BeardMcLain] Sec. 4.3."""

    area_m2: Positive
    outflow_mps: Positive
    coefficient: Positive
    position_B_m: Vector3 = [0.0, 0.0, 0.0]


class PullerTable(Table):
    """Motor and rotor of Gazebo's motor model."""

    top_speed_radps: Positive
    time_constant_s: Positive
    motor_constant_Ns2: Positive
    moment_constant_m: NotNegative
    drag_coefficient_Ns2pm: NotNegative
    no_thrust_speed_mps: Positive
    position_B_m: Vector3


class ServoTable(Table):
    """Servos of all surfaces."""

    travel_rad: Positive
    time_constant_s: Positive
    max_rate_radps: Positive


class LauncherTable(Table):
    """Catapult that points to the north."""

    height_m: Positive
    pitch_deg: Annotated[float, Field(ge=0, lt=45)]
    stroke_m: Positive
    pull_N: Positive


class StartTable(Table):
    """Trimmed level flight to the north: where the vehicle begins in the air, and the controller's trim."""

    height_m: Positive
    airspeed_mps: Positive
    angle_of_attack_rad: float
    roll_rad: float
    aileron_rad: float
    elevator_rad: float
    rudder_rad: float
    throttle: Annotated[float, Field(ge=0, le=1)]


class ControlTable(Table):
    """Gains of guidance, energy and attitude control."""

    cruise_speed_mps: Positive
    min_speed_mps: Positive
    acceptance_radius_m: Positive
    loiter_radius_m: Positive
    l1_period_s: Positive
    l1_damping: Positive
    max_roll_deg: Annotated[float, Field(gt=0, lt=65)]
    height_time_s: Positive
    speed_time_s: Positive
    max_climb_mps: Positive
    max_sink_mps: Positive
    full_throttle: Annotated[float, Field(gt=0, le=1)] = 1.0
    energy_damping: NotNegative
    energy_integral: NotNegative
    balance_damping: NotNegative
    balance_integral: NotNegative
    pitch_low_deg: float
    pitch_high_deg: float
    roll_gain: Positive
    roll_damping_s: NotNegative
    roll_integral: NotNegative
    pitch_gain: Positive
    pitch_damping_s: NotNegative
    pitch_integral: NotNegative
    yaw_damping_s: NotNegative
    take_off_pitch_deg: Annotated[float, Field(gt=0, lt=45)]
    take_off_height_m: Positive
    return_height_m: Positive
    approach_height_m: Positive
    approach_speed_mps: Positive
    glide_slope_deg: Annotated[float, Field(gt=0, lt=25)]
    flare_time_s: Positive
    touch_sink_mps: Positive
    flare_pitch_deg: float


class LimitTable(Table):
    """What counts as a crash; of a touch-down only the sink rate counts."""

    max_impact_mps: Positive = 3.0
    max_ground_tilt_deg: Annotated[float, Field(gt=0, lt=180)] = 60.0
    max_distance_m: Positive = 5000.0


class FixedWingSpec(VehicleSpec):
    """A fixed wing's file: one of `wing` and `panel`, one of the three propellers."""

    body: Body
    wing: WingTable | None = None
    panel: dict[str, PanelTable] = {}
    propeller: PropellerTable | None = None
    simple_propeller: SimplePropellerTable | None = None
    puller: PullerTable | None = None
    # Each surface's share of aileron, elevator and rudder
    surfaces: dict[str, Vector3] = {name: row for name, row in zip(SURFACES, np.eye(3).tolist(), strict=True)}
    servo: ServoTable
    contact: ContactTable
    launcher: LauncherTable
    start: StartTable
    control: ControlTable
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _makes_sense(self) -> FixedWingSpec:
        if self.environment.earth != "flat":
            raise ValueError("a fixed wing starts in the air, which is written for environment.earth = 'flat' only")
        if (self.wing is None) == (not self.panel):
            raise ValueError("give either the table wing, or tables panel.NAME")
        if sum(table is not None for table in (self.propeller, self.simple_propeller, self.puller)) != 1:
            raise ValueError("give one of the tables propeller, simple_propeller and puller")
        for name, panel in self.panel.items():
            if panel.surface and panel.surface not in self.surfaces:
                raise ValueError(f"panel '{name}' names surface '{panel.surface}'; known: {', '.join(self.surfaces)}")
        return self

    def mixing(self) -> np.ndarray:
        """Rows: surfaces; columns: aileron, elevator, rudder."""
        return np.array(list(self.surfaces.values()))

    def lift_angle_rad(self) -> float:
        """Angle of attack of the start, counted from that of no lift."""
        if self.wing is not None:
            return self.start.angle_of_attack_rad + self.wing.CL_0 / self.wing.CL_alpha
        largest = max(self.panel.values(), key=lambda panel: panel.area_m2)
        return self.start.angle_of_attack_rad + largest.a0_rad


def build(spec: FixedWingSpec, control_kind: str = "truth", *, airborne: bool | None = None) -> Diagram:
    """The diagram of a fixed wing, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state and begins in the air; `reference` on sensors and an estimator, from
    the catapult. `airborne` says otherwise where a start of the true-state control is meant.
    """
    airborne = control_kind == "truth" if airborne is None else airborne
    diagram = Diagram(spec.id)
    height_m = spec.start.height_m if airborne else spec.launcher.height_m
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg, inertia_kgm2=spec.body.inertia_kgm2,
        height_above_home_m=height_m,
    )  # fmt: skip
    if airborne:
        _start_in_the_air(diagram, spec.start)
    else:
        pitch = ca.SX(math.radians(spec.launcher.pitch_deg))
        diagram.set("body.q_0", _constants(quaternion.from_euler(ca.SX(0), pitch, ca.SX(0))))
    parts = add_environment(diagram, body, spec.home, spec.environment)
    navigator = _add_navigator(diagram, spec, height_m, airborne)
    control = _add_control(diagram, spec, navigator)
    aero, propeller = add_aerodynamics(diagram, spec, body, parts["air"])
    for part in (*aero.values(), propeller):
        if "density" in part:
            diagram.connect(parts["atmosphere"].density, part.density)
    deflections = _add_surfaces(diagram, spec, control)
    drive_surfaces(diagram, spec, aero, deflections)
    motor = _add_throttle(diagram, spec, control, propeller)
    _add_catapult(diagram, spec, body, navigator, airborne)
    if control_kind == "truth":
        connect_seen(diagram, {name: body[name] for name in STATE}, navigator, control)
        diagram.connect(parts["air"].airspeed, control.airspeed)
        diagram.connect(body.specific_force_B, control.accel_B)
        diagram.connect(parts["terrain"].height_above_ground, navigator.ground_distance)
    else:
        _use_estimate(diagram, spec, body, parts, navigator, control, motor)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    _add_crash(diagram, spec, body, contact)
    return diagram


def add_aerodynamics(
    diagram: Diagram, spec: FixedWingSpec, body: Handle, air: Handle
) -> tuple[dict[str, Handle], Handle]:
    """Wing or panels (by name), and the propeller, on a body; deflections, drive and density are left open."""
    if spec.wing is not None:
        table = spec.wing
        sizes = {
            "area": table.area_m2, "span": table.span_m, "chord": table.chord_m,
            "stall_angle": table.stall_angle_rad, "stall_rate": table.stall_rate_prad,
        }  # fmt: skip
        coefficients = {key: value for key, value in table.model_dump().items() if key == "oswald" or key[0] == "C"}
        aero = {"wing": diagram.add("wing", Wing(), **sizes, **coefficients)}
    else:
        aero = {
            name: diagram.add(
                f"panel/{name}", LiftDragSurface(), area=panel.area_m2, position=panel.position_B_m,
                upward=panel.upward_B, a0=panel.a0_rad, cla=panel.cla, cda=panel.cda,
                alpha_stall=panel.alpha_stall_rad, cla_stall=panel.cla_stall, cda_stall=panel.cda_stall,
                control_joint_rad_to_cl=panel.control_joint_rad_to_cl,
            )
            for name, panel in spec.panel.items()
        }  # fmt: skip
    propeller = _add_propeller(diagram, spec, air)
    for part in (*aero.values(), propeller):
        for name, port in (("v_air_B", air.v_air_B), ("airspeed", air.airspeed), ("w_NB_B", body.w_NB_B)):
            if name in part:
                diagram.connect(port, part[name])
        diagram.connect(part.force_B, body.force_B)
        diagram.connect(part.moment_B, body.moment_B)
    return aero, propeller


def _add_propeller(diagram: Diagram, spec: FixedWingSpec, air: Handle) -> Handle:
    place = "rotor/1/propeller"
    if spec.propeller is not None:
        table = spec.propeller
        return diagram.add(
            place, PropellerMap(), diameter=table.diameter_m, CT=table.CT, CQ=table.CQ,
            speed_constant=table.motor_KV_radpsV, resistance=table.resistance_ohm, idle_current=table.idle_current_A,
            voltage=table.voltage_V, position=table.position_B_m,
        )  # fmt: skip
    if spec.simple_propeller is not None:
        simple = spec.simple_propeller
        return diagram.add(
            place, SimplePropeller(), area=simple.area_m2, outflow=simple.outflow_mps, coefficient=simple.coefficient,
            position=simple.position_B_m,
        )  # fmt: skip
    assert spec.puller is not None
    puller = spec.puller
    return diagram.add(
        place, Puller(), motor_constant=puller.motor_constant_Ns2, moment_constant=puller.moment_constant_m,
        drag_coefficient=puller.drag_coefficient_Ns2pm, no_thrust_speed=puller.no_thrust_speed_mps,
        position=puller.position_B_m,
    )  # fmt: skip


def drive_surfaces(
    diagram: Diagram, spec: FixedWingSpec, aero: Mapping[str, Handle], deflections: Mapping[str, Port]
) -> None:
    """Lead the surfaces' deflections to the panels, or as aileron, elevator and rudder to the wing."""
    if spec.wing is None:
        for name, panel in spec.panel.items():
            if panel.surface:
                diagram.connect(deflections[panel.surface], aero[name].deflection)
        return
    wing = aero["wing"]
    if tuple(spec.surfaces) == SURFACES:
        for name in SURFACES:
            diagram.connect(deflections[name], wing[name])
        return
    mixing = spec.mixing()
    axes = [axis for axis, column in zip(SURFACES, mixing.T, strict=True) if np.any(column)]
    back = np.linalg.pinv(mixing)[[SURFACES.index(axis) for axis in axes]]
    mixer = diagram.add("surface/back", SurfaceMixer(list(spec.surfaces), axes, "rad"), matrix=back.tolist())
    for name, port in deflections.items():
        diagram.connect(port, mixer[f"{name}_in"])
    for axis in axes:
        diagram.connect(mixer[f"{axis}_out"], wing[axis])


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


def _add_navigator(diagram: Diagram, spec: FixedWingSpec, height_m: float, airborne: bool) -> Handle:
    begin, table = [0.0, 0.0, -height_m], spec.control
    first = [0.0, 0.0, -spec.start.height_m, 0.0, 1e9]  # without a mission the vehicle circles above the start
    navigator = diagram.add(
        "navigator", WingNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1, table=mission_table(first),
        airborne=float(airborne), cruise_speed=table.cruise_speed_mps, acceptance_radius=table.acceptance_radius_m,
        loiter_radius=table.loiter_radius_m, point_0=begin, take_off_pitch=math.radians(table.take_off_pitch_deg),
        take_off_height=table.take_off_height_m, return_height=table.return_height_m,
        approach_height=table.approach_height_m, approach_speed=table.approach_speed_mps,
        glide_slope=math.radians(table.glide_slope_deg), flare_time=table.flare_time_s,
        touch_sink=table.touch_sink_mps, flare_pitch=math.radians(table.flare_pitch_deg),
        belly_height=spec.contact.lowest_m(),
    )  # fmt: skip
    for port in ("command", "link_stamp"):  # what a program outside may command
        diagram.export(navigator[port])
    return navigator


def _add_control(diagram: Diagram, spec: FixedWingSpec, navigator: Handle) -> Handle:
    table, start = spec.control, spec.start
    control = diagram.add(
        "control", FixedWingControl(sample_s=CONTROL_SAMPLE_S), travel=[spec.servo.travel_rad] * 3,
        trim_speed=start.airspeed_mps, aileron_0=start.aileron_rad, elevator_trim=start.elevator_rad,
        rudder_trim=start.rudder_rad, throttle_trim=start.throttle, pitch_trim=start.angle_of_attack_rad,
        lift_angle=spec.lift_angle_rad(), l1_period=table.l1_period_s, l1_damping=table.l1_damping,
        max_roll=math.radians(table.max_roll_deg), height_time=table.height_time_s, speed_time=table.speed_time_s,
        max_climb=table.max_climb_mps, max_sink=table.max_sink_mps, min_speed=table.min_speed_mps,
        full_throttle=table.full_throttle, energy_damping=table.energy_damping, energy_integral=table.energy_integral,
        balance_damping=table.balance_damping, balance_integral=table.balance_integral,
        pitch_low=math.radians(table.pitch_low_deg), pitch_high=math.radians(table.pitch_high_deg),
        roll_gain=table.roll_gain, roll_damping=table.roll_damping_s, roll_integral=table.roll_integral,
        pitch_gain=table.pitch_gain, pitch_damping=table.pitch_damping_s, pitch_integral=table.pitch_integral,
        yaw_damping=table.yaw_damping_s,
    )  # fmt: skip
    connect_ports(
        diagram, navigator, control, "path_kind", "path_origin", "path_course", "path_radius", "bank_set",
        "height_set", "climb_ahead", "airspeed_set", "speed_weight", "pitch_limits", "throttle_limits",
    )  # fmt: skip
    return control


def _add_surfaces(diagram: Diagram, spec: FixedWingSpec, control: Handle) -> dict[str, Port]:
    """Mixer, links and servos; returns the deflections by surface."""
    start = spec.start
    commands = {name: control[name] for name in SURFACES}
    if tuple(spec.surfaces) != SURFACES:
        mixer = diagram.add(
            "surface/mixer", SurfaceMixer(SURFACES, list(spec.surfaces), "1", sample_s=CONTROL_SAMPLE_S),
            matrix=spec.mixing().tolist(),
        )  # fmt: skip
        for axis in SURFACES:
            diagram.connect(control[axis], mixer[f"{axis}_in"])
        commands = {name: mixer[f"{name}_out"] for name in spec.surfaces}
    angles = spec.mixing() @ [start.aileron_rad, start.elevator_rad, start.rudder_rad]
    deflections = {}
    for (name, command), angle in zip(commands.items(), angles, strict=True):
        servo = diagram.add(
            f"surface/{name}/servo", Servo(), travel=spec.servo.travel_rad, time_constant=spec.servo.time_constant_s,
            max_rate=spec.servo.max_rate_radps, angle_0=float(angle),
        )  # fmt: skip
        diagram.connect(add_link(diagram, f"surface/{name}", command, CONTROL_SAMPLE_S).value, servo.command)
        deflections[name] = servo.deflection
    return deflections


def _add_throttle(diagram: Diagram, spec: FixedWingSpec, control: Handle, propeller: Handle) -> Handle | None:
    """The link to the motor; returns the part that knows the shaft's speed, if any."""
    link = add_link(diagram, "rotor/1", control.throttle, CONTROL_SAMPLE_S)
    if spec.puller is None:
        diagram.connect(link.value, propeller.throttle)
        return propeller if "speed" in propeller else None
    motor = diagram.add(
        "rotor/1/motor", Motor(), slope=spec.puller.top_speed_radps, idle_speed=0.0,
        time_constant=spec.puller.time_constant_s, omega_0=spec.puller.top_speed_radps * spec.start.throttle,
    )  # fmt: skip
    diagram.connect(link.value, motor.throttle)
    diagram.connect(motor.speed, propeller.speed)
    return motor


def _add_catapult(diagram: Diagram, spec: FixedWingSpec, body: Handle, navigator: Handle, airborne: bool) -> None:
    table = spec.launcher
    catapult = diagram.add(
        "launcher/catapult", Catapult(), empty=float(airborne), start=[0.0, 0.0, -table.height_m],
        pitch=math.radians(table.pitch_deg), stroke=table.stroke_m, pull=table.pull_N, mass=spec.body.mass_kg,
        inertia=[spec.body.inertia_kgm2[i][i] for i in range(3)],
    )  # fmt: skip
    connect_ports(diagram, body, catapult, *STATE)
    link = add_link(diagram, "launcher", navigator.launch, NAVIGATOR_SAMPLE_S)
    diagram.connect(link.value, catapult.launch)
    connect_ports(diagram, catapult, body, "force_B", "moment_B")


def _use_estimate(
    diagram: Diagram, spec: FixedWingSpec, body: Handle, parts: Mapping[str, Handle], navigator: Handle,
    control: Handle, motor: Handle | None,
) -> None:  # fmt: skip
    """Sensors with the pitot tube and the rangefinder, the estimator, and what control and navigator take of them."""
    cruise = spec.puller.top_speed_radps * spec.start.throttle if spec.puller is not None else 0.0
    shaking = {**VIBRATION, "vibration_speed": cruise} if cruise else VIBRATION
    suite = Suite(**spec.sensors.model_dump(), optical_flows=0, products=Products(vibration=shaking))
    senses = add_senses(
        diagram, body, parts, spec.home, suite, rotors=[motor] if motor is not None else [], battery=None,
        start_height_m=spec.launcher.height_m,
    )  # fmt: skip
    estimator = senses.estimator
    pitot = diagram.add("airspeed/1/speed", PitotAirspeed(sample_s=AIRSPEED_SAMPLE_S))
    diagram.connect(diagram.port("airspeed/1/fault.value"), pitot.pressure)
    diagram.connect(diagram.port("airspeed/1/fault.stamp"), pitot.stamp_in)
    diagram.connect(diagram.port("baro/1/fault.value"), pitot.static_pressure)
    diagram.connect(pitot.airspeed, control.airspeed)
    diagram.connect(diagram.port("vote/imu.accel_B"), control.accel_B)
    if "airspeed" in estimator:
        diagram.connect(pitot.airspeed, estimator.airspeed)
        diagram.connect(pitot.stamp, estimator.airspeed_stamp)
    seen = {name: estimator[name] for name in (*STATE, "healthy", "gnss_age") if name in estimator}
    connect_seen(diagram, seen, navigator, control)
    diagram.connect(diagram.port("range/1/fault.value"), navigator.ground_distance)
    if "zero_velocity" in estimator:
        diagram.connect(navigator.disarmed, estimator.zero_velocity)
    diagram.set("navigator.arm_time", ARM_TIME_S)


def _add_crash(diagram: Diagram, spec: FixedWingSpec, body: Handle, contact: Handle) -> None:
    """What the ground does to an aircraft that meets it too fast, and what else ends a flight."""
    crash = diagram.add(
        "crash", CrashDetector(sample_s=MONITOR_SAMPLE_S), max_impact=spec.limits.max_impact_mps, along_share=0.0,
        max_ground_tilt=math.radians(spec.limits.max_ground_tilt_deg), max_distance=spec.limits.max_distance_m,
    )  # fmt: skip
    connect_ports(diagram, body, crash, "p_NB_N", "v_NB_N", "R_NB")
    diagram.connect(contact.load, crash.load)
    diagram.stop("ground hit", crash.hard_landing)
    diagram.stop("rollover", crash.rollover)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port("navigator.done"))
    diagram.stop("landed before the end of the mission", diagram.port("navigator.landed"))
