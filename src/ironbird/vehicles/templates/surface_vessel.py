"""Surface vessels: a hull in six degrees of freedom or in surge, sway and yaw, thrusters, guidance along a path."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.thruster import ForceActuator, Thruster
from ironbird.blocks.bodies.marine_body import MarineBody
from ironbird.blocks.controllers.marine_control import CourseControl
from ironbird.blocks.controllers.marine_navigator import PathNavigator
from ironbird.blocks.environment.current import Current
from ironbird.blocks.environment.waves import Waves
from ironbird.blocks.forces.hydrodynamics import CrossFlowDrag, Damping, Hydrostatics, ManoeuvringDamping
from ironbird.blocks.forces.wave_loads import WaveLoads
from ironbird.blocks.forces.wind_loads import WindLoads
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.vehicles.spec import Environment, Home, NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.common import (
    MISSION_ITEMS,
    SensorTable,
    add_link,
    add_monitor,
    add_state,
    connect_ports,
    connect_seen,
    mission_table,
)
from ironbird.vehicles.templates.surroundings import add_environment

CONTROL_SAMPLE_S = 0.02
NAVIGATOR_SAMPLE_S = 0.1
MONITOR_SAMPLE_S = 0.05
WAVE_SAMPLE_S = 0.02
ZERO = [0.0, 0.0, 0.0]


class MarineBodyTable(Table):
    """Mass, its distribution, and the water that moves along."""

    mass_kg: Positive
    inertia_diag_kgm2: Vector3 | None = None
    inertia_kgm2: Annotated[list[Vector3], Field(min_length=3, max_length=3)] | None = None
    centre_of_mass_B_m: Vector3 = ZERO
    added_mass_kg: Vector3
    added_inertia_kgm2: Vector3
    added_coupling: Annotated[float, Field(ge=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _one_inertia(self) -> MarineBodyTable:
        if (self.inertia_diag_kgm2 is None) == (self.inertia_kgm2 is None):
            raise ValueError("give either inertia_diag_kgm2 or inertia_kgm2")
        return self

    def inertia(self) -> np.ndarray:
        """As a 3x3 matrix about the centre of mass."""
        return np.array(self.inertia_kgm2) if self.inertia_kgm2 else np.diag(self.inertia_diag_kgm2 or [])

    def mass_matrix(self) -> np.ndarray:
        """Of the rigid body and its added mass about the body's origin, 6 x 6, [Fossen2021] Ch. 3 and 6."""
        x, y, z = self.centre_of_mass_B_m
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        m = self.mass_kg
        rigid = np.block([[m * np.eye(3), -m * skew], [m * skew, self.inertia() - m * skew @ skew]])
        return np.asarray(rigid + np.diag([*self.added_mass_kg, *self.added_inertia_kgm2]))


class DampingTable(Table):
    """Linear and quadratic damping per axis."""

    linear_Nspm: Vector3 = ZERO
    quadratic_Ns2pm2: Vector3 = ZERO
    angular_linear_Nmsprad: Vector3 = ZERO
    angular_quadratic_Nms2prad2: Vector3 = ZERO
    fade_spm: Vector3 = ZERO


class ManoeuvringTable(Table):
    """Hydrodynamic derivatives in surge, sway and yaw, SI units; `Y_rv` belongs to |r| v."""

    X_u: float
    X_uu: float
    X_uuu: float = 0.0
    Y_v: float
    Y_vv: float = 0.0
    Y_rv: float = 0.0
    Y_r: float = 0.0
    Y_vr: float = 0.0
    Y_rr: float = 0.0
    N_v: float = 0.0
    N_vv: float = 0.0
    N_rv: float = 0.0
    N_r: float
    N_vr: float = 0.0
    N_rr: float = 0.0


class CrossFlowTable(Table):
    """Drag of the hull across the flow."""

    length_m: Positive
    draught_m: Positive
    drag_coefficient: NotNegative
    density_kgpm3: Positive = 1026.0


