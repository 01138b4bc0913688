"""One case under several control systems: what is handed to each, and that Ctrl-C ends all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_data import flight_case

from ironbird.campaign import compare as comparing
from ironbird.campaign import fleet
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight, fly
from ironbird.flight.flown import Flown
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import Judgement
from ironbird.flight.order import Order


@pytest.fixture(scope="module")
def hover() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=0.5)


def test_settings_of_our_navigator_go_to_our_control_systems_alone(
    hover: Flight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: dict[str, Order] = {}

    def taken(order: Order, **how: Any) -> Flight:
        orders[order.control] = order
        return hover

    monkeypatch.setattr(comparing, "fly", taken)
    settings = {"navigator.cruise_speed": 2.0, "body.mass": 1.5}
    flown = comparing.compare(flight_case(settings=settings), {"truth": {}, "px4": {}}, tmp_path)

    assert [one.name for one in flown] == ["truth", "px4"]
    assert orders["truth"].settings == settings and orders["px4"].settings == {"body.mass": 1.5}


def test_all_fly_in_the_same_kind_of_time_whosever_the_options_of_the_case_are() -> None:
    fault = parse_fault("mag.bias@1:severity=0.5,start=5")
    plain = flight_case(faults=())
    assert [comparing.shared_options(plain, name) for name in ("px4", "ardupilot")] == [
        {"time": "virtual", "twin": False}
    ] * 2
    assert comparing.shared_options(plain, "reference") == {}
    own = replace(plain, control="px4", options={"time": "virtual", "params": "A=1"}, faults=(fault,))
    assert comparing.shared_options(own, "ardupilot") == {"time": "virtual", "twin": True}
    real = replace(own, options={"time": "real"})
    assert comparing.shared_options(real, "ardupilot") == {"time": "real", "twin": False}
    assert comparing.shared_options(own, "fmu") == {}


def test_a_red_word_has_its_reason_beside_it_and_what_came_afterwards_is_not_called_caused(hover: Flight) -> None:
    failed = replace(
        hover.judged,
        verdict="fail",
        judgements=[Judgement("geofence", "major", -1.0, 0.3, "61 m from home", broken_s=0.3)],
    )
    one = comparing.Compared("px4", replace(hover, judged=failed))
    assert one.result() == f"geofence: 61 m from home ({hover.outcome})" and "caused" not in one.sentence()
    assert one.sentence().startswith("fail: geofence: 61 m from home") and "simulation time" in one.sentence()
    beside = replace(
        one, flight=replace(hover, judged=replace(failed, healthy=5)), caused=["mode: LAND, 2.00 s after x"]
    )
    assert "caused, as none of 5 healthy flights shows it: mode: LAND, 2.00 s" in beside.sentence()


def test_ctrl_c_ends_the_comparison_and_not_one_flight_of_it(
    hover: Flight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def interrupted(order: Order, **how: Any) -> Flight:
        asked.append(order.control)
        return replace(hover, log=replace(hover.log, interrupted=True))

    monkeypatch.setattr(comparing, "fly", interrupted)
    with pytest.raises(KeyboardInterrupt):
        comparing.compare(flight_case(), {"truth": {}, "px4": {}}, tmp_path)
    assert asked == ["truth"]


def test_ctrl_c_ends_the_whole_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def interrupted(orders: list[Order], *model: Any, **how: Any) -> list[Flown]:
        asked.append(orders[0].vehicle)
        lanes = fly_lanes([replace(order, until_s=0.5) for order in orders], *model, **how)
        lanes[0].log.interrupted = True
        return lanes

    monkeypatch.setattr(fleet, "fly_lanes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fleet.fly_fleet(["quad_f450", "quad_h250"], 1)
    assert asked == ["quad_f450"]


def test_times_count_from_when_a_vehicle_has_left_the_place_where_it_stood(hover: Flight) -> None:
    log, data = hover.log, hover.log.data.copy()
    column = log.plan.start["body.p_NB_N"]
    data[0, :, column : column + 3, 0] = [50.0, -20.0, 0.0]  # it stands far from home
    flight = replace(hover, log=replace(log, data=data))
    assert comparing.Compared("standing", flight).off_s == 0.0

    data[0, 10:, column, 0] += 0.9
    data[0, 15:, column + 2, 0] -= 0.5  # now more than a metre from there, in space
    assert comparing.Compared("moving", flight).off_s == pytest.approx(log.time_s[15])
    assert comparing.Compared("absent", None).off_s == 0.0
