"""A log of an autopilot, or a table, in the formats of other tools.

MCAP and MATLAB files hold every topic with all its fields at its own rate. A CSV or Parquet table has one time base: it
holds the known quantities (names and units of `ironbird.credibility.record`, with `wanted_` before set-points), each
with its last value at that time, so that Ironbird's commands read it like any other record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.credibility.readers import px4_throttle
from ironbird.credibility.record import Record
from ironbird.errors import RecordError
from ironbird.protocols.autopilot_log import Series
from ironbird.protocols.flight_log import LATEST_S, FlightLog, Topic
from ironbird.report.log.read import TABLE_COLUMNS
from ironbird.report.log.summary import share_of
from ironbird.report.mat import matlab_name, save_mat
from ironbird.report.mcap import HEADER, Message, fix_message, header, imu_message, motion_messages, write_messages
from ironbird.rotations import conjugate, from_euler, rotate
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import log_of_columns

MOST_HZ, LEAST_HZ = 250.0, 1.0  # of the rows of a table
MOST_ROWS = 5_000_000
BASES = ("attitude", "rates", "position", "acceleration")  # the fastest of these gives the time base of a table
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# ---------------------------------------------------------------------- tables


def table_of(log: FlightLog) -> Log:
    """The known quantities on one time base: that of the fastest of BASES, up to 250 Hz."""
    rates_hz = [Topic("", log.series[n].time_s, {}).rate_hz for n in BASES if n in log.series]
    step_s = 1 / min(max([*rates_hz, LEAST_HZ]), MOST_HZ)
    if log.length_s / step_s > MOST_ROWS:
        raise RecordError(f"{log.path.name} would have more than {MOST_ROWS} rows")
    time_s = np.arange(0.0, log.length_s + step_s / 2, step_s)
    columns: dict[str, tuple[np.ndarray, str]] = {}
    for name, words in TABLE_COLUMNS.items():
        if name in log.series:
            series = log.series[name]
            for word, values in zip(words, _held(series, series.values, time_s).T, strict=True):
                columns[word] = values, series.unit
    if "output" in log.series:
        series = log.series["output"]
        shares = share_of(series)
        if series.unit == "1" and "THR_MDL_FAC" in log.parameters:  # PX4 logs wanted thrust
            shares = px4_throttle(shares, log.parameters["THR_MDL_FAC"])
        for name, values in zip(log.names["output"], _held(series, shares, time_s).T, strict=True):
            columns[_motor(name)] = values, "1"
    if not columns:
        raise RecordError(f"{log.path.name} holds none of the quantities of a table; mcap and mat hold all topics")
    return log_of_columns(time_s, columns, {f"log.{key}": text for key, text in log.facts.items()})


def table_of_record(record: Record) -> Log:
    """All columns of a table, in SI units, on the time base of the longest."""
    base = max((track.time_s for track in record.tracks.values()), key=len)
    return log_of_columns(base, {name: (track.at(base), track.unit) for name, track in record.tracks.items()})


def _motor(name: str) -> str:
    """`motor_1` for the first output, as records have it; servos keep their name."""
    return re.sub(r"^(output|rotor)_", "motor_", name.replace(" ", "_"))


def _held(series: Series, values: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """The last value at each time; NaN before the first."""
    rows = np.searchsorted(series.time_s, time_s + 1e-9, side="right") - 1
    found = np.asarray(values[np.clip(rows, 0, None)], float)
    found[rows < 0] = np.nan
    return found


# ---------------------------------------------------------------------- MATLAB


def write_mat_topics(log: FlightLog, path: Path) -> None:
    """A structure for each topic: `vehicle_attitude.time_s`, `vehicle_attitude.q`; parameters and facts beside them."""
    content: dict[str, Any] = {}
    for topic in log.topics:
        fields: dict[str, Any] = {"time_s": topic.time_s[:, None]}
        for name, values in topic.fields.items():
            known = matlab_name(name)
            fields[known if known != "time_s" else "time_s_field"] = _matlab(values)
        content[_unused(matlab_name(topic.name), content)] = fields
    if log.parameters:
        content["parameters"] = {matlab_name(name): value for name, value in log.parameters.items()}
    if log.messages:
        content["messages"] = {
            "time_s": np.array([[one.time_s] for one in log.messages]),
            "level": np.array([one.level for one in log.messages], object),
            "text": np.array([one.text for one in log.messages], object),
        }
    facts = {"file": log.path.name, **log.facts}
    if log.started is not None:
        facts["began"] = log.started.isoformat()
    content["meta"] = {matlab_name(key): text for key, text in facts.items()}
    save_mat(path, content)


def _unused(name: str, taken: dict[str, Any]) -> str:
    while name in taken or name in ("parameters", "messages", "meta"):
        name = f"{name[:60]}_x"
    return name


def _matlab(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "S":
        return np.array([_text(one) for one in values.tolist()], object)
    return values[:, None] if values.ndim == 1 else values


def _text(raw: bytes) -> str:
    return bytes(raw).split(b"\0")[0].decode("ascii", "replace")


# ---------------------------------------------------------------------- MCAP


def write_mcap_topics(log: FlightLog, path: Path) -> None:
    """Each topic with a message of its own, and the standard messages of ROS 2; UTC if the log knows it."""
    makers = [_standard(log), *(_Own(log, topic) for topic in log.topics)]
    makers = [maker for maker in makers if maker is not None]
    definitions = {maker.kind: maker.definition for maker in makers if isinstance(maker, _Own)}
    begin_ns = round((log.started - EPOCH).total_seconds() * 1e9) if log.started is not None else 0
    times = [maker.time_s for maker in makers if maker is not None]
    who = np.concatenate([np.full(len(stamps), number) for number, stamps in enumerate(times)])
    row = np.concatenate([np.arange(len(stamps)) for stamps in times])
    when = np.concatenate(times)
    good = np.flatnonzero((when >= 0) & (when < LATEST_S))  # samples from before the log, and damaged times
    order = good[np.argsort(when[good], kind="stable")]

    def rows() -> Iterator[tuple[int, int, Message]]:
        for at in order.tolist():
            time_ns = begin_ns + round(float(when[at]) * 1e9)
            maker = makers[who[at]]
            assert maker is not None
            for message in maker.messages(int(row[at]), time_ns):
                yield int(row[at]), time_ns, message

    write_messages(path, rows(), definitions)


class _Own:
    """The messages of one topic."""

    def __init__(self, log: FlightLog, topic: Topic) -> None:
        family = {"ulog": "px4", "dataflash": "ardupilot"}.get(log.kind, "table")
        words = [word for word in re.split(r"[^A-Za-z0-9]+", topic.name) if word]
        self.time_s = topic.time_s
        self.topic = f"/{family}/{'_'.join(words) or 'topic'}"
        self.kind = f"{family}_log/" + "".join(word[:1].upper() + word[1:] for word in words or ["Topic"])
        self._readers: dict[str, Callable[[int], Any]] = {}
        self.definition = HEADER
        for name, values in topic.fields.items():
            field = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "value"
            field = field if field[0].isalpha() else f"v_{field}"
            while field in self._readers or field == "header":
                field += "_2"
            kind, read = _ros(values)
            self._readers[field] = read
            self.definition += f"{kind} {field}  # {re.sub(r'[^ -~]', '?', name)}\n"

    def messages(self, row: int, time_ns: int) -> Iterator[Message]:
        """That of one row."""
        fields = {name: read(row) for name, read in self._readers.items()}
        yield self.topic, self.kind, {"header": header(time_ns, ""), **fields}


def _ros(values: np.ndarray) -> tuple[str, Callable[[int], Any]]:
    """The type of ROS 2 for a column, and its value in a row."""
    if values.dtype.kind == "S":
        return "string", lambda row: _text(values[row])
    word = {"i": "int", "u": "uint", "f": "float"}.get(values.dtype.kind)
    if values.dtype.kind == "b":
        kind = "bool"
    elif word is None:
        kind, values = "float64", np.asarray(values, float)
    else:
        kind = f"{word}{max(8 * values.dtype.itemsize, 32 if word == 'float' else 8)}"
    rows = values.tolist()
    return (kind if values.ndim == 1 else f"{kind}[{values.shape[1]}]"), lambda row: rows[row]


class _Standard:
    """`/odom`, `/tf`, `/imu` and `/fix` from the known quantities, at the times of the attitude."""

    def __init__(self, log: FlightLog) -> None:
        attitude = log.series["attitude"]
        self.time_s = attitude.time_s
        self._q = from_euler(np.nan_to_num(attitude.values))
        found = {name: log.series.get(name) for name in ("position", "velocity", "rates", "acceleration", "gnss_place")}
        self._at = {
            name: _held(series, series.values, self.time_s) for name, series in found.items() if series is not None
        }
        receiver = found["gnss_place"]
        rows = np.searchsorted(receiver.time_s, self.time_s, side="right") if receiver is not None else np.zeros(0)
        self._fixes = np.concatenate([[0], np.diff(rows)]) if len(rows) else rows

    def messages(self, row: int, time_ns: int) -> Iterator[Message]:
        """Those of one instant; a fix only where there is a new one."""
        values = {name: found[row] for name, found in self._at.items()}
        values = {name: found for name, found in values.items() if np.isfinite(found).all()}
        q = self._q[row]
        rates = values.get("rates", np.zeros(3))
        if "position" in values:
            velocity_B = rotate(conjugate(q), values.get("velocity", np.zeros(3)))
            yield from motion_messages(time_ns, values["position"], q, velocity_B, rates)
        if "acceleration" in values:
            yield imu_message(time_ns, rates, values["acceleration"])
        if len(self._fixes) and self._fixes[row] and "gnss_place" in values:
            latitude, longitude, height = values["gnss_place"].tolist()
            yield fix_message(time_ns, (latitude, longitude, height), True)


def _standard(log: FlightLog) -> _Standard | None:
    return _Standard(log) if "attitude" in log.series else None
