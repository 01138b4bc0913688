# ruff: noqa: SIM117  a nested `with` is a block of the hardware of its own
"""Cores of chips in logic: pins at the front, registers from the chip's own table, measurements through a port.

The register file, its reset values, write masks, read side effects and the FIFO register come from the same table as
the models in Python and C; all that the host does to a chip happens in the core, clock by clock. Changes with time come
through a port from the program that simulates the vehicle, as from the processor next to the logic in [ChipLevel] Fig.
3: bytes of registers (`feed`), of the FIFO (`push`, `drop`), results of conversions; `heard` reports the host's writes.
The port is served only while no request is under way, so that bursts stay consistent. A microsecond is a pulse at
`tick`. Each pin has a fault multiplexer ([ChipLevel] Eq. 23-25: random, open, short) in front of all else.

Not in hardware: sample clocks, filters and message contents. The SPI front end of register chips samples SCK with the
core's clock: from the edge to MISO it takes three clocks and two pins, so a clock of 100 MHz allows 10 MHz of SCK. The
MS5611, which may run at 20 MHz, has a front end that is clocked by SCK itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, Elaboratable, Module, Mux, ResetSignal, Signal, unsigned
from amaranth.lib.memory import Memory

from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.parts.ms5611 import RELOAD_NS, Ms5611
from ironbird.boards.chips.table import CLEARS, STICKS
from ironbird.errors import UnknownNameError

FAULTS = ("random", "open", "pull", "short", "level")  # bits of a pin's setting
OUTPUTS = ("miso", "clock_seen", "drive", "tx", "taken", "busy", "heard", "heard_address", "heard_data", "count")
BYTES = 4  # of a word of the register file: a reset walks word by word
MICROSECOND_NS = 1000


@dataclass(frozen=True)
class Wiring:
    """What the register table lacks: writes that act at once, addresses of the FIFO register and its count."""

    reset: tuple[int, int] = (-1, 0)  # address, bits
    door: int = -1
    count_high: int = -1
    count_low: int = -1
    empties: tuple[int, int] = (-1, 0)  # address and bits that empty the FIFO
    clears: tuple[tuple[int, int], ...] = ()  # addresses and bits that clear the sample
    sample: range = range(0)  # places of the sample
    reading: tuple[range, int] = (range(0), 0)  # reading any of these places clears that one


KNOWN: Mapping[str, Wiring] = {
    "icm20689": Wiring(
        (0x6B, 0x80), 0x74, 0x72, 0x73, (0x6A, 0x04), ((0x6A, 0x01), (0x68, 0x07)), range(0x3B, 0x3B + 14)
    ),
    "ist8310": Wiring((0x0B, 0x01), reading=(range(0x03, 0x09), 0x02)),
}


class FaultyPin(Elaboratable):
    """One wire with a fault multiplexer: level at the far end. `setting` is random, open, pull, short, level."""

    def __init__(self, seed: int) -> None:
        self.given, self.seen, self.setting, self.seed = Signal(), Signal(), Signal(5), seed | 1

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        noise = Signal(16, init=self.seed)
        m.d.sync += noise.eq(Cat(noise[1:], noise[0] ^ noise[2] ^ noise[3] ^ noise[5]))  # x^16+x^14+x^13+x^11+1
        level = Mux(self.setting[0], noise[0], self.given)
        level = Mux(self.setting[1], self.setting[2], level)
        m.d.comb += self.seen.eq(Mux(self.setting[3], self.setting[4], level))
        return m


class Countdown(Elaboratable):
    """Counter of remaining microseconds: set by `start`, decremented by `tick`; `ends` is high with the last one."""

    def __init__(self, most: int) -> None:
        self.start, self.stop, self.value = Signal(), Signal(), Signal(range(most + 1))
        self.tick, self.running, self.ends = Signal(), Signal(), Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        left, last = Signal.like(self.value), Signal()
        m.d.comb += self.ends.eq(self.running & self.tick & last)
        with m.If(self.start):
            m.d.sync += [left.eq(self.value), self.running.eq(1), last.eq(0)]
        with m.Elif(self.stop | self.ends):
            m.d.sync += self.running.eq(0)
        with m.Elif(self.running & self.tick):
            m.d.sync += [left.eq(left - 1), last.eq(left == 2)]
        return m


class RegisterFile(Elaboratable):
    """The register table as memory: one address is read, written with its mask, and cleared on reading where defined.

    `value` belongs to the `pointer` of three clocks before. `write` and `commit` act in the following clock.
    """

    def __init__(self, chip: str) -> None:
        kind = chip_class(chip)
        assert issubclass(kind, RegisterChip)
        self.kind, self.wiring = kind, KNOWN[chip]
        self.bits = kind.ADDRESS.bit_length()
        self.places = 1 << self.bits
        self.pointer = Signal(self.bits)  # of the request
        self.value = Signal(8)  # what is there
        self.sticks = Signal()  # the pointer stays
        self.commit = Signal()  # its first bit is sent: the register counts as read
        self.write, self.data = Signal(), Signal(8)
        self.restart = Signal()  # a reset: the pointer goes back
        self.deaf = Signal()  # for a while after a reset
        self.busy = Signal()  # a request is under way: no measurements now
        self.tick = Signal()
        self.feed, self.push, self.drop, self.taken = Signal(), Signal(), Signal(), Signal()
        self.feed_address, self.feed_data = Signal(self.bits), Signal(8)
        self.heard, self.heard_address, self.heard_data = Signal(), Signal(self.bits), Signal(8)
        self.count = Signal(13)  # bytes in the FIFO

    def _memories(self, m: Module) -> tuple[Any, Any, Any, Any]:
        """Registers, their masks and flags, and their reset values: three read ports and one write port."""
        kind, wiring, places = self.kind, self.wiring, self.places

        def column(values: Sequence[int]) -> list[int]:
            return [*values[:places], *([0] * (places - len(values)))]

        def words(values: Sequence[int], width: int) -> list[int]:
            return [sum(values[i + k] << width * k for k in range(BYTES)) for i in range(0, places, BYTES)]

        resets, masks, flags = column(kind.RESET), column(kind.MASK), column(kind.FLAGS)
        sample = [int(place in wiring.sample) for place in range(places)]
        facts = [
            mask | (f & CLEARS != 0) << 8 | (f & STICKS != 0) << 9 | (p == wiring.door) << 10
            | (p == wiring.count_high) << 11 | (p == wiring.count_low) << 12 | (p in wiring.reading[0]) << 13
            for p, (mask, f) in enumerate(zip(masks, flags, strict=True))
        ]  # fmt: skip
        m.submodules.registers = registers = Memory(
            shape=unsigned(8 * BYTES), depth=places // BYTES, init=words(resets, 8)
        )
        m.submodules.table = table = Memory(shape=unsigned(14), depth=places, init=facts)
        start = [r | s << 8 * BYTES for r, s in zip(words(resets, 8), words(sample, 1), strict=True)]
        m.submodules.start = first = Memory(shape=unsigned(9 * BYTES), depth=places // BYTES, init=start)
        look, fact, begin = (memory.read_port(domain="sync") for memory in (registers, table, first))
        return look, fact, begin, registers.write_port(granularity=8)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind, wiring, places = self.kind, self.wiring, self.places

        look, fact, begin, store = self._memories(m)
        # Value at the pointer: memory, then one register
        lane, current, known = Signal(2), Signal(8), Signal(14)
        m.d.comb += [look.addr.eq(self.pointer[2:]), fact.addr.eq(self.pointer), self.sticks.eq(known[9])]
        m.d.sync += [lane.eq(self.pointer[:2]), current.eq(look.data.word_select(lane, 8)), known.eq(fact.data)]
        # Effects of the host's access, a clock later
        reads = Signal()
        m.d.sync += [self.heard.eq(self.write), self.heard_data.eq(self.data), self.heard_address.eq(self.pointer)]
        m.d.sync += reads.eq(self.commit)

        def written(address: int, bits: int) -> Any:
            return self.heard & (self.heard_address == address) & ((self.heard_data & bits) != 0)

        resetting, clearing = Signal(), Signal()
        m.d.comb += [resetting.eq(written(*wiring.reset)), self.restart.eq(resetting)]
        for address, bits in wiring.clears:
            with m.If(written(address, bits)):
                m.d.comb += clearing.eq(1)
        # A reset goes through all words, clearing the sample through its bytes only
        depth = (places // BYTES).bit_length() - 1
        walker, walks, whole, behind = Signal(depth), Signal(), Signal(), Signal(depth)
        walked = Signal()
        m.d.comb += begin.addr.eq(walker)
        m.d.sync += [behind.eq(walker), walked.eq(walks)]
        with m.If(resetting | clearing):
            m.d.sync += [walker.eq(0), walks.eq(1), whole.eq(resetting)]
        with m.Elif(walks):
            m.d.sync += [walker.eq(walker + 1), walks.eq(walker != places // BYTES - 1)]
        mask, one = known[:8], Signal(BYTES)
        with m.If(walked):
            m.d.comb += [
                store.addr.eq(behind),
                store.data.eq(Mux(whole, begin.data[: 8 * BYTES], 0)),
                store.en.eq(Mux(whole, (1 << BYTES) - 1, begin.data[8 * BYTES :])),
            ]
        with m.Elif(self.heard & ~resetting):
            value = (current & ~mask) | (self.heard_data & mask)
            m.d.comb += [store.addr.eq(self.heard_address[2:]), store.data.eq(value.replicate(BYTES))]
            m.d.comb += [one.eq(1 << self.heard_address[:2]), store.en.eq(one)]
        with m.Elif(reads & (known[8] | known[13])):
            place = Mux(known[13], Const(wiring.reading[1], self.bits), self.pointer)
            m.d.comb += [store.addr.eq(place[2:]), store.data.eq(0), one.eq(1 << place[:2]), store.en.eq(one)]
        with m.Else():
            m.d.comb += [store.addr.eq(self.feed_address[2:]), store.data.eq(self.feed_data.replicate(BYTES))]
            m.d.comb += one.eq(1 << self.feed_address[:2])
            with m.If(self.taken & self.feed):
                m.d.comb += store.en.eq(one)
        # The port: a request is carried out while `taken` is high
        idle = Signal()
        m.d.comb += idle.eq(~(self.busy | self.heard | self.write | reads | self.commit | walks | walked | self.taken))
        m.d.sync += self.taken.eq((self.feed | self.push | self.drop) & idle)
        if wiring.door >= 0:
            self._fifo(m, known, reads, resetting, written(*wiring.empties), current)
        else:
            m.d.comb += self.value.eq(current)
        if kind.BUSY_NS:
            m.submodules.quiet = quiet = Countdown(kind.BUSY_NS // MICROSECOND_NS)
            m.d.comb += [
                quiet.start.eq(resetting),
                quiet.value.eq(kind.BUSY_NS // MICROSECOND_NS),
                quiet.tick.eq(self.tick),
                self.deaf.eq(quiet.running),
            ]
        return m

    def _fifo(self, m: Module, known: Any, reads: Any, resetting: Any, emptied: Any, current: Any) -> None:
        """The FIFO behind a data register, with a count whose low byte is latched when the high byte is read."""
        m.submodules.fifo = fifo = Memory(shape=unsigned(8), depth=4096, init=[])
        out, into = fifo.read_port(domain="sync"), fifo.write_port()
        head, tail, latched, byte, some = Signal(12), Signal(12), Signal(8), Signal(8), Signal()
        pops = some & ((reads & known[10]) | (self.taken & self.drop))
        pushes = self.taken & self.push & ~self.count[12]
        m.d.comb += [out.addr.eq(head), into.addr.eq(tail), into.data.eq(self.feed_data), into.en.eq(pushes)]
        m.d.sync += [byte.eq(out.data), some.eq(self.count != 0)]
        with m.If(resetting | emptied):
            m.d.sync += [self.count.eq(0), head.eq(0), tail.eq(0)]
        with m.Elif(pops):
            m.d.sync += [self.count.eq(self.count - 1), head.eq(head + 1)]
        with m.Elif(pushes):
            m.d.sync += [self.count.eq(self.count + 1), tail.eq(tail + 1)]
        with m.If(resetting):
            m.d.sync += latched.eq(0)
        with m.Elif(reads & known[11]):
            m.d.sync += latched.eq(self.count[:8])
        m.d.comb += self.value.eq(
            Mux(known[10], Mux(some, byte, 0xFF), Mux(known[11], self.count[8:], Mux(known[12], latched, current)))
        )


class Synchroniser(Elaboratable):
    """Two flip-flops that bring a level into the core's clock, and the previous level for edge detection."""

    def __init__(self, given: Any, init: int) -> None:
        self._given, self._init = given, init
        self.level, self.before = Signal(init=init), Signal(init=init)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        first = Signal(init=self._init)
        m.d.sync += [first.eq(self._given), self.level.eq(first), self.before.eq(self.level)]
        return m


