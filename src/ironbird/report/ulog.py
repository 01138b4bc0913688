"""Logs as PX4 ULog files, for pyulog, PlotJuggler and the other tools of the field.

The format is that of the PX4 developer guide, "ULog File Format", version 1: a header, definitions (flag bits,
formats, information, parameters), then subscriptions and data. All numbers are little-endian.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.files.whole import replacing
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at

MAGIC = b"ULog\x01\x12\x35"
VERSION = 1
SYSTEM = "Ironbird"
MOTORS = 12  # places in PX4's actuator_motors; unused ones are NaN, as PX4 has it
NOTICE = ord("5")  # level of a log text, as in the Linux kernel


@dataclass(frozen=True)
class Topic:
    """One ULog message: its name, and its fields with values [row, size]."""

    name: str
    kind: str  # ULog type of all fields: double or float
    fields: dict[str, np.ndarray]

    def format(self) -> str:
        """The definition text of the message as in a ULog file."""
        parts = ["uint64_t timestamp;"]
        for name, values in self.fields.items():
            size = values.shape[1]
            parts.append(f"{self.kind}{'' if size == 1 else f'[{size}]'} {name};")
        return f"{self.name}:{''.join(parts)}"


def write_ulog(log: Log, path: Path, lane: int = 0, params: Mapping[str, float] | None = None) -> None:
    """Write one lane of a log as a ULog file.

    Each block is a topic (`rotor/1/motor` becomes `rotor_1_motor`) with double fields; matrices are column by column.
    PX4's own topics are added, as far as the signals exist: `vehicle_local_position`, `vehicle_attitude`,
    `vehicle_angular_velocity`, `actuator_motors`. Times are whole microseconds. The format has no place for units and
    frames; they are in the Parquet file.
    """
    topics = _unique([*_px4_topics(log, lane), *_block_topics(log, lane)])
    time_us = np.round(log.time(lane) * 1e6).astype("<u8")
    first_us = int(time_us[0]) if len(time_us) else 0
    with replacing(Path(path)) as part, part.open("wb") as file:
        file.write(MAGIC + struct.pack("<BQ", VERSION, first_us))
        file.write(_message("B", bytes(40)))
        for topic in topics:
            file.write(_message("F", topic.format().encode()))
        for key, text in {"sys_name": SYSTEM, **log.meta}.items():
            if text:
                file.write(_info(key, text))
        for key, value in (params or {}).items():
            file.write(_parameter(key, value))
        for number, topic in enumerate(topics):
            file.write(_message("A", struct.pack("<BH", 0, number) + topic.name.encode()))
        file.write(_data(topics, time_us))
        stop = log.stops[lane] if lane < len(log.stops) else None
        if stop is not None:
            notice = struct.pack("<BQ", NOTICE, round(stop.time_s * 1e6)) + stop.reason.encode()
            file.write(_message("L", notice))


def topic_name(block: str) -> str:
    """A block's path as a ULog name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", block) or "_"


# ---------------------------------------------------------------------- topics


def _block_topics(log: Log, lane: int) -> list[Topic]:
    blocks: dict[str, dict[str, np.ndarray]] = {}
    for signal in log.signals:
        block, _, name = signal.rpartition(".")
        field = "timestamp_" if name == "timestamp" else topic_name(name)  # ULog's own field has that name
        blocks.setdefault(block, {})[field] = _columns(log, signal, lane)
    return [Topic(topic_name(block), "double", fields) for block, fields in blocks.items()]


def _px4_topics(log: Log, lane: int) -> list[Topic]:
    topics = []
    if at.BODY.position in log and at.BODY.velocity in log:
        position, velocity = _columns(log, at.BODY.position, lane), _columns(log, at.BODY.velocity, lane)
        fields = {name: position[:, [i]] for i, name in enumerate("xyz")}
        fields |= {f"v{name}": velocity[:, [i]] for i, name in enumerate("xyz")}
        topics.append(Topic("vehicle_local_position", "float", fields))
    if at.BODY.quaternion in log:
        topics.append(Topic("vehicle_attitude", "float", {"q": _columns(log, at.BODY.quaternion, lane)}))
    if at.BODY.rates in log:
        topics.append(Topic("vehicle_angular_velocity", "float", {"xyz": _columns(log, at.BODY.rates, lane)}))
    control = np.full((log.rows(lane), MOTORS), np.nan)
    for number in range(MOTORS):
        signal = f"control.throttle_{number + 1}"
        if signal in log:
            control[:, number] = log.lane(signal, lane)
    if "control.throttle_1" in log:
        topics.append(Topic("actuator_motors", "float", {"control": control}))
    return topics


def _columns(log: Log, signal: str, lane: int) -> np.ndarray:
    return log.lane(signal, lane).reshape(log.rows(lane), log.signals[signal].size)


def _unique(topics: list[Topic]) -> list[Topic]:
    """Topics with unique names: `a/b` and `a_b` would otherwise have the same one."""
    by_name: dict[str, Topic] = {}
    for topic in topics:
        name, number = topic.name, 2
        while name in by_name:
            name, number = f"{topic.name}_{number}", number + 1
        by_name[name] = Topic(name, topic.kind, topic.fields)
    return list(by_name.values())


# ---------------------------------------------------------------------- bytes


def _message(kind: str, content: bytes) -> bytes:
    return struct.pack("<HB", len(content), ord(kind)) + content


def _key(kind: str, name: str) -> bytes:
    text = f"{kind} {topic_name(name)}".encode()[:255]
    return struct.pack("<B", len(text)) + text


def _parameter(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _message("P", _key("int32_t", name) + struct.pack("<i", value))
    return _message("P", _key("float", name) + struct.pack("<f", value))


def _info(name: str, text: str) -> bytes:
    value = text.encode()[:60_000].decode(errors="ignore").encode()  # a message is shorter than 64 KiB
    return _message("I", _key(f"char[{len(value)}]", name) + value)


def _data(topics: list[Topic], time_us: np.ndarray) -> bytes:
    """All data messages, row by row: one packed record holds the messages of one instant."""
    layout: list[tuple[str, str] | tuple[str, str, int]] = []
    sizes: list[int] = []
    for number, topic in enumerate(topics):
        code = {"double": "<f8", "float": "<f4"}[topic.kind]
        fields = [(f"{number}:{name}", code, values.shape[1]) for name, values in topic.fields.items()]
        layout += [(f"size{number}", "<u2"), (f"kind{number}", "u1"), (f"id{number}", "<u2"), (f"time{number}", "<u8")]
        layout += fields
        sizes.append(2 + 8 + sum(np.dtype(code).itemsize * count for _, _, count in fields))
    records = np.zeros(len(time_us), np.dtype(layout))
    for number, topic in enumerate(topics):
        records[f"size{number}"] = sizes[number]
        records[f"kind{number}"] = ord("D")
        records[f"id{number}"] = number
        records[f"time{number}"] = time_us
        with np.errstate(over="ignore"):  # a diverged run may hold numbers beyond a float
            for name, values in topic.fields.items():
                place = records[f"{number}:{name}"]
                place[...] = values.reshape(place.shape)
    return records.tobytes()
