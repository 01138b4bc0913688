"""Cars: four wheels with Magic Formula tyres, front steering, drive and brakes at each wheel; a trailer if given."""

from __future__ import annotations

from typing import Annotated, TypedDict

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
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
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

CONTROL_SAMPLE_S = 0.01
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
STEEPEST_RAD = 1.5  # a ground vehicle tips by its loads, not by the slope that it stands on
LEFT, RIGHT = -1.0, 1.0

Share = Annotated[float, Field(ge=0, le=1)]


class Body(Table):
    """Mass and where it is."""

    mass_kg: Positive
    yaw_inertia_kgm2: Positive
    front_m: Positive  # from the centre of mass to the front axle
    rear_m: Positive
    track_m: Annotated[list[Positive], Field(min_length=2, max_length=2)]  # front, rear
    cg_height_m: NotNegative
    roll_share: Share  # of the front axle in the lateral load transfer
    transfer_time_s: Positive


class Wheels(Table):
    """Wheels, their drive and brakes, all four together."""

    radius_m: Positive
    inertia_kgm2: Positive
    drive_force_N: Positive  # at the ground, at full drive
    drive_power_W: Positive
    front_drive_share: Share
    brake_force_N: Positive  # at the ground, at full brake
    front_brake_share: Share
    drive_lag_s: Positive
    rolling_resistance: NotNegative


class SteeringTable(Table):
    """Steering actuator."""

    max_angle_rad: Positive
    max_rate_radps: Positive
    time_constant_s: Positive


class TyreTable(Table):
    """Magic Formula coefficients and relaxation lengths."""

    lateral: Annotated[list[float], Field(min_length=14, max_length=14)]
    longitudinal: Annotated[list[float], Field(min_length=11, max_length=11)]
    aligning: Annotated[list[float], Field(min_length=18, max_length=18)]
    relaxation_x_m: Positive
    relaxation_y_m: Positive


class WheelParams(TypedDict):
    """Parameters of `WheelDrive`."""

    radius: float
    inertia: float
    max_drive: float
    max_power: float
    max_brake: float
    time_constant: float
    rolling_resistance: float


class TrailerTable(Table):
    """A trailer with one axle; its tyres and rolling resistance are those of the car."""

    mass_kg: Positive
    yaw_inertia_kgm2: Positive  # about its centre of mass
    overhang_m: Positive  # from the car's rear axle to the ball
    drawbar_m: Positive  # from the ball to the trailer's axle
    axle_behind_m: Positive  # from the trailer's centre of mass to its axle
    track_m: Positive
    cg_height_m: NotNegative
    wheel_radius_m: Positive
    wheel_inertia_kgm2: Positive
    brake_force_N: NotNegative = 0.0
    hitch_stiffness_Npm: Positive
    hitch_damping_Nspm: Positive


class Airframe(Table):
    """Drag of the body in the air."""

    drag_Ns2pm2: Vector3
    damping_Nms2prad2: Vector3


class PathTable(Table):
    """Limits of the path that a ground vehicle plans."""

    cruise_speed_mps: Positive
    cruise_acceleration_mps2: Positive
    lateral_acceleration_mps2: Positive
    turn_radius_m: Positive
    arrived_m: Positive


class Control(PathTable):
    """Gains of the controller and limits of the path."""

    cross_gain_1ps: Positive
    yaw_damping_s: NotNegative
    speed_gain_1ps: Positive
    speed_integral_1ps: NotNegative
    max_lateral_mps2: Positive  # of corrections as well


class Limits(Table):
    """What ends a run."""

    max_distance_m: Positive = 2000.0


class CarSpec(VehicleSpec):
    """A car's file."""

    mission: str = "parcours"
    body: Body
    wheels: Wheels
    steering: SteeringTable
    tyre: TyreTable
    airframe: Airframe
    trailer: TrailerTable | None = None
    control: Control
    sensors: SensorTable = SensorTable(position="ublox_f9p")
    limits: Limits = Limits()


