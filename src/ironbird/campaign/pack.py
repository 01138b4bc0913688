"""Evidence packs: checked file by file, and flown again from their content."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ironbird.campaign import signature
from ironbird.campaign.batch import TracePolicy, draw_over_cases
from ironbird.campaign.case import LABELS, FlightCase
from ironbird.campaign.identity import files_of, programs_of, software
from ironbird.campaign.result import FlightResult
from ironbird.campaign.runner import Progress, run_campaign
from ironbird.campaign.scenario_case import orders_of
from ironbird.campaign.scenarios import renamed
from ironbird.campaign.store import Store
from ironbird.campaign.stored import read_result
from ironbird.campaign.suite import load_suite
from ironbird.campaign.summary import by_case
from ironbird.errors import CaseError, IronbirdError, StoreError, shortened
from ironbird.files.problems import read_toml
from ironbird.flight.systems import repeats
from ironbird.flight.worlds import IN_TEXT

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
LARGEST_B = 8 * 2**30  # of a pack that is taken out of its zip file
LARGEST_LIST_B = 64 * 2**20  # of its list of hashes
VEHICLES, WORLDS = "vehicles", "worlds"


@dataclass(frozen=True)
class Pack:
    """An evidence pack whose files match its list of hashes."""

    folder: Path
    signed: bool
    versions: dict[str, Any]
    cases: list[FlightCase]
    results: list[FlightResult]


@dataclass(frozen=True)
class Repeated:
    """The results of flying a pack again."""

    flown: int
    same: int  # to the bit
    same_verdicts: int
    outside: int  # flights under a control system that does not repeat to the bit: not flown
    unjudged: int  # flights of the pack without a result: it is not complete
    left_out: int  # of a sample
    differing: list[str]  # a sentence each
    version: str  # that flew the pack
    other_programs: list[str]  # of control systems outside: files that are not those of the pack, as far as it says
    other_code: bool  # whether this installation's code is another one, as far as the pack says
    signed: bool
    of_suite: int | None  # flights of the suite in the pack, expanded again; None if it has none that can be


@contextlib.contextmanager
def open_pack(path: Path, signer: Path | None = None) -> Iterator[Pack]:
    """Open a pack (zip or folder); raises if a file is missing, changed or added, or `signer` did not sign."""
    with contextlib.ExitStack() as stack:
        folder = path
        if not path.is_dir():
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="ironbird-pack-")))
            _unpack(path, folder)
        sums = _read(folder, SUMS)
        _check(folder, sums)
        signed = (folder / SIGNATURE).is_file()
        if signer is not None:
            if not signed:
                raise StoreError(f"{path} is not signed: leave out the signer's key, or ask for a signed pack")
            signature.check(sums, _read(folder, SIGNATURE), signer)
        elif signed and not signature.fits(sums, _read(folder, SIGNATURE)):
            raise StoreError(f"the signature of {path} is not of its list of hashes: something was changed after it")
        yield _content(path, folder, signer is not None)


def repeat(
    path: Path,
    out: Path,
    *,
    signer: Path | None = None,
    sample: int | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Repeated:
    """Fly the flights of a pack again, with its own vehicles, and compare whole results.

    Its suite is expanded again too: every flight must be one of it, with the expectation that the suite states.
    """
    with open_pack(path, signer) as pack, contextlib.closing(Store(f"sqlite:///{out}/ironbird.db")) as store:
        before = {result.id: result for result in pack.results}
        planned = _planned(pack.folder)
        _check_planned(pack, planned)
        judged = [case for case in pack.cases if case.id in before]
        inside = [case for case in judged if all(repeats(o.control, o.options, o.script) for o in orders_of(case))]
        chosen = inside if sample is None else draw_over_cases(inside, min(sample, len(inside)))
        differing, same_verdicts, known = [], 0, store.names()
        if chosen:
            number = next(i for i in itertools.count(1) if f"repeat-{i}" not in known)
            campaign = store.create(f"repeat-{number}", "repeated from an evidence pack", {}, chosen)
            run_campaign(store, campaign, workers=workers, policy=TracePolicy(None), progress=progress)
            results = list(store.results(campaign))
            differing = [text for result in results if (text := _difference(before[result.id], result))]
            same_verdicts = sum(result.verdict == before[result.id].verdict for result in results)
        return Repeated(
            flown=len(chosen),
            same=len(chosen) - len(differing),
            same_verdicts=same_verdicts,
            outside=len(judged) - len(inside),
            unjudged=len(pack.cases) - len(judged),
            left_out=len(inside) - len(chosen),
            differing=differing,
            version=str(pack.versions.get("ironbird", "")),
            other_programs=_other_programs(pack.versions.get("programs"), chosen),
            other_code=pack.versions.get("software") not in (None, software()),
            signed=pack.signed,
            of_suite=len(planned) if planned else None,
        )


def _planned(folder: Path) -> dict[str, FlightCase]:
    """The flights of the pack's suite, by id; none if it has no suite, or one that names files it does not hold."""
    tables = {}
    for file in sorted(folder.glob("suite/**/*.toml")):
        with contextlib.suppress(ValueError, UnicodeDecodeError):
            data = read_toml(file.read_text(encoding="utf-8"))
            if "case" in data or "suite" in data:
                tables[file] = data
    roots = [file for file, data in tables.items() if "suite" in data] or list(tables)
    try:
        return {flight.id: flight for file in roots for flight in load_suite(file).flights()}
    except CaseError:
        return {}


