"""Chips behind the Python interfaces of drivers: busio, machine.I2C, smbus, spidev, pyserial, terminals.

    with drivers_on(wiring):            # smbus, smbus2, spidev, busio and micropython are replaced; sleeping is virtual
        from icm20602 import ICM20602
        print(ICM20602(0, 0).read_accel_data())

Time is virtual: a request takes its bits at the bus clock, `time.sleep` advances the clock without waiting. A missing
acknowledge is the error that Linux gives (121, remote I/O), a held clock 110, a held data line 16.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from ironbird.boards.chips.bus import BUSY, NACK, QUICK_READ, TIMEOUT, Answer
from ironbird.boards.chips.chip import frame_bits
from ironbird.boards.wiring import Wiring
from ironbird.errors import LinkError

ERRNO = {NACK: errno.EREMOTEIO, TIMEOUT: errno.ETIMEDOUT, BUSY: errno.EBUSY}
I2C_BIT_NS, SPI_BIT_NS = 2_500, 1_000  # 400 kHz, 1 MHz
MOST_BYTES = 4096  # most bytes of one request
PARITIES = "NOE"
FLAG_READ = 1
POLL_S = 0.004


class VirtualClock:
    """Virtual time of the clients in ns."""

    def __init__(self) -> None:
        self.now = 0

    def sleep(self, seconds: float) -> None:
        """Advance the time by seconds without waiting."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self.now += round(seconds * 1e9)

    def spend(self, bits: int, bit_ns: int) -> int:
        """Start time in ns of a request of so many bits; the clock advances by its duration."""
        start = self.now
        self.now += bits * bit_ns
        return start


def _checked(answer: Answer) -> bytes:
    if answer.error:
        raise OSError(ERRNO[answer.error], os.strerror(ERRNO[answer.error]))
    return answer.data


class I2cPort:
    """An I2C bus as `busio.I2C` (CircuitPython) and `machine.I2C` (MicroPython)."""

    def __init__(self, wiring: Wiring, clock: VirtualClock, bus: str) -> None:
        self.wiring, self.clock, self.bus = wiring, clock, bus

    def transfer(self, address: int, sent: bytes, length: int) -> bytes:
        """Write, then read; raises `OSError` for an error on the bus."""
        if len(sent) > MOST_BYTES or not QUICK_READ <= length <= MOST_BYTES or not 0 <= address <= 0x7F:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        start = self.clock.spend(9 * (len(sent) + max(0, length) + 2), I2C_BIT_NS)
        return _checked(self.wiring.i2c(start, self.bus, address, sent, length))

    def try_lock(self) -> bool:
        return True

    def unlock(self) -> None:
        return

    def scan(self) -> list[int]:
        addresses = []
        for address in range(0x08, 0x78):
            with contextlib.suppress(OSError):
                self.transfer(address, b"", 0)
                addresses.append(address)
        return addresses

    def writeto(self, address: int, buffer: Any, *, start: int = 0, end: int = sys.maxsize, **_: Any) -> None:
        self.transfer(address, bytes(buffer)[start:end], 0)

    def readfrom_into(self, address: int, buffer: Any, *, start: int = 0, end: int = sys.maxsize) -> None:
        end = min(end, len(buffer))
        buffer[start:end] = self.transfer(address, b"", end - start)

    def writeto_then_readfrom(
        self, address: int, out_buffer: Any, in_buffer: Any, *, out_start: int = 0, out_end: int = sys.maxsize,
        in_start: int = 0, in_end: int = sys.maxsize,
    ) -> None:  # fmt: skip
        in_end = min(in_end, len(in_buffer))
        in_buffer[in_start:in_end] = self.transfer(address, bytes(out_buffer)[out_start:out_end], in_end - in_start)

    def readfrom(self, address: int, count: int) -> bytes:
        return self.transfer(address, b"", count)

    def readfrom_mem(self, address: int, register: int, count: int) -> bytes:
        return self.transfer(address, bytes([register]), count)

    def readfrom_mem_into(self, address: int, register: int, buffer: Any) -> None:
        buffer[:] = self.transfer(address, bytes([register]), len(buffer))

    def writeto_mem(self, address: int, register: int, buffer: Any) -> None:
        self.transfer(address, bytes([register]) + bytes(buffer), 0)


