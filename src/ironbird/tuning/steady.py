"""Steady flight, from which steps begin and around which loops are linear: a hover, or a wing straight and level.

Both in calm air, commanded through the inputs of the vehicle's own navigator. Not modelled: steady motion of cars,
boats and vehicles under water.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironbird.blocks.controllers import command_ports as commands
from ironbird.blocks.controllers.mission_table import OFFBOARD
from ironbird.blocks.controllers.navigator import BY_POSITION
from ironbird.compiler.compiled import compile_model
from ironbird.errors import ModelError, RunError
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.vehicles import places as at
from ironbird.vehicles.commanded import see_truth, take_commands
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec, load_vehicle

HOVER_S = 20.0  # s after which a vehicle that takes off is at rest in the air
HOVER_M = 10.0  # m, height of the hover
LAUNCH_S = 30.0  # s after which a wing is in the air
STRAIGHT_S = 50.0  # s of straight and level flight after the launch
LOWEST_M = 30.0
LINK = "/command_fault.value"  # path suffix of an actuator's command


def is_wing(vehicle: str) -> bool:
    """Whether a vehicle flies on wings only."""
    kind = vehicle_kind(load_spec(vehicle))
    return kind.winged and not kind.hovers


def check_steady(vehicle: str) -> None:
    """Refuse a vehicle that neither hovers nor flies on wings."""
    spec = load_spec(vehicle)
    kind = vehicle_kind(spec)
    if not (kind.hovers or kind.winged):
        raise ModelError(no_steady_flight(spec.id, spec.template))


def no_steady_flight(name: str, template: str) -> str:
    """Why a vehicle has no steps, margins and gains."""
    return (
        f"vehicle '{name}' ({template}) takes no position set-point in hover: step, margins and autotune know what "
        "hovers (multicopters, helicopter, VTOL); step and margins also fixed wings"
    )


def hovering(
    vehicle: str, *, control: str = "truth", lanes: int = 1, params: Mapping[str, Number] | None = None
) -> RunState:
    """Run state at the start of a flight to a hover 10 m above the start, in calm air: run it for `HOVER_S`."""
    loaded = load_vehicle(vehicle, control=control)
    model = compile_model(loaded.diagram)
    if any(name not in model.flat.u.start for name in ("command", "offboard_kind", "offboard_position")):
        raise ModelError(no_steady_flight(loaded.id, load_spec(vehicle).template))
    state = start(model, lanes=lanes, params=params)
    state.set_input("command", float(OFFBOARD))
    state.set_input("offboard_kind", float(BY_POSITION))
    state.set_input("offboard_position", [0.0, 0.0, -HOVER_M])
    return state


def launched(
    vehicle: str, *, control: str = "truth", lanes: int = 1, params: Mapping[str, Number] | None = None
) -> RunState:
    """Run state at the start of a wing's flight under external commands: continue with `fly_straight`."""
    if control not in ("truth", "reference"):
        raise RunError(f"a wing's steps are flown under truth or reference, not '{control}'")
    diagram = take_commands(load_vehicle(vehicle, control="reference").diagram)
    model = compile_model(see_truth(diagram) if control == "truth" else diagram)
    return start(model, lanes=lanes, params=params)


def fly_straight(state: RunState) -> None:
    """Launch, then fly north, level, at cruise speed, until that is steady."""
    run(state, LAUNCH_S, log=[at.BODY.position])
    flags = [0.0] * state.model.flat.u.signals["offboard_given"].size
    for entry in (commands.COURSE, commands.HEIGHT, commands.SPEED):
        flags[entry] = 1.0
    cruise = state.model.param_rows(at.NAVIGATOR.cruise_speed)
    inputs: dict[str, Number] = {"command": float(OFFBOARD), "order": 1.0, "offboard_kind": commands.BY_COURSE}
    for lane in range(state.lanes):
        block, place = divmod(lane, state.width)
        height = max(LOWEST_M, -float(state.get(at.BODY("p"), lane)[2]))
        own = {"offboard_height": height, "offboard_speed": float(state.params[block, cruise, place][0])}
        for name, value in {**inputs, "offboard_given": flags, "offboard_course": 0.0, **own}.items():
            state.set_input(name, value, lane)
    run(state, LAUNCH_S + STRAIGHT_S, log=[at.BODY.position])
