"""Base classes of chips: fields that become a C structure, power, time, and byte-level SPI, I2C and UART.

A chip's state is its annotated class attributes: whole numbers, reals, `bytearray`, lists of one kind. Attributes
without annotation are constants. The methods below, and what they call, are the chip's behaviour; they are written in
the subset of Python that `ironbird.boards.chips.translate` reads. A bus calls them in this order:

SPI   `spi_begin` (select falls), then for each byte `spi_peek` (what the chip will shift out; changes nothing),
      `spi_commit` (its first bit was clocked: now it counts as read), `spi_byte` (eight bits came in); `spi_end`.
I2C   `i2c_begin` (start and an address of this chip; 0 is no acknowledge), then `i2c_byte` for each byte written, or
      `i2c_peek`, `i2c_commit`, `i2c_done` for each byte read; `i2c_end` at the stop.
UART  `uart_byte` (a byte came in whole), `uart_next` (the next byte to send, or -1), `uart_baud` (as configured),
      `uart_frame` (parity and stop bits, as `frame_bits` reads them).

A chip's state changes with time only in `advance`, called at the start of a transaction: outputs of one sample stay
consistent, and all levels of modelling agree. Not modelled: what happens inside a chip while it is being read.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any, ClassVar

from ironbird.boards.chips.numbers import NEVER
from ironbird.boards.chips.table import ACTS, CLEARS, STICKS, Register, check_table

POWERED_NS = -1_000_000_000  # ns of power-up: long before the first transaction
FRAME_8N1, FRAME_8E2 = 0, 6  # parity (1 odd, 2 even), and 4 for a second stop bit
MOST_TICKS = 200_000  # most ticks of the sample clock in one call: a chip that slept longer continues from now


def frame_bits(frame: int) -> int:
    """Number of bits on the line for one byte: start bit, eight data bits, parity if any, one or two stop bits."""
    return 10 + (1 if frame & 3 else 0) + (frame >> 2)


class Chip:
    """Base class of a chip without behaviour."""

    part: ClassVar[str] = ""  # order code
    summary: ClassVar[str] = ""
    source: ClassVar[str] = ""
    buses: ClassVar[tuple[str, ...]] = ()  # spi, i2c, uart
    address: ClassVar[int] = 0  # default I2C address
    clock_hz: ClassVar[int] = 400_000  # fastest bus clock
    feeds: ClassVar[tuple[str, ...]] = ()  # names of the inputs, SI units in chip axes
    registers: ClassVar[tuple[Register, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ()  # names of the entries of `drive`
    fifo_setup: ClassVar[tuple[tuple[int, int], ...]] = ()  # writes that enable the FIFO, if there is one
    fifo_door: ClassVar[int] = 0  # address from which the FIFO is read

    inputs: list[float] = [0.0] * 16
    drive: list[float] = [0.0] * 16  # outputs that it drives: pulse widths, levels
    now: int = POWERED_NS  # ns, time of the latest transaction
    due: int = NEVER  # ns, next tick of the sample clock
    interrupt: int = 0  # level of the interrupt pin

    def __init__(self, **inputs: float) -> None:
        for name, value in self.fields().items():
            setattr(self, name, copy.copy(value))
        for name, value in inputs.items():
            self.inputs[self.feeds.index(name)] = value
        self.power_on(POWERED_NS)

    @classmethod
    def fields(cls) -> dict[str, Any]:
        """The state: names and initial values in order of declaration."""
        fields: dict[str, Any] = {}
        for kind in reversed(cls.__mro__):
            for name, kind_of in inspect.get_annotations(kind).items():
                if not str(kind_of).startswith("ClassVar"):
                    fields[name] = getattr(cls, name)
        return fields

    @classmethod
    def id(cls) -> str:
        """Name of the chip in the catalogue."""
        return cls.__module__.rpartition(".")[2].removeprefix("ironbird_named_")

    def feed(self, **values: float) -> None:
        """Set inputs by name; they keep their values until they are set again."""
        for name, value in values.items():
            self.inputs[self.feeds.index(name)] = value

    def transfer(self, t: int, sent: bytes) -> bytes:
        """One SPI transaction at time `t` in ns: bytes to the chip, as many bytes back."""
        self.spi_begin(t)
        answer = bytearray(len(sent))
        for i, value in enumerate(sent):
            answer[i] = self.spi_peek()
            self.spi_commit()
            self.spi_byte(value)
        self.spi_end()
        return bytes(answer)

    # ------------------------------------------------------------------ behaviour, translated to C

    def power_on(self, t: int) -> None:
        self.now = t

    def tick(self) -> None:
        self.due = NEVER

    def advance(self, t: int) -> None:
        if t > self.now:
            self.now = t
        count = 0
        while self.due <= self.now:
            self.tick()
            count += 1
            if count >= MOST_TICKS:
                self.due = self.now + 1

    def interrupt_level(self, t: int) -> int:
        return self.interrupt

    def flood(self) -> None:
        return

    def spi_begin(self, t: int) -> None:
        self.advance(t)

    def spi_peek(self) -> int:
        return 0

    def spi_commit(self) -> None:
        return

    def spi_byte(self, value: int) -> None:
        return

    def spi_end(self) -> None:
        return

    def i2c_match(self, address: int) -> int:
        return 0

    def i2c_begin(self, t: int, reading: int) -> int:
        self.advance(t)
        return 1

    def i2c_byte(self, value: int) -> int:
        return 1

    def i2c_peek(self) -> int:
        return 0xFF

    def i2c_commit(self) -> None:
        return

    def i2c_done(self) -> None:
        return

    def i2c_end(self) -> None:
        return

    def uart_byte(self, t: int, value: int) -> None:
        self.advance(t)

    def uart_next(self, t: int) -> int:
        return -1

    def uart_baud(self) -> int:
        return 9600

    def uart_frame(self) -> int:
        return 0


class RegisterChip(Chip):
    """A chip with registers and an address pointer; the first byte of a request gives address and direction."""

    PLACES = 128  # number of bytes of the register file
    RESET: ClassVar[tuple[int, ...]] = ()
    MASK: ClassVar[tuple[int, ...]] = ()
    FLAGS: ClassVar[tuple[int, ...]] = ()
    READ = 0x80  # bit of the first SPI byte that means reading
    ADDRESS = 0x7F  # bits of the first SPI byte, or of the I2C sub-address, that are the address
    INCREMENT = 0  # bit of the first SPI byte that increments the pointer; 0: always
    I2C_INCREMENT = 0
    DUMMY = 0  # dummy bytes before data, when reading by SPI
    BUSY_NS = 0  # ns without response after power-up or a reset

    reg: bytearray = bytearray(128)
    own_address: int = 0  # I2C address
    identity: int = 0  # exclusive-or on its identity register: simulates a wrong part
    pointer: int = 0
    reading: int = 0
    commanded: int = 0  # the first byte was received
    walking: int = 1
    skipped: int = 0  # dummy bytes left
    ready: int = 0  # ns from which on it answers

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_table(cls.id(), cls.registers, cls.PLACES)
        reset, mask, flags = [0] * cls.PLACES, [0] * cls.PLACES, [0] * cls.PLACES
        for register in cls.registers:
            reset[register.index] = register.reset
            mask[register.index] = register.mask
            flags[register.index] = CLEARS * register.clears + STICKS * register.sticks + ACTS * register.acts
        cls.RESET, cls.MASK, cls.FLAGS = tuple(reset), tuple(mask), tuple(flags)
        cls.reg = bytearray(cls.PLACES)
        cls.own_address = cls.address
        # Number of plain registers from each place on, so that a burst over them is a slice.
        plain = [0] * (cls.PLACES + 1)
        for place in reversed(range(cls.PLACES)):
            ahead = 0 if place & cls.ADDRESS == cls.ADDRESS else plain[place + 1]  # the pointer wraps there
            plain[place] = 0 if flags[place] else ahead + 1
        cls.plain = tuple(plain)

    plain: ClassVar[tuple[int, ...]] = ()

    def transfer(self, t: int, sent: bytes) -> bytes:
        """One SPI transaction, equal to the byte-level calls, but faster for plain reads."""
        first = sent[0]
        if t < self.due and t >= self.ready and not self.DUMMY:
            if t > self.now:
                self.now = t
            place, count = first & self.ADDRESS, len(sent) - 1
            if first & self.READ and self.plain[place] >= count and self.is_plain():
                return b"\0" + self.reg[place : place + count]
        return super().transfer(t, sent)

    # ------------------------------------------------------------------ behaviour, translated to C

    def is_plain(self) -> int:
        return self.INCREMENT == 0

    def power_on(self, t: int) -> None:
        self.now = t
        self.reset_registers(t)

    def reset_registers(self, t: int) -> None:
        for i in range(self.PLACES):
            self.reg[i] = self.RESET[i]
        self.due = NEVER
        self.interrupt = 0
        self.pointer = 0
        self.ready = t + self.BUSY_NS
        self.on_reset(t)

    def on_reset(self, t: int) -> None:
        return

    def place(self, address: int) -> int:
        return address

    def value(self, place: int) -> int:
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if self.FLAGS[place] & CLEARS:
            self.reg[place] = 0

    def on_write(self, place: int, value: int) -> None:
        self.store(place, value)

    def store(self, place: int, value: int) -> None:
        mask = self.MASK[place]
        self.reg[place] = (self.reg[place] & (255 - mask)) | (value & mask)

    def walk(self) -> None:
        if self.walking and not self.FLAGS[self.place(self.pointer)] & STICKS:
            self.pointer = (self.pointer + 1) & self.ADDRESS

    def deaf(self) -> int:
        return self.now < self.ready

    def spi_begin(self, t: int) -> None:
        self.advance(t)
        self.commanded = 0
        self.reading = 0

    def spi_peek(self) -> int:
        if not self.commanded or not self.reading or self.skipped > 0 or self.deaf():
            return 0
        return self.value(self.place(self.pointer))

    def spi_commit(self) -> None:
        if self.commanded and self.reading and self.skipped == 0 and not self.deaf():
            self.on_read(self.place(self.pointer))

    def spi_byte(self, value: int) -> None:
        if not self.commanded:
            self.commanded = 1
            self.reading = 1 if value & self.READ else 0
            self.walking = 1 if self.INCREMENT == 0 or value & self.INCREMENT else 0
            self.pointer = value & self.ADDRESS
            self.skipped = self.DUMMY if self.reading else 0
        elif self.skipped > 0:
            self.skipped -= 1
        else:
            if not self.reading and not self.deaf():
                self.on_write(self.place(self.pointer), value)
            self.walk()

    def i2c_match(self, address: int) -> int:
        return 1 if address == self.own_address else 0

    def i2c_begin(self, t: int, reading: int) -> int:
        self.advance(t)
        self.reading = reading
        if not reading:
            self.commanded = 0
        return 0 if self.deaf() else 1

    def i2c_byte(self, value: int) -> int:
        if not self.commanded:
            self.commanded = 1
            self.walking = 1 if self.I2C_INCREMENT == 0 or value & self.I2C_INCREMENT else 0
            self.pointer = value & self.ADDRESS
        else:
            self.on_write(self.place(self.pointer), value)
            self.walk()
        return 1

    def i2c_peek(self) -> int:
        return self.value(self.place(self.pointer))

    def i2c_commit(self) -> None:
        self.on_read(self.place(self.pointer))

    def i2c_done(self) -> None:
        self.walk()
