"""Pages from tables, traces in words and as levels."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.chips.page import explain
from ironbird.boards.chips.trace import Transaction, read_trace
from ironbird.boards.chips.vcd import vcd
from ironbird.cli.main import app
from ironbird.errors import LinkError
from write_chip_pages import FOLDER, pages

TRACES = Path(__file__).parents[3] / "data" / "chip_traces"


def test_the_pages_in_docs_are_those_of_the_tables() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(pages())
    for name, text in pages().items():
        assert (FOLDER / name).read_text() == text, f"{name}: run tools/write_chip_pages.py"


def test_a_trace_reads_back_from_its_own_text() -> None:
    for path in TRACES.glob("*.txt"):
        lines = [t for t in read_trace(path.read_text()) if not t.cut]
        again = read_trace("\n".join(t.line() for t in lines))
        assert again == lines
    line = Transaction(5, "UART", b"\xb5", 2, b"\x62\x00", "gps")
    assert read_trace(line.line()) == [line]


def test_a_line_that_is_no_transaction_is_refused_with_its_number() -> None:
    with pytest.raises(LinkError, match="line 2"):
        read_trace("0.0 ms  SPI f5 00 (2)  -> 98\n0.0 ms  SPI f5 00 (1)  -> 98\n")


def test_transactions_are_said_in_the_names_of_the_table() -> None:
    first, second = read_trace("0.0 ms  SPI f5 00 (2)  -> 98\n0.0 ms  SPI 6b 80 (2)  -> 00\n")
    kind = chip_class("icm20689")
    assert explain(first, kind) == "read WHO_AM_I 98" and explain(second, kind) == "write PWR_MGMT_1 80"


def test_levels_in_a_dump_give_back_the_bytes() -> None:
    text = vcd(read_trace("0.0 ms  SPI[imu] f5 00 (2)  -> 98\n"))
    wires = {}
    for line in text.splitlines():
        if line.startswith("$var"):
            _, _, _, sign, name, _ = line.split()
            wires[sign] = name
    level = dict.fromkeys(wires.values(), 1)
    bits: list[tuple[int, int]] = []
    for line in text.split("$end\n")[-1].splitlines():
        if not line.startswith("#"):
            before = level["imu_sck"]
            level[wires[line[1:]]] = int(line[0])
            if wires[line[1:]] == "imu_sck" and not before and level["imu_sck"] and not level["imu_cs"]:
                bits.append((level["imu_mosi"], level["imu_miso"]))
    assert int("".join(str(out) for out, _ in bits), 2) == 0xF500 and int("".join(str(b) for _, b in bits), 2) == 0x98


def test_the_commands_list_show_and_decode(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert "ICM-20689" in run(app, ["board", "list"]).output
    shown = run(app, ["board", "chip", "icm20689"]).output
    assert "WHO_AM_I" in shown and "PWR_MGMT_1" in shown
    out = tmp_path / "wires.vcd"
    said = run(app, ["board", "trace", str(TRACES / "px4_ist8310.txt"), "--chip", "ist8310", "--vcd", str(out)])
    assert "read WAI 10" in said.output and out.read_text().startswith("$timescale")
    assert run(app, ["board", "chip", "icm2068"]).exit_code == 2
