"""Paths of the blocks, signals and parameters that all vehicles share.

    from ironbird.vehicles import places as at

    log[at.BODY.position]              # body.p_NB_N
    log[at.imu(1).gyro.value]          # imu/1/gyro_fault.value: after the fault tap, as the autopilot reads it
    at.each(at.gnss, log.signals)      # all receivers that a log or model has
    at.rotor(2).motor("health")        # rotor/2/motor.health

A part is its block's `path`; calling it with a name gives the path of any of its signals and parameters. Numbers count
from 1. Templates (`ironbird.vehicles.templates`) build vehicles with these paths; faults name them as patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar


@dataclass(frozen=True)
class Part:
    """A block of a vehicle, identified by its path."""

    path: str

    def __call__(self, name: str) -> str:
        """The path of a signal or parameter of this block."""
        return f"{self.path}.{name}"


class Named:
    """Descriptor of a signal or parameter of a part; its value is the path."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, part: Part, owner: type[Part]) -> str:
        return part(self.name)


# ---------------------------------------------------------------------- body, surroundings, control system


class Motion(Part):
    """A state of motion: the true one of the body, or the estimated one."""

    position = Named("p_NB_N")  # m from home: north, east, down
    velocity = Named("v_NB_N")  # m/s over ground: north, east, down
    attitude = Named("R_NB")  # rotation matrix, body to navigation frame
    euler = Named("euler")  # rad: roll, pitch, yaw
    rates = Named("w_NB_B")  # rad/s about the body's axes


class Body(Motion):
    """Paths of the rigid body's signals and parameters."""

    velocity_body = Named("v_NB_B")  # m/s over ground in body axes
    quaternion = Named("q_NB")  # w x y z
    specific_force = Named("specific_force_B")  # m/s^2: what an ideal accelerometer reads
    mass = Named("mass")  # kg, a parameter
    attitude_0 = Named("q_0")  # initial quaternion, a parameter
    velocity_0 = Named("v_0")  # initial velocity in body axes, m/s, a parameter


class Estimator(Motion):
    """Paths of the reference autopilot's state estimator."""

    healthy = Named("healthy")
    aligned = Named("aligned")
    rejected = Named("rejected")  # measurements that its innovation gates reject
    position_deviation = Named("std_position")  # m, estimated


class Navigator(Part):
    """Paths of the navigator: missions, modes and set-points; which ones exist depends on the vehicle's kind."""

    mode = Named("mode")
    item = Named("item")  # number of the mission item, from 0
    position_set = Named("position_set")  # m from home
    velocity_set = Named("velocity_set")  # m/s
    armed = Named("armed")
    disarmed = Named("disarmed")
    failsafe = Named("failsafe")
    done = Named("done")  # the mission is completed
    landed = Named("landed")  # landed before the end of the mission
    table = Named("table")  # the mission, one item per column, a parameter
    count = Named("count")  # number of mission items, a parameter
    cruise_speed = Named("cruise_speed")  # m/s, a parameter
    arm_time = Named("arm_time")  # s, a parameter
    take_off_height = Named("take_off_height")  # m, a parameter


class Air(Part):
    """Paths of the motion through the air."""

    airspeed = Named("airspeed")  # m/s
    velocity = Named("v_air_B")  # m/s in body axes
    wind = Named("wind_sum_N")  # m/s, all parts of the wind together: north, east, down


class BatteryMonitor(Part):
    """Paths of the measured battery values."""

    voltage = Named("voltage")  # V
    current = Named("current")  # A


class Battery(BatteryMonitor):
    """Paths of the battery model's signals and parameters."""

    remaining = Named("remaining")  # share of the charge
    capacity = Named("capacity")  # A s, a parameter


class Terrain(Part):
    """Paths of the ground below the vehicle."""

    height_above_ground = Named("height_above_ground")  # m
    base = Named("base_z")  # m below home, a parameter


class Clearance(Part):
    """Paths of the hull's distance to obstacles and other vehicles; only in a world."""

    min_distance = Named("min_distance")  # m
    collision = Named("collision")  # 1 from the first collision on
    impact_speed = Named("impact_speed")  # m/s, of the last collision


class Current(Part):
    """Paths of the water current's signals and parameters."""

    velocity = Named("current_N")  # m/s: north, east, down
    speed = Named("speed")  # m/s, a parameter
    direction = Named("direction")  # rad, where it flows to, a parameter


