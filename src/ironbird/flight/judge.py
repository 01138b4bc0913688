"""The judge: the verdict of a flight. No other part of Ironbird decides pass, fail, void or error.

In this order: `error` (the rig failed: a link was lost, deadlines were missed, the numbers diverged, the user ended the
flight by hand), `fail` (a requirement was violated, before or after a fault acted), `void` (all requirements held, but
nothing is verified: nothing was flown, the flight was cut off before it could end as ordered, or a fault did not act),
`pass`. Besides its own requirements every order has `no_crash`, unless it says `may_crash`, and how it may end
(`flight.ends`). Where the vehicle was is judged by its true state (`flight.reached`), not by what it reports.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.conditions.formula import Formula, Node
from ironbird.conditions.margin import programs_of
from ironbird.errors import OrderError
from ironbird.flight.derived import derived_at_end, make_trace, paths_to_log
from ironbird.flight.duration import own_end_s
from ironbird.flight.ends import COMPLETED as COMPLETELY
from ironbird.flight.ends import MISSION, TIME, ending_formula
from ironbird.flight.flown import Flown
from ironbird.flight.order import Order, Requirement
from ironbird.flight.prepare import fit, names_in
from ironbird.flight.reached import Ended, ended
from ironbird.flight.reactions import possible_reactions, reactions_of
from ironbird.flight.systems import OUTSIDE, kind_of, read_options
from ironbird.flight.unread import is_read
from ironbird.flight.witness import witness_programs
from ironbird.flight.words import (
    COMPLETED,
    ERROR,
    FAIL,
    HARD,
    HARMLESS,
    PASS,
    SIDEWAYS,
    VOID,
    collision_words,
    crash_words,
    impact_words,
)  # fmt: skip
from ironbird.requirements.explain import explain, unit_of
from ironbird.requirements.lane_margins import margins_library
from ironbird.requirements.lane_score import score_library
from ironbird.requirements.library import Severity
from ironbird.requirements.meaning import longest_row_s, parse_requirement
from ironbird.requirements.robustness import robustness
from ironbird.requirements.score import CHANNELS, LEVELS, VELOCITIES, Channel, assess
from ironbird.requirements.trace import Extremes
from ironbird.requirements.vacuity import untested
from ironbird.runtime.lane_columns import columns_library
from ironbird.runtime.lane_hash import hash_library
from ironbird.runtime.log import Log
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import Stop
from ironbird.vehicles import places as at
from ironbird.vehicles.kinds import vehicle_kind
from ironbird.vehicles.load import load_spec

SEVERITIES = get_args(Severity)  # the worst first
NO_CRASH = Requirement.of("no_crash")
MOST_LOG_S = 1.0  # s between rows by which the way of a vehicle is judged
IMPACT_S = 1.0  # the speed of an impact is the largest in this last part of a flight
GROUP_VALUES = 2**16  # of one column that are judged at once: half a megabyte


@dataclass(frozen=True)
class Judgement:
    """One requirement on one flight.

    Attributes
    ----------
    name : str
        The requirement's name.
    severity : str
        How bad a violation is.
    margin : float
        Robustness in SI units: negative is violated; infinite if no number limits it.
    time_s : float
        Time of the worst margin in s; NaN if it is not tied to a time.
    sentence : str
        What broke, when, by how much; empty if it holds.
    formula : str
        The requirement as a formula.
    unit : str
        Unit of the margin, as far as it is known.
    broken_s : float
        Time at which it was first broken in s; NaN if it holds.
    untested : str
        What of it the flight never put to the test; empty if all of it was. A broken one has it only if it is a mission
        that was cut off, which does not count.
    """

    name: str
    severity: str
    margin: float  # robustness: negative is violated
    time_s: float  # of the worst margin; NaN if it is not tied to a time
    sentence: str  # what broke, when, by how much; empty if it holds
    formula: str = ""
    unit: str = ""  # of the margin, as far as it is known
    broken_s: float = math.nan  # time of the first violation; NaN if it holds
    untested: str = ""  # the part that the flight did not test; empty if all was

    @property
    def holds(self) -> bool:
        """Whether the flight meets it."""
        return self.margin >= 0.0

    @property
    def counts_as_broken(self) -> bool:
        """Whether it is broken, and no mission that was cut off."""
        return not self.holds and not self.untested

    def words(self) -> str:
        """Status and margin as text; an angle in degrees if the formula has it so."""
        unit, factor = "" if self.unit == "1" else self.unit, 1.0
        degrees = unit.replace("rad", "deg")
        if degrees != unit and re.search(rf"\d\s*{degrees}\b", self.formula):
            unit, factor = degrees, math.degrees(1.0)
        margin = f", margin {factor * self.margin:.4g} {unit}".rstrip()
        return self.status + (margin if math.isfinite(self.margin) else "")

    @property
    def status(self) -> str:
        """broken, vacuous (it holds, but was not tested) or holds."""
        return "broken" if not self.holds else "vacuous" if self.untested else "holds"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a flight came to, as it is stored and reported.

    Attributes
    ----------
    digest : str
        SHA-256 of the order.
    verdict : str
        pass, fail, void (nothing is verified: not flown, cut off, or a fault did not act) or error (the rig failed).
    sentence : str
        Why.
    outcome : str
        How the flight ended.
    crashed : bool
        Whether the vehicle crashed.
    ended_s : float
        Length of the flight in s.
    impact_mps : float
        Largest downward speed in the second before the end of a crashed flight in m/s, else 0.
    margin : float
        Smallest margin over all requirements; negative is violated, infinite if no number limits it.
    score : float
        1 is safe, 0 is lost.
    level : str
        The score in words.
    sha256 : str
        SHA-256 of the flight: its times and all signals that are judged.
    model_hash : str
        SHA-256 of the model's equations.
    judgements : list of Judgement
        One for each requirement.
    witnesses : list of dict
        What each fault did.
    modes : list of [float, float]
        Time in s and mode of the navigator, at every change.
    fault_modes : list of int
        Mode in which each fault began; -1 if it did not.
    reactions : list of str
        What an external control system did after each fault: not all of it is caused by the fault.
    early : bool
        Whether the first violation came before any fault began.
    impact_sideways_mps : float
        Largest horizontal speed in the same second in m/s, else 0.
    healthy : int
        Healthy flights of the same order that it was compared with; 0 if none was flown.
    caused : list of str
        What none of the healthy flights shows.
    steps : list of dict
        How far each fault that acted came: whether it arrived in the autopilot's log and changed the flight.
    """

    digest: str  # of the order
    verdict: str
    sentence: str  # why
    outcome: str  # how the flight ended
    crashed: bool
    ended_s: float
    impact_mps: float  # largest downward speed in the second before the end of a crashed flight, else 0
    margin: float  # smallest over all requirements
    score: float  # 1 safe, 0 lost
    level: str
    sha256: str  # of the flight: time, and the signals that `log_paths` names
    model_hash: str
    judgements: list[Judgement] = field(default_factory=list)
    witnesses: list[dict[str, Any]] = field(default_factory=list)
    modes: list[list[float]] = field(default_factory=list)  # [time, mode] at every change
    fault_modes: list[int] = field(default_factory=list)  # mode in which each fault began; -1 if it did not
    reactions: list[str] = field(default_factory=list)  # reactions of an external control system after each fault
    early: bool = False  # the first violation came before any fault began
    impact_sideways_mps: float = 0.0  # largest horizontal speed in the same second
    healthy: int = 0  # healthy flights that it was compared with
    caused: list[str] = field(default_factory=list)  # what none of them shows
    steps: list[dict[str, Any]] = field(default_factory=list)  # fault, changed, sentence: of each fault that acted

    @property
    def changed_nothing(self) -> bool:
        """Whether it was compared with healthy flights, and moved as they do although a fault acted."""
        return bool(self.steps) and not any(step["changed"] for step in self.steps)

    @property
    def shows_less(self) -> bool:
        """Whether it passed, but a requirement was not put to the test, or the faults changed nothing."""
        return self.verdict == PASS and (bool(self.untested) or self.changed_nothing)

    @property
    def untested(self) -> list[Judgement]:
        """Requirements that hold, but that the flight did not, or not wholly, put to the test."""
        return [judgement for judgement in self.judgements if judgement.untested]

    @property
    def in_short(self) -> str:
        """Why it failed, without the witnesses of the faults; the whole sentence of other verdicts."""
        broken = sorted((j for j in self.judgements if not j.holds), key=_by_severity)
        texts = [f"{j.name}: {j.sentence}" for j in broken if j.sentence]
        return "; ".join(texts) if self.verdict == FAIL and texts else self.sentence

    @property
    def verdict_text(self) -> str:
        """The verdict in words: a pass says what was not put to the test, and if the faults changed nothing."""
        if self.verdict != PASS:
            return self.verdict
        parts = [PASS]
        if self.untested:
            parts.append(f"{len(self.untested)} of {len(self.judgements)} requirements were not put to the test")
        if self.changed_nothing:
            parts.append(f"the fault{'s' if len(self.steps) > 1 else ''} changed nothing of the flight")
        return ", but ".join([parts[0], " and ".join(parts[1:])]) if parts[1:] else PASS

    def record(self) -> dict[str, Any]:
        """Plain data for files and databases: numbers are finite or None, as JSON has no infinities.

        Each judgement has its `status` beside it, which says what a margin of None is: more than any number where the
        requirement holds, less than any where it is broken.
        """
        return {
            name: value if type(value) is str or name in _FINITE else _finite(value)
            for name, value in vars(self).items()
        }


