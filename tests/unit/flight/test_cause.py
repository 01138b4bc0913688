"""What a fault caused: the log of a flight beside that of the same flight without faults."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ironbird.errors import OrderError
from ironbird.flight.autopilot_estimate import AutopilotEstimate, Clock
from ironbird.flight.cause import compare, fly_healthy
from ironbird.flight.flight import Flight, fly
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


def test_the_first_difference_is_found_and_what_both_did_is_nobodys_doing(flight: Flight) -> None:
    begin_s = flight.witnesses[0].first_s
    text = AutopilotEvent(6.0, "text", "Landing")
    late = (
        Change(5.6, "estimator", "estimator 1 takes over from 0"),
        Change(5.8, "fusion", "GNSS position no longer fused"),
        Change(5.9, "fusion", "GNSS velocity no longer fused"),
        Change(6.4, "fusion", "optical flow fused"),
    )
    found = compare(
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
    found = compare(autopilot(flight, Change(5.1, "sensor", "gyroscope 2"), differs_s=5.3), autopilot(flight))
    assert found.first_s == pytest.approx(5.1) and found.signal == "gyroscope 2"
    assert [event.text for event in found.caused] == ["gyroscope 2"]


def test_what_comes_long_after_the_fault_has_ended_is_not_its_doing(flight: Flight) -> None:
    (witness,) = flight.witnesses
    said = tuple(AutopilotEvent(time_s, "text", f"at {time_s:g} s") for time_s in (6.0, 36.4, 36.6))
    for end_s, count in ((6.5, 2), (math.inf, 3)):
        ended = replace(witness, injection=replace(witness.injection, end_s=end_s))
        found = compare(autopilot(replace(flight, witnesses=[ended]), differs_s=5.2, said=said), autopilot(flight))
        assert [event.text for event in found.caused] == [event.text for event in said[:count]]


def test_the_end_of_a_triggered_fault_counts_from_its_trigger(flight: Flight) -> None:
    (witness,) = flight.witnesses
    ended = replace(witness, injection=replace(witness.injection, start_s=0.0, end_s=1.5, when="time > 5 s"))
    said = tuple(AutopilotEvent(time_s, "text", f"at {time_s:g} s") for time_s in (6.0, 36.4, 36.6))
    triggered = replace(flight, witnesses=[ended], triggered_s=[5.0])
    found = compare(autopilot(triggered, differs_s=5.2, said=said), autopilot(flight))
    assert [event.text for event in found.caused] == ["at 6 s", "at 36.4 s"]


def test_nothing_is_caused_where_nothing_differs(flight: Flight) -> None:
    found = compare(autopilot(flight), autopilot(flight))
    assert found.first_s == math.inf and found.caused == []
    assert found.rows() == {"caused": "nothing: its log is that of the healthy flight to the last byte"}


def test_a_flight_that_does_not_repeat_has_no_healthy_twin(flight: Flight, tmp_path: Path) -> None:
    other = replace(flight, order=replace(flight.order, control="px4", options={}))
    with pytest.raises(OrderError, match="--time virtual"):
        fly_healthy(other, tmp_path)


def test_where_nothing_is_measured_any_more_that_is_said(flight: Flight) -> None:
    begin_s = flight.witnesses[0].first_s
    lost = [Change(5.5, "fusion", f"GNSS {name} no longer fused") for name in ("position", "velocity")]
    found = compare(autopilot(flight, *lost, differs_s=5.2), autopilot(flight))
    assert found.carried == f"nothing measured from {5.5 - begin_s:.1f} s after the fault on: dead reckoning"
    assert len(compare(autopilot(flight, *(25 * lost), differs_s=5.2), autopilot(flight)).rows()) == 23
