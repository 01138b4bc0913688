"""A campaign survives kills of its runner, its workers and its database: every flight is judged exactly once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from postgres_server import Postgres
from typer.testing import CliRunner

from ironbird.campaign.batch import fly_all
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.suite import load_suite
from ironbird.cli.main import app

SUITE = """schema = 1
title = "Short flights"
[[case]]
id = "short"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 3.0
ends = "time"
wind.turbulence_mps = 5.0
[[case.fault]]
id = "rotor.speed_loss@1"
severity = { uniform = [0.05, 1.0] }
start_s = { uniform = [0.5, 2.5] }
[[case.require]]
use = "attitude_limit"
params = { limit = 8.0 }
[case.plan]
kind = "monte_carlo"
samples = 192
"""
RUNNER = """import sys
if __name__ == "__main__":
    from ironbird.campaign import runner
    from ironbird.campaign.runner import run_campaign
    from ironbird.campaign.store import Store

    runner.BATCH_S = BATCH_S_HERE
    store = Store(sys.argv[1])
    say = lambda state: print(state.done, flush=True)
    options = {"lanes": int(sys.argv[3])} if len(sys.argv) > 3 else {}
    run_campaign(store, store.campaign("killed"), workers=int(sys.argv[2]), progress=say, **options)
"""
RUNNER_KILLS, WORKER_KILLS, DATABASE_KILLS = 5, 7, 8
MISSED_KILLS = 4  # that a quick campaign may be over before: a kill waits for a batch to end


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> list[FlightCase]:
    path = tmp_path_factory.mktemp("suite") / "short.toml"
    path.write_text(SUITE)
    return load_suite(path).flights()


@pytest.fixture(scope="module")
def undisturbed(flights: list[FlightCase]) -> list[FlightResult]:
    return fly_all(flights)


class Runner:
    """A campaign in a process of its own, which says how many flights are judged."""

    def __init__(self, folder: Path, url: str, workers: int, lanes: int | None = 8, batch_s: float = 4.0) -> None:
        (folder / "runner.py").write_text(RUNNER.replace("BATCH_S_HERE", str(batch_s)))
        command = [sys.executable, str(folder / "runner.py"), url, str(workers)]
        command += [] if lanes is None else [str(lanes)]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def lines(self) -> Iterator[int]:
        """Flights judged, after each batch."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield int(line)

    def workers(self) -> list[int]:
        """Its worker processes."""
        return workers_of(self.process.pid)


