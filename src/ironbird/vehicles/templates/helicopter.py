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
from ironbird.blocks.controllers.helicopter_control import HelicopterControl
from ironbird.blocks.controllers.navigator import Navigator
from ironbird.blocks.forces.helicopter_fuselage import HelicopterFuselage
from ironbird.blocks.forces.main_rotor import FLAP_LAG, MainRotor
from ironbird.blocks.forces.rotor_disc import RotorDisc
from ironbird.blocks.forces.tail_rotor import TailRotor
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import HOVER, VehicleKind, abilities
from ironbird.vehicles.spec import Positive, Vector3, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.reference_autopilot import add_senses
from ironbird.vehicles.templates.rotorcraft import (
    CONTROL_SAMPLE_S,
    SPIN,
    Body,
    ContactTable,
    LimitTable,
    SensorTable,
    add_body_in_air,
    add_contact,
    add_crash,
    add_navigator,
    export_commands,
    use_estimate,
    use_truth,
)
from ironbird.vehicles.templates.sensors import VIBRATION, Products, Suite
from ironbird.vehicles.templates.wiring import add_air_force, add_link, connect_ports


class BladeTable(BlockTable):
    """Blades of a rotor: radius, chord and lift."""

    blades: Annotated[int, Field(ge=1)]
    spin: Literal["ccw", "cw"]
    wake_factor: Annotated[float, Field(gt=0, le=1)] = 1.0
    disc = params_of(
        RotorDisc, "blades radius_m chord_m lift_slope_prad profile_drag max_thrust_coefficient wake_factor"
    )

    def disc_area_m2(self) -> float:
        """Area of the rotor disc in m^2: A = pi R^2."""
        return math.pi * self.radius_m**2

    def induced_mps(self, thrust_N: float) -> float:
        """Induced velocity in m/s in hover at sea level, momentum theory [Leishman2006] Ch. 2."""
        return math.sqrt(thrust_N / (2 * SEA_LEVEL_DENSITY_KGPM3 * self.disc_area_m2() * self.wake_factor))

    def lift_pitch_rad(self, thrust_N: float, tip_mps: float) -> float:
        """Blade pitch in rad for a thrust without inflow through the disc, at sea level [Gavrilets2015]."""
        size = 0.5 * SEA_LEVEL_DENSITY_KGPM3 * self.lift_slope_prad * self.blades * self.chord_m * self.radius_m
        return 3 * thrust_N / (size * tip_mps**2)


class MainRotorTable(BladeTable):
    """Main rotor with its fly-bar."""

    blade_inertia_kgm2: Positive
    params = params_of(
        MainRotor,
        "speed_radps=nominal_speed position_B_m hub_stiffness_Nmprad bar_lock_number cyclic_gain>0 speed_gain",
    )


class TailRotorTable(BladeTable):
    """Tail rotor; its thrust pushes the tail to the left."""

    params = params_of(TailRotor, "position_B_m gear_ratio")


class FuselageTable(BlockTable):
    """Fuselage, fin and horizontal tail."""

    params = params_of(
        HelicopterFuselage,
        "drag_area_m2 fin_area_m2 fin_lift_slope_prad fin_exposed tail_area_m2 tail_lift_slope_prad tail_arm_m",
    )


class EngineTable(BlockTable):
    """Engine, governor and all that turns with it."""

    inertia_ratio: Annotated[float, Field(ge=1)]
    params = params_of(GovernedEngine, "max_power_W governor_gain_s>0 governor_integral_prad time_constant_s")


class ServoTable(BlockTable):
    """A servo: travel, speed and lag."""

    servo = params_of(Servo, "travel_rad time_constant_s max_rate_radps")


class SwashTable(ServoTable):
    """Swash plate: three equal servos and the linkage."""

    azimuth_deg: Vector3 = list(AZIMUTHS_DEG)
    plate = params_of(SwashPlate, "azimuth_deg collective_ratio cyclic_ratio collective_0_rad")
    limits = params_of(
        HelicopterControl, "collective_0_rad collective_range_rad max_cyclic_rad travel_rad=swash_travel"
    )


class TailServoTable(ServoTable):
    """Servo of the tail rotor's blade pitch."""

    params = params_of(HelicopterControl, "neutral_pitch_rad=tail_0 travel_rad=tail_travel")