class SpiChip(Elaboratable):
    """A register chip on SPI, mode 0: the front end of `ironbird.boards.chips.pins.SpiPins`, in logic."""

    pins = ("cs", "sck", "mosi", "miso")
    ports = (*pins, "faults", "busy")
    file_ports = ("tick", "feed", "push", "drop", "feed_address", "feed_data", "taken", "heard", "heard_address",
                  "heard_data", "count")  # fmt: skip

    def __init__(self, chip: str) -> None:
        self.file = RegisterFile(chip)
        self.cs, self.sck, self.mosi, self.miso = Signal(init=1), Signal(), Signal(), Signal()
        self.faults, self.busy = Signal(5 * len(self.pins)), Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind, file = self.file.kind, self.file
        m.submodules.file = file
        wires = _wires(m, self, 0xACE1)
        m.submodules.cs_sync = cs = Synchroniser(wires[0].seen, 1)
        m.submodules.sck_sync = sck = Synchroniser(wires[1].seen, 0)
        m.submodules.mosi_sync = mosi = Synchroniser(wires[2].seen, 0)
        bits, shift, out, ahead = Signal(3), Signal(8), Signal(8), Signal(8)
        commanded, reading = Signal(), Signal()
        began = cs.before & ~cs.level
        rises, falls = sck.level & ~sck.before & ~cs.level, sck.before & ~sck.level & ~cs.level
        byte = Cat(mosi.level, shift[:7])
        whole = rises & (bits == 7) & ~began
        fetching = Signal(3)  # the pointer moves, its value comes: four clocks, one before SCK can fall at 10 MHz
        m.d.comb += [
            self.busy.eq(~cs.level | ~cs.before),
            file.busy.eq(self.busy),
            file.data.eq(byte),
            file.commit.eq(rises & (bits == 0) & commanded & reading & ~file.deaf & ~began),
            file.write.eq(whole & commanded & ~reading & ~file.deaf),
        ]
        m.d.sync += fetching.eq(Cat(whole, fetching[:2]))
        with m.If(fetching[2]):
            m.d.sync += ahead.eq(Mux(reading & ~file.deaf, file.value, 0))
        with m.If(began):
            m.d.sync += [bits.eq(rises), shift.eq(Mux(rises, mosi.level, 0)), out.eq(0), ahead.eq(0)]
            m.d.sync += [commanded.eq(0), reading.eq(0)]
        with m.Elif(rises):
            m.d.sync += [shift.eq(byte), bits.eq(bits + 1)]
            with m.If(whole & ~commanded):
                m.d.sync += [commanded.eq(1), reading.eq((byte & kind.READ) != 0), file.pointer.eq(byte & kind.ADDRESS)]
            with m.Elif(whole & ~file.sticks):
                m.d.sync += file.pointer.eq((file.pointer + 1) & kind.ADDRESS)
        with m.Elif(falls):
            m.d.sync += out.eq(Mux(bits == 0, ahead, Cat(Const(0, 1), out[:7])))
        with m.If(file.restart):
            m.d.sync += file.pointer.eq(1)  # back to 0, and on as after every byte
        m.d.comb += wires[3].given.eq(cs.level | out[7])
        return m


