"""Tables of numbers: of a motor on a stand, of a flight, of a lidar's beams; the first byte says which."""

from __future__ import annotations

import numpy as np

from fuzz.files import refilled
from fuzz.target import Refused, attempt
from ironbird.credibility.readers import read_record
from ironbird.identification.bench import COLUMNS, read_bench
from ironbird.world.sensors.solid_state_lidar import load_pattern

WORDS = (
    *COLUMNS, ",", "\n", "\r\n", '"', "time_s,", "position_N_m[0],", "0.5,1.0,2.0\n", "nan", "inf", "1e999", "azimuth_deg,elevation_deg,time_share\n",
    "0,0,0\n", "1,1,1\n", "#",
)  # fmt: skip
MOST = 1500
_load_pattern = load_pattern.__wrapped__  # without its cache


def check(data: bytes) -> bool | None:
    """Taken or refused; what is taken is finite, or says what it lacks."""
    if not data:
        return False
    kind, path = data[0] % 3, refilled(data[1:], "table.csv")
    if kind == 0:
        bench = attempt(read_bench, path)
        if isinstance(bench, Refused):
            return "cannot be read" not in str(bench.error) and " rows; a fit" not in str(bench.error)
        assert all(np.isfinite(column).all() for column in bench.values())
    elif kind == 1:
        record = attempt(read_record, path, salvage=bool(data[0] & 64))
        return not isinstance(record, Refused) or "no rows" not in str(record.error)
    else:
        pattern = attempt(_load_pattern, str(path))
        if isinstance(pattern, Refused):
            return "could not convert" not in str(pattern.error)
        assert pattern.shape[1] == 3 and np.isfinite(pattern).all()
    return None
