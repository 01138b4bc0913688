"""The packet monitor: what a ground station and a flight say to each other is counted, and kept as a tlog."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from live_rig import until

from ironbird.app.monitor import MOST_KEPT, Monitor
from ironbird.app.rig import Rig
from ironbird.links.mavlink.codec import Packer
from ironbird.links.mavlink.dialect import HEARTBEAT


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
    assert monitor.rows("heartbeat from") == [] and len(monitor.rows("from")) == 1


def test_what_is_kept_is_bounded_and_is_a_tlog() -> None:
    monitor, packer = Monitor(), Packer(7)
    one = packet(packer)
    for _ in range(MOST_KEPT + 100):
        monitor.watch("udp 1", True, one)
    log = monitor.tlog()
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