def workers_of(runner: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{runner}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    copies = command_of(runner)  # of the first pool; later ones are new processes
    return [process for process in found if (said := command_of(process)) == copies or b"spawn_main" in said]


def command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_until_gone(processes: list[int], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while any(command_of(process) for process in processes):
        assert time.monotonic() < deadline, "workers outlive their runner"
        time.sleep(0.01)


def count_judgements(store: Store) -> None:
    """Make the database itself note every verdict that is written."""
    with store.engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE judged (number INTEGER)"))
        if store.sqlite:
            note = "BEGIN INSERT INTO judged VALUES (NEW.number); END"
            connection.execute(sa.text(f"CREATE TRIGGER note AFTER UPDATE OF verdict ON flight {note}"))
            return
        body = "BEGIN INSERT INTO judged VALUES (NEW.number); RETURN NEW; END"
        connection.execute(sa.text(f"CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS '{body}'"))
        when = "AFTER UPDATE OF verdict ON flight FOR EACH ROW"
        connection.execute(sa.text(f"CREATE TRIGGER note {when} EXECUTE FUNCTION note()"))


def assert_judged_once(store: Store, campaign: Campaign, expected: list[FlightResult]) -> None:
    with store.engine.begin() as connection:
        noted = list(connection.execute(sa.text("SELECT number FROM judged ORDER BY number")).scalars())
        rows, empty = connection.execute(
            sa.text("SELECT count(*), sum(CASE WHEN verdict IS NULL THEN 1 ELSE 0 END) FROM flight")
        ).one()
    assert noted == list(range(len(expected)))
    assert (rows, empty) == (len(expected), 0)
    stored = [replace(result, trace=None).record() for result in store.results(campaign)]
    assert stored == [result.record() for result in expected]  # verdicts, margins, witnesses, sha256: everything
    assert {result.verdict for result in expected} == {"pass", "fail"}


def test_runner_killed(tmp_path: Path, flights: list[FlightCase], undisturbed: list[FlightResult]) -> None:
    draw = random.Random(1)
    url = f"sqlite:///{tmp_path}/store.db"
    store = Store(url)
    campaign = store.create("killed", "", {}, flights)
    count_judgements(store)

    done = []
    for _ in range(RUNNER_KILLS):
        with Runner(tmp_path, url, workers=1) as runner:
            batches = draw.randint(1, 3)
            for number, _ in enumerate(runner.lines()):
                if number == batches:
                    break
            time.sleep(draw.uniform(0.0, 0.05))
            workers = runner.workers()
            assert workers
            runner.process.send_signal(signal.SIGKILL)
            runner.process.wait()
        wait_until_gone(workers)
        done.append(len(flights) - store.counts(campaign)["open"])
    assert done == sorted(done) and done[0] > 0 and done[-1] < len(flights)  # killed on the way, each time

    with Runner(tmp_path, url, workers=2) as runner:
        assert list(runner.lines())[-1] == len(flights)
        assert runner.process.wait() == 0
    assert_judged_once(store, campaign, undisturbed)
    store.close()


def test_a_kill_loses_seconds_whatever_the_lanes(
    tmp_path: Path, flights: list[FlightCase], undisturbed: list[FlightResult]
) -> None:
    """With the usual lanes all 192 flights fit into one batch; cut by time they are stored again and again."""
    url = f"sqlite:///{tmp_path}/store.db"
    store = Store(url)
    campaign = store.create("killed", "", {}, flights)
    count_judgements(store)
    with Runner(tmp_path, url, workers=1, lanes=None, batch_s=0.05) as runner:
        stored = 0
        for number, done in enumerate(runner.lines()):
            stored = done
            if number == 3:
                break
        runner.process.send_signal(signal.SIGKILL)
        runner.process.wait()
    kept = len(flights) - store.counts(campaign)["open"]
    assert 0 < stored <= kept < len(flights)  # only what was in the air is lost
    with Runner(tmp_path, url, workers=1, lanes=None) as runner:
        assert list(runner.lines())[-1] == len(flights)
        assert runner.process.wait() == 0
    assert_judged_once(store, campaign, undisturbed)
    store.close()


def test_workers_and_database_killed(
    tmp_path: Path, postgres: Postgres, flights: list[FlightCase], undisturbed: list[FlightResult]
) -> None:
    draw = random.Random(2)
    url = postgres.url("killed")
    store = Store(url)
    campaign = store.create("killed", "", {}, flights)
    count_judgements(store)
    kills = ["worker"] * WORKER_KILLS + ["database"] * DATABASE_KILLS
    draw.shuffle(kills)

    with Runner(tmp_path, url, workers=2) as runner:
        last = 0
        for done in runner.lines():
            last = done
            if not kills or done == 0:
                continue
            time.sleep(draw.uniform(0.0, 0.02))
            if kills[-1] == "database":
                kills.pop()
                postgres.kill()
                time.sleep(draw.uniform(0.0, 0.3))
                postgres.start()
            elif workers := runner.workers():
                with contextlib.suppress(ProcessLookupError):  # gone already: that is no kill
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    kills.pop()
        assert len(kills) <= MISSED_KILLS and last == len(flights)
        assert runner.process.wait() == 0
    assert_judged_once(store, campaign, undisturbed)
    store.close()


def test_interrupt_writes_reports_and_resume_goes_on(tmp_path: Path) -> None:
    lengths = ", ".join(f"{3 + i / 100:g}" for i in range(24))  # flights of different length need batches of their own
    text = SUITE.replace("until_s = 3.0", f"until_s = {{ grid = [{lengths}] }}")
    text = text.replace("severity = { uniform = [0.05, 1.0] }", "severity = 0.5")
    text = text.replace("start_s = { uniform = [0.5, 2.5] }", "start_s = 1.0\n[case.seeds]\ncount = 4")
    (tmp_path / "long.toml").write_text(text.partition("[case.plan]")[0])
    command = [sys.executable, "-m", "ironbird.cli", "campaign"]
    options = ["--store", "sqlite:///store.db", "--workers", "1"]
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}
    process = subprocess.Popen(
        [*command, "run", "long.toml", "--name", "long", *options], cwd=tmp_path, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # as in a foreground shell
    )  # fmt: skip
    store = Store(f"sqlite:///{tmp_path}/store.db")
    deadline = time.monotonic() + 60
    while not store.names() or store.counts(store.campaign("long"))["open"] == 96:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    workers = workers_of(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)

    campaign = store.campaign("long")
    open_before = store.counts(campaign)["open"]
    assert process.returncode == 130, out + err
    assert "continue with 'ironbird campaign resume long'" in err and "Traceback" not in err
    assert 0 < open_before < 96 and workers
    wait_until_gone(workers)
    assert f"{open_before} open" in (tmp_path / "long" / "report.html").read_text()

    done = subprocess.run(
        [*command, "resume", "long", *options], cwd=tmp_path, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 1, done.stdout + done.stderr  # flights fail, as they should
    counts = store.counts(campaign)
    assert counts["open"] == 0 and counts["error"] == 0 and sum(counts.values()) == 96
    assert "open" not in (tmp_path / "long" / "report.html").read_text().partition("<main>")[0].partition("</style>")[2]
    store.close()


def test_a_campaign_never_mixes_two_vehicles(tmp_path: Path) -> None:
    vehicle = tmp_path / "mine.toml"
    vehicle.write_text('schema = 1\nid = "mine"\nbase = "quad_f450"\n')
    (tmp_path / "short.toml").write_text(
        SUITE.replace("quad_f450", "mine.toml").replace("samples = 192", "samples = 16").replace("= 3.0", "= 1.0")
    )
    flights = load_suite(tmp_path / "short.toml").flights()
    url = f"sqlite:///{tmp_path}/store.db"
    with contextlib.closing(Store(url)) as store:
        campaign = store.create("mixed", "", {}, flights)
        store.write(campaign, enumerate(fly_all(flights[:8])))

        def campaign_verb(*words: str, code: int) -> str:
            done = CliRunner().invoke(
                app, ["campaign", *words, "--store", url], env={"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}
            )
            assert done.exit_code == code, done.output
            return done.output

        before = vehicle.read_text()
        vehicle.write_text(before + "[body]\nmass_kg = 2.5\n")
        said = campaign_verb("resume", "mixed", "--workers", "1", code=2)
        assert "8 of its 8 open flights are no longer what was defined" in said
        assert "mine.toml changed (8 flights: " in said
        assert store.counts(campaign)["open"] == 8
        said = campaign_verb("rerun", "mixed", flights[0].id, code=1)
        assert "not the flight that was stored: " in said and "NOT equal" in said

        vehicle.write_text(before)
        with store.engine.begin() as connection:
            connection.execute(sa.text("UPDATE flight SET result = '{}' WHERE number = 3"))
        said = campaign_verb("show", "mixed", code=2)
        assert "it lacks 'judgements'" in said
        campaign_verb("resume", "mixed", "--damaged", "--workers", "1", code=1)
        stored = [replace(result, trace=None).record() for result in store.results(campaign)]
        assert stored == [result.record() for result in fly_all(flights)]
        assert store.versions(campaign) == {(campaign.ironbird, campaign.software): 16}
