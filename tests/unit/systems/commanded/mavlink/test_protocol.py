"""What ground stations ask of an autopilot before they fly it, asked with pymavlink of the reference autopilot."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mavlink_bench import ANY_PORT, MISSION, NAN, Bench, bench, bits, item, upload

from ironbird.errors import LinkError
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.systems.commanded.mavlink import telemetry
from ironbird.systems.commanded.mavlink.modes import ASKED, shown, word_of

FENCE, RALLY = 1, 2
ACCEPTED, REJECTED, DENIED, UNSUPPORTED = 0, 1, 2, 3


@pytest.fixture(scope="module")
def ground() -> Iterator[Bench]:
    """A vehicle for all tests that leave it as it was."""
    with bench() as made:
        made.go(1.5)
        yield made


@pytest.fixture
def quad(ground: Bench) -> Bench:
    """On the ground, with nothing left over from before."""
    ground.go(0.05)
    ground.texts.clear()
    return ground


# ------------------------------------------------------------------------------ start-up


def test_the_start_up_sequence_of_qgroundcontrol_is_answered_completely(quad: Bench) -> None:
    """Heartbeat, version, modes, metadata, parameters, mission, fence, rally: its InitialConnectStateMachine."""
    mav = quad.client.mav
    mav.heartbeat_send(6, 8, 0, 0, 4)
    beat = quad.of("HEARTBEAT")
    assert (beat.type, beat.autopilot) == (numbers.MAV_TYPE_QUADROTOR, numbers.MAV_AUTOPILOT_PX4)
    assert quad.command(numbers.REQUEST_MESSAGE, 148) == ACCEPTED
    version = quad.latest["AUTOPILOT_VERSION"]
    assert version.capabilities & (4 | 8 | 16 | 64 | 128 | 256 | 8192) == 4 | 8 | 16 | 64 | 128 | 256 | 8192
    assert not version.capabilities & (32 | 16384 | 32768)  # no files, fences, rally points
    assert quad.command(numbers.REQUEST_MESSAGE, 435, 1) == ACCEPTED  # its modes, one by one
    for metadata in (397, 395):
        assert quad.command(numbers.REQUEST_MESSAGE, metadata) == UNSUPPORTED  # it goes on with what it knows of PX4
    mav.param_request_read_send(1, 1, b"_HASH_CHECK", -1)
    assert quad.of("PARAM_VALUE").param_id == "_HASH_CHECK"
    mav.param_request_list_send(1, 1)
    quad.until(lambda m: m.get_type() == "PARAM_VALUE" and m.param_index == 0)
    quad.until(lambda m: m.get_type() == "PARAM_VALUE" and m.param_id == "_HASH_CHECK", 20.0)
    for kind in (MISSION, FENCE, RALLY):
        mav.mission_request_list_send(1, 1, kind)
        count = quad.of("MISSION_COUNT")
        assert (count.count, count.mission_type) == (0, kind)
    assert quad.command(numbers.GET_HOME_POSITION) == ACCEPTED
    assert quad.latest["HOME_POSITION"].latitude == pytest.approx(quad.front.home.origin.latitude_deg * 1e7, abs=1)
    assert quad.command(numbers.REQUEST_AUTOPILOT_CAPABILITIES, 1) == ACCEPTED
    assert quad.command(numbers.SET_MESSAGE_INTERVAL, 242, 1e6) == ACCEPTED


def test_every_mode_that_a_vehicle_has_is_told_with_its_number(quad: Bench) -> None:
    assert quad.front.telemetry.offered() == {
        "take-off", "hold", "mission", "return", "land", "offboard", "altitude", "position", "stabilized",
    }  # fmt: skip
    said: list[tuple[Any, ...]] = []

    class Listener:
        def say(self, _message: Any, *fields: Any) -> None:
            said.append(fields)

    assert quad.front.telemetry.tell(Listener(), dialect.AVAILABLE_MODES.id)  # type: ignore[arg-type]
    assert [fields[3] for fields in said] == list(range(1, 10)) and {fields[2] for fields in said} == {9}
    assert {word_of(fields[0]) for fields in said} == quad.front.telemetry.offered()


def test_modes_go_to_numbers_and_back() -> None:
    for word, look in ASKED.items():
        assert word_of(look.custom) == word
        assert word_of(look.custom | 0xFFFF) == word  # the lower bytes say nothing
    assert word_of(11 << 16) is None
    assert word_of(ASKED["position"].custom | 3 << 24) == "position"  # a mode within AUTO says nothing of others
    assert shown("descend") == ASKED["land"] and shown("a word of tomorrow") == ASKED["hold"]


# ------------------------------------------------------------------------------ telemetry


def test_every_stream_comes_at_its_rate_in_simulation_time() -> None:
    with bench() as made:
        made.go(0.5)
        heard = [m.get_type() for m in made.go(4.0)]
        for message, rate in telemetry.RATES_HZ.items():
            if message.id == dialect.CURRENT_MODE.id:
                continue  # pymavlink's dialect has it not
            extra = 5 if message is dialect.HEARTBEAT else 1  # heartbeats follow the wall clock too
            assert round(4 * rate) - 1 <= heard.count(message.name) <= round(4 * rate) + extra, message.name
        assert made.command(numbers.SET_MESSAGE_INTERVAL, 30, 10_000) == ACCEPTED
        assert made.command(numbers.SET_MESSAGE_INTERVAL, 32, -1) == ACCEPTED
        assert made.command(numbers.GET_MESSAGE_INTERVAL, 30) == ACCEPTED
        assert made.latest["MESSAGE_INTERVAL"].interval_us == 10_000
        made.go(0.5)
        heard = [m.get_type() for m in made.go(2.0)]
        assert abs(heard.count("ATTITUDE") - 2.0 / 0.012) < 35  # 10 ms on a grid of 4 ms
        assert "LOCAL_POSITION_NED" not in heard
        assert made.command(numbers.SET_MESSAGE_INTERVAL, 32, 0) == ACCEPTED
        assert made.command(numbers.SET_MESSAGE_INTERVAL, 9999, 0) == UNSUPPORTED
        made.of("LOCAL_POSITION_NED")


def test_telemetry_says_what_the_autopilot_believes_in_the_units_of_mavlink(quad: Bench) -> None:
    quad.go(1.1)
    quad.until(lambda m: m.get_type() == "ATTITUDE")
    motion, status, home = quad.commander.estimate(), quad.commander.status(), quad.front.home.origin
    latest = quad.latest
    assert latest["ATTITUDE"].yaw == pytest.approx(motion.rpy[2], abs=0.01)
    place = latest["GLOBAL_POSITION_INT"]
    assert place.lat * 1e-7 == pytest.approx(home.latitude_deg, abs=5e-5)
    assert place.alt - place.relative_alt == pytest.approx(home.height_m * 1000, abs=2)
    assert latest["SYS_STATUS"].voltage_battery == pytest.approx(1000 * status.battery_voltage_V, abs=150)
    imu = latest["HIGHRES_IMU"]
    assert imu.zacc == pytest.approx(-9.8, abs=0.5)
    assert math.hypot(imu.xmag, imu.ymag, imu.zmag) == pytest.approx(0.55, abs=0.1)  # gauss, at home
    assert imu.abs_pressure == pytest.approx(1008.3, abs=3.0)  # mbar, 41.5 m above the sea
    assert latest["EXTENDED_SYS_STATE"].landed_state == numbers.MAV_LANDED_STATE_ON_GROUND
    assert latest["GPS_RAW_INT"].fix_type == 3
    assert latest["VFR_HUD"].alt == pytest.approx(home.height_m, abs=3.0)


# ------------------------------------------------------------------------------ parameters


def all_params(made: Bench) -> list[Any]:
    """The list, and its hash at the end."""
    made.client.mav.param_request_list_send(1, 1)
    found: list[Any] = []
    while not found or found[-1].param_id != "_HASH_CHECK":
        found.append(made.of("PARAM_VALUE", 20.0))
    return found


def test_the_parameter_list_is_whole_in_order_and_its_hash_is_that_of_px4(quad: Bench) -> None:
    *values, check = all_params(quad)
    assert [v.param_index for v in values] == list(range(values[0].param_count))
    names = [v.param_id for v in values]
    assert names == sorted(set(names)) and all(len(name) <= 16 for name in names)
    assert {"MIS_TAKEOFF_ALT", "RTL_RETURN_ALT", "SYS_AUTOSTART", "CAL_ACC0_ID", "CON_RATE_GAIN_0"} <= set(names)
    table = [zlib_entry(n) for n in range(256)]
    crc = 0
    for value in values:  # crc32part of PX4, byte by byte
        for byte in value.param_id.encode() + struct.pack("<f", value.param_value):
            crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    assert struct.unpack("<I", struct.pack("<f", check.param_value))[0] == crc
    assert {v.param_type for v in values} == {numbers.MAV_PARAM_TYPE_REAL32, numbers.MAV_PARAM_TYPE_INT32}
    assert len(values) == len(quad.commander.params()) + 8


def zlib_entry(number: int) -> int:
    """A row of the table of CRC-32, by its polynomial."""
    for _ in range(8):
        number = number >> 1 ^ (0xEDB88320 if number & 1 else 0)
    return number


def test_zlib_entry_is_the_table_of_crc32() -> None:
    assert zlib_entry(1) == zlib.crc32(b"\x01") ^ zlib.crc32(b"\x00")


def test_a_parameter_is_read_by_name_and_index_and_set_while_it_runs(quad: Bench) -> None:
    mav = quad.client.mav
    mav.param_request_read_send(1, 1, b"MIS_TAKEOFF_ALT", -1)
    by_name = quad.of("PARAM_VALUE")
    mav.param_request_read_send(1, 1, b"", by_name.param_index)
    assert quad.of("PARAM_VALUE").param_id == "MIS_TAKEOFF_ALT"
    mav.param_set_send(1, 1, b"MIS_TAKEOFF_ALT", 12.5, 9)
    assert quad.of("PARAM_VALUE").param_value == 12.5
    assert quad.commander.params()["navigator.take_off_height"] == 12.5
    mav.param_set_send(1, 1, b"MIS_TAKEOFF_ALT", by_name.param_value, 9)
    quad.of("PARAM_VALUE")


@pytest.mark.parametrize(
    ("name", "value", "kind", "words"),
    [
        (b"MIS_TAKEOFF_ALT", -3.0, 9, "take_off_height"),  # below its least
        (b"MIS_TAKEOFF_ALT", math.nan, 9, "no number"),
        (b"MIS_TAKEOFF_ALT", 1.0, 77, "type 77"),
        (b"SYS_AUTOSTART", 5.0, 6, "cannot be changed"),
    ],
)
def test_a_parameter_that_cannot_be_set_stays_and_the_reason_is_said(
    quad: Bench, name: bytes, value: float, kind: int, words: str
) -> None:
    quad.client.mav.param_set_send(1, 1, name, value, kind)
    quad.until_said(f"{name.decode()}: ")
    quad.until_said(words)
    quad.client.mav.param_request_read_send(1, 1, name, -1)
    now = quad.of("PARAM_VALUE")
    assert now.param_value == 10.0 if kind != 6 else bits(now.param_value) == 1


def test_an_unknown_parameter_is_answered_with_an_error(quad: Bench) -> None:
    quad.client.mav.param_request_read_send(1, 1, b"NO_SUCH", -1)
    assert quad.of("PARAM_ERROR").error == numbers.MAV_PARAM_ERROR_DOES_NOT_EXIST
    quad.client.mav.param_set_send(1, 1, b"NO_SUCH", 1.0, 9)
    assert quad.of("PARAM_ERROR").error == numbers.MAV_PARAM_ERROR_DOES_NOT_EXIST


def test_changed_parameters_are_kept_in_a_file_and_acted_on_at_the_next_start(tmp_path: Path) -> None:
    file = tmp_path / "quad.params"
    with bench(param_file=str(file)) as made:
        made.client.mav.param_set_send(1, 1, b"MPC_XY_CRUISE", 3.25, 9)
        made.of("PARAM_VALUE")
    assert "MPC_XY_CRUISE\t3.25\t9" in file.read_text()
    with bench(param_file=str(file)) as made:
        assert made.commander.params()["navigator.cruise_speed"] == 3.25
    for text, words in (
        ("1\t1\tNO_SUCH\t1\t9\n", "no parameter"),
        ("1 2 3\n", "columns"),
        ("1 1 A x 9\n", "no number"),
    ):
        file.write_text(text)
        with pytest.raises(LinkError, match=words):
            Bench("quad_f450", ANY_PORT, param_file=str(file))


# ------------------------------------------------------------------------------ missions


def test_a_mission_is_read_back_as_it_was_written(quad: Bench) -> None:
    rows = [
        item(quad, 0, 22, 0, 0, 8),
        item(quad, 1, 178, 0, 0, 0, param1=1.0, param2=3.5, param3=-1.0, frame=2),
        item(quad, 2, 16, 12, -7, 8, param1=2.0, param4=90.0),
        item(quad, 3, 19, 5, 5, 9, param1=1.5),
        item(quad, 4, 20, 0, 0, 0, frame=2),
    ]
    for whole in (True, False):
        assert upload(quad, rows, whole=whole) == numbers.MAV_MISSION_ACCEPTED
        quad.client.mav.mission_request_list_send(1, 1, MISSION)
        assert quad.of("MISSION_COUNT").count == len(rows)
        for row in rows:
            quad.client.mav.mission_request_int_send(1, 1, row["seq"], MISSION)
            got = quad.of("MISSION_ITEM_INT")
            assert (got.command, got.frame, got.param1, got.param2) == tuple(
                row[name] for name in ("command", "frame", "param1", "param2")
            )
            assert got.x == pytest.approx(row["x"] * 1e7, abs=1 if whole else 70)  # a float of 32 bits has no more
        quad.client.mav.mission_request_send(1, 1, 2, MISSION)
        assert quad.of("MISSION_ITEM").x == pytest.approx(rows[2]["x"], abs=1e-5)
    assert [local.kind for local in quad.commander.mission()] == ["takeoff", "waypoint", "loiter"]
    assert quad.front.missions.local.returns == 4
    assert quad.commander.mission()[1].north_m == pytest.approx(12.0, abs=0.8)
    assert quad.front.missions.local.speeds_mps == {1: 3.5}
    quad.client.mav.mission_clear_all_send(1, 1, MISSION)
    assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_ACCEPTED
    quad.client.mav.mission_request_list_send(1, 1, MISSION)
    assert quad.of("MISSION_COUNT").count == 0


def test_a_place_that_is_no_number_is_told_as_none(quad: Bench) -> None:
    """An item that does nothing here may have no place; INT32_MAX says so in whole numbers."""
    rows = [item(quad, 0, 22, 0, 0, 8), item(quad, 1, 203, 0, 0, 0), item(quad, 2, 16, 5, 0, 8)]
    rows[1] |= {"x": NAN, "y": 1e30}
    assert upload(quad, rows, whole=False) == numbers.MAV_MISSION_ACCEPTED
    quad.client.mav.mission_request_int_send(1, 1, 1, MISSION)
    got = quad.of("MISSION_ITEM_INT")
    assert (got.x, got.y) == (2**31 - 1, 2**31 - 1)
    quad.client.mav.mission_clear_all_send(1, 1, MISSION)
    assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_ACCEPTED


def test_the_truth_is_told_on_request(quad: Bench) -> None:
    assert "HIL_STATE_QUATERNION" not in quad.latest
    assert quad.command(511, 115, 50_000) == 0  # SET_MESSAGE_INTERVAL
    told, true = quad.of("HIL_STATE_QUATERNION"), quad.commander.truth()
    assert told.attitude_quaternion == pytest.approx(true.q_NB.tolist(), abs=1e-3)
    assert (told.lat, told.lon) == pytest.approx((401540302, 1162593683), abs=200)
    assert told.zacc == pytest.approx(-1000, abs=60)  # at rest, in 1e-3 g
    assert quad.command(511, 115, -1) == 0


@pytest.mark.parametrize(
    ("command", "frame", "result", "words"),
    [
        (177, 2, numbers.MAV_MISSION_UNSUPPORTED, "not known"),  # DO_JUMP
        (18, 3, numbers.MAV_MISSION_UNSUPPORTED, "by time"),  # turns
        (16, 1, numbers.MAV_MISSION_UNSUPPORTED, "frame 1"),
    ],
)
def test_a_mission_that_cannot_be_flown_is_refused_with_a_reason(
    quad: Bench, command: int, frame: int, result: int, words: str
) -> None:
    assert upload(quad, [item(quad, 0, command, 1, 1, 5, frame=frame)]) == result
    quad.until_said(words)
    assert quad.front.missions.stored == []


def test_fences_rally_points_and_parts_of_lists_are_refused_by_their_type(quad: Bench) -> None:
    mav = quad.client.mav
    for kind in (FENCE, RALLY):
        mav.mission_count_send(1, 1, 3, kind)
        said = quad.of("MISSION_ACK")
        assert (said.type, said.mission_type) == (numbers.MAV_MISSION_UNSUPPORTED, kind)
        mav.mission_clear_all_send(1, 1, kind)
        assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_ACCEPTED  # there is none
    mav.mission_write_partial_list_send(1, 1, 0, 1, MISSION)
    assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_UNSUPPORTED
    mav.mission_request_partial_list_send(1, 1, 0, 1, MISSION)
    assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_UNSUPPORTED
    mav.mission_request_int_send(1, 1, 7, MISSION)
    assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_INVALID_SEQUENCE
    mav.mission_count_send(1, 1, 60000, MISSION)
    assert quad.of("MISSION_ACK").type == numbers.MAV_MISSION_NO_SPACE
    many = quad.rig.state.model.flat.p.signals["navigator.table"].columns + 1
    assert upload(quad, [item(quad, n, 16, n, 0, 5) for n in range(many)]) == numbers.MAV_MISSION_NO_SPACE


# ------------------------------------------------------------------------------ commands and small talk


@pytest.mark.parametrize("number", [0, 15, 200, 310, 2500, 31010, 65535])
def test_an_unknown_command_is_unsupported(quad: Bench, number: int) -> None:
    assert quad.command(number) == UNSUPPORTED


def test_every_known_command_is_acknowledged_once_on_the_ground(quad: Bench) -> None:
    known = list(quad.front.commands._known)
    for number in known:
        if number == numbers.COMPONENT_ARM_DISARM:
            continue
        quad.client.mav.command_long_send(1, 1, number, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN)
        quad.client.mav.command_int_send(1, 1, 3, number, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        acks = [m for m in quad.go(0.1) if m.get_type() == "COMMAND_ACK"]
        assert [ack.command for ack in acks] == [number, number]
    assert not quad.commander.armed


def test_refusals_say_why(quad: Bench) -> None:
    assert quad.command(numbers.NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 10.0) == DENIED
    quad.until_said("10 m above sea is -31.5 m above home")
    assert quad.command(numbers.NAV_LAND) == REJECTED
    assert quad.command(numbers.DO_SET_MODE, 1, 1) == DENIED  # a quadrotor has no MANUAL
    assert quad.command(numbers.DO_SET_MODE, 1, 77) == DENIED
    assert quad.command(numbers.DO_SET_MODE, 0, 3) == DENIED  # no custom mode
    assert quad.command(numbers.DO_VTOL_TRANSITION, 4) == DENIED
    assert quad.command(numbers.PREFLIGHT_CALIBRATION, 1) == DENIED
    assert quad.command(numbers.DO_CHANGE_SPEED, 1, 4.0, -1) == ACCEPTED
    assert quad.commander.params()["navigator.cruise_speed"] == 4.0


def test_messages_to_others_are_left_alone(quad: Bench) -> None:
    quad.client.mav.command_long_send(7, 1, 512, 0, 148, 0, 0, 0, 0, 0, 0)
    quad.client.mav.command_long_send(1, 100, 512, 0, 148, 0, 0, 0, 0, 0, 0)  # a camera
    assert not [m for m in quad.go(0.5) if m.get_type() == "COMMAND_ACK"]


def test_pings_clocks_logs_and_files_are_answered(quad: Bench) -> None:
    mav = quad.client.mav
    mav.ping_send(123456, 7, 0, 0)
    ping = quad.of("PING")
    assert (ping.time_usec, ping.seq, ping.target_system) == (123456, 7, 255)
    mav.timesync_send(0, 98765)
    sync = quad.of("TIMESYNC")
    assert sync.ts1 == 98765 and sync.tc1 == pytest.approx(quad.commander.time_us * 1000, abs=5e8)
    mav.log_request_list_send(1, 1, 0, 0xFFFF)
    assert quad.of("LOG_ENTRY").num_logs == 0
    mav.log_request_data_send(1, 1, 3, 0, 100)
    assert quad.of("LOG_DATA").count == 0
    for opcode, answer in ((2, 128), (3, 129), (4, 129), (99, 129)):
        mav.file_transfer_protocol_send(0, 1, 1, [5, 0, 0, opcode, *[0] * 247])
        reply = quad.of("FILE_TRANSFER_PROTOCOL")
        assert (reply.payload[0], reply.payload[3], reply.payload[5]) == (6, answer, opcode)


def test_home_can_be_moved_and_heights_count_from_it(quad: Bench) -> None:
    latitude, longitude, _ = quad.rig.geodetic([30.0, 40.0, 0.0])
    height = quad.front.home.origin.height_m
    quad.client.mav.command_int_send(
        1, 1, 0, 179, 0, 0, 0, 0, 0, 0, round(latitude * 1e7), round(longitude * 1e7), height + 5.0
    )  # fmt: skip
    assert quad.of("COMMAND_ACK").result == ACCEPTED
    told = quad.until(lambda m: m.get_type() == "HOME_POSITION" and m.x > 1.0)
    assert (told.x, told.y, told.z) == pytest.approx((30.0, 40.0, -5.0), abs=0.02)
    assert list(quad.rig.state.params[0, quad.rig.state.model.flat.p.rows("navigator.home"), 0]) == pytest.approx(
        [30.0, 40.0, -5.0], abs=0.02
    )
    quad.until(lambda m: m.get_type() == "GLOBAL_POSITION_INT" and abs(m.relative_alt + 5000) < 1500)  # mm, below home
    assert quad.command(179, 0, 0, 0, 0, 95.0, 0, 0) == DENIED
    spec = quad.front.home.origin
    assert quad.command(179, 0, 0, 0, 0, spec.latitude_deg, spec.longitude_deg, height) == ACCEPTED
