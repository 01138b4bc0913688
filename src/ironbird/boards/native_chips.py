"""Chips and pins in C: the translated models and `chips/c/` in one library, with the interface of `chips.pins`."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ironbird.boards.chips
from ironbird.boards.chips.bus import BUSY, NACK, TIMEOUT, Answer
from ironbird.boards.chips.catalog import CHIPS, chip_class
from ironbird.boards.chips.chip import FRAME_8N1, POWERED_NS, frame_bits
from ironbird.boards.chips.pins import Line
from ironbird.boards.chips.translate import layout, translate
from ironbird.compiler import native
from ironbird.errors import LinkError

FOLDER = Path(ironbird.boards.chips.__file__).parent / "c"
WATCHED_SLOTS = 1 << 18  # slots kept of the latest I2C request, in a watched library
MOST_CHIPS = 8  # on one I2C bus, as in ib_pins.h
ERRORS = ("", NACK, TIMEOUT, BUSY)
_i64, _u8 = ctypes.c_int64, ctypes.c_uint8
KINDS: dict[str, Any] = {"byte": _u8, "int": _i64, "real": ctypes.c_double}


def chips_text() -> str:
    """C text of all chips and of the buses."""
    head = (FOLDER / "ib_chips.h").read_text()
    buses = "".join(
        (FOLDER / name).read_text().replace(f'#include "{before}"\n', "")
        for name, before in (("ib_pins.h", "ib_chips.h"), ("ib_board.h", "ib_pins.h"))
    )
    bodies = "".join(translate(chip_class(name)) for name in CHIPS)
    table = ", ".join(f"&ib_{name}_operations" for name in CHIPS)
    lookup = (
        f"static const ib_operations *const ib_all[{len(CHIPS)}] = {{{table}}};\n"
        "static const ib_operations *ib_operations_of(int64_t number) { return ib_all[number]; }\n"
    )
    return head + buses + bodies + lookup


class LineState(ctypes.Structure):
    """Structure `ib_line` of chips/c/ib_pins.h."""

    _fields_ = [
        *((name, _i64) for name in ("random", "flip_low", "flip_high", "hold", "open", "pull", "shorted", "level")),
        ("key", ctypes.c_uint64),
        ("counter", ctypes.c_uint64),
        ("before", _i64),
    ]


def copy_line(line: Line, to: LineState) -> None:
    """Copy the faults of a wire; its count of random numbers is kept."""
    for name in ("random", "flip_low", "flip_high", "hold", "open", "pull", "level", "key"):
        setattr(to, name, getattr(line, name))
    to.shorted = line.short


class SpiWires(ctypes.Structure):
    """Structure `ib_spi` of chips/c/ib_pins.h."""

    _fields_ = [
        *((name, LineState) for name in ("cs", "sck", "mosi", "miso")),
        *((name, _i64) for name in ("was_cs", "was_sck", "bits", "shift", "out", "ahead")),
    ]


class _Front(ctypes.Structure):
    _fields_ = [
        (name, _i64)
        for name in ("state", "bits", "shift", "out", "drive", "reading", "active", "more", "stretch", "held")
    ]


class I2cWires(ctypes.Structure):
    """Structure `ib_i2c` of chips/c/ib_pins.h."""

    _fields_ = [
        ("scl", LineState),
        ("sda", LineState),
        ("was_scl", _i64),
        ("was_sda", _i64),
        ("count", _i64),
        ("front", _Front * MOST_CHIPS),
        ("operations", ctypes.c_void_p * MOST_CHIPS),
        ("chip", ctypes.c_void_p * MOST_CHIPS),
        ("time", _i64),
        ("slots", _i64),
        ("record", ctypes.c_void_p),
        ("room", _i64),
    ]


@functools.cache
def chips_library(watched: bool = False) -> ctypes.CDLL:
    """The library, compiled once and cached. A watched one records the host's levels."""
    text = (f"#define IB_WATCH {WATCHED_SLOTS}\n" if watched else "") + chips_text()
    library = native.load(text, 1, what="the code of chips")
    if watched:
        library.ib_i2c_watched.restype = ctypes.POINTER(_u8 * WATCHED_SLOTS)
    p, i = ctypes.c_void_p, _i64
    for name, result, arguments in (
        ("ib_chip_size", i, [i]),
        ("ib_chip_start", None, [i, p, i]),
        ("ib_chip_power", None, [i, p, i]),
        ("ib_chip_advance", None, [i, p, i]),
        ("ib_chip_flood", None, [i, p]),
        ("ib_spi_transfer", i, [p, i, p, i, ctypes.c_char_p, p, i, p]),
        ("ib_spi_repeat", i, [p, i, p, i, i, i, ctypes.c_char_p, p, i]),
        ("ib_i2c_attach", None, [p, i, i, p]),
        ("ib_i2c_transfer", i, [p, i, i, ctypes.c_char_p, i, p, i]),
        ("ib_uart_frames", i, [p, ctypes.c_char_p, i, i, i, i, i, p, p]),
        ("ib_uart_byte", None, [i, p, i, i]),
        ("ib_uart_next", i, [i, p, i]),
        ("ib_uart_baud", i, [i, p]),
        ("ib_uart_frame", i, [i, p]),
        ("ib_board_size", i, []),
        ("ib_board_start", None, [p, i]),
        ("ib_board_tick", None, [p, i, p]),
        ("ib_board_spi", i, [p, i, i, i, ctypes.c_char_p, p, i]),
        ("ib_board_i2c", i, [p, i, i, i, ctypes.c_char_p, i, p, i]),
        ("ib_board_send", None, [p, i, i, ctypes.c_char_p, i]),
        ("ib_board_receive", i, [p, i, i, p]),
        ("ib_board_happens", None, [p, i, i, i]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    for number, name in enumerate(CHIPS):
        here, there = ctypes.sizeof(structure(name)), int(library.ib_chip_size(number))
        if here != there:
            raise LinkError(
                f"chip {name} has {there} bytes in C and {here} in its mirror; "
                f"empty the cache folder {native.cache_folder()}"
            )
    return library


@functools.cache
def structure(name: str) -> type[ctypes.Structure]:
    """The ctypes mirror of a chip's structure."""
    fields = [(field, KINDS[kind] * count if count else KINDS[kind]) for field, kind, count in layout(chip_class(name))]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


class NativeChip:
    """A chip in C; `fields` is its structure."""

    def __init__(self, name: str, *, watched: bool = False, **inputs: float) -> None:
        self.library = chips_library(watched)
        self.kind = chip_class(name)
        self.number = list(CHIPS).index(name)
        self.fields: Any = structure(name)()
        self.pointer = ctypes.addressof(self.fields)
        self.library.ib_chip_start(self.number, self.pointer, POWERED_NS)
        self.feed(**inputs)

    def feed(self, **values: float) -> None:
        """Set inputs by name; they keep their values until they are set again."""
        for name, value in values.items():
            self.fields.inputs[self.kind.feeds.index(name)] = value

    def advance(self, t: int) -> None:
        """Advance the chip to a time in ns."""
        self.library.ib_chip_advance(self.number, self.pointer, t)

    def power_on(self, t: int) -> None:
        """Power the chip up again, as after a brown-out."""
        self.library.ib_chip_power(self.number, self.pointer, t)


class NativeSpiPins:
    """Four wires to one chip in C, with the interface of `SpiPins`."""

    def __init__(self, chip: NativeChip) -> None:
        self.chip = chip
        self.wires = SpiWires(was_cs=1)
        for line in (self.wires.cs, self.wires.sck, self.wires.mosi, self.wires.miso):
            line.before = 1
        self.record: bytearray | None = None

    def set_line(self, name: str, line: Line) -> None:
        """Set the faults of a wire from now on."""
        copy_line(line, getattr(self.wires, name))

    def transfer(self, t: int, sent: bytes) -> Answer:
        """One SPI transaction at time `t` in ns."""
        count = len(sent)
        got = ctypes.create_string_buffer(max(1, count))
        levels = ctypes.create_string_buffer(16 * count + 3) if self.record is not None else None
        chip = self.chip
        slots = chip.library.ib_spi_transfer(
            ctypes.byref(self.wires), chip.number, chip.pointer, t, sent, got, count, levels
        )
        if self.record is not None and levels is not None:
            self.record += levels.raw[:slots]
        return Answer(got.raw[:count])


class NativeI2cPins:
    """Two wires and some chips in C, with the interface of `I2cPins`."""

    def __init__(self, chips: Sequence[NativeChip]) -> None:
        if not 1 <= len(chips) <= MOST_CHIPS:
            raise LinkError(f"an I2C bus in C has 1 to {MOST_CHIPS} chips, got {len(chips)}; use two buses")
        self.chips = list(chips)
        self.library = chips[0].library
        self.wires = I2cWires(was_scl=1, was_sda=1, count=len(chips))
        self.wires.scl.before = self.wires.sda.before = 1
        self.record: bytearray | None = None
        for place, chip in enumerate(chips):
            self.library.ib_i2c_attach(ctypes.byref(self.wires), place, chip.number, chip.pointer)

    def set_line(self, name: str, line: Line) -> None:
        """Set the faults of a wire from now on."""
        copy_line(line, getattr(self.wires, name))

    def set_stretch(self, place: int, slots: int) -> None:
        """Slots for which a chip holds the clock low after each byte."""
        self.wires.front[place].stretch = slots

    def transfer(self, t: int, address: int, sent: bytes, length: int) -> Answer:
        """One I2C transaction at time `t` in ns."""
        got = ctypes.create_string_buffer(max(1, length))
        room = 36 * 29 * (len(sent) + max(0, length) + 6) if self.record is not None else 0
        levels = ctypes.create_string_buffer(room) if room else None
        self.wires.record, self.wires.room = ctypes.addressof(levels) if levels is not None else None, room
        error = self.library.ib_i2c_transfer(ctypes.byref(self.wires), t, address, sent, len(sent), got, length)
        if self.record is not None and levels is not None:
            self.record += levels.raw[: self.wires.slots]
        self.wires.record = None
        return Answer(got.raw[: max(0, length)] if not error else b"", ERRORS[error])


def native_uart_frames(
    line: Line,
    state: LineState,
    data: bytes,
    sender_baud: int,
    receiver_baud: int,
    *,
    sends: int = FRAME_8N1,
    hears: int = FRAME_8N1,
) -> bytes:
    """`uart_frames` in C; `state` holds the wire's count of random numbers."""
    copy_line(line, state)
    room = frame_bits(sends) * len(data) + 1
    levels, got = ctypes.create_string_buffer(room), ctypes.create_string_buffer(room)
    count = chips_library().ib_uart_frames(
        ctypes.byref(state), data, len(data), sender_baud, receiver_baud, sends, hears, levels, got
    )
    return got.raw[:count]


def native_line() -> LineState:
    """A new wire without faults, as a C structure."""
    return LineState(before=1)
