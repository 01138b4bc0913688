"""A batch: flights of one vehicle flown side by side in the lanes of one run, and judged.

A flight's result depends on its definition alone: not on its batch, its lane, the number of workers or the machine.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.blocks.controllers.navigator import MODES
from ironbird.campaign.case import FlightCase
from ironbird.campaign.sitl import AUTOPILOTS, LONGEST_S, fly_sitl, order_of
from ironbird.campaign.verdict import ERROR, FAIL, PASS, VOID, FlightResult, Judgement, error_result
from ironbird.compiler.compiled import LANES, CompiledModel, compile_model
from ironbird.errors import IronbirdError
from ironbird.faults.spec import Injection
from ironbird.flight.derived import known_aliases, known_units, make_trace, paths_to_log
from ironbird.flight.flight import ALIASES, HARMLESS, inject
from ironbird.flight.outside import reactions
from ironbird.flight.twins import Twins
from ironbird.flight.witness import Witness
from ironbird.requirements.explain import explain
from ironbird.requirements.formula import Formula, parse_formula
from ironbird.requirements.robustness import robustness
from ironbird.requirements.score import CHANNELS, LEVELS, VELOCITIES, Channel, assess
from ironbird.runtime.record import Log
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle

WORDS = {name: float(number) for number, name in enumerate(MODES)}
LANES_PER_BATCH = 512
LOG_BYTES = 400e6  # of one batch, at most: each worker holds one
IMPACT_S = 1.0  # the speed of an impact is the largest in this last part of a flight


@dataclass(frozen=True)
class TracePolicy:
    """Which traces are kept as Parquet files."""

    folder: str | None = None
    failing: bool = True
    share_of_passing: float = 0.01
    most_per_case: int = 20  # in a batch

    def wants(self, result: FlightResult, kept: int) -> bool:
        """Whether the trace of this flight is to be kept, after `kept` of its case."""
        if self.folder is None or kept >= self.most_per_case:
            return False
        if result.verdict != PASS:
            return self.failing
        # A fair and repeatable draw: by the flight's digest
        return int(result.digest[:8], 16) < self.share_of_passing * 2**32


@dataclass(frozen=True)
class BatchResult:
    """What came of a batch."""

    flights: list[FlightResult]
    kernel_s: float  # wall time in native code
    wall_s: float
    simulated_s: float


@functools.lru_cache(maxsize=16)
def model_of(vehicle: str, control: str) -> CompiledModel:
    """The compiled model of a vehicle, kept for the life of the process."""
    kind = "external" if control in AUTOPILOTS else control
    return compile_model(load_vehicle(vehicle, control=kind).diagram)


@functools.lru_cache(maxsize=4096)
def formula_of(text: str, vehicle: str, control: str) -> Formula:
    """A requirement's formula on a vehicle."""
    model = model_of(vehicle, control)
    return parse_formula(text, units=known_units(model), aliases=known_aliases(model), words=WORDS)


def log_paths(case: FlightCase) -> tuple[str, ...]:
    """The signals of a flight that its hash covers, whatever else its batch logs."""
    formulas = tuple(requirement.formula for requirement in case.requirements)
    return _paths(case.vehicle, case.control, formulas, tuple(injection.witness for injection in case.faults))


@functools.lru_cache(maxsize=4096)
def _paths(vehicle: str, control: str, formulas: tuple[str, ...], witnesses: tuple[str, ...]) -> tuple[str, ...]:
    model = model_of(vehicle, control)
    names = [name for text in formulas for name in formula_of(text, vehicle, control).signals]
    names += [witness for witness in witnesses if witness in model.signals()]
    return tuple(paths_to_log(names, model))


def group_key(case: FlightCase) -> tuple[str, str, float, float]:
    """Flights with equal keys can share a batch: vehicle, control, distance of rows, length."""
    log_paths(case)  # a formula that cannot be read is this flight's error, not its batch's
    return case.vehicle, case.control, case.log_s, _until_s(case)


