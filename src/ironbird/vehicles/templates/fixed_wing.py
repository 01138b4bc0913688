"""Fixed wings: a coefficient model or lifting surfaces, a propeller, any surfaces; L1 and total-energy control.

With `reference` the vehicle begins at rest on a catapult at the take-off point, nose to the north or along the
launcher's `course_deg`, and every mission begins with a launch. With a table `runway` (and `contact.wheels`) it begins
at rest on its wheels instead, and takes off rolling; a launcher that the file also has is not used. With `truth` it
begins in the air, in trimmed flight to the north at the height and airspeed of its file's table `start`: wind comes on
top of that. Landings end sliding on the contact points, or rolling on the wheels.
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
from ironbird.blocks.actuators.surface_mixer import SurfaceMixer
from ironbird.blocks.controllers.fixed_wing_control import FixedWingControl
from ironbird.blocks.controllers.mission_table import TAKE_OFF
from ironbird.blocks.controllers.runway_control import RunwayControl
from ironbird.blocks.controllers.runway_navigator import RunwayNavigator
from ironbird.blocks.controllers.wing_navigator import WingNavigator
from ironbird.blocks.estimators.airspeed_check import AirspeedCheck
from ironbird.blocks.forces.catapult import Catapult
from ironbird.blocks.forces.lift_drag import LiftDragSurface
from ironbird.blocks.forces.propeller_map import PropellerMap
from ironbird.blocks.forces.puller import Puller
from ironbird.blocks.forces.rated_propeller import RatedPropeller
from ironbird.blocks.forces.simple_propeller import SimplePropeller
from ironbird.blocks.forces.wheel_contact import WheelContact
from ironbird.blocks.forces.wing import Wing
from ironbird.blocks.power.supply_capacitor import SupplyCapacitor
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.model.signal import Number
from ironbird.symbolic import quaternion
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import HOVER, VehicleKind, abilities
from ironbird.vehicles.spec import Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.reference_autopilot import add_pitot, add_senses
from ironbird.vehicles.templates.rotorcraft import (
    STATE,
    BatteryTable,
    ContactTable,
    LimitTable,
    Matrix3,
    SensorTable,
    add_battery,
    add_brown_out,
    add_contact,
    add_crash,
    add_failsafes,
)
from ironbird.vehicles.templates.sensors import AIRSPEED_SAMPLE_S, VIBRATION, Products, Suite
from ironbird.vehicles.templates.surroundings import add_body, add_environment
from ironbird.vehicles.templates.wiring import add_link, connect_ports, connect_seen

CONTROL_SAMPLE_S = 0.004
NAVIGATOR_SAMPLE_S = 0.02
# rad, least angle of attack in cruise from zero lift: below, gusts and pitch errors hide the speed
LEAST_LIFT_ANGLE_RAD = 0.03
PATH = (
    "path_kind", "path_origin", "path_course", "path_radius", "bank_set", "height_set", "climb_ahead", "airspeed_set",
    "speed_weight", "pitch_limits", "throttle_limits",
)  # fmt: skip
SURFACES = ("aileron", "elevator", "rudder")  # axes of the controller, and surfaces of an aircraft with a tail


class Body(Table):
    """Mass, inertia and their distribution in the body."""

    mass_kg: Positive
    inertia_kgm2: Matrix3


class WingTable(BlockTable):
    """Size and aerodynamic coefficients, per radian; names and signs as [BeardMcLain]."""

    params = params_of(
        Wing,
        "area_m2 span_m chord_m oswald stall_angle_rad stall_rate_prad CL_0 CL_alpha CL_q CL_elevator "
        "CD_p CD_alpha? CD_q? CD_elevator? CD_elevator_size? Cm_0 Cm_alpha Cm_q Cm_elevator "
        "CY_0? CY_beta CY_p? CY_r? CY_aileron CY_rudder Cl_0? Cl_beta Cl_p Cl_r Cl_aileron Cl_rudder "
        "Cn_0? Cn_beta Cn_p Cn_r Cn_aileron Cn_rudder",
    )


class PanelTable(BlockTable):
    """Table of one lifting surface, for aircraft made of several; keys are those of Gazebo's plug-in [LiftDrag]."""

    surface: str = ""  # control surface whose deflection acts on it; none if empty
    params = params_of(
        LiftDragSurface,
        "area_m2 position_B_m upward_B? a0_rad cla cda alpha_stall_rad cla_stall cda_stall control_joint_rad_to_cl?",
    )