class ControlTable(BlockTable):
    """Gains of the controller of a helicopter."""

    max_tilt_deg: Annotated[float, Field(gt=0, lt=57)]
    gains = params_of(
        HelicopterControl,
        "position_gain>0 velocity_gain velocity_integral tilt_gain>0 tilt_integral heading_gain>0 yaw_gain_s>0 "
        "yaw_integral max_speed_mps max_climb_mps max_descent_mps max_tilt_deg max_rate_radps",
    )
    cruise = params_of(Navigator, "cruise_speed_mps cruise_acceleration_mps2=acceleration")


class HelicopterSpec(VehicleSpec):
    """Content of a helicopter's vehicle file."""

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
    """A hover at sea level by momentum theory, without drag: assumed by the controller."""

    thrust_N: float
    induced_mps: float
    profile_torque_Nm: float
    tail_arm_m: float  # divided by the share of the tail thrust that the fin leaves
    tail_thrust_N: float  # thrust of the tail rotor alone
    side_force_N: float


def tail_blockage(spec: HelicopterSpec) -> float:
    """Share of the tail rotor's thrust that the fin blocks: 3/4 S_fin / (pi R^2), [Padfield2007] Ch. 3."""
    return 0.75 * spec.fuselage.fin_area_m2 / spec.tail_rotor.disc_area_m2()


def hover(spec: HelicopterSpec) -> Hover:
    """The hover: thrust equals weight, tail thrust balances torque."""
    main = spec.main_rotor
    thrust = spec.body.mass_kg * STANDARD_GRAVITY_MPS2
    induced = main.induced_mps(thrust)
    tip = main.speed_radps * main.radius_m
    size = main.profile_drag * main.blades * main.chord_m / 8 * SEA_LEVEL_DENSITY_KGPM3
    profile = size * main.radius_m**2 * tip**2  # [Gavrilets2015]
    arm = -spec.tail_rotor.position_B_m[0] * (1 - tail_blockage(spec))
    tail = (profile + thrust * induced / main.speed_radps) / arm
    return Hover(thrust, induced, profile, arm, tail, tail * (1 - tail_blockage(spec)))


def hover_pitch_rad(spec: HelicopterSpec) -> float:
    """Collective pitch in rad of that hover: for the lift, and against the inflow [Gavrilets2015]."""
    main, assumed = spec.main_rotor, hover(spec)
    tip = main.speed_radps * main.radius_m
    return main.lift_pitch_rad(assumed.thrust_N, tip) + 1.5 * assumed.induced_mps / tip


def tail_command(spec: HelicopterSpec, torque_Nm: float) -> float:
    """Command of the tail servo that holds a torque of the main rotor in hover."""
    tail, servo = spec.tail_rotor, spec.tail_servo
    thrust = torque_Nm / hover(spec).tail_arm_m
    tip = spec.main_rotor.speed_radps * tail.gear_ratio * tail.radius_m
    pitch = tail.lift_pitch_rad(thrust, tip) + 1.5 * tail.induced_mps(thrust) / tip
    return (pitch - servo.neutral_pitch_rad) / servo.travel_rad


