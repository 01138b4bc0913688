"""`campaign delete` asks, says what it removed, and shows what remains."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from campaign_data import flight_cases, result_of
from typer.testing import CliRunner

from ironbird.campaign.deletion import held
from ironbird.campaign.store import Store
from ironbird.cli.main import app


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("IRONBIRD_STORE", f"sqlite:///{tmp_path}/store.db")
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        for name in ("monday", "tuesday"):
            cases = flight_cases(3)
            campaign = opened.create(name, "", {}, cases)
            opened.write(campaign, [(0, result_of(cases[0]))])
        (tmp_path / "monday").mkdir()
        (tmp_path / "monday" / "evidence.zip").write_text("")
        (tmp_path / "monday" / "report.html").write_text("12345")
        return opened


def run(*words: str, answer: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(app, ["campaign", "delete", *words], input=answer, env={"COLUMNS": "160"})
    return done.exit_code, " ".join(done.output.split())


def test_it_asks_first_and_a_no_deletes_nothing(store: Store) -> None:
    code, said = run("monday", answer="n\n")
    assert code == 1 and "Delete campaign monday: 3 flights and 1 files" in said and "nothing was deleted" in said
    assert run("monday")[0] != 0  # nobody there to answer
    assert store.names() == ["monday", "tuesday"]


@pytest.mark.parametrize(("words", "answer"), [(("monday",), "y\n"), (("monday", "--yes"), "")])
def test_it_says_what_is_gone_what_stays_and_what_remains(store: Store, words: tuple[str, ...], answer: str) -> None:
    code, said = run(*words, answer=answer)
    assert code == 0, said
    assert "deleted campaign monday" in said and "kept" in said and "evidence.zip" in said
    remaining = said.split("Campaigns that remain")[1]
    assert "tuesday" in remaining and "monday" not in remaining
    assert store.names() == ["tuesday"]


def test_one_that_is_flown_and_one_that_is_not_there_are_refused(store: Store) -> None:
    with held(store, store.campaign("monday")):
        code, said = run("monday", "--yes")
    assert code == 2 and "campaign 'monday' is being flown" in said
    code, said = run("mondy", "--yes")
    assert code == 2 and "did you mean 'monday'" in said
    assert store.names() == ["monday", "tuesday"]
