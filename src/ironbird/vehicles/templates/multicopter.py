"""Multicopters: any number of rotors at any place, four or more landing points, battery, cascaded control."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ironbird.blocks.actuators.motor import Motor, MotorSecondOrder
from ironbird.blocks.actuators.servo import Servo
from ironbird.blocks.controllers.multicopter_control import SPINS, MulticopterControl
from ironbird.blocks.controllers.navigator import Navigator
from ironbird.blocks.forces.rotor import Rotor, RotorInAir
from ironbird.blocks.forces.rotor_wakes import RotorWakes
from ironbird.blocks.power.drive_heat import DriveHeat
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import HOVER, VehicleKind, abilities
from ironbird.vehicles.riccati import regulator, zero_order_hold
from ironbird.vehicles.rotor_air import wake_losses
from ironbird.vehicles.spec import Positive, VehicleSpec
from ironbird.vehicles.tables import BlockTable, params_of
from ironbird.vehicles.templates.reference_autopilot import add_senses
from ironbird.vehicles.templates.rotorcraft import (
    BATTERY_SAMPLE_S,
    CONTROL_SAMPLE_S,
    SPIN,
    AirframeTable,
    BatteryTable,
    Body,
    ContactTable,
    LimitTable,
    SensorTable,
    add_airframe,
    add_battery,
    add_body_in_air,
    add_brown_out,
    add_contact,
    add_crash,
    add_navigator,
    export_commands,
    use_estimate,
    use_truth,
)
from ironbird.vehicles.templates.sensors import Suite
from ironbird.vehicles.templates.wiring import add_link, connect_ports, lead_air

OPPOSITE_SHARE = 0.5  # thrust of the rotor opposite a lost one over that of the others, as in [Mueller2014]
RATE_WEIGHT, AXIS_WEIGHT = 13.0, 120.0  # rad/s^2 per error of one rad/s, and of one in the axis
SETTLED = 20  # iterations in which spin and thrusts converge
MOST_LEAN = 0.26  # rad, largest tilt of the spin axis in the body
DESIGN_GRAVITY_MPS2 = 9.81  # of the hover that sets `yaw_lag`; standard gravity would change the bytes of every flight


class MotorTable(BlockTable):
    """A motor with its speed controller: first-order (time constant) or second-order (frequency, damping).

    Speed over throttle s is `idle_speed_radps + slope_radps s + quadratic_radps s^2`.
    """

    time_constant_s: Positive | None = None
    natural_frequency_radps: Positive | None = None
    damping_ratio: Positive | None = None
    curve = params_of(Motor, "slope_radps>0 idle_speed_radps quadratic_radps? dead_zone?")
    first_order = params_of(Motor, "time_constant_s")
    second_order = params_of(MotorSecondOrder, "natural_frequency_radps damping_ratio")

    @model_validator(mode="after")
    def _one_order(self) -> MotorTable:
        second = self.natural_frequency_radps is not None and self.damping_ratio is not None
        if (self.time_constant_s is not None) == second:
            raise ValueError("give either time_constant_s, or natural_frequency_radps and damping_ratio")
        return self

    def add(self, diagram: Diagram, rotor: at.Actuator) -> Handle:
        """Add the motor block of a rotor."""
        if self.time_constant_s is not None:
            return diagram.add(rotor.motor.path, Motor(), **self.first_order, **self.curve)
        return diagram.add(rotor.motor.path, MotorSecondOrder(), **self.second_order, **self.curve)

    def top_speed_radps(self) -> float:
        """Largest speed in rad/s between zero and full throttle, at full voltage."""
        bend = self.quadratic_radps
        best = min(1.0, -self.slope_radps / (2 * bend)) if bend < 0 else 1.0
        return self.slope_radps * best + self.idle_speed_radps + bend * best * best


class PropellerTable(BlockTable):
    """A propeller with the spinning part of its motor.

    Coefficients of moving air are 0 if they are left out: `ironbird.vehicles.rotor_air` makes them from tables.
    `diameter_m` enables ground effect, vortex ring and wakes of other rotors; without any of these keys the rotor's
    forces do not depend on the air's motion.
    """

    diameter_m: Positive | None = None
    params = params_of(
        Rotor, "thrust_coefficient_Ns2>0 torque_coefficient_Nms2>0 inertia_kgm2 reference_density_kgpm3?"
    )
    air = params_of(
        RotorInAir,
        "inflow_Ns2pm? climb_loss_Ns2pm2? translational_lift_Ns2pm2? rotor_drag_Ns2pm? flapping_Ns2? "
        "torque_inflow_Ns2? torque_climb_Ns2pm? body_spin?",
    )

    @property
    def in_air(self) -> bool:
        """Whether the rotor's forces depend on the motion of the air."""
        return self.diameter_m is not None or any(value for name, value in self.air.items() if name != "body_spin")


