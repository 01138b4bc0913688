"""One flight: a vehicle, a mission, wind, faults, a seed; a log and a summary come back."""

from __future__ import annotations

import fnmatch
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.blocks.controllers.navigator import MODES
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import FaultError, ModelError, RunError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Change, Injection
from ironbird.flight.live import LiveControl
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.witness import Witness, observe
from ironbird.links.system import Happening
from ironbird.model.signal import Number
from ironbird.runtime.clock import Pace
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.record import Log
from ironbird.runtime.state import RunState, Stop, start
from ironbird.runtime.step import run
from ironbird.runtime.tuning import Tuning
from ironbird.vehicles.load import Vehicle, load_vehicle, usual_control

COMPLETED = "mission completed"
LANDED = "landed before the end of the mission"
HARMLESS = (COMPLETED, LANDED)  # stop conditions that are no crash
ALIASES = {  # short names in predicates
    "altitude": "terrain.height_above_ground", "mode": "navigator.mode", "item": "navigator.item",
    "airspeed": "air.airspeed", "battery": "battery.remaining",
}  # fmt: skip
CONTROL_NAMES = {"reference": "reference autopilot", "truth": "on the true state"}
STATISTICS_AFTER_S = 5.0  # tracking errors are counted from here on: the vehicle is in the air


@dataclass(frozen=True)
class Wind:
    """Weather of a flight."""

    speed_mps: float = 0.0
    from_deg: float = 0.0
    turbulence_mps: float = 0.0  # mean wind at 20 ft that sets the strength of turbulence

    def describe(self) -> str:
        """For people."""
        text = f"{self.speed_mps:g} m/s from {self.from_deg:g}°" if self.speed_mps else "calm"
        return text + (f", turbulence {self.turbulence_mps:g} m/s at 20 ft" if self.turbulence_mps else "")

    def params(self) -> dict[str, Number]:
        """Parameters of the wind parts."""
        towards = math.radians(self.from_deg) + math.pi
        velocity = [self.speed_mps * math.cos(towards), self.speed_mps * math.sin(towards), 0.0]
        return {
            "wind/steady.velocity_N": velocity,
            "wind/turbulence.wind_20ft": self.turbulence_mps,
            "wind/turbulence.direction": towards,
        }


@dataclass
class Flight:
    """What was flown, and what came of it. Lane 0 is the flight, lane 1 (if any) its twin without any fault."""

    vehicle: Vehicle
    mission: Mission
    wind: Wind
    seed: int
    control: str
    settings: dict[str, Number]
    injections: list[Injection]
    model: CompiledModel
    log: Log
    stop: Stop | None
    ended_s: float
    wall_s: float
    witnesses: list[Witness] = field(default_factory=list)
    tunings: list[Tuning] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)  # what a control system outside said and did
    link: dict[str, str] = field(default_factory=dict)  # figures of the link to it, for people
    void: str = ""  # why nothing can be concluded from this flight
    logs: list[Path] = field(default_factory=list)  # files that a control system outside left

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        if self.log.interrupted:
            return f"interrupted at {self.ended_s:.2f} s"
        if self.stop is None:
            return f"flown to the end at {self.ended_s:.2f} s"
        return f"{self.stop.reason} at {self.stop.time_s:.2f} s"

    @property
    def survived(self) -> bool:
        """Whether the vehicle was whole at the end."""
        return self.stop is None or self.stop.reason in HARMLESS

    @property
    def sha256(self) -> str:
        """Hash of the flight's log: equal flights have equal hashes."""
        return self.log.sha256(0)

    def summary(self) -> dict[str, str]:
        """The figures that people look for first."""
        log = self.log
        rows = {
            "vehicle": self.vehicle.id,
            "control": CONTROL_NAMES.get(self.control, self.control),
            "mission": self.mission.title,
            "outcome": self.outcome,
        }
        rows["wind"] = self.wind.describe()
        for number, injection in enumerate(self.injections, start=1):
            rows[f"fault {number}"] = injection.describe()
        for number, witness in enumerate(self.witnesses, start=1):
            rows[f"witness {number}"] = witness.sentence().partition(": ")[2]
        if log.rows():
            rows.update(self._figures())
        rows.update(self.link)
        rows["seed"] = str(self.seed)
        rows["speed"] = f"{self.ended_s / max(self.wall_s, 1e-9):.0f} times real time ({self.wall_s:.2f} s)"
        rows["sha256"] = self.sha256
        return rows

    def _figures(self) -> dict[str, str]:
        log, time_s = self.log, self.log.time()
        flying = time_s >= min(STATISTICS_AFTER_S, time_s[-1] / 2)
        position = log["body.p_NB_N"]
        tilt = np.degrees(np.arccos(np.clip(log["body.R_NB"][:, 8], -1, 1)))
        rows = {
            "greatest height": f"{-position[:, 2].min():.2f} m",
            "greatest tilt": f"{tilt.max():.1f}°",
        }
        if "navigator.position_set" in log:
            error = np.linalg.norm(position - log["navigator.position_set"], axis=1)[flying]
            rows["tracking error"] = f"{np.sqrt(np.mean(error**2)):.3f} m rms, {error.max():.3f} m at most"
        if "battery.remaining" in log:
            rows["battery"] = f"{100 * log['battery.remaining'][-1]:.1f} % left, {log['battery.voltage'][-1]:.2f} V"
        return rows


def targets_in(model: CompiledModel, injection: Injection) -> list[tuple[str, Change]]:
    """The parameters of a model that a fault changes; raises if the vehicle lacks one."""
    known = model.params()
    found: list[tuple[str, Change]] = []
    for pattern, change in zip(injection.targets, injection.fault.changes, strict=True):
        hits = fnmatch.filter(known, pattern) if "*" in pattern else [pattern] * (pattern in known)
        if not hits:
            unknown = UnknownNameError("parameter", pattern, known, f"vehicle '{model.name}'")
            raise FaultError(f"{injection.describe()}: {unknown}")
        suffix = f"[{injection.axis}]" if injection.axis is not None and known[hits[0]].size > 1 else ""
        found += [(path + suffix, change) for path in hits]
    return found


