"""Helicopters with one main rotor, a tail rotor and a fly-bar: three servos at the swash plate, one at the tail.

The vehicle starts on its gear with the rotor at speed and flat blades: start of the engine is not modelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ironbird.blocks.actuators.governed_engine import GovernedEngine
from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.actuators.swash_plate import AZIMUTHS_DEG, SERVOS, SwashPlate, mixing
from ironbird.blocks.controllers.helicopter_control import GRAVITY, HelicopterControl
from ironbird.blocks.forces.helicopter_fuselage import HelicopterFuselage
from ironbird.blocks.forces.main_rotor import FLAP_LAG, MainRotor
from ironbird.blocks.forces.tail_rotor import TailRotor
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.common import add_link
from ironbird.vehicles.templates.reference_autopilot import Suite, add_senses
from ironbird.vehicles.templates.rotorcraft import (
    CONTROL_SAMPLE_S,
    Body,
    ContactTable,
    LimitTable,
    SensorTable,
    add_contact,
    add_crash,
    add_navigator,
    use_estimate,
    use_truth,
)  # fmt: skip
from ironbird.vehicles.templates.sensors import VIBRATION, Products
from ironbird.vehicles.templates.surroundings import add_body, add_environment

SEA_LEVEL_KGPM3 = 1.225
CCW, CW = 1.0, -1.0


class BladeTable(Table):
    """Blades of a rotor."""

    blades: Annotated[int, Field(ge=1)]
    radius_m: Positive
    chord_m: Positive
    lift_slope_prad: Positive
    profile_drag: NotNegative
    max_thrust_coefficient: Positive
    wake_factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    spin: Literal["ccw", "cw"]

    def params(self) -> dict[str, float]:
        """Parameters of `RotorDisc`, and the direction of spin."""
        return {
            "blades": float(self.blades), "radius": self.radius_m, "chord": self.chord_m,
            "lift_slope": self.lift_slope_prad, "profile_drag": self.profile_drag,
            "max_thrust_coefficient": self.max_thrust_coefficient, "wake_factor": self.wake_factor,
            "spin": CCW if self.spin == "ccw" else CW,
        }  # fmt: skip

    def disc_area_m2(self) -> float:
        """A = pi R^2."""
        return math.pi * self.radius_m**2

    def induced_mps(self, thrust_N: float) -> float:
        """In hover at sea level, momentum theory [Leishman2006] Ch. 2."""
        return math.sqrt(thrust_N / (2 * SEA_LEVEL_KGPM3 * self.disc_area_m2() * self.wake_factor))

    def lift_pitch_rad(self, thrust_N: float, tip_mps: float) -> float:
        """Pitch that a thrust needs when nothing flows through the disc, at sea level [Gavrilets2015]."""
        size = 0.5 * SEA_LEVEL_KGPM3 * self.lift_slope_prad * self.blades * self.chord_m * self.radius_m
        return 3 * thrust_N / (size * tip_mps**2)


class MainRotorTable(BladeTable):
    """Main rotor with its fly-bar."""

    speed_radps: Positive
    position_B_m: Vector3
    blade_inertia_kgm2: Positive
    hub_stiffness_Nmprad: NotNegative
    bar_lock_number: Positive
    cyclic_gain: Positive
    speed_gain: NotNegative


class TailRotorTable(BladeTable):
    """Tail rotor; its thrust pushes the tail to the left."""

    position_B_m: Vector3
    gear_ratio: Positive


class FuselageTable(Table):
    """Fuselage, fin and horizontal tail."""

    drag_area_m2: Vector3
    fin_area_m2: NotNegative
    fin_lift_slope_prad: NotNegative
    fin_exposed: Annotated[float, Field(ge=0, le=1)]
    tail_area_m2: NotNegative
    tail_lift_slope_prad: NotNegative
    tail_arm_m: NotNegative


class EngineTable(Table):
    """Engine, governor and all that turns with it."""

    max_power_W: Positive
    inertia_ratio: Annotated[float, Field(ge=1)]
    governor_gain_s: Positive
    governor_integral_prad: Positive
    time_constant_s: Positive


class ServoTable(Table):
    """A servo."""

    travel_rad: Positive
    time_constant_s: Positive
    max_rate_radps: Positive


class SwashTable(ServoTable):
    """Swash plate: three equal servos and the linkage."""

    azimuth_deg: Vector3 = list(AZIMUTHS_DEG)
    collective_ratio: Positive
    cyclic_ratio: Positive
    collective_0_rad: float
    collective_range_rad: Annotated[list[float], Field(min_length=2, max_length=2)]
    max_cyclic_rad: Positive


class TailServoTable(ServoTable):
    """Servo of the tail pitch."""

    neutral_pitch_rad: float


class ControlTable(Table):
    """Gains."""

    position_gain: Positive
    velocity_gain: Vector3
    velocity_integral: NotNegative
    tilt_gain: Positive
    tilt_integral: NotNegative
    heading_gain: Positive
    yaw_gain_s: Positive
    yaw_integral: NotNegative
    max_speed_mps: Positive
    max_climb_mps: Positive
    max_descent_mps: Positive
    max_tilt_deg: Annotated[float, Field(gt=0, lt=57)]
    max_rate_radps: Vector3
    cruise_speed_mps: Positive
    cruise_acceleration_mps2: Positive


class HelicopterSpec(VehicleSpec):
    """A helicopter's file."""

    body: Body
    main_rotor: MainRotorTable
    tail_rotor: TailRotorTable
    fuselage: FuselageTable
    engine: EngineTable
    swash: SwashTable
    tail_servo: TailServoTable
    contact: ContactTable
    control: ControlTable
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()


