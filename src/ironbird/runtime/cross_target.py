"""A model's kernel as a program of its own, built for this or another machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from ironbird.compiler import native
from ironbird.errors import RunError
from ironbird.runtime.border import ticks_of, whole
from ironbird.runtime.handed import check_plan, check_state
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.state import RunState
from ironbird.runtime.step import kernel_events

EMULATORS = {"aarch64": "qemu-aarch64"}


def build_program(text: str, width: int, target: str, folder: Path, *, lines: bool = False) -> Path:
    """Build a static program for a target (`aarch64`, `x86_64_v3`) from a model's source; `lines` adds line numbers."""
    model = folder / "model.c"
    program = folder / f"model-{target}-{width}"
    model.write_text(text)
    flags = [f for f in native.FLAGS if f not in ("-fPIC", "-shared", "-fvisibility=hidden")]
    own = native.target_flags(target)
    if lines:
        own = [*(flag for flag in own if flag not in ("-g0", "-s")), "-gline-tables-only"]
    native.run_compiler(
        [
            *native.compiler_command(),
            *flags,
            *own,
            "-static",
            f"-DIB_W={width}",
            f'-DIB_MODEL="{model}"',
            "-I",
            str(native.HEADERS),
            str(native.HEADERS / "ib_main.c"),
            "-o",
            str(program),
        ],
        folder,
    )
    return program


def run_on_target(
    state: RunState, until_s: float, *, target: str, log: list[str] | None = None, log_s: float = 0.02
) -> Log:
    """Run a state in a program built for another machine, under its emulator; the state itself stays unchanged."""
    emulator = EMULATORS.get(target)
    if emulator and not shutil.which(emulator):
        raise RunError(f"{emulator} is not installed: 'apt-get install qemu-user' brings it")
    plan = LogPlan.make(state.model, log, log_s)
    ticks = whole(ticks_of(until_s, state.model.step_s, "until_s") - state.tick, "ticks to run")
    data, rows = program_input(state, plan, ticks)
    with tempfile.TemporaryDirectory(prefix="ironbird-") as folder:
        program = build_program(state.model.source.text, state.width, target, Path(folder))
        command = [*([emulator] if emulator else []), str(program)]
        done = subprocess.run(command, input=data, capture_output=True, timeout=1800, env=dict(os.environ))
    if done.returncode != 0:
        raise RunError(f"'{shlex.join(command)}' failed with code {done.returncode}: {done.stderr.decode()[-500:]}")
    end = state.branch()
    result = Log.empty(plan, state, state.tick, state.tick + ticks)
    result.data = np.frombuffer(done.stdout, np.float64, result.data.size).reshape(result.data.shape)
    end.stop_tick = np.frombuffer(done.stdout, np.int64)[-end.stop_tick.size :].reshape(end.stop_tick.shape)
    end.tick += ticks
    result.finish(end, rows)
    return result


def program_input(state: RunState, plan: LogPlan, ticks: int) -> tuple[bytes, int]:
    """Input bytes of a program that runs a state for some ticks, and the number of log rows it writes."""
    check_state(state)
    check_plan(plan, state)
    rows = plan.rows_between(state.tick, state.tick + ticks)
    events = kernel_events(state)
    records, first, code = events.records, events.first, events.code
    blocks = state.x.shape[0]
    count = int(first[-1])
    head = np.array(
        [
            blocks,
            state.tick,
            ticks,
            count,
            plan.every,
            rows,
            len(plan.index),
            code.code.size,
            code.constants.size,
            code.first.size,
        ],
        np.int64,
    )
    arrays = [
        head,
        state.x,
        state.xd,
        state.held,
        state.params,
        state.inputs,
        state.seeds,
        state.stop_tick,
        state.stop_reason,
        state.stop_row,
    ]
    data = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
    data += bytes(records)[: count * (len(bytes(records)) // len(records))] + first.tobytes() + plan.index.tobytes()
    data += b"".join(a.tobytes() for a in (events.fired[:count], code.code, code.constants, code.first))
    return data, rows
