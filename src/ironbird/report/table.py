"""The results of a campaign as a table: one row per flight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ironbird.campaign.result import FlightResult
from ironbird.errors import StoreError
from ironbird.files.csv_text import harmless
from ironbird.files.json_text import json_text
from ironbird.files.whole import replacing, write_text

COLUMNS = ("case_id", "seed", "verdict", "margin", "score", "level", "ended_s", "impact_mps", "sha256")
NAMES = {"case_id": "case"}  # in the table


def write_table(results: Sequence[FlightResult], path: Path) -> None:
    """Write `.csv` or `.parquet` with a column per varied parameter and requirement, or `.json` with all records."""
    if path.suffix == ".json":
        write_text(path, results_text(results))
    elif path.suffix in (".csv", ".parquet"):
        table = table_of(results)
        with replacing(path) as part:
            pa_csv.write_csv(_harmless(table), part) if path.suffix == ".csv" else pq.write_table(table, part)
    else:
        raise StoreError(f"'{path}': give a file that ends in .csv, .json or .parquet")


def results_text(results: Sequence[FlightResult], campaign: str | None = None) -> str:
    """All records of a campaign as a JSON document (`ironbird/campaign-results/1`)."""
    named = {} if campaign is None else {"campaign": campaign}
    return json_text({**named, "flights": [r.record() for r in results]}, "ironbird/campaign-results/1", indent=1)


def table_of(results: Sequence[FlightResult]) -> pa.Table:
    """One row per flight; a column that holds words anywhere holds words everywhere."""
    rows = [_row(result) for result in results]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    words = {name for name in columns if any(isinstance(row.get(name), str) for row in rows)}

    def cell(value: Any, name: str) -> Any:
        return str(value) if name in words and value is not None else value

    return pa.table({name: [cell(row.get(name), name) for row in rows] for name in columns})


def _harmless(table: pa.Table) -> pa.Table:
    """The table without cells that a spreadsheet would execute as formulas."""
    columns = [
        pa.array([None if cell is None else harmless(cell) for cell in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[harmless(name) for name in table.column_names])


def _row(result: FlightResult) -> dict[str, Any]:
    row = {"flight": result.id} | {NAMES.get(name, name): getattr(result, name) for name in COLUMNS}
    row |= {f"value:{name}": value for name, value in result.values.items()}
    row |= {f"margin:{judgement.name}": judgement.margin for judgement in result.judgements}
    return row | {"sentence": result.sentence}