def lanes_that_fit(cases: Sequence[FlightCase]) -> int:
    """Lanes of a batch of such flights whose log stays within its share of memory; an autopilot flies one alone."""
    vehicle, control, log_s, until_s = group_key(cases[0])
    if control in AUTOPILOTS:
        return 1
    signals = model_of(vehicle, control).signals()
    row = 8 * sum(signals[path].size for path in {path for case in cases for path in log_paths(case)})
    return min(LANES_PER_BATCH, max(LANES, int(LOG_BYTES / (row * until_s / log_s)) // LANES * LANES))


def _until_s(case: FlightCase) -> float:
    if case.until_s is not None:
        return case.until_s
    if case.control in AUTOPILOTS:
        return LONGEST_S
    if case.mission.duration_s is not None:
        return case.mission.duration_s
    model = model_of(case.vehicle, case.control)
    cruise = case.settings.get("navigator.cruise_speed", case.mission.cruise_speed_mps)
    if cruise is None:
        cruise = float(model.flat.values[model.param_rows("navigator.cruise_speed")][0])
    return case.mission.longest_s(float(cruise))  # type: ignore[arg-type]


def fly_batch(cases: Sequence[FlightCase], policy: TracePolicy | None = None, threads: int = 1) -> BatchResult:
    """Fly and judge flights that have the same `group_key`. What the rig cannot fly is judged an error."""
    begin = time.perf_counter()
    policy = policy or TracePolicy()
    first = cases[0]
    if first.control in AUTOPILOTS:
        return _fly_outside(first, policy, begin)
    try:
        model = model_of(first.vehicle, first.control)
        state = _prepare(model, cases)
        twins, until_s = Twins(state, cases), _until_s(first)
        paths = paths_to_log((path for case in cases for path in log_paths(case)), model)
        log = run(state, until_s, log=paths, log_s=first.log_s, threads=threads, poll=twins.watch)
        if log.interrupted:
            raise KeyboardInterrupt
        witnesses, twin_kernel_s = twins.observe(state, log, until_s, first.log_s)
        observed = [list(zip(*pair, strict=True)) for pair in zip(witnesses, twins.triggers_s(state), strict=True)]
        results = _judge_all(cases, log, observed, model)
    except Exception as error:
        if len(cases) > 1:  # find out which ones cannot be flown; the others must not suffer
            parts = [fly_batch([case], policy, threads) for case in cases]
            flights = [flight for part in parts for flight in part.flights]
            wall_s = time.perf_counter() - begin
            simulated = sum(part.simulated_s for part in parts)
            return BatchResult(flights, sum(part.kernel_s for part in parts), wall_s, simulated)
        failed = error_result(
            first.id, first.case_id, first.digest(), first.seed, first.values, first.expect, _why(error)
        )
        return BatchResult([failed], 0.0, time.perf_counter() - begin, 0.0)
    results = _keep_traces(results, log, policy)
    wall_s = time.perf_counter() - begin
    return BatchResult(results, state.kernel_s + twin_kernel_s, wall_s, sum(r.ended_s for r in results))


def _fly_outside(case: FlightCase, policy: TracePolicy, begin: float) -> BatchResult:
    """One flight under an autopilot: a process of its own beside this worker, judged like any other."""
    try:
        flight = fly_sitl(order_of(case))
        begins = [w.first_s if w.effective else w.injection.start_s for w in flight.witnesses]
        observed = [[(w, begun - w.injection.start_s) for w, begun in zip(flight.witnesses, begins, strict=True)]]
        results = _judge_all([case], flight.log, observed, flight.model)
    except Exception as error:
        failed = error_result(case.id, case.case_id, case.digest(), case.seed, case.values, case.expect, _why(error))
        return BatchResult([failed], 0.0, time.perf_counter() - begin, 0.0)
    result = replace(results[0], ended_s=flight.ended_s, reactions=[r.sentence() for r in reactions(flight)])
    results = _keep_traces([result], flight.log, policy)
    return BatchResult(results, 0.0, time.perf_counter() - begin, flight.ended_s)


def fly_all(cases: Sequence[FlightCase], threads: int | None = None) -> list[FlightResult]:
    """Fly and judge any flights in this process, in the order given."""
    groups: dict[Any, list[int]] = {}
    for number, case in enumerate(cases):
        groups.setdefault(group_key(case), []).append(number)
    found: dict[int, FlightResult] = {}
    for numbers in groups.values():
        size = lanes_that_fit([cases[n] for n in numbers])
        for part in (numbers[i : i + size] for i in range(0, len(numbers), size)):
            batch = fly_batch([cases[n] for n in part], threads=threads or os.cpu_count() or 1)
            found.update(zip(part, batch.flights, strict=True))
    return [found[number] for number in range(len(cases))]


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, IronbirdError) else f"the rig failed: {type(error).__name__}: {error}"


# ---------------------------------------------------------------------- flying


def _prepare(model: CompiledModel, cases: Sequence[FlightCase]) -> RunState:
    state = start(model, lanes=len(cases), seed=[case.seed for case in cases])
    state.words, state.aliases = dict(WORDS), dict(ALIASES)
    columns = model.flat.p.signals["navigator.table"].columns
    for values, lanes in _shared(_params_of(case, columns) for case in cases):
        for path, value in values.items():
            for lane in [None] if len(lanes) == len(cases) else lanes:
                state.set_param(path, value, lane)
    for lane, case in enumerate(cases):
        for injection in case.faults:
            inject(state, injection, lane)
    return state


def _params_of(case: FlightCase, columns: int) -> dict[str, Any]:
    return {**case.mission.params(columns), **case.wind.params(), **case.settings}


def _shared(params: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], list[int]]]:
    """Parameter values with the lanes that have them, so that equal ones are set once."""
    found: dict[tuple[str, bytes], tuple[Any, list[int]]] = {}
    for lane, values in enumerate(params):
        for path, value in values.items():
            key = (path, np.asarray(value, float).tobytes())
            found.setdefault(key, (value, []))[1].append(lane)
    return [({path: value}, lanes) for (path, _), (value, lanes) in found.items()]


