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
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import DRIVE, VehicleKind, abilities
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.ground_water import SensorTable, add_monitor, add_state
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.rotorcraft import Matrix3
from ironbird.vehicles.templates.surroundings import add_environment, home_params
from ironbird.vehicles.templates.wiring import add_link, connect_ports, connect_seen

CONTROL_SAMPLE_S = 0.02
NAVIGATOR_SAMPLE_S = 0.1
MONITOR_SAMPLE_S = 0.05
WAVE_SAMPLE_S = 0.02


class MarineBodyTable(BlockTable):
    """Mass, its distribution, and the added mass of the water."""

    inertia_diag_kgm2: Vector3 | None = None
    inertia_kgm2: Matrix3 | None = None
    params = params_of(MarineBody, "mass_kg centre_of_mass_B_m? added_mass_kg added_inertia_kgm2 added_coupling?")

    @model_validator(mode="after")
    def _one_inertia(self) -> MarineBodyTable:
        if (self.inertia_diag_kgm2 is None) == (self.inertia_kgm2 is None):
            raise ValueError("give either inertia_diag_kgm2 or inertia_kgm2")
        return self

    def inertia(self) -> np.ndarray:
        """Inertia as a 3x3 matrix about the centre of mass, kg m^2."""
        return np.array(self.inertia_kgm2) if self.inertia_kgm2 else np.diag(self.inertia_diag_kgm2 or [])

    def mass_matrix(self) -> np.ndarray:
        """Mass matrix of the rigid body and its added mass about the body's origin, 6 x 6, [Fossen2021] Ch. 3 and 6."""
        x, y, z = self.centre_of_mass_B_m
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        m = self.mass_kg
        rigid = np.block([[m * np.eye(3), -m * skew], [m * skew, self.inertia() - m * skew @ skew]])
        return np.asarray(rigid + np.diag([*self.added_mass_kg, *self.added_inertia_kgm2]))


class DampingTable(BlockTable):
    """Linear and quadratic damping per axis."""

    params = params_of(
        Damping,
        "linear_Nspm? quadratic_Ns2pm2? angular_linear_Nmsprad? angular_quadratic_Nms2prad2? fade_spm?",
    )


class ManoeuvringTable(BlockTable):
    """Hydrodynamic derivatives in surge, sway and yaw, SI units; `Y_rv` belongs to |r| v."""

    params = params_of(
        ManoeuvringDamping,
        "X_u X_uu X_uuu? Y_v Y_vv? Y_rv? Y_r? Y_vr? Y_rr? N_v? N_vv? N_rv? N_r N_vr? N_rr?",
    )


class CrossFlowTable(BlockTable):
    """Drag of the hull across the flow."""

    params = params_of(CrossFlowDrag, "length_m draught_m drag_coefficient density_kgpm3?")


class HydrostaticsTable(BlockTable):
    """Hydrostatics: how the hull floats."""

    balance = params_of(Hydrostatics, "balanced_mass_kg balanced_at_B_m?")
    waterline = params_of(
        Hydrostatics, "heave_stiffness_Npm? roll_stiffness_Nmprad? pitch_stiffness_Nmprad? flotation_x_m?"
    )


class WindTable(BlockTable):
    """Areas and coefficients for the wind on the hull above the water."""

    centre_height_m: NotNegative = 0.0
    params = params_of(
        WindLoads,
        "frontal_area_m2>0 lateral_area_m2>0 length_m centre_height_m surge_coefficient>0 sway_coefficient>0 "
        "yaw_coefficient",
    )


class WaveTable(BlockTable):
    """Size of the hull at the waterline, and the share of a wave that it reflects."""

    params = params_of(WaveLoads, "length_m beam_m draught_m drift_share")


class PropellerTable(BlockTable):
    """A propeller with its motor: thrust coefficients and lag."""

    params = params_of(
        Thruster,
        "max_speed_radps max_reverse_radps thrust_coefficient_Ns2>0 reverse_coefficient_Ns2>0 time_constant_s "
        "inflow_loss_Ns2pm? torque_coefficient_Nms2? torque_loss_Ns2?",
    )


class ThrusterTable(BlockTable):
    """Position and direction of a propeller."""

    name: str
    propeller: str = "standard"
    params = params_of(Thruster, "position_B_m? axis_B?")


class ActuatorTable(BlockTable):
    """A force or moment as a whole: `axis_B` per newton of force, `turning_B_m` for a moment."""

    name: str
    axis_B: Vector3 = [0.0, 0.0, 0.0]
    params = params_of(ForceActuator, "limit_N>0 axis_B turning_B_m? time_constant_s")


