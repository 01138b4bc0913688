"""PX4's view of a tilt-rotor with two rotors: a multicopter whose rotors are tilted by servos (CA_AIRFRAME 8).

Roll is the difference of the thrusts, pitch the common and yaw the opposite tilt: the thrust acts above the centre of
mass. PX4 commands angles, the joints take torques: servos in position mode (`airframe.Joints`) connect them. Not
supported: the aeroplane mode, which this vehicle does not have.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.autopilots.px4.airframe import MOTOR, SERVO, Airframe, Joints, Params, outputs
from ironbird.autopilots.px4.rotors import RATE_D, RATE_I, TILTED, YAW_I, turning_scale
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.vehicles.templates.tilt_rotor import SIDES, TiltRotorSpec

BY_YAW_AND_PITCH, FORWARD_DEG = 3, 0  # what commands the tilts, and where a positive command leans the thrust
TRAVEL_RAD = math.radians(30)  # assumed: half of the weight as a force along
SERVO_RADPS = 30.0  # assumed: of the position loop, critically damped; a digital servo of this size
RATE_GAIN = (12.0, 9.0, 4.0)  # 1/s, roll, pitch and yaw: well below the motors' and the servos' lags
LEAST_THRUST = 0.12


def centre_of_mass_m(spec: TiltRotorSpec) -> np.ndarray:
    """Centre of mass of the whole vehicle with its rotors upright, in B, m."""
    parts = [(spec.body.mass_kg, np.array(spec.body.centre_B_m))]
    parts += [(arm.mass_kg, np.array(arm.joint_B_m) + np.array(arm.centre_m)) for arm in spec.arms()]
    return np.asarray(sum(mass * place for mass, place in parts) / spec.total_mass_kg())


def inertia_kgm2(spec: TiltRotorSpec) -> np.ndarray:
    """Inertia of the whole vehicle about its centre of mass with its rotors upright, kg m2: the diagonal."""
    centre = centre_of_mass_m(spec)
    parts = [(spec.body.mass_kg, np.array(spec.body.centre_B_m), np.array(spec.body.inertia_kgm2))]
    parts += [
        (arm.mass_kg, np.array(arm.joint_B_m) + np.array(arm.centre_m), np.array(arm.inertia_kgm2))
        for arm in spec.arms()
    ]
    total = np.zeros((3, 3))
    for mass, place, own in parts:
        r = place - centre
        total += own + mass * (r @ r * np.eye(3) - np.outer(r, r))  # parallel axes
    return np.diag(total)


def effect(spec: TiltRotorSpec) -> np.ndarray:
    """Effect of two rotors and two tilts (columns) on PX4's normalised moments (roll, pitch, yaw) and thrust (rows).

    A tilt counts 1 [PX4]; rotors get the coefficient at which roll has the same weight.
    """
    thrust = [1 / abs(arm.joint_B_m[1]) for arm in spec.arms()]
    return np.array([[-1, 1, 0, 0], [0, 0, -1, -1], [0, 0, -1, 1], [*thrust, 0, 0]])


def authority(spec: TiltRotorSpec) -> np.ndarray:
    """Angular acceleration about each axis per unit of PX4's normalized torque in hover, rad/s^2."""
    arm, weight_N = spec.right, spec.total_mass_kg() * STANDARD_GRAVITY_MPS2
    mix = np.linalg.pinv(effect(spec))
    scaled = mix[:, :3] / turning_scale(mix)
    roll_Nm = spec.hover_lift_N() / 2 * abs(arm.joint_B_m[1]) * np.abs(scaled[:2, 0]).sum()
    lever_m = centre_of_mass_m(spec)[2] - arm.joint_B_m[2]
    pitch_Nm = weight_N / 2 * lever_m * TRAVEL_RAD * np.abs(scaled[2:, 1]).sum()
    yaw_Nm = weight_N / 2 * abs(arm.joint_B_m[1]) * TRAVEL_RAD * np.abs(scaled[2:, 2]).sum()
    return np.array([roll_Nm, pitch_Nm, yaw_Nm]) / inertia_kgm2(spec)


