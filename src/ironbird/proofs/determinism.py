"""Proof that a flight is a function of model, parameters and seed alone.

One flight of 60 s in turbulence with a fault is run in ways that must give the same bytes: alone, among other lanes,
at any place among them, in other processes, with other threads, with another instruction set and on another machine.
All logs must have the same SHA-256.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.compiler.native import host_target
from ironbird.flight.flight import fly
from ironbird.flight.order import Order, Weather, make_order
from ironbird.flight.prepare import prepare
from ironbird.runtime.cross_target import run_on_target
from ironbird.runtime.step import run
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle

FAULT = "rotor.speed_loss@1:instance=1,severity=0.15,start=20,end=40,shape=ramp,rise=2"
SIGNALS = ["body", "wind/turbulence.wind_N", at.BATTERY.voltage, "rotor*"]


@dataclass(frozen=True)
class Result:
    """One way of running the flight, with the resulting hash, or the reason why it was skipped."""

    way: str
    until_s: float
    sha256: str
    skipped: str = ""


def flights(vehicle: str, lanes: int, place: int, seed: int) -> list[Order]:
    """Orders of one batch: the flight at position `place`, other flights in the other lanes.

    The flight is a hover in wind with turbulence and a motor whose thrust fades for a while.
    """
    wind = Weather(5.0, 127.0, 8.0)
    own = make_order(vehicle, control="truth", mission="hover", weather=wind, seed=seed, faults=[FAULT])
    other = replace(own, faults=())
    return [
        own if lane == place else replace(other, weather=replace(wind, speed_mps=lane % 10), seed=seed + 1000 + lane)
        for lane in range(lanes)
    ]


def _hash_in_process(job: tuple[str, int, int, int, float]) -> str:
    vehicle, lanes, place, seed, until_s = job
    model = compile_model(load_vehicle(vehicle, control="truth").diagram)
    log = run(prepare(model, flights(vehicle, lanes, place, seed)), until_s, log=SIGNALS)
    return log.sha256(place)


def verify(vehicle: str = "quad_f450", seed: int = 7, until_s: float = 60.0) -> Iterator[Result]:
    """Run the flight in all ways, one after the other, and yield the result of each."""
    model = compile_model(load_vehicle(vehicle, control="truth").diagram)
    for lanes, place, threads in ((1, 0, 1), (4, 0, 1), (4, 3, 1), (64, 0, 1), (64, 37, 1), (64, 63, 2)):
        log = run(prepare(model, flights(vehicle, lanes, place, seed)), until_s, log=SIGNALS, threads=threads)
        way = f"{lanes} lane{'s' * (lanes > 1)}, place {place}, {threads} thread{'s' * (threads > 1)}"
        yield Result(way, until_s, log.sha256(place))
    state = prepare(model, flights(vehicle, 4, 1, seed))
    first = run(state, until_s / 3, log=SIGNALS)
    branch = state.branch()
    rest = run(branch, until_s, log=SIGNALS)
    yield Result("stopped at a third, branched, continued", until_s, first.followed_by(rest).sha256(1))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        jobs = [(vehicle, 1, 0, seed, until_s), (vehicle, 64, 5, seed, until_s)]
        for job, digest in zip(jobs, pool.map(_hash_in_process, jobs), strict=True):
            yield Result(f"own process, {job[1]} lane{'s' * (job[1] > 1)}, place {job[2]}", until_s, digest)
    targets = ["x86_64_v2", "x86_64_v3", "x86_64_v4"]
    targets = targets[: targets.index(host_target()) + 1] if host_target() in targets else []
    for target in targets:
        other = model.built_for(target)
        for lanes, place in ((1, 0), (4, 2)):
            log = run(prepare(other, flights(vehicle, lanes, place, seed)), until_s, log=SIGNALS, threads=1)
            yield Result(f"built for {target}, {lanes} lane{'s' * (lanes > 1)}", until_s, log.sha256(place))
    log = run(prepare(model.built_unoptimised(), flights(vehicle, 1, 0, seed)), until_s, log=SIGNALS)
    yield Result("quick build without optimisation, 1 lane", until_s, log.sha256(0))
    if shutil.which("qemu-aarch64"):
        yield Result("aarch64 under qemu, 1 lane", until_s, _on_target(model, flights(vehicle, 1, 0, seed), 0, until_s))
        # The emulator is slow with vectors: a shorter flight, compared with its own length.
        short_s = until_s / 10
        log = run(prepare(model, flights(vehicle, 1, 0, seed)), short_s, log=SIGNALS)
        yield Result("1 lane, short", short_s, log.sha256(0))
        yield Result(
            "aarch64 under qemu, 4 lanes", short_s, _on_target(model, flights(vehicle, 4, 3, seed), 3, short_s)
        )
    else:
        reason = "qemu-aarch64 is not installed: apt-get install qemu-user"
        yield Result("aarch64 under qemu", until_s, "", reason)


def verify_outside(control: str, vehicle: str, until_s: float, runs: int) -> Iterator[Result]:
    """Fly an autopilot `runs` times in virtual time, every second time with all cores busy; yield the result of each.

    The hash covers the flight, all that the autopilot sent, every switch between its threads, and its own log.
    """
    order = make_order(
        vehicle, control=control, weather=Weather(5.0, 270.0, 8.0), faults=[FAULT], seed=7, until_s=until_s
    )
    order = replace(order, options={"time": "virtual"})
    for number in range(runs):
        busy = number % 2 == 1
        with _busy_cores(busy), tempfile.TemporaryDirectory(prefix="ironbird-verify-") as folder:
            flight = fly(order, folder=Path(folder))
            digest = flight.sha256_of_all
        speed = f"{flight.ended_s / flight.wall_s:.1f} times real time"
        yield Result(f"{control}, {'beside busy cores, ' * busy}{speed}", flight.ended_s, digest)


@contextlib.contextmanager
def _busy_cores(wanted: bool) -> Iterator[None]:
    """Keep every core busy with a process in an endless loop while the block runs; do nothing if `wanted` is False."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)] if wanted else []
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def all_equal(results: list[Result]) -> bool:
    """Whether all flights of equal length have the same hash."""
    hashes: dict[float, set[str]] = {}
    for result in results:
        if not result.skipped:
            hashes.setdefault(result.until_s, set()).add(result.sha256)
    return all(len(digests) == 1 for digests in hashes.values())


def _on_target(model: CompiledModel, orders: list[Order], place: int, until_s: float) -> str:
    return run_on_target(prepare(model, orders), until_s, target="aarch64", log=SIGNALS).sha256(place)
