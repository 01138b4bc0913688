"""Ironbird: simulation and test platform for the control systems of unmanned vehicles.

    import ironbird as ib

    flight = ib.fly("quad_f450", weather=ib.Weather(5.0, 270.0), faults=["rotor.speed_loss@1:severity=0.2,start=5"])
    flight.verdict, flight.judged.sentence       # what the judge says, and why
    flight.log["body.p_NB_N"]                    # [row, 3]
    flight.order.text()                          # everything that defines it; ib.parse_order reads it back

    vehicle = ib.load_vehicle("quad_f450")       # a catalogue name or a TOML file
    model = ib.compile_model(vehicle.diagram)    # native code, kept in a cache
    state = ib.start(model, lanes=64, seed=1)    # 64 vehicles side by side
    log = ib.run(state, until_s=30.0)

The names below are the public ones (docs/reference/api.md); everything else is reached by its module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ironbird.analysis.level import level_trim, modes_at
    from ironbird.analysis.linear import linearize
    from ironbird.analysis.trim import trim
    from ironbird.campaign.batch import fly_all
    from ironbird.campaign.case import FlightCase
    from ironbird.campaign.result import FlightResult
    from ironbird.campaign.runner import run_campaign
    from ironbird.campaign.search import falsify, shrink
    from ironbird.campaign.store import Store
    from ironbird.campaign.suite import load_suite
    from ironbird.compiler.compiled import CompiledModel, compile_model
    from ironbird.errors import IronbirdError
    from ironbird.faults.catalog import FAULTS, parse_fault
    from ironbird.faults.spec import Fault, Injection
    from ironbird.files.trust import Trust
    from ironbird.flight.flight import Flight, fly
    from ironbird.flight.judge import Judged, Judgement
    from ironbird.flight.mission import Mission, load_mission
    from ironbird.flight.order import Order, Requirement, Weather, load_order, make_order, parse_order
    from ironbird.flight.systems import system_names
    from ironbird.flight.witness import Witness
    from ironbird.ground.client.faces import AsyncRemoteVehicle, RemoteVehicle, aconnect, connect
    from ironbird.ground.client.telemetry import Telemetry
    from ironbird.model.block import Block, Rates, Values, View
    from ironbird.model.diagram import Diagram
    from ironbird.model.signal import Clock, In, Noise, Out, Param, State
    from ironbird.report.folder import write_flight_folder
    from ironbird.rig.rig import Rig
    from ironbird.rig.system import ControlSystem, FunctionSystem, Kind, Options, Seat, Task
    from ironbird.runtime.episodes import Episodes
    from ironbird.runtime.events import ParamEvent
    from ironbird.runtime.log import Log
    from ironbird.runtime.state import RunState, restore, start
    from ironbird.runtime.step import advance, run
    from ironbird.runtime.tuning import Tuning
    from ironbird.systems.commanded.rehearse import rehearsal
    from ironbird.vehicles.load import Vehicle, load_vehicle, vehicle_ids
    from ironbird.vehicles.spec import Home

__all__ = [
    "AsyncRemoteVehicle",
    "Block",
    "Clock",
    "CompiledModel",
    "ControlSystem",
    "Diagram",
    "Episodes",
    "FAULTS",
    "Fault",
    "Flight",
    "FlightCase",
    "FlightResult",
    "FunctionSystem",
    "Home",
    "In",
    "Injection",
    "IronbirdError",
    "Judged",
    "Judgement",
    "Kind",
    "Log",
    "Mission",
    "Noise",
    "Options",
    "Order",
    "Out",
    "Param",
    "ParamEvent",
    "Rates",
    "RemoteVehicle",
    "Requirement",
    "Rig",
    "RunState",
    "Seat",
    "State",
    "Store",
    "Task",
    "Telemetry",
    "Trust",
    "Tuning",
    "Values",
    "Vehicle",
    "View",
    "Weather",
    "Witness",
    "aconnect",
    "advance",
    "compile_model",
    "connect",
    "falsify",
    "fly",
    "fly_all",
    "level_trim",
    "linearize",
    "load_mission",
    "load_order",
    "load_suite",
    "load_vehicle",
    "make_order",
    "modes_at",
    "parse_fault",
    "parse_order",
    "rehearsal",
    "restore",
    "run",
    "run_campaign",
    "shrink",
    "start",
    "system_names",
    "trim",
    "vehicle_ids",
    "write_flight_folder",
]
__version__ = "0.2.0"

_HOMES = {  # module -> its public names
    "analysis.level": "level_trim modes_at",
    "analysis.linear": "linearize",
    "analysis.trim": "trim",
    "campaign.batch": "fly_all",
    "campaign.case": "FlightCase",
    "campaign.result": "FlightResult",
    "campaign.runner": "run_campaign",
    "campaign.search": "falsify shrink",
    "campaign.store": "Store",
    "campaign.suite": "load_suite",
    "compiler.compiled": "CompiledModel compile_model",
    "errors": "IronbirdError",
    "faults.catalog": "FAULTS parse_fault",
    "faults.spec": "Fault Injection",
    "files.trust": "Trust",
    "flight.flight": "Flight fly",
    "flight.judge": "Judged Judgement",
    "flight.mission": "Mission load_mission",
    "flight.order": "Order Requirement Weather load_order make_order parse_order",
    "flight.systems": "system_names",
    "flight.witness": "Witness",
    "ground.client.faces": "AsyncRemoteVehicle RemoteVehicle aconnect connect",
    "systems.commanded.rehearse": "rehearsal",
    "ground.client.telemetry": "Telemetry",
    "rig.rig": "Rig",
    "rig.system": "ControlSystem FunctionSystem Kind Options Seat Task",
    "model.block": "Block Rates Values View",
    "model.diagram": "Diagram",
    "model.signal": "Clock In Noise Out Param State",
    "report.folder": "write_flight_folder",
    "runtime.episodes": "Episodes",
    "runtime.events": "ParamEvent",
    "runtime.log": "Log",
    "runtime.state": "RunState restore start",
    "runtime.step": "advance run",
    "runtime.tuning": "Tuning",
    "vehicles.load": "Vehicle load_vehicle vehicle_ids",
    "vehicles.spec": "Home",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the command line stays quick."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ironbird' has no attribute '{name}'")
    return getattr(importlib.import_module(f"ironbird.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
