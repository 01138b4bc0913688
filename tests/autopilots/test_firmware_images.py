"""Images that nobody here wrote, on emulated boards.

IRONBIRD_ARDUPILOT_F405 names an ArduPilot copter for the board revo-mini, IRONBIRD_ARDUPILOT_BOOTLOADER a boot loader
of ArduPilot for an STM32F405 that listens on USART1 (MatekF405-TE_bl.bin); tests of what is not there are skipped.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironbird.errors import LinkError
from ironbird.firmware.autopilot import VARIABLE, find_image
from ironbird.firmware.device import load_mcu_board
from ironbird.firmware.elf import read_image
from ironbird.firmware.machine import Machine
from ironbird.flight.flight import fly

pytestmark = pytest.mark.autopilot
LOADER = "IRONBIRD_ARDUPILOT_BOOTLOADER"
# Words of its protocol [ArduPilotCode] Tools/AP_Bootloader/bl_protocol.cpp
IN_SYNC, GET_SYNC, GET_DEVICE, ERASE, PROGRAM, CRC, END = b"\x12\x10", 0x21, 0x22, 0x23, 0x27, 0x29, 0x20
FLASH_AT, FLASH_BYTES, WITHHELD = 0x08010000, 0xF0000, 32  # the first words are written when it boots
HOP = """
schema = 1
title = "a hop"
item = [
    { kind = "takeoff", height_m = 4.0, hold_s = 1.0 },
    { kind = "waypoint", north_m = 4.0, height_m = 4.0, hold_s = 1.0 },
    { kind = "land", north_m = 4.0 },
]
"""


def _missing() -> str:
    try:
        find_image()
    except LinkError as error:
        return str(error)
    return ""


@pytest.fixture
def loader() -> Iterator[Machine]:
    path = os.environ.get(LOADER, "")
    if not Path(path).is_file():
        pytest.skip(f"set {LOADER} to a boot loader of ArduPilot on USART1, such as MatekF405-TE_bl.bin")
    machine = Machine(load_mcu_board("stm32f4_discovery"), read_image(path))
    machine.run(1.2)
    yield machine
    machine.close()


def ask(machine: Machine, *question: int, answer: int = 2, patience_s: float = 2.0) -> bytes:
    """Send a question to USART1 and take so many bytes."""
    machine.send(1, bytes([*question, END]), 115200, machine.time_s)
    came, end_s = b"", machine.time_s + patience_s
    while len(came) < answer and machine.time_s < end_s:
        machine.run(machine.time_s + 2e-3)
        came += machine.take(1)[0]
    return came


def test_a_boot_loader_erases_and_programs_the_flash(loader: Machine) -> None:
    assert ask(loader, GET_SYNC) == IN_SYNC
    told = {what: ask(loader, GET_DEVICE, what, answer=6) for what in (1, 2, 3, 4)}
    assert int.from_bytes(told[4][:4], "little") == FLASH_BYTES and all(t[4:] == IN_SYNC for t in told.values())
    loader.store(FLASH_AT + 0x40000, 4)[:] = 0  # an older image: two sectors are not empty
    loader.store(FLASH_AT, 4)[:] = 0
    assert ask(loader, ERASE, patience_s=30.0)[-2:] == IN_SYNC
    data = bytes((7 * i + 3) & 255 for i in range(512))
    for at in range(0, len(data), 64):
        assert ask(loader, PROGRAM, 64, *data[at : at + 64]) == IN_SYNC
    came = ask(loader, CRC, answer=6, patience_s=10.0)
    whole = data + b"\xff" * (FLASH_BYTES - len(data))
    assert int.from_bytes(came[:4], "little") == zlib.crc32(whole, 0xFFFFFFFF) ^ 0xFFFFFFFF  # not inverted
    stored = bytes(loader.store(FLASH_AT, FLASH_BYTES))
    assert stored[WITHHELD:] == whole[WITHHELD:] and stored[:WITHHELD] == b"\xff" * WITHHELD
    assert loader.fault_text() == "" and loader.figures().resets == 1


@pytest.mark.skipif(bool(_missing()), reason=_missing())
def test_an_unmodified_copter_reads_our_chips_and_aligns_its_estimator(tmp_path: Path) -> None:
    hop = tmp_path / "hop.toml"
    hop.write_text(HOP)
    flight = fly("quad_f450", control="autopilot_image", mission=str(hop), until_s=52.0)
    said = " ".join(event.text for event in flight.autopilot_events)
    for words in ("tilt alignment complete", "initial yaw alignment complete", "detected u-blox", "origin set"):
        assert words in said
    used = flight.measured["registers"].keys()
    assert {"spi1", "i2c1", "usart1", "usart3", "dma1", "dma2", "adc1", "tim2", "tim3"} <= used


@pytest.mark.skipif(bool(_missing()), reason=_missing())
def test_its_start_repeats_to_the_last_bit() -> None:
    image, board = read_image(os.environ[VARIABLE]), load_mcu_board("revo_mini")
    hashes = []
    for _ in range(2):
        machine = Machine(board, image, clocks_per_instruction=1.25)
        machine.run(2.5)
        hashes.append(machine.snapshot().sha256())
        assert machine.fault_text() == ""
        machine.close()
    assert hashes[0] == hashes[1]
