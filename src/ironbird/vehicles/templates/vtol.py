"""Vehicles that hover on rotors and fly on wings: quadplanes with a pusher, tail-sitters.

Frame B is that of flight on wings: x along the nose. A tail-sitter stands and hovers with its nose up
(`hover_pitch_deg = 90`); its hover control works in axes H that are level then. Airspeed is that along the nose: of an
ideal pitot tube in control on the true state, of the measured pressures in reference control.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.hover_frame import HoverFrame
from ironbird.blocks.controllers.vtol_control import VtolControl
from ironbird.blocks.controllers.vtol_navigator import VtolNavigator
from ironbird.blocks.estimators.pitot_airspeed import PitotAirspeed
from ironbird.blocks.forces.lift_drag import LiftDragSurface
from ironbird.blocks.forces.load import ShiftedLoad
from ironbird.blocks.power.battery import Battery
from ironbird.blocks.sensors.airspeed import Airspeed
from ironbird.model.diagram import Diagram, Handle
from ironbird.vehicles.spec import NotNegative, Positive, Table, Vector3
from ironbird.vehicles.templates.common import MISSION_ITEMS, add_link, mission_table
from ironbird.vehicles.templates.multicopter import (
    BATTERY_SAMPLE_S,
    MulticopterSpec,
    RotorTable,
    add_airframe,
    add_cascade,
    add_rotor,
)
from ironbird.vehicles.templates.reference_autopilot import Suite, add_senses
from ironbird.vehicles.templates.rotorcraft import (
    CONTROL_SAMPLE_S,
    HOVER_HEIGHT_M,
    NAVIGATOR_SAMPLE_S,
    add_contact,
    add_crash,
    use_estimate,
    use_truth,
)
from ironbird.vehicles.templates.sensors import AIRSPEED_SAMPLE_S
from ironbird.vehicles.templates.surroundings import add_body, add_environment

AXES = ("roll", "pitch", "yaw")
DENSITY = 1.225


class AeroTable(Table):
    """Coefficients of a profile, names as [LiftDrag]."""

    cla_prad: Positive
    cda_prad: NotNegative
    cma_mprad: float = 0.0
    alpha_stall_rad: Positive
    cla_stall_prad: float
    cda_stall_prad: float
    cma_stall_mprad: float = 0.0


class SurfaceTable(Table):
    """A wing half, tail or fin; one with `axes` has a servo and serves these axes."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    aero: str
    area_m2: Positive
    position_B_m: Vector3
    forward_B: Vector3 = [1.0, 0.0, 0.0]
    upward_B: Vector3 = [0.0, 0.0, -1.0]
    a0_rad: float = 0.0
    axes: list[Literal["roll", "pitch", "yaw"]] = []
    control_joint_rad_to_cl: float = 0.0
    cm_delta_mprad: float = 0.0


class ServoTable(Table):
    """Servos of all surfaces."""

    travel_rad: Positive
    time_constant_s: Positive
    max_rate_radps: Positive


class WingControlTable(Table):
    """Flight on wings and the way there and back."""

    hover_pitch_deg: Literal[0, 90]
    cruise_speed_mps: Positive
    blend_speed_mps: Positive
    transition_speed_mps: Positive
    transition_time_s: NotNegative
    transition_timeout_s: Positive
    transition_thrust_N: NotNegative
    transition_rate_degps: Positive = 35.0
    back_speed_mps: Positive
    slowing_mps2: Positive
    braking_mps2: Positive
    chute_loss_m: Positive
    weathervane: NotNegative = 0.0
    wing_distance_m: Positive
    wing_height_m: Positive
    acceptance_radius_m: Positive
    alpha_low_deg: float
    alpha_high_deg: float
    pitch_low_deg: float
    max_thrust_N: Positive
    l1_period_s: Positive
    max_roll_deg: Annotated[float, Field(gt=0, lt=65)]
    height_gain: Positive
    max_climb_mps: Positive
    climb_gain: NotNegative
    climb_integral: NotNegative
    lift_gain: Positive
    lift_integral: NotNegative
    speed_gain: Positive
    speed_integral: NotNegative
    attitude_gain: Vector3
    rate_gain: Vector3
    rate_integral: NotNegative
    max_rate_radps: Positive