def inject(state: RunState, injection: Injection, lane: int | None = None) -> list[int]:
    """Schedule a fault in a run; its targets must exist in the vehicle and be tunable.

    Returns the numbers of its events in the lane's list (of the first lane, if all lanes are meant).
    """
    first = len(state.events[lane or 0])
    for path, change in targets_in(state.model, injection):
        state.add_event(
            ParamEvent(
                param=path, value=change.value(injection.severity), start_s=injection.start_s, end_s=injection.end_s,
                effect=change.effect.effect, shape=injection.shape, rise_s=injection.rise_s,
                period_s=injection.period_s, duty=injection.duty, when=injection.when,
            ),
            lane,
        )  # fmt: skip
    return list(range(first, len(state.events[lane or 0])))


def fly(
    vehicle: Vehicle | str | Path,
    *,
    mission: Mission | str | Path | None = None,
    wind: Wind | None = None,
    control: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Number] | None = None,
    faults: Sequence[Injection | str] = (),
    until_s: float | None = None,
    log_s: float = 0.02,
    model: CompiledModel | None = None,
    allow_missing: bool = False,
    tunings: Sequence[Tuning] = (),
    speed: float | None = None,
    live: LiveControl | None = None,
    progress: Callable[[float], None] | None = None,
) -> Flight:
    """Fly a mission and return the flight.

    `control` is `reference` (sensors, estimator, failsafes) or `truth` (a controller that sees the true state);
    by default what the vehicle usually has. Without `mission` it flies its own.
    `settings` are parameter values by path (`body.mass`). With faults, a twin without them flies beside in the
    same wind; each fault's witness is the difference to a twin that lacks this fault alone. A fault on a part that
    the vehicle does not have is an error, or with `allow_missing` reported as ineffective. `tunings` replay
    parameter changes of an earlier flight; with `speed` the flight keeps to the wall clock and `live` takes new ones.
    """
    if not isinstance(vehicle, Vehicle):
        control = control or usual_control(vehicle)
        vehicle = load_vehicle(vehicle, control=control)
    mission = mission if isinstance(mission, Mission) else load_mission(mission or vehicle.spec.mission)
    wind = wind or Wind()
    injections = [f if isinstance(f, Injection) else parse_fault(f) for f in faults]
    model = model or compile_model(vehicle.diagram)
    settings = dict(settings or {})
    table = model.flat.p.signals.get("navigator.table")
    if table is None:
        raise RunError(f"vehicle '{vehicle.id}' has no navigator: it cannot fly a mission")
    values: dict[str, Any] = {**mission.params(table.columns), **wind.params(), **settings}
    # Lane 0 is the flight, lane 1 its healthy twin; with several faults, lane 2 + i has all faults but the i-th.
    count = len(injections)
    without = [1] if count == 1 else [2 + i for i in range(count)]
    lanes = 1 + (count > 0) + (count if count > 1 else 0)
    state = start(model, lanes=lanes, seed=[seed] * lanes)
    for path, value in values.items():
        try:
            state.set_param(path, value)
        except UnknownNameError as error:
            raise ModelError(f"vehicle '{vehicle.id}': {error}") from None
    state.words = {name: float(number) for number, name in enumerate(MODES)}
    state.aliases = ALIASES
    events: list[list[int]] = []
    for number, injection in enumerate(injections):
        events.append([])
        try:
            targets_in(model, injection)
        except FaultError:
            if not allow_missing:
                raise
            continue
        events[number] = inject(state, injection, 0)
        for lane in {*without} - {without[number], 1}:
            inject(state, injection, lane)
    if until_s is None:
        cruise = float(state.params[0, model.param_rows("navigator.cruise_speed"), 0][0])
        until_s = mission.duration_s or mission.longest_s(cruise)
    begin = time.perf_counter()
    changed: list[Tuning] = list(tunings)

    def poll(running: RunState) -> list[Tuning]:
        new = live.poll(running) if live is not None else []
        changed.extend(new)
        return new

    log = run(
        state, until_s, log_s=log_s, progress=progress, tunings=tunings, pace=Pace(speed) if speed else None,
        poll=poll if live is not None else None,
    )  # fmt: skip
    wall_s = time.perf_counter() - begin
    stop = log.stops[0]
    log.meta = {
        "ironbird.vehicle": vehicle.id, "ironbird.seed": str(seed), "ironbird.model": model.model_hash,
        "ironbird.faults": "; ".join(i.describe() for i in injections),
    }  # fmt: skip
    witnesses = [
        observe(injection, log, 0, log, without[i], _triggered_s(state, injection, events[i]))
        for i, injection in enumerate(injections)
    ]
    log.meta["ironbird.witnesses"] = json.dumps([witness.record() for witness in witnesses])
    return Flight(
        vehicle=vehicle, mission=mission, wind=wind, seed=seed, control=control or "", settings=settings,
        injections=injections, model=model,
        log=log, stop=stop, ended_s=stop.time_s if stop else state.time_s, wall_s=wall_s,
        tunings=changed,
        witnesses=witnesses,
    )  # fmt: skip


def _triggered_s(state: RunState, injection: Injection, events: list[int]) -> float:
    """When the trigger of a fault fired; zero if it has none, infinity if it never did."""
    if not injection.when or not events:
        return 0.0
    tick = state.fired[0][events[0]]
    return math.inf if tick < 0 else tick * state.model.step_s
