# ruff: noqa: SIM117  a nested `with` is a block of the hardware of its own
"""Cores of chips for one clock: pins in, registers from the chip's own table, measurements by a port.

The register file, its reset values, write masks, read side effects and the FIFO's door come from the table that the
models in Python and C have. What a chip measures comes by the port `feed` (address and byte), and is taken over only
while no request is under way, so that bursts do not tear. Each pin has a fault multiplexer ([ChipLevel] Eq. 23-25:
random, open, short) in front of the synchronisers.

Not in hardware: sample clocks, filters, conversion and message contents: whoever simulates the vehicle feeds results,
as the processor beside the logic does in [ChipLevel] Fig. 3. The SPI front end samples SCK with the core's clock: at
100 MHz it is good to 10 MHz.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib.memory import Memory

from ironbird.chips.catalog import chip_class
from ironbird.chips.chip import RegisterChip
from ironbird.chips.table import CLEARS, STICKS

FAULTS = ("random", "open", "pull", "short", "level")


@dataclass(frozen=True)
class Wiring:
    """What a table does not say: which write resets, and where the FIFO's door and count are."""

    reset: tuple[int, int] = (-1, 0)  # address, bit
    door: int = -1
    count_high: int = -1
    count_low: int = -1
    empties: tuple[int, int] = (-1, 0)  # address and bit that empty the FIFO


KNOWN: Mapping[str, Wiring] = {
    "icm20689": Wiring((0x6B, 0x80), 0x74, 0x72, 0x73, (0x6A, 0x04)),
    "ist8310": Wiring((0x0B, 0x01)),
}


class FaultyPin(Elaboratable):
    """One wire: what the far end sees of a level. `setting` is random, open, pull, short, level."""

    def __init__(self, seed: int) -> None:
        self.given, self.seen, self.setting, self._seed = Signal(), Signal(), Signal(5), seed

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        noise = Signal(16, init=self._seed | 1)
        m.d.sync += noise.eq(Cat(noise[1:], noise[0] ^ noise[2] ^ noise[3] ^ noise[5]))  # x^16+x^14+x^13+x^11+1
        level = Mux(self.setting[0], noise[0], self.given)
        level = Mux(self.setting[1], self.setting[2], level)
        m.d.comb += self.seen.eq(Mux(self.setting[3], self.setting[4], level))
        return m


