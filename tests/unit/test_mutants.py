"""The list of mutants can still be planted, and its runner tells a mutant that a test sees from one that none sees."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest

import mutants
from mutants import Mutant

ROOT = Path(__file__).parents[2]
run = functools.partial(mutants.run, say=lambda text: None, preloaded=["pytest"])


def test_every_mutant_can_be_planted_and_names_a_test_that_is_there() -> None:
    stale = {mutant.id: why for mutant in mutants.load() if (why := mutants.staleness(mutant))}

    # A change that moved the text: write the entry of mutants/*.toml anew, so that it plants the same mistake
    assert stale == {}


def test_mutants_are_planted_in_every_package() -> None:
    planted = [mutant.file.split("/")[0] for mutant in mutants.load()]

    packages = {path.parent.name for path in (ROOT / "src/ironbird").glob("*/__init__.py")}
    assert packages - set(planted) == set()
    assert len(planted) >= 150


SOURCE = "def twice(x):\n    return x + x\n\n\ndef idle():\n    return 7\n"
TEST = "import ironbird\n\n\ndef test_twice():\n    assert ironbird.twice(3) == 6\n"
PLANTED = Mutant("sum", "__init__.py", "return x + x", "return x + 2", "test_it.py", "it matters", "small")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as small as can be."""
    (tmp_path / "src/ironbird").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src/ironbird/__init__.py").write_text(SOURCE)
    (tmp_path / "tests/test_it.py").write_text(TEST)
    return tmp_path


def test_the_runner_tells_what_became_of_each_mutant(project: Path) -> None:
    planted = [
        PLANTED,
        replace(PLANTED, id="unseen", old="return 7", new="return 8"),
        replace(PLANTED, id="no name", new="return x + y"),
        replace(PLANTED, id="no grammar", new="return x +"),
        replace(PLANTED, id="gone", old="return x * 2"),
        replace(PLANTED, id="no test", test="test_it.py::test_thrice"),
        replace(PLANTED, id="same", new="return 2 * x", equivalent="twice is the sum"),
    ]
    said: list[str] = []

    found = run(planted, project / "cache", root=project, say=said.append)

    assert [finding.outcome for finding in found] == [
        "killed", "survived", "broken", "broken", "stale", "stale", "equivalent",
    ]  # fmt: skip
    assert found[0].detail == "test_it.py::test_twice" and "the old text is there 0 times" in found[4].detail
    assert (project / "src/ironbird/__init__.py").read_text() == SOURCE
    assert "small" in mutants.table(found) and "survived: unseen" in mutants.table(found)


def test_a_mutant_that_does_not_end_is_killed_only_if_that_was_foreseen(project: Path) -> None:
    endless = replace(PLANTED, old="    return x + x", new="    while True:\n        pass")
    nursery = mutants.Nursery(project / "copy", project / "cache", project, ["pytest"])

    assert nursery.try_out(endless, limit_s=1.0).outcome == "timeout"
    assert nursery.try_out(replace(endless, hangs=True), limit_s=1.0).outcome == "killed"
    nursery.close()
    assert (nursery.source / "ironbird/__init__.py").read_text() == SOURCE


def test_tests_that_fail_without_mutants_prove_nothing(project: Path) -> None:
    (project / "tests/test_it.py").write_text(TEST.replace("== 6", "== 5"))

    found = run([PLANTED], project / "cache", root=project)

    assert [finding.outcome for finding in found] == ["red"]
    assert found[0].detail == "fails without the mutant: tests/test_it.py::test_twice"


def test_a_run_goes_on_where_it_was_stopped(project: Path) -> None:
    unseen = replace(PLANTED, id="unseen", old="return 7", new="return 8")
    run([PLANTED, unseen], project / "cache", root=project)
    kept = project / "cache/results.jsonl"
    rows = kept.read_text().splitlines(keepends=True)
    assert len(rows) == 3  # the tests without mutants, and each mutant
    # Stopped in the second mutant: what is known is taken, what was cut off is tried again
    kept.write_text("".join(rows[:2]).replace("test_it.py::test_twice", "taken from the file") + rows[2][:20])
    found = run([PLANTED, unseen], project / "cache", resume=True, root=project)
    assert [(f.outcome, f.detail) for f in found] == [("killed", "taken from the file"), ("survived", "")]

    # Another test: nothing of what is known holds
    (project / "tests/test_it.py").write_text(TEST + "    assert ironbird.idle() == 7\n")
    mutants._file_hash.cache_clear()
    found = run([PLANTED, unseen], project / "cache", resume=True, root=project)
    assert [f.outcome for f in found] == ["killed", "killed"] and found[0].detail == "test_it.py::test_twice"
    assert mutants.record(found)["killed"] == 2 and mutants.record(found)["not_killed"] == []


def test_entries_with_wrong_keys_are_refused(tmp_path: Path) -> None:
    head = '[[mutant]]\nid = "a"\nfile = "f"\nold = "x"\nnew = "y"\ntest = "t"\n'
    for text, why in (
        (head, "lacks why"),
        (head + 'why = "w"\nwhen = 1\n', "unknown keys when"),
        (head.replace('"y"', '"x"') + 'why = "w"\n', "old and new are the same"),
        ((head + 'why = "w"\n') * 2, "ids appear twice: a"),
    ):
        (tmp_path / "a.toml").write_text(text)
        with pytest.raises(ValueError, match=why):
            mutants.load(tmp_path)