class WakeTable(BlockTable):
    """Switches for the effects of ground and wakes on rotors with a given diameter."""

    interference: bool = True
    params = params_of(RotorWakes, "ground_effect? vortex_ring? fluctuation?")


class RotorTable(BlockTable):
    """Position of a rotor, its motor and propeller; the order is the autopilot's motor order."""

    name: str
    spin: Literal["ccw", "cw"]
    motor: str = "standard"
    propeller: str = "standard"
    params = params_of(Rotor, "position_B_m axis_B?")

    def check(self, what: str, motors: dict[str, MotorTable], propellers: dict[str, PropellerTable]) -> None:
        """Raise if it names a motor or propeller that is not in the file."""
        if self.motor not in motors:
            raise ValueError(f"{what} names motor '{self.motor}'; known: {', '.join(motors)}")
        if self.propeller not in propellers:
            raise ValueError(f"{what} names propeller '{self.propeller}'; known: {', '.join(propellers)}")


class TailTable(BlockTable):
    """A servo that tilts one rotor, far behind the centre of mass, to the side: the yaw of a tricopter."""

    rotor: str
    travel_deg: Annotated[float, Field(gt=0, le=60)]
    params = params_of(Servo, "travel_deg time_constant_s max_rate_degps")


class ControlTable(BlockTable):
    """Gains of the position and attitude control on the true state."""

    max_tilt_deg: Annotated[float, Field(gt=0, lt=80)]
    cruise_speed_mps: Positive = 5.0
    cruise_acceleration_mps2: Positive = 2.0
    lands_spinning: bool = False  # after the loss of one of four rotors
    gains = params_of(
        MulticopterControl,
        "position_gain>0 velocity_gain>0 velocity_integral attitude_gain rate_gain rate_integral max_speed_mps "
        "max_climb_mps max_descent_mps max_tilt_deg max_rate_radps",
    )
    cruise = params_of(Navigator, "cruise_speed_mps cruise_acceleration_mps2=acceleration")


class HeatTable(BlockTable):
    """Heating of every motor and its speed controller; their losses follow from the battery's efficiency."""

    params = params_of(
        DriveHeat,
        "winding_resistance_KpW winding_time_s housing_resistance_KpW housing_time_s controller_resistance_KpW "
        "controller_time_s controller_share? winding_limit_K? controller_limit_K? derate_band_K? derate_least?",
    )


