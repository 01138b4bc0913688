"""The evidence pack of a campaign: all files that a reviewer needs to check it, zipped, with hashes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ironbird.campaign.case import FlightCase
from ironbird.campaign.coverage import TraceRow
from ironbird.campaign.flown_files import VEHICLE, same_definition, write_vehicles
from ironbird.campaign.identity import ironbird_version, programs_of
from ironbird.campaign.pack import SIGNATURE, SUMS, VEHICLES, WORLDS, Pack
from ironbird.campaign.result import FlightResult
from ironbird.campaign.scenario_case import orders_of
from ironbird.campaign.scenarios import renamed
from ironbird.campaign.signature import sign
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.summary import by_case
from ironbird.errors import StoreError
from ironbird.files.csv_text import harmless
from ironbird.files.json_text import json_text
from ironbird.files.whole import replacing
from ironbird.flight.order import Order
from ironbird.flight.prepare import model_of
from ironbird.flight.worlds import IN_TEXT, ordered_world
from ironbird.report.campaign_page import write_campaign_page
from ironbird.report.junit import write_junit
from ironbird.world.files import is_built_in, world_files

README = """Evidence of the campaign '{name}'.

suite/            the files of the project as they were: suite, cases, missions, vehicles and their bases
vehicles/         every vehicle as it was flown, one file each, with all that it takes from others
worlds/           every world that is a file, with its meshes and elevation
parameters/       values of all parameters of every model, with their hash and that of the model's equations
flights.jsonl     every flight's definition, one JSON object a line, in the order of the plan
results.jsonl     every flight's verdict, margins, witnesses and hash
trace.csv         project requirement -> requirement -> case -> flight -> verdict and margin; vacuous: it holds, but was
                  not put to the test
{tables}report.html       for people
junit.xml         for continuous integration
versions.json     program, packages, machine
traces/           logs of failing and sampled flights (Parquet), if any were kept
SHA256SUMS        of all of these: check with 'sha256sum -c SHA256SUMS'
{signed}{missing}
To repeat on any machine: install Ironbird {version}, then 'ironbird evidence repeat evidence.zip' (or the folder). It
checks all hashes, flies every flight again from this pack alone, and compares verdicts, margins and hashes.
"""
SIGNED = """SHA256SUMS.sig    its signature by an SSH key: 'ironbird evidence repeat evidence.zip --signer KEY.pub'
"""


def write_evidence(
    store: Store,
    campaign: Campaign,
    path: Path,
    *,
    requirements: Sequence[TraceRow] = (),
    fmea: Sequence[TraceRow] = (),
    key: Path | None = None,
) -> dict[str, str]:
    """Write the pack, signed if a `key` is given; returns the hashes by file name."""
    results, cases = store.results(campaign), list(store.cases(campaign))
    files = _suite_files({name: text for name, text in campaign.source.items() if not name.startswith(VEHICLE)})
    with TemporaryDirectory(prefix="ironbird-") as scratch:
        files |= _flown(store, campaign, cases, Path(scratch))
        write_campaign_page(store, campaign, Path(scratch) / "report.html", trace=requirements)
        write_junit(Path(scratch) / "junit.xml", campaign.name, results, cases)
        files |= {name: (Path(scratch) / name).read_bytes() for name in ("report.html", "junit.xml")}
    files["results.jsonl"] = _lines(result.record() for result in results)
    files["trace.csv"] = _trace(results, cases)
    tables = ""
    for name, table in (("requirements", requirements), ("fmea", fmea)):
        if table:
            body = [
                [t.id, t.text, "; ".join(t.formulas), " ".join(t.cases), json.dumps(t.verdicts), t.status]
                for t in table
            ]
            files[f"{name}.csv"] = _csv([["id", "text", "measured_by", "cases", "verdicts", "status"], *body])
            tables += f"{name + '.csv':18}the project's table: what measures each row, cases, status\n"
    files["versions.json"] = _json(
        {
            "lines": {"flights.jsonl": "ironbird/flight-definition/1", "results.jsonl": "ironbird/flight-result/1"},
            "ironbird": campaign.ironbird,
            "software": campaign.software,
            "flown_by": [[*who, count] for who, count in store.versions(campaign).items()],
            "complete": len(results) == len(cases),
            "python": sys.version,
            "machine": platform.machine(),
            "system": platform.platform(),
            "packages": {d.metadata["Name"]: d.version for d in sorted(distributions(), key=lambda d: d.name)},
            "campaign": campaign.name,
            "created": campaign.created,
            "definition_sha256": campaign.digest,
            "cases": {s.case_id: s.verdicts for s in by_case(results)},
            "programs": programs_of(campaign.files),
        },
        "ironbird/evidence-versions/1",
    )
    for result in results:
        trace = store.trace_path(campaign, result)
        if trace is not None and trace.is_file():
            files[f"traces/{trace.name}"] = trace.read_bytes()
    open_flights = len(cases) - len(results)
    text = README.format(
        name=campaign.name,
        version=campaign.ironbird,
        tables=tables,
        signed=SIGNED if key is not None else "",
        missing=f"\nNOT COMPLETE: {open_flights} flights are not flown.\n" if open_flights else "",
    )
    files["README.txt"] = text.encode()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    files[SUMS] = "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()
    if key is not None:
        files[SIGNATURE] = sign(files[SUMS], key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, data in files.items():
            pack.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return sums


def check_tables(pack: Pack) -> str:
    """Raise unless trace.csv and junit.xml of a pack are what its results make again.

    Their layout belongs to the version that wrote them: for a pack of another one they are not compared, and the text
    returned says so; it is empty otherwise. report.html is never compared: it is for people.
    """
    packages = pack.versions.get("packages")
    writer = packages.get("ironbird") if isinstance(packages, dict) else None
    if writer != ironbird_version():
        return (
            f"trace.csv and junit.xml were not compared with the results: Ironbird {writer or '(unknown)'} wrote them, "
            f"this is {ironbird_version()}"
        )
    with TemporaryDirectory(prefix="ironbird-") as scratch:
        write_junit(Path(scratch) / "junit.xml", str(pack.versions.get("campaign", "")), pack.results, pack.cases)
        again = {"trace.csv": _trace(pack.results, pack.cases), "junit.xml": (Path(scratch) / "junit.xml").read_bytes()}
    for name, content in again.items():
        if (pack.folder / name).read_bytes() != content:
            raise StoreError(f"{name} of the evidence pack is not what its results say: one of the two was changed")
    return ""


def _trace(results: Sequence[FlightResult], cases: Sequence[FlightCase]) -> bytes:
    """The table of project requirements, requirements, cases and flights with verdicts and margins."""
    covers = {case.id: {r.name: " ".join(r.covers) for r in case.requirements} for case in cases}
    rows = [
        [
            covers.get(r.id, {}).get(j.name, ""), j.name, j.severity, r.case_id, r.id, r.verdict, j.status,
            repr(j.margin), r.sha256,
        ]
        for r in results
        for j in r.judgements
    ]  # fmt: skip
    head = [
        "project_requirement", "requirement", "severity", "case", "flight", "verdict", "requirement_status", "margin",
        "sha256",
    ]  # fmt: skip
    return _csv([head, *rows])


def _suite_files(source: Mapping[str, str]) -> dict[str, bytes]:
    """The project's files at relative paths that keep references between them valid, also those that lead upwards."""
    plain = {name: [part for part in name.split("/") if part not in ("", ".")] for name in source}
    deep = max((len(parts) - len([p for p in parts if p != ".."]) for parts in plain.values()), default=0)
    files: dict[str, bytes] = {}
    for name, parts in plain.items():
        at = [f"level{number + 1}" for number in range(deep)]
        for part in parts:
            at = at[:-1] if part == ".." else [*at, part]
        files["/".join(["suite", *at])] = source[name].encode()
    return files