@dataclass(frozen=True)
class Hover:
    """A hover at sea level by momentum theory, without drag: what the controller assumes."""

    thrust_N: float
    induced_mps: float
    profile_torque_Nm: float
    tail_arm_m: float  # over the share of the tail thrust that the fin leaves
    tail_thrust_N: float  # of the rotor alone
    side_force_N: float


def tail_blockage(spec: HelicopterSpec) -> float:
    """Share of the tail rotor's thrust that the fin takes: 3/4 S_fin / (pi R^2), [Padfield2007] Ch. 3."""
    return 0.75 * spec.fuselage.fin_area_m2 / spec.tail_rotor.disc_area_m2()


def hover(spec: HelicopterSpec) -> Hover:
    """Thrust against weight, tail thrust against torque."""
    main = spec.main_rotor
    thrust = spec.body.mass_kg * GRAVITY
    induced = main.induced_mps(thrust)
    tip = main.speed_radps * main.radius_m
    size = main.profile_drag * main.blades * main.chord_m / 8 * SEA_LEVEL_KGPM3
    profile = size * main.radius_m**2 * tip**2  # [Gavrilets2015]
    arm = -spec.tail_rotor.position_B_m[0] * (1 - tail_blockage(spec))
    tail = (profile + thrust * induced / main.speed_radps) / arm
    return Hover(thrust, induced, profile, arm, tail, tail * (1 - tail_blockage(spec)))


