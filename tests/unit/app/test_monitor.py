"""The packet monitor: what a ground station and a flight say to each other is counted, and kept as a tlog."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import pytest
from live_rig import until

from ironbird.app.actions import act
from ironbird.app.monitor import MOST_KEPT, MOST_WAYS, Monitor
from ironbird.app.packets import Ubx, reader_of
from ironbird.app.pcap import Captured, capture
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT
from ironbird.errors import OrderError
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import COMMAND_ACK, COMMAND_LONG, HEARTBEAT, MESSAGES, Message
from ironbird.transport.router.cables import ServerCable
from ironbird.transport.router.route_file import route_of


def packet(packer: Packer) -> bytes:
    packer.add(HEARTBEAT, 0, 0, 0, 0, 0, 3)
    return bytes(packer.take())


def test_messages_are_counted_and_gaps_are_seen() -> None:
    monitor, packer = Monitor(), Packer(7)
    packets = [packet(packer) for _ in range(10)]
    for number in (0, 1, 2, 5, 6):  # two are lost
        monitor.watch("udp 1", True, packets[number])
    monitor.watch("udp 1", False, packets[0] + packets[1][:5])  # a packet, and the beginning of one
    monitor.watch("udp 1", True, b"noise")
    came, went = sorted(monitor.rows(), key=lambda row: row["way"])
    assert (came["message"], came["count"], came["missing"], came["way"]) == ("HEARTBEAT", 5, 2, "from")
    assert (went["count"], went["way"]) == (1, "to")
    assert bytes.fromhex(came["raw"]) == packets[6] and "type 0" in came["values"]
    assert came["lost"] == pytest.approx(2 / 7) and came["protocol"] == "MAVLink" and came["latency_ms"] is None
    assert len(monitor.rows("heartbeat from")) == 1 and len(monitor.rows("from")) == 1 and monitor.rows("gps") == []


def test_all_messages_of_both_dialects_are_shown_by_name_with_units_and_arrays_in_one() -> None:
    monitor, packer = Monitor(), Packer(7)
    wind = MESSAGES[168]  # of ArduPilot's dialect
    packer.add(wind, 90.0, 5.5, 0.0)
    packer.add(MESSAGES[331], *MESSAGES[331].record(time_usec=5, q0=1.0, x=2.5))
    packer.add(MESSAGES[110], *MESSAGES[110].record(payload0=171, payload1=16))
    packer.add(MESSAGES[410], *MESSAGES[410].record(sequence=3))  # PX4 adds it
    monitor.watch("udp 1", True, bytes(packer.take()))
    shown = {row["message"]: row["values"] for row in monitor.rows()}
    assert shown["WIND"] == "direction 90.0 deg, speed 5.5 m/s, speed_z 0.0 m/s"
    assert "time_usec 5 us, x 2.5 m" in shown["ODOMETRY"] and "q 1 0 0 0, " in shown["ODOMETRY"]
    assert shown["FILE_TRANSFER_PROTOCOL"].endswith("payload ab10")
    assert "sequence 3" in shown["EVENT"]


def test_what_is_kept_is_bounded_and_is_a_tlog() -> None:
    monitor, packer = Monitor(), Packer(7)
    one = packet(packer)
    for number in range(MOST_KEPT + 100):
        monitor.watch("udp 1", True, one)
        if number == MOST_KEPT // 2:
            assert monitor.rows()[0]["count"] == number + 1
    log = monitor.tlog()
    assert monitor.skipped == 0
    assert len(log) == MOST_KEPT * (8 + len(one))
    (stamp,) = struct.unpack(">Q", log[:8])
    assert stamp > 1.7e15 and log[8 : 8 + len(one)] == one


def test_a_ground_station_beside_a_flight_is_seen(tmp_path: Path) -> None:
    with Rig(tmp_path) as rig, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", 0))
        link = f"udp:127.0.0.1:{station.getsockname()[1]}"
        flight = rig.start("quad_f450", mavlink=link, until_s=600.0)
        until(lambda: any(row["message"] == "HEARTBEAT" for row in flight.monitor.rows("to")), flight)
        station.settimeout(60.0)
        data, address = station.recvfrom(2048)
        assert data[0] == 0xFD
        station.sendto(packet(Packer(255)), address)
        until(lambda: any(row["message"] == "HEARTBEAT" for row in flight.monitor.rows("from")), flight)
        assert str(station.getsockname()[1]) in flight.listens[0]


def frame(packer: Packer, message: Message, **fields: float) -> bytes:
    packer.add(message, *message.record(**fields))
    return bytes(packer.take())


def test_the_time_from_a_question_to_its_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monitor, packer = Monitor(), Packer(1)
    for late_s in (0.010, 0.030, 0.020):
        monitor.watch("gcs", False, frame(packer, COMMAND_LONG, command=400))
        now[0] += late_s
        monitor.watch("gcs", True, frame(packer, COMMAND_ACK, command=400))
        now[0] += 1.0
        monitor.watch("gcs", True, frame(packer, COMMAND_ACK, command=401))  # nobody asked
    (ack,) = monitor.rows("COMMAND_ACK")
    assert ack["latency_ms"] == pytest.approx(20.0) and ack["count"] == 6


def test_the_list_of_partners_is_bounded_and_the_silent_ones_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monitor, one = Monitor(), packet(Packer(7))
    for number in range(10 * MOST_WAYS):
        now[0] += 1.0
        monitor.watch(f"udp {number}", True, one)
        monitor.watch("udp kept", True, one)
    rows = monitor.rows()
    assert len(rows) == MOST_WAYS
    assert {row["partner"] for row in rows} >= {"udp kept", f"udp {10 * MOST_WAYS - 1}"}


def test_a_line_that_begins_with_words_is_read_once_it_speaks_mavlink() -> None:
    monitor, packer = Monitor(), Packer(7)
    for data in (b"Init ArduCopter V4.7\r\n", b"\r\nReady\r\n", packet(packer), packet(packer)):
        monitor.watch("serial", True, data)
    words, beat = monitor.rows()
    assert (words["protocol"], words["count"], words["message"]) == ("raw", 2, "raw")
    assert (beat["protocol"], beat["count"], beat["message"]) == ("MAVLink", 2, "HEARTBEAT")
    assert len(monitor.tlog()) == 2 * (8 + len(packet(packer)))


def test_what_nobody_looks_at_is_not_read_and_not_counted_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.app.packets.FrameReader", lambda: pytest.fail("it was read"))
    monitor, packer = Monitor(), Packer(7)
    packets = [packet(packer) for _ in range(MOST_KEPT + 500)]
    monitor.watch("quiet", False, packets[0])
    for one in packets:
        monitor.watch("udp 1", True, one)
    monkeypatch.undo()
    (row,) = monitor.rows("udp")
    assert monitor.rows("quiet")[0]["count"] == 1  # a busy link takes no room from a quiet one
    assert monitor.skipped == 500 and row["count"] == MOST_KEPT and row["missing"] == 0
    monitor.watch("udp 1", True, packet(packer))
    (row,) = monitor.rows("udp")
    assert monitor.skipped == 500 and row["count"] == MOST_KEPT + 1 and row["missing"] == 0


def test_what_is_read_now_and_then_is_counted_though_nobody_looks() -> None:
    monitor, packer = Monitor(), Packer(7)
    for number in range(3 * MOST_KEPT):
        monitor.watch("udp 1", True, packet(packer))
        if number % 100 == 0:
            monitor.catch_up()
    assert monitor.rows()[0]["count"] == 3 * MOST_KEPT and monitor.skipped == 0


def servos(count: int) -> bytes:
    return struct.pack("<HHI16H", 18458, 400, count, *[1500] * 16)


def test_json_and_servo_packets_are_decoded_and_what_is_missing_is_seen() -> None:
    monitor = Monitor()
    for count in (1, 2, 5):
        monitor.watch("json", False, b'\n{"timestamp":1.5,"imu":{"gyro":[0.1,0,0]}}\n')
        monitor.watch("json", True, servos(count))
    sent, came = sorted(monitor.rows(), key=lambda row: row["protocol"])
    assert sent["values"] == "timestamp 1.5, imu.gyro [0.1, 0, 0]" and sent["count"] == 3
    assert "frame_count 5, pwm 1500 1500" in came["values"] and came["missing"] == 2 and came["latency_ms"] is not None
    monitor.watch("json", True, b"\1\2\3")
    assert monitor.rows("servos")[0]["count"] == 3


def ubx(group: int, number: int, payload: bytes) -> bytes:
    body = bytes([group, number]) + len(payload).to_bytes(2, "little") + payload
    a = b = 0
    for value in body:
        a, b = (a + value) % 256, (b + a + value) % 256
    return b"\xb5\x62" + body + bytes([a, b])


def test_ubx_is_found_in_pieces_among_nmea_and_broken_frames() -> None:
    position = bytearray(92)
    position[20:24] = b"\3\1\0\x0c"  # 3D fix, twelve satellites
    position[24:32] = struct.pack("<ii", 111_234_567, 481_234_567)
    good = ubx(1, 7, bytes(position))
    data = b"$GPGGA,1*00\r\n" + good[:-1] + b"x" + good + b"\xb5\x62\xff\xff\xff\xff" + ubx(5, 1, b"\6\0") + b"\xb5"
    whole = Ubx().feed(data)
    reader = Ubx()
    pieces = [packet for byte in data for packet in reader.feed(bytes([byte]))]
    assert [packet.name for packet in whole] == [packet.name for packet in pieces] == ["UBX NAV-PVT", "UBX ACK-ACK"]
    values = Ubx.values(whole[0])
    assert (values["lon"], values["lat"], values["numSV"], values["fixType"]) == (111_234_567, 481_234_567, 12, 3)
    assert reader_of(data).protocol == "UBX" and reader_of(b"hello").protocol == "raw"


def read_pcap(data: bytes) -> list[tuple[int, bytes, int, bytes, int, bytes]]:
    """Time, addresses, ports and payload of each packet, by the draft of the format and RFC 791, 768, 1071."""
    magic, major, minor, _, _, snap, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, link) == (0xA1B23C4D, 2, 4, 101) and snap >= 65_535
    place, found = 24, []
    while place < len(data):
        seconds, ns, kept, whole = struct.unpack_from("<IIII", data, place)
        ip = data[place + 16 : place + 16 + kept]
        place += 16 + kept
        assert kept == whole == struct.unpack(">H", ip[2:4])[0] and ip[0] == 0x45 and ip[9] == 17
        assert ones(ip[:20]) == 0xFFFF
        udp = ip[20:]
        source, to, length = struct.unpack(">HHH", udp[:6])
        assert length == len(udp) and ones(ip[12:20] + struct.pack(">BBH", 0, 17, length) + udp) == 0xFFFF
        found.append((seconds * 10**9 + ns, ip[12:16], source, ip[16:20], to, udp[8:]))
    assert place == len(data)
    return found


def ones(data: bytes) -> int:
    total = 0
    for number in range(0, len(data), 2):
        total += int.from_bytes(data[number : number + 2].ljust(2, b"\0"), "big")
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_a_capture_is_read_back_from_the_description_of_its_format() -> None:
    given = [
        Captured(2_000_000_007, "udp 127.0.0.1:14540", True, b"later"),
        Captured(1_500_000_000, "serial", False, b"odd"),
        Captured(1_600_000_000, "udp 127.0.0.1:14540", False, b"\xff" * 1000),
    ]  # fmt: skip
    here, there = b"\x7f\0\0\1", b"\x7f\0\0\2"
    assert read_pcap(capture(given)) == [
        (1_500_000_000, here, 14550, there, 50_000, b"odd"),
        (1_600_000_000, here, 14550, there, 14540, b"\xff" * 1000),
        (2_000_000_007, there, 14540, here, 14550, b"later"),
    ]


def test_a_capture_holds_what_was_watched_by_the_words_of_a_filter() -> None:
    monitor, packer = Monitor(), Packer(7)
    monitor.watch("udp 127.0.0.1:14540", True, packet(packer))
    monitor.watch("json", True, servos(1))
    assert len(read_pcap(monitor.pcap())) == 2
    ((_, _, port, _, _, data),) = read_pcap(monitor.pcap("mavlink 14540 from"))
    assert port == 14540 and data[0] == 0xFD
    assert b"".join(read_pcap(monitor.pcap("servo"))[0][-1:]) == servos(1)


def test_packets_are_shown_and_saved_by_actions_too(tmp_path: Path) -> None:
    with Rig(tmp_path) as rig:
        rig.routes["../odd name"] = monitor = Monitor()
        monitor.watch("udp 127.0.0.1:14540", True, packet(Packer(9)))
        (row,) = act(rig, PILOT, "packets", {"of": "../odd name", "filter": "heartbeat"})["result"]
        assert row["message"] == "HEARTBEAT"
        files = [Path(name) for name in act(rig, PILOT, "capture", {"of": "../odd name"})["result"]]
        assert [file.suffix for file in files] == [".pcap", ".tlog"]
        assert all(file.parent == tmp_path and file.is_file() for file in files)
        assert len(read_pcap(files[0].read_bytes())) == 1
        assert not act(rig, PILOT, "capture", {"of": "nobody"})["ok"]


def test_a_route_beside_the_flights_is_watched(tmp_path: Path) -> None:
    with Rig(tmp_path) as rig, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        end.settimeout(60.0)
        router = rig.route("beside", route_of(["a=tcpin:0", f"b=udpout:127.0.0.1:{end.getsockname()[1]}"], []))
        server = router.connections["a"].cable
        assert isinstance(server, ServerCable)
        with socket.create_connection(("127.0.0.1", server.port)) as peer:
            peer.sendall(packet(Packer(9)))
            assert end.recv(100)[0] == 0xFD
        until(lambda: len(rig.monitors()["beside"].rows()) == 2)
        assert {(row["partner"], row["way"]) for row in rig.routes["beside"].rows()} == {("a", "from"), ("b", "to")}
        with pytest.raises(OrderError, match="'beside' already"):
            rig.route("beside", route_of(["a=tcpin:0"], []))
