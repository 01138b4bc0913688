"""Underwater vehicles: remotely operated ones that hover on thrusters, and torpedo shapes with fins."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.marine_control import FinControl, StationControl
from ironbird.blocks.controllers.marine_navigator import MarineNavigator
from ironbird.blocks.forces.hydrodynamics import Buoyancy, ControlFin, LiftDrag
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3, VehicleSpec
from ironbird.vehicles.templates.common import (
    MISSION_ITEMS,
    SensorTable,
    add_link,
    add_state,
    connect_ports,
    connect_seen,
    mission_table,
)
from ironbird.vehicles.templates.surface_vessel import (
    CONTROL_SAMPLE_S,
    NAVIGATOR_SAMPLE_S,
    ZERO,
    CourseTable,
    CrossFlowTable,
    DampingTable,
    LimitTable,
    MarineBodyTable,
    PropellerTable,
    ThrusterTable,
    add_command,
    add_cross_flow,
    add_damping,
    add_force,
    add_limits,
    add_marine_body,
    add_path_navigator,
    add_thruster,
    check_thrusters,
    course_params,
    effectiveness,
    thrust_limits,
)

SINGULAR = 1e-3  # a direction that the thrusters hardly reach is left alone


class BuoyancyTable(Table):
    """Displaced water."""

    volume_m3: Positive
    centre_B_m: Vector3 = ZERO
    density_kgpm3: Positive
    height_m: Positive


class LiftDragTable(Table):
    """The hull as a wing of small aspect ratio."""

    span_m: Positive
    area_m2: Positive
    drag_coefficient: NotNegative
    efficiency: Positive = 0.7
    density_kgpm3: Positive = 1026.0


class FinTable(Table):
    """A pair of fins with its servo."""

    name: Literal["rudder", "stern"]
    position_B_m: Vector3
    area_m2: Positive
    lift_slope: Positive
    time_constant_s: Positive
    max_angle_deg: Annotated[float, Field(gt=0, lt=60)]
    max_rate_degps: Positive
    density_kgpm3: Positive = 1026.0


class StationTable(Table):
    """Gains of position control with thrusters."""

    cruise_speed_mps: Positive
    cruise_acceleration_mps2: Positive
    arrived_m: Positive
    yaw_rate_radps: Positive
    position_gain: Positive
    velocity_gain: Positive
    velocity_integral: NotNegative
    attitude_gain: Vector3
    rate_gain: Vector3
    max_speed_mps: Positive
    max_acceleration_mps2: Positive


class FinControlTable(CourseTable):
    """Gains of a vehicle that steers with fins; `rate_gain` is the rudder angle per yaw rate error (s)."""

    depth_gain: Positive
    depth_integral_gain: NotNegative
    pitch_gain: Positive
    pitch_rate_gain: NotNegative
    max_pitch_deg: Annotated[float, Field(gt=0, lt=45)]
    cruise_command: Annotated[float, Field(gt=0, le=1)]


class UnderwaterSpec(VehicleSpec):
    """An underwater vehicle's file: with [[fin]] it is guided along a path, without it holds its place."""

    mission: str = "dive"
    start_depth_m: NotNegative
    body: MarineBodyTable
    buoyancy: BuoyancyTable
    damping: DampingTable
    cross_flow: CrossFlowTable | None = None
    lift: LiftDragTable | None = None
    propeller: dict[str, PropellerTable]
    thruster: Annotated[list[ThrusterTable], Field(min_length=1)]
    fin: list[FinTable] = []
    station: StationTable | None = None
    control: FinControlTable | None = None
    sensors: SensorTable = SensorTable(position="usbl_dvl", height="ms5837_30ba")
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _complete(self) -> UnderwaterSpec:
        check_thrusters(self.thruster, self.propeller)
        if (self.station is None) == (self.control is None):
            raise ValueError("give either [station] (thrusters) or [control] (fins)")
        if self.control is not None and sorted(fin.name for fin in self.fin) != ["rudder", "stern"]:
            raise ValueError("a vehicle with [control] needs one [[fin]] 'rudder' and one 'stern'")
        return self


