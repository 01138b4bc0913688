"""Ironbird: simulation and test platform for the control systems of unmanned vehicles.

    import ironbird as ib

    flight = ib.fly("quad_f450", weather=ib.Weather(5.0, 270.0), faults=["rotor.speed_loss@1:severity=0.2,start=5"])
    flight.verdict, flight.judged.sentence       # what the judge says, and why
    flight.log["body.p_NB_N"]                    # [row, 3]
    flight.order.text()                          # everything that defines it; ib.parse_order reads it back

    campaign = ib.campaign("safety", sample=20)  # test cases flown, judged and stored
    campaign.frame()                             # one row per flight, as a pandas DataFrame
    campaign.report()                            # path of report.html

    vehicle = ib.load_vehicle("quad_f450")       # a catalogue name or a TOML file
    model = ib.compile_model(vehicle.diagram)    # native code, kept in a cache
    state = ib.start(model, lanes=64, seed=1)    # 64 vehicles side by side
    log = ib.run(state, until_s=30.0)

The names below are the public ones (docs/reference/api.md); everything else is reached by its module and may change.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ironbird.analysis.level import level_trim, modes_at
    from ironbird.analysis.linear import linearize
    from ironbird.analysis.trim import trim
    from ironbird.api.campaign import Campaign, campaign, open_campaign
    from ironbird.api.cases import SearchResult, case_check, search
    from ironbird.api.models import Exported, ImportedVehicle, export, import_vehicle
    from ironbird.api.records import Credibility, Identified, compare_records, identify, read_record
    from ironbird.api.tuning import autotune, margins, step_response
    from ironbird.campaign.batch import fly_all
    from ironbird.campaign.case import FlightCase
    from ironbird.campaign.difference import Difference
    from ironbird.campaign.result import FlightResult
    from ironbird.campaign.runner import run_campaign
    from ironbird.campaign.search import falsify, shrink
    from ironbird.campaign.store import Store
    from ironbird.campaign.suite import Suite, load_suite
    from ironbird.compiler.compiled import CompiledModel, compile_model
    from ironbird.errors import IronbirdError
    from ironbird.faults.catalog import FAULTS, parse_fault
    from ironbird.faults.spec import Fault, Injection
    from ironbird.files.problems import Problem
    from ironbird.files.trust import Trust
    from ironbird.flight.flight import Flight, fly
    from ironbird.flight.judge import Judged, Judgement
    from ironbird.flight.mission import Mission, load_mission
    from ironbird.flight.order import Order, Requirement, Weather, load_order, make_order, parse_order
    from ironbird.flight.systems import system_names
    from ironbird.flight.together import fly_together
    from ironbird.flight.witness import Witness
    from ironbird.ground.client.faces import AsyncRemoteVehicle, RemoteVehicle, aconnect, connect
    from ironbird.ground.client.telemetry import Telemetry
    from ironbird.model.block import Block, Rates, Values, View
    from ironbird.model.diagram import Diagram
    from ironbird.model.signal import Clock, In, Noise, Out, Param, State
    from ironbird.report.flight.page import write_flight_page
    from ironbird.report.folder import write_flight_folder
    from ironbird.rig.rig import Rig
    from ironbird.rig.system import ControlSystem, FunctionSystem, Kind, Options, Seat, Task
    from ironbird.runtime.episodes import Episodes
    from ironbird.runtime.events import ParamEvent
    from ironbird.runtime.log import Log
    from ironbird.runtime.parquet_log import read_log
    from ironbird.runtime.state import RunState, restore, start
    from ironbird.runtime.step import advance, run
    from ironbird.runtime.tuning import Tuning
    from ironbird.scenario.run import ScenarioFlight, fly_scenario
    from ironbird.systems.commanded.rehearse import rehearsal
    from ironbird.vehicles.load import Vehicle, load_vehicle, vehicle_path
    from ironbird.vehicles.names import vehicle_ids
    from ironbird.vehicles.spec import Home
    from ironbird.world.files import load_world

__all__ = [
    "AsyncRemoteVehicle",
    "Block",
    "Campaign",
    "Clock",
    "CompiledModel",
    "ControlSystem",
    "Credibility",
    "Diagram",
    "Difference",
    "Episodes",
    "Exported",
    "FAULTS",
    "Fault",
    "Flight",
    "FlightCase",
    "FlightResult",
    "FunctionSystem",
    "Home",
    "Identified",
    "ImportedVehicle",
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
    "Problem",
    "Rates",
    "RemoteVehicle",
    "Requirement",
    "Rig",
    "RunState",
    "ScenarioFlight",
    "SearchResult",
    "Seat",
    "State",
    "Store",
    "Suite",
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
    "autotune",
    "campaign",
    "case_check",
    "compare_records",
    "compile_model",
    "connect",
    "export",
    "falsify",
    "fly",
    "fly_all",
    "fly_scenario",
    "fly_together",
    "identify",
    "import_vehicle",
    "level_trim",
    "linearize",
    "load_mission",
    "load_order",
    "load_suite",
    "load_vehicle",
    "load_world",
    "make_order",
    "margins",
    "modes_at",
    "open_campaign",
    "parse_fault",
    "parse_order",
    "read_log",
    "read_record",
    "rehearsal",
    "restore",
    "run",
    "run_campaign",
    "search",
    "shrink",
    "start",
    "step_response",
    "system_names",
    "trim",
    "vehicle_ids",
    "vehicle_path",
    "write_flight_folder",
    "write_flight_page",
]
__version__ = "0.2.0"

_HOMES = {  # module -> its public names
    "analysis.level": "level_trim modes_at",
    "analysis.linear": "linearize",
    "analysis.trim": "trim",
    "api.campaign": "Campaign campaign open_campaign",
    "api.cases": "SearchResult case_check search",
    "api.models": "Exported ImportedVehicle export import_vehicle",
    "api.records": "Credibility Identified compare_records identify read_record",
    "api.tuning": "autotune margins step_response",
    "campaign.batch": "fly_all",
    "campaign.case": "FlightCase",
    "campaign.result": "FlightResult",
    "campaign.runner": "run_campaign",
    "campaign.search": "falsify shrink",
    "campaign.store": "Store",
    "campaign.suite": "Suite load_suite",
    "campaign.difference": "Difference",
    "compiler.compiled": "CompiledModel compile_model",
    "errors": "IronbirdError",
    "faults.catalog": "FAULTS parse_fault",
    "faults.spec": "Fault Injection",
    "files.problems": "Problem",
    "files.trust": "Trust",
    "flight.flight": "Flight fly",
    "flight.judge": "Judged Judgement",
    "flight.mission": "Mission load_mission",
    "flight.order": "Order Requirement Weather load_order make_order parse_order",
    "flight.systems": "system_names",
    "flight.together": "fly_together",
    "flight.witness": "Witness",
    "ground.client.faces": "AsyncRemoteVehicle RemoteVehicle aconnect connect",
    "ground.client.telemetry": "Telemetry",
    "model.block": "Block Rates Values View",
    "model.diagram": "Diagram",
    "model.signal": "Clock In Noise Out Param State",
    "report.flight.page": "write_flight_page",
    "report.folder": "write_flight_folder",
    "rig.rig": "Rig",
    "rig.system": "ControlSystem FunctionSystem Kind Options Seat Task",
    "runtime.episodes": "Episodes",
    "runtime.events": "ParamEvent",
    "runtime.log": "Log",
    "runtime.parquet_log": "read_log",
    "runtime.state": "RunState restore start",
    "runtime.step": "advance run",
    "runtime.tuning": "Tuning",
    "scenario.run": "ScenarioFlight fly_scenario",
    "systems.commanded.rehearse": "rehearsal",
    "vehicles.load": "Vehicle load_vehicle vehicle_path",
    "vehicles.names": "vehicle_ids",
    "vehicles.spec": "Home",
    "world.files": "load_world",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_PACKAGES = ("campaign", "export")  # functions that have the name of a package: see `_FunctionPackage`


class _FunctionPackage(ModuleType):
    """A package that can be called as the function of its name: `ib.campaign(…)` and `ironbird.campaign.suite`."""

    @property
    def function(self) -> Any:
        """The function."""
        return _public(self.__name__.rpartition(".")[2])

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return str(self.function.__doc__)

    @property
    def __signature__(self) -> Any:
        import inspect

        return inspect.signature(self.function)


class _Ironbird(ModuleType):
    """This package; an import that puts one of `_PACKAGES` into it makes that one a function as well."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PACKAGES and isinstance(value, ModuleType):
            value.__class__ = _FunctionPackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Ironbird


def _public(name: str) -> Any:
    """A public name from its home, which is loaded if need be."""
    return getattr(importlib.import_module(f"ironbird.{_HOME_OF[name]}"), name)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the command line stays quick."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ironbird' has no attribute '{name}'")
    return importlib.import_module(f"ironbird.{name}") if name in _PACKAGES else _public(name)


def __dir__() -> list[str]:
    return sorted(__all__)