class HydrostaticsTable(Table):
    """How the hull floats."""

    balanced_mass_kg: NotNegative
    balanced_at_B_m: Vector3 = ZERO
    heave_stiffness_Npm: NotNegative = 0.0
    roll_stiffness_Nmprad: NotNegative = 0.0
    pitch_stiffness_Nmprad: NotNegative = 0.0
    flotation_x_m: float = 0.0


class WindTable(Table):
    """What the wind finds above the water."""

    frontal_area_m2: Positive
    lateral_area_m2: Positive
    length_m: Positive
    centre_height_m: NotNegative = 0.0
    surge_coefficient: Positive
    sway_coefficient: Positive
    yaw_coefficient: NotNegative


class WaveTable(Table):
    """Size of the hull in the waterline, and how much of a wave it throws back."""

    length_m: Positive
    beam_m: Positive
    draught_m: Positive
    drift_share: Annotated[float, Field(ge=0, le=1)]


class PropellerTable(Table):
    """A propeller with its motor."""

    max_speed_radps: Positive
    max_reverse_radps: Positive
    thrust_coefficient_Ns2: Positive
    reverse_coefficient_Ns2: Positive
    time_constant_s: Positive
    inflow_loss_Ns2pm: NotNegative = 0.0
    torque_coefficient_Nms2: float = 0.0
    torque_loss_Ns2: float = 0.0


class ThrusterTable(Table):
    """Where a propeller sits and which way it pushes."""

    name: str
    position_B_m: Vector3 = ZERO
    axis_B: Vector3 = [1.0, 0.0, 0.0]
    propeller: str = "standard"


class ActuatorTable(Table):
    """A force or moment as a whole: `axis_B` per newton of force, `turning_B_m` for a moment."""

    name: str
    limit_N: Positive
    axis_B: Vector3 = ZERO
    turning_B_m: Vector3 = ZERO
    time_constant_s: Positive


class CourseTable(Table):
    """Gains of guidance and control along a path."""

    cruise_speed_mps: Positive
    lookahead_m: Positive
    arrived_m: Positive
    heading_gain: Positive
    heading_integral_gain: NotNegative
    rate_gain: Positive
    speed_gain: Positive
    speed_integral_gain: NotNegative
    max_yaw_rate_radps: Positive
    sway_gain: NotNegative = 0.0
    drift_time_s: Positive = 2.0


class LimitTable(Table):
    """What counts as lost."""

    max_tilt_deg: Annotated[float, Field(gt=0, lt=180)] = 45.0
    max_distance_m: Positive = 2000.0
    water_depth_m: Positive = 50.0


class SurfaceVesselSpec(VehicleSpec):
    """A surface vessel's file. With `planar = true` it stays level: surge, sway and yaw."""

    mission: str = "harbour"
    planar: bool = False
    body: MarineBodyTable
    damping: DampingTable | None = None
    manoeuvring: ManoeuvringTable | None = None
    cross_flow: CrossFlowTable | None = None
    hydrostatics: HydrostaticsTable
    wind: WindTable | None = None
    waves: WaveTable | None = None
    propeller: dict[str, PropellerTable] = {}
    thruster: list[ThrusterTable] = []
    actuator: list[ActuatorTable] = []
    control: CourseTable
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _complete(self) -> SurfaceVesselSpec:
        check_thrusters(self.thruster, self.propeller)
        if bool(self.thruster) == bool(self.actuator):
            raise ValueError("give either [[thruster]] or [[actuator]]")
        if self.damping is None and self.manoeuvring is None:
            raise ValueError("give [damping] or [manoeuvring]")
        return self


def check_thrusters(thrusters: list[ThrusterTable], propellers: dict[str, PropellerTable]) -> None:
    """Every thruster names a propeller that exists."""
    for thruster in thrusters:
        if thruster.propeller not in propellers:
            known = ", ".join(propellers)
            raise ValueError(f"thruster '{thruster.name}' names propeller '{thruster.propeller}'; known: {known}")


