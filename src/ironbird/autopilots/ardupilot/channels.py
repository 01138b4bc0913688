"""Servo outputs of ArduPilot and the actuators they drive, and the ArduPilot frame that fits a vehicle.

Rotors are matched to ArduPilot's frames by position and direction of spin, thrusters of an underwater vehicle by their
effect on the body; so the vehicle and ArduPilot keep their own numbering.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ironbird.errors import LinkError
from ironbird.files.named_code import load_home
from ironbird.protocols.parm_file import Params
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.spec import VehicleSpec
from ironbird.vehicles.templates.car import CarSpec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec
from ironbird.vehicles.templates.helicopter import HelicopterSpec
from ironbird.vehicles.templates.multicopter import MulticopterSpec, RotorTable
from ironbird.vehicles.templates.rover import RoverSpec
from ironbird.vehicles.templates.surface_vessel import SurfaceVesselSpec, effectiveness
from ironbird.vehicles.templates.underwater import UnderwaterSpec
from ironbird.vehicles.templates.vtol import VtolSpec, allocation, hover_spec

Kind = Literal["throttle", "both_ways", "forward", "backward", "launch"]
Firmware = Literal["arducopter", "arducopter-heli", "arduplane", "ardurover", "ardusub"]
# What 1000 to 2000 us mean: offset and scale of the command, and its limits.
SCALES: dict[Kind, tuple[float, float, float, float]] = {
    "throttle": (1000.0, 1e-3, 0.0, 1.0),
    "both_ways": (1500.0, 2e-3, -1.0, 1.0),
    "forward": (1500.0, 2e-3, 0.0, 1.0),
    "backward": (1500.0, -2e-3, 0.0, 1.0),
    "launch": (1300.0, 1.0, 0.0, 1.0),  # throttle above 30 %: the catapult fires
}

# Numbers of SERVOn_FUNCTION [ArduPilotCode] SRV_Channel.
AILERON, ELEVATOR, RUDDER = 4, 19, 21
GROUND_STEERING, THROTTLE, THROTTLE_LEFT, THROTTLE_RIGHT = 26, 70, 73, 74
ELEVON_LEFT, ELEVON_RIGHT = 77, 78
TAIL_SERVO = 7  # motor number of a tricopter's tail servo
HELICOPTER, HELI_TAIL, HELI_ROTOR, HELI_ROTOR_OUTPUT = 6, 4, 31, 8  # frame class, motor number, function, output

CCW, CW = "ccw", "cw"
# Frames: class, type, and each motor's bearing in degrees (clockwise from the nose) and spin,
# [ArduPilotCode] AP_MotorsMatrix
Frame = tuple[int, int, tuple[tuple[float, str], ...]]


def _ring(bearings: Sequence[float], spins: str) -> tuple[tuple[float, str], ...]:
    return tuple((bearing, CW if spin == "+" else CCW) for bearing, spin in zip(bearings, spins, strict=True))


FRAMES: tuple[Frame, ...] = (
    (1, 1, _ring((45, -135, -45, 135), "--++")),
    (1, 0, _ring((90, -90, 0, 180), "--++")),
    (1, 3, _ring((45, -135, -45, 135), "++--")),  # H: X that turns the other way
    (1, 6, _ring((90, -90, 0, 180), "++--")),
    (2, 1, _ring((90, -90, -30, 150, 30, -150), "+-+--+")),
    (2, 0, _ring((0, 180, -120, 60, -60, 120), "+-+--+")),
    (3, 1, _ring((22.5, -157.5, 67.5, 157.5, -22.5, -112.5, -67.5, 112.5), "++----++")),
    (3, 0, _ring((0, 180, 45, 135, -45, -135, -90, 90), "++----++")),
    (4, 1, _ring((45, -45, -135, 135, -45, 45, 135, -135), "-+-+-+-+")),
    (4, 0, _ring((0, -90, 180, 90, -90, 0, 90, 180), "-+-+-+-+")),
    (5, 10, _ring((60, 60, 180, 180, -60, -60), "+-+-+-")),
    (12, 0, _ring((0, 0, 60, 60, 120, 120, 180, 180, -120, -120, -60, -60), "-++--++--++-")),
    (12, 1, _ring((30, 30, 90, 90, 150, 150, -150, -150, -90, -90, -30, -30), "-++--++--++-")),
)
BEARING_TOLERANCE_DEG = 16.0
TRICOPTER = (7, 0)
TRICOPTER_BEARINGS = {1: 60.0, 2: -60.0, 4: 180.0}
# Thrusters of [ArduPilotCode] AP_Motors6DOF, frame VECTORED_6DOF: share in forward, right, up, roll, pitch, yaw.
VECTORED_6DOF = 2
THRUSTERS = np.array(
    [
        [-1, 1, 0, 0, 0, 1],
        [-1, -1, 0, 0, 0, -1],
        [1, 1, 0, 0, 0, -1],
        [1, -1, 0, 0, 0, 1],
        [0, 0, -1, 1, -1, 0],
        [0, 0, -1, -1, -1, 0],
        [0, 0, -1, 1, 1, 0],
        [0, 0, -1, -1, 1, 0],
    ],
    float,
)


@dataclass(frozen=True)
class Channel:
    """One servo output and the actuator that it drives."""

    number: int  # of the output, from 1
    place: str  # of the actuator
    function: int  # SERVOn_FUNCTION
    kind: Kind = "throttle"
    reverse: bool = False

    def command(self, pwm: float) -> float:
        """Command of the actuator for a pulse length in µs; an unused output (0) gives the neutral command."""
        offset, scale, low, high = SCALES[self.kind]
        if pwm == 0:
            return 0.0
        value = min(max((pwm - offset) * scale, low), high)
        return -value if self.reverse else value


@dataclass(frozen=True)
class Wiring:
    """How a vehicle is wired to ArduPilot: firmware, frame and servo outputs."""

    firmware: Firmware
    channels: tuple[Channel, ...]
    frame_class: int = 0
    frame_type: int = 0


def motor_function(motor: int) -> int:
    """SERVOn_FUNCTION of a motor (numbers from 1)."""
    return 32 + motor if motor <= 8 else 73 + motor


def find_frame(rotors: Sequence[RotorTable]) -> tuple[int, int, list[int]]:
    """Frame class and type, and the motor number of each rotor, of the nearest frame with the same spins."""
    own = [(math.degrees(math.atan2(r.position_B_m[1], r.position_B_m[0])), r.spin) for r in rotors]
    best: tuple[float, int, int, list[int]] | None = None
    for frame_class, frame_type, motors in FRAMES:
        if len(motors) != len(own):
            continue
        numbers, worst = [], 0.0
        for bearing, spin in own:
            away = [(_between(bearing, m[0]), number) for number, m in enumerate(motors, start=1) if m[1] == spin]
            near = min((a for a in away if a[1] not in numbers), default=(360.0, 0))
            numbers.append(near[1])
            worst = max(worst, near[0])
        if worst <= BEARING_TOLERANCE_DEG and (best is None or worst < best[0]):
            best = (worst, frame_class, frame_type, numbers)
    if best is None:
        places = ", ".join(f"{bearing:.0f} deg {spin}" for bearing, spin in own)
        raise LinkError(f"ArduPilot has no frame with rotors at {places} (bearing from the nose, seen from above)")
    return best[1:]


def _between(a: float, b: float) -> float:
    return abs((a - b + 180.0) % 360.0 - 180.0)


@dataclass(frozen=True)
class Fit:
    """How ArduPilot is fitted to a kind of vehicle: wiring, and parameters in addition to the common ones."""

    wire: Callable[[Any], Wiring]
    params: Callable[[Any, Wiring], Params]


def fit_of(spec: VehicleSpec) -> Fit:
    """How ArduPilot is fitted to a vehicle; `LinkError` if it does not support its kind."""
    home = vehicle_kind(spec).ardupilot
    if not home:
        raise LinkError(f"vehicle '{spec.id}': ArduPilot is not wired to vehicles of template '{spec.template}'")
    fit: Fit = load_home(home)
    return fit


def wire(spec: VehicleSpec) -> Wiring:
    """Outputs and frame of a vehicle of the catalogue; `LinkError` with the reason if ArduPilot does not support it."""
    return fit_of(spec).wire(spec)


def wire_rover(spec: RoverSpec) -> Wiring:
    """Wiring of a skid-steered rover: one throttle for the wheels of each side."""
    left = Channel(1, "wheel/left", THROTTLE_LEFT, "both_ways")
    right = Channel(3, "wheel/right", THROTTLE_RIGHT, "both_ways")
    return Wiring("ardurover", (left, right), frame_class=1)


def wire_car(spec: CarSpec) -> Wiring:
    """Wiring of a car: steering, and a throttle whose lower half brakes."""
    channels = (
        Channel(1, "steering", GROUND_STEERING, "both_ways"),
        Channel(3, "drive", THROTTLE, "forward"),
        Channel(3, "brake", THROTTLE, "backward"),
    )
    return Wiring("ardurover", channels, frame_class=1)


def _motors(numbers: Sequence[int], first: int = 1) -> list[Channel]:
    """Channels of rotors on consecutive outputs from `first`, ordered by motor number."""
    return [
        Channel(first - 1 + motor, f"rotor/{rotor}", motor_function(motor))
        for rotor, motor in enumerate(numbers, start=1)
    ]


def wire_multicopter(spec: MulticopterSpec) -> Wiring:
    """Wiring of a multicopter: motors of the nearest frame; a tricopter has a tail servo."""
    if spec.tail is None:
        frame_class, frame_type, numbers = find_frame(spec.rotor)
        return Wiring("arducopter", tuple(_motors(numbers)), frame_class, frame_type)
    channels = []
    for number, rotor in enumerate(spec.rotor, start=1):
        bearing = math.degrees(math.atan2(rotor.position_B_m[1], rotor.position_B_m[0]))
        motor = min(TRICOPTER_BEARINGS, key=lambda m: _between(bearing, TRICOPTER_BEARINGS[m]))
        channels.append(Channel(motor, f"rotor/{number}", motor_function(motor)))
    # ArduPilot's servo goes up to yaw to the right; a positive tilt pushes the tail to the right
    tail = Channel(TAIL_SERVO, "surface/tail", motor_function(TAIL_SERVO), "both_ways", reverse=True)
    return Wiring("arducopter", (*channels, tail), *TRICOPTER)


def wire_helicopter(spec: HelicopterSpec) -> Wiring:
    """Wiring of a helicopter: swash-plate servos by azimuth (H3), tail servo, rotor speed for the governor."""
    swash = [Channel(n, f"surface/swash_{n}", motor_function(n), "both_ways") for n in (1, 2, 3)]
    tail = Channel(HELI_TAIL, "surface/tail", motor_function(HELI_TAIL), "both_ways")  # both: nose to the right
    rotor = Channel(HELI_ROTOR_OUTPUT, "rotor/1", HELI_ROTOR)
    return Wiring("arducopter-heli", (*swash, tail, rotor), HELICOPTER)


def _surface(number: int, name: str, shares: Sequence[float]) -> Channel:
    """Channel of a control surface, from its shares of roll right, pitch up and yaw right."""
    roll, pitch, yaw = shares
    place = f"surface/{name}"
    if roll and pitch:
        # ArduPilot's elevons go up with their trailing edge: both pitch up, the left one rolls to the left
        function = ELEVON_LEFT if roll * pitch < 0 else ELEVON_RIGHT
        return Channel(number, place, function, "both_ways", reverse=pitch < 0)
    if roll:
        return Channel(number, place, AILERON, "both_ways", reverse=roll < 0)
    if pitch:
        return Channel(number, place, ELEVATOR, "both_ways", reverse=pitch < 0)
    return Channel(number, place, RUDDER, "both_ways", reverse=yaw < 0)


def wire_plane(spec: FixedWingSpec) -> Wiring:
    """Wiring of a fixed-wing aircraft: surfaces, throttle and launcher."""
    if spec.runway is not None:
        raise LinkError(
            f"vehicle '{spec.id}' takes off on wheels: ArduPilot is wired to wings that are launched; fly it with the "
            "reference autopilot, or take its base without the table runway"
        )
    surfaces, numbers = [], itertools.chain((1, 2, 4), itertools.count(5))
    for name, (aileron, elevator, rudder) in spec.surfaces.items():
        # Positive elevator pitches down and positive rudder yaws to the left [BeardMcLain]
        surfaces.append(_surface(next(numbers), name, (aileron, -elevator, -rudder)))
    throttle = Channel(3, "rotor/1", THROTTLE)
    return Wiring("arduplane", (*surfaces, throttle, Channel(3, "launcher", THROTTLE, "launch")))


def wire_vtol(spec: VtolSpec) -> Wiring:
    """Wiring of a VTOL: surfaces, pusher, and motors of the nearest frame."""
    frame_class, frame_type, numbers = find_frame(hover_spec(spec).rotor)
    shares = allocation(spec)  # deflection per moment: same sign as moment per deflection
    moved = [surface.name for surface in spec.surface if surface.axes]
    outputs = itertools.chain((1, 2, 4), itertools.count(9))
    surfaces = [_surface(next(outputs), name, row) for name, row in zip(moved, shares, strict=True)]
    pusher = [Channel(3, f"rotor/{len(spec.rotor) + 1}", THROTTLE)] if spec.pusher is not None else []
    return Wiring("arduplane", (*surfaces, *pusher, *_motors(numbers, first=5)), frame_class, frame_type)


def wire_boat(spec: SurfaceVesselSpec) -> Wiring:
    """Wiring of a boat with one thruster on each side: left and right throttle."""
    sides = [thruster.position_B_m[1] for thruster in spec.thruster]
    along = all(thruster.axis_B[0] > 0.9 for thruster in spec.thruster)
    if len(sides) != 2 or not along or sides[0] * sides[1] >= 0:
        raise LinkError(f"vehicle '{spec.id}': ArduPilot steers boats with one thruster on each side, or a rudder")
    left, right = (1, 2) if sides[0] < 0 else (2, 1)
    channels = (
        Channel(1, f"rotor/{left}", THROTTLE_LEFT, "both_ways"),
        Channel(3, f"rotor/{right}", THROTTLE_RIGHT, "both_ways"),
    )
    return Wiring("ardurover", channels, frame_class=2)


def wire_submarine(spec: UnderwaterSpec) -> Wiring:
    """Wiring of an underwater vehicle: thrusters of ArduPilot's frame with eight of them."""
    if spec.fin:
        raise LinkError(f"vehicle '{spec.id}': ArduPilot has no frame that steers with fins under water")
    if len(spec.thruster) != len(THRUSTERS):
        raise LinkError(f"vehicle '{spec.id}': of ArduPilot's frames only that of eight thrusters is wired")
    effect = effectiveness(spec.thruster).T * [1, 1, -1, 1, 1, 1]  # forward, right, up
    effect = effect / np.abs(effect).max(axis=0)
    channels, assigned = [], set()
    for number, row in enumerate(effect, start=1):
        fits = [abs(_alike(row, motor)) if i not in assigned else -1.0 for i, motor in enumerate(THRUSTERS)]
        motor = int(np.argmax(fits))
        assigned.add(motor)
        reverse = _alike(row, THRUSTERS[motor]) < 0
        channels.append(Channel(motor + 1, f"rotor/{number}", motor_function(motor + 1), "both_ways", reverse))
    return Wiring("ardusub", tuple(channels), VECTORED_6DOF)


def _alike(a: np.ndarray, b: np.ndarray) -> float:
    """Cosine of the angle between the effects of two thrusters (force and moment)."""
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
