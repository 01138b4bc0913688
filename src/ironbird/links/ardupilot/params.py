"""ArduPilot's parameters for a vehicle of the catalogue, each with where it comes from; and .parm files.

Motors: ArduPilot takes the thrust of a motor over its command x as (1 - e) x + e x^2 from SPIN_MIN to SPIN_MAX
[ArduPilotCode]. With a speed w_0 + k x the thrust over that at x = 0 is 2 w_0 k x + k^2 x^2: e = k / (2 w_0 + k) fits
exactly where the curve of the speed is straight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ironbird.blocks.estimators.battery_gauge import EMPTY_CELL_V, SAFE_CELL_V
from ironbird.blocks.forces.main_rotor import FLAP_LAG
from ironbird.errors import LinkError
from ironbird.links.ardupilot.channels import ELEVON_LEFT, ELEVON_RIGHT, HELI_TAIL, Wiring, wire
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.helicopter import HelicopterSpec, hover
from ironbird.vehicles.templates.multicopter import MulticopterSpec, effectiveness
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec
from ironbird.vehicles.templates.vtol import VtolSpec, hover_spec

G_MPS2 = 9.80665
SPIN_ARM, SPIN_MIN, SPIN_MAX = 0.10, 0.15, 0.95  # [ArduPilotCode] defaults
CELL_MAX_V, CELL_MIN_V = 4.2, 3.3
LOW, CRITICAL = 0.2, 0.1  # shares of the charge at which the reference autopilot returns and lands
RATE_LOOP_RADPS, MOTOR_SHARE = 17.0, 0.3  # crossover of roll and pitch: the lesser of this and share / motor lag
YAW_LOOP_RADPS, YAW_P_MAX = 2.0, 1.0
D_OVER_P, YAW_I_OVER_P = 0.0267, 0.1  # as in ArduPilot's defaults 0.0036 / 0.135 and 0.018 / 0.18
FULL_SURFACE_RAD = math.radians(45)  # ArduPilot's rate loops put out 45 degrees for a full deflection [ArduPilotCode]
ANGLE_TIME_S = 0.5  # default of RLL2SRV_TCONST and PTCH2SRV_TCONST: a rate is an angle over this
SWASH_SHARE = 0.45  # of the servos' way: cyclic 1 [ArduPilotCode] AP_MotorsHeli_Swash
ROTOR_RAMP_S = 10.0
NAME = re.compile(r"[A-Z][A-Z0-9_]{0,15}")


@dataclass(frozen=True)
class Param:
    """A value and where it comes from."""

    value: float
    why: str = ""


Params = dict[str, Param]


RANGEFINDER: Params = {
    "RNGFND1_TYPE": Param(100, "rng_1 of the JSON interface"),
    "RNGFND1_ORIENT": Param(25, "looks down"),
    "RNGFND1_MAX": Param(12, "of range/1"),
}


# ---------------------------------------------------------------------- .parm files


def parse_parm(text: str, name: str = "parameters") -> Params:
    """Read a .parm file: a name and a number per line, apart by blanks, a tab, a comma or =; # begins a comment."""
    found: Params = {}
    for number, line in enumerate(text.splitlines(), start=1):
        body, _, why = line.partition("#")
        words = [word for word in re.split(r"[\s,=]+", body.strip()) if word]
        if not words:
            continue
        if len(words) < 2 or not NAME.fullmatch(words[0]):
            raise LinkError(f"{name}, line {number}: '{line.strip()[:60]}' is not a name and a number")
        try:
            value = float(words[1])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise LinkError(f"{name}, line {number}: {words[0]} needs a finite number, not '{words[1][:20]}'")
        found[words[0]] = Param(value, " ".join(why.split()))
    return found


def write_parm(params: Mapping[str, Param], title: str = "") -> str:
    """A .parm file that `parse_parm` reads back; each value with its reason."""
    lines = [f"# {' '.join(title.split())}"] if title else []
    for name, param in params.items():
        if not NAME.fullmatch(name) or not math.isfinite(param.value):
            raise LinkError(f"'{name}' = {param.value} is no parameter of ArduPilot")
        why = " ".join(param.why.replace("#", " ").split())
        lines.append(f"{name:<16} {param.value:.9g}" + (f"  # {why}" if why else ""))
    return "\n".join(lines) + "\n"