def not_flown(order: Order, why: str) -> Judged:
    """The judgement (error) of a flight that the rig could not fly."""
    nothing: dict[str, Any] = {
        "crashed": False,
        "ended_s": 0.0,
        "impact_mps": 0.0,
        "level": "",
        "sha256": "",
        "model_hash": "",
    }
    return Judged(
        digest=order.digest(),
        verdict=ERROR,
        sentence=why,
        outcome="not flown",
        margin=math.nan,
        score=math.nan,
        **nothing,
    )


def outcome(stop: Stop | None, ended_s: float, interrupted: bool = False) -> str:
    """How a flight ended, as text."""
    if interrupted:
        return f"interrupted at {ended_s:.2f} s"
    return f"{stop.reason} at {stop.time_s:.2f} s" if stop is not None else f"flown to the end at {ended_s:.2f} s"


def survived(stop: Stop | None) -> bool:
    """Whether the vehicle was undamaged at the end."""
    return stop is None or stop.reason in HARMLESS


# ---------------------------------------------------------------------- formulas on a model


@functools.lru_cache(maxsize=4096)
def _formula(text: str, model: CompiledModel) -> Formula:
    return parse_requirement(text, names_in(model))


def log_paths(order: Order, model: CompiledModel | None = None) -> tuple[str, ...]:
    """The signals of a flight that its hash covers, independent of what else is logged."""
    formulas = tuple(requirement.formula for requirement in requirements_of(order))
    return _paths(model or fit(order).model, formulas, tuple(injection.witness for injection in order.faults))