def _check_planned(pack: Pack, planned: dict[str, FlightCase]) -> None:
    """Raise if a flight of the pack is none of its suite, or its expectation is not that of the suite."""
    results = {result.id: result for result in pack.results}
    for case in pack.cases if planned else ():
        if case.id not in planned:
            raise StoreError(f"flight {case.id} is not in the suite of the pack: one of the two was changed")
        for expect in {case.expect, results[case.id].expect if case.id in results else case.expect}:
            if expect != planned[case.id].expect:
                raise StoreError(
                    f"flight {case.id} is expected to be '{expect or 'pass'}' in the pack and "
                    f"'{planned[case.id].expect or 'pass'}' in its suite: one of the two was changed"
                )


def _other_programs(noted: Any, cases: Sequence[FlightCase]) -> list[str]:
    """Names of the programs and start-up files that differ from those of the pack."""
    if not isinstance(noted, dict) or not noted:
        return []
    here = programs_of(files_of(cases))
    return sorted(name for name in {*noted, *here} if noted.get(name) != here.get(name))


def _difference(before: FlightResult, after: FlightResult) -> str:
    """Difference between two results of a flight, as text; empty if there is none."""
    old, new = before.record(), after.record()
    keys = [key for key in old if key not in (*LABELS, "trace", "digest") and old[key] != new.get(key)]
    if not keys:
        return ""
    was, now = f"{before.verdict}, margin {before.margin:.6g}", f"{after.verdict}, margin {after.margin:.6g}"
    model = "" if before.model_hash == after.model_hash else "; the model is another one"
    return f"{before.id}: {', '.join(keys)} not the same: was {was}, is {now}{model}: {after.sentence}"


# ---------------------------------------------------------------------- reading


def _unpack(path: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(path) as pack:
            names = pack.namelist()
            if SUMS not in names or pack.getinfo(SUMS).file_size > LARGEST_LIST_B:
                raise StoreError(f"{path} is no evidence pack: it has no list of hashes, {SUMS}")
            listed = {*_listed(pack.read(SUMS)), SUMS, SIGNATURE}
            for name in names:  # looked at before anything is unpacked
                if not _inside(name) or name not in listed:
                    raise StoreError(f"{path} is no evidence pack: it holds '{shortened(name)}', which is not listed")
            if len(set(names)) < len(names):
                raise StoreError(f"{path} is no evidence pack: a file is in it twice")
            if sum(entry.file_size for entry in pack.infolist()) > LARGEST_B:
                raise StoreError(
                    f"{path} holds more than {LARGEST_B >> 30} GiB: unpack it yourself and give the folder"
                )
            pack.extractall(folder)
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}; give the zip file of 'ironbird evidence pack'") from None


