"""Samples as files: a table (Parquet) for each sensor, and pictures (PNG) for cameras.

A row of a table has number, time_s and arrives_s; every array of the sample is a column of lists, with its shape and
unit in the column's metadata. Pictures of cameras are `NAME/000012.png`: colours with 8 bits, depth in millimetres
with 16 (0: none, or beyond 65.5 m), classes with 8; other arrays of a camera are in its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ironbird.files.whole import replacing
from ironbird.world.png import write_png
from ironbird.world.runner import Sample
from ironbird.world.sensors.sensor import Sensor

if TYPE_CHECKING:
    import pyarrow as pa

PICTURES = {"rgb": 1.0, "label": 1.0, "depth_m": 1000.0}  # arrays that are written as images, and their scale


def write_samples(folder: Path, sensors: Sequence[Sensor], samples: Iterable[Sample]) -> list[Path]:
    """Write all samples; returns the paths of the tables."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    by_sensor: dict[str, list[Sample]] = {sensor.name: [] for sensor in sensors}
    for sample in samples:
        by_sensor[sample.sensor].append(sample)
    paths = []
    for sensor in sensors:
        rows = by_sensor[sensor.name]
        for sample in rows:
            for key in PICTURES.keys() & sample.data.keys():
                _write_picture(folder / sensor.name, key, sample)
        path = folder / f"{sensor.name}.parquet"
        with replacing(path) as part:
            pq.write_table(_table(sensor, rows), part)
        paths.append(path)
    return paths


def _write_picture(folder: Path, key: str, sample: Sample) -> None:
    folder.mkdir(exist_ok=True)
    pixels = sample.data[key]
    if key == "depth_m":
        scaled = np.round(PICTURES[key] * pixels)
        pixels = np.where(scaled > 65535, 0, scaled).astype(np.uint16)
    name = f"{sample.number:06d}.png" if key == "rgb" else f"{sample.number:06d}_{key.removesuffix('_m')}.png"
    with replacing(folder / name) as part:
        part.write_bytes(write_png(pixels))


def _table(sensor: Sensor, rows: Sequence[Sample]) -> pa.Table:
    import pyarrow as pa

    columns = {
        "number": pa.array([row.number for row in rows], pa.int64()),
        "time_s": pa.array([row.time_s for row in rows], pa.float64()),
        "arrives_s": pa.array([row.arrives_s for row in rows], pa.float64()),
    }
    fields = [pa.field(name, column.type, metadata={"unit": "1" if name == "number" else "s"})
              for name, column in columns.items()]  # fmt: skip
    keys = [key for key in (rows[0].data if rows else ()) if key not in PICTURES]
    for key in keys:
        first = rows[0].data[key]
        flat = pa.array(np.concatenate([row.data[key].reshape(-1) for row in rows]))
        ends = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * first.size)
        columns[key] = pa.ListArray.from_arrays(ends, flat)
        shape = ",".join(str(size) for size in first.shape)
        fields.append(pa.field(key, columns[key].type, metadata={"unit": sensor.UNITS[key], "shape": shape}))
    return pa.table(list(columns.values()), schema=pa.schema(fields))
