"""PX4's parameters of wings and VTOLs: surfaces, rates, energy, launch, flare, transition.

Gains of wings are from the coefficients, or those of PX4's simulated aircraft [GazeboPlane] where the vehicle is that
aircraft.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.autopilots.px4.airframe import MOTOR, SERVO, Airframe, Params, outputs
from ironbird.autopilots.px4.rotors import full_thrust, hover_params, rotor_params
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.errors import LinkError
from ironbird.protocols.mavlink import numbers
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.vtol import VtolSpec, hover_spec
from ironbird.vehicles.templates.vtol import allocation as wing_allocation

WING_BANDWIDTH_RADPS = 8.0
PITCH_LAG_S = 0.4  # of wings, PX4's default
# Gains of PX4's simulated aircraft: airframes 1030, 1040, 1041 of [PX4]
PLANE_GAINS: dict[str, float] = {
    "FW_PR_P": 0.9, "FW_PR_FF": 0.5, "FW_PR_I": 0.5, "FW_RR_FF": 0.5, "FW_RR_P": 0.3, "FW_RR_I": 0.5, "FW_YR_FF": 0.5,
    "FW_YR_P": 0.6, "FW_YR_I": 0.5, "FW_T_CLMB_MAX": 8.0, "FW_T_SINK_MAX": 2.7, "FW_T_SINK_MIN": 2.2,
    "FW_THR_MAX": 0.6, "FW_THR_MIN": 0.05, "FW_P_LIM_MIN": -15.0,
}  # fmt: skip
QUADPLANE_GAINS: dict[str, float] = {
    "FW_PR_FF": 0.2, "FW_PR_P": 0.9, "FW_P_LIM_MIN": -15.0, "FW_RR_FF": 0.1, "FW_RR_P": 0.3, "MC_AIRMODE": 1,
    "VT_FWD_THRUST_EN": 4, "VT_FWD_THRUST_SC": 1.0, "FD_ACT_EN": 0,
}  # fmt: skip
TAIL_SITTER_GAINS: dict[str, float] = {
    "EKF2_FUSE_BETA": 0, "FW_P_TC": 0.6, "FW_PR_FF": 0.0, "FW_RR_FF": 0.1, "FW_RR_I": 0.2, "FW_RR_P": 0.5,
    "FW_T_HRATE_FF": 0.5, "MC_AIRMODE": 1, "VT_FW_DIFTHR_EN": 1, "VT_FW_DIFTHR_S_Y": 1.0, "VT_F_TRANS_DUR": 1.5,
    "VT_ELEV_MC_LOCK": 0, "WV_EN": 0,
}  # fmt: skip
# Kinds of control surfaces, CA_SV_CSn_TYPE
LEFT_AILERON, RIGHT_AILERON, ELEVATOR, RUDDER, LEFT_ELEVON, RIGHT_ELEVON, ONE_AILERON = 1, 2, 3, 4, 5, 6, 15


def _surface_params(effect: np.ndarray, names: list[str]) -> Params:
    """CA_SV_CS*: effect of each surface about roll, pitch, yaw; `effect` is 3 x n, in any unit.

    Scaled so that the pseudo-inverse gives full deflection for a full command.
    """
    params: Params = {"CA_SV_CS_COUNT": len(names)}
    size = np.abs(effect).sum(axis=1, keepdims=True)
    share = effect / np.where(size > 0, size, 1.0)
    for n, name in enumerate(names):
        roll, pitch, yaw = (float(value) + 0.0 for value in share[:, n])
        left = "left" in name
        if pitch and (roll or yaw):
            kind = LEFT_ELEVON if left else RIGHT_ELEVON
        elif roll:
            kind = ONE_AILERON if abs(roll) == 1 else LEFT_AILERON if left else RIGHT_AILERON
        else:
            kind = ELEVATOR if pitch else RUDDER
        params |= {
            f"CA_SV_CS{n}_TYPE": kind, f"CA_SV_CS{n}_TRQ_R": roll, f"CA_SV_CS{n}_TRQ_P": pitch,
            f"CA_SV_CS{n}_TRQ_Y": yaw,
        }  # fmt: skip
    return params


def _rate_gains(axis: str, effect: float, damping: float) -> Params:
    """Gains of one rate loop: feed-forward balances the damping (1/s), the rest of the bandwidth is proportional.

    `effect` is the angular acceleration per unit of command at cruise speed.
    """
    forward = damping / effect
    proportional = max((WING_BANDWIDTH_RADPS - damping) / effect, 0.3 * forward)
    return {f"FW_{axis}R_FF": forward, f"FW_{axis}R_P": proportional, f"FW_{axis}R_I": proportional + forward}


def wing_gains(spec: FixedWingSpec) -> Params:
    """Gains of the rates about roll, pitch and yaw from the coefficients, at cruise speed [BeardMcLain]."""
    wing = spec.wing
    if wing is None:
        return dict(PLANE_GAINS)
    speed, travel = spec.control.cruise_speed_mps, spec.servo.travel_rad
    pressure = 0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed**2 * wing.area_m2
    inertia = np.diag(np.array(spec.body.inertia_kgm2))
    params: Params = {}
    for axis, length, i, turning, damping in (
        ("R", wing.span_m, 0, wing.Cl_aileron, wing.Cl_p),
        ("P", wing.chord_m, 1, wing.Cm_elevator, wing.Cm_q),
        ("Y", wing.span_m, 2, wing.Cn_rudder, wing.Cn_r),
    ):
        if turning:
            moment = pressure * length / inertia[i]
            params |= _rate_gains(axis, moment * abs(turning) * travel, moment * abs(damping) * length / (2 * speed))
    return params


def surface_effect(spec: FixedWingSpec) -> np.ndarray:
    """Moments about roll, pitch, yaw of each surface's positive deflection, 3 x n: sign and share."""
    wing = spec.wing
    turning = (wing.Cl_aileron, wing.Cm_elevator, wing.Cn_rudder) if wing else (1.0, -1.0, -1.0)  # as [BeardMcLain]
    return np.asarray(np.sign(turning)[:, None] * np.linalg.pinv(spec.mixing()))


