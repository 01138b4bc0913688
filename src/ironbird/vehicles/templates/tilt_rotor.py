"""Tilt-rotors with two tilting rotors: three bodies, torque-controlled joints, one linear-quadratic gain.

The gain is designed here from the vehicle's own file, as published [ProVANT]: hover is found, the model is linearised
there, integrals of position and yaw are added, it is sampled with held inputs, and the discrete Riccati equation is
solved. The design model has ideal actuators, no damping in the joints and the tilting masses on the joints' axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import casadi as ca
import numpy as np
from pydantic import Field

from ironbird.blocks.actuators.motor import Motor
from ironbird.blocks.actuators.torque_servo import TorqueServo
from ironbird.blocks.bodies.tilt_rotor_body import TiltRotorBody
from ironbird.blocks.controllers.spiral_navigator import SpiralNavigator
from ironbird.blocks.controllers.tilt_rotor_lqr import INPUTS, STATES, TiltRotorLqr
from ironbird.blocks.forces.rotor import Rotor
from ironbird.errors import VehicleError
from ironbird.model.block import View
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.symbolic import quaternion
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import VehicleKind, abilities
from ironbird.vehicles.riccati import regulator, zero_order_hold
from ironbird.vehicles.spec import NotNegative, Positive, Vector3, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.reference_autopilot import add_senses
from ironbird.vehicles.templates.rotorcraft import (
    SPIN,
    STATE,
    AirframeTable,
    ContactTable,
    LimitTable,
    Matrix3,
    SensorTable,
    add_airframe,
    add_contact,
    add_crash,
    add_failsafes,
)
from ironbird.vehicles.templates.sensors import VIBRATION, Products, Suite
from ironbird.vehicles.templates.surroundings import add_environment, home_params
from ironbird.vehicles.templates.wiring import add_link, connect_ports

CONTROL_SAMPLE_S = 0.012  # [ProVANT] Sec. 2
LINK_SAMPLE_S = 0.002  # [ProVANT] Sec. 2.1: the largest message takes 1.2 ms; here a command takes this long
NAVIGATOR_SAMPLE_S = 0.02
HOVER_HEIGHT_M = 5.0
DESIGN_GRAVITY_MPS2 = 9.81  # [ProVANT] Table 1
SIDES = ("right", "left")  # rotor/1 and rotor/2
DIGITS = 7  # digits of the gain: it must not depend on the machine's linear algebra


class BodyTable(BlockTable):
    """The main body without the tilting parts."""

    centre_B_m: Vector3
    inertia_kgm2: Matrix3
    params = params_of(TiltRotorBody, "mass_kg centre_B_m inertia_kgm2")


class ArmTable(BlockTable):
    """Tilting part: motor, propeller and mount; in the tilt frame, whose origin is on the joint's axis."""

    mass_kg: Positive
    cant_deg: Annotated[float, Field(gt=-80, lt=80)]
    centre_m: Vector3
    inertia_kgm2: Matrix3
    spin: Literal["ccw", "cw"]
    rotor = params_of(Rotor, "joint_B_m=position")


class JointTable(BlockTable):
    """The two tilting joints and their actuators."""

    damping_Nms: NotNegative  # of each joint
    joint = params_of(TiltRotorBody, "range_rad=tilt_range>0 stop_stiffness_Nmprad stop_damping_Nms")
    servo = params_of(TorqueServo, "max_torque_Nm time_constant_s")


class MotorTable(BlockTable):
    """Motor with speed controller: speed over throttle s is `idle_speed_radps + slope_radps s`."""

    params = params_of(Motor, "slope_radps>0 idle_speed_radps time_constant_s")


class PropellerTable(BlockTable):
    """Thrust and drag torque over the squared speed."""

    params = params_of(Rotor, "thrust_coefficient_Ns2>0 torque_coefficient_Nms2>0 reference_density_kgpm3?")


class SpiralTable(BlockTable):
    """Size of the spiral that a mission item of this kind flies."""

    params = params_of(SpiralNavigator, "radius_m=spiral_radius>0 turns=spiral_turns>0 climb_m=spiral_climb")


