"""Speed of the chips, and the long comparison of their models.

    python bench/chips.py                              JSON: transactions in Python, pin edges in C, an 8 kHz IMU
    python bench/chips.py --agreement 100000           random transactions per chip, in Python and at pin level in C
    python bench/chips.py --agreement 100000 --broken  over broken wires, at pin level in Python and in C

Rates are per second of processor time of this process: others use this machine as well. The bars: 0.8 million register
transactions (bursts of 14 bytes) in Python, 100 million edges of the clock in C, and no more than 15 % of a core for an
inertial unit at 8 kHz that is read from its FIFO 400 times a second.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time
from collections.abc import Callable

from ironbird.boards.agreement import compare
from ironbird.boards.chips.catalog import CHIPS, chip_class, make_chip
from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.native_chips import NativeChip, NativeSpiPins

BURST = b"\xbb" + bytes(14)
SETUP = ((0x6B, 0x01), (0x1A, 0x47), (0x1D, 0x08), (0x23, 0x78), (0x6A, 0x50))  # 8 kHz into the FIFO, as PX4 does it


def best(work: Callable[[], float], repeats: int = 5) -> float:
    """Largest rate of some runs."""
    return max(work() for _ in range(repeats))


def python_transactions() -> float:
    """Bursts of 14 bytes from the output registers, a second."""
    chip = make_chip("icm20689", accel_z=9.8)
    assert isinstance(chip, RegisterChip)
    transfer, count = chip.transfer, 200_000
    begin = time.process_time()
    for t in range(count):
        transfer(t, BURST)
    return count / (time.process_time() - begin)


def native_edges() -> float:
    """Edges of the SPI clock through the pin-level model, a second; fault multiplexers are there and off."""
    pins = NativeSpiPins(NativeChip("icm20689", accel_z=9.8))
    got, times = ctypes.create_string_buffer(len(BURST)), 50_000
    begin = time.process_time()
    pins.chip.library.ib_spi_repeat(
        ctypes.byref(pins.wires), pins.chip.number, pins.chip.pointer, 0, 1, times, BURST, got, len(BURST)
    )
    return times * 16 * len(BURST) / (time.process_time() - begin)


def imu_share() -> float:
    """Share of a core for 8000 samples a second into the FIFO and 400 reads of it, in Python."""
    chip = make_chip("icm20689", accel_z=9.8)
    for place, value in SETUP:
        chip.transfer(0, bytes([place, value]))
    begin, records = time.process_time(), 0
    for k in range(1, 401):
        t = k * 2_500_000
        chip.inputs[2] = 9.8 + 0.01 * (k & 7)
        count = int.from_bytes(chip.transfer(t, b"\xf2\0\0")[1:], "big")
        records += len(chip.transfer(t, b"\xf4" + bytes(count))) // 12
    assert records == 8000, records
    return time.process_time() - begin


def native_imu_share() -> float:
    """The same at pin level in C, called once a transaction."""
    pins = NativeSpiPins(NativeChip("icm20689", accel_z=9.8))
    for place, value in SETUP:
        pins.transfer(0, bytes([place, value]))
    begin = time.process_time()
    for k in range(1, 401):
        t = k * 2_500_000
        count = int.from_bytes(pins.transfer(t, b"\xf2\0\0").data[1:], "big")
        pins.transfer(t, b"\xf4" + bytes(count))
    return time.process_time() - begin


def agreement(transactions: int, fault: bool) -> None:
    """One line for each chip and bus; the transactions of a chip are shared by its buses."""
    for name in CHIPS:
        buses = chip_class(name).buses
        for bus in buses:
            begin = time.process_time()
            found = compare(name, bus, -(-transactions // len(buses)), seed=7, fault=fault, slow=False)
            wires = "broken wires" if fault else "whole wires"
            print(
                f"{name} {bus}, {wires}: {found.transactions} transactions, {found.bits} slots, "
                f"{len(found.differences)} differences, {time.process_time() - begin:.0f} s",
                *found.differences,
                flush=True,
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agreement", type=int, default=0, metavar="N", help="random transactions per chip")
    parser.add_argument("--broken", action="store_true", help="over broken wires")
    given = parser.parse_args()
    if given.agreement:
        agreement(given.agreement, given.broken)
        return
    figures = {
        "python_transactions_per_s": best(python_transactions),
        "native_edges_per_s": best(native_edges),
        "imu_8khz_share_python": -best(lambda: -imu_share()),
        "imu_8khz_share_native_pins": -best(lambda: -native_imu_share()),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
