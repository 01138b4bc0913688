"""A microcontroller that runs an image: run until a time, inspect, break, copy.

The core is that of the package `unicorn`; interrupts, peripherals and time are Ironbird's (`c/`). One instruction takes
`clocks_per_instruction` clocks, whatever it is: real cores take 1.2 to 1.5 on average, more for loads, divisions and
flash without its cache. Time is checked before every instruction, or with `by_blocks` where a basic block begins: about
twice as fast, interrupts come up to a block later, and instructions that a condition skips are counted. A run is a
function of the image, the device table and the external inputs, so that it repeats to the bit. Not modelled: wait
states, bus contention, memory protection, debug hardware.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.boards.firmware.device import KINDS, Board, Device, Wire, load_device, pin_number
from ironbird.boards.firmware.elf import Image
from ironbird.boards.native_chips import NativeChip, chips_text
from ironbird.compiler import native
from ironbird.errors import LinkError

FOLDER = Path(__file__).parent / "c"
TEXTS = (
    "fw.h", "fw_nvic.c", "fw_gpio.c", "fw_rcc.c", "fw_usart.c", "fw_spi.c", "fw_i2c.c", "fw_dma.c", "fw_tim.c",
    "fw_adc.c", "fw_flash.c", "fw_otg.c", "fw_rng.c", "fw_crc.c", "fw_rtc.c", "fw_f1.c", "fw_core.c",
)  # fmt: skip
CALLS = (
    "open", "close", "emu_start", "emu_stop", "reg_read", "reg_write", "mem_map_ptr", "mmio_map", "hook_add", "ctl",
    "hook_del", "mem_protect",
)  # fmt: skip
NO_LINE, NO_ALIAS = 255, 0xFFFFFFFF
ROOM = 4096  # bytes taken from a port at once
Q = 256  # fractions of a clock
MOST_BAUD_ERROR = 0.03  # largest relative error of the rate at which ten bits are still read
TIME, BREAK, SENT, BROKEN = range(4)  # why a run ended
EXCEPTIONS = {2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault"}
CAUSES = {
    8: "instruction fetch from nowhere", 9: "access to nowhere", 11: "unstacking failed", 12: "stacking failed",
    16: "undefined instruction", 17: "not in Thumb state", 18: "bad exception return", 19: "no coprocessor",
}  # fmt: skip
RESETS = {1: "brown-out", 2: "the pin", 4: "software", 5: "watchdog"}
_u32, _u64, _f64, _p = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_double, ctypes.c_void_p


class Registers(ctypes.Structure):
    """Registers of the core: r0 to r12, both stack pointers, and others for a snapshot."""

    _fields_ = [
        ("r", _u32 * 13),
        *((name, _u32) for name in (
            "msp", "psp", "lr", "pc", "xpsr", "control", "primask", "basepri", "faultmask", "fpscr", "pad",
        )),
        ("d", _u64 * 16),
    ]  # fmt: skip


def _engine() -> Any:
    try:
        return importlib.import_module("unicorn.unicorn_py3.unicorn").uclib
    except ImportError as error:
        raise LinkError(
            f"running firmware needs the package unicorn: pip install 'ironbird[firmware]' ({error})"
        ) from None


def core_text() -> str:
    """C text around unicorn's core; it follows the text of the chips."""
    const = importlib.import_module("unicorn.unicorn_const")
    arm = importlib.import_module("unicorn.arm_const")
    write = const.UC_CTL_IO_WRITE << 30
    numbers = {
        "FW_ARCH_ARM": const.UC_ARCH_ARM, "FW_MODE_MCLASS": const.UC_MODE_THUMB | const.UC_MODE_MCLASS,
        "FW_CPU_M3": arm.UC_CPU_ARM_CORTEX_M3, "FW_CPU_M4": arm.UC_CPU_ARM_CORTEX_M4,
        "FW_CTL_MODEL": const.UC_CTL_CPU_MODEL | 1 << 26 | write,
        "FW_CTL_FLUSH": const.UC_CTL_TB_FLUSH | write, "FW_HOOK_CODE": const.UC_HOOK_CODE,
        "FW_HOOK_BLOCK": const.UC_HOOK_BLOCK, "FW_HOOK_INTR": const.UC_HOOK_INTR,
        "FW_HOOK_MEM_INVALID": const.UC_HOOK_MEM_INVALID,
        "FW_HOOK_MEM_WRITE": const.UC_HOOK_MEM_WRITE, "FW_MEM_FETCH_UNMAPPED": const.UC_MEM_FETCH_UNMAPPED,
        "FW_MEM_FETCH_PROT": const.UC_MEM_FETCH_PROT, "FW_MEM_WRITE_PROT": const.UC_MEM_WRITE_PROT,
        "FW_MEM_FETCH": const.UC_MEM_FETCH, "FW_HOOK_TLB_FILL": const.UC_HOOK_TLB_FILL,
        "FW_CTL_TLB_TYPE": const.UC_CTL_TLB_TYPE | 1 << 26 | write, "FW_CTL_TLB_FLUSH": const.UC_CTL_TLB_FLUSH | write,
        "FW_ERR_EXCEPTION": const.UC_ERR_EXCEPTION, "FW_NOWHERE": 0xDFFFFFF0,
    }  # fmt: skip
    for name in ("R0", "R1", "R2", "R3", "R12", "LR", "PC", "MSP", "PSP", "XPSR", "CONTROL", "PRIMASK", "BASEPRI",
                 "FAULTMASK", "FPSCR", "FPEXC", "D0", "EPSR"):  # fmt: skip
        numbers[f"UC_ARM_REG_{name}"] = getattr(arm, f"UC_ARM_REG_{name}")
    head = "".join(f"#define {name} {value}\n" for name, value in numbers.items())
    return head + "".join((FOLDER / name).read_text() for name in TEXTS)


