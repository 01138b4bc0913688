"""Every byte that a client can send to a chip: requests on SPI, I2C and serial lines, whole and over broken wires."""

from __future__ import annotations

import functools

from ironbird.chips.board import load_board
from ironbird.faults.catalog import parse_fault
from ironbird.faults.wire import WIRE_FAULTS
from ironbird.links.chips.wiring import Wiring

WORDS = (b"\x6b\x01", b"\x6a\x54", b"\xf2\0\0", b"\xf4" + bytes(24), b"\xb5\x62\x06\x01\x03\0\x01\x07\x01\x13\x51",
         b"\xb5\x62\x06\0\x14\0", b"$PUBX,41,1,0023,0001,230400,0*1E\r\n", b"\x0a\x01", b"\x48", b"\xfe\x79")  # fmt: skip
MOST = 512
FAULTS = ("", "wire.mosi_flips@1:instance={},severity=0.3", "wire.cs_random@1:instance={},severity=0.2")


@functools.cache
def _boards() -> list[str]:
    return ["pixhawk4", "pixhawk1", "pilotpi"]


def check(data: bytes) -> None:
    """Requests of any bytes at any time: each is answered with as many bytes as were asked for, or with an error."""
    if len(data) < 3:
        return
    board = load_board(_boards()[data[0] % 3])
    fault = FAULTS[data[1] % 3].format("imu")
    wiring = Wiring(board, [parse_fault(fault, WIRE_FAULTS)] if fault else [])
    at, t = 2, 0
    while at < len(data):
        head = data[at]
        device = board.device[(head & 15) % len(board.device)]
        length = 1 + (head >> 4)
        sent = data[at + 1 : at + 1 + length]
        at += 1 + length
        t += 1 + (head * 7919 * len(sent)) % 3_000_000
        if device.kind == "spi" and sent:
            assert len(wiring.spi(t, device.bus, device.select, sent).data) == len(sent)
        elif device.kind == "i2c":
            address = device.address or wiring.chips[board.device.index(device)].address
            wanted = head >> 5
            answer = wiring.i2c(t, device.bus, address, sent, wanted)
            assert len(answer.data) == (0 if answer.error else wanted)
        elif device.kind == "uart":
            wiring.uart_send(t, device.bus, sent)
            assert len(wiring.uart_receive(t + 1_000_000, device.bus)) <= 200
