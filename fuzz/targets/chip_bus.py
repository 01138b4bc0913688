"""Every byte that a client can send to a chip: requests on SPI, I2C and serial lines, in Python and C alike."""

from __future__ import annotations

from ironbird.boards.chips.bus import I2cBus
from ironbird.boards.chips.catalog import CHIPS, chip_class, make_chip
from ironbird.boards.native_chips import NativeChip, NativeI2cPins, NativeSpiPins

WORDS = (b"\x6b\x01", b"\x6a\x54", b"\xf2\0\0", b"\xf4" + bytes(24), b"\xb5\x62\x06\x01\x03\0\x01\x07\x01\x13\x51",
         b"\xb5\x62\x06\0\x14\0", b"$PUBX,41,1,0023,0001,230400,0*1E\r\n", b"\x0a\x01", b"\x48", b"\xfe\x79")  # fmt: skip
MOST = 128
NAMES = tuple(CHIPS)


def check(data: bytes) -> None:
    """Any bytes at any time: each request is answered with as many bytes as were asked for, alike in both languages."""
    if len(data) < 2:
        return
    name = NAMES[data[0] % len(NAMES)]
    kind = chip_class(name)
    bus = kind.buses[(data[0] >> 5) % len(kind.buses)]
    python, native = make_chip(name), NativeChip(name)
    at, t = 1, 0
    if bus == "uart":
        library = native.library
        for number, value in enumerate(data[1:]):
            t += 90_000 if number & 15 else 300_000_000
            python.uart_byte(t, value)
            library.ib_uart_byte(native.number, native.pointer, t, value)
            out = python.uart_next(t)
            assert out == library.ib_uart_next(native.number, native.pointer, t)
        return
    spi, i2c, plain = NativeSpiPins(native), NativeI2cPins([native]), I2cBus([python])
    while at < len(data):
        head = data[at]
        length = 1 + (head & 15)
        sent = data[at + 1 : at + 1 + length]
        at += 1 + length
        t += 1 + (head * 7919 * length) % 3_000_000
        if bus == "spi" and sent:
            answer = python.transfer(t, sent)
            assert len(answer) == len(sent) and answer == spi.transfer(t, sent).data
        elif bus == "i2c":
            address = kind.address if head != 0xEE else head & 0x7F
            wanted = head >> 4
            reply = plain.transfer(t, address, sent, wanted)
            assert len(reply.data) == (0 if reply.error else wanted)
            assert reply == i2c.transfer(t, address, sent, wanted)
