"""Time from the start to the end of a command: a first flight, a later one, help.

Python's compiled modules exist before the measurement, as in an installation; they are kept in a folder of the
measurement, so that they are also written where PYTHONDONTWRITEBYTECODE is set.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import IronbirdError

HOVER = ("fly", "quad_f450", "--mission", "hover", "--until", "10", "--out")
ROUNDS = 5
QUICK = "IRONBIRD_QUICK"
WAIT_S = 600.0  # s to wait for the optimised library of a first flight


@dataclass(frozen=True)
class Took:
    """Wall time and processor time of one command."""

    wall_s: float
    processor_s: float


def command(environment: dict[str, str], *arguments: str) -> Took:
    """Run `ironbird` with arguments in a new process, as a user starts it; returns its wall and processor time."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "ironbird.cli", *arguments], capture_output=True, text=True, env=environment
    )
    wall_s, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise IronbirdError(f"'ironbird {' '.join(arguments)}' failed: {done.stderr[-400:]}")
    return Took(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def environment_in(folder: Path) -> dict[str, str]:
    """Environment variables that put all caches (Ironbird, C compiler, Python) into a folder."""
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", QUICK)}
    return {
        **own,
        "IRONBIRD_CACHE": str(folder / "cache"),
        "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(folder / "zig-local"),
        "PYTHONPYCACHEPREFIX": str(folder / "python"),
    }


def measure(*, rounds: int = ROUNDS, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Medians and spread of a first flight (10 s hover, log and page), a later one, `--help` and `fly --help`."""
    say = progress or (lambda _text: None)
    runs: dict[str, list[Took]] = {"cold": [], "cold_optimised": [], "warm": [], "help": [], "fly_help": []}
    waited: list[float] = []
    with tempfile.TemporaryDirectory(prefix="ironbird-bench-") as place:
        folder = Path(place)
        environment, out = environment_in(folder), str(folder / "out")
        say("Python's compiled modules")
        command({**environment, QUICK: "0"}, *HOVER, out)
        command(environment, "--help")
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            _empty(folder)
            runs["cold_optimised"].append(command({**environment, QUICK: "0"}, *HOVER, out))
            _empty(folder)
            begin = time.perf_counter()
            runs["cold"].append(command(environment, *HOVER, out))
            _wait_for_both(folder / "cache")
            waited.append(time.perf_counter() - begin)
            runs["warm"].append(command(environment, *HOVER, out))
            runs["help"].append(command(environment, "--help"))
            runs["fly_help"].append(command(environment, "fly", "--help"))
    result: dict[str, Any] = {name: _figures(took) for name, took in runs.items()}
    result["optimised_after_s"] = _spread(waited)
    result["rounds"] = rounds
    return result


def _empty(folder: Path) -> None:
    for name in ("cache", "zig", "zig-local", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _wait_for_both(cache: Path) -> None:
    """Wait until the library of the quick build and the optimised one from the background are in the cache."""
    until = time.monotonic() + WAIT_S
    while len(list(cache.glob("*/*.so"))) < 2:
        if time.monotonic() > until:
            raise IronbirdError(f"the optimised library was not there after {WAIT_S:g} s")
        time.sleep(0.02)


def _figures(took: list[Took]) -> dict[str, Any]:
    return {
        "wall_s": _spread([one.wall_s for one in took]),
        "processor_s": _spread([one.processor_s for one in took]),
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "low": round(min(values), 3),
        "high": round(max(values), 3),
    }


def rows(result: dict[str, Any]) -> dict[str, str]:
    """The figures as rows of a table: label and text with the unit."""
    names = {
        "cold": "10 s hover, empty caches",
        "cold_optimised": "the same, IRONBIRD_QUICK=0",
        "warm": "10 s hover, warm",
        "help": "--help",
        "fly_help": "fly --help",
    }
    texts = {
        name: f"{text(result[key]['wall_s'])} s, processor {text(result[key]['processor_s'])} s"
        for key, name in names.items()
    }
    return {**texts, "optimised kernel there after": f"{text(result['optimised_after_s'])} s"}


def text(spread: dict[str, float]) -> str:
    """A median in seconds with its spread, as text."""
    return f"{spread['median']:.2f} ({spread['low']:.2f} to {spread['high']:.2f})"
