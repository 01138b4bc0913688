"""Comparison of a core in hardware with the model in C under the same random traffic, level by level on every pin.

The core is simulated clock by clock. Changes that time makes to the chip are computed by the model and written to the
core's port between requests; everything that the host does must come out of the core's own logic, in every slot of
every wire. Time passes only while no request is under way. Open and shorted wires are set in the core's own
multiplexers; noise and slow edges are put on its pins as on the model's wires. Not compared: noise on the wire to the
host.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.boards.agreement import FAULTS, Agreement, Traffic, new_fault
from ironbird.boards.chips.catalog import chip_class, make_chip
from ironbird.boards.chips.chip import FRAME_8N1, RegisterChip
from ironbird.boards.chips.parts.ms5611 import Ms5611
from ironbird.boards.chips.pins import CS, MISO, MOSI, SCK, Line
from ironbird.boards.native_chips import NativeChip, NativeI2cPins, NativeSpiPins, copy_line, native_line
from ironbird.errors import LinkError
from ironbird.hdl.cores import MICROSECOND_NS
from ironbird.hdl.tools import DROP, FEED, PUSH, Simulation

STEPS_NS = (1000, 20_000, 130_000, 540_000, 2_500_000)
SLOT_CLOCKS = {"spi": 5, "i2c": 8, "uart": 8}  # 10 MHz of SCK at 100 MHz, a bit of I2C in 24 clocks
CROSSING_CLOCKS = 8  # between requests
LONGEST_QUIET_US = 9000  # no countdown of a core is longer
HOLDING = tuple(fault for fault in FAULTS if not fault or "open" in fault or "short" in fault)
_GIVEN = [
    bytes(SCK * clock + MOSI * (value >> bit & 1) for bit in range(7, -1, -1) for clock in (0, 1))
    for value in range(256)
]


def compare_core(
    chip: str, transactions: int, folder: Path, seed: int = 0, *, fault: bool = False, simulation: Any = None
) -> Agreement:
    """Compare a core with its model under random traffic, with or without pin faults; stops at the first difference."""
    bus = "i2c" if chip == "ist8310" else chip_class(chip).buses[0]
    core = simulation or Simulation(chip, folder)
    core.restart()
    return {"spi": _spi, "i2c": _i2c, "uart": _uart}[bus](chip, core, transactions, seed, fault)


def _setting(line: Line) -> int:
    """Setting of the core's fault multiplexer for a wire; noise is not one of its faults."""
    return line.open << 1 | line.pull << 2 | line.short << 3 | line.level << 4


def _noisy(line: Line) -> bool:
    return bool(line.random or line.flip_low or line.flip_high or line.hold)


