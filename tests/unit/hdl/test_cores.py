"""Cores of chips in hardware, simulated clock by clock, under the host of the pin models. Needs the extra `hdl`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ironbird.chips.catalog import make_chip
from ironbird.chips.chip import RegisterChip
from ironbird.chips.pins import I2cPins, SpiPins

pytest.importorskip("amaranth", reason="the extra 'hdl' is not installed")

from amaranth.sim import Simulator

from ironbird.hdl.cores import I2cChip, Ms5611Chip, SpiChip

CLOCKS = 6  # of the core in half a bit


def simulated(core: Any, bench: Callable[[Any], Any]) -> None:
    simulator = Simulator(core)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


async def spi(context: Any, core: Any, sent: bytes) -> bytes:
    """One transaction as `SpiPins.transfer` makes it."""
    got = bytearray()
    context.set(core.cs, 0)
    await context.tick().repeat(CLOCKS)
    for value in sent:
        byte = 0
        for bit in range(7, -1, -1):
            context.set(core.sck, 0)
            context.set(core.mosi, value >> bit & 1)
            await context.tick().repeat(CLOCKS)
            context.set(core.sck, 1)
            await context.tick().repeat(CLOCKS)
            byte = byte << 1 | context.get(core.miso)
        got.append(byte)
    context.set(core.sck, 0)
    await context.tick().repeat(CLOCKS)
    context.set(core.cs, 1)
    await context.tick().repeat(CLOCKS)
    return bytes(got)


def test_registers_masks_and_bursts_are_those_of_the_model() -> None:
    core, dice = SpiChip("icm20689"), random.Random(1)
    model = make_chip("icm20689")
    assert isinstance(model, RegisterChip)
    pins = SpiPins(model)
    acting = {r.address for r in model.registers if r.acts or r.measured or r.sticks or r.clears}
    places = [r.address for r in model.registers if r.address not in acting]

    async def bench(context: Any) -> None:
        await context.tick().repeat(4)
        for _ in range(20):
            place, length = dice.choice(places), dice.choice((1, 1, 2, 4))
            if set(range(place, place + length)) & acting:
                length = 1
            first = place | (0x80 if dice.random() < 0.6 else 0)
            sent = bytes([first]) + dice.randbytes(length)
            assert await spi(context, core, sent) == pins.transfer(0, sent).data, sent.hex()

    simulated(core, bench)


def test_an_open_wire_reads_its_pull_level_and_a_reset_walks_through_the_table() -> None:
    core = SpiChip("icm20689")

    async def bench(context: Any) -> None:
        await context.tick().repeat(4)
        assert (await spi(context, core, b"\xf5\x00"))[1] == 0x98
        context.set(core.faults, (0b00110) << 15)  # MISO open, pulled up
        assert (await spi(context, core, b"\xf5\x00"))[1] == 0xFF
        context.set(core.faults, 0)
        await spi(context, core, b"\x19\x55")
        assert (await spi(context, core, b"\x99\x00"))[1] == 0x55
        await spi(context, core, b"\x6b\x80")
        await context.tick().repeat(140)
        assert (await spi(context, core, b"\x99\x00"))[1] == 0 and (await spi(context, core, b"\xeb\x00"))[1] == 0x40

    simulated(core, bench)


def test_the_fifo_gives_its_bytes_in_order_and_ones_when_empty() -> None:
    core = SpiChip("icm20689")

    async def bench(context: Any) -> None:
        for value in (1, 2, 3):
            context.set(core.file.feed_data, value)
            context.set(core.file.push, 1)
            await context.tick()
        context.set(core.file.push, 0)
        await context.tick().repeat(4)
        assert await spi(context, core, b"\xf2\x00\x00") == b"\x00\x00\x03"  # FIFO_COUNT
        assert await spi(context, core, b"\xf4" + bytes(4)) == b"\x00\x01\x02\x03\xff"

    simulated(core, bench)


def test_the_i2c_core_answers_the_host_of_the_pin_model() -> None:
    core = I2cChip("ist8310", 0x0E)
    model = make_chip("ist8310")
    asked = [(0x0E, b"\x00", 1), (0x0E, b"\x41\x24", 0), (0x0E, b"\x41", 2), (0x33, b"\x00", 1), (0x0E, b"\x0d\xff", 0)]
    asked += [(0x0E, b"\x0d", 1)]
    expected = I2cPins([model])
    recorded: list[list[tuple[int, int]]] = []

    class Recorder(I2cPins):
        """The host's own levels, slot by slot, with the model on the wires."""

        def _slot(self, scl: int, sda: int) -> None:
            recorded[-1].append((scl, sda))
            super()._slot(scl, sda)

    wires = []
    host = Recorder([make_chip("ist8310")])
    for address, sent, length in asked:
        recorded.append([])
        expected.record = bytearray()
        assert host.transfer(10_000_000, address, sent, length) == expected.transfer(10_000_000, address, sent, length)
        wires.append(bytes(expected.record))

    async def bench(context: Any) -> None:
        await context.tick().repeat(4)
        for levels, wire in zip(recorded, wires, strict=True):
            for (scl, sda), seen in zip(levels, wire, strict=True):
                context.set(core.scl, scl)
                context.set(core.sda, sda & context.get(core.drive))
                await context.tick().repeat(CLOCKS)
                context.set(core.sda, sda & context.get(core.drive))
                await context.tick().repeat(CLOCKS)
                # a chip moves SDA while the clock is low: compare where the clock is high
                if scl:
                    assert sda & context.get(core.drive) == seen >> 1 & 1

    simulated(core, bench)


def test_ms5611_gives_its_coefficients_and_a_conversion_when_it_is_done() -> None:
    core, model = Ms5611Chip(clocks=300), make_chip("ms5611")
    words: Any = type(model).__dict__["WORDS"]

    async def bench(context: Any) -> None:
        context.set(core.pressure, 0x89ABCD)
        await context.tick().repeat(4)
        for i in range(8):
            got = await spi(context, core, bytes([0xA0 + 2 * i, 0, 0]))
            assert int.from_bytes(got[1:], "big") == words[i]
        assert (await spi(context, core, b"\x00\x00\x00\x00"))[1:] == bytes(3)
        await spi(context, core, b"\x48")
        await context.tick().repeat(320)
        assert (await spi(context, core, b"\x00\x00\x00\x00"))[1:] == b"\x89\xab\xcd"
        assert (await spi(context, core, b"\x00\x00\x00\x00"))[1:] == bytes(3)  # once

    simulated(core, bench)
