"""Evidence packs read back: what is false in one is found, and a pack repeats from its own files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_data import flight_case, result_of
from json_documents import checked
from typer.testing import CliRunner

from ironbird.campaign import pack as pack_module
from ironbird.campaign import signature
from ironbird.campaign.batch import TracePolicy, fly_batch
from ironbird.campaign.identity import programs_of
from ironbird.campaign.pack import open_pack, repeat
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.suite import load_suite
from ironbird.cli.main import app
from ironbird.errors import StoreError
from ironbird.report.evidence import check_tables, write_evidence

MINE = 'schema = 1\nbase = "quad_f450"\nid = "mine"\n[body]\nmass_kg = 1.1\n'


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two real flights of an own vehicle whose file is gone since; one of them fails."""
    folder = tmp_path_factory.mktemp("made")
    mine = folder / "mine.toml"
    mine.write_text(MINE)
    cases = [flight_case(number, vehicle=str(mine), until_s=2.5) for number in (1, 2)]
    cases[1] = replace(cases[1], requirements=(replace(cases[1].requirements[0], formula="always (height < 1 m)"),))
    with contextlib.closing(Store(f"sqlite:///{folder}/store.db")) as store:
        campaign = store.create("night", "", {"x.toml": "schema = 1\n"}, cases)
        store.write(campaign, list(enumerate(fly_batch(cases, TracePolicy(None)).flights)))
        mine.unlink()
        write_evidence(store, campaign, folder / "evidence.zip")
    yield folder / "evidence.zip"


@pytest.fixture
def unpacked(pack: Path, tmp_path: Path) -> Path:
    with zipfile.ZipFile(pack) as file:
        file.extractall(tmp_path / "pack")
    return tmp_path / "pack"


def test_a_pack_does_not_replace_an_earlier_one(pack: Path) -> None:
    words = ["evidence", "pack", "night", "--store", f"sqlite:///{pack.parent}/store.db"]
    names = []
    for _ in range(3):
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
        names.append(Path(json.loads(done.stdout)["tables"][0]["figures"]["path"]))
    assert [name.name for name in names] == ["evidence.zip", "evidence-2.zip", "evidence-3.zip"]
    assert all(name.is_file() for name in names)
    CliRunner().invoke(app, [*words, "--out", str(names[0])])
    assert not names[0].with_stem("evidence-4").exists(), "a file that is named is replaced"


def relist(folder: Path) -> None:
    """The list of hashes made anew, as somebody would who changed a file on purpose."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.startswith("SHA256SUMS")]
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder)}\n" for p in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def change_lines(folder: Path, name: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change every object of a file of lines, or leave it out."""
    lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    changed = [json.dumps(new) + "\n" for line in lines if (new := change(line)) is not None]
    (folder / name).write_text("".join(changed))


def recount(folder: Path) -> None:
    """The counts of versions.json and the list of hashes made anew, as somebody would who knows them."""
    versions = json.loads((folder / "versions.json").read_text())
    results = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    flights = [json.loads(line) for line in (folder / "flights.jsonl").read_text().splitlines()]
    counts: dict[str, dict[str, int]] = {}
    for result in results:
        own = counts.setdefault(result["case_id"], dict.fromkeys(("pass", "fail", "void", "error"), 0))
        own[result["verdict"]] += 1
    digest = hashlib.sha256("".join(flight["digest"] for flight in flights).encode()).hexdigest()
    (folder / "versions.json").write_text(json.dumps(versions | {"cases": counts, "definition_sha256": digest}))
    relist(folder)


def test_a_pack_repeats_bit_for_bit_without_the_files_it_was_made_from(pack: Path, tmp_path: Path) -> None:
    found = repeat(pack, tmp_path, workers=1)
    assert (found.flown, found.same, found.same_verdicts, found.differing, found.signed) == (2, 2, 2, [], False)


