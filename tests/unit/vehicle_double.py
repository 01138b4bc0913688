"""A vehicle made of pymavlink and a point that moves: what clients are tried against, honest or not.

It answers as PX4 or as ArduPilot does, as far as a client can tell: modes, arming, take-off, set-points and their loss,
missions, parameters in either encoding. Its clock runs `pace` times as fast as the wall's.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from pymavlink.dialects.v20 import ardupilotmega as m

HOME = (47.397742, 8.545594, 488.0)
PX4_LOITER, PX4_OFFBOARD = 4 << 16 | 3 << 24, 6 << 16
PX4_LAND, PX4_TAKEOFF, PX4_MISSION = 4 << 16 | 6 << 24, 4 << 16 | 2 << 24, 4 << 16 | 4 << 24
COPTER = {"GUIDED": 4, "STABILIZE": 0, "LAND": 9, "AUTO": 3}
STREAM_LOST_S = 2.0
STEP_S = 0.02
STALLED_S = 0.05


class Double:
    """The vehicle and its thread. Behaviours are switched by its fields."""

    def __init__(
        self,
        autopilot: Literal["px4", "ardupilot"] = "px4",
        *,
        tcp: bool = False,
        pace: float = 4.0,
        system: int = 1,
        kind: int = m.MAV_TYPE_QUADROTOR,
        port: int = 0,
    ) -> None:
        self.autopilot, self.pace, self.kind = autopilot, pace, kind
        self.time_s = 0.0
        self.armed = False
        self.mode = PX4_LOITER if autopilot == "px4" else COPTER["STABILIZE"]
        self.position, self.speed = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        self.attitude = [0.0, 0.0, 0.3]
        self.target: Any = None
        self.target_s = -math.inf
        self.gaps: list[float] = []  # between set-points, in the vehicle's time
        self.takeoff_m = 0.0
        self.params: dict[str, tuple[float, int]] = {
            "NAV_LOITER_RAD": (80.0, 9), "WP_LOITER_RAD": (60.0, 9), "COM_RCL_EXCEPT": (4, 6), "MC_ROLL_P": (6.5, 9),
        }  # fmt: skip
        self.mission: list[Any] = []
        self.expected = 0
        self.item = -1
        self.heard: dict[str, Any] = {}  # last message of each type
        self.commands: list[tuple[int, tuple[float, ...]]] = []
        self.refuse: dict[int, int] = {}  # MAV_CMD -> MAV_RESULT
        self.deaf: set[str] = set()  # types of messages that it does not answer
        self.silent = False
        self.before_send: Callable[[Any], Any] = lambda message: message
        self._over = False
        self._tcp = tcp
        kind_of_socket = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
        self.socket = socket.socket(socket.AF_INET, kind_of_socket)
        self.socket.bind(("127.0.0.1", port))
        if tcp:
            self.socket.listen(1)
        self.port = int(self.socket.getsockname()[1])
        self.peer: Any = None
        self.codec = m.MAVLink(None, srcSystem=system, srcComponent=1)
        self.codec.robust_parsing = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Double:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()
        if self._tcp and self.peer is not None:
            self.peer.close()
        self.socket.close()

    @property
    def address(self) -> str:
        return f"{'tcp' if self._tcp else 'udpout'}:127.0.0.1:{self.port}"

    def hang_up(self) -> None:
        """Close the connection of a client."""
        self.peer.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------------------------------------ the thread

    def _run(self) -> None:
        begin, steps = time.monotonic(), 0
        while not self._over:
            due = begin + steps * STEP_S / self.pace
            if (late := time.monotonic() - due) > STALLED_S:  # the computer was busy: the vehicle's clock waits
                begin, due = begin + late, due + late
            self._take(max(due - time.monotonic(), 0.0))
            steps += 1
            self._step()
            if not self.silent and self.peer is not None:
                self._tell(steps)

    def _take(self, wait_s: float) -> None:
        end = time.monotonic() + wait_s
        while True:
            reader = self.peer if self._tcp and self.peer is not None else self.socket
            ready, _, _ = select.select([reader], [], [], max(end - time.monotonic(), 0.0))
            if not ready:
                return
            try:
                if not self._tcp:
                    data, self.peer = self.socket.recvfrom(65536)
                elif self.peer is None:
                    self.peer, _ = self.socket.accept()
                    continue
                else:
                    data = self.peer.recv(65536)
            except OSError:
                return
            if not data:
                time.sleep(max(end - time.monotonic(), 0.0))
                return
            for message in self.codec.parse_buffer(data) or []:
                name = message.get_type()
                self.heard[name] = message
                if name not in self.deaf and not self.silent:
                    getattr(self, f"_on_{name.lower()}", lambda _: None)(message)

    def say(self, message: Any) -> None:
        """Send, unless the test has something against it."""
        message = self.before_send(message)
        for one in message if isinstance(message, list) else [message]:
            if one is None:
                continue
            data = one if isinstance(one, bytes) else one.pack(self.codec)
            with contextlib.suppress(OSError):
                if self._tcp:
                    self.peer.sendall(data)
                else:
                    self.socket.sendto(data, self.peer)

    def _tell(self, steps: int) -> None:
        ms = round(1000 * self.time_s)
        north, east, down = self.position
        if steps % 3 == 0:
            self.say(m.MAVLink_local_position_ned_message(ms, *self.position, *self.speed))
            self.say(m.MAVLink_attitude_message(ms, *self.attitude, 0.0, 0.0, 0.0))
        if steps % 10 == 0:
            lat, lon = HOME[0] + north / 111_200, HOME[1] + east / (111_200 * math.cos(math.radians(HOME[0])))
            self.say(
                m.MAVLink_global_position_int_message(
                    ms,
                    round(lat * 1e7),
                    round(lon * 1e7),
                    round((HOME[2] - down) * 1e3),
                    round(-down * 1e3),
                    0,
                    0,
                    0,
                    0,
                )
            )
            state = 1 if down > -0.05 else 2
            self.say(m.MAVLink_extended_sys_state_message(0, state))
        if steps % 25 == 0:
            base = 1 | (128 if self.armed else 0)
            kind = 12 if self.autopilot == "px4" else 3
            self.say(m.MAVLink_heartbeat_message(self.kind, kind, base, self.mode, 4, 3))
            self.say(
                m.MAVLink_home_position_message(
                    *(round(v * 1e7) for v in HOME[:2]), round(HOME[2] * 1e3), 0, 0, 0, [1, 0, 0, 0], 0, 0, 0
                )
            )
            ready = 0x10000000
            self.say(m.MAVLink_sys_status_message(ready, ready, ready, 0, 12_100, 350, 87, 0, 0, 0, 0, 0, 0))

    def _step(self) -> None:
        self.time_s += STEP_S
        offboard = self.mode == (PX4_OFFBOARD if self.autopilot == "px4" else COPTER["GUIDED"])
        lost = self.time_s - self.target_s > STREAM_LOST_S
        wanted = list(self.position)
        self.speed = [0.0, 0.0, 0.0]
        if not self.armed:
            return
        if self.takeoff_m:
            wanted[2] = -self.takeoff_m
            if abs(self.position[2] - wanted[2]) < 0.05:
                self.takeoff_m = 0.0
                if self.autopilot == "px4":
                    self.mode = PX4_LOITER
        elif self.mode in (PX4_LAND, COPTER["LAND"]):
            wanted[2] = 0.0
            if self.position[2] > -0.02:
                self.armed = False
        elif offboard and self.target is not None and not lost:
            said = self.target
            if not said.type_mask & 0x7:
                wanted = [said.x, said.y, said.z]
                if not said.type_mask & 0x400:
                    self.attitude[2] = said.yaw
            else:
                self.speed = self._velocity(said)
                self.position = [p + v * STEP_S for p, v in zip(self.position, self.speed, strict=True)]
                return
        elif offboard and self.autopilot == "px4" and lost:
            self.mode = PX4_LOITER
        elif self.mode in (PX4_MISSION, COPTER["AUTO"]) and self.mission:
            self._fly_mission(wanted)
        off = [w - p for w, p in zip(wanted, self.position, strict=True)]
        length = math.hypot(*off)
        move = min(1.0, 5.0 * STEP_S / length) if length > 1e-9 else 0.0
        self.speed = [move * value / STEP_S for value in off]
        self.position = [p + move * value for p, value in zip(self.position, off, strict=True)]

    def _velocity(self, said: Any) -> list[float]:
        if said.coordinate_frame != 8:
            return [said.vx, said.vy, said.vz]
        cos, sin = math.cos(self.attitude[2]), math.sin(self.attitude[2])
        return [said.vx * cos - said.vy * sin, said.vx * sin + said.vy * cos, said.vz]

    def _fly_mission(self, wanted: list[float]) -> None:
        self.item = max(self.item, 0 if self.autopilot == "px4" else 1)  # ArduPilot's place 0 is home
        item = self.mission[self.item]
        down = 0.0 if item.command == 21 else -item.z
        wanted[:] = [
            (item.x * 1e-7 - HOME[0]) * 111_200 if item.x else self.position[0],
            (item.y * 1e-7 - HOME[1]) * 111_200 * math.cos(math.radians(HOME[0])) if item.y else self.position[1],
            down,
        ]
        if math.dist(wanted, self.position) < 0.1:
            self.say(m.MAVLink_mission_item_reached_message(self.item))
            if self.item + 1 < len(self.mission):
                self.item += 1
            elif item.command == 21:
                self.armed = False

    # ------------------------------------------------------------------------------------------ what came

    def _on_command_long(self, said: Any) -> None:
        params = tuple(getattr(said, f"param{place}") for place in range(1, 8))
        self._obey(said.command, params)

    def _on_command_int(self, said: Any) -> None:
        self._obey(said.command, (said.param1, said.param2, said.param3, said.param4, said.x, said.y, said.z))

    def _obey(self, command: int, params: tuple[float, ...]) -> None:
        self.commands.append((command, params))
        result = self.refuse.get(command, 0)
        if result == 0:
            result = self._done(command, params)
        self.say(m.MAVLink_command_ack_message(command, result))

    def _done(self, command: int, params: tuple[float, ...]) -> int:
        if command == m.MAV_CMD_COMPONENT_ARM_DISARM:
            self.armed = params[0] > 0.5
        elif command == m.MAV_CMD_NAV_TAKEOFF:
            self.takeoff_m = params[6] - (HOME[2] if self.autopilot == "px4" else 0.0)
            if self.autopilot == "px4":
                self.mode = PX4_TAKEOFF
        elif command == m.MAV_CMD_DO_SET_MODE:
            main, sub = int(params[1]), int(params[2])
            mode = main << 16 | sub << 24 if self.autopilot == "px4" else main
            if mode == PX4_OFFBOARD and self.time_s - self.target_s > STREAM_LOST_S:
                return m.MAV_RESULT_TEMPORARILY_REJECTED
            self.mode, self.takeoff_m = mode, 0.0
        elif command == m.MAV_CMD_MISSION_START:
            self.mode = COPTER["AUTO"]
        return 0

    def _on_set_position_target_local_ned(self, said: Any) -> None:
        if math.isfinite(self.target_s):
            self.gaps.append(self.time_s - self.target_s)
        self.target, self.target_s = said, self.time_s

    def _on_set_attitude_target(self, said: Any) -> None:
        self.target_s = self.time_s
        self.target = None

    def _on_param_request_read(self, said: Any) -> None:
        names = sorted(self.params)
        name = (
            said.param_id if said.param_index < 0 else names[said.param_index] if said.param_index < len(names) else ""
        )
        if name in self.params:
            self._tell_param(name)

    def _on_param_request_list(self, said: Any) -> None:
        for name in sorted(self.params):
            self._tell_param(name)

    def _tell_param(self, name: str) -> None:
        value, kind = self.params[name]
        coded = float(value)
        if self.autopilot == "px4" and kind == 6:
            coded = struct.unpack("<f", struct.pack("<i", int(value)))[0]
        place = sorted(self.params).index(name)
        self.say(m.MAVLink_param_value_message(name.encode(), coded, kind, len(self.params), place))

    def _on_param_set(self, said: Any) -> None:
        if said.param_id not in self.params:
            return
        value = said.param_value
        if self.autopilot == "px4" and said.param_type == 6:
            value = struct.unpack("<i", struct.pack("<f", value))[0]
        self.params[said.param_id] = (value, said.param_type)
        self._tell_param(said.param_id)

    def _on_mission_count(self, said: Any) -> None:
        self.mission, self.expected, self.item = [], said.count, -1
        self.say(m.MAVLink_mission_request_int_message(255, 190, 0))

    def _on_mission_item_int(self, said: Any) -> None:
        if said.seq == len(self.mission):
            self.mission.append(said)
        if len(self.mission) < self.expected:
            self.say(m.MAVLink_mission_request_int_message(255, 190, len(self.mission)))
        else:
            self.say(m.MAVLink_mission_ack_message(255, 190, 0))

    def _on_mission_clear_all(self, said: Any) -> None:
        self.mission = []
        self.say(m.MAVLink_mission_ack_message(255, 190, 0))

    def _on_mission_request_list(self, said: Any) -> None:
        self.say(m.MAVLink_mission_count_message(255, 190, len(self.mission)))

    def _on_mission_request_int(self, said: Any) -> None:
        item = self.mission[said.seq]
        self.say(
            m.MAVLink_mission_item_int_message(
                255, 190, item.seq, item.frame, item.command, 0, 1, item.param1, item.param2, item.param3, item.param4,
                item.x, item.y, item.z,
            )
        )  # fmt: skip