class RegisterFile(Elaboratable):
    """The table as memory: one place is looked at, written with its mask, and cleared by reading where it says so."""

    def __init__(self, chip: str) -> None:
        kind = chip_class(chip)
        assert issubclass(kind, RegisterChip)
        self.kind, self.wiring = kind, KNOWN[chip]
        self.places = 1 << (kind.ADDRESS).bit_length()
        self.bits = kind.ADDRESS.bit_length()
        self.pointer = Signal(self.bits)  # of the request
        self.value = Signal(8)  # what is there
        self.commit = Signal()  # its first bit goes out: it counts as read
        self.write, self.data = Signal(), Signal(8)
        self.sticks = Signal()  # the pointer stays
        self.busy = Signal()  # a request is under way: no measurements now
        self.feed, self.feed_address, self.feed_data = Signal(), Signal(self.bits), Signal(8)
        self.push = Signal()  # a byte of `feed_data` for the FIFO
        self.taken = Signal()  # the feed was taken over

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind, wiring, places = self.kind, self.wiring, self.places

        def column(values: Sequence[int]) -> list[int]:
            return [*values[:places], *([0] * (places - len(values)))]

        resets, masks, flags = column(kind.RESET), column(kind.MASK), column(kind.FLAGS)
        m.submodules.registers = registers = Memory(shape=8, depth=places, init=resets)
        m.submodules.table = table = Memory(
            shape=18,
            depth=places,
            init=[r | k << 8 | (f & (CLEARS | STICKS)) << 16 for r, k, f in zip(resets, masks, flags, strict=True)],
        )
        look, facts = registers.read_port(domain="sync"), table.read_port(domain="sync")
        walker = Signal(self.bits + 1, init=places)  # a reset walks through all places
        walking = ~walker[self.bits]
        m.d.comb += [
            look.addr.eq(self.pointer),
            facts.addr.eq(Mux(walking, walker[: self.bits], self.pointer)),
            self.sticks.eq(facts.data[17]),
        ]
        store = registers.write_port()
        mask = facts.data[8:16]
        written = (look.data & ~mask) | (self.data & mask)
        walked = Signal(self.bits)
        walked_valid = Signal()
        m.d.sync += [walked.eq(walker[: self.bits]), walked_valid.eq(walking)]
        with m.If(walking):
            m.d.sync += walker.eq(walker + 1)
        resetting = Const(0)
        if wiring.reset[0] >= 0:
            address, bit = wiring.reset
            resetting = self.write & (self.pointer == address) & ((self.data & bit) != 0)
        with m.If(walked_valid):
            m.d.comb += [store.addr.eq(walked), store.data.eq(facts.data[0:8]), store.en.eq(1)]
        with m.Elif(resetting):
            m.d.sync += walker.eq(0)
        with m.Elif(self.write):
            m.d.comb += [store.addr.eq(self.pointer), store.data.eq(written), store.en.eq(1)]
        with m.Elif(self.commit & facts.data[16]):
            m.d.comb += [store.addr.eq(self.pointer), store.data.eq(0), store.en.eq(1)]
        with m.Elif(self.feed & ~self.busy):
            m.d.comb += [
                store.addr.eq(self.feed_address),
                store.data.eq(self.feed_data),
                store.en.eq(1),
                self.taken.eq(1),
            ]
        m.d.comb += self.value.eq(look.data)
        if wiring.door >= 0:
            self._fifo(m, resetting)
        return m

    def _fifo(self, m: Module, resetting: Any) -> None:
        """The FIFO behind a door, with a count whose low byte is latched when the high one is read."""
        wiring = self.wiring
        m.submodules.fifo = fifo = Memory(shape=8, depth=4096, init=[])
        out, into = fifo.read_port(domain="sync"), fifo.write_port()
        head, count, latched = Signal(12), Signal(13), Signal(8)
        at_door = self.pointer == wiring.door
        popping = self.commit & at_door & (count != 0)
        pushing = self.push & ~self.busy & (count != 4096)
        emptied = resetting
        if wiring.empties[0] >= 0:
            address, bit = wiring.empties
            emptied = emptied | (self.write & (self.pointer == address) & ((self.data & bit) != 0))
        m.d.comb += [
            out.addr.eq(head),
            into.addr.eq((head + count)[:12]),
            into.data.eq(self.feed_data),
            into.en.eq(pushing),
        ]
        with m.If(pushing):
            m.d.comb += self.taken.eq(1)
        with m.If(emptied):
            m.d.sync += [count.eq(0), head.eq(0)]
        with m.Else():
            m.d.sync += [count.eq(count + pushing - popping), head.eq(head + popping)]
        with m.If(self.commit & (self.pointer == wiring.count_high)):
            m.d.sync += latched.eq(count[:8])
        with m.If(at_door):
            m.d.comb += self.value.eq(Mux(count == 0, 0xFF, out.data))
        with m.Elif(self.pointer == wiring.count_high):
            m.d.comb += self.value.eq(count[8:])
        with m.Elif(self.pointer == wiring.count_low):
            m.d.comb += self.value.eq(latched)


class Synchroniser(Elaboratable):
    """Two flip-flops, and what the level was before."""

    def __init__(self, given: Any, init: int) -> None:
        self._given, self._init = given, init
        self.level, self.before = Signal(init=init), Signal(init=init)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        first = Signal(init=self._init)
        m.d.sync += [first.eq(self._given), self.level.eq(first), self.before.eq(self.level)]
        return m