class MulticopterSpec(VehicleSpec):
    """Content of a multicopter's vehicle file."""

    body: Body
    motor: dict[str, MotorTable]
    propeller: dict[str, PropellerTable]
    rotor: Annotated[list[RotorTable], Field(min_length=3)]
    tail: TailTable | None = None
    airframe: AirframeTable
    contact: ContactTable
    battery: BatteryTable
    heat: HeatTable | None = None  # without it drives stay cold
    control: ControlTable
    wakes: WakeTable = WakeTable()
    sensors: SensorTable = SensorTable()
    limits: LimitTable = LimitTable()

    @model_validator(mode="after")
    def _parts_exist(self) -> MulticopterSpec:
        for rotor in self.rotor:
            rotor.check(f"rotor '{rotor.name}'", self.motor, self.propeller)
        names = [rotor.name for rotor in self.rotor]
        if self.tail and self.tail.rotor not in names:
            raise ValueError(f"tail names rotor '{self.tail.rotor}'; known: {', '.join(names)}")
        if self.tail and self.rotor[names.index(self.tail.rotor)].position_B_m[0] >= 0:
            raise ValueError(f"tail: rotor '{self.tail.rotor}' is not behind the centre of mass")
        if self.control.lands_spinning and (len(self.rotor) != 4 or self.tail):
            raise ValueError(f"control.lands_spinning is for four rotors without a tail servo, not for {len(names)}")
        if self.tail is None and len(self.rotor) == 3:
            raise ValueError("three rotors cannot hold the yaw: give a [tail] whose servo tilts one of them")
        return self

    def hover_lift_N(self) -> float:
        """Lift in N of its rotors at full throttle at rest, at the air density of their coefficients."""
        parts = [(self.motor[rotor.motor], self.propeller[rotor.propeller], rotor) for rotor in self.rotor]
        return float(sum(-r.axis_B[2] * p.thrust_coefficient_Ns2 * m.top_speed_radps() ** 2 for m, p, r in parts))

    def tail_number(self) -> int | None:
        """Index (from 0) of the rotor that the tail servo tilts."""
        return [rotor.name for rotor in self.rotor].index(self.tail.rotor) if self.tail else None


def effectiveness(spec: MulticopterSpec) -> np.ndarray:
    """Total thrust and the three moments per newton of each rotor: the control matrix of [RflyModel] 7.1, 4 x n."""
    columns = []
    for rotor in spec.rotor:
        propeller = spec.propeller[rotor.propeller]
        axis = np.array(rotor.axis_B)
        arm = propeller.torque_coefficient_Nms2 / propeller.thrust_coefficient_Ns2
        moment = np.cross(rotor.position_B_m, axis) - SPIN[rotor.spin] * arm * axis
        columns.append([-axis[2], *moment])
    return np.array(columns).T


def allocation(spec: MulticopterSpec) -> np.ndarray:
    """Matrix from thrust, roll, pitch and yaw moment to rotor thrusts, n x 4; with a tail servo rotors do not yaw."""
    effect = effectiveness(spec)
    if spec.tail is None:
        return np.asarray(np.linalg.pinv(effect))
    return np.hstack([np.linalg.pinv(effect[:3]), np.zeros((len(spec.rotor), 1))])


def exchange(effect: np.ndarray) -> np.ndarray:
    """Column j: change of all rotors when rotor j changes by one newton at constant thrust and moments, n x n.

    These are the columns of the projection on the null space [Oppenheimer2006], scaled to one in the diagonal.
    """
    null = np.eye(effect.shape[1]) - np.linalg.pinv(effect) @ effect
    own = np.diag(null)
    return np.asarray(null / np.where(own > 1e-9, own, np.inf))  # a rotor that no other can replace gets zeros


def allocations_without(effect: np.ndarray) -> np.ndarray:
    """The allocation after the loss of each rotor in turn, side by side, n x 4 n.

    Lift, roll and pitch by the pseudo-inverse over the others; yaw by the smallest change that leaves those three
    alone, so that a layout that cannot hold all four gives up the heading and not the tilt [Mueller2014].
    """
    rotors = effect.shape[1]
    blocks = []
    for lost in range(rotors):
        others = np.delete(np.arange(rotors), lost)
        block = np.zeros((rotors, 4))
        left = effect[:, others]
        inverse = np.linalg.pinv(left[:3])
        block[others, :3] = inverse
        turn = left[3] - inverse @ (left[:3] @ left[3])  # part of the yaw moments that does not affect the other three
        block[others, 3] = turn / max(float(turn @ turn), 1e-12)
        blocks.append(block)
    return np.hstack(blocks)