@functools.cache
def core_library() -> ctypes.CDLL:
    """The C harness as a library, built once and cached, with unicorn's functions passed to it."""
    engine = _engine()
    library = native.load(chips_text() + core_text(), 1, what="the code of microcontrollers")
    for name, result, arguments in (
        ("fw_size", _u64, []), ("fw_state_size", _u64, []), ("fw_state_of", _p, [_p]), ("fw_bind", None, [_p]),
        ("fw_open", ctypes.c_int, [_p, _p, _u32, _p, _u32, _p, _p, _u32, _f64, _f64, *[_u32] * 4]),
        ("fw_close", None, [_p]), ("fw_tell", None, [_p, _u32, _u32]), ("fw_power_on", None, [_p, _u32]),
        ("fw_run", ctypes.c_int, [_p, _f64]),
        ("fw_hold", None, [_p, _u32]), ("fw_time_ns", _f64, [_p]), ("fw_flush", None, [_p]),
        ("fw_break", ctypes.c_int, [_p, _p, _u32, _u32]), ("fw_hang", None, [_p, _u32, _u32, _u32]),
        ("fw_hang_hits", _u32, [_p, _u32]), ("fw_kill", None, [_p, _u32, _u32]), ("fw_refused", _u32, [_p, _u32]),
        ("fw_drift", None, [_p, _f64]), ("fw_analog", None, [_p, _u32, _f64]), ("fw_output_pin", _u32, [_p, _u32]),
        ("fw_drive_pin", None, [_p, _u32, _u32]), ("fw_capture", None, [_p, _u32, _u32, _u32]),
        ("fw_pwm_s", _f64, [_p, _u32, _u32]), ("fw_peek_word", _u32, [_p, _u32]),
        ("fw_registers", None, [_p, _p, ctypes.c_int]), ("fw_figures", None, [_p, _p]), ("fw_upsets", _u64, [_p]),
        ("fw_entries", _u32, [_p, _u32]), ("fw_serial_send", _u32, [_p, _u32, ctypes.c_char_p, _u32, _u32, _f64]),
        ("fw_serial_take", _u32, [_p, _u32, _p, _p, _u32]), ("fw_serial_baud", _f64, [_p, _u32]),
        ("fw_touched", _u32, [_p, _u32, _u32]), ("fw_by_blocks", None, [_p, _u32]),
        ("fw_add_device", ctypes.c_int, [_p, _u32, _u32, _u32, ctypes.c_int64, _p]),
    ):  # fmt: skip
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    calls = (_p * len(CALLS))(*(ctypes.cast(getattr(engine, f"uc_{name}"), _p).value for name in CALLS))
    library.fw_bind(calls)
    return library


