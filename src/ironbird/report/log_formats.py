"""The formats in which a log can be written, one line each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ironbird.errors import UnknownNameError
from ironbird.report.mat import write_mat
from ironbird.report.mcap import write_mcap
from ironbird.report.ulog import write_ulog
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log

FORMATS: dict[str, Callable[[Log, Path], None]] = {
    "csv": lambda log, path: log.to_csv(path),
    "mat": write_mat,
    "mcap": write_mcap,
    "parquet": lambda log, path: log.to_parquet(path),
    "ulg": write_ulog,
}


def convert_log(source: Path, format: str, out: Path | None = None) -> Path:
    """Write a flight's Parquet log in another format, by default next to it; returns the path."""
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    target = out or source.with_suffix(f".{format}")
    log = read_log(source)
    FORMATS[format](log, target)
    return target
