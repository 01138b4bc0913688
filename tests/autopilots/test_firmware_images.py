"""Images that nobody here wrote, on emulated boards.

IRONBIRD_ARDUPILOT_F405 names an ArduPilot copter for the board revo-mini, IRONBIRD_ARDUPILOT_BOOTLOADER a boot loader
of ArduPilot for an STM32F405 that listens on USART1 (MatekF405-TE_bl.bin), IRONBIRD_ARDUPILOT_IOMCU the firmware of
the input and output processor (iofirmware_lowpolh.bin), IRONBIRD_ARDUPILOT_IOMCU_BOOTLOADER its boot loader
(iomcu_bl.bin); tests of what is not there are skipped.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironbird.boards.firmware.device import load_mcu_board
from ironbird.boards.firmware.elf import Image, read_image
from ironbird.boards.firmware.machine import Machine
from ironbird.errors import LinkError
from ironbird.flight.flight import Flight, fly
from ironbird.systems.autopilot_image.kind import VARIABLE, find_image
from ironbird.vehicles.places import BODY

pytestmark = pytest.mark.autopilot
LOADER = "IRONBIRD_ARDUPILOT_BOOTLOADER"
IO, IO_LOADER = "IRONBIRD_ARDUPILOT_IOMCU", "IRONBIRD_ARDUPILOT_IOMCU_BOOTLOADER"
IO_AT = 0x08001000  # behind its boot loader
# Pages and registers of its protocol [ArduPilotCode] AP_IOMCU/iofirmware/ioprotocol.h
READ, WRITE, CONFIG, SETUP, PWM, SAFETY_OFF, SAFETY_MAGIC, CHANNELS = 0, 1, 0, 50, 54, 12, 22027, 27
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
    return ask_on(machine, 1, *question, answer=answer, patience_s=patience_s)


def ask_on(machine: Machine, port: int, *question: int, answer: int = 2, patience_s: float = 2.0) -> bytes:
    """The same, to any port."""
    machine.send(port, bytes([*question, END]), 115200, machine.time_s)
    came, end_s = b"", machine.time_s + patience_s
    while len(came) < answer and machine.time_s < end_s:
        machine.run(machine.time_s + 2e-3)
        came += machine.take(port)[0]
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


def named_file(variable: str, example: str) -> Path:
    path = os.environ.get(variable, "")
    if not Path(path).is_file():
        pytest.skip(f"set {variable} to an image of ArduPilot such as {example}")
    return Path(path)


def crc8(data: bytes) -> int:
    """Polynomial 0x07, from the highest bit on."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1) ^ (0x107 if value & 0x80 else 0)
    return value


def ask_io(machine: Machine, code: int, page: int, offset: int, registers: list[int]) -> list[int]:
    """A packet for the processor at its 1.5 Mbit/s, and the registers of its answer."""
    body = b"".join(value.to_bytes(2, "little") for value in registers) if code == WRITE else b""
    head = bytes([len(registers) | code << 6, 0, page, offset])
    machine.send(2, bytes([head[0], crc8(head + body), page, offset]) + body, 1_500_000, machine.time_s)
    machine.run(machine.time_s + 5e-3)
    answer = machine.take(2)[0]
    assert answer[0] >> 6 == 0 and crc8(bytes([answer[0], 0]) + answer[2:]) == answer[1]  # success
    return [int.from_bytes(answer[at : at + 2], "little") for at in range(4, len(answer), 2)]


