"""What the page of the live rig costs: server's processor time, click to kernel, slow-down of a flight, memory.

    python bench/app.py                  all figures, some minutes
    python bench/app.py --minutes 30     memory over half an hour of flights that are watched

Browsers are replaced by a process that takes every frame from the websocket, so that the server is measured and not a
graphics card. Processor time is that of the server's thread; wall times depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ironbird.app.actions import act
from ironbird.app.live_flight import LiveFlight
from ironbird.app.rig import Rig
from ironbird.app.security import PILOT, Door
from ironbird.app.server import serve

VEHICLES, WATCHED_S = 20, 20.0
CLICKS = 100
FLOWN_S, PAIRS = 60.0, 5  # of simulation time, of flights that are compared
PLOTS = [["body.p_NB_N", 0], ["body.p_NB_N", 2], ["body.euler", 0], ["body.euler", 1]]


def look(port: int, token: str, seconds: float, flight: str) -> None:
    """The process that stands for a browser: prints how many frames of each kind came."""
    from websockets.sync.client import connect

    counts: dict[str, int] = {}
    headers = {"Authorization": f"Bearer {token}"}
    with connect(f"ws://127.0.0.1:{port}/live", additional_headers=headers, proxy=None, max_size=None) as socket:
        socket.send(json.dumps({"plots": [[flight, *plot] for plot in PLOTS]}))
        print("ready", flush=True)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            said = socket.recv(timeout=60)
            kind = "status" if isinstance(said, str) else {1: "poses", 2: "plots"}[said[0]]
            counts[kind] = counts.get(kind, 0) + 1
    print(json.dumps(counts), flush=True)


@contextlib.contextmanager
def looking(door: Door, seconds: float, flight: str) -> Iterator[subprocess.Popen[str]]:
    """A browser's stand-in for some time."""
    words = [sys.executable, __file__, "--look", str(door.port), door.token, str(seconds), flight]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline().strip() == "ready"
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def running() -> Iterator[tuple[Rig, Door, threading.Thread]]:
    """A rig and its server, in a thread of its own."""
    came: list[Door] = []
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        stop = threading.Event()
        thread = threading.Thread(target=serve, args=(rig,), kwargs={"port": 0, "ready": came.append, "ends": stop})
        thread.start()
        try:
            while not came:
                time.sleep(0.05)
            yield rig, came[0], thread
        finally:
            stop.set()
            thread.join()


def cpu_s(thread: threading.Thread) -> float:
    """Processor time of a thread so far."""
    assert thread.ident is not None
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def airborne(rig: Rig, **how: Any) -> LiveFlight:
    """A flight that runs."""
    flight = rig.start("quad_f450", wind_mps=5.0, **how)
    while flight.tick == 0:
        time.sleep(0.05)
    return flight


def many_vehicles(rig: Rig, door: Door, server: threading.Thread) -> dict[str, float]:
    """The server's share of a core with many vehicles, without and with a browser."""
    flights = [airborne(rig, north_m=3.0 * number, until_s=3600.0) for number in range(VEHICLES)]
    begin, wall = cpu_s(server), time.monotonic()
    time.sleep(5.0)
    idle = (cpu_s(server) - begin) / (time.monotonic() - wall)
    with looking(door, WATCHED_S, flights[0].name) as process:
        begin, wall = cpu_s(server), time.monotonic()
        assert process.stdout is not None
        counts = json.loads(process.stdout.readline())
        seconds = time.monotonic() - wall
        used = cpu_s(server) - begin
    for flight in flights:
        flight.end(wait_s=0.0)
    for flight in flights:
        flight.end()
    return {
        "vehicles": VEHICLES, "poses_hz": counts["poses"] / seconds, "server_share_of_a_core": used / seconds,
        "server_ms_per_frame": 1e3 * used / counts["poses"], "server_share_idle": idle,
        "share_at_30_hz": 30 * used / counts["poses"],
    }  # fmt: skip


