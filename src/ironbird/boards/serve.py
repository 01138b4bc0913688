"""Running another program on the chips of a board, in real time, with a vehicle that feeds them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ironbird.boards.board import Board
from ironbird.boards.feed import Feeder
from ironbird.boards.served import TRACE, ServedBoard
from ironbird.boards.wire_faults import BrokenWires, with_wires
from ironbird.boards.wiring import Wiring
from ironbird.compiler.compiled import compile_model
from ironbird.errors import LinkError
from ironbird.faults.spec import Injection
from ironbird.host.process import NO_NEW_PRIVS, PDEATHSIG, passed_on
from ironbird.host.virtual_time.run import become
from ironbird.rig.rig import Rig, attach
from ironbird.runtime.state import RunState, start
from ironbird.vehicles.load import load_vehicle

LONGEST_S = 24 * 3600.0
TICK_S = 0.001
LATE_TICKS = 50  # most ticks caught up at once when the computer was busy
GOODBYE_S = 3.0
Order = Callable[[RunState, Injection], None]  # schedules a fault in a run


@dataclass
class Served:
    """Result of a program on a board."""

    code: int
    requests: int
    digest: str
    seconds: float
    witnesses: list[str] = field(default_factory=list)


def serve(
    board: Board,
    command: Sequence[str],
    *,
    vehicle: str = "quad_f450",
    faults: Sequence[Injection] = (),
    order: Order | None = None,
    seed: int = 0,
    trace: Path | None = None,
    transport: str = "memory",
    until_s: float | None = None,
    folder: Path | None = None,
) -> Served:
    """Run a command whose buses are the board's until it ends, or for a time; its output is passed through.

    The command never runs as root (but as `nobody`), cannot set the clock, restart the machine or reach more than
    loopback, and starts in an empty folder unless `folder` is given. With `transport="socket"` the chips are the Python
    models.
    """
    own = Path(tempfile.mkdtemp(prefix="ironbird-chips-"))
    served: ServedBoard | None = None
    process: subprocess.Popen[bytes] | None = None
    try:
        rig = _rig(board, vehicle, faults, order, seed)
        wiring = Wiring(board, faults, seed) if transport == "socket" else None
        served = ServedBoard(board, own, seed=seed, traced=trace is not None, wiring=wiring)
        feeder = Feeder(board, rig, served.chips.inputs)
        wires = BrokenWires(served.chips, rig, faults)

        def step(tick: int) -> None:
            t = round(tick * TICK_S * 1e9)
            rig.step(round(TICK_S / rig.state.model.step_s))
            feeder.take()
            wires.take(t)
            served.tick(t)

        tick = 1
        step(tick)  # faults present from the start act before the program starts
        begin = time.monotonic_ns() - round(TICK_S * 1e9)
        served.zero_is(begin)
        process = _start(command, served, folder or own)
        while process.poll() is None:
            now = time.monotonic_ns() - begin
            if until_s is not None and now > until_s * 1e9:
                process.terminate()
                break
            due = min(int(now / 1e9 / TICK_S), tick + LATE_TICKS)
            while tick < due:
                tick += 1
                step(tick)
            tick = max(tick, int((time.monotonic_ns() - begin) / 1e9 / TICK_S) - LATE_TICKS)
            time.sleep(TICK_S)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GOODBYE_S)
        seconds = (time.monotonic_ns() - begin) / 1e9
        wires.look()
        lines = []
        for injection in faults:
            if wiring is not None:
                lines += [w.sentence() for w in wiring.witnesses if w.injection == injection]
                continue
            difference = wires.found.get(injection)
            acted = (
                difference.sentence(str(injection.instance))
                if difference
                else "ineffective: no level on the wire differed"
            )
            lines.append(f"{injection.text()}: {acted}")
        requests = wiring.count if wiring is not None else served.chips.requests
        return Served(process.poll() or 0, requests, served.chips.digest, seconds, lines)
    finally:
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if served is not None:
            served.close()
            if trace is not None and (own / TRACE).is_file():
                shutil.copyfile(own / TRACE, trace)
        shutil.rmtree(own, ignore_errors=True)


def _rig(board: Board, vehicle: str, faults: Sequence[Injection], order: Order | None, seed: int) -> Rig:
    wired = with_wires(load_vehicle(vehicle, control="external"), board)
    state = start(compile_model(wired.diagram), seed=seed)
    for injection in faults:
        if order is None:
            raise LinkError(
                f"fault {injection.text()} cannot be scheduled: give `order`, a function that schedules it in a run"
            )
        order(state, injection)
    return attach(wired, state, until_s=LONGEST_S, log=["body"], log_s=60.0)


def _start(command: Sequence[str], served: ServedBoard, folder: Path) -> subprocess.Popen[bytes]:
    parent, libc, owner = os.getpid(), ctypes.CDLL(None), served.owner

    def prepare_child() -> None:
        libc.prctl(PDEATHSIG, signal.SIGKILL)
        libc.prctl(NO_NEW_PRIVS, *(ctypes.c_ulong(argument) for argument in (1, 0, 0, 0)))
        become(owner)
        if os.getppid() != parent:
            os._exit(1)

    variables = passed_on()
    variables["PATH"] = variables.get("PATH", "") + ":/usr/sbin:/sbin"
    try:
        return subprocess.Popen(
            list(command),
            cwd=folder,
            env=served.variables(variables),
            start_new_session=True,
            preexec_fn=prepare_child,
        )
    except OSError as error:
        raise LinkError(f"{command[0]} cannot be started: {error.strerror}; is it installed?") from error
