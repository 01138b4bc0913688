"""Fly a scenario and judge it: every vehicle by its own requirements, and requirements between vehicles."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.conditions.names import Names
from ironbird.errors import UnknownNameError
from ironbird.faults.spec import is_sight
from ironbird.flight.derived import DERIVED, derived
from ironbird.flight.flown import Flown
from ironbird.flight.judge import Judged, Judgement, judge
from ironbird.flight.systems import is_outside
from ironbird.flight.twins import WITNESS_S, Twins
from ironbird.flight.witness import Witness, observe
from ironbird.flight.words import ERROR, FAIL, PASS, VOID
from ironbird.requirements.explain import explain
from ironbird.requirements.meaning import parse_requirement
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace
from ironbird.requirements.vacuity import untested
from ironbird.runtime.log import Log
from ironbird.scenario.between import pairs, plain
from ironbird.scenario.fleet import Fleet, Hit
from ironbird.scenario.grammar import Scenario, load_scenario
from ironbird.scenario.pilots import PILOT_TICKS, Avoider, DeckLander, Follower, Pilot
from ironbird.vehicles import places as at
from ironbird.world.runner import Sample
from ironbird.world.sensors.sensor import Sensor

OWN = {"min_distance": at.CLEARANCE.min_distance, "collision": at.CLEARANCE.collision, "mode": at.NAVIGATOR.mode}


@dataclass
class VehicleFlight:
    """Result of one vehicle: verdict, log, path, and the least distance to others."""

    name: str
    judged: Judged
    log: Log
    lane: int
    path_N_m: np.ndarray  # (rows, 3); where it stopped it stays
    attitudes: np.ndarray  # (rows, 3, 3)
    min_distance_m: float  # to the nearest obstacle or vehicle
    sensors: list[Sensor] = field(default_factory=list)  # that saw the world
    samples: list[Sample] = field(default_factory=list)


@dataclass
class ScenarioFlight:
    """A scenario that was flown, with all vehicles.

    `distance(a, b)` and `gap(a, b)` are distances between two vehicles over time, of centres and of hulls.

    Attributes
    ----------
    scenario : Scenario
        What was flown.
    time_s : array
        Times of the rows in s.
    vehicles : list of VehicleFlight
        Log, path and judgement of each vehicle.
    judgements : list of Judgement
        Of the requirements between vehicles.
    hits : list of Hit
        Vehicles that touched: time in s, both names, speed in m/s.
    pilots : dict of str to Pilot
        Who flew each vehicle.
    balls : dict
        Hulls: centres [n, 3] in body axes and radius, in m.
    wall_s : float
        Time that it took to compute, in s.
    witnesses : dict of str to list of Witness
        What the faults of each vehicle did.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    scenario: Scenario
    time_s: np.ndarray
    vehicles: list[VehicleFlight]
    judgements: list[Judgement]  # of what must hold between vehicles
    hits: list[Hit]
    pilots: dict[str, Pilot]
    balls: dict[str, tuple[np.ndarray, float]]  # hulls: centres (n, 3) in body axes, and radius
    wall_s: float
    witnesses: dict[str, list[Witness]] = field(default_factory=dict)
    interrupted: bool = False  # by Ctrl-C: what was flown until then

    def vehicle(self, name: str) -> VehicleFlight:
        """The result of a vehicle by name; raises UnknownNameError."""
        result = next((v for v in self.vehicles if v.name == name), None)
        if result is None:
            raise UnknownNameError("vehicle", name, [v.name for v in self.vehicles], self.scenario.name)
        return result

    def distance(self, a: str, b: str) -> np.ndarray:
        """Distance between two vehicles' centres of mass over time, m."""
        away = self.vehicle(a).path_N_m - self.vehicle(b).path_N_m
        return np.asarray(np.sqrt((away * away).sum(axis=1)))

    def gap(self, a: str, b: str) -> np.ndarray:
        """Gap between two vehicles' hulls over time, m; negative where they overlap."""
        places = []
        for name in (a, b):
            flown, (centres, _) = self.vehicle(name), self.balls[name]
            places.append(flown.path_N_m[:, None] + np.einsum("tij,bj->tbi", flown.attitudes, centres))
        away = places[0][:, :, None] - places[1][:, None]
        nearest = np.sqrt((away * away).sum(axis=3)).min(axis=(1, 2))
        return np.asarray(nearest - self.balls[a][1] - self.balls[b][1])

    @property
    def verdict(self) -> str:
        """pass, fail, void or error: the worst of the vehicles, and of the requirements between them."""
        verdicts = [v.judged.verdict for v in self.vehicles]
        if ERROR in verdicts:
            return ERROR
        if FAIL in verdicts or any(not j.holds for j in self.judgements):
            return FAIL
        return VOID if VOID in verdicts else PASS

    @property
    def sentence(self) -> str:
        """The reason of the verdict, as text."""
        reasons = [f"{j.name}: {j.sentence}" for j in self.judgements if not j.holds]
        reasons += [f"{v.name}: {v.judged.sentence}" for v in self.vehicles if v.judged.verdict != PASS]
        return "; ".join(reasons) or f"{len(self.vehicles)} vehicles flew to the end of it"

    @property
    def sha256(self) -> str:
        """Hash of the flights of all vehicles and of their hits."""
        whole = hashlib.sha256()
        for flown in self.vehicles:
            whole.update(f"{flown.name} {flown.judged.sha256}\n".encode())
        for hit in self.hits:
            whole.update(f"{hit.time_s!r} {hit.first} {hit.second} {hit.speed_mps!r}\n".encode())
        return whole.hexdigest()

    def record(self) -> dict[str, Any]:
        """The results as plain data for JSON."""
        return {
            "scenario": self.scenario.name,
            "digest": self.scenario.digest(),
            "verdict": self.verdict,
            "sentence": self.sentence,
            "sha256": self.sha256,
            "vehicles": {
                v.name: {"min_distance_m": v.min_distance_m, **v.judged.record()} for v in self.vehicles
            },
            "between": [{"name": j.name, "margin": j.margin, "holds": j.holds} for j in self.judgements],
            "hits": [vars(hit) for hit in self.hits],
        }  # fmt: skip


