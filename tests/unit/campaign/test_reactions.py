"""What counts as an autopilot's reaction to a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight
from ironbird.flight.outside import reactions
from ironbird.links.system import Happening


def flight(first_s: float, effective: bool) -> Flight:
    """A flight with one fault, ordered at 5 s, and what the autopilot said."""
    said = [
        Happening(4.0, "mode", "MISSION"), Happening(7.0, "item", "item 2 reached"), Happening(8.0, "mode", "LAND"),
        Happening(8.5, "text", "Low battery"), Happening(9.0, "mode", "RTL"),
    ]  # fmt: skip
    witness = SimpleNamespace(effective=effective, first_s=first_s)
    fault = parse_fault("battery.low_voltage@1:severity=0.2,start=5")
    return cast("Flight", SimpleNamespace(injections=[fault], witnesses=[witness], happenings=said))


def test_the_first_of_each_kind_after_the_fault_acted_counts_from_when_it_acted() -> None:
    found = reactions(flight(6.0, True))
    assert [(r.happening.kind, r.happening.text) for r in found] == [("mode", "LAND"), ("text", "Low battery")]
    assert [r.after_s for r in found] == pytest.approx([2.0, 2.5])
    assert found[0].sentence() == "mode: LAND, 2.00 s after battery.low_voltage@1"


def test_a_fault_without_effect_counts_from_its_order_and_what_came_before_does_not() -> None:
    assert reactions(flight(float("nan"), False))[0].after_s == pytest.approx(3.0)
    assert [r.happening.text for r in reactions(flight(8.2, True))] == ["Low battery", "RTL"]
