"""PX4 airframes of the catalogue: parameters and output channels from a vehicle's own numbers.

An airframe is written as a start-up file of PX4 (`script`) with `param set-default` for every parameter. This avoids a
trap of overriding parameters by environment variables: a value that equals PX4's compiled default is not stored there,
and the default of the chosen airframe wins [PX4Sim].
Geometry goes to PX4's control allocation, thrust curve and weight to its hover throttle. Gains of rates are set so that
the loop has the bandwidth of the vehicle's own controller; gains of wings are from the coefficients, or those of PX4's
simulated aircraft [GazeboPlane] where the vehicle is that aircraft.
The vehicle's own battery reaches PX4 another way (`px4_battery`); PX4 simulates one where a vehicle has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
from ironbird.links.px4_battery import has_battery
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.multicopter import MotorTable, MulticopterSpec, RotorTable
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec
from ironbird.vehicles.templates.underwater import UnderwaterSpec
from ironbird.vehicles.templates.vtol import VtolSpec, hover_spec
from ironbird.vehicles.templates.vtol import allocation as wing_allocation

AUTOSTART = 22450  # free for own airframes
ROVER_HZ = 100  # PX4's rovers control by the clock at this rate, not with each sample of a gyroscope
GRAVITY = 9.80665
DENSITY = 1.225
MOTOR, SERVO = 101, 201  # first output functions
# Set to defaults of their own by PX4's start-up after the airframe was read: these need `param set`
LATE = ("IMU_INTEG_RATE", "EKF2_GPS_DELAY", "EKF2_MULTI_IMU", "SENS_IMU_MODE", "COM_MODE_ARM_CHK")
# MAV_TYPE
QUAD, HEXA, OCTO, PLANE, ROVER, BOAT, SUBMARINE, TAIL_SITTER, QUADPLANE = 2, 13, 14, 1, 10, 11, 12, 20, 22
# Ratios of PX4's default gains of rates: integral and derivative over proportional
RATE_I, RATE_D, YAW_I = 0.2 / 0.15, 0.003 / 0.15, 0.1 / 0.2
MOST_CT, MOST_YAW_GAIN = 100.0, 0.6  # that PX4 takes: CA_ROTORn_CT, of which only the ratios count, and MC_YAWRATE_P
LEAST_THRUST = 0.12 / 0.5  # of PX4's defaults, over that of hover
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

Params = dict[str, float]


@dataclass(frozen=True)
class Governor:
    """A motor controller in speed mode: PX4's rovers command a speed, and steer by what they commanded.

    It drives with `gain_1ps` times what the speed ahead is short of, and brakes where that is against the motion.
    """

    drive: str  # places
    brake: str
    full_mps: float  # the speed of full throttle
    gain_1ps: float
    drive_mps2: float  # acceleration by full drive
    brake_mps2: float


@dataclass(frozen=True)
class Airframe:
    """What PX4 must know of a vehicle, and where its outputs go."""

    defaults: str  # start-up file of the kind of vehicle: `rc.mc_defaults`
    channels: tuple[str, ...]  # actuator places of output 1, 2, ...; empty where there is none
    params: Params
    rate_hz: int = 250  # steps a second; at no more than this each is answered by one message of controls
    mute: bool = False  # no controls while disarmed
    turn: np.ndarray | None = None  # R_HB: PX4's body axes are level in hover
    water_Papm: float = 0.0  # weight of a metre of water: position and depth go as odometry; 0 in the air
    parked: tuple[str, ...] = ()  # at 1 while disarmed
    released: tuple[str, ...] = ()  # at 1 some time after arming
    release_s: float = 3.0
    governor: Governor | None = None
    late: Params = field(default_factory=dict)

    def with_params(self, params: Mapping[str, float]) -> Airframe:
        """The same with parameters of one's own on top."""
        late = {name: value for name, value in params.items() if name in LATE}
        early = {name: value for name, value in params.items() if name not in LATE}
        return replace(self, params=self.params | early, late=self.late | late)

    def script(self, title: str) -> str:
        """The airframe as a start-up file of PX4."""
        lines = ["#!/bin/sh", f"# @name {title}", "", f". ${{R}}etc/init.d/{self.defaults}", ""]
        lines += [f"param set-default {name} {number(value)}" for name, value in sorted(self.params.items())]
        lines += [f"param set {name} {number(value)}" for name, value in sorted(self.late.items())]
        return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A parameter's value as PX4 reads it: whole numbers without a point."""
    return str(value) if isinstance(value, int) else f"{value:.9g}" + ("" if value % 1 else ".0")


