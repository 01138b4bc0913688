"""Power cuts and failing disks under a real campaign: nothing lost, nothing double, nothing changed.

    python bench/power_cuts.py [--cuts 1000] [--flights 200] [--fly 20] [--every 1] [--seed 0]
                               [--out docs/measured/power_cuts.json]

A campaign of faulted flights is flown on SQLite while every write, sync and deletion is noted. At each cut point the
files are laid down as a disk may hold them after a power cut; the store is opened, checked and resumed: of every
`--fly`-th cut the open flights are flown again, of the others their results are taken from an undisturbed run. Then
every operation of a smaller campaign fails in turn, with an error of the disk and with a full disk. Prints what is
wrong; exits with 1 if anything is.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

from power_cut import Cut, build_layer, child, cuts, read_notes

from ironbird.campaign.batch import TracePolicy, fly_all
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.runner import run_campaign
from ironbird.campaign.store import Store
from ironbird.campaign.suite import load_suite
from ironbird.errors import IronbirdError

SUITE = """schema = 1
title = "Short flights"
[[case]]
id = "short"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 3.0
wind.turbulence_mps = 5.0
[[case.fault]]
id = "rotor.speed_loss@1"
severity = {{ uniform = [0.05, 1.0] }}
start_s = {{ uniform = [0.5, 2.5] }}
[[case.require]]
use = "attitude_limit"
params = {{ limit = 8.0 }}
[case.plan]
kind = "monte_carlo"
samples = {flights}
"""


def plain(results: Sequence[FlightResult]) -> list[str]:
    """Everything of results but the names of traces, of which a batch keeps some."""
    return [json.dumps(replace(result, trace=None).record()) for result in results]


class Expected:
    """An undisturbed run: flights, results, and both as a store holds them."""

    def __init__(self, cases: list[FlightCase]) -> None:
        self.cases, self.results = cases, fly_all(cases)
        self.definitions = [json.dumps(case.record()) for case in cases]
        self.texts = plain(self.results)

    def wrongs(self, cut: Cut, folder: Path, fly: bool) -> list[str]:
        """What is wrong with a store after a power cut, and after going on with it."""
        found: list[str] = []
        try:
            with contextlib.closing(Store(f"sqlite:///{cut.write(folder)}")) as store:
                said = store.patiently(lambda c: c.execute(sa.text("PRAGMA integrity_check")).scalar())
                if said != "ok":
                    found.append(f"damaged: {said}")
                if "cut" not in store.names():
                    if cut.created:
                        return [*found, "lost: the campaign"]
                    store.create("cut", "", {}, self.cases)
                campaign = store.campaign("cut")
                there = {number: text for number, text in enumerate(self._rows(store, found)) if text is not None}
                if missing := cut.acknowledged - set(there):
                    found.append(f"lost: {sorted(missing)}")
                if (more := set(there) - cut.acknowledged) and more != cut.next_batch:
                    found.append(f"part of a batch: {sorted(more)}")
                if any(text != self.texts[number] for number, text in there.items()):
                    found.append("changed: results")
                if fly:
                    run_campaign(store, campaign, workers=2, policy=TracePolicy(None))
                else:
                    left = [number for number in range(len(self.cases)) if number not in there]
                    store.write(campaign, [(number, self.results[number]) for number in left])
                if self._rows(store, found) != self.texts:
                    found.append("changed: the campaign in the end")
        except IronbirdError as error:
            found.append(f"error: {error}")
        return found

    def _rows(self, store: Store, found: list[str]) -> list[str | None]:
        """Results as stored; says so if a flight is there twice or is another one."""
        query = sa.text("SELECT number, definition, result FROM flight ORDER BY number")
        rows = store.patiently(lambda connection: connection.execute(query).all())
        if [row[0] for row in rows] != list(range(len(self.cases))):
            found.append(f"double: {len(rows)} rows")
        if [row[1] for row in rows] != self.definitions:
            found.append("changed: definitions")
        return [row[2] for row in rows]


def main() -> int:
    """Cut, fail, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--flights", type=int, default=200)
    parser.add_argument("--fly", type=int, default=20, help="fly the open flights of every such cut again")
    parser.add_argument("--every", type=int, default=1, help="fail every such operation of the disk")
    parser.add_argument("--seed", type=int, default=0, help="other cut points")
    parser.add_argument("--synchronous", default="", help="another setting, to see that it is found out")
    parser.add_argument("--out", type=Path, help="keep the figures in this file (JSON)")
    arguments = parser.parse_args()
    begin, ok = time.perf_counter(), True
    figures: dict[str, object] = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "flights": arguments.flights}
    with tempfile.TemporaryDirectory(prefix="ironbird-cuts-") as name:
        folder = Path(name)
        layer = build_layer(folder)
        suite = folder / "short.toml"
        suite.write_text(SUITE.format(flights=arguments.flights))
        cases = load_suite(suite).flights()
        expected = Expected(cases)
        print(f"undisturbed: {dict(Counter(result.verdict for result in expected.results))}", flush=True)
        wrong: Counter[str] = Counter()
        done = flown = 0
        for part, checkpoint in enumerate(("1000", "50")):  # SQLite's own, and one that moves the log more often
            (folder / f"real{part}").mkdir()
            pragmas = [f"wal_autocheckpoint={checkpoint}"]
            pragmas += [f"synchronous={arguments.synchronous}"] if arguments.synchronous else []
            order = {
                "folder": str(folder / f"real{part}"), "notes": str(folder / f"notes{part}"), "suite": str(suite),
                "flights": arguments.flights, "pragmas": pragmas,
            }  # fmt: skip
            child(layer, "record", order)
            notes = read_notes(folder / f"notes{part}")
            print(f"campaign {part + 1}: {len(notes)} operations of the disk", flush=True)
            for cut in cuts(notes, arguments.cuts // 2, seed=2 * arguments.seed + part):
                fly = done % arguments.fly == 0
                found = expected.wrongs(cut, folder / "cut", fly)
                shutil.rmtree(folder / "cut")
                done, flown = done + 1, flown + fly
                wrong.update(text.partition(":")[0] for text in found)
                if found and not arguments.synchronous:
                    print(f"cut at {cut.at}, {cut.way}: {'; '.join(found)}"[:500], flush=True)
                if done % 100 == 0:
                    print(f"{done} cuts, {flown} flown on, wrong: {dict(wrong)}, {time.perf_counter() - begin:.0f} s",
                          flush=True)  # fmt: skip
        kinds = {kind: wrong.pop(kind, 0) for kind in ("lost", "double", "changed")}
        print(f"power cuts: {done}, {kinds}, other: {dict(wrong)}", flush=True)
        ok &= not any(kinds.values()) and not wrong
        figures |= {"cuts": done, "flown_on": flown, **kinds, "other": sum(wrong.values())}
        for what, number, on in (("errors of the disk", errno.EIO, 0), ("a full disk", errno.ENOSPC, 1)):
            place = folder / str(number)
            place.mkdir()
            lines = child(
                layer,
                "fail",
                {"folder": str(place), "flights": 40, "errno": number, "on": on, "every": arguments.every},
            )
            bad = [line for line in lines if line["wrong"] or line["lost"] or line["changed"] or not line["whole"]]
            said = sum(bool(line["said"]) for line in lines)
            print(f"{what}: {len(lines)} operations failed, {said} reported in a sentence, {len(bad)} wrong: {bad}")
            ok &= not bad
            figures[what] = {"operations": len(lines), "reported": said, "wrong": len(bad)}
    print(f"{'all right' if ok else 'WRONG'} after {time.perf_counter() - begin:.0f} s")
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