def clicks(rig: Rig, door: Door) -> dict[str, float]:
    """From a message on the websocket to the tick at which it acts, with a flight in real time and a plot open."""
    from websockets.sync.client import connect

    flight = airborne(rig, until_s=3600.0)
    late_ms = []
    headers = {"Authorization": f"Bearer {door.token}"}
    with connect(f"ws://127.0.0.1:{door.port}/live", additional_headers=headers, proxy=None, max_size=None) as socket:
        for number in range(CLICKS):
            value = 1.0 + 0.001 * number
            message = {"do": "tune", "flight": flight.name, "path": "control.position_gain", "value": value, "seq": 1}
            begin, done = time.perf_counter(), len([d for d in flight.deeds if d.name == "tune"])
            socket.send(json.dumps(message))
            while not (isinstance(said := socket.recv(timeout=60), str) and '"seq"' in said):
                pass
            deed = [d for d in flight.deeds if d.name == "tune"][done]
            late_ms.append(1e3 * (deed.done_at - begin))
            time.sleep(0.02)
    flight.end()
    late_ms.sort()
    return {"median_ms": statistics.median(late_ms), "p95_ms": late_ms[int(0.95 * CLICKS)], "worst_ms": late_ms[-1]}


def slow_down(rig: Rig, door: Door) -> dict[str, float]:
    """How much longer a flight at full speed takes while it is watched; by turns, the shortest of each."""
    alone, watched = [], []
    for _ in range(PAIRS):
        alone.append(flown_s(rig))
        with looking(door, 3600.0, "quad_f450-0"):
            watched.append(flown_s(rig))
    (wall, cpu), (seen_wall, seen_cpu) = (tuple(map(min, zip(*times, strict=True))) for times in (alone, watched))
    return {
        "alone_s": wall, "watched_s": seen_wall, "slow_down": seen_wall / wall - 1.0, "alone_cpu_s": cpu,
        "watched_cpu_s": seen_cpu, "of_pairs": PAIRS,
    }  # fmt: skip


def flown_s(rig: Rig) -> tuple[float, float]:
    """Wall and processor time of a minute of a flight at full speed."""
    flight = rig.start("quad_f450", wind_mps=5.0, speed=None, until_s=FLOWN_S + 10.0, paused=True)
    flight.run_to(1.0)
    begin, cpu = time.perf_counter(), cpu_s(flight.thread)
    flight.run_to(1.0 + FLOWN_S)
    seconds = time.perf_counter() - begin, cpu_s(flight.thread) - cpu
    flight.end()
    return seconds


def memory(rig: Rig, door: Door, minutes: float) -> dict[str, Any]:
    """Resident memory after each flight, all of the same length, one after the other, watched."""
    sizes: list[float] = []
    end = time.monotonic() + 60 * minutes
    with looking(door, 60 * minutes + 600, "quad_f450-0"):
        while time.monotonic() < end or len(sizes) < 12:
            flight = rig.start("quad_f450", wind_mps=5.0, speed=None if minutes < 5 else 5.0, until_s=FLOWN_S)
            act(rig, PILOT, "inject", {"flight": flight.name, "fault": "rotor.speed_loss@1:severity=0.1"})
            flight.join()
            assert not flight.failure, flight.failure
            sizes.append(resident_mb())
    rest = sizes[len(sizes) // 2 :]
    return {"flights": len(sizes), "middle_mb": rest[0], "end_mb": rest[-1], "grown_mb": rest[-1] - rest[0]}


def resident_mb() -> float:
    """Of this process, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Measure and print as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.0, help="only memory, for so long")
    parser.add_argument("--look", nargs=4, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.look:
        look(int(told.look[0]), told.look[1], float(told.look[2]), told.look[3])
        return
    with running() as (rig, door, server):
        if told.minutes:
            print(json.dumps({"memory": memory(rig, door, told.minutes)}, indent=1))
            return
        for name, measure in (
            ("clicks", lambda: clicks(rig, door)),
            ("vehicles", lambda: many_vehicles(rig, door, server)),
            ("slow_down", lambda: slow_down(rig, door)),
            ("memory", lambda: memory(rig, door, 0.5)),
        ):
            print(json.dumps({name: measure()}, indent=1), flush=True)


if __name__ == "__main__":
    main()
