"""The evidence pack of a campaign: all that a reviewer needs to check it, zipped, with hashes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import sys
import zipfile
from collections.abc import Iterable, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from ironbird.campaign.coverage import TraceRow
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.summary import by_case
from ironbird.report.campaign_page import write_campaign_page
from ironbird.report.junit import write_junit

README = """Evidence of the campaign '{name}'.

suite/            the files that were flown, as they were
flights.jsonl     every flight's definition, one JSON object a line, in the order of the plan
results.jsonl     every flight's verdict, margins, witnesses and the sha256 of its log
trace.csv         requirement -> case -> flight -> verdict and margin
{tables}report.html       for people
junit.xml         for continuous integration
versions.json     program, packages, machine
models.json       hash of the generated source of each vehicle model
traces/           logs of failing and sampled flights (Parquet), if any were kept
SHA256SUMS        of all of these: check with 'sha256sum -c SHA256SUMS'

To repeat: install Ironbird {version}, then 'ironbird campaign run suite/{first} --name check' and compare with
'ironbird campaign diff {name} check', or look at the column sha256 of results.jsonl: equal flights have equal hashes.
"""


def write_evidence(
    store: Store,
    campaign: Campaign,
    path: Path,
    *,
    requirements: Sequence[TraceRow] = (),
    fmea: Sequence[TraceRow] = (),
) -> dict[str, str]:
    """Write the pack; returns the hashes by file name."""
    results = store.results(campaign)
    files: dict[str, bytes] = {f"suite/{_inside(name)}": text.encode() for name, text in campaign.source.items()}
    files["flights.jsonl"] = _lines(case.record() | {"digest": case.digest()} for case in store.cases(campaign))
    files["results.jsonl"] = _lines(result.record() for result in results)
    rows = [
        [j.name, j.severity, r.case_id, r.id, r.verdict, j.status, repr(j.margin), r.sha256]
        for r in results
        for j in r.judgements
    ]
    head = ["requirement", "severity", "case", "flight", "verdict", "requirement_status", "margin", "sha256"]
    files["trace.csv"] = _csv([head, *rows])
    tables = ""
    for name, table in (("requirements", requirements), ("fmea", fmea)):
        if table:
            body = [[t.id, t.text, " ".join(t.cases), json.dumps(t.verdicts), t.status] for t in table]
            files[f"{name}.csv"] = _csv([["id", "text", "cases", "verdicts", "status"], *body])
            tables += f"{name + '.csv':18}the project's table with cases and status\n"
    files["models.json"] = _json({r.case_id: r.model_hash for r in results})
    files["versions.json"] = _json(
        {
            "ironbird": campaign.ironbird,
            "python": sys.version,
            "machine": platform.machine(),
            "system": platform.platform(),
            "packages": {d.metadata["Name"]: d.version for d in sorted(distributions(), key=lambda d: d.name)},
            "campaign": campaign.name,
            "created": campaign.created,
            "definition_sha256": campaign.digest,
            "cases": {s.case_id: s.verdicts for s in by_case(results)},
        }
    )
    scratch = path.with_suffix(".part")
    scratch.parent.mkdir(parents=True, exist_ok=True)
    write_campaign_page(store, campaign, scratch, trace=requirements)
    files["report.html"] = scratch.read_bytes()
    write_junit(scratch, campaign.name, results)
    files["junit.xml"] = scratch.read_bytes()
    scratch.unlink()
    for result in results:
        if result.trace is not None and (store.trace_folder(campaign.name) / result.trace).is_file():
            files[f"traces/{result.trace}"] = (store.trace_folder(campaign.name) / result.trace).read_bytes()
    first = Path(next(iter(campaign.source))).name if campaign.source else "SUITE"
    text = README.format(name=campaign.name, version=campaign.ironbird, tables=tables, first=first)
    files["README.txt"] = text.encode()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    files["SHA256SUMS"] = "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, data in files.items():
            pack.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return sums


def _inside(name: str) -> str:
    """A place below the pack's folder, another one for every name."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join("up" if part == ".." else part for part in parts)


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode()


def _json(data: object) -> bytes:
    return (json.dumps(data, indent=2, sort_keys=True) + "\n").encode()


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