def build(spec: HelicopterSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a helicopter, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state; `reference` on sensors and an estimator.
    """
    diagram = Diagram(spec.id)
    lowest = spec.contact.lowest_m()
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg,
        inertia_kgm2=spec.body.inertia().tolist(), height_above_home_m=lowest,
    )  # fmt: skip
    parts = add_environment(diagram, body, spec.home, spec.environment)
    navigator = add_navigator(
        diagram, cruise_speed_mps=spec.control.cruise_speed_mps, lowest_m=lowest,
        acceleration_mps2=spec.control.cruise_acceleration_mps2,
    )  # fmt: skip
    control = _add_control(diagram, spec, navigator)
    main, tail, engine = add_rotors(diagram, spec, body, parts)
    _add_actuators(diagram, spec, control, main, tail, engine)
    if control_kind == "truth":
        use_truth(diagram, body, control, navigator)
    else:
        # Vibration as strong as that of a multicopter, at this rotor's speed
        shaking = Products(vibration=VIBRATION | {"vibration_speed": spec.main_rotor.speed_radps})
        suite = Suite(**spec.sensors.model_dump(), products=shaking)
        senses = add_senses(
            diagram, body, parts, spec.home, suite, rotors=[engine], battery=None, capacity=0.0, cells=0.0,
            start_height_m=lowest,
        )  # fmt: skip
        use_estimate(diagram, senses, control, navigator)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, body, contact)
    return diagram


def add_rotors(
    diagram: Diagram, spec: HelicopterSpec, body: Handle, parts: dict[str, Handle]
) -> tuple[Handle, Handle, Handle]:
    """Main rotor, tail rotor, fuselage and engine on a body; pitches and throttle are left open."""
    table, far, hull = spec.main_rotor, spec.tail_rotor, spec.fuselage
    inertia = spec.engine.inertia_ratio * table.blade_inertia_kgm2 * table.blades
    main = diagram.add(
        "rotor/1/propeller", MainRotor(), **table.params(), position=table.position_B_m, inertia=inertia,
        hub_stiffness=table.hub_stiffness_Nmprad, bar_lock_number=table.bar_lock_number, cyclic_gain=table.cyclic_gain,
        nominal_speed=table.speed_radps, speed_gain=table.speed_gain,
    )  # fmt: skip
    tail = diagram.add(
        "rotor/2/propeller", TailRotor(), **far.params(), position=far.position_B_m, gear_ratio=far.gear_ratio,
        pitch_0=spec.tail_servo.neutral_pitch_rad, blockage=tail_blockage(spec),
    )  # fmt: skip
    arm, height = -far.position_B_m[0], -far.position_B_m[2]
    gap = arm - table.radius_m  # [Gavrilets2015]: the wash meets the tail between these sweeps
    fuselage = diagram.add(
        "fuselage", HelicopterFuselage(), drag_area=hull.drag_area_m2, fin_area=hull.fin_area_m2,
        fin_lift_slope=hull.fin_lift_slope_prad, fin_exposed=hull.fin_exposed, fin_arm=arm, fin_height=height,
        tail_area=hull.tail_area_m2, tail_lift_slope=hull.tail_lift_slope_prad, tail_arm=hull.tail_arm_m,
        sweep_begin=(gap - far.radius_m) / height, sweep_end=(gap + far.radius_m) / height,
    )  # fmt: skip
    idle = hover(spec).profile_torque_Nm * table.speed_radps / spec.engine.max_power_W
    engine = diagram.add(
        "rotor/1/motor", GovernedEngine(), nominal_speed=table.speed_radps, max_power=spec.engine.max_power_W,
        inertia=inertia, governor_gain=spec.engine.governor_gain_s,
        governor_integral=spec.engine.governor_integral_prad, time_constant=spec.engine.time_constant_s,
        omega_0=table.speed_radps, valve_0=idle, total_0=idle / spec.engine.governor_integral_prad,
    )  # fmt: skip
    for part in (main, tail, fuselage):
        diagram.connect(parts["air"].v_air_B, part.v_air_B)
        diagram.connect(body.w_NB_B, part.w_NB_B)
        diagram.connect(parts["atmosphere"].density, part.density)
        diagram.connect(part.force_B, body.force_B)
        diagram.connect(part.moment_B, body.moment_B)
    for rotor in (main, tail):
        diagram.connect(engine.speed, rotor.speed)
        diagram.connect(rotor.torque, engine.load_torque)
    diagram.connect(engine.acceleration, main.acceleration)
    diagram.connect(main.induced_speed, fuselage.main_wash)
    diagram.connect(tail.induced_speed, fuselage.tail_wash)
    return main, tail, engine


def _add_control(diagram: Diagram, spec: HelicopterSpec, navigator: Handle) -> Handle:
    table, main, swash, servo = spec.control, spec.main_rotor, spec.swash, spec.tail_servo
    assumed = hover(spec)
    tip = main.speed_radps * main.radius_m
    tail_tip = main.speed_radps * spec.tail_rotor.gear_ratio * spec.tail_rotor.radius_m
    ratios = swash.collective_ratio, swash.cyclic_ratio
    control = diagram.add(
        "control", HelicopterControl(sample_s=CONTROL_SAMPLE_S), position_gain=table.position_gain,
        velocity_gain=table.velocity_gain, velocity_integral=table.velocity_integral, tilt_gain=table.tilt_gain,
        tilt_integral=table.tilt_integral, heading_gain=table.heading_gain, yaw_gain=table.yaw_gain_s,
        yaw_integral=table.yaw_integral, max_speed=table.max_speed_mps, max_climb=table.max_climb_mps,
        max_descent=table.max_descent_mps, max_tilt=math.radians(table.max_tilt_deg), max_rate=table.max_rate_radps,
        mass=spec.body.mass_kg, rotor_radius=main.radius_m, tip_speed=tip,
        hover_pitch=main.lift_pitch_rad(assumed.thrust_N, tip), hover_induced=assumed.induced_mps,
        profile_torque=assumed.profile_torque_Nm,
        rate_cyclic=FLAP_LAG / (main.bar_lock_number * main.speed_radps * main.cyclic_gain),
        tail_arm=assumed.tail_arm_m, tail_thrust=assumed.tail_thrust_N,
        tail_pitch=spec.tail_rotor.lift_pitch_rad(assumed.tail_thrust_N, tail_tip),
        tail_inflow=1.5 * spec.tail_rotor.induced_mps(assumed.tail_thrust_N) / tail_tip,
        side_force=assumed.side_force_N, mixing=mixing(np.radians(swash.azimuth_deg), *ratios).tolist(),
        collective_0=swash.collective_0_rad, collective_range=swash.collective_range_rad,
        max_cyclic=swash.max_cyclic_rad, swash_travel=swash.travel_rad, tail_0=servo.neutral_pitch_rad,
        tail_travel=servo.travel_rad,
    )  # fmt: skip
    for port in ("position_set", "velocity_set", "yaw_set", "armed", "disarmed", "grounded", "control_kind"):
        diagram.connect(navigator[port], control[port])
    # What a program outside may command: modes, the link's heartbeat, offboard set-points
    for port in (
        "command", "link_stamp", "offboard_kind", "offboard_position", "offboard_velocity", "offboard_yaw",
    ):  # fmt: skip
        diagram.export(navigator[port])
    return control


def _add_actuators(
    diagram: Diagram, spec: HelicopterSpec, control: Handle, main: Handle, tail: Handle, engine: Handle
) -> None:
    swash = diagram.add(
        "surface/swash_plate", SwashPlate(), azimuth=np.radians(spec.swash.azimuth_deg).tolist(),
        collective_ratio=spec.swash.collective_ratio, cyclic_ratio=spec.swash.cyclic_ratio,
        collective_0=spec.swash.collective_0_rad,
    )  # fmt: skip
    flat = -spec.swash.collective_0_rad / spec.swash.collective_ratio  # deflection at which the blades are flat
    for i in range(SERVOS):
        servo = _add_servo(diagram, f"swash_{i + 1}", spec.swash, control, flat)
        diagram.connect(servo.deflection, swash[f"servo_{i + 1}"])
    for port in ("collective", "longitudinal", "lateral"):
        diagram.connect(swash[port], main[port])
    servo = _add_servo(diagram, "tail", spec.tail_servo, control, 0.0)
    diagram.connect(servo.deflection, tail.pitch)
    diagram.connect(add_link(diagram, "rotor/1", control.throttle, CONTROL_SAMPLE_S).value, engine.throttle)


def _add_servo(diagram: Diagram, name: str, table: ServoTable, control: Handle, angle_0: float) -> Handle:
    servo = diagram.add(
        f"surface/{name}/servo", Servo(), travel=table.travel_rad, time_constant=table.time_constant_s,
        max_rate=table.max_rate_radps, angle_0=angle_0,
    )  # fmt: skip
    link = add_link(diagram, f"surface/{name}", control[name], CONTROL_SAMPLE_S)
    diagram.connect(link.value, servo.command)
    return servo