class SpiPort:
    """An SPI bus as `busio.SPI`; writes and reads while a select is low form one transaction."""

    def __init__(self, wiring: Wiring, clock: VirtualClock, bus: str) -> None:
        self.wiring, self.clock, self.bus = wiring, clock, bus
        self.selected = -1
        self._written = bytearray()

    def transfer(self, chip_select: int, sent: bytes) -> bytes:
        """Send bytes to a chip, and return as many bytes."""
        if len(sent) > MOST_BYTES:
            raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
        return _checked(self.wiring.spi(self.clock.spend(8 * len(sent), SPI_BIT_NS), self.bus, chip_select, sent))

    def select(self, number: int) -> SimpleNamespace | Any:
        """A chip-select pin, as `digitalio.DigitalInOut`."""
        return _Select(self, number)

    def try_lock(self) -> bool:
        return True

    def unlock(self) -> None:
        return

    def configure(self, **_: Any) -> None:
        return

    def write(self, buffer: Any, *, start: int = 0, end: int = sys.maxsize) -> None:
        self._written += bytes(buffer)[start:end]

    def readinto(self, buffer: Any, *, start: int = 0, end: int = sys.maxsize, write_value: int = 0) -> None:
        end = min(end, len(buffer))
        head, self._written = bytes(self._written), bytearray()
        data = self.transfer(self.selected, head + bytes([write_value]) * (end - start))
        buffer[start:end] = data[len(head) :]

    def flush(self) -> None:
        """Send pending writes when the select goes high."""
        if self._written and self.selected >= 0:
            self.transfer(self.selected, bytes(self._written))
        self._written = bytearray()


class _Select:
    """Context manager of a chip select."""

    def __init__(self, port: SpiPort, number: int) -> None:
        self._port, self._number, self._level = port, number, True
        self.direction = 1

    def switch_to_output(self, value: bool = True, **_: Any) -> None:
        self.value = value

    @property
    def value(self) -> bool:
        return self._level

    @value.setter
    def value(self, level: bool) -> None:
        if level:
            self._port.flush()
            self._port.selected = -1
        else:
            self._port.selected = self._number
        self._level = level


class Message:
    """One part of a combined I2C transaction, as `smbus2.i2c_msg`."""

    def __init__(self, address: int, flags: int, data: bytes) -> None:
        self.addr, self.flags, self.data, self.len = address, flags, bytearray(data), len(data)

    @property
    def buf(self) -> list[bytes]:
        """The bytes one by one, as the pointer of the C structure gives them."""
        return [bytes([value]) for value in self.data]

    @classmethod
    def read(cls, address: int, length: int) -> Message:
        return cls(address, FLAG_READ, bytes(length))

    @classmethod
    def write(cls, address: int, buf: Any) -> Message:
        return cls(address, 0, bytes(buf))

    def __iter__(self) -> Iterator[int]:
        return iter(self.data)

    def __len__(self) -> int:
        return self.len

    def __bytes__(self) -> bytes:
        return bytes(self.data)