def build(spec: UnderwaterSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of an underwater vehicle.

    With `reference` depth comes from the water's pressure and position from an acoustic fix: there are no satellites
    under water. The fix comes through the `Gnss` block, at its place and under its faults.
    """
    diagram = Diagram(spec.id)
    body, parts = add_marine_body(
        diagram, spec.home, spec.environment, spec.body, planar=False, depth_m=spec.start_depth_m,
        water_depth_m=spec.limits.water_depth_m,
    )  # fmt: skip
    buoyancy = diagram.add(
        "buoyancy", Buoyancy(), volume=spec.buoyancy.volume_m3, centre=spec.buoyancy.centre_B_m,
        density=spec.buoyancy.density_kgpm3, height=spec.buoyancy.height_m,
    )  # fmt: skip
    add_force(diagram, body, buoyancy, parts)
    add_damping(diagram, body, parts, spec.damping)
    if spec.cross_flow is not None:
        add_cross_flow(diagram, body, parts, spec.cross_flow)
    if spec.lift is not None:
        wing = diagram.add(
            "lift", LiftDrag(), span=spec.lift.span_m, area=spec.lift.area_m2,
            drag_coefficient=spec.lift.drag_coefficient, efficiency=spec.lift.efficiency,
            density=spec.lift.density_kgpm3,
        )  # fmt: skip
        add_force(diagram, body, wing, parts)
    thrusters = [
        add_thruster(diagram, number, table, spec.propeller[table.propeller], body, parts)
        for number, table in enumerate(spec.thruster, start=1)
    ]
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=-spec.start_depth_m)
    if control_kind == "reference":
        for place in ("baro/1/chip", "baro/1/altitude"):
            diagram.set(f"{place}.density", spec.buoyancy.density_kgpm3)
    if spec.station is not None:
        _add_station(diagram, spec, spec.station, seen, thrusters)
    elif spec.control is not None:
        _add_fins(diagram, spec, spec.control, body, parts, seen, thrusters)
    add_limits(diagram, body, buoyancy, spec.limits)
    return diagram


def _add_station(
    diagram: Diagram, spec: UnderwaterSpec, table: StationTable, seen: dict[str, Port], thrusters: list[Handle]
) -> None:
    """Position control; without a mission the vehicle stays where it starts."""
    navigator = diagram.add(
        "navigator", MarineNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1,
        table=mission_table([0.0, 0.0, spec.start_depth_m, 0.0, 1e9]), cruise_speed=table.cruise_speed_mps,
        acceleration=table.cruise_acceleration_mps2, arrived=table.arrived_m,
        yaw_rate=table.yaw_rate_radps, point_0=[0.0, 0.0, spec.start_depth_m],
    )  # fmt: skip
    moving = np.diag(spec.body.mass_matrix())
    control = diagram.add(
        "control", StationControl(len(thrusters), sample_s=CONTROL_SAMPLE_S), mass=moving[:3].tolist(),
        inertia=moving[3:].tolist(), position_gain=table.position_gain, velocity_gain=table.velocity_gain,
        velocity_integral=table.velocity_integral, attitude_gain=table.attitude_gain, rate_gain=table.rate_gain,
        max_speed=table.max_speed_mps, max_acceleration=table.max_acceleration_mps2,
        allocation=np.linalg.pinv(effectiveness(spec.thruster), rcond=SINGULAR).tolist(),
        **thrust_limits(spec.thruster, spec.propeller),
    )  # fmt: skip
    connect_seen(diagram, seen, navigator, control)
    connect_ports(diagram, navigator, control, "position_set", "velocity_set", "yaw_set")
    for number, thruster in enumerate(thrusters, start=1):
        add_command(diagram, number, control[f"command_{number}"], thruster)


def _add_fins(
    diagram: Diagram, spec: UnderwaterSpec, table: FinControlTable, body: Handle, parts: dict[str, Handle],
    seen: dict[str, Port], thrusters: list[Handle],
) -> None:  # fmt: skip
    navigator = add_path_navigator(diagram, table, spec.start_depth_m)
    fins = {fin.name: fin for fin in spec.fin}
    control = diagram.add(
        "control", FinControl(sample_s=CONTROL_SAMPLE_S), rudder_gain=table.rate_gain, depth_gain=table.depth_gain,
        depth_integral_gain=table.depth_integral_gain, pitch_gain=table.pitch_gain,
        pitch_rate_gain=table.pitch_rate_gain, max_pitch=math.radians(table.max_pitch_deg),
        travel=[math.radians(fins[name].max_angle_deg) for name in ("rudder", "stern")],
        cruise_speed=table.cruise_speed_mps, cruise_command=table.cruise_command, **course_params(table),
    )  # fmt: skip
    connect_ports(diagram, navigator, control, "course_set", "speed_set", "position_set")
    connect_seen(diagram, seen, navigator, control)
    for name, fin in fins.items():
        servo = diagram.add(
            f"surface/{name}/servo", Servo(), travel=math.radians(fin.max_angle_deg),
            time_constant=fin.time_constant_s, max_rate=math.radians(fin.max_rate_degps),
        )  # fmt: skip
        diagram.connect(add_link(diagram, f"surface/{name}", control[name], CONTROL_SAMPLE_S).value, servo.command)
        part = diagram.add(
            f"surface/{name}/fin", ControlFin(), position=fin.position_B_m, area=fin.area_m2,
            normal=[0.0, 1.0, 0.0] if name == "rudder" else [0.0, 0.0, 1.0], lift_slope=fin.lift_slope,
            density=fin.density_kgpm3,
        )  # fmt: skip
        diagram.connect(servo.deflection, part.deflection)
        add_force(diagram, body, part, parts)
    for number, thruster in enumerate(thrusters, start=1):
        add_command(diagram, number, control.command, thruster)
