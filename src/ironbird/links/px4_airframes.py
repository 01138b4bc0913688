"""PX4 airframes of the catalogue: parameters and output channels from a vehicle's own numbers.

An airframe is written as a start-up file of PX4 (`script`) with `param set-default` for every parameter. This avoids a
trap of overriding parameters by environment variables: a value that equals PX4's compiled default is not stored there,
and the default of the chosen airframe wins [PX4Sim].
Geometry goes to PX4's control allocation, thrust curve and weight to its hover throttle. Gains of rates are set so that
the loop has the bandwidth of the vehicle's own controller; gains of wings are from the coefficients, or those of PX4's
simulated aircraft [GazeboPlane] where the vehicle is that aircraft.
Not modelled: the battery; PX4 simulates its own, and the link has no message for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
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
GRAVITY = 9.80665
DENSITY = 1.225
MOTOR, SERVO = 101, 201  # first output functions
# Set to defaults of their own by PX4's start-up after the airframe was read: these need `param set`
LATE = ("IMU_INTEG_RATE", "EKF2_GPS_DELAY", "EKF2_MULTI_IMU", "SENS_IMU_MODE", "COM_MODE_ARM_CHK")
# MAV_TYPE
QUAD, HEXA, OCTO, PLANE, ROVER, BOAT, SUBMARINE, TAIL_SITTER, QUADPLANE = 2, 13, 14, 1, 10, 11, 12, 20, 22
# Ratios of PX4's default gains of rates: integral and derivative over proportional
RATE_I, RATE_D, YAW_I = 0.2 / 0.15, 0.003 / 0.15, 0.1 / 0.2
WING_BANDWIDTH_RADPS = 8.0
# Gains of PX4's simulated aircraft: airframes 1030, 1040, 1041 of [PX4]
PLANE_GAINS: dict[str, float] = {
    "FW_PR_P": 0.9, "FW_PR_FF": 0.5, "FW_PR_I": 0.5, "FW_RR_FF": 0.5, "FW_RR_P": 0.3, "FW_RR_I": 0.5, "FW_YR_FF": 0.5,
    "FW_YR_P": 0.6, "FW_YR_I": 0.5, "FW_T_CLMB_MAX": 8.0, "FW_T_SINK_MAX": 2.7, "FW_T_SINK_MIN": 2.2,
    "FW_THR_MAX": 0.6, "FW_THR_MIN": 0.05, "FW_P_LIM_MIN": -15.0,
}  # fmt: skip
QUADPLANE_GAINS: dict[str, float] = {
    "FW_PR_FF": 0.2, "FW_PR_P": 0.9, "FW_PSP_OFF": 2.0, "FW_P_LIM_MIN": -15.0, "FW_RR_FF": 0.1, "FW_RR_P": 0.3,
    "FW_THR_TRIM": 0.25, "FW_THR_MAX": 0.6, "FW_THR_MIN": 0.05, "FW_T_CLMB_MAX": 8.0, "FW_T_SINK_MAX": 2.7,
    "FW_T_SINK_MIN": 2.2, "MC_AIRMODE": 1, "VT_FWD_THRUST_EN": 4, "VT_FWD_THRUST_SC": 1.0, "VT_F_TRANS_THR": 0.75,
    "FD_ACT_EN": 0,
}  # fmt: skip
TAIL_SITTER_GAINS: dict[str, float] = {
    "EKF2_FUSE_BETA": 0, "FW_P_TC": 0.6, "FW_PR_FF": 0.0, "FW_PSP_OFF": 2.0, "FW_RR_FF": 0.1, "FW_RR_I": 0.2,
    "FW_RR_P": 0.5, "FW_THR_TRIM": 0.35, "FW_THR_MAX": 0.8, "FW_THR_MIN": 0.05, "FW_T_CLMB_MAX": 6.0,
    "FW_T_HRATE_FF": 0.5, "FW_T_SINK_MAX": 3.0, "FW_T_SINK_MIN": 1.6, "MC_AIRMODE": 1, "VT_B_TRANS_DUR": 5.0,
    "VT_FW_DIFTHR_EN": 1, "VT_FW_DIFTHR_S_Y": 1.0, "VT_F_TRANS_DUR": 1.5, "WV_EN": 0,
}  # fmt: skip
# Kinds of control surfaces, CA_SV_CSn_TYPE
LEFT_AILERON, RIGHT_AILERON, ELEVATOR, RUDDER, LEFT_ELEVON, RIGHT_ELEVON, ONE_AILERON = 1, 2, 3, 4, 5, 6, 15

Params = dict[str, float]


@dataclass(frozen=True)
class Airframe:
    """What PX4 must know of a vehicle, and where its outputs go."""

    defaults: str  # start-up file of the kind of vehicle: `rc.mc_defaults`
    channels: tuple[str, ...]  # actuator places of output 1, 2, ...; empty where there is none
    params: Params
    answers: bool = True  # one message of controls per step; ground vehicles and submarines do not keep to that
    turn: np.ndarray | None = None  # R_HB: PX4's body axes are level in hover
    acoustic: bool = False  # position goes as odometry, and there is no barometer: under water
    parked: tuple[str, ...] = ()  # at 1 while disarmed
    released: tuple[str, ...] = ()  # at 1 some time after arming
    release_s: float = 3.0
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


def airframe_of(vehicle: Vehicle, *, rate_hz: int = 250) -> Airframe:
    """PX4's view of a vehicle; `LinkError` where PX4 has none."""
    spec = vehicle.spec
    maker = MAKERS.get(type(spec))
    if maker is None:
        raise LinkError(f"PX4 has no airframe for vehicle '{spec.id}' (template {spec.template})")
    airframe = maker(spec)
    chip = vehicle.diagram.blocks.get("gnss/1/chip")
    late: Params = {}
    if isinstance(chip, Gnss):
        late["EKF2_EV_DELAY" if airframe.acoustic else "EKF2_GPS_DELAY"] = 1000 * chip.latency_s
    if rate_hz != 250:
        late |= {"IMU_INTEG_RATE": rate_hz, "IMU_GYRO_RATEMAX": max(rate_hz, 400)}
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


