"""PX4's parameters of rotors: geometry to its control allocation, thrust curve and weight to its hover throttle.

Gains of rates are set so that the loop has the bandwidth of the vehicle's own controller.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.autopilots.px4.airframe import MOTOR, SERVO, Airframe, Params, outputs
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.protocols.mavlink import numbers
from ironbird.vehicles.templates.multicopter import MotorTable, MulticopterSpec, RotorTable

# Ratios of PX4's default gains of rates: integral and derivative over proportional
RATE_I, RATE_D, YAW_I = 0.2 / 0.15, 0.003 / 0.15, 0.1 / 0.2
MOST_CT, MOST_YAW_GAIN = 100.0, 0.6  # that PX4 takes: CA_ROTORn_CT, of which only the ratios count, and MC_YAWRATE_P
KINDS = {3: numbers.MAV_TYPE_TRICOPTER, 6: numbers.MAV_TYPE_HEXAROTOR, 8: numbers.MAV_TYPE_OCTOROTOR}
PLAIN, TILTED = 0, 8  # CA_AIRFRAME of multicopters, and of those with rotors that servos tilt
BY_YAW, TO_THE_RIGHT_DEG = 1, 90  # what commands such a servo, and where it tilts the thrust for a positive command
LEAST_THRUST = 0.12 / 0.5  # of PX4's defaults, over that of hover


def thrust_factor(motor: MotorTable) -> float:
    """THR_MDL_FAC f of T(u)/T(1) = f u^2 + (1 - f) u, by least squares over the motor's curve."""
    u = np.linspace(0.0, 1.0, 101)
    speed = np.maximum(motor.idle_speed_radps + motor.slope_radps * u + motor.quadratic_radps * u * u, 0.0)
    thrust, bow = (speed / speed[-1]) ** 2, u * u - u
    return float(np.clip((thrust - u) @ bow / (bow @ bow), 0.0, 1.0))


def full_thrust(spec: MulticopterSpec, rotor: RotorTable) -> float:
    """Thrust of a rotor at full speed, N."""
    return spec.propeller[rotor.propeller].thrust_coefficient_Ns2 * spec.motor[rotor.motor].top_speed_radps() ** 2


def _moment(spec: MulticopterSpec, rotor: RotorTable) -> np.ndarray:
    """Moment of a rotor at full thrust about roll, pitch and yaw, N m."""
    blades, axis = spec.propeller[rotor.propeller], np.array(rotor.axis_B)
    arm = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
    turn = np.cross(rotor.position_B_m, axis) - (1 if rotor.spin == "ccw" else -1) * arm * axis
    return np.asarray(full_thrust(spec, rotor) * turn)


def _lift(spec: MulticopterSpec, rotor: RotorTable) -> float:
    """Upward force of a rotor at full thrust, N."""
    return -full_thrust(spec, rotor) * rotor.axis_B[2]


def rotor_params(spec: MulticopterSpec, rotors: list[RotorTable]) -> Params:
    """Parameters of rotors for the control allocation: KM is positive for torque of a counterclockwise rotor [PX4].

    A lifting rotor is declared upright with the moments that it makes. With tilted rotors PX4 would spend part of the
    moments on side forces, which are not commanded, and stop integrating the missing part.
    """
    params: Params = {"CA_ROTOR_COUNT": len(rotors)}
    unit_N = max(1.0, max(full_thrust(spec, rotor) for rotor in rotors) / MOST_CT)
    for n, rotor in enumerate(rotors):
        thrust, axis, position, torque_m = full_thrust(spec, rotor), rotor.axis_B, rotor.position_B_m, 0.0
        if _lift(spec, rotor) > 0.5 * thrust:
            thrust, axis = _lift(spec, rotor), [0.0, 0.0, -1.0]
            roll, pitch, torque_m = (float(value) / thrust for value in _moment(spec, rotor))
            position = [pitch, -roll, 0.0]
        params |= dict(zip((f"CA_ROTOR{n}_P{axis}" for axis in "XYZ"), map(float, position), strict=True))
        params |= dict(zip((f"CA_ROTOR{n}_A{axis}" for axis in "XYZ"), map(float, axis), strict=True))
        params |= {f"CA_ROTOR{n}_KM": torque_m, f"CA_ROTOR{n}_CT": thrust / unit_N}
    return params


