"""PX4's parameters of cars, rovers, boats and submarines."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ironbird.autopilots.px4.airframe import MOTOR, SERVO, Airframe, Governor, Params, outputs
from ironbird.autopilots.px4.rotors import turning_scale
from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import LinkError
from ironbird.protocols.mavlink import numbers
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec
from ironbird.vehicles.templates.underwater import UnderwaterSpec

ROVER_HZ = 100  # PX4's rovers control by the clock at this rate, not with each sample of a gyroscope


def _rover_params(
    *, cruise_mps: float, full_mps: float, accel_mps2: float, turn_radps: float, arrived_m: float
) -> Params:
    return {
        "RO_MAX_THR_SPEED": full_mps,
        "RO_SPEED_LIM": cruise_mps,
        "RO_ACCEL_LIM": accel_mps2,
        "RO_DECEL_LIM": accel_mps2,
        "RO_JERK_LIM": 10.0 * accel_mps2,
        "RO_YAW_RATE_LIM": math.degrees(turn_radps),
        "RO_YAW_ACCEL_LIM": 400.0,
        "RO_YAW_DECEL_LIM": 800.0,
        "RO_YAW_P": 3.0,
        "RO_YAW_RATE_P": 0.25,
        "RO_YAW_RATE_I": 0.01,
        "RO_SPEED_RED": 1.0,
        "NAV_ACC_RAD": max(arrived_m, 0.05),
        "NAV_DLL_ACT": 0,
        "PP_LOOKAHD_GAIN": 1.0,
        "PP_LOOKAHD_MIN": max(cruise_mps, 0.2),
        "PP_LOOKAHD_MAX": max(5 * cruise_mps, 1.0),
    }


def _thrust_params(
    *, cruise_mps: float, force_N: float, resistance_N: float, mass_kg: float, braking_mps2: float, lag_s: float
) -> Params:
    """Parameters for a vehicle whose full throttle is a force, while PX4's rovers take throttle as a speed.

    The speed at full throttle is chosen such that cruise gets the throttle it needs. The limits of acceleration let the
    throttle change in a second; then PX4 brakes in proportion to the distance (half the jerk over the deceleration),
    and the feedback does what limits of acceleration would.
    """
    full = cruise_mps * force_N / resistance_N
    gain = mass_kg / (force_N * lag_s)
    return {
        "RO_MAX_THR_SPEED": full,
        "RO_ACCEL_LIM": full,
        "RO_DECEL_LIM": full,
        "RO_JERK_LIM": 2 * full * braking_mps2 / cruise_mps,
        "RO_SPEED_P": gain,
        "RO_SPEED_I": 0.05 * gain,
        "RO_YAW_RATE_TH": 0.5,
    }


def car_airframe(spec: CarSpec) -> Airframe:
    channels = {"steering": SERVO, "drive": MOTOR}
    table, wheels, steering, mass = spec.control, spec.wheels, spec.steering, spec.body.mass_kg
    base, cruise = spec.body.front_m + spec.body.rear_m, table.cruise_speed_mps
    tightest, full = base / math.tan(steering.max_angle_rad), 1.2 * cruise
    rate = table.max_lateral_mps2 / cruise
    params = _rover_params(
        cruise_mps=cruise,
        full_mps=full,
        accel_mps2=table.cruise_acceleration_mps2,
        turn_radps=rate,
        arrived_m=max(table.arrived_m, tightest),
    )
    params |= {
        "CA_AIRFRAME": 5, "CA_R_REV": 1, "MAV_TYPE": numbers.MAV_TYPE_GROUND_ROVER, "RA_WHEEL_BASE": base,
        "RA_MAX_STR_ANG": steering.max_angle_rad, "RA_STR_RATE_LIM": math.degrees(steering.max_rate_radps),
        "RA_ACC_RAD_GAIN": 1.0, "RA_ACC_RAD_MAX": max(table.turn_radius_m, tightest),
        # At 90 degrees course error it is so slow that the turn is the tightest: it cannot circle around a waypoint
        "RO_SPEED_RED": 2 * (1 - min(rate * tightest / full, 1.0)),
        # The throttle may fall twice as fast as the braking needs that these give at cruise speed
        "RO_DECEL_LIM": 2 * table.cruise_acceleration_mps2,
        "RO_JERK_LIM": 8 * table.cruise_acceleration_mps2**2 / cruise,
        "RO_SPEED_P": 0.01, "RO_SPEED_I": 0.01, "RO_YAW_RATE_P": 0.1, "RO_YAW_RATE_I": 0.1, "RO_YAW_P": 1.5,
        "PP_LOOKAHD_GAIN": 1.5, "PP_LOOKAHD_MIN": 1.5 * base,
    }  # fmt: skip
    return Airframe(
        "rc.rover_ackermann_defaults",
        tuple(channels),
        params | outputs(channels),
        rate_hz=ROVER_HZ,
        mute=True,
        parked=("brake",),
        governor=Governor(
            "drive",
            "brake",
            full_mps=full,
            gain_1ps=2 * table.speed_gain_1ps,
            drive_mps2=wheels.drive_force_N / mass,
            brake_mps2=wheels.brake_force_N / mass,
        ),
    )


def rover_airframe(spec: RoverSpec) -> Airframe:
    channels = {"wheel/right": MOTOR, "wheel/left": MOTOR + 1}
    full = spec.wheels.radius_m * spec.wheels.max_speed_radps
    params = _rover_params(
        cruise_mps=spec.control.cruise_speed_mps,
        full_mps=full,
        accel_mps2=spec.control.cruise_acceleration_mps2,
        turn_radps=spec.control.max_turn_radps,
        arrived_m=spec.control.arrived_m,
    )
    params |= {
        "CA_AIRFRAME": 6, "CA_R_REV": 3, "MAV_TYPE": numbers.MAV_TYPE_GROUND_ROVER,
        "RD_WHEEL_TRACK": spec.wheels.separation_m,
        "RD_TRANS_DRV_TRN": 0.785398, "RD_TRANS_TRN_DRV": 0.174533, "RO_SPEED_P": 0.01, "RO_SPEED_I": 0.01,
        "RO_YAW_RATE_CORR": 1.0,
    }  # fmt: skip
    return _differential(channels, params)


def _differential(channels: Mapping[str, int], params: Params) -> Airframe:
    return Airframe(
        "rc.rover_differential_defaults", tuple(channels), params | outputs(channels), rate_hz=ROVER_HZ, mute=True
    )


def boat_airframe(spec: SurfaceVesselSpec) -> Airframe:
    """Airframe of a boat as a differential rover, because PX4's own boat airframe does not start in v1.17."""
    sides = [thruster.position_B_m[1] for thruster in spec.thruster]
    ahead = all(thruster.axis_B == [1.0, 0.0, 0.0] for thruster in spec.thruster)
    damping = spec.damping
    if len(sides) != 2 or not ahead or min(sides) >= 0 or max(sides) <= 0 or damping is None:
        raise LinkError(f"PX4: vehicle '{spec.id}' has no two thrusters side by side; there is no airframe for it")
    right, left = sides.index(max(sides)) + 1, sides.index(min(sides)) + 1
    channels = {f"rotor/{right}": MOTOR, f"rotor/{left}": MOTOR + 1}
    table, body, track = spec.control, spec.body, max(sides) - min(sides)
    speed, rate = table.cruise_speed_mps, table.max_yaw_rate_radps
    blades = [spec.propeller[thruster.propeller] for thruster in spec.thruster]
    thrust = sum(b.thrust_coefficient_Ns2 * b.max_speed_radps**2 for b in blades)
    moment = 0.5 * track * thrust  # of full throttle ahead on one side, astern on the other, of one size
    params = _rover_params(
        cruise_mps=speed, full_mps=speed, accel_mps2=speed, turn_radps=rate, arrived_m=table.arrived_m
    )
    params |= _thrust_params(
        cruise_mps=speed,
        force_N=thrust,
        lag_s=1.0,
        resistance_N=damping.linear_Nspm[0] * speed + damping.quadratic_Ns2pm2[0] * speed**2,
        mass_kg=body.mass_kg + body.added_mass_kg[0],
        braking_mps2=0.1 * speed,
    )
    inertia = float(body.inertia()[2, 2]) + body.added_inertia_kgm2[2]
    # Moment over rate at half the greatest rate; throttles differ by it over `moment`
    turning = damping.angular_linear_Nmsprad[2] + damping.angular_quadratic_Nms2prad2[2] * 0.5 * rate
    params |= {
        "CA_AIRFRAME": 6, "CA_R_REV": 3, "MAV_TYPE": numbers.MAV_TYPE_SURFACE_BOAT,
        "RD_WHEEL_TRACK": track, "THR_MDL_FAC": 1.0,
        "RD_TRANS_DRV_TRN": math.pi, "RD_TRANS_TRN_DRV": math.pi / 2,  # it does not turn on the spot
        "RO_YAW_RATE_CORR": turning / moment * 2 * params["RO_MAX_THR_SPEED"] / track,
        "RO_YAW_RATE_P": 2.0 * inertia / moment, "RO_YAW_RATE_I": 0.1, "RO_YAW_P": table.heading_gain,
        "PP_LOOKAHD_MIN": table.lookahead_m, "PP_LOOKAHD_MAX": 2 * table.lookahead_m,
    }  # fmt: skip
    return _differential(channels, params)


