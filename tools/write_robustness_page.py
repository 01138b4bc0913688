"""Write docs/robustness.md: coverage, mistakes planted, inputs fuzzed, sanitizers, power cuts, from kept figures.

    python tools/write_robustness_page.py

Figures: `coverage.json`, `mutants.json`, `generated_mutants.json`, `sanitize.json`, `power_cuts.json` and
`database_kills.json` in `docs/measured`, and `fuzz/tally.json`, each written by the command that measures it.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import tally
from measure_coverage import LEAST, least_covered, share

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "robustness.md"
MEASURED = ROOT / "docs" / "measured"
FUZZ = ROOT / "fuzz"
MEANINGS = ROOT / "tests" / "system" / "meanings"
HEAD = """# Robustness

How the tests themselves are tested, and what attacks on readers, memory, disks and databases have shown. Written by
`python tools/write_robustness_page.py` from figures that the commands below keep.
"""
TAIL = """## Speed with all checks

The checks of this page came in after commit `edfaf66`. Of its README and of [Speed](speed.md), both by `ironbird bench`
and `ironbird bench campaign` on a quiet machine of two cores; the second column has all later work on speed in it.

| what | before | now |
| --- | ---: | ---: |
| 10,000 faulted one-minute flights, judged and stored | 164 s (61 a second) | 58 s (171 a second) |
| a millisecond of the F450, control on the true state: alone, of 64 lanes | 0.62 µs, 0.13 µs | 0.25 µs, 0.053 µs |
| the same with the reference autopilot | 1.6 µs, 0.42 µs | 0.61 µs, 0.145 µs |

## With every change

- Ten broken installations (no programs allowed in the cache, read-only home, full disk, foreign owner, damaged
  library, damaged store, wrong clock, no compiler, little memory, killed compiler):
  `tests/system/test_broken_installations.py`.
- Attacks that once succeeded, made again: `tests/system/test_attacks.py`.
- Every kept input of every reader, and a second of mutations; native readers under sanitizers:
  `tests/system/test_fuzz.py`.
- Power cuts and failing disks in small: `tests/system/test_power_cuts.py`. Kills of runner, worker and database:
  `tests/system/test_campaign_kill.py`.
"""
NOT_COUNTED = """A line counts as run, whatever is then checked: what tests see is shown by the mutants below. A branch
is one way out of a decision; those of C are as gcc makes them, two for each operand of `&&` and `||`.

