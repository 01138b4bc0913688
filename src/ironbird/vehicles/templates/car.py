"""Cars: four wheels with Magic Formula tyres, front steering, drive and brakes at each wheel."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.blocks.actuators.steering import Steering
from ironbird.blocks.actuators.wheel_drive import WheelDrive
from ironbird.blocks.bodies.planar_car import PlanarCar
from ironbird.blocks.controllers.car_control import CarControl
from ironbird.blocks.controllers.ground_navigator import GroundNavigator
from ironbird.blocks.controllers.navigator import FLY, ROWS
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.blocks.forces.tyre import Tyre
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.surroundings import add_environment

CONTROL_SAMPLE_S = 0.01
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
MISSION_ITEMS = 16
LEFT, RIGHT = -1.0, 1.0
NO_LIMIT = 1e6  # of criteria that a ground vehicle does not have

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


class Airframe(Table):
    """Drag of the body in the air."""

    drag_Ns2pm2: Vector3
    damping_Nms2prad2: Vector3


class Control(Table):
    """Gains of the controller and limits of the path."""

    cross_gain_1ps: Positive
    yaw_damping_s: NotNegative
    speed_gain_1ps: Positive
    speed_integral_1ps: NotNegative
    cruise_speed_mps: Positive
    cruise_acceleration_mps2: Positive
    lateral_acceleration_mps2: Positive  # of the planned path
    max_lateral_mps2: Positive  # of corrections as well
    turn_radius_m: Positive
    arrived_m: Positive


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
    control: Control
    limits: Limits = Limits()


def build(spec: CarSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a car that drives on the true state: body, four wheels with tyres, steering, controller."""
    diagram = Diagram(spec.id)
    table = spec.body
    body = diagram.add(
        "body", PlanarCar(), mass=table.mass_kg, inertia=np.diag([0.0, 0.0, table.yaw_inertia_kgm2]).tolist(),
        front=table.front_m, rear=table.rear_m, track=table.track_m, cg_height=table.cg_height_m,
        roll_share=table.roll_share, transfer_time=table.transfer_time_s, p_0=[0.0, 0.0, -table.cg_height_m],
        home_latitude=spec.home.latitude_rad, home_longitude=spec.home.longitude_rad, home_height=spec.home.height_m,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    for port in ("place", "ground_z", "slope"):
        diagram.connect(parts["terrain"][port], body[port])
    navigator = add_navigator(
        diagram, body, cruise_speed=spec.control.cruise_speed_mps, acceleration=spec.control.cruise_acceleration_mps2,
        lateral_acceleration=spec.control.lateral_acceleration_mps2, turn_radius=spec.control.turn_radius_m,
        arrived=spec.control.arrived_m,
    )  # fmt: skip
    control = diagram.add(
        "control", CarControl(sample_s=CONTROL_SAMPLE_S), wheelbase=table.front_m + table.rear_m,
        max_angle=spec.steering.max_angle_rad, max_drive=spec.wheels.drive_force_N / table.mass_kg,
        max_brake=spec.wheels.brake_force_N / table.mass_kg, cross_gain=spec.control.cross_gain_1ps,
        yaw_damping=spec.control.yaw_damping_s, speed_gain=spec.control.speed_gain_1ps,
        speed_integral=spec.control.speed_integral_1ps, max_lateral=spec.control.max_lateral_mps2,
    )  # fmt: skip
    connect_control(diagram, body, navigator, control)
    commands = {}
    for name in ("steer", "drive", "brake"):
        commands[name] = diagram.add(f"{name}/command", CommandLatch(sample_s=CONTROL_SAMPLE_S))
        diagram.connect(control[name], commands[name].command)
    steering = diagram.add(
        "steering", Steering(), time_constant=spec.steering.time_constant_s, max_angle=spec.steering.max_angle_rad,
        max_rate=spec.steering.max_rate_radps,
    )  # fmt: skip
    diagram.connect(commands["steer"].value, steering.command)
    for number in (1, 2, 3, 4):
        _add_wheel(diagram, spec, number, body, steering, commands)
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
    diagram: Diagram, spec: CarSpec, number: int, body: Handle, steering: Handle, commands: dict[str, Handle]
) -> None:
    """A wheel with its tyre: 1 front left, 2 front right, 3 rear left, 4 rear right."""
    table, wheels = spec.body, spec.wheels
    front, side = number <= 2, LEFT if number % 2 else RIGHT
    drive_share = wheels.front_drive_share if front else 1 - wheels.front_drive_share
    brake_share = wheels.front_brake_share if front else 1 - wheels.front_brake_share
    position = [
        table.front_m if front else -table.rear_m, side * table.track_m[0 if front else 1] / 2, table.cg_height_m
    ]  # fmt: skip
    tyre = diagram.add(
        f"wheel/{number}/tyre", Tyre(), position=position, radius=wheels.radius_m, side=side, a=spec.tyre.lateral,
        b=spec.tyre.longitudinal, c=spec.tyre.aligning, relaxation_x=spec.tyre.relaxation_x_m,
        relaxation_y=spec.tyre.relaxation_y_m,
    )  # fmt: skip
    drive = diagram.add(
        f"wheel/{number}/drive", WheelDrive(), radius=wheels.radius_m, inertia=wheels.inertia_kgm2,
        max_drive=wheels.drive_force_N * wheels.radius_m * drive_share / 2,
        max_power=wheels.drive_power_W * drive_share / 2,
        max_brake=wheels.brake_force_N * wheels.radius_m * brake_share / 2, time_constant=wheels.drive_lag_s,
        rolling_resistance=wheels.rolling_resistance,
    )  # fmt: skip
    load = body[f"load_{number}"]
    diagram.connect(body.v_NB_B, tyre.v_NB_B)
    diagram.connect(body.w_NB_B, tyre.w_NB_B)
    diagram.connect(load, tyre.load, drive.load)
    diagram.connect(drive.speed, tyre.speed)
    diagram.connect(tyre.longitudinal, drive.tyre_force)
    diagram.connect(commands["drive"].value, drive.drive)
    diagram.connect(commands["brake"].value, drive.brake)
    diagram.connect(tyre.force_B, body.force_B)
    diagram.connect(tyre.moment_B, body.moment_B)
    if front:
        diagram.connect(steering.angle, tyre.steer)


