"""Comparison of three models of a chip under the same random traffic: transactions, pins in Python, pins in C."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ironbird.boards.chips.bus import QUICK_READ, Answer, I2cBus, SpiBus
from ironbird.boards.chips.catalog import chip_class, make_chip
from ironbird.boards.chips.chip import RegisterChip, frame_bits
from ironbird.boards.chips.pins import I2cPins, Line, SpiPins, share, uart_frames
from ironbird.boards.native_chips import NativeChip, NativeI2cPins, NativeSpiPins, native_line, native_uart_frames

FRAMES = (0, 1, 2, 4, 5, 6)  # of serial lines: no, odd, even parity; the same with two stop bits
STRETCHES = (0, 0, 0, 1, 7, 30, 33, 70)  # slots for which a chip may hold the clock low
STEPS_NS = (1, 1000, 20_000, 130_000, 2_500_000, 11_000_000)  # ns between transactions
FAULTS: tuple[dict[str, int], ...] = (
    {},
    {"random": share(0.001)},
    {"flip_low": share(0.002), "flip_high": share(0.001)},
    {"hold": share(0.01)},
    {"open": 1, "pull": 0},
    {"open": 1, "pull": 1},
    {"short": 1, "level": 0},
    {"short": 1, "level": 1},
)


@dataclass(frozen=True)
class Agreement:
    """Number of compared transactions, and the first differences as texts."""

    transactions: int
    bits: int
    differences: tuple[str, ...]


class Traffic:
    """Random transactions that cover all of a chip: known commands, configuration, bursts, noise."""

    def __init__(self, name: str, bus: str, seed: int, steps_ns: Sequence[int] = STEPS_NS) -> None:
        self.kind, self.bus, self.steps_ns = chip_class(name), bus, steps_ns
        self.dice = random.Random(f"{name} {bus} {seed}")
        self.places = [register.address for register in self.kind.registers] or [0]
        self.time = 0

    def advance(self) -> int:
        self.time += self.dice.choice(self.steps_ns)
        return self.time

    def inputs(self) -> dict[str, float]:
        sizes = {
            "accel": 40.0,
            "gyro": 10.0,
            "field": 1e-4,
            "pressure": 12e4,
            "temperature": 330.0,
            "differential": 7e3,
        }
        out = {}
        for name in self.kind.feeds:
            size = next((value for key, value in sizes.items() if name.startswith(key)), 3.0)
            low = 0.7 * size if name in ("pressure", "temperature") else -size
            out[name] = self.dice.uniform(low, size)
        return out

    def data(self) -> bytes:
        dice = self.dice
        if dice.random() < 0.05:
            return dice.randbytes(dice.randint(1, 20))
        first = dice.choice(self.places)
        if self.bus == "spi" and issubclass(self.kind, RegisterChip):
            if dice.random() < 0.6:
                first |= self.kind.READ
            if dice.random() < 0.7:
                first |= self.kind.INCREMENT
        length = dice.choice((1, 1, 1, 2, 6, 14)) if dice.random() < 0.99 else dice.randint(20, 200)
        return bytes([first & 0xFF]) + dice.randbytes(length)

    def message(self) -> bytes:
        """One message for a GNSS receiver: commands and polls, some of them noise."""
        dice = self.dice
        group, kind = (
            dice.choice((0x01, 0x06, 0x06, 0x06, 0x0A)),
            dice.choice((0x00, 0x01, 0x07, 0x08, 0x24, 0x04, 0x3E)),
        )
        payload = dice.randbytes(dice.choice((0, 0, 2, 3, 6, 8, 20, 36, 40)))
        if group == 6 and kind == 1 and len(payload) > 2:
            payload = bytes([1, dice.choice((2, 3, 4, 6, 7, 0x12, 0x20, 0x30)), dice.randint(0, 3)]) + payload[3:]
        return ubx(group, kind, payload) if dice.random() < 0.95 else dice.randbytes(40)


def compare(
    name: str, bus: str, transactions: int, seed: int = 0, *, fault: bool = False, slow: bool = True
) -> Agreement:
    """Compare the models under random traffic with or without pin faults; with faults, without the transaction model.

    Without `slow` and without faults, the pins in Python, which take most of the time, are not compared.
    """
    return {"spi": _spi, "i2c": _i2c, "uart": _uart}[bus](name, transactions, seed, fault, slow or fault)


def new_fault(traffic: Traffic, number: int) -> Line:
    """A random fault of a wire."""
    return Line(key=number * 0x1234567 + 99, **traffic.dice.choice(FAULTS))


def _spi(name: str, transactions: int, seed: int, fault: bool, slow: bool) -> Agreement:
    traffic = Traffic(name, "spi", seed)
    plain, python, native = make_chip(name), SpiPins(make_chip(name)), NativeSpiPins(NativeChip(name))
    python.record, native.record = bytearray(), bytearray()
    bus = SpiBus({"": plain})
    differences: list[str] = []
    bits = 0
    for number in range(transactions):
        if number % 50 == 0:
            values = traffic.inputs()
            plain.feed(**values)
            python.chip.feed(**values)
            native.chip.feed(**values)
            for wire, line in python.lines().items() if fault else ():
                broken = new_fault(traffic, number) if traffic.dice.random() < 0.4 else Line()
                for key in ("random", "flip_low", "flip_high", "hold", "open", "pull", "short", "level", "key"):
                    setattr(line, key, getattr(broken, key))
                native.set_line(wire, broken)
        t, sent = traffic.advance(), traffic.data()
        python.record.clear()
        native.record.clear()
        answers = [native.transfer(t, sent)]
        if slow:
            answers.append(python.transfer(t, sent))
        if not fault:
            answers.append(bus.transfer(t, "", sent))
        bits += len(native.record)
        if answers.count(answers[0]) != len(answers) or (slow and python.record != native.record):
            differences.append(f"transaction {number} at {t} ns, {sent.hex(' ')}: {answers}")
            break
    return Agreement(transactions, bits, tuple(differences))


def _i2c(name: str, transactions: int, seed: int, fault: bool, slow: bool) -> Agreement:
    traffic = Traffic(name, "i2c", seed)
    kind = chip_class(name)
    other = "ist8310" if name != "ist8310" else "hmc5883l"  # a second chip on the same wires
    plain = [make_chip(name), make_chip(other)]
    python = I2cPins([make_chip(name), make_chip(other)])
    native = NativeI2cPins([NativeChip(name), NativeChip(other)])
    python.record, native.record = bytearray(), bytearray()
    bus = I2cBus(plain)
    differences: list[str] = []
    bits = 0
    more = random.Random(f"{name} quick reads and stretches {seed}")
    for number in range(transactions):
        if number % 50 == 0:
            values = traffic.inputs()
            plain[0].feed(**values)
            python.chips[0].feed(**values)
            native.chips[0].feed(**values)
            for place, front in enumerate(python.fronts if fault else ()):
                front.stretch = more.choice(STRETCHES)
                native.set_stretch(place, front.stretch)
            for wire, line in python.lines().items() if fault else ():
                broken = new_fault(traffic, number) if traffic.dice.random() < 0.4 else Line()
                for key in ("random", "flip_low", "flip_high", "hold", "open", "pull", "short", "level", "key"):
                    setattr(line, key, getattr(broken, key))
                native.set_line(wire, broken)
        t = traffic.advance()
        address = kind.address if traffic.dice.random() < 0.9 else traffic.dice.choice((0x0E, 0x1E, 0x33))
        sent, length = traffic.data(), 0
        if traffic.dice.random() < 0.6:
            sent, length = sent[: traffic.dice.choice((0, 1, 1, 1))], traffic.dice.choice((1, 1, 2, 3, 6, 14))
        if more.random() < 0.02:
            sent, length = sent[: more.choice((0, 1))], QUICK_READ
        python.record.clear()
        native.record.clear()
        answers: list[Answer] = [native.transfer(t, address, sent, length)]
        if slow:
            answers.append(python.transfer(t, address, sent, length))
        if not fault:
            answers.append(bus.transfer(t, address, sent, length))
        bits += len(native.record)
        if answers.count(answers[0]) != len(answers) or (slow and python.record != native.record):
            differences.append(f"transaction {number} at {t} ns, 0x{address:02x} {sent.hex(' ')} R{length}: {answers}")
            break
    return Agreement(transactions, bits, tuple(differences))


def ubx(group: int, number: int, payload: bytes) -> bytes:
    body = bytes([group, number]) + len(payload).to_bytes(2, "little") + payload
    a = b = 0
    for value in body:
        a = (a + value) & 0xFF
        b = (b + a) & 0xFF
    return b"\xb5\x62" + body + bytes([a, b])


def _uart(name: str, transactions: int, seed: int, fault: bool, slow: bool) -> Agreement:
    """Compare messages over a serial line; wrong rates and broken wires corrupt bytes, equally in both models."""
    traffic = Traffic(name, "uart", seed)
    dice = traffic.dice
    python, native = make_chip(name), NativeChip(name)
    library, line, state = native.library, Line(), native_line()
    differences: list[str] = []
    bits = 0
    for number in range(transactions):
        if number % 50 == 0:
            values = traffic.inputs()
            python.feed(**values)
            native.feed(**values)
            if fault:
                broken = new_fault(traffic, number)
                for key in ("random", "flip_low", "flip_high", "hold", "open", "pull", "short", "level", "key"):
                    setattr(line, key, getattr(broken, key))
        t = traffic.advance()
        data = traffic.message()
        here, there = python.uart_baud(), int(library.ib_uart_baud(native.number, native.pointer))
        hears, hears_c = python.uart_frame(), int(library.ib_uart_frame(native.number, native.pointer))
        sender = here if dice.random() < 0.9 else dice.choice((9600, 38400, 115200))
        sends = hears if dice.random() < 0.9 else dice.choice(FRAMES)
        came = uart_frames(line, data, sender, here, sends=sends, hears=hears)
        came_c = native_uart_frames(line, state, data, sender, there, sends=sends, hears=hears_c)
        bits += frame_bits(sends) * len(data)
        out, out_c = bytearray(), bytearray()
        for value in came:
            python.uart_byte(t, value)
        for value in came_c:
            library.ib_uart_byte(native.number, native.pointer, t, value)
        while (value := python.uart_next(t)) >= 0:
            out.append(value)
        while (value := int(library.ib_uart_next(native.number, native.pointer, t))) >= 0:
            out_c.append(value)
        bits += frame_bits(hears) * len(out)
        if came != came_c or here != there or out != out_c:
            differences.append(f"message {number} at {t} ns, {data.hex(' ')}: {out.hex(' ')} | {out_c.hex(' ')}")
            break
    return Agreement(transactions, bits, tuple(differences))
