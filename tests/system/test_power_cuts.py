"""The store on a disk that loses power, fails, is full, or has no memory: nothing is lost, doubled or changed."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from campaign_data import flight_cases
from disk_child import judged
from power_cut import WAYS, Cut, build_layer, child, cuts, read_notes

from ironbird.campaign.store import Store
from ironbird.errors import StoreError, UnknownNameError

FLIGHTS = 40
CUTS = 60


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_layer(tmp_path_factory.mktemp("layer"))


def recorded(layer: Path, folder: Path, count: int, pragmas: Sequence[str]) -> list[Cut]:
    (folder / "real").mkdir(parents=True)
    order = {
        "folder": str(folder / "real"), "notes": str(folder / "notes"), "flights": FLIGHTS, "pragmas": list(pragmas),
    }  # fmt: skip
    child(layer, "record", order)
    return list(cuts(read_notes(folder / "notes"), count))


def wrongs(cut: Cut, folder: Path) -> list[str]:
    """What is wrong with a store after a power cut, and after going on with it."""
    cases = flight_cases(FLIGHTS)
    results = judged(cases)
    found = []
    try:
        with contextlib.closing(Store(f"sqlite:///{cut.write(folder)}")) as store:
            said = store.patiently(lambda connection: connection.execute(sa.text("PRAGMA integrity_check")).scalar())
            if said != "ok":
                found.append(f"damaged: {said}")
            if "cut" not in store.names():
                if cut.created:
                    return [*found, "the campaign is lost"]
                store.create("cut", "", {}, cases)
            campaign = store.campaign("cut")
            if list(store.cases(campaign)) != cases:
                found.append("the flights are not those that were stored")
            there = {result.seed - 1: result for result in store.results(campaign)}
            if missing := cut.acknowledged - set(there):
                found.append(f"lost: {sorted(missing)}")
            if (more := set(there) - cut.acknowledged) and more != cut.next_batch:
                found.append(f"part of a batch: {sorted(more)}")
            store.write(campaign, [(number, results[number]) for number, _ in store.open_cases(campaign)])
            if [result.record() for result in store.results(campaign)] != [result.record() for result in results]:
                found.append("another campaign in the end")
            if sum(store.counts(campaign).values()) != FLIGHTS:
                found.append("flights twice")
    except (StoreError, UnknownNameError) as error:
        found.append(str(error))
    return found


# 'wal_autocheckpoint' brings the moments at which the log is moved into the database, rare in so small a campaign
@pytest.mark.parametrize("pragmas", [(), ("wal_autocheckpoint=20",)])
def test_power_cuts(layer: Path, tmp_path: Path, pragmas: tuple[str, ...]) -> None:
    found = recorded(layer, tmp_path, CUTS // 2, pragmas)
    assert {cut.way for cut in found} == set(WAYS)
    assert len({len(cut.acknowledged) for cut in found}) >= 4  # before, between, after
    said = {cut.at: wrongs(cut, tmp_path / str(number)) for number, cut in enumerate(found)}
    assert not any(said.values()), json.dumps({at: text for at, text in said.items() if text}, indent=1)


@pytest.mark.parametrize("level", ["OFF", "NORMAL"])
def test_less_careful_settings_are_found_out(layer: Path, tmp_path: Path, level: str) -> None:
    """Why `synchronous=FULL`: with less, power cuts lose what the store had said was kept, and this test sees it."""
    pragmas = (f"synchronous={level}",)
    found = recorded(layer, tmp_path, 24, pragmas)
    said = [wrongs(cut, tmp_path / str(number)) for number, cut in enumerate(found)]
    assert any("lost" in text for texts in said for text in texts), said


@pytest.mark.parametrize(
    ("number", "on", "words", "every"),
    [
        (errno.EIO, 0, "look into the system's log, repair the disk", 7),
        (errno.ENOSPC, 1, "free some space, then continue with 'ironbird campaign resume'", 7),
    ],
)
def test_failing_disks(layer: Path, tmp_path: Path, number: int, on: int, words: str, every: int) -> None:
    order = {"folder": str(tmp_path), "flights": 16, "errno": number, "on": on, "every": every}
    found = child(layer, "fail", order)
    assert len(found) > 10 and not found[-1]["said"]  # the last one came after all operations
    for line in found:
        assert not line["wrong"] and not line["lost"] and not line["changed"] and line["whole"], line
    said = [line["said"] for line in found if line["said"]]
    assert len(said) > len(found) // 2 and all(text.startswith("the store ") for text in said)
    assert any(words in text for text in said), said
    if on:
        told = [line["readable"] for line in found if line["readable"]]
        assert told and set(told) == {"16"}, told  # a full disk can be read


def test_little_memory(layer: Path, tmp_path: Path) -> None:
    order = {"folder": str(tmp_path), "flights": 64, "bytes": [0, 100_000, 1_000_000, 100_000_000]}
    found = child(layer, "memory", order)
    for line in found:
        assert line["none_or_all"] and line["whole"], line
        assert not line["wrong"] or line["wrong"].startswith("MemoryError"), line
    assert not found[-1]["said"] and not found[-1]["wrong"]
