"""Registries: Ironbird's own parts, those of the user, and errors that name the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.errors import IronbirdWarning, OrderError, UnknownNameError
from ironbird.files.registry import Registry
from ironbird.model.block import Block
from ironbird.rig.system import Kind


def kinds(**own: str) -> Registry[Kind]:
    return Registry("test_kinds", own, "ironbird.rig.system:Kind", what="test kind", error=OrderError)


def test_an_own_part_is_loaded_when_it_is_asked_for() -> None:
    found = kinds(fmu="ironbird.systems.fmu.kind:FMU")
    assert list(found) == ["fmu"] and found["fmu"] == "ironbird.systems.fmu.kind:FMU" and found.is_own("fmu")
    assert found.load("fmu").name == "fmu"


def test_a_users_part_comes_from_a_file_and_is_part_of_what_defines_a_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("from ironbird.systems.fmu.kind import FMU\nMINE = FMU\n")
    monkeypatch.setenv("IRONBIRD_TEST_KINDS", f"mine={tmp_path / 'mine.py'}:MINE")
    found = kinds(fmu="ironbird.systems.fmu.kind:FMU")
    assert list(found) == ["fmu", "mine"] and not found.is_own("mine")
    assert found.load("mine").name == "fmu"
    assert found.files_of("mine") == [tmp_path / "mine.py"] and found.files_of("fmu") == []


def test_the_name_of_an_own_part_cannot_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONBIRD_TEST_KINDS", f"fmu={tmp_path / 'mine.py'}:MINE")
    found = kinds(fmu="ironbird.systems.fmu.kind:FMU")
    assert found.homes() == {"fmu": "ironbird.systems.fmu.kind:FMU"}


def test_wrong_names_files_and_objects_are_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("MINE = 7\n")
    monkeypatch.setenv("IRONBIRD_TEST_KINDS", f"mine={tmp_path / 'mine.py'}:MINE,gone={tmp_path / 'gone.py'}:X")
    found = kinds(fmu="ironbird.systems.fmu.kind:FMU")
    with pytest.raises(UnknownNameError, match=r"unknown test kind 'fmuu'; did you mean 'fmu'\?"):
        found.load("fmuu")
    with pytest.raises(OrderError, match=r"test kind 'mine': .*mine\.py:MINE is no Kind but a int"):
        found.load("mine")
    with pytest.raises(OrderError, match=r"test kind 'gone' at .*gone\.py:X cannot be loaded: FileNotFoundError"):
        found.load("gone")
    monkeypatch.setenv("IRONBIRD_TEST_KINDS", "nothing")
    with pytest.raises(OrderError, match=r"IRONBIRD_TEST_KINDS: 'nothing' is not NAME=FILE\.py:OBJECT"):
        list(found)


def test_a_part_that_ends_the_program_or_cannot_be_loaded_is_left_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bye.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.setenv("IRONBIRD_TEST_KINDS", f"bye={tmp_path / 'bye.py'}:X")
    found = kinds(fmu="ironbird.systems.fmu.kind:FMU")
    with pytest.warns(IronbirdWarning, match="test kind 'bye' at .*cannot be loaded: SystemExit: 0"):
        assert [name for name, _ in found.loadable()] == ["fmu"]


def test_a_family_of_classes_takes_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("from ironbird.blocks.actuators.servo import Servo\nS = Servo()\n")
    monkeypatch.setenv("IRONBIRD_TEST_BLOCKS", f"mine={tmp_path / 'mine.py'}:S")
    found: Registry[type[Block]] = Registry("test_blocks", {}, Block, classes=True, what="block", error=OrderError)
    with pytest.raises(OrderError, match=r"block 'mine': .*mine\.py:S is no class of Block but <"):
        found.load("mine")