def tables(device: Device) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Tables of a microcontroller for the harness: rows of `fw_row`, `fw_request` and `fw_memory`."""
    rows: list[list[int]] = []
    requests: list[list[int]] = []
    names = [p.name for p in device.peripheral]
    for number, p in enumerate(device.peripheral):
        at, bit = p.enable or (0, 0)
        irqs = (NO_LINE if p.irq is None else p.irq, NO_LINE if p.irq2 is None else p.irq2)
        rows.append([KINDS.index(p.kind), p.base, irqs[0], p.bus, p.number, at, bit, irqs[1]])
        for controller, stream, channel, way in p.dma:
            requests.append([names.index(f"dma{controller}"), stream, channel, number, int(way == "tx")])
    memories = [[m.base, m.size, NO_ALIAS if m.alias is None else m.alias, int(m.writable)] for m in device.memory]
    return rows, requests, memories


def _numbers(rows: list[list[int]]) -> ctypes.Array[ctypes.c_uint32]:
    flat = [number for row in rows for number in row]
    return (_u32 * max(1, len(flat)))(*flat)


@dataclass(frozen=True)
class Figures:
    """State of a machine, and the last fault of its core."""

    time_s: float
    instructions: int
    clock_Hz: float
    resets: int
    faults: int
    fault: int  # number of the exception
    fault_pc: int
    fault_status: int  # CFSR
    fault_address: int
    fault_s: float
    locked_up: bool
    deepest: int
    unmodelled: int
    reset_flags: int
    sleeping: int
    held: bool


@dataclass(frozen=True)
class Snapshot:
    """All state of a machine as bytes."""

    state: bytes
    registers: bytes
    memories: tuple[bytes, ...]
    chips: tuple[bytes, ...]

    def sha256(self) -> str:
        """SHA-256 of the snapshot's bytes."""
        digest = hashlib.sha256(self.state + self.registers)
        for part in (*self.memories, *self.chips):
            digest.update(part)
        return digest.hexdigest()