class WindSteady(Part):
    """Paths of the steady part of the wind."""

    velocity = Named("velocity_N")  # m/s: velocity of the air, north, east, down; a parameter


class WindTurbulence(Part):
    """Paths of the turbulent part of the wind."""

    wind_20ft = Named("wind_20ft")  # m/s at a height of 20 feet: the strength, a parameter


BODY = Body("body")
GRAVITY = Part("gravity")
ATMOSPHERE = Part("atmosphere")
MAGNETIC_FIELD = Part("magnetic")
TERRAIN = Terrain("terrain")
AIR = Air("air")
WIND_STEADY = WindSteady("wind/steady")
WIND_SHEAR = Part("wind/shear")
WIND_GUST = Part("wind/gust")
WIND_TURBULENCE = WindTurbulence("wind/turbulence")
CURRENT = Current("current")
WAVES = Part("waves")
AIRFRAME = Part("airframe")
WAKES = Part("wakes")
LOAD = Part("load")
CONTACT = Part("contact")
CRASH = Part("crash")
POSE = Part("world/pose")  # these four only in a world
CLEARANCE = Clearance("world/clearance")
OBSTACLES = Part("world/obstacles")
DAMAGE = Part("world/damage")
LEE = Part("world/lee")  # only in worlds with wind behind buildings
WASH = Part("world/wash")  # these two only where vehicles feel each other's wakes
THRUSTS = Part("world/thrusts")
TRAILER = Motion("trailer/body")
HITCH = Part("trailer/hitch")
BATTERY = Battery("battery")
POWER_RAIL = Part("power_rail")
BATTERY_MONITOR = BatteryMonitor("monitor/battery")
NAVIGATOR = Navigator("navigator")
CONTROL = Part("control")
WING_CONTROL = Part("wing_control")
WING = Part("wing")
SURFACE_MIXER = Part("surface/mixer")
ESTIMATOR = Estimator("estimator")
IMU_VOTER = Part("vote/imu")
MAGNETOMETER_VOTER = Part("vote/mag")
BAROMETER_VOTER = Part("vote/baro")
GNSS_VOTER = Part("vote/gnss")
AIRSPEED_VOTER = Part("vote/airspeed")
BATTERY_GAUGE = Part("vote/battery")
ROTOR_MEAN = Part("monitor/rotor_mean")


def is_world_input(name: str) -> bool:
    """Whether an input of a model comes from a world (it is then no command)."""
    return name.startswith(("world/", "sight/", TERRAIN("")))


# ---------------------------------------------------------------------- sensors


class Tap(Part):
    """A signal between sensor and autopilot, or autopilot and actuator, at which faults act."""

    value = Named("value")
    stamp = Named("stamp")  # s: time of the newest sample


_P = TypeVar("_P", bound=Part)


class Inside(Generic[_P]):
    """Descriptor of a block below a place; its value is a part."""

    def __init__(self, kind: type[_P], name: str) -> None:
        self.kind = kind
        self.name = name

    def __get__(self, place: Place, owner: type[Place]) -> _P:
        return self.kind(f"{place.place}/{self.name}")


@dataclass(frozen=True)
class Place:
    """One of several equal groups of blocks: `imu/2`, `rotor/1`."""

    place: str


class Chip(Place):
    """Base of all sensors: the chip."""

    chip = Inside(Part, "chip")  # the sensor itself, before its taps


class Sensor(Chip):
    """Paths of a sensor with one signal."""

    tap = Inside(Tap, "fault")


class Imu(Chip):
    """Paths of an inertial measurement unit."""

    accel = Inside(Tap, "accel_fault")  # m/s^2, specific force in body axes
    gyro = Inside(Tap, "gyro_fault")  # rad/s in body axes


class Barometer(Sensor):
    """Paths of a barometer, or of a depth gauge in its place; its tap has the pressure in Pa."""

    altitude = Inside(Tap, "altitude")  # m: pressure altitude, or height above the water's surface
    height = Inside(Part, "height")  # m above the start: signals `baro_height` and `stamp`


class Gnss(Chip):
    """Paths of a satellite receiver, or of a map or acoustic fix in its place."""

    position = Inside(Tap, "position_fault")  # m from home: north, east, down
    velocity = Inside(Tap, "velocity_fault")  # m/s over ground: north, east, down


class Airspeed(Sensor):
    """Paths of a pitot tube; its tap has the differential pressure in Pa."""

    speed = Inside(Part, "speed")  # m/s: the airspeed that a fixed wing's control derives from it
    check = Inside(Part, "check")  # whether that is valid: signals `airspeed`, `trusted`, `without`


