"""Flights whose control system is part of the vehicle's diagram: lanes of one run of the kernel.

A flight's result depends on its order alone: not on its lane, the other lanes, the number of threads or the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import OrderError
from ironbird.flight.derived import paths_to_log
from ironbird.flight.duration import end_s
from ironbird.flight.flown import Flown
from ironbird.flight.judge import log_paths, watched_by
from ironbird.flight.order import Order
from ironbird.flight.prepare import far_field_of, give_sight, prepare, surroundings_of
from ironbird.flight.start_line import StartLine
from ironbird.flight.twins import Twins, Watched, in_turn
from ironbird.runtime.clock import Pace
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS, run, run_each

if TYPE_CHECKING:
    from ironbird.flight.live import LiveControl


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
) -> list[Flown]:
    """Fly orders of one vehicle that end at the same time and log at the same rate; lane i flies the i-th order.

    With `everything` all signals are logged and the first flight's healthy twin flies to the end; else only the signals
    that the verdict needs, and those in `also`. With `speed` the run keeps to the wall clock, and `live` takes new
    parameter values.
    """
    first = orders[0]
    until_s = end_s(first, model)
    if any(order.log_s != first.log_s or end_s(order, model) != until_s for order in orders):
        raise OrderError("flights side by side need one end and one distance between rows")
    if len(orders) > 1 and (live or any(order.tunings for order in orders)):
        raise OrderError("a flight whose parameters change in flight (tunings) flies alone: give one order at a time")
    lanes = _Lanes(orders, model, everything=everything, live=live, line=line)
    judged_paths = [path for order in orders for path in log_paths(order, model)]
    log = run(
        lanes.state,
        until_s,
        log=None if everything else paths_to_log([*judged_paths, *also], model),
        log_s=first.log_s,
        watch=[watched_by(order, model) for order in orders],
        threads=threads,
        progress=progress,
        tunings=first.tunings,
        pace=Pace(speed, line.wait if line is not None else None) if speed else None,
        poll=lanes.between,
        piece_ticks=lanes.piece_ticks,
    )
    return lanes.flown(log, until_s)


class _Lanes:
    """Flights in the lanes of one run: actions between two pieces of the run, and results."""

    def __init__(
        self,
        orders: Sequence[Order],
        model: CompiledModel,
        *,
        everything: bool,
        live: LiveControl | None,
        line: StartLine | None,
    ) -> None:
        self.orders, self.live, self.line = orders, live, line
        self.state = prepare(model, orders)
        self.around = surroundings_of(orders, model)
        self.piece_ticks = CHUNK_TICKS if self.around is None else self.around.look_ticks
        if self.around is not None:
            self.around.begin(self.state, f"vehicle '{orders[0].vehicle}'")
        self.sights, self.far = give_sight(self.state, orders, keep=everything), far_field_of(orders, model)
        self.twins = Twins(self.state, orders, healthy=everything)
        self.tunings = list(orders[0].tunings)  # ordered, and made while it flies
        self._next_watch = 0

    def look(self, running: RunState) -> None:
        """Update the surroundings and far fields of the vehicles, or of their twins."""
        self.far.look(running)
        if self.around is not None:
            self.around.look(running)

    def between(self, running: RunState) -> None:
        """Actions between two pieces of the flights themselves."""
        if self.line is not None and self.line.over:
            raise KeyboardInterrupt
        if self.live is not None:
            self.tunings.extend(self.live.poll(running))
        self.look(running)
        # the next piece goes beyond the states that the twins have copied
        if running.tick + self.piece_ticks > self._next_watch:
            self.twins.watch(running)
            self._next_watch = running.tick + CHUNK_TICKS

    def _tuned(self, twin: RunState, end_s: float, signals: list[str] | None, watch: Watched) -> Log:
        """Fly a twin with the parameter changes of its flight."""
        return run(
            twin,
            end_s,
            log=signals,
            log_s=self.orders[0].log_s,
            watch=[watch],
            threads=1,
            tunings=self.tunings,
            poll=self.look,
            piece_ticks=self.piece_ticks,
        )

    def flown(self, log: Log, until_s: float) -> list[Flown]:
        """The flights after their end; their twins are flown here."""

        def advance(
            groups: Sequence[RunState], ends_s: Sequence[float], wanted: list[str] | None, watch: Sequence[Watched]
        ) -> list[Log]:
            if self.tunings:
                flown = in_turn(self._tuned)(groups, ends_s, wanted, watch)
            else:
                log_s, piece = self.orders[0].log_s, self.piece_ticks
                flown = run_each(
                    groups, ends_s, log=wanted, log_s=log_s, watch=watch, poll=self.look, piece_ticks=piece
                )
            log.interrupted |= any(twin.interrupted for twin in flown)  # without its twin a flight shows nothing
            return flown

        state, twins, sights = self.state, self.twins, self.sights
        ended_s = state.time_s
        witnesses = twins.observe(state, log, max(ended_s, state.model.step_s) if log.interrupted else until_s, advance)
        if sights is not None:
            witnesses = [[sights.witness(w, lane) for w in own] for lane, own in enumerate(witnesses)]
        flown = [
            Flown(
                order=order,
                log=log,
                lane=lane,
                run_ended_s=ended_s if log.interrupted else until_s,
                witnesses=own,
                triggered_s=fired_s,
                kernel_s=(state.kernel_s + twins.kernel_s) / len(self.orders),
            )
            for lane, (order, own, fired_s) in enumerate(
                zip(self.orders, witnesses, twins.triggers_s(state), strict=True)
            )
        ]
        flown[0].order = replace(self.orders[0], tunings=tuple(self.tunings))
        flown[0].twin = twins.whole_twin(log)
        flown[0].samples = sights.kept[0] if sights is not None else []
        return flown