def merge(*layers: Mapping[str, Param]) -> Params:
    """Later layers win."""
    merged: Params = {}
    for layer in layers:
        merged |= layer
    return merged


# ---------------------------------------------------------------------- vehicles


def params_for(spec: VehicleSpec) -> str:
    """The .parm file of a vehicle."""
    return write_parm(vehicle_params(spec), f"{spec.title}: made from its vehicle file")


def vehicle_params(spec: VehicleSpec) -> Params:
    """Parameters of a vehicle by name; what is not here stays at ArduPilot's default."""
    wiring = wire(spec)
    params = merge(_common(), _outputs(wiring))
    if isinstance(spec, VtolSpec):
        return merge(params, _quadplane(spec, wiring))
    if isinstance(spec, MulticopterSpec):
        return merge(params, _copter(spec, wiring))
    if isinstance(spec, FixedWingSpec):
        return merge(params, _plane(spec, wiring))
    if isinstance(spec, HelicopterSpec):
        return merge(params, _helicopter(spec, wiring))
    if wiring.firmware == "ardurover":
        return merge(params, _rover(spec, wiring))
    frame = Param(wiring.frame_class, "frame with the same thrusters")
    return merge(params, {"FRAME_CONFIG": frame, "FS_PILOT_INPUT": Param(0, "no joystick on the rig")})


def _common() -> Params:
    compass = {
        f"COMPASS_OFS{n}_{axis}": Param(value, "its simulated compass has this offset")
        for n in ("", "2", "3")
        for axis, value in (("X", 5.0), ("Y", 13.0), ("Z", -18.0))
    }
    accel = {
        f"INS_ACC{n}{what}_{axis}": Param(value, why)
        for n, what, value, why in (
            ("", "OFFS", 1e-4, "not zero: it counts as calibrated"), ("", "SCAL", 1, "ours has its own errors"),
            ("2", "OFFS", 0, "there is no second one"), ("2", "SCAL", 1, "the same"),
        )
        for axis in "XYZ"
    }  # fmt: skip
    return {
        "SIM_IMU_COUNT": Param(1, "the interface carries one inertial unit: imu/1"),
        "EK3_IMU_MASK": Param(1, "the same"),
        "SIM_GPS2_ENABLE": Param(1, "two receivers, as the vehicles of the catalogue have"),
        "GPS2_TYPE": Param(1, "the same"),
        "SIM_BARO_COUNT": Param(1, "one barometer"),
        "SIM_BARO_RND": Param(0.2, "m; the value to which a fault goes back"),
        "COMPASS_USE3": Param(0, "two compasses"),
        "SIM_DRIFT_SPEED": Param(0, "our gyro has its own errors"),
        "INS_GYR_CAL": Param(0, "no calibration at the start"),
        "LOG_DISARMED": Param(0, "log from arming on"),
        **accel,
        **compass,
    }


def _outputs(wiring: Wiring) -> Params:
    """Functions and end points of all servo outputs."""
    params: Params = {}
    for channel in wiring.channels:
        output = f"SERVO{channel.number}"
        params[f"{output}_FUNCTION"] = Param(channel.function, f"drives {channel.place}")
        params[f"{output}_MIN"] = Param(1000, "command -1, or 0 of a throttle")
        params[f"{output}_MAX"] = Param(2000, "command 1")
        params[f"{output}_TRIM"] = Param(1000 if channel.kind in ("throttle", "launch") else 1500, "command 0")
    return params


def _copter(spec: MulticopterSpec, wiring: Wiring) -> Params:
    params: Params = {
        "FRAME_CLASS": Param(wiring.frame_class, "same places and spins of the rotors"),
        "FRAME_TYPE": Param(wiring.frame_type, "the same"),
        "FS_THR_ENABLE": Param(0, "no remote control on the rig"),
        "RTL_ALT": Param(1500, "cm"),
        **RANGEFINDER,
        **_motors(spec, "MOT_", "ATC_RAT_"),
        **_battery(spec),
    }
    if spec.tail is not None:
        params["MOT_YAW_SV_ANGLE"] = Param(spec.tail.travel_deg, "tail.travel_deg")
    return params


