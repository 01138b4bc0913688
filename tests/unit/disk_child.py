"""Runs below `disk_layer.c`: fills a store while the layer notes every write, or makes one after another fail.

LD_PRELOAD=disk_layer.so python disk_child.py record '{"folder": ..., "notes": ...}'
LD_PRELOAD=disk_layer.so python disk_child.py fail '{"folder": ..., "errno": ...}'
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import resource
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from campaign_data import flight_cases, result_of

from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.store import Campaign, Store
from ironbird.errors import StoreError

BATCH = 8
LAYER = ctypes.CDLL(None)


def mark(**said: Any) -> None:
    """Note that the store has said: this is done."""
    LAYER.disk_mark(json.dumps(said).encode())


def open_store(file: Path, pragmas: Iterable[str] = ()) -> Store:
    """A store, with other settings of SQLite than its own if asked for."""
    store = Store(f"sqlite:///{file}")

    def change(connection: Any, _record: Any) -> None:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    if pragmas:
        sa.event.listen(store.engine, "connect", change)
        store.engine.dispose()
    return store


def judged(cases: list[FlightCase]) -> list[FlightResult]:
    """Results that nobody flew, some of them failures."""
    return [result_of(case, "fail" if number % 3 == 0 else "pass") for number, case in enumerate(cases)]


def record(order: dict[str, Any]) -> None:
    """Two sessions of a campaign, the second after the store was closed; every answer of the store is marked."""
    folder = Path(order["folder"])
    LAYER.disk_watch(str(folder / "store.db").encode(), order["notes"].encode())
    pragmas = order.get("pragmas", ())
    store = open_store(folder / "store.db", pragmas)
    if "suite" in order:
        record_flights(store, order)
        return
    cases = flight_cases(order["flights"])
    results = judged(cases)
    store.create("cut", "", {}, cases)
    mark(created=True)
    for first in range(0, len(cases), BATCH):
        if first == len(cases) // 2 // BATCH * BATCH:
            store.close()
            store = open_store(folder / "store.db", pragmas)
        numbers = list(range(first, min(first + BATCH, len(cases))))
        store.write(store.campaign("cut"), [(number, results[number]) for number in numbers])
        mark(numbers=numbers)
    store.close()


def record_flights(store: Store, order: dict[str, Any]) -> None:
    """The same with flights that are flown."""
    from ironbird.campaign.batch import TracePolicy
    from ironbird.campaign.runner import run_campaign
    from ironbird.campaign.suite import load_suite

    class Enough(Exception):
        pass

    write, left = Store.write, [order["flights"] // 2]

    def marked(
        self: Store, campaign: Campaign, judged: Iterable[tuple[int, FlightResult]], wall_s: float | None = None
    ) -> int:
        rows = list(judged)
        count = write(self, campaign, rows, wall_s)
        mark(numbers=[number for number, _ in rows])
        left[0] -= len(rows)
        return count

    Store.write = marked  # type: ignore[method-assign]
    flights = load_suite(order["suite"]).flights()
    assert len(flights) == order["flights"]
    campaign = store.create("cut", "", {}, flights)
    mark(created=True)

    def leave_at_half(_: Any) -> None:
        if left[0] <= 0:
            left[0] = 10**9
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        run_campaign(store, campaign, workers=2, lanes=BATCH, policy=TracePolicy(None), progress=leave_at_half)
    store.close()
    store = open_store(Path(order["folder"]) / "store.db", order.get("pragmas", ()))
    run_campaign(store, store.campaign("cut"), workers=2, lanes=BATCH, policy=TracePolicy(None))
    store.close()


# ---------------------------------------------------------------------- failing disks


def session(file: Path, cases: list[FlightCase], results: list[FlightResult], acknowledged: set[int]) -> None:
    """Go on with a campaign from whatever is there until all flights are judged."""
    store = Store(f"sqlite:///{file}")
    try:
        campaign = store.campaign("cut") if "cut" in store.names() else store.create("cut", "", {}, cases)
        numbers = [number for number, _ in store.open_cases(campaign)]
        for first in range(0, len(numbers), BATCH):
            part = numbers[first : first + BATCH]
            store.write(campaign, [(number, results[number]) for number in part])
            acknowledged.update(part)
    finally:
        store.close()


def stored(file: Path) -> dict[int, str]:
    """What a store holds, and that it is whole."""
    with contextlib.closing(Store(f"sqlite:///{file}")) as store:
        with store.engine.connect() as connection:
            assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
        if "cut" not in store.names():
            return {}
        rows = store.results(store.campaign("cut"))
        return {result.seed - 1: json.dumps(result.record()) for result in rows}


def fail(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One operation after another fails: the store says so in a sentence, holds nothing wrong, and goes on later."""
    cases = flight_cases(order["flights"])
    results = judged(cases)
    expected = {number: json.dumps(result.record()) for number, result in enumerate(results)}
    at = 0
    while True:
        at += order.get("every", 1)
        folder = Path(order["folder"]) / str(at)
        folder.mkdir()
        file = folder / "store.db"
        LAYER.disk_watch(str(file).encode(), b"")
        LAYER.disk_fail(ctypes.c_long(at), order["errno"], order["on"])
        acknowledged: set[int] = set()
        said = wrong = readable = ""
        try:
            session(file, cases, results, acknowledged)
        except StoreError as error:
            said = str(error)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        reached = LAYER.disk_done() >= at
        if order["on"] and acknowledged:  # the disk still is full
            try:
                with contextlib.closing(Store(f"sqlite:///{file}")) as store:
                    readable = str(sum(store.counts(store.campaign("cut")).values()))
            except StoreError as error:
                readable = str(error)
        LAYER.disk_fail(ctypes.c_long(0), 0, 0)
        found = stored(file)
        lost = sorted(number for number in acknowledged if number not in found)
        changed = sorted(number for number, text in found.items() if text != expected[number])
        session(file, cases, results, set())
        whole = stored(file) == expected
        shutil.rmtree(folder)
        yield {
            "at": at, "said": said, "wrong": wrong, "lost": lost, "changed": changed, "whole": whole,
            "readable": readable,
        }  # fmt: skip
        if not reached:
            return


def little_memory(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Writes with ever less memory: each ends well, or with a sentence."""
    cases = flight_cases(order["flights"])
    results = judged(cases)
    expected = {number: json.dumps(result.record()) for number, result in enumerate(results)}
    big = [(number, result) for number, result in enumerate(results)]
    folder = Path(order["folder"])
    for count, more in enumerate(order["bytes"]):
        file = folder / f"{count}.db"
        store = Store(f"sqlite:///{file}")
        campaign = store.create("cut", "", {}, cases)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + more, resource.RLIM_INFINITY))
        said = wrong = ""
        try:
            store.write(campaign, big)
        except StoreError as error:
            said = str(error)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        store.close()
        found = stored(file)
        session(file, cases, results, set())
        yield {
            "bytes": more, "said": said, "wrong": wrong, "none_or_all": found in ({}, expected),
            "whole": stored(file) == expected,
        }  # fmt: skip


if __name__ == "__main__":
    told = json.loads(sys.argv[2])
    if sys.argv[1] == "record":
        record(told)
    else:
        for line in fail(told) if sys.argv[1] == "fail" else little_memory(told):
            print(json.dumps(line), flush=True)
