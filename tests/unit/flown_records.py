"""Records for tests: a flight of ours with its commands, and small tables as CSV."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from ironbird.flight.flight import fly
from ironbird.flight.order import Weather
from ironbird.runtime.log import Log


@functools.cache
def flight_log() -> Log:
    """A short flight of the F450 with a gust, logged finely."""
    flight = fly(
        "quad_f450",
        control="truth",
        mission="hover",
        weather=Weather(gust_mps=4.0, gust_start_s=6.0, gust_rise_s=1.0),
        until_s=14.0,
        log_s=0.004,
    )
    return flight.log


def table(path: Path, **columns: np.ndarray) -> Path:
    """Columns as CSV; the first is the time."""
    rows = zip(*columns.values(), strict=True)
    text = ",".join(columns) + "\n" + "".join(",".join(repr(float(v)) for v in row) + "\n" for row in rows)
    path.write_text(text)
    return path