@dataclass(frozen=True)
class Spin:
    """The steady spin of a quadcopter without one rotor, and the gains around it."""

    axis_B: np.ndarray  # upward unit vector that stays vertical
    rate_radps: float  # yaw rate
    opposite_N: float  # thrust of the rotor opposite the lost one
    gains: np.ndarray  # 8 x SPINS, at 0 to 1.5 times the rate


def spin_without(spec: MulticopterSpec, lost: int) -> Spin:
    """The relaxed hover of [Mueller2014] after the loss of a rotor, by number from 0.

    The rotor opposite the lost one gives OPPOSITE_SHARE of the others' thrust, or less where the body would lean by
    more than MOST_LEAN: the moment of its thrust keeps the axis turning, w x (J w + H). In yaw the rotors' torque
    balances their drag round the arm and the body's. Gains are linear-quadratic for the rates and the axis in body
    axes.
    """
    rotors, weight = spec.rotor, spec.body.mass_kg * DESIGN_GRAVITY_MPS2
    propellers = [spec.propeller[rotor.propeller] for rotor in rotors]
    places = np.array([rotor.position_B_m for rotor in rotors])
    arms = np.linalg.norm(places[:, :2], axis=1)
    opposite = int(np.argmin(places @ places[lost]))
    ways = np.array([SPIN[rotor.spin] for rotor in rotors])
    inertia, squared = spec.body.inertia().diagonal(), max(spec.airframe.damping_Nms2prad2[2], 1e-9)
    shares = np.ones(len(rotors))
    shares[lost], shares[opposite] = 0.0, OPPOSITE_SHARE
    for _ in range(SETTLED):
        thrusts = weight * shares / shares.sum()
        speeds = np.sqrt(thrusts / [q.thrust_coefficient_Ns2 for q in propellers])
        drive = float(ways @ (speeds**2 * [q.torque_coefficient_Nms2 for q in propellers]))
        linear = float((arms**2 * speeds) @ [q.rotor_drag_Ns2pm for q in propellers])
        rate = math.copysign((math.sqrt(linear**2 + 4 * squared * abs(drive)) - linear) / (2 * squared), drive)
        momentum = -float(ways @ (speeds * [q.inertia_kgm2 for q in propellers]))
        stiffness = rate * ((inertia[2] - inertia[:2].mean()) * rate + momentum)  # N m per slope of the axis
        lean = OPPOSITE_SHARE * float(thrusts.max() * arms[opposite]) / stiffness
        slope = math.copysign(min(abs(lean), math.tan(MOST_LEAN)), lean)
        thrust = slope * stiffness / float(arms[opposite])
        shares[opposite] = thrust / float(thrusts.max())
    axis = np.array([*(slope * places[opposite, :2] / arms[opposite]), -1.0])
    axis /= np.linalg.norm(axis)
    # Angular acceleration that the two pairs can add or remove: along the arm by the neighbours, across it by
    # the opposite rotor alone, which cannot pull
    scarce = max(OPPOSITE_SHARE * float(thrusts.max()) / thrust, 1.0)
    along = places[opposite, :2] / arms[opposite]
    across = np.array([-along[1], along[0]])
    price = np.outer(along, along) + scarce**2 * np.outer(across, across)
    columns = []
    for k in range(SPINS):
        r = 1.5 * rate * k / (SPINS - 1)
        turn = ((inertia[2] - inertia[:2].mean()) * r + momentum) / inertia[:2]
        A = np.array(
            [[0, -turn[0], 0, 0], [turn[1], 0, 0, 0], [0, -axis[2], 0, r], [axis[2], 0, -r, 0]]
        )  # dw/dt = -(w x (J w + H)) / J, dh/dt = h x w
        B = np.vstack([np.eye(2), np.zeros((2, 2))])
        weights = np.diag([RATE_WEIGHT**2] * 2 + [AXIS_WEIGHT**2] * 2)
        gain = regulator(*zero_order_hold(A, B, CONTROL_SAMPLE_S), weights, price)
        columns.append((inertia[:2, None] * gain).ravel())
    return Spin(axis, rate, thrust, np.array(columns).T)