def airframe_of(vehicle: Vehicle, *, rate_hz: int | None = None) -> Airframe:
    """PX4's view of a vehicle; `LinkError` where PX4 has none. `rate_hz` is of steps, if not the airframe's own."""
    spec = vehicle.spec
    maker = MAKERS.get(type(spec))
    if maker is None:
        raise LinkError(f"PX4 has no airframe for vehicle '{spec.id}' (template {spec.template})")
    airframe = maker(spec)
    airframe = replace(airframe, rate_hz=rate_hz or airframe.rate_hz)
    chip = vehicle.diagram.blocks.get("gnss/1/chip")
    late: Params = {}
    if isinstance(chip, Gnss) and not airframe.water_Papm:
        late["EKF2_GPS_DELAY"] = 1000 * chip.latency_s
    if airframe.rate_hz != 250:
        late |= {"IMU_INTEG_RATE": airframe.rate_hz, "IMU_GYRO_RATEMAX": max(airframe.rate_hz, 400)}
    if "imu/2/gyro_fault" not in vehicle.diagram.blocks:  # one unit, one estimator
        late |= {"EKF2_MULTI_IMU": 0, "SENS_IMU_MODE": 1}
    if has_battery(vehicle):
        late["SIM_BAT_ENABLE"] = 0
    return airframe.with_params(late)


def _outputs(channels: Mapping[str, int]) -> Params:
    """PWM_MAIN_FUNCn for places with their functions, in order."""
    return {f"PWM_MAIN_FUNC{n}": function for n, function in enumerate(channels.values(), start=1)}


# --- rotors


def thrust_factor(motor: MotorTable) -> float:
    """THR_MDL_FAC f of T(u)/T(1) = f u^2 + (1 - f) u, by least squares over the motor's curve."""
    u = np.linspace(0.0, 1.0, 101)
    speed = np.maximum(motor.idle_speed_radps + motor.slope_radps * u + motor.quadratic_radps * u * u, 0.0)
    thrust, bow = (speed / speed[-1]) ** 2, u * u - u
    return float(np.clip((thrust - u) @ bow / (bow @ bow), 0.0, 1.0))


def full_thrust(spec: MulticopterSpec, rotor: RotorTable) -> float:
    """Of a rotor, N."""
    return spec.propeller[rotor.propeller].thrust_coefficient_Ns2 * spec.motor[rotor.motor].top_speed_radps() ** 2


def _moment(spec: MulticopterSpec, rotor: RotorTable) -> np.ndarray:
    """Of a rotor at full thrust, about roll, pitch and yaw, Nm."""
    blades, axis = spec.propeller[rotor.propeller], np.array(rotor.axis_B)
    arm = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
    turn = np.cross(rotor.position_B_m, axis) - (1 if rotor.spin == "ccw" else -1) * arm * axis
    return np.asarray(full_thrust(spec, rotor) * turn)


def _lift(spec: MulticopterSpec, rotor: RotorTable) -> float:
    """Of a rotor at full thrust, N upwards."""
    return -full_thrust(spec, rotor) * rotor.axis_B[2]


def _rotor_params(spec: MulticopterSpec, rotors: list[RotorTable]) -> Params:
    """Rotors for the control allocation: KM is positive for torque of a counterclockwise rotor [PX4].

    A lifting rotor is given upright with the moments that it makes. PX4 would spend part of the moments on side forces
    of tilted rotors, which nobody asks for, and stop integrating for what is missing.
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
    sqrt(n/2) of the rotors that take part, yaw by its greatest entry [PX4].
    """
    columns = [[*_moment(spec, rotor), _lift(spec, rotor)] for rotor in spec.rotor]
    scale = turning_scale(np.linalg.pinv(np.array(columns).T))
    return np.asarray(1 / (scale * np.diag(spec.body.inertia())))


