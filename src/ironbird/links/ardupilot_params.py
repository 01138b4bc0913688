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

from ironbird.errors import LinkError
from ironbird.links.ardupilot_channels import Wiring, wire
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec, effectiveness
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec
from ironbird.vehicles.templates.vtol import VtolSpec

G_MPS2 = 9.80665
SPIN_ARM, SPIN_MIN, SPIN_MAX = 0.10, 0.15, 0.95  # [ArduPilotCode] defaults
CELL_MAX_V, CELL_MIN_V = 4.2, 3.3
RATE_LOOP_RADPS, MOTOR_SHARE = 17.0, 0.3  # crossover of roll and pitch: the lesser of this and share / motor lag
YAW_LOOP_RADPS, YAW_P_MAX = 2.0, 1.0
D_OVER_P, YAW_I_OVER_P = 0.0267, 0.1  # as in ArduPilot's defaults 0.0036 / 0.135 and 0.018 / 0.18
NAME = re.compile(r"[A-Z][A-Z0-9_]{0,15}")


@dataclass(frozen=True)
class Param:
    """A value and where it comes from."""

    value: float
    why: str = ""


Params = dict[str, Param]


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
        return merge(params, _plane(spec))
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
        "RNGFND1_TYPE": Param(100, "rng_1 of the JSON interface"),
        "RNGFND1_ORIENT": Param(25, "looks down"),
        "RNGFND1_MAX": Param(12, "of range/1"),
        **_motors(spec, "MOT_", "ATC_RAT_"),
        **_battery(spec),
    }
    if spec.tail is not None:
        params["MOT_YAW_SV_ANGLE"] = Param(spec.tail.travel_deg, "tail.travel_deg")
    return params


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
    }


def _plane(spec: FixedWingSpec) -> Params:
    control, start = spec.control, spec.start
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
        **_surface_gains(spec),
    }


def _surface_gains(spec: FixedWingSpec) -> Params:
    """Rate loops of roll and pitch, of a full deflection at cruise speed where the file has the coefficients."""
    if spec.wing is None:
        return {}
    wing, travel = spec.wing, spec.servo.travel_rad
    speed = spec.control.cruise_speed_mps
    # Steady roll rate at full aileron: damping against deflection, [BeardMcLain] Ch. 4
    roll = abs(wing.Cl_aileron) * travel / abs(wing.Cl_p) * 2 * speed / wing.span_m
    inertia = spec.body.inertia_kgm2[1][1]
    moment = 0.5 * 1.225 * speed**2 * wing.area_m2 * wing.chord_m
    pitch = abs(wing.Cm_elevator) * travel / abs(wing.Cm_q) * 2 * speed / wing.chord_m
    lag = max(inertia / (moment * abs(wing.Cm_q) * wing.chord_m / (2 * speed)), 1e-3)
    return {
        "RLL_RATE_FF": Param(round(1.0 / roll, 4), f"full aileron rolls with {roll:.3g} rad/s"),
        "RLL_RATE_P": Param(round(0.3 / roll, 4), "0.3 of FF"),
        "RLL_RATE_I": Param(round(0.5 / roll, 4), "0.5 of FF"),
        "PTCH_RATE_FF": Param(round(1.0 / pitch, 4), f"full elevator pitches with {pitch:.3g} rad/s, damping alone"),
        "PTCH_RATE_P": Param(round(0.5 / pitch, 4), f"0.5 of FF; pitch damps with {lag:.2g} s"),
        "PTCH_RATE_I": Param(round(0.5 / pitch, 4), "0.5 of FF"),
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
        **_motors(spec, "Q_M_", "Q_A_RAT_"),
        **_battery(spec),
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