def build(spec: HelicopterSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a helicopter, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state; `reference` on sensors and an estimator.
    """
    diagram = Diagram(spec.id)
    lowest = spec.contact.lowest_m()
    body, parts = add_body_in_air(diagram, spec.home, spec.environment, spec.body, lowest)
    navigator = add_navigator(diagram, lowest, spec.control.cruise)
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
            diagram, body, parts, spec.home, suite, rotors=[engine], battery=None, start_height_m=lowest
        )
        use_estimate(diagram, senses, control, navigator)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, body, contact)
    return diagram


def add_rotors(
    diagram: Diagram, spec: HelicopterSpec, body: Handle, parts: dict[str, Handle]
) -> tuple[Handle, Handle, Handle]:
    """Add main rotor, tail rotor, fuselage and engine to a body; pitches and throttle stay unconnected."""
    table, far, motor = spec.main_rotor, spec.tail_rotor, spec.engine
    inertia = motor.inertia_ratio * table.blade_inertia_kgm2 * table.blades
    main = diagram.add(
        at.rotor(1).propeller.path, MainRotor(), **table.disc, **table.params, spin=SPIN[table.spin], inertia=inertia
    )
    tail = diagram.add(
        at.rotor(2).propeller.path,
        TailRotor(),
        **far.disc,
        **far.params,
        spin=SPIN[far.spin],
        pitch_0=spec.tail_servo.neutral_pitch_rad,
        blockage=tail_blockage(spec),
    )
    arm, height = -far.position_B_m[0], -far.position_B_m[2]
    gap = arm - table.radius_m  # [Gavrilets2015]: the wash meets the tail between these sweeps
    fuselage = diagram.add(
        "fuselage",
        HelicopterFuselage(),
        **spec.fuselage.params,
        fin_arm=arm,
        fin_height=height,
        sweep_begin=(gap - far.radius_m) / height,
        sweep_end=(gap + far.radius_m) / height,
    )
    idle = hover(spec).profile_torque_Nm * table.speed_radps / motor.max_power_W
    engine = diagram.add(
        at.rotor(1).motor.path,
        GovernedEngine(),
        **motor.params,
        nominal_speed=table.speed_radps,
        inertia=inertia,
        omega_0=table.speed_radps,
        valve_0=idle,
        total_0=idle / motor.governor_integral_prad,
    )
    for part in (main, tail, fuselage):
        add_air_force(diagram, part, body, parts)
    for rotor in (main, tail):
        diagram.connect(engine.speed, rotor.speed)
        diagram.connect(rotor.torque, engine.load_torque)
    diagram.connect(engine.acceleration, main.acceleration)
    diagram.connect(main.induced_speed, fuselage.main_wash)
    diagram.connect(tail.induced_speed, fuselage.tail_wash)
    return main, tail, engine


def _add_control(diagram: Diagram, spec: HelicopterSpec, navigator: Handle) -> Handle:
    main, swash, far = spec.main_rotor, spec.swash, spec.tail_rotor
    assumed = hover(spec)
    tip = main.speed_radps * main.radius_m
    tail_tip = main.speed_radps * far.gear_ratio * far.radius_m
    ratios = swash.collective_ratio, swash.cyclic_ratio
    control = diagram.add(
        at.CONTROL.path,
        HelicopterControl(sample_s=CONTROL_SAMPLE_S),
        **spec.control.gains,
        **swash.limits,
        **spec.tail_servo.params,
        mass=spec.body.mass_kg,
        rotor_radius=main.radius_m,
        tip_speed=tip,
        hover_pitch=main.lift_pitch_rad(assumed.thrust_N, tip),
        hover_induced=assumed.induced_mps,
        profile_torque=assumed.profile_torque_Nm,
        rate_cyclic=FLAP_LAG / (main.bar_lock_number * main.speed_radps * main.cyclic_gain),
        tail_arm=assumed.tail_arm_m,
        tail_thrust=assumed.tail_thrust_N,
        tail_pitch=far.lift_pitch_rad(assumed.tail_thrust_N, tail_tip),
        tail_inflow=1.5 * far.induced_mps(assumed.tail_thrust_N) / tail_tip,
        side_force=assumed.side_force_N,
        mixing=mixing(np.radians(swash.azimuth_deg), *ratios).tolist(),
    )
    ports = ("position_set", "velocity_set", "yaw_set", "armed", "disarmed", "grounded", "control_kind")
    connect_ports(diagram, navigator, control, *ports)
    export_commands(diagram, navigator)
    return control


def _add_actuators(
    diagram: Diagram, spec: HelicopterSpec, control: Handle, main: Handle, tail: Handle, engine: Handle
) -> None:
    swash = diagram.add("surface/swash_plate", SwashPlate(), **spec.swash.plate)
    flat = -spec.swash.collective_0_rad / spec.swash.collective_ratio  # deflection at which the blades are flat
    for i in range(SERVOS):
        servo = _add_servo(diagram, f"swash_{i + 1}", spec.swash, control, flat)
        diagram.connect(servo.deflection, swash[f"servo_{i + 1}"])
    connect_ports(diagram, swash, main, "collective", "longitudinal", "lateral")
    servo = _add_servo(diagram, "tail", spec.tail_servo, control, 0.0)
    diagram.connect(servo.deflection, tail.pitch)
    diagram.connect(add_link(diagram, at.rotor(1), control.throttle, CONTROL_SAMPLE_S), engine.throttle)


def _add_servo(diagram: Diagram, name: str, table: ServoTable, control: Handle, angle_0: float) -> Handle:
    place = at.surface(name)
    servo = diagram.add(place.servo.path, Servo(), **table.servo, angle_0=angle_0)
    diagram.connect(add_link(diagram, place, control[name], CONTROL_SAMPLE_S), servo.command)
    return servo


KIND = VehicleKind(
    name="helicopter",
    spec=HelicopterSpec,
    build=build,
    abilities=abilities(f"{HOVER} stabilized", "position velocity acceleration yaw attitude"),
    drawing="helicopter",
    mav_type="MAV_TYPE_HELICOPTER",
    autopilot_class="copter",
    px4="ironbird.autopilots.px4.helicopters:helicopter_airframe",
    ardupilot="ironbird.autopilots.ardupilot.helicopters:HELICOPTER",
    hovers=True,
)
