"""Checks for authors of a chip: its register table is compared with what the chip does on its buses."""

from __future__ import annotations

import copy

from ironbird.boards.chips.bus import I2cBus
from ironbird.boards.chips.catalog import make_chip
from ironbird.boards.chips.chip import Chip, RegisterChip
from ironbird.boards.chips.pins import SpiPins
from ironbird.boards.chips.table import Register
from ironbird.boards.chips.translate import translate

SAMPLES = 7  # records put into a FIFO to check their order


def check_chip(name: str) -> None:
    """A chip's declarations, its registers, late commits, and the order and overflow of its FIFO.

    Checked: part, source, docs; it translates to C; reset values after power-up and after wild writes; write masks with
    zeros, ones and a pattern; read-only registers; reading a register does nothing to the next one (effects commit when
    the first bit is clocked); a FIFO gives its bytes in order, loses none to prefetching, overflows in whole records
    and reports it. Raises `AssertionError` with all findings.
    """
    chip = make_chip(name)
    kind = type(chip)
    findings = [f"{what} is missing" for what in ("part", "summary", "source", "buses") if not getattr(kind, what)]
    if not (kind.__doc__ or "").strip() or (
        "[" not in (kind.__doc__ or "") and "of this project" not in (kind.__doc__ or "")
    ):
        findings.append("the docstring names no source")
    findings += [f"register {r.name} has no doc" for r in kind.registers if not r.doc]
    translate(kind)
    if isinstance(chip, RegisterChip):
        findings += _register_findings(chip)
        if "spi" in kind.buses:
            findings += _late_findings(chip)
        if kind.fifo_setup:
            findings += _fifo_findings(name)
    if findings:
        raise AssertionError(f"chip {name} fails {len(findings)} check(s):\n" + "\n".join(f"  - {f}" for f in findings))


def _read(chip: RegisterChip, register: Register, t: int = 0) -> int:
    if "spi" in chip.buses:
        _select_bank(chip, register, t)
        first = register.address & chip.ADDRESS | chip.READ | chip.INCREMENT
        return chip.transfer(t, bytes([first]) + bytes(1 + chip.DUMMY))[-1]
    return I2cBus([chip]).transfer(t, chip.own_address, bytes([register.address]), 1).data[0]


def _write(chip: RegisterChip, register: Register, value: int, t: int = 0) -> None:
    if "spi" in chip.buses:
        _select_bank(chip, register, t)
        chip.transfer(t, bytes([register.address & chip.ADDRESS, value]))
    else:
        I2cBus([chip]).transfer(t, chip.own_address, bytes([register.address, value]), 0)


def _select_bank(chip: RegisterChip, register: Register, t: int) -> None:
    if any(r.bank for r in chip.registers):
        chooser = next(r for r in chip.registers if r.name == "REG_BANK_SEL")
        chip.transfer(t, bytes([chooser.address, register.bank]))


def _register_findings(chip: RegisterChip) -> list[str]:
    findings = []
    stored = [r for r in chip.registers if not r.measured]
    _read(chip, stored[0])  # a chip may take the first request as the selection of its bus
    for register in stored:
        value = _read(chip, register)
        if value != register.reset and register.name != "REG_BANK_SEL":
            findings.append(f"{register.name} is 0x{value:02X} after power-up, the table says 0x{register.reset:02X}")
    for register in stored:
        if register.acts:
            continue
        for value in (0xFF, 0x00, 0xA5):
            _write(chip, register, value)
            expected = register.reset & ~register.mask | value & register.mask
            got = _read(chip, register)
            if got != expected:
                findings.append(
                    f"{register.name}: 0x{value:02X} was written, 0x{got:02X} came back, not 0x{expected:02X}"
                )
        _write(chip, register, 0xFF)
    chip.power_on(chip.now)
    later = chip.now + 10_000_000_000
    _read(chip, stored[0], later)
    for register in stored:
        if _read(chip, register, later) != register.reset and register.name != "REG_BANK_SEL":
            findings.append(f"{register.name} keeps what was written through a loss of power")
    return findings


