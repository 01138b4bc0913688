"""Control systems with a commander inside, on the rig: the autopilot on chips, and the firmware's base station."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live_rig import go_to

from ironbird.app.actions import act
from ironbird.app.live import status_of
from ironbird.app.live_flight import LiveFlight
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.errors import LinkError, OrderError, RunError, UnknownNameError
from ironbird.flight.flight import fly
from ironbird.flight.order import load_order, make_order
from ironbird.protocols.orders import HEADER, is_orders, read_orders


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig(tmp_path) as rig:
        yield rig


def place(flight: LiveFlight) -> np.ndarray:
    assert flight.stand is not None
    return flight.stand.truth().p_N


def flown_by_orders(rig: Rig, vehicle: str, control: str, height_m: float, gain: str) -> LiveFlight:
    """Armed, taken off, sent to a place, branched, tuned, given a mission and landed; then repeated."""
    flight = rig.start(vehicle, control=control, speed=None, go=False, until_s=60.0, paused=True)
    go_to(flight, 1000)
    with pytest.raises(RunError, match="not armed"):
        rig.do(flight.name, "take_off", height_m=height_m)
    go_to(flight, 3400)
    rig.do(flight.name, "arm")
    rig.do(flight.name, "take_off", height_m=height_m)
    go_to(flight, 9000)
    assert -place(flight)[2] > 0.7 * height_m
    status = status_of(flight)
    assert status["armed"] and status["mode"] in ("take-off", "hold") and not status["orders"]
    rig.do(flight.name, "goto", north_m=3.0, east_m=-2.0)
    go_to(flight, 15000)
    assert np.linalg.norm(place(flight)[:2] - [3.0, -2.0]) < 1.0
    branch = rig.branch(flight.name, paused=True)
    go_to(branch, 15000)
    assert place(branch).tolist() == place(flight).tolist()
    rig.do(flight.name, "tune", path=gain, value=1.02 * flight.params()[gain])
    items = [{"kind": "waypoint", "north_m": 0.0, "east_m": 0.0, "height_m": height_m, "hold_s": 0.0, "yaw_deg": 0.0}]
    assert act(rig, PILOT, "set_mission", {"flight": flight.name, "items": items})["ok"]
    rig.do(flight.name, "mission")
    go_to(flight, 17000)
    rig.do(flight.name, "land")
    go_to(flight, 18000)
    assert status_of(flight)["mode"] == "land"
    went_away = place(flight) - place(branch)
    assert np.abs(went_away).max() > 0.1
    rig.end(flight.name)
    assert flight.flight is not None and flight.flight.repeats, flight.failure
    return flight


def same_again(flight: LiveFlight) -> None:
    """The order in the folder alone gives the same bytes."""
    assert flight.folder is not None and flight.flight is not None
    order = load_order(flight.folder)
    assert is_orders(order.script)
    names = [one.name for one in read_orders(order.script)]
    assert names == ["take_off", "arm", "take_off", "goto", "tune", "set_mission", "mission", "land"]
    again = fly(order)
    assert np.array_equal(again.log.data, flight.flight.log.data)


def test_the_reference_autopilot_on_chips_obeys_and_its_flight_repeats(rig: Rig) -> None:
    same_again(flown_by_orders(rig, "quad_f450", "chips", 4.0, "control.position_gain"))


def test_the_base_station_of_the_firmware_obeys_and_its_flight_repeats(rig: Rig) -> None:
    pytest.importorskip("unicorn")
    flight = flown_by_orders(rig, "tiltrotor_provant", "firmware", 3.0, "navigator.cruise_speed")
    assert flight.flight is not None and flight.flight.order.tunings == ()  # they are in the record of orders
    same_again(flight)


def test_a_mission_is_armed_and_flown_when_asked_for(rig: Rig) -> None:
    flight = rig.start("quad_f450", control="chips", speed=None, until_s=60.0, paused=True)
    go_to(flight, 6000)
    assert status_of(flight)["armed"] and -place(flight)[2] > 0.5


def test_ground_stations_are_refused_where_there_is_no_link_to_them(rig: Rig) -> None:
    for control in ("chips", "firmware", "fmu"):
        with pytest.raises(OrderError, match="no link to ground stations"):
            rig.start("quad_f450", control=control, mavlink=True)


def test_a_record_that_somebody_wrote_is_checked() -> None:
    order = make_order("quad_f450", control="chips", mission="hover", options={"pilot": "attended"}, until_s=1.0)
    for script, wrong in ((f"{HEADER}\n0 fly_away {{}}\n", UnknownNameError), (f"{HEADER}\n0 goto {{}}\n", LinkError)):
        with pytest.raises(wrong):
            fly(replace(order, script=script))
    unattended = make_order("quad_f450", control="chips", mission="hover", until_s=1.0)
    with pytest.raises(LinkError, match="no plan of another program"):
        fly(replace(unattended, script=f"{HEADER}\n0 arm {{}}\n"))