class PropellerTable(BlockTable):
    """Propeller with its motor; coefficients are constant, linear and squared in the advance ratio."""

    params = params_of(
        PropellerMap,
        "diameter_m CT CQ motor_KV_radpsV=speed_constant resistance_ohm idle_current_A voltage_V>0 position_B_m?",
    )


class SimplePropellerTable(BlockTable):
    """Propeller by momentum, [BeardMcLain] Sec. 4.3."""

    params = params_of(SimplePropeller, "area_m2 outflow_mps coefficient>0 position_B_m?")


class RatedPropellerTable(BlockTable):
    """Propeller by its static thrust and a loss with airspeed, [RflyModel] 7.2.1.1."""

    params = params_of(RatedPropeller, "diameter_m thrust_number top_speed_radps loss? position_B_m?")


class PullerTable(BlockTable):
    """Motor and rotor of Gazebo's motor model."""

    motor = params_of(Motor, "top_speed_radps=slope>0 time_constant_s")
    rotor = params_of(
        Puller, "motor_constant_Ns2>0 moment_constant_m drag_coefficient_Ns2pm no_thrust_speed_mps position_B_m"
    )


class ServoTable(BlockTable):
    """Travel, rate and lag of the servos of all surfaces."""

    params = params_of(Servo, "travel_rad time_constant_s max_rate_radps")


class LauncherTable(BlockTable):
    """Catapult of a fixed wing; without `course_deg` it points north."""

    height_m: Positive
    pitch_deg: Annotated[float, Field(ge=0, lt=45)]
    course_deg: Annotated[float, Field(ge=-360, le=360)] = 0.0
    params = params_of(Catapult, "pitch_deg course_deg stroke_m pull_N>0")


class WheelsTable(BlockTable):
    """Wheels among the points of the gear, by their number from 1."""

    points: Annotated[list[int], Field(min_length=3)]
    steered: Annotated[list[int], Field(min_length=1)]
    braked: list[int] = []
    steer_travel_deg: Annotated[float, Field(gt=0, lt=80)]
    params = params_of(WheelContact, "rolling_resistance brake_friction cornering_prad")
    control = params_of(RunwayControl, "steer_travel_deg")


class GearTable(ContactTable):
    """Landing gear: skids, and wheels if it has them."""

    wheels: WheelsTable | None = None

    @model_validator(mode="after")
    def _has_its_wheels(self) -> GearTable:
        if self.wheels is None:
            return self
        known, table = range(1, len(self.points_B_m) + 1), self.wheels
        if strange := [n for n in table.points if n not in known]:
            raise ValueError(f"wheels.points names {strange}, but there are {len(known)} points_B_m, from 1")
        if strange := [n for n in (*table.steered, *table.braked) if n not in table.points]:
            raise ValueError(f"wheels.steered and wheels.braked name {strange}; wheels.points has {table.points}")
        if self.wheel_base_m() < 0.01:
            raise ValueError(
                f"the steered wheel is {self.wheel_base_m():g} m ahead of the others; it must be a nose wheel"
            )
        return self

    def wheel_base_m(self) -> float:
        """Distance in m from the unsteered wheels to the steered ones."""
        assert self.wheels is not None
        steered = [self.points_B_m[n - 1][0] for n in self.wheels.steered]
        others = [self.points_B_m[n - 1][0] for n in self.wheels.points if n not in self.wheels.steered]
        return float(np.mean(steered) - np.mean(others)) if others else 0.0


