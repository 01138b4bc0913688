"""Rovers with two driven wheels."""

from __future__ import annotations

from ironbird.blocks.actuators.wheel_drive import WheelServo
from ironbird.blocks.bodies.differential_rover import DifferentialRover
from ironbird.blocks.controllers.car_control import RoverControl
from ironbird.model.diagram import Diagram
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import DRIVE, VehicleKind, abilities
from ironbird.vehicles.spec import Positive, Table, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.car import CONTROL_SAMPLE_S, PathTable, add_bounds, add_path
from ironbird.vehicles.templates.ground_water import SensorTable, add_state
from ironbird.vehicles.templates.surroundings import add_environment, home_params
from ironbird.vehicles.templates.wiring import add_link, connect_ports


class Wheels(BlockTable):
    """The two driven wheels and their motors."""

    size = params_of(DifferentialRover, "radius_m=wheel_radius separation_m=wheel_separation")
    drive = params_of(WheelServo, "max_speed_radps>0 time_constant_s stall_torque_Nm")
    rolling = params_of(DifferentialRover, "rolling_resistance?")


class Body(BlockTable):
    """Mass, and height of the centre of mass above the ground."""

    params = params_of(DifferentialRover, "mass_kg cg_height_m")


class Control(PathTable):
    """Gains of the controller and limits of the path."""

    gains = params_of(RoverControl, "course_gain_1ps>0 cross_gain_1pm>0 max_turn_radps")


class Limits(Table):
    """Largest distance from home; beyond it the run ends."""

    max_distance_m: Positive = 500.0


class RoverSpec(VehicleSpec):
    """Content of a rover's vehicle file."""

    mission: str = "parcours"
    body: Body
    wheels: Wheels
    control: Control
    sensors: SensorTable = SensorTable(position="lidar_map")
    limits: Limits = Limits()


def build(spec: RoverSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a rover: body, two wheels, controller, sensors with `reference`."""
    diagram = Diagram(spec.id)
    wheels, height = spec.wheels, spec.body.cg_height_m
    start = {"p_0": [0.0, 0.0, -height], **home_params(spec.home)}
    body = diagram.add(at.BODY.path, DifferentialRover(), **spec.body.params, **wheels.size, **wheels.rolling, **start)
    parts = add_environment(diagram, body, spec.home, spec.environment)
    connect_ports(diagram, parts["terrain"], body, "place", "ground_z", "slope")
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=height)
    gains = {"max_wheel_speed": wheels.max_speed_radps, **wheels.size, **spec.control.gains}
    control = diagram.add(at.CONTROL.path, RoverControl(sample_s=CONTROL_SAMPLE_S), **gains)
    add_path(diagram, spec.control, control, seen)
    for side in ("left", "right"):
        wheel = at.wheel(side)
        link = add_link(diagram, wheel, control[side], CONTROL_SAMPLE_S)
        servo = diagram.add(wheel.drive.path, WheelServo(), **wheels.drive)
        diagram.connect(link, servo.command)
        diagram.connect(body.wheel_torque, servo.load_torque)
        diagram.connect(servo.speed, body[f"{side}_speed"])
        diagram.connect(servo.acceleration, body[f"{side}_acceleration"])
    add_bounds(diagram, body, spec.limits.max_distance_m)
    return diagram


KIND = VehicleKind(
    name="rover",
    spec=RoverSpec,
    build=build,
    abilities=abilities(DRIVE, "position velocity course speed yaw"),
    drawing="car",
    mav_type="MAV_TYPE_GROUND_ROVER",
    autopilot_class="rover",
    px4="ironbird.autopilots.px4.ground_water:rover_airframe",
    ardupilot="ironbird.autopilots.ardupilot.ground_water:ROVER",
    flies=False,
    rflysim_type=50,
)
