"""Rovers with two driven wheels."""

from __future__ import annotations

from ironbird.blocks.actuators.wheel_drive import WheelServo
from ironbird.blocks.bodies.differential_rover import DifferentialRover
from ironbird.blocks.controllers.car_control import RoverControl
from ironbird.model.diagram import Diagram
from ironbird.vehicles.spec import NotNegative, Positive, Table, VehicleSpec
from ironbird.vehicles.templates.car import CONTROL_SAMPLE_S, PathTable, add_bounds, add_path
from ironbird.vehicles.templates.common import SensorTable, add_link, add_state, connect_ports
from ironbird.vehicles.templates.surroundings import add_environment


class Wheels(Table):
    """The two wheels and their motors."""

    radius_m: Positive
    separation_m: Positive
    max_speed_radps: Positive
    time_constant_s: Positive
    stall_torque_Nm: Positive
    rolling_resistance: NotNegative = 0.0


class Body(Table):
    """Mass, and where the body's origin is."""

    mass_kg: Positive
    cg_height_m: NotNegative


class Control(PathTable):
    """Gains of the controller and limits of the path."""

    course_gain_1ps: Positive
    cross_gain_1pm: Positive
    max_turn_radps: Positive


class Limits(Table):
    """What ends a run."""

    max_distance_m: Positive = 500.0


class RoverSpec(VehicleSpec):
    """A rover's file."""

    mission: str = "parcours"
    body: Body
    wheels: Wheels
    control: Control
    sensors: SensorTable = SensorTable(position="lidar_map")
    limits: Limits = Limits()


def build(spec: RoverSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a rover: body, two wheels, controller, sensors with `reference`."""
    diagram = Diagram(spec.id)
    wheels, table = spec.wheels, spec.control
    body = diagram.add(
        "body", DifferentialRover(), wheel_radius=wheels.radius_m, wheel_separation=wheels.separation_m,
        mass=spec.body.mass_kg, cg_height=spec.body.cg_height_m, p_0=[0.0, 0.0, -spec.body.cg_height_m],
        rolling_resistance=wheels.rolling_resistance, home_latitude=spec.home.latitude_rad,
        home_longitude=spec.home.longitude_rad, home_height=spec.home.height_m,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    connect_ports(diagram, parts["terrain"], body, "place", "ground_z", "slope")
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=spec.body.cg_height_m)
    control = diagram.add(
        "control", RoverControl(sample_s=CONTROL_SAMPLE_S), wheel_radius=wheels.radius_m,
        wheel_separation=wheels.separation_m, max_wheel_speed=wheels.max_speed_radps,
        course_gain=table.course_gain_1ps, cross_gain=table.cross_gain_1pm, max_turn=table.max_turn_radps,
    )  # fmt: skip
    add_path(diagram, table, control, seen)
    for side in ("left", "right"):
        link = add_link(diagram, f"wheel/{side}", control[side], CONTROL_SAMPLE_S)
        servo = diagram.add(
            f"wheel/{side}/drive", WheelServo(), max_speed=wheels.max_speed_radps,
            time_constant=wheels.time_constant_s, stall_torque=wheels.stall_torque_Nm,
        )  # fmt: skip
        diagram.connect(link.value, servo.command)
        diagram.connect(body.wheel_torque, servo.load_torque)
        diagram.connect(servo.speed, body[f"{side}_speed"])
        diagram.connect(servo.acceleration, body[f"{side}_acceleration"])
    add_bounds(diagram, body, spec.limits.max_distance_m)
    return diagram