def test_the_json_of_a_pack_keeps_to_its_schemas(unpacked: Path) -> None:
    lines = checked(unpacked / "versions.json")["lines"]
    assert set(lines) == {path.name for path in unpacked.glob("*.jsonl")}
    for name, schema in lines.items():
        for line in (unpacked / name).read_text().splitlines():
            checked(line, schema)
    parameters = list((unpacked / "parameters").glob("*.json"))
    assert parameters and all(checked(file)["parameters"] for file in parameters)


def test_a_result_that_is_not_true_is_found(unpacked: Path, tmp_path: Path) -> None:
    """Hashes alone do not help against somebody who makes them anew: flying does."""
    text = (unpacked / "results.jsonl").read_text()
    assert '"verdict": "fail"' in text
    (unpacked / "results.jsonl").write_text(text.replace('"verdict": "fail"', '"verdict": "pass"'))
    relist(unpacked)
    with pytest.raises(StoreError, match="counts other verdicts than"):
        repeat(unpacked, tmp_path, workers=1)
    recount(unpacked)
    found = repeat(unpacked, tmp_path, workers=1)
    assert found.same == found.same_verdicts == 1
    assert "hover/0002/s2: verdict not the same" in found.differing[0]


@pytest.mark.parametrize("key", ["sentence", "outcome", "crashed", "impact_mps", "judgements", "modes", "level"])
def test_every_part_of_a_result_is_compared(unpacked: Path, tmp_path: Path, key: str) -> None:
    false = {"crashed": True, "impact_mps": 9.0, "judgements": [], "modes": [[0.0, 7.0]]}.get(key, "all is well")
    change_lines(unpacked, "results.jsonl", lambda line: line | {key: false})
    recount(unpacked)
    found = repeat(unpacked, tmp_path, workers=1)
    assert found.same == 0 and all(f"{key}" in text for text in found.differing)


def test_flights_that_were_left_out_are_missed(unpacked: Path) -> None:
    for name in ("flights.jsonl", "results.jsonl"):
        change_lines(unpacked, name, lambda line: line if line["id"].endswith("s1") else None)
    relist(unpacked)
    with pytest.raises(StoreError, match="counts other flights than"), open_pack(unpacked):
        pass


SUITE = """schema = 1
[[case]]
id = "low"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 2.0
ends = "time"
seeds = [1, 2]
expect = "fail"
require = [{ name = "low", formula = "always (height < 1 m)" }]
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = 0.1
start_s = 0.2
"""


def test_a_pack_is_compared_with_its_suite(tmp_path: Path) -> None:
    (tmp_path / "low.toml").write_text(SUITE)
    cases = load_suite(tmp_path / "low.toml").flights()
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        campaign = store.create("night", "", {"low.toml": SUITE}, cases[:1])
        store.write(campaign, list(enumerate(fly_batch(cases[:1], TracePolicy(None)).flights)))
        write_evidence(store, campaign, tmp_path / "evidence.zip")
    found = repeat(tmp_path / "evidence.zip", tmp_path / "again", workers=1)
    assert (found.flown, found.same, found.of_suite) == (1, 1, 2)  # one flight of the suite is not in the pack
    unpacked = tmp_path / "pack"
    with zipfile.ZipFile(tmp_path / "evidence.zip") as file:
        file.extractall(unpacked)
    with open_pack(unpacked) as content:
        check_tables(content)
    for name in ("flights.jsonl", "results.jsonl"):
        change_lines(unpacked, name, lambda line: line | {"expect": "fail: low"})
    recount(unpacked)
    with pytest.raises(StoreError, match="expected to be 'fail: low' in the pack and 'fail' in its suite"):
        repeat(unpacked, tmp_path / "again", workers=1)
    (unpacked / "suite" / "low.toml").write_text(SUITE.replace('"low"', '"high"', 1))
    relist(unpacked)
    with pytest.raises(StoreError, match="flight low/0001/s1 is not in the suite of the pack"):
        repeat(unpacked, tmp_path / "again", workers=1)


