"""PostgreSQL killed again and again during a campaign: nothing lost, nothing double, nothing changed.

    python bench/database_kills.py [--kills 50] [--flights 200] [--out docs/measured/database_kills.json]

A private server is killed with SIGKILL at random moments while flights are flown and stored, and started again. In the
end the database's own note of verdicts, the rows and all results are compared with an undisturbed run. Exits with 1 if
anything differs, or if the campaign was over before the last kill.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

from postgres_server import USER, Postgres, programs

from ironbird.campaign.batch import fly_all
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from power_cuts import SUITE, plain

RUNNER = """import sys
if __name__ == "__main__":
    from ironbird.campaign.runner import run_campaign
    from ironbird.campaign.store import Store

    store = Store(sys.argv[1])
    say = lambda state: print(state.done, flush=True)
    run_campaign(store, store.campaign("killed"), workers=2, lanes=int(sys.argv[2]), progress=say)
"""
NOTE = """CREATE TABLE judged (number INTEGER);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO judged VALUES (NEW.number); RETURN NEW; END';
CREATE TRIGGER note AFTER UPDATE OF verdict ON flight FOR EACH ROW EXECUTE FUNCTION note();"""


def main() -> int:
    """Kill and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--flights", type=int, default=200)
    parser.add_argument("--out", type=Path, help="keep the figures in this file (JSON)")
    arguments = parser.parse_args()
    place = programs()
    if place is None:
        print("PostgreSQL is missing: tools/install_system_packages.sh installs it")
        return 1
    draw, begin = random.Random(1), time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="ironbird-kills-"))
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam(USER).pw_uid, -1)
    server = Postgres(place, folder)
    try:
        server.start()
        url = server.url("killed")
        (folder / "short.toml").write_text(SUITE.format(flights=arguments.flights))
        (folder / "runner.py").write_text(RUNNER)
        cases = load_suite(folder / "short.toml").flights()
        expected = fly_all(cases)
        store = Store(url)
        campaign = store.create("killed", "", {}, cases)
        with store.engine.begin() as connection:
            connection.execute(sa.text(NOTE))
        lanes = max(1, arguments.flights // (arguments.kills + 10))  # batches enough for all kills
        kills = 0
        command = [sys.executable, str(folder / "runner.py"), url, str(lanes)]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.strip() == "0" or kills == arguments.kills:
                    continue
                time.sleep(draw.uniform(0.0, 0.05))
                server.kill()
                kills += 1
                time.sleep(draw.uniform(0.0, 0.3))
                server.start()
        with store.engine.begin() as connection:
            noted = Counter(connection.execute(sa.text("SELECT number FROM judged")).scalars())
            rows = connection.execute(sa.text("SELECT count(*) FROM flight")).scalar()
        results = store.results(campaign)
        found = dict(zip((result.id for result in results), plain(results), strict=True))
        lost = sum(result.id not in found for result in expected)
        double = sum(count > 1 for count in noted.values()) + (rows or 0) - len(cases)
        changed = sum(
            found.get(result.id, text) != text for result, text in zip(expected, plain(expected), strict=True)
        )
        store.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    ok = not (lost or double or changed or process.returncode) and kills == arguments.kills
    print(f"{kills} kills of PostgreSQL in a campaign of {len(cases)} flights: lost {lost}, double {double}, changed "
          f"{changed}, exit code {process.returncode}, {time.perf_counter() - begin:.0f} s")  # fmt: skip
    if arguments.out:
        figures = {"kills": kills, "flights": len(cases), "lost": lost, "double": double, "changed": changed}
        arguments.out.write_text(
            json.dumps({"date": time.strftime("%Y-%m-%d", time.gmtime()), **figures}, indent=1) + "\n"
        )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