def effectiveness(thrusters: list[ThrusterTable]) -> np.ndarray:
    """Force and moment per newton of each thruster: the matrix of [Fossen2021] Ch. 11, 6 x n."""
    return np.array([[*t.axis_B, *np.cross(t.position_B_m, t.axis_B)] for t in thrusters]).T


def thrust_limits(thrusters: list[ThrusterTable], propellers: dict[str, PropellerTable]) -> dict[str, list[float]]:
    """Full thrust ahead and astern at rest, as the controllers want it."""
    used = [propellers[t.propeller] for t in thrusters]
    return {
        "max_thrust": [q.thrust_coefficient_Ns2 * q.max_speed_radps**2 for q in used],
        "max_reverse": [q.reverse_coefficient_Ns2 * q.max_reverse_radps**2 for q in used],
    }


def add_marine_body(
    diagram: Diagram, home: Home, environment: Environment, table: MarineBodyTable, *, planar: bool, depth_m: float,
    water_depth_m: float,
) -> tuple[Handle, dict[str, Handle]]:  # fmt: skip
    """The body, at rest and level, with its surroundings and the current."""
    body = diagram.add(
        "body", MarineBody(planar=planar), mass=table.mass_kg, inertia=table.inertia().tolist(),
        centre_of_mass=table.centre_of_mass_B_m, added_mass=table.added_mass_kg,
        added_inertia=table.added_inertia_kgm2, added_coupling=table.added_coupling, p_0=[0.0, 0.0, depth_m],
        home_latitude=home.latitude_rad, home_longitude=home.longitude_rad, home_height=home.height_m,
    )  # fmt: skip
    parts = add_environment(diagram, body, home, environment)
    diagram.set("terrain.base_z", water_depth_m)  # the ground is that of the sea
    current = parts["current"] = diagram.add("current", Current())
    diagram.connect(current.current_N, body.current_N)
    return body, parts


def add_force(diagram: Diagram, body: Handle, part: Handle, parts: dict[str, Handle]) -> None:
    """Connect a force part: what it needs by the names of its ports, and what it gives."""
    for port in ("v_water_B", "w_NB_B", "p_NB_N", "euler", "R_NB", "depth", "water_speed"):
        if port in part:
            diagram.connect(body[port], part[port])
    if "gravity_N" in part:
        diagram.connect(parts["gravity"].gravity_N, part.gravity_N)
    for port in ("force_B", "moment_B"):
        if port in part:
            diagram.connect(part[port], body[port])


def add_damping(diagram: Diagram, body: Handle, parts: dict[str, Handle], table: DampingTable) -> None:
    """Linear and quadratic damping."""
    damping = diagram.add(
        "damping", Damping(), linear=table.linear_Nspm, quadratic=table.quadratic_Ns2pm2,
        angular_linear=table.angular_linear_Nmsprad, angular_quadratic=table.angular_quadratic_Nms2prad2,
        fade=table.fade_spm,
    )  # fmt: skip
    add_force(diagram, body, damping, parts)


def add_cross_flow(diagram: Diagram, body: Handle, parts: dict[str, Handle], table: CrossFlowTable) -> None:
    """Cross-flow drag."""
    cross = diagram.add(
        "cross_flow", CrossFlowDrag(), length=table.length_m, draught=table.draught_m,
        drag_coefficient=table.drag_coefficient, density=table.density_kgpm3,
    )  # fmt: skip
    add_force(diagram, body, cross, parts)


