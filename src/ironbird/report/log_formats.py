"""The formats in which a log can be written, each one line, by the kind of log that it is written from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ironbird.credibility.readers import read_record
from ironbird.errors import RecordError, UnknownNameError
from ironbird.files.log_kind import CSV, PARQUET, log_kind
from ironbird.protocols.flight_log import FlightLog
from ironbird.report.log.formats import table_of, table_of_record, write_mat_topics, write_mcap_topics
from ironbird.report.log.read import read_flight_log
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
FLIGHT_FORMATS: dict[str, Callable[[FlightLog, Path], None]] = {  # from logs of autopilots and from CSV
    "csv": lambda log, path: table_of(log).to_csv(path),
    "mat": write_mat_topics,
    "mcap": write_mcap_topics,
    "parquet": lambda log, path: table_of(log).to_parquet(path),
}
TABLES = ("csv", "parquet")


def convert_log(source: Path, format: str, out: Path | None = None) -> Path:
    """Write a log in another format: beside it by default, into a folder, or as a file whose name has an ending.

    A Parquet log of Ironbird goes into all formats, logs of autopilots and CSV files into all but ULog.
    """
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    kind = log_kind(source)
    target = out or source.with_suffix(f".{format}")
    if target.is_dir() or not target.suffix:
        target.mkdir(parents=True, exist_ok=True)
        target /= f"{source.stem}.{format}"
    if kind.name == PARQUET:
        FORMATS[format](read_log(source), target)
        return target
    if kind.is_log and format not in FLIGHT_FORMATS:
        raise RecordError(f"{source.name} is {kind.what}: it can be converted to {', '.join(FLIGHT_FORMATS)}")
    if target.exists() and target.samefile(source):
        raise RecordError(f"{source.name} is {kind.what} already: give another format, or another file by --out")
    if kind.name == CSV and format in TABLES:
        FORMATS[format](table_of_record(read_record(source, salvage=True)), target)
    else:
        FLIGHT_FORMATS[format](read_flight_log(source), target)
    return target