class _Port:
    """Transfers changes that time makes in the model of a chip to the port of its core."""

    def __init__(self, chip: str, core: Simulation, native: NativeChip) -> None:
        self.core, self.native = core, native
        self.scratch = make_chip(chip)

    def inputs(self, values: Mapping[str, float]) -> None:
        """Set new inputs (measurements) of the chip; the core of a barometer gets its conversion results at ports."""
        self.native.feed(**values)
        if isinstance(self.scratch, Ms5611):
            self.scratch.feed(**values)
            for kind, port in ((1, "pressure"), (2, "warmth")):
                self.scratch.kind = kind
                self.scratch.tick()
                self.core.set(port, self.scratch.result)

    def advance(self, by_ns: int, t: int) -> None:
        """Advance the model to time `t` (ns) and the core by `by_ns`, then transfer the model's changes to the core."""
        fields, core = self.native.fields, self.core
        registers = isinstance(self.scratch, RegisterChip)
        before = bytes(fields.reg) if registers else b""
        head, count = (fields.head, fields.count) if "push" in core.ports else (0, 0)
        self.native.advance(t)
        if "tick" in core.ports:
            core.set("tick", 1)
            core.clock(min(by_ns // MICROSECOND_NS, LONGEST_QUIET_US))
            core.set("tick", 0)
        if registers:
            for place, (was, now) in enumerate(zip(before, bytes(fields.reg), strict=True)):
                if was != now:
                    core.queue(FEED, place, now)
        if "push" in core.ports:
            dropped, pushed = (fields.head - head) % 4096, (fields.head + fields.count - head - count) % 4096
            if dropped > count or count - dropped + pushed != fields.count:  # the whole content is new
                dropped, pushed = count, fields.count
            for _ in range(dropped):
                core.queue(DROP, 0, 0)
            first = fields.head + fields.count - pushed
            for i in range(pushed):
                core.queue(PUSH, 0, fields.fifo[(first + i) % 4096])
        core.served()
        core.clock(CROSSING_CLOCKS)


def _spi(chip: str, core: Simulation, transactions: int, seed: int, fault: bool) -> Agreement:
    traffic = Traffic(chip, "spi", seed, STEPS_NS)
    native = NativeSpiPins(NativeChip(chip))
    native.record = bytearray()
    port, lines = _Port(chip, core, native.chip), {name: Line() for name in ("cs", "sck", "mosi", "miso")}
    own, bits = CS | SCK | MOSI, 0  # lines that have the host's levels and the core's multiplexer
    core.set("cs", 1)
    core.clock(CROSSING_CLOCKS)
    for number in range(transactions):
        if not core.get("busy"):
            before = traffic.time
            port.advance(traffic.advance() - before, traffic.time)
        if number % 50 == 0:
            port.inputs(traffic.inputs())
            for name in lines if fault else ():
                broken = new_fault(traffic, number) if traffic.dice.random() < 0.4 else Line()
                if name == "miso" and _noisy(broken):
                    broken = Line(**traffic.dice.choice(HOLDING))
                lines[name] = broken
                native.set_line(name, broken)
            settings = [0 if _noisy(line) else _setting(line) for line in lines.values()]
            core.set("faults", sum(setting << 5 * i for i, setting in enumerate(settings)))
            own = sum(bit for bit, line in zip((CS, SCK, MOSI), lines.values(), strict=False) if not _noisy(line))
        sent = traffic.data()
        given = bytes([MOSI * (sent[0] >> 7)]) + b"".join(_GIVEN[value] for value in sent)
        given += bytes([MOSI * (sent[-1] & 1), CS | MOSI * (sent[-1] & 1)])
        native.record.clear()
        native.transfer(traffic.time, sent)
        record = np.frombuffer(bytes(native.record), np.uint8)
        levels = (np.frombuffer(given, np.uint8) & own) | (record & ((CS | SCK | MOSI) & ~own))
        out = np.frombuffer(core.slots(levels.tobytes(), SLOT_CLOCKS["spi"]), np.uint8)
        core.clock(CROSSING_CLOCKS)
        bits += len(record)
        wrong = np.flatnonzero(out != (record & MISO) // MISO)
        if len(wrong):
            return Agreement(number + 1, bits, (_difference(number, traffic.time, sent, int(wrong[0]), lines),))
    return Agreement(transactions, bits, ())


def _difference(number: int, t: int, sent: bytes, slot: int, lines: Mapping[str, Line]) -> str:
    broken = {name: line for name, line in lines.items() if not line.healthy()}
    return f"transaction {number} at {t} ns, {sent.hex(' ')}: first in slot {slot}; broken wires {broken}"


def _i2c(chip: str, core: Simulation, transactions: int, seed: int, fault: bool) -> Agreement:
    traffic = Traffic(chip, "i2c", seed, STEPS_NS)
    native = NativeI2cPins([NativeChip(chip, watched=True)])
    native.record = bytearray()
    watched, address = native.library.ib_i2c_watched().contents, native.chips[0].kind.address
    port, lines = _Port(chip, core, native.chips[0]), {"scl": Line(), "sda": Line()}
    bits, noisy = 0, False
    for name in ("scl", "sda"):
        core.set(name, 1)
    core.clock(CROSSING_CLOCKS)
    for number in range(transactions):
        if not core.get("busy"):
            before = traffic.time
            port.advance(traffic.advance() - before, traffic.time)
        if number % 50 == 0:
            port.inputs(traffic.inputs())
            for name in lines if fault else ():
                lines[name] = new_fault(traffic, number) if traffic.dice.random() < 0.4 else Line()
                native.set_line(name, lines[name])
            noisy = any(_noisy(line) for line in lines.values())
            core.set("faults", 0 if noisy else _setting(lines["scl"]) | _setting(lines["sda"]) << 5)
        asked = address if traffic.dice.random() < 0.9 else traffic.dice.choice((0x1E, 0x33, 0x68))
        sent, length = traffic.data(), 0
        if traffic.dice.random() < 0.6:
            sent, length = sent[: traffic.dice.choice((0, 1, 1, 1))], traffic.dice.choice((1, 1, 2, 3, 6, 14))
        native.record.clear()
        native.transfer(traffic.time, asked, sent, length)
        slots = len(native.record)
        if slots > len(watched):
            raise LinkError(f"a request of {slots} slots is longer than the {len(watched)} that are watched")
        seen = np.frombuffer(watched, np.uint8, slots)
        pull = np.append(seen[1:] >> 2, native.wires.front[0].drive)
        levels = bytes(native.record) if noisy else (seen & 3).tobytes()
        out = np.frombuffer(core.slots(levels, SLOT_CLOCKS["i2c"], closed=not noisy), np.uint8)
        bits += slots
        wrong = np.flatnonzero(out != pull)
        if len(wrong):
            text = _difference(number, traffic.time, sent, int(wrong[0]), lines)
            return Agreement(number + 1, bits, (f"0x{asked:02x} R{length} {text}",))
    return Agreement(transactions, bits, ())


def _uart(chip: str, core: Simulation, transactions: int, seed: int, fault: bool) -> Agreement:
    """Compare messages to the chip, received byte by byte, and its answers as frames."""
    traffic = Traffic(chip, "uart", seed, STEPS_NS)
    native, line, far, state = NativeChip(chip), Line(), Line(), native_line()
    library, clocks, bits = native.library, SLOT_CLOCKS["uart"], 0
    core.set("divider", clocks)
    for number in range(transactions):
        if number % 50 == 0:
            native.feed(**traffic.inputs())
            if fault:
                line, far = new_fault(traffic, number), Line(**traffic.dice.choice(HOLDING))
            core.set("faults", (0 if _noisy(line) else _setting(line)) | _setting(far) << 5)
            core.slots(b"\1" * 40, clocks)  # let the line settle after the change of the wires
            core.heard()
        t, data = traffic.advance(), traffic.message()
        copy_line(line, state)
        levels, got = (ctypes.create_string_buffer(10 * len(data) + 1) for _ in range(2))
        ends = (9600, 9600, FRAME_8N1, FRAME_8N1)
        count = library.ib_uart_frames(ctypes.byref(state), data, len(data), *ends, levels, got)
        given = b"".join(bytes([0, *(value >> bit & 1 for bit in range(8)), 1]) for value in data)
        core.slots((levels.raw[:-1] if _noisy(line) else given) + b"\1" * 12, clocks)
        heard = bytes(value for _, value in core.heard())
        if heard != got.raw[:count]:
            text = f"message {number} at {t} ns, {data.hex(' ')}: {heard.hex(' ')} | {got.raw[:count].hex(' ')}"
            return Agreement(number + 1, bits, (f"{text}; {line}",))
        for value in heard:
            library.ib_uart_byte(native.number, native.pointer, t, value)
        said_bytes = bytearray()
        while (value := int(library.ib_uart_next(native.number, native.pointer, t))) >= 0:
            said_bytes.append(value)
            core.queue(FEED, 0, value)
        answer = core.slots(b"\1" * (len(said_bytes) * (10 * clocks + 6) + 32), 1)
        bits += 10 * (len(data) + len(said_bytes))
        expected = bytes(said_bytes) if far.healthy() else b""
        level = far.level if far.short else far.pull if far.open else 1
        if core.get("busy") or core.heard() or (not far.healthy() and set(answer) != {level}):
            return Agreement(number + 1, bits, (f"message {number} at {t} ns: the line {far} is not still",))
        if far.healthy() and _frames(answer, clocks) != expected:
            return Agreement(number + 1, bits, (f"message {number} at {t} ns: {_frames(answer, clocks).hex(' ')}",))
    return Agreement(transactions, bits, ())


def _frames(levels: bytes, clocks: int) -> bytes:
    """Bytes of a line that was recorded clock by clock; each bit is checked in its first, middle and last clock."""
    result, at = bytearray(), levels.find(0)
    while at >= 0:
        value = 0
        for bit in range(10):
            cell = set(levels[at + bit * clocks : at + (bit + 1) * clocks])
            if len(cell) != 1:
                return bytes(result) + b"?"
            value |= cell.pop() << bit
        if value & 0x201 != 0x200:
            return bytes(result) + b"!"
        result.append(value >> 1 & 0xFF)
        at = levels.find(0, at + 10 * clocks)
    return bytes(result)
