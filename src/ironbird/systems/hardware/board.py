"""The exchange with a board in native code (`c/ib_board.c`), and its interface for the host program.

The exchange runs in native code from the sensors to the actuators. The host queues messages to be sent and reads what
the board sent through ring buffers that never block the exchange, however late the host is. A serial port or UDP socket
is used natively; any other cable (in memory, of a program) is called back.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.autopilots.px4.messages import Messages, Outputs, native_functions
from ironbird.compiler.native_text import load_texts
from ironbird.protocols.mavlink.codec import MESSAGES, Packer, Parser
from ironbird.rig.rig import Rig
from ironbird.runtime.paced import c_function
from ironbird.transport.cable import SILENT_S, Cable, DatagramCable, SerialCable

TEXTS = (MESSAGES, Path(__file__).parent / "c" / "ib_board.c")
ROOM = 65536  # bytes that wait for the board, beyond which ground stations are ignored
CAME = 1 << 18  # bytes received from the board at once
SAID = 1 << 22  # bytes that the host may be behind
ORDERED = 1 << 14
GAVE = 1 << 20  # bytes sent that an observer may be behind
ADDRESS = 16  # bytes of an address of UDP

TAKE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
GIVE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class _Ring(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_void_p), ("size", ctypes.c_int64), ("head", ctypes.c_int64), ("tail", ctypes.c_int64),
        ("overflowed", ctypes.c_int64),
    ]  # fmt: skip


class _Heard(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("tick", "wall_ns", "unsent", "fixes", "length")]


class _Cable(ctypes.Structure):
    """The C structure `ib_cable` of c/ib_board.c."""

    _fields_ = [
        ("read", ctypes.c_void_p), ("write", ctypes.c_void_p), ("ioctl", ctypes.c_void_p),
        ("recvfrom", ctypes.c_void_p), ("sendto", ctypes.c_void_p), ("error", ctypes.c_void_p),
        ("handle", ctypes.c_int64), ("peer", ctypes.c_uint8 * ADDRESS), ("known", ctypes.c_int64),
        ("heard_ns", ctypes.c_int64), ("silent_ns", ctypes.c_int64), ("strangers", ctypes.c_int64),
    ]  # fmt: skip


class _Board(ctypes.Structure):
    """The C structure `ib_board` of c/ib_board.c."""

    _fields_ = [
        ("take", ctypes.c_void_p), ("give", ctypes.c_void_p), ("cable", ctypes.c_void_p),
        ("stage_sensors", ctypes.c_void_p), ("stage_fix", ctypes.c_void_p), ("seal", ctypes.c_void_p),
        ("scan", ctypes.c_void_p), ("place", ctypes.c_void_p), ("sensors", ctypes.c_void_p), ("fix", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p), ("fix_stamp", ctypes.c_void_p), ("fix_seen", ctypes.c_double),
        ("stage", ctypes.c_void_p), ("frames", ctypes.c_void_p), ("rest", ctypes.c_void_p), ("came", ctypes.c_void_p),
        ("staged", ctypes.c_int64),
        ("room", ctypes.c_int64), ("came_room", ctypes.c_int64), ("waiting", ctypes.c_int64), ("kept", ctypes.c_int64),
        ("sequence", ctypes.c_uint8), ("system", ctypes.c_uint8), ("component", ctypes.c_uint8),
        ("spare", ctypes.c_uint8), ("ids", ctypes.c_void_p), ("extras", ctypes.c_void_p), ("known", ctypes.c_int64),
        ("tally", ctypes.c_int64 * 2), ("said", _Ring), ("ordered", _Ring), ("ground", _Ring),
        ("gave", _Ring), ("watched", ctypes.c_int64),
        ("tick_s", ctypes.c_double), ("controls", ctypes.c_double * 16), ("armed", ctypes.c_int64),
        ("armed_tick", ctypes.c_int64), ("sent", ctypes.c_int64), ("unsent", ctypes.c_int64),
        ("fixes", ctypes.c_int64), ("last_ns", ctypes.c_int64),
    ]  # fmt: skip


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "ib_ring": _Ring,
    "ib_heard": _Heard,
    "ib_cable": _Cable,
    "ib_board": _Board,
}


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_texts(*TEXTS, structures=STRUCTURES)
    library.ib_exchange.restype = library.ib_ring_put.restype = library.ib_ring_heard.restype = ctypes.c_int64
    library.ib_exchange.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    library.ib_ring_put.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64]
    library.ib_ring_heard.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    return library


def _address(library: ctypes.CDLL, name: str) -> int:
    return int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)


@dataclass(frozen=True)
class Heard:
    """Bytes that the board sent in one step, or that were sent to it, with their times."""

    tick: int
    wall_s: float
    unsent: int  # steps until then for which there was no room
    fixes: int  # sent before that step
    data: bytes


class Board:
    """A flight controller on an open cable; `messages`, `outputs` and `parser` belong to its vehicle."""

    def __init__(self, rig: Rig, cable: Cable, messages: Messages, outputs: Outputs, parser: Parser) -> None:
        self.cable = cable
        self.failed: BaseException | None = None  # exception of a cable that is called back
        self._held = (messages, outputs, parser)
        self._stage = np.zeros(ROOM, np.uint8)
        self._frames, self._rest = np.zeros(2 * ROOM, np.uint8), np.zeros(8 * ROOM, np.uint8)
        self._came = np.zeros(CAME, np.uint8)
        self._rings = [np.zeros(size, np.uint8) for size in (SAID, ORDERED, 4 * ROOM, GAVE)]
        self._copy = ctypes.create_string_buffer(CAME)
        self._record = _Heard()
        functions = native_functions()
        said, ordered, ground, gave = (_Ring(ring.ctypes.data, ring.size) for ring in self._rings)
        fix = messages.fixes[0] if messages.fixes else None
        self.native = _Board(
            stage_sensors=functions["ib_stage_inertial"],
            stage_fix=functions["ib_stage_fix"],
            seal=functions["ib_seal"],
            scan=functions["ib_scan"],
            place=functions["ib_place"],
            sensors=ctypes.addressof(messages.inertial),
            fix=None if fix is None else ctypes.addressof(fix),
            outputs=ctypes.addressof(outputs.native),
            fix_stamp=None if fix is None else fix.place.stamp,
            fix_seen=0.0 if fix is None else fix.place.seen,
            stage=self._stage.ctypes.data,
            frames=self._frames.ctypes.data,
            rest=self._rest.ctypes.data,
            came=self._came.ctypes.data,
            room=ROOM,
            came_room=CAME,
            known=len(parser.ids),
            ids=ctypes.addressof(parser.ids),
            extras=ctypes.addressof(parser.extras),
            said=said,
            ordered=ordered,
            ground=ground,
            gave=gave,
            tick_s=rig.state.model.step_s,
        )
        self._plug_in(cable)
        self._exchange = _library().ib_exchange
        self._at = ctypes.addressof(self.native)

    def _plug_in(self, cable: Cable) -> None:
        """Use the cable natively if it is a serial port or UDP socket, else by a callback."""
        native, library = self.native, _library()
        if type(cable) is SerialCable or (type(cable) is DatagramCable and cable.waits_for_peer):
            names = {"read": "read", "write": "write", "ioctl": "ioctl", "recvfrom": "recvfrom", "sendto": "sendto"}
            peer = cable.peer_address if isinstance(cable, DatagramCable) else b""
            self._cable = _Cable(
                **{name: c_function(function) for name, function in names.items()},
                error=c_function("__errno_location"),
                handle=cable.handle,
                peer=(ctypes.c_uint8 * ADDRESS)(*peer),
                known=bool(peer),
                heard_ns=time.monotonic_ns(),
                silent_ns=round(1e9 * SILENT_S),
            )
            kind = "tty" if type(cable) is SerialCable else "udp"
            native.take, native.give = _address(library, f"ib_{kind}_take"), _address(library, f"ib_{kind}_give")
            native.cable = ctypes.addressof(self._cable)
            self.is_native = True
            return
        self._take, self._give = TAKE(self._called_take), GIVE(self._called_give)
        native.take = ctypes.cast(self._take, ctypes.c_void_p).value
        native.give = ctypes.cast(self._give, ctypes.c_void_p).value
        self.is_native = False

    def _called(self, work: Callable[[], int]) -> int:
        try:
            return work()
        except BaseException as error:  # must not pass through native code: raised after the call
            self.failed = error
            return -errno.EIO

    def _called_take(self, _: int, to: int, room: int, wall_ns: int) -> int:
        def work() -> int:
            data = self.cable.read()[:room]
            ctypes.memmove(to, data, len(data))
            return len(data)

        return self._called(work)

    def _called_give(self, _: int, bytes_at: int, count: int) -> int:
        return self._called(lambda: self.cable.write(memoryview(ctypes.string_at(bytes_at, count))))

    # ------------------------------------------------------------------ the exchange

    @property
    def for_samples(self) -> int:
        """Function that the real-time loop calls between exchanges, for samples sent with the next one; its address."""
        return _address(_library(), "ib_sample")

    @property
    def for_loop(self) -> tuple[int, int]:
        """Address of the function that the real-time loop calls after each step, and its argument."""
        return _address(_library(), "ib_exchange"), self._at

    def exchange(self, tick: int, wall_s: float) -> None:
        """Do one exchange now; raises `OSError` if the cable is cut, or the exception of a called-back cable."""
        self.check(int(self._exchange(self._at, tick, round(1e9 * wall_s))))

    def check(self, result: int) -> None:
        """Raise the error that belongs to the result of an exchange."""
        if self.failed is not None:
            failed, self.failed = self.failed, None
            raise failed
        if result < 0:
            raise OSError(-result, "the cable is cut")

    @property
    def strangers(self) -> int:
        """Number of packets from other senders than the board, on a cable that is used natively."""
        return int(self._cable.strangers) if self.is_native else 0

    # ------------------------------------------------------------------ the host's side of the rings

    def order(self, packer: Packer) -> None:
        """Send messages with the next step, with sequence numbers of this link."""
        staged = packer.staged()
        _library().ib_ring_put(ctypes.addressof(self.native.ordered), staged, len(staged))

    def pass_on(self, frames: bytes) -> None:
        """Send frames of ground stations unchanged."""
        if frames and len(frames) <= ROOM:
            _library().ib_ring_put(ctypes.addressof(self.native.ground), frames, len(frames))

    def watch(self) -> None:
        """From now on keep the bytes sent to the board, for `gave`."""
        self.native.watched = 1

    def gave(self) -> Iterator[Heard]:
        """Bytes sent to the board since the last call, one item per write."""
        return self._read(self.native.gave)

    def heard(self) -> Iterator[Heard]:
        """Bytes that the board sent since the last call."""
        return self._read(self.native.said)

    def _read(self, of: _Ring) -> Iterator[Heard]:
        ring, record = ctypes.addressof(of), self._record
        while _library().ib_ring_heard(ring, ctypes.addressof(record), ctypes.addressof(self._copy), CAME) == 1:
            data = ctypes.string_at(self._copy, record.length)
            yield Heard(record.tick, 1e-9 * record.wall_ns, record.unsent, record.fixes, data)