class RunwayTable(BlockTable):
    """Take-off run and roll after a landing."""

    course_deg: Annotated[float, Field(ge=-360, le=360)] = 0.0
    params = params_of(
        RunwayNavigator, "rotate_speed_mps pitch_deg=runway_pitch? clear_height_m? run_length_m? landing_brake?"
    )
    control = params_of(RunwayControl, "steer_gain_1ps? look_ahead_m?")


class StartTable(BlockTable):
    """Trimmed level flight to the north: where the vehicle begins in the air, and the controller's trim."""

    height_m: Positive
    roll_rad: float
    trim = params_of(
        FixedWingControl,
        "airspeed_mps=trim_speed angle_of_attack_rad=pitch_trim aileron_rad=aileron_0 elevator_rad=elevator_trim "
        "rudder_rad=rudder_trim throttle=throttle_trim",
    )


class ControlTable(BlockTable):
    """Gains of guidance, energy and attitude control."""

    max_roll_deg: Annotated[float, Field(gt=0, lt=65)]
    take_off_pitch_deg: Annotated[float, Field(gt=0, lt=45)]
    glide_slope_deg: Annotated[float, Field(gt=0, lt=25)]
    gains = params_of(
        FixedWingControl,
        "min_speed_mps l1_period_s l1_damping max_roll_deg height_time_s speed_time_s max_climb_mps max_sink_mps "
        "full_throttle>0? energy_damping energy_integral balance_damping balance_integral pitch_low_deg pitch_high_deg "
        "roll_gain>0 roll_damping_s roll_integral pitch_gain>0 pitch_damping_s pitch_integral yaw_damping_s",
    )
    path = params_of(
        WingNavigator,
        "cruise_speed_mps acceptance_radius_m loiter_radius_m take_off_pitch_deg take_off_height_m return_height_m "
        "approach_height_m approach_speed_mps glide_slope_deg flare_time_s touch_sink_mps flare_pitch_deg "
        "course_by_wind? most_rounds?",
    )


class FixedWingSpec(VehicleSpec):
    """A fixed wing's file: one of `wing` and `panel`, one of the four propellers."""

    body: Body
    wing: WingTable | None = None
    panel: dict[str, PanelTable] = {}
    propeller: PropellerTable | None = None
    simple_propeller: SimplePropellerTable | None = None
    rated_propeller: RatedPropellerTable | None = None
    puller: PullerTable | None = None
    # Each surface's share of aileron, elevator and rudder
    surfaces: dict[str, Vector3] = {name: row for name, row in zip(SURFACES, np.eye(3).tolist(), strict=True)}
    servo: ServoTable
    contact: GearTable
    launcher: LauncherTable | None = None
    runway: RunwayTable | None = None
    start: StartTable
    control: ControlTable
    battery: BatteryTable | None = None  # without it the battery never empties
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _makes_sense(self) -> FixedWingSpec:
        if self.environment.earth != "flat":
            raise ValueError("a fixed wing starts in the air, which is written for environment.earth = 'flat' only")
        if (self.wing is None) == (not self.panel):
            raise ValueError("give either the table wing, or tables panel.NAME")
        drives = (self.propeller, self.simple_propeller, self.rated_propeller, self.puller)
        if sum(table is not None for table in drives) != 1:
            raise ValueError("give one of the tables propeller, simple_propeller, rated_propeller and puller")
        if self.battery is not None and self.propeller is None:
            raise ValueError("a battery needs the table propeller: the other propellers have no shaft power")
        if self.launcher is None and self.runway is None:
            raise ValueError("give the table launcher, or runway for a vehicle on wheels")
        if (self.runway is None) != (self.contact.wheels is None):
            raise ValueError("the tables runway and contact.wheels belong together: give both or none")
        for name, panel in self.panel.items():
            if panel.surface and panel.surface not in self.surfaces:
                raise ValueError(f"panel '{name}' names surface '{panel.surface}'; known: {', '.join(self.surfaces)}")
        return self

    def rest(self) -> tuple[float, float, float]:
        """Height (m), pitch and course (rad) at which the vehicle stands before a take-off."""
        if self.runway is not None:
            return self.contact.lowest_m(), math.radians(self.runway.pitch_deg), math.radians(self.runway.course_deg)
        assert self.launcher is not None
        table = self.launcher
        return table.height_m, math.radians(table.pitch_deg), math.radians(table.course_deg)

    def approach(self) -> tuple[float, float, float]:
        """Landing approach of its controller: height (m) of the glide, slope (deg), radius of circles (m)."""
        return self.control.approach_height_m, self.control.glide_slope_deg, self.control.loiter_radius_m

    def mixing(self) -> np.ndarray:
        """Mixing matrix; rows: surfaces, columns: aileron, elevator, rudder."""
        return np.array(list(self.surfaces.values()))

    def lift_angle_rad(self) -> float:
        """Angle of attack in rad at the start, measured from zero lift."""
        if self.wing is not None:
            return self.start.angle_of_attack_rad + self.wing.CL_0 / self.wing.CL_alpha
        largest = max(self.panel.values(), key=lambda panel: panel.area_m2)
        return self.start.angle_of_attack_rad + largest.a0_rad


