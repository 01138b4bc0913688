"""Speed of a whole campaign: faulted flights with the full reference autopilot, judged and stored."""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ironbird.campaign.batch import TracePolicy, fly_all
from ironbird.campaign.runner import Progress, begun_crew, run_campaign, start_campaign
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from ironbird.errors import IronbirdError
from ironbird.flight.order import make_order
from ironbird.flight.prepare import forget, model_of

FLIGHTS = 10_000
RERUNS = 10
MODULES, NOT_WRITTEN = "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"  # environment: folder of modules; none written
LOOK_S = 1.0  # s between two reads of the workers' peak memory
VEHICLE, CONTROL = "quad_f450", "reference"
SUITE = """schema = 1
title = "One-minute flights with a fault"
[[case]]
id = "faults"
vehicle = "{vehicle}"
control = "{control}"
mission = "hover"
until_s = 60.0
[case.wind]
speed_mps = {{ uniform = [0.0, 8.0] }}
from_deg = {{ uniform = [0.0, 360.0] }}
turbulence_mps = {{ uniform = [0.0, 10.0] }}
[[case.fault]]
id = {{ choice = [
    "rotor.speed_loss@1", "rotor.blade_damage@1", "imu.gyro_bias@1", "gnss.position_bias@1", "mag.bias@1",
    "baro.drift@1",
] }}
severity = {{ uniform = [0.02, 0.6] }}
start_s = {{ uniform = [10.0, 40.0] }}
[[case.require]]
use = "no_crash"
[[case.require]]
use = "geofence"
params = {{ radius = 50.0, height = 30.0 }}
[[case.require]]
use = "attitude_limit"
params = {{ limit = 45.0 }}
[[case.require]]
use = "position_error"
params = {{ limit = 5.0, after = 10.0 }}
[case.plan]
kind = "monte_carlo"
samples = {flights}
"""


def measure(
    *, flights: int = FLIGHTS, workers: int | None = None, progress: Callable[[Progress], None] | None = None
) -> dict[str, Any]:
    """Fly a campaign into a temporary store; the wall time starts before its definition is read.

    `share_outside_kernel` is 1 - K / (workers x wall time), where K is the processor time of all workers in native code
    (flights and twins). Reading and storing, starting workers, preparing, judging, waiting, and the time that other
    programs took of the machine all count as outside. Python's compiled modules exist before, as in an installation.
    """
    workers = workers or os.cpu_count() or 1
    if MODULES not in os.environ:
        with tempfile.TemporaryDirectory(prefix="ironbird-modules-") as modules:
            with _variables({MODULES: modules}, without=NOT_WRITTEN):
                _compile_modules()
            with _variables({MODULES: modules}):
                return measure(flights=flights, workers=workers, progress=progress)
    model_of(make_order(VEHICLE, control=CONTROL)).build_all()  # measure flying, not compiling
    forget()
    with tempfile.TemporaryDirectory(prefix="ironbird-bench-") as folder:
        suite = Path(folder) / "suite.toml"
        suite.write_text(SUITE.format(vehicle=VEHICLE, control=CONTROL, flights=flights))
        begin = time.perf_counter()
        with begun_crew(workers, copied=True) as crew, _peak_memory() as peak:
            loaded = load_suite(suite)
            crew.look_at(loaded.samples())
            store = Store(f"sqlite:///{folder}/ironbird.db")
            policy = TracePolicy(str(store.trace_folder("bench").absolute()))
            campaign, cases = start_campaign(store, crew, loaded, "bench", policy)
            state = run_campaign(store, campaign, crew=crew, cases=cases, policy=policy, progress=progress)
        wall_s = time.perf_counter() - begin
        counts = store.counts(campaign)
        stored = random.Random(0).sample(store.results(campaign), min(RERUNS, flights))
        again = [fly_all([store.case(campaign, result.id)])[0] for result in stored]
        store.close()
    return {
        "flights": flights,
        "workers": workers,
        "wall_s": round(wall_s, 2),
        "flights_per_second": round(flights / wall_s, 2),
        "times_real_time": round(state.simulated_s / wall_s, 1),
        "share_outside_kernel": round(1.0 - state.kernel_s / (workers * wall_s), 4),
        "peak_memory_gb": round(sum(peak.values()) / 1e9, 3),
        "verdicts": counts,
        "rerun_equal": all(a.sha256 == b.sha256 and a.verdict == b.verdict for a, b in zip(stored, again, strict=True)),
        "what": f"{VEHICLE} with the {CONTROL} autopilot, 60 s, one of six faults, random wind; judged and stored",
        "machine": platform.machine(),
    }


def _compile_modules() -> None:
    """Fly a few flights in a separate process, so that Python's compiled modules exist in the cache."""
    command = [sys.executable, "-c", f"import {__name__} as b; b.measure(flights=16, workers=1)"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise IronbirdError(f"the flights before the measurement failed: {done.stderr.strip()[-500:]}")


@contextmanager
def _variables(variables: dict[str, str], without: str = "") -> Iterator[None]:
    """Set environment variables of this process and its children while the block runs; remove the one `without`."""
    before = dict(os.environ)
    os.environ.update(variables)
    os.environ.pop(without, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _peak_memory() -> Iterator[dict[int, int]]:
    """Largest memory in bytes of this process and of each child, by process id, measured while the block runs."""
    peaks: dict[int, int] = {}
    over = threading.Event()

    def watch() -> None:
        while True:
            for process in (os.getpid(), *_children()):
                peaks[process] = max(peaks.get(process, 0), _high_water(process))
            if over.wait(LOOK_S):
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peaks
    finally:
        over.set()
        watcher.join()


def _children() -> list[int]:
    """Ids of the processes that any thread of this process has started (Linux)."""
    texts = [_read(Path(f"/proc/self/task/{thread}/children")) for thread in _threads()]
    return [int(word) for text in texts for word in text.split()]


def _threads() -> list[str]:
    return os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else []


def _high_water(process: int) -> int:
    """VmHWM: the largest resident memory of a process in bytes; 0 if the process has ended."""
    for line in _read(Path(f"/proc/{process}/status")).splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