def build(spec: MulticopterSpec, control_kind: str = "truth") -> Diagram:
    """The diagram of a multicopter, wired as [Dai] Eq. 3 and 4.

    `control_kind`: `truth` flies on the true state; `reference` on sensors and an estimator.
    """
    diagram = Diagram(spec.id)
    lowest = spec.contact.lowest_m()
    body, parts = add_body_in_air(diagram, spec.home, spec.environment, spec.body, lowest)
    navigator = add_navigator(diagram, lowest, spec.control.cruise)
    control = _add_control(diagram, spec, navigator)
    battery = add_battery(diagram, spec.battery)
    motors = add_rotors(diagram, spec, body, parts, control, battery)
    if control_kind == "truth":
        use_truth(diagram, body, control, navigator)
    else:
        suite = Suite(
            **spec.sensors.model_dump(), starts_in_motion=spec.battery.air_restart, rotor_radps=hover_radps(spec)
        )
        senses = add_senses(
            diagram, body, parts, spec.home, suite, rotors=motors, battery=battery, start_height_m=lowest
        )
        use_estimate(diagram, senses, control, navigator)
        if spec.control.lands_spinning:
            diagram.connect(control.lost_rotor, navigator.rotor_lost)
        for number, sensor in enumerate(senses.rotors, start=1):
            if f"rotor_speed_{number}" in control:
                diagram.connect(sensor.speed, control[f"rotor_speed_{number}"])
    add_airframe(diagram, spec.airframe, spec.body.mass_kg, body, parts)
    contact = add_contact(diagram, spec.contact, body, parts["terrain"])
    add_crash(diagram, spec.limits, body, contact)
    add_brown_out(diagram, battery, navigator)
    return diagram


def hover_radps(spec: MulticopterSpec) -> float:
    """Speed in rad/s of the rotors at which they carry the weight, all equal, without losses."""
    thrust = sum(spec.propeller[rotor.propeller].thrust_coefficient_Ns2 for rotor in spec.rotor)
    return math.sqrt(spec.body.mass_kg * DESIGN_GRAVITY_MPS2 / thrust)


def add_cascade(diagram: Diagram, spec: MulticopterSpec) -> Handle:
    """Add the block of position, attitude and rate control, not yet connected."""
    motors = [spec.motor[r.motor] for r in spec.rotor]
    propellers = [spec.propeller[r.propeller] for r in spec.rotor]
    thrust = [q.thrust_coefficient_Ns2 for q in propellers]
    hover = hover_radps(spec)
    yaw_lag = float(np.mean([q.inertia_kgm2 / (2 * q.torque_coefficient_Nms2 * hover) for q in propellers]))
    effect = effectiveness(spec)
    more: dict[str, Number] = {}
    spins = spec.control.lands_spinning
    if len(spec.rotor) > 4:
        more = {"exchange": exchange(effect).tolist()}
    if len(spec.rotor) > 4 or spins:
        more["without"] = allocations_without(effect).tolist()
    if spins:
        steady_spins = [spin_without(spec, lost) for lost in range(len(spec.rotor))]
        more["lean"] = np.array([spin.axis_B for spin in steady_spins]).T.tolist()
        more["spin_step"] = [1.5 * spin.rate_radps / (SPINS - 1) for spin in steady_spins]
        more["spin_gains"] = np.hstack([spin.gains for spin in steady_spins]).tolist()
        more["rotor_inertia"] = [SPIN[r.spin] * spec.propeller[r.propeller].inertia_kgm2 for r in spec.rotor]
    tail = spec.tail_number()
    if spec.tail is not None and tail is not None:
        yaw_lag = 0.0  # the servo yaws, not the rotors' speeds
        more["tail_arm"] = -spec.rotor[tail].position_B_m[0]
        more["tail_travel"] = math.radians(spec.tail.travel_deg)
        more["reaction"] = effect[3].tolist()
    more |= {
        "mass": spec.body.mass_kg,
        "inertia": np.diag(spec.body.inertia()).tolist(),
        "yaw_lag": yaw_lag,
        "allocation": allocation(spec).tolist(),
        "max_thrust": [c * m.top_speed_radps() * m.top_speed_radps() for c, m in zip(thrust, motors, strict=True)],
        "thrust_coefficient": thrust,
        "motor_slope": [m.slope_radps for m in motors],
        "motor_idle": [m.idle_speed_radps for m in motors],
        "motor_quadratic": [m.quadratic_radps for m in motors],
    }
    block = MulticopterControl(len(spec.rotor), sample_s=CONTROL_SAMPLE_S, tail=tail, spins=spins)
    return diagram.add(at.CONTROL.path, block, **spec.control.gains, **more)