def build(spec: FixedWingSpec, control_kind: str = "truth", *, airborne: bool | None = None) -> Diagram:
    """The diagram of a fixed wing, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state and begins in the air; `reference` on sensors and an estimator, from
    the catapult. `airborne` overrides whether the vehicle begins in the air.
    """
    airborne = control_kind == "truth" if airborne is None else airborne
    diagram = Diagram(spec.id)
    rest_height_m, *rest = spec.rest()
    height_m = spec.start.height_m if airborne else rest_height_m
    mass, inertia = spec.body.mass_kg, spec.body.inertia_kgm2
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=mass, inertia_kgm2=inertia, height_above_home_m=height_m
    )
    if airborne:
        _start_in_the_air(diagram, spec.start)
    else:
        pitch, course = (ca.SX(angle) for angle in rest)
        diagram.set(at.BODY.attitude_0, _constants(quaternion.from_euler(ca.SX(0), pitch, course)))
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
    battery = _add_battery(diagram, spec.battery, propeller)
    if spec.runway is None:
        _add_catapult(diagram, spec, body, navigator, airborne)
    if control_kind == "truth":
        connect_seen(diagram, {name: body[name] for name in STATE}, navigator, control)
        connect_seen(diagram, {"airspeed": parts["air"].airspeed}, control, navigator)
        diagram.connect(body.specific_force_B, control.accel_B)
        diagram.connect(parts["terrain"].height_above_ground, navigator.ground_distance)
    else:
        _use_estimate(diagram, spec, body, parts, navigator, control, motor, battery)
    contact = _add_gear(diagram, spec, body, parts["terrain"], navigator, control)
    # Only the sink rate matters in a touch-down
    add_crash(diagram, spec.limits, body, contact, hit="ground hit", along_share=0.0)
    add_brown_out(diagram, battery, navigator)
    return diagram


def add_aerodynamics(
    diagram: Diagram, spec: FixedWingSpec, body: Handle, air: Handle
) -> tuple[dict[str, Handle], Handle]:
    """Add wing or panels (by name) and the propeller to a body; deflections, drive and density stay unconnected."""
    if spec.wing is not None:
        aero = {"wing": diagram.add(at.WING.path, Wing(any_flow=spec.runway is not None), **spec.wing.params)}
    else:
        aero = {
            name: diagram.add(f"panel/{name}", LiftDragSurface(), **panel.params) for name, panel in spec.panel.items()
        }
    propeller = _add_propeller(diagram, spec)
    rates = air.w_air_B if "w_air_B" in air else body.w_NB_B  # with angular gusts if there are any
    for part in (*aero.values(), propeller):
        for name, port in (("v_air_B", air.v_air_B), ("airspeed", air.airspeed), ("w_NB_B", rates)):
            if name in part:
                diagram.connect(port, part[name])
        diagram.connect(part.force_B, body.force_B)
        diagram.connect(part.moment_B, body.moment_B)
    return aero, propeller