def _inside(name: str) -> bool:
    return not name.startswith("/") and "\\" not in name and ".." not in name.split("/")


def _placed(scenario: str, folder: Path) -> str:
    """The scenario of a flight with paths of the pack's files; other files are refused."""

    def of_pack(name: str, kind: str) -> str:
        if not _inside(name) or not name.startswith(f"{kind}/"):
            raise StoreError(f"a scenario of the pack names '{shortened(name)}', which is none of its {kind}")
        return str((folder / name).resolve())

    def world(name: str) -> str:
        return of_pack(name, WORLDS) if "." in name and IN_TEXT not in name else name

    return renamed(scenario, lambda name: of_pack(name, VEHICLES), world)


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise StoreError(f"the evidence pack has no {name}: {error.strerror}") from None


def _listed(sums: bytes) -> dict[str, str]:
    """Hashes of the files of a pack by name."""
    listed: dict[str, str] = {}
    for line in sums.decode(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if not name or not _inside(name):
            raise StoreError(f"{SUMS} of the evidence pack is damaged at '{line[:80]}'")
        listed[name] = digest
    return listed


def _check(folder: Path, sums: bytes) -> None:
    """Raise unless every file is listed and has its hash."""
    listed = _listed(sums)
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {SUMS, SIGNATURE}
    for name in sorted(present ^ set(listed)):
        raise StoreError(f"the evidence pack {'lacks' if name in listed else 'holds an unlisted file'} {name}")
    for name, digest in listed.items():
        with (folder / name).open("rb") as file:
            found_digest = hashlib.file_digest(file, "sha256").hexdigest()
        if (folder / name).is_symlink() or found_digest != digest:
            raise StoreError(f"{name} of the evidence pack was changed: its hash is not the one in {SUMS}")


def _check_versions(path: Path, versions: dict[str, Any], digests: list[str], results: list[FlightResult]) -> None:
    """Raise unless definitions and verdicts are as many, and the same, as versions.json says."""
    if versions.get("definition_sha256") not in (None, "", hashlib.sha256("".join(digests).encode()).hexdigest()):
        raise StoreError(f"{path} was changed: versions.json counts other flights than flights.jsonl has")
    if versions.get("cases") not in (None, {summary.case_id: summary.verdicts for summary in by_case(results)}):
        raise StoreError(f"{path} was changed: versions.json counts other verdicts than results.jsonl has")


def _content(path: Path, folder: Path, signed: bool) -> Pack:
    try:
        versions = json.loads(_read(folder, "versions.json"))
        records = [json.loads(line) for line in _read(folder, "flights.jsonl").splitlines()]
        if not isinstance(versions, dict):
            raise StoreError(f"{path} is damaged: versions.json is no table")
        texts = [line.decode() for line in _read(folder, "results.jsonl").splitlines()]
        rows = [{**json.loads(text), "result": text} for text in texts]
        results = [read_result("evidence", {**row, "flight_id": str(row["id"])}) for row in rows]
        cases: list[FlightCase] = []
        for record in records:
            name = str(record["vehicle"])
            if not _inside(name) or not name.startswith(f"{VEHICLES}/"):
                raise StoreError(f"{path} was made by a version that did not pack vehicles: it cannot be repeated")
            case = FlightCase.from_record(record)
            case = replace(case, vehicle=str((folder / name).resolve()))
            if case.world.startswith(f"{WORLDS}/") and _inside(case.world):
                case = replace(case, world=str((folder / case.world).resolve()))
            if case.scenario:
                case = replace(case, scenario=_placed(case.scenario, folder))
            cases.append(case)
            if cases[-1].digest() != record["digest"]:
                raise StoreError(f"flight {case.id} of {path} is not the one that was flown: another definition")
        digests = {case.id: case.digest() for case in cases}
        twice = len(digests) != len(cases) or len({result.id for result in results}) != len(results)
        if twice or any(digests.get(result.id) != result.digest for result in results):
            raise StoreError(f"{path} is damaged: its results are not those of its flights")
        _check_versions(path, versions, list(digests.values()), results)
        return Pack(folder, signed, versions, cases, results)
    except IronbirdError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from None
