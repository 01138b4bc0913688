"""Instructions of the full loop by part, counted by `valgrind --tool=callgrind` for each line of the emitted C.

Counts do not depend on the load of a machine, so they compare two states of the code where times cannot. The kernel
runs as a separate program, eight lanes in a block, built for x86-64-v3 (AVX2), because Valgrind does not support
AVX-512; a machine with AVX-512 needs about half as many instructions. A count is no time: divisions, roots and cache
misses take longer than additions.

A line of the emitted C belongs to the block whose result needs it first, in the order in which results are written.
Functions of the headers count where they are called.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ironbird.compiler import native
from ironbird.compiler.compiled import LANES, CompiledModel
from ironbird.errors import IronbirdError
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of, prepare
from ironbird.proofs.speed import LOG, VEHICLE, WIND
from ironbird.runtime.cross_target import build_program, program_input
from ironbird.runtime.log import LogPlan
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run

TARGET = "x86_64_v3"
WARM_S = 5.0  # s of flight before the count begins: take-off is over
COUNTED_S = 1.0
LOG_S = 0.02
NO_VALGRIND = "valgrind is not installed: 'apt-get install valgrind' brings it"
HELPERS = '#include "ib_math.h"\n#include "ib_noise.h"\n'
WRAPPED = f"""#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))
{HELPERS}#pragma clang attribute pop
__attribute__((used, retain)) volatile int ib_written = 1;
"""  # functions without lines count where they are called; without a written variable Valgrind reads no lines

PLANT, SENSORS, NOISE, TAPS = "plant: derivatives and steps", "sensors", "noise", "taps and voting"
PREDICT, FUSE = "estimator: every sample", "estimator: covariance and fusion, while due"
CONTROL, ENVIRONMENT, SAMPLED = "control", "environment", "plant: sampled parts"
MONITORS, LOGGED, PARAMETERS, LOOP = "monitors", "log", "values of parameters", "loop, events and stops"
PARTS = (
    PLANT, SAMPLED, SENSORS, NOISE, TAPS, PREDICT, FUSE, CONTROL, ENVIRONMENT, MONITORS, LOGGED, PARAMETERS, LOOP,
)  # fmt: skip
BLOCKS = (  # part of a sampled block by its path, the first that fits
    (r"estimator(/.*)?", PREDICT),
    (r"vote/.*|.*fault", TAPS),
    (r"(imu|mag|baro|gnss|range|flow|airspeed)/.*", SENSORS),
    (r"monitor/.*|crash", MONITORS),
    (r"navigator|control(/.*)?|.*/command", CONTROL),
    (r"wind/.*|atmosphere|magnetic|terrain|gravity|air|wakes", ENVIRONMENT),
    (r".*", SAMPLED),
)
FUNCTIONS = (  # part of a whole function by its name
    (r"ib_model_(rates|tick|project)", PLANT),
    (r"ib_model_noise", NOISE),
    (r"ib_model_log.*", LOGGED),
    (r"ib_model_prelude", PARAMETERS),
    (r"ib_model_stop", LOOP),
)
DRAW = re.compile(r"\bib_\w+2\(seed,")
NAMED = re.compile(r"\b[vgn]\d+(?:_\d+)?[ab]?\b")
STORED = re.compile(r"\s*\w+\[\d+\] = (.*?);(?: /\* (.*) \*/)?$")
DEFINED = re.compile(r"\s*(?:const )?(?:ib_[fi] )?([vg]\d+(?:_\d+)?) = (.*);")
PAIR = re.compile(r"\s*ib_f (\w+), (\w+); (.*);")
GUARD = re.compile(r"\s*if \(ib_any\((.*)\)\) \{")
HEAD = re.compile(r"static (?:inline )?\w+ (ib_model_\w+)\(.*\) \{$")


def parts_of_lines(text: str) -> dict[int, str]:
    """The part to which each line of an emitted C text belongs, by line number (from 1)."""
    parts: dict[int, str] = {}
    for name, first, lines in _functions(text):
        whole = next((part for pattern, part in FUNCTIONS if re.fullmatch(pattern, name)), None)
        owners = [whole] * len(lines) if whole else _parts_of_samples(lines)
        parts.update({first + i: part for i, part in enumerate(owners) if part is not None})
    return parts


def _functions(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """The functions of a C text: name, number of the first line of the body, lines of the body."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if head := HEAD.match(line):
            end = lines.index("}", number)
            yield head[1], number + 2, lines[number + 1 : end]