def _flare_params(spec: FixedWingSpec) -> Params:
    """Parameters of the flare: PX4 first reduces throttle for a time, then the sink rate for the same time [PX4].

    These times are short, and the flare begins as high as they need with the lags of pitch and path, [BeardMcLain]
    Sec. 5.4.
    The nose is held up at least as in level flight at the speed of the approach: PX4 would lower it to keep that speed
    without throttle.
    """
    table, speed = spec.control, spec.control.approach_speed_mps
    time_s = 0.25 * table.flare_time_s
    sink = speed * math.sin(math.radians(table.glide_slope_deg))
    lift_angle = spec.lift_angle_rad() * (spec.start.airspeed_mps / speed) ** 2
    level = spec.start.angle_of_attack_rad + lift_angle - spec.lift_angle_rad()
    lost = time_s * (4 * sink + 2 * table.touch_sink_mps) / 3 + sink * (
        PITCH_LAG_S + speed * lift_angle / STANDARD_GRAVITY_MPS2
    )
    return {
        "FW_LND_FL_TIME": time_s,
        "FW_LND_FL_SINK": table.touch_sink_mps,
        "FW_LND_FL_PMIN": math.degrees(level),
        "FW_LND_FLALT": max(point[2] for point in spec.contact.points_B_m) + lost,
        "FW_P_TC": PITCH_LAG_S,
    }


def fixed_wing_airframe(spec: FixedWingSpec) -> Airframe:
    if spec.launcher is None or spec.runway is not None:
        raise LinkError(
            f"vehicle '{spec.id}' takes off on wheels, for which PX4 has no airframe here; fly it with the "
            "reference autopilot, or take its base without the table runway"
        )
    table, start = spec.control, spec.start
    channels = {f"surface/{name}": SERVO + n for n, name in enumerate(spec.surfaces)} | {"rotor/1": MOTOR}
    puller = spec.puller or spec.propeller or spec.simple_propeller or spec.rated_propeller
    assert puller is not None
    params: Params = {
        "CA_AIRFRAME": 1, "MAV_TYPE": numbers.MAV_TYPE_FIXED_WING, "CA_ROTOR_COUNT": 1, "NAV_DLL_ACT": 0,
        "CA_ROTOR0_PX": float(puller.position_B_m[0]), "CA_ROTOR0_AX": 1.0, "CA_ROTOR0_AZ": 0.0,
        "FW_AIRSPD_TRIM": table.cruise_speed_mps, "FW_AIRSPD_MAX": 1.4 * table.cruise_speed_mps,
        "FW_AIRSPD_MIN": max(table.min_speed_mps, 0.6 * table.cruise_speed_mps),
        "FW_AIRSPD_STALL": 0.9 * table.min_speed_mps,
        "FW_THR_TRIM": start.throttle, "FW_THR_MAX": table.full_throttle, "FW_THR_MIN": 0.0,
        "FW_PSP_OFF": 0.0,  # v1.17 counts limits of pitch from it, but pitch itself not
        "FW_R_LIM": max(table.max_roll_deg, 35.0),  # here and below: the least or most that PX4 takes
        "FW_P_LIM_MAX": table.pitch_high_deg, "FW_P_LIM_MIN": table.pitch_low_deg,
        "FW_T_CLMB_MAX": max(table.max_climb_mps, 1.0), "FW_T_SINK_MAX": table.max_sink_mps,
        "FW_T_SINK_MIN": 0.7 * table.max_sink_mps, "FW_LND_ANG": table.glide_slope_deg,
        "FW_LND_AIRSPD": table.approach_speed_mps, "NPFG_PERIOD": table.l1_period_s,
        "NAV_LOITER_RAD": table.loiter_radius_m, "NAV_ACC_RAD": table.acceptance_radius_m,
        "MIS_TAKEOFF_ALT": table.take_off_height_m, "FW_TKO_PITCH_MIN": table.take_off_pitch_deg,
        # A positive elevator turns the nose down
        "TRIM_PITCH": float(np.clip(-start.elevator_rad / spec.servo.travel_rad, -0.5, 0.5)),
        "FW_LAUN_DETCN_ON": 1, "RWTO_TKOFF": 0, "MIS_TKO_LAND_REQ": 0, "FW_LND_ABORT": 0,
        "FW_LAUN_AC_THLD": 0.5 * spec.launcher.pull_N / spec.body.mass_kg,
    }  # fmt: skip
    params |= _flare_params(spec)
    params = wing_gains(spec) | params | _surface_params(surface_effect(spec), list(spec.surfaces)) | outputs(channels)
    return Airframe("rc.fw_defaults", tuple(channels), params, released=("launcher",))


