"""A board in C (`chips/c/ib_board.h`): one piece of memory with its chips, wires, twins and witnesses.

The memory may be a file that other programs map too (`ironbird.boards.served`): then their requests act on it, while
this object sets the chips' inputs and wire faults. The interface is that of `Wiring`.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.boards.board import Board
from ironbird.boards.chips.bus import Answer
from ironbird.boards.chips.catalog import CHIPS, chip_class
from ironbird.boards.chips.chip import POWERED_NS, RegisterChip
from ironbird.boards.chips.pins import Line, share
from ironbird.boards.native_chips import (
    ERRORS,
    MOST_CHIPS,
    I2cWires,
    LineState,
    SpiWires,
    chips_library,
    copy_line,
    structure,
)
from ironbird.boards.wiring import I2C_LINES, SPI_LINES, UART_LINES, WRONG_IDENTITY, line_key, set_line
from ironbird.errors import LinkError

DEVICES, PAIRS, ROOM, NAME, INPUTS, LONGEST = 16, 4, 32768, 64, 16, 4096
PULSES, PINS = 16, 64  # most entries under /sys/class
MAGIC = 0x647261426E6F7249
KINDS = ("spi", "i2c", "uart")
_i64 = ctypes.c_int64


class _First(ctypes.Structure):
    _fields_ = [(name, _i64) for name in ("watch", "time", "request", "line", "slot")]


class _Serial(ctypes.Structure):
    _fields_ = [(name, _i64) for name in ("baud", "frame", "free", "asked")]


class _Device(ctypes.Structure):
    _fields_ = [
        *(
            (name, _i64)
            for name in (
                "chip", "kind", "bus", "select", "twinned", "off", "nack", "lost", "doubled", "swapped", "stretch",
            )
        ),
        ("drift", ctypes.c_double),
        ("draw", LineState),
        ("tx", LineState),
        ("rx", LineState),
        ("spi", SpiWires),
        ("twin_spi", SpiWires),
        ("serial", _Serial),
        ("twin_serial", _Serial),
        ("first", _First),
        ("name", ctypes.c_char * NAME),
        ("file", ctypes.c_char * NAME),
    ]  # fmt: skip


class _Pair(ctypes.Structure):
    _fields_ = [
        ("number", _i64),
        ("twinned", _i64),
        ("count", _i64),
        ("device", _i64 * MOST_CHIPS),
        ("wires", I2cWires),
        ("twin", I2cWires),
        ("first", _First),
        ("file", ctypes.c_char * NAME),
    ]


class _Pulse(ctypes.Structure):
    _fields_ = [(name, _i64) for name in ("chip", "channel", "exported", "period_ns", "duty_ns", "enabled", "inversed")]


class _Pin(ctypes.Structure):
    _fields_ = [(name, _i64) for name in ("exported", "out", "value")]


class _Board(ctypes.Structure):
    _fields_ = [
        *(
            (name, _i64)
            for name in (
                "magic", "size", "devices", "pairs", "zero_ns", "lock", "requests", "virtual_time", "by_socket",
                "traced",
            )
        ),
        ("hash", ctypes.c_uint64),
        *((name, _i64) for name in ("pulses", "first_pin", "pins")),
        ("pulse", _Pulse * PULSES),
        ("pin", _Pin * PINS),
        ("device", _Device * DEVICES),
        ("pair", _Pair * PAIRS),
        ("chip", (ctypes.c_uint8 * ROOM) * DEVICES),
        ("twin", (ctypes.c_uint8 * ROOM) * DEVICES),
    ]  # fmt: skip


@dataclass(frozen=True)
class FirstDifference:
    """The first level on a wire that differs from the twin's."""

    time_ns: int
    request: int
    line: str
    slot: int

    def sentence(self, place: str) -> str:
        """Place and time of the difference as a sentence."""
        return (
            f"{self.line.upper()} of {place} from {self.time_ns / 1e9:.6f} s, request {self.request}, slot {self.slot}"
        )