def _parts_of_samples(lines: list[str]) -> list[str | None]:
    """The part of each line in a function that computes samples; None for lines that belong to no part."""
    defines: dict[str, list[int]] = {}  # variable -> lines that give it a value
    needs: list[list[str]] = []
    stores: list[tuple[int, str]] = []
    guarded, depth = [], 0
    for number, line in enumerate(lines):
        guarded.append(depth > 0)
        depth += line.count("{") - line.count("}")
        needs.append([])
        if stored := STORED.match(line):
            needs[-1] = NAMED.findall(stored[1])
            stores.append((number, (stored[2] or "").rpartition(".")[0]))
        elif pair := PAIR.match(line):
            needs[-1] = [name for name in NAMED.findall(pair[3]) if name not in pair.groups()[:2]]
            for name in pair.groups()[:2]:
                defines.setdefault(name, []).append(number)
        elif defined := DEFINED.match(line):
            needs[-1] = NAMED.findall(defined[2])
            defines.setdefault(defined[1], []).append(number)
        elif guard := GUARD.match(line):
            needs[-1] = NAMED.findall(guard[1])
    blocks: list[str | None] = [None] * len(lines)
    for number, block in stores:
        waiting = [number]
        while waiting:
            at = waiting.pop()
            if blocks[at] is None:
                blocks[at] = block
                waiting += [place for name in needs[at] for place in defines.get(name, ())]
    for number in range(len(lines) - 2, -1, -1):  # a condition belongs to the part that it guards
        blocks[number] = blocks[number] if blocks[number] is not None else blocks[number + 1]
    parts: list[str | None] = []
    for line, owner, inside in zip(lines, blocks, guarded, strict=True):
        own = next((part for pattern, part in BLOCKS if owner is not None and re.fullmatch(pattern, owner)), None)
        parts.append(NOISE if DRAW.search(line) else FUSE if own == PREDICT and inside else own)
    return parts


@dataclass
class Callgrind:
    """Instruction counts of a callgrind file, by function, file and line."""

    total: int = 0
    own: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str, int, str]] = field(default_factory=Counter)  # the last entry is the function called

    @staticmethod
    def read(text: str) -> Callgrind:
        """Parse the text of a callgrind file that was written without compressed names and positions."""
        counts, function, file, called = Callgrind(), "", "", ""
        after_call = False
        for line in text.splitlines():
            key, equals, value = line.partition("=")
            if line.startswith(("totals:", "summary:")):
                counts.total = int(line.split()[1])
            elif equals and key in ("fl", "fi", "fe"):
                file = Path(value).name
            elif equals and key == "fn":
                function = value
            elif equals and key == "cfn":
                called = value
            elif equals and key == "calls":
                after_call = True
            elif line[:1].isdigit():
                place, cost = line.split()[:2]
                if after_call:
                    counts.calls[function, file, int(place), called] += int(cost)
                else:
                    counts.own[function, file, int(place)] += int(cost)
                after_call = False
        return counts


