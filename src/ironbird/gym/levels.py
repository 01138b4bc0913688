"""Levels: the point of the control loop at which an agent acts, and the part of the loop that is simulated below it.

`actuators` commands each rotor of the bare vehicle; `rates`, `attitude` and `velocity` are set-points of the vehicle's
own controller on the true state; `full_loop` is `velocity` with sensors, voting, estimator and failsafes in the loop.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

from ironbird.blocks.controllers.mission_table import OFFBOARD
from ironbird.blocks.controllers.navigator import BY_ATTITUDE, BY_RATE, BY_VELOCITY
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import UnknownNameError, VehicleError
from ironbird.vehicles.external import cut_control
from ironbird.vehicles.in_world import with_wakes
from ironbird.vehicles.load import Stamp, Vehicle, file_stamp, load_vehicle, vehicle_path
from ironbird.vehicles.spec import Integration
from ironbird.vehicles.templates.multicopter import DESIGN_GRAVITY_MPS2, MulticopterSpec

TURN_RADPS, LEAN_RAD, MOVE_MPS = 4.0, 0.6, 5.0  # bounds of set-points


@dataclass(frozen=True)
class Level:
    """A level: which inputs of the model form the action, with their bounds, and values of other inputs and states."""

    name: str
    control: str  # kind of control of the model
    bare: bool = False  # the vehicle is flown without its control system
    action: tuple[tuple[str, float, float], ...] = ()  # input, low, high; of a bare vehicle: every actuator
    inputs: dict[str, float] = field(default_factory=dict)
    states: dict[str, float] = field(default_factory=dict)  # at the beginning
    on_ground: bool = False  # an episode begins with a take-off by the autopilot


def _offboard(kind: int) -> dict[str, float]:
    return {"command": float(OFFBOARD), "offboard_kind": float(kind)}


_FLYING = {"navigator.now": float(OFFBOARD), "navigator.goal": float(OFFBOARD), "navigator.asked": float(OFFBOARD)}
_THRUST = ("offboard_thrust", 0.0, 1.0)
_VELOCITY = (("offboard_velocity", -MOVE_MPS, MOVE_MPS),)
LEVELS = {
    level.name: level
    for level in (
        Level("actuators", "truth", bare=True),
        Level(
            "rates", "truth", False, (("offboard_rate", -TURN_RADPS, TURN_RADPS), _THRUST), _offboard(BY_RATE), _FLYING,
        ),
        Level(
            "attitude", "truth", False, (("offboard_attitude", -LEAN_RAD, LEAN_RAD), _THRUST), _offboard(BY_ATTITUDE),
            _FLYING,
        ),
        Level("velocity", "truth", False, _VELOCITY, _offboard(BY_VELOCITY), _FLYING),
        Level("full_loop", "reference", False, _VELOCITY, _offboard(BY_VELOCITY), on_ground=True),
    )
}  # fmt: skip


def level_of(name: str) -> Level:
    """The level with this name; raises UnknownNameError."""
    if name not in LEVELS:
        raise UnknownNameError("level", name, LEVELS)
    return LEVELS[name]


@dataclass(frozen=True)
class Fitted:
    """A vehicle compiled for a level, with its rotor speeds and thrust in hover."""

    vehicle: Vehicle
    model: CompiledModel
    hover_radps: tuple[float, ...]  # speed of each rotor
    hover_throttle: tuple[float, ...]
    hover_thrust: float  # share of the full thrust of all rotors


def fit(vehicle: str, level: Level, integration: str = "", *, wake: bool = False) -> Fitted:
    """A multicopter compiled for a level; cached in the process until the vehicle's file changes.

    With `wake` the air that others' rotors move is an input.
    """
    return _fit(vehicle, level.control, level.bare, integration, wake, file_stamp(vehicle_path(vehicle)))


@functools.lru_cache(maxsize=16)
def _fit(name: str, control: str, bare: bool, integration: str, wake: bool, stamp: Stamp) -> Fitted:
    vehicle = load_vehicle(name, control=control)
    spec = vehicle.spec
    if not isinstance(spec, MulticopterSpec) or spec.tail is not None:
        raise VehicleError(
            f"vehicle '{spec.id}' is no multicopter that its rotors alone steer ({spec.template}): the learning "
            "environments fly those; give for example quad_f450 or hexa_x"
        )
    if wake:
        vehicle = with_wakes(vehicle)
    diagram = cut_control(vehicle.diagram) if bare else vehicle.diagram
    steps = Integration.parse(integration) if integration else vehicle.integration
    model = compile_model(diagram, step_s=steps.step_s, method=steps.method)
    if "body.p_0" not in model.params():
        raise VehicleError(
            f"vehicle '{spec.id}' flies on the round earth: the environments need its body on a flat one"
        )
    lift = spec.body.mass_kg * DESIGN_GRAVITY_MPS2
    speeds, throttles, full = [], [], 0.0
    for rotor in spec.rotor:
        motor, propeller = spec.motor[rotor.motor], spec.propeller[rotor.propeller]
        speed = math.sqrt(lift / len(spec.rotor) / propeller.thrust_coefficient_Ns2)
        # the rising branch of w = q s^2 + C_R s + w_b, as in MulticopterControl
        gain = speed - motor.idle_speed_radps
        root = math.sqrt(max(motor.slope_radps**2 + 4 * motor.quadratic_radps * gain, 0.0))
        full += propeller.thrust_coefficient_Ns2 * motor.top_speed_radps() ** 2
        speeds.append(speed)
        throttles.append(min(max(2 * gain / (motor.slope_radps + root), 0.0), 1.0))
    return Fitted(vehicle, model, tuple(speeds), tuple(throttles), lift / full)
