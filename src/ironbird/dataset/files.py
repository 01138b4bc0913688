"""Labelled time series of faulted flights for research on health management, with a data card that describes them.

One Parquet file per vehicle and split; each flight belongs to exactly one split. Every row has the signals that a
health monitor on board could read (sensors after fault injection, commands, telemetry of motors and battery, the
estimator) and labels. The same suite gives the same bytes.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ironbird.campaign.batch import grouped
from ironbird.campaign.case import FlightCase
from ironbird.campaign.diagnosis import FAMILIES, HEALTHY, OTHER, Diagnosis, family_of
from ironbird.campaign.identity import ironbird_version, software
from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import CaseError
from ironbird.files.json_text import json_text
from ironbird.files.whole import replacing, write_text
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import judge
from ironbird.flight.prepare import fit
from ironbird.flight.systems import is_outside
from ironbird.model.signal import Signal, entry_names
from ironbird.runtime.log import Log

SPLITS = {"train": 0.7, "validation": 0.15, "test": 0.15}
LICENCE = "CC-BY-4.0"
OBSERVED = (  # signals that a monitor on board can read
    r"imu/\d+/(accel|gyro)_fault\.value", r"mag/\d+/fault\.value", r"baro/\d+/altitude\.value",
    r"gnss/\d+/(position|velocity)_fault\.value", r"airspeed/\d+/fault\.value", r"monitor/rotor/\d+\.speed",
    r"monitor/battery\.(voltage|current|charge)", r"control\.throttle_\d+", r"navigator\.mode",
    r"estimator\.(p_NB_N|v_NB_N|euler|w_NB_B)",
)  # fmt: skip
TRUTH = (r"body\.(p_NB_N|v_NB_N|euler|w_NB_B)", r"air\.wind_sum_N")
LANES = 64  # flights flown in one batch
MOST_ROWS = 20_000_000


@dataclass(frozen=True)
class Piece:
    """One flight of a data set: its case, its columns, the rows with an active fault, labels and verdict."""

    case: FlightCase
    columns: dict[str, np.ndarray]
    active: np.ndarray  # per row: whether a fault is active
    label: str  # family of the first fault of the flight
    verdict: str
    sha256: str
    effective: bool  # every fault was witnessed

    @property
    def fault_id(self) -> str:
        """The ids of all faults of the flight, joined by semicolons."""
        return "; ".join(fault.fault.id for fault in self.case.faults)


@dataclass
class Dataset:
    """A data set as written: folder, numbers of flights and rows, and results of the baseline classifier."""

    folder: Path
    flights: int
    rows: int
    confusion: dict[str, dict[str, int]] = field(default_factory=dict)  # test flights: true label, then diagnosed label
    accuracy: float = math.nan


def signals_of(model: CompiledModel) -> dict[str, Signal]:
    """Signals of a vehicle that are written to a data set, by name."""
    patterns = [re.compile(text) for text in (*OBSERVED, *TRUTH)]
    return {path: s for path, s in model.signals().items() if any(p.fullmatch(path) for p in patterns)}


def healthy_flights(flights: Sequence[FlightCase]) -> list[FlightCase]:
    """The flights with their faults removed, each once; flights that are already among the given ones are left out."""
    by_digest: dict[str, FlightCase] = {flight.digest(): flight for flight in flights if not flight.faults}
    known = set(by_digest)
    for flight in flights:
        if flight.faults:
            bare = replace(flight, faults=(), id=f"{flight.id}+healthy", expect=None)
            by_digest.setdefault(bare.digest(), bare)
    return [flight for digest, flight in by_digest.items() if digest not in known]


def write_dataset(
    flights: Sequence[FlightCase],
    folder: Path,
    *,
    name: str = "dataset",
    licence: str = LICENCE,
    sources: dict[str, str] | None = None,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Dataset:
    """Fly cases inside the kernel and write their data set."""
    if not flights:
        raise CaseError(name, ["there is no flight: give a suite or a case"])
    outside = [flight.id for flight in flights if is_outside(flight.control)]
    if outside:
        raise CaseError(
            name, [f"flight {outside[0]} is flown by a control system outside, which does not repeat to the bit"]
        )
    scenarios = [flight.id for flight in flights if flight.scenario]
    if scenarios:
        raise CaseError(
            name, [f"flight {scenarios[0]} is a scenario; a data set has flights of one vehicle: leave its case out"]
        )
    folder.mkdir(parents=True, exist_ok=True)
    by_vehicle: dict[str, list[FlightCase]] = {}
    for flight in flights:
        by_vehicle.setdefault(fit(flight).vehicle.id, []).append(flight)
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[str, str]] = []
    units: dict[str, dict[str, str]] = {}
    done = 0
    for vehicle, cases in by_vehicle.items():
        pieces: list[Piece] = []
        for piece in _fly(cases, threads):
            pieces.append(piece)
            done += 1
            if progress is not None:
                progress(done / len(flights))
        if sum(len(p.active) for p in pieces) > MOST_ROWS:
            raise CaseError(
                name, [f"more than {MOST_ROWS} rows for {vehicle}: fly fewer, or log less often (--log-step)"]
            )
        split = _splits(pieces)
        signals = signals_of(fit(cases[0]).model)
        units[vehicle] = {path: signal.unit for path, signal in signals.items()}
        train = [(p.columns, ~p.active) for p, where in zip(pieces, split, strict=True) if where == "train"]
        expert = Diagnosis.learn(train)
        for piece, where in zip(pieces, split, strict=True):
            diagnosis, ratio = expert.diagnose(piece.columns)
            if where == "test":
                pairs.append((piece.label, diagnosis))
            rows.append(_flight_row(piece, vehicle, where, diagnosis, ratio))
        for where in SPLITS:
            _write(
                folder / vehicle / f"{where}.parquet",
                [p for p, w in zip(pieces, split, strict=True) if w == where],
                signals,
            )
    pq.write_table(pa.Table.from_pylist(rows), folder / "flights.parquet")
    labels = [HEALTHY, *FAMILIES, OTHER]
    confusion = {true: {diagnosis: pairs.count((true, diagnosis)) for diagnosis in labels} for true in labels}
    confusion = {true: row for true, row in confusion.items() if sum(row.values())}
    accuracy = sum(true == diagnosis for true, diagnosis in pairs) / len(pairs) if pairs else math.nan
    result = Dataset(folder, len(flights), sum(row["rows"] for row in rows), confusion, accuracy)
    _card(result, name, licence, rows, units, sources or {}, flights)
    return result


def _fly(cases: Sequence[FlightCase], threads: int | None) -> Iterable[Piece]:
    groups: dict[Any, list[FlightCase]] = {}
    for case in cases:
        groups.setdefault(grouped(case).key, []).append(case)
    for group in groups.values():
        size = 1 if any(case.tunings for case in group) else LANES
        for part in (group[i : i + size] for i in range(0, len(group), size)):
            model = fit(part[0]).model
            lanes = fly_lanes(part, model, also=list(signals_of(model)), threads=threads)
            log = lanes[0].log
            if log.interrupted:
                raise KeyboardInterrupt
            for case, flown, judged in zip(part, lanes, judge(lanes, model), strict=True):
                active = _active(case, flown.triggered_s, log.time(flown.lane))
                label = family_of(case.faults[0].fault.id) if active.any() else HEALTHY
                effective = all(witness.effective for witness in flown.witnesses)
                columns = _columns(log, flown.lane, model)
                yield Piece(case, columns, active, label, judged.verdict, judged.sha256, effective)


def _active(case: FlightCase, triggered_s: Sequence[float], time_s: np.ndarray) -> np.ndarray:
    active = np.zeros(len(time_s), bool)
    for fault, fired_s in zip(case.faults, triggered_s, strict=True):
        if math.isfinite(fired_s):
            active |= (time_s >= fault.start_s + fired_s) & (time_s < fault.end_s + fired_s)
    return active


def _columns(log: Log, lane: int, model: CompiledModel) -> dict[str, np.ndarray]:
    signals = signals_of(model)
    return {
        name: values.copy()
        for name, values in log.columns(lane).items()
        if name == "time_s" or name.partition("[")[0] in signals
    }


def _splits(pieces: Sequence[Piece]) -> list[str]:
    """The split of each flight (training, validation, test): the same shares of every fault family, by order digest."""
    by_label: dict[str, list[int]] = {}
    for number, piece in enumerate(pieces):
        by_label.setdefault(piece.label, []).append(number)
    splits = [""] * len(pieces)
    for numbers in by_label.values():
        order = sorted(numbers, key=lambda n: hashlib.sha256(f"split {pieces[n].case.digest()}".encode()).digest())
        count, begin = len(order), 0
        tests = round(count * SPLITS["test"]) or int(count >= 3)
        checks = round(count * SPLITS["validation"]) or int(count >= 3)
        for where, size in (("test", tests), ("validation", checks), ("train", count - tests - checks)):
            for n in order[begin : begin + size]:
                splits[n] = where
            begin += size
    return splits


def _flight_row(piece: Piece, vehicle: str, where: str, diagnosis: str, ratio: float) -> dict[str, Any]:
    case = piece.case
    return {
        "flight": case.id, "vehicle": vehicle, "split": where, "case": case.case_id, "seed": case.seed,
        "label": piece.label, "fault": "; ".join(fault.text() for fault in case.faults), "effective": piece.effective,
        "rows": len(piece.active), "rows_active": int(piece.active.sum()), "verdict": piece.verdict,
        "baseline": diagnosis, "baseline_ratio": ratio if math.isfinite(ratio) else 1e300,
        "order_digest": case.digest(), "flight_sha256": piece.sha256,
    }  # fmt: skip


def _write(path: Path, pieces: Sequence[Piece], signals: dict[str, Signal]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ["time_s", *(name for path, signal in signals.items() for name in entry_names(path, signal.size))]
    fields = [
        pa.field("flight", pa.dictionary(pa.int32(), pa.string())),
        pa.field("label", pa.dictionary(pa.int32(), pa.string())),
        pa.field("fault", pa.dictionary(pa.int32(), pa.string())),
        pa.field("fault_active", pa.bool_()),
        pa.field("severity", pa.float64()),
    ]
    for name in names:
        unit = "s" if name == "time_s" else signals[name.partition("[")[0]].unit
        fields.append(pa.field(name, pa.float64(), metadata={"unit": unit}))
    schema = pa.schema(fields)
    with replacing(path) as part, pq.ParquetWriter(part, schema) as writer:
        for piece in pieces:
            count = len(piece.active)
            severity = piece.case.faults[0].severity if piece.case.faults else 0.0
            label = np.where(piece.active, piece.label, HEALTHY)
            fault = np.where(piece.active, piece.fault_id, "")
            columns: list[Any] = [
                pa.array([piece.case.id] * count).dictionary_encode(),
                pa.array(label.tolist(), pa.string()).dictionary_encode(),
                pa.array(fault.tolist(), pa.string()).dictionary_encode(),
                pa.array(piece.active),
                pa.array(np.where(piece.active, severity, 0.0)),
                *(pa.array(piece.columns[name]) for name in names),
            ]
            writer.write_table(pa.table(columns, schema=schema))


# ---------------------------------------------------------------------- the card


def _card(
    result: Dataset,
    name: str,
    licence: str,
    rows: list[dict[str, Any]],
    units: dict[str, dict[str, str]],
    sources: dict[str, str],
    flights: Sequence[FlightCase],
) -> None:
    files = sorted(path for path in result.folder.rglob("*.parquet"))
    hashes = {str(path.relative_to(result.folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    counts = {where: dict(sorted(Counter(r["label"] for r in rows if r["split"] == where).items())) for where in SPLITS}
    data = {
        "name": name,
        "licence": licence,
        "ironbird": ironbird_version(),
        "code": software(),
        "flights": result.flights,
        "rows": result.rows,
        "splits": counts,
        "seeds": sorted({flight.seed for flight in flights}),
        "models": {flight.vehicle: fit(flight).model.model_hash for flight in flights},
        "definition_sha256": {key: hashlib.sha256(text.encode()).hexdigest() for key, text in sources.items()},
        "files_sha256": hashes,
        "signals": units,
        "baseline": {
            "accuracy": None if math.isnan(result.accuracy) else result.accuracy,
            "confusion": result.confusion,
        },
    }
    write_text(result.folder / "card.json", json_text(data, "ironbird/dataset-card/1", indent=1, sort_keys=True))
    write_text(result.folder / "card.md", _page(data, rows))


def _page(data: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    confusion: dict[str, dict[str, int]] = data["baseline"]["confusion"]
    labels = [HEALTHY, *FAMILIES, OTHER]
    diagnosed = [label for label in labels if any(row.get(label) for row in confusion.values())]
    present = [label for label in labels if any(label in counts for counts in data["splits"].values())]
    accuracy = data["baseline"]["accuracy"]
    right = f"{100 * accuracy:.1f} % right" if accuracy is not None else "there are none"
    idle = sum(1 for row in rows if row["label"] != HEALTHY and not row["effective"])
    seeds = ", ".join(str(seed) for seed in data["seeds"][:40]) + (", …" if len(data["seeds"]) > 40 else "")
    head = f"""# {data["name"]}: labelled flights with faults