def _flown(store: Store, campaign: Campaign, cases: Sequence[FlightCase], scratch: Path) -> dict[str, bytes]:
    """Vehicles, definitions that name these files, and the values of all parameters, by path in the pack."""
    vehicles = write_vehicles(campaign.source, cases, scratch / VEHICLES)
    digests = store.digests(campaign)
    files = {f"{VEHICLES}/{file.name}": file.read_bytes() for file in vehicles.values()}
    lines = []
    worlds: dict[str, str] = {}

    def in_pack(name: str) -> str:
        return f"{VEHICLES}/{vehicles[name].name}"

    for case in cases:
        packed = replace(case, vehicle=str(vehicles[case.vehicle]))
        if case.scenario:
            here = renamed(case.scenario, lambda name: str(vehicles[name]), str)
            packed = replace(packed, scenario=here)
        same_definition(packed, digests[case.id])
        orders = orders_of(packed)
        world = orders[0].world
        if world not in worlds:
            worlds[world], more = _packed_world(world)
            files |= more
        there = {"vehicle": in_pack(case.vehicle), "world": worlds[case.world] if case.world else ""}
        if case.scenario:
            there["scenario"] = renamed(case.scenario, in_pack, lambda name, world=world: worlds[world])  # type: ignore[misc]
        lines.append(packed.record() | there | {"digest": digests[case.id]})
        for order in orders:
            files |= _parameters(order, files)
    files["flights.jsonl"] = _lines(lines)
    return files


def _packed_world(world: str) -> tuple[str, dict[str, bytes]]:
    """Path of an order's world in a pack, and its files with all meshes and elevation data that it uses."""
    if not world or IN_TEXT in world or is_built_in(world):
        return world, {}
    files = world_files(world)
    folder = files[0].parent
    place = f"{WORLDS}/{files[0].stem}-{ordered_world(world).digest[:8]}"
    return f"{place}/{files[0].name}", {
        f"{place}/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in files
    }


def _parameters(case: Order, known: Mapping[str, bytes]) -> dict[str, bytes]:
    """All parameter values of a flight's model before settings, mission and weather, which are in its definition."""
    others = json.dumps([case.place.model_dump() if case.place else None, sorted(case.options.items())])
    more = f"-{hashlib.sha256(others.encode()).hexdigest()[:8]}" if case.place or case.options else ""
    name = f"parameters/{Path(case.vehicle).stem}-{case.control.replace('/', '_').replace(':', '_')}{more}.json"
    if name in known:
        return {}
    model = model_of(case)
    values = {path: model.flat.values[model.param_rows(path)].tolist() for path in model.params()}
    text = json.dumps(values, sort_keys=True)
    content = {
        "vehicle": f"{VEHICLES}/{Path(case.vehicle).name}",
        "control": case.control,
        "model_sha256": model.model_hash,
        "parameters_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "parameters": values,
    }
    return {name: _json(content, "ironbird/evidence-parameters/1")}


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json_text(row, indent=None, sort_keys=True) for row in rows).encode()


def _json(data: Mapping[str, Any], schema: str) -> bytes:
    return json_text(data, schema, sort_keys=True).encode()


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([harmless(cell) for cell in row] for row in rows)
    return text.getvalue().encode()
