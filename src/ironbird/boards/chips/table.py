"""A register as the data sheet lists it, and tables of them as constants that chips read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironbird.errors import ModelError

BANK = 128  # addresses of a register bank
CLEARS, STICKS, ACTS = 1, 2, 4  # reading clears it; the pointer stays on it; reading or writing it does something


@dataclass(frozen=True)
class Register:
    """One register: where it is, what it holds after a reset, what can be written, what access does to it."""

    address: int
    name: str
    reset: int = 0
    mask: int = 0  # bits that keep what is written
    doc: str = ""
    clears: bool = False  # reading sets it to zero
    sticks: bool = False  # a burst stays on this address: the door to a FIFO
    acts: bool = False  # access does something that the doc says
    measured: bool = False  # holds a measurement or a status of one: it changes by itself
    self_clearing: int = 0  # bits that can be written and read back as zero
    bank: int = 0

    @property
    def index(self) -> int:
        """Its place in the chip's memory."""
        return self.bank * BANK + self.address

    @property
    def access(self) -> str:
        """How it can be used, in the words of data sheets."""
        words = "RW" if self.mask | self.self_clearing else "R"
        return words + ("C" if self.clears else "") + (", sticks" if self.sticks else "")


def run_of(first: int, names: str, reset: int = 0, mask: int = 0, doc: str = "", **more: bool) -> list[Register]:
    """Registers at successive addresses, by their names with blanks between."""
    return [Register(first + i, name, reset, mask, doc, **more) for i, name in enumerate(names.split())]


def check_table(chip: str, registers: Sequence[Register], size: int) -> None:
    """Raise if a table contradicts itself: two registers at one place, numbers that are no bytes."""
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
