"""The live rig without any page: flights that are paused, stepped, commanded, broken, tuned, branched and repeated."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_rig import PATIENCE_S, go_to, until

from ironbird.app import live_flight
from ironbird.app.actions import act
from ironbird.app.live_flight import LiveFlight
from ironbird.app.plans import items_of_plan, plan_of_items
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.errors import IronbirdError, RunError
from ironbird.flight.flight import fly
from ironbird.flight.order import load_order
from ironbird.protocols.plan_file import LocalItem
from ironbird.systems.commanded.mavlink.front import MavlinkFront

ANY_PORT = "udpin:127.0.0.1:0"
FAULT = "rotor.speed_loss@1:instance=1,severity=0.1"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as rig:
        yield rig


def test_a_live_flight_repeats_bit_for_bit_with_all_that_was_done_to_it(rig: Rig) -> None:
    flight = rig.start("quad_f450", wind_mps=5.0, speed=None, until_s=16.0, paused=True)
    go_to(flight, 6000)
    rig.do(flight.name, "tune", path="control.position_gain", value=1.3)
    go_to(flight, 8000)
    rig.do(flight.name, "inject", fault=FAULT)
    go_to(flight, 9000)
    rig.do(flight.name, "clear", number=0)
    rig.do(flight.name, "goto", north_m=3.0, east_m=-2.0)
    flight.pause(False)
    assert flight.join(PATIENCE_S)

    assert flight.flight is not None and flight.folder is not None
    again = fly(load_order(flight.folder))
    assert again.sha256 == flight.flight.sha256
    assert [deed.name for deed in flight.deeds] == ["arm", "mission", "tune", "inject", "clear", "goto"]
    assert again.order.tunings[0].tick == 6000
    assert (again.order.faults[0].start_s, again.order.faults[0].end_s) == (8.0, 9.0)


def test_a_branch_is_the_first_flight_to_the_bit_until_it_is_treated_otherwise(rig: Rig) -> None:
    first = rig.start("quad_f450", wind_mps=5.0, speed=None, until_s=14.0, paused=True)
    go_to(first, 6000)
    rig.do(first.name, "tune", path="control.position_gain", value=1.3)
    go_to(first, 8000)

    second = rig.branch(first.name, paused=True)
    until(lambda: second.tick == 8000 and second.state == "paused", second)

    assert first.stand is not None and second.stand is not None
    assert first.stand.rig.state.content(0) == second.stand.rig.state.content(0)
    rig.do(second.name, "inject", fault=FAULT)
    for flight in (first, second):
        flight.pause(False)
        assert flight.join(PATIENCE_S)
    assert first.flight is not None and second.flight is not None
    rows = int(8.0 / 0.02)
    assert first.flight.log.data[:, :rows].tobytes() == second.flight.log.data[:, :rows].tobytes()
    assert first.flight.sha256 != second.flight.sha256


def test_the_witness_that_is_seen_in_flight_is_the_judges(rig: Rig) -> None:
    flight = rig.start("quad_f450", wind_mps=5.0, speed=None, until_s=16.0, paused=True)
    go_to(flight, 8000)
    rig.do(flight.name, "inject", fault=FAULT)
    rig.do(flight.name, "inject", fault="wind.steady@1:severity=0.2")
    go_to(flight, 8500)
    rig.do(flight.name, "tune", path="control.velocity_gain", value=2.0)  # twins get it too
    go_to(flight, 9000)
    early = flight.witnesses()
    assert early[0].effective and early[0].ended_s < 9.0
    flight.pause(False)
    assert flight.join(PATIENCE_S)

    assert flight.flight is not None
    seen = [twin.witness() for twin in flight.twins]
    assert [witness.sentence() for witness in seen] == [witness.sentence() for witness in flight.flight.witnesses]


@pytest.mark.parametrize("row_ticks", [0, 4])
def test_a_fault_that_is_shorter_than_a_row_acts_live_as_in_the_repeat(rig: Rig, row_ticks: int) -> None:
    """The twin gets the commands of the flight: what 4 ms changed is seen by a look at every tick alone."""
    flight = rig.start("quad_f450", speed=None, until_s=9.0, paused=True)
    go_to(flight, 8000 + row_ticks)
    rig.do(flight.name, "inject", fault="imu.gyro_bias@1:instance=1,axis=0,severity=0.3,end=0.004")
    rig.do(flight.name, "inject", fault="imu.gyro_bias@1:instance=1,axis=0,severity=0.3,start=0.05,end=0.054")
    go_to(flight, 8100)
    early = flight.witnesses()
    flight.pause(False)
    assert flight.join(PATIENCE_S)

    assert flight.flight is not None and flight.folder is not None
    judged = flight.flight.witnesses
    again = fly(load_order(flight.folder))
    assert [witness.effective for witness in (*early, *judged)] == [True] * 4
    assert [witness.record() for witness in again.witnesses] == [witness.record() for witness in judged]
    assert again.sha256 == flight.flight.sha256 and again.judged == flight.flight.judged
    begin_s = 8.0 + 1e-3 * row_ticks
    assert [witness.first_s for witness in judged] == pytest.approx([begin_s, begin_s + 0.05])


def test_time_stands_still_and_goes_on_by_steps(rig: Rig) -> None:
    flight = rig.start("quad_f450", speed=None, until_s=30.0, paused=True)
    until(lambda: flight.state == "paused", flight)
    begin = flight.tick
    time.sleep(0.3)
    assert flight.tick == begin == 4
    flight.step(3)
    until(lambda: flight.tick == 16, flight)
    assert flight.state == "paused"
    flight.pause(False)
    until(lambda: flight.tick > 100, flight)


def test_a_fault_of_a_chip_has_its_witness_while_it_flies(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="chips", mission="hover", until_s=600.0)
    until(lambda: flight.tick > 100, flight)
    rig.do(flight.name, "inject", fault="chip.reset@1:instance=baro")
    until(lambda: flight.witnesses()[0].effective, flight)
    assert flight.witnesses()[0].signal.startswith("wire/baro")


@pytest.mark.clock
def test_a_flight_keeps_to_the_speed_that_it_is_given(rig: Rig) -> None:
    begin = time.monotonic()
    flight = rig.start("quad_f450", speed=0.1, until_s=600.0, go=False)
    until(lambda: flight.tick > 0, flight)
    time.sleep(0.5)
    assert flight.tick <= (time.monotonic() - begin) * 100 + 80  # ticks of 1 ms at a tenth of real time
    flight.set_speed(None)
    until(lambda: flight.tick > 20_000, flight)
    with pytest.raises(RunError, match=r"0.02 to 1000 times"):
        flight.set_speed(1e6)


def test_commands_are_refused_in_words_and_change_nothing(rig: Rig) -> None:
    flight = rig.start("quad_f450", speed=None, until_s=20.0, go=False, paused=True)
    go_to(flight, 4000)
    for what, args, why in (
        ("take_off", {"height_m": 5.0}, "not armed"),
        ("goto", {"north_m": 1e9, "east_m": 0.0}, "three numbers"),
        ("goto", {"north_m": "x", "east_m": 0.0}, "could not convert"),
        ("arm", {"now": True}, "unexpected keyword"),
        ("tune", {"path": "body.p_0[0]", "value": 2.0}, "no parameter"),
        ("tune", {"path": "control.position_gain", "value": float("nan")}, "no number"),
        ("inject", {"fault": "rotor.speed_loss@1:instance=9"}, "rotor 1 to 4"),
        ("clear", {"number": 0}, "no fault number 0"),
        ("set_mission", {"items": []}, "1 to"),
    ):
        with pytest.raises(RunError, match=why):
            rig.do(flight.name, what, **args)
    with pytest.raises(IronbirdError, match="unknown action 'explode'"):
        rig.do(flight.name, "explode")
    assert flight.deeds == []
    rig.do(flight.name, "arm")
    rig.do(flight.name, "take_off", height_m=3.0)
    assert flight.commander is not None and flight.commander.armed


def test_ending_a_flight_judges_it_and_keeps_its_folder(rig: Rig) -> None:
    flight = rig.start("quad_f450", speed=None, until_s=60.0, paused=True)
    go_to(flight, 3000)
    rig.end(flight.name)
    assert flight.state == "over" and flight.flight is not None and flight.folder is not None
    assert flight.flight.verdict == "void" and flight.flight.ended_s == pytest.approx(3.004, abs=0.01)
    assert flight.flight.judged.sentence.startswith("nothing was flown: the vehicle never left the ground")
    assert (flight.folder / "flight.html").is_file() and (flight.folder / "order.toml").is_file()
    with pytest.raises(RunError, match="the flight is over"):
        rig.do(flight.name, "arm")


def test_a_reset_begins_the_same_order_anew(rig: Rig) -> None:
    flight = rig.start("quad_f450", speed=None, wind_mps=3.0, seed=7, until_s=60.0, paused=True)
    go_to(flight, 1000)
    again = rig.reset(flight.name)
    until(lambda: again.tick > 0, again)
    assert again.order == flight.order and again.deeds == [] and flight.name not in rig.flights


def test_a_plan_drawn_on_the_map_comes_back_from_its_file(rig: Rig) -> None:
    items = [LocalItem(10.0, -5.0, 6.0, 2.0, "waypoint"), LocalItem(0.0, 0.0, 0.0, 0.0, "land")]
    back = items_of_plan(plan_of_items(items, "quad_f450"), "quad_f450")
    assert [item.kind for item in back][-1] == "land"
    assert (back[0].north_m, back[0].east_m, back[0].height_m) == pytest.approx((10.0, -5.0, 6.0), abs=0.01)
    flight = rig.start("quad_f450", mission=items, speed=None, until_s=30.0, paused=True)
    assert flight.order.mission is not None and flight.order.mission.item[0].north_m == 10.0
    with pytest.raises(IronbirdError, match="north_m"):
        rig.start("quad_f450", mission=[LocalItem(1e12, 0, 0, 0, "waypoint")])


def test_what_waits_to_be_done_is_bounded(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_flight, "MOST_WAITING", 3)
    flight = LiveFlight("idle-1", rig.start("quad_f450", paused=True, until_s=5.0).order)  # never started
    waiting = [threading.Thread(target=flight.do, args=("arm",), kwargs={"wait_s": 5.0}) for _ in range(3)]
    for thread in waiting:
        thread.start()
    until(lambda: len(flight._queue) == 3)
    assert flight.do("arm", wait_s=0.1) == "3 things wait to be done already"
    flight._refuse_rest()
    for thread in waiting:
        thread.join()


def test_a_control_system_that_cannot_start_fails_with_its_reason(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="hardware", options={"port": "/dev/not-there"})
    assert flight.join(PATIENCE_S)
    assert flight.state == "failed" and flight.failure
    with pytest.raises(RunError, match="need not repeat"):
        rig.branch(flight.name)
    with pytest.raises(IronbirdError, match="unknown control system 'magic'"):
        rig.start("quad_f450", control="magic")


def test_a_branch_from_before_the_first_arming_arms_and_flies_its_mission(rig: Rig) -> None:
    first = rig.start("quad_f450", speed=None, until_s=10.0, paused=True)
    go_to(first, 6000)
    armed = [deed.tick for deed in first.deeds]
    assert len(armed) == 2 and armed[0] > 1000

    early = rig.branch(first.name, at_s=0.5, paused=True)
    until(lambda: early.tick == 500 and early.state == "paused", early)
    assert early.wishes == ("arm", "mission") and not early.deeds
    for flight in (first, early):
        flight.pause(False)
        assert flight.join(PATIENCE_S)
    assert [deed.tick for deed in early.deeds] == armed
    assert first.flight is not None and early.flight is not None and first.flight.sha256 == early.flight.sha256


def test_a_reset_keeps_its_ground_stations_and_waits_for_commands_as_before(rig: Rig) -> None:
    flights = [rig.start("quad_f450", speed=None, until_s=600.0, go=False, mavlink=ANY_PORT) for _ in range(3)]
    for flight in flights:
        until(lambda flight=flight: bool(flight.listens), flight)  # type: ignore[misc]
    again = rig.reset(flights[0].name)
    another = rig.start("quad_f450", speed=None, until_s=600.0, go=False, mavlink=ANY_PORT)
    for flight in (again, another):
        until(lambda flight=flight: bool(flight.listens), flight)  # type: ignore[misc]
    numbers = [flight.also.options.instance for flight in rig.flights.values() if isinstance(flight.also, MavlinkFront)]
    assert sorted(numbers) == [0, 1, 2, 3]
    until(lambda: again.tick > 8000, again)
    assert again.wishes == () and again.deeds == []


def test_how_long_a_deed_is_waited_for_is_not_the_callers_to_say(rig: Rig) -> None:
    flight = rig.start("quad_f450", speed=None, until_s=30.0, go=False, paused=True)
    go_to(flight, 4000)
    for name in ("wait_s", "name", "args"):
        answer = act(rig, PILOT, "arm", {"flight": flight.name, name: 1e9})
        assert not answer["ok"] and f"unknown key '{name}' in arm" in answer["error"]
    assert flight.deeds == []