class I2cChip(Elaboratable):
    """A register chip on I2C: the front end of `boards.chips.pins.I2cPins`, in logic. `drive` 0 pulls SDA low."""

    pins = ("scl", "sda")
    ports = (*pins, "drive", "faults", "busy")
    file_ports = tuple(port for port in SpiChip.file_ports if port not in ("push", "drop", "count"))

    def __init__(self, chip: str, address: int) -> None:
        self.file, self.address = RegisterFile(chip), address
        self.scl, self.sda, self.drive = Signal(init=1), Signal(init=1), Signal(init=1)
        self.faults, self.busy = Signal(5 * len(self.pins)), Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind, file = self.file.kind, self.file
        m.submodules.file = file
        wires = _wires(m, self, 0xBEEF)
        m.submodules.scl_sync = scl = Synchroniser(wires[0].seen, 1)
        m.submodules.sda_sync = sda = Synchroniser(wires[1].seen, 1)
        idle, addressed, receiving, acknowledging, sending, waiting = range(6)
        state, bits, shift, out = Signal(3), Signal(4), Signal(8), Signal(8)
        reading, more, commanded = Signal(), Signal(), Signal()
        both = scl.level & scl.before
        starts, stops = both & sda.before & ~sda.level, both & sda.level & ~sda.before
        rises, falls = scl.level & ~scl.before, scl.before & ~scl.level
        m.d.comb += [self.busy.eq(state != idle), file.busy.eq(self.busy), file.data.eq(shift)]
        with m.If(starts):
            m.d.sync += [state.eq(addressed), bits.eq(0), shift.eq(0), self.drive.eq(1)]
        with m.Elif(stops):
            m.d.sync += [state.eq(idle), self.drive.eq(1)]
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
                    with m.If(~shift[0]):
                        m.d.sync += commanded.eq(0)
                with m.If((shift[1:] == self.address) & ~file.deaf):
                    m.d.sync += [state.eq(acknowledging), self.drive.eq(0)]
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
        with m.If(file.restart):
            m.d.sync += file.pointer.eq(1)
        return m