def _energy_params(spec: VtolSpec) -> Params:
    """Parameters of PX4's energy control at cruise speed: throttle, climb at full thrust, sink without [BeardMcLain].

    A wing of lifting surfaces has one ratio of drag to lift at all angles of attack below the stall [LiftDrag].
    """
    wing, weight = spec.wing, spec.body.mass_kg * STANDARD_GRAVITY_MPS2
    rotors = spec.rotor if spec.pusher is None else [spec.pusher]
    full = sum(full_thrust(spec, rotor) * rotor.axis_B[0] for rotor in rotors)
    largest = spec.aero[max(spec.surface, key=lambda surface: surface.area_m2).aero]
    drag = weight * largest.cda_prad / largest.cla_prad + spec.airframe.drag_Ns2pm2[0] * wing.cruise_speed_mps**2
    sink = wing.cruise_speed_mps * drag / weight
    return {
        "FW_THR_TRIM": drag / full,
        "FW_THR_MAX": wing.max_thrust_N / full,
        "FW_THR_MIN": 0.0,
        "FW_T_CLMB_MAX": wing.cruise_speed_mps * (wing.max_thrust_N - drag) / weight,
        "FW_T_SINK_MIN": sink,
        "FW_T_SINK_MAX": 1.5 * sink,
        "VT_F_TRANS_THR": wing.transition_thrust_N / full,
    }


def vtol_airframe(spec: VtolSpec) -> Airframe:
    upright = hover_spec(spec)
    sitter = spec.pusher is None
    rotors = [*upright.rotor, *([spec.pusher] if spec.pusher else [])]
    moved = [surface.name for surface in spec.surface if surface.axes]
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(rotors))}
    channels |= {f"surface/{name}": SERVO + n for n, name in enumerate(moved)}
    effect = np.sign(wing_allocation(spec).T)  # about the axes of flight on wings
    wing = spec.wing
    kind = numbers.MAV_TYPE_VTOL_QUADROTOR if sitter else numbers.MAV_TYPE_VTOL_FIXEDROTOR
    params: Params = {
        "CA_AIRFRAME": 4 if sitter else 2, "MAV_TYPE": kind,
        "VT_TYPE": 0 if sitter else 2, "VT_ARSP_TRANS": wing.transition_speed_mps, "NAV_DLL_ACT": 0,
        "VT_ARSP_BLEND": wing.blend_speed_mps, "FW_AIRSPD_TRIM": wing.cruise_speed_mps,
        "FW_AIRSPD_MIN": 0.7 * wing.cruise_speed_mps, "FW_AIRSPD_MAX": 1.5 * wing.cruise_speed_mps,
        "FW_AIRSPD_STALL": 0.6 * wing.cruise_speed_mps, "FW_R_LIM": wing.max_roll_deg,
        "NAV_ACC_RAD": wing.acceptance_radius_m, "MIS_TKO_LAND_REQ": 0,
    }  # fmt: skip
    params |= (TAIL_SITTER_GAINS if sitter else QUADPLANE_GAINS) | _energy_params(spec)
    params |= rotor_params(spec, rotors) | hover_params(upright)
    if sitter:
        params |= {"VT_B_TRANS_DUR": 90 / wing.transition_rate_degps, "MPC_TILTMAX_AIR": 60.0}
    params |= _surface_params(spec.rotation_HB() @ effect, moved) | outputs(channels)
    turn = spec.rotation_HB() if sitter else None
    return Airframe("rc.vtol_defaults", tuple(channels), params, turn=turn)
