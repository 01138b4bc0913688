"""The same suite gives the same results wherever it is flown and stored; the database is what the migrations make."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command, op
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from postgres_server import Postgres

from ironbird.campaign import store as stores
from ironbird.campaign.batch import TracePolicy, fly_all
from ironbird.campaign.case import FlightCase
from ironbird.campaign.deletion import delete_campaign, held
from ironbird.campaign.runner import run_campaign
from ironbird.campaign.store import HEAD, Store, metadata
from ironbird.campaign.suite import load_suite
from ironbird.errors import RunError, StoreError

SUITE = """schema = 1
title = "Places"
[[case]]
id = "weather"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 4.0
[case.wind]
speed_mps = { uniform = [0.0, 8.0] }
turbulence_mps = 6.0
[[case.require]]
name = "upright"
formula = "always[1 s, end] (tilt < 6 deg)"
[case.plan]
kind = "latin_hypercube"
samples = 20
[[case]]
id = "faults"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 4.0
wind.turbulence_mps = 6.0
[[case.fault]]
id = { choice = ["rotor.speed_loss@1", "battery.low_voltage@1"] }
severity = { uniform = [0.05, 0.9] }
start_s = { uniform = [0.5, 3.0] }
[[case.fault]]
id = "rotor.blade_damage@1"
instance = 2
severity = 0.1
when = "altitude > 1 m"
[[case.require]]
use = "no_crash"
[[case.require]]
use = "attitude_limit"
params = { limit = 20.0 }
[case.plan]
kind = "monte_carlo"
samples = 28
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> list[FlightCase]:
    path = tmp_path_factory.mktemp("suite") / "places.toml"
    path.write_text(SUITE)
    return load_suite(path).flights()


@pytest.fixture(scope="module")
def alone(flights: list[FlightCase]) -> list[dict[str, Any]]:
    """Each flight by itself."""
    results = [fly_all([flight])[0].record() for flight in flights]
    assert {result["verdict"] for result in results} == {"pass", "fail", "void"}
    return results


def flown(store: Store, flights: list[FlightCase], name: str = "places", **where: Any) -> list[dict[str, Any]]:
    """A campaign's results without the names of traces."""
    campaign = store.create(name, "", {}, flights)
    state = run_campaign(store, campaign, **where)
    assert state.done == state.total == len(flights) and sum(state.counts.values()) == len(flights)
    results = [replace(result, trace=None).record() for result in store.results(campaign)]
    store.close()
    return results


@pytest.mark.parametrize(("workers", "lanes"), [(1, 512), (2, 5)])
def test_workers_and_lanes(
    tmp_path: Path, flights: list[FlightCase], alone: list[dict[str, Any]], workers: int, lanes: int
) -> None:
    store = Store(f"sqlite:///{tmp_path}/store.db")
    assert flown(store, flights, workers=workers, lanes=lanes) == alone


def test_postgresql(postgres: Postgres, tmp_path: Path, flights: list[FlightCase], alone: list[dict[str, Any]],
                    monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)  # traces of a store on a server go below the present folder
    assert flown(Store(postgres.url("places")), flights, workers=2, lanes=16) == alone
    assert list((tmp_path / "out" / "campaigns" / "places" / "traces").glob("*.parquet"))
    with contextlib.closing(Store(postgres.url("places"))) as store:
        _delete_and_be_refused(store, flights[:2], tmp_path)