def _state(chip: Chip) -> dict[str, object]:
    walking = ("pointer", "reading", "commanded", "walking", "skipped", "now", "bank", "switched", "lost")
    return {name: copy.copy(getattr(chip, name)) for name in chip.fields() if name not in walking}


def _late_findings(chip: RegisterChip) -> list[str]:
    """Findings where reading one register already triggers the side effect of the next one.

    The register before each one with a side effect is read alone over SPI, and nothing else may change.
    """
    findings = []
    special = {r.index for r in chip.registers if r.clears or r.sticks or r.acts}
    for place in sorted(special):
        if place % 128 == 0 or place - 1 in special or place >= 128:
            continue
        pins = SpiPins(make_chip(type(chip).id()))
        assert isinstance(pins.chip, RegisterChip)
        pins.chip.advance(0)  # the chip's clock may run from power-up on
        for i in range(len(pins.chip.reg)):
            pins.chip.reg[i] |= 0x01 if i == place else 0
        before = _state(pins.chip)
        first = (place - 1) & chip.ADDRESS | chip.READ | chip.INCREMENT
        pins.transfer(0, bytes([first]) + bytes(1 + chip.DUMMY))
        after = _state(pins.chip)
        if before != after:
            changed = [name for name in before if before[name] != after[name]]
            findings.append(f"reading 0x{place - 1:02X} alone acts on 0x{place:02X}: {', '.join(changed)} changed")
    return findings


def _fifo_findings(name: str) -> list[str]:
    """FIFO problems, found with two equal chips: one is read after each sample, the other only at the end."""
    findings = []
    chips = [make_chip(name) for _ in range(2)]
    step = 0
    for chip in chips:
        assert isinstance(chip, RegisterChip)
        for place, value in chip.fifo_setup:
            chip.transfer(0, bytes([place, value]))
        step = int(getattr(chip, "period", 0))
    door = chips[0].fifo_door | 0x80
    eager = bytearray()
    size = 0
    for sample in range(1, SAMPLES + 1):
        for chip in chips:
            chip.feed(**{feed: sample * 0.25 * (i + 1) for i, feed in enumerate(chip.feeds[:6])})
            chip.advance(sample * step)
        size = int(getattr(chips[0], "count", 0))
        eager += chips[0].transfer(sample * step, bytes([door]) + bytes(size))[1:]
    pins = SpiPins(chips[1])
    lazy, count = bytearray(), int(getattr(chips[1], "count", 0))
    # read in pieces, pin by pin: prefetching must not remove bytes that were not read
    for length in (1, 2, size, count - size - 3):
        lazy += pins.transfer(SAMPLES * step, bytes([door]) + bytes(length)).data[1:]
    if not size or len(eager) != SAMPLES * size:
        findings.append(f"the FIFO took {len(eager)} bytes of {SAMPLES} samples, a record has {size}")
    if eager != lazy:
        findings.append("the FIFO's bytes come out of order, or some are lost between two bursts")
    if len(set(eager[i : i + size].hex() for i in range(0, len(eager), max(1, size)))) < SAMPLES // 2:
        findings.append("records of different samples are equal")
    if pins.transfer(SAMPLES * step, bytes([door, 0])).data[1] != 0xFF:
        findings.append("an empty FIFO does not read 0xFF")
    chips[1].advance(SAMPLES * step + 5000 * step)
    left, status = int(getattr(chips[1], "count", 0)), next(r for r in chips[1].registers if r.name == "INT_STATUS")
    assert isinstance(chips[1], RegisterChip)
    overflow = _read(chips[1], status, SAMPLES * step + 5000 * step)
    if left % size or not left:
        findings.append(f"a full FIFO holds {left} bytes, which is no number of records of {size}")
    if not overflow & 0x12:
        findings.append(f"INT_STATUS is 0x{overflow:02X} after an overflow; nothing says so")
    return findings