class LqrTable(BlockTable):
    """Weights of the linear-quadratic design, and how the set-point moves."""

    state_weights: Annotated[list[NotNegative], Field(min_length=STATES, max_length=STATES)]
    input_weights: Annotated[list[Positive], Field(min_length=INPUTS, max_length=INPUTS)]
    path = params_of(
        SpiralNavigator,
        "cruise_speed_mps cruise_acceleration_mps2=acceleration landing_speed_mps take_off_height_m",
    )


class TiltRotorSpec(VehicleSpec):
    """Content of a tilt-rotor's vehicle file."""

    body: BodyTable
    right: ArmTable
    left: ArmTable
    joint: JointTable
    motor: MotorTable
    propeller: PropellerTable
    airframe: AirframeTable
    contact: ContactTable
    control: LqrTable
    spiral: SpiralTable
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()

    def arms(self) -> tuple[ArmTable, ArmTable]:
        """Both tilting arms in the order of the rotors."""
        return self.right, self.left

    def hover_lift_N(self) -> float:
        """Lift in N of its rotors at full throttle, tilted upright; each leans by its cant."""
        speed = self.motor.slope_radps + self.motor.idle_speed_radps
        thrust = self.propeller.thrust_coefficient_Ns2 * speed * speed
        return float(sum(thrust * math.cos(math.radians(arm.cant_deg)) for arm in self.arms()))

    def total_mass_kg(self) -> float:
        """Mass of the whole vehicle in kg."""
        return self.body.mass_kg + sum(arm.mass_kg for arm in self.arms())


@dataclass(frozen=True)
class Design:
    """Hover state, sampled linear model and gain, in the order of `TiltRotorLqr`."""

    angles: np.ndarray  # roll, pitch, tilt right and left
    inputs: np.ndarray  # thrusts, tilt torques
    A: np.ndarray
    B: np.ndarray
    gain: np.ndarray


def body_params(spec: TiltRotorSpec) -> dict[str, Number]:
    """Parameters of `TiltRotorBody` from a vehicle's file."""
    arms, blades = spec.arms(), spec.propeller
    arm = blades.torque_coefficient_Nms2 / blades.thrust_coefficient_Ns2  # [ProVANT] Table 1: k_tau / b
    return {
        **spec.body.params,
        **spec.joint.joint,
        "joint_damping": [spec.joint.damping_Nms] * 2,
        "arm_mass": [a.mass_kg for a in arms],
        "arm_inertia_1": arms[0].inertia_kgm2,
        "arm_inertia_2": arms[1].inertia_kgm2,
        "arm_centre": np.array([a.centre_m for a in arms]).T.tolist(),
        "joint": np.array([a.joint_B_m for a in arms]).T.tolist(),
        "cant": [math.radians(a.cant_deg) for a in arms],
        # a rotor that turns clockwise pushes its arm the other way: along the thrust
        "drag_arm": [arm if a.spin == "cw" else -arm for a in arms],
    }


def motion(params: dict[str, Number]) -> ca.Function:
    """A CasADi function of state and inputs: the state's time derivative and its Jacobians, for the design of the LQR.

    The state is position, Euler angles, tilts, velocity and angular velocity in body axes, tilt rates. Results: the
    derivative, its Jacobians by state and by inputs, R_NB, and the matrix from w to the rates of the Euler angles.
    """
    x, u = ca.SX.sym("x", 16), ca.SX.sym("u", INPUTS)
    roll, pitch, yaw = x[3], x[4], x[5]
    q = quaternion.from_euler(roll, pitch, yaw)
    nothing = ca.SX.zeros(3)
    state = View({"p": x[:3], "q": q, "a": x[6:8], "v": x[8:11], "w": x[11:14], "b": x[14:]}, "states")
    inputs = dict(zip(("thrust_1", "thrust_2", "tilt_torque_1", "tilt_torque_2"), ca.vertsplit(u), strict=True))
    inputs |= {"force_B": nothing, "moment_B": nothing, "momentum_B": nothing}
    inputs["gravity_N"] = ca.SX([0, 0, DESIGN_GRAVITY_MPS2])
    values = {name: ca.SX(ca.DM(value)) for name, value in params.items()}
    rates = TiltRotorBody().derivative(state, View(inputs, "inputs"), View(values, "parameters"))
    s, c = ca.sin(roll), ca.cos(roll)
    rows = [(1, s * ca.tan(pitch), c * ca.tan(pitch)), (0, c, -s), (0, s / ca.cos(pitch), c / ca.cos(pitch))]
    to_rates = ca.vertcat(*(ca.horzcat(*row) for row in rows))
    dx = ca.vertcat(rates["p"], to_rates @ x[11:14], x[14:], rates["v"], rates["w"], rates["b"])
    results = [dx, ca.jacobian(dx, x), ca.jacobian(dx, u), quaternion.rotation_matrix(q), to_rates]
    return ca.Function("motion", [x, u], [ca.densify(result) for result in results])