Not counted: processes that are killed (SIGKILL) or started without the variables of their parent; native code in
programs of others that end by a signal or by `_exit`; C that is generated from models and chips; C that a test builds
by a compiler of its own (exported packages, images of firmware, readers under sanitizers); what runs in the page of a
browser. C files without a count (of these kinds, without code, or built by no test of this run)"""
MEANT = """500 of them were written on 2026-11-18 before any was flown, from the page of verdicts and the findings of
outsiders, not from the code. 52 then came out otherwise: 24 were wrong about the flight (a gust that does not move
the vehicle as far, a fault that is voted out), 20 were defects of the judge or of checks and are corrected, and 8 are
marked as known. Writing the corrections found two more defects, also corrected. 40 more of two things at once
(`joined`) were written on 2026-11-19 before any was flown: 5 came out otherwise, all of them slips of the orders or
wrong about the flight (a motor that turned already, a landing that is an item of the mission), none a defect of the
judge."""
OUTCOMES = ("killed", "survived", "stale", "broken", "timeout", "red", "equivalent")
ENGINES = ("libfuzzer", "atheris", "plain")
MANY = 10_000_000
RELEASE = 300  # generated mutants


class Section(NamedTuple):
    """A part of the page."""

    title: str
    command: str  # that keeps its figures
    file: str  # in docs/measured
    text: Callable[[dict[str, Any]], str]

    def write(self) -> str:
        """With its figures, or the command that has not been run to its end."""
        path = MEASURED / self.file
        if not path.exists():
            return f"## {self.title}\n\nNo figures of a whole run are kept: `{self.command}` writes them.\n"
        found = json.loads(path.read_text(encoding="utf-8"))
        return f"## {self.title}\n\n`{self.command}` on {found['date']}: {self.text(found)}"


def table(head: list[str], rows: list[list[object]]) -> str:
    """Rows of numbers, with names in the first column."""
    lines: list[list[object]] = [[*head], ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def coverage(found: dict[str, Any]) -> str:
    """Lines and branches that the tests run, in Python and in C."""
    tests = found["tests"]
    only = ", ".join(f"`{name}`" for name in found["only"])
    which = (
        f"of {only} **only, a small part of the suite: these figures do not describe it**," if only else "of the suite"
    )
    text = (
        f"{tests['run']:,} tests {which} at commit `{found['commit']}`, in "
        f"{found['minutes']} minutes. {tests['skipped']} were skipped. {tests['in_usual_build']} do not pass in the "
        f"build with counters (they need the usual compiler or its speed) and ran again in the usual one, where Python "
        f"alone is counted; {len(tests['failed'])} failed there too.\n\n"
    )

    def row(name: str, counts: dict[str, int]) -> list[object]:
        shares = [share(counts, kind) for kind in ("lines", "branches")]
        return [name, f"{counts['lines']:,}", shares[0], f"{counts['branches']:,}", shares[1]]

    head = ["lines", "run", "branches", "taken"]
    totals = [row(f"{name}, {counts['files']:,} files", counts) for name, counts in found["totals"].items()]
    least = [row(f"`{name}`", counts) for name, counts in least_covered(found["files"]).items()]
    return (
        text
        + table(["language", *head], totals)
        + f"\nThe {len(least)} least covered files of {LEAST} lines and more:\n\n"
        + table(["file of `src/ironbird`", *head], least)
        + f"\n{NOT_COUNTED}: {', '.join(f'`{name}`' for name in found['not_counted'])}.\n"
    )


def mutants(found: dict[str, Any]) -> str:
    """Planted mistakes by group."""
    outcomes = [name for name in OUTCOMES if name in found]
    left = found["entries"] - found["killed"] - found["equivalent"]
    groups = found["groups"].items()
    rows: list[list[object]] = [
        [f"`mutants/{group}.toml`", *(row.get(name, 0) for name in outcomes)] for group, row in groups
    ]
    return (
        f"{found['entries']} mistakes, one at a time. {found['killed']} were killed by the test that is named for "
        f"them, {found['equivalent']} are equivalent (no test sees them), {left} are left. "
        f"{found['processor_seconds'] / 60:.0f} minutes of one processor.\n\n" + table(["group", *outcomes], rows)
    )


def generated(found: dict[str, Any]) -> str:
    """Mistakes drawn by chance, by area, and every one that was not killed."""
    rows = found["mutants"]
    outcomes = ("killed", "equivalent", "survived")
    shown: list[list[object]] = []
    for area in dict.fromkeys(row["area"] for row in rows):
        own = [row["outcome"] for row in rows if row["area"] == area]
        shown.append([area, len(own), *(own.count(name) for name in outcomes)])
    shown.append(["together", len(rows), *(found[name] for name in outcomes)])
    tried = found["run"] - found["equivalent"]
    left = [row for row in rows if row["outcome"] != "killed"]
    text = (
        f"comparisons, signs, constants, dropped terms and halves of pairs, drawn by chance (seed {found['seed']}, at "
        f"commit `{found['commit']}`) from the packages below. {found['run']} of the {RELEASE} that a release asks "
        f"for were run, one at a time, with {found['rounds']} of 3 rounds of tests (the nearest first). "
        f"{found['killed']} were killed, {found['equivalent']} are "
        f"equivalent (no test can see them). {found['survived']} survived: {100 * found['survived'] / tried:.1f} % of "
        f"{tried}. Of those not killed, {found['unexplained']} have no reason in `mutants/generated/explained.toml`. "
        f"**Before tests were written for what this draw showed, {found['survived_first']} survived: "
        f"{100 * found['survived_first'] / tried:.0f} %.** That is what to expect of mistakes that were not drawn "
        f"yet; another seed shows what these tests leave. {found.get('beyond', 0)} of the killed are so by unit tests "
        "that are not among the nearest: the tool itself does not come to them. Whole commands (`tests/system`) and "
        "tests that read the clock are not run for a mutant: some survivors may be seen by these.\n\n"
    )
    text += table(["area", "run", *outcomes], shown)
    if left:
        text += "\n| not killed | before | after | why |\n| --- | --- | --- | --- |\n"
        for row in left:
            before, after = (f"`{' '.join(row[key].split())}`".replace("|", "\\|") for key in ("before", "after"))
            text += f"| `{row['file']}:{row['line']}`, {row['outcome']} | {before} | {after} | {row['reason']} |\n"
    return text


def sanitizers(found: dict[str, Any]) -> str:
    """Native code under AddressSanitizer and UndefinedBehaviorSanitizer."""
    kinds = ", ".join(f"{count} {name}" for name, count in found["kinds"].items())
    return (
        f"{found['units']} units ({kinds}) in a build with AddressSanitizer and UndefinedBehaviorSanitizer. "
        f"{found['different']} differ from the usual build or fail, {found['reports']} reports.\n"
    )


def power_cuts(found: dict[str, Any]) -> str:
    """Power cuts and failing disks."""
    text = (
        f"a campaign of {found['flights']} flights on SQLite, cut {found['cuts']:,} times and resumed, "
        f"{found['flown_on']} times by flying: {found['lost']} lost, {found['double']} double, {found['changed']} "
        f"changed, {found['other']} other mistakes.\n"
    )
    for what in ("errors of the disk", "a full disk"):
        row = found[what]
        text += f"Then {what}: {row['operations']} operations failed in turn, {row['wrong']} with a wrong outcome.\n"
    return text


def database_kills(found: dict[str, Any]) -> str:
    """PostgreSQL killed during a campaign."""
    return (
        f"PostgreSQL was killed (SIGKILL) {found['kills']} times during a campaign of {found['flights']} flights: "
        f"{found['lost']} lost, {found['double']} double, {found['changed']} changed.\n"
    )


def fuzzing() -> str:
    """Inputs by reader and engine."""
    rows = {name: tally.read().get(name, {}) for name in _readers()}
    seen = {name: tally.seen(row) for name, row in rows.items()}
    many = sum(count >= MANY for count in seen.values())
    shown: list[list[object]] = []
    for name, row in rows.items():
        by_engine = [f"{row.get('by_engine', {}).get(engine, 0):,}" for engine in ENGINES]
        kept = sum(1 for _ in (FUZZ / "regressions" / name).glob("*"))
        shown.append([name, f"{seen[name]:,}", *by_engine, _beyond(row), max(kept, row.get("finds", 0))])
    return (
        "## Fuzzed inputs\n\n`make fuzz`: inputs of each reader so far. `libfuzzer` runs the reader's C code under "
        "sanitizers, guided by its coverage; `atheris` is guided by that of the Python code; `plain` changes bytes of "
        "kept inputs, and values, keys and entries of the tables that the libraries for TOML, JSON, YAML and SQLite "
        "hand to Ironbird, without guidance: an input that was there before does not count, and `beyond` is the share "
        "that the reader did not refuse at first sight (no TOML, no such name). Readers of ports take rows of packets: "
        "the first column counts packets, the others rows. Finds are fixed, and their inputs kept in "
        "`fuzz/regressions`.\n"
        f"\n{sum(seen.values()):,} inputs in all; {many} of {len(rows)} readers have seen {MANY:,} and more.\n\n"
        + table(["reader", "seen", *ENGINES, "beyond", "finds"], shown)
    )


def meanings() -> str:
    """Orders of the suite of meanings by topic."""
    rows, known = list[list[object]](), list[str]()
    for path in sorted(MEANINGS.glob("*.toml")):
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("meaning", [])
        others = [meaning for meaning in listed if "known" in meaning]
        if listed:
            rows.append([f"`{path.stem}`", len(listed), len(others)])
        known += [f"- {path.stem}, {meaning['id']}: {meaning['known']}." for meaning in others]
    total = sum(int(str(row[1])) for row in rows)
    return (
        f"## Suite of meanings\n\n{total} small orders in `tests/system/meanings`, each with the verdict that an "
        "engineer would give and one sentence why; `tests/system/test_meanings.py` flies them. "
        f"{MEANT}\n\n"
        + table(["topic", "orders", "judged otherwise today"], rows)
        + "\nJudged otherwise today; the tests fail when one of them is judged as it should be:\n\n"
        + "\n".join(known)
        + "\n"
    )


def _readers() -> list[str]:
    """Names of all, in Python and in C."""
    targets = {path.stem for path in (FUZZ / "targets").glob("*.py")} - {"__init__"}
    return sorted(targets | ({path.stem for path in (FUZZ / "native").glob("*.c")} - {"replay"}))


def _beyond(row: dict[str, Any]) -> str:
    return f"{100 * row['beyond'] / row['looked']:.0f} %" if row.get("looked") else "-"


def page() -> str:
    """The whole page."""
    cuts = "make power-cuts"
    return "\n".join(
        (
            HEAD,
            Section("Coverage", "make coverage", "coverage.json", coverage).write(),
            Section("Planted mistakes (mutants)", "make mutants", "mutants.json", mutants).write(),
            Section("Generated mistakes", "make mutants GENERATED=300", "generated_mutants.json", generated).write(),
            meanings(),
            Section("Sanitizers", "make sanitize", "sanitize.json", sanitizers).write(),
            fuzzing(),
            Section("Power cuts and failing disks", cuts, "power_cuts.json", power_cuts).write(),
            Section("Killed databases", cuts, "database_kills.json", database_kills).write(),
            TAIL,
        )
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
