"""A powered board in Python: its buses by name, wire faults, and their witnesses.

Every request carries its time. Without wire faults a request is a transaction; with faults it is computed pin by pin.
Devices with a fault have a twin that gets the same requests over fault-free wires: the first level that differs is the
witness.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ironbird.boards.board import Board, Device
from ironbird.boards.chips.bus import NACK, Answer, I2cBus, Uart
from ironbird.boards.chips.catalog import make_chip
from ironbird.boards.chips.chip import Chip, RegisterChip, frame_bits
from ironbird.boards.chips.parts.ads1115 import Ads1115
from ironbird.boards.chips.parts.ms4525do import Ms4525do
from ironbird.boards.chips.parts.ms5611 import Ms5611
from ironbird.boards.chips.pins import I2cPins, Line, SpiPins, share, uart_frames
from ironbird.boards.chips.trace import Transaction
from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults.spec import Injection

SPI_LINES, I2C_LINES, UART_LINES = ("cs", "sck", "mosi", "miso"), ("scl", "sda"), ("tx", "rx")
WRONG_IDENTITY = 0x5A  # exclusive-or on a chip's identity


@dataclass
class WireWitness:
    """The first level on a wire that differs from the twin's, if any."""

    injection: Injection
    time_ns: int = -1
    transaction: int = -1  # number of the request since the start
    line: str = ""
    slot: int = -1  # slot of the request: two a bit on SPI, three on I2C, one on a serial line

    @property
    def effective(self) -> bool:
        """Whether the fault changed anything on the wire."""
        return self.slot >= 0

    def sentence(self) -> str:
        """The fault as defined, and its effect, as a sentence."""
        if not self.effective:
            return f"{self.injection.text()}: ineffective; no bit on the wire differed from the twin on whole wires"
        return (
            f"{self.injection.text()}: acted on {self.line.upper()} of {self.injection.instance} from "
            f"{self.time_ns / 1e9:.6f} s, request {self.transaction}, slot {self.slot}"
        )


def line_key(seed: int, *names: str) -> int:
    """Key of a wire's random numbers, from the seed and its name."""
    return int.from_bytes(hashlib.sha256(f"{seed} {' '.join(names)}".encode()).digest()[:8], "little")


def set_line(line: Line, params: Mapping[str, float]) -> None:
    """Set a wire's faults from parameters."""
    line.random, line.hold = share(params.get("random", 0.0)), share(params.get("hold", 0.0))
    line.open, line.pull = int(params.get("open", 0)), int(params.get("pull", 1))
    line.short, line.level = int(params.get("short", 0)), int(params.get("level", 1))
    line.flip_low = line.flip_high = share(params.get("flips", 0.0))
    if params.get("noise_V"):
        line.set_noise(params["noise_V"])


@dataclass
class _Place:
    """A device or an I2C bus that faults can name, with its wires."""

    name: str
    lines: dict[str, Line]
    params: dict[str, float] = field(default_factory=dict)
    devices: list[int] = field(default_factory=list)  # numbers of the devices

    def whole(self) -> bool:
        return all(line.healthy() for line in self.lines.values())