class SmBus:
    """An I2C bus as `smbus.SMBus` and `smbus2.SMBus`."""

    def __init__(self, port: I2cPort) -> None:
        self._port = port

    def open(self, bus: int) -> None:
        return

    def close(self) -> None:
        return

    def __enter__(self) -> SmBus:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def read_byte(self, address: int, force: Any = None) -> int:
        return self._port.transfer(address, b"", 1)[0]

    def write_byte(self, address: int, value: int, force: Any = None) -> None:
        self._port.transfer(address, bytes([value & 0xFF]), 0)

    def write_quick(self, address: int, force: Any = None) -> None:
        self._port.transfer(address, b"", 0)

    def read_byte_data(self, address: int, register: int, force: Any = None) -> int:
        return self._port.transfer(address, bytes([register & 0xFF]), 1)[0]

    def write_byte_data(self, address: int, register: int, value: int, force: Any = None) -> None:
        self._port.transfer(address, bytes([register & 0xFF, value & 0xFF]), 0)

    def read_word_data(self, address: int, register: int, force: Any = None) -> int:
        return int.from_bytes(self._port.transfer(address, bytes([register & 0xFF]), 2), "little")

    def write_word_data(self, address: int, register: int, value: int, force: Any = None) -> None:
        self._port.transfer(address, bytes([register & 0xFF]) + (value & 0xFFFF).to_bytes(2, "little"), 0)

    def read_i2c_block_data(self, address: int, register: int, length: int = 32, force: Any = None) -> list[int]:
        return list(self._port.transfer(address, bytes([register & 0xFF]), min(32, length)))

    def write_i2c_block_data(self, address: int, register: int, data: Sequence[int], force: Any = None) -> None:
        self._port.transfer(address, bytes([register & 0xFF, *(value & 0xFF for value in data[:32])]), 0)

    def i2c_rdwr(self, *messages: Message) -> None:
        """Writes and reads in one call; a read directly after a write is one transaction with a repeated start."""
        waiting = list(messages)
        while waiting:
            first = waiting.pop(0)
            if first.flags & FLAG_READ:
                first.data[:] = self._port.transfer(first.addr, b"", first.len or QUICK_READ)
            elif waiting and waiting[0].flags & FLAG_READ and waiting[0].addr == first.addr:
                then = waiting.pop(0)
                then.data[:] = self._port.transfer(first.addr, bytes(first.data), then.len or QUICK_READ)
            else:
                self._port.transfer(first.addr, bytes(first.data), 0)