def fly_scenario(
    what: Scenario | str | Path,
    *,
    workers: int = 1,
    pilots: Mapping[str, Pilot] | None = None,
    progress: Callable[[float], None] | None = None,
    keep: bool = True,
) -> ScenarioFlight:
    """Fly a scenario: several vehicles in one world, which may meet.

    The result does not depend on `workers`. The witness of a fault is the same scenario flown again without any fault;
    that of a vehicle under an external control system a twin that is given the very inputs of the flight; that of a
    sensor of the world its own samples. Ctrl-C ends it with what was flown so far; its verdict is then error.

    Parameters
    ----------
    what : str, Path or Scenario
        Name of a scenario (`ironbird scenario list`), or a TOML file.
    workers : int, default 1
        Number of processes.
    pilots : mapping of str to Pilot, optional
        Objects by vehicle that take the place of the pilots that the file names.
    progress : callable, optional
        Called with the share that is flown, 0 to 1.
    keep : bool, default True
        Keep the samples of sensors that see the world.

    Returns
    -------
    ScenarioFlight
        Verdict, paths, distances and the log of each vehicle.

    Raises
    ------
    CaseError
        If the file has problems.

    Examples
    --------
    >>> flown = ib.fly_scenario("leader_follower")  # doctest: +SKIP
    >>> flown.gap("leader", "left").min()  # doctest: +SKIP
    """
    scenario = what if isinstance(what, Scenario) else load_scenario(what)
    begin = time.perf_counter()
    faulted = any(member.faults for member in scenario.members)
    fleet, logs, flying, triggered = _fly(scenario, workers, pilots or {}, progress, keep=keep)
    witnesses: dict[str, list[Witness]] = {member.name: [] for member in scenario.members}
    if faulted:
        inside = [member for member in scenario.members if not is_outside(member.order.control)]
        others = [fault for member in inside for fault in member.faults if not is_sight(fault)]
        twins = logs  # faults of sight need none
        if others and not logs[0].interrupted:
            _, twins, _, _ = _fly(_healthy(scenario), workers, pilots or {}, None, also=_witnessed(scenario))
        witnesses = _witnesses(fleet, logs, twins, triggered)
    vehicles = _judged(fleet, logs, witnesses, triggered)
    time_s = logs[0].time_s
    balls = {
        member.name: (fleet.groups[group].hull.balls_m().T, fleet.groups[group].hull.radius_m)
        for member, (group, _) in zip(scenario.members, fleet.place, strict=True)
    }
    flown = ScenarioFlight(
        scenario,
        time_s,
        vehicles,
        [],
        fleet.hits,
        flying,
        balls,
        time.perf_counter() - begin,
        witnesses,
        logs[0].interrupted,
    )
    flown.judgements = [judge_between(text, flown) for text in scenario.table.require]
    return flown