# ---------------------------------------------------------------------- judging


def _judge_all(
    cases: Sequence[FlightCase], log: Log, observed: list[list[tuple[Witness, float]]], model: CompiledModel
) -> list[FlightResult]:
    starts = [
        min((injection.start_s + at for injection, (_, at) in zip(case.faults, seen, strict=True)), default=math.inf)
        for case, seen in zip(cases, observed, strict=True)
    ]
    lanes_of: dict[str, list[int]] = {}
    for lane, case in enumerate(cases):
        for requirement in case.requirements:
            lanes_of.setdefault(requirement.formula, []).append(lane)
    formulas = {text: formula_of(text, cases[0].vehicle, cases[0].control) for text in lanes_of}
    channels = channels_of(model)
    names = [name for formula in formulas.values() for name in formula.signals]
    names += [name for c in channels for name in (c.value, c.command) if name]
    names += [*VELOCITIES, "crashed", "fault_active"]
    trace = make_trace(log, dict.fromkeys(names), starts)
    margins = {text: robustness(formula, trace) for text, formula in formulas.items()}
    mass = model.flat.values[model.param_rows("body.mass")][0] if "body.mass" in model.params() else 1.0
    graded = assess(trace, mass_kg=float(mass), channels=channels)
    results = []
    for lane, case in enumerate(cases):
        judgements = []
        for requirement in case.requirements:
            margin = float(margins[requirement.formula][lane])
            time_s, sentence = math.nan, ""
            if margin < 0.0:
                finding = explain(formulas[requirement.formula], trace, lane)
                time_s, sentence = finding.time_s, finding.sentence
            judgements.append(Judgement(requirement.name, requirement.severity, margin, time_s, sentence))
        score, level = float(graded.score[lane]), LEVELS[int(graded.level[lane])]
        results.append(_result(case, lane, log, judgements, observed[lane], score, level, model))
    return results


def channels_of(model: CompiledModel) -> list[Channel]:
    """What of the graded score can be judged on a model."""
    known = known_units(model)
    return [c for c in CHANNELS if c.value in known and (c.command is None or c.command in known)]


