"""The real ArduPilot on vehicles of the catalogue. Needs IRONBIRD_ARDUPILOT; `make test-autopilots` runs it."""

from __future__ import annotations

import math
import runpy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pymavlink import DFReader

from ironbird.autopilots.ardupilot.channels import wire
from ironbird.autopilots.ardupilot.process import ArduPilotProcess, find_program
from ironbird.compiler.compiled import compile_model
from ironbird.errors import LinkError
from ironbird.faults.catalog import parse_fault
from ironbird.flight import flight as flights
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import inject
from ironbird.ground.pilot import Pilot
from ironbird.model.signal import Number
from ironbird.protocols.mavlink.numbers import (
    NAV_LAND,
    NAV_RETURN_TO_LAUNCH,
    NAV_TAKEOFF,
    NAV_VTOL_TAKEOFF,
    NAV_WAYPOINT,
)
from ironbird.protocols.plan_file import PlanItem
from ironbird.rig.rig import attach
from ironbird.rig.system import AutopilotEvent
from ironbird.runtime.log import Log
from ironbird.runtime.state import Stop, start
from ironbird.systems.ardupilot.link import ArduPilot
from ironbird.vehicles.kinds import VehicleClass
from ironbird.vehicles.load import load_spec, load_vehicle


def _missing(name: str) -> str:
    try:
        find_program(name)
    except LinkError as error:
        return str(error)
    return ""


pytestmark = [pytest.mark.autopilot, pytest.mark.skipif(bool(_missing("arducopter")), reason=_missing("arducopter"))]
WIND_MPS = 5.0
RECEIVER_M = 3.0  # greatest error of the vehicle's receivers in such a flight
POLL_TICKS = 20


@dataclass
class Flight:
    """What came of a flight."""

    log: Log
    stop: Stop | None
    pilot: Pilot
    system: ArduPilot
    wall_s: float

    @property
    def position(self) -> np.ndarray:
        return np.asarray(self.log["body.p_NB_N"])

    @property
    def autopilot_events(self) -> list[AutopilotEvent]:
        return sorted([*self.pilot.autopilot_events, *self.system.autopilot_events], key=lambda h: h.time_s)

    def passes(self, north: float, east: float, height: float | None = None) -> float:
        """How near it came to a place."""
        place = np.array([north, east]) if height is None else np.array([north, east, -height])
        return float(np.linalg.norm(self.position[:, : len(place)] - place, axis=1).min())


def fly(
    vehicle: str, kind: VehicleClass, legs: Sequence[tuple[float, ...]], until_s: float, *, faults: Sequence[str] = (),
    wind_mps: float = WIND_MPS, keep: Path | None = None, arm_after_s: float = 0.0,
) -> Flight:  # fmt: skip
    """Fly places (command, north, east, height) in wind from the west with turbulence."""
    firmware = wire(load_spec(vehicle)).firmware
    if _missing(firmware):
        pytest.skip(_missing(firmware))
    loaded = load_vehicle(vehicle, control="external")
    windy: dict[str, Number] = {"wind/steady.velocity_N": [0.0, wind_mps, 0.0], "wind/turbulence.wind_20ft": wind_mps}
    state = start(compile_model(loaded.diagram), seed=4, params=windy if wind_mps else {})
    injections = [parse_fault(text) for text in faults]
    for injection in injections:
        inject(state, injection)
    rig = attach(loaded, state, until_s=until_s, log=["body"])
    plan = []
    for command, north, east, height in legs:
        latitude, longitude, _ = rig.geodetic(np.array([north, east, 0.0]))
        pitch = 12.0 if command == NAV_TAKEOFF and kind == "plane" else 0.0
        plan.append(PlanItem(int(command), params=(pitch, 0.0, 0.0, math.nan), latitude_deg=latitude,
                             longitude_deg=longitude, altitude_m=height))  # fmt: skip
    process = ArduPilotProcess(keep=keep)
    system = ArduPilot(process, injections=injections)
    begin = time.perf_counter()
    with Pilot("ardupilot", kind=kind, port=process.ground_port, plan=plan, arm_after_s=arm_after_s) as pilot:
        try:
            system.start(rig)
            while not pilot.finished and rig.step(system.step_ticks):
                system.exchange(rig)
                if rig.state.tick % POLL_TICKS == 0:
                    pilot.poll(rig)
        finally:
            system.stop()
    log, stop = rig.finish()
    return Flight(log, stop, pilot, system, time.perf_counter() - begin)


SQUARE = [
    (NAV_TAKEOFF, 0, 0, 10),
    (NAV_WAYPOINT, 20, 0, 10),
    (NAV_WAYPOINT, 20, 20, 10),
    (NAV_WAYPOINT, 0, 20, 10),
    (NAV_RETURN_TO_LAUNCH, 0, 0, 0),
]


