"""Speed, measured as a ratio to JSBSim's F450 in the same run on one core, never as bare seconds.

A ratio compares the time that both need for a millisecond of flight: JSBSim in steps of 1 ms, the kernel as flights use
it (`integration` of the vehicle). The same with the kernel in steps of 1 ms and order 4 is reported too.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ironbird.compiler.compiled import CompiledModel
from ironbird.compiler.generate import METHODS
from ironbird.errors import IronbirdError
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import model_of, prepare
from ironbird.runtime.step import run
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import CLOSE

VEHICLE = "quad_f450"
STEP_S = 1e-3  # of JSBSim
MS = 1e-3  # of flight, for which times are given
LANES = 64
ROUNDS = 7
HOVER_THROTTLE = 0.6  # of JSBSim's F450
LOG = [at.BODY.position, at.BODY.quaternion, at.BODY.rates, at.BATTERY.voltage]
WIND = Weather(speed_mps=5.0, from_deg=240.0, turbulence_mps=8.0)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep JSBSim, both its C++ and its Python part, from writing to standard output, which carries the figures."""
    sys.stdout.flush()
    saved, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nothing)


def _jsbsim_loop(steps: int) -> Callable[[], float]:
    """JSBSim's F450 in flight with turning rotors; returns a function that runs it and returns the seconds taken."""
    try:
        import jsbsim
    except ImportError:
        raise IronbirdError("bench needs jsbsim as the reference: pip install 'ironbird[dev]'") from None
    with _silence():
        model = jsbsim.FGFDMExec(str(Path(jsbsim.__file__).parent))
        model.set_debug_level(0)
        loaded = model.load_model("F450")
    if not loaded:
        raise IronbirdError("this jsbsim has no aircraft F450: install the package of PyPI, which has it")
    model.set_dt(STEP_S)

    def once() -> float:
        model["ic/h-sl-ft"] = 20000.0  # high enough to stay in the air for the whole run
        model.run_ic()
        for motor in range(4):
            model[f"fcs/throttle-cmd-norm[{motor}]"] = HOVER_THROTTLE
        begin = time.perf_counter()
        for _ in range(steps):
            model.run()
        return time.perf_counter() - begin

    return once


def _our_model(control: str, integration: str = "") -> CompiledModel:
    """Ironbird's F450, compiled as for flights."""
    return model_of(make_order(VEHICLE, control=control, mission="square", integration=integration))


def _our_loop(model: CompiledModel, lanes: int, until_s: float) -> Callable[[], float]:
    """Ironbird's closed loop with wind, contact, battery and a 50 Hz log, as a function that returns seconds."""
    orders = [make_order(VEHICLE, mission="square", weather=WIND, seed=1 + lane) for lane in range(lanes)]

    def once() -> float:
        state = prepare(model, orders)
        begin = time.perf_counter()
        run(state, until_s, log=LOG, threads=1)
        return time.perf_counter() - begin

    return once


def operations_per_step(model: CompiledModel) -> float:
    """Arithmetic operations per tick; sampled blocks count by their rate, guarded parts (contact) in full."""
    ops, stages = model.source.operations, METHODS[model.method]
    total = float(stages) * ops["rates"] + ops["project"] + ops["tick"] / 4 + ops["stop"]
    total += sum(float(ops[key]) / float(key.split()[2]) for key in ops if key.startswith("samples every "))
    return total + stages * 2 * model.flat.x.size


def measure(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """All figures; `quick` uses shorter runs (for tests of the tool itself, not for figures)."""
    say = progress or (lambda _text: None)
    steps = 2_000 if quick else 20_000
    jsbsim = _jsbsim_loop(steps)  # JSBSim first: if it is not installed, this fails before the long measurements
    model, close = _our_model("truth"), _our_model("truth", CLOSE.text())
    say("compiling the kernels")
    single_s, lanes_s = (2.0, 1.0) if quick else (30.0, 30.0)
    full = _our_model("reference")
    for each in (model, close, full):
        each.build_all()
    loops = {
        "jsbsim": (jsbsim, steps * STEP_S / MS),
        "single": (_our_loop(model, 1, single_s), single_s / MS),
        "lanes": (_our_loop(model, LANES, lanes_s), LANES * lanes_s / MS),
        "full_single": (_our_loop(full, 1, single_s), single_s / MS),
        "full_lanes": (_our_loop(full, LANES, lanes_s), LANES * lanes_s / MS),
        "close_single": (_our_loop(close, 1, single_s), single_s / MS),
        "close_lanes": (_our_loop(close, LANES, lanes_s), LANES * lanes_s / MS),
    }
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if affinity:
        os.sched_setaffinity(0, {min(affinity)})
    per_ms: dict[str, list[float]] = {name: [] for name in loops}
    try:
        for number in range(1 if quick else ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            for name, (loop, count) in loops.items():
                per_ms[name].append(1e6 * loop() / count)
    finally:
        if affinity:
            os.sched_setaffinity(0, affinity)
    reference = per_ms["jsbsim"]

    def figures(name: str) -> dict[str, float]:
        ratios = [r / own for r, own in zip(reference, per_ms[name], strict=True)]
        return {
            "us_per_ms": round(statistics.median(per_ms[name]), 4),
            "ratio_to_jsbsim": round(statistics.median(ratios), 2),
            "ratio_low": round(min(ratios), 2),
            "ratio_high": round(max(ratios), 2),
        }

    operations = operations_per_step(model)
    result: dict[str, Any] = {
        "single_lane": figures("single"),
        "lanes": {"lanes": LANES, **figures("lanes")},
        "reference_autopilot": {
            "what": "plant, 3 IMUs, 2 compasses, 2 GNSS, voting, 23-state estimator, control at 250 Hz, failsafes",
            "single_lane": figures("full_single"),
            "lanes": {"lanes": LANES, **figures("full_lanes")},
        },
        "as_jsbsim": {
            "what": f"plant and control on the true state in JSBSim's steps, {CLOSE.text()}",
            "single_lane": figures("close_single"),
            "lanes": {"lanes": LANES, **figures("close_lanes")},
        },
        "jsbsim": {"us_per_ms": round(statistics.median(reference), 4), "aircraft": "F450", "step_s": STEP_S},
        "operations_per_step": round(operations),
        "gigaoperations_per_s": {
            "single_lane": round(operations * MS / model.step_s / (1e3 * statistics.median(per_ms["single"])), 2),
            "lanes": round(operations * MS / model.step_s / (1e3 * statistics.median(per_ms["lanes"])), 2),
        },
        "method": f"{model.method}@{model.step_s:g}, JSBSim in steps of {STEP_S:g} s, one core, "
        f"{1 if quick else ROUNDS} rounds, median of ratios within a round",
        "machine": platform.machine(),
    }
    return result
