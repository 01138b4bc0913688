"""Ironbird: simulation and test platform for the control systems of unmanned vehicles.

import ironbird as ib

vehicle = ib.load_vehicle("quad_f450")       # a catalogue name or a TOML file
model = ib.compile_model(vehicle.diagram)    # native code, kept in a cache
state = ib.start(model, lanes=64, seed=1)    # 64 vehicles side by side
log = ib.run(state, until_s=30.0)            # log["body.p_NB_N"]

The names below are the public ones; everything else is reached by its module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ironbird.analysis.trim import linearize, trim
    from ironbird.compiler.compiled import CompiledModel, compile_model
    from ironbird.errors import IronbirdError
    from ironbird.flight.flight import Flight, fly
    from ironbird.model.block import Block
    from ironbird.model.diagram import Diagram
    from ironbird.model.signal import Clock, In, Noise, Out, Param, State
    from ironbird.runtime.events import ParamEvent
    from ironbird.runtime.record import Log
    from ironbird.runtime.state import RunState, restore, start
    from ironbird.runtime.step import advance, run
    from ironbird.vehicles.load import Vehicle, load_vehicle

__all__ = [
    "Block",
    "Clock",
    "CompiledModel",
    "Diagram",
    "Flight",
    "In",
    "IronbirdError",
    "Log",
    "Noise",
    "Out",
    "Param",
    "ParamEvent",
    "RunState",
    "State",
    "Vehicle",
    "advance",
    "compile_model",
    "fly",
    "linearize",
    "load_vehicle",
    "restore",
    "run",
    "start",
    "trim",
]
__version__ = "0.1.0"

_HOMES = {
    "Flight": "flight.flight", "fly": "flight.flight",
    "linearize": "analysis.trim", "trim": "analysis.trim",
    "CompiledModel": "compiler.compiled", "compile_model": "compiler.compiled",
    "IronbirdError": "errors",
    "Block": "model.block", "Diagram": "model.diagram",
    "Clock": "model.signal", "In": "model.signal", "Noise": "model.signal", "Out": "model.signal",
    "Param": "model.signal", "State": "model.signal",
    "ParamEvent": "runtime.events", "Log": "runtime.record",
    "RunState": "runtime.state", "restore": "runtime.state", "start": "runtime.state",
    "advance": "runtime.step", "run": "runtime.step",
    "Vehicle": "vehicles.load", "load_vehicle": "vehicles.load",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the command line stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ironbird' has no attribute '{name}'")
    return getattr(importlib.import_module(f"ironbird.{_HOMES[name]}"), name)