class Ms5611Chip(Elaboratable):
    """MS5611 on SPI: commands, coefficients and conversions; D1 and D2 come through a port.

    SCK clocks the front end: a command is complete with its eighth edge, and its answer is on MISO half a period later.
    The answer does not change while the chip is selected. Commands cross to the core's clock by a toggle, which takes
    six clocks from the end of a request to the next one. SCK leaves its multiplexer at `clock_seen` and comes back at
    `clock_used`: place a clock buffer between them.
    """

    pins = ("cs", "sck", "mosi", "miso")
    ports = (*pins, "clock_seen", "clock_used", "faults", "busy", "tick", "pressure", "warmth", "heard", "heard_data")

    def __init__(self) -> None:
        self.cs, self.sck, self.mosi, self.miso = Signal(init=1), Signal(), Signal(), Signal()
        self.clock_seen, self.clock_used = Signal(), Signal()
        self.pressure, self.warmth, self.tick = Signal(24), Signal(24), Signal()
        self.heard, self.heard_data = Signal(), Signal(8)
        self.faults, self.busy = Signal(5 * len(self.pins)), Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wires = _wires(m, self, 0x1357)
        selected, _, data = (wire.seen for wire in wires[:3])
        m.d.comb += self.clock_seen.eq(wires[1].seen)
        m.domains.rise = ClockDomain("rise", async_reset=True, local=True)
        m.domains.fall = ClockDomain("fall", async_reset=True, clk_edge="neg", local=True)
        for domain in ("rise", "fall"):
            m.d.comb += [ClockSignal(domain).eq(self.clock_used), ResetSignal(domain).eq(selected)]
        # Clocked by SCK, held in reset while the chip is not selected
        bits, shift, commanded, fresh = Signal(3), Signal(8), Signal(), Signal()
        command = Signal(8, reset_less=True)
        asked, opened = Signal(reset_less=True), Signal(reset_less=True)  # toggles
        shown, deaf = Signal(24), Signal()  # of the core's clock, still while the chip is selected
        byte = Cat(data, shift[:7])
        m.d.rise += [shift.eq(byte), bits.eq(bits + 1), fresh.eq(0)]
        with m.If((bits == 7) & ~commanded & ~deaf):
            m.d.rise += [commanded.eq(1), fresh.eq(1), command.eq(byte), asked.eq(~asked)]
        with m.If(fresh & (command == 0)):
            m.d.rise += opened.eq(~opened)  # the first bit of a result is taken
        coefficients = Mux(command[4:] == 0xA, _chosen(command[1:4], Ms5611.WORDS), 0)
        answer = Mux(command == 0, shown, Cat(Const(0, 8), coefficients))
        out = Signal(24)
        m.d.fall += out.eq(Mux(fresh, answer, Cat(Const(0, 1), out[:23])))
        m.d.comb += wires[3].given.eq(selected | out[23])
        # Clocked by the core
        m.submodules.cs_sync = cs = Synchroniser(selected, 1)
        m.submodules.asked_sync = asks = Synchroniser(asked, 0)
        m.submodules.opened_sync = opens = Synchroniser(opened, 0)
        m.submodules.conversion = conversion = Countdown(max(Ms5611.CONVERSION_NS) // MICROSECOND_NS)
        m.submodules.quiet = quiet = Countdown(RELOAD_NS // MICROSECOND_NS)
        kind, done, result = Signal(), Signal(), Signal(24)
        executes, reset, converts, spoils = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [executes.eq(asks.level ^ asks.before), self.heard_data.eq(command), self.heard.eq(executes)]
        known = (command[5:] == 2) & ~command[0] & (command[1:4] <= 4)
        m.d.sync += [reset.eq(executes & (command == 0x1E)), converts.eq(executes & known)]
        m.d.sync += spoils.eq(opens.level ^ opens.before)
        times = [ns // MICROSECOND_NS for ns in Ms5611.CONVERSION_NS]
        m.d.comb += [
            self.busy.eq(~cs.level | ~cs.before | executes | reset | converts | spoils),
            conversion.start.eq(converts),
            conversion.stop.eq(reset | spoils),
            conversion.value.eq(_chosen(self.heard_data[1:4], [*times, 0, 0, 0])),
            conversion.tick.eq(self.tick),
            quiet.start.eq(reset),
            quiet.value.eq(RELOAD_NS // MICROSECOND_NS),
            quiet.tick.eq(self.tick),
        ]
        with m.If(converts):
            m.d.sync += [kind.eq(self.heard_data[4]), done.eq(0)]
        with m.Elif(reset | spoils):
            m.d.sync += done.eq(0)
        with m.Elif(conversion.ends):
            m.d.sync += [done.eq(1), result.eq(Mux(kind, self.warmth, self.pressure))]
        with m.If(cs.level & cs.before):
            m.d.sync += [shown.eq(Mux(done, result, 0)), deaf.eq(quiet.running)]
        return m


class SerialChip(Elaboratable):
    """The serial line of a receiver: frames of 8N1 in both directions, with a FIFO of 512 bytes to the host.

    Message contents come through the port; bytes of the host come out at `heard`. A frame without a stop bit is
    dropped, and the next frame may begin at the place of that bit.
    """

    pins = ("rx", "tx")  # of the chip
    ports = (*pins, "divider", "feed", "feed_data", "taken", "heard", "heard_data", "faults", "busy")

    def __init__(self, divider: int = 10_417) -> None:  # 9600 Bd at 100 MHz
        self.rx, self.tx = Signal(init=1), Signal(init=1)
        self.divider = Signal(16, init=divider)
        self.feed, self.feed_data, self.taken = Signal(), Signal(8), Signal()
        self.heard, self.heard_data = Signal(), Signal(8)
        self.faults, self.busy = Signal(5 * len(self.pins)), Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        wires = _wires(m, self, 0x2468)
        m.submodules.rx_sync = rx = Synchroniser(wires[0].seen, 1)
        # To the host
        m.submodules.fifo = fifo = Memory(shape=unsigned(8), depth=512, init=[])
        out, into = fifo.read_port(domain="sync"), fifo.write_port()
        head, tail, count, some, full = Signal(9), Signal(9), Signal(10), Signal(), Signal()
        frame, bits, wait, due = Signal(10, init=0x3FF), Signal(4), Signal(16), Signal()
        bit, first = Signal(16), Signal(16)  # lengths of a bit, and of one and a half, in clocks
        m.d.sync += [bit.eq(self.divider - 2), first.eq(self.divider + self.divider[1:] - 5)]
        m.d.comb += [
            out.addr.eq(head),
            into.addr.eq(tail),
            into.data.eq(self.feed_data),
            into.en.eq(self.taken),
            wires[1].given.eq(frame[0]),
            self.busy.eq(some | (bits != 0)),
        ]
        loads = Signal()
        m.d.sync += [self.taken.eq(self.feed & ~full & ~self.taken), loads.eq((bits == 0) & some & ~loads)]
        m.d.sync += [some.eq((count != 0) & ~loads), full.eq(count >= 510)]
        with m.If(self.taken):
            m.d.sync += tail.eq(tail + 1)
        with m.If(self.taken & ~loads):
            m.d.sync += count.eq(count + 1)
        with m.Elif(loads & ~self.taken):
            m.d.sync += count.eq(count - 1)
        m.d.sync += due.eq(wait == 0)
        with m.If(loads):
            m.d.sync += [frame.eq(Cat(Const(0, 1), out.data, Const(1, 1))), bits.eq(10), wait.eq(bit), due.eq(0)]
            m.d.sync += head.eq(head + 1)
        with m.Elif(bits != 0):
            with m.If(due):
                m.d.sync += [frame.eq(Cat(frame[1:], Const(1, 1))), bits.eq(bits - 1), wait.eq(bit), due.eq(0)]
            with m.Else():
                m.d.sync += wait.eq(wait - 1)
        # From the host
        left, turn, turned, got = Signal(4), Signal(16), Signal(), Signal(8)
        m.d.sync += [self.heard.eq(0), turned.eq(turn == 0)]
        with m.If(left == 0):
            with m.If(~rx.level):
                m.d.sync += [left.eq(9), turn.eq(first), turned.eq(0)]
        with m.Elif(turned):
            m.d.sync += [turn.eq(bit), turned.eq(0), left.eq(left - 1)]
            with m.If(left == 1):
                m.d.sync += [self.heard.eq(rx.level), self.heard_data.eq(got)]
                with m.If(~rx.level):
                    m.d.sync += left.eq(9)
            with m.Else():
                m.d.sync += got.eq(Cat(got[1:], rx.level))
        with m.Else():
            m.d.sync += turn.eq(turn - 1)
        return m


def _wires(m: Module, core: Any, seed: int) -> list[FaultyPin]:
    """Fault multiplexers of a core's pins in their order, connected to its inputs and outputs."""
    wires = [FaultyPin(seed + 77 * i) for i in range(len(core.pins))]
    for i, (wire, name) in enumerate(zip(wires, core.pins, strict=True)):
        m.submodules[f"wire_{name}"] = wire
        m.d.comb += wire.setting.eq(core.faults[5 * i : 5 * i + 5])
        if name in OUTPUTS:
            m.d.comb += getattr(core, name).eq(wire.seen)
        else:
            m.d.comb += wire.given.eq(getattr(core, name))
    return wires


def _chosen(index: Any, values: Sequence[int]) -> Any:
    """One of eight constants, selected by a 3-bit index."""
    low = [Mux(index[0], b, a) for a, b in zip(values[::2], values[1::2], strict=True)]
    return Mux(index[2], Mux(index[1], low[3], low[2]), Mux(index[1], low[1], low[0]))


Core = SpiChip | I2cChip | Ms5611Chip | SerialChip


@dataclass(frozen=True)
class Maker:
    """A kind of core and the arguments that it is constructed with."""

    kind: type[Core]
    arguments: tuple[Any, ...] = ()


CORES: Mapping[str, Maker] = {
    "icm20689": Maker(SpiChip, ("icm20689",)),
    "ist8310": Maker(I2cChip, ("ist8310", 0x0E)),
    "ms5611": Maker(Ms5611Chip),
    "neo_m8n": Maker(SerialChip),
}


def make_core(chip: str) -> Core:
    """The core of a chip by name; raises UnknownNameError for a chip without a core."""
    if chip not in CORES:
        raise UnknownNameError("chip with a core in hardware", chip, CORES)
    made: Core = CORES[chip].kind(*CORES[chip].arguments)
    return made


def ports_of(core: Core) -> dict[str, Any]:
    """The top-level signals of a core by name."""
    ports = {name: getattr(core, name) for name in core.ports}
    if isinstance(core, SpiChip | I2cChip):
        ports |= {name: getattr(core.file, name) for name in core.file_ports}
    return ports