class VtolSpec(MulticopterSpec):
    """A file of a vehicle with rotors and wings."""

    aero: dict[str, AeroTable]
    surface: Annotated[list[SurfaceTable], Field(min_length=1)]
    servo: ServoTable
    wing: WingControlTable
    pusher: RotorTable | None = None

    @model_validator(mode="after")
    def _fits(self) -> VtolSpec:
        for surface in self.surface:
            if surface.aero not in self.aero:
                known = ", ".join(self.aero)
                raise ValueError(f"surface '{surface.name}' names aero '{surface.aero}'; known: {known}")
        if (self.pusher is None) != (self.wing.hover_pitch_deg == 90):
            raise ValueError("give either a [pusher], or wing.hover_pitch_deg = 90 (tail-sitter)")
        if self.pusher is not None and not (
            self.pusher.motor in self.motor and self.pusher.propeller in self.propeller
        ):
            raise ValueError("the pusher names a motor or propeller that is not there")
        if self.wing.hover_pitch_deg and self.environment.earth != "flat":
            raise ValueError(
                "a tail-sitter starts with its nose up, which is written for environment.earth = 'flat' only"
            )
        return self

    def rotation_HB(self) -> np.ndarray:
        """From body to hover axes: the pitch at which the vehicle hovers."""
        angle = math.radians(self.wing.hover_pitch_deg)
        c, s = round(math.cos(angle), 15), math.sin(angle)
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def hover_spec(spec: VtolSpec) -> VtolSpec:
    """The same vehicle, its rotors and inertia in hover axes."""
    turn = spec.rotation_HB()
    rotors = [
        rotor.model_copy(
            update={
                "position_B_m": (turn @ rotor.position_B_m).tolist(), "axis_B": (turn @ rotor.axis_B).tolist(),
            }
        )
        for rotor in spec.rotor
    ]  # fmt: skip
    inertia = (turn @ spec.body.inertia() @ turn.T).tolist()
    body = spec.body.model_copy(update={"inertia_kgm2": inertia, "inertia_diag_kgm2": None})
    return spec.model_copy(update={"rotor": rotors, "body": body})


def wing_loads(spec: VtolSpec, speed_mps: float, alpha_rad: float) -> tuple[np.ndarray, np.ndarray]:
    """Force and moment in B of all surfaces at rest, below the stall, straight flow: [LiftDrag] written out."""
    v = speed_mps * np.array([math.cos(alpha_rad), 0.0, math.sin(alpha_rad)])
    force, moment = np.zeros(3), np.zeros(3)
    for surface in spec.surface:
        aero = spec.aero[surface.aero]
        up, span = np.array(surface.upward_B), np.cross(surface.forward_B, surface.upward_B)
        flow = v - span * (v @ span)
        alpha = surface.a0_rad + math.atan2(-flow @ up, float(flow @ surface.forward_B))
        part = 0.5 * DENSITY * surface.area_m2 * np.linalg.norm(flow) * (
            aero.cla_prad * alpha * np.cross(span, flow) - aero.cda_prad * abs(alpha) * flow
        )  # fmt: skip
        force += part
        moment += np.cross(surface.position_B_m, part)
    return force, moment


def level_flight(spec: VtolSpec, speed_mps: float) -> tuple[float, float, float]:
    """Angle of attack of lift = weight, and drag and pitching moment there, surfaces at rest."""
    slope, shift = lift_slope(spec)
    weight = spec.body.mass_kg * 9.80665
    alpha = weight / (0.5 * DENSITY * speed_mps**2 * slope) - shift
    force, moment = wing_loads(spec, speed_mps, alpha)
    drag = -force @ np.array([math.cos(alpha), 0.0, math.sin(alpha)])
    return alpha, float(drag), float(moment[1])