def _add_propeller(diagram: Diagram, spec: FixedWingSpec) -> Handle:
    path = at.rotor(1).propeller.path
    if spec.propeller is not None:
        return diagram.add(path, PropellerMap(), **spec.propeller.params)
    if spec.simple_propeller is not None:
        return diagram.add(path, SimplePropeller(), **spec.simple_propeller.params)
    if spec.rated_propeller is not None:
        return diagram.add(path, RatedPropeller(), **spec.rated_propeller.params)
    assert spec.puller is not None
    return diagram.add(path, Puller(), **spec.puller.rotor)


def drive_surfaces(
    diagram: Diagram, spec: FixedWingSpec, aero: Mapping[str, Handle], deflections: Mapping[str, Port]
) -> None:
    """Connect the surfaces' deflections to the panels, or as aileron, elevator and rudder to the wing."""
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
    """Begin in level flight to the north without sideslip over ground: roll and pitch make the velocity horizontal."""
    alpha, roll = start.angle_of_attack_rad, start.roll_rad
    pitch = math.atan(math.tan(alpha) * math.cos(roll))
    forward, down = start.airspeed_mps * math.cos(alpha), start.airspeed_mps * math.sin(alpha)
    north = forward * math.cos(pitch) + down * math.sin(pitch) * math.cos(roll)
    yaw = math.atan2(down * math.sin(roll), north)
    diagram.set(at.BODY.velocity_0, [forward, 0.0, down])
    diagram.set(at.BODY.attitude_0, _constants(quaternion.from_euler(ca.SX(roll), ca.SX(pitch), ca.SX(yaw))))


def _constants(column: ca.SX) -> list[float]:
    """Numbers of an expression without symbols."""
    return [float(ca.DM(entry)) for entry in ca.vertsplit(column)]


def _add_navigator(diagram: Diagram, spec: FixedWingSpec, height_m: float, airborne: bool) -> Handle:
    first = [0.0, 0.0, -spec.start.height_m, 0.0, 1e9]  # without a mission the vehicle circles above the start
    kind: type[WingNavigator] = WingNavigator
    more: dict[str, Number] = {}
    if spec.runway is not None:
        kind, more = RunwayNavigator, spec.runway.params
    navigator = diagram.add(
        at.NAVIGATOR.path,
        kind(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S),
        count=1,
        table=mission_table(first),
        airborne=float(airborne),
        point_0=[0.0, 0.0, -height_m],
        belly_height=spec.contact.lowest_m(),
        launch_course=spec.rest()[2],
        **spec.control.path,
        **more,
    )
    for port in ("command", "link_stamp"):  # inputs for an external program
        diagram.export(navigator[port])
    return navigator


def _add_control(diagram: Diagram, spec: FixedWingSpec, navigator: Handle) -> Handle:
    limits: dict[str, Number] = {"travel": [spec.servo.travel_rad] * 3, "lift_angle": spec.lift_angle_rad()}
    block = FixedWingControl(sample_s=CONTROL_SAMPLE_S)
    if spec.runway is not None and spec.contact.wheels is not None:
        block = RunwayControl(sample_s=CONTROL_SAMPLE_S)
        limits |= {"wheel_base": spec.contact.wheel_base_m(), **spec.contact.wheels.control, **spec.runway.control}
    control = diagram.add(at.CONTROL.path, block, **limits, **spec.start.trim, **spec.control.gains)
    connect_ports(diagram, navigator, control, *PATH)
    if spec.runway is not None:
        connect_ports(diagram, navigator, control, "rolling")
    return control


