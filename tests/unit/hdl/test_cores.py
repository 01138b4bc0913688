"""Cores of chips in hardware against the models in C, pin level by pin level, and what the tools say of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ironbird.boards.chips.parts.ms5611 import Ms5611
from ironbird.cli.main import app
from ironbird.errors import LinkError, UnknownNameError
from ironbird.hdl.agreement import compare_core
from ironbird.hdl.cores import CORES, make_core
from ironbird.hdl.tools import FEED, PUSH, Placed, Simulation, board_rtlil, cores_of, write_verilog

MISO_SHIFT = 15  # of its setting among the faults of SPI
SLOT = 5  # clocks of half a bit: 10 MHz at 100 MHz


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hdl")


@pytest.fixture(scope="module")
def simulations(folder: Path) -> dict[str, Simulation]:
    return {}


@pytest.fixture
def core(request: pytest.FixtureRequest, folder: Path, simulations: dict[str, Simulation]) -> Iterator[Simulation]:
    """One chip's core, built once for all tests, after power came."""
    chip = str(request.param)
    if chip not in simulations:
        simulations[chip] = Simulation(chip, folder)
    simulations[chip].restart()
    yield simulations[chip]


def spi(core: Simulation, sent: bytes, clocks: int = SLOT) -> bytes:
    """One transaction; the host samples just before its clock rises, as the slot of the low clock ends."""
    levels = [0]
    for value in sent:
        for bit in range(7, -1, -1):
            levels += [(value >> bit & 1) << 2, (value >> bit & 1) << 2 | 2]
    out = core.slots(bytes([*levels, 0, 1]), clocks)
    bits = "".join(str(level) for level in out[1 : 1 + 16 * len(sent) : 2])
    return int(bits, 2).to_bytes(len(sent), "big")


@pytest.mark.parametrize("core", CORES, indirect=True)
@pytest.mark.parametrize("fault", [False, True], ids=["whole", "broken"])
def test_core_and_model_agree_under_random_traffic(
    core: Simulation, folder: Path, request: pytest.FixtureRequest, fault: bool
) -> None:
    chip = request.node.callspec.params["core"]

    found = compare_core(chip, 1500, folder, 3, fault=fault, simulation=core)

    assert found.differences == () and found.bits > 100_000


@pytest.mark.parametrize("core", ["icm20689"], indirect=True)
def test_the_comparison_sees_a_core_that_is_told_less(core: Simulation, folder: Path) -> None:
    core.queue = lambda kind, address, value: None  # type: ignore[method-assign]
    try:
        assert compare_core("icm20689", 1500, folder, 3, simulation=core).differences
    finally:
        del core.queue


@pytest.mark.parametrize("core", ["icm20689"], indirect=True)
def test_random_open_and_shorted_wires_are_those_of_the_multiplexer(core: Simulation) -> None:
    core.set("cs", 1)
    core.clock(8)
    for setting, level in ((0b00110, 1), (0b00010, 0), (0b11000, 1), (0b01000, 0), (0b01111, 0)):
        core.set("faults", setting << MISO_SHIFT)
        assert spi(core, b"\xf5\x00") == bytes([255 * level] * 2)
    core.restart()
    noise, expected = (0xACE1 + 77 * 3) | 1, []  # the fourth wire of this core
    for _ in range(500):
        new = (noise ^ noise >> 2 ^ noise >> 3 ^ noise >> 5) & 1
        noise = noise >> 1 | new << 15
        expected.append(noise & 1)
    core.set("faults", 0b00001 << MISO_SHIFT)
    assert list(core.slots(b"\1" * 500, 1)) == expected


@pytest.mark.parametrize("core", ["icm20689"], indirect=True)
def test_a_reset_walks_through_the_table_and_the_fifo_gives_its_bytes_in_order(core: Simulation) -> None:
    core.set("cs", 1)
    core.clock(8)
    for value in (1, 2, 3):
        core.queue(PUSH, 0, value)
    core.served()
    assert core.get("count") == 3
    assert spi(core, b"\xf2\x00\x00") == b"\x00\x00\x03"  # FIFO_COUNT
    assert spi(core, b"\xf4" + bytes(4)) == b"\x00\x01\x02\x03\xff"
    spi(core, b"\x19\x55")
    assert spi(core, b"\x99\x00") == b"\x00\x55" and core.heard() == [(0x19, 0x55)]
    spi(core, b"\x6b\x80")
    core.clock(40)
    assert spi(core, b"\x99\x00") == b"\x00\x00" and spi(core, b"\xeb\x00") == b"\x00\x40"