@pytest.mark.parametrize("with_loader", [False, True])
def test_the_input_and_output_processor_drives_its_servos(with_loader: bool) -> None:
    program = named_file(IO, "iofirmware_lowpolh.bin").read_bytes()
    parts = [(IO_AT, program)]
    if with_loader:
        parts.insert(0, (0x08000000, named_file(IO_LOADER, "iomcu_bl.bin").read_bytes()))
    machine = Machine(load_mcu_board("px4io"), Image("iomcu", tuple(parts)))
    machine.run(1.0)
    versions = ask_io(machine, READ, CONFIG, 0, [0] * 6)
    assert versions == [4, 10, 0x6420, 0x1001, 0xC231, 0x411F]  # of the protocol; DBGMCU_IDCODE, CPUID
    outputs = [(2, 1), (2, 2), (4, 3), (4, 4), (3, 1), (3, 2), (3, 3), (3, 4)]
    wanted = [1100 + 100 * n for n in range(8)]
    ask_io(machine, WRITE, SETUP, CHANNELS, [0xFF])
    for _ in range(4):
        ask_io(machine, WRITE, PWM, 0, wanted)
    assert [machine.pwm_s(*output) for output in outputs] == [0.0] * 8  # the safety switch
    ask_io(machine, WRITE, SETUP, SAFETY_OFF, [SAFETY_MAGIC])
    for _ in range(4):
        ask_io(machine, WRITE, PWM, 0, wanted)
    assert [machine.pwm_s(*output) for output in outputs] == pytest.approx([1e-6 * us for us in wanted])
    machine.run(machine.time_s + 0.5)  # the flight controller is silent: no pulses
    assert [machine.pwm_s(*output) for output in outputs] != pytest.approx([1e-6 * us for us in wanted])
    assert machine.fault_text() == "" and machine.figures().resets == 1
    machine.close()


def test_its_boot_loader_programs_the_flash() -> None:
    loader = read_image(named_file(IO_LOADER, "iomcu_bl.bin"))
    machine = Machine(load_mcu_board("px4io"), loader)
    machine.run(0.05)
    assert ask_on(machine, 2, GET_SYNC) == IN_SYNC
    size = int.from_bytes(ask_on(machine, 2, GET_DEVICE, 4, answer=6)[:4], "little")
    assert size == 0xF000  # 64 KiB without its own four
    machine.store(IO_AT + 0x1000, 4)[:] = 0  # an older image
    assert ask_on(machine, 2, ERASE, patience_s=10.0)[-2:] == IN_SYNC
    data = bytes((11 * i + 5) & 255 for i in range(256))
    for at in range(0, len(data), 64):
        assert ask_on(machine, 2, PROGRAM, 64, *data[at : at + 64]) == IN_SYNC
    stored = bytes(machine.store(IO_AT, size))
    assert stored[4:] == (data + b"\xff" * size)[4:size]  # the first word is written when it boots
    came = ask_on(machine, 2, CRC, answer=6, patience_s=10.0)
    whole = data + b"\xff" * (size - len(data))
    assert int.from_bytes(came[:4], "little") == zlib.crc32(whole, 0xFFFFFFFF) ^ 0xFFFFFFFF
    assert machine.fault_text() == "" and machine.figures().resets == 1
    machine.close()


def hop(*faults: str) -> Flight:
    """Up to 4 m, 4 m to the north, land: 68 s until it arms, and 28 s of flight."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hop.toml"
        file.write_text(HOP)
        return fly("quad_f450", control="autopilot_image", mission=str(file), faults=list(faults), until_s=150.0)


@pytest.mark.skipif(bool(_missing()), reason=_missing())
def test_an_unmodified_copter_flies_a_mission_on_our_chips_and_repeats() -> None:
    flight = hop()
    said = " ".join(event.text for event in flight.autopilot_events)
    for words in ("tilt alignment complete", "initial yaw alignment complete", "detected u-blox", "is using GPS"):
        assert words in said
    assert "landed and disarmed" in said and flight.verdict == "pass", flight.judged.sentence
    north, _, down = flight.log[BODY.position].T
    assert -down.min() == pytest.approx(4.0, abs=0.7) and north[-1] == pytest.approx(4.0, abs=1.0)
    used = flight.measured["registers"].keys()
    assert {"spi1", "i2c1", "usart1", "usart3", "dma1", "dma2", "adc1", "tim2", "tim3"} <= used
    assert hop().sha256 == flight.sha256


@pytest.mark.skipif(bool(_missing()), reason=_missing())
def test_a_copter_whose_board_starts_again_in_the_air_is_judged() -> None:
    flight = hop("firmware.brown_out@1:start=79,end=79.3")
    assert flight.verdict == "fail" and flight.measured["resets"] == 2
    assert "crashed at" in flight.judged.sentence and "reset by a low supply from 79.000 s" in flight.judged.sentence


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