def _add_surfaces(diagram: Diagram, spec: FixedWingSpec, control: Handle) -> dict[str, Port]:
    """Add mixer, links and servos; returns the deflections by surface."""
    start = spec.start
    commands = {name: control[name] for name in SURFACES}
    if tuple(spec.surfaces) != SURFACES:
        block = SurfaceMixer(SURFACES, list(spec.surfaces), "1", sample_s=CONTROL_SAMPLE_S)
        mixer = diagram.add(at.SURFACE_MIXER.path, block, matrix=spec.mixing().tolist())
        for axis in SURFACES:
            diagram.connect(control[axis], mixer[f"{axis}_in"])
        commands = {name: mixer[f"{name}_out"] for name in spec.surfaces}
    angles = spec.mixing() @ [start.aileron_rad, start.elevator_rad, start.rudder_rad]
    deflections = {}
    for (name, command), angle in zip(commands.items(), angles, strict=True):
        place = at.surface(name)
        servo = diagram.add(place.servo.path, Servo(), **spec.servo.params, angle_0=float(angle))
        diagram.connect(add_link(diagram, place, command, CONTROL_SAMPLE_S), servo.command)
        deflections[name] = servo.deflection
    return deflections


def _add_throttle(diagram: Diagram, spec: FixedWingSpec, control: Handle, propeller: Handle) -> Handle | None:
    """Add the link to the motor; returns the block with the shaft's speed, if any."""
    link = add_link(diagram, at.rotor(1), control.throttle, CONTROL_SAMPLE_S)
    if spec.puller is None:
        diagram.connect(link, propeller.throttle)
        return propeller if "speed" in propeller else None
    speed = spec.puller.top_speed_radps * spec.start.throttle
    motor = diagram.add(at.rotor(1).motor.path, Motor(), **spec.puller.motor, idle_speed=0.0, omega_0=speed)
    diagram.connect(link, motor.throttle)
    diagram.connect(motor.speed, propeller.speed)
    return motor


def _add_battery(diagram: Diagram, table: BatteryTable | None, propeller: Handle) -> Handle | None:
    """Add the battery, if the file has one: a falling voltage slows the propeller."""
    if table is None:
        return None
    battery = add_battery(diagram, table)
    diagram.connect(propeller.shaft_power, battery.shaft_power)
    capacitor = diagram.add("battery/capacitor", SupplyCapacitor())
    diagram.connect(battery.voltage_ratio, capacitor.voltage_ratio)
    diagram.connect(capacitor.supplied, propeller.voltage_ratio)
    return battery


def _add_gear(
    diagram: Diagram, spec: FixedWingSpec, body: Handle, terrain: Handle, navigator: Handle, control: Handle
) -> Handle:
    """Add skids, or wheels with a steering servo and a brake."""
    table = spec.contact.wheels
    if table is None:
        return add_contact(diagram, spec.contact, body, terrain)
    block = WheelContact(len(spec.contact.points_B_m), wheels=table.points, steered=table.steered, braked=table.braked)
    contact = add_contact(diagram, spec.contact, body, terrain, block, **table.params)
    travel = {"travel": math.radians(table.steer_travel_deg)}
    servo = diagram.add(at.STEERING.servo.path, Servo(), **(spec.servo.params | travel))
    diagram.connect(add_link(diagram, at.STEERING, control.steering, CONTROL_SAMPLE_S), servo.command)
    diagram.connect(servo.deflection, contact.steer)
    diagram.connect(add_link(diagram, at.BRAKE, navigator.brake, NAVIGATOR_SAMPLE_S), contact.brake)
    return contact


def _add_catapult(diagram: Diagram, spec: FixedWingSpec, body: Handle, navigator: Handle, airborne: bool) -> None:
    table, inertia = spec.launcher, spec.body.inertia_kgm2
    assert table is not None
    catapult = diagram.add(
        at.CATAPULT.path,
        Catapult(),
        empty=float(airborne),
        start=[0.0, 0.0, -table.height_m],
        mass=spec.body.mass_kg,
        inertia=[inertia[i][i] for i in range(3)],
        **table.params,
    )
    connect_ports(diagram, body, catapult, *STATE)
    diagram.connect(add_link(diagram, at.LAUNCHER, navigator.launch, NAVIGATOR_SAMPLE_S), catapult.launch)
    connect_ports(diagram, catapult, body, "force_B", "moment_B")


