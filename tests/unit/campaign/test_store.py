"""The store: what it refuses and how it says so; results are written once."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_data import flight_cases, result_of

from ironbird.campaign.store import Store, default_url
from ironbird.errors import StoreError, UnknownNameError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/deep/store.db")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "'nonsense' is not a database URL; give sqlite:///FILE or postgresql://USER@HOST/NAME"),
        ("mysql://host/name", "'mysql' is no kind of store; use sqlite or postgresql"),
        ("sqlite:////proc/nope/store.db", "cannot make a folder for the store /proc/nope/store.db"),
        ("sqlite:////proc/store.db", "the store sqlite:////proc/store.db refuses: unable to open database file"),
    ],
)
def test_bad_places_are_refused_at_once(url: str, message: str) -> None:
    begin = time.monotonic()
    with pytest.raises(StoreError) as caught:
        Store(url)
    assert message in str(caught.value)
    assert time.monotonic() - begin < 3.0


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("this is a letter to a friend, and quite a long one at that\n" * 20)
    with pytest.raises(StoreError, match="refuses: file is not a database"):
        Store(f"sqlite:///{tmp_path}/store.db")


def test_names(store: Store) -> None:
    cases = flight_cases(2)
    store.create("summer", "", {}, cases)
    with pytest.raises(StoreError, match="there is a campaign 'summer' already; resume it, or choose another name"):
        store.create("summer", "", {}, cases)
    with pytest.raises(UnknownNameError, match="unknown campaign 'sumer'; did you mean 'summer'"):
        store.campaign("sumer")
    with pytest.raises(StoreError, match="no name for a campaign"):
        store.create("../summer", "", {}, cases)
    with pytest.raises(StoreError, match="at least one flight"):
        store.create("winter", "", {}, [])
    store.create("autumn", "", {}, cases)
    assert store.names() == ["summer", "autumn"]
    store.delete("summer")
    assert store.names() == ["autumn"]


def test_flights_come_back_as_they_were(store: Store) -> None:
    cases = flight_cases(3)
    campaign = store.create("a", "title", {"a.toml": "text"}, cases)
    assert store.campaign("a") == campaign and campaign.source == {"a.toml": "text"}
    assert [case for _, case in store.open_cases(campaign)] == cases == list(store.cases(campaign))
    assert store.case(campaign, cases[1].id) == cases[1]
    assert store.counts(campaign) == {"pass": 0, "fail": 0, "void": 0, "error": 0, "open": 3}


def test_unknown_flight_says_the_nearest_though_nothing_is_flown(store: Store) -> None:
    campaign = store.create("a", "", {}, flight_cases(3))
    with pytest.raises(
        UnknownNameError, match="unknown flight 'hover/0002/s8' in campaign 'a'; did you mean 'hover/000"
    ):
        store.case(campaign, "hover/0002/s8")


def test_results_are_written_once_and_whole(store: Store) -> None:
    cases = flight_cases(3)
    campaign = store.create("a", "", {}, cases)
    first = replace(result_of(cases[1]), margin=math.inf, score=math.nan)
    assert store.write(campaign, [(1, first)]) == 1
    assert store.write(campaign, [(1, result_of(cases[1], "fail")), (2, result_of(cases[2], "fail"))]) == 1
    assert store.write(campaign, []) == 0
    found = store.results(campaign)
    assert [(r.id, r.verdict) for r in found] == [(cases[1].id, "pass"), (cases[2].id, "fail")]
    assert found[0].record() == first.record() and found[0].margin == math.inf and math.isnan(found[0].score)
    assert [number for number, _ in store.open_cases(campaign)] == [0]
    assert store.counts(campaign) == {"pass": 1, "fail": 1, "void": 0, "error": 0, "open": 1}


def test_two_stores_of_one_file_see_each_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with contextlib.closing(Store(url)) as one, contextlib.closing(Store(url)) as other:
        one.create("a", "", {}, flight_cases(1))
        assert other.names() == ["a"]
        other.create("b", "", {}, flight_cases(1))
        assert one.names() == ["a", "b"]


def test_usual_place() -> None:
    assert default_url() == "sqlite:///out/campaigns/ironbird.db"


def test_sqlite_waits_for_the_disk_and_keeps_flights_and_campaigns_together(store: Store) -> None:
    def pragma(name: str) -> object:
        return store.patiently(lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar())

    assert pragma("journal_mode") == "wal"
    assert pragma("synchronous") == 2  # FULL: what was reported as stored is there after a power cut
    assert pragma("foreign_keys") == 1
    assert pragma("busy_timeout") == 30_000


def test_a_column_has_no_infinities_and_the_result_has_them(store: Store) -> None:
    cases = flight_cases(3)
    campaign = store.create("numbers", "", {}, cases)
    margins = [math.inf, -math.inf, 0.5]

    store.write(
        campaign, [(n, replace(result_of(c), margin=m)) for n, (c, m) in enumerate(zip(cases, margins, strict=True))]
    )

    query = "SELECT margin FROM flight ORDER BY number"
    assert store.patiently(lambda connection: connection.exec_driver_sql(query).scalars().all()) == [None, None, 0.5]
    assert [result.margin for result in store.results(campaign)] == margins
