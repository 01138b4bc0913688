"""The serial line between two pseudo-terminals keeps to its baud rate and loses nothing."""

from __future__ import annotations

import os
import pty
import threading
import tty

import pytest

from ironbird.transport.serial_wire import BUFFER, PIECE, OneWay, relay


def test_bytes_arrive_one_behind_the_other_at_ten_bits_each() -> None:
    way = OneWay(921_600)
    way.put(bytes(64), 10.0)
    way.put(b"x" * 32, 10.0)  # the line is busy: behind the others
    assert way.take(10.0) == b"" and way.waiting == 96
    assert way.next_at == pytest.approx(10.0 + PIECE * 10 / 921_600)
    assert way.take(10.0 + 64.5 * 10 / 921_600) == bytes(64)
    assert way.take(10.0 + 96.5 * 10 / 921_600) == b"x" * 32
    assert way.next_at is None and way.waiting == 0
    way.put(b"y", 11.0)  # a free line starts at once
    assert way.next_at == pytest.approx(11.0 + 10 / 921_600)


def test_behind_a_full_buffer_there_is_no_room() -> None:
    way = OneWay(9600)
    way.put(bytes(BUFFER), 0.0)
    assert way.room == 0
    assert len(way.take(0.5)) == 480  # 9600 baud are 960 bytes a second
    assert way.room == 480


def test_both_directions_carry_all_bytes_in_order() -> None:
    pairs = [pty.openpty() for _ in range(2)]
    for _, near in pairs:
        tty.setraw(near)
    stop, end = os.pipe()
    line = threading.Thread(target=relay, args=((pairs[0][0], pairs[1][0]), 2_000_000, stop))
    line.start()
    try:
        ends = pairs[0][1], pairs[1][1]
        sent = [os.urandom(3000), os.urandom(2000)]
        for handle, data in zip(ends, sent, strict=True):
            os.write(handle, data)
        for handle, data in zip(reversed(ends), sent, strict=True):
            got = b""
            while len(got) < len(data):
                got += os.read(handle, 4096)
            assert got == data
    finally:
        os.close(end)
        line.join(60.0)
        for handle in (stop, *pairs[0], *pairs[1]):
            os.close(handle)
    assert not line.is_alive()
