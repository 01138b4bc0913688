"""One flight of PX4 or ArduPilot in virtual time again and again, in ways that must not matter; and starts in a row.

    python bench/virtual_runs.py px4 ardupilot [--runs 20] [--out docs/measured/virtual_runs.json]
    python bench/virtual_runs.py px4 --runs 0 --starts 50 [--time real]

The F450 flies a square in 5 m/s wind with turbulence, with a weak rotor and lost satellites. The ways: as it comes, on
one processor, on one that another program keeps busy, on processors that are all busy, by an ordinary user (root only
can try that), and with a ground station that listens on UDP 14550. Root or not, the autopilot itself is never root's:
root starts it as `nobody`. Every flight is a process of its own. Compared are the hash of the flight and that of all:
flight, messages, switches between the autopilot's threads, and every byte of its own log, which must cover the flight.

With `--starts` so many short flights begin one after the other (14 s; ArduPilot 45 s), in real time at full speed as
far as the machine goes or in virtual time; counted are those that flew to their end, and logs that cover them.
Needs IRONBIRD_PX4 and IRONBIRD_ARDUPILOT. Prints JSON; exit code 1 if hashes differ or a flight failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.flight.autopilot_estimate import AutopilotEstimate, beside
from ironbird.flight.flight import fly
from ironbird.flight.order import Weather

LATER_S = {"px4": 0.0, "ardupilot": 30.0}  # ArduPilot is ready so much later
UNTIL_S, START_S = 50.0, 14.0
ORDINARY = 12345  # a user without a name
STATION = ("127.0.0.1", 14550)
PATIENCE_S = 1800.0


@dataclass(frozen=True)
class Way:
    """How a flight is flown."""

    name: str
    processors: int = 0  # it may use so many; 0: all
    busy: int = 0  # processes that keep those busy
    ordinary: bool = False
    listening: bool = False


WAYS = (
    Way("as it comes"),
    Way("on one processor", processors=1),
    Way("on one busy processor", processors=1, busy=1),
    Way("on two busy processors", processors=2, busy=2),
    Way("by an ordinary user", ordinary=True),
    Way("by an ordinary user, on two busy processors", processors=2, busy=2, ordinary=True),
    Way("with a listening ground station", listening=True),
)


def flight(control: str, time_: str, until_s: float, listening: bool) -> dict[str, Any]:
    """Fly it here, and say what came out."""
    later = LATER_S[control]
    faults = [
        f"rotor.speed_loss@1:instance=1,severity=0.15,start={20 + later:g},end={35 + later:g}",
        f"environment.gnss_denied@1:severity=1,start={37 + later:g},end={45 + later:g}",
    ]
    with tempfile.TemporaryDirectory(prefix="ironbird-runs-") as folder:
        flown = fly(
            "quad_f450",
            control=control,
            mission="square",
            weather=Weather(5.0, 270.0, 7.7),
            faults=faults if until_s >= UNTIL_S else [],
            seed=3,
            until_s=until_s + later,
            options={"time": time_, "ground_station": listening},
            folder=Path(folder),
        )
        own = beside(flown)
        covered = own.uncovered() if isinstance(own, AutopilotEstimate) else f"no log was read: {own}"
        used = os.times()
        return {
            "sha256": flown.sha256,
            "sha256_of_all": flown.sha256_of_all,
            "ended_s": flown.ended_s,
            "wall_s": round(flown.wall_s, 2),
            "processor_s": round(used.user + used.system + used.children_user + used.children_system, 2),
            "user": os.geteuid(),
            "witnesses": [witness.effective for witness in flown.witnesses],
            "uncovered": covered,
            "figures": flown.link.get("virtual time", ""),
        }


def elsewhere(way: Way, control: str, time_: str, until_s: float, cache: Path, python: str) -> dict[str, Any]:
    """Fly it in a process of its own, that way."""
    asked = [control, "--time", time_, "--one", str(until_s), *(["--listening"] if way.listening else [])]
    command = [python if way.ordinary else sys.executable, __file__, *asked]
    processors = sorted(os.sched_getaffinity(0))[: way.processors or None]
    own: dict[str, Any] = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []} if way.ordinary else {}
    settings = {"IRONBIRD_CACHE": str(cache), "HOME": str(cache)} if way.ordinary else {}
    heard = 0
    with busy(way.busy, processors), station(way.listening) as ear:
        process = subprocess.Popen(
            command,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
            **own,
        )
        until = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until and ear is not None:
            with contextlib.suppress(BlockingIOError):
                while ear.recv(65536):
                    heard += 1
            time.sleep(0.05)
        try:
            out, error = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, error = process.communicate()
    found = json.loads(out.splitlines()[-1]) if process.returncode == 0 else {"error": error.strip()[-600:]}
    return {"way": way.name, **found, **({"heard": heard} if way.listening else {})}


@contextlib.contextmanager
def busy(count: int, processors: list[int]) -> Iterator[None]:
    """Processes that do nothing but use those processors."""
    pinned = f"import os; os.sched_setaffinity(0, {processors})\nwhile True: pass"
    processes = [subprocess.Popen([sys.executable, "-c", pinned]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def station(wanted: bool) -> Iterator[socket.socket | None]:
    """A ground station that listens."""
    if not wanted:
        yield None
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(STATION)
        ear.setblocking(False)
        yield ear


@contextlib.contextmanager
def cache_of_ordinary_user() -> Iterator[Path]:
    """A folder for what the other user compiles."""
    with tempfile.TemporaryDirectory(prefix="ironbird-cache-") as name:
        place = Path(name) / "cache"
        place.mkdir(mode=0o700)
        for path in (Path(name), place):
            os.chown(path, ORDINARY, ORDINARY)
        yield place


def main() -> int:
    """Fly, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("controls", nargs="+", choices=list(LATER_S))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--starts", type=int, default=0)
    parser.add_argument("--time", default="virtual", choices=["virtual", "real"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--python", default=sys.executable, help="one that the ordinary user can run")
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--listening", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(flight(given.controls[0], given.time, given.one, given.listening)))
        return 0
    root = os.geteuid() == 0
    ways = [way for way in WAYS if root or not way.ordinary]
    result: dict[str, Any] = json.loads(given.out.read_text()) if given.out and given.out.is_file() else {}
    good = True
    with cache_of_ordinary_user() if root and given.runs else contextlib.nullcontext(Path()) as cache:
        for control in given.controls:
            found = []
            for number in range(given.runs):
                found.append(elsewhere(ways[number % len(ways)], control, "virtual", UNTIL_S, cache, given.python))
                print(control, number, json.dumps(found[-1]), file=sys.stderr, flush=True)
            if found:
                result[control] = summary(found)
                good &= result[control]["hashes"] == 1 and not result[control]["failed"]
            tries = []
            for number in range(given.starts):
                tries.append(elsewhere(WAYS[0], control, given.time, START_S, cache, given.python))
                print(control, "start", number, json.dumps(tries[-1]), file=sys.stderr, flush=True)
            if tries:
                whole = [one for one in tries if "error" not in one]
                result[f"{control}_starts_{given.time}"] = {
                    "starts": len(tries), "flown": len(whole), "user": os.geteuid(),
                    "logs_that_cover_the_flight": sum(not one["uncovered"] for one in whole),
                    "errors": [one["error"] for one in tries if "error" in one],
                    "uncovered": [one["uncovered"] for one in whole if one["uncovered"]],
                    "load": round(os.getloadavg()[0], 1),
                }  # fmt: skip
                good &= len(whole) == len(tries)
            if given.out:
                given.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    return 0 if good else 1


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How many hashes there are, and by which way each flight was flown."""
    whole = [one for one in found if "error" not in one]
    return {
        "flights": len(found),
        "failed": [one for one in found if "error" in one],
        "hashes": len({(one["sha256"], one["sha256_of_all"]) for one in whole}),
        "sha256": sorted({one["sha256"] for one in whole}),
        "sha256_of_all": sorted({one["sha256_of_all"] for one in whole}),
        "virtual_s": sorted({one["ended_s"] for one in whole}),
        "switches": sorted({one["figures"] for one in whole}),
        "faults_acted": all(all(one["witnesses"]) for one in whole),
        "logs_that_cover_the_flight": sum(not one["uncovered"] for one in whole),
        "ways": {name: sum(one["way"] == name for one in whole) for name in dict.fromkeys(one["way"] for one in found)},
        "heard_by_the_ground_station": [one["heard"] for one in whole if "heard" in one],
        "processor_s": [min(one["processor_s"] for one in whole), max(one["processor_s"] for one in whole)],
        "load": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    sys.exit(main())
