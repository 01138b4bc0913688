"""The evidence pack: complete, checkable with the usual tools, the same bytes each time."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_data import flight_cases, result_of

from ironbird.campaign.coverage import TraceRow
from ironbird.campaign.store import Campaign, Store
from ironbird.report.evidence import write_evidence


@pytest.fixture
def flown(tmp_path: Path) -> Iterator[tuple[Store, Campaign]]:
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        covering = (replace(flight_cases(1)[0].requirements[0], covers=("SORA-02",)),)
        cases = [replace(case, requirements=covering) for case in flight_cases(3)]
        sources = {
            "suite.toml": "schema = 1\n",
            "../../etc/passwd": "evil",
            "/abs.toml": "evil",
            "a/../../b.toml": "evil",
        }
        campaign = store.create("night", "", sources, cases)
        results = [result_of(case, verdict) for case, verdict in zip(cases, ("pass", "fail", "void"), strict=True)]
        results[1] = result_of(cases[1], "fail", trace="one.parquet")
        store.write(campaign, list(enumerate(results)))
        store.trace_folder("night").mkdir(parents=True)
        (store.trace_folder("night") / "one.parquet").write_bytes(b"not really")
        yield store, campaign


def test_content_and_hashes(flown: tuple[Store, Campaign], tmp_path: Path) -> None:
    store, campaign = flown
    row = TraceRow("REQ-1", "stay upright", ["hover"], {"pass": 1, "fail": 1})
    sums = write_evidence(store, campaign, tmp_path / "deep" / "pack.zip", requirements=[row])
    with zipfile.ZipFile(tmp_path / "deep" / "pack.zip") as pack:
        files = {name: pack.read(name) for name in pack.namelist()}
    assert {
        "suite/level1/level2/suite.toml", "flights.jsonl", "results.jsonl", "trace.csv", "requirements.csv",
        "versions.json", "report.html", "junit.xml", "README.txt", "SHA256SUMS", "traces/one.parquet",
        "suite/etc/passwd", "suite/level1/level2/abs.toml", "suite/level1/b.toml",
    } <= set(files)  # fmt: skip
    (vehicle,) = [name for name in files if name.startswith("vehicles/")]
    (values,) = [json.loads(files[name]) for name in files if name.startswith("parameters/")]
    assert values["vehicle"] == vehicle and values["parameters"]["body.mass"] == [1.4]
    assert b"mass_kg = 1.4" in files[vehicle]
    assert not any(".." in name or name.startswith("/") for name in files)
    assert set(files) == {*sums, "SHA256SUMS"}
    for line in files["SHA256SUMS"].decode().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256(files[name]).hexdigest() == digest == sums[name]
    definitions = [json.loads(line) for line in files["flights.jsonl"].splitlines()]
    assert [d["digest"] for d in definitions] == [case.digest() for case in store.cases(campaign)]
    assert [json.loads(line)["verdict"] for line in files["results.jsonl"].splitlines()] == ["pass", "fail", "void"]
    table = list(csv.DictReader(io.StringIO(files["trace.csv"].decode())))
    second = [table[1][key] for key in ("project_requirement", "requirement", "flight", "requirement_status")]
    assert second == ["SORA-02", "upright", "hover/0002/s2", "broken"]
    assert json.loads(files["versions.json"])["definition_sha256"] == campaign.digest
    assert "REQ-1,stay upright,,hover" in files["requirements.csv"].decode()
    assert not list((tmp_path / "deep").glob("*.part"))


def test_sha256sum_agrees(flown: tuple[Store, Campaign], tmp_path: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is missing")
    write_evidence(*flown, tmp_path / "pack.zip")
    with zipfile.ZipFile(tmp_path / "pack.zip") as pack:
        pack.extractall(tmp_path / "unpacked")
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path / "unpacked").returncode == 0
    (tmp_path / "unpacked" / "results.jsonl").write_text("{}\n")
    assert subprocess.run(check, cwd=tmp_path / "unpacked", capture_output=True).returncode == 1


def test_equal_campaigns_give_equal_bytes(flown: tuple[Store, Campaign], tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        write_evidence(*flown, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_traces_are_packed(flown: tuple[Store, Campaign], tmp_path: Path) -> None:
    store, campaign = flown
    (store.trace_folder("night") / "one.parquet").unlink()
    assert "traces/one.parquet" not in write_evidence(store, campaign, tmp_path / "pack.zip")  # lost: left out


def test_a_campaign_with_open_flights_does_not_call_itself_complete(tmp_path: Path) -> None:
    cases = flight_cases(3)
    said = {}
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        campaign = store.create("night", "", {"suite.toml": "schema = 1\n"}, cases)
        for flown in (2, 3):
            store.write(campaign, [(flown - 1, result_of(cases[flown - 1])), (0, result_of(cases[0]))])
            write_evidence(store, campaign, tmp_path / f"{flown}.zip")
            with zipfile.ZipFile(tmp_path / f"{flown}.zip") as pack:
                text = pack.read("README.txt").decode()
                said[flown] = (json.loads(pack.read("versions.json"))["complete"], "NOT COMPLETE: 1 flights" in text)
    assert said == {2: (False, True), 3: (True, False)}
