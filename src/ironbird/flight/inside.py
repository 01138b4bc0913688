"""Flights whose control system is part of the vehicle's diagram: lanes of one run of the kernel.

A flight's result depends on its order alone: not on its lane, the other lanes, the number of threads or the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError
from ironbird.flight.derived import paths_to_log
from ironbird.flight.judge import Flown, Judged, judge, log_paths
from ironbird.flight.order import Order
from ironbird.flight.prepare import end_s, far_field_of, give_sight, prepare, surroundings_of
from ironbird.flight.start_line import StartLine
from ironbird.flight.surroundings import LOOK_TICKS
from ironbird.flight.twins import Twins, in_turn
from ironbird.flight.witness import Witness
from ironbird.runtime.clock import Pace
from ironbird.runtime.record import Log
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS, run, run_each
from ironbird.runtime.tuning import Tuning
from ironbird.world.runner import Sample

if TYPE_CHECKING:
    from ironbird.flight.live import LiveControl


@dataclass
class Lanes:
    """The results of flights side by side; lane i flew the i-th order."""

    log: Log
    judged: list[Judged]
    witnesses: list[list[Witness]]
    triggered_s: list[list[float]]
    twin: Log | None  # of lane 0 without any fault, if it was asked for
    tunings: list[Tuning]  # ordered, and made while it flew
    ended_s: float
    kernel_s: float  # processor time in native code
    samples: list[Sample] = field(default_factory=list)  # that sensors of the world took, of a flight that keeps them


def fly_lanes(
    orders: Sequence[Order],
    model: CompiledModel,
    *,
    everything: bool = False,
    also: Sequence[str] = (),
    threads: int | None = None,
    speed: float | None = None,
    live: LiveControl | None = None,
    progress: Callable[[float], None] | None = None,
    line: StartLine | None = None,
) -> Lanes:
    """Fly orders of one vehicle that end at the same time and log at the same rate, and judge them.

    With `everything` all signals are logged and the first flight's healthy twin flies to the end; else only what the
    verdict needs, and the signals in `also`. With `speed` the run keeps to the wall clock, and `live` takes new
    parameter values.
    """
    first = orders[0]
    until_s = end_s(first, model)
    if any(order.log_s != first.log_s or end_s(order, model) != until_s for order in orders):
        raise OrderError("flights side by side need one end and one distance between rows")
    if len(orders) > 1 and (live or any(order.tunings for order in orders)):
        raise OrderError("a flight whose parameters change on the way flies alone")
    state = prepare(model, orders)
    around = surroundings_of(orders, model)
    piece_ticks = CHUNK_TICKS if around is None else LOOK_TICKS
    if around is not None:
        around.begin(state, f"vehicle '{first.vehicle}'")
    sights, far = give_sight(state, orders, keep=everything), far_field_of(orders, model)
    twins = Twins(state, orders, healthy=everything)
    tunings = list(first.tunings)
    next_watch = 0

    def look(running: RunState) -> None:
        far.look(running)
        if around is not None:
            around.look(running)

    def between(running: RunState) -> None:
        if line is not None and line.over:
            raise KeyboardInterrupt
        if live is not None:
            tunings.extend(live.poll(running))
        look(running)
        nonlocal next_watch
        if running.tick + piece_ticks > next_watch:  # the next piece would go beyond what the twins have seen
            twins.watch(running)
            next_watch = running.tick + CHUNK_TICKS

    judged_paths = [path for order in orders for path in log_paths(order, model)]
    paths = None if everything else paths_to_log([*judged_paths, *also], model)
    log = run(
        state,
        until_s,
        log=paths,
        log_s=first.log_s,
        threads=threads,
        progress=progress,
        tunings=first.tunings,
        pace=Pace(speed, line.wait if line is not None else None) if speed else None,
        poll=between,
        piece_ticks=piece_ticks,
    )

    def tuned(twin: RunState, twin_end_s: float, wanted: list[str] | None) -> Log:
        return run(
            twin,
            twin_end_s,
            log=wanted,
            log_s=first.log_s,
            threads=1,
            tunings=tunings,
            poll=look,
            piece_ticks=piece_ticks,
        )

    def advance(groups: Sequence[RunState], ends_s: Sequence[float], wanted: list[str] | None) -> list[Log]:
        if tunings:
            flown = in_turn(tuned)(groups, ends_s, wanted)
        else:
            flown = run_each(groups, ends_s, log=wanted, log_s=first.log_s, poll=look, piece_ticks=piece_ticks)
        log.interrupted |= any(twin.interrupted for twin in flown)  # without its twin a flight shows nothing
        return flown

    ended_s = state.time_s
    witnesses = twins.observe(state, log, max(ended_s, state.model.step_s) if log.interrupted else until_s, advance)
    if sights is not None:
        witnesses = [[sights.witness(w, lane) for w in own] for lane, own in enumerate(witnesses)]
    triggered_s = twins.triggers_s(state)
    flown = [
        Flown(witnesses=w, triggered_s=t, ended_s=ended_s if log.interrupted else until_s)
        for w, t in zip(witnesses, triggered_s, strict=True)
    ]
    orders = [replace(first, tunings=tuple(tunings)), *orders[1:]]
    judged = judge(orders, flown, log, model)
    return Lanes(
        log, judged, witnesses, triggered_s, twins.whole_twin(log), tunings, ended_s, state.kernel_s + twins.kernel_s,
        sights.kept[0] if sights is not None else [],
    )  # fmt: skip