def _rotor_params(spec: MulticopterSpec, rotors: list[RotorTable]) -> Params:
    params: Params = {"CA_ROTOR_COUNT": len(rotors)}
    for n, rotor in enumerate(rotors):
        blades = spec.propeller[rotor.propeller]
        arm = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
        params |= dict(zip((f"CA_ROTOR{n}_P{axis}" for axis in "XYZ"), map(float, rotor.position_B_m), strict=True))
        params |= dict(zip((f"CA_ROTOR{n}_A{axis}" for axis in "XYZ"), map(float, rotor.axis_B), strict=True))
        params[f"CA_ROTOR{n}_KM"] = arm if rotor.spin == "ccw" else -arm
        params[f"CA_ROTOR{n}_CT"] = full_thrust(spec, rotor)
    return params


def authority(spec: MulticopterSpec) -> np.ndarray:
    """Angular acceleration about each axis per unit of PX4's normalized torque, rad/s^2.

    The control allocation divides the pseudo-inverse's columns: roll and pitch by the larger of their lengths over
    sqrt(n/2) of the rotors that take part, yaw by its greatest entry [PX4].
    """
    columns = []
    for rotor in spec.rotor:
        blades, axis = spec.propeller[rotor.propeller], np.array(rotor.axis_B)
        arm = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2
        moment = np.cross(rotor.position_B_m, axis) - (1 if rotor.spin == "ccw" else -1) * arm * axis
        columns.append(full_thrust(spec, rotor) * np.array([*moment, *axis]))
    mix = np.linalg.pinv(np.array(columns).T)
    tilt = max(math.sqrt(2 * (c @ c) / max(int((np.abs(c) > 1e-3).sum()), 1)) for c in (mix[:, 0], mix[:, 1]))
    scale = np.array([tilt, tilt, mix[:, 2].max()])
    return np.asarray(1 / (scale * np.diag(spec.body.inertia())))