@pytest.mark.parametrize("name", ["trace.csv", "junit.xml"])
def test_tables_for_people_are_what_the_results_say(unpacked: Path, name: str) -> None:
    text = (unpacked / name).read_text()
    (unpacked / name).write_text(text.replace("fail", "pass").replace("broken", "holds"))
    relist(unpacked)
    with open_pack(unpacked) as content, pytest.raises(StoreError, match=f"{name} of the evidence pack is not what"):
        check_tables(content)


def test_tables_of_another_version_are_not_compared_and_that_is_said(unpacked: Path) -> None:
    """A column more or less is no forgery: the layout belongs to the version that wrote the pack."""
    (unpacked / "trace.csv").write_text("requirement,verdict\n")
    versions = json.loads((unpacked / "versions.json").read_text())
    versions["packages"]["ironbird"] = "0.1.0"
    (unpacked / "versions.json").write_text(json.dumps(versions))
    relist(unpacked)
    with open_pack(unpacked) as content:
        assert "not compared with the results: Ironbird 0.1.0 wrote them" in check_tables(content)
    said = CliRunner().invoke(app, ["evidence", "verify", str(unpacked)])
    assert said.exit_code == 0 and "Ironbird 0.1.0 wrote them" in " ".join(said.output.split())


def test_another_vehicle_is_not_the_one_that_was_flown(unpacked: Path, tmp_path: Path) -> None:
    (vehicle,) = (unpacked / "vehicles").iterdir()
    vehicle.write_text(vehicle.read_text().replace("mass_kg = 1.1", "mass_kg = 1.2"))
    with pytest.raises(StoreError, match=r"vehicles/mine-\w+.toml of the evidence pack was changed"):
        repeat(unpacked, tmp_path)
    relist(unpacked)
    with pytest.raises(StoreError, match="not the one that was flown"):
        repeat(unpacked, tmp_path)


def remove(folder: Path) -> None:
    (folder / "trace.csv").unlink()


def add(folder: Path) -> None:
    (folder / "more.txt").write_text("hello")


def no_list(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()


def go_out(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text("0" * 64 + "  ../../etc/passwd\n")


def half(folder: Path) -> None:
    (folder / "flights.jsonl").write_bytes((folder / "flights.jsonl").read_bytes()[:100])
    relist(folder)


def vehicle_elsewhere(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "flights.jsonl").read_text().splitlines()]
    text = "".join(json.dumps(line | {"vehicle": "vehicles/../../../etc/x.toml"}) + "\n" for line in lines)
    (folder / "flights.jsonl").write_text(text)
    relist(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (remove, "lacks trace.csv"),
        (add, "unlisted file more.txt"),
        (no_list, "has no SHA256SUMS"),
        (go_out, "SHA256SUMS of the evidence pack is damaged"),
        (half, "is damaged: JSONDecodeError"),
        (vehicle_elsewhere, "did not pack vehicles"),
    ],
)
def test_damage_is_named(unpacked: Path, change: Callable[[Path], None], said: str) -> None:
    change(unpacked)
    with pytest.raises(StoreError, match=said), open_pack(unpacked):
        pass


