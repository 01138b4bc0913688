"""Images that nobody here wrote, on emulated boards.

IRONBIRD_ARDUPILOT_F405 names an ArduPilot copter for the board revo-mini, IRONBIRD_ARDUPILOT_BOOTLOADER a boot loader of
ArduPilot for an STM32F405 that listens on USART1 (MatekF405-TE_bl.bin); tests of what is not there are skipped.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
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
