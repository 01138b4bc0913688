"""ArduPilot's parameters of vehicles on the ground and on water."""

from __future__ import annotations

import math

from ironbird.autopilots.ardupilot.channels import Wiring
from ironbird.protocols.parm_file import Param, Params
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec


def rover_params(spec: VehicleSpec, wiring: Wiring) -> Params:
    params: Params = {
        "FRAME_CLASS": Param(wiring.frame_class, "1 rover, 2 boat"),
        "FS_THR_ENABLE": Param(0, "no remote control on the rig"),
        "FS_CRASH_CHECK": Param(0, "the rig says what a crash is"),
    }
    if isinstance(spec, RoverSpec):
        top = spec.wheels.max_speed_radps * spec.wheels.radius_m
        turn = 2 * top / spec.wheels.separation_m
        params |= _drive(spec.control.cruise_speed_mps, top, turn)
    elif isinstance(spec, CarSpec):
        wheelbase = spec.body.front_m + spec.body.rear_m
        radius = wheelbase / math.tan(spec.steering.max_angle_rad)
        force = spec.wheels.drive_force_N
        top = min(spec.wheels.drive_power_W / force, 40.0)
        params |= _drive(spec.control.cruise_speed_mps, top, spec.control.cruise_speed_mps / radius)
        params["TURN_RADIUS"] = Param(round(radius, 2), "wheelbase over the tangent of the steering angle")
        params["MOT_SLEWRATE"] = Param(0, "drive and brakes have their own lag")
    elif isinstance(spec, SurfaceVesselSpec):
        params |= _drive(spec.control.cruise_speed_mps, 2 * spec.control.cruise_speed_mps, 1.0)
    return params


def _drive(cruise_mps: float, top_mps: float, turn_radps: float) -> Params:
    """Speed and turn rate over command, as if both were straight lines."""
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
