"""Flights under a control system outside the kernel: PX4, ArduPilot, a cable, a function.

The vehicle, wind and faults are those of any other flight. A witness of a fault is a twin without it that is given the
very commands that the control system gave, so its difference is the fault's own doing: the control system itself does
not repeat to the bit.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import FaultError, LinkError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.flight.flight import ALIASES, Flight, Wind, inject, targets_in
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.witness import Witness, observe
from ironbird.links.rig import Rig, attach
from ironbird.links.system import ControlSystem, Happening
from ironbird.model.signal import Number
from ironbird.runtime.clock import Pace
from ironbird.runtime.state import RunState, start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.load import Vehicle, load_vehicle

REACTIONS = ("failsafe", "mode", "estimator", "text", "armed")  # kinds of happenings that answer a fault
PILOT_S = 0.02  # of simulation time between two looks of the pilot
TWIN_S = 5.0  # a twin is given the commands of this long after the start of a fault


class Pilot(Protocol):
    """Whoever tells the control system what to do: looked at between steps."""

    happenings: list[Happening]

    @property
    def finished(self) -> bool:
        """Whether the flight is over."""

    def poll(self, rig: Rig) -> None:
        """Take and send what is there; never waits."""


@dataclass(frozen=True)
class Reaction:
    """What the control system did first after a fault began."""

    injection: Injection
    begin_s: float
    happening: Happening

    @property
    def after_s(self) -> float:
        """Reaction time in simulation time."""
        return self.happening.time_s - self.begin_s

    def sentence(self) -> str:
        """For people."""
        said = self.happening
        return f"{said.kind}: {said.text}, {self.after_s:.2f} s after {self.injection.fault.id}"


def fly_external(
    vehicle: Vehicle | str | Path, system: ControlSystem, *, until_s: float, pilot: Pilot | None = None,
    mission: Mission | str | None = None, wind: Wind | None = None, seed: int = 0,
    settings: Mapping[str, Number] | None = None, faults: Sequence[Injection | str] = (), log_s: float = 0.02,
    speed: float | None = None, progress: Callable[[float], None] | None = None, keep_interrupted: bool = False,
) -> Flight:  # fmt: skip
    """Fly a vehicle under a control system outside; `LinkError` if that fails, with nothing left behind.

    With `speed` the flight keeps to the wall clock; without, it runs as fast as the control system answers.
    With `keep_interrupted` Ctrl-C ends the flight as its time does; `log.interrupted` says so.
    """
    if not isinstance(vehicle, Vehicle):
        vehicle = load_vehicle(vehicle, control="external")
    mission = mission if isinstance(mission, Mission) else load_mission(mission or vehicle.spec.mission)
    model = compile_model(vehicle.diagram)
    injections = [f if isinstance(f, Injection) else parse_fault(f) for f in faults]
    wind = wind or Wind()
    params = {**wind.params(), **(settings or {})}
    state = _prepared(model, seed, params, injections)
    rig = attach(vehicle, state, until_s=until_s, log=_everything(model), log_s=log_s)
    commands = np.zeros((round(until_s / model.step_s) // system.step_ticks + 2, len(rig.stepper.inputs)))
    begin = time.perf_counter()
    exchanges = 0
    every = max(1, round(PILOT_S / (system.step_ticks * model.step_s)))
    pace = Pace(speed) if speed else None
    interrupted = False
    try:
        system.start(rig)
        while rig.step(system.step_ticks):
            system.exchange(rig)
            commands[exchanges] = rig.stepper.inputs
            exchanges += 1
            if pilot is not None and exchanges % every == 0:
                pilot.poll(rig)
                if pilot.finished:
                    break
            if progress is not None and exchanges % 250 == 0:
                progress(rig.time_s / until_s)
            if pace is not None:
                pace.wait(rig.time_s)
    except KeyboardInterrupt:
        if not (keep_interrupted and exchanges):
            raise
        interrupted = True
    finally:
        system.stop()
    log, stop = rig.finish()
    log.interrupted = interrupted
    witnesses = _witnesses(model, seed, params, injections, state, commands[:exchanges], system, rig)
    log.meta = {
        "ironbird.vehicle": vehicle.id, "ironbird.seed": str(seed), "ironbird.model": model.model_hash,
        "ironbird.control": system.name, "ironbird.faults": "; ".join(i.describe() for i in injections),
        "ironbird.witnesses": json.dumps([witness.record() for witness in witnesses]),
    }  # fmt: skip
    return Flight(
        vehicle=vehicle, mission=mission, wind=wind, seed=seed, control=system.name, settings=dict(settings or {}),
        injections=injections, model=model, log=log, stop=stop, ended_s=stop.time_s if stop else rig.time_s,
        wall_s=time.perf_counter() - begin, witnesses=witnesses,
        happenings=sorted([*system.happenings, *(pilot.happenings if pilot else [])], key=lambda h: h.time_s),
        logs=list(system.process.logs) if system.process else [],
    )  # fmt: skip


def reactions(flight: Flight) -> list[Reaction]:
    """The first thing of each kind of `REACTIONS` that the control system did after each fault began.

    It came after the fault; that it came because of the fault is for a flight without the fault to tell.
    """
    found = []
    for injection, witness in zip(flight.injections, flight.witnesses, strict=True):
        begin = witness.first_s if witness.effective else injection.start_s
        seen: set[str] = set()
        for happening in flight.happenings:
            if happening.time_s >= begin and happening.kind in REACTIONS and happening.kind not in seen:
                seen.add(happening.kind)
                found.append(Reaction(injection, begin, happening))
    return found


def _everything(model: CompiledModel) -> list[str]:
    return list(model.signals())


def _prepared(
    model: CompiledModel, seed: int, params: Mapping[str, Number], injections: Sequence[Injection]
) -> RunState:
    known = model.params()
    state = start(model, seed=seed, params={path: value for path, value in params.items() if path in known})
    unknown = [path for path in params if path not in known and not path.startswith("wind/")]
    if unknown:
        raise LinkError(f"vehicle '{model.name}' has no parameter {unknown[0]} when flown from outside")
    state.aliases = {name: path for name, path in ALIASES.items() if path in model.signals()}
    for injection in injections:
        inject(state, injection)
    return state


def _witnesses(
    model: CompiledModel, seed: int, params: Mapping[str, Number], injections: Sequence[Injection], flown: RunState,
    commands: np.ndarray, system: ControlSystem, rig: Rig,
) -> list[Witness]:  # fmt: skip
    found = []
    first = 0
    for number, injection in enumerate(injections):
        own = system.acted(injection)
        if own is not None:  # the control system makes this sensor itself, and said when the fault began to act
            found.append(Witness(injection, own.signal, own.unit, own.first_s, own.size, own.size, rig.time_s))
            first += len(targets_in(model, injection))
            continue
        fired = flown.fired[0][first] if injection.when else 0
        first += len(targets_in(model, injection))
        triggered_s = math.inf if fired < 0 else fired * model.step_s
        until_s = min(rig.time_s, injection.start_s + triggered_s + injection.rise_s + TWIN_S)
        if injection.witness not in rig.stepper.log or not math.isfinite(until_s):
            raise FaultError(f"{injection.describe()}: the vehicle has no signal {injection.witness}")
        others = [i for n, i in enumerate(injections) if n != number]
        twin = Stepper(
            _prepared(model, seed, params, others), until_s=max(until_s, 0.1), log=[injection.witness],
            log_s=rig.stepper.plan.every * model.step_s,
        )  # fmt: skip
        for row in commands:
            if not twin.step(system.step_ticks):
                break
            twin.inputs[:] = row
        found.append(observe(injection, rig.stepper.log, 0, twin.finish(), 0, triggered_s, until_s))
    return found
