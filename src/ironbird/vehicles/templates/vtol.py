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
from ironbird.blocks.bodies.hover_frame import HoverFrame
from ironbird.blocks.controllers.vtol_control import VtolControl
from ironbird.blocks.controllers.vtol_navigator import VtolNavigator
from ironbird.blocks.forces.lift_drag import LiftDragSurface
from ironbird.blocks.sensors.airspeed import Airspeed
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import HOVER, VehicleKind, abilities
from ironbird.vehicles.spec import NotNegative, Positive
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.mission import MISSION_ITEMS, mission_table
from ironbird.vehicles.templates.multicopter import (
    MulticopterSpec,
    RotorTable,
    add_cascade,
    add_rotor,
    add_rotors,
    hover_radps,
)
from ironbird.vehicles.templates.reference_autopilot import add_pitot, add_senses
from ironbird.vehicles.templates.rotorcraft import (
    CONTROL_SAMPLE_S,
    HOVER_HEIGHT_M,
    NAVIGATOR_SAMPLE_S,
    STATE,
    add_airframe,
    add_battery,
    add_body_in_air,
    add_brown_out,
    add_contact,
    add_crash,
    export_commands,
    use_estimate,
    use_truth,
)
from ironbird.vehicles.templates.sensors import AIRSPEED_SAMPLE_S, Suite
from ironbird.vehicles.templates.wiring import add_air_force, add_link, connect_ports

AXES = ("roll", "pitch", "yaw")
CRUISE_SPREAD = 0.4  # relative spread of the mean speed of all rotors: some stop in hover, others in cruise


class AeroTable(BlockTable):
    """Coefficients of a profile, names as [LiftDrag]."""

    cda_prad: NotNegative
    params = params_of(
        LiftDragSurface,
        "cla_prad>0 cda_prad cma_mprad? alpha_stall_rad cla_stall_prad cda_stall_prad cma_stall_mprad?",
    )