def hover_thrust(spec: MulticopterSpec) -> float:
    """Weight over full thrust, upwards."""
    lift = sum(-full_thrust(spec, rotor) * rotor.axis_B[2] for rotor in spec.rotor)
    return spec.body.mass_kg * GRAVITY / lift


def _hover_params(spec: MulticopterSpec) -> Params:
    gain = np.array(spec.control.rate_gain) / authority(spec)
    params: Params = {
        "MPC_THR_HOVER": hover_thrust(spec),
        "THR_MDL_FAC": float(np.mean([thrust_factor(spec.motor[rotor.motor]) for rotor in spec.rotor])),
        "MPC_XY_CRUISE": spec.control.cruise_speed_mps, "MPC_XY_VEL_MAX": spec.control.max_speed_mps,
        "MPC_ACC_HOR": spec.control.cruise_acceleration_mps2, "MPC_TILTMAX_AIR": spec.control.max_tilt_deg,
        "MPC_Z_VEL_MAX_UP": spec.control.max_climb_mps, "MPC_Z_VEL_MAX_DN": spec.control.max_descent_mps,
        "MC_YAWRATE_P": gain[2], "MC_YAWRATE_I": YAW_I * gain[2],
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
        "FW_PSP_OFF": math.degrees(start.angle_of_attack_rad), "FW_R_LIM": table.max_roll_deg,
        "FW_P_LIM_MAX": table.pitch_high_deg, "FW_P_LIM_MIN": table.pitch_low_deg,
        "FW_T_CLMB_MAX": table.max_climb_mps, "FW_T_SINK_MAX": table.max_sink_mps,
        "FW_T_SINK_MIN": 0.7 * table.max_sink_mps, "FW_LND_ANG": table.glide_slope_deg,
        "FW_LND_AIRSPD": table.approach_speed_mps, "NPFG_PERIOD": table.l1_period_s,
        "NAV_LOITER_RAD": table.loiter_radius_m, "NAV_ACC_RAD": table.acceptance_radius_m,
        "MIS_TAKEOFF_ALT": table.take_off_height_m, "FW_TKO_PITCH_MIN": table.take_off_pitch_deg,
        "TRIM_PITCH": -start.elevator_rad / spec.servo.travel_rad,  # a positive elevator turns the nose down
        "FW_LAUN_DETCN_ON": 1, "RWTO_TKOFF": 0, "MIS_TKO_LAND_REQ": 0, "FW_LND_ABORT": 0,
    }  # fmt: skip
    params = wing_gains(spec) | params | _surface_params(surface_effect(spec), list(spec.surfaces)) | _outputs(channels)
    return Airframe("rc.fw_defaults", tuple(channels), params, released=("launcher",))


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
        "NPFG_PERIOD": wing.l1_period_s, "NAV_ACC_RAD": wing.acceptance_radius_m, "MIS_TKO_LAND_REQ": 0,
    }  # fmt: skip
    params |= TAIL_SITTER_GAINS if sitter else QUADPLANE_GAINS
    params |= _rotor_params(spec, rotors) | _hover_params(upright)
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


def _car(spec: CarSpec) -> Airframe:
    channels = {"steering": SERVO, "drive": MOTOR}
    speed, mass, force = spec.control.cruise_speed_mps, spec.body.mass_kg, spec.wheels.drive_force_N
    resistance = spec.wheels.rolling_resistance * mass * GRAVITY + spec.airframe.drag_Ns2pm2[0] * speed**2
    base = spec.body.front_m + spec.body.rear_m
    params = _rover_params(
        # The drive's command is a force: this is the speed of full throttle if it grew as at cruise speed
        cruise_mps=speed, full_mps=speed * force / resistance, accel_mps2=spec.control.cruise_acceleration_mps2,
        turn_radps=speed / spec.control.turn_radius_m, arrived_m=spec.control.arrived_m,
    )  # fmt: skip
    params |= {
        "CA_AIRFRAME": 5, "CA_R_REV": 1, "MAV_TYPE": ROVER, "RA_WHEEL_BASE": base,
        "RA_MAX_STR_ANG": spec.steering.max_angle_rad, "RA_STR_RATE_LIM": math.degrees(spec.steering.max_rate_radps),
        "RA_ACC_RAD_GAIN": 2.0, "RA_ACC_RAD_MAX": max(spec.control.turn_radius_m, 2 * spec.control.arrived_m),
        "RO_SPEED_P": mass / force, "RO_SPEED_I": 0.1 * mass / force, "RO_YAW_RATE_CORR": 1.0,
    }  # fmt: skip
    return Airframe(
        "rc.rover_ackermann_defaults", tuple(channels), params | _outputs(channels), answers=False, parked=("brake",)
    )


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
    return Airframe("rc.rover_differential_defaults", tuple(channels), params | _outputs(channels), answers=False)