class SpiChip(Elaboratable):
    """A register chip on SPI, mode 0: the front end of `ironbird.chips.pins.SpiPins`, in logic."""

    pins = ("cs", "sck", "mosi", "miso")

    def __init__(self, chip: str) -> None:
        self.file = RegisterFile(chip)
        self.cs, self.sck, self.mosi, self.miso = Signal(init=1), Signal(), Signal(), Signal()
        self.faults = Signal(5 * len(self.pins))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind, file = self.file.kind, self.file
        m.submodules.file = file
        wires = [FaultyPin(0xACE1 + 77 * i) for i in range(4)]
        for i, (wire, name) in enumerate(zip(wires, self.pins, strict=True)):
            m.submodules[f"wire_{name}"] = wire
            m.d.comb += wire.setting.eq(self.faults[5 * i : 5 * i + 5])
        for wire, pin in zip(wires, (self.cs, self.sck, self.mosi), strict=False):
            m.d.comb += wire.given.eq(pin)
        m.submodules.cs_sync = cs = Synchroniser(wires[0].seen, 1)
        m.submodules.sck_sync = sck = Synchroniser(wires[1].seen, 0)
        m.submodules.mosi_sync = mosi = Synchroniser(wires[2].seen, 0)
        bits, shift, out, ahead = Signal(3), Signal(8), Signal(8), Signal(8)
        commanded, reading = Signal(), Signal()
        began = cs.before & ~cs.level
        rises, falls = sck.level & ~sck.before & ~cs.level, sck.before & ~sck.level & ~cs.level
        byte = Cat(mosi.level, shift[:7])
        whole = rises & (bits == 7)
        fetched, fetching = Signal(), Signal()
        m.d.comb += [
            file.busy.eq(~cs.level | ~cs.before),
            file.data.eq(byte),
            file.commit.eq(rises & (bits == 0) & commanded & reading),
            file.write.eq(whole & commanded & ~reading),
        ]
        with m.If(began):
            m.d.sync += [bits.eq(0), shift.eq(0), out.eq(0), ahead.eq(0), commanded.eq(0), reading.eq(0)]
        with m.Elif(rises):
            m.d.sync += [shift.eq(byte), bits.eq(bits + 1)]
            with m.If(whole & ~commanded):
                m.d.sync += [
                    commanded.eq(1),
                    reading.eq((byte & kind.READ) != 0),
                    file.pointer.eq(byte & kind.ADDRESS),
                ]
            with m.Elif(whole & ~file.sticks):
                m.d.sync += file.pointer.eq((file.pointer + 1) & kind.ADDRESS)
        with m.Elif(falls):
            m.d.sync += out.eq(Mux(bits == 0, ahead, Cat(Const(0, 1), out[:7])))
        # Two clocks after the pointer has moved its value is there
        m.d.sync += [fetching.eq(whole), fetched.eq(fetching)]
        with m.If(fetched):
            m.d.sync += ahead.eq(Mux(reading, file.value, 0))
        level = Signal(init=1)
        m.d.sync += level.eq(Mux(cs.level, 1, out[7]))
        m.d.comb += [wires[3].given.eq(level), self.miso.eq(wires[3].seen)]
        return m


