"""PX4's parameters of helicopters with a swash plate and a tail servo."""

from __future__ import annotations

import math

from ironbird.autopilots.px4.airframe import MOTOR, SERVO, Airframe, Params, outputs
from ironbird.blocks.forces.main_rotor import FLAP_LAG
from ironbird.vehicles.templates.helicopter import HelicopterSpec, hover, hover_pitch_rad, tail_command

TAIL_SERVO = 11  # CA_AIRFRAME of a helicopter whose tail is a servo
CURVE_POINTS = 5  # of CA_HELI_PITCH_Cn and CA_HELI_THR_Cn, over the demanded thrust
LEAST_SPEED_MPS, LEAST_ACCELERATION_MPS2 = 3.0, 2.0  # that PX4 takes
LEAST_RATE_GAIN = 0.01  # that PX4's list of parameters allows


def helicopter_airframe(spec: HelicopterSpec) -> Airframe:
    """PX4's parameters for a helicopter: swash plate, collective curve, tail, gains.

    Names and meaning: [PX4] ActuatorEffectivenessHelicopter.

    A servo goes to c + p cos(a) l - r sin(a) l with the collective c, demands p of pitch and r of roll, its angle a
    from the nose to the right, and its arm l: here l is such that a demand of 1 is the greatest cyclic pitch. The tail
    follows the demand of yaw, plus a term by the collective above flat blades, plus a term while the rotor turns. The
    engine governs the rotor speed itself: its governor gets 100 %.
    """
    swash, control, assumed = spec.swash, spec.control, hover(spec)
    low, high, flat, hovering = (
        (pitch - swash.collective_0_rad) / (swash.collective_ratio * swash.travel_rad)
        for pitch in (*swash.collective_range_rad, 0.0, hover_pitch_rad(spec))
    )
    tail_hover, tail_flat = (
        tail_command(spec, torque) for torque in (assumed.tail_thrust_N * assumed.tail_arm_m, assumed.profile_torque_Nm)
    )
    main = spec.main_rotor
    feed_forward = FLAP_LAG / (main.bar_lock_number * main.speed_radps * main.cyclic_gain) / swash.max_cyclic_rad
    yaw = control.yaw_gain_s / spec.tail_servo.travel_rad
    channels = {"rotor/1": MOTOR, "surface/tail": SERVO}
    channels |= {f"surface/swash_{n}": SERVO + n for n in range(1, len(swash.azimuth_deg) + 1)}
    params: Params = {
        "CA_AIRFRAME": TAIL_SERVO, "NAV_DLL_ACT": 0, "CA_SP0_COUNT": len(swash.azimuth_deg),
        **{f"CA_SP0_ANG{n}": -angle % 360.0 for n, angle in enumerate(swash.azimuth_deg)},  # from the nose to the right
        **{
            f"CA_SP0_ARM_L{n}": swash.max_cyclic_rad / (swash.cyclic_ratio * swash.travel_rad)
            for n in range(len(swash.azimuth_deg))
        },
        **{f"CA_HELI_PITCH_C{n}": low + (high - low) * n / (CURVE_POINTS - 1) for n in range(CURVE_POINTS)},
        **{f"CA_HELI_THR_C{n}": 1.0 for n in range(CURVE_POINTS)},
        "CA_HELI_YAW_CCW": 0,  # a positive command turns the nose to the right
        "CA_HELI_YAW_CP_O": flat, "CA_HELI_YAW_CP_S": (tail_hover - tail_flat) / (hovering - flat),
        "CA_HELI_YAW_TH_S": tail_flat,
        "MPC_THR_HOVER": (hovering - low) / (high - low), "MPC_THR_MIN": (flat - low) / (high - low),
        "MPC_XY_CRUISE": max(control.cruise_speed_mps, LEAST_SPEED_MPS), "MPC_XY_VEL_MAX": control.max_speed_mps,
        "MPC_ACC_HOR": max(control.cruise_acceleration_mps2, LEAST_ACCELERATION_MPS2),
        "MPC_TILTMAX_AIR": control.max_tilt_deg,
        "MPC_Z_VEL_MAX_UP": control.max_climb_mps, "MPC_Z_VEL_MAX_DN": control.max_descent_mps,
        "MC_YAWRATE_P": yaw, "MC_YAWRATE_I": control.yaw_integral * yaw, "MC_YAW_P": control.heading_gain,
        "MC_YAWRATE_MAX": math.degrees(control.max_rate_radps[2]),
    }  # fmt: skip
    for axis, rate in zip(("ROLL", "PITCH"), control.max_rate_radps, strict=False):
        # With a fly-bar, cyclic commands a rate: more stiffness means less damping, as the disc swings on its hub
        params |= {
            f"MC_{axis}RATE_FF": feed_forward, f"MC_{axis}RATE_P": LEAST_RATE_GAIN, f"MC_{axis}RATE_D": 0.0,
            f"MC_{axis}RATE_I": control.tilt_integral * feed_forward, f"MC_{axis}_P": control.tilt_gain,
            f"MC_{axis}RATE_MAX": math.degrees(rate),
        }  # fmt: skip
    params |= outputs(channels)
    return Airframe(
        "rc.heli_defaults", tuple(channels), {k: v if isinstance(v, int) else float(v) for k, v in params.items()}
    )