def turning_scale(mix: np.ndarray) -> np.ndarray:
    """By what PX4 divides the columns of roll, pitch and yaw of a pseudo-inverse: `authority`."""
    tilt = max(math.sqrt(2 * (c @ c) / max(int((np.abs(c) > 1e-3).sum()), 1)) for c in (mix[:, 0], mix[:, 1]))
    return np.array([tilt, tilt, mix[:, 2].max()])


def hover_thrust(spec: MulticopterSpec) -> float:
    """Weight over full thrust, upwards."""
    return spec.body.mass_kg * GRAVITY / sum(_lift(spec, rotor) for rotor in spec.rotor)


def _hover_params(spec: MulticopterSpec) -> Params:
    gain = np.array(spec.control.rate_gain) / authority(spec)
    yaw = min(gain[2], MOST_YAW_GAIN)  # the rest is MC_YAWRATE_K, a factor on all three
    params: Params = {
        "MPC_THR_HOVER": hover_thrust(spec), "MPC_THR_MIN": np.clip(LEAST_THRUST * hover_thrust(spec), 0.05, 0.12),
        "THR_MDL_FAC": float(np.mean([thrust_factor(spec.motor[rotor.motor]) for rotor in spec.rotor])),
        # The least that PX4 takes: 3 m/s, 2 m/s^2
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


def _multicopter(spec: MulticopterSpec) -> Airframe:
    if spec.tail is not None:
        raise LinkError(f"PX4: vehicle '{spec.id}' yaws with a tilted rotor; there is no airframe for that here")
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(spec.rotor))}
    kind = {6: HEXA, 8: OCTO}.get(len(spec.rotor), QUAD)
    params: Params = {"CA_AIRFRAME": 0, "MAV_TYPE": kind, "NAV_DLL_ACT": 0}
    params |= _rotor_params(spec, spec.rotor) | _hover_params(spec) | _outputs(channels)
    return Airframe("rc.mc_defaults", tuple(channels), params)


# --- wings


def _surface_params(effect: np.ndarray, names: list[str]) -> Params:
    """CA_SV_CS*: how much each surface turns about roll, pitch, yaw; `effect` is 3 x n, of any size.

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
    """Feed-forward holds the rate against the damping (1/s); the rest of the bandwidth is proportional.

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
    pressure = 0.5 * DENSITY * speed**2 * wing.area_m2
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
    """Roll, pitch, yaw moment of each surface's positive deflection, 3 x n: sign and share."""
    wing = spec.wing
    turning = (wing.Cl_aileron, wing.Cm_elevator, wing.Cn_rudder) if wing else (1.0, -1.0, -1.0)  # as [BeardMcLain]
    return np.asarray(np.sign(turning)[:, None] * np.linalg.pinv(spec.mixing()))


def _flare_params(spec: FixedWingSpec) -> Params:
    """PX4 first takes the throttle back for a time at the old sink rate, then the sink rate for the same time [PX4].

    These are short, and the flare begins as high as they need with the lags of pitch and path, [BeardMcLain] Sec. 5.4.
    The nose is held up at least as in level flight at the speed of the approach: PX4 would lower it to keep that speed
    without throttle.
    """
    table, speed = spec.control, spec.control.approach_speed_mps
    time_s = 0.25 * table.flare_time_s
    sink = speed * math.sin(math.radians(table.glide_slope_deg))
    lift_angle = spec.lift_angle_rad() * (spec.start.airspeed_mps / speed) ** 2
    level = spec.start.angle_of_attack_rad + lift_angle - spec.lift_angle_rad()
    lost = time_s * (4 * sink + 2 * table.touch_sink_mps) / 3 + sink * (PITCH_LAG_S + speed * lift_angle / GRAVITY)
    return {
        "FW_LND_FL_TIME": time_s, "FW_LND_FL_SINK": table.touch_sink_mps, "FW_LND_FL_PMIN": math.degrees(level),
        "FW_LND_FLALT": max(point[2] for point in spec.contact.points_B_m) + lost, "FW_P_TC": PITCH_LAG_S,
    }  # fmt: skip