def add_navigator(diagram: Diagram, body: Handle, **limits: float) -> Handle:
    """The navigator of a ground vehicle; without a mission it stands."""
    stand = np.zeros((ROWS, MISSION_ITEMS))
    stand[:, 0] = [0.0, 0.0, 0.0, 0.0, 1e9, FLY]
    navigator = diagram.add(
        "navigator", GroundNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1, table=stand.tolist(),
        **limits,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N"):
        diagram.connect(body[port], navigator[port])
    return navigator


def connect_control(diagram: Diagram, body: Handle, navigator: Handle, control: Handle) -> None:
    """The controller sees the true state and the path."""
    for port in ("p_NB_N", "v_NB_B", "R_NB", "w_NB_B"):
        diagram.connect(body[port], control[port])
    for port in ("position_set", "tangent_set", "curvature_set", "speed_set", "acceleration_set"):
        diagram.connect(navigator[port], control[port])


def add_bounds(diagram: Diagram, body: Handle, max_distance_m: float) -> None:
    """Ends a run when the mission is done or the vehicle is far away."""
    crash = diagram.add(
        "crash", CrashDetector(sample_s=MONITOR_SAMPLE_S), max_impact=NO_LIMIT, max_ground_tilt=1.5,
        max_distance=max_distance_m,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB"):
        diagram.connect(body[port], crash[port])
    diagram.connect(body.load, crash.load)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port("navigator.done"))
