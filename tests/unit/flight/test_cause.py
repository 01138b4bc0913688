"""What a fault caused: the log of a flight beside that of the same flight without faults."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ironbird.flight.autopilot_estimate import AutopilotEstimate, Clock
from ironbird.flight.cause import Cause, Steps, compare, with_cause
from ironbird.flight.flight import Flight, fly
from ironbird.flight.healthy import HealthyFlights, shown_by
from ironbird.protocols.autopilot_log import AutopilotLog, Series
from ironbird.protocols.own_states import Change
from ironbird.rig.system import AutopilotEvent

TIME_S = np.arange(0.0, 8.0, 0.1)
FUSED = [Change(1.0, "fusion", "GNSS position fused"), Change(1.0, "fusion", "GNSS velocity fused")]


@pytest.fixture(scope="module")
def flight() -> Flight:
    return fly(
        "quad_f450", control="truth", seed=3, until_s=8.0, faults=["rotor.speed_loss@1:instance=1,severity=0.1,start=5"]
    )


def autopilot(
    flight: Flight, *states: Change, differs_s: float = math.inf, said: tuple[AutopilotEvent, ...] = ()
) -> AutopilotEstimate:
    """A log whose velocity is another one from a time on."""
    velocity = np.column_stack([TIME_S + np.where(differs_s <= TIME_S, 1e-9, 0.0)] * 3)
    log = AutopilotLog(Path("a.ulg"), "px4", {"velocity": Series(TIME_S, velocity, "m/s")}, states=[*FUSED, *states])
    return AutopilotEstimate(replace(flight, autopilot_events=list(said)), log, Clock(), None)


def caused(faulted: AutopilotEstimate, *healthy: AutopilotEstimate) -> Cause:
    """The comparison with healthy flights, the one as ordered first."""
    return compare(faulted, HealthyFlights(healthy[0], [shown_by(one) for one in healthy]))


def test_the_first_difference_is_found_and_what_both_did_is_nobodys_doing(flight: Flight) -> None:
    begin_s = flight.witnesses[0].first_s
    text = AutopilotEvent(6.0, "text", "Landing")
    late = (
        Change(5.6, "estimator", "estimator 1 takes over from 0"),
        Change(5.8, "fusion", "GNSS position no longer fused"),
        Change(5.9, "fusion", "GNSS velocity no longer fused"),
        Change(6.4, "fusion", "optical flow fused"),
    )
    found = caused(
        autopilot(flight, *late, differs_s=5.2, said=(text,)), autopilot(flight, said=(replace(text, time_s=6.5),))
    )
    assert found.first_s == pytest.approx(5.2) and found.signal == "estimated velocity"
    assert [event.text for event in found.caused] == [change.text for change in late]
    share = (8.0 - 6.4) / (8.0 - 5.8)
    assert found.carried == (
        f"GNSS velocity (5 % of the rest) and optical flow ({100 * share:.0f} % of the rest, {6.4 - begin_s:.1f} s "
        "after the fault)"
    )
    rows = found.rows()
    assert rows["caused 1"].endswith(f"takes over from 0, {5.6 - begin_s:.2f} s after rotor.speed_loss@1")


def test_a_change_of_state_before_any_number_differs_is_the_first_difference(flight: Flight) -> None:
    found = caused(autopilot(flight, Change(5.1, "sensor", "gyroscope 2"), differs_s=5.3), autopilot(flight))
    assert found.first_s == pytest.approx(5.1) and found.signal == "gyroscope 2"
    assert [event.text for event in found.caused] == ["gyroscope 2"]


def test_what_comes_long_after_the_fault_has_ended_is_not_its_doing(flight: Flight) -> None:
    (witness,) = flight.witnesses
    said = tuple(AutopilotEvent(time_s, "text", f"at {time_s:g} s") for time_s in (6.0, 36.4, 36.6))
    for end_s, count in ((6.5, 2), (math.inf, 3)):
        ended = replace(witness, injection=replace(witness.injection, end_s=end_s))
        found = caused(autopilot(replace(flight, witnesses=[ended]), differs_s=5.2, said=said), autopilot(flight))
        assert [event.text for event in found.caused] == [event.text for event in said[:count]]


def test_the_end_of_a_triggered_fault_counts_from_its_trigger(flight: Flight) -> None:
    (witness,) = flight.witnesses
    ended = replace(witness, injection=replace(witness.injection, start_s=0.0, end_s=1.5, when="time > 5 s"))
    said = tuple(AutopilotEvent(time_s, "text", f"at {time_s:g} s") for time_s in (6.0, 36.4, 36.6))
    triggered = replace(flight, witnesses=[ended], triggered_s=[5.0])
    found = caused(autopilot(triggered, differs_s=5.2, said=said), autopilot(flight))
    assert [event.text for event in found.caused] == ["at 6 s", "at 36.4 s"]


def test_nothing_is_caused_where_nothing_differs(flight: Flight) -> None:
    found = caused(autopilot(flight), autopilot(flight))
    assert found.first_s == math.inf and found.caused == []
    rows = found.rows()
    assert rows == {
        "effect 1": rows["effect 1"],
        "caused": "nothing: what its log has of estimates and states is that of the healthy flight",
    }


def test_where_nothing_is_measured_any_more_that_is_said(flight: Flight) -> None:
    begin_s = flight.witnesses[0].first_s
    lost = [Change(5.5, "fusion", f"GNSS {name} no longer fused") for name in ("position", "velocity")]
    found = caused(autopilot(flight, *lost, differs_s=5.2), autopilot(flight))
    assert found.carried == f"nothing measured from {5.5 - begin_s:.1f} s after the fault on: dead reckoning"
    many = caused(autopilot(flight, *(25 * lost), differs_s=5.2), autopilot(flight)).rows()
    assert sum(name.startswith("caused ") for name in many) == 21


def test_what_one_of_several_healthy_flights_shows_too_is_chance(flight: Flight) -> None:
    at_limit, upset = Change(6.0, "saturation", "output 3 at its lower limit"), Change(6.2, "estimator", "GNSS faulty")
    faulted = autopilot(flight, at_limit, upset, differs_s=5.2)
    alone = caused(faulted, autopilot(flight), autopilot(flight))
    assert [event.text for event in alone.caused] == [at_limit.text, upset.text] and alone.healthy == 2
    other = replace(at_limit, text="output 1 at its lower limit", time_s=7.0)  # which of them is chance
    beside = caused(faulted, autopilot(flight), autopilot(flight, other))
    assert [event.text for event in beside.caused] == [upset.text]
    assert beside.rows()["caused"].startswith("what follows: none of 2 healthy flights")
    neither = caused(autopilot(flight, at_limit, differs_s=5.2), autopilot(flight), autopilot(flight, other))
    assert neither.rows()["caused"].startswith("nothing that none of 2 healthy flights")
    assert "some of it may be chance" in neither.rows()["caused"]


def test_a_state_that_changes_for_a_moment_as_in_a_healthy_flight_at_another_time_is_chance(flight: Flight) -> None:
    def flow(off_s: float, on_s: float) -> list[Change]:
        return [Change(off_s, "fusion", "optical flow no longer fused"), Change(on_s, "fusion", "optical flow fused")]

    for on_s, count in ((6.2, 0), (7.9, 0), (9.0, 2)):  # 9.0 s: it lasts
        found = caused(
            autopilot(flight, *flow(5.5, on_s), differs_s=5.2), autopilot(flight), autopilot(flight, *flow(1.0, 2.0))
        )
        assert len(found.caused) == count, found.caused
    alone = caused(autopilot(flight, *flow(5.5, 6.2), differs_s=5.2), autopilot(flight))
    assert len(alone.caused) == 2  # no healthy flight does so


def test_the_progress_of_a_mission_is_caused_by_nothing_but_a_disarming_in_the_air_is(flight: Flight) -> None:
    said = tuple(
        AutopilotEvent(6.0, kind, text)
        for kind, text in (
            ("text", "[logger] a.ulg"), ("item", "item 2"), ("landed", "landing"), ("text", "Landing detected"),
            ("armed", "disarmed"),
        )
    )  # fmt: skip
    airborne = -flight.log["body.p_NB_N"][np.searchsorted(flight.log.time(), 6.0), 2]
    assert airborne > 1.0
    found = caused(autopilot(flight, differs_s=5.2, said=said), autopilot(flight))
    assert [event.kind for event in found.caused] == ["armed"]
    on_ground = tuple(replace(event, time_s=0.1) for event in said)
    assert shown_by(autopilot(flight, said=on_ground)).events == shown_by(autopilot(flight)).events


def test_a_fault_that_changes_nothing_is_no_quiet_pass(flight: Flight) -> None:
    quiet = caused(autopilot(flight, differs_s=5.2), autopilot(flight))
    (step,) = quiet.steps
    assert step.apart_m == 0.0 and not step.changed and "to the last bit" in step.sentence()
    passed = replace(flight.judged, verdict="pass", judgements=[])
    judged = with_cause(passed, quiet)
    assert judged.changed_nothing and judged.verdict_text == "pass, but the fault changed nothing of the flight"
    assert step.sentence() in judged.sentence and judged.healthy == 1
    assert not with_cause(passed, replace(quiet, steps=[])).changed_nothing


@pytest.mark.parametrize(
    ("apart_m", "spread_m", "answered", "changed"),
    [
        (0.5, 0.4, False, False),
        (1.3, 0.4, False, True),
        (0.1, 0.0, False, False),
        (0.0, 0.0, False, False),
        (0.0, 0.4, True, True),
    ],
)
def test_a_flight_is_changed_if_it_is_far_from_what_a_least_bit_does_or_something_was_caused(
    apart_m: float, spread_m: float, answered: bool, changed: bool
) -> None:
    steps = Steps("mag.bias@1", None, apart_m, spread_m, answered)
    assert steps.changed == changed and ("changed nothing" in steps.sentence()) != changed
    assert steps.moved == ("flew another way" in steps.sentence())