def authority(spec: MulticopterSpec) -> np.ndarray:
    """Angular acceleration about each axis per unit of PX4's normalized torque, rad/s^2.

    The control allocation divides the pseudo-inverse's columns: roll and pitch by the larger of their lengths over
    sqrt(n/2) of the rotors that take part, yaw by its greatest entry [PX4]. A servo that tilts a rotor takes the yaw
    from the rotors: at full travel it makes the side force of the rotor's thrust in hover.
    """
    effect = np.array([[*_moment(spec, rotor), _lift(spec, rotor)] for rotor in spec.rotor]).T
    inertia, tail = np.diag(spec.body.inertia()), spec.tail_number()
    if spec.tail is None or tail is None:
        return np.asarray(1 / (turning_scale(np.linalg.pinv(effect)) * inertia))
    mix = np.insert(np.linalg.pinv(effect[[0, 1, 3]]), 2, 1.0, axis=1)
    hover_N = hover_thrust(spec) * full_thrust(spec, spec.rotor[tail])
    yaw_Nm = -spec.rotor[tail].position_B_m[0] * hover_N * math.sin(math.radians(spec.tail.travel_deg))
    return np.array([*(1 / turning_scale(mix)[:2]), yaw_Nm]) / inertia


def turning_scale(mix: np.ndarray) -> np.ndarray:
    """Divisors that PX4 applies to the columns of roll, pitch and yaw of a pseudo-inverse: see `authority`."""
    tilt = max(math.sqrt(2 * (c @ c) / max(int((np.abs(c) > 1e-3).sum()), 1)) for c in (mix[:, 0], mix[:, 1]))
    return np.array([tilt, tilt, mix[:, 2].max()])


def hover_thrust(spec: MulticopterSpec) -> float:
    """Weight over full upward thrust."""
    return spec.body.mass_kg * STANDARD_GRAVITY_MPS2 / sum(_lift(spec, rotor) for rotor in spec.rotor)


def hover_params(spec: MulticopterSpec) -> Params:
    gain = np.array(spec.control.rate_gain) / authority(spec)
    yaw = min(gain[2], MOST_YAW_GAIN)  # the rest is MC_YAWRATE_K, a factor on all three
    params: Params = {
        "MPC_THR_HOVER": hover_thrust(spec), "MPC_THR_MIN": np.clip(LEAST_THRUST * hover_thrust(spec), 0.05, 0.12),
        "THR_MDL_FAC": float(np.mean([thrust_factor(spec.motor[rotor.motor]) for rotor in spec.rotor])),
        # The least that PX4 accepts: 3 m/s, 2 m/s^2
        "MPC_XY_CRUISE": max(spec.control.cruise_speed_mps, 3.0), "MPC_XY_VEL_MAX": spec.control.max_speed_mps,
        "MPC_ACC_HOR": max(spec.control.cruise_acceleration_mps2, 2.0), "MPC_TILTMAX_AIR": spec.control.max_tilt_deg,
        "MPC_Z_VEL_MAX_UP": spec.control.max_climb_mps, "MPC_Z_VEL_MAX_DN": spec.control.max_descent_mps,
        "MC_YAWRATE_P": yaw, "MC_YAWRATE_I": YAW_I * yaw, "MC_YAWRATE_K": gain[2] / yaw,
        "MC_YAW_P": min(2.8, 0.7 * spec.control.rate_gain[2]),
    }  # fmt: skip
    for n, axis in enumerate(("ROLL", "PITCH")):
        params |= {
            f"MC_{axis}RATE_P": gain[n], f"MC_{axis}RATE_I": RATE_I * gain[n], f"MC_{axis}RATE_D": RATE_D * gain[n],
            f"MC_{axis}_P": min(6.5, 0.3 * spec.control.rate_gain[n]),
        }  # fmt: skip
    return {name: float(value) for name, value in params.items()}


def multicopter_airframe(spec: MulticopterSpec) -> Airframe:
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(spec.rotor))}
    kind = KINDS.get(len(spec.rotor), numbers.MAV_TYPE_QUADROTOR)
    params: Params = {"CA_AIRFRAME": PLAIN, "MAV_TYPE": kind, "NAV_DLL_ACT": 0}
    params |= rotor_params(spec, spec.rotor) | hover_params(spec)
    if spec.tail is not None:
        channels["surface/tail"] = SERVO
        params |= {
            "CA_AIRFRAME": TILTED, f"CA_ROTOR{spec.tail_number()}_TILT": 1, "CA_SV_TL_COUNT": 1, "CA_SV_TL0_CT": BY_YAW,
            "CA_SV_TL0_MINA": -spec.tail.travel_deg, "CA_SV_TL0_MAXA": spec.tail.travel_deg,
            "CA_SV_TL0_TD": TO_THE_RIGHT_DEG,
        }  # fmt: skip
    params |= outputs(channels)
    return Airframe("rc.mc_defaults", tuple(channels), params)