def _helicopter(spec: HelicopterSpec, wiring: Wiring) -> Params:
    """Swash plate, tail and rotor, [ArduPilotCode] AP_MotorsHeli_Single and _Swash.

    Full collective moves all servos from end to end, a cyclic of 1 moves the one straight under the slope by 0.45 of
    that. The rotor's speed is the engine's own business: its governor is told 100 %.
    """
    swash, control = spec.swash, spec.control
    per_us = swash.collective_ratio * swash.travel_rad / 500
    low_us, high_us = (round(1500 + (pitch - swash.collective_0_rad) / per_us) for pitch in swash.collective_range_rad)
    low, high = (swash.collective_0_rad + (pulse - 1500) * per_us for pulse in (low_us, high_us))
    full_cyclic = 2 * SWASH_SHARE * swash.travel_rad * swash.cyclic_ratio
    main = spec.main_rotor
    feed_forward = FLAP_LAG / (main.bar_lock_number * main.speed_radps * main.cyclic_gain) / full_cyclic
    assumed = hover(spec)
    tip = main.speed_radps * main.radius_m
    hovering = main.lift_pitch_rad(assumed.thrust_N, tip) + 1.5 * assumed.induced_mps / tip  # [Gavrilets2015]
    share, flat = (hovering - low) / (high - low), -low / (high - low)
    tail_hover, tail_flat = (
        _tail_command(spec, torque)
        for torque in (assumed.tail_thrust_N * assumed.tail_arm_m, assumed.profile_torque_Nm)
    )
    params: Params = {
        "FRAME_CLASS": Param(wiring.frame_class, "helicopter"),
        "FS_THR_ENABLE": Param(0, "no remote control on the rig"),
        "RTL_ALT": Param(1500, "cm"),
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


def _tail_command(spec: HelicopterSpec, torque_Nm: float) -> float:
    """Command of the tail servo that holds a torque of the main rotor in hover."""
    tail, servo = spec.tail_rotor, spec.tail_servo
    thrust = torque_Nm / hover(spec).tail_arm_m
    tip = spec.main_rotor.speed_radps * tail.gear_ratio * tail.radius_m
    pitch = tail.lift_pitch_rad(thrust, tip) + 1.5 * tail.induced_mps(thrust) / tip
    return (pitch - servo.neutral_pitch_rad) / servo.travel_rad


def thrust_expo(idle_radps: float, slope_radps: float) -> float:
    """ArduPilot's THST_EXPO for a motor whose speed is straight in its command, between SPIN_MIN and SPIN_MAX."""
    first = max(idle_radps + slope_radps * SPIN_MIN, 0.0)
    gain = idle_radps + slope_radps * SPIN_MAX - first
    return gain / (2 * first + gain)


def _motors(spec: MulticopterSpec, motor: str, rate: str) -> Params:
    tables = [spec.motor[rotor.motor] for rotor in spec.rotor]
    blades = [spec.propeller[rotor.propeller] for rotor in spec.rotor]

    def thrust(share: float) -> float:
        speeds = [max(m.idle_speed_radps + m.slope_radps * share + m.quadratic_radps * share**2, 0) for m in tables]
        return sum(b.thrust_coefficient_Ns2 * speed**2 for b, speed in zip(blades, speeds, strict=True))

    lowest, usable = thrust(SPIN_MIN), thrust(SPIN_MAX) - thrust(SPIN_MIN)
    hover = (spec.body.mass_kg * G_MPS2 - lowest) / usable
    # the straight line through the ends of the curve
    slope = tables[0].slope_radps + tables[0].quadratic_radps * (SPIN_MIN + SPIN_MAX)
    idle = tables[0].idle_speed_radps - tables[0].quadratic_radps * SPIN_MIN * SPIN_MAX
    effect, inertia = np.abs(effectiveness(spec)[1:]), np.diag(spec.body.inertia())
    # A demand of 1 changes every motor by up to half of its thrust [ArduPilotCode]
    share = effect / np.maximum(effect.max(axis=1, keepdims=True), 1e-9)
    accel = 0.5 * (usable / len(tables)) * (effect * share).sum(axis=1) / inertia
    if spec.tail is not None:
        tail = spec.rotor[spec.tail_number() or 0]
        accel[2] = (
            usable / len(tables) * abs(tail.position_B_m[0]) * math.sin(math.radians(spec.tail.travel_deg)) / inertia[2]
        )
    lag = max(m.time_constant_s or 1.0 / (m.natural_frequency_radps or 50.0) for m in tables)
    crossover = min(RATE_LOOP_RADPS, MOTOR_SHARE / lag)
    params: Params = {
        f"{motor}PWM_MIN": Param(1000, "command 0"),
        f"{motor}PWM_MAX": Param(2000, "command 1"),
        f"{motor}SPIN_ARM": Param(SPIN_ARM, "default"),
        f"{motor}SPIN_MIN": Param(SPIN_MIN, "default"),
        f"{motor}SPIN_MAX": Param(SPIN_MAX, "default"),
        f"{motor}THST_EXPO": Param(round(thrust_expo(idle, slope), 4), "speed over throttle in the table motor"),
        f"{motor}THST_HOVER": Param(
            round(min(max(hover, 0.125), 0.6875), 4), f"weight over usable thrust: {hover:.3f}; 0.125 to 0.6875 allowed"
        ),
    }  # fmt: skip
    for axis, value in (("RLL", accel[0]), ("PIT", accel[1])):
        gain = round(min(crossover / value, 0.5), 5)
        params |= {
            f"{rate}{axis}_P": Param(gain, f"{crossover:.3g} rad/s over {value:.3g} rad/s^2 at full demand"),
            f"{rate}{axis}_I": Param(gain, "as P"),
            f"{rate}{axis}_D": Param(round(gain * D_OVER_P, 6), "share of P as in the defaults"),
        }
    yaw = round(min(YAW_LOOP_RADPS / accel[2], YAW_P_MAX), 5)
    params[f"{rate}YAW_P"] = Param(
        yaw, f"{YAW_LOOP_RADPS:g} rad/s over {accel[2]:.3g} rad/s^2 at full demand, at most 1"
    )
    params[f"{rate}YAW_I"] = Param(round(yaw * YAW_I_OVER_P, 5), "share of P as in the defaults")
    return params


def _battery(spec: MulticopterSpec) -> Params:
    return {
        "BATT_MONITOR": Param(4, "voltage and current of monitor/battery"),
        "BATT_CAPACITY": Param(1000 * spec.battery.capacity_Ah, "battery.capacity_Ah, in mAh"),
        "BATT_LOW_VOLT": Param(round(cell_voltage(LOW) * spec.battery.cells, 2), "as our gauge: a fifth is left"),
        "BATT_CRT_VOLT": Param(round(cell_voltage(CRITICAL) * spec.battery.cells, 2), "a tenth is left"),
        "BATT_LOW_MAH": Param(round(1000 * LOW * spec.battery.capacity_Ah), "a fifth of the capacity"),
        "BATT_CRT_MAH": Param(round(1000 * CRITICAL * spec.battery.capacity_Ah), "a tenth of the capacity"),
        "BATT_FS_LOW_ACT": Param(2, "return, as the reference autopilot does"),
        "BATT_FS_CRT_ACT": Param(1, "land, as the reference autopilot does"),
    }


def cell_voltage(share: float) -> float:
    """Of a cell under load at which our gauge says that this share is left."""
    return EMPTY_CELL_V + share * (SAFE_CELL_V - EMPTY_CELL_V)


def _plane(spec: FixedWingSpec, wiring: Wiring) -> Params:
    control, start = spec.control, spec.start
    flare = control.flare_time_s * control.approach_speed_mps * math.tan(math.radians(control.glide_slope_deg))
    return {
        "ARSPD_TYPE": Param(100, "airspeed of the JSON interface"),
        "ARSPD_USE": Param(1, "it has a pitot tube"),
        "AIRSPEED_CRUISE": Param(control.cruise_speed_mps, "control.cruise_speed_mps"),
        "AIRSPEED_MIN": Param(control.min_speed_mps, "control.min_speed_mps"),
        "AIRSPEED_MAX": Param(round(1.4 * control.cruise_speed_mps, 2), "1.4 of the cruise speed"),
        "SCALING_SPEED": Param(control.cruise_speed_mps, "the gains below belong to this speed"),
        "TRIM_THROTTLE": Param(round(100 * start.throttle), "start.throttle, in percent"),
        "THR_MAX": Param(100, "percent"),
        "ROLL_LIMIT_DEG": Param(control.max_roll_deg, "control.max_roll_deg"),
        "PTCH_LIM_MAX_DEG": Param(control.pitch_high_deg, "control.pitch_high_deg"),
        "PTCH_LIM_MIN_DEG": Param(control.pitch_low_deg, "control.pitch_low_deg"),
        "NAVL1_PERIOD": Param(control.l1_period_s, "control.l1_period_s"),
        "NAVL1_DAMPING": Param(control.l1_damping, "control.l1_damping"),
        "WP_RADIUS": Param(control.acceptance_radius_m, "control.acceptance_radius_m"),
        "WP_LOITER_RAD": Param(control.loiter_radius_m, "control.loiter_radius_m"),
        "TECS_CLMB_MAX": Param(control.max_climb_mps, "control.max_climb_mps"),
        "TECS_SINK_MAX": Param(control.max_sink_mps, "control.max_sink_mps"),
        "TKOFF_THR_MINACC": Param(0, "the catapult waits for the throttle"),
        "TKOFF_THR_MINSPD": Param(0, "the same"),
        "THR_FAILSAFE": Param(0, "no remote control on the rig"),
        "RTL_ALTITUDE": Param(control.return_height_m, "control.return_height_m"),
        "RTL_AUTOLAND": Param(2, "a return goes to the mission's landing, if it has one"),
        **RANGEFINDER,
        "RNGFND_LANDING": Param(1, "the ground is lower than the catapult, where its heights begin"),
        "TECS_LAND_SINK": Param(control.touch_sink_mps, "control.touch_sink_mps"),
        "LAND_FLARE_SEC": Param(control.flare_time_s, "control.flare_time_s"),
        "LAND_FLARE_ALT": Param(round(flare, 2), "control.flare_time_s of the approach's sink rate"),
        "LAND_PITCH_DEG": Param(control.flare_pitch_deg, "control.flare_pitch_deg"),
        **_elevons(wiring, spec),
        **_surface_gains(spec),
    }


def _file_gains(spec: FixedWingSpec) -> Params:
    """Rate loops from the gains of the file: what ArduPilot does about an angle and a rate is then the same."""
    control, params = spec.control, dict[str, Param]()
    unit = FULL_SURFACE_RAD / spec.servo.travel_rad
    for axis, name, gain, damping_s, integral in (
        ("RLL", "roll", control.roll_gain, control.roll_damping_s, control.roll_integral),
        ("PTCH", "pitch", control.pitch_gain, control.pitch_damping_s, control.pitch_integral),
    ):
        angle, rate = ANGLE_TIME_S * gain * unit, damping_s * unit
        params |= {
            f"{axis}_RATE_FF": Param(round(angle - rate, 4), f"control.{name}_gain"),
            f"{axis}_RATE_P": Param(round(rate, 4), f"control.{name}_damping_s"),
            f"{axis}_RATE_I": Param(round(ANGLE_TIME_S * integral * unit, 4), f"control.{name}_integral"),
        }
    return params


def _elevons(wiring: Wiring, spec: FixedWingSpec) -> Params:
    """Share of an elevon's way that full elevator, and full aileron, take."""
    for channel in wiring.channels:
        if channel.function in (ELEVON_LEFT, ELEVON_RIGHT):
            share = abs(spec.surfaces[channel.place.removeprefix("surface/")][1])
            return {"MIXING_GAIN": Param(share, "as in the table surfaces")}
    return {}


def _surface_gains(spec: FixedWingSpec) -> Params:
    """Rate loops of roll and pitch, of a full deflection at cruise speed where the file has the coefficients."""
    if spec.wing is None:
        return _file_gains(spec)
    wing, travel = spec.wing, spec.servo.travel_rad
    speed = spec.control.cruise_speed_mps
    # Steady roll rate at full aileron: damping against deflection, [BeardMcLain] Ch. 4
    roll = abs(wing.Cl_aileron) * travel / abs(wing.Cl_p) * 2 * speed / wing.span_m
    inertia = spec.body.inertia_kgm2[1][1]
    moment = 0.5 * 1.225 * speed**2 * wing.area_m2 * wing.chord_m
    # Elevator for a steady pull-up: against the damping, and against the angle of attack whose lift bends the path
    damped = abs(wing.Cm_q) * wing.chord_m / (2 * speed)
    bent = abs(wing.Cm_alpha) * spec.body.mass_kg * speed / (0.5 * 1.225 * speed**2 * wing.area_m2 * wing.CL_alpha)
    pitch = abs(wing.Cm_elevator) * travel / (damped + bent)
    lag = max(inertia / (moment * damped), 1e-3)
    roll_gain, pitch_gain = FULL_SURFACE_RAD / roll, FULL_SURFACE_RAD / pitch
    damping_gain = FULL_SURFACE_RAD * damped / (abs(wing.Cm_elevator) * travel)
    return {
        "RLL_RATE_FF": Param(round(roll_gain, 4), f"full aileron rolls with {roll:.3g} rad/s"),
        "RLL_RATE_P": Param(round(0.3 * roll_gain, 4), "0.3 of FF"),
        "RLL_RATE_I": Param(round(0.5 * roll_gain, 4), "0.5 of FF"),
        "PTCH_RATE_FF": Param(round(pitch_gain, 4), f"full elevator pitches with {pitch:.3g} rad/s"),
        "PTCH_RATE_P": Param(round(0.5 * damping_gain, 4), f"half of the own damping, which acts in {lag:.2g} s"),
        "PTCH_RATE_I": Param(round(pitch_gain, 4), "as FF: it finds the elevator of level flight"),
        "PTCH_RATE_IMAX": Param(1, "the elevator of level flight may need much of the travel"),
    }


def _quadplane(spec: VtolSpec, wiring: Wiring) -> Params:
    table = spec.wing
    return {
        "Q_ENABLE": Param(1, "rotors and wings"),
        "Q_FRAME_CLASS": Param(wiring.frame_class, "same places and spins of the rotors"),
        "Q_FRAME_TYPE": Param(wiring.frame_type, "the same"),
        "SCHED_LOOP_RATE": Param(300, "as ArduPilot's own quadplane"),
        "ARSPD_TYPE": Param(100, "airspeed of the JSON interface"),
        "ARSPD_USE": Param(1, "it has a pitot tube"),
        "AIRSPEED_CRUISE": Param(table.cruise_speed_mps, "wing.cruise_speed_mps"),
        "AIRSPEED_MIN": Param(table.transition_speed_mps, "wing.transition_speed_mps"),
        "AIRSPEED_MAX": Param(round(1.5 * table.cruise_speed_mps, 2), "1.5 of the cruise speed"),
        "SCALING_SPEED": Param(table.cruise_speed_mps, "gains belong to this speed"),
        "ROLL_LIMIT_DEG": Param(table.max_roll_deg, "wing.max_roll_deg"),
        "NAVL1_PERIOD": Param(table.l1_period_s, "wing.l1_period_s"),
        "WP_RADIUS": Param(table.acceptance_radius_m, "wing.acceptance_radius_m"),
        "THR_FAILSAFE": Param(0, "no remote control on the rig"),
        "Q_ASSIST_SPEED": Param(round(0.85 * table.transition_speed_mps, 2), "0.85 of wing.transition_speed_mps"),
        "Q_RTL_MODE": Param(1, "a return ends with a landing on the rotors"),
        "RTL_ALTITUDE": Param(table.wing_height_m + 10.0, "wing.wing_height_m and 10 m"),
        "Q_GUIDED_MODE": Param(1, "hovers where it is sent"),
        **_motors(hover_spec(spec), "Q_M_", "Q_A_RAT_"),
        **_battery(spec),
        **(_tail_sitter(spec) if spec.pusher is None else {}),
    }


def _tail_sitter(spec: VtolSpec) -> Params:
    return {
        "Q_TAILSIT_ENABLE": Param(1, "stands on its tail"),
        "Q_TAILSIT_MOTMX": Param(2 ** len(spec.rotor) - 1, "all rotors go on in forward flight"),
        "Q_TAILSIT_RAT_FW": Param(spec.wing.transition_rate_degps, "wing.transition_rate_degps"),
        "Q_TAILSIT_RAT_VT": Param(spec.wing.transition_rate_degps, "the same"),
    }


def _rover(spec: VehicleSpec, wiring: Wiring) -> Params:
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
