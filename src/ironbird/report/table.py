"""The results of a campaign as a table: one row per flight."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ironbird.campaign.result import FlightResult
from ironbird.errors import StoreError
from ironbird.report.page import replacing, write_text

COLUMNS = ("case_id", "seed", "verdict", "margin", "score", "level", "ended_s", "impact_mps", "sha256")
NAMES = {"case_id": "case"}  # in the table


def write_table(results: Sequence[FlightResult], path: Path) -> None:
    """Write `.csv` or `.parquet` with a column per varied parameter and requirement, or `.json` with all records."""
    if path.suffix == ".json":
        write_text(path, json.dumps([result.record() for result in results], indent=1) + "\n")
    elif path.suffix in (".csv", ".parquet"):
        with replacing(path) as part:
            (pa_csv.write_csv if path.suffix == ".csv" else pq.write_table)(_table(results), part)
    else:
        raise StoreError(f"'{path}': give a file that ends in .csv, .json or .parquet")


def _table(results: Sequence[FlightResult]) -> pa.Table:
    """A column that holds words anywhere holds words everywhere."""
    rows = [_row(result) for result in results]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    words = {name for name in columns if any(isinstance(row.get(name), str) for row in rows)}

    def cell(value: Any, name: str) -> Any:
        return str(value) if name in words and value is not None else value

    return pa.table({name: [cell(row.get(name), name) for row in rows] for name in columns})


def _row(result: FlightResult) -> dict[str, Any]:
    row = {"flight": result.id} | {NAMES.get(name, name): getattr(result, name) for name in COLUMNS}
    row |= {f"value:{name}": value for name, value in result.values.items()}
    row |= {f"margin:{judgement.name}": judgement.margin for judgement in result.judgements}
    return row | {"sentence": result.sentence}
