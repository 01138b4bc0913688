"""Registers as listed in data sheets, and their tables as constants for chips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironbird.errors import ModelError

BANK = 128  # number of addresses of a register bank
CLEARS, STICKS, ACTS = 1, 2, 4  # reading clears it; the pointer stays on it; reading or writing it has an effect


@dataclass(frozen=True)
class Register:
    """One register: address, reset value, writable bits, and effects of an access."""

    address: int
    name: str
    reset: int = 0
    mask: int = 0  # writable bits
    doc: str = ""
    clears: bool = False  # reading sets it to zero
    sticks: bool = False  # a burst stays on this address: the port of a FIFO
    acts: bool = False  # an access has an effect, which the doc describes
    measured: bool = False  # holds a measurement or its status: changes by itself
    self_clearing: int = 0  # bits that can be written and read back as zero
    bank: int = 0

    @property
    def index(self) -> int:
        """Index of the register in the chip's memory."""
        return self.bank * BANK + self.address

    @property
    def access(self) -> str:
        """Access in the words of data sheets."""
        words = "RW" if self.mask | self.self_clearing else "R"
        return words + ("C" if self.clears else "") + (", sticks" if self.sticks else "")


def run_of(first: int, names: str, reset: int = 0, mask: int = 0, doc: str = "", **more: bool) -> list[Register]:
    """Registers at successive addresses; `names` are separated by spaces."""
    return [Register(first + i, name, reset, mask, doc, **more) for i, name in enumerate(names.split())]


def check_table(chip: str, registers: Sequence[Register], size: int) -> None:
    """Raise if a table is inconsistent: two registers at one place, numbers that are no bytes."""
    seen: dict[int, str] = {}
    for register in registers:
        place = f"chip {chip}, register {register.name} at bank {register.bank} address 0x{register.address:02X}"
        if not 0 <= register.index < size:
            raise ModelError(f"{place}: the chip has {size} places; give it more `PLACES` or correct the address")
        if register.index in seen:
            raise ModelError(f"{place}: {seen[register.index]} is there already; keep one")
        if not (0 <= register.reset <= 255 and 0 <= register.mask <= 255 and 0 <= register.self_clearing <= 255):
            raise ModelError(f"{place}: reset and masks are bytes, got {register.reset}, {register.mask}")
        seen[register.index] = register.name
