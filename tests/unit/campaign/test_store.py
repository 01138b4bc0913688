"""The store: what it refuses and how it says so; results are written once."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from campaign_data import flight_cases, result_of

import ironbird.campaign.store as module
from ironbird.campaign.case import FlightCase
from ironbird.campaign.flown_files import vehicle_texts
from ironbird.campaign.identity import ironbird_version, software
from ironbird.campaign.store import HEAD, Store, default_url
from ironbird.errors import StoreError, StoreWarning, UnknownNameError


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
@pytest.mark.clock
def test_bad_places_are_refused_at_once(url: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.campaign.store.OPENING_S", 90.0)
    begin = time.monotonic()
    with pytest.raises(StoreError) as caught:
        Store(url)
    assert message in str(caught.value)
    assert time.monotonic() - begin < 60.0  # a refusal is not waited for


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("this is a letter to a friend, and quite a long one at that\n" * 20)
    with pytest.raises(StoreError, match="refuses: file is not a database"):
        Store(f"sqlite:///{tmp_path}/store.db")


def test_names(store: Store) -> None:
    cases = flight_cases(2)
    store.create("summer", "", {}, cases)
    with pytest.raises(StoreError, match="there is a campaign 'summer' already; resume it, or choose another name"):
        store.create("summer", "", {}, cases)
    with pytest.raises(UnknownNameError, match=r"unknown campaign 'sumer' in the store .*; did you mean 'summer'"):
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
    assert store.campaign("a") == campaign and campaign.source["a.toml"] == "text"
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
    assert store.write(campaign, [(1, first)], wall_s=0.25) == 1
    assert store.wall_times(campaign) == {cases[1].id: 0.25}
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


# ---------------------------------------------------------------------- damage


def damage(store: Store, column: str, text: str, number: int = 1) -> None:
    with store.engine.begin() as connection:
        change = sa.text(f"UPDATE flight SET {column} = :text WHERE number = :number")
        connection.execute(change, {"text": text, "number": number})


def changed_result(store: Store, key: str, value: Any) -> str:
    with store.engine.begin() as connection:
        text = connection.execute(sa.text("SELECT result FROM flight WHERE number = 1")).scalar_one()
    return json.dumps({**json.loads(text), key: value})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (None, "{}", "it lacks 'judgements'"),
        (None, "[]", "it is no table"),
        (None, '{"id": "hov', "Unterminated string"),
        (None, "[" * 100_000, "recursion"),
        ("verdict", "green", "'green' is no verdict"),
        ("verdict", "fail", "it says verdict 'fail', its row 'pass'"),
        ("sha256", "00", "it says sha256 '00'"),
        ("judgements", [{"name": "x"}], "missing 4 required positional arguments"),
        ("judgements", 5, "not iterable"),
        ("margin", "wide", "could not convert"),
        ("ended_s", None, "must be a string or a real number"),
        ("crashed", "no", "crashed is 'no'"),
        ("id", "hover/0003/s3", "it is that of flight 'hover/0003/s3'"),
        ("trace", "../../../etc/passwd", "is no name of a trace"),
        ("trace", "a/b.parquet", "is no name of a trace"),
        ("modes", [[0.0, "x"]], "modes"),
        ("more", 1, "unexpected keyword"),
        ("digest", "ab" * 32, "it was flown from another definition than the campaign's"),
    ],
)
def test_a_damaged_result_is_an_error_that_names_the_flight_and_the_cure(
    store: Store, key: str | None, value: Any, words: str
) -> None:
    cases = flight_cases(3)
    campaign = store.create("a", "", {}, cases)
    store.write(campaign, [(n, result_of(case)) for n, case in enumerate(cases)])
    damage(store, "result", value if key is None else changed_result(store, key, value))
    with pytest.raises(StoreError) as caught:
        store.results(campaign)
    text = str(caught.value)
    assert text.startswith(f"campaign 'a', flight '{cases[1].id}': its stored result is damaged: ") and words in text
    assert "'ironbird campaign resume a --damaged'" in text
    with pytest.raises(StoreError):
        store.flight(campaign, cases[1].id)

    assert store.reopen_damaged(campaign) == [cases[1].id]
    assert store.counts(campaign)["open"] == 1
    store.write(campaign, [(1, result_of(cases[1]))])
    assert [result.record() for result in store.results(campaign)] == [result_of(case).record() for case in cases]
    assert store.reopen_damaged(campaign) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ("{}", "it lacks 'id'"),
        ("nothing", "Expecting value"),
        ({"seed": "one"}, ""),
        ({"vehicle": 5}, "vehicle = 5 is no text"),
        ({"faults": [{"id": "no.such@1"}]}, ""),
        ({"mission": {"item": "fly"}}, ""),
        ({"wind": {"speed_mps": "strong"}}, "is no finite number"),
        ({"expect": "green"}, "it expects 'green'"),
        ({"id": "hover/0009/s9"}, "it is that of flight 'hover/0009/s9'"),
    ],
)
def test_a_damaged_definition(store: Store, changes: Any, words: str) -> None:
    cases = flight_cases(3)
    campaign = store.create("a", "", {}, cases)
    text = changes if isinstance(changes, str) else json.dumps({**cases[1].record(), **changes})
    damage(store, "definition", text)
    for read in (
        lambda: store.open_cases(campaign),
        lambda: list(store.cases(campaign)),
        lambda: store.case(campaign, cases[1].id),
    ):
        with pytest.raises(StoreError) as caught:
            read()
        said = str(caught.value)
        assert f"campaign 'a', flight '{cases[1].id}': its stored definition is damaged: " in said and words in said
        assert "restore the store from a backup, or fly the suite again under another name" in said


@pytest.mark.parametrize(
    ("column", "value"), [("source", "{"), ("source", "[]"), ("files", '{"a": 1}'), ("name", "../../up")]
)
def test_a_damaged_campaign(store: Store, column: str, value: str) -> None:
    store.create("a", "", {"a.toml": "text"}, flight_cases(1))
    with store.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE campaign SET {column} = :value"), {"value": value})
    with pytest.raises(StoreError, match="restore the store from a backup"):
        store.campaign(value if column == "name" else "a")


def test_a_trace_is_found_in_its_folder_only(store: Store) -> None:
    case = flight_cases(1)[0]
    campaign = store.create("a", "", {}, [case])
    assert store.trace_path(campaign, result_of(case)) is None
    kept = result_of(case, trace="hover-0001.parquet")
    assert store.trace_path(campaign, kept) is None  # gone
    store.trace_folder("a").mkdir(parents=True)
    (store.trace_folder("a") / "hover-0001.parquet").write_text("")
    assert store.trace_path(campaign, kept) == store.trace_folder("a") / "hover-0001.parquet"
    for name in ("../secret", "/etc/passwd", "a/b", "..", ".hidden", "a\0b", "", "a\\b"):
        with pytest.raises(StoreError, match="is no name of a trace"):
            store.trace_path(campaign, replace(kept, trace=name))
    with pytest.raises(StoreError):
        store.trace_folder("../up")


def test_results_of_another_definition_are_not_stored(store: Store) -> None:
    cases = flight_cases(3)
    campaign = store.create("a", "", {}, cases)
    other = replace(result_of(cases[1]), digest="ab" * 32)
    with pytest.raises(StoreError, match=r"1 flights were flown from another definition.*hover/0002/s2"):
        store.write(campaign, [(0, result_of(cases[0])), (1, other)])
    assert store.counts(campaign)["open"] == 2 + 1  # the whole batch is refused


def test_each_flight_knows_what_flew_it(store: Store) -> None:
    cases = flight_cases(2)
    campaign = store.create("a", "", {}, cases)
    store.write(campaign, [(0, result_of(cases[0]))])
    assert store.versions(campaign) == {(ironbird_version(), software()): 1}
    flown, still_open = (store.flight(campaign, case.id) for case in cases)
    assert (flown.ironbird, flown.software) == (ironbird_version(), software())
    assert still_open.result is None and still_open.ironbird is None
    assert store.campaign("a").files == {"quad_f450": campaign.files["quad_f450"]}


# ---------------------------------------------------------------------- files and disks


def test_a_store_of_the_first_version_is_brought_up_to_date_and_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    cases = flight_cases(3)
    config = Config()
    config.set_main_option("script_location", str(Path(module.__file__).parent / "migrations"))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            sa.text("INSERT INTO campaign VALUES (1, 'old', 'Old', '2026-01-01', '0.0.1', '{\"a.toml\": \"x\"}', 'd')")
        )
        for number, case in enumerate(cases):
            result = result_of(case, "fail" if number else "pass") if number < 2 else None
            row = {
                "n": number, "id": case.id, "g": case.digest(), "d": json.dumps(case.record()),
                "v": result.verdict if result else None, "m": result.margin if result else None,
                "s": result.score if result else None, "h": result.sha256 if result else None,
                "r": json.dumps(result.record()) if result else None,
            }  # fmt: skip
            connection.execute(
                sa.text("INSERT INTO flight VALUES (1, :n, :id, 'hover', :g, :d, :v, :m, :s, :h, :r)"), row
            )
    with engine.connect() as connection:
        before = connection.execute(sa.text("SELECT * FROM flight ORDER BY number")).all()
    engine.dispose()

    with contextlib.closing(Store(url)) as store:
        campaign = store.campaign("old")
        assert (campaign.ironbird, campaign.software, campaign.files) == ("0.0.1", None, {})
        with store.engine.connect() as connection:
            after = connection.execute(sa.text("SELECT * FROM flight ORDER BY number")).all()
            assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == HEAD
        assert [tuple(row)[: len(before[0])] for row in after] == [tuple(row) for row in before]
        assert [tuple(row)[len(before[0]) :] for row in after] == [(None, None, None)] * 3
        assert [r.verdict for r in store.results(campaign)] == ["pass", "fail"]
        assert [case for _, case in store.open_cases(campaign)] == cases[2:]
        assert store.write(campaign, [(2, result_of(cases[2]))]) == 1


def test_the_newest_migration_is_known() -> None:
    files = sorted((Path(module.__file__).parent / "migrations" / "versions").glob("*.py"))
    assert files[-1].name.startswith(HEAD)


def test_others_who_can_change_a_store_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = os.umask(0)
    try:
        with contextlib.closing(Store(f"sqlite:///{path}")) as store:
            store.create("a", "", {}, flight_cases(1))
            modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes and not any(mode & 0o002 for mode in modes.values()), modes
    path.chmod(0o666)
    with pytest.warns(StoreWarning, match=r"any user of this machine can change .*store.db.*chmod o-w"):
        Store(f"sqlite:///{path}").close()
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.warns(StoreWarning, match="any user of this machine"):
        Store(f"sqlite:///{path}").close()
    tmp_path.chmod(0o1777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Store(f"sqlite:///{path}").close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_store_of_another_user_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Store(f"sqlite:///{path}").close()
    os.chown(path, 65534, -1)
    with pytest.warns(StoreWarning, match=r"belongs to another user \(number 65534\)"):
        Store(f"sqlite:///{path}").close()


def test_a_file_that_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is mounted to be read: SQLite is told so, and says what it says there."""
    path = tmp_path / "store.db"
    with contextlib.closing(Store(f"sqlite:///{path}")) as store:
        campaign = store.create("a", "", {}, flight_cases(2))
        store.write(campaign, [(0, result_of(flight_cases(2)[0]))])

    def refuses(*_: object) -> None:
        raise sa.exc.OperationalError("", {}, sqlite3.OperationalError("unable to open database file"))

    monkeypatch.setattr("ironbird.campaign.store._migrate", refuses)
    with contextlib.closing(Store(f"sqlite:///{path}")) as store:
        assert store.names() == ["a"] and store.counts(store.campaign("a"))["pass"] == 1
        with pytest.raises(StoreError, match=r"can only be read: the store .* refuses: unable to open database file"):
            store.create("b", "", {}, flight_cases(1))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store.db"]


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

    store.write(campaign, [(n, result_of(c, margin=m)) for n, (c, m) in enumerate(zip(cases, margins, strict=True))])

    query = "SELECT margin FROM flight ORDER BY number"
    assert store.patiently(lambda connection: connection.exec_driver_sql(query).scalars().all()) == [None, None, 0.5]
    assert [result.margin for result in store.results(campaign)] == margins


def test_work_begins_once_when_the_name_is_taken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    fails = [sa.exc.OperationalError("", {}, Exception("server closed the connection")), None]

    def once(cases: Sequence[FlightCase]) -> dict[str, str]:
        error = fails.pop(0)
        if error is not None:
            raise error
        return vehicle_texts(cases)

    monkeypatch.setattr(module, "vehicle_texts", once)
    monkeypatch.setattr(Store, "_lost", lambda self, error: True)
    campaign = store.create("a", "", {}, flight_cases(3), named=lambda: begun.append(1))

    assert begun == [1] and store.counts(campaign)["open"] == 3  # at the second attempt
