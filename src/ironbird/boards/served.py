"""A board behind the device files of unmodified Linux programs, by a preloaded library (`c/`).

A run has a folder: the board's memory, which programs map, and a socket for each serial line. The chips are C code in
the programs' own processes; with `transport="socket"` every request goes to a `Wiring` here instead. Chips, wires and
serial lines advance with `tick`, which the owner of the vehicle calls; requests in between carry their own time.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import threading
from collections.abc import Mapping
from pathlib import Path

from ironbird.boards.board import Board
from ironbird.boards.chips.bus import QUICK_READ
from ironbird.boards.chips.trace import Transaction
from ironbird.boards.native_board import LONGEST, NativeBoard
from ironbird.boards.native_chips import ERRORS, chips_text
from ironbird.boards.wiring import Wiring
from ironbird.compiler import native
from ironbird.errors import LinkError
from ironbird.host.virtual_time import run as virtual_time

FOLDER = Path(__file__).parent / "c"
VARIABLE = "IRONBIRD_BUS_FILES"
TEXTS = ("bus_files.c", "sysfs.c")
MEMORY, LIBRARY, TRACE = "board", "bus_files.so", "trace.txt"
_REQUEST = struct.Struct("<6q")  # kind, bus, select or address, time in ns, bytes to send, bytes to read


def library() -> bytes:
    """Bytes of the preloaded library, compiled for this computer or from the cache."""
    if os.uname().sysname != "Linux" or os.uname().machine != "x86_64":
        raise LinkError("device files for programs of others need Linux on x86-64; use ironbird.boards.clients")
    head = "".join((virtual_time.FOLDER / name).read_text() for name in ("vt_layout.h", "vt_kernel.h", "host_guard.c"))
    return native.build_preload(head + chips_text() + "".join((FOLDER / name).read_text() for name in TEXTS))


class ServedBoard:
    """The board of one run. In virtual time its requests use the clock of that run."""

    def __init__(
        self,
        board: Board,
        folder: Path,
        *,
        seed: int = 0,
        traced: bool = False,
        virtual: bool = False,
        wiring: Wiring | None = None,
    ) -> None:
        self.folder = folder
        self.owner = virtual_time.owner_of_programs("chips serve")
        (folder / LIBRARY).write_bytes(library())
        self.chips = NativeBoard(board, seed=seed, path=folder / MEMORY)
        memory = self.chips.memory
        memory.virtual_time, memory.traced, memory.by_socket = int(virtual), int(traced), int(wiring is not None)
        self.wiring = wiring
        self._trace = (folder / TRACE).open("a") if traced else None
        self._ports = [i for i, device in enumerate(board.device) if device.kind == "uart"]
        self._servers = {i: self._listen(f"uart{i}", socket.SOCK_STREAM) for i in self._ports}
        self._lines: dict[int, socket.socket] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        if wiring is not None:
            self._requests = self._listen("bus", socket.SOCK_SEQPACKET)
            self._thread = threading.Thread(target=self._answer, name="bus requests", daemon=True)
            self._thread.start()
        self._make_sysfs(board)
        if self.owner is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, *self.owner)

    def _make_sysfs(self, board: Board) -> None:
        """Create the files of /sys/class that exist before anything is exported."""
        for number, count in enumerate(board.sysfs.pwm):
            place = self.folder / "sys" / "class" / "pwm" / f"pwmchip{number}"
            place.mkdir(parents=True)
            (place / "npwm").write_text(f"{count}\n")
            for name in ("export", "unexport"):
                (place / name).write_text("")
        if board.sysfs.gpio:
            place = self.folder / "sys" / "class" / "gpio"
            place.mkdir(parents=True)
            for name in ("export", "unexport"):
                (place / name).write_text("")

    def _listen(self, name: str, kind: int) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, kind)
        try:
            made.bind(str(self.folder / name))
        except OSError as error:
            made.close()
            raise LinkError(f"{self.folder / name} cannot be a socket: {error}; give a shorter folder") from error
        made.listen(8)
        made.setblocking(False)
        return made

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Environment variables of a program, in addition to `more`."""
        before = (more or {}).get("LD_PRELOAD", "")
        preload = " ".join(filter(None, (str(self.folder / LIBRARY), before)))
        return dict(more or {}) | {"LD_PRELOAD": preload, VARIABLE: str(self.folder / MEMORY)}

    def record(self, now: bool) -> None:
        """Switch the recording of requests to the trace on or off; the board was made with a trace."""
        self.chips.memory.traced = int(now and self._trace is not None)

    def zero_is(self, clock_ns: int) -> None:
        """Set the time of the programs' monotonic clock at which simulation time begins."""
        self.chips.memory.zero_ns = clock_ns

    def tick(self, t: int) -> None:
        """Advance the chips to a time, let them sample the new inputs, and transfer due bytes of serial lines."""
        if self.wiring is not None:
            self.wiring.advance(t)
            self.wiring.take(self.chips.inputs)
        else:
            self.chips.tick(t)
        for number in self._ports:
            self._carry(t, number)

    def _carry(self, t: int, number: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:  # the newest connection to a line is its user
                made, _ = self._servers[number].accept()
                if number in self._lines:
                    self._lines.pop(number).close()
                made.setblocking(False)
                self._lines[number] = made
        line = self._lines.get(number)
        sent = b""
        if line is not None:
            try:
                sent = line.recv(LONGEST)
                if not sent:
                    self._lines.pop(number).close()
                    line = None
            except BlockingIOError:
                pass
            except OSError:
                self._lines.pop(number).close()
                line = None
        bus = self.chips.board.device[number].bus
        if self.wiring is not None:
            serial = self.chips.memory.device[number].serial
            self.wiring.ports[bus].baud, self.wiring.ports[bus].frame = int(serial.baud), int(serial.frame)
            if sent:
                self.wiring.uart_send(t, bus, sent)
            came = self.wiring.uart_receive(t, bus)
        else:
            if sent:
                self.chips.uart_send(t, number, sent)
            came = self.chips.uart_receive(t, number)
        if self._trace is not None and self.chips.memory.traced and (sent or came):
            name = self.chips.board.device[number].name
            self._trace.write(Transaction(t, "UART", sent, len(came), came, name).line() + "\n")
            self._trace.flush()
        if came and line is not None:
            with contextlib.suppress(OSError):  # no program reads: a UART loses bytes then
                line.send(came)

    def _answer(self) -> None:
        """Answer the pending requests of the socket transport."""
        assert self.wiring is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._requests, selectors.EVENT_READ)
            while not self._stop.is_set():
                for key, _ in waiting.select(0.1):
                    if key.fileobj is self._requests:
                        made, _ = self._requests.accept()
                        waiting.register(made, selectors.EVENT_READ)
                        continue
                    line = key.fileobj
                    assert isinstance(line, socket.socket)
                    try:
                        data = line.recv(_REQUEST.size + LONGEST)
                        if data:
                            line.send(self._reply(data))
                            continue
                    except OSError:
                        pass
                    waiting.unregister(line)
                    line.close()
            for key in list(waiting.get_map().values()):
                if isinstance(key.fileobj, socket.socket) and key.fileobj is not self._requests:
                    key.fileobj.close()

    def _reply(self, data: bytes) -> bytes:
        assert self.wiring is not None
        bad = struct.pack("<q", ERRORS.index("BUSY"))
        if len(data) < _REQUEST.size:
            return bad
        kind, bus, place, t, count, length = _REQUEST.unpack_from(data)
        sent = data[_REQUEST.size :]
        if len(sent) != count or not QUICK_READ <= length <= LONGEST or kind not in (0, 1):
            return bad
        answer = (
            self.wiring.spi(t, f"spi{bus}", place, sent)
            if kind == 0
            else self.wiring.i2c(t, f"i2c{bus}", place, sent, length)
        )
        return struct.pack("<q", ERRORS.index(answer.error)) + answer.data

    def close(self) -> None:
        """Close the sockets and release the memory. May be called twice."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10.0)
            self._thread = None
            self._requests.close()
        for made in (*self._servers.values(), *self._lines.values()):
            made.close()
        self._lines.clear()
        if self._trace is not None:
            self._trace.close()
        self.chips.close()