class SurfaceTable(BlockTable):
    """A wing half, tail or fin; one with `axes` has a servo and serves these axes."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    aero: str
    axes: list[Literal["roll", "pitch", "yaw"]] = []
    wash_rotors: list[str] = []  # in whose wake it stands
    params = params_of(
        LiftDragSurface,
        "area_m2 position_B_m forward_B? upward_B? a0_rad? control_joint_rad_to_cl? cm_delta_mprad? wash_share?",
    )


class ServoTable(BlockTable):
    """Travel, rate and lag of the servos of all surfaces."""

    params = params_of(Servo, "travel_rad time_constant_s max_rate_radps")


class WingControlTable(BlockTable):
    """Control of flight on wings and of the transitions."""

    hover_pitch_deg: Literal[0, 90]
    transition_rate_degps: Positive = 35.0
    max_roll_deg: Annotated[float, Field(gt=0, lt=65)]
    path = params_of(
        VtolNavigator,
        "cruise_speed_mps=wing_speed transition_speed_mps transition_time_s transition_timeout_s back_speed_mps "
        "slowing_mps2 braking_mps2 chute_loss_m weathervane? wing_distance_m wing_height_m>0 acceptance_radius_m",
    )
    gains = params_of(
        VtolControl,
        "blend_speed_mps transition_speed_mps transition_thrust_N transition_rate_degps alpha_low_deg alpha_high_deg "
        "pitch_low_deg max_thrust_N l1_period_s max_roll_deg height_gain>0 max_climb_mps climb_gain climb_integral "
        "lift_gain>0 lift_integral speed_gain>0 speed_integral attitude_gain rate_gain rate_integral max_rate_radps",
    )


class VtolSpec(MulticopterSpec):
    """Content of a vehicle file with rotors and wings."""

    aero: dict[str, AeroTable]
    surface: Annotated[list[SurfaceTable], Field(min_length=1)]
    servo: ServoTable
    wing: WingControlTable
    pusher: RotorTable | None = None

    @model_validator(mode="after")
    def _fits(self) -> VtolSpec:
        if (self.pusher is None) != (self.wing.hover_pitch_deg == 90):
            raise ValueError("give either a [pusher], or wing.hover_pitch_deg = 90 (tail-sitter)")
        if self.pusher is not None:
            self.pusher.check("the pusher", self.motor, self.propeller)
        for surface in self.surface:
            if surface.aero not in self.aero:
                known = ", ".join(self.aero)
                raise ValueError(f"surface '{surface.name}' names aero '{surface.aero}'; known: {known}")
            for name in surface.wash_rotors:
                _washing(self, surface.name, name)
        if self.wing.hover_pitch_deg and self.environment.earth != "flat":
            raise ValueError(
                "a tail-sitter starts with its nose up, which is written for environment.earth = 'flat' only"
            )
        return self

    def hover_lift_N(self) -> float:
        """Lift in N of its rotors at full throttle in the attitude of the hover."""
        upright = self.model_copy(update={"rotor": hover_spec(self).rotor})
        return MulticopterSpec.hover_lift_N(upright)

    def lands_on_tail(self) -> bool:
        """Whether the vehicle lands on its tail: true for a tail-sitter."""
        return self.wing.hover_pitch_deg == 90

    def rotation_HB(self) -> np.ndarray:
        """Rotation matrix from body to hover axes: the pitch at which the vehicle hovers."""
        angle = math.radians(self.wing.hover_pitch_deg)
        c, s = round(math.cos(angle), 15), math.sin(angle)
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _washing(spec: VtolSpec, surface: str, name: str) -> tuple[int, float]:
    """Number and disc area (m^2) of a rotor whose wake flows over a surface."""
    rotors = [*spec.rotor, *([spec.pusher] if spec.pusher else [])]
    names = [rotor.name for rotor in rotors]
    if name not in names:
        raise ValueError(f"surface '{surface}' stands in the wake of rotor '{name}'; known: {', '.join(names)}")
    size = spec.propeller[rotors[names.index(name)].propeller].diameter_m
    if size is None:
        raise ValueError(f"surface '{surface}' stands in the wake of rotor '{name}': give its propeller's diameter_m")
    return names.index(name) + 1, math.pi * size * size / 4


def hover_spec(spec: VtolSpec) -> VtolSpec:
    """The same vehicle with its rotors and inertia in hover axes."""
    turn = spec.rotation_HB()
    turned = [
        {key: (turn @ getattr(rotor, key)).tolist() for key in ("position_B_m", "axis_B")} for rotor in spec.rotor
    ]
    rotors = [rotor.model_copy(update=place) for rotor, place in zip(spec.rotor, turned, strict=True)]
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
        lift_drag = aero.cla_prad * alpha * np.cross(span, flow) - aero.cda_prad * abs(alpha) * flow
        part = 0.5 * SEA_LEVEL_DENSITY_KGPM3 * surface.area_m2 * np.linalg.norm(flow) * lift_drag
        force += part
        moment += np.cross(surface.position_B_m, part)
    return force, moment


def level_flight(spec: VtolSpec, speed_mps: float) -> tuple[float, float, float]:
    """Angle of attack of lift = weight, and drag and pitching moment there, surfaces at rest."""
    slope, shift = lift_slope(spec)
    weight = spec.body.mass_kg * STANDARD_GRAVITY_MPS2
    alpha = weight / (0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed_mps**2 * slope) - shift
    force, moment = wing_loads(spec, speed_mps, alpha)
    drag = -force @ np.array([math.cos(alpha), 0.0, math.sin(alpha)])
    return alpha, float(drag), float(moment[1])


def lift_slope(spec: VtolSpec) -> tuple[float, float]:
    """Area times lift slope of all surfaces that lift upwards (m^2), and the angle of attack for air along the nose."""
    parts = [
        (-s.upward_B[2] * s.area_m2 * spec.aero[s.aero].cla_prad, s.a0_rad) for s in spec.surface if s.upward_B[2] < 0
    ]
    total = sum(part for part, _ in parts)
    return total, sum(part * a0 for part, a0 in parts) / total


def allocation(spec: VtolSpec) -> np.ndarray:
    """Matrix from moments over dynamic pressure to deflections, surfaces with servo x 3; equal shares per axis."""
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
    body, parts = add_body_in_air(diagram, spec.home, spec.environment, spec.body, lowest)
    if spec.wing.hover_pitch_deg:
        half = math.radians(spec.wing.hover_pitch_deg) / 2
        diagram.set(at.BODY.attitude_0, [math.cos(half), 0.0, math.sin(half), 0.0])
    navigator = _add_navigator(diagram, spec, lowest)
    control = add_cascade(diagram, hover_spec(spec))
    diagram.set(at.CONTROL("carried"), 0.0)  # with little lift the wings control it, not its legs
    wing = _add_wing_control(diagram, spec)
    _connect_controls(diagram, navigator, control, wing)
    battery = add_battery(diagram, spec.battery)
    motors = add_rotors(diagram, spec, body, parts, control, battery)
    if spec.pusher is not None:
        motors.append(add_rotor(diagram, spec, len(motors) + 1, spec.pusher, body, parts, wing, battery))
    _add_surfaces(diagram, spec, body, parts, wing)
    upright = _hover_axes(diagram, spec, "hover_frame/true", body)
    if control_kind == "truth":
        use_truth(diagram, upright, control, navigator)
        connect_ports(diagram, body, wing, *STATE)
        tube = diagram.add(at.airspeed(1).chip.path, Airspeed(sample_s=AIRSPEED_SAMPLE_S))
        diagram.connect(parts["air"].v_air_B, tube.v_air_B)
        diagram.connect(parts["atmosphere"].density, tube.density)
        diagram.connect(tube.true_airspeed_truth, wing.airspeed, navigator.airspeed)
    else:
        suite = Suite(
            **spec.sensors.model_dump(),
            rangefinders=0,
            optical_flows=0,
            starts_in_motion=spec.battery.air_restart,
            airspeed_mps=spec.wing.cruise_speed_mps,
            rotor_radps=hover_radps(hover_spec(spec)),
            rotor_spread=CRUISE_SPREAD,
        )
        senses = add_senses(
            diagram, body, parts, spec.home, suite, rotors=motors, battery=battery, start_height_m=lowest
        )
        seen = _hover_axes(diagram, spec, "hover_frame/estimated", senses.estimator)
        use_estimate(diagram, replace(senses, estimator=seen), control, navigator)
        connect_ports(diagram, senses.estimator, wing, *STATE)
        pitot = add_pitot(diagram, at.AIRSPEED_VOTER)
        diagram.connect(pitot.airspeed, wing.airspeed, navigator.airspeed)
    add_airframe(diagram, spec.airframe, spec.body.mass_kg, body, parts)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, upright, contact)
    add_brown_out(diagram, battery, navigator)
    return diagram


def _hover_axes(diagram: Diagram, spec: VtolSpec, path: str, source: Handle) -> Handle:
    """Signals of a state, with attitude and rates in hover axes."""
    if not spec.wing.hover_pitch_deg:
        return source
    frame = diagram.add(path, HoverFrame(), R_HB=spec.rotation_HB().tolist())
    diagram.connect(source.R_NB, frame.R_NB)
    diagram.connect(source.w_NB_B, frame.w_NB_B)
    return Handle(path, {**source.ports(), "R_NB": frame.R_NH, "w_NB_B": frame.w_NH_H})


def _add_navigator(diagram: Diagram, spec: VtolSpec, lowest: float) -> Handle:
    block = VtolNavigator(MISSION_ITEMS, sample_s=NAVIGATOR_SAMPLE_S)
    path: dict[str, Number] = {
        "count": 1,
        "table": mission_table([0.0, 0.0, -HOVER_HEIGHT_M, 0.0, 1e9]),
        "point_0": [0.0, 0.0, -lowest],
        "return_height": spec.wing.wing_height_m + 10.0,
    }
    return diagram.add(at.NAVIGATOR.path, block, **path, **spec.control.cruise, **spec.wing.path)


def _add_wing_control(diagram: Diagram, spec: VtolSpec) -> Handle:
    names = [surface.name for surface in spec.surface if surface.axes]
    slope, shift = lift_slope(spec)
    full = sum(
        spec.propeller[r.propeller].thrust_coefficient_Ns2 * spec.motor[r.motor].top_speed_radps() ** 2
        for r in spec.rotor
    )
    push: dict[str, Number] = {}
    if spec.pusher is not None:
        motor = spec.motor[spec.pusher.motor]
        push["pusher_coefficient"] = spec.propeller[spec.pusher.propeller].thrust_coefficient_Ns2
        push |= {"pusher_slope": motor.slope_radps, "pusher_idle": motor.idle_speed_radps}
    return diagram.add(
        at.WING_CONTROL.path,
        VtolControl(names, pusher=len(spec.rotor) + 1 if spec.pusher else None, sample_s=CONTROL_SAMPLE_S),
        mass=spec.body.mass_kg,
        inertia=np.diag(spec.body.inertia()).tolist(),
        R_HB=spec.rotation_HB().tolist(),
        lift_slope=slope,
        drag_slope=sum(s.area_m2 * spec.aero[s.aero].cda_prad for s in spec.surface if s.upward_B[2] < 0),
        zero_lift=shift,
        trim_moment=-level_flight(spec, spec.wing.cruise_speed_mps)[2],
        rotor_thrust=full,
        allocation=allocation(spec).tolist(),
        travel=spec.servo.travel_rad,
        **spec.wing.gains,
        **push,
    )


def _connect_controls(diagram: Diagram, navigator: Handle, control: Handle, wing: Handle) -> None:
    connect_ports(diagram, navigator, control, "position_set", "velocity_set", "yaw_set", "grounded", "control_kind")
    path = ("stage", "path_origin", "path_course", "height_set", "airspeed_set", "yaw_set", "armed")
    connect_ports(diagram, navigator, wing, *path)
    diagram.connect(wing.rotors_armed, control.armed)
    diagram.connect(wing.rate_set, control.rate_wanted_B)
    diagram.connect(wing.thrust_set, control.thrust_set)
    diagram.connect(control.thrust_total, wing.hover_thrust)
    export_commands(diagram, navigator)


def _add_surfaces(diagram: Diagram, spec: VtolSpec, body: Handle, parts: dict[str, Handle], wing: Handle) -> None:
    for surface in spec.surface:
        place = at.surface(surface.name)
        profile = spec.aero[surface.aero].params
        washers = [_washing(spec, surface.name, name) for name in surface.wash_rotors]
        area: dict[str, Number] = {"wash_area": sum(disc for _, disc in washers)} if washers else {}
        panel = diagram.add(
            place.panel.path, LiftDragSurface(washed=bool(washers)), **surface.params, **profile, **area
        )
        for number, _ in washers:
            diagram.connect(diagram.port(at.rotor(number).propeller("thrust")), panel.wash_thrust)
        add_air_force(diagram, panel, body, parts)
        if surface.axes:
            servo = diagram.add(place.servo.path, Servo(), **spec.servo.params)
            diagram.connect(add_link(diagram, place, wing[surface.name], CONTROL_SAMPLE_S), servo.command)
            diagram.connect(servo.deflection, panel.deflection)


KIND = VehicleKind(
    name="vtol",
    spec=VtolSpec,
    build=build,
    abilities=abilities(HOVER, "position velocity acceleration yaw"),
    drawing="vtol",
    mav_type="MAV_TYPE_VTOL_FIXEDROTOR",
    autopilot_class="vtol",
    px4="ironbird.autopilots.px4.wings:vtol_airframe",
    ardupilot="ironbird.autopilots.ardupilot.wings:QUADPLANE",
    hovers=True,
    winged=True,
    transitions=True,
)
