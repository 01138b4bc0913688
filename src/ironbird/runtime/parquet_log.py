"""Reading a flight's Parquet file back as a log, so that every writer of logs can use it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ironbird.errors import RecordError, RunError
from ironbird.files.log_kind import PARQUET, log_kind
from ironbird.frames import FRAMES
from ironbird.model.signal import Signal
from ironbird.runtime.log import MOST_BYTES, Log, LogPlan
from ironbird.units import UNITS

_ENTRY = re.compile(r"(?P<path>[^\[\]]+)(?:\[(?P<index>\d{1,4})\])?")


def read_log(path: str | Path) -> Log:
    """Read the log of one vehicle, as `Log.to_parquet` and the folder of a flight have it.

    Parameters
    ----------
    path : str or Path
        `flight.parquet` of a flight, or a trace of a campaign.

    Returns
    -------
    Log
        The same values to the last bit.

    Raises
    ------
    RunError
        If the file is no log.

    Examples
    --------
    >>> log = ib.read_log("out/quad_f450/flight.parquet")  # doctest: +SKIP
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)

    try:
        if path.stat().st_size > MOST_BYTES:
            raise RunError(f"{path} is larger than {MOST_BYTES / 2**30:.0f} GiB")
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        raise RunError(f"{path} is no log: {_reason(path)}; give the flight.parquet of a flight") from None
    if not table.column_names or table.column_names[0] != "time_s":
        raise RunError(f"{path} is no log of a flight: its first column is not time_s")
    if any(not pa.types.is_floating(field.type) for field in table.schema):
        odd = next(field for field in table.schema if not pa.types.is_floating(field.type))
        raise RunError(f"{path}: column '{odd.name}' holds {odd.type}, not numbers")
    sizes: dict[str, int] = {}
    for name in table.column_names[1:]:
        match = _ENTRY.fullmatch(name)
        if match is None or int(match["index"] or 0) != sizes.get(match["path"], 0):
            raise RunError(f"{path}: column '{name}' is no signal, or not in the order of its entries")
        sizes[match["path"]] = sizes.get(match["path"], 0) + 1
    columns = [table.column(i).to_numpy() for i in range(table.num_columns)]
    time_s = np.ascontiguousarray(columns[0], np.float64)
    start: dict[str, int] = {}
    signals: dict[str, Signal] = {}
    at = 0
    for name, size in sizes.items():
        field = table.schema.field(at + 1)
        unit, frame = (((field.metadata or {}).get(key) or b"").decode() for key in (b"unit", b"frame"))
        start[name] = at
        signals[name] = Signal(
            unit=unit if unit in UNITS else "1", shape=size, frame=frame if frame in FRAMES else None
        )
        at += size
    data = np.stack(columns[1:], axis=1) if at else np.empty((len(time_s), 0))
    meta = {k.decode(): v.decode(errors="replace") for k, v in (table.schema.metadata or {}).items()}
    meta.pop("ARROW:schema", None)
    return _log(time_s, data, start, signals, meta)


def log_of_columns(
    time_s: np.ndarray, columns: Mapping[str, tuple[np.ndarray, str]], meta: Mapping[str, str] | None = None
) -> Log:
    """A log of one vehicle from scalar columns on one time base: name -> (values, unit)."""
    names = list(columns)
    signals = {name: Signal(unit=unit if unit in UNITS else "1") for name, (_, unit) in columns.items()}
    data = np.stack([np.asarray(columns[name][0], float) for name in names], axis=1)
    return _log(np.asarray(time_s, float), data, {name: i for i, name in enumerate(names)}, signals, dict(meta or {}))


def _log(
    time_s: np.ndarray, data: np.ndarray, start: dict[str, int], signals: dict[str, Signal], meta: dict[str, str]
) -> Log:
    step_s = float(time_s[1] - time_s[0]) if len(time_s) > 1 else 1.0
    plan = LogPlan(1, np.arange(data.shape[1]), start, signals, step_s if step_s > 0 else 1.0)
    return Log(plan, 1, time_s, np.ascontiguousarray(data[None, :, :, None]), [None], meta=meta)


def _reason(path: Path) -> str:
    """Why a file is no Parquet log, in the words of this project."""
    try:
        kind = log_kind(path)
    except RecordError as error:
        return str(error)
    if kind.name != PARQUET:
        return f"it is {kind.what}" + (f" ({kind.readers})" if kind.readers else "")
    return "the Parquet file is damaged or cut off"
