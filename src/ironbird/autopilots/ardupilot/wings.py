"""ArduPilot's parameters of fixed-wing aircraft and of those that also hover."""

from __future__ import annotations

import math

from ironbird.autopilots.ardupilot.channels import ELEVON_LEFT, ELEVON_RIGHT, Fit, Wiring, wire_plane, wire_vtol
from ironbird.autopilots.ardupilot.rotors import RANGEFINDER, battery_params, motor_params
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.protocols.parm_file import Param, Params
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.vtol import VtolSpec, hover_spec

FULL_SURFACE_RAD = math.radians(45)  # ArduPilot's rate loops put out 45 degrees for a full deflection [ArduPilotCode]
ANGLE_TIME_S = 0.5  # default of RLL2SRV_TCONST and PTCH2SRV_TCONST: a rate is an angle over this


def plane_params(spec: FixedWingSpec, wiring: Wiring) -> Params:
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
    """Parameters of the rate loops from the gains of the vehicle file, for the same response to angle and rate."""
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
    """Parameters for the share of an elevon's travel that full elevator, and full aileron, take."""
    for channel in wiring.channels:
        if channel.function in (ELEVON_LEFT, ELEVON_RIGHT):
            share = abs(spec.surfaces[channel.place.removeprefix("surface/")][1])
            return {"MIXING_GAIN": Param(share, "as in the table surfaces")}
    return {}


def _surface_gains(spec: FixedWingSpec) -> Params:
    """Rate loops of roll and pitch from the effect of full deflection at cruise speed, if coefficients are known."""
    if spec.wing is None:
        return _file_gains(spec)
    wing, travel = spec.wing, spec.servo.travel_rad
    speed = spec.control.cruise_speed_mps
    # Steady roll rate at full aileron: damping against deflection, [BeardMcLain] Ch. 4
    roll = abs(wing.Cl_aileron) * travel / abs(wing.Cl_p) * 2 * speed / wing.span_m
    inertia = spec.body.inertia_kgm2[1][1]
    moment = 0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed**2 * wing.area_m2 * wing.chord_m
    # Elevator for a steady pull-up: against the damping, and against the angle of attack whose lift bends the path
    damped = abs(wing.Cm_q) * wing.chord_m / (2 * speed)
    bent = (
        abs(wing.Cm_alpha)
        * spec.body.mass_kg
        * speed
        / (0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed**2 * wing.area_m2 * wing.CL_alpha)
    )
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


def quadplane_params(spec: VtolSpec, wiring: Wiring) -> Params:
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
        **motor_params(hover_spec(spec), "Q_M_", "Q_A_RAT_"),
        **battery_params(spec),
        **(_tail_sitter(spec) if spec.pusher is None else {}),
    }


def _tail_sitter(spec: VtolSpec) -> Params:
    return {
        "Q_TAILSIT_ENABLE": Param(1, "stands on its tail"),
        "Q_TAILSIT_MOTMX": Param(2 ** len(spec.rotor) - 1, "all rotors go on in forward flight"),
        "Q_TAILSIT_RAT_FW": Param(spec.wing.transition_rate_degps, "wing.transition_rate_degps"),
        "Q_TAILSIT_RAT_VT": Param(spec.wing.transition_rate_degps, "the same"),
    }


PLANE, QUADPLANE = Fit(wire_plane, plane_params), Fit(wire_vtol, quadplane_params)
