"""The pages on the Python names and on the verbs of the command are those of this version."""

from __future__ import annotations

from pathlib import Path

import pytest

import ironbird
import write_api_reference
import write_command_reference
import write_json_page
import write_lookup_pages


def test_the_python_reference_is_up_to_date() -> None:
    assert write_api_reference.PAGE.read_text(encoding="utf-8") == write_api_reference.page(), "run make docs"


@pytest.mark.parametrize("title", write_api_reference.GROUPS)
def test_the_examples_of_the_python_reference_run(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRONBIRD_STORE", f"sqlite:///{tmp_path}/store.db")
    exec(compile(write_api_reference.GROUPS[title].example, title, "exec"), {"ib": ironbird})


def test_the_page_of_json_documents_is_up_to_date() -> None:
    assert write_json_page.PAGE.read_text(encoding="utf-8") == write_json_page.page(), "run make docs"


def test_the_command_reference_is_up_to_date() -> None:
    assert write_command_reference.PAGE.read_text(encoding="utf-8") == write_command_reference.page(), "run make docs"


def test_the_pages_of_requirements_and_missions_are_up_to_date() -> None:
    for name, write in write_lookup_pages.PAGES.items():
        assert (write_lookup_pages.FOLDER / name).read_text(encoding="utf-8") == write(), "run make docs"


def test_every_verb_and_option_has_a_help_text() -> None:
    for line in write_command_reference.page().splitlines():
        if line.startswith("| `"):
            assert line.split(" | ")[1].strip(), line
