"""Deleting a campaign: rows and files of it alone, not what others put there, and not while it is flown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign_data import flight_cases, result_of

from ironbird.campaign.deletion import delete_campaign, held
from ironbird.campaign.runner import Progress, run_campaign
from ironbird.campaign.store import Campaign, Store
from ironbird.errors import StoreError, UnknownNameError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as opened:
        yield opened


def stored(store: Store, name: str) -> Campaign:
    """A campaign of two judged flights, with files."""
    cases = flight_cases(2)
    campaign = store.create(name, "", {}, cases)
    store.write(campaign, [(number, result_of(case)) for number, case in enumerate(cases)])
    folder = store.trace_folder(name).parent
    for file in ("traces/a.parquet", "flights/hover_0001_s1/report.html", "report.html", "junit.xml", "results.json"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("12345")
    return campaign


def test_rows_and_files_of_a_campaign_are_gone_and_those_of_others_stay(store: Store, tmp_path: Path) -> None:
    first, second = stored(store, "first"), stored(store, "second")

    gone = delete_campaign(store, first)

    assert (gone.flights, gone.files, gone.size, gone.kept) == (2, 5, 25, [])
    assert store.names() == ["second"] and len(store.results(second)) == 2
    assert not (tmp_path / "first").exists() and (tmp_path / "second" / "traces" / "a.parquet").is_file()
    with pytest.raises(UnknownNameError):
        store.campaign("first")
    again = stored(store, "first")  # the name is free, and nothing of the old one comes back
    assert store.counts(again)["pass"] == 2


def test_evidence_and_files_of_a_users_own_stay(store: Store, tmp_path: Path) -> None:
    campaign = stored(store, "first")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("1")
    for file in ("evidence.zip", "notes.txt"):
        (tmp_path / "first" / file).write_text("1")
    (tmp_path / "first" / "results.json").unlink()
    (tmp_path / "first" / "results.json").symlink_to(tmp_path / "elsewhere")  # no link leads out of the folder

    gone = delete_campaign(store, campaign)

    assert gone.kept == ["evidence.zip", "notes.txt"]
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == gone.kept
    assert (tmp_path / "elsewhere" / "precious").is_file()


def test_a_campaign_that_is_flown_is_not_deleted(store: Store) -> None:
    campaign = store.create("first", "", {}, flight_cases(2))
    refused: list[str] = []

    def look(_: Progress) -> None:
        with contextlib.closing(Store(store.url)) as other, pytest.raises(StoreError) as error:
            delete_campaign(other, campaign)
        refused.append(str(error.value))

    run_campaign(store, campaign, workers=1, progress=look)

    assert "campaign 'first' is being flown: end that first (Ctrl-C), or wait for its end" in refused
    assert sum(store.counts(campaign).values()) == 2 and not store.counts(campaign)["open"]
    delete_campaign(store, campaign)
    assert store.names() == []


def test_two_may_fly_a_campaign_and_nobody_one_that_was_deleted(store: Store) -> None:
    campaign = stored(store, "first")
    with held(store, campaign), held(store, campaign):
        pass
    delete_campaign(store, campaign)
    with pytest.raises(StoreError, match="campaign 'first' was deleted"), held(store, campaign):
        pass