def imu(number: int) -> Imu:
    """Paths of inertial measurement unit `number`."""
    return Imu(f"imu/{number}")


def magnetometer(number: int) -> Sensor:
    """Paths of magnetometer `number`; field in body axes, T."""
    return Sensor(f"mag/{number}")


def barometer(number: int) -> Barometer:
    """Paths of barometer (or depth gauge) `number`."""
    return Barometer(f"baro/{number}")


def gnss(number: int) -> Gnss:
    """Paths of satellite receiver `number`."""
    return Gnss(f"gnss/{number}")


def rangefinder(number: int) -> Sensor:
    """Paths of downward rangefinder `number`; distance, m."""
    return Sensor(f"range/{number}")


def optical_flow(number: int) -> Sensor:
    """Paths of downward flow camera `number`; flow, rad/s."""
    return Sensor(f"flow/{number}")


def airspeed(number: int) -> Airspeed:
    """Paths of pitot tube `number`."""
    return Airspeed(f"airspeed/{number}")


def speed_log(number: int) -> Sensor:
    """Paths of speed log `number`: velocity through the water in body axes, m/s."""
    return Sensor(f"log/{number}")


def sight(name: str) -> Part:
    """Block of a world sensor by its name: signals `range`, `valid`, `stamp`; only in flights that use it."""
    return Part(f"sight/{name}")


def rotor_speed(number: int) -> Part:
    """Block of the measured speed of rotor `number`."""
    return Part(f"monitor/rotor/{number}")


# ---------------------------------------------------------------------- actuators


class Actuator(Place):
    """Paths of an actuator; its place is also the name of its input under external control."""

    latch = Inside(Part, "command")  # holds a command for one period; its input `command` comes from the control system
    command = Inside(Tap, "command_fault")  # the command on its way to the actuator
    motor = Inside(Part, "motor")  # motor, engine or thruster of a rotor
    propeller = Inside(Part, "propeller")  # of a rotor
    heat = Inside(Part, "heat")  # of a rotor: temperatures of motor and speed controller, where a file gives them
    servo = Inside(Part, "servo")  # of a surface, a steering, a tilting joint
    panel = Inside(Part, "panel")  # the lifting surface that a control surface is part of
    fin = Inside(Part, "fin")  # of an underwater vehicle
    drive = Inside(Part, "drive")  # of a wheel
    tyre = Inside(Part, "tyre")  # of a wheel


def actuator(place: str) -> Actuator:
    """Paths of an actuator by its place: `rotor/1`, `surface/aileron`, `steering`."""
    return Actuator(place)


def rotor(number: int) -> Actuator:
    """Paths of a rotor, propeller or thruster."""
    return Actuator(f"rotor/{number}")


def surface(name: str) -> Actuator:
    """Paths of a control surface, or another part that a servo moves: `aileron`, `tail`."""
    return Actuator(f"surface/{name}")


def wheel(name: int | str) -> Actuator:
    """Paths of a wheel: 1 front left, 2 front right, 3 rear left, 4 rear right; of a rover `left` and `right`."""
    return Actuator(f"wheel/{name}")


def tilt(side: str) -> Actuator:
    """Paths of a tilting joint, `right` or `left`."""
    return Actuator(f"tilt/{side}")


STEERING = Actuator("steering")
DRIVE = Actuator("drive")
BRAKE = Actuator("brake")
LAUNCHER = Actuator("launcher")


# ---------------------------------------------------------------------- number of instances

_L = TypeVar("_L", bound=Place)


def each(kind: Callable[[int], _L], paths: Iterable[str]) -> list[_L]:
    """All instances of a kind among the paths of a diagram, a model or a log, by number.

    `each(imu, log.signals)`, `each(rotor, diagram.blocks)`.
    """
    before = kind(0).place.removesuffix("0")
    instances = {path.removeprefix(before).partition("/")[0] for path in paths if path.startswith(before)}
    return [kind(number) for number in sorted(int(text) for text in instances if text.isdecimal())]


# Parameters of the start position (north, east, down), that of a launch rail too; the heights at which barometers begin
STARTS = (BODY("p_0"), ESTIMATOR("position_0"), NAVIGATOR("point_0"), "launcher/catapult.start")
BARO_START = re.compile(r"baro/\d+/height\.height_0")