def tilt_rotor_airframe(spec: TiltRotorSpec) -> Airframe:
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(SIDES))}
    channels |= {f"tilt/{side}": SERVO + n for n, side in enumerate(SIDES)}
    hover = spec.total_mass_kg() * STANDARD_GRAVITY_MPS2 / spec.hover_lift_N()
    roll, pitch, yaw = (float(value) for value in np.array(RATE_GAIN) / authority(spec))
    path = spec.control
    params: Params = {
        "CA_AIRFRAME": TILTED, "NAV_DLL_ACT": 0, "CA_ROTOR_COUNT": len(SIDES), "CA_SV_TL_COUNT": len(SIDES),
        "MPC_THR_HOVER": hover, "MPC_THR_MIN": LEAST_THRUST, "THR_MDL_FAC": 1.0,
        # The least that PX4 accepts: 3 m/s, 2 m/s^2
        "MPC_XY_CRUISE": max(path.cruise_speed_mps, 3.0), "MPC_XY_VEL_MAX": 5.0,
        "MPC_ACC_HOR": max(path.cruise_acceleration_mps2, 2.0), "MPC_TILTMAX_AIR": 25.0,
        "MPC_Z_VEL_MAX_UP": 1.5, "MPC_Z_VEL_MAX_DN": 1.0, "MPC_LAND_SPEED": max(path.landing_speed_mps, 0.6),
        "MC_ROLLRATE_P": roll, "MC_ROLLRATE_I": RATE_I * roll, "MC_ROLLRATE_D": RATE_D * roll,
        "MC_PITCHRATE_P": pitch, "MC_PITCHRATE_I": RATE_I * pitch, "MC_PITCHRATE_D": RATE_D * pitch,
        "MC_YAWRATE_P": yaw, "MC_YAWRATE_I": YAW_I * yaw,
        "MC_ROLL_P": 0.3 * RATE_GAIN[0], "MC_PITCH_P": 0.3 * RATE_GAIN[1], "MC_YAW_P": 0.4 * RATE_GAIN[2],
    }  # fmt: skip
    for n, arm in enumerate(spec.arms()):
        params |= {
            f"CA_ROTOR{n}_PX": 0.0, f"CA_ROTOR{n}_PY": float(arm.joint_B_m[1]), f"CA_ROTOR{n}_PZ": 0.0,
            f"CA_ROTOR{n}_AX": 0.0, f"CA_ROTOR{n}_AY": 0.0, f"CA_ROTOR{n}_AZ": -1.0, f"CA_ROTOR{n}_KM": 0.0,
            f"CA_ROTOR{n}_CT": 1 / abs(arm.joint_B_m[1]), f"CA_ROTOR{n}_TILT": n + 1,
            f"CA_SV_TL{n}_CT": BY_YAW_AND_PITCH, f"CA_SV_TL{n}_TD": FORWARD_DEG,
            f"CA_SV_TL{n}_MINA": -math.degrees(TRAVEL_RAD), f"CA_SV_TL{n}_MAXA": math.degrees(TRAVEL_RAD),
        }  # fmt: skip
    arm = spec.right
    swing = float(np.array(arm.inertia_kgm2)[1, 1] + arm.mass_kg * (arm.centre_m[0] ** 2 + arm.centre_m[2] ** 2))
    joints = Joints(
        tuple(f"tilt/{side}" for side in SIDES),
        travel_rad=TRAVEL_RAD,
        gain_1prad=swing * SERVO_RADPS**2 / spec.joint.max_torque_Nm,
        damping_sprad=2 * swing * SERVO_RADPS / spec.joint.max_torque_Nm,
    )
    return Airframe("rc.mc_defaults", tuple(channels), params | outputs(channels), joints=joints)