class Wiring:
    """All chips of a board, by bus, select, address and port."""

    def __init__(self, board: Board, faults: Sequence[Injection] = (), seed: int = 0) -> None:
        self.board = board
        self.time = 0
        self.count = 0  # number of requests so far
        self.trace: list[Transaction] | None = None
        self.before: Callable[[int], None] = lambda t: None  # called with the time of each request, to update inputs
        self.chips = [self._chip(device) for device in board.device]
        self.twins: list[Chip | None] = [None] * len(self.chips)
        self.places: dict[str, _Place] = {}
        self._spi = {(d.bus, d.select): i for i, d in enumerate(board.device) if d.kind == "spi"}
        self._i2c: dict[str, list[int]] = {}
        self._ports: dict[str, int] = {}
        for i, device in enumerate(board.device):
            if device.kind == "i2c":
                self._i2c.setdefault(device.bus, []).append(i)
                self.places[device.name] = _Place(device.name, {}, devices=[i])
            else:
                names: tuple[str, ...] = SPI_LINES if device.kind == "spi" else UART_LINES
                lines = {line: Line(key=line_key(seed, device.name, line)) for line in names}
                self.places[device.name] = _Place(device.name, lines, devices=[i])
                if device.kind == "uart":
                    self._ports[device.bus] = i
        for bus, devices in self._i2c.items():
            lines = {line: Line(key=line_key(seed, bus, line)) for line in I2C_LINES}
            self.places[bus] = _Place(bus, lines, devices=devices)
        self._draws = {name: Line(key=line_key(seed, name, "draw")) for name in self.places}
        self.witnesses = [WireWitness(fault) for fault in faults]
        self._triggered = [0.0 if not fault.when else float("inf") for fault in faults]
        self._active: dict[str, bool] = {}
        for fault in faults:
            self._check(fault)
        self._spi_pins = {i: self._make_spi(i, self.chips[i]) for i in self._spi.values()}
        self._twin_spi = {i: SpiPins(t) for i in self._spi.values() if (t := self.twins[i]) is not None}
        self._i2c_pins = {bus: self._make_i2c(bus, d) for bus, d in self._i2c.items()}
        self._twin_i2c = {
            bus: I2cPins([t for i in d if (t := self.twins[i]) is not None])
            for bus, d in self._i2c.items()
            if all(self.twins[i] is not None for i in d)
        }
        self.ports = {bus: Uart(self.chips[i]) for bus, i in self._ports.items()}
        self._twin_ports = {bus: Uart(t) for bus, i in self._ports.items() if (t := self.twins[i]) is not None}

    @staticmethod
    def _chip(device: Device) -> Chip:
        chip = make_chip(device.chip)
        if device.address is not None and isinstance(chip, RegisterChip | Ms5611 | Ms4525do | Ads1115):
            chip.own_address = device.address
        return chip

    def _make_spi(self, number: int, chip: Chip) -> SpiPins:
        lines = self.places[self.board.device[number].name].lines
        return SpiPins(chip, lines["cs"], lines["sck"], lines["mosi"], lines["miso"])

    def _make_i2c(self, bus: str, devices: list[int]) -> I2cPins:
        lines = self.places[bus].lines
        return I2cPins([self.chips[i] for i in devices], lines["scl"], lines["sda"])

    def _check(self, fault: Injection) -> None:
        """Raise if the board has no such place or wire; create twins for the devices it affects."""
        name = str(fault.instance)
        if name not in self.places:
            raise UnknownNameError("device or bus", name, self.places, f"board {self.board.id}")
        place = self.places[name]
        for target in fault.targets:
            line, dot, _ = target.partition(f"wire/{name}/")[2].partition(".")
            if dot and line not in place.lines:
                known = (
                    ", ".join(place.lines) or f"none of its own; order it for {self.board.device[place.devices[0]].bus}"
                )
                raise FaultError(f"{fault.fault.id}: {name} of board {self.board.id} has no wire {line} ({known})")
        buses = {self.board.device[i].bus for i in place.devices if self.board.device[i].kind == "i2c"}
        touched = {*place.devices, *(i for bus in buses for i in self._i2c[bus])}
        for i in touched:
            if self.twins[i] is None:
                self.twins[i] = self._chip(self.board.device[i])

    def trigger(self, number: int, time_s: float) -> None:
        """The trigger of a fault holds from now on."""
        self._triggered[number] = min(self._triggered[number], time_s)

    def feed(self, number: int, **values: float) -> None:
        """Set inputs of a device and of its twin."""
        self.chips[number].feed(**values)
        twin = self.twins[number]
        if twin is not None:
            twin.feed(**values)

    def take(self, inputs: np.ndarray) -> None:
        """Set inputs of all devices and of their twins, one row each."""
        for chip, twin, row in zip(self.chips, self.twins, inputs, strict=True):
            chip.inputs[:] = row.tolist()
            if twin is not None:
                twin.inputs[:] = chip.inputs

    def advance(self, t: int) -> None:
        """Advance all chips to a time in ns, before their inputs change."""
        for chip in (*self.chips, *self.twins):
            if chip is not None and chip.due <= t:
                chip.advance(t)

    # ------------------------------------------------------------------ requests

    def spi(self, t: int, bus: str, select: int, sent: bytes) -> Answer:
        """A transaction with the chip behind a chip select; without a chip it reads ones."""
        self._begin(t)
        number = self._spi.get((bus, select), -1)
        if number < 0 or not sent:
            return Answer(b"\xff" * len(sent))
        place = self.places[self.board.device[number].name]
        device = number
        if place.params.get("swapped"):
            others = sorted(i for (b, _), i in self._spi.items() if b == bus)
            device = others[(others.index(number) + 1) % len(others)]
        pins, twin = self._spi_pins[device], self._twin_spi.get(number)
        watching = twin is not None and not self._seen(place)
        pins.record = bytearray() if watching else None
        if place.params.get("off"):
            answer = Answer(b"\xff" * len(sent))
        elif place.whole() and not watching:
            answer = Answer(self.chips[device].transfer(t, sent))
        else:
            answer = pins.transfer(t, sent)
        if twin is not None:
            twin.record = bytearray() if watching else None
            expected = twin.transfer(t, sent)
            if watching:
                self._compare(place, t, SPI_LINES, pins.record, twin.record, answer == expected, "miso")
        self._note(Transaction(t, "SPI", sent, len(sent), answer.data[1:], self.board.device[number].name))
        return answer

    def i2c(self, t: int, bus: str, address: int, sent: bytes, length: int) -> Answer:
        """A transaction on a pair of I2C wires."""
        self._begin(t)
        if bus not in self._i2c:
            return Answer(b"", NACK)
        place = self.places[bus]
        devices = self._i2c[bus]
        deaf = False
        chips = []
        for i in devices:
            own = self.places[self.board.device[i].name]
            silent = bool(own.params.get("off"))
            if own.params.get("nack") and self.chips[i].i2c_match(address):
                draw = self._draws[own.name]
                draw.flip_high = share(own.params["nack"])
                silent = silent or not draw.seen(1)
            deaf = deaf or silent
            if not silent:
                chips.append(self.chips[i])
        twin = self._twin_i2c.get(bus)
        places = [place, *(self.places[self.board.device[i].name] for i in devices)]
        watching = twin is not None and any(not self._seen(p) for p in places)
        pins = self._i2c_pins[bus]
        pins.record = bytearray() if watching and not deaf else None
        for front, own in zip(pins.fronts, places[1:], strict=True):
            front.stretch = round(own.params.get("stretch", 0.0))
        slow = any(front.stretch for front in pins.fronts)
        if deaf or (place.whole() and not watching and not slow):
            answer = I2cBus(chips).transfer(t, address, sent, length)
        else:
            answer = pins.transfer(t, address, sent, length)
        if twin is not None:
            twin.record = bytearray() if watching else None
            expected = twin.transfer(t, address, sent, length)
            for p in places if watching else ():
                self._compare(p, t, I2C_LINES, pins.record, twin.record, answer == expected, "sda")
        self._note(Transaction(t, "I2C", sent, length, answer.data, "", address, answer.error))
        return answer

    def uart_send(self, t: int, bus: str, data: bytes) -> None:
        """Send bytes from the host to the chip at a port."""
        self._begin(t)
        port, twin = self.ports[bus], self._twin_ports.get(bus)
        place = self.places[self.board.device[self._ports[bus]].name]
        record, clean = bytearray(), bytearray()
        drift = 1.0 + place.params.get("baud", 0.0)
        far, frame = round(port.chip.uart_baud() * drift), port.chip.uart_frame()
        if place.lines["tx"].healthy() and drift == 1.0 and (port.frame == frame or not port.near(far)):
            came = data if port.near(far) else b""
            uart_frames(Line(), data, port.baud, port.baud, record, sends=frame) if twin is not None else None
        else:
            came = uart_frames(place.lines["tx"], data, port.baud, far, record, sends=port.frame, hears=frame)
        came = self._bytes(place, came)
        step = frame_bits(port.frame) * 1_000_000_000 // max(1, port.baud)
        for k, value in enumerate(() if place.params.get("off") else came):
            port.chip.uart_byte(t + (k + 1) * step, value)
        if twin is not None:
            twin.baud, twin.frame = port.baud, port.frame
            twin.send(t, data)
            uart_frames(Line(), data, port.baud, port.baud, clean, sends=port.frame)
            if not self._seen(place):
                self._compare(place, t, ("tx",), record, clean, came == data, "tx")
        self._note(Transaction(t, "UART", data, 0, b"", place.name))

    def uart_receive(self, t: int, bus: str) -> bytes:
        """Bytes that the host has received from the chip at a port."""
        self._begin(t)
        port, twin = self.ports[bus], self._twin_ports.get(bus)
        place = self.places[self.board.device[self._ports[bus]].name]
        raw = port.take(t)
        record, clean = bytearray(), bytearray()
        drift = 1.0 + place.params.get("baud", 0.0)
        near, frame = round(port.chip.uart_baud() * drift), port.chip.uart_frame()
        if place.lines["rx"].healthy() and drift == 1.0 and (port.frame == frame or not port.near(near)):
            came = raw if port.near(near) else b""
            uart_frames(Line(), raw, near, near, record, sends=frame) if twin is not None else None
        else:
            came = uart_frames(place.lines["rx"], raw, near, port.baud, record, sends=frame, hears=port.frame)
        came = b"" if place.params.get("off") else self._bytes(place, came)
        if twin is not None:
            twin.baud, twin.frame = port.baud, port.frame
            expected = twin.take(t)
            uart_frames(Line(), expected, near, near, clean, sends=frame)
            if not self._seen(place):
                self._compare(place, t, ("rx",), record, clean, came == (expected if twin.fits() else b""), "rx")
        if came:
            self._note(Transaction(t, "UART", b"", len(came), came, place.name))
        return came

    # ------------------------------------------------------------------ faults

    def _bytes(self, place: _Place, data: bytes) -> bytes:
        """The bytes after random loss and duplication."""
        lost, doubled = place.params.get("lost", 0.0), place.params.get("doubled", 0.0)
        if not lost and not doubled:
            return data
        draw, out = self._draws[place.name], bytearray()
        for value in data:
            draw.flip_high = share(lost)
            if not lost or draw.seen(1):
                out.append(value)
                draw.flip_high = share(doubled)
                if doubled and not draw.seen(1):
                    out.append(value)
        return bytes(out)

    def _begin(self, t: int) -> None:
        self.before(t)
        self.time = t
        self.count += 1
        if self.witnesses:
            self._apply(t)

    def _note(self, transaction: Transaction) -> None:
        if self.trace is not None:
            self.trace.append(transaction)

    def _seen(self, place: _Place) -> bool:
        """Whether all faults of a place have their witness."""
        return all(w.effective for w in self.witnesses if str(w.injection.instance) == place.name)

    def _apply(self, t: int) -> None:
        """Set wires and parameters to the faults at this time."""
        values: dict[tuple[str, str, str], float] = {}
        now: dict[str, bool] = {}
        for number, witness in enumerate(self.witnesses):
            fault = witness.injection
            there = fault.strength(t / 1e9, self._triggered[number])
            for target, change in zip(fault.targets, fault.fault.changes, strict=True):
                path, _, param = target.removeprefix("wire/").rpartition(".")
                name, _, line = path.partition("/")
                kind = f"{name} {param}"
                now[kind] = now.get(kind, False) or there > 0.0
                if there > 0.0:
                    values[name, line, param] = there * change.value(fault.severity)
        for name in {str(w.injection.instance) for w in self.witnesses}:
            place = self.places[name]
            for line_name, wire in place.lines.items():
                set_line(wire, {p: v for (n, k, p), v in values.items() if n == name and k == line_name})
            place.params = {p: v for (n, k, p), v in values.items() if n == name and not k}
            for i in place.devices:
                self._set_chip(i, place, now, t)
        self._active = now

    def _set_chip(self, number: int, place: _Place, now: dict[str, bool], t: int) -> None:
        chip = self.chips[number]

        def edge(param: str) -> int:
            kind = f"{place.name} {param}"
            return int(now.get(kind, False)) - int(self._active.get(kind, False))

        if edge("reset") > 0 or edge("off") < 0:
            chip.power_on(t)
        if edge("overflow") > 0:
            chip.advance(t)
            chip.flood()
        if edge("identity") and isinstance(chip, RegisterChip):
            chip.identity = WRONG_IDENTITY if edge("identity") > 0 else 0

    def _compare(
        self,
        place: _Place,
        t: int,
        names: tuple[str, ...],
        here: bytearray | None,
        there: bytearray | None,
        same: bool,
        line: str,
    ) -> None:
        """Record the first slot in which two records differ, for the active faults of this place."""
        slot = -1
        if here is not None and there is not None:
            if here == there and same:
                return
            both = zip(here, there, strict=False)
            shorter = min(len(here), len(there))
            slot = next((k for k, (a, b) in enumerate(both) if a != b), 0 if here == there else shorter)
            if here != there and slot < min(len(here), len(there)):
                different = here[slot] ^ there[slot]
                line = next(name for k, name in enumerate(names) if different >> k & 1)
        elif same:
            return
        for number, witness in enumerate(self.witnesses):
            fault = witness.injection
            began = self._triggered[number] + fault.start_s <= t / 1e9
            if str(fault.instance) == place.name and began and not witness.effective:
                witness.time_ns, witness.transaction, witness.line = t, self.count, line
                witness.slot = max(0, slot)
