"""Parts shared by vehicles with rotors: mass, landing gear, battery, airframe, sensors, limits and connections."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, field_validator, model_validator

from ironbird.blocks.controllers.navigator import Navigator
from ironbird.blocks.forces.airframe_drag import AirframeDrag
from ironbird.blocks.forces.ground_contact import GroundContact
from ironbird.blocks.forces.load import ShiftedLoad
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.blocks.power.battery import Battery
from ironbird.blocks.power.power_rail import PowerRail
from ironbird.errors import VehicleError
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.estimators import estimator_class
from ironbird.vehicles.external import plant_blocks
from ironbird.vehicles.spec import Environment, Home, Positive, Table, Vector3
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.reference_autopilot import Senses
from ironbird.vehicles.templates.surroundings import add_body, add_environment
from ironbird.vehicles.templates.wiring import add_air_force, connect_ports

CONTROL_SAMPLE_S = 0.004
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
BATTERY_SAMPLE_S = 0.01
ARM_TIME_S = 3.0  # s in which the estimator settles before arming
HOVER_HEIGHT_M = 10.0
STATE = ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B")
OFFBOARD = ("command", "link_stamp", "offboard_kind", "offboard_position", "offboard_velocity", "offboard_yaw")
SPIN = {"ccw": 1.0, "cw": -1.0}  # seen from above

Matrix3 = Annotated[list[Vector3], Field(min_length=3, max_length=3)]


class Body(Table):
    """Mass, inertia and their distribution in the body."""

    mass_kg: Positive
    inertia_diag_kgm2: Vector3 | None = None
    inertia_kgm2: Matrix3 | None = None

    @model_validator(mode="after")
    def _one_inertia(self) -> Body:
        if (self.inertia_diag_kgm2 is None) == (self.inertia_kgm2 is None):
            raise ValueError("give either inertia_diag_kgm2 or inertia_kgm2")
        return self

    def inertia(self) -> np.ndarray:
        """Inertia as a 3x3 matrix in kg m^2."""
        return np.array(self.inertia_kgm2) if self.inertia_kgm2 else np.diag(self.inertia_diag_kgm2 or [])


class AirframeTable(BlockTable):
    """Drag of everything but the rotors."""

    params = params_of(AirframeDrag, "drag_Ns2pm2 damping_Nms2prad2 centre_B_m?")


class BatteryTable(BlockTable):
    """Battery and what else it feeds."""

    cells: Annotated[int, Field(ge=1)]
    brown_out_V: Positive | None = None  # below it the flight controller stops; none has one that never does
    air_restart: bool = False  # after a brown-out it arms by itself and flies on; otherwise its motors stay off
    rail = params_of(PowerRail, "restart_time_s?")
    params = params_of(Battery, "cells capacity_Ah resistance_ohm efficiency electronics_W=electronics_power")


class ContactTable(BlockTable):
    """Landing gear: contact points and their stiffness."""

    points_B_m: Annotated[list[Vector3], Field(min_length=3)]
    params = params_of(GroundContact, "stiffness_Npm damping_Nspm friction grip_stiffness_Npm grip_damping_Nspm")

    def lowest_m(self) -> float:
        """Distance in m of the gear's lowest point below the centre of mass."""
        return max(point[2] for point in self.points_B_m)


class VibrationTable(Table):
    """Vibration at the inertial sensors near hover: harmonics of the rotors (amplitude) and random (deviation)."""

    rotor_speed_radps: Positive
    accel_mps2: Vector3
    accel_noise_mps2: Vector3
    gyro_radps: Vector3
    gyro_noise_radps: Vector3


class ImuNoiseTable(Table):
    """Noise of the inertial sensors of this vehicle, in place of their product's; densities are one-sided."""

    gyro_noise_radpsrtHz: Positive | None = None
    accel_noise_mps2rtHz: Positive | None = None
    gyro_instability_radps: Positive | None = None
    accel_instability_mps2: Positive | None = None
    gyro_walk_radpsrts: Positive | None = None
    accel_walk_mps2rts: Positive | None = None


class SensorTable(Table):
    """Sensors of the reference autopilot."""

    imus: Annotated[int, Field(ge=1, le=6)] = 3
    magnetometers: Annotated[int, Field(ge=1, le=4)] = 2
    gnss: Annotated[int, Field(ge=1, le=4)] = 2
    barometers: Annotated[int, Field(ge=1, le=4)] = 1
    estimator: str = "ekf"  # ekf, complementary, or a block of your own (IRONBIRD_BLOCKS)
    imu_position_B_m: Vector3 = [0.0, 0.0, 0.0]
    vibration: VibrationTable | None = None
    imu_noise: ImuNoiseTable | None = None

    @field_validator("estimator")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            estimator_class(name)
        except VehicleError as error:
            raise ValueError(str(error)) from None
        return name


class LimitTable(BlockTable):
    """Limits of speed, tilt and distance that count as a crash."""

    max_impact_mps: Positive = 3.0
    max_ground_tilt_deg: Annotated[float, Field(gt=0, lt=180)] = 60.0
    max_distance_m: Positive = 5000.0
    params = params_of(CrashDetector, "max_impact_mps max_ground_tilt_deg max_distance_m")


def add_body_in_air(
    diagram: Diagram, home: Home, environment: Environment, table: Body, lowest_m: float
) -> tuple[Handle, dict[str, Handle]]:
    """Add the body of a file at rest on its feet, and its surroundings."""
    mass, inertia = table.mass_kg, table.inertia().tolist()
    body = add_body(diagram, home, environment, mass_kg=mass, inertia_kgm2=inertia, height_above_home_m=lowest_m)
    return body, add_environment(diagram, body, home, environment)