def lift_slope(spec: VtolSpec) -> tuple[float, float]:
    """Area times slope of all that lifts upwards (m^2), and the angle of attack when the air comes along the nose."""
    parts = [
        (-s.upward_B[2] * s.area_m2 * spec.aero[s.aero].cla_prad, s.a0_rad) for s in spec.surface if s.upward_B[2] < 0
    ]
    total = sum(part for part, _ in parts)
    return total, sum(part * a0 for part, a0 in parts) / total


def allocation(spec: VtolSpec) -> np.ndarray:
    """Moments over dynamic pressure to deflections, surfaces with servo x 3; those that serve an axis share it."""
    moved = [surface for surface in spec.surface if surface.axes]
    effect = np.zeros((3, len(moved)))
    for i, surface in enumerate(moved):
        up, span = np.array(surface.upward_B), np.cross(surface.forward_B, surface.upward_B)
        moment = np.cross(surface.position_B_m, up) * surface.control_joint_rad_to_cl + span * surface.cm_delta_mprad
        for axis in surface.axes:
            effect[AXES.index(axis), i] = surface.area_m2 * moment[AXES.index(axis)]
    size = (effect * effect).sum(axis=1)
    return np.asarray((effect / np.where(size > 0, size, np.inf)[:, None]).T)


def build(spec: VtolSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a vehicle with rotors and wings, wired as [Dai] Eq. 3 and 4."""
    diagram = Diagram(spec.id)
    turn = spec.rotation_HB()
    lowest = max(float((turn @ point)[2]) for point in spec.contact.points_B_m)
    body = add_body(
        diagram, spec.home, spec.environment, mass_kg=spec.body.mass_kg,
        inertia_kgm2=spec.body.inertia().tolist(), height_above_home_m=lowest,
    )  # fmt: skip
    if spec.wing.hover_pitch_deg:
        half = math.radians(spec.wing.hover_pitch_deg) / 2
        diagram.set("body.q_0", [math.cos(half), 0.0, math.sin(half), 0.0])
    parts = add_environment(diagram, body, spec.home, spec.environment)
    navigator = _add_navigator(diagram, spec, lowest)
    control = add_cascade(diagram, "control", hover_spec(spec))
    wing = _add_wing_control(diagram, spec)
    _connect_controls(diagram, navigator, control, wing)
    battery = diagram.add(
        "battery", Battery(sample_s=BATTERY_SAMPLE_S), cells=spec.battery.cells,
        capacity=3600 * spec.battery.capacity_Ah, resistance=spec.battery.resistance_ohm,
        efficiency=spec.battery.efficiency, electronics_power=spec.battery.electronics_W,
    )  # fmt: skip
    motors = [
        add_rotor(diagram, spec, number, rotor, body, parts, control, battery)
        for number, rotor in enumerate(spec.rotor, start=1)
    ]
    if spec.pusher is not None:
        motors.append(add_rotor(diagram, spec, len(motors) + 1, spec.pusher, body, parts, wing, battery))
    _add_surfaces(diagram, spec, body, parts, wing)
    upright = _hover_axes(diagram, spec, "hover_frame/true", body)
    if control_kind == "truth":
        use_truth(diagram, upright, control, navigator)
        _feed(diagram, body, wing)
        tube = diagram.add("airspeed/1/chip", Airspeed(sample_s=AIRSPEED_SAMPLE_S))
        diagram.connect(parts["air"].v_air_B, tube.v_air_B)
        diagram.connect(parts["atmosphere"].density, tube.density)
        diagram.connect(tube.true_airspeed_truth, wing.airspeed, navigator.airspeed)
    else:
        suite = Suite(**spec.sensors.model_dump(), rangefinders=0, optical_flows=0)
        senses = add_senses(
            diagram, body, parts, spec.home, suite, rotors=motors, battery=battery,
            capacity=3600 * spec.battery.capacity_Ah, cells=spec.battery.cells, start_height_m=lowest,
        )  # fmt: skip
        seen = _hover_axes(diagram, spec, "hover_frame/estimated", senses.estimator)
        use_estimate(diagram, replace(senses, estimator=seen), control, navigator)
        _feed(diagram, senses.estimator, wing)
        pitot = diagram.add("vote/airspeed", PitotAirspeed(sample_s=AIRSPEED_SAMPLE_S))
        for path, port in (
            ("airspeed/1/fault.value", pitot.pressure), ("airspeed/1/fault.stamp", pitot.stamp_in),
            ("baro/1/fault.value", pitot.static_pressure),
        ):  # fmt: skip
            diagram.connect(diagram.port(path), port)
        diagram.connect(pitot.airspeed, wing.airspeed, navigator.airspeed)
    add_airframe(diagram, spec, body, parts)
    load = diagram.add("load", ShiftedLoad(), mass=spec.body.mass_kg)
    diagram.connect(body.R_NB, load.R_NB)
    diagram.connect(parts["gravity"].gravity_N, load.gravity_N)
    diagram.connect(load.moment_B, body.moment_B)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, upright, contact)
    return diagram


def _hover_axes(diagram: Diagram, spec: VtolSpec, path: str, source: Handle) -> Handle:
    """Ports of a state, with attitude and rates in hover axes."""
    if not spec.wing.hover_pitch_deg:
        return source
    frame = diagram.add(path, HoverFrame(), R_HB=spec.rotation_HB().tolist())
    diagram.connect(source.R_NB, frame.R_NB)
    diagram.connect(source.w_NB_B, frame.w_NB_B)
    return Handle(path, {**source.ports(), "R_NB": frame.R_NH, "w_NB_B": frame.w_NH_H})


def _feed(diagram: Diagram, state: Handle, wing: Handle) -> None:
    for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):
        diagram.connect(state[port], wing[port])


def _add_navigator(diagram: Diagram, spec: VtolSpec, lowest: float) -> Handle:
    table = spec.wing
    return diagram.add(
        "navigator", VtolNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S), count=1,
        table=mission_table([0.0, 0.0, -HOVER_HEIGHT_M, 0.0, 1e9]), cruise_speed=spec.control.cruise_speed_mps,
        acceleration=spec.control.cruise_acceleration_mps2, point_0=[0.0, 0.0, -lowest],
        return_height=table.wing_height_m + 10.0,
        wing_speed=table.cruise_speed_mps, wing_distance=table.wing_distance_m, wing_height=table.wing_height_m,
        transition_speed=table.transition_speed_mps, transition_time=table.transition_time_s,
        transition_timeout=table.transition_timeout_s, back_speed=table.back_speed_mps, slowing=table.slowing_mps2,
        braking=table.braking_mps2, acceptance_radius=table.acceptance_radius_m, chute_loss=table.chute_loss_m,
        weathervane=table.weathervane,
    )  # fmt: skip


def _add_wing_control(diagram: Diagram, spec: VtolSpec) -> Handle:
    table = spec.wing
    names = [surface.name for surface in spec.surface if surface.axes]
    slope, shift = lift_slope(spec)
    drags = sum(s.area_m2 * spec.aero[s.aero].cda_prad for s in spec.surface if s.upward_B[2] < 0)
    full = sum(
        spec.propeller[r.propeller].thrust_coefficient_Ns2 * spec.motor[r.motor].top_speed_radps() ** 2
        for r in spec.rotor
    )
    push: dict[str, float] = {}
    if spec.pusher is not None:
        motor, propeller = spec.motor[spec.pusher.motor], spec.propeller[spec.pusher.propeller]
        push = {
            "pusher_coefficient": propeller.thrust_coefficient_Ns2, "pusher_slope": motor.slope_radps,
            "pusher_idle": motor.idle_speed_radps,
        }  # fmt: skip
    return diagram.add(
        "wing_control",
        VtolControl(names, pusher=len(spec.rotor) + 1 if spec.pusher else None, sample_s=CONTROL_SAMPLE_S),
        mass=spec.body.mass_kg, inertia=np.diag(spec.body.inertia()).tolist(), R_HB=spec.rotation_HB().tolist(),
        lift_slope=slope, drag_slope=drags, zero_lift=shift, alpha_low=math.radians(table.alpha_low_deg),
        alpha_high=math.radians(table.alpha_high_deg), trim_moment=-level_flight(spec, table.cruise_speed_mps)[2],
        rotor_thrust=full, max_thrust=table.max_thrust_N, blend_speed=table.blend_speed_mps,
        transition_speed=table.transition_speed_mps, transition_thrust=table.transition_thrust_N,
        transition_rate=math.radians(table.transition_rate_degps), l1_period=table.l1_period_s,
        max_roll=math.radians(table.max_roll_deg), height_gain=table.height_gain, max_climb=table.max_climb_mps,
        climb_gain=table.climb_gain, climb_integral=table.climb_integral, lift_gain=table.lift_gain,
        lift_integral=table.lift_integral, speed_gain=table.speed_gain, speed_integral=table.speed_integral,
        pitch_low=math.radians(table.pitch_low_deg), attitude_gain=table.attitude_gain, rate_gain=table.rate_gain,
        rate_integral=table.rate_integral, max_rate=table.max_rate_radps, allocation=allocation(spec).tolist(),
        travel=spec.servo.travel_rad, **push,
    )  # fmt: skip


def _connect_controls(diagram: Diagram, navigator: Handle, control: Handle, wing: Handle) -> None:
    for port in ("position_set", "velocity_set", "yaw_set", "grounded", "control_kind"):
        diagram.connect(navigator[port], control[port])
    for port in ("stage", "path_origin", "path_course", "height_set", "airspeed_set", "yaw_set", "armed"):
        diagram.connect(navigator[port], wing[port])
    diagram.connect(wing.rotors_armed, control.armed)
    diagram.connect(wing.rate_set, control.rate_wanted_B)
    diagram.connect(wing.thrust_set, control.thrust_set)
    diagram.connect(control.thrust_total, wing.hover_thrust)
    # What a program outside may command: modes, the link's heartbeat, offboard positions and velocities
    for port in (
        "command", "link_stamp", "offboard_kind", "offboard_position", "offboard_velocity", "offboard_yaw",
    ):  # fmt: skip
        diagram.export(navigator[port])


def _add_surfaces(diagram: Diagram, spec: VtolSpec, body: Handle, parts: dict[str, Handle], wing: Handle) -> None:
    for surface in spec.surface:
        aero = spec.aero[surface.aero]
        place = f"surface/{surface.name}"
        panel = diagram.add(
            f"{place}/panel", LiftDragSurface(), area=surface.area_m2, position=surface.position_B_m,
            forward=surface.forward_B, upward=surface.upward_B, a0=surface.a0_rad, cla=aero.cla_prad,
            cda=aero.cda_prad, cma=aero.cma_mprad, alpha_stall=aero.alpha_stall_rad, cla_stall=aero.cla_stall_prad,
            cda_stall=aero.cda_stall_prad, cma_stall=aero.cma_stall_mprad,
            control_joint_rad_to_cl=surface.control_joint_rad_to_cl, cm_delta=surface.cm_delta_mprad,
        )  # fmt: skip
        diagram.connect(parts["air"].v_air_B, panel.v_air_B)
        diagram.connect(body.w_NB_B, panel.w_NB_B)
        diagram.connect(parts["atmosphere"].density, panel.density)
        diagram.connect(panel.force_B, body.force_B)
        diagram.connect(panel.moment_B, body.moment_B)
        if surface.axes:
            servo = diagram.add(
                f"{place}/servo", Servo(), travel=spec.servo.travel_rad, time_constant=spec.servo.time_constant_s,
                max_rate=spec.servo.max_rate_radps,
            )  # fmt: skip
            diagram.connect(add_link(diagram, place, wing[surface.name], CONTROL_SAMPLE_S).value, servo.command)
            diagram.connect(servo.deflection, panel.deflection)