@functools.lru_cache(maxsize=4096)
def _paths(model: CompiledModel, formulas: tuple[str, ...], witnesses: tuple[str, ...]) -> tuple[str, ...]:
    names = [name for text in formulas for name in _formula(text, model).signals]
    names += [witness for witness in witnesses if witness in model.signals()]
    return tuple(paths_to_log(names, model))


@functools.lru_cache(maxsize=4096)
def _programs(text: str, model: CompiledModel) -> dict[Node, Predicate]:
    """Conditions of a requirement whose extremes between rows the kernel keeps."""
    return programs_of(_formula(text, model).root, names_in(model), text)


def watched_by(order: Order, model: CompiledModel) -> tuple[Predicate, ...]:
    """What the kernel watches at every tick of a flight: conditions of requirements, and witnesses of short faults."""
    check_log_step(order)
    texts = [requirement.formula for requirement in requirements_of(order)]
    for text in texts:
        if order.log_s > (most_s := longest_row_s(_formula(text, model), order.log_s)):
            raise OrderError(
                f"log_s = {order.log_s:g} s: requirement '{text}' asks for an order of events, which rows that far "
                f"apart do not show; give at most {most_s:g} s, or log fewer signals"
            )
    programs = [program for text in texts for program in _programs(text, model).values()]
    for injection in order.faults:
        programs += witness_programs(injection, model, order.log_s)
    return tuple(dict.fromkeys(programs))


def _between(log: Log, formulas: Mapping[str, Formula], model: CompiledModel) -> dict[Node, Extremes]:
    """Extremes between rows of the conditions of requirements, for all lanes that have them."""
    found: dict[Node, Extremes] = {}
    if log.watches is not None:
        for text in formulas:
            for node, program in _programs(text, model).items():
                if node not in found:
                    found[node] = Extremes(*log.watches.extremes(program, log.lanes))
    return found


