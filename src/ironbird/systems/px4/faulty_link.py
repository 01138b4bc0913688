"""Link faults on PX4's simulator link: sensors and sticks to PX4, controls from it, each packet separately."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.rig.link_faults import FlownLinks
from ironbird.transport.frames import FrameReader

STAMP = 8  # bytes of the time in HIL_SENSOR
ID_AT = 64  # offset of the id of the inertial unit in HIL_SENSOR; truncated if it is zero


class SimulatorWays:
    """Lets link faults act on the frames of the simulator link, in both directions."""

    def __init__(self, links: FlownLinks) -> None:
        self._sensors, self._sticks, self._controls = (links.way(name) for name in ("sensors", "rc", "actuators"))
        self._reader, self._packer, self._parser = FrameReader(), Packer(), Parser()
        self._buffer = ctypes.create_string_buffer(0)

    def out(self, frames: tuple[int, int]) -> tuple[tuple[int, int], int]:
        """Frames (address, length) that reach PX4 now in place of these, and the time to which they set its clock.

        The time is -1 if no frame arrives: PX4 then makes no step.
        """
        ready: list[bytes] = []
        for frame in self._reader.feed(ctypes.string_at(*frames)):
            way = self._sticks if frame.id == dialect.RC_CHANNELS.id else self._sensors
            if way is None:
                ready.append(frame.data)
            else:
                way.put(frame)
        for way in (self._sensors, self._sticks):
            ready += way.due() if way is not None else []
        data = b"".join(ready)
        self._buffer = ctypes.create_string_buffer(data, max(len(data), 1))
        return (ctypes.addressof(self._buffer), len(data)), self._newest_us(data)

    def _newest_us(self, data: bytes) -> int:
        times = [
            int.from_bytes(frame.payload[:STAMP].ljust(STAMP, b"\0"), "little")
            for frame in FrameReader().feed(data)
            if frame.id == dialect.HIL_SENSOR.id and frame.payload[ID_AT : ID_AT + 1] in (b"", b"\0")
        ]
        return max(times, default=-1)

    @property
    def takes_controls(self) -> bool:
        """Whether a fault can act on PX4's outputs."""
        return self._controls is not None

    def put_controls(self, time_us: int, flags: int, controls: tuple[float, ...], mode: int) -> None:
        """Put one message of PX4's outputs on the faulty link."""
        assert self._controls is not None
        self._packer.add(dialect.HIL_ACTUATOR_CONTROLS, time_us, flags, *controls, mode)
        for frame in self._reader.feed(bytes(self._packer.take())):
            self._controls.put(frame)

    def arrived(self) -> Iterator[tuple[tuple[float, ...], int]]:
        """Outputs that arrive now, with the mode."""
        for packet in self._controls.due() if self._controls is not None else ():
            for _, payload, _, _ in self._parser.feed(packet):
                _, _, *controls, mode = dialect.HIL_ACTUATOR_CONTROLS.unpack(payload)
                yield tuple(controls), int(mode)
