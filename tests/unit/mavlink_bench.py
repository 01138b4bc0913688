"""A commanded vehicle with the MAVLink front end, stepped by the test, and a client on pymavlink."""

from __future__ import annotations

import math
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pymavlink import mavutil

from ironbird.rig.commander.commander import Commander
from ironbird.rig.rig import Rig, make_rig
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.systems.commanded.mavlink.connections import TcpEndpoint, UdpEndpoint
from ironbird.systems.commanded.mavlink.front import MavlinkFront
from ironbird.vehicles.load import load_vehicle

TICKS = 4
ANY_PORT = "udpin:127.0.0.1:0"
NAN = math.nan
MISSION = 0  # MAV_MISSION_TYPE


class Bench:
    """Vehicle, front end and one client."""

    def __init__(self, vehicle: str, links: str = ANY_PORT, *, connect: bool = True, **options: Any) -> None:
        self.rig: Rig = make_rig(load_vehicle(vehicle, control="commanded"), until_s=1000.0)
        self.front = MavlinkFront({"links": links, **options})
        self.system = CommandedSystem(self.front)
        self.system.start(self.rig)
        self.texts: list[str] = []
        self._waiting: deque[Any] = deque()
        self.client: Any = self.connect(0) if connect else None
        self.latest: dict[str, Any] = {}

    @property
    def commander(self) -> Commander:
        """Of the vehicle."""
        assert self.system.commander is not None
        return self.system.commander

    def connect(self, number: int) -> Any:
        """A client of an endpoint."""
        endpoint = self.front.endpoints[number]
        assert isinstance(endpoint, UdpEndpoint | TcpEndpoint)
        kind = "tcp" if isinstance(endpoint, TcpEndpoint) else "udpout"
        client = mavutil.mavlink_connection(f"{kind}:127.0.0.1:{endpoint.port}", source_system=255)
        client.mav.heartbeat_send(6, 8, 0, 0, 4)
        return client

    def step(self) -> None:
        """One exchange; what the client heard waits."""
        assert self.rig.step(TICKS)
        self.system.exchange(self.rig)
        self.listen()

    def listen(self) -> None:
        """Take what has come to the client."""
        while (message := self.client.recv_msg()) is not None:
            kind = message.get_type()
            self.latest[kind] = message
            self._waiting.append(message)
            if kind == "STATUSTEXT":
                if message.id and message.chunk_seq and self.texts:
                    self.texts[-1] += message.text
                else:
                    self.texts.append(message.text)

    def go(self, seconds: float) -> list[Any]:
        """So much simulation time; what the client heard."""
        end = self.rig.time_s + seconds
        self._waiting.clear()
        while self.rig.time_s < end - 1e-9:
            self.step()
        heard = list(self._waiting)
        self._waiting.clear()
        return heard

    def until(self, met: Callable[[Any], bool], seconds: float = 5.0) -> Any:
        """The first message that meets a condition; what came before it is left out. Loopback may be slow."""
        end, patience = self.rig.time_s + seconds, time.monotonic() + 60.0
        while True:
            while self._waiting:
                message = self._waiting.popleft()
                if met(message):
                    return message
            late = self.rig.time_s >= end
            if late and time.monotonic() >= patience:
                raise AssertionError(f"not heard within {seconds} s; texts: {self.texts[-5:]}")
            if late:
                time.sleep(0.01)
            self.step()

    def until_said(self, words: str) -> None:
        """Until a text has these words."""
        patience = time.monotonic() + 60.0
        while not any(words in text for text in self.texts):
            assert time.monotonic() < patience, self.texts
            self.step()

    def of(self, kind: str, seconds: float = 5.0) -> Any:
        """The next message of a kind."""
        return self.until(lambda m: m.get_type() == kind, seconds)

    def command(self, number: int, *params: float) -> int:
        """COMMAND_LONG; its result."""
        self.client.mav.command_long_send(1, 1, number, 0, *params, *[0.0] * (7 - len(params)))
        return int(self.until(lambda m: m.get_type() == "COMMAND_ACK" and m.command == number).result)

    def settle(self, seconds: float = 3.0) -> None:
        """Until the estimator lets the vehicle be armed."""
        self.go(seconds)
        while self.commander.arm() is not None:
            assert self.rig.time_s < 60.0
            self.step()
        self.commander.disarm()

    def fly(self, height_m: float = 8.0) -> None:
        """Armed and in the air, over MAVLink."""
        self.settle()
        assert self.command(400, 1) == 0
        assert self.command(22, 0, 0, 0, NAN, NAN, NAN, self.front.home.height_m + height_m) == 0
        self.until(lambda m: m.get_type() == "LOCAL_POSITION_NED" and m.z < -0.9 * height_m, 30.0)


@contextmanager
def bench(vehicle: str = "quad_f450", links: str = ANY_PORT, **options: Any) -> Iterator[Bench]:
    """A bench that leaves nothing open."""
    made = Bench(vehicle, links, **options)
    try:
        yield made
    finally:
        made.client.close()
        made.system.stop()


def bits(value: float) -> int:
    """Of a float, as a whole number."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def item(made: Bench, seq: int, command: int, north: float, east: float, height: float, **other: Any) -> dict[str, Any]:
    """A mission item in degrees."""
    latitude, longitude, _ = made.rig.geodetic([north, east, 0.0])
    given = {"frame": 3, "param1": 0.0, "param2": 0.0, "param3": 0.0, "param4": NAN, **other}
    return {"seq": seq, "command": command, "x": latitude, "y": longitude, "z": height, **given}


def send(made: Bench, row: dict[str, Any], whole: bool) -> None:
    params = [row[f"param{n}"] for n in (1, 2, 3, 4)]
    x, y = (round(row["x"] * 1e7), round(row["y"] * 1e7)) if whole else (row["x"], row["y"])
    way = made.client.mav.mission_item_int_send if whole else made.client.mav.mission_item_send
    way(1, 1, row["seq"], row["frame"], row["command"], 0, 1, *params, x, y, row["z"], MISSION)


def upload(made: Bench, rows: list[dict[str, Any]], *, whole: bool = True) -> int:
    """As a ground station does it; the result."""
    made.client.mav.mission_count_send(1, 1, len(rows), MISSION)
    while True:
        said = made.until(lambda m: m.get_type() in ("MISSION_REQUEST_INT", "MISSION_REQUEST", "MISSION_ACK"))
        if said.get_type() == "MISSION_ACK":
            return int(said.type)
        send(made, rows[said.seq], whole)
