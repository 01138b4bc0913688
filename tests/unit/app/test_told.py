"""An autopilot outside is flown from the rig over MAVLink: commands, missions, places, its own parameters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import attended_system
import pytest
from hil_udp_board import ThreadBoard, udp_board
from live_rig import PATIENCE_S, until

from ironbird.app.actions import act
from ironbird.app.live import status_of
from ironbird.app.live_flight import LiveFlight
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.errors import LinkError, RunError
from ironbird.flight.order import load_order
from ironbird.flight.systems import kind_of
from ironbird.ground.client.attended import DONE, MOST_KEPT, REFUSED, RUNS
from ironbird.protocols.orders import HEADER, is_orders, read_orders
from ironbird.protocols.plan_file import LocalItem
from ironbird.systems.hardware.link import HardwareLink


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setenv("IRONBIRD_SYSTEMS", f"told={attended_system.__file__}:TOLD")
    with Rig(tmp_path) as rig:
        yield rig


def done(flight: LiveFlight, name: str) -> None:
    """Until the newest order of this name was carried out."""
    pilot = flight.pilot
    assert pilot is not None

    def settled() -> bool:
        orders = [one for one in pilot.orders if one.order.name == name]
        assert not orders or orders[-1].state != REFUSED, orders[-1].why
        return bool(orders) and orders[-1].state == DONE

    until(settled, flight)


def test_it_is_armed_sent_about_tuned_and_landed_and_all_of_it_is_in_the_order(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="told", speed=None, go=False, until_s=3600.0)
    until(lambda: flight.pilot is not None and flight.pilot.telemetry.ready, flight)
    pilot = flight.pilot
    assert pilot is not None and flight.commanded
    rig.do(flight.name, "take_off", height_m=6.0)
    done(flight, "take_off")
    assert pilot.telemetry.armed and pilot.telemetry.height_m > 5.0
    rig.do(flight.name, "goto", north_m=8.0, east_m=-4.0)
    done(flight, "goto")
    until(lambda: abs(pilot.telemetry.position[0] - 8.0) < 1.0 and abs(pilot.telemetry.position[1] + 4.0) < 1.0, flight)
    rig.do(flight.name, "read_params")
    done(flight, "read_params")
    assert len(flight.params()) > 20
    name, value = next((name, value) for name, value in flight.params().items() if 0.5 < value < 5.0)
    rig.do(flight.name, "tune", path=name, value=1.1 * value)
    done(flight, "tune")
    until(lambda: abs(flight.params()[name] - 1.1 * value) < 1e-3, flight)
    rig.do(flight.name, "mode", mode="hold")
    done(flight, "mode")
    row = status_of(flight)
    assert row["armed"] and row["orders"][-1]["state"] == "done" and row["mode"] == "hold"
    rig.do(flight.name, "land")
    until(lambda: not pilot.telemetry.armed and pilot.telemetry.landed == "on the ground", flight)
    rig.end(flight.name)

    assert flight.flight is not None and flight.folder is not None, flight.failure
    assert flight.flight.verdict == "pass", flight.flight.judged.sentence
    order = load_order(flight.folder)
    assert is_orders(order.script)
    given = read_orders(order.script)
    assert [one.name for one in given] == ["take_off", "goto", "read_params", "tune", "mode", "land"]
    assert given[3].args["path"] == name and order.mission is not None


def test_the_mission_is_flown_at_once_and_another_takes_its_place(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="told", speed=None, until_s=3600.0, wind_mps=2.0)
    until(lambda: flight.pilot is not None and flight.pilot.telemetry.mode == "mission", flight)
    pilot = flight.pilot
    assert pilot is not None
    until(lambda: pilot.telemetry.height_m > 2.0, flight)
    items = [LocalItem(6.0, 0.0, 5.0, 0.0, "waypoint"), LocalItem(0.0, 0.0, 0.0, 0.0, "land")]
    rig.do(flight.name, "set_mission", items=items)
    rig.do(flight.name, "mission")
    until(lambda: [one.order.name for one in pilot.orders] == ["mission", "set_mission", "mission"], flight)
    done(flight, "mission")
    assert [item.north_m for item in pilot.items] == [6.0, 0.0]
    until(lambda: not pilot.telemetry.armed, flight)
    assert rig.flights[flight.name].state == "running"  # open-ended: it may take off again


def test_what_the_autopilot_refuses_is_told_and_the_flight_goes_on(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="told", speed=None, go=False, until_s=3600.0)
    until(lambda: flight.pilot is not None and flight.pilot.telemetry.ready, flight)
    pilot = flight.pilot
    assert pilot is not None
    rig.do(flight.name, "goto", north_m=1.0, east_m=1.0)
    rig.do(flight.name, "tune", path="NO_SUCH_PARAM", value=1.0)
    until(lambda: [one.state for one in pilot.orders] == [REFUSED, REFUSED], flight)
    assert "not armed; order" in pilot.orders[0].why and "NO_SUCH_PARAM" in pilot.orders[1].why
    for name, args, why in (
        ("goto", {"north_m": 1.0}, "east_m is missing; it takes"),
        ("take_off", {"height_m": "high"}, "give a finite number"),
        ("tune", {"path": "A", "value": []}, "value is []"),
        ("take_off", {"deep": 1}, "unknown key 'deep'"),
        ("arm", {"wait_s": 1e9}, "unknown key 'wait_s'"),
    ):
        answer = act(rig, PILOT, name, {"flight": flight.name, **args})
        assert not answer["ok"] and why in answer["error"]
    assert flight.state == "running"


def test_many_orders_are_bounded_and_one_on_its_way_is_kept(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="told", speed=None, go=False, until_s=3600.0)
    until(lambda: flight.pilot is not None and flight.pilot.telemetry.ready, flight)
    pilot = flight.pilot
    assert pilot is not None
    flight.pause()
    until(lambda: flight.state == "paused", flight)
    rig.do(flight.name, "take_off", height_m=5000.0)
    for number in range(MOST_KEPT + 60):
        rig.do(flight.name, "sticks", roll=0.0, pitch=0.0, throttle=0.0, yaw=0.01 * (number % 50))
        if number == 0:  # while time stands the newest place of the sticks replaces the one before
            rig.do(flight.name, "sticks", roll=0.0, pitch=0.0, throttle=0.0, yaw=0.5)
        before = flight.tick
        flight.step(6)  # orders are handed out at the next look
        until(lambda before=before: flight.tick >= before + 24, flight)  # type: ignore[misc]
    assert pilot.record().count("sticks") == MOST_KEPT + 60 and len(pilot.orders) <= MOST_KEPT + 1
    assert [one.state for one in pilot.orders if one.order.name == "take_off"] == [RUNS]


def test_submarines_of_px4_are_flown_by_sticks_of_ours_alone() -> None:
    assert kind_of("px4").takes_orders("multicopter") and kind_of("ardupilot").takes_orders("underwater")
    assert not kind_of("px4").takes_orders("underwater") and not kind_of("fmu").takes_orders("multicopter")


def test_a_record_that_is_none_is_refused() -> None:
    for text, why in (
        ("hello", "no record of orders"),
        (f"{HEADER}\n5 arm", "line 2"),
        (f"{HEADER}\n5 arm {{}}\n4 land {{}}", "times go up"),
        (f"{HEADER}\n5 arm []", "arguments have names"),
    ):
        with pytest.raises(LinkError, match=why):
            read_orders(text)


def test_a_board_on_a_line_is_watched_and_judged(rig: Rig) -> None:
    board = ThreadBoard()
    with udp_board(board) as port:
        options = {"udp": port, "ground_station": False, "priority": False}
        flight = rig.start("quad_f450", control="hardware", go=False, until_s=60.0, options=options)
        until(lambda: len(board.stamps) > 200 and flight.tick > 500, flight)
        assert flight.pilot is not None and flight.pilot.telemetry.autopilot == "px4"
        rows = {(row["message"], row["way"]): row for row in flight.monitor.rows(f"127.0.0.1:{port}")}
        assert rows["HIL_SENSOR", "to"]["count"] > 100
        assert rows["HIL_ACTUATOR_CONTROLS", "from"]["latency_ms"] is not None
        rig.end(flight.name)
    assert flight.flight is not None and flight.flight.ended_s < 60.0, flight.failure


def test_a_board_on_the_page_is_flown_by_the_native_loop_and_can_be_broken_and_paused(rig: Rig) -> None:
    board = ThreadBoard()
    with udp_board(board) as port:
        options = {"udp": port, "ground_station": False, "priority": False}
        flight = rig.start("quad_f450", control="hardware", go=False, until_s=60.0, options=options)
        until(lambda: len(board.stamps) > 200 and flight.tick > 500, flight)
        assert flight.stand is not None and flight.stand.rig.loop is not None
        link = flight._system
        assert isinstance(link, HardwareLink)
        link.patience_s = PATIENCE_S  # the board is a thread of this process
        rig.do(flight.name, "inject", fault="imu.gyro_bias@1:instance=1,severity=0.3")
        until(lambda: flight.witnesses()[0].effective, flight)
        rig.do(flight.name, "clear", number=0)
        loop = flight.stand.rig.loop
        until(lambda: not loop.stands, flight)  # it was held to clear the fault
        flight.pause()
        until(lambda: loop.stands and flight.tick == loop.steps * loop.step_ticks, flight)  # and it has seen where
        stands, link.patience_s = flight.tick, 2.0
        time.sleep(2.5)  # a board that is not asked anything is not silent
        assert flight.tick == loop.steps * loop.step_ticks == stands
        with pytest.raises(RunError, match="a board keeps its own time"):
            flight.step()
        with pytest.raises(RunError, match="a board keeps its own time"):
            flight.set_speed(5.0)
        flight.pause(False)
        until(lambda: flight.tick > stands, flight)
        link.patience_s = PATIENCE_S  # it was not taken for silent; from here on the machine may be busy
        until(lambda: flight.tick > stands + 1200, flight)
        rig.end(flight.name)
    flown = flight.flight
    assert flown is not None and flown.witnesses[0].effective, flight.failure
    assert flown.witnesses[0].first_s == pytest.approx(flight.twins[0].witness().first_s)
    assert flown.order.faults[0].end_s < flown.ended_s
    # each step was sent once, in order; what a busy machine drops on the way to the board is another matter
    assert board.stamps == sorted(set(board.stamps)) and not any(stamp % 2000 for stamp in board.stamps)
    assert link._board_link is not None and int(link._board_link.native.sent) == round(500 * flown.ended_s)
    assert flown.measured["began_s"] > 0.0  # of a loop in native code
    assert flown.measured["sensor_hz"] == pytest.approx(500.0, rel=0.1)  # time that stood does not count
