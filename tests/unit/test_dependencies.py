"""The packages that are used: pinned, hashed, as locked; and their bill of materials."""

from __future__ import annotations

import copy
import importlib
import json
import re
from email.message import Message
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    return importlib.import_module("audit_dependencies")


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    return importlib.import_module("write_sbom")


@pytest.fixture(scope="module")
def bill(sbom: ModuleType) -> dict[str, Any]:
    return dict(sbom.bill())


def test_every_package_is_pinned_with_hashes_and_is_what_the_project_asks_for(audit: ModuleType) -> None:
    assert audit.of_locks() == []
    assert len(audit.read_lock(audit.LOCKS[0])[0]) > 80


def test_what_is_installed_is_what_is_locked(audit: ModuleType) -> None:
    assert audit.of_environment() + audit.of_pip_check() == []  # pip among it: `make setup` brings the locked one


@pytest.mark.parametrize(
    "line",
    [
        "numpy>=2.0 --hash=sha256:" + "a" * 64,
        "numpy==2.0",
        "numpy==2.0 --hash=md5:" + "a" * 32,
        "numpy==2.0 --hash=sha256:xyz",
        "numpy @ https://example.org/numpy.whl --hash=sha256:" + "a" * 64,
        "-e .",
        "--index-url https://example.org",
    ],
)
def test_a_line_that_is_not_pinned_is_told(audit: ModuleType, tmp_path: Path, line: str) -> None:
    good = "rich==14.0 ; python_version > '3' \\\n    --hash=sha256:" + "b" * 64 + "\n    # via typer\n"
    (tmp_path / "x.lock").write_text(good + line + "\n")
    packages, wrong = audit.read_lock(tmp_path / "x.lock")
    assert [package.name for package in packages] == ["rich"] and len(wrong) == 1


def test_old_versions_are_told(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        audit.metadata, "distribution", lambda name: type("D", (), {"version": "0.1", "metadata": Message()})()
    )
    assert any(problem.startswith("pip is 0.1, locked is ") for problem in audit.of_environment())


def test_setup_brings_the_locked_pip_before_anything_else() -> None:
    steps = (ROOT / "Makefile").read_text().partition("define install")[2].partition("endef")[0]
    assert steps.index("-r $(VENV)/pip.lock") < steps.index("-r $(1)")


def test_make_names_every_lock_file_where_it_is() -> None:
    named = set(re.findall(r"\S*requirements(?:-\w+)?\.lock", (ROOT / "Makefile").read_text().replace("(1)", "")))
    named = {name.rpartition(",")[2].rstrip(")") for name in named}
    assert named == {f"locks/{path.name}" for path in (ROOT / "locks").iterdir()}
    assert not list(ROOT.glob("*.lock"))


def test_the_demonstration_installs_a_part_of_what_all_install(audit: ModuleType) -> None:
    everything, part = (
        {(p.name, p.version) for p in audit.read_lock(ROOT / "locks" / name)[0]} for name in audit.PARTS
    )
    assert part < everything and not {name for name, _ in part} & {"distributed", "pytest", "nicegui", "jsbsim"}


def test_the_bill_lists_all_that_is_locked_and_keeps_the_rules(
    audit: ModuleType, sbom: ModuleType, bill: dict[str, Any]
) -> None:
    locked = {(p.name, p.version, p.hashes) for p in audit.read_lock(audit.LOCKS[0])[0]}
    listed = {(c["name"], c["version"], tuple(h["content"] for h in c["hashes"])) for c in bill["components"]}
    assert listed == locked and sbom.problems(bill) == []
    assert json.loads(json.dumps(bill)) == bill == sbom.bill()
    by_name = {c["name"]: c for c in bill["components"]}
    assert by_name["numpy"]["scope"] == "required" and by_name["pytest"]["scope"] == "optional"
    assert by_name["numpy"]["purl"] == f"pkg:pypi/numpy@{by_name['numpy']['version']}"
    needed = [c for c in bill["components"] if c["scope"] == "required"]
    assert all(c.get("licenses") for c in needed if "properties" not in c)
    edges = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    assert by_name["numpy"]["purl"] in edges[bill["metadata"]["component"]["purl"]]
    assert by_name["mako"]["purl"] in edges[by_name["alembic"]["purl"]]


@pytest.mark.parametrize("damage", ["hash", "purl", "ref", "edge", "serial", "licence"])
def test_a_bill_that_breaks_the_rules_is_told(sbom: ModuleType, bill: dict[str, Any], damage: str) -> None:
    broken = copy.deepcopy(bill)
    part = broken["components"][0]
    if damage == "hash":
        part["hashes"][0]["content"] = "abc"
    elif damage == "purl":
        part["purl"] = "numpy"
    elif damage == "ref":
        part["bom-ref"] = broken["components"][1]["bom-ref"]
    elif damage == "edge":
        broken["dependencies"][0]["dependsOn"].append("pkg:pypi/nobody@1")
    elif damage == "serial":
        broken["serialNumber"] = "7"
    else:
        part["licenses"] = [{"expression": "MIT"}, {"expression": "ISC"}]
    assert sbom.problems(broken)
