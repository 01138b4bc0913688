"""Rovers with two driven wheels."""

from __future__ import annotations

from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.blocks.actuators.wheel_drive import WheelServo
from ironbird.blocks.bodies.differential_rover import DifferentialRover
from ironbird.blocks.controllers.car_control import RoverControl
from ironbird.model.diagram import Diagram
from ironbird.vehicles.spec import NotNegative, Positive, Table, VehicleSpec
from ironbird.vehicles.templates.car import CONTROL_SAMPLE_S, add_bounds, add_navigator, connect_control
from ironbird.vehicles.templates.surroundings import add_environment


class Wheels(Table):
    """The two wheels and their motors."""

    radius_m: Positive
    separation_m: Positive
    max_speed_radps: Positive
    time_constant_s: Positive


class Body(Table):
    """Mass, and where the body's origin is."""

    mass_kg: Positive
    cg_height_m: NotNegative


class Control(Table):
    """Gains of the controller and limits of the path."""

    course_gain_1ps: Positive
    cross_gain_1pm: Positive
    max_turn_radps: Positive
    cruise_speed_mps: Positive
    cruise_acceleration_mps2: Positive
    lateral_acceleration_mps2: Positive
    turn_radius_m: Positive
    arrived_m: Positive


class Limits(Table):
    """What ends a run."""

    max_distance_m: Positive = 500.0


class RoverSpec(VehicleSpec):
    """A rover's file."""

    mission: str = "parcours"
    body: Body
    wheels: Wheels
    control: Control
    limits: Limits = Limits()


def build(spec: RoverSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a rover that drives on the true state."""
    diagram = Diagram(spec.id)
    wheels, table = spec.wheels, spec.control
    body = diagram.add(
        "body", DifferentialRover(), wheel_radius=wheels.radius_m, wheel_separation=wheels.separation_m,
        mass=spec.body.mass_kg, cg_height=spec.body.cg_height_m, p_0=[0.0, 0.0, -spec.body.cg_height_m],
        home_latitude=spec.home.latitude_rad, home_longitude=spec.home.longitude_rad, home_height=spec.home.height_m,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    for port in ("place", "ground_z", "slope"):
        diagram.connect(parts["terrain"][port], body[port])
    navigator = add_navigator(
        diagram, body, cruise_speed=table.cruise_speed_mps, acceleration=table.cruise_acceleration_mps2,
        lateral_acceleration=table.lateral_acceleration_mps2, turn_radius=table.turn_radius_m, arrived=table.arrived_m,
    )  # fmt: skip
    control = diagram.add(
        "control", RoverControl(sample_s=CONTROL_SAMPLE_S), wheel_radius=wheels.radius_m,
        wheel_separation=wheels.separation_m, max_wheel_speed=wheels.max_speed_radps,
        course_gain=table.course_gain_1ps, cross_gain=table.cross_gain_1pm, max_turn=table.max_turn_radps,
    )  # fmt: skip
    connect_control(diagram, body, navigator, control)
    for side in ("left", "right"):
        latch = diagram.add(f"wheel/{side}/command", CommandLatch(sample_s=CONTROL_SAMPLE_S))
        servo = diagram.add(
            f"wheel/{side}/drive", WheelServo(), max_speed=wheels.max_speed_radps, time_constant=wheels.time_constant_s
        )
        diagram.connect(control[side], latch.command)
        diagram.connect(latch.value, servo.command)
        diagram.connect(servo.speed, body[f"{side}_speed"])
        diagram.connect(servo.acceleration, body[f"{side}_acceleration"])
    add_bounds(diagram, body, spec.limits.max_distance_m)
    return diagram
