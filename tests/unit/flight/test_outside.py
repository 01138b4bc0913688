"""Flights under a control system outside: what counts as its reaction, and what is kept of an interrupted one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from ironbird.errors import LinkError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.flight import outside
from ironbird.flight.flight import fly
from ironbird.flight.reactions import Reaction, possible_reactions, reactions_of
from ironbird.flight.witness import Witness
from ironbird.rig.rig import Rig
from ironbird.rig.system import AutopilotEvent, FunctionSystem, Seat
from ironbird.runtime.stepper import Stepper

SAID = [
    AutopilotEvent(4.0, "mode", "MISSION"), AutopilotEvent(7.0, "item", "item 2 reached"),
    AutopilotEvent(8.0, "mode", "LAND"), AutopilotEvent(8.5, "text", "Low battery"), AutopilotEvent(9.0, "mode", "RTL"),
]  # fmt: skip


def reactions(first_s: float) -> list[Reaction]:
    """To a fault, ordered at 5 s, that acted from `first_s` on, or never (NaN)."""
    fault = parse_fault("battery.low_voltage@1:severity=0.2,start=5")
    return answers(fault, first_s, SAID)


def answers(fault: Injection, first_s: float, said: Sequence[AutopilotEvent]) -> list[Reaction]:
    """Of a vehicle that stands on the ground."""
    log = fly("quad_f450", control="truth", until_s=0.1, log_s=0.02, ends="time").log
    witness = Witness(fault, "battery.voltage", "V", first_s, 1.0, 1.0, 10.0)
    return reactions_of([fault], [witness], possible_reactions(said, log))


def test_the_first_of_each_kind_after_the_fault_acted_counts_from_when_it_acted() -> None:
    found = reactions(6.0)
    assert [(r.event.kind, r.event.text) for r in found] == [("mode", "LAND"), ("text", "Low battery")]
    assert [r.after_s for r in found] == pytest.approx([2.0, 2.5])
    assert found[0].sentence() == "mode: LAND, 2.00 s after battery.low_voltage@1"


def test_nothing_answers_a_fault_that_never_acted_and_what_came_before_does_not_count() -> None:
    assert reactions(math.nan) == []
    assert [r.event.text for r in reactions(8.2)] == ["Low battery", "RTL"]


def test_what_comes_late_or_with_every_mission_is_no_reaction() -> None:
    text = "battery.low_voltage@1:severity=0.2,start=5"
    said = [
        AutopilotEvent(6.5, "text", "[logger] ./log/a.ulg"),
        AutopilotEvent(7.0, "text", "Reached command #3"),
        AutopilotEvent(7.5, "armed", "disarmed"),
        AutopilotEvent(36.0, "text", "Low battery"),
        AutopilotEvent(36.1, "mode", "RTL"),
    ]
    for fault, kinds in ((parse_fault(text), ["text"]), (parse_fault(f"{text},shape=ramp,rise=1"), ["text", "mode"])):
        found = answers(fault, 6.0, said)
        assert [reaction.event.kind for reaction in found] == kinds and found[0].event.text == "Low battery"


def test_what_happens_at_the_landing_and_after_it_is_no_reaction() -> None:
    flight = fly("quad_f450", control="truth", mission="square")
    height = -flight.log["body.p_NB_N"][:, 2]
    height, time_s = height - height[0], flight.log.time()
    low_s, landed_s = (float(time_s[np.flatnonzero(height > above_m)[-1]]) for above_m in (2.0, 0.5))
    assert 5.0 < low_s < landed_s < flight.ended_s
    said = [
        AutopilotEvent(at_s, kind, "it")
        for at_s in (low_s - 0.1, low_s + 0.1, landed_s + 0.1)
        for kind in ("saturation", "estimator")
    ]
    found = [(event.kind, event.time_s) for event in possible_reactions(said, flight.log)]
    assert found == [("saturation", low_s - 0.1), ("estimator", low_s - 0.1), ("estimator", low_s + 0.1)]


class Watched(FunctionSystem):
    """Counts its ends."""

    ended = 0

    def stop(self) -> None:
        self.ended += 1


def interrupt_at(time_s: float) -> Watched:
    def function(rig: Rig) -> None:
        if rig.time_s >= time_s:
            raise KeyboardInterrupt

    return Watched(function)


def test_what_was_flown_until_the_interruption_is_kept() -> None:
    system = interrupt_at(0.5)
    flight = fly("quad_f450", control=system, until_s=2.0)
    assert flight.log.interrupted and flight.outcome == "interrupted at 0.50 s"
    assert (flight.verdict, flight.judged.sentence) == ("error", "interrupted at 0.50 s")
    assert flight.log.time()[-1] == pytest.approx(0.5, abs=0.03)  # one row of the log
    assert system.ended == 1


def test_before_the_first_exchange_the_interruption_goes_on() -> None:
    system = interrupt_at(0.0)
    with pytest.raises(KeyboardInterrupt):
        fly("quad_f450", control=system, until_s=2.0)
    assert system.ended == 1


def test_a_link_that_is_lost_is_an_error_and_nothing_is_left_behind() -> None:
    def function(rig: Rig) -> None:
        raise LinkError("no answer")

    system = Watched(function)
    with pytest.raises(LinkError, match="no answer"):
        fly("quad_f450", control=system, until_s=2.0)
    assert system.ended == 1


def test_what_it_said_after_a_fault_is_in_the_result() -> None:
    system = Watched(lambda rig: system.note(rig, "failsafe", "battery") if rig.time_s == 0.8 else None)
    flight = fly("quad_f450", control=system, until_s=1.0, faults=["battery.low_voltage@1:severity=0.2,start=0.5"])
    (reaction,) = flight.reactions()
    assert flight.judged.reactions == [reaction.sentence()]
    assert reaction.sentence() == f"failsafe: battery, {reaction.after_s:.2f} s after battery.low_voltage@1"
    assert reaction.after_s == pytest.approx(0.3, abs=0.03)  # it acts at the next row


def test_a_link_that_fails_in_flight_ends_the_flight_and_its_log_is_kept() -> None:
    def function(rig: Rig) -> None:
        if rig.time_s >= 0.5:
            raise LinkError("the cable is gone")

    system = Watched(function)
    flight = fly("quad_f450", control=system, until_s=2.0)

    assert (flight.verdict, system.ended) == ("error", 1)
    assert flight.judged.sentence == "the cable is gone (flown to the end at 0.50 s)"
    assert flight.log.time()[-1] == pytest.approx(0.5, abs=0.03)  # one row of the log
    assert [(h.kind, h.text) for h in flight.autopilot_events] == [("link", "the cable is gone")]


class Absent(Watched):
    """Is never there, although exchanges are made."""

    taking_part = False


def test_a_link_that_fails_before_the_control_system_takes_part_is_no_flight() -> None:
    def function(rig: Rig) -> None:
        if rig.time_s >= 0.5:
            raise LinkError("nobody answered")

    system = Absent(function)
    with pytest.raises(LinkError, match="nobody answered"):
        fly("quad_f450", control=system, until_s=2.0)
    assert system.ended == 1


class Faster(Watched):
    """Knows only at its start how often it exchanges."""

    exchanges = 0

    def start(self, rig: Rig) -> None:
        self.step_ticks = 2

    def exchange(self, rig: Rig) -> None:
        self.exchanges += 1


def test_a_control_system_may_choose_its_rate_when_it_starts() -> None:
    system = Faster(lambda rig: None)
    flight = fly("quad_f450", control=system, until_s=1.0, faults=["battery.low_voltage@1:severity=0.2,start=0.5"])
    assert system.exchanges == pytest.approx(500, abs=1)  # none after the last step
    assert flight.witnesses[0].effective and flight.ended_s == pytest.approx(1.0)


@pytest.mark.parametrize("step_ticks", [0, 2001])
def test_a_rate_that_twins_cannot_follow_is_refused(step_ticks: int) -> None:
    system = Watched(lambda rig: None, step_ticks=step_ticks)
    with pytest.raises(LinkError, match=rf"function: an exchange every {step_ticks} ticks; give 1 to 2000"):
        fly("quad_f450", control=system, until_s=4.0)
    assert system.ended == 1


def hop(rig: Rig) -> None:
    """Up for three seconds, then down."""
    for rotor in range(1, 5):
        rig.command(f"rotor/{rotor}", 0.8 if rig.time_s < 3.0 else 0.0)


def test_a_fault_shortly_before_the_crash_shows_although_no_exchange_came_after_it() -> None:
    crash_s = fly("quad_f450", control=Watched(hop, step_ticks=1000), until_s=20.0).ended_s
    begin_s = math.floor(crash_s) + 0.05
    assert crash_s > begin_s + 0.1  # else choose another throttle: it must act within the last step
    fault = f"battery.low_voltage@1:severity=0.2,start={begin_s:g}"

    flight = fly("quad_f450", control=Watched(hop, step_ticks=1000), until_s=20.0, faults=[fault])

    assert flight.judged.crashed and flight.witnesses[0].effective
    assert flight.witnesses[0].first_s == pytest.approx(begin_s, abs=0.03)  # one row of the log


def test_nothing_is_a_reaction_to_a_fault_whose_trigger_never_fired() -> None:
    system = Watched(lambda rig: system.note(rig, "failsafe", "battery") if rig.time_s == 0.8 else None)
    fault = "battery.low_voltage@1:severity=0.2,start=0.5,when=altitude > 500 m"
    flight = fly("quad_f450", control=system, until_s=1.0, faults=[fault])
    assert [h.text for h in flight.autopilot_events] == ["battery"]
    assert flight.reactions() == [] and flight.judged.reactions == [] and flight.verdict == "void"


def test_an_interruption_while_the_twin_flies_is_an_error_and_keeps_the_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Stepper):
        def step(self, ticks: int) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr(outside, "Stepper", Interrupted)  # of twins alone: the rig has its own
    order = "rotor.speed_loss@1:instance=1,severity=0.5,start=0.2"
    flight = fly("quad_f450", control=FunctionSystem(lambda rig: None), until_s=0.5, faults=[order])
    assert flight.verdict == "error" and flight.log.interrupted and flight.log.rows() > 20


@pytest.mark.parametrize(("asked", "given"), [(None, 1.0), (3.0, 3.0), (math.inf, None)])
def test_a_speed_that_is_asked_for_counts_and_else_that_of_the_control_system(
    asked: float | None, given: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ground station commands in real time if nothing else is said."""
    seen: list[float | None] = []

    def flown(order: object, fitted: object, seat: Seat, *, speed: float | None, **more: object) -> None:
        seen.append(speed)
        seat.close()
        raise LinkError("only looked at")

    monkeypatch.setattr("ironbird.flight.outside.fly_outside", flown)
    with pytest.raises(LinkError, match="only looked at"):
        fly("quad_f450", control="commanded", options={"front": "mavlink"}, until_s=1.0, speed=asked)
    assert seen == [given]