def underwater_airframe(spec: UnderwaterSpec) -> Airframe:
    if spec.fin:
        raise LinkError(f"PX4: vehicle '{spec.id}' steers with fins; there is no airframe for that")
    table, body = spec.station, spec.body
    assert table is not None
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(spec.thruster))}
    params: Params = {
        "CA_AIRFRAME": 7, "MAV_TYPE": numbers.MAV_TYPE_SUBMARINE, "CA_ROTOR_COUNT": len(spec.thruster),
        "NAV_DLL_ACT": 0,
        "CA_R_REV": 2 ** len(spec.thruster) - 1, "EKF2_EV_CTRL": 7,  # position and velocity; the compass gives yaw
        "EKF2_GPS_CTRL": 0, "EKF2_BARO_CTRL": 0, "SYS_HAS_BARO": 0, "SYS_HAS_GPS": 0, "EKF2_EV_DELAY": 0.0,
        "FD_FAIL_P": 0, "FD_FAIL_R": 0, "THR_MDL_FAC": 1.0, "UUV_THRUST_SAT": 1.0, "UUV_TORQUE_SAT": 1.0,
        # Sticks move the place to be at, along north, east and down
        "UUV_POS_MODE": 0, "UUV_STAB_MODE": 1, "UUV_POS_STICK_DB": 0.0, "UUV_PGM_VEL": table.cruise_speed_mps,
        "UUV_SGM_YAW": table.yaw_rate_radps,
    }  # fmt: skip
    columns = []
    for n, thruster in enumerate(spec.thruster):
        blades = spec.propeller[thruster.propeller]
        full = blades.thrust_coefficient_Ns2 * blades.max_speed_radps**2
        params |= dict(zip((f"CA_ROTOR{n}_P{a}" for a in "XYZ"), map(float, thruster.position_B_m), strict=True))
        params |= dict(zip((f"CA_ROTOR{n}_A{a}" for a in "XYZ"), map(float, thruster.axis_B), strict=True))
        params |= {f"CA_ROTOR{n}_KM": 0.0, f"CA_ROTOR{n}_CT": full}
        columns.append(full * np.array([*np.cross(thruster.position_B_m, thruster.axis_B), *thruster.axis_B]))
    # The unit of PX4's commands is 1 over this: gains of the vehicle's own controller go into it
    mix = np.linalg.pinv(np.array(columns).T)
    unit = [*turning_scale(mix), *np.abs(mix[:, 3:]).sum(axis=0) / (np.abs(mix[:, 3:]) > 1e-6).sum(axis=0)]
    inertia = np.diag(body.inertia()) + body.added_inertia_kgm2
    for n, axis in enumerate(("ROLL", "PITCH", "YAW")):
        damping = table.rate_gain[n] * inertia[n] * unit[n]
        params |= {f"UUV_{axis}_P": float(table.attitude_gain[n] * damping), f"UUV_{axis}_D": float(damping)}
    for n, axis in enumerate("XYZ"):
        damping = table.velocity_gain * (body.mass_kg + body.added_mass_kg[n]) * unit[3 + n]
        params |= {f"UUV_GAIN_{axis}_P": float(table.position_gain * damping), f"UUV_GAIN_{axis}_D": float(damping)}
    weight = spec.buoyancy.density_kgpm3 * STANDARD_GRAVITY_MPS2
    home = spec.home
    north, east, _ = local_field(home.latitude_rad, home.longitude_rad, home.height_m, home.year)["field_home"]
    params["EKF2_MAG_DECL"] = math.degrees(math.atan2(east, north))  # without satellites PX4 cannot look it up
    return Airframe("rc.uuv_defaults", tuple(channels), params | outputs(channels), water_Papm=weight)