{data["flights"]} simulated flights, {data["rows"]} rows, made by Ironbird {data["ironbird"]}.
Licence: {data["licence"]}.

**What it is for.** Research on fault detection and health management. Rows hold what a monitor on board can see
(sensors, commands, telemetry, estimates), the truth (`body.*`, `air.*`), and labels.

**What it is not.** Flights are simulated; sensors have errors of products, but no aircraft was measured. Faults are
those of Ironbird's catalogue.

**Labels.** `label` is the family of the active fault, `healthy` before and after it; `fault` its id; `severity` as
ordered. {idle} faulted flights have a fault whose witness saw nothing: `effective` in flights.parquet is false.

**Splits** by flight, drawn by the digest of each order; of every family about 70, 15 and 15 %.
"""
    baseline = f"""
## Baseline: residual rules

Redundant sensors against each other, rotor speed against its command, voltage against current; thresholds from the
healthy rows of the training flights (`ironbird.campaign.diagnosis`). Whole flights of the test split: {right}. It
knows no residual for `other`: such flights are always wrong.
"""
    repeat = f"""
## Repeat it

The same definition and version give the same bytes. Seeds: {seeds}. Digests of the orders and hashes of the flights
are in flights.parquet.
"""
    hashes = [[path, f"`{digest}`"] for path, digest in data["files_sha256"].items()]
    splits = [[where, *(str(c.get(label, 0)) for label in present)] for where, c in data["splits"].items()]
    confused = [[true, *(str(row.get(label, 0)) for label in diagnosed)] for true, row in confusion.items()]
    parts = [
        head,
        *_table(["split", *present], splits),
        baseline,
        *_table(["true \\ found", *diagnosed], confused),
        repeat,
    ]
    return "\n".join([*parts, *_table(["file", "sha256"], hashes), ""])


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table of Markdown as lines, from the column titles and the rows."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
