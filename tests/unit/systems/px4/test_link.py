"""The link to PX4 against a client that behaves as PX4 does on the wire, decoded by pymavlink."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from px4_like import Answer, Px4Like
from pymavlink.dialects.v20 import common

from ironbird.autopilots.px4 import process as px4_process
from ironbird.autopilots.px4.messages import ACCEL_LIMIT
from ironbird.autopilots.px4.process import find_px4, open_port
from ironbird.errors import LinkError
from ironbird.rig.rig import Rig, make_rig
from ironbird.systems.px4.link import Px4

PORT = 4560
ACCEL, GYRO, MAG, BARO, DIFF_PRESSURE = 0x0007, 0x0038, 0x01C0, 0x1A00, 0x0400  # groups of fields_updated


@pytest.fixture
def free_instance() -> Iterator[int]:
    """An instance whose ports nobody has."""
    yield px4_process.free_instance()


def link(rig: Rig, instance: int, answer: Answer | None = None, **settings: float) -> tuple[Px4, Px4Like]:
    """Both ends, connected."""
    client = Px4Like(PORT + instance, answer)
    client.start()
    system = Px4(instance=instance, connect_s=settings.pop("connect_s", 10.0), **settings)  # type: ignore[arg-type]
    system.start(rig)
    return system, client


def fly(system: Px4, rig: Rig) -> None:
    """The run loop."""
    try:
        while rig.step(system.step_ticks):
            system.exchange(rig)
    finally:
        system.stop()


def settled(client: Px4Like) -> Px4Like:
    """The client after its connection has ended."""
    client.join(timeout=60)
    assert not client.is_alive()
    assert client.error is None
    return client


def test_messages_come_at_their_sensors_rates_and_units(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=2.0)
    system, client = link(rig, free_instance)
    fly(system, rig)
    sensors = [m for m in settled(client).got if m.get_type() == "HIL_SENSOR"]
    first = [m for m in sensors if m.id == 0]
    assert [m.time_usec for m in first] == list(range(4000, 2_000_001, 4000))  # each 4 ms, all of it
    count = {mask: sum(m.fields_updated & mask == mask for m in first) for mask in (ACCEL, GYRO, MAG, BARO)}
    assert count == {ACCEL: 500, GYRO: 500, MAG: 100, BARO: 100}  # 250 Hz and 50 Hz, the chips' own rates
    last = pytest.approx(500, abs=1)  # of the last step, what follows the first message may end with the connection
    assert [sum(m.id == n for m in sensors) for n in range(3)] == [500, last, last]
    assert sum(m.fields_updated & MAG == MAG for m in sensors if m.id == 1) == 100
    assert sum(m.fields_updated & DIFF_PRESSURE != 0 for m in first) == 100
    assert client.counts["HIL_STATE_QUATERNION"] == pytest.approx(50, abs=1)  # 25 Hz
    assert client.counts["DISTANCE_SENSOR"] == pytest.approx(100, abs=1)
    assert client.counts["HIL_OPTICAL_FLOW"] == pytest.approx(100, abs=1)
    assert client.counts["HIL_GPS"] == pytest.approx(2 * 10, abs=2)  # two receivers at 5 Hz


def test_a_standing_vehicle_reads_gravity_pressure_field_and_home(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=2.0)
    system, client = link(rig, free_instance, lambda n, t: client_controls(t))
    fly(system, rig)
    got = settled(client).got
    home = rig.vehicle.spec.home
    first = [m for m in got if m.get_type() == "HIL_SENSOR" and m.id == 0][100:]
    assert np.mean([m.zacc for m in first]) == pytest.approx(-9.8, abs=0.3)  # noise and bias of the chip
    pressed = [m for m in first if m.fields_updated & BARO == BARO]
    assert pressed[0].abs_pressure == pytest.approx(1008.3, abs=3)  # hPa at 41.5 m in the standard atmosphere
    assert pressed[0].pressure_alt == pytest.approx(home.height_m, abs=25)  # 3 hPa
    seen = [m for m in first if m.fields_updated & MAG == MAG]
    size = math.hypot(seen[0].xmag, seen[0].ymag, seen[0].zmag)
    assert size == pytest.approx(0.546, abs=0.03)  # gauss: World Magnetic Model 2025 at home
    fixes = [m for m in got if m.get_type() == "HIL_GPS" and m.fix_type == 3]
    assert fixes[-1].lat / 1e7 == pytest.approx(home.latitude_deg, abs=1e-4)
    assert fixes[-1].lon / 1e7 == pytest.approx(home.longitude_deg, abs=1e-4)
    assert fixes[-1].alt / 1e3 == pytest.approx(home.height_m, abs=15)
    assert fixes[-1].satellites_visible > 8
    assert {m.id for m in fixes} == {0, 1}
    truth = [m for m in got if m.get_type() == "HIL_STATE_QUATERNION"][-1]
    assert truth.attitude_quaternion[0] == pytest.approx(1.0, abs=1e-3)
    assert truth.alt / 1e3 == pytest.approx(home.height_m + 0.12, abs=0.01)  # on its landing gear


def client_controls(time_us: int) -> bytes:
    """Disarmed, as PX4 says it."""
    message = common.MAVLink_hil_actuator_controls_message(time_us, [0.0] * 16, 1, 1)
    return bytes(message.pack(common.MAVLink(None)))


def test_controls_reach_the_actuators_and_steps_are_locked(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=1.0)
    values = [0.1, 0.2, 0.3, 0.4]
    system, client = link(rig, free_instance)
    client.answer = lambda number, time_us: client.controls(time_us, values)
    fly(system, rig)
    assert [rig.stepper.inputs[rig.actuators[f"rotor/{n}"]] for n in (1, 2, 3, 4)] == pytest.approx(values)
    assert settled(client).steps >= 249  # we hang up while the last is on its way
    assert 2 + 248 <= system.traffic.received <= 2 + 249  # the hello, and one answer for each step but the last
    assert system.traffic.late == 0
    assert [h.text for h in system.autopilot_events if h.kind == "armed"] == ["armed"]


def test_outputs_that_are_no_numbers_or_too_large_do_no_harm(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=0.1)
    system, client = link(rig, free_instance)
    client.answer = lambda number, time_us: client.controls(time_us, [math.nan, 7.0, -math.inf, 0.5])
    fly(system, rig)
    assert [rig.stepper.inputs[rig.actuators[f"rotor/{n}"]] for n in (1, 2, 3, 4)] == [0.0, 1.0, -1.0, 0.5]


def test_a_cut_connection_is_an_error_that_says_so(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=5.0)
    system, client = link(rig, free_instance)
    client.answer = lambda number, time_us: client.controls(time_us, [0.0]) if number < 50 else None
    with pytest.raises(LinkError, match=r"connection to PX4 broke at 0\.2\d* s of simulation time"):
        fly(system, rig)
    server = socket.create_server(("127.0.0.1", PORT + free_instance))  # the port is closed
    server.close()


def test_garbage_between_frames_is_counted_and_skipped(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=0.4)
    system, client = link(rig, free_instance)
    client.answer = lambda number, time_us: b"\x00\xfd\xfe garbage" + client.controls(time_us, [0.25])
    fly(system, rig)
    assert rig.stepper.inputs[rig.actuators["rotor/1"]] == 0.25
    size = len(b"\x00\xfd\xfe garbage")
    # The first may have been answered before there was any garbage, the last may still be on its way
    assert 98 * size <= system.traffic.bad <= 100 * size
    assert system.traffic.late == 0


@pytest.mark.clock
def test_silence_stops_the_clock_and_ends_in_an_error_in_wall_time(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=60.0)
    system, client = link(rig, free_instance, patience_s=0.5, answer_s=0.01)
    client.answer = lambda number, time_us: client.controls(time_us, [0.0]) if number < 20 else b""
    begin = time.monotonic()
    with pytest.raises(LinkError, match=r"PX4 gave no HIL_ACTUATOR_CONTROLS for \d+\.\d s .wall. at .*last HIL_SENSOR"):
        fly(system, rig)
    assert time.monotonic() - begin < 60
    late_s = 0.004 * system.traffic.late  # on a busy machine answers may come after `answer_s`
    assert rig.time_s < 0.12 + late_s  # 20 steps were answered: the vehicle does not fly on without control


def test_a_client_that_never_comes_is_an_error(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=1.0)
    system = Px4(instance=free_instance, connect_s=0.2)
    with pytest.raises(LinkError, match=rf"did not connect to TCP port {PORT + free_instance} within 0\.2"):
        system.start(rig)
    system.stop()
    system.stop()


def test_a_client_that_never_answers_is_an_error(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=60.0)
    system, client = link(rig, free_instance, lambda number, time_us: b"", connect_s=0.5)
    with pytest.raises(LinkError, match=r"gave no HIL_ACTUATOR_CONTROLS for 0\.5 s .*received 2 .last HEARTBEAT"):
        fly(system, rig)
    assert settled(client).steps == pytest.approx(125, abs=40)  # paced by the wall clock: 250 a second


def test_lost_gyroscopes_do_not_stop_the_clock(free_instance: int) -> None:
    """PX4 gives no outputs without a gyroscope; the run goes on to its end and its commands stay."""
    rig = make_rig("quad_f450", until_s=1.0)
    system, client = link(rig, free_instance, patience_s=10.0, answer_s=0.01)
    client.answer = lambda number, time_us: client.controls(time_us, [0.3]) if time_us <= 400_000 else b""
    while rig.time_s < 0.4:
        rig.step(system.step_ticks)
        system.exchange(rig)
    system.patience_s = 0.2  # from here on silence would soon end the run
    for n in (1, 2, 3):
        rig.state.set_param(f"imu/{n}/gyro_fault.lost", 1.0)
    fly(system, rig)
    sensors = [m for m in settled(client).got if m.get_type() == "HIL_SENSOR" and m.id == 0]
    assert sensors[-1].time_usec == 1_000_000  # the clock went on
    assert not sensors[-1].fields_updated & GYRO
    assert sensors[-1].fields_updated & ACCEL == ACCEL
    assert system.traffic.late > 0
    assert rig.stepper.inputs[rig.actuators["rotor/1"]] == pytest.approx(0.3)


def test_an_impact_is_clamped_to_what_px4_can_hold(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=0.1)
    for n in (1, 2):
        rig.state.set_param(f"imu/{n}/accel_fault.offset", [900.0, -900.0, 0.0])
    system, client = link(rig, free_instance)
    fly(system, rig)
    sensors = [m for m in settled(client).got if m.get_type() == "HIL_SENSOR"]
    first = next(m for m in sensors if m.id == 0)
    assert (first.xacc, first.yacc) == pytest.approx((ACCEL_LIMIT, -ACCEL_LIMIT))
    assert int(first.xacc / (9.80665 / 2048)) <= 32767
    assert next(m for m in sensors if m.id == 1).xacc > 850  # only id 0 goes through 16 bits


def test_a_build_without_lockstep_is_refused(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=1.0)
    system, client = link(rig, free_instance)
    client.answer = lambda number, time_us: client.controls(time_us, [0.0], lockstep=False)
    with pytest.raises(LinkError, match="without lockstep"):
        fly(system, rig)


def test_sticks_go_out_as_rc_channels(free_instance: int) -> None:
    rig = make_rig("quad_f450", until_s=0.2)
    system, client = link(rig, free_instance)
    system.sticks = (1500, 1501, 1000, 1502)
    fly(system, rig)
    messages = [m for m in settled(client).got if m.get_type() == "RC_CHANNELS"]
    assert len(messages) == pytest.approx(10, abs=1)  # 50 Hz
    assert (messages[0].chan2_raw, messages[0].chancount, messages[0].chan5_raw) == (1501, 4, 0)


def test_a_tail_sitter_stands_level_for_px4(free_instance: int) -> None:
    rig = make_rig("vtol_tailsitter", until_s=0.4)
    system, client = link(rig, free_instance)
    client.answer = lambda number, time_us: client.controls(time_us, [0.0] * 4, armed=False)
    fly(system, rig)
    got = settled(client).got
    accel = [m for m in got if m.get_type() == "HIL_SENSOR" and m.id == 0][-1]
    assert accel.zacc == pytest.approx(-9.8, abs=1.0) and abs(accel.xacc) < 1.0
    truth = [m for m in got if m.get_type() == "HIL_STATE_QUATERNION"][-1]
    assert abs(truth.attitude_quaternion[0]) == pytest.approx(1.0, abs=1e-2)


def test_a_missing_px4_says_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("IRONBIRD_PX4", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LinkError, match=r"set IRONBIRD_PX4 to its build folder"):
        find_px4()
    monkeypatch.setenv("IRONBIRD_PX4", str(tmp_path))
    with pytest.raises(LinkError, match=r"IRONBIRD_PX4: .*bin/px4 is no program"):
        find_px4()


def test_a_taken_port_is_named(free_instance: int) -> None:
    with (
        socket.create_server(("127.0.0.1", PORT + free_instance)),
        pytest.raises(LinkError, match=rf"TCP {PORT + free_instance}"),
    ):
        open_port(free_instance)
