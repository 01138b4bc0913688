"""A client of RflySim's interface, written from the document alone: it knows nothing of the server's table."""

from __future__ import annotations

import contextlib
import math
import socket
import struct
from collections.abc import Callable, Iterator, Sequence

BASE = {"command": 20100, "state": 20101, "model": 30100, "truth": 30101, "extra": 40101}


def free_shift() -> int:
    """A shift of all port numbers at which nobody listens."""
    for shift in range(100, 20000, 200):
        with contextlib.ExitStack() as stack:
            try:
                firsts = (*BASE.values(), 20002, 20005, 20010, 31000)
                for port in {first + shift + more for first in firsts for more in range(8)}:
                    stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).bind(("127.0.0.1", port))
            except OSError:
                continue
            return shift
    raise OSError("no free ports")


class Client:
    """One vehicle's client: sends set-points, keeps the newest of everything that it hears."""

    def __init__(self, shift: int, vehicle: int = 1, *, simple: bool = False) -> None:
        self.simple, self.vehicle = simple, vehicle
        self.ports = {name: first + shift + 2 * (vehicle - 1) for name, first in BASE.items()}
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._in = {name: self._bound(self.ports[name]) for name in ("state", "truth", "extra")}
        self.estimate: dict[str, tuple[float, ...]] = {}
        self.truth: dict[str, tuple[float, ...]] = {}
        self.home: tuple[int, ...] = ()
        self.ready = self.hit = False
        self.out_copter: tuple[float, ...] = ()
        self.origin: tuple[float, ...] = ()
        self.actuators: tuple[float, ...] = ()
        self.lengths: dict[str, set[int]] = {name: set() for name in self._in}
        self.setpoint: bytes = b""

    def _bound(self, port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("127.0.0.1", port))
        made.setblocking(False)
        return made

    def close(self) -> None:
        for made in (self._out, *self._in.values()):
            made.close()

    # ------------------------------------------------------------------ out

    def send(self, data: bytes, to: str = "command") -> None:
        self._out.sendto(data, ("127.0.0.1", self.ports[to]))

    def send_to(self, data: bytes, port: int) -> None:
        self._out.sendto(data, ("127.0.0.1", port))

    @contextlib.contextmanager
    def listening(self, port: int) -> Iterator[Callable[[], list[bytes]]]:
        """Another port: a call gives what has come."""
        made = self._bound(port)

        def taken() -> list[bytes]:
            found = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    found.append(made.recv(65500))
            return found

        try:
            yield taken
        finally:
            made.close()

    def arm(self, on: bool) -> None:
        self.send(struct.pack("<2i4f", 1234567890, 9, float(on), 0, 0, 0))

    def position(self, x: float, y: float, z: float, yaw: float = 0.0, *, body: bool = False) -> None:
        if self.simple:
            self.setpoint = struct.pack("<2i4f", 1234567890, 3 if body else 2, x, y, z, yaw)
        else:
            self._full(0x0BF8, 8 if body else 1, pos=(x, y, z), yaw=yaw)

    def velocity(self, x: float, y: float, z: float, yaw_rate: float = 0.0, *, body: bool = False) -> None:
        if self.simple:
            self.setpoint = struct.pack("<2i4f", 1234567890, 1 if body else 0, x, y, z, yaw_rate)
        else:
            self._full(0x07C7, 8 if body else 1, vel=(x, y, z), yaw_rate=yaw_rate)

    def _full(
        self,
        mask: int,
        frame: int,
        pos: Sequence[float] = (0, 0, 0),
        vel: Sequence[float] = (0, 0, 0),
        yaw: float = 0.0,
        yaw_rate: float = 0.0,
    ) -> None:
        body = struct.pack("<4I16f", 0, self.vehicle, mask, frame, *pos, *vel, 0, 0, 0, yaw, yaw_rate, 0, 0, 0, 0, 0)
        self.setpoint = struct.pack("<2i", 3, len(body)) + body + bytes(112 - len(body))

    def sil(self, ints: Sequence[int], floats: Sequence[float]) -> None:
        ints, floats = [*ints, *[0] * 8][:8], [*floats, *[0.0] * 20][:20]
        self.send(struct.pack("<10i20f", 1234567897, self.vehicle, *ints, *floats), "model")

    # ------------------------------------------------------------------ in

    def hear(self) -> None:
        for name, made in self._in.items():
            while True:
                try:
                    data = made.recv(65500)
                except BlockingIOError:
                    break
                self.lengths[name].add(len(data))
                getattr(self, f"_{name}")(data)

    def _state(self, data: bytes) -> None:
        if len(data) == 120:
            tg, length, *v = struct.unpack("<2i2I14i12f", data)
            assert length == 112
            self.estimate = {"euler": tuple(v[16:19]), "pos": tuple(v[19:22]), "vel": tuple(v[22:25])}
            self.home, self.ready, self.hit = tuple(v[8:11]), v[27] > 0.5, tg >= 0
        elif len(data) == 52:
            checksum, *v = struct.unpack("<4i9f", data)
            if checksum == 1234567890:
                self.estimate = {"euler": tuple(v[3:6]), "pos": tuple(v[6:9]), "vel": tuple(v[9:12])}
                self.home = tuple(v[:3])
            self.ready |= checksum == 1234567891
            self.hit |= checksum == 1234567892

    def _truth(self, data: bytes) -> None:
        if len(data) == 200:
            tg, length = struct.unpack_from("<2i", data)
            v = struct.unpack("@2i1d27f3d", data[8:160])
            assert length == 152
            self.truth = {
                "time": (v[2],), "vel": v[3:6], "pos": v[6:9], "euler": v[9:12], "quaternion": v[12:16],
                "rpm": v[16:24], "acc": v[24:27], "rate": v[27:30], "gps": v[30:33], "tg": (tg,),
            }  # fmt: skip
        elif len(data) == 264:
            v = struct.unpack("<ii32d", data)
            self.out_copter = v[2:]
        elif len(data) == 32:
            self.origin = struct.unpack("<ii3d", data)[2:]

    def _extra(self, data: bytes) -> None:
        checksum, _, _, *controls = struct.unpack("<iid8f", data)
        assert checksum == 1234567898
        self.actuators = tuple(controls)

    def near(self, x: float, y: float, z: float, within: float = 0.6) -> bool:
        return bool(self.estimate) and math.dist(self.estimate["pos"], (x, y, z)) < within


