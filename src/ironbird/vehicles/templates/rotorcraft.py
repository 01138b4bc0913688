"""What multicopters and helicopters share: mass, landing gear, sensor suite, limits, and how these are wired."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.controllers.navigator import Navigator
from ironbird.blocks.forces.ground_contact import GroundContact
from ironbird.blocks.monitors.crash_detector import CrashDetector
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3
from ironbird.vehicles.templates.common import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.reference_autopilot import Senses

CONTROL_SAMPLE_S = 0.004
NAVIGATOR_SAMPLE_S = 0.02
MONITOR_SAMPLE_S = 0.01
ARM_TIME_S = 3.0  # the estimator settles before arming
HOVER_HEIGHT_M = 10.0


class Body(Table):
    """Mass and its distribution."""

    mass_kg: Positive
    inertia_diag_kgm2: Vector3 | None = None
    inertia_kgm2: Annotated[list[Vector3], Field(min_length=3, max_length=3)] | None = None

    @model_validator(mode="after")
    def _one_inertia(self) -> Body:
        if (self.inertia_diag_kgm2 is None) == (self.inertia_kgm2 is None):
            raise ValueError("give either inertia_diag_kgm2 or inertia_kgm2")
        return self

    def inertia(self) -> np.ndarray:
        """As a 3x3 matrix."""
        return np.array(self.inertia_kgm2) if self.inertia_kgm2 else np.diag(self.inertia_diag_kgm2 or [])


class ContactTable(Table):
    """Landing gear."""

    points_B_m: Annotated[list[Vector3], Field(min_length=3)]
    stiffness_Npm: Positive
    damping_Nspm: NotNegative
    friction: NotNegative
    grip_stiffness_Npm: Positive
    grip_damping_Nspm: NotNegative

    def lowest_m(self) -> float:
        """How far the gear reaches below the centre of mass."""
        return max(point[2] for point in self.points_B_m)


class SensorTable(Table):
    """Sensors of the reference autopilot."""

    imus: Annotated[int, Field(ge=1, le=6)] = 3
    magnetometers: Annotated[int, Field(ge=1, le=4)] = 2
    gnss: Annotated[int, Field(ge=1, le=4)] = 2
    barometers: Annotated[int, Field(ge=1, le=4)] = 1
    estimator: Literal["ekf", "complementary"] = "ekf"


class LimitTable(Table):
    """What counts as a crash."""

    max_impact_mps: Positive = 3.0
    max_ground_tilt_deg: Annotated[float, Field(gt=0, lt=180)] = 60.0
    max_distance_m: Positive = 5000.0


def add_navigator(diagram: Diagram, *, cruise_speed_mps: float, acceleration_mps2: float, lowest_m: float) -> Handle:
    """The navigator, on the ground; without a mission the vehicle hovers."""
    hover = mission_table([0.0, 0.0, -HOVER_HEIGHT_M, 0.0, 1e9])
    return diagram.add(
        "navigator", Navigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1, table=hover,
        cruise_speed=cruise_speed_mps, acceleration=acceleration_mps2, point_0=[0.0, 0.0, -lowest_m],
    )  # fmt: skip


def use_truth(diagram: Diagram, body: Handle, control: Handle, navigator: Handle) -> None:
    """Control on the true state."""
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], control[port])
    for port in ("p_NB_N", "v_NB_N", "R_NB"):
        diagram.connect(body[port], navigator[port])


def use_estimate(diagram: Diagram, senses: Senses, control: Handle, navigator: Handle) -> None:
    """Control on the estimator's state, with failsafes."""
    estimator = senses.estimator
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(estimator[port], control[port])
    for port in ("p_NB_N", "v_NB_N", "R_NB", "healthy", "gnss_age"):
        if port in estimator:
            diagram.connect(estimator[port], navigator[port])
    if "zero_velocity" in estimator:
        diagram.connect(navigator.disarmed, estimator.zero_velocity)
    if senses.gauge is not None:
        diagram.connect(senses.gauge.remaining, navigator.battery_remaining)
    diagram.set("navigator.arm_time", ARM_TIME_S)


def add_contact(diagram: Diagram, table: ContactTable, body: Handle, terrain: Handle) -> Handle:
    """Landing gear on the ground."""
    contact = diagram.add(
        "contact", GroundContact(len(table.points_B_m)), points=np.array(table.points_B_m).T.tolist(),
        stiffness=table.stiffness_Npm, damping=table.damping_Nspm, friction=table.friction,
        grip_stiffness=table.grip_stiffness_Npm, grip_damping=table.grip_damping_Nspm,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(body[port], contact[port])
    for port in ("place", "ground_z", "slope"):
        diagram.connect(terrain[port], contact[port])
    diagram.connect(contact.force_B, body.force_B)
    diagram.connect(contact.moment_B, body.moment_B)
    return contact


def add_crash(diagram: Diagram, limits: LimitTable, body: Handle, contact: Handle) -> None:
    """What ends a flight: a crash, the end of the mission, a landing before it."""
    crash = diagram.add(
        "crash", CrashDetector(sample_s=MONITOR_SAMPLE_S), max_impact=limits.max_impact_mps,
        max_ground_tilt=math.radians(limits.max_ground_tilt_deg), max_distance=limits.max_distance_m,
    )  # fmt: skip
    for port in ("p_NB_N", "v_NB_N", "R_NB"):
        diagram.connect(body[port], crash[port])
    diagram.connect(contact.load, crash.load)
    diagram.stop("hard landing", crash.hard_landing)
    diagram.stop("rollover", crash.rollover)
    diagram.stop("out of bounds", crash.out_of_bounds)
    diagram.stop("mission completed", diagram.port("navigator.done"))
    diagram.stop("landed before the end of the mission", diagram.port("navigator.landed"))
