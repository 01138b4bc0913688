"""How many inputs each reader has seen so far: `fuzz/tally.json`."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzz.engine import Outcome

TALLY = Path(__file__).parent / "tally.json"
PORT = "port "  # before the number of a port, in counts of packets that name structs beside it

Row = dict[str, Any]


def read(tally: Path = TALLY) -> dict[str, Row]:
    """Rows by reader."""
    return dict(json.loads(tally.read_text())) if tally.exists() else {}


def seen(row: Row) -> int:
    """Inputs of a reader; of one that takes rows of packets, the packets."""
    counts: dict[str, int] = row.get("packets", {})
    ports = [count for name, count in counts.items() if name.startswith(PORT)]
    return max(int(row.get("inputs", 0)), sum(ports or counts.values()))


def add(tally: Path, outcome: Outcome) -> int:
    """Count a run, with the day of the last, and say how many more it has seen now.

    Runs at the same time each add to what the file holds.
    """
    with (tally.parent / ".tally.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = read(tally)
        row = rows.setdefault(outcome.target, {"inputs": 0, "seconds": 0.0, "finds": 0, "by_engine": {}})
        before = seen(row)
        _count(row, outcome)
        part = tally.with_suffix(".part")
        part.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
        os.replace(part, tally)
        return seen(row) - before


def _count(row: Row, outcome: Outcome) -> None:
    row["inputs"] += outcome.inputs
    row["seconds"] = round(row["seconds"] + outcome.seconds, 1)
    row["finds"] += bool(outcome.told)
    row["by_engine"][outcome.engine] = row["by_engine"].get(outcome.engine, 0) + outcome.inputs
    if outcome.engine == "plain":  # inputs of which it is known whether they were refused at first sight
        row["looked"] = row.get("looked", 0) + outcome.inputs
        row["beyond"] = row.get("beyond", 0) + outcome.beyond
    for name, count in outcome.packets.items():
        packets = row.setdefault("packets", {})
        packets[name] = packets.get(name, 0) + count
    row["last"] = time.strftime("%Y-%m-%d", time.gmtime())