class I2cChip(Elaboratable):
    """A register chip on I2C: the front end of `ironbird.chips.pins.I2cPins`, in logic. `drive` 0 pulls SDA low."""

    pins = ("scl", "sda")

    def __init__(self, chip: str, address: int) -> None:
        self.file, self.address = RegisterFile(chip), address
        self.scl, self.sda, self.drive = Signal(init=1), Signal(init=1), Signal(init=1)
        self.faults = Signal(5 * len(self.pins))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind, file = self.file.kind, self.file
        m.submodules.file = file
        wires = [FaultyPin(0xBEEF + 31 * i) for i in range(2)]
        for i, (wire, name, pin) in enumerate(zip(wires, self.pins, (self.scl, self.sda), strict=True)):
            m.submodules[f"wire_{name}"] = wire
            m.d.comb += [wire.setting.eq(self.faults[5 * i : 5 * i + 5]), wire.given.eq(pin)]
        m.submodules.scl_sync = scl = Synchroniser(wires[0].seen, 1)
        m.submodules.sda_sync = sda = Synchroniser(wires[1].seen, 1)
        idle, addressed, receiving, acknowledging, sending, waiting = range(6)
        state, bits, shift, out = Signal(3), Signal(4), Signal(8), Signal(8)
        reading, more, commanded, active = Signal(), Signal(), Signal(), Signal()
        both = scl.level & scl.before
        starts, stops = both & sda.before & ~sda.level, both & sda.level & ~sda.before
        rises, falls = scl.level & ~scl.before, scl.before & ~scl.level
        m.d.comb += [file.busy.eq(state != idle), file.data.eq(shift)]
        with m.If(starts):
            m.d.sync += [state.eq(addressed), bits.eq(0), shift.eq(0), self.drive.eq(1)]
        with m.Elif(stops):
            m.d.sync += [state.eq(idle), self.drive.eq(1), active.eq(0)]
        with m.Elif(rises):
            with m.If((state == addressed) | (state == receiving)):
                m.d.sync += [shift.eq(Cat(sda.level, shift[:7])), bits.eq(bits + 1)]
            with m.Elif(state == sending):
                m.d.comb += file.commit.eq(bits == 0)
                m.d.sync += bits.eq(bits + 1)
            with m.Elif(state == waiting):
                m.d.sync += more.eq(~sda.level)
        with m.Elif(falls):
            with m.If((state == addressed) & (bits == 8)):
                m.d.sync += reading.eq(shift[0])
                with m.If(shift[1:] == self.address):
                    m.d.sync += [state.eq(acknowledging), self.drive.eq(0), active.eq(1)]
                    with m.If(~shift[0]):
                        m.d.sync += commanded.eq(0)
                with m.Else():
                    m.d.sync += state.eq(idle)
            with m.Elif((state == receiving) & (bits == 8)):
                m.d.sync += [self.drive.eq(0), state.eq(acknowledging), commanded.eq(1)]
                with m.If(~commanded):
                    m.d.sync += file.pointer.eq(shift & kind.ADDRESS)
                with m.Else():
                    m.d.comb += file.write.eq(1)
                    with m.If(~file.sticks):
                        m.d.sync += file.pointer.eq((file.pointer + 1) & kind.ADDRESS)
            with m.Elif(((state == acknowledging) & reading) | ((state == waiting) & more)):
                m.d.sync += [out.eq(file.value), state.eq(sending), bits.eq(0), self.drive.eq(file.value[7])]
            with m.Elif(state == acknowledging):
                m.d.sync += [state.eq(receiving), bits.eq(0), shift.eq(0), self.drive.eq(1)]
            with m.Elif(state == sending):
                with m.If(bits == 8):
                    m.d.sync += [state.eq(waiting), self.drive.eq(1)]
                    with m.If(~file.sticks):
                        m.d.sync += file.pointer.eq((file.pointer + 1) & kind.ADDRESS)
                with m.Else():
                    m.d.sync += self.drive.eq(out.bit_select(~bits[:3], 1))
            with m.Elif(state == waiting):
                m.d.sync += state.eq(idle)
        return m