def _add_control(diagram: Diagram, spec: MulticopterSpec, navigator: Handle) -> Handle:
    control = add_cascade(diagram, spec)
    ports = ("position_set", "velocity_set", "yaw_set", "armed", "grounded", "control_kind")
    connect_ports(diagram, navigator, control, *ports)
    export_commands(diagram, navigator)
    for port in ("attitude_set", "rate_wanted_B", "thrust_set"):
        diagram.export(control[port], f"offboard_{port.removesuffix('_wanted_B').removesuffix('_set')}")
    return control


def add_wakes(diagram: Diagram, spec: MulticopterSpec, body: Handle, parts: dict[str, Handle]) -> Handle | None:
    """Add the effects of ground and wakes on the rotors; None if a diameter is not known."""
    propellers = [spec.propeller[rotor.propeller] for rotor in spec.rotor]
    sizes = [q.diameter_m for q in propellers if q.diameter_m is not None]
    if len(sizes) < len(propellers):
        return None
    hubs, axes = [r.position_B_m for r in spec.rotor], [r.axis_B for r in spec.rotor]
    lost = wake_losses(hubs, axes, sizes)
    meet = spec.wakes.interference and any(map(any, lost))
    others: dict[str, Number] = {"losses": lost} if meet else {}
    swept = [2 * SEA_LEVEL_DENSITY_KGPM3 * math.pi * size * size / 4 for size in sizes]  # 2 rho A
    wakes = diagram.add(
        at.WAKES.path,
        RotorWakes(len(propellers), meet=meet, sample_s=spec.environment.wind_sample_s),
        positions=np.array(hubs).T.tolist(),
        axes=np.array(axes).T.tolist(),
        diameters=sizes,
        # k_z w v_h / T with T = c_T w^2 = 2 rho A v_h^2: the same at every speed
        inflows=[
            q.inflow_Ns2pm / math.sqrt(a * q.thrust_coefficient_Ns2) for q, a in zip(propellers, swept, strict=True)
        ],
        climb_losses=[q.climb_loss_Ns2pm2 / a for q, a in zip(propellers, swept, strict=True)],
        **others,
        **spec.wakes.params,
    )
    connect_ports(diagram, body, wakes, "p_NB_N", "R_NB")
    connect_ports(diagram, parts["terrain"], wakes, "place", "ground_z", "slope")
    lead_air(diagram, wakes, body, parts)
    diagram.connect(parts["atmosphere"].density, wakes.density)
    return wakes


def add_rotors(
    diagram: Diagram, spec: MulticopterSpec, body: Handle, parts: dict[str, Handle], control: Handle, battery: Handle
) -> list[Handle]:
    """Add all lifting rotors with the effects between them; returns their motors."""
    wakes = add_wakes(diagram, spec, body, parts)
    return [
        add_rotor(diagram, spec, number, rotor, body, parts, control, battery, wakes)
        for number, rotor in enumerate(spec.rotor, start=1)
    ]