def check_square(flight: Flight) -> None:
    assert flight.pilot.finished and flight.stop is None, flight.autopilot_events[-5:]
    for corner in ((20, 0, 10), (20, 20, 10), (0, 20, 10)):
        assert flight.passes(*corner) < 2.5 + RECEIVER_M  # corners are cut within the acceptance radius of 2 m
    assert np.linalg.norm(flight.position[-1, :2]) < 1.0 + RECEIVER_M
    assert flight.system.traffic.late == 0 and flight.system.traffic.bad == 0


def test_the_f450_flies_a_square_and_returns_in_wind(tmp_path: Path) -> None:
    flight = fly("quad_f450", "copter", SQUARE, 200.0, keep=tmp_path)
    check_square(flight)
    flown = np.linalg.norm(flight.position, axis=1) > 1.0
    tilt = np.degrees(np.abs(np.asarray(flight.log["body.euler"])[flown, :2])).max()
    assert tilt < 35.0
    (record,) = [path for path in flight.system.process.logs if path.suffix == ".BIN"]  # type: ignore[union-attr]
    # ArduPilot's own estimate agrees with the truth at the end of its log
    reader = DFReader.DFReader_binary(str(record))
    heights = []
    while (message := reader.recv_match(type=["XKF1"])) is not None:
        heights.append(-message.PD)
    reader.filehandle.close()
    assert max(heights) == pytest.approx(-flight.position[:, 2].min() - 0.12, abs=1.5)


@pytest.mark.parametrize("vehicle", ["quad_plus", "hexa_x", "octo_coax", "hexa_coax", "tri_y", "quad_h250"])
def test_other_multicopters_fly_with_their_own_parameters(vehicle: str) -> None:
    check_square(fly(vehicle, "copter", SQUARE, 200.0))


@pytest.mark.parametrize("seed", range(10))
def test_the_f450_lands_and_disarms_ten_times_out_of_ten(seed: int) -> None:
    """Seed 4 touches down in a gust and leans so much that its land detector needs the pilot's help."""
    wind = Weather(speed_mps=5.0, from_deg=270.0, turbulence_mps=5.0)
    order = make_order("quad_f450", control="ardupilot", mission="square", weather=wind, seed=seed, until_s=200.0)
    flight = flights.fly(order)
    assert flight.autopilot_events[-1].kind == "finished" and flight.stop is None, flight.autopilot_events[-5:]
    assert np.linalg.norm(flight.log["body.p_NB_N"][-1, :2]) < 2.0


def test_the_helicopter_flies_a_square_and_lands_in_wind() -> None:
    flight = fly("heli_xcell60", "copter", SQUARE, 250.0)
    check_square(flight)
    flown = np.linalg.norm(flight.position, axis=1) > 1.0
    assert np.degrees(np.abs(np.asarray(flight.log["body.euler"])[flown, :2])).max() < 30.0


MISSIONS = {  # the vehicle's own, and wind where there is air
    "aerosonde": 3.0, "zagi": 3.0, "px4_plane": 0.0, "vtol_standard": 3.0, "vtol_tailsitter": 0.0,
    "rover_differential": 0.0, "car_escort": 0.0, "boat_otter": 3.0, "rov_bluerov2_heavy": 0.0, "heli_xcell60": 3.0,
}  # fmt: skip


@pytest.mark.parametrize("vehicle", MISSIONS)
def test_missions_of_the_catalogue_end_by_themselves(vehicle: str) -> None:
    if _missing(wire(load_spec(vehicle)).firmware):
        pytest.skip(_missing(wire(load_spec(vehicle)).firmware))
    wind = Weather(speed_mps=MISSIONS[vehicle], from_deg=270.0, turbulence_mps=MISSIONS[vehicle])
    flight = flights.fly(make_order(vehicle, control="ardupilot", weather=wind, until_s=400.0))
    assert flight.autopilot_events[-1].kind == "finished" and flight.stop is None, flight.autopilot_events[-5:]
    position = flight.log["body.p_NB_N"]
    for item in flight.order.items():
        if item.kind == "waypoint":  # corners are cut by wings and wheels
            away = np.linalg.norm(position[:, :2] - [item.north_m, item.east_m], axis=1).min()
            assert away < 0.25 * np.ptp(position[:, :2], axis=0).max()