def _fixed_wing(spec: FixedWingSpec) -> Airframe:
    table, start = spec.control, spec.start
    channels = {f"surface/{name}": SERVO + n for n, name in enumerate(spec.surfaces)} | {"rotor/1": MOTOR}
    puller = spec.puller or spec.propeller or spec.simple_propeller
    assert puller is not None
    params: Params = {
        "CA_AIRFRAME": 1, "MAV_TYPE": PLANE, "CA_ROTOR_COUNT": 1, "NAV_DLL_ACT": 0,
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
    params = wing_gains(spec) | params | _surface_params(surface_effect(spec), list(spec.surfaces)) | _outputs(channels)
    return Airframe("rc.fw_defaults", tuple(channels), params, released=("launcher",))


def _energy_params(spec: VtolSpec) -> Params:
    """Throttle and vertical speeds on wings at cruise speed: climb with most thrust, sink without [BeardMcLain].

    Of lifting surfaces drag over lift is the same at all angles before the stall [LiftDrag].
    """
    wing, weight = spec.wing, spec.body.mass_kg * GRAVITY
    rotors = spec.rotor if spec.pusher is None else [spec.pusher]
    full = sum(full_thrust(spec, rotor) * rotor.axis_B[0] for rotor in rotors)
    largest = spec.aero[max(spec.surface, key=lambda surface: surface.area_m2).aero]
    drag = weight * largest.cda_prad / largest.cla_prad + spec.airframe.drag_Ns2pm2[0] * wing.cruise_speed_mps**2
    sink = wing.cruise_speed_mps * drag / weight
    return {
        "FW_THR_TRIM": drag / full, "FW_THR_MAX": wing.max_thrust_N / full, "FW_THR_MIN": 0.0,
        "FW_T_CLMB_MAX": wing.cruise_speed_mps * (wing.max_thrust_N - drag) / weight, "FW_T_SINK_MIN": sink,
        "FW_T_SINK_MAX": 1.5 * sink, "VT_F_TRANS_THR": wing.transition_thrust_N / full,
    }  # fmt: skip


def _vtol(spec: VtolSpec) -> Airframe:
    upright = hover_spec(spec)
    sitter = spec.pusher is None
    rotors = [*upright.rotor, *([spec.pusher] if spec.pusher else [])]
    moved = [surface.name for surface in spec.surface if surface.axes]
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(rotors))}
    channels |= {f"surface/{name}": SERVO + n for n, name in enumerate(moved)}
    effect = np.sign(wing_allocation(spec).T)  # about the axes of flight on wings
    wing = spec.wing
    params: Params = {
        "CA_AIRFRAME": 4 if sitter else 2, "MAV_TYPE": TAIL_SITTER if sitter else QUADPLANE,
        "VT_TYPE": 0 if sitter else 2, "VT_ARSP_TRANS": wing.transition_speed_mps, "NAV_DLL_ACT": 0,
        "VT_ARSP_BLEND": wing.blend_speed_mps, "FW_AIRSPD_TRIM": wing.cruise_speed_mps,
        "FW_AIRSPD_MIN": 0.7 * wing.cruise_speed_mps, "FW_AIRSPD_MAX": 1.5 * wing.cruise_speed_mps,
        "FW_AIRSPD_STALL": 0.6 * wing.cruise_speed_mps, "FW_R_LIM": wing.max_roll_deg,
        "NAV_ACC_RAD": wing.acceptance_radius_m, "MIS_TKO_LAND_REQ": 0,
    }  # fmt: skip
    params |= (TAIL_SITTER_GAINS if sitter else QUADPLANE_GAINS) | _energy_params(spec)
    params |= _rotor_params(spec, rotors) | _hover_params(upright)
    if sitter:
        params |= {"VT_B_TRANS_DUR": 90 / wing.transition_rate_degps, "MPC_TILTMAX_AIR": 60.0}
    params |= _surface_params(spec.rotation_HB() @ effect, moved) | _outputs(channels)
    turn = spec.rotation_HB() if sitter else None
    return Airframe("rc.vtol_defaults", tuple(channels), params, turn=turn)


# --- ground and water


