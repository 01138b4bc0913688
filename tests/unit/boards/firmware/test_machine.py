"""A microcontroller under emulation: core, peripherals, time, snapshots, what happens when it crashes."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_images import IMAGES, image, image_bytes, wired_board

from ironbird.boards.firmware.device import load_mcu_board, pin_number
from ironbird.boards.firmware.elf import parse_elf, parse_hex
from ironbird.boards.firmware.machine import BREAK, Machine
from ironbird.errors import LinkError

QEMU = shutil.which("qemu-system-arm")
INSTRUCTIONS = 4096
# What QEMU 7.2 (-M netduinoplus2) prints for the two images
QEMU_INSTRUCTIONS = "96c7cd8ea460ca95df55a36d39fa1967565a5f67f4c6c7de48f5c02704eba6cb"
QEMU_NESTING = "9af04f5bbd8cd348f1a93c722781cff1b055b940f3d5afcd5fdc6e2547cce5aa"


def instruction_text() -> str:
    spec = importlib.util.spec_from_file_location("instructions", IMAGES / "instructions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.image_text(INSTRUCTIONS))


@contextlib.contextmanager
def machine(name: str, text: str = "", **options: Any) -> Iterator[Machine]:
    made = Machine(wired_board(), image(name, text), **options)
    try:
        yield made
    finally:
        made.close()


def printed(made: Machine, until_s: float = 10.0) -> str:
    """What it prints on USART1 until it is done."""
    out = b""
    while made.time_s < until_s and b"done" not in out:
        made.run(made.time_s + 0.05)
        out += made.take(1)[0]
    return " ".join(out.decode().split())


def value(made: Machine, name: str, index: int = 0) -> int:
    return made.word(made.image.address(name) + 4 * index)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ------------------------------------------------------------------------------- the core against QEMU


def test_four_thousand_instructions_give_what_qemu_gives() -> None:
    with machine("instructions", instruction_text()) as made:
        assert digest(printed(made)) == QEMU_INSTRUCTIONS


def test_interrupts_nest_as_in_qemu() -> None:
    with machine("nesting") as made:
        assert digest(printed(made)) == QEMU_NESTING
        assert made.figures().deepest == 4  # SVC, then 10, 11 and 14 above it


@pytest.mark.skipif(QEMU is None, reason="no qemu-system-arm")
@pytest.mark.parametrize(("name", "expected"), [("instructions", QEMU_INSTRUCTIONS), ("nesting", QEMU_NESTING)])
def test_qemu_still_says_so(name: str, expected: str, tmp_path: Path) -> None:
    assert QEMU is not None
    file = tmp_path / "image.elf"
    file.write_bytes(image_bytes(name, instruction_text() if name == "instructions" else ""))
    command = [QEMU, "-M", "netduinoplus2", "-kernel", str(file), "-nographic", "-monitor", "none", "-serial", "stdio"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout is not None
        out, deadline = b"", time.monotonic() + 120
        while b"done" not in out and time.monotonic() < deadline:
            if select.select([run.stdout], [], [], 1.0)[0]:
                out += os.read(run.stdout.fileno(), 1 << 16)
        run.kill()
    assert digest(" ".join(out.decode().split())) == expected


# ------------------------------------------------------------------------------- peripherals


def test_peripherals_do_what_the_manual_says() -> None:
    with machine("peripherals") as made:
        made.analog(5, 1.5)  # of a supply of 3 V
        made.run(1.1)
        found = [value(made, "results", i) for i in range(41)]
        assert made.fault_text() == "" and value(made, "phase") == 1
        assert found[0].to_bytes(4, "little") == b"iron" and found[1] == 1024  # unique id, KiB of flash
        assert found[2] == 0  # a port without a clock
        assert found[3:5] == [1, 0] and found[5] == 8  # set, reset, and a bit by its alias
        assert found[40] == 32
        assert abs(found[6] - found[7]) <= 16 and found[7] > 1000  # timer and cycle counter
        assert found[8] in (2047, 2048)
        assert found[9:11] == [46, 0x20]  # memory to memory, and its flag
        assert found[11:13] == [0x98, 0xFF]  # ICM-20689 says who it is; without a select nobody answers
        assert found[13:15] == [ord("H"), ord("4")]  # HMC5883L identification
        assert found[15] == 0x400 and value(made, "results", 60) == 0  # acknowledge failure at a free address
        assert found[16:18] == [0xFFFFFFFF, 0x80]  # locked flash keeps its bits and says so
        assert found[18] == 0x12340078
        assert made.pwm_s(3, 2) == pytest.approx(250e-6)


def test_the_first_generation_differs_where_its_manual_says() -> None:
    with contextlib.closing(Machine(load_mcu_board("px4io"), image("value_line"))) as made:
        made.analog(4, 1.1)  # of a supply of 3.3 V
        made.run(0.2)
        found = [value(made, "results", i) for i in range(20)]
        assert made.fault_text() == "" and value(made, "phase") == 1 and made.figures().clock_Hz == 24e6
        assert found[0].to_bytes(4, "little") == b"iron" and found[1] == 64  # unique id, KiB of flash
        assert found[2:4] == [0x411FC231, 0x10016420]  # Cortex-M3, STM32F100
        assert found[4:6] == [1, 2]  # the predivider's lowest bit is in two registers; the PLL is in use
        assert found[6:9] == [0, 1, 0]  # pulls follow the output bit; an output that was reset
        assert found[9:11] == [77, 0b0111]  # memory to memory: global, complete and half flags
        assert found[11] == 0 and abs(found[12] - 4095 / 3) < 1  # calibration is over; the conversion
        assert found[13:15] == [0b0111, 0]  # flags of channel 7, and none after CGIF
        data, moments = made.take(2)
        assert data == b"STM32F100" and np.ptp(moments) == pytest.approx(8 * 10 / 1.5e6)
        assert found[15:18] == [0, 0xFFFF1200, 0xFFFFFFFF] and found[18:] == [0x20, 0x80]  # flash


def test_blocks_give_the_same_results_and_repeat() -> None:
    """By blocks everything happens up to a block later, and instructions that a condition skips are counted too."""
    with machine("instructions", instruction_text()) as one, machine("instructions", instruction_text()) as exact:
        blocks = Machine(one.board, one.image, by_blocks=True)
        again = Machine(one.board, one.image, by_blocks=True)
        texts = [printed(made) for made in (exact, blocks)]
        assert texts[0] == texts[1]
        again.run(blocks.time_s / 3)
        again.run(blocks.time_s)
        blocks.run(blocks.time_s)
        again.take(1)
        blocks.take(1)
        assert again.snapshot().sha256() == blocks.snapshot().sha256()  # however a run was cut
        share = blocks.figures().instructions / exact.figures().instructions
        assert 1.0 < share < 1.05
        blocks.close()
        again.close()


def test_blocks_take_interrupts_breakpoints_and_code_in_ram() -> None:
    with machine("nesting") as exact, machine("nesting", by_blocks=True) as blocks:
        assert printed(exact) == printed(blocks)
        assert blocks.figures().deepest == exact.figures().deepest
    with machine("peripherals", by_blocks=True) as made:
        made.break_at([made.image.address("exti0_handler")])
        made.run(1.1)
        made.drive_pin("PA0", 1)
        assert made.run(made.time_s + 1e-3) == BREAK
        assert made.image.at(made.registers().pc) == "exti0_handler"
        made.break_at([])
        # a loop in RAM that is changed and entered again: movs r0, #n; b to it
        registers = made.registers()
        for number in (7, 9):
            made.store(0x20010000, 4)[:] = [number, 0x20, 0xFD, 0xE7]
            made.changed()
            registers.pc = 0x20010000
            made.set_registers(registers)
            made.run(made.time_s + 1e-5)
            assert made.registers().r[0] == number


CONDITIONAL_STORES = """
#include "common.h"
volatile uint32_t phase;
int main(void) {
  __asm volatile("ldr r1, =0x20008000\\n ldr r2, =0x20010000\\n ldr r0, =0x5A5A5A5A\\n"
                 "1: cmp r1, r2\\n itt cc\\n strcc r0, [r1], #4\\n bcc 1b\\n" ::: "r0", "r1", "r2", "cc", "memory");
  phase = 1;
  for (;;) {}
}
typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16] = {
    (vector)stack_top, reset_handler, [2 ... 15] = unused_handler,
};
"""


@pytest.mark.parametrize("by_blocks", [False, True])
def test_a_page_that_a_conditional_store_meets_first_changes_nothing(by_blocks: bool) -> None:
    with machine("stores", CONDITIONAL_STORES, by_blocks=by_blocks) as made:
        made.run(0.05)
        assert made.fault_text() == "" and value(made, "phase") == 1
        assert (made.store(0x20008000, 0x8000) == 0x5A).all()


MASKED = """
#include "common.h"
volatile uint32_t results[2], taken;
void line_6_handler(void) { taken++; }
int main(void) {
  REG(0xE000E100) = 1 << 6;
  __asm volatile("cpsid i" ::: "memory");
  REG(0xE000E200) = 1 << 6; /* pends, and waits */
  for (volatile int i = 0; i < 20; i++) {}
  results[0] = taken;
  __asm volatile("cpsie i\\n isb" ::: "memory");
  results[1] = taken;
  for (volatile int i = 0;; i++) {}
}
typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16 + 8] = {
    (vector)stack_top, reset_handler, [2 ... 21] = unused_handler, [22] = line_6_handler, [23] = unused_handler,
};
"""


@pytest.mark.parametrize("by_blocks", [False, True])
def test_an_interrupt_that_waits_behind_a_mask_is_taken_when_the_mask_falls(by_blocks: bool) -> None:
    with machine("masked", MASKED, by_blocks=by_blocks) as made:
        made.run(1e-3)
        assert made.fault_text() == "" and [value(made, "results", i) for i in range(2)] == [0, 1]


CODE_IN_RAM = """
#include "common.h"
volatile uint32_t results[4];
static volatile uint16_t code[2];
int main(void) {
  for (int i = 0; i < 4; i++) {
    code[0] = (uint16_t)(0x2000 | (i + 7)); /* movs r0, #n */
    code[1] = 0x4770;                       /* bx lr */
    __asm volatile("dsb\\n isb" ::: "memory");
    results[i] = ((uint32_t(*)(void))((uint32_t)code | 1))();
  }
  for (;;) {}
}
typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) const vector vectors[16] = {
    (vector)stack_top, reset_handler, [2 ... 15] = unused_handler,
};
"""


@pytest.mark.parametrize("by_blocks", [False, True])
def test_code_in_ram_that_the_core_itself_changes_is_executed_as_changed(by_blocks: bool) -> None:
    with machine("ram_code", CODE_IN_RAM, by_blocks=by_blocks) as made:
        made.run(0.01)
        assert made.fault_text() == ""
        assert [value(made, "results", i) for i in range(4)] == [7, 8, 9, 10]


def test_small_units_and_what_a_reset_leaves() -> None:
    with machine("units") as made:
        made.break_at([made.image.address("reset_handler")], step_over=True)
        assert made.run(1e-3) == BREAK  # the reset by software comes back here, with the RAM as it was
        found = [value(made, "results", i) for i in range(8)]
        register = 0xFFFFFFFF
        for bit in "".join(f"{byte:08b}" for byte in b"123456789abc"):
            register = (register << 1) ^ (0x04C11DB7 if (register >> 31) ^ int(bit) else 0)
            register &= 0xFFFFFFFF
        assert found[0] == register
        assert found[1:3] == [0, 1] and found[3] != found[4] and found[3] == 270369  # xorshift32 of 1
        assert found[5] == 0x80000000 and found[6] == 0
        assert found[7] == 0x60
        made.break_at([])
        made.run(2e-3)
        assert value(made, "phase") == 2 and made.figures().resets == 2 and made.fault_text() == ""
        assert value(made, "results", 9) == 0x12345678 and value(made, "results", 10) == 1 << 4  # SFTRSTF
        assert made.reset_text() == "software"
        assert {"crc", "rng", "otg_fs", "rtc"} <= made.exercised().keys()
        assert made.exercised()["rng"] == [0, 4, 8]


def test_edges_captures_and_the_watchdog() -> None:
    with machine("peripherals") as made:
        made.run(1.1)
        made.drive_pin("PA0", 1)
        made.run(made.time_s + 0.5e-3)
        before = value(made, "updates")
        made.run(made.time_s + 10e-3)
        assert value(made, "edges") == 1 and value(made, "updates") - before == 10  # a period of 1 ms
        made.capture(3, 1, rising=True)
        made.run(made.time_s + 1e-4)
        first = value(made, "captured")
        made.run(made.time_s + 2e-4 - 1e-4)
        made.capture(3, 1, rising=True)
        made.run(made.time_s + 1e-4)
        assert abs((value(made, "captured") - first) % 1000 - 200) <= 1  # us
        made.drive_pin("PA0", 0)
        made.run(made.time_s + 5e-3)
        assert value(made, "phase") == 2 and made.figures().resets == 1
        made.run(made.time_s + 6e-3)
        assert made.figures().resets == 2 and made.figures().reset_flags == 1 << 5  # IWDGRSTF


def test_bytes_of_a_serial_port_take_their_time() -> None:
    with machine("nesting") as made:
        made.run(0.02)
        data, moments = made.take(1)
        assert len(data) > 100
        apart = moments[1:100] - moments[:99]
        assert apart.min() == pytest.approx(10 * 139 / 16e6, rel=1e-6)  # ten bits at the divisor that was set


def test_bytes_that_come_to_a_dead_port_are_lost_and_counted() -> None:
    with machine("nesting") as made:
        made.run(1e-3)
        made.kill("usart1", True)
        made.send(1, b"abc", 115200, made.time_s)
        made.run(made.time_s + 1e-3)
        lost = made.refused("usart1")
        assert lost >= 3  # nobody has to read a register: a port that only receives is dead too
        made.kill("usart1", False)
        made.send(1, b"d", 115200, made.time_s)
        made.run(made.time_s + 1e-3)
        assert made.word(0x40011004) == ord("d")  # what came meanwhile comes no more


def test_wrong_pins_and_boards_are_refused() -> None:
    assert pin_number("PB3") == 19
    for bad in ("PZ1", "PA16", "A1", ""):
        with pytest.raises(LinkError, match="no pin"):
            pin_number(bad)
    with pytest.raises(LinkError, match="1/256 to 64"):
        Machine(load_mcu_board("stm32f4_discovery"), image("nesting"), clocks_per_instruction=0.0)


# ------------------------------------------------------------------------------- crashes


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (1, "access to nowhere (address 0x60000000)"),
        (2, "undefined instruction"),
        (3, "instruction fetch from nowhere"),
    ],
)
def test_a_crash_takes_the_fault_handler_and_says_where(how: int, said: str) -> None:
    with machine("crash") as made:
        made.run(1e-3)
        made.store(made.image.address("how"), 4)[0] = how
        made.run(2e-3)
        assert said in made.fault_text() and "main" in made.fault_text()
        assert value(made, "caught") == 1
        made.run(1.0)  # the loop of the handler costs nothing
        assert made.figures().instructions < 200_000


def test_a_lost_stack_locks_the_core_up() -> None:
    with machine("crash") as made:
        made.run(1e-3)
        made.store(made.image.address("how"), 4)[0] = 4
        made.run(1.0)
        assert "the core is locked up" in made.fault_text() and made.figures().locked_up


# ------------------------------------------------------------------------------- time, copies, breaks


def test_clocks_per_instruction_scale_time() -> None:
    with machine("crash") as one, machine("crash", clocks_per_instruction=2.5) as slow:
        one.run(1e-3)
        slow.run(2.5e-3)
        assert abs(one.figures().instructions - slow.figures().instructions) <= 1


def test_a_branch_goes_on_alike_and_a_restored_machine_repeats() -> None:
    with machine("instructions", instruction_text()) as made:
        made.run(0.07)
        kept = made.snapshot()
        other = made.branch()
        made.run(0.2)
        other.run(0.2)
        assert made.snapshot().sha256() == other.snapshot().sha256()
        after = made.snapshot().sha256()
        other.close()
        made.restore(kept)
        made.run(0.2)
        assert made.snapshot().sha256() == after


def test_where_runs_are_cut_makes_no_difference() -> None:
    with machine("nesting") as whole, machine("nesting") as cut:
        whole.run(0.02)
        at_s = 0.0
        while at_s < 0.02:
            at_s = min(0.02, at_s + 3.7e-5)
            cut.run(at_s)
        assert whole.take(1)[0] == cut.take(1)[0]
        assert whole.figures().instructions == cut.figures().instructions
        assert bytes(whole.registers()) == bytes(cut.registers())


def test_a_breakpoint_stops_before_its_instruction() -> None:
    with machine("nesting") as made:
        place = made.image.address("handler_11") & ~1
        made.break_at([place])
        assert made.run(1.0) == BREAK
        assert made.registers().pc == place and made.registers().xpsr & 0x1FF == 27
        first_s = made.time_s
        made.break_at([place], step_over=True)
        assert made.run(1.0) == BREAK and made.time_s > first_s


# ------------------------------------------------------------------------------- images


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + bytes(60), b"\x7fELF\x02\x01" + bytes(100)])
def test_broken_images_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(LinkError, match="image broken"):
        parse_elf(data, "broken")


HEX = ":020000040801F1\n:0400000001020304F2\n:020004000506EF\n:0101000007F7\n:00000001FF\n"


def test_intel_hex_is_read_and_what_is_broken_is_refused() -> None:
    whole = parse_hex(HEX.encode(), "x.hex")
    assert whole.parts == ((0x08010000, bytes([1, 2, 3, 4, 5, 6])), (0x08010100, bytes([7])))
    assert whole.start == 0x08010000
    for bad in (HEX.replace("F2", "F3"), HEX.replace(":04", ":05"), HEX.replace(":02", "02"), ":00000001FF"):
        with pytest.raises(LinkError, match=r"Intel HEX|nothing to load"):
            parse_hex(bad.encode(), "x.hex")


def test_cut_and_changed_images_never_end_in_anything_else() -> None:
    whole = bytearray(image_bytes("crash"))
    for at in range(0, 400, 7):
        changed = whole[:]
        changed[at] ^= 0xFF
        with contextlib.suppress(LinkError):
            parse_elf(bytes(changed), "changed")
        with contextlib.suppress(LinkError):
            parse_elf(bytes(whole[: at * 20]), "cut")