def add_thruster(
    diagram: Diagram, number: int, table: ThrusterTable, propeller: PropellerTable, body: Handle,
    parts: dict[str, Handle],
) -> Handle:  # fmt: skip
    """A thruster, at the place where other vehicles have a motor, so that the faults of motors fit."""
    thruster = diagram.add(
        f"rotor/{number}/motor", Thruster(), position=table.position_B_m, axis=table.axis_B,
        max_speed=propeller.max_speed_radps, max_reverse=propeller.max_reverse_radps,
        thrust_coefficient=propeller.thrust_coefficient_Ns2, reverse_coefficient=propeller.reverse_coefficient_Ns2,
        time_constant=propeller.time_constant_s, inflow_loss=propeller.inflow_loss_Ns2pm,
        torque_coefficient=propeller.torque_coefficient_Nms2, torque_loss=propeller.torque_loss_Ns2,
    )  # fmt: skip
    add_force(diagram, body, thruster, parts)
    return thruster


def add_path_navigator(diagram: Diagram, table: CourseTable, depth_m: float) -> Handle:
    """Guidance along the mission's legs; without a mission the way leads north."""
    return diagram.add(
        "navigator", PathNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1,
        table=mission_table([1e5, 0.0, depth_m, 0.0, 0.0]), cruise_speed=table.cruise_speed_mps,
        arrived=table.arrived_m, lookahead=table.lookahead_m, point_0=[0.0, 0.0, depth_m],
    )  # fmt: skip


def course_params(table: CourseTable) -> dict[str, float]:
    """Gains that both path controllers have."""
    return {
        "heading_gain": table.heading_gain, "heading_integral_gain": table.heading_integral_gain,
        "speed_gain": table.speed_gain, "speed_integral_gain": table.speed_integral_gain,
        "max_yaw_rate": table.max_yaw_rate_radps, "drift_time": table.drift_time_s,
    }  # fmt: skip


def add_limits(diagram: Diagram, body: Handle, lift: Handle, limits: LimitTable) -> None:
    """Stop when the vehicle is upside down or too far away; what carries it is the water."""
    crash = add_monitor(
        diagram, body, lift.lift, max_distance_m=limits.max_distance_m, max_tilt_rad=math.radians(limits.max_tilt_deg),
        sample_s=MONITOR_SAMPLE_S,
    )  # fmt: skip
    diagram.stop("capsized", crash.rollover)


