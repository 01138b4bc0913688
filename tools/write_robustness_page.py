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


def _read(name: str) -> dict[str, Any] | None:
    """Figures that a command has kept; None if it has not been run to its end."""
    path = MEASURED / name
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def _unmeasured(title: str, command: str) -> str:
    return f"## {title}\n\nNo figures of a whole run are kept: `{command}` writes them.\n"


def mutants() -> str:
    """Planted mistakes by group."""
    found = _read("mutants.json")
    if found is None:
        return _unmeasured("Planted mistakes (mutants)", "make mutants")
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
    if found is None:
        return _unmeasured("Sanitizers", "make sanitize")
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
        "guidance. Finds are fixed, and their inputs kept in `fuzz/regressions`.\n\n"
        f"{total:,} inputs in all; {many} of {len(tally)} readers have seen {MANY:,} and more.\n\n"
        f"| reader | inputs | {' | '.join(ENGINES)} | finds |\n| --- | ---: |{' ---: |' * len(ENGINES)} ---: |\n"
    )
    for name, row in tally.items():
        by = " | ".join(f"{row['by_engine'].get(engine, 0):,}" for engine in ENGINES)
        text += f"| {name} | {row['inputs']:,} | {by} | {row['finds']} |\n"
    return text


def power_cuts() -> str:
    """Power cuts and failing disks."""
    cuts = _read("power_cuts.json")
    if cuts is None:
        return _unmeasured("Power cuts and failing disks", "make power-cuts")
    text = (
        "## Power cuts and failing disks\n\n"
        f"`make power-cuts` on {cuts['date']}: a campaign of {cuts['flights']} flights on SQLite, "
        f"cut {cuts['cuts']:,} times and resumed, {cuts['flown_on']} times by flying: {cuts['lost']} lost, "
        f"{cuts['double']} double, {cuts['changed']} changed, {cuts['other']} other mistakes.\n"
    )
    for what in ("errors of the disk", "a full disk"):
        row = cuts[what]
        text += f"Then {what}: {row['operations']} operations failed in turn, {row['wrong']} with a wrong outcome.\n"
    return text


def database_kills() -> str:
    """PostgreSQL killed during a campaign."""
    kills = _read("database_kills.json")
    if kills is None:
        return _unmeasured("Killed databases", "make power-cuts")
    return (
        f"## Killed databases\n\nPostgreSQL was killed (SIGKILL) {kills['kills']} times during a campaign of "
        f"{kills['flights']} flights ({kills['date']}): {kills['lost']} lost, {kills['double']} double, "
        f"{kills['changed']} changed.\n"
    )


def page() -> str:
    """The whole page."""
    return "\n".join((HEAD, mutants(), sanitizers(), fuzzing(), power_cuts(), database_kills(), TAIL))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