def build(spec: CarSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a car: body, four wheels with tyres, steering, controller, sensors with `reference`."""
    diagram = Diagram(spec.id)
    table = spec.body
    body = diagram.add(
        "body", PlanarCar(), mass=table.mass_kg, inertia=np.diag([0.0, 0.0, table.yaw_inertia_kgm2]).tolist(),
        front=table.front_m, rear=table.rear_m, track=table.track_m, cg_height=table.cg_height_m,
        roll_share=table.roll_share, transfer_time=table.transfer_time_s, p_0=[0.0, 0.0, -table.cg_height_m],
        home_latitude=spec.home.latitude_rad, home_longitude=spec.home.longitude_rad, home_height=spec.home.height_m,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    connect_ports(diagram, parts["terrain"], body, "place", "ground_z", "slope")
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=table.cg_height_m)
    control = diagram.add(
        "control", CarControl(sample_s=CONTROL_SAMPLE_S), wheelbase=table.front_m + table.rear_m,
        max_angle=spec.steering.max_angle_rad, max_drive=spec.wheels.drive_force_N / table.mass_kg,
        max_brake=spec.wheels.brake_force_N / table.mass_kg, cross_gain=spec.control.cross_gain_1ps,
        yaw_damping=spec.control.yaw_damping_s, speed_gain=spec.control.speed_gain_1ps,
        speed_integral=spec.control.speed_integral_1ps, max_lateral=spec.control.max_lateral_mps2,
    )  # fmt: skip
    add_path(diagram, spec.control, control, seen)
    links = {
        name: add_link(diagram, place, control[name], CONTROL_SAMPLE_S)
        for name, place in (("steer", "steering"), ("drive", "drive"), ("brake", "brake"))
    }
    steering = diagram.add(
        "steering/servo", Servo(), travel=spec.steering.max_angle_rad, time_constant=spec.steering.time_constant_s,
        max_rate=spec.steering.max_rate_radps,
    )  # fmt: skip
    diagram.connect(links["steer"].value, steering.command)
    for number in (1, 2, 3, 4):
        _add_wheel(diagram, spec, number, body, steering, links)
    if spec.trailer is not None:
        _add_trailer(diagram, spec, spec.trailer, body, parts, links)
    airframe = diagram.add(
        "airframe", AirframeDrag(), drag=spec.airframe.drag_Ns2pm2, damping=spec.airframe.damping_Nms2prad2
    )
    diagram.connect(parts["air"].v_air_B, airframe.v_air_B)
    diagram.connect(body.w_NB_B, airframe.w_NB_B)
    diagram.connect(parts["atmosphere"].density, airframe.density)
    diagram.connect(airframe.force_B, body.force_B)
    diagram.connect(airframe.moment_B, body.moment_B)
    add_bounds(diagram, body, spec.limits.max_distance_m)
    diagram.stop("rollover", body.rollover)
    return diagram


def _add_wheel(
    diagram: Diagram, spec: CarSpec, number: int, body: Handle, steering: Handle, links: dict[str, Handle]
) -> None:
    """A wheel with its tyre: 1 front left, 2 front right, 3 rear left, 4 rear right."""
    table, wheels = spec.body, spec.wheels
    front, side = number <= 2, LEFT if number % 2 else RIGHT
    drive_share = wheels.front_drive_share if front else 1 - wheels.front_drive_share
    brake_share = wheels.front_brake_share if front else 1 - wheels.front_brake_share
    position = [
        table.front_m if front else -table.rear_m, side * table.track_m[0 if front else 1] / 2, table.cg_height_m
    ]  # fmt: skip
    drive = WheelParams(
        radius=wheels.radius_m, inertia=wheels.inertia_kgm2,
        max_drive=wheels.drive_force_N * wheels.radius_m * drive_share / 2,
        max_power=wheels.drive_power_W * drive_share / 2,
        max_brake=wheels.brake_force_N * wheels.radius_m * brake_share / 2, time_constant=wheels.drive_lag_s,
        rolling_resistance=wheels.rolling_resistance,
    )  # fmt: skip
    tyre = _add_corner(diagram, spec.tyre, number, position, drive, body, body[f"load_{number}"], links)
    if front:
        diagram.connect(steering.deflection, tyre.steer)


def _add_corner(
    diagram: Diagram, table: TyreTable, number: int, position: list[float], params: WheelParams, body: Handle,
    load: Port, links: dict[str, Handle],
) -> Handle:  # fmt: skip
    """Tyre and drive of one wheel; returns the tyre."""
    tyre = diagram.add(
        f"wheel/{number}/tyre", Tyre(), position=position, radius=params["radius"],
        side=LEFT if position[1] < 0 else RIGHT, a=table.lateral, b=table.longitudinal, c=table.aligning,
        relaxation_x=table.relaxation_x_m, relaxation_y=table.relaxation_y_m,
    )  # fmt: skip
    drive = diagram.add(f"wheel/{number}/drive", WheelDrive(), **params)
    connect_ports(diagram, body, tyre, "v_NB_B", "w_NB_B")
    diagram.connect(load, tyre.load, drive.load)
    diagram.connect(drive.speed, tyre.speed)
    diagram.connect(tyre.longitudinal, drive.tyre_force)
    diagram.connect(links["drive"].value, drive.drive)
    diagram.connect(links["brake"].value, drive.brake)
    connect_ports(diagram, tyre, body, "force_B", "moment_B")
    return tyre


def _add_trailer(
    diagram: Diagram, spec: CarSpec, table: TrailerTable, car: Handle, parts: dict[str, Handle],
    links: dict[str, Handle],
) -> None:  # fmt: skip
    """A trailer with one axle: a body that the hitch carries in front and wheels 5 (left) and 6 carry behind."""
    ball = -spec.body.rear_m - table.overhang_m
    ahead = table.drawbar_m - table.axle_behind_m  # from the centre of mass to the eye
    body = diagram.add(
        "trailer/body", PlanarCar(), mass=table.mass_kg,
        inertia=np.diag([0.0, 0.0, table.yaw_inertia_kgm2]).tolist(), front=ahead, rear=table.axle_behind_m,
        track=[table.track_m, table.track_m], cg_height=table.cg_height_m, roll_share=0.0,
        transfer_time=spec.body.transfer_time_s, p_0=[ball - ahead, 0.0, -table.cg_height_m],
        home_latitude=spec.home.latitude_rad, home_longitude=spec.home.longitude_rad, home_height=spec.home.height_m,
    )  # fmt: skip
    connect_ports(diagram, parts["terrain"], body, "place", "ground_z", "slope")
    diagram.connect(parts["gravity"].gravity_N, body.gravity_N)
    hitch = diagram.add(
        "trailer/hitch", Hitch(), ball=[ball, 0.0, 0.0], drawbar=[ahead, 0.0, 0.0], stiffness=table.hitch_stiffness_Npm,
        damping=table.hitch_damping_Nspm,
    )  # fmt: skip
    connect_ports(diagram, car, hitch, "p_NB_N", "v_NB_N", "R_NB", "w_NB_B")
    for given, taken in (("p_NB_N", "p_N"), ("v_NB_N", "v_N"), ("R_NB", "R"), ("w_NB_B", "w")):
        diagram.connect(body[given], hitch[f"trailer_{taken}"])
    connect_ports(diagram, hitch, car, "force_B", "moment_B")
    diagram.connect(hitch.trailer_force, body.force_B)
    diagram.connect(hitch.trailer_moment, body.moment_B)
    drive = WheelParams(
        radius=table.wheel_radius_m, inertia=table.wheel_inertia_kgm2, max_drive=0.0, max_power=0.0,
        max_brake=table.brake_force_N * table.wheel_radius_m / 2, time_constant=spec.wheels.drive_lag_s,
        rolling_resistance=spec.wheels.rolling_resistance,
    )  # fmt: skip
    for number, side, load in ((5, LEFT, body.load_3), (6, RIGHT, body.load_4)):
        position = [-table.axle_behind_m, side * table.track_m / 2, table.cg_height_m]
        _add_corner(diagram, spec.tyre, number, position, drive, body, load, links)
    diagram.stop("jackknife", hitch.jackknifed)
    diagram.stop("trailer rollover", body.rollover)


def add_path(diagram: Diagram, table: PathTable, control: Handle, seen: dict[str, Port]) -> None:
    """The navigator of a ground vehicle, and its path to the controller; without a mission the vehicle stands."""
    navigator = diagram.add(
        "navigator", GroundNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1,
        table=mission_table([0.0, 0.0, 0.0, 0.0, 1e9]), cruise_speed=table.cruise_speed_mps,
        acceleration=table.cruise_acceleration_mps2, lateral_acceleration=table.lateral_acceleration_mps2,
        turn_radius=table.turn_radius_m, arrived=table.arrived_m,
    )  # fmt: skip
    connect_seen(diagram, seen, navigator, control)
    connect_ports(
        diagram, navigator, control, "position_set", "tangent_set", "curvature_set", "speed_set", "acceleration_set"
    )


def add_bounds(diagram: Diagram, body: Handle, max_distance_m: float) -> None:
    """Ends a run when the mission is done or the vehicle is far away."""
    add_monitor(
        diagram, body, body.load, max_distance_m=max_distance_m, max_tilt_rad=STEEPEST_RAD, sample_s=MONITOR_SAMPLE_S
    )
