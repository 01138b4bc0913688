"""Write docs/robustness.md: mistakes planted, inputs fuzzed, sanitizers, power cuts, from the figures that were kept.

    python tools/write_robustness_page.py

Figures: `mutants.json`, `sanitize.json`, `power_cuts.json` and `database_kills.json` in `docs/measured`, and
`fuzz/tally.json`, each written by the command that measures it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "robustness.md"
MEASURED = ROOT / "docs" / "measured"
TALLY = ROOT / "fuzz" / "tally.json"
HEAD = """# Robustness

How the tests themselves are tested, and what attacks on readers, memory, disks and databases have shown. Written by
`python tools/write_robustness_page.py` from figures that the commands below keep.
"""


TAIL = """## With every change

- Ten broken installations (no programs allowed in the cache, read-only home, full disk, foreign owner, damaged
  library, damaged store, wrong clock, no compiler, little memory, killed compiler):
  `tests/system/test_broken_installations.py`.
- Attacks that once succeeded, made again: `tests/system/test_attacks.py`.
- Every kept input of every reader, and a second of mutations; native readers under sanitizers:
  `tests/system/test_fuzz.py`.
- Power cuts and failing disks in small: `tests/system/test_power_cuts.py`. Kills of runner, worker and database:
  `tests/system/test_campaign_kill.py`.
"""
OUTCOMES = ("killed", "survived", "stale", "broken", "timeout", "red", "equivalent")
ENGINES = ("libfuzzer", "atheris", "plain")
MANY = 10_000_000


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((MEASURED / name).read_text(encoding="utf-8")))


def mutants() -> str:
    """Planted mistakes by group."""
    found = _read("mutants.json")
    outcomes = [name for name in OUTCOMES if name in found]
    left = found["entries"] - found["killed"] - found["equivalent"]
    text = (
        "## Planted mistakes (mutants)\n\n"
        f"`make mutants` on {found['date']}: {found['entries']} mistakes, one at a time. {found['killed']} were "
        f"killed by the test that is named for them, {found['equivalent']} are equivalent (no test sees them), {left} "
        f"are left. {found['processor_seconds'] / 60:.0f} minutes of one processor.\n\n"
        f"| group | {' | '.join(outcomes)} |\n| --- |{' ---: |' * len(outcomes)}\n"
    )
    for group, counts in found["groups"].items():
        text += f"| `mutants/{group}.toml` | {' | '.join(str(counts.get(name, 0)) for name in outcomes)} |\n"
    return text


def sanitizers() -> str:
    """Native code under AddressSanitizer and UndefinedBehaviorSanitizer."""
    found = _read("sanitize.json")
    kinds = ", ".join(f"{count} {name}" for name, count in found["kinds"].items())
    return (
        f"## Sanitizers\n\n`make sanitize` on {found['date']}: {found['units']} units ({kinds}) in a build with "
        f"AddressSanitizer and UndefinedBehaviorSanitizer. {found['different']} differ from the usual build or fail, "
        f"{found['reports']} reports.\n"
    )


def fuzzing() -> str:
    """Inputs by reader and engine."""
    tally: dict[str, dict[str, Any]] = json.loads(TALLY.read_text(encoding="utf-8"))
    total = sum(row["inputs"] for row in tally.values())
    many = sum(row["inputs"] >= MANY for row in tally.values())
    text = (
        "## Fuzzed inputs\n\n`make fuzz`: inputs of each reader so far. `libfuzzer` runs the reader's C code under "
        "sanitizers, guided by its coverage; `atheris` is guided by that of the Python code; `plain` mutates without "
        "guidance. Finds are mended, and their inputs kept in `fuzz/regressions`.\n\n"
        f"{total:,} inputs in all; {many} of {len(tally)} readers have seen {MANY:,} and more.\n\n"
        f"| reader | inputs | {' | '.join(ENGINES)} | finds |\n| --- | ---: |{' ---: |' * len(ENGINES)} ---: |\n"
    )
    for name, row in tally.items():
        by = " | ".join(f"{row['by_engine'].get(engine, 0):,}" for engine in ENGINES)
        text += f"| {name} | {row['inputs']:,} | {by} | {row['finds']} |\n"
    return text


def power() -> str:
    """Power cuts, failing disks, killed databases."""
    cuts, kills = _read("power_cuts.json"), _read("database_kills.json")
    text = (
        "## Power cuts, failing disks, killed databases\n\n"
        f"`make power-cuts` on {cuts['date']}: a campaign of {cuts['flights']} flights on SQLite, cut {cuts['cuts']:,} "
        f"times and resumed, {cuts['flown_on']} times by flying: {cuts['lost']} lost, {cuts['double']} double, "
        f"{cuts['changed']} changed, {cuts['other']} other mistakes.\n"
    )
    for what in ("errors of the disk", "a full disk"):
        row = cuts[what]
        text += f"Then {what}: {row['operations']} operations failed in turn, {row['wrong']} with a wrong outcome.\n"
    return text + (
        f"\nPostgreSQL was killed (SIGKILL) {kills['kills']} times during a campaign of {kills['flights']} flights "
        f"({kills['date']}): {kills['lost']} lost, {kills['double']} double, {kills['changed']} changed.\n"
    )


def page() -> str:
    """The whole page."""
    return "\n".join((HEAD, mutants(), sanitizers(), fuzzing(), power(), TAIL))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
