"""ArduPilot's parameters of vehicles on the ground and on water."""

from __future__ import annotations

import math

from ironbird.autopilots.ardupilot.channels import Fit, Wiring, wire_boat, wire_car, wire_rover, wire_submarine
from ironbird.protocols.parm_file import Param, Params
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec
from ironbird.vehicles.templates.underwater import UnderwaterSpec


def _common(wiring: Wiring) -> Params:
    return {
        "FRAME_CLASS": Param(wiring.frame_class, "1 rover, 2 boat"),
        "FS_THR_ENABLE": Param(0, "no remote control on the rig"),
        "FS_CRASH_CHECK": Param(0, "the rig says what a crash is"),
    }


def rover_params(spec: RoverSpec, wiring: Wiring) -> Params:
    """ArduPilot parameters of a rover that steers by the difference of its wheel speeds."""
    top = spec.wheels.max_speed_radps * spec.wheels.radius_m
    turn = 2 * top / spec.wheels.separation_m
    return _common(wiring) | _drive(spec.control.cruise_speed_mps, top, turn)


def car_params(spec: CarSpec, wiring: Wiring) -> Params:
    """ArduPilot parameters of a car: cruise speed, turn radius, slew rate."""
    wheelbase = spec.body.front_m + spec.body.rear_m
    radius = wheelbase / math.tan(spec.steering.max_angle_rad)
    top = min(spec.wheels.drive_power_W / spec.wheels.drive_force_N, 40.0)
    return {
        **_common(wiring),
        **_drive(spec.control.cruise_speed_mps, top, spec.control.cruise_speed_mps / radius),
        "TURN_RADIUS": Param(round(radius, 2), "wheelbase over the tangent of the steering angle"),
        "MOT_SLEWRATE": Param(0, "drive and brakes have their own lag"),
    }


def boat_params(spec: SurfaceVesselSpec, wiring: Wiring) -> Params:
    """ArduPilot parameters of a boat with two throttles."""
    return _common(wiring) | _drive(spec.control.cruise_speed_mps, 2 * spec.control.cruise_speed_mps, 1.0)


def submarine_params(spec: UnderwaterSpec, wiring: Wiring) -> Params:
    """ArduPilot parameters of an underwater vehicle: frame and failsafe of the pilot's input."""
    frame = Param(wiring.frame_class, "frame with the same thrusters")
    return {"FRAME_CONFIG": frame, "FS_PILOT_INPUT": Param(0, "no joystick on the rig")}


def _drive(cruise_mps: float, top_mps: float, turn_radps: float) -> Params:
    """Parameters of speed and turn rate per command, both taken as linear."""
    return {
        "CRUISE_SPEED": Param(cruise_mps, "control.cruise_speed_mps"),
        "CRUISE_THROTTLE": Param(round(min(max(100 * cruise_mps / top_mps, 5), 100)), f"of {top_mps:.3g} m/s"),
        "WP_SPEED": Param(cruise_mps, "control.cruise_speed_mps"),
        "ATC_STR_RAT_FF": Param(round(1.0 / turn_radps, 4), f"full steering turns with {turn_radps:.3g} rad/s"),
        "ATC_STR_RAT_P": Param(round(0.3 / turn_radps, 4), "0.3 of FF"),
        "ATC_STR_RAT_I": Param(round(0.3 / turn_radps, 4), "0.3 of FF"),
        "ATC_SPEED_P": Param(round(min(0.6 / top_mps, 0.5), 4), "0.6 of full throttle at the top speed"),
        "ATC_SPEED_I": Param(round(min(0.6 / top_mps, 0.5), 4), "as P"),
    }


ROVER, CAR = Fit(wire_rover, rover_params), Fit(wire_car, car_params)
BOAT, SUBMARINE = Fit(wire_boat, boat_params), Fit(wire_submarine, submarine_params)