class SerialPort:
    """A serial line as `serial.Serial`: reading advances virtual time until bytes come or the time-out is over."""

    def __init__(
        self,
        wiring: Wiring,
        clock: VirtualClock,
        bus: str,
        baudrate: int = 9600,
        timeout: float = 1.0,
        parity: str = "N",
        stopbits: int = 1,
    ) -> None:
        self.wiring, self.clock, self.bus, self.timeout = wiring, clock, bus, timeout
        self._waiting = bytearray()
        self.baudrate = baudrate
        if parity not in PARITIES or stopbits not in (1, 2):
            raise LinkError(f"a serial line has parity N, O or E and 1 or 2 stop bits, not {parity} and {stopbits}")
        wiring.ports[bus].frame = PARITIES.index(parity) + 4 * (stopbits - 1)
        self.is_open = True

    @property
    def baudrate(self) -> int:
        return self.wiring.ports[self.bus].baud

    @baudrate.setter
    def baudrate(self, rate: int) -> None:
        self.wiring.ports[self.bus].baud = rate

    @property
    def in_waiting(self) -> int:
        self._waiting += self.wiring.uart_receive(self.clock.now, self.bus)
        return len(self._waiting)

    def write(self, data: Any) -> int:
        self.wiring.uart_send(self.clock.now, self.bus, bytes(data))
        bits = frame_bits(self.wiring.ports[self.bus].frame)
        self.clock.now += len(data) * bits * 1_000_000_000 // max(1, self.baudrate)
        return len(data)

    def read(self, size: int = 1) -> bytes:
        end = self.clock.now + round((self.timeout if self.timeout is not None else 60.0) * 1e9)
        while self.in_waiting < size and self.clock.now < end:
            self.clock.now += 1_000_000
        data, self._waiting = bytes(self._waiting[:size]), self._waiting[size:]
        return data

    def readline(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n") and (byte := self.read(1)):
            line += byte
        return bytes(line)

    def flush(self) -> None:
        return

    def reset_input_buffer(self) -> None:
        self._waiting.clear()

    flushInput = flushOutput = flush

    def close(self) -> None:
        self.is_open = False


def _numbered(wiring: Wiring, kind: str, number: int) -> str:
    """The board's bus for a bus number of Linux; the first of its kind if the board has no such number."""
    buses = sorted({device.bus for device in wiring.board.device if device.kind == kind})
    if not buses:
        raise FileNotFoundError(errno.ENOENT, f"board {wiring.board.id} has no {kind} bus")
    return f"{kind}{number}" if f"{kind}{number}" in buses else buses[0]


@contextlib.contextmanager
def drivers_on(wiring: Wiring, virtual: VirtualClock | None = None) -> Iterator[VirtualClock]:
    """Replace the modules that drivers import by a board, and `time.sleep` by virtual time, inside the `with` block."""
    clock = virtual or VirtualClock()

    def smbus(bus: int | str | None = None, *_: Any, **__: Any) -> SmBus:
        digits = "".join(sign for sign in str(bus) if sign.isdigit())
        return SmBus(I2cPort(wiring, clock, _numbered(wiring, "i2c", int(digits or 1))))

    class SpiDev:
        """Interface of the module spidev."""

        mode, max_speed_hz, bits_per_word, no_cs = 0, 500_000, 8, False

        def __init__(self, bus: int = 0, device: int = 0) -> None:
            self.open(bus, device)

        def open(self, bus: int, device: int) -> None:
            self._port, self._select = SpiPort(wiring, clock, _numbered(wiring, "spi", bus)), device

        def xfer2(self, values: Any, *_: Any) -> list[int]:
            return list(self._port.transfer(self._select, bytes(values)))

        xfer = xfer2

        def writebytes(self, values: Any) -> None:
            self.xfer2(values)

        def readbytes(self, count: int) -> list[int]:
            return self.xfer2(bytes(count))

        def close(self) -> None:
            return

    def module(name: str, **names: Any) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(names)
        return made

    modules = {
        "smbus": module("smbus", SMBus=smbus),
        "smbus2": module("smbus2", SMBus=smbus, i2c_msg=Message, SMBusWrapper=smbus),
        "spidev": module("spidev", SpiDev=SpiDev),
        "micropython": module("micropython", const=lambda value: value),
        "busio": module("busio", I2C=I2cPort, SPI=SpiPort),
        "digitalio": module("digitalio", DigitalInOut=_Select, Direction=SimpleNamespace(INPUT=0, OUTPUT=1)),
        "circuitpython_typing": module("circuitpython_typing", ReadableBuffer=Any, WriteableBuffer=Any),
        "circuitpython_typing.device_drivers": module("device_drivers", I2CDeviceDriver=Any),
    }
    kept = {name: sys.modules.get(name) for name in modules}
    real = {name: getattr(time, name, None) for name in ("sleep", "sleep_ms", "sleep_us", "monotonic", "time")}
    begun = real["time"]() if real["time"] else 0.0
    sys.modules.update(modules)
    time.sleep = clock.sleep  # type: ignore[assignment]
    time.sleep_ms = lambda ms: clock.sleep(ms / 1e3)  # type: ignore[attr-defined]
    time.sleep_us = lambda us: clock.sleep(us / 1e6)  # type: ignore[attr-defined]
    time.monotonic = lambda: clock.now / 1e9
    time.time = lambda: begun + clock.now / 1e9
    try:
        yield clock
    finally:
        for name, value in real.items():
            setattr(time, name, value) if value is not None else delattr(time, name)
        for name, old in kept.items():
            if old is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = old


class Terminal:
    """A serial line as a pseudo-terminal in real time, for programs that open a path: `Terminal(…).path`.

    The rate is what the program sets on the terminal. A thread serves it until `close`; a program that closes and
    opens it again finds the same chip.
    """

    def __init__(self, wiring: Wiring, bus: str) -> None:
        if bus not in wiring.ports:
            raise LinkError(
                f"board {wiring.board.id} has no serial line {bus}; it has {', '.join(wiring.ports) or 'none'}"
            )
        self._wiring, self._bus = wiring, bus
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._stop = threading.Event()
        self._begin = time.monotonic_ns()
        self._thread = threading.Thread(target=self._serve, name=f"terminal {bus}", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        rates = {
            getattr(termios, name): int(name[1:]) for name in dir(termios) if name[:1] == "B" and name[1:].isdigit()
        }
        port = self._wiring.ports[self._bus]
        port.frame = port.chip.uart_frame()  # Linux stores no parity for pseudo-terminals
        while not self._stop.is_set():
            now = time.monotonic_ns() - self._begin
            port.baud = rates.get(termios.tcgetattr(self._slave)[5], 9600) or 9600
            if select.select([self._master], [], [], POLL_S)[0]:
                data = os.read(self._master, MOST_BYTES)
                self._wiring.uart_send(now, self._bus, data)
            came = self._wiring.uart_receive(now, self._bus)
            with contextlib.suppress(BlockingIOError):  # no program reads: lost, as on a serial line
                os.write(self._master, came)

    def close(self) -> None:
        """End the thread and close the terminal."""
        self._stop.set()
        self._thread.join(timeout=10.0)
        os.close(self._master)
        os.close(self._slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
