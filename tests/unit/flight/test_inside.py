"""Flights in the kernel: an interrupted twin interrupts its flight, and what changes on the way flies alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from ironbird.errors import OrderError
from ironbird.flight import inside
from ironbird.flight.flight import fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.live import LiveControl
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run_each
from ironbird.runtime.tuning import Tuning, apply_tuning

HOVER = make_order("quad_f450", control="truth", mission="hover", until_s=2.0)
LOSS = "rotor.speed_loss@1:instance=1,severity=0.1,start=0.5"


def test_ctrl_c_while_a_twin_flies_interrupts_the_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    polled: list[float] = []

    def interrupted(states: Sequence[RunState], ends_s: Sequence[float], **how: Any) -> list[Log]:
        def pressed(state: RunState) -> None:
            polled.append(state.time_s)
            if len(polled) == 2:  # Ctrl-C before the second piece
                raise KeyboardInterrupt

        return run_each(states, ends_s, **{**how, "poll": pressed, "piece_ticks": 10})

    monkeypatch.setattr(inside, "run_each", interrupted)
    flight = fly(HOVER, faults=[LOSS])

    assert len(polled) >= 2 and flight.log.interrupted
    assert flight.verdict == "error" and flight.judged.sentence.startswith("interrupted at")


@pytest.mark.parametrize("lane", [0, 1, 2])
def test_a_flight_that_changes_on_the_way_flies_alone_in_whatever_lane_it_was_put(lane: int) -> None:
    orders = [HOVER] * 3
    orders[lane] = replace(HOVER, tunings=(Tuning(500, "body.mass", 1.5),))
    with pytest.raises(OrderError, match="flies alone"):
        fly_lanes(orders, model_of(HOVER))


@pytest.mark.parametrize("change", [{"log_s": 0.04}, {"until_s": 2.5}])
def test_flights_side_by_side_have_one_end_and_one_distance_between_rows(change: dict[str, float]) -> None:
    with pytest.raises(OrderError, match="one end and one distance between rows"):
        fly_lanes([HOVER, replace(HOVER, **change)], model_of(HOVER))  # type: ignore[arg-type]


class OneChange:
    """Somebody who changes one parameter while it flies."""

    done = False

    def poll(self, state: RunState) -> list[Tuning]:
        if self.done or not state.tick:
            return []
        self.done = True
        tuning = Tuning(state.tick, "rotor/1/motor.health", 0.9)
        apply_tuning(state, tuning)
        return [tuning]


def test_the_verdict_on_a_flight_that_was_tuned_names_the_order_with_its_tunings() -> None:
    order = replace(HOVER, until_s=5.0)
    flight = fly(order, live=cast(LiveControl, OneChange()))

    assert len(flight.order.tunings) == 1
    assert flight.judged.digest == flight.order.digest() != order.digest()
    assert fly(flight.order).judged.digest == flight.judged.digest
