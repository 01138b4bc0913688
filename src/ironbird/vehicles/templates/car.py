"""Cars: four wheels with Magic Formula tyres, front steering, drive and brakes at each wheel; a trailer if given."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.actuators.wheel_drive import WheelDrive
from ironbird.blocks.bodies.planar_car import PlanarCar
from ironbird.blocks.controllers.car_control import CarControl
from ironbird.blocks.controllers.ground_navigator import GroundNavigator
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.blocks.forces.hitch import Hitch
from ironbird.blocks.forces.tyre import Tyre
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import DRIVE, VehicleKind, abilities
from ironbird.vehicles.spec import NotNegative, Positive, Table, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.ground_water import SensorTable, add_monitor, add_state
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.surroundings import add_environment, home_params
from ironbird.vehicles.templates.wiring import add_air_force, add_link, connect_ports, connect_seen

CONTROL_SAMPLE_S = 0.01
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
STEEPEST_RAD = 1.5  # rad; a ground vehicle tips over by its wheel loads, not by the slope
LEFT, RIGHT = -1.0, 1.0

Share = Annotated[float, Field(ge=0, le=1)]


class Body(BlockTable):
    """Mass, inertia and centre of mass of a car."""

    yaw_inertia_kgm2: Positive
    params = params_of(PlanarCar, "mass_kg front_m rear_m track_m cg_height_m roll_share transfer_time_s")


class Wheels(BlockTable):
    """The four wheels with their drive and brakes."""

    drive_force_N: Positive  # at the ground, at full drive
    drive_power_W: Positive
    front_drive_share: Share
    brake_force_N: Positive  # at the ground, at full brake
    front_brake_share: Share
    wheel = params_of(WheelDrive, "radius_m inertia_kgm2")
    drive = params_of(WheelDrive, "drive_lag_s=time_constant rolling_resistance")


class SteeringTable(BlockTable):
    """The steering actuator: range, rate and lag."""

    params = params_of(Servo, "max_angle_rad=travel max_rate_radps time_constant_s")


class TyreTable(BlockTable):
    """Magic Formula coefficients and relaxation lengths."""

    params = params_of(Tyre, "lateral=a longitudinal=b aligning=c relaxation_x_m relaxation_y_m lateral_stiffness_Npm?")


class SuspensionTable(Table):
    """Springs on which the body rolls and pitches: of one wheel, front and rear; parameters of [CommonRoad] Tab. 6."""

    sprung_mass_kg: Positive
    sprung_height_m: Positive  # h_s
    roll_inertia_kgm2: Positive  # of the sprung mass about its centre
    pitch_inertia_kgm2: Positive
    spring_Npm: Annotated[list[Positive], Field(min_length=2, max_length=2)]  # K_sf, K_sr
    damper_Nspm: Annotated[list[NotNegative], Field(min_length=2, max_length=2)]  # K_sdf, K_sdr
    anti_roll_Nm: Annotated[list[NotNegative], Field(min_length=2, max_length=2)] = [0.0, 0.0]  # -K_tsf, -K_tsr
    tyre_Npm: Positive = 1e9  # K_zt: the tyres' own springs, in series
    camber_radpm: Annotated[list[float], Field(min_length=2, max_length=2)] = [0.0, 0.0]  # D_f, D_r: per compression

    def params(self, body: Body) -> dict[str, Number]:
        """Parameters of `PlanarCar`. Heave is assumed settled: it takes a share of the pitch stiffness."""
        arms = np.array([body.front_m, -body.rear_m])
        halves = np.array(body.track_m) / 2
        raised = self.sprung_mass_kg * self.sprung_height_m**2

        def nods(rates: np.ndarray) -> float:
            return 2 * float(rates @ arms**2) - 2 * float(rates @ arms) ** 2 / max(float(rates.sum()), 1e-9)

        springs, dampers = np.array(self.spring_Npm), np.array(self.damper_Nspm)
        axles = 2 * springs * halves**2 + np.array(self.anti_roll_Nm)
        tyres = 2 * self.tyre_Npm * halves**2
        roll = float((axles * tyres / (axles + tyres)).sum())
        return {
            "sprung_mass": self.sprung_mass_kg,
            "sprung_height": self.sprung_height_m,
            "lean_inertia": [self.roll_inertia_kgm2 + raised, self.pitch_inertia_kgm2 + raised],
            "lean_stiffness": [roll, nods(springs * self.tyre_Npm / (springs + self.tyre_Npm))],
            "lean_damping": [2 * float(dampers @ halves**2), nods(dampers)],
            "camber_share": (1 + np.array(self.camber_radpm) * halves).tolist(),
        }


class TrailerTable(BlockTable):
    """A trailer with one axle; its tyres and rolling resistance are those of the car."""

    yaw_inertia_kgm2: Positive  # about its centre of mass
    overhang_m: Positive  # from the car's rear axle to the ball
    drawbar_m: Positive  # from the ball to the trailer's axle
    track_m: Positive
    brake_force_N: NotNegative = 0.0
    body = params_of(PlanarCar, "mass_kg axle_behind_m=rear cg_height_m")
    wheel = params_of(WheelDrive, "wheel_radius_m=radius wheel_inertia_kgm2=inertia")
    hitch = params_of(Hitch, "hitch_stiffness_Npm=stiffness hitch_damping_Nspm=damping>0")


class Airframe(BlockTable):
    """Aerodynamic drag of the body."""

    params = params_of(AirframeDrag, "drag_Ns2pm2 damping_Nms2prad2")


class PathTable(BlockTable):
    """Limits of the path that a ground vehicle plans."""

    path = params_of(
        GroundNavigator,
        "cruise_speed_mps cruise_acceleration_mps2=acceleration lateral_acceleration_mps2 turn_radius_m arrived_m",
    )


class Control(PathTable):
    """Gains of the controller and limits of the path."""

    gains = params_of(CarControl, "cross_gain_1ps>0 yaw_damping_s speed_gain_1ps>0 speed_integral_1ps max_lateral_mps2")


class Limits(Table):
    """Largest distance from home; beyond it the run ends."""

    max_distance_m: Positive = 2000.0


class CarSpec(VehicleSpec):
    """Content of a car's vehicle file."""

    mission: str = "parcours"
    body: Body
    wheels: Wheels
    steering: SteeringTable
    tyre: TyreTable
    suspension: SuspensionTable | None = None  # none stays parallel to the ground
    airframe: Airframe
    trailer: TrailerTable | None = None
    control: Control
    sensors: SensorTable = SensorTable(position="ublox_f9p")
    limits: Limits = Limits()