def by_part(counted: Callgrind, text: str, loop: Mapping[str, str]) -> dict[str, int]:
    """Instructions by part; `driver` is the program around the kernel (ib_main.c).

    `loop` holds the texts of the headers with the run loop, by name. The parts sum up to the total: a function without
    lines of the kernel counts at the lines that call it.
    """
    parts = parts_of_lines(text)
    steps = {
        (name, number)
        for name, content in loop.items()
        for number, line in enumerate(content.splitlines(), start=1)
        if name == "ib_integrate.h" or re.search(r"ib_integrate\(|ib_diverged\(|before\[i\] = x\[i\]", line)
    }
    logs = {
        ("ib_loop.h", number)
        for number, line in _between(loop["ib_loop.h"], "if (until_log == 0) {", "until_log = r->log_every;")
        if line
    }

    def part(file: str, line: int) -> str:
        if file == "model.c":
            return parts.get(line, LOOP)
        if file not in loop:
            return "driver"
        return PLANT if (file, line) in steps else LOGGED if (file, line) in logs else LOOP

    kernel = {function for function, file, _ in counted.own if file == "model.c" or file in loop}
    below: set[str] = set()  # functions that are counted where they are called
    waiting = [called for caller, _, _, called in counted.calls if caller in kernel and called not in kernel]
    while waiting:
        function = waiting.pop()
        if function not in below:
            below.add(function)
            waiting += [called for caller, _, _, called in counted.calls if caller == function]
    counts: Counter[str] = Counter()
    for (function, file, line), cost in counted.own.items():
        if function in kernel or function not in below:
            counts[part(file, line) if function in kernel else "driver"] += cost
    for (function, file, line, called), cost in counted.calls.items():
        if called in below and function not in below:
            counts[part(file, line) if function in kernel else "driver"] += cost
    return dict(counts)


def _between(text: str, first: str, last: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from one that contains `first` to one that contains `last`."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        inside = inside or first in line
        if inside:
            yield number, line
        if last in line:
            inside = False


def count(state: RunState, until_s: float, log: list[str]) -> tuple[Callgrind, str]:
    """Run a state until `until_s` under callgrind; returns the counts and the C text of the program."""
    if not shutil.which("valgrind"):
        raise IronbirdError(NO_VALGRIND)
    plan = LogPlan.make(state.model, log, LOG_S)
    data, _ = program_input(state, plan, round(until_s / state.model.step_s) - state.tick)
    text = state.model.source.text.replace(HELPERS, WRAPPED)
    with tempfile.TemporaryDirectory(prefix="ironbird-") as folder:
        program = build_program(text, state.width, TARGET, Path(folder), lines=True)
        out = Path(folder) / "callgrind.out"
        command = [
            "valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={out}",
            str(program),
        ]  # fmt: skip
        done = subprocess.run(command, input=data, capture_output=True, timeout=1800)
        if done.returncode != 0:
            raise IronbirdError(f"valgrind failed with code {done.returncode}: {done.stderr.decode()[-500:]}")
        return Callgrind.read(out.read_text()), text


def measure(*, seconds: float = COUNTED_S, vehicle: str = VEHICLE, control: str = "reference") -> dict[str, Any]:
    """Instructions per millisecond of flight and vehicle, by part, as data for JSON."""
    if not shutil.which("valgrind"):
        raise IronbirdError(NO_VALGRIND)
    order = make_order(vehicle, control=control, weather=WIND)
    model: CompiledModel = model_of(order)
    state = prepare(model, [order] * LANES)
    run(state, WARM_S, log=LOG, threads=1)
    counted, text = count(state, WARM_S + seconds, LOG)
    loop = {name: (native.HEADERS / name).read_text() for name in ("ib_loop.h", "ib_integrate.h")}
    parts = by_part(counted, text, loop)
    driver = parts.pop("driver", 0)
    scale = 1.0 / (seconds * 1e3 * LANES)
    return {
        "vehicle": vehicle,
        "control": control,
        "target": TARGET,
        "lanes": LANES,
        "counted_s": seconds,
        "instructions": counted.total,
        "outside_the_kernel": driver,
        "per_ms_and_vehicle": {part: round(parts.get(part, 0) * scale, 1) for part in PARTS},
        "per_ms_and_vehicle_total": round(sum(parts.values()) * scale, 1),
    }


def rows(result: Mapping[str, Any]) -> dict[str, str]:
    """The counts by part as rows of a table, each with its share of the total."""
    total = result["per_ms_and_vehicle_total"]
    parts = {part: f"{value:.0f} ({100 * value / total:.1f} %)" for part, value in result["per_ms_and_vehicle"].items()}
    return {**parts, "all": f"{total:.0f}"}
