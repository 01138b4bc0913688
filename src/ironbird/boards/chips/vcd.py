"""Recorded bus traffic as a value change dump (IEEE 1364), for GTKWave and PulseView."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironbird.boards.chips.trace import Transaction

SPI_HZ, I2C_HZ, UART_HZ = 1_000_000, 400_000, 9600
Change = tuple[int, str, int]  # time in ns, wire, level


def _spi(t: Transaction) -> Iterator[Change]:
    half, at, name = 500_000_000 // SPI_HZ, t.time_ns, t.device or "spi"
    answers = b"\0" + t.received + bytes(max(0, t.length - 1 - len(t.received)))
    yield at, f"{name}.cs", 0
    for out, back in zip(t.sent, answers, strict=False):
        for bit in range(7, -1, -1):
            yield at, f"{name}.sck", 0
            yield at, f"{name}.mosi", out >> bit & 1
            yield at, f"{name}.miso", back >> bit & 1
            at += half
            yield at, f"{name}.sck", 1
            at += half
    yield at, f"{name}.sck", 0
    yield at + half, f"{name}.cs", 1


def _i2c(t: Transaction) -> Iterator[Change]:
    third, at = 1_000_000_000 // I2C_HZ // 3, t.time_ns
    frames: list[tuple[bool, list[int]]] = []
    bad = t.error == "NACK"
    if t.sent or not t.length:
        frames.append((False, [t.address << 1, *([] if bad else t.sent)]))
    if t.length and not bad:
        frames.append((True, [t.address << 1 | 1, *t.received]))
    elif t.length and not frames:
        frames.append((True, [t.address << 1 | 1]))
    for reading, values in frames:
        yield at, "i2c.sda", 1
        at += third
        yield at, "i2c.scl", 1
        at += third
        yield at, "i2c.sda", 0  # start
        at += third
        for number, value in enumerate(values):
            ends = int((reading and number and number == len(values) - 1) or bad)
            for level in (*(value >> bit & 1 for bit in range(7, -1, -1)), ends):
                yield at, "i2c.scl", 0
                at += third
                yield at, "i2c.sda", level
                at += third
                yield at, "i2c.scl", 1
                at += third
        yield at, "i2c.scl", 0
        at += third
    yield at, "i2c.sda", 0
    yield at + third, "i2c.scl", 1
    yield at + 2 * third, "i2c.sda", 1  # stop


def _uart(t: Transaction) -> Iterator[Change]:
    for wire, data in (("tx", t.sent), ("rx", t.received)):
        at = t.time_ns
        for value in data:
            for level in (0, *(value >> bit & 1 for bit in range(8)), 1):
                yield at, f"{t.device or 'uart'}.{wire}", level
                at += 1_000_000_000 // UART_HZ


def vcd(transactions: Sequence[Transaction]) -> str:
    """Text of the dump. Traces have one time per request: overlapping requests are shifted to follow each other."""
    makers = {"SPI": _spi, "I2C": _i2c, "UART": _uart}
    changes: list[Change] = []
    end: dict[str, int] = {}
    for transaction in transactions:
        made = list(makers[transaction.bus](transaction))
        if not made:
            continue
        key = f"{transaction.bus} {transaction.device}"
        late = max(0, end.get(key, made[0][0]) - made[0][0])
        changes += [(at + late, wire, level) for at, wire, level in made]
        end[key] = changes[-1][0] + 1000
    changes.sort(key=lambda change: change[0])
    signs = {wire: chr(33 + i) for i, wire in enumerate(sorted({wire for _, wire, _ in changes}))}
    lines = ["$timescale 1ns $end", "$scope module ironbird $end"]
    lines += [f"$var wire 1 {sign} {wire.replace('.', '_')} $end" for wire, sign in signs.items()]
    lines += [
        "$upscope $end",
        "$enddefinitions $end",
        "#0",
        "$dumpvars",
        *(f"1{sign}" for sign in signs.values()),
        "$end",
    ]
    levels = dict.fromkeys(signs, 1)
    shift = min((change[0] for change in changes), default=0)
    shift = min(0, shift)
    last = 0
    for at, wire, level in changes:
        if levels[wire] == level:
            continue
        levels[wire] = level
        if at - shift != last:
            last = at - shift
            lines.append(f"#{last}")
        lines.append(f"{level}{signs[wire]}")
    return "\n".join([*lines, ""])