def _delete_and_be_refused(store: Store, flights: list[FlightCase], folder: Path) -> None:
    """A campaign on a server is deleted with its traces of this computer, but not while another session flies it."""
    campaign = store.create("spare", "", {}, flights)
    run_campaign(store, campaign, policy=TracePolicy.of("all", str(store.trace_folder("spare"))))
    assert any((folder / "out" / "campaigns" / "spare" / "traces").iterdir())
    with contextlib.closing(Store(store.url)) as other:
        with held(other, campaign), pytest.raises(StoreError, match="campaign 'spare' is being flown"):
            delete_campaign(store, campaign)
        with held(store, campaign), held(other, campaign):  # many may fly it
            pass
        assert delete_campaign(store, campaign).flights == 2 and other.names() == []
        with pytest.raises(StoreError, match="campaign 'spare' was deleted"):
            run_campaign(other, campaign)
    assert not (folder / "out" / "campaigns" / "spare").exists()


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """A Dask scheduler and worker processes on this machine."""
    dask, file = [sys.executable, "-m", "dask"], folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file"]
    worker = [*dask, "worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes = [subprocess.Popen([*scheduler, str(file)], **quiet)]  # type: ignore[call-overload]
    try:
        deadline = time.monotonic() + 60
        while not file.exists() or not file.read_text():
            assert processes[0].poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(workers):
            processes.append(subprocess.Popen([*worker, "--scheduler-file", str(file)], **quiet))  # type: ignore[call-overload]
        yield json.loads(file.read_text())["address"]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_dask_cluster(tmp_path: Path, flights: list[FlightCase], alone: list[dict[str, Any]]) -> None:
    from distributed import Client

    with cluster(tmp_path, 3) as address:
        with Client(address, timeout="60s") as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(3, timeout=60)
        store = Store(f"sqlite:///{tmp_path}/store.db")
        assert flown(store, flights, dask=address, lanes=8) == alone


def test_no_cluster_there(tmp_path: Path, flights: list[FlightCase], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.campaign.runner.CLUSTER_TIMEOUT", "0.3s")
    store = Store(f"sqlite:///{tmp_path}/store.db")
    campaign = store.create("places", "", {}, flights[:1])
    with pytest.raises(RunError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        run_campaign(store, campaign, dask="tcp://127.0.0.1:1")
    assert store.counts(campaign)["open"] == 1
    store.close()


# ---------------------------------------------------------------------- databases


def differences(store: Store) -> list[Any]:
    with store.engine.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata))


def migrated(url: str, version: str) -> None:
    """Tables as the migrations make them, from an empty database."""
    config = Config()
    config.set_main_option("script_location", str(Path(stores.__file__).parent / "migrations"))
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
    engine.dispose()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_new_store_is_what_the_migrations_make(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path}/store.db"
    else:
        url = request.getfixturevalue("postgres").url("new")
    with contextlib.closing(Store(url)) as store:  # from empty, without a migration
        assert differences(store) == []
        assert set(sa.inspect(store.engine).get_table_names()) == {"campaign", "flight", "alembic_version"}
        with store.engine.connect() as connection:
            assert MigrationContext.configure(connection).get_current_heads() == (HEAD,)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_migrations_make_what_the_store_expects(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path}/store.db"
    else:
        url = request.getfixturevalue("postgres").url("migrations")
    migrated(url, "head")
    store = Store(url)
    assert differences(store) == []
    tables = set(sa.inspect(store.engine).get_table_names())
    assert tables == {"campaign", "flight", "alembic_version"}
    with store.engine.begin() as connection:  # the comparison itself can fail
        connection.execute(sa.text("ALTER TABLE flight ADD COLUMN more INTEGER"))
    assert [difference[0] for difference in differences(store)] == ["remove_column"]
    store.close()

    again = Store(url)  # nothing is left to do
    assert again.names() == []
    again.close()


def test_a_migration_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    migrated(url, "0001")
    added, add = [], op.add_column

    def dies_at_the_third(*given: Any) -> None:
        added.append(given)
        if len(added) == 3:
            raise KeyboardInterrupt
        add(*given)

    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.add_column", dies_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            Store(url)
    with contextlib.closing(Store(url)) as store:
        assert store.names() == [] and differences(store) == []


@pytest.mark.clock
def test_server_that_is_away_or_refuses(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.campaign.store.OPENING_S", 0.2)
    with pytest.raises(StoreError, match=r"the store postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/x does not answer"):
        Store("postgresql://me:secret@127.0.0.1:1/x")
    monkeypatch.setattr("ironbird.campaign.store.OPENING_S", 120.0)
    begin = time.monotonic()
    with pytest.raises(StoreError, match=r'refuses.*database "nowhere" does not exist'):
        Store(postgres.url("somewhere").replace("somewhere", "nowhere"))
    assert time.monotonic() - begin < 60  # a refusal is not waited for