def test_the_aerosonde_takes_off_flies_round_and_lands() -> None:
    legs = [
        (NAV_TAKEOFF, 0, 0, 60),
        (NAV_WAYPOINT, 300, 0, 80),
        (NAV_WAYPOINT, 300, 300, 80),
        (NAV_WAYPOINT, -500, 300, 60),
        (NAV_WAYPOINT, -500, 0, 40),
        (NAV_LAND, 0, 0, 0),
    ]
    flight = fly("aerosonde", "plane", legs, 300.0)
    assert flight.pilot.finished and flight.stop is None, flight.autopilot_events[-5:]
    for place in ((300, 300), (-500, 300), (-500, 0)):
        assert flight.passes(*place) < 90.0  # turns begin one radius of the L1 guidance before
    assert abs(flight.position[-1, 1]) < 15.0 and abs(flight.position[-1, 0]) < 120.0


def test_the_quadplane_takes_off_upwards_flies_on_its_wing_and_lands_on_its_rotors() -> None:
    legs = [
        (NAV_VTOL_TAKEOFF, 0, 0, 30),
        (NAV_WAYPOINT, 300, 0, 50),
        (NAV_WAYPOINT, 300, 300, 50),
        (NAV_RETURN_TO_LAUNCH, 0, 0, 0),
    ]
    flight = fly("vtol_standard", "vtol", legs, 300.0)
    assert flight.pilot.finished and flight.stop is None, flight.autopilot_events[-5:]
    assert any("Transition done" in event.text for event in flight.autopilot_events)
    assert np.linalg.norm(flight.position[-1, :2]) < 3.0


@pytest.mark.parametrize(
    ("vehicle", "kind", "size", "near"),
    [("rover_differential", "rover", 3.0, 2.5), ("car_escort", "rover", 60.0, 12.0), ("boat_otter", "boat", 20.0, 4.0)],
)
def test_ground_and_water_vehicles_drive_a_square(vehicle: str, kind: VehicleClass, size: float, near: float) -> None:
    legs = [
        (NAV_WAYPOINT, size, 0, 0),
        (NAV_WAYPOINT, size, size, 0),
        (NAV_WAYPOINT, 0, size, 0),
        (NAV_WAYPOINT, 0, 0, 0),
    ]
    flight = fly(vehicle, kind, legs, 300.0, wind_mps=0.0)
    assert flight.pilot.finished and flight.stop is None, flight.autopilot_events[-5:]
    for north, east in ((size, 0), (size, size), (0, size)):
        assert flight.passes(north, east) < near


def test_the_bluerov_dives_and_goes_round() -> None:
    legs = [(NAV_WAYPOINT, 5, 0, -3), (NAV_WAYPOINT, 5, 5, -3), (NAV_WAYPOINT, 0, 0, -3)]
    flight = fly("rov_bluerov2_heavy", "sub", legs, 200.0, wind_mps=0.0)
    assert flight.pilot.finished and flight.stop is None, flight.autopilot_events[-5:]
    for north, east in ((5, 0), (5, 5), (0, 0)):
        assert flight.passes(north, east) < 2.0
    assert flight.position[-1, 2] == pytest.approx(
        4.0, abs=0.5
    )  # its depth counts from its start, 1 m below the surface


def test_faults_of_its_own_sensors_are_set_at_their_time_and_confirmed() -> None:
    faults = [
        "gnss.position_dropout@1:instance=1,start=55,end=60",  # the vehicle's own
        "baro.bias@1:instance=1,severity=0.05,start=56,end=58",
        "mag.dropout@1:instance=1,start=1,duration=3,when=body.height > 50 m",
    ]  # fmt: skip
    flight = fly("quad_f450", "copter", SQUARE, 200.0, faults=faults)
    check_square(flight)  # a second receiver and compass take over
    assert flight.system.faults is not None and flight.system.faults.settled()
    echoes = [(echo.name, round(echo.value, 3)) for echo in flight.system.faults.echoes]
    assert sorted(echoes) == sorted([
        ("SIM_BARO_GLITCH", -2.083), ("SIM_BARO_GLITCH", 0.0), ("SIM_MAG1_FAIL", 1.0), ("SIM_MAG1_FAIL", 0.0),
    ])  # fmt: skip
    assert all(echo.delay_s < 1.0 for echo in flight.system.faults.echoes)
    begins = {h.text.partition(" ")[0]: h.time_s for h in flight.system.autopilot_events if h.text.endswith("begins")}
    assert begins["baro.bias@1"] == pytest.approx(56.0, abs=0.02)


def test_a_rotor_that_fails_in_the_vehicle_brings_the_quadrotor_down() -> None:
    flight = fly("quad_f450", "copter", SQUARE, 100.0, faults=["rotor.speed_loss@1:instance=1,severity=1,start=55"])
    assert flight.stop is not None and flight.stop.time_s > 55.0


def test_it_does_not_cost_much_against_a_vehicle_that_costs_nothing() -> None:
    bench = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "links_ardupilot.py"))
    result = bench["measure"]()
    assert result["share"] >= 0.8, result