def _use_estimate(
    diagram: Diagram,
    spec: FixedWingSpec,
    body: Handle,
    parts: Mapping[str, Handle],
    navigator: Handle,
    control: Handle,
    motor: Handle | None,
    battery: Handle | None,
) -> None:
    """Add the sensors with pitot tube and rangefinder and the estimator, and connect control and navigator to them."""
    cruise = spec.puller.top_speed_radps * spec.start.throttle if spec.puller is not None else 0.0
    shaking = {**VIBRATION, "vibration_speed": cruise} if cruise else VIBRATION
    suite = Suite(
        **spec.sensors.model_dump(),
        optical_flows=0,
        products=Products(vibration=shaking),
        starts_in_motion=spec.battery is not None and spec.battery.air_restart,
        finds_wind=True,
        airspeed_mps=spec.start.airspeed_mps,
    )
    rotors = [motor] if motor is not None else []
    start = spec.rest()[0]
    senses = add_senses(diagram, body, parts, spec.home, suite, rotors=rotors, battery=battery, start_height_m=start)
    estimator = senses.estimator
    pitot = add_pitot(diagram, at.airspeed(1).speed)
    check = _add_check(diagram, spec, pitot, navigator)
    connect_seen(diagram, {"airspeed": check.airspeed}, control, navigator)
    for reader in (control, check):
        diagram.connect(diagram.port(at.IMU_VOTER("accel_B")), reader.accel_B)
    if "airspeed" in estimator:
        diagram.connect(check.airspeed, estimator.airspeed)
        diagram.connect(check.stamp, estimator.airspeed_stamp)
    connect_seen(diagram, {name: estimator[name] for name in STATE}, navigator, control, check)
    diagram.connect(diagram.port(at.rangefinder(1).tap.value), navigator.ground_distance)
    if "wind_N" in estimator:
        connect_seen(diagram, {"wind_N": estimator.wind_N}, navigator, check)
    if senses.gauge is not None:
        diagram.connect(senses.gauge.remaining, navigator.battery_remaining)
    add_failsafes(diagram, estimator, navigator)


def _add_check(diagram: Diagram, spec: FixedWingSpec, pitot: Handle, navigator: Handle) -> Handle:
    """Add the block that checks the pitot tube, or estimates the airspeed without it."""
    check = diagram.add(
        at.airspeed(1).check.path,
        AirspeedCheck(sample_s=AIRSPEED_SAMPLE_S),
        trim_speed=spec.start.airspeed_mps,
        pitch_trim=spec.start.angle_of_attack_rad,
        lift_angle=spec.lift_angle_rad(),
        by_wind=float(spec.lift_angle_rad() < LEAST_LIFT_ANGLE_RAD),
        take_off_mode=float(TAKE_OFF),
    )
    diagram.connect(pitot.airspeed, check.airspeed_in)
    diagram.connect(pitot.stamp, check.stamp_in)
    diagram.connect(diagram.port(at.airspeed(1).tap.value), check.pressure)
    connect_ports(diagram, navigator, check, "mode", "throttle_limits")
    return check


KIND = VehicleKind(
    name="fixed_wing",
    spec=FixedWingSpec,
    build=build,
    abilities=abilities(f"{HOVER} stabilized", "position velocity attitude course height speed yaw"),
    drawing="wing",
    mav_type="MAV_TYPE_FIXED_WING",
    autopilot_class="plane",
    px4="ironbird.autopilots.px4.wings:fixed_wing_airframe",
    ardupilot="ironbird.autopilots.ardupilot.wings:PLANE",
    winged=True,
    launched=True,
    rflysim_type=100,
)