class NativeBoard:
    """All chips of a board, in C. With `path` the memory is a file."""

    def __init__(self, board: Board, *, seed: int = 0, path: Path | None = None) -> None:
        self.board = board
        self.tap: Callable[[str, bool, bytes], None] | None = None  # called with all bytes of serial lines
        self.library = chips_library()
        size = int(self.library.ib_board_size())
        if ctypes.sizeof(_Board) != size:
            raise LinkError(f"a board has {size} bytes in C and {ctypes.sizeof(_Board)} in its mirror")
        if len(board.device) > DEVICES:
            raise LinkError(f"board {board.id} has {len(board.device)} devices; in C there is room for {DEVICES}")
        self._map: mmap.mmap | None = None
        if path is not None:
            path.write_bytes(bytes(size))
            with path.open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), size)
            self.memory: Any = _Board.from_buffer(self._map)
        else:
            self.memory = _Board()
        self.pointer = ctypes.addressof(self.memory)
        self.inputs = np.zeros((len(board.device), INPUTS))
        self._inputs = self.inputs.ctypes.data
        self._got = ctypes.create_string_buffer(LONGEST)
        self._numbers = {device.name: i for i, device in enumerate(board.device)}
        self._places: dict[
            str, tuple[Any, dict[str, Any], list[int]]
        ] = {}  # name: index of its witness, wires, devices
        self._pairs: dict[str, Any] = {}
        self._before: dict[tuple[str, str], float] = {}
        self._build(seed)
        self.library.ib_board_start(self.pointer, POWERED_NS)
        for i, device in enumerate(board.device):
            if device.address is not None and "own_address" in chip_class(device.chip).fields():
                for twin in (False, True):
                    self.fields(i, twin=twin).own_address = device.address

    def _build(self, seed: int) -> None:
        memory = self.memory
        memory.magic, memory.size, memory.devices = MAGIC, ctypes.sizeof(_Board), len(self.board.device)
        memory.hash = 0xCBF29CE484222325
        outputs = [(chip, channel) for chip, count in enumerate(self.board.sysfs.pwm) for channel in range(count)]
        memory.pulses, memory.first_pin, memory.pins = len(outputs), self.board.sysfs.gpio_first, self.board.sysfs.gpio
        for made, (chip, channel) in zip(memory.pulse, outputs, strict=False):
            made.chip, made.channel = chip, channel
        for i, device in enumerate(self.board.device):
            made = memory.device[i]
            made.chip, made.kind, made.bus = list(CHIPS).index(device.chip), KINDS.index(device.kind), device.number
            made.select, made.serial.baud, made.first.slot = device.select, 9600, -1
            made.name, made.file = device.name.encode(), device.file.encode()[: NAME - 1]
            lines: dict[str, Any] = {}
            if device.kind == "spi":
                made.spi.was_cs = made.twin_spi.was_cs = 1
                lines = {line: getattr(made.spi, line) for line in SPI_LINES}
                for line in SPI_LINES:
                    getattr(made.twin_spi, line).before = 1
            elif device.kind == "uart":
                lines = {line: getattr(made, line) for line in UART_LINES}
            made.draw.key, made.draw.before = line_key(seed, device.name, "draw"), 1
            self._places[device.name] = made.first, lines, [i]
            if device.kind == "i2c":
                self._add_to_pair(i, device.bus, device.number, device.file)
        for bus, pair in self._pairs.items():
            lines = {line: getattr(pair.wires, line) for line in I2C_LINES}
            self._places[bus] = pair.first, lines, [pair.device[k] for k in range(pair.count)]
            for wires in (pair.wires, pair.twin):
                wires.was_scl = wires.was_sda = wires.scl.before = wires.sda.before = 1
                wires.count = pair.count
        for place, (_, lines, _) in self._places.items():
            for name, line in lines.items():
                line.key, line.before, line.pull, line.level = line_key(seed, place, name), 1, 1, 1

    def _add_to_pair(self, number: int, bus: str, bus_number: int, file: str) -> None:
        if bus not in self._pairs:
            if len(self._pairs) == PAIRS:
                raise LinkError(f"board {self.board.id} has more than {PAIRS} I2C buses")
            made = self.memory.pair[len(self._pairs)]
            made.number, made.file, made.first.slot = bus_number, file.encode()[: NAME - 1], -1
            self._pairs[bus] = made
            self.memory.pairs = len(self._pairs)
        pair = self._pairs[bus]
        if pair.count == MOST_CHIPS:
            raise LinkError(f"bus {bus} of board {self.board.id} has more than {MOST_CHIPS} chips")
        pair.device[pair.count] = number
        pair.count += 1

    def close(self) -> None:
        """Release the file. May be called twice."""
        if self._map is not None:
            self._places, self._pairs, self.memory, self.pointer = {}, {}, None, 0
            with contextlib.suppress(BufferError):  # a chip is still in use: freed after its last use
                self._map.close()
            self._map = None

    def places(self) -> Mapping[str, Sequence[str]]:
        """Devices and I2C buses that faults may name, and the wires of each."""
        return {name: tuple(lines) for name, (_, lines, _) in self._places.items()}

    def fields(self, number: int, *, twin: bool = False) -> Any:
        """The ctypes structure of a chip, or of its twin."""
        area = self.memory.twin if twin else self.memory.chip
        return structure(self.board.device[number].chip).from_address(ctypes.addressof(area[number]))

    def pulse_s(self, number: int) -> float:
        """Pulse in s of an output under /sys/class/pwm, numbered over all its chips; 0 while it is disabled."""
        made = self.memory.pulse[number]
        high_ns = made.period_ns - made.duty_ns if made.inversed else made.duty_ns
        return float(high_ns * 1e-9 if made.enabled else 0.0)

    @property
    def requests(self) -> int:
        """Number of requests to the board so far."""
        return int(self.memory.requests)

    @property
    def digest(self) -> str:
        """Hash over every request and answer so far."""
        return f"{self.memory.hash:016x}"

    # ------------------------------------------------------------------ time, requests

    def feed(self, number: int, **values: float) -> None:
        """Set the inputs of a device from the next tick on."""
        names = chip_class(self.board.device[number].chip).feeds
        for name, value in values.items():
            self.inputs[number, names.index(name)] = value

    def tick(self, t: int) -> None:
        """Advance all chips to a time in ns; then they sample the new inputs."""
        self.library.ib_board_tick(self.pointer, t, self._inputs)

    def spi(self, t: int, bus: int, select: int, sent: bytes) -> Answer:
        """A transaction with the chip behind a chip select."""
        count = len(sent)
        error = self.library.ib_board_spi(self.pointer, t, bus, select, sent, self._got, count)
        return Answer(self._got.raw[:count], ERRORS[error])

    def i2c(self, t: int, bus: int, address: int, sent: bytes, length: int) -> Answer:
        """A transaction on a pair of I2C wires."""
        error = self.library.ib_board_i2c(self.pointer, t, bus, address, sent, len(sent), self._got, length)
        return Answer(self._got.raw[: max(0, length)] if not error else b"", ERRORS[error])

    def uart_send(self, t: int, number: int, data: bytes) -> None:
        """Send bytes from the host to the chip of a serial line."""
        if self.tap is not None:
            self.tap(f"serial line of chip {number}", False, data)
        self.library.ib_board_send(self.pointer, t, number, data[:LONGEST], min(len(data), LONGEST))

    def uart_receive(self, t: int, number: int) -> bytes:
        """Bytes that the host has received from the chip of a serial line."""
        count = self.library.ib_board_receive(self.pointer, t, number, self._got)
        came = self._got.raw[:count]
        if count and self.tap is not None:
            self.tap(f"serial line of chip {number}", True, came)
        return came

    # ------------------------------------------------------------------ faults

    def watch(self, place: str) -> None:
        """From now on compare this place with a fault-free twin that starts in the chip's current state."""
        _, _, devices = self._places[place]
        pairs = [pair for pair in self._pairs.values() if any(pair.device[k] in devices for k in range(pair.count))]
        touched = {*devices, *(pair.device[k] for pair in pairs for k in range(pair.count))}
        for i in touched:
            made = self.memory.device[i]
            if not made.twinned:
                ctypes.memmove(self.memory.twin[i], self.memory.chip[i], ROOM)
                made.twin_serial = made.serial
                made.twinned = 1
        for pair in pairs:
            pair.twinned = 1
        first = self._places[place][0]
        first.slot, first.watch = -1, 1

    def first_difference(self, place: str, t: int = 0) -> FirstDifference | None:
        """First difference since `watch`: a level on a wire, or else, by the time `t`, an output of the chip."""
        first, lines, devices = self._places[place]
        if first.slot < 0:
            return self._different_output(devices, t)
        names = tuple(lines) or I2C_LINES
        return FirstDifference(int(first.time), int(first.request), names[first.line], int(first.slot))

    def _different_output(self, devices: Sequence[int], t: int) -> FirstDifference | None:
        """A difference in the outputs of a chip; needed where the host only writes and its wires do not differ."""
        for i in devices:
            if "drive" in chip_class(self.board.device[i].chip).fields():
                here, there = (np.frombuffer(self.fields(i, twin=twin).drive) for twin in (False, True))
                if not np.array_equal(here, there):
                    output = int(np.argmax(here != there))
                    return FirstDifference(t, self.requests, f"output {output}", 0)
        return None

    def set_wire(self, place: str, line: str, params: Mapping[str, float]) -> None:
        """Set the faults of a wire from now on."""
        state = self._places[place][1][line]
        broken = Line(key=state.key)
        set_line(broken, params)
        copy_line(broken, state)

    def set_place(self, place: str, params: Mapping[str, float], t: int) -> None:
        """Set the faults of a device from now on; a bus passes them to all its devices."""
        for i in self._places[place][2]:
            made = self.memory.device[i]
            for name in ("nack", "lost", "doubled"):
                setattr(made, name, share(params.get(name, 0.0)))
            made.off, made.swapped = int(params.get("off", 0.0) > 0.0), int(params.get("swapped", 0.0) > 0.0)
            made.drift, made.stretch = params.get("baud", 0.0), round(params.get("stretch", 0.0))

            def edge(name: str, number: int = i) -> int:
                before, now = self._before.get((f"{place} {number}", name), 0.0), params.get(name, 0.0)
                self._before[f"{place} {number}", name] = now
                return int(now > 0.0) - int(before > 0.0)

            ended = edge("off") < 0
            if edge("reset") > 0 or ended:
                self.library.ib_board_happens(self.pointer, i, t, 1)
            if edge("overflow") > 0:
                self.library.ib_board_happens(self.pointer, i, t, 2)
            changed = edge("identity")
            if changed and issubclass(chip_class(self.board.device[i].chip), RegisterChip):
                self.fields(i).identity = WRONG_IDENTITY if changed > 0 else 0