def _healthy(scenario: Scenario) -> Scenario:
    members = tuple(replace(m, order=replace(m.order, faults=()), across=()) for m in scenario.members)
    return replace(scenario, members=members)


def _witnessed(scenario: Scenario) -> list[str]:
    """Signals that show the effects of the faults."""
    return sorted({injection.witness for member in scenario.members for injection in member.faults})


def pilot_of(fleet: Fleet, number: int) -> Pilot | None:
    """The pilot that a scenario's file gives a vehicle; None if it has none."""
    table = fleet.members[number].table
    if table.follow is not None:
        return Follower(table.follow)
    if table.land is not None:
        return DeckLander(table.land)
    if table.avoid is not None:
        return Avoider(table.avoid, fleet, number)
    return None


def _fly(
    scenario: Scenario,
    workers: int,
    own_pilots: Mapping[str, Pilot],
    progress: Callable[[float], None] | None,
    also: Sequence[str] = (),
    keep: bool = False,
) -> tuple[Fleet, list[Log], dict[str, Pilot], list[list[float]]]:
    """Fly to the end; returns the fleet, logs by group, pilots by name, and times of the triggers by vehicle."""
    fleet = Fleet(scenario, workers, also=also, keep=keep)
    try:
        pilots: dict[int, Pilot] = {}
        for number, member in enumerate(scenario.members):
            pilot = own_pilots.get(member.name) or pilot_of(fleet, number)
            if pilot is not None:
                pilots[number] = pilot
        unknown = set(own_pilots) - {member.name for member in scenario.members}
        if unknown:
            raise UnknownNameError("vehicle", sorted(unknown)[0], [m.name for m in scenario.members], scenario.name)
        interrupted = False
        try:
            _advance(fleet, pilots, progress)
        except KeyboardInterrupt:
            if not fleet.tick:
                raise
            interrupted = True
        logs = fleet.finish()
        for log in logs:
            log.interrupted = interrupted
        triggered: list[list[float]] = [[] for _ in scenario.members]
        for group in fleet.groups:
            fired = Twins(group.state, group.orders).triggers_s(group.state)
            for number, times in zip(group.members, fired, strict=True):
                triggered[number] = [*times, *fleet.fired_s(number)]
        return fleet, logs, {scenario.members[n].name: pilot for n, pilot in pilots.items()}, triggered
    finally:
        fleet.close()


def _advance(fleet: Fleet, pilots: Mapping[int, Pilot], progress: Callable[[float], None] | None) -> None:
    reported = 0
    while fleet.tick < fleet.until_tick and fleet.running().any():
        fleet.advance(PILOT_TICKS - fleet.tick % PILOT_TICKS)
        if fleet.tick % PILOT_TICKS == 0:
            live = fleet.running()
            for number, pilot in pilots.items():
                if live[number]:
                    pilot.fly(fleet, number)
        if progress is not None and fleet.tick - reported > 1000:
            reported = fleet.tick
            progress(fleet.tick / fleet.until_tick)


def _witnesses(
    fleet: Fleet, logs: list[Log], twins: list[Log], triggered: list[list[float]]
) -> dict[str, list[Witness]]:
    by_vehicle: dict[str, list[Witness]] = {}
    for number, member in enumerate(fleet.members):
        group, lane = fleet.place[number]
        log, twin = logs[group], twins[group]
        by_vehicle[member.name] = fleet.groups[group].witnesses or [
            observe(
                injection, log, lane, twin, lane, fired_s,
                injection.start_s + fired_s + injection.rise_s + max(WITNESS_S, 2 * member.order.log_s),
            )
            for injection, fired_s in zip(member.faults, triggered[number], strict=True)
        ]  # fmt: skip
        if member.order.sight:
            sights, lane = fleet.sights(number)
            by_vehicle[member.name] = [sights.witness(witness, lane) for witness in by_vehicle[member.name]]
    return by_vehicle