def _result(
    case: FlightCase, lane: int, log: Log, judgements: list[Judgement], observed: list[tuple[Witness, float]],
    score: float, level: str, model: CompiledModel,
) -> FlightResult:  # fmt: skip
    stop = log.stops[lane]
    crashed = stop is not None and stop.reason not in HARMLESS
    rows = log.rows(lane)
    to_end_s = (rows - 1) * case.log_s if case.control in AUTOPILOTS else _until_s(case)  # these end when they are down
    ended_s = stop.time_s if stop is not None else to_end_s
    outcome = f"{stop.reason} at {stop.time_s:.2f} s" if stop else f"flown to the end at {ended_s:.2f} s"
    verdict, sentence = _verdict(stop.reason if stop else "", outcome, judgements, [w for w, _ in observed])
    down = log.lane("body.v_NB_N", lane)[:, 2] if rows else np.zeros(0)
    last = max(1, round(IMPACT_S / case.log_s))
    return FlightResult(
        id=case.id, case_id=case.case_id, digest=case.digest(), seed=case.seed, values=dict(case.values),
        verdict=verdict, sentence=sentence, outcome=outcome, crashed=crashed, ended_s=ended_s,
        impact_mps=float(down[-last:].max()) if crashed and rows else 0.0,
        margin=min((j.margin for j in judgements), default=math.inf), score=score, level=level,
        sha256=log.sha256(lane, log_paths(case)), model_hash=model.model_hash, judgements=judgements,
        witnesses=[w.record() for w, _ in observed], modes=_modes(log, lane),
        fault_modes=[_mode_at(log, lane, i, at) for i, (_, at) in zip(case.faults, observed, strict=True)],
        expect=case.expect,
    )  # fmt: skip


def _verdict(
    reason: str, outcome: str, judgements: Sequence[Judgement], witnesses: Sequence[Witness]
) -> tuple[str, str]:
    broken = sorted((j for j in judgements if not j.holds), key=lambda j: (math.isnan(j.time_s), j.time_s))
    what = "; ".join(f"{j.name}: {j.sentence}" for j in broken)
    if reason.startswith("diverged"):
        return ERROR, outcome
    idle = [w for w in witnesses if not w.effective]
    if idle:
        also = f"; besides, {what}" if broken else ""
        return VOID, f"the fault did not act: {idle[0].sentence()} ({outcome}){also}"
    proof = "".join(f"; {w.sentence()}" for w in witnesses)
    if broken:
        return FAIL, f"{what} ({outcome}){proof}"
    return PASS, f"{outcome}{proof}"


def _modes(log: Log, lane: int) -> list[list[float]]:
    if "navigator.mode" not in log or not log.rows(lane):
        return []
    mode, when = log.lane("navigator.mode", lane), log.time(lane)
    changes = [0, *(np.flatnonzero(np.diff(mode)) + 1).tolist()]
    return [[round(float(when[i]), 6), float(mode[i])] for i in changes]


def _mode_at(log: Log, lane: int, injection: Injection, triggered_s: float) -> int:
    begin_s = injection.start_s + triggered_s
    row = int(np.searchsorted(log.time_s, begin_s)) if math.isfinite(begin_s) else log.rows(lane)
    if "navigator.mode" not in log or row >= log.rows(lane):
        return -1
    return int(log.lane("navigator.mode", lane)[row])


def _keep_traces(results: list[FlightResult], log: Log, policy: TracePolicy) -> list[FlightResult]:
    kept: dict[str, int] = {}
    final = []
    for lane, result in enumerate(results):
        if policy.wants(result, kept.get(result.case_id, 0)):
            kept[result.case_id] = kept.get(result.case_id, 0) + 1
            assert policy.folder is not None
            name = trace_name(result.id)
            log.meta = {"ironbird.flight": result.id, "ironbird.sha256": result.sha256}
            Path(policy.folder).mkdir(parents=True, exist_ok=True)
            part = Path(policy.folder) / f".{name}"
            log.to_parquet(part, lane)
            part.rename(Path(policy.folder) / name)  # a killed worker leaves no half file under the name
            result = replace(result, trace=name)
        final.append(result)
    return final


def trace_name(flight_id: str) -> str:
    """A file name for a flight's trace, whatever its id holds."""
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in flight_id)[:80]
    return f"{plain}-{hashlib.sha256(flight_id.encode()).hexdigest()[:8]}.parquet"