def build(spec: CarSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a car: body, four wheels with tyres, steering, controller, sensors with `reference`."""
    diagram = Diagram(spec.id)
    table, wheels = spec.body, spec.wheels
    springs = spec.suspension.params(table) if spec.suspension is not None else {}
    body = _add_body(diagram, at.BODY, spec, table.yaw_inertia_kgm2, 0.0, {**table.params, **springs})
    parts = add_environment(diagram, body, spec.home, spec.environment)
    connect_ports(diagram, parts["terrain"], body, "place", "ground_z", "slope")
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=table.cg_height_m)
    control = diagram.add(
        at.CONTROL.path,
        CarControl(sample_s=CONTROL_SAMPLE_S),
        wheelbase=table.front_m + table.rear_m,
        max_angle=spec.steering.max_angle_rad,
        max_drive=wheels.drive_force_N / table.mass_kg,
        max_brake=wheels.brake_force_N / table.mass_kg,
        **spec.control.gains,
    )
    add_path(diagram, spec.control, control, seen)
    links = {
        name: add_link(diagram, place, control[name], CONTROL_SAMPLE_S)
        for name, place in (("steer", at.STEERING), ("drive", at.DRIVE), ("brake", at.BRAKE))
    }
    steering = diagram.add(at.STEERING.servo.path, Servo(), **spec.steering.params)
    diagram.connect(links["steer"], steering.command)
    for number in (1, 2, 3, 4):
        _add_wheel(diagram, spec, number, body, steering, links)
    if spec.trailer is not None:
        _add_trailer(diagram, spec, spec.trailer, body, parts, links)
    airframe = diagram.add(at.AIRFRAME.path, AirframeDrag(), **spec.airframe.params)
    add_air_force(diagram, airframe, body, parts)
    add_bounds(diagram, body, spec.limits.max_distance_m)
    diagram.stop("rollover", body.rollover)
    return diagram


def _add_body(
    diagram: Diagram, part: at.Part, spec: CarSpec, yaw_inertia_kgm2: float, x_m: float, params: dict[str, Number]
) -> Handle:
    """The body of the car or of its trailer, standing on its wheels `x_m` ahead of the take-off point."""
    inertia = np.diag([0.0, 0.0, yaw_inertia_kgm2]).tolist()
    start = [x_m, 0.0, -float(np.asarray(params["cg_height"]))]
    block = PlanarCar(sprung="sprung_mass" in params)
    return diagram.add(part.path, block, inertia=inertia, p_0=start, **params, **home_params(spec.home))


def _add_wheel(
    diagram: Diagram, spec: CarSpec, number: int, body: Handle, steering: Handle, links: dict[str, Port]
) -> None:
    """Add a wheel with its tyre: 1 front left, 2 front right, 3 rear left, 4 rear right."""
    table, wheels = spec.body, spec.wheels
    front, side = number <= 2, LEFT if number % 2 else RIGHT
    drive_share = wheels.front_drive_share if front else 1 - wheels.front_drive_share
    brake_share = wheels.front_brake_share if front else 1 - wheels.front_brake_share
    x = table.front_m if front else -table.rear_m
    drive = {
        "max_drive": wheels.drive_force_N * wheels.radius_m * drive_share / 2,
        "max_power": wheels.drive_power_W * drive_share / 2,
        "max_brake": wheels.brake_force_N * wheels.radius_m * brake_share / 2,
        **wheels.wheel,
        **wheels.drive,
    }
    position = [x, side * table.track_m[0 if front else 1] / 2, table.cg_height_m]
    tyre = _add_corner(diagram, spec.tyre, number, position, drive, body, body[f"load_{number}"], links)
    if front:
        diagram.connect(steering.deflection, tyre.steer)
    if spec.suspension is not None:
        diagram.connect(body.camber_front if front else body.camber_rear, tyre.camber)


def _add_corner(
    diagram: Diagram,
    table: TyreTable,
    number: int,
    position: list[float],
    params: dict[str, Number],
    body: Handle,
    load: Port,
    links: dict[str, Port],
) -> Handle:
    """Add tyre and drive of one wheel; returns the tyre."""
    wheel, side = at.wheel(number), LEFT if position[1] < 0 else RIGHT
    place = {"position": position, "radius": params["radius"], "side": side}
    tyre = diagram.add(wheel.tyre.path, Tyre(), **place, **table.params)
    drive = diagram.add(wheel.drive.path, WheelDrive(), **params)
    connect_ports(diagram, body, tyre, "v_NB_B", "w_NB_B")
    diagram.connect(load, tyre.load, drive.load)
    diagram.connect(drive.speed, tyre.speed)
    diagram.connect(tyre.longitudinal, drive.tyre_force)
    diagram.connect(links["drive"], drive.drive)
    diagram.connect(links["brake"], drive.brake)
    connect_ports(diagram, tyre, body, "force_B", "moment_B")
    return tyre


def _add_trailer(
    diagram: Diagram, spec: CarSpec, table: TrailerTable, car: Handle, parts: dict[str, Handle], links: dict[str, Port]
) -> None:
    """Add a trailer with one axle, carried by the hitch in front and by wheels 5 (left) and 6 (right)."""
    ball = -spec.body.rear_m - table.overhang_m
    ahead = table.drawbar_m - table.axle_behind_m  # m, from the centre of mass to the hitch eye
    params: dict[str, Number] = {
        "front": ahead,
        "track": [table.track_m, table.track_m],
        "roll_share": 0.0,
        "transfer_time": spec.body.transfer_time_s,
        **table.body,
    }
    body = _add_body(diagram, at.TRAILER, spec, table.yaw_inertia_kgm2, ball - ahead, params)
    connect_ports(diagram, parts["terrain"], body, "place", "ground_z", "slope")
    diagram.connect(parts["gravity"].gravity_N, body.gravity_N)
    ends: dict[str, Number] = {"ball": [ball, 0.0, 0.0], "drawbar": [ahead, 0.0, 0.0]}
    hitch = diagram.add(at.HITCH.path, Hitch(), **ends, **table.hitch)
    connect_ports(diagram, car, hitch, "p_NB_N", "v_NB_N", "R_NB", "w_NB_B")
    for output, suffix in (("p_NB_N", "p_N"), ("v_NB_N", "v_N"), ("R_NB", "R"), ("w_NB_B", "w")):
        diagram.connect(body[output], hitch[f"trailer_{suffix}"])
    connect_ports(diagram, hitch, car, "force_B", "moment_B")
    diagram.connect(hitch.trailer_force, body.force_B)
    diagram.connect(hitch.trailer_moment, body.moment_B)
    brake = table.brake_force_N * table.wheel_radius_m / 2
    drive = {"max_drive": 0.0, "max_power": 0.0, "max_brake": brake, **table.wheel, **spec.wheels.drive}
    for number, side, load in ((5, LEFT, body.load_3), (6, RIGHT, body.load_4)):
        position = [-table.axle_behind_m, side * table.track_m / 2, table.cg_height_m]
        _add_corner(diagram, spec.tyre, number, position, drive, body, load, links)
    diagram.stop("jackknife", hitch.jackknifed)
    diagram.stop("trailer rollover", body.rollover)


def add_path(diagram: Diagram, table: PathTable, control: Handle, seen: dict[str, Port]) -> None:
    """Add the navigator of a ground vehicle, and connect its path to the controller; without a mission it stays."""
    block = GroundNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S)
    stand = mission_table([0.0, 0.0, 0.0, 0.0, 1e9])
    navigator = diagram.add(at.NAVIGATOR.path, block, count=1, table=stand, **table.path)
    connect_seen(diagram, seen, navigator, control)
    ports = ("position_set", "tangent_set", "curvature_set", "speed_set", "acceleration_set")
    connect_ports(diagram, navigator, control, *ports)


def add_bounds(diagram: Diagram, body: Handle, max_distance_m: float) -> None:
    """Stop a run when the mission is done or the vehicle is too far away."""
    add_monitor(
        diagram, body, body.load, max_distance_m=max_distance_m, max_tilt_rad=STEEPEST_RAD, sample_s=MONITOR_SAMPLE_S
    )


KIND = VehicleKind(
    name="car",
    spec=CarSpec,
    build=build,
    abilities=abilities(DRIVE, "position velocity course speed yaw"),
    drawing="car",
    mav_type="MAV_TYPE_GROUND_ROVER",
    autopilot_class="rover",
    px4="ironbird.autopilots.px4.ground_water:car_airframe",
    ardupilot="ironbird.autopilots.ardupilot.ground_water:CAR",
    flies=False,
    rflysim_type=50,
)