def build(spec: SurfaceVesselSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a surface vessel: hull, thrusters, wind and waves, controller, sensors with `reference`."""
    diagram = Diagram(spec.id)
    body, parts = add_marine_body(
        diagram, spec.home, spec.environment, spec.body, planar=spec.planar, depth_m=0.0,
        water_depth_m=spec.limits.water_depth_m,
    )  # fmt: skip
    if spec.damping is not None:
        add_damping(diagram, body, parts, spec.damping)
    if spec.manoeuvring is not None:
        hull = diagram.add("manoeuvring", ManoeuvringDamping(), **spec.manoeuvring.model_dump())
        add_force(diagram, body, hull, parts)
    if spec.cross_flow is not None:
        add_cross_flow(diagram, body, parts, spec.cross_flow)
    floats = spec.hydrostatics
    hydrostatics = diagram.add(
        "hydrostatics", Hydrostatics(), balanced_mass=floats.balanced_mass_kg, balanced_at=floats.balanced_at_B_m,
        heave_stiffness=floats.heave_stiffness_Npm, roll_stiffness=floats.roll_stiffness_Nmprad,
        pitch_stiffness=floats.pitch_stiffness_Nmprad, flotation_x=floats.flotation_x_m,
    )  # fmt: skip
    add_force(diagram, body, hydrostatics, parts)
    _add_weather(diagram, spec, body, parts)
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=0.0)
    navigator = add_path_navigator(diagram, spec.control, 0.0)
    control = _add_control(diagram, spec, navigator, seen)
    for number, thruster in enumerate(spec.thruster, start=1):
        part = add_thruster(diagram, number, thruster, spec.propeller[thruster.propeller], body, parts)
        add_command(diagram, number, control[f"command_{number}"], part)
    for number, actuator in enumerate(spec.actuator, start=1):
        part = diagram.add(
            f"rotor/{number}/motor", ForceActuator(), axis=actuator.axis_B, turning=actuator.turning_B_m,
            limit=actuator.limit_N, time_constant=actuator.time_constant_s,
        )  # fmt: skip
        add_force(diagram, body, part, parts)
        add_command(diagram, number, control[f"command_{number}"], part)
    add_limits(diagram, body, hydrostatics, spec.limits)
    return diagram


def add_command(diagram: Diagram, number: int, command: Port, thruster: Handle) -> None:
    """The link from the controller to a thruster."""
    diagram.connect(add_link(diagram, f"rotor/{number}", command, CONTROL_SAMPLE_S).value, thruster.command)


def _add_weather(diagram: Diagram, spec: SurfaceVesselSpec, body: Handle, parts: dict[str, Handle]) -> None:
    """Forces of wind and waves; both are calm unless a run says otherwise."""
    if spec.wind is not None:
        table = spec.wind
        wind = diagram.add(
            "wind_loads", WindLoads(), frontal_area=table.frontal_area_m2, lateral_area=table.lateral_area_m2,
            length=table.length_m, centre_height=table.centre_height_m, surge_coefficient=table.surge_coefficient,
            sway_coefficient=table.sway_coefficient, yaw_coefficient=table.yaw_coefficient,
        )  # fmt: skip
        diagram.connect(parts["air"].v_air_B, wind.v_air_B)
        diagram.connect(body.v_NB_B, wind.v_NB_B)
        diagram.connect(parts["atmosphere"].density, wind.density)
        add_force(diagram, body, wind, parts)
    if spec.waves is not None:
        floats = spec.hydrostatics
        waves = diagram.add("waves", Waves(sample_s=WAVE_SAMPLE_S))
        diagram.connect(body.v_NB_N, waves.v_NB_N)
        loads = diagram.add(
            "wave_loads", WaveLoads(), mass=spec.body.mass_kg, heave_stiffness=floats.heave_stiffness_Npm,
            roll_stiffness=floats.roll_stiffness_Nmprad, pitch_stiffness=floats.pitch_stiffness_Nmprad,
            flotation_x=floats.flotation_x_m, length=spec.waves.length_m, beam=spec.waves.beam_m,
            draught=spec.waves.draught_m, drift_share=spec.waves.drift_share,
        )  # fmt: skip
        connect_ports(diagram, waves, loads, "elevation", "slope_N", "deviation", "frequency", "travel_N")
        add_force(diagram, body, loads, parts)


def _add_control(diagram: Diagram, spec: SurfaceVesselSpec, navigator: Handle, seen: dict[str, Port]) -> Handle:
    matrix = spec.body.mass_matrix()
    if spec.thruster:
        effect = effectiveness(spec.thruster)
        limits = thrust_limits(spec.thruster, spec.propeller)
    else:
        effect = np.array([[*a.axis_B, *a.turning_B_m] for a in spec.actuator]).T
        limits = {name: [a.limit_N for a in spec.actuator] for name in ("max_thrust", "max_reverse")}
    # Only surge, sway and yaw are asked for, so that the other rows of the matrix do not matter
    allocation = np.zeros((effect.shape[1], 6))
    allocation[:, [0, 1, 5]] = np.linalg.pinv(effect[[0, 1, 5]])
    control = diagram.add(
        "control",
        CourseControl(effect.shape[1], quadratic=bool(spec.thruster), sample_s=CONTROL_SAMPLE_S),
        mass=float(matrix[0, 0]), inertia=float(matrix[5, 5]), rate_gain=spec.control.rate_gain,
        sway_gain=spec.control.sway_gain,
        allocation=allocation.tolist(), **limits, **course_params(spec.control),
    )  # fmt: skip
    connect_ports(diagram, navigator, control, "course_set", "speed_set")
    connect_seen(diagram, seen, navigator, control)
    return control