def add_navigator(diagram: Diagram, lowest_m: float, params: dict[str, Number]) -> Handle:
    """Add the navigator, on the ground; without a mission the vehicle hovers."""
    hover = mission_table([0.0, 0.0, -HOVER_HEIGHT_M, 0.0, 1e9])
    block = Navigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S)
    return diagram.add(at.NAVIGATOR.path, block, count=1, table=hover, point_0=[0.0, 0.0, -lowest_m], **params)


def export_commands(diagram: Diagram, navigator: Handle) -> None:
    """Export the inputs for an external program: modes, the link's heartbeat, offboard set-points."""
    for port in OFFBOARD:
        diagram.export(navigator[port])


def use_truth(diagram: Diagram, body: Handle, control: Handle, navigator: Handle) -> None:
    """Connect control and navigator to the true state."""
    connect_ports(diagram, body, control, *STATE)
    connect_ports(diagram, body, navigator, "p_NB_N", "v_NB_N", "R_NB")


def use_estimate(diagram: Diagram, senses: Senses, control: Handle, navigator: Handle) -> None:
    """Connect control and navigator to the estimator's state, with failsafes."""
    connect_ports(diagram, senses.estimator, control, *STATE)
    connect_ports(diagram, senses.estimator, navigator, "p_NB_N", "v_NB_N", "R_NB")
    add_failsafes(diagram, senses.estimator, navigator)
    if "sink_rate" in senses.estimator and "sink_rate" in control:
        connect_ports(diagram, senses.estimator, control, "sink_rate")
    if senses.gauge is not None:
        diagram.connect(senses.gauge.remaining, navigator.battery_remaining)


def add_failsafes(diagram: Diagram, estimator: Handle, navigator: Handle) -> None:
    """Connect estimator and navigator beyond the state: the navigator waits for the estimator and gets its health."""
    names = ("healthy", "gnss_age", "sink_rate")
    connect_ports(diagram, estimator, navigator, *(name for name in names if name in estimator and name in navigator))
    if "zero_velocity" in estimator:
        diagram.connect(navigator.disarmed, estimator.zero_velocity)
    diagram.set(at.NAVIGATOR.arm_time, ARM_TIME_S)


def add_battery(diagram: Diagram, table: BatteryTable) -> Handle:
    """Add the battery and the flight controller's supply; loads are connected where they are added."""
    battery = diagram.add(at.BATTERY.path, Battery(sample_s=BATTERY_SAMPLE_S), **table.params)
    if table.brown_out_V is None:
        return battery
    rail = diagram.add(
        at.POWER_RAIL.path,
        PowerRail(sample_s=BATTERY_SAMPLE_S),
        drop_out=table.brown_out_V,
        air_restart=float(table.air_restart),
        **table.rail,
    )
    diagram.connect(battery.voltage, rail.voltage)
    return Handle(at.BATTERY.path, {**battery.ports(), "alive": rail.alive, "may_arm": rail.may_arm})


def add_brown_out(diagram: Diagram, battery: Handle | None, navigator: Handle) -> None:
    """Connect the effect of a brown-out on the complete control system: it restarts, on the ground or in flight."""
    if battery is None or "alive" not in battery:
        return
    diagram.connect(battery.may_arm, navigator.may_arm)
    plant = set(plant_blocks(diagram))
    diagram.reset(
        battery.alive, [path for path, block in diagram.blocks.items() if block.is_sampled and path not in plant]
    )


def add_airframe(
    diagram: Diagram, table: AirframeTable, mass_kg: float, body: Handle, parts: dict[str, Handle]
) -> None:
    """Add the drag of everything but rotors and wings, and the load that may shift."""
    add_air_force(diagram, diagram.add(at.AIRFRAME.path, AirframeDrag(), **table.params), body, parts)
    load = diagram.add(at.LOAD.path, ShiftedLoad(), mass=mass_kg)
    diagram.connect(body.R_NB, load.R_NB)
    diagram.connect(parts["gravity"].gravity_N, load.gravity_N)
    diagram.connect(load.moment_B, body.moment_B)


def add_contact(
    diagram: Diagram,
    table: ContactTable,
    body: Handle,
    terrain: Handle,
    block: GroundContact | None = None,
    **more: Number,
) -> Handle:
    """Add landing gear on the ground; `block` is another class than contact points, `more` are its parameters."""
    points = np.array(table.points_B_m).T.tolist()
    block = block or GroundContact(len(table.points_B_m))
    contact = diagram.add(at.CONTACT.path, block, points=points, **table.params, **more)
    connect_ports(diagram, body, contact, *STATE)
    connect_ports(diagram, terrain, contact, "place", "ground_z", "slope")
    connect_ports(diagram, contact, body, "force_B", "moment_B")
    return contact


def add_crash(
    diagram: Diagram, limits: LimitTable, body: Handle, contact: Handle, *, hit: str = "hard landing", **more: Number
) -> None:
    """Add the stop conditions: a crash, the end of the mission, a landing before it; `more` are block parameters."""
    crash = diagram.add(at.CRASH.path, CrashDetector(sample_s=MONITOR_SAMPLE_S), **limits.params, **more)
    connect_ports(diagram, body, crash, "p_NB_N", "v_NB_N", "R_NB")
    diagram.connect(contact.load, crash.load)
    diagram.stop(hit, crash.hard_landing)
    diagram.stop("rollover", crash.rollover)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port(at.NAVIGATOR.done))
    diagram.stop("landed before the end of the mission", diagram.port(at.NAVIGATOR.landed))
