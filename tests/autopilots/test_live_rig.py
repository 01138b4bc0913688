"""PX4 and ArduPilot flown from the live rig: orders over MAVLink, their own parameters, and all of it repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_rig import until

from ironbird.app.live_flight import LiveFlight
from ironbird.app.rig import Rig
from ironbird.flight.flight import fly
from ironbird.flight.order import load_order
from ironbird.ground.client.attended import DONE, REFUSED, Attended
from ironbird.protocols.orders import read_orders

PATIENCE_S = 600.0
TUNED = {"px4": ("MPC_XY_VEL_MAX", 6.0), "ardupilot": ("ATC_ANG_RLL_P", 5.0)}
LINKS = {"px4": ("PX4 simulator link", "HIL_ACTUATOR_CONTROLS"), "ardupilot": ("ArduPilot JSON link", "servos")}


def pilot_of(flight: LiveFlight) -> Attended:
    until(lambda: flight.pilot is not None and flight.pilot.telemetry.ready, flight, PATIENCE_S)
    assert flight.pilot is not None
    return flight.pilot


def ordered(rig: Rig, flight: LiveFlight, name: str, **args: object) -> None:
    """Give an order, and wait until it is carried out."""
    pilot = flight.pilot
    assert pilot is not None
    before = sum(one.order.name == name for one in pilot.orders)
    rig.do(flight.name, name, **args)

    def settled() -> bool:
        orders = [one for one in list(pilot.orders) if one.order.name == name][before:]
        assert not orders or orders[0].state != REFUSED, orders[0].why
        return bool(orders) and orders[0].state == DONE

    until(settled, flight, PATIENCE_S)


def flown(rig: Rig, autopilot: str, **how: object) -> LiveFlight:
    """Take-off, a place, a parameter, another mission, return or landing."""
    flight = rig.start("quad_f450", control=autopilot, speed=None, go=False, until_s=900.0, **how)  # type: ignore[arg-type]
    pilot = pilot_of(flight)
    ordered(rig, flight, "read_params")
    assert len(flight.params()) > 500
    ordered(rig, flight, "take_off", height_m=8.0)
    assert flight.monitor.rows("MAVLink COMMAND_ACK")  # now: the newest packets alone are kept
    ordered(rig, flight, "goto", north_m=12.0, east_m=-6.0, height_m=10.0)
    until(lambda: abs(pilot.telemetry.position[0] - 12.0) < 1.5, flight, PATIENCE_S)
    until(lambda: abs(pilot.telemetry.position[1] + 6.0) < 1.5, flight, PATIENCE_S)
    name, value = TUNED[autopilot]
    assert flight.params()[name] != value
    ordered(rig, flight, "tune", path=name, value=value)
    assert flight.params()[name] == pytest.approx(value)
    ordered(rig, flight, "mode", mode="hold")
    items = [[0.0, -6.0, 10.0, 0.0, "waypoint"], [0.0, 0.0, 8.0, 0.0, "waypoint"], [0.0, 0.0, 0.0, 0.0, "land"]]
    ordered(rig, flight, "set_mission", items=items)
    ordered(rig, flight, "mission")
    until(lambda: pilot.telemetry.item >= 1, flight, PATIENCE_S)
    ordered(rig, flight, "return")
    ordered(rig, flight, "land")
    until(lambda: not pilot.telemetry.armed, flight, PATIENCE_S)
    return flight


def test_it_is_flown_by_orders_and_repeats_to_the_last_byte(autopilot: str, tmp_path: Path) -> None:
    with Rig(tmp_path / "app") as rig:
        flight = flown(rig, autopilot, wind_mps=3.0)
        partner, message = LINKS[autopilot]
        rows = flight.monitor.rows(partner)
        assert any(message in row["message"] and row["latency_ms"] is not None for row in rows)
        rig.end(flight.name)
    assert flight.flight is not None and flight.folder is not None, flight.failure
    assert flight.flight.verdict == "pass", flight.flight.judged.sentence
    assert flight.flight.repeats
    order = load_order(flight.folder)
    assert [one.name for one in read_orders(order.script)][:3] == ["read_params", "take_off", "goto"]

    again = fly(order, folder=tmp_path / "again")
    assert again.sha256 == flight.flight.sha256
    assert again.order.script == order.script


def test_a_branch_goes_another_way_from_the_same_moment(autopilot: str, tmp_path: Path) -> None:
    with Rig(tmp_path / "app") as rig:
        first = rig.start("quad_f450", control=autopilot, speed=None, until_s=900.0)
        pilot = pilot_of(first)
        until(lambda: pilot.telemetry.height_m > 5.0, first, PATIENCE_S)
        stands = 1000 * (first.tick // 1000 + 8)
        first.run_to(1e-3 * stands, PATIENCE_S)
        assert first.tick == stands
        second = rig.branch(first.name, paused=True)
        until(lambda: second.tick == stands and second.state == "paused", second, PATIENCE_S)
        assert first.stand is not None and second.stand is not None
        assert first.stand.rig.state.content(0) == second.stand.rig.state.content(0)
        assert second.pilot is not None and second.pilot.telemetry == pilot.telemetry
        rig.do(second.name, "inject", fault="rotor.speed_loss@1:instance=1,severity=1")
        for flight in (first, second):
            flight.run_to(1e-3 * stands + 5.0, PATIENCE_S)
        assert first.stand.rig.state.content(0) != second.stand.rig.state.content(0)
