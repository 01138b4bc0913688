"""A vehicle commanded from outside: its own autopilot flies it and takes commands as inputs of the model.

The navigator is replaced by one of the same kind that also accepts commands (`blocks.controllers.command_ports`);
everything else stays the same, with the same sensors, taps and faults. The vehicle does not stop by itself after a
mission or a landing, because it may be armed again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ironbird.blocks.controllers.car_control import CarControl, RoverControl
from ironbird.blocks.controllers.command_ports import COMMANDS
from ironbird.blocks.controllers.commanded_drive import (
    CommandedGroundNavigator,
    CommandedMarineNavigator,
    CommandedPathNavigator,
)
from ironbird.blocks.controllers.commanded_navigator import (
    CommandedHelicopterNavigator,
    CommandedNavigator,
    CommandedSpiralNavigator,
    CommandedVtolNavigator,
)
from ironbird.blocks.controllers.commanded_wing import (
    CommandedRoadNavigator,
    CommandedRunwayNavigator,
    CommandedWingNavigator,
)
from ironbird.blocks.controllers.fixed_wing_control import FixedWingControl
from ironbird.blocks.controllers.ground_navigator import GroundNavigator
from ironbird.blocks.controllers.helicopter_control import HelicopterControl
from ironbird.blocks.controllers.marine_control import CourseControl, FinControl, StationControl
from ironbird.blocks.controllers.marine_navigator import MarineNavigator, PathNavigator
from ironbird.blocks.controllers.mission_table import ROWS, MissionTable
from ironbird.blocks.controllers.multicopter_control import MulticopterControl
from ironbird.blocks.controllers.navigator import Navigator
from ironbird.blocks.controllers.road_navigator import RoadNavigator
from ironbird.blocks.controllers.runway_control import RunwayControl
from ironbird.blocks.controllers.runway_navigator import RunwayNavigator
from ironbird.blocks.controllers.spiral_navigator import SpiralNavigator
from ironbird.blocks.controllers.tilt_rotor_lqr import TiltRotorLqr
from ironbird.blocks.controllers.vtol_navigator import VtolNavigator
from ironbird.blocks.controllers.wing_navigator import WingNavigator
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import VehicleError
from ironbird.model.block import Block
from ironbird.model.diagram import Diagram, block_of
from ironbird.model.signal import In
from ironbird.vehicles import places as at

# navigator and controller -> navigator that accepts commands
COMMANDED: dict[tuple[type[Block], type[Block]], type[MissionTable]] = {
    (Navigator, MulticopterControl): CommandedNavigator,
    (Navigator, HelicopterControl): CommandedHelicopterNavigator,
    (VtolNavigator, MulticopterControl): CommandedVtolNavigator,
    (SpiralNavigator, TiltRotorLqr): CommandedSpiralNavigator,
    (WingNavigator, FixedWingControl): CommandedWingNavigator,
    (RunwayNavigator, RunwayControl): CommandedRunwayNavigator,
    (RoadNavigator, RunwayControl): CommandedRoadNavigator,
    (GroundNavigator, CarControl): CommandedGroundNavigator,
    (GroundNavigator, RoverControl): CommandedGroundNavigator,
    (PathNavigator, CourseControl): CommandedPathNavigator,
    (PathNavigator, FinControl): CommandedPathNavigator,
    (MarineNavigator, StationControl): CommandedMarineNavigator,
}
COASTS_S = 15.0  # s in which a boat slows down from cruise speed to rest
ITEMS = 64  # most items of a mission that is given from outside
ARM_TIME_S = 3.0  # s in which the estimator settles before a vehicle on the ground or in water is armed
MISSION_ENDS = (at.NAVIGATOR.done, at.NAVIGATOR.landed)  # stop conditions of a flight that only has a mission
ALWAYS_WELL = ("healthy", "gnss_age", "sink_rate", "ready")  # inputs with the health of the estimator


def take_commands(diagram: Diagram) -> Diagram:
    """The same vehicle with a navigator whose commands are inputs of the model."""
    commanded = diagram.subset(diagram.blocks)
    control, old = commanded.block(at.CONTROL.path), commanded.block(at.NAVIGATOR.path)
    hears = COMMANDED.get((type(old), type(control)))
    if hears is None or not isinstance(old, MissionTable):
        raise VehicleError(
            f"vehicle '{diagram.name}' cannot be commanded from outside: its controller takes no commands"
        )
    assert old.sample_s is not None
    navigator = hears(ITEMS, sample_s=old.sample_s)
    table = commanded.value(at.NAVIGATOR.table)
    for name in ("table", "count"):  # a mission may be uploaded in flight
        navigator.declare(name, replace(navigator.params[name], tunable=True))
    commanded.blocks[at.NAVIGATOR.path] = navigator
    commanded.values[at.NAVIGATOR.table] = np.concatenate([table, np.zeros(ROWS * (ITEMS - old.items))])
    commanded.exports = {name: port for name, port in commanded.exports.items() if not isinstance(port.signal, In)}
    for name in navigator.inputs:
        path = at.NAVIGATOR(name)
        if name in (*COMMANDS, "command", "link_stamp", "wings") or name.startswith("offboard_"):
            commanded.export(commanded.port(path), name)
    if "R_NB" in navigator.inputs and not commanded.links.get(at.NAVIGATOR("R_NB")):
        seen = at.ESTIMATOR.attitude if at.ESTIMATOR.path in commanded.blocks else at.BODY.attitude
        commanded.connect(commanded.port(seen), commanded.port(at.NAVIGATOR("R_NB")))
        commanded.set(at.NAVIGATOR.arm_time, ARM_TIME_S)
    for name in control.inputs:
        path = at.CONTROL(name)
        if name in navigator.outputs and not commanded.links.get(path):
            commanded.connect(commanded.port(at.NAVIGATOR(name)), commanded.port(path))
    commanded.stops = {reason: source for reason, source in commanded.stops.items() if source not in MISSION_ENDS}
    _scale_sticks(commanded, control)
    return commanded


def _scale_sticks(diagram: Diagram, control: Block) -> None:
    """Set the speeds and rates of a full stick deflection to the limits of the controller."""
    known = diagram.block(at.NAVIGATOR.path).params
    if "slewing" in known and "acceleration" in known:
        diagram.set(at.NAVIGATOR("slewing"), float(diagram.value(at.NAVIGATOR("acceleration"))[0]))
    elif "slewing" in known:  # a boat coasts
        diagram.set(at.NAVIGATOR("slewing"), float(diagram.value(at.NAVIGATOR.cruise_speed)[0]) / COASTS_S)
    if "stick_bank" in known:
        diagram.set(at.NAVIGATOR("stick_bank"), float(diagram.value(at.CONTROL("max_roll"))[0]))
        climb = min(float(diagram.value(at.CONTROL(name))[0]) for name in ("max_climb", "max_sink"))
        diagram.set(at.NAVIGATOR("stick_climb"), climb)
        return
    for stick, name in (("stick_speed", "max_speed"), ("stick_climb", "max_climb"), ("stick_tilt", "max_tilt")):
        if stick in known and name in control.params:
            diagram.set(at.NAVIGATOR(stick), float(diagram.value(at.CONTROL(name))[0]))
    if isinstance(control, MulticopterControl):
        full = float(diagram.value(at.CONTROL("max_thrust")).sum())
        weight = float(diagram.value(at.CONTROL("mass"))[0]) * STANDARD_GRAVITY_MPS2
        diagram.set(at.NAVIGATOR("hover_thrust"), min(weight / full, 1.0))


def see_truth(diagram: Diagram) -> Diagram:
    """The same vehicle with controllers that read the true state; sensors and estimator still run for other readers."""
    truth = diagram.subset(diagram.blocks)
    for target, sources in list(truth.links.items()):
        reader, source = truth.blocks[block_of(target)], truth.blocks[block_of(sources[0])]
        if reader.role != "controller" or source.role in ("plant", "controller"):
            continue
        port, name = target.rpartition(".")[2], sources[0].rpartition(".")[2]
        if port in ALWAYS_WELL:
            del truth.links[target]
            continue
        other = _true_source(truth, sources[0], name)
        if other is not None:
            truth.links[target] = [other]
    return truth


def _true_source(diagram: Diagram, source: str, name: str) -> str | None:
    """Path of the true value of an estimator's output; None if it is no quantity of the motion."""
    block = block_of(source)
    candidates = (
        f"{block.replace('estimated', 'true')}.{name}" if "estimated" in block else "",
        at.BODY(name),
        at.BODY.specific_force if name == "accel_B" else "",
        at.AIR.airspeed if name == "airspeed" else "",
    )
    outputs = {f"{path}.{key}" for path, part in diagram.blocks.items() for key in part.outputs}
    return next((path for path in candidates if path in outputs), None)