def _rover_params(
    *, cruise_mps: float, full_mps: float, accel_mps2: float, turn_radps: float, arrived_m: float
) -> Params:
    return {
        "RO_MAX_THR_SPEED": full_mps, "RO_SPEED_LIM": cruise_mps, "RO_ACCEL_LIM": accel_mps2,
        "RO_DECEL_LIM": accel_mps2, "RO_JERK_LIM": 10.0 * accel_mps2, "RO_YAW_RATE_LIM": math.degrees(turn_radps),
        "RO_YAW_ACCEL_LIM": 400.0, "RO_YAW_DECEL_LIM": 800.0, "RO_YAW_P": 3.0, "RO_YAW_RATE_P": 0.25,
        "RO_YAW_RATE_I": 0.01, "RO_SPEED_RED": 1.0, "NAV_ACC_RAD": max(arrived_m, 0.05), "NAV_DLL_ACT": 0,
        "PP_LOOKAHD_GAIN": 1.0, "PP_LOOKAHD_MIN": max(cruise_mps, 0.2), "PP_LOOKAHD_MAX": max(5 * cruise_mps, 1.0),
    }  # fmt: skip


def _thrust_params(
    *, cruise_mps: float, force_N: float, resistance_N: float, mass_kg: float, braking_mps2: float, lag_s: float
) -> Params:
    """Where full throttle is a force: PX4's rovers take it for a speed, and slew it with acceleration over that speed.

    The speed is such that cruise gets the throttle that it needs. The limits of acceleration let the throttle change
    in a second; then PX4 brakes in proportion to the distance, half the jerk over the deceleration, and the feedback
    does what limits of acceleration would.
    """
    full = cruise_mps * force_N / resistance_N
    gain = mass_kg / (force_N * lag_s)
    return {
        "RO_MAX_THR_SPEED": full, "RO_ACCEL_LIM": full, "RO_DECEL_LIM": full,
        "RO_JERK_LIM": 2 * full * braking_mps2 / cruise_mps, "RO_SPEED_P": gain, "RO_SPEED_I": 0.05 * gain,
        "RO_YAW_RATE_TH": 0.5,
    }  # fmt: skip


def _car(spec: CarSpec) -> Airframe:
    channels = {"steering": SERVO, "drive": MOTOR}
    table, wheels, steering, mass = spec.control, spec.wheels, spec.steering, spec.body.mass_kg
    base, cruise = spec.body.front_m + spec.body.rear_m, table.cruise_speed_mps
    tightest, full = base / math.tan(steering.max_angle_rad), 1.2 * cruise
    rate = table.max_lateral_mps2 / cruise
    params = _rover_params(
        cruise_mps=cruise, full_mps=full, accel_mps2=table.cruise_acceleration_mps2, turn_radps=rate,
        arrived_m=max(table.arrived_m, tightest),
    )  # fmt: skip
    params |= {
        "CA_AIRFRAME": 5, "CA_R_REV": 1, "MAV_TYPE": ROVER, "RA_WHEEL_BASE": base,
        "RA_MAX_STR_ANG": steering.max_angle_rad, "RA_STR_RATE_LIM": math.degrees(steering.max_rate_radps),
        "RA_ACC_RAD_GAIN": 1.0, "RA_ACC_RAD_MAX": max(table.turn_radius_m, tightest),
        # So slow where the course is 90 degrees off that the turn is the tightest: it cannot circle round a place
        "RO_SPEED_RED": 2 * (1 - min(rate * tightest / full, 1.0)),
        # The throttle may fall twice as fast as the braking needs that these give at cruise speed
        "RO_DECEL_LIM": 2 * table.cruise_acceleration_mps2,
        "RO_JERK_LIM": 8 * table.cruise_acceleration_mps2**2 / cruise,
        "RO_SPEED_P": 0.01, "RO_SPEED_I": 0.01, "RO_YAW_RATE_P": 0.1, "RO_YAW_RATE_I": 0.1, "RO_YAW_P": 1.5,
        "PP_LOOKAHD_GAIN": 1.5, "PP_LOOKAHD_MIN": 1.5 * base,
    }  # fmt: skip
    return Airframe(
        "rc.rover_ackermann_defaults", tuple(channels), params | _outputs(channels), rate_hz=ROVER_HZ, mute=True,
        parked=("brake",), governor=Governor(
            "drive", "brake", full_mps=full, gain_1ps=2 * table.speed_gain_1ps, drive_mps2=wheels.drive_force_N / mass,
            brake_mps2=wheels.brake_force_N / mass,
        ),
    )  # fmt: skip