@pytest.mark.parametrize("core", ["icm20689"], indirect=True)
def test_a_burst_does_not_tear(core: Simulation) -> None:
    core.set("cs", 1)
    core.clock(8)
    core.slots(b"\0", SLOT)  # selected
    core.queue(FEED, 0x3B, 0x77)
    with pytest.raises(LinkError, match="under way"):
        core.served(200)
    core.slots(b"\1", SLOT)
    core.served(20)
    assert spi(core, b"\xbb\x00") == b"\x00\x77"


@pytest.mark.parametrize("core", ["ms5611"], indirect=True)
@pytest.mark.parametrize("clocks", [2, 5], ids=["25MHz", "10MHz"])
def test_ms5611_answers_on_the_edge_that_follows_its_command(core: Simulation, clocks: int) -> None:
    core.set("cs", 1)
    core.set("pressure", 0x89ABCD)
    core.clock(8)
    for i, word in enumerate(Ms5611.WORDS):
        assert int.from_bytes(spi(core, bytes([0xA0 + 2 * i, 0, 0]), clocks)[1:], "big") == word
        core.clock(8)
    spi(core, b"\x48", clocks)
    core.clock(8)
    core.set("tick", 1)
    core.clock(8219)
    core.set("tick", 0)
    core.clock(8)
    assert spi(core, b"\x00", clocks) == b"\x00"  # asked, but no bit of the result taken
    core.clock(8)
    core.set("tick", 1)
    core.clock(1)
    core.set("tick", 0)
    core.clock(8)
    assert spi(core, bytes(4), clocks)[1:] == b"\x89\xab\xcd"
    core.clock(8)
    assert spi(core, bytes(4), clocks)[1:] == bytes(3)  # once


@pytest.mark.parametrize("core", ["neo_m8n"], indirect=True)
@pytest.mark.parametrize("drift", [-2, 0, 2])
def test_a_serial_line_bears_a_host_that_is_two_percent_off(core: Simulation, drift: int) -> None:
    core.set("divider", 100)
    core.slots(b"\1" * 20, 100)
    sent = bytes(range(0, 256, 5))
    core.slots(b"".join(bytes([0, *(v >> b & 1 for b in range(8)), 1]) for v in sent) + b"\1" * 12, 100 + drift)
    assert bytes(value for _, value in core.heard()) == sent


def test_verilog_has_a_module_of_each_chip(folder: Path) -> None:
    text = write_verilog(board_rtlil(list(CORES)), folder, "board").read_text()

    modules = re.findall(r"^module \\?([\w.]+)", text, re.M)
    assert "board" in modules and all(any(chip in module for module in modules) for chip in CORES)
    assert "input clk;" in text and "output icm20689_0_miso;" in text


def test_boards_give_their_chips_and_unknown_names_are_refused() -> None:
    assert cores_of(["pixhawk4"]) == (["icm20689", "ms5611", "ist8310", "neo_m8n"], [])
    assert cores_of(["pilotpi"])[0] == ["ist8310", "ms5611", "neo_m8n"]
    with pytest.raises(UnknownNameError, match="core in hardware"):
        make_core("bmp388")
    refused = CliRunner().invoke(app, ["board", "hdl", "icm20688", "--place-runs", "0"])
    assert refused.exit_code == 2 and "icm20689" in refused.output


def test_the_highest_bus_clock_follows_from_the_paths_of_the_report() -> None:
    clocks = {"$glbnet$clk$TRELLIS_IO_IN": 112.4, "$glbnet$ms5611_2_sck_PFUMX": 102.5}
    placed = Placed("LFE5U-25F", 1, clocks, 5.9, 7.4, 6.4, {}, 1)

    assert (placed.clock_MHz, placed.sck_MHz) == (112.4, 102.5)
    assert placed.bus_MHz("icm20689")[0] == pytest.approx(500 / (5.9 + 30.0 + 7.4))
    assert placed.bus_MHz("ms5611")[0] == pytest.approx(500 / (5.9 + 6.4))


def test_the_measured_designs_reach_a_hundred_megahertz() -> None:
    measured = json.loads((Path(__file__).parents[3] / "docs" / "measured" / "hdl.json").read_text())

    ecp5 = [run for run in measured["placed"] if run["device"] == "LFE5U-25F"]
    assert len(ecp5) >= 5 and min(run["clock_MHz"] for run in ecp5) >= 100.0
    assert min(run["bus_MHz"]["ms5611"] for run in ecp5) >= 20.0
    assert min(run["bus_MHz"]["icm20689"] for run in ecp5) >= 10.0
    assert {run["chip"] for run in measured["agreement"]} == set(CORES)
    assert all(run["transactions"] >= 100_000 and not run["differences"] for run in measured["agreement"])