def _boat(spec: SurfaceVesselSpec) -> Airframe:
    """PX4's own boat airframe does not start in v1.17: two thrusters side by side are a differential rover."""
    sides = [thruster.position_B_m[1] for thruster in spec.thruster]
    ahead = all(thruster.axis_B == [1.0, 0.0, 0.0] for thruster in spec.thruster)
    if len(sides) != 2 or not ahead or min(sides) >= 0 or max(sides) <= 0:
        raise LinkError(f"PX4: vehicle '{spec.id}' has no two thrusters side by side; there is no airframe for it")
    right, left = sides.index(max(sides)) + 1, sides.index(min(sides)) + 1
    channels = {f"rotor/{right}": MOTOR, f"rotor/{left}": MOTOR + 1}
    speed = spec.control.cruise_speed_mps
    params = _rover_params(
        cruise_mps=speed, full_mps=2 * speed, accel_mps2=0.3, turn_radps=spec.control.max_yaw_rate_radps,
        arrived_m=spec.control.arrived_m,
    )  # fmt: skip
    params |= {
        "CA_AIRFRAME": 6, "CA_R_REV": 3, "MAV_TYPE": BOAT, "RD_WHEEL_TRACK": max(sides) - min(sides),
        "RD_TRANS_DRV_TRN": math.pi, "RD_TRANS_TRN_DRV": math.pi / 2,  # it does not turn on the spot
        "RO_SPEED_P": 0.5, "RO_SPEED_I": 0.05, "RO_YAW_RATE_CORR": 1.0,
    }  # fmt: skip
    return Airframe("rc.rover_differential_defaults", tuple(channels), params | _outputs(channels), answers=False)


def _underwater(spec: UnderwaterSpec) -> Airframe:
    if spec.fin:
        raise LinkError(f"PX4: vehicle '{spec.id}' steers with fins; there is no airframe for that")
    channels = {f"rotor/{n + 1}": MOTOR + n for n in range(len(spec.thruster))}
    params: Params = {
        "CA_AIRFRAME": 7, "MAV_TYPE": SUBMARINE, "CA_ROTOR_COUNT": len(spec.thruster), "NAV_DLL_ACT": 0,
        "CA_R_REV": 2 ** len(spec.thruster) - 1, "EKF2_EV_CTRL": 7,  # position and velocity; the compass gives yaw
        "EKF2_GPS_CTRL": 0, "EKF2_BARO_CTRL": 0, "SYS_HAS_BARO": 0, "SYS_HAS_GPS": 0,
        "FD_FAIL_P": 0, "FD_FAIL_R": 0,
    }  # fmt: skip
    for n, thruster in enumerate(spec.thruster):
        params |= dict(zip((f"CA_ROTOR{n}_P{a}" for a in "XYZ"), map(float, thruster.position_B_m), strict=True))
        params |= dict(zip((f"CA_ROTOR{n}_A{a}" for a in "XYZ"), map(float, thruster.axis_B), strict=True))
        params[f"CA_ROTOR{n}_KM"] = 0.0
    return Airframe("rc.uuv_defaults", tuple(channels), params | _outputs(channels), answers=False, acoustic=True)


MAKERS: dict[type[VehicleSpec], Callable[..., Airframe]] = {
    MulticopterSpec: _multicopter, FixedWingSpec: _fixed_wing, VtolSpec: _vtol, CarSpec: _car, RoverSpec: _rover,
    SurfaceVesselSpec: _boat, UnderwaterSpec: _underwater,
}  # fmt: skip