def _judged(
    fleet: Fleet, logs: list[Log], witnesses: Mapping[str, list[Witness]], triggered: list[list[float]]
) -> list[VehicleFlight]:
    by_number: dict[int, VehicleFlight] = {}
    for group, log in zip(fleet.groups, logs, strict=True):
        flown = [
            Flown(
                order=replace(member.order, faults=member.faults),
                log=log,
                lane=lane,
                run_ended_s=fleet.time_s,
                witnesses=witnesses[member.name],
                triggered_s=triggered[number],
                rig_failure=group.failure,
                autopilot_events=fleet.autopilot_events.get(member.name, []),
            )
            for lane, number in enumerate(group.members)
            for member in [fleet.members[number]]
        ]
        judged = judge(flown, group.model)
        for lane, number in enumerate(group.members):
            attitudes = _held(log, at.BODY.attitude, lane).reshape(-1, 3, 3).transpose(0, 2, 1)
            nearest = log.lane(at.CLEARANCE.min_distance, lane)
            by_number[number] = VehicleFlight(
                fleet.members[number].name,
                judged[lane],
                log,
                lane,
                _held(log, at.BODY.position, lane),
                attitudes,
                float(nearest.min()) if len(nearest) else math.nan,
            )
            if fleet.members[number].order.sight:
                sights, own = fleet.sights(number)
                by_number[number].sensors, by_number[number].samples = sights.lanes[own].sensors, sights.kept[own]
    return [by_number[number] for number in range(len(fleet.members))]


def _held(log: Log, path: str, lane: int) -> np.ndarray:
    """A signal over all rows of a log; after a vehicle's stop its last value."""
    values = log.lane(path, lane)
    missing = len(log.time_s) - len(values)
    return np.concatenate([values, np.repeat(values[-1:], missing, axis=0)]) if missing else values


# ---------------------------------------------------------------------- what must hold between vehicles


def check_between(text: str, names: Sequence[str]) -> None:
    """Raise if a requirement between vehicles with these names is invalid."""
    units = {f"{what}.{a}.{b}": "m" for what, a, b in pairs(text, names)}
    own = {"min_distance": "m", "collision": "1", "mode": "1", **{name: known.unit for name, known in DERIVED.items()}}
    units |= {f"{vehicle}.{name}": unit for vehicle in names for name, unit in own.items()}
    parse_requirement(plain(text), Names(units))


def judge_between(text: str, flown: ScenarioFlight) -> Judgement:
    """Judge a requirement that names several vehicles: `distance(a, b)`, `gap(a, b)` and `a.height` are signals."""
    known = [v.name for v in flown.vehicles]
    values: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}
    for what, a, b in pairs(text, known, flown.scenario.name):
        values[f"{what}.{a}.{b}"] = flown.distance(a, b) if what == "distance" else flown.gap(a, b)
        units[f"{what}.{a}.{b}"] = "m"
    for vehicle in flown.vehicles:
        for name, value in _own_signals(vehicle, text).items():
            values[f"{vehicle.name}.{name}"] = value[0]
            units[f"{vehicle.name}.{name}"] = value[1]
    formula = parse_requirement(plain(text), Names(units))
    rows = len(flown.time_s)
    trace = Trace(flown.time_s, {name: value[None, :rows] for name, value in values.items()}, np.array([rows]))
    margin = float(robustness(formula, trace)[0])
    if margin >= 0:
        return Judgement(text, "major", margin, math.nan, "", text, untested=untested(formula, trace)[0])
    finding = explain(formula, trace, 0)
    sentence = re.sub(r"\b(distance|gap)\.(\w+)\.(\w+)", r"\1(\2, \3)", finding.sentence)
    return Judgement(text, "major", margin, finding.time_s, sentence, text, finding.unit, finding.broken_s)


def _own_signals(vehicle: VehicleFlight, text: str) -> dict[str, tuple[np.ndarray, str]]:
    """Signals of one vehicle that a requirement names, with their units."""
    signals: dict[str, tuple[np.ndarray, str]] = {}
    for name in {*DERIVED, *OWN}:
        if not re.search(rf"\b{vehicle.name}\.{name}\b", text):
            continue
        if name in OWN:
            values, unit = vehicle.log.lane(OWN[name], vehicle.lane), vehicle.log.signals[OWN[name]].unit
        else:
            values, unit = derived(vehicle.log, name, vehicle.lane), DERIVED[name].unit
        missing = len(vehicle.log.time_s) - len(values)
        signals[name] = (np.concatenate([values, np.repeat(values[-1:], missing)]), unit)
    return signals