def way_to_end(order: Order) -> str:
    """How a flight may end: as ordered; else completed if it is given a mission or a plan, else time."""
    recorded = order.has_plan and not order.has_plan_file
    if order.ends or recorded or (order.mission is None and not order.has_plan_file):
        return order.ends or TIME
    if order.control not in OUTSIDE:
        return COMPLETELY
    kind = kind_of(order.control)
    return COMPLETELY if kind.flies_mission(read_options(kind, order.options)) else TIME


def check_log_step(order: Order) -> None:
    """Raise if the rows of a flight's log are too far apart to judge where the vehicle was."""
    if order.log_s > MOST_LOG_S and way_to_end(order) != TIME:
        raise OrderError(
            f"log_s = {order.log_s:g} s: whether the mission was flown is judged by the positions in the log; give at "
            f'most {MOST_LOG_S:g} s, or log fewer signals, or order that it may end with its time (ends = "time")'
        )


def requirements_of(order: Order) -> tuple[Requirement, ...]:
    """The requirements that are judged: those of the order, `no_crash`, a plan's fence, and how the flight may end."""
    formula = ending_formula(way_to_end(order))
    implied = [] if order.may_crash else [NO_CRASH]
    implied += _fence(order) if order.has_plan_file else []
    implied += [Requirement(MISSION, formula)] if formula else []
    own = {requirement.formula for requirement in order.requirements}
    return (*order.requirements, *(requirement for requirement in implied if requirement.formula not in own))


def _fence(order: Order) -> list[Requirement]:
    from ironbird.flight.fence import fence_of  # only a flight of a plan needs the reader of plans

    return [fence] if (fence := fence_of(order)) else []


def channels_of(model: CompiledModel) -> list[Channel]:
    """The parts of the graded score that can be judged on a model."""
    known = names_in(model).units
    return [c for c in CHANNELS if c.value in known and (c.command is None or c.command in known)]


# ---------------------------------------------------------------------- judging


def load_native_code() -> None:
    """Load the native code that judges many lanes; a worker does so before its first flight."""
    for load in (columns_library, hash_library, margins_library, score_library):
        load()


