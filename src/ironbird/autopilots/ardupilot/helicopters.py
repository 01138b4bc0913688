"""ArduPilot's parameters of helicopters."""

from __future__ import annotations

import math

from ironbird.autopilots.ardupilot.channels import HELI_TAIL, Fit, Wiring, wire_helicopter
from ironbird.autopilots.ardupilot.rotors import RANGEFINDER
from ironbird.blocks.forces.main_rotor import FLAP_LAG
from ironbird.protocols.parm_file import Param, Params
from ironbird.vehicles.templates.helicopter import HelicopterSpec, hover, hover_pitch_rad, tail_command

SWASH_SHARE = 0.45  # share of the servos' travel for a cyclic of 1 [ArduPilotCode] AP_MotorsHeli_Swash
ROTOR_RAMP_S = 10.0


def helicopter_params(spec: HelicopterSpec, wiring: Wiring) -> Params:
    """ArduPilot parameters of swash plate, tail and rotor, [ArduPilotCode] AP_MotorsHeli_Single and _Swash.

    Full collective moves all servos from end to end; a cyclic of 1 moves the servo in the direction of the tilt by
    0.45 of
    that. The engine governs the rotor speed itself: its governor gets 100 %.
    """
    swash, control = spec.swash, spec.control
    per_us = swash.collective_ratio * swash.travel_rad / 500
    low_us, high_us = (round(1500 + (pitch - swash.collective_0_rad) / per_us) for pitch in swash.collective_range_rad)
    low, high = (swash.collective_0_rad + (pulse - 1500) * per_us for pulse in (low_us, high_us))
    full_cyclic = 2 * SWASH_SHARE * swash.travel_rad * swash.cyclic_ratio
    main = spec.main_rotor
    feed_forward = FLAP_LAG / (main.bar_lock_number * main.speed_radps * main.cyclic_gain) / full_cyclic
    assumed = hover(spec)
    share, flat = (hover_pitch_rad(spec) - low) / (high - low), -low / (high - low)
    tail_hover, tail_flat = (
        tail_command(spec, torque) for torque in (assumed.tail_thrust_N * assumed.tail_arm_m, assumed.profile_torque_Nm)
    )
    params: Params = {
        "FRAME_CLASS": Param(wiring.frame_class, "helicopter"),
        "FS_THR_ENABLE": Param(0, "no remote control on the rig"),
        "RTL_ALT_M": Param(15, "m"),
        **RANGEFINDER,
        "RC8_OPTION": Param(0, "its switch would be on from the start"),
        "RC7_OPTION": Param(32, "motor interlock: off until the ground station switches the rotor on"),
        "H_SW_TYPE": Param(0, "three servos anywhere"),
        "H_SW_COL_DIR": Param(0, "up is more pitch"),
        **{
            f"H_SW_H3_SV{n}_POS": Param(-angle, "swash.azimuth_deg, from the nose to the right")
            for n, angle in enumerate(swash.azimuth_deg, start=1)
        },
        "H_SW_H3_PHANG": Param(0, "the plate's slope is the disc's"),
        "H_COL_MIN": Param(low_us, "swash.collective_range_rad"),
        "H_COL_MAX": Param(high_us, "the same"),
        "H_COL_ANG_MIN": Param(round(math.degrees(low), 3), "pitch at COL_MIN"),
        "H_COL_ANG_MAX": Param(round(math.degrees(high), 3), "pitch at COL_MAX"),
        "H_COL_HOVER": Param(round(min(max(share, 0.3), 0.8), 4), f"hover by momentum theory: {share:.3f}"),
        "H_CYC_MAX": Param(round(4500 * swash.max_cyclic_rad / full_cyclic), "swash.max_cyclic_rad; 4500 is full"),
        "H_FLYBAR_MODE": Param(1, "it has one"),
        "H_RSC_MODE": Param(2, "the engine has its own governor"),
        "H_RSC_SETPOINT": Param(100, "percent: nominal speed"),
        "H_RSC_RAMP_TIME": Param(ROTOR_RAMP_S, "s; slowly, as the engine's torque turns the body"),
        "H_RSC_RUNUP_TIME": Param(ROTOR_RAMP_S + 5, "s"),
        "H_RSC_CRITICAL": Param(70, "percent"),
        "H_TAIL_TYPE": Param(0, "servo"),
        "H_COL2YAW": Param(
            round((tail_hover - tail_flat) / abs(share - flat) ** 1.5, 4), "tail against the torque of the lift"
        ),
        f"SERVO{HELI_TAIL}_TRIM": Param(round(1500 + 500 * tail_flat), "tail against the torque without lift"),
        "ATC_HOVR_ROL_TRM": Param(
            round(100 * math.degrees(math.atan2(assumed.side_force_N, assumed.thrust_N))), "lean against the tail rotor"
        ),
        "ATC_ANG_RLL_P": Param(control.tilt_gain, "control.tilt_gain"),
        "ATC_ANG_PIT_P": Param(control.tilt_gain, "control.tilt_gain"),
        "ATC_ANG_YAW_P": Param(control.heading_gain, "control.heading_gain"),
        "ATC_ANGLE_MAX": Param(control.max_tilt_deg, "control.max_tilt_deg"),
        **{
            f"ATC_RATE_{axis}_MAX": Param(round(math.degrees(rate)), "control.max_rate_radps")
            for axis, rate in zip("RPY", control.max_rate_radps, strict=True)
        },
        "ATC_RAT_YAW_P": Param(round(control.yaw_gain_s / spec.tail_servo.travel_rad, 4), "control.yaw_gain_s"),
        "ATC_RAT_YAW_I": Param(
            round(control.yaw_integral * control.yaw_gain_s / spec.tail_servo.travel_rad, 4), "control.yaw_integral"
        ),
        "ATC_RAT_YAW_FF": Param(0, "the tail rotor's own damping is small"),
        "WP_SPD": Param(control.cruise_speed_mps, "control.cruise_speed_mps"),
        "WP_SPD_UP": Param(control.max_climb_mps, "control.max_climb_mps"),
        "WP_SPD_DN": Param(control.max_descent_mps, "control.max_descent_mps"),
        "WP_ACC": Param(control.cruise_acceleration_mps2, "control.cruise_acceleration_mps2"),
    }  # fmt: skip
    for axis in ("RLL", "PIT"):
        params |= {
            f"ATC_RAT_{axis}_FF": Param(round(feed_forward, 4), "cyclic per rate: the fly-bar's lag"),
            f"ATC_RAT_{axis}_P": Param(0, "the disc swings on its hub: more stiffness is less damping"),
            f"ATC_RAT_{axis}_I": Param(round(control.tilt_integral * feed_forward, 4), "control.tilt_integral of FF"),
            f"ATC_RAT_{axis}_D": Param(0, "the same"),
        }
    return params


HELICOPTER = Fit(wire_helicopter, helicopter_params)