def test_a_file_that_lies_elsewhere_is_none_of_the_pack(unpacked: Path, tmp_path: Path) -> None:
    """A link to the same bytes has the right hash now; what it leads to can be changed after the check."""
    (unpacked / "trace.csv").rename(tmp_path / "elsewhere.csv")
    (unpacked / "trace.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(StoreError, match=r"trace\.csv of the evidence pack was changed"), open_pack(unpacked):
        pass


def deep(folder: Path) -> None:
    (folder / "versions.json").write_text("[" * 200_000)
    relist(folder)


def no_table(folder: Path) -> None:
    (folder / "versions.json").write_text("[]")
    relist(folder)


def strange_result(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    (folder / "results.jsonl").write_text("".join(json.dumps(line | {"id": [1]}) + "\n" for line in lines))
    relist(folder)


def of_others(folder: Path) -> None:
    lines = (folder / "results.jsonl").read_text().splitlines()
    (folder / "results.jsonl").write_text(lines[0] + "\n" + lines[0] + "\n")
    relist(folder)


def of_another_definition(folder: Path) -> None:
    """Results of flights that have the same names, and were ordered otherwise."""
    change_lines(folder, "results.jsonl", lambda line: line | {"digest": "0" * 64})
    recount(folder)


@pytest.mark.parametrize("change", [deep, no_table, strange_result, of_others, of_another_definition])
def test_a_hostile_pack_ends_with_a_sentence(unpacked: Path, change: Callable[[Path], None]) -> None:
    change(unpacked)
    with pytest.raises(StoreError, match="damaged"), open_pack(unpacked):
        pass


def test_a_damaged_zip_ends_with_a_sentence(pack: Path, tmp_path: Path) -> None:
    data = bytearray(pack.read_bytes())
    at = len(data) // 3
    data[at : at + 400] = bytes(b ^ 0x5A for b in data[at : at + 400])
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(StoreError), open_pack(tmp_path / "a.zip"):
        pass


def test_a_pack_without_all_results_is_not_complete(unpacked: Path, tmp_path: Path) -> None:
    lines = (unpacked / "results.jsonl").read_text().splitlines()
    (unpacked / "results.jsonl").write_text(lines[0] + "\n")
    recount(unpacked)
    found = repeat(unpacked, tmp_path, workers=1)
    assert (found.flown, found.same, found.unjudged) == (1, 1, 1)


def test_what_is_no_pack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("no zip")
    with pytest.raises(StoreError, match="cannot read"), open_pack(tmp_path / "a.zip"):
        pass
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as file:
        file.writestr("SHA256SUMS", "")
        file.writestr("../evil", "x")
    with pytest.raises(StoreError, match=r"it holds '\.\./evil'"), open_pack(tmp_path / "b.zip"):
        pass
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as file:
        file.writestr("SHA256SUMS", "")
        file.writestr("more.html", "x")  # inside, but nobody has signed for it
    with pytest.raises(StoreError, match=r"it holds 'more\.html', which is not listed"), open_pack(tmp_path / "d.zip"):
        pass
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("large.bin", bytes(2**24))  # nothing is unpacked before the list is read
    with pytest.raises(StoreError, match="it has no list of hashes"), open_pack(tmp_path / "c.zip"):
        pass
    assert not (tmp_path.parent / "evil").exists()


def test_a_campaign_that_kept_no_vehicle_is_packed_only_while_the_file_is_the_same(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(MINE)
    case = flight_case(vehicle=str(mine))
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        campaign = store.create("old", "", {}, [case])
        store.write(campaign, [(0, result_of(case))])
        old: Campaign = replace(campaign, source={})  # as versions before made it
        write_evidence(store, old, tmp_path / "a.zip")
        mine.write_text(MINE.replace("1.1", "1.3"))
        with pytest.raises(StoreError, match="its vehicle file was changed since"):
            write_evidence(store, old, tmp_path / "b.zip")
        assert not (tmp_path / "b.zip").exists()
        write_evidence(store, campaign, tmp_path / "c.zip")  # this one kept it
        with open_pack(tmp_path / "c.zip") as found:
            assert found.cases[0].digest() == store.digests(campaign)[case.id]


# ---------------------------------------------------------------------- signatures


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("ssh-keygen") is None:
        pytest.fail("ssh-keygen is missing: tools/install_system_packages.sh installs openssh-client")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    return folder / "mine", folder / "other"


def test_a_signature_is_of_these_bytes_and_of_this_key(keys: tuple[Path, Path]) -> None:
    mine, other = keys
    made = signature.sign(b"list of hashes", mine)
    signature.check(b"list of hashes", made, mine.with_suffix(".pub"))
    for data, signer in ((b"list of hashes!", mine), (b"list of hashes", other)):
        with pytest.raises(StoreError, match="the signature is not that of"):
            signature.check(data, made, signer.with_suffix(".pub"))


def test_a_signature_for_something_else_does_not_count(keys: tuple[Path, Path], tmp_path: Path) -> None:
    mine = keys[0]
    command = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(mine), "-n", "git"]
    made = subprocess.run(command, input=b"x", capture_output=True, check=True).stdout
    with pytest.raises(StoreError, match="the signature is not that of"):
        signature.check(b"x", made, mine.with_suffix(".pub"))


def test_an_unsigned_pack_is_refused_where_a_signer_is_named(pack: Path, keys: tuple[Path, Path]) -> None:
    with pytest.raises(StoreError, match="is not signed"), open_pack(pack, keys[0].with_suffix(".pub")):
        pass


def test_keys_that_are_none(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    with pytest.raises(StoreError, match="there is no key"):
        signature.sign(b"x", tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(StoreError, match="cannot sign with"):
        signature.sign(b"x", tmp_path / "text")
    with pytest.raises(StoreError, match="no public SSH key"):
        signature.check(b"x", b"", keys[0])  # the private one


def test_a_pack_names_the_programs_that_flew_it_and_another_one_is_told() -> None:
    files = {"quad_f450": {"a.toml": "1"}, 'control px4 {"time": "virtual"}': {"/x/bin/px4": "2", "/x/etc/rcS": "3"}}
    assert programs_of(files) == {"px4": "2", "rcS": "3"}
    assert pack_module._other_programs({"px4": "2"}, []) == ["px4"]
    assert pack_module._other_programs(None, []) == []


def test_a_pack_holds_the_meshes_and_elevation_of_its_worlds(tmp_path: Path) -> None:
    yard = tmp_path / "yard"
    (yard / "parts").mkdir(parents=True)
    (yard / "parts" / "roof.obj").write_text("v 0 0 0\nv 4 0 0\nv 0 4 0\nv 0 0 4\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (yard / "heights.csv").write_text("0,0,0\n0,0,0\n0,0,1\n")
    (yard / "yard.toml").write_text(
        'schema = 1\n[terrain]\nkind = "grid"\nfile = "heights.csv"\nspacing_m = 40.0\n'
        '[[mesh]]\nname = "roof"\nfile = "parts/roof.obj"\nnorth_m = 30.0\n'
    )
    case = replace(flight_case(1, until_s=1.0), world=str(yard / "yard.toml"))
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        campaign = store.create("night", "", {"x.toml": "schema = 1\n"}, [case])
        store.write(campaign, list(enumerate(fly_batch([case], TracePolicy(None)).flights)))
        write_evidence(store, campaign, tmp_path / "evidence.zip")
    shutil.rmtree(yard)
    with zipfile.ZipFile(tmp_path / "evidence.zip") as file:
        packed = [name.partition("/")[2].partition("/")[2] for name in file.namelist() if name.startswith("worlds/")]
    assert sorted(packed) == ["heights.csv", "parts/roof.obj", "yard.toml"]
    again = repeat(tmp_path / "evidence.zip", tmp_path / "again", workers=1)
    assert (again.flown, again.same) == (1, 1)


def test_a_signature_that_does_not_fit_is_refused_without_a_key_too(unpacked: Path, keys: tuple[Path, Path]) -> None:
    (unpacked / "SHA256SUMS.sig").write_bytes(signature.sign((unpacked / "SHA256SUMS").read_bytes(), keys[0]))
    with open_pack(unpacked) as content:
        assert not content.signed  # it fits, but nobody asked whose it is
    (unpacked / "README.txt").write_text("all is well")
    relist(unpacked)
    with pytest.raises(StoreError, match="something was changed after it"), open_pack(unpacked):
        pass