class Ms5611Chip(Elaboratable):
    """MS5611 on SPI: commands, coefficients and conversions; D1 and D2 come by a port.

    A conversion is done after `CLOCKS` of the core; reading the result too early gives zero and spoils it.
    """

    pins = ("cs", "sck", "mosi", "miso")
    CLOCKS = 904_000  # 9.04 ms at 100 MHz

    def __init__(self, clocks: int = CLOCKS) -> None:
        from ironbird.chips.ms5611 import Ms5611

        self._words, self._clocks = Ms5611.WORDS, clocks
        self.cs, self.sck, self.mosi, self.miso = Signal(init=1), Signal(), Signal(), Signal()
        self.pressure, self.warmth = Signal(24), Signal(24)
        self.faults = Signal(5 * len(self.pins))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wires = [FaultyPin(0x1357 + 77 * i) for i in range(4)]
        for i, (wire, name) in enumerate(zip(wires, self.pins, strict=True)):
            m.submodules[f"wire_{name}"] = wire
            m.d.comb += wire.setting.eq(self.faults[5 * i : 5 * i + 5])
        for wire, pin in zip(wires, (self.cs, self.sck, self.mosi), strict=False):
            m.d.comb += wire.given.eq(pin)
        m.submodules.cs_sync = cs = Synchroniser(wires[0].seen, 1)
        m.submodules.sck_sync = sck = Synchroniser(wires[1].seen, 0)
        m.submodules.mosi_sync = mosi = Synchroniser(wires[2].seen, 0)
        m.submodules.prom = prom = Memory(shape=16, depth=8, init=list(self._words))
        look = prom.read_port(domain="sync")
        bits, shift, out = Signal(3), Signal(8), Signal(24)
        commanded, running, kind, done = Signal(), Signal(), Signal(), Signal()
        left, result = Signal(range(self._clocks + 1)), Signal(24)
        byte = Cat(mosi.level, shift[:7])
        rises, falls = sck.level & ~sck.before & ~cs.level, sck.before & ~sck.level & ~cs.level
        first = rises & (bits == 7) & ~commanded
        reads_prom, reads_result = Signal(), Signal()
        with m.If(running):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.sync += [running.eq(0), done.eq(1), result.eq(Mux(kind, self.warmth, self.pressure))]
        with m.If(cs.before & ~cs.level):
            m.d.sync += [bits.eq(0), shift.eq(0), out.eq(0), commanded.eq(0)]
        with m.Elif(rises):
            m.d.sync += [shift.eq(byte), bits.eq(bits + 1)]
            with m.If(first):
                m.d.sync += commanded.eq(1)
        with m.Elif(falls & commanded):
            with m.If(reads_prom | reads_result):
                m.d.sync += [reads_prom.eq(0), reads_result.eq(0)]
            with m.Else():
                m.d.sync += out.eq(Cat(Const(0, 1), out[:23]))
        m.d.comb += look.addr.eq(Mux(first, byte[1:4], shift[1:4]))
        fetched = Signal()
        m.d.sync += fetched.eq(first)
        with m.If(first):
            with m.If(byte == 0x1E):
                m.d.sync += [running.eq(0), done.eq(0)]
            with m.Elif(byte[4:] == 0xA):
                m.d.sync += reads_prom.eq(1)
            with m.Elif(byte == 0):
                m.d.sync += [reads_result.eq(1), out.eq(Mux(done, result, 0))]
                m.d.sync += [running.eq(0), done.eq(0)]
            with m.Elif(((byte[4:] == 4) | (byte[4:] == 5)) & (byte[:4] <= 8) & ~byte[0]):
                m.d.sync += [running.eq(1), done.eq(0), kind.eq(byte[4]), left.eq(self._clocks)]
        with m.If(fetched & reads_prom):
            m.d.sync += out.eq(Cat(Const(0, 8), look.data))
        level = Signal(init=1)
        m.d.sync += level.eq(Mux(cs.level, 1, out[23] & commanded))
        m.d.comb += [wires[3].given.eq(level), self.miso.eq(wires[3].seen)]
        return m