def _rover(spec: RoverSpec) -> Airframe:
    channels = {"wheel/right": MOTOR, "wheel/left": MOTOR + 1}
    full = spec.wheels.radius_m * spec.wheels.max_speed_radps
    params = _rover_params(
        cruise_mps=spec.control.cruise_speed_mps, full_mps=full, accel_mps2=spec.control.cruise_acceleration_mps2,
        turn_radps=spec.control.max_turn_radps, arrived_m=spec.control.arrived_m,
    )  # fmt: skip
    params |= {
        "CA_AIRFRAME": 6, "CA_R_REV": 3, "MAV_TYPE": ROVER, "RD_WHEEL_TRACK": spec.wheels.separation_m,
        "RD_TRANS_DRV_TRN": 0.785398, "RD_TRANS_TRN_DRV": 0.174533, "RO_SPEED_P": 0.01, "RO_SPEED_I": 0.01,
        "RO_YAW_RATE_CORR": 1.0,
    }  # fmt: skip
    return _differential(channels, params)


def _differential(channels: Mapping[str, int], params: Params) -> Airframe:
    return Airframe(
        "rc.rover_differential_defaults", tuple(channels), params | _outputs(channels), rate_hz=ROVER_HZ, mute=True
    )


def _boat(spec: SurfaceVesselSpec) -> Airframe:
    """PX4's own boat airframe does not start in v1.17: two thrusters side by side are a differential rover."""
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
        cruise_mps=speed, force_N=thrust, lag_s=1.0,
        resistance_N=damping.linear_Nspm[0] * speed + damping.quadratic_Ns2pm2[0] * speed**2,
        mass_kg=body.mass_kg + body.added_mass_kg[0], braking_mps2=0.1 * speed,
    )  # fmt: skip
    inertia = float(body.inertia()[2, 2]) + body.added_inertia_kgm2[2]
    # Moment over rate at half the greatest rate; throttles differ by it over `moment`
    turning = damping.angular_linear_Nmsprad[2] + damping.angular_quadratic_Nms2prad2[2] * 0.5 * rate
    params |= {
        "CA_AIRFRAME": 6, "CA_R_REV": 3, "MAV_TYPE": BOAT, "RD_WHEEL_TRACK": track, "THR_MDL_FAC": 1.0,
        "RD_TRANS_DRV_TRN": math.pi, "RD_TRANS_TRN_DRV": math.pi / 2,  # it does not turn on the spot
        "RO_YAW_RATE_CORR": turning / moment * 2 * params["RO_MAX_THR_SPEED"] / track,
        "RO_YAW_RATE_P": 2.0 * inertia / moment, "RO_YAW_RATE_I": 0.1, "RO_YAW_P": table.heading_gain,
        "PP_LOOKAHD_MIN": table.lookahead_m, "PP_LOOKAHD_MAX": 2 * table.lookahead_m,
    }  # fmt: skip
    return _differential(channels, params)


def _underwater(spec: UnderwaterSpec) -> Airframe:
    if spec.fin:
        raise LinkError(f"PX4: vehicle '{spec.id}' steers with fins; there is no airframe for that")
    table, body = spec.station, spec.body
    assert table is not None
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(spec.thruster))}
    params: Params = {
        "CA_AIRFRAME": 7, "MAV_TYPE": SUBMARINE, "CA_ROTOR_COUNT": len(spec.thruster), "NAV_DLL_ACT": 0,
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
    weight = spec.buoyancy.density_kgpm3 * GRAVITY
    home = spec.home
    north, east, _ = local_field(home.latitude_rad, home.longitude_rad, home.height_m, home.year)["field_home"]
    params["EKF2_MAG_DECL"] = math.degrees(math.atan2(east, north))  # without satellites PX4 cannot look it up
    return Airframe("rc.uuv_defaults", tuple(channels), params | _outputs(channels), water_Papm=weight)


MAKERS: dict[type[VehicleSpec], Callable[..., Airframe]] = {
    MulticopterSpec: _multicopter, FixedWingSpec: _fixed_wing, VtolSpec: _vtol, CarSpec: _car, RoverSpec: _rover,
    SurfaceVesselSpec: _boat, UnderwaterSpec: _underwater,
}  # fmt: skip