class MavlinkClient(Client):
    """The same in the MAVLink modes, with pymavlink's own packing; truth comes between the autopilot's messages."""

    def __init__(self, shift: int, vehicle: int = 1) -> None:
        from pymavlink.dialects.v20 import common

        super().__init__(shift, vehicle)
        self.words = common
        self._mav = common.MAVLink(None, srcSystem=255, srcComponent=0)
        self._mav.robust_parsing = True
        self.armed = False
        self.custom_mode = 0
        self.named: set[str] = set()

    def _packed(self, message: object) -> bytes:
        return bytes(message.pack(self._mav))  # type: ignore[attr-defined]

    def command(self, number: int, *values: float) -> None:
        padded = [*values, *[0.0] * 7][:7]
        self.send(self._packed(self._mav.command_long_encode(self.vehicle, 1, number, 0, *padded)))

    def arm(self, on: bool) -> None:
        self.command(400, float(on), 0.0 if on else 21196.0)

    def offboard(self) -> None:
        self.command(176, 33.0, 6.0)

    def _full(
        self,
        mask: int,
        frame: int,
        pos: Sequence[float] = (0, 0, 0),
        vel: Sequence[float] = (0, 0, 0),
        yaw: float = 0.0,
        yaw_rate: float = 0.0,
    ) -> None:
        self.setpoint = self._packed(
            self._mav.set_position_target_local_ned_encode(
                0, self.vehicle, 1, frame, mask, *pos, *vel, 0, 0, 0, yaw, yaw_rate
            )
        )

    def _state(self, data: bytes) -> None:
        for message in self._mav.parse_buffer(data) or []:
            kind = message.get_type()
            self.named.add(kind)
            if kind == "HEARTBEAT":
                self.armed, self.custom_mode = bool(message.base_mode & 128), message.custom_mode
            elif kind == "ATTITUDE":
                self.estimate["euler"] = message.roll, message.pitch, message.yaw
            elif kind == "LOCAL_POSITION_NED":
                self.estimate["pos"] = message.x, message.y, message.z
                self.estimate["vel"] = message.vx, message.vy, message.vz
            elif kind == "HOME_POSITION":
                self.home = message.latitude, message.longitude, message.altitude
            elif kind == "HIL_ACTUATOR_CONTROLS" and message.flags == 1234567890:
                self.ready |= message.mode != 2 and message.controls[15] > 0.5
                self.between = tuple(message.controls)
