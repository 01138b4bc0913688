"""What a vehicle did of its order, by its true state: small logs made by hand, and a few flights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ironbird.flight.flight import fly
from ironbird.flight.mission import Mission
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import fit
from ironbird.flight.reached import ALLOWED_M, HOVER_M, TOUCH_DOWN_M, Ended, Target, ended, targets_of
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.state import Stop
from ironbird.vehicles import places as at

STANDS_M = 0.12  # height of the centre of mass of a quadcopter that stands
DONE, LANDED = "mission completed", "landed before the end of the mission"
Point = tuple[float, float, float, float]  # s, m north, east, high


def mission(*items: Mapping[str, float | str]) -> Mission:
    return Mission.model_validate({"schema": 1, "item": [{"kind": "waypoint", **item} for item in items]})


def order(vehicle: str, *items: Mapping[str, float | str], **ordered: object) -> Order:
    control = "truth" if vehicle.startswith("quad") else None
    return make_order(vehicle, control=control, mission=mission(*items), **ordered)  # type: ignore[arg-type]


def log_of(
    order: Order, points: Sequence[Point], log_s: float = 0.1, stop: str = "", velocity: np.ndarray | None = None
) -> Log:
    """The log of a vehicle that moved from point to point on straight lines."""
    model = fit(order).model
    plan = LogPlan.make(model, [at.BODY.position, at.BODY.velocity], log_s)
    table = np.array(points)
    time_s = np.arange(round(table[-1, 0] / log_s) + 1) * log_s
    place = np.stack([np.interp(time_s, table[:, 0], column) for column in table[:, 1:].T], axis=1)
    place[:, 2] *= -1.0
    data = np.zeros((1, len(time_s), len(plan.index), 1))
    start = plan.start[at.BODY.position]
    data[0, :, start : start + 3, 0] = place
    start = plan.start[at.BODY.velocity]
    data[0, :, start : start + 3, 0] = np.gradient(place, log_s, axis=0) if len(time_s) > 1 else 0.0
    data[0, 0, start : start + 3, 0] = 0.0  # it begins at rest
    if velocity is not None:
        data[0, -1, start : start + 3, 0] = velocity
    return Log(plan, 1, time_s, data, [Stop(float(time_s[-1]), stop) if stop else None])


def came(order: Order, *points: Point, log_s: float = 0.1, stop: str = "", velocity: np.ndarray | None = None) -> Ended:
    """What an order came to if the vehicle moved so."""
    return ended(order, fit(order).model, log_of(order, points, log_s, stop, velocity), 0)


TWO = ({"north_m": 20.0, "height_m": 10.0}, {"north_m": 20.0, "east_m": 20.0, "height_m": 10.0})
START: Point = (0.0, 0.0, 0.0, STANDS_M)
UP: Point = (4.0, 0.0, 0.0, 10.0)


# ---------------------------------------------------------------------- items in order


def test_items_that_are_reached_in_order_complete_a_mission() -> None:
    found = came(order("quad_f450", *TWO), START, UP, (8.0, 20.0, 0.0, 10.0), (12.0, 20.0, 20.0, 10.0), stop=DONE)

    assert (found.completed, found.reached, found.flown, found.landed, found.why) == (True, 2, True, False, "")
    assert found.off_m == pytest.approx(0.0, abs=0.6)  # the second is passed at the last row


def test_items_in_another_order_do_not_count() -> None:
    """It passes the second item first, and ends at the first."""
    found = came(order("quad_f450", *TWO), START, UP, (9.0, 20.0, 20.0, 10.0), (13.0, 20.0, 0.0, 10.0), stop=DONE)

    assert (found.completed, found.reached) == (False, 1)
    assert found.why == (
        "item 2 of 2 (waypoint, 20 m north, 20 m east, 10 m high) was missed by 16.0 m; 4 m are allowed"
    )
    assert found.where == ("1 of 2 items were reached, next is the waypoint, 20 m north, 20 m east, 10 m high")


@pytest.mark.parametrize(("east_m", "completed"), [(3.9, True), (4.4, False)])
def test_an_item_counts_within_the_reach_of_the_navigator_and_the_allowance(east_m: float, completed: bool) -> None:
    """A vehicle that hovers counts 1 m as reached; the allowance for its estimate is 3 m."""
    assert (HOVER_M, ALLOWED_M) == (1.0, 3.0)
    found = came(order("quad_f450", TWO[0]), START, UP, (8.0, 20.0, east_m, 10.0), stop=DONE)

    assert found.completed is completed
    if not completed:
        assert found.why.endswith("was missed by 4.3 m; 4 m are allowed")


@pytest.mark.parametrize(("height_m", "completed"), [(6.1, True), (5.9, False), (13.9, True), (14.1, False)])
def test_an_item_that_is_missed_in_height_alone_says_so(height_m: float, completed: bool) -> None:
    one = order("quad_f450", {"north_m": 20.0, "height_m": 10.0})
    found = came(one, START, (4.0, 0.0, 0.0, height_m), (8.0, 20.0, 0.0, height_m), stop=DONE)

    assert found.completed is completed
    if not completed:
        assert found.why == (
            "item 1 of 1 (waypoint, 20 m north, 0 m east, 10 m high) was missed by 4.1 m in height; 4 m are allowed"
        )


def test_the_allowance_is_smaller_on_short_legs() -> None:
    """Two items that are 2 m apart: an allowance of 3 m would count both at once."""
    small = order("quad_f450", {"north_m": 2.0, "height_m": 10.0}, {"north_m": 4.0, "height_m": 10.0})
    assert [target.within_m for target in targets_of(small, fit(small).model)] == [1.5, 1.5]


def test_what_the_vehicle_reports_does_not_count() -> None:
    """Its estimate may be biased: it reports the mission as completed, 6 m from the item."""
    found = came(order("quad_f450", TWO[0]), START, UP, (8.0, 14.0, 0.0, 10.0), stop=DONE)

    assert not found.completed and "was missed by 6.0 m" in found.why


def test_settings_of_an_order_do_not_enlarge_what_counts() -> None:
    plain = order("aerosonde", {"north_m": 500.0, "height_m": 100.0}, {"north_m": 900.0, "height_m": 100.0})
    path = at.NAVIGATOR("acceptance_radius")
    wide = replace(plain, settings={path: 1000.0})

    assert path in fit(plain).model.params()
    assert targets_of(wide, fit(wide).model) == targets_of(plain, fit(plain).model)


def test_a_control_system_outside_has_the_distances_of_the_vehicles_own_navigator() -> None:
    ours = make_order("aerosonde", mission="circuit")
    theirs = replace(ours, control="truth" if ours.control != "truth" else "reference")

    assert targets_of(theirs, fit(theirs).model) == targets_of(ours, fit(ours).model)


def test_a_coarse_log_is_interpolated_between_its_rows() -> None:
    """At 10 m/s and a row every 2 s no row is within 4 m of the item."""
    far = order("quad_f450", {"north_m": 30.0, "height_m": 10.0}, {"north_m": 80.0, "height_m": 10.0}, log_s=2.0)
    found = came(far, START, (4.0, 0.0, 0.0, 10.0), (12.0, 80.0, 0.0, 10.0), log_s=2.0, stop=DONE)

    rows = log_of(far, (START, (4.0, 0.0, 0.0, 10.0), (12.0, 80.0, 0.0, 10.0)), 2.0)[at.BODY.position]
    assert np.abs(rows[:, 0] - 30.0).min() >= 10.0
    assert (found.completed, found.reached) == (True, 2)


def test_a_plan_of_another_program_is_judged_item_by_item() -> None:
    """A waypoint file: home, a waypoint 100 m north, a landing there."""
    lines = [
        "QGC WPL 110",
        "0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488.0\t1",
        "1\t0\t3\t22\t0\t0\t0\t0\t0\t0\t10.0\t1",
        "2\t0\t3\t16\t0\t0\t0\t0\t47.398641\t8.545594\t10.0\t1",
        "3\t0\t3\t21\t0\t0\t0\t0\t0\t0\t0\t1",
    ]
    planned = make_order("quad_f450", control="truth", script="\n".join(lines) + "\n")
    items = targets_of(planned, fit(planned).model)
    assert items[-1].kind == "land" and items[-2].north_m == pytest.approx(100.0, abs=0.2)

    above, far = (4.0, 0.0, 0.0, 10.0), (14.0, 100.0, 0.0, 10.0)
    there = came(planned, START, above, far, (20.0, 100.0, 0.0, STANDS_M), stop=DONE)
    short = came(planned, START, above, (12.0, 80.0, 0.0, 10.0), (20.0, 80.0, 0.0, STANDS_M), stop=DONE)
    assert (there.completed, there.landed) == (True, True)
    assert (short.completed, short.landed) == (False, True) and "was missed by 19.9 m" in short.why


# ---------------------------------------------------------------------- stays and landings


def stay(hold_s: float) -> Order:
    return order("quad_f450", {"height_m": 10.0, "hold_s": hold_s})


def test_a_stay_for_ever_is_completed_where_the_flight_ends_if_it_is_there() -> None:
    assert came(stay(1e9), START, UP, (20.0, 0.0, 0.0, 10.0)).completed
    drifted = came(stay(1e9), START, UP, (20.0, 9.0, 0.0, 10.0))
    assert not drifted.completed and drifted.reached == 1
    assert drifted.why == (
        "it left item 1 of 1 (waypoint, 0 m north, 0 m east, 10 m high), where it should stay, and ended 9.0 m away"
    )
    assert drifted.where == drifted.why


def test_a_stay_that_is_cut_says_how_much_was_left() -> None:
    found = came(stay(30.0), START, UP, (20.0, 0.0, 0.0, 10.0))

    assert not found.completed and found.why.startswith("13 s of its stay at item 1 of 1")  # reached at 2.6 s
    assert came(stay(30.0), START, UP, (33.0, 0.0, 0.0, 10.0)).completed


def landing(*more: Mapping[str, float | str]) -> Order:
    return order("quad_f450", {"height_m": 10.0}, *more, {"kind": "land"})


def test_a_landing_is_where_the_last_item_was() -> None:
    found = came(landing(), START, UP, (9.0, 0.0, 0.0, STANDS_M), stop=DONE)
    assert (found.completed, found.landed, found.reached) == (True, True, 2)

    away = came(landing(), START, UP, (9.0, 9.0, 0.0, STANDS_M), stop=LANDED)
    assert (away.completed, away.landed) == (False, True)
    assert away.why.startswith("it lies 9.0 m from where it should land; ")

    hangs = came(landing(), START, UP, (9.0, 0.0, 0.0, 2.0))
    assert (hangs.completed, hangs.landed, hangs.why) == (False, False, "it has not landed")

    again = came(landing(), START, UP, (9.0, 0.0, 0.0, STANDS_M), (11.0, 0.0, 0.0, STANDS_M), (14.0, 0.0, 0.0, 5.0))
    assert (again.completed, again.why) == (False, "it left the ground again after its landing")


def test_a_landing_without_a_flight_is_none() -> None:
    found = came(order("quad_f450", {"kind": "land"}), START, (5.0, 0.0, 0.0, STANDS_M), stop=DONE)

    assert (found.completed, found.landed, found.flown) == (False, False, False)


def test_a_crash_completes_nothing_and_is_no_landing() -> None:
    found = came(landing(), START, UP, (6.0, 0.0, 0.0, STANDS_M), stop="hard landing")

    assert (found.completed, found.landed, found.reached, found.why) == (False, False, 2, "it crashed")


# ---------------------------------------------------------------------- other kinds


def wing(*items: Mapping[str, float | str]) -> tuple[Target, ...]:
    flown = order("aerosonde", *items)
    return targets_of(flown, fit(flown).model)


def test_a_wing_takes_off_anywhere_and_circles_where_it_stays() -> None:
    high: Mapping[str, float | str] = {"height_m": 100.0}
    climb, loiter, passed, held, back, last = wing(
        {"kind": "takeoff", "height_m": 30.0},
        {"kind": "loiter", "north_m": 500.0, **high},
        {"north_m": 1000.0, **high},
        {"north_m": 1500.0, "hold_s": 20.0, **high},
        {"kind": "return"},
        {"north_m": 800.0, **high},
    )

    model = fit(make_order("aerosonde")).model
    radius_m, return_m = (
        float(model.flat.values[model.param_rows(at.NAVIGATOR(name))][0]) for name in ("loiter_radius", "return_height")
    )
    assert climb.within_m == np.inf
    assert radius_m > 50.0
    for target in (loiter, held, back, last):
        assert target.within_m == passed.within_m + radius_m, target
    assert (back.north_m, back.east_m, back.height_m) == (0.0, 0.0, return_m)


def test_a_wing_that_flies_a_circuit_completes_it_in_truth() -> None:
    """Its last waypoint is one at which it circles: the true path never comes nearer than the circle."""
    flight = fly("aerosonde", mission="circuit", log_s=0.1)

    found = ended(flight.order, flight.model, flight.log, 0)
    assert found.completed and flight.verdict == "pass", flight.judged.sentence
    assert found.off_m > found.targets[0].within_m


def test_a_wing_may_touch_down_some_way_from_its_place() -> None:
    plane = order(
        "aerosonde",
        {"kind": "takeoff", "height_m": 30.0},
        {"north_m": 400.0, "height_m": 40.0},
        {"kind": "land", "east_m": 40.0},
    )
    begin: Point = (0.0, 0.0, 0.0, 0.3)
    way: list[Point] = [(10.0, 100.0, 0.0, 35.0), (30.0, 400.0, 0.0, 40.0)]

    near = came(plane, begin, *way, (60.0, TOUCH_DOWN_M - 1, 40.0, 0.3), (61.0, TOUCH_DOWN_M - 1, 40.0, 0.3), stop=DONE)
    wide = came(plane, begin, *way, (60.0, TOUCH_DOWN_M + 1, 40.0, 0.3), (61.0, TOUCH_DOWN_M + 1, 40.0, 0.3), stop=DONE)
    assert near.completed and not wide.completed
    assert wide.why == "it lies 31.0 m from where it should land; 30 m are allowed"


def test_vehicles_on_the_ground_have_no_heights() -> None:
    rover = order("rover_differential", {"north_m": 5.0, "height_m": 0.0})
    found = came(rover, (0.0, 0.0, 0.0, -3.0), (10.0, 5.0, 0.0, -3.0), stop=DONE)

    assert (found.completed, found.landed, found.falling) == (True, False, "")
    assert found.targets[0].text == "waypoint, 5 m north, 0 m east"


# ---------------------------------------------------------------------- nothing flown, and falling


@pytest.mark.parametrize(("height_m", "flown"), [(STANDS_M, False), (STANDS_M + 0.4, False), (STANDS_M + 0.7, True)])
def test_whether_it_left_the_ground(height_m: float, flown: bool) -> None:
    assert came(stay(1e9), START, (4.0, 0.0, 0.0, height_m)).flown is flown


@pytest.mark.parametrize(("north_m", "flown"), [(0.0, False), (0.4, False), (0.7, True)])
def test_whether_it_moved(north_m: float, flown: bool) -> None:
    rover = order("rover_differential", {"north_m": 5.0})
    found = came(rover, (0.0, 0.0, 0.0, 0.0), (4.0, north_m, 0.0, 0.0))

    assert (found.flown, found.completed) == (flown, False)


@pytest.mark.parametrize(
    ("height_m", "sinks_mps", "falls"),
    [(8.0, 9.0, True), (8.0, 2.0, False), (40.0, 9.0, False), (STANDS_M, 9.0, False), (26.0, 9.0, True)],
)
def test_a_flight_that_ends_in_a_fall_says_so(height_m: float, sinks_mps: float, falls: bool) -> None:
    """Sinking faster than anybody lands, less than three seconds from the ground."""
    sinking = np.array([0.0, 0.0, sinks_mps])
    found = came(stay(1e9), START, UP, (8.0, 0.0, 0.0, height_m), velocity=sinking)

    words = f"the flight ended while the vehicle fell: {height_m:.1f} m above ground, sinking {sinks_mps:.1f} m/s"
    assert found.falling == (words if falls else "")


def test_a_log_without_rows_reached_nothing() -> None:
    hover = stay(1e9)
    log = log_of(hover, (START, UP))
    empty = replace(log, time_s=log.time_s[:0], data=log.data[:, :0])

    found = ended(hover, fit(hover).model, empty, 0)
    assert (found.reached, found.completed, found.why) == (0, False, "it ended before its first row was logged")


def test_without_a_mission_nothing_is_completed() -> None:
    free = replace(stay(1e9), mission=None)

    found = came(free, START, UP)
    assert (found.targets, found.completed, found.flown, found.why) == ((), False, True, "it was given no mission")
