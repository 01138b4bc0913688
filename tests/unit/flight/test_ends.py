"""How a flight may end: texts that are read, those that are refused, and which end an order has by default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ironbird.campaign.case import FlightCase
from ironbird.errors import OrderError
from ironbird.flight.ends import ending_formula
from ironbird.flight.judge import requirements_of, way_to_end
from ironbird.flight.order import Order, Requirement, make_order, parse_order


@pytest.mark.parametrize(
    ("ends", "formula"),
    [
        ("time", ""),
        ("completed", "eventually (completed == 1)"),
        ("completed or landed", "eventually (completed == 1 or landed == 1)"),
        (
            "completed or landed within 20 m of 0, 0",
            "eventually (completed == 1 or landed == 1 and hypot(body.p_NB_N[0] - 0 m, body.p_NB_N[1] - 0 m) <= 20 m)",
        ),
        (
            "completed or landed within 2.5m of -10,3.5",
            "eventually (completed == 1 or landed == 1 and "
            "hypot(body.p_NB_N[0] + 10 m, body.p_NB_N[1] - 3.5 m) <= 2.5 m)",
        ),
    ],
)
def test_each_way_to_end_is_a_formula(ends: str, formula: str) -> None:
    assert ending_formula(ends) == formula


@pytest.mark.parametrize(
    "ends", ["landed", "Completed", "completed or crashed", "completed or landed within 20 of 0, 0", "time ", "1e9"]
)
def test_other_words_are_refused_with_those_that_are_known(ends: str) -> None:
    with pytest.raises(OrderError) as error:
        make_order("quad_f450", ends=ends)
    assert str(error.value) == (
        f"ends = {ends!r} is no way to end: give 'completed', 'completed or landed', "
        "'completed or landed within R m of NORTH, EAST' or 'time'"
    )


def test_an_area_without_a_size_is_refused() -> None:
    with pytest.raises(OrderError, match="the radius must be greater than 0 m"):
        make_order("quad_f450", ends="completed or landed within 0 m of 0, 0")


@pytest.mark.parametrize("may_crash", [1, "yes", None])
def test_may_crash_is_true_or_false(may_crash: Any) -> None:
    with pytest.raises(OrderError, match="is not true or false"):
        make_order("quad_f450", may_crash=may_crash)


def hover(**ordered: Any) -> Order:
    return make_order("quad_f450", control="truth", mission="hover", **ordered)


@pytest.mark.parametrize(
    ("order", "way"),
    [
        (hover(), "completed"),
        (hover(ends="time"), "time"),
        (replace(hover(), mission=None), "time"),
        (replace(hover(), mission=None, ends="completed or landed"), "completed or landed"),
        (make_order("quad_f450", control="px4", mission="hover"), "completed"),
        (make_order("quad_f450", control="px4", mission="hover", options={"pilot": "none"}), "time"),
        (make_order("quad_f450", control="commanded", mission="hover"), "completed"),
        (make_order("quad_f450", control="commanded", mission="hover", options={"front": "mavlink"}), "time"),
    ],
    ids=["mission", "time", "none", "said", "autopilot", "piloted by others", "commanded by us", "by a client"],
)
def test_an_order_is_to_complete_its_mission_unless_nobody_flies_it(order: Order, way: str) -> None:
    assert way_to_end(order) == way


def names(order: Order) -> list[str]:
    return [requirement.name for requirement in requirements_of(order)]


def test_every_order_must_not_crash_and_must_end_as_ordered() -> None:
    assert names(hover()) == ["no_crash", "mission"]
    assert names(hover(requirements=["always (tilt < 30 deg)"])) == ["always (tilt < 30 deg)", "no_crash", "mission"]
    assert names(hover(ends="time")) == ["no_crash"]
    assert names(hover(may_crash=True)) == ["mission"]
    assert names(hover(ends="time", may_crash=True)) == []


def test_a_requirement_that_says_the_same_is_not_judged_twice() -> None:
    assert names(hover(requirements=["no_crash", "mission_completed"])) == ["no_crash", "mission_completed"]
    speaks = Requirement("falls", "eventually (crashed == 1)")
    assert names(hover(requirements=[speaks])) == ["falls", "no_crash", "mission"]  # it does not switch no_crash off


def test_an_order_keeps_how_it_may_end_in_its_files() -> None:
    order = hover(ends="completed or landed within 20 m of 0, 0", may_crash=True)
    assert parse_order(order.text()) == order
    assert 'ends = "completed or landed within 20 m of 0, 0"\nmay_crash = true\n' in order.text()
    assert "ends" not in hover().text() and "may_crash" not in hover().text()
    case = FlightCase(**vars(order), id="a/0001/s0", case_id="a")
    assert 'ends = "completed or landed within 20 m of 0, 0"' in case.to_toml() and "may_crash = true" in case.to_toml()