class CourseTable(BlockTable):
    """Gains of guidance and control along a path."""

    path = params_of(PathNavigator, "cruise_speed_mps lookahead_m arrived_m")
    course = params_of(
        CourseControl,
        "heading_gain>0 heading_integral_gain speed_gain>0 speed_integral_gain max_yaw_rate_radps drift_time_s?",
    )
    gains = params_of(CourseControl, "rate_gain>0 sway_gain?")


class LimitTable(Table):
    """Limits of tilt and distance that end a run, and the depth of the water."""

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
    """Raise if a thruster names a propeller that does not exist."""
    for thruster in thrusters:
        if thruster.propeller not in propellers:
            known = ", ".join(propellers)
            raise ValueError(f"thruster '{thruster.name}' names propeller '{thruster.propeller}'; known: {known}")


def effectiveness(thrusters: list[ThrusterTable]) -> np.ndarray:
    """Force and moment per newton of each thruster: the matrix of [Fossen2021] Ch. 11, 6 x n."""
    return np.array([[*t.axis_B, *np.cross(t.position_B_m, t.axis_B)] for t in thrusters]).T


def thrust_limits(thrusters: list[ThrusterTable], propellers: dict[str, PropellerTable]) -> dict[str, list[float]]:
    """Full thrust ahead and astern at rest in N, as parameters of the controllers."""
    used = [propellers[t.propeller] for t in thrusters]
    return {
        "max_thrust": [q.thrust_coefficient_Ns2 * q.max_speed_radps**2 for q in used],
        "max_reverse": [q.reverse_coefficient_Ns2 * q.max_reverse_radps**2 for q in used],
    }


def add_marine_body(
    diagram: Diagram, spec: VehicleSpec, table: MarineBodyTable, limits: LimitTable, *, planar: bool, depth_m: float
) -> tuple[Handle, dict[str, Handle]]:
    """Add the body, at rest and level, with its surroundings and the current."""
    start = {"p_0": [0.0, 0.0, depth_m], **home_params(spec.home)}
    inertia = table.inertia().tolist()
    body = diagram.add(at.BODY.path, MarineBody(planar=planar), inertia=inertia, **table.params, **start)
    parts = add_environment(diagram, body, spec.home, spec.environment)
    diagram.set(at.TERRAIN.base, limits.water_depth_m)  # the ground is the sea floor
    current = parts["current"] = diagram.add(at.CURRENT.path, Current())
    diagram.connect(current.current_N, body.current_N)
    return body, parts


def add_force(diagram: Diagram, body: Handle, part: Handle, parts: dict[str, Handle]) -> None:
    """Add a force block: connect its inputs by the names of its ports, and its force to the body."""
    for port in ("v_water_B", "w_NB_B", "p_NB_N", "euler", "R_NB", "depth", "water_speed"):
        if port in part:
            diagram.connect(body[port], part[port])
    if "gravity_N" in part:
        diagram.connect(parts["gravity"].gravity_N, part.gravity_N)
    for port in ("force_B", "moment_B"):
        if port in part:
            diagram.connect(part[port], body[port])


def add_damping(diagram: Diagram, body: Handle, parts: dict[str, Handle], table: DampingTable) -> None:
    """Add linear and quadratic damping of the hull."""
    add_force(diagram, body, diagram.add("damping", Damping(), **table.params), parts)


def add_cross_flow(diagram: Diagram, body: Handle, parts: dict[str, Handle], table: CrossFlowTable) -> None:
    """Add cross-flow drag of the hull."""
    add_force(diagram, body, diagram.add("cross_flow", CrossFlowDrag(), **table.params), parts)


def add_thruster(
    diagram: Diagram,
    number: int,
    table: ThrusterTable,
    propeller: PropellerTable,
    body: Handle,
    parts: dict[str, Handle],
) -> Handle:
    """Add a thruster at the path of other vehicles' motors, so that the faults of motors apply."""
    thruster = diagram.add(at.rotor(number).motor.path, Thruster(), **table.params, **propeller.params)
    add_force(diagram, body, thruster, parts)
    return thruster


def add_path_navigator(diagram: Diagram, table: CourseTable, depth_m: float) -> Handle:
    """Add guidance along the mission's legs; without a mission the path leads north."""
    block = PathNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S)
    north = mission_table([1e5, 0.0, depth_m, 0.0, 0.0])
    return diagram.add(at.NAVIGATOR.path, block, count=1, table=north, point_0=[0.0, 0.0, depth_m], **table.path)