class Machine:
    """A microcontroller on a board, with an image in its flash."""

    def __init__(
        self, board: Board, image: Image, *, clocks_per_instruction: float = 1.0, by_blocks: bool = False
    ) -> None:
        if not 1 / Q <= clocks_per_instruction <= 64:
            raise LinkError(f"an instruction takes 1/{Q} to 64 clocks, not {clocks_per_instruction}")
        self.board, self.image = board, image
        self.device: Device = load_device(board.device)
        self.clocks_per_instruction, self.by_blocks = clocks_per_instruction, by_blocks
        self.library = core_library()
        self._memory = ctypes.create_string_buffer(self.library.fw_size())
        self.pointer = ctypes.addressof(self._memory)
        self.memories = [np.full(m.size, 0xFF if not m.writable else 0, np.uint8) for m in self.device.memory]
        self._taken, self._moments = ctypes.create_string_buffer(ROOM), np.empty(ROOM)
        self._moments_at = self._moments.ctypes.data
        self._identify()
        for address, content in image.parts:
            self._load(address, content)
        self._open()
        self.chips: dict[str, NativeChip] = {}
        self.serial_chips: dict[int, NativeChip] = {}  # by the number of the port
        for wire in board.chip:
            self._wire(wire)
        for pin in board.pulled_up:
            self.drive_pin(pin, 1)
        self.library.fw_by_blocks(self.pointer, by_blocks)
        self.library.fw_power_on(self.pointer, 0)

    def _identify(self) -> None:
        """Write unique id, flash size and option bytes to system memory."""
        device = self.device
        for number, memory in enumerate(device.memory):
            if memory.base <= device.unique_id_at < memory.base + memory.size:
                at = device.unique_id_at - memory.base
                self.memories[number][at : at + 12] = np.frombuffer(b"ironbird-001", np.uint8)
                at = device.flash_size_at - memory.base
                size = device.memory[0].size // 1024
                self.memories[number][at : at + 2] = [size & 255, size >> 8]

    def _load(self, address: int, content: bytes) -> None:
        for memory, store in zip(self.device.memory, self.memories, strict=True):
            for base in (memory.base, memory.alias):
                if base is not None and base <= address and address + len(content) <= base + memory.size:
                    at = address - base
                    store[at : at + len(content)] = np.frombuffer(content, np.uint8)
                    return
        raise LinkError(
            f"image {self.image.name} wants {len(content)} bytes at {address:#010x}, where {self.device.id} has none"
        )

    def _open(self) -> None:
        device = self.device
        rows, requests, memories = tables(device)
        stores = (_p * len(self.memories))(*(store.ctypes.data for store in self.memories))
        error = self.library.fw_open(
            self.pointer, _numbers(rows), len(rows), _numbers(requests), len(requests), _numbers(memories), stores,
            len(self.memories), self.board.crystal_Hz, self.board.supply_V, round(self.clocks_per_instruction * Q),
            self.image.start, device.family == "f1", device.debug_id,
        )  # fmt: skip
        if error:
            raise LinkError(f"unicorn refused the machine of board {self.board.id} with error {error}")

    def _wire(self, wire: Wire) -> None:
        row = self.device.row(wire.bus)
        kind = self.device.peripheral[row].kind
        if kind not in ("spi", "i2c", "usart"):
            raise LinkError(f"chip {wire.name} of board {self.board.id}: {wire.bus} is no SPI, I2C or serial port")
        made = NativeChip(wire.chip)
        if wire.address is not None:
            made.fields.own_address = wire.address
        self.chips[wire.name] = made
        if kind == "usart":
            self.serial_chips[self.device.peripheral[row].number] = made
            return
        pin = pin_number(wire.select) if kind == "spi" else 0
        if self.library.fw_add_device(self.pointer, row, kind == "spi", pin, made.number, made.pointer):
            raise LinkError(f"board {self.board.id} has too many chips: 16 at most")

    def close(self) -> None:
        """Release unicorn. May be called twice."""
        if self.pointer:
            self.library.fw_close(self.pointer)
            self.pointer = 0

    # ------------------------------------------------------------------ time

    def run(self, until_s: float) -> int:
        """Run until a time in s; returns why it ended: `TIME`, `BREAK`, or `SENT` (see `tell`)."""
        ended = int(self.library.fw_run(self.pointer, until_s * 1e9))
        if ended == BROKEN:
            raise LinkError(f"the core of {self.image.name} does not get on at {self.where()}")
        return ended

    def tell(self, port: int, byte: int) -> None:
        """From now on, end runs when this byte has left this serial port."""
        self.library.fw_tell(self.pointer, port + 1, byte)

    @property
    def time_s(self) -> float:
        """Virtual time of the machine in s."""
        return float(self.library.fw_time_ns(self.pointer)) / 1e9

    def figures(self) -> Figures:
        """Current state of the machine."""
        out = (_f64 * 16)()
        self.library.fw_figures(self.pointer, out)
        whole = [int(value) for value in out]
        return Figures(
            out[0] / 1e9, whole[1], out[2], whole[3], whole[4], whole[5], whole[6], whole[7], whole[8], out[9] / 1e9,
            bool(whole[10]), whole[11], whole[12], whole[13], whole[14], bool(whole[15]),
        )  # fmt: skip

    def upsets(self) -> int:
        """A number that changes when the core has a fault or a reset."""
        return int(self.library.fw_upsets(self.pointer))

    def where(self) -> str:
        """Time and program location of the core, for messages."""
        return f"{self.time_s:.6f} s in {self.image.at(self.registers().pc)}"

    def fault_text(self) -> str:
        """Description of the core's last fault; empty if there was none."""
        figures = self.figures()
        if not figures.faults:
            return ""
        causes = [text for bit, text in CAUSES.items() if figures.fault_status >> bit & 1]
        place = f" (address {figures.fault_address:#010x})" if figures.fault_status & 0x8200 == 0x8200 else ""
        return (
            f"{EXCEPTIONS.get(figures.fault, f'exception {figures.fault}')} in {self.image.at(figures.fault_pc)}: "
            f"{', '.join(causes) or 'no cause given'}{place}" + ("; the core is locked up" if figures.locked_up else "")
        )

    def reset_text(self) -> str:
        """Causes of resets since the image last cleared the flags, as text."""
        flags = self.figures().reset_flags
        return " and ".join(word for bit, word in RESETS.items() if flags >> bit & 1) or "power"

    # ------------------------------------------------------------------ surroundings

    def send(self, port: int, data: bytes, baud: int, at_s: float) -> int:
        """Send bytes to a serial port from a time on; returns how many fit on the line."""
        return int(self.library.fw_serial_send(self.pointer, port, data, len(data), baud, at_s * 1e9))

    def take(self, port: int) -> tuple[bytes, np.ndarray]:
        """Bytes that have left a serial port, and the times in s at which each had left."""
        count = self.library.fw_serial_take(self.pointer, port, self._taken, self._moments_at, ROOM)
        return ctypes.string_at(self._taken, count), self._moments[:count] / 1e9

    def baud(self, port: int) -> float:
        """Baud rate of a serial port; 0 while it is off."""
        return float(self.library.fw_serial_baud(self.pointer, port))

    def serve_serial_chips(self, now_s: float) -> None:
        """Transfer bytes between chips on serial ports and the core; bytes at a wrong rate are lost."""
        for port, chip in self.serial_chips.items():
            data, moments = self.take(port)
            own, far = self.baud(port), int(chip.library.ib_uart_baud(chip.number, chip.pointer))
            if data and own and abs(far / own - 1.0) < MOST_BAUD_ERROR:
                for value, at_s in zip(data, moments.tolist(), strict=True):
                    chip.library.ib_uart_byte(chip.number, chip.pointer, int(at_s * 1e9), value)
            answer = bytearray()
            while (value := int(chip.library.ib_uart_next(chip.number, chip.pointer, int(now_s * 1e9)))) >= 0:
                answer.append(value)
            if answer:
                self.send(port, bytes(answer), far, now_s)

    def exercised(self) -> dict[str, list[int]]:
        """Offsets of the registers of each peripheral that the image has read or written since power-up."""
        by_name: dict[str, list[int]] = {}
        for row, peripheral in enumerate(self.device.peripheral):
            words = [self.library.fw_touched(self.pointer, row, word) for word in range(8)]
            offsets = [4 * (32 * n + bit) for n, word in enumerate(words) for bit in range(32) if word >> bit & 1]
            if offsets:
                by_name[peripheral.name] = offsets
        return by_name

    def drive_pin(self, pin: str, level: int | None) -> None:
        """Drive a pin from outside to a level; None releases it."""
        self.library.fw_drive_pin(self.pointer, pin_number(pin), 2 if level is None else level)

    def pin(self, pin: str) -> int:
        """Present level of a pin by its number: 0 or 1."""
        return int(self.library.fw_output_pin(self.pointer, pin_number(pin)))

    def pwm_s(self, timer: int, channel: int) -> float | None:
        """High time in s of a PWM output; None while it is off."""
        value = float(self.library.fw_pwm_s(self.pointer, timer, channel))
        return value if value >= 0 else None

    def capture(self, timer: int, channel: int, rising: bool) -> None:
        """Generate an edge at the input of a timer's channel now."""
        self.library.fw_capture(self.pointer, timer, channel, rising)

    def analog(self, channel: int, volts: float) -> None:
        """Set the voltage at an input of the converter."""
        self.library.fw_analog(self.pointer, channel, volts)

    # ------------------------------------------------------------------ inspecting and changing

    def registers(self) -> Registers:
        """Current registers of the core."""
        registers = Registers()
        self.library.fw_registers(self.pointer, ctypes.byref(registers), 0)
        return registers

    def set_registers(self, values: Registers) -> None:
        """Write the registers of the core."""
        self.library.fw_registers(self.pointer, ctypes.byref(values), 1)

    def store(self, address: int, size: int) -> np.ndarray:
        """View of memory; `LinkError` if there is none at the address."""
        for memory, store in zip(self.device.memory, self.memories, strict=True):
            for base in (memory.base, memory.alias):
                if base is not None and base <= address and address + size <= base + memory.size:
                    return store[address - base : address - base + size]
        raise LinkError(f"{self.device.id} has no memory of {size} bytes at {address:#010x}")

    def word(self, address: int) -> int:
        """Read a word of memory or of a peripheral; reading some registers changes them, as on silicon."""
        return int(self.library.fw_peek_word(self.pointer, address))

    def changed(self) -> None:
        """Report that memory with instructions was changed."""
        self.library.fw_flush(self.pointer)

    def break_at(self, addresses: Sequence[int], step_over: bool = False) -> None:
        """Replace the breakpoints; with `step_over` the one at the current address is passed once."""
        table = (_u32 * max(1, len(addresses)))(*(a & ~1 for a in addresses))
        here = self.registers().pc + 1 if step_over else 0
        if self.library.fw_break(self.pointer, table, len(addresses), here):
            raise LinkError(f"{len(addresses)} breakpoints are too many; the most is 32")

    def taken(self, exception: int) -> int:
        """How often an exception was taken."""
        return int(self.library.fw_entries(self.pointer, exception))

    # ------------------------------------------------------------------ faults

    def hang(self, slot: int, address: int, on: bool) -> None:
        """While `on`, keep execution at this instruction once it is reached; interrupts are served."""
        self.library.fw_hang(self.pointer, slot, address, on)

    def hang_hits(self, slot: int) -> int:
        """How often the hang's instruction was reached meanwhile."""
        return int(self.library.fw_hang_hits(self.pointer, slot))

    def kill(self, peripheral: str, dead: bool) -> None:
        """Make a peripheral dead: it reads zero, ignores writes and never acts; False revives it."""
        self.library.fw_kill(self.pointer, self.device.row(peripheral), dead)

    def refused(self, peripheral: str) -> int:
        """Number of accesses to a peripheral while it was dead."""
        return int(self.library.fw_refused(self.pointer, self.device.row(peripheral)))

    def hold(self, held: bool) -> None:
        """Hold the machine in reset, as a supply below its threshold does; released, it starts again."""
        if not held:
            self.library.fw_power_on(self.pointer, 1 << 1)
        self.library.fw_hold(self.pointer, held)

    def reset(self) -> None:
        """Reset the machine by its reset pin."""
        self.library.fw_power_on(self.pointer, 1 << 2)

    def drift(self, share: float) -> None:
        """Make the crystal fast by this relative amount."""
        self.library.fw_drift(self.pointer, share)

    # ------------------------------------------------------------------ snapshots

    def snapshot(self) -> Snapshot:
        """A copy of all state of the machine, for `restore`."""
        place = self.library.fw_state_of(self.pointer)
        return Snapshot(
            ctypes.string_at(place, self.library.fw_state_size()),
            bytes(self.registers()),
            tuple(store.tobytes() for store in self.memories),
            tuple(bytes(chip.fields) for chip in self.chips.values()),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot made by this machine or an equal one."""
        if len(snapshot.state) != self.library.fw_state_size() or len(snapshot.memories) != len(self.memories):
            raise LinkError(
                "the snapshot is of another microcontroller or version; restore it in a machine of the same board"
            )
        for store, content in zip(self.memories, snapshot.memories, strict=True):
            store[:] = np.frombuffer(content, np.uint8)
        for chip, content in zip(self.chips.values(), snapshot.chips, strict=True):
            ctypes.memmove(chip.pointer, content, len(content))
        ctypes.memmove(self.library.fw_state_of(self.pointer), snapshot.state, len(snapshot.state))
        self.set_registers(Registers.from_buffer_copy(snapshot.registers))
        self.changed()

    def branch(self) -> Machine:
        """Another machine that continues from the current state."""
        other = Machine(
            self.board, self.image, clocks_per_instruction=self.clocks_per_instruction, by_blocks=self.by_blocks
        )
        other.restore(self.snapshot())
        return other