class SerialChip(Elaboratable):
    """The serial line of a receiver: frames of 8N1 both ways, with a FIFO of 512 bytes to the host.

    What the messages say comes by the port; bytes of the host come out at `heard`.
    """

    pins = ("rx", "tx")  # of the chip

    def __init__(self, divider: int = 10_417) -> None:  # 9600 Bd at 100 MHz
        self.rx, self.tx = Signal(init=1), Signal(init=1)
        self.divider = Signal(16, init=divider)
        self.feed, self.feed_data, self.taken = Signal(), Signal(8), Signal()
        self.heard, self.heard_data = Signal(), Signal(8)
        self.faults = Signal(5 * len(self.pins))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.wire_rx = rx_wire = FaultyPin(0x2468)
        m.submodules.wire_tx = tx_wire = FaultyPin(0x1234)
        m.d.comb += [
            rx_wire.setting.eq(self.faults[:5]),
            tx_wire.setting.eq(self.faults[5:]),
            rx_wire.given.eq(self.rx),
            self.tx.eq(tx_wire.seen),
        ]
        m.submodules.rx_sync = rx = Synchroniser(rx_wire.seen, 1)
        # To the host
        m.submodules.fifo = fifo = Memory(shape=8, depth=512, init=[])
        out, into = fifo.read_port(domain="sync"), fifo.write_port()
        head, count = Signal(9), Signal(10)
        frame, bits, wait = Signal(10, init=0x3FF), Signal(4), Signal(16)
        loads = (bits == 0) & (count != 0)
        takes = self.feed & (count != 512)
        m.d.comb += [
            out.addr.eq(head),
            into.addr.eq((head + count)[:9]),
            into.data.eq(self.feed_data),
            into.en.eq(takes),
            self.taken.eq(takes),
            tx_wire.given.eq(frame[0]),
        ]
        ready = Signal()
        m.d.sync += ready.eq(count != 0)
        m.d.sync += count.eq(count + takes - (loads & ready))
        with m.If(loads & ready):
            m.d.sync += [frame.eq(Cat(Const(0, 1), out.data, Const(1, 1))), bits.eq(10), wait.eq(self.divider - 1)]
            m.d.sync += [head.eq(head + 1), ready.eq(0)]
        with m.Elif(bits != 0):
            with m.If(wait == 0):
                m.d.sync += [frame.eq(Cat(frame[1:], Const(1, 1))), bits.eq(bits - 1), wait.eq(self.divider - 1)]
            with m.Else():
                m.d.sync += wait.eq(wait - 1)
        # From the host
        left, turn, got = Signal(4), Signal(16), Signal(8)
        m.d.sync += self.heard.eq(0)
        with m.If(left == 0):
            with m.If(rx.before & ~rx.level):
                m.d.sync += [left.eq(9), turn.eq(self.divider + (self.divider >> 1) - 3)]
        with m.Elif(turn == 0):
            m.d.sync += [turn.eq(self.divider - 1), left.eq(left - 1)]
            with m.If(left == 1):
                m.d.sync += [self.heard.eq(rx.level), self.heard_data.eq(got)]
            with m.Else():
                m.d.sync += got.eq(Cat(got[1:], rx.level))
        with m.Else():
            m.d.sync += turn.eq(turn - 1)
        return m


Core = SpiChip | I2cChip | Ms5611Chip | SerialChip


def make_core(chip: str) -> Core:
    """The core of a chip by name."""
    from ironbird.errors import UnknownNameError

    makers: Mapping[str, Any] = {
        "icm20689": lambda: SpiChip("icm20689"),
        "ist8310": lambda: I2cChip("ist8310", 0x0E),
        "ms5611": Ms5611Chip,
        "neo_m8n": SerialChip,
    }
    if chip not in makers:
        raise UnknownNameError("chip with a core in hardware", chip, makers)
    made: Core = makers[chip]()
    return made


def ports_of(core: Core) -> dict[str, Any]:
    """The signals of a core's border, by name."""
    names = {
        SpiChip: ("cs", "sck", "mosi", "miso", "faults"),
        I2cChip: ("scl", "sda", "drive", "faults"),
        Ms5611Chip: ("cs", "sck", "mosi", "miso", "pressure", "warmth", "faults"),
        SerialChip: ("rx", "tx", "divider", "feed", "feed_data", "taken", "heard", "heard_data", "faults"),
    }[type(core)]
    found = {name: getattr(core, name) for name in names}
    if isinstance(core, SpiChip | I2cChip):
        found |= {name: getattr(core.file, name) for name in ("feed", "feed_address", "feed_data", "push", "taken")}
    return found