def add_limits(diagram: Diagram, body: Handle, lift: Handle, limits: LimitTable) -> None:
    """Stop when the vehicle is upside down or too far away; the water carries it."""
    tilt, far = math.radians(limits.max_tilt_deg), limits.max_distance_m
    crash = add_monitor(diagram, body, lift.lift, max_distance_m=far, max_tilt_rad=tilt, sample_s=MONITOR_SAMPLE_S)
    diagram.stop("capsized", crash.rollover)


def build(spec: SurfaceVesselSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a surface vessel: hull, thrusters, wind and waves, controller, sensors with `reference`."""
    diagram = Diagram(spec.id)
    body, parts = add_marine_body(diagram, spec, spec.body, spec.limits, planar=spec.planar, depth_m=0.0)
    if spec.damping is not None:
        add_damping(diagram, body, parts, spec.damping)
    if spec.manoeuvring is not None:
        hull = diagram.add("manoeuvring", ManoeuvringDamping(), **spec.manoeuvring.params)
        add_force(diagram, body, hull, parts)
    if spec.cross_flow is not None:
        add_cross_flow(diagram, body, parts, spec.cross_flow)
    floats = spec.hydrostatics
    hydrostatics = diagram.add("hydrostatics", Hydrostatics(), **floats.balance, **floats.waterline)
    add_force(diagram, body, hydrostatics, parts)
    _add_weather(diagram, spec, body, parts)
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=0.0)
    navigator = add_path_navigator(diagram, spec.control, 0.0)
    control = _add_control(diagram, spec, navigator, seen)
    for number, thruster in enumerate(spec.thruster, start=1):
        part = add_thruster(diagram, number, thruster, spec.propeller[thruster.propeller], body, parts)
        add_command(diagram, number, control[f"command_{number}"], part)
    for number, actuator in enumerate(spec.actuator, start=1):
        part = diagram.add(at.rotor(number).motor.path, ForceActuator(), **actuator.params)
        add_force(diagram, body, part, parts)
        add_command(diagram, number, control[f"command_{number}"], part)
    add_limits(diagram, body, hydrostatics, spec.limits)
    return diagram


def add_command(diagram: Diagram, number: int, command: Port, thruster: Handle) -> None:
    """Add the command link from the controller to a thruster."""
    diagram.connect(add_link(diagram, at.rotor(number), command, CONTROL_SAMPLE_S), thruster.command)


def _add_weather(diagram: Diagram, spec: SurfaceVesselSpec, body: Handle, parts: dict[str, Handle]) -> None:
    """Add the forces of wind and waves; both are calm unless a run sets them."""
    if spec.wind is not None:
        wind = diagram.add("wind_loads", WindLoads(), **spec.wind.params)
        diagram.connect(parts["air"].v_air_B, wind.v_air_B)
        diagram.connect(body.v_NB_B, wind.v_NB_B)
        diagram.connect(parts["atmosphere"].density, wind.density)
        add_force(diagram, body, wind, parts)
    if spec.waves is not None:
        waves = diagram.add(at.WAVES.path, Waves(sample_s=WAVE_SAMPLE_S))
        diagram.connect(body.v_NB_N, waves.v_NB_N)
        hull = {**spec.hydrostatics.waterline, **spec.waves.params}
        loads = diagram.add("wave_loads", WaveLoads(), mass=spec.body.mass_kg, **hull)
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
    # Only surge, sway and yaw are commanded, so the other rows of the matrix do not matter
    allocation = np.zeros((effect.shape[1], 6))
    allocation[:, [0, 1, 5]] = np.linalg.pinv(effect[[0, 1, 5]])
    control = diagram.add(
        at.CONTROL.path,
        CourseControl(effect.shape[1], quadratic=bool(spec.thruster), sample_s=CONTROL_SAMPLE_S),
        mass=float(matrix[0, 0]),
        inertia=float(matrix[5, 5]),
        allocation=allocation.tolist(),
        **limits,
        **spec.control.course,
        **spec.control.gains,
    )
    connect_ports(diagram, navigator, control, "course_set", "speed_set")
    connect_seen(diagram, seen, navigator, control)
    return control


KIND = VehicleKind(
    name="surface_vessel",
    spec=SurfaceVesselSpec,
    build=build,
    abilities=abilities(DRIVE, "position velocity course speed yaw"),
    drawing="boat",
    mav_type="MAV_TYPE_SURFACE_BOAT",
    autopilot_class="boat",
    px4="ironbird.autopilots.px4.ground_water:boat_airframe",
    ardupilot="ironbird.autopilots.ardupilot.ground_water:BOAT",
    flies=False,
)