def hover(function: ca.Function, weight_N: float) -> tuple[np.ndarray, np.ndarray]:
    """State and inputs at which all accelerations are zero, by Newton's method from level with even thrust."""
    x, u = np.zeros(16), np.array([weight_N / 2, weight_N / 2, 0.0, 0.0])
    free = [3, 4, 6, 7]  # roll, pitch, tilts
    for _ in range(20):
        dx, A, B, *_ = (np.array(value) for value in function(x, u))
        step = np.linalg.solve(np.hstack([A[8:, free], B[8:]]), dx[8:, 0])
        x[free] -= step[:4]
        u = u - step[4:]
    if not np.abs(np.array(function(x, u)[0])).max() < 1e-9:
        raise VehicleError("this tilt-rotor has no hover: check joints, cants and centres of mass")
    return x, u


def linear_hover(params: dict[str, Number]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """State and inputs in hover, and A and B there for the states of `TiltRotorLqr` without integrals."""
    function = motion(params)
    arms = np.asarray(params["arm_mass"], float)
    weight = (float(np.asarray(params["mass"])) + float(arms.sum())) * DESIGN_GRAVITY_MPS2
    x, u = hover(function, weight)
    _, A, B, R, to_rates = (np.array(value) for value in function(x, u))
    T = np.eye(16)  # at rest, the published velocities are these turns of those in body axes
    T[8:11, 8:11], T[11:14, 11:14] = R, to_rates
    return x, u, T @ A @ np.linalg.inv(T), T @ B


def sampled(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The linear model with integrals of position and yaw, sampled at the controller's period."""
    wide, tall = np.zeros((STATES, STATES)), np.zeros((STATES, INPUTS))
    wide[:16, :16], tall[:16] = A, B
    wide[16:, [0, 1, 2, 5]] = np.eye(4)
    return zero_order_hold(wide, tall, CONTROL_SAMPLE_S)


def design(spec: TiltRotorSpec) -> Design:
    """The linear-quadratic regulator of [ProVANT] Sec. 3 for a vehicle's file."""
    ideal = body_params(spec) | {"arm_centre": np.zeros((3, 2)).tolist(), "joint_damping": [0.0, 0.0]}
    x, u, A, B = linear_hover(ideal)
    Ad, Bd = sampled(A, B)
    gain = regulator(Ad, Bd, np.diag(spec.control.state_weights), np.diag(spec.control.input_weights))
    return Design(_rounded(x[[3, 4, 6, 7]]), _rounded(u), Ad, Bd, _rounded(gain))


def _rounded(values: np.ndarray) -> np.ndarray:
    """The values rounded to some digits of the largest in each row."""
    table = np.atleast_2d(values)
    places = DIGITS - 1 - np.floor(np.log10(np.abs(table).max(axis=1))).astype(int)
    rows = [np.round(row, place) for row, place in zip(table, places, strict=True)]
    return np.array(rows).reshape(values.shape) + 0.0


def build(spec: TiltRotorSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a tilt-rotor.

    `control_kind`: `truth` flies on the true state; `reference` on sensors and an estimator, with encoders in the
    joints that measure the tilts without error.
    """
    diagram = Diagram(spec.id)
    home = spec.home
    if spec.environment.earth != "flat":
        raise VehicleError("a tilt-rotor flies over a flat earth only: set environment.earth to 'flat'")
    lowest = spec.contact.lowest_m()
    start = {"p_0": [0.0, 0.0, -lowest], **home_params(home)}
    body = diagram.add(at.BODY.path, TiltRotorBody(), **start, **body_params(spec))
    parts = add_environment(diagram, body, home, spec.environment)
    navigator = _add_navigator(diagram, spec, lowest)
    control = _add_control(diagram, spec, body, navigator)
    motors = [
        _add_rotor(diagram, spec, number, arm, body, parts, control) for number, arm in enumerate(spec.arms(), start=1)
    ]
    for number, side in enumerate(SIDES, start=1):
        place = at.tilt(side)
        servo = diagram.add(place.servo.path, TorqueServo(), **spec.joint.servo)
        diagram.connect(add_link(diagram, place, control[f"torque_{number}"], LINK_SAMPLE_S), servo.command)
        diagram.connect(servo.torque, body[f"tilt_torque_{number}"])
    seen = body
    if control_kind == "reference":
        # The vibration of a small frame belongs to its rotors' speed in hover, not to that of the F450
        share = spec.total_mass_kg() * DESIGN_GRAVITY_MPS2 / len(SIDES)
        hover = math.sqrt(share / float(np.asarray(spec.propeller.params["thrust_coefficient"])))
        shaking = Products(vibration=VIBRATION | {"vibration_speed": hover})
        suite = Suite(**spec.sensors.model_dump(), products=shaking)
        senses = add_senses(diagram, body, parts, home, suite, rotors=motors, battery=None, start_height_m=lowest)
        seen = senses.estimator
        add_failsafes(diagram, seen, navigator)
    connect_ports(diagram, seen, control, *STATE)
    connect_ports(diagram, seen, navigator, *(port for port in STATE if port in navigator))
    add_airframe(diagram, spec.airframe, spec.total_mass_kg(), body, parts)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, body, contact)
    return diagram


def _add_navigator(diagram: Diagram, spec: TiltRotorSpec, lowest: float) -> Handle:
    """Add the navigator; without a mission the vehicle hovers."""
    block = SpiralNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S)
    mission: dict[str, Number] = {"count": 1, "table": mission_table([0.0, 0.0, -HOVER_HEIGHT_M, 0.0, 1e9])}
    path = {**spec.control.path, **spec.spiral.params}
    return diagram.add(at.NAVIGATOR.path, block, **mission, point_0=[0.0, 0.0, -lowest], **path)


def _add_control(diagram: Diagram, spec: TiltRotorSpec, body: Handle, navigator: Handle) -> Handle:
    plan = design(spec)
    motor, blades = spec.motor, spec.propeller
    top = motor.slope_radps + motor.idle_speed_radps
    control = diagram.add(
        at.CONTROL.path,
        TiltRotorLqr(sample_s=CONTROL_SAMPLE_S),
        gain=plan.gain.tolist(),
        trim_input=plan.inputs.tolist(),
        trim_angle=plan.angles.tolist(),
        max_thrust=blades.thrust_coefficient_Ns2 * top * top,
        max_torque=spec.joint.max_torque_Nm,
        thrust_coefficient=blades.thrust_coefficient_Ns2,
        motor_slope=motor.slope_radps,
        motor_idle=motor.idle_speed_radps,
    )
    connect_ports(diagram, navigator, control, "position_set", "velocity_set", "yaw_set", "armed", "grounded")
    connect_ports(diagram, body, control, "tilt", "tilt_rate")
    return control


def _add_rotor(
    diagram: Diagram,
    spec: TiltRotorSpec,
    number: int,
    arm: ArmTable,
    body: Handle,
    parts: dict[str, Handle],
    control: Handle,
) -> Handle:
    place = at.rotor(number)
    motor = diagram.add(place.motor.path, Motor(), **spec.motor.params)
    # The body rotates the thrust with the joint and computes its drag torque: only its size comes from the propeller
    values = {"spin": SPIN[arm.spin], "inertia": 0.0, **arm.rotor, **spec.propeller.params}
    propeller = diagram.add(place.propeller.path, Rotor(), **values)
    diagram.connect(add_link(diagram, place, control[f"throttle_{number}"], LINK_SAMPLE_S), motor.throttle)
    diagram.connect(motor.speed, propeller.speed)
    diagram.connect(parts["atmosphere"].density, propeller.density)
    diagram.connect(propeller.thrust, body[f"thrust_{number}"])
    return motor


KIND = VehicleKind(
    name="tilt_rotor",
    spec=TiltRotorSpec,
    build=build,
    abilities=abilities("hold mission return land offboard position", "position velocity yaw"),
    drawing="tilt_rotor",
    mav_type="MAV_TYPE_VTOL_TILTROTOR",
    autopilot_class="copter",
    px4="ironbird.autopilots.px4.tilt_rotors:tilt_rotor_airframe",
    hovers=True,
    transitions=True,
)