def judge(flown: Sequence[Flown], model: CompiledModel) -> list[Judged]:
    """Judge all flights of one log; a few lanes at a time, whose columns fit the cache."""
    log = flown[0].log
    width, shared = log.data.shape[3], dict[object, Any]()
    size = max(1, GROUP_VALUES // max(1, len(log.time_s)) // width) * width
    return [
        judged
        for first in range(0, len(flown), size)
        for judged in _judge_part(
            flown[first : first + size],
            log.part(first, min(first + size, len(flown))),
            model,
            shared,
        )
    ]


def _judge_part(flown: Sequence[Flown], log: Log, model: CompiledModel, shared: dict[object, Any]) -> list[Judged]:
    orders = [flight.order for flight in flown]
    starts = [min(_begins_s(flight), default=math.inf) for flight in flown]
    required = [requirements_of(order) for order in orders]
    texts = dict.fromkeys(requirement.formula for requirements in required for requirement in requirements)
    formulas = {text: _formula(text, model) for text in texts}
    units = {text: unit_of(formula) for text, formula in formulas.items()}
    channels = channels_of(model)
    names = [name for formula in formulas.values() for name in formula.signals]
    names += [name for c in channels for name in (c.value, c.command) if name]
    names += [*VELOCITIES, "crashed", "fault_active"]
    if not len(log.time_s):  # ended before the first row
        return [
            not_flown(flight.order, flight.rig_failure or "it ended before its first row was logged")
            for flight in flown
        ]
    # First the parts that read all data in order: the rest then finds them in the cache
    hashes = log.sha256_of_lanes([log_paths(order, model) for order in orders])
    endings = [
        ended(order, model, log, lane, disarmed=_is_disarmed(flight))
        for lane, (order, flight) in enumerate(zip(orders, flown, strict=True))
    ]
    flags = {"completed": [e.completed for e in endings], "landed": [e.landed for e in endings]}
    trace = make_trace(log, dict.fromkeys(names), starts, flags)
    trace.between = _between(log, formulas, model)
    margins = {text: robustness(formula, trace) for text, formula in formulas.items()}
    gaps = {text: untested(formula, trace) for text, formula in formulas.items()}
    mass = model.flat.values[model.param_rows(at.BODY.mass)][0] if at.BODY.mass in model.flat.p.start else 1.0
    graded = assess(trace, mass_kg=float(mass), channels=channels)
    modes = _modes(log)
    results = []
    for lane, (order, flight, requirements, end) in enumerate(zip(orders, flown, required, endings, strict=True)):
        judgements, alone, events = [], None, dict[str, str]()  # a single-lane copy is made if something is broken
        for requirement in requirements:
            margin = float(margins[requirement.formula][lane])
            time_s, sentence, broken_s = math.nan, "", math.nan
            unit = units[requirement.formula]
            if requirement.formula == NO_CRASH.formula and margin >= 0.0 and end.falling:
                margin, time_s, sentence, broken_s = -math.inf, flight.ended_s, end.falling, flight.ended_s
            elif margin < 0.0:
                if alone is None:
                    alone, events = trace.lane(lane), _events(order, log, lane, end, model)
                finding = explain(formulas[requirement.formula], alone, 0, events)
                time_s, sentence, unit, broken_s = finding.time_s, finding.sentence, finding.unit, finding.broken_s
                if requirement.formula == NO_CRASH.formula and (stop := log.stops[lane]) is not None:
                    time_s = broken_s = stop.time_s
            judgements.append(
                Judgement(
                    requirement.name,
                    requirement.severity,
                    margin,
                    time_s,
                    sentence,
                    requirement.formula,
                    unit,
                    broken_s,
                    gaps[requirement.formula][lane] if margin >= 0.0 else "",
                )
            )
        score, level = float(graded.score[lane]), LEVELS[int(graded.level[lane])]
        digest = order.digest(shared)
        results.append(
            _judged(flight, log, lane, end, judgements, score, level, modes[lane], hashes[lane], digest, model)
        )
    return results


def _impact(order: Order, log: Log, lane: int) -> tuple[float, float]:
    """Largest speeds down and sideways in the last second of a crashed flight in m/s, else 0."""
    if survived(log.stops[lane]) or not log.rows(lane):
        return 0.0, 0.0
    last = max(1, round(IMPACT_S / order.log_s))
    velocity = log.lane(at.BODY.velocity, lane)[-last:]
    return float(velocity[:, 2].max()), float(np.hypot(velocity[:, 0], velocity[:, 1]).max())


def _hit(stop: Stop | None, down_mps: float, sideways_mps: float, model: CompiledModel) -> Stop | None:
    """A stop whose reason says so if a touch-down was too fast sideways only."""
    limit = at.CRASH("max_impact")
    if stop is None or stop.reason != HARD or limit not in model.flat.p.start:
        return stop
    soft = model.flat.values[model.param_rows(limit)][0]
    return replace(stop, reason=SIDEWAYS) if down_mps <= soft < math.hypot(down_mps, sideways_mps) else stop


def _events(order: Order, log: Log, lane: int, end: Ended, model: CompiledModel) -> dict[str, str]:
    """Texts about the flags that requirements mention: crash, completion, landing, collision."""
    stop, texts = log.stops[lane], {}
    if stop is not None and stop.reason not in HARMLESS:
        tilt = derived_at_end(log, "tilt", lane) if at.BODY.euler in log and log.rows(lane) else 0.0
        down_mps, sideways_mps = _impact(order, log, lane)
        hit = _hit(stop, down_mps, sideways_mps, model) or stop
        texts["crashed"] = crash_words(hit.reason, stop.time_s, impact_words(down_mps, sideways_mps), tilt)
    if not end.completed:
        texts["completed"] = texts["landed"] = f"the mission was not completed: {end.why}"
    if at.CLEARANCE.collision in log and (log.lane(at.CLEARANCE.collision, lane) > 0).any():
        row = int(np.argmax(log.lane(at.CLEARANCE.collision, lane) > 0))
        speed = float(np.linalg.norm(log.lane(at.BODY.velocity, lane)[max(row - 1, 0)]))  # in the row before it
        texts[at.CLEARANCE.collision] = collision_words(float(log.time(lane)[row]), speed)
    return texts


def _is_disarmed(flight: Flown) -> bool:
    """Whether a control system outside reported that it is disarmed, or that its mission is over."""
    armed = [event.text == "armed" for event in flight.autopilot_events if event.kind == "armed"]
    return armed[-1:] == [False] or any(event.kind == "finished" for event in flight.autopilot_events)


def _begins_s(flight: Flown) -> list[float]:
    """Time at which each fault of a flight began to act; infinite if its trigger did not fire."""
    return [i.start_s + fired_s for i, fired_s in zip(flight.order.faults, flight.triggered_s, strict=True)]


def _judged(
    flight: Flown,
    log: Log,
    lane: int,
    end: Ended,
    judgements: list[Judgement],
    score: float,
    level: str,
    modes: list[list[float]],
    sha256: str,
    digest: str,
    model: CompiledModel,
) -> Judged:
    stop = log.stops[lane]
    down_mps, sideways_mps = _impact(flight.order, log, lane)
    ending = outcome(_hit(stop, down_mps, sideways_mps, model), flight.ended_s, log.interrupted)
    if not survived(stop) and (speeds := impact_words(down_mps, sideways_mps)):
        ending += f", {speeds}"
    if stop is not None and stop.reason == COMPLETED and not end.completed:
        ending = f"not completed in truth; the vehicle reported: {ending}"
    counted = _counted(stop, end, judgements, flight, model)
    verdict, sentence, early = _verdict(stop, ending, end, counted, flight, log.interrupted)
    if any(_is_unfinished(j, flight) for j in judgements) and _is_cut_off(stop, end, flight, model):
        why = f"cut off at {flight.ended_s:g} s"
        judgements = [replace(j, untested=why) if _is_unfinished(j, flight) else j for j in judgements]
    return Judged(
        digest=digest,
        verdict=verdict,
        sentence=sentence,
        outcome=ending,
        crashed=not survived(stop),
        ended_s=flight.ended_s,
        impact_mps=down_mps,
        impact_sideways_mps=sideways_mps,
        margin=min((j.margin for j in counted), default=math.inf),
        score=score,
        level=level,
        sha256=sha256,
        model_hash=model.model_hash,
        judgements=judgements,
        witnesses=[witness.record() for witness in flight.witnesses],
        modes=modes,
        fault_modes=[_mode_at(log, lane, begin_s) for begin_s in _begins_s(flight)],
        early=early,
        reactions=[
            reaction.sentence()
            for reaction in reactions_of(
                flight.order.faults, flight.witnesses, possible_reactions(flight.autopilot_events, log, lane)
            )
        ],
    )


def _counted(
    stop: Stop | None, end: Ended, judgements: list[Judgement], flight: Flown, model: CompiledModel
) -> list[Judgement]:
    """The judgements that count.

    An unfinished mission does not if something else is broken (that is enough to know), or if it was cut off or not
    begun (which is void). It was not cut off if its own time was over, or if it left the place where it should stay.
    """
    rest = [j for j in judgements if not _is_unfinished(j, flight)]
    if len(rest) == len(judgements) or not end.flown or not all(j.holds for j in rest):
        return rest
    return rest if _is_cut_off(stop, end, flight, model) else judgements


def _is_unfinished(judgement: Judgement, flight: Flown) -> bool:
    """Whether a judgement says that the mission was not completed."""
    whole = (MISSION, ending_formula(way_to_end(flight.order)))
    return not judgement.holds and (judgement.name, judgement.formula) == whole


def _is_cut_off(stop: Stop | None, end: Ended, flight: Flown, model: CompiledModel) -> bool:
    """Whether `until_s` ended an unfinished mission before its own time was over."""
    until_s = flight.order.until_s
    if stop is not None or end.left or until_s is None or flight.ended_s < until_s - 1e-9:
        return False
    return until_s < own_end_s(flight.order, model)


def _verdict(
    stop: Stop | None, ending: str, end: Ended, judgements: Sequence[Judgement], flight: Flown, interrupted: bool
) -> tuple[str, str, bool]:
    """Verdict by the judgements that count, why, and whether the first violation came before any fault began."""
    if flight.rig_failure:
        return ERROR, f"{flight.rig_failure} ({ending})", False
    if interrupted or (stop is not None and stop.reason.startswith("diverged")):
        return ERROR, ending, False
    broken = sorted((j for j in judgements if not j.holds), key=_by_severity)
    proof = "".join(f"; {witness.sentence()}" for witness in flight.witnesses)
    if broken:
        early = _is_early(broken, flight)
        mentioned = any("crashed at" in j.sentence for j in broken)  # the sentence already contains how it ended
        when = (" (before any fault acted)" if early else "") + ("" if mentioned else f" ({ending})")
        return FAIL, "; ".join(f"{j.name}: {j.sentence}" for j in broken) + when + proof, early
    if not end.flown:
        what = "left the ground" if vehicle_kind(load_spec(flight.order.vehicle)).flies else "moved"
        return VOID, f"nothing was flown: the vehicle never {what} ({ending}){proof}", False
    if len(judgements) < len(requirements_of(flight.order)):
        cure = 'ends = "time" judges only what was flown'
        why = f"cut off at {flight.ended_s:g} s, before the mission was completed: {end.where}; {cure}"
        return VOID, why + proof, False
    idle = [number for number, witness in enumerate(flight.witnesses) if not witness.effective]
    if idle:
        return VOID, f"the fault did not act: {_why_idle(idle[0], flight)} ({ending})", False
    unread = [w for w in flight.witnesses if w.signal and not is_read(flight.order, w.signal, flight.reads)]
    if unread:
        who = "the vehicle" if flight.reads is None else "the vehicle or its control system"
        why = f"nothing of {who} reads {unread[0].signal}: the fault cannot change its motion"
        return VOID, f"{why}; {unread[0].sentence()} ({ending})", False
    vacuous = "".join(f"; {j.name} was not put to the test: {j.untested}" for j in judgements if j.untested)
    return PASS, f"{ending}{vacuous}{proof}", False


def _is_early(broken: Sequence[Judgement], flight: Flown) -> bool:
    """Whether the first violation came before any fault of the flight began."""
    first_s = min((j.broken_s for j in broken if not math.isnan(j.broken_s)), default=math.inf)
    return bool(flight.order.faults) and first_s < min(_begins_s(flight), default=math.inf)


def _by_severity(judgement: Judgement) -> tuple[int, bool, float]:
    """The order in which broken requirements are named: the most severe first, of equal ones the earliest."""
    rank = SEVERITIES.index(judgement.severity) if judgement.severity in SEVERITIES else len(SEVERITIES)
    return rank, math.isnan(judgement.broken_s), judgement.broken_s


def _why_idle(number: int, flight: Flown) -> str:
    """Why a fault did not act."""
    injection, begin_s = flight.order.faults[number], _begins_s(flight)[number]
    if math.isinf(begin_s):
        return f"{injection.text()}: its condition never held"
    if begin_s >= flight.ended_s:
        return f"{injection.text()}: it would begin at {begin_s:g} s, after the end of the flight"
    return flight.witnesses[number].sentence()


def _modes(log: Log) -> list[list[list[float]]]:
    """For each lane: time and mode at the beginning and at every change."""
    modes: list[list[list[float]]] = [[] for _ in range(log.lanes)]
    if at.NAVIGATOR.mode not in log:
        return modes
    mode, rows = log.all_lanes(at.NAVIGATOR.mode), np.array([log.rows(lane) for lane in range(log.lanes)])
    changes = np.arange(mode.shape[1]) < rows[:, None]
    changes[:, 1:] &= mode[:, 1:] != mode[:, :-1]
    for lane, row in np.argwhere(changes).tolist():
        modes[lane].append([round(float(log.time_s[row]), 6), float(mode[lane, row])])
    return modes


def _mode_at(log: Log, lane: int, begin_s: float) -> int:
    row = int(np.searchsorted(log.time_s, begin_s)) if math.isfinite(begin_s) else log.rows(lane)
    if at.NAVIGATOR.mode not in log or row >= log.rows(lane):
        return -1
    return int(log.lane(at.NAVIGATOR.mode, lane)[row])


_PLAIN = frozenset({str, int, bool, type(None)})
_FINITE = frozenset({"modes", "fault_modes", "reactions", "caused", "steps"})  # never contain infinities


def _finite(value: Any) -> Any:
    """Plain data with None for infinities and NaN; what it holds is new, so that the original is not changed."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float or isinstance(value, float):
        return value if math.isfinite(value) else None
    if kind is Judgement:
        numbers = {name: _finite(getattr(value, name)) for name in ("margin", "time_s", "broken_s")}
        return {**vars(value), **numbers, "status": value.status}
    if isinstance(value, dict):
        return {key: entry if type(entry) in _PLAIN else _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
