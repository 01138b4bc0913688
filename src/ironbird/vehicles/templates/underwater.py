"""Underwater vehicles: remotely operated ones that hover on thrusters, and torpedo shapes with fins."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.marine_control import FinControl, StationControl
from ironbird.blocks.controllers.marine_navigator import MarineNavigator
from ironbird.blocks.forces.hydrodynamics import Buoyancy, ControlFin, LiftDrag
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import DRIVE, HOVER, VehicleKind, abilities
from ironbird.vehicles.spec import NotNegative, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.ground_water import SensorTable, add_state
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.surface_vessel import (
    CONTROL_SAMPLE_S,
    NAVIGATOR_SAMPLE_S,
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
    effectiveness,
    thrust_limits,
)
from ironbird.vehicles.templates.wiring import add_link, connect_ports, connect_seen

SINGULAR = 1e-3  # relative size of a direction that the thrusters hardly reach: not used
NORMALS = {"rudder": [0.0, 1.0, 0.0], "stern": [0.0, 0.0, 1.0]}  # normal of the fins in body axes


class BuoyancyTable(BlockTable):
    """Volume and centre of the displaced water."""

    params = params_of(Buoyancy, "volume_m3 centre_B_m? density_kgpm3 height_m")


class LiftDragTable(BlockTable):
    """The hull as a wing of small aspect ratio."""

    params = params_of(LiftDrag, "span_m area_m2 drag_coefficient efficiency? density_kgpm3?")


class FinTable(BlockTable):
    """A pair of fins with its servo."""

    name: Literal["rudder", "stern"]
    max_angle_deg: Annotated[float, Field(gt=0, lt=60)]
    fin = params_of(ControlFin, "position_B_m area_m2 lift_slope>0 density_kgpm3?")
    servo = params_of(Servo, "time_constant_s max_angle_deg=travel max_rate_degps")


class StationTable(BlockTable):
    """Gains of position control with thrusters."""

    path = params_of(MarineNavigator, "cruise_speed_mps cruise_acceleration_mps2=acceleration arrived_m yaw_rate_radps")
    gains = params_of(
        StationControl,
        "position_gain>0 velocity_gain>0 velocity_integral attitude_gain rate_gain max_speed_mps max_acceleration_mps2",
    )


class FinControlTable(CourseTable):
    """Gains of a vehicle that steers with fins; `rate_gain` is the rudder angle per yaw rate error (s)."""

    max_pitch_deg: Annotated[float, Field(gt=0, lt=45)]
    course = params_of(
        FinControl,
        "heading_gain heading_integral_gain speed_gain speed_integral_gain max_yaw_rate_radps drift_time_s "
        "rate_gain=rudder_gain depth_gain>0 depth_integral_gain pitch_gain>0 pitch_rate_gain max_pitch_deg "
        "cruise_speed_mps cruise_command>0",
    )


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
    under water. The fix uses the `Gnss` block, with its path and its faults.
    """
    diagram = Diagram(spec.id)
    depth = spec.start_depth_m
    body, parts = add_marine_body(diagram, spec, spec.body, spec.limits, planar=False, depth_m=depth)
    buoyancy = diagram.add("buoyancy", Buoyancy(), **spec.buoyancy.params)
    add_force(diagram, body, buoyancy, parts)
    add_damping(diagram, body, parts, spec.damping)
    if spec.cross_flow is not None:
        add_cross_flow(diagram, body, parts, spec.cross_flow)
    if spec.lift is not None:
        add_force(diagram, body, diagram.add("lift", LiftDrag(), **spec.lift.params), parts)
    thrusters = [
        add_thruster(diagram, number, table, spec.propeller[table.propeller], body, parts)
        for number, table in enumerate(spec.thruster, start=1)
    ]
    seen = add_state(diagram, spec, spec.sensors, body, parts, control_kind, start_height_m=-depth)
    if control_kind == "reference":
        for part in (at.barometer(1).chip, at.barometer(1).altitude):
            diagram.set(part("density"), spec.buoyancy.density_kgpm3)
    if spec.station is not None:
        _add_station(diagram, spec, spec.station, seen, thrusters)
    elif spec.control is not None:
        _add_fins(diagram, spec, spec.control, body, parts, seen, thrusters)
    add_limits(diagram, body, buoyancy, spec.limits)
    return diagram


def _add_station(
    diagram: Diagram, spec: UnderwaterSpec, table: StationTable, seen: dict[str, Port], thrusters: list[Handle]
) -> None:
    """Add position control; without a mission the vehicle stays at its start."""
    block = MarineNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S)
    here = [0.0, 0.0, spec.start_depth_m]
    stay = mission_table([*here, 0.0, 1e9])
    navigator = diagram.add(at.NAVIGATOR.path, block, count=1, table=stay, point_0=here, **table.path)
    moving = np.diag(spec.body.mass_matrix())
    control = diagram.add(
        at.CONTROL.path,
        StationControl(len(thrusters), sample_s=CONTROL_SAMPLE_S),
        mass=moving[:3].tolist(),
        inertia=moving[3:].tolist(),
        allocation=np.linalg.pinv(effectiveness(spec.thruster), rcond=SINGULAR).tolist(),
        **table.gains,
        **thrust_limits(spec.thruster, spec.propeller),
    )
    connect_seen(diagram, seen, navigator, control)
    connect_ports(diagram, navigator, control, "position_set", "velocity_set", "yaw_set")
    for number, thruster in enumerate(thrusters, start=1):
        add_command(diagram, number, control[f"command_{number}"], thruster)


def _add_fins(
    diagram: Diagram,
    spec: UnderwaterSpec,
    table: FinControlTable,
    body: Handle,
    parts: dict[str, Handle],
    seen: dict[str, Port],
    thrusters: list[Handle],
) -> None:
    navigator = add_path_navigator(diagram, table, spec.start_depth_m)
    fins = {fin.name: fin for fin in spec.fin}
    travel = np.radians([fins["rudder"].max_angle_deg, fins["stern"].max_angle_deg]).tolist()
    block = FinControl(sample_s=CONTROL_SAMPLE_S)
    control = diagram.add(at.CONTROL.path, block, travel=travel, **table.course)
    connect_ports(diagram, navigator, control, "course_set", "speed_set", "position_set")
    connect_seen(diagram, seen, navigator, control)
    for name, fin in fins.items():
        place = at.surface(name)
        servo = diagram.add(place.servo.path, Servo(), **fin.servo)
        diagram.connect(add_link(diagram, place, control[name], CONTROL_SAMPLE_S), servo.command)
        part = diagram.add(place.fin.path, ControlFin(), normal=NORMALS[name], **fin.fin)
        diagram.connect(servo.deflection, part.deflection)
        add_force(diagram, body, part, parts)
    for number, thruster in enumerate(thrusters, start=1):
        add_command(diagram, number, control.command, thruster)


KIND = VehicleKind(
    name="underwater",
    spec=UnderwaterSpec,
    build=build,
    abilities=abilities(DRIVE, "position velocity course speed height yaw"),  # with fins
    hovering=abilities(HOVER, "position velocity yaw"),
    drawing="submarine",
    mav_type="MAV_TYPE_SUBMARINE",
    autopilot_class="sub",
    px4="ironbird.autopilots.px4.ground_water:underwater_airframe",
    ardupilot="ironbird.autopilots.ardupilot.ground_water:SUBMARINE",
    px4_by_sticks=True,
    flies=False,
)