def add_rotor(
    diagram: Diagram,
    spec: MulticopterSpec,
    number: int,
    rotor: RotorTable,
    body: Handle,
    parts: dict[str, Handle],
    control: Handle,
    battery: Handle,
    wakes: Handle | None = None,
) -> Handle:
    """Add motor, propeller and command link of a rotor, driven by the control's `throttle_N`; returns the motor."""
    place = at.rotor(number)
    motor = spec.motor[rotor.motor].add(diagram, place)
    tilting = spec.tail is not None and spec.tail.rotor == rotor.name
    table = spec.propeller[rotor.propeller]
    block = Rotor(tilting=tilting)
    if table.in_air:
        upright = not tilting and rotor.axis_B == [0.0, 0.0, -1.0]
        block = RotorInAir(tilting=tilting, upright=upright, flaps=table.flapping_Ns2 > 0)
    blades = {**table.params, **(table.air if table.in_air else {})}
    propeller = diagram.add(place.propeller.path, block, **rotor.params, spin=SPIN[rotor.spin], **blades)
    if table.in_air:
        lead_air(diagram, propeller, body, parts)
    if wakes is not None:
        diagram.connect(propeller.thrust, wakes[f"thrust_{number}"])
        diagram.connect(wakes[f"factor_{number}"], propeller.wake)
    diagram.connect(add_link(diagram, place, control[f"throttle_{number}"], CONTROL_SAMPLE_S), motor.throttle)
    if spec.tail is not None and tilting:
        tail = at.surface("tail")
        servo = diagram.add(tail.servo.path, Servo(), **spec.tail.params)
        diagram.connect(add_link(diagram, tail, control.tail_command, CONTROL_SAMPLE_S), servo.command)
        diagram.connect(servo.deflection, propeller.tilt)
    if spec.heat is None:
        diagram.connect(battery.voltage_ratio, motor.voltage_ratio)
    else:
        efficiency = spec.battery.efficiency
        heat = diagram.add(
            place.heat.path, DriveHeat(sample_s=BATTERY_SAMPLE_S), efficiency=efficiency, **spec.heat.params
        )
        diagram.connect(battery.voltage_ratio, heat.voltage_ratio)
        diagram.connect(propeller.shaft_power, heat.shaft_power)
        diagram.connect(parts["atmosphere"].temperature, heat.air_temperature)
        diagram.connect(heat.fed, motor.voltage_ratio)
    if "alive" in battery:
        diagram.connect(battery.alive, motor.alive)
    connect_ports(diagram, motor, propeller, "speed", "acceleration")
    diagram.connect(parts["atmosphere"].density, propeller.density)
    connect_ports(diagram, propeller, body, "force_B", "moment_B", "momentum_B")
    diagram.connect(propeller.shaft_power, battery.shaft_power)
    return motor


MAV_TYPES = {  # MAV_TYPE by the number of rotors
    2: "MAV_TYPE_COAXIAL", 3: "MAV_TYPE_TRICOPTER", 4: "MAV_TYPE_QUADROTOR", 6: "MAV_TYPE_HEXAROTOR",
    8: "MAV_TYPE_OCTOROTOR", 10: "MAV_TYPE_DECAROTOR", 12: "MAV_TYPE_DODECAROTOR",
}  # fmt: skip
KIND = VehicleKind(
    name="multicopter",
    spec=MulticopterSpec,
    build=build,
    abilities=abilities(f"{HOVER} stabilized", "position velocity acceleration yaw attitude rates"),
    drawing="rotors",
    mav_type=lambda spec: MAV_TYPES.get(len(spec.rotor), "MAV_TYPE_QUADROTOR"),
    autopilot_class="copter",
    px4="ironbird.autopilots.px4.rotors:multicopter_airframe",
    ardupilot="ironbird.autopilots.ardupilot.rotors:COPTER",
    hovers=True,
)
