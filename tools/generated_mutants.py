"""Mutation testing by chance: mistakes that no person has chosen, each planted in a copy of the source, one at a time.

    python tools/generated_mutants.py 300                      draw 300 and try each
    python tools/generated_mutants.py 300 --seed 2             others
    python tools/generated_mutants.py 300 --minutes 60         as many of them as an hour allows
    python tools/generated_mutants.py 300 --only blocks        those whose file has this text
    python tools/generated_mutants.py 300 --rounds 1           a quick look: the nearest tests alone
    python tools/generated_mutants.py 300 --record FILE        keep the outcome as JSON

Of the files of `AREAS`, in an order by chance, one mutation each is drawn (`tools/mutations.py`), then a second, and so
on. Tests that concern the file are run until one fails: the file of tests of the same name; tests that import the
module or name what it defines; the tests of its package. Tests that are marked slow are not run, nor those of whole
commands, nor those that read the clock of the machine if they are of another name: a survivor is one of the unit tests.
Each round has a limit of processor time; a mutant under which it does not end, though it does in a third of the limit
without, is killed by that. One that cannot be imported or compiled is no mutant: another one is drawn.

A survivor that no test can see, or need not see, has a reason in `mutants/generated/explained.toml`: `equivalent` there
says which of the two. Outcomes are kept (`generated.jsonl` in the folder of `--cache`) and hold while the source is the
same, and the test that killed or the tests that did not. A record that is written over one of the same seed keeps what
each mutant came to at `first`, before tests were written for those that survived. Ends with 1 if more than
`MOST_SURVIVORS` of them survived, or one without a reason.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mutants import PRELOADED, ROOT, TRANSLATES, Finding, Kept, Mutant, Nursery, _file_hash, _source_hash, judged
from mutations import SOURCE, Mutation, mutations

AREAS = {
    "blocks": "blocks/**/*.py", "boards/chips": "boards/chips/**/*.py", "flight": "flight/**/*.py",
    "campaign": "campaign/**/*.py", "requirements": "requirements/**/*.py", "kernel": "compiler/c/*.[ch]",
    "kernel, run": "runtime/c/*.[ch]", "kernel, margins": "requirements/c/*.[ch]",
    "kernel, chips": "boards/chips/c/*.h",
}  # fmt: skip
EXPLAINED = ROOT / "mutants" / "generated" / "explained.toml"
LIMIT_S = 120.0  # of a processor, for a round of tests, if no other is given
SLOWER = 3.0  # times as long as without the mutant: it does not end
WIDEST = 5  # files of tests in a round
MOST_SURVIVORS = 0.05
FOLDERS = ("unit", "property")
CLOCK = re.compile(r"\btime\.(?:monotonic|sleep|time)\(|perf_counter")  # in a test that a busy machine may fail
AROUND = {  # folders of tests, where they are not called as those of the source
    "compiler/c": ["runtime", "compiler", "blocks/bodies"], "runtime/c": ["runtime"],
    "requirements/c": ["requirements"], "boards/chips/c": ["boards/chips", "boards"],
}  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A mutation of a file, as it is planted."""

    mutant: Mutant
    area: str
    line: int
    kind: str
    before: str
    after: str

    def key(self) -> str:
        """Changes with the source and with what is planted."""
        told = [_source_hash(ROOT), self.mutant.file, self.mutant.old, self.mutant.new]
        return hashlib.sha256(repr(told).encode()).hexdigest()


def draw(seed: int, only: str = "") -> Iterator[Drawn]:
    """Mutations in the order of a seed: one of each file, then another of each, until there are none.

    A change of one file changes what is drawn in that file alone.
    """
    areas = {
        path.relative_to(SOURCE).as_posix(): area for area, pattern in AREAS.items() for path in SOURCE.glob(pattern)
    }
    files = sorted((file for file in areas if only in file), key=lambda file: _chance(seed, file))
    texts: dict[str, str] = {}
    left: dict[str, list[Mutation]] = {}
    while files:
        for file in list(files):
            if file not in texts:
                text = texts[file] = (SOURCE / file).read_text(encoding="utf-8")
                left[file] = _shuffled(seed, text, mutations(file, text))
            if left[file]:
                yield _planted(file, texts[file], left[file].pop(), areas[file])
            else:
                files.remove(file)


def _shuffled(seed: int, text: str, found: list[Mutation]) -> list[Mutation]:
    return sorted(found, key=lambda one: _chance(seed, *one.replacement(text), one.new))


def _chance(seed: int, *words: str) -> str:
    return hashlib.sha256(repr((seed, *words)).encode()).hexdigest()


def _planted(file: str, text: str, one: Mutation, area: str) -> Drawn:
    old, new = one.replacement(text)
    column = one.begin - text.rfind("\n", 0, one.begin)
    name = f"{file}:{one.line(text)}:{column} {one.kind}"
    mutant = Mutant(name, file, old, new, "", "", area, hangs=True)
    return Drawn(mutant, area, one.line(text), one.kind, text[one.begin : one.end], one.new)


# -------------------------------------------------------------------- tests that concern a file


@functools.cache
def _tests() -> dict[str, str]:
    """Texts of all files of tests, by path from the root."""
    paths = (path for folder in FOLDERS for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def _users(name: str) -> list[str]:
    """Modules that name a file of C."""
    paths = sorted(SOURCE.rglob("*.py"))
    return [path.relative_to(SOURCE).as_posix() for path in paths if name in path.read_text(encoding="utf-8")]


def _importers(pattern: re.Pattern[str], folder: Path) -> list[Path]:
    """Modules of a folder whose text has a pattern."""
    return [path for path in sorted(folder.glob("*.py")) if pattern.search(path.read_text(encoding="utf-8"))]


@functools.cache
def rounds(file: str) -> list[list[str]]:
    """Files of tests that concern a file of the source, the nearest first."""
    path = Path(file)
    name = f"test_{path.stem.removeprefix('ib_')}"
    timed = {test for test, text in _tests().items() if CLOCK.search(text)}
    same = [test for test in _tests() if Path(test).stem == name and path.parts[0] in test.split("/")]
    modules = [file] if path.suffix == ".py" else _users(path.name)
    dotted = "|".join(re.escape(module.removesuffix(".py").replace("/", ".")) for module in modules)
    imported = re.compile(rf"\bironbird\.(?:{dotted})\b")
    if not same:  # a base of others is tested where they are
        kin = {f"test_{user.stem}" for user in _importers(imported, (SOURCE / file).parent)}
        same = [test for test in _tests() if Path(test).stem in kin]
    words = [rf"['\"]{re.escape(path.stem)}['\"]" if path.suffix == ".py" else rf"\b{re.escape(path.stem)}\b"]
    if path.suffix == ".py":
        tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
        words += [rf"\b{node.name}\b" for node in tree.body if isinstance(node, ast.ClassDef)]
    named = re.compile("|".join(words))
    folders = AROUND.get(path.parent.as_posix(), [path.parent.as_posix().removesuffix("/parts")])
    around = [test for folder in folders for test in _tests() if f"/{folder}/" in test]
    near = {
        test: (test in around, bool(imported.search(text)), len(named.findall(text))) for test, text in _tests().items()
    }
    near = {test: rank for test, rank in near.items() if rank[1] or rank[2]}
    found: list[list[str]] = []
    for tests in (same, sorted(near, key=lambda test: near[test], reverse=True), around):
        new = [test for test in tests if not any(test in earlier for earlier in found)]
        found.append([test for test in new if tests is same or test not in timed][:WIDEST])
    return [tests for tests in found if tests]


class Trial:
    """Tries mutants out, and knows which tests fail without any."""

    def __init__(self, folder: Path, cache: Path, most: int, limit_s: float) -> None:
        self.nursery = Nursery(folder, cache, ROOT, PRELOADED)
        self.most, self.limit_s = most, limit_s  # rounds, and of each
        self.quick: dict[tuple[str, ...], bool] = {}  # whether tests end early in the limit without a mutant
        self.red: set[str] = set()
        self.green: set[str] = set()

    def _arguments(self, names: Sequence[str]) -> list[str]:
        return ["-m", "not slow", *(f"--deselect={name}" for name in sorted(self.red)), *names]

    def of(self, mutant: Mutant) -> Finding:
        """What becomes of a mutant; `detail` is the test that killed it, or why it is none."""
        begin, before_s = time.monotonic(), self.nursery.cpu_s
        finding = Finding(mutant, "survived")
        for names in rounds(mutant.file)[: self.most]:
            finding = self._round(mutant, names)
            if finding.outcome != "survived":
                break
        seconds, cpu_s = round(time.monotonic() - begin, 1), round(self.nursery.cpu_s - before_s, 1)
        return replace(finding, seconds=seconds, cpu_s=cpu_s)

    def _round(self, mutant: Mutant, names: Sequence[str]) -> Finding:
        for _ in range(10):
            known = "" if mutant.file.split("/")[0] in TRANSLATES else self.nursery.package_hash  # as in mutants.py
            with self.nursery.planted(mutant):
                code, said = self.nursery.test(self._arguments(names), self.limit_s, package_hash=known)
            if code == 5 or (code is None and not self._are_quick(names)):  # no test is left, or they say nothing
                return Finding(mutant, "survived")
            if code is not None and code < 0:
                return Finding(mutant, "killed", detail=f"a crash of the interpreter (signal {-code})")
            finding = judged(mutant, code, said, 0.0, self.limit_s)
            if finding.outcome == "killed" and code == 1 and not finding.detail:
                return Finding(mutant, "broken", detail=f"no test could begin: {said.strip()[-200:]}")
            if finding.outcome != "killed" or code is None or self._is_green(f"tests/{finding.detail}"):
                return finding
        return Finding(mutant, "broken", detail="ten tests fail without it")

    def _are_quick(self, names: Sequence[str]) -> bool:
        """Whether tests end so early that not ending within the limit is the work of a mutant."""
        if tuple(names) not in self.quick:
            code, _ = self.nursery.test(self._arguments(names), self.limit_s / SLOWER)
            self.quick[tuple(names)] = code is not None
        return self.quick[tuple(names)]

    def _is_green(self, test: str) -> bool:
        """Whether a test passes without any mutant; one that does not is left out from now on."""
        if test not in self.green:
            code, _ = self.nursery.test([test], self.limit_s)
            (self.green if code == 0 else self.red).add(test)
        return test in self.green


# -------------------------------------------------------------------- outcomes


def explained() -> list[dict[str, str | bool]]:
    """Survivors with a reason: file, before, after (whole lines), reason, equivalent."""
    if not EXPLAINED.is_file():
        return []
    found: list[dict[str, str | bool]] = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["survivor"]
    return found


def reason_of(drawn: Drawn, reasons: Sequence[dict[str, str | bool]]) -> tuple[str, bool]:
    """Why a survivor may survive, and whether it is equivalent; no text if none is given."""
    for entry in reasons:
        if (entry["file"], entry["before"], entry["after"]) == (drawn.mutant.file, *_shown(drawn)):
            return str(entry["reason"]), bool(entry.get("equivalent", False))
    return "", False


def _shown(drawn: Drawn) -> tuple[str, str]:
    """Last lines of what is replaced, as the record and the reasons have them."""
    return drawn.mutant.old.strip(), drawn.mutant.new.strip()


def _tests_hash(names: Sequence[str]) -> str:
    return hashlib.sha256(repr([(name, _file_hash(ROOT / name)) for name in names]).encode()).hexdigest()


def _concerned(drawn: Drawn, finding: Finding, most: int) -> list[str]:
    """Files of tests on which an outcome depends."""
    if finding.outcome == "killed" and "::" in finding.detail:
        return [f"tests/{finding.detail.partition('::')[0]}"]
    return [name for names in rounds(drawn.mutant.file)[:most] for name in names]


def _known(drawn: Drawn, kept: Kept, most: int) -> Finding | None:
    """An outcome that was kept and holds."""
    entry = kept.known.get(drawn.key())
    if entry is None:
        return None
    finding = Finding(drawn.mutant, str(entry["outcome"]), detail=str(entry["detail"]))
    tests = _concerned(drawn, finding, most)
    held = {test for names in rounds(drawn.mutant.file) for test in names} >= set(tests)
    return finding if held and entry["tests"] == _tests_hash(tests) else None


def run(
    number: int,
    seed: int,
    cache: Path,
    *,
    minutes: float,
    only: str,
    most: int,
    limit_s: float,
    say: Callable[[str], None],
) -> list[tuple[Drawn, Finding]]:
    """Try out so many mutants, or as many as the time allows."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = Kept(cache / "generated.jsonl", resume=True)
    end = time.monotonic() + 60 * minutes
    done: list[tuple[Drawn, Finding]] = []
    with tempfile.TemporaryDirectory(prefix="ironbird-mutants-") as folder:
        trial = Trial(Path(folder) / "source", cache, most, limit_s)
        try:
            for drawn in draw(seed, only):
                if len(done) >= number:
                    break
                finding = _known(drawn, kept, most)
                if finding is None:
                    if time.monotonic() > end:
                        break
                    finding = trial.of(drawn.mutant)
                    entry = {"outcome": finding.outcome, "detail": finding.detail, "cpu_s": finding.cpu_s}
                    kept.add(
                        drawn.key(), id=drawn.mutant.id, tests=_tests_hash(_concerned(drawn, finding, most)), **entry
                    )
                if finding.outcome == "broken":
                    say(f"[ no ] {drawn.mutant.id}: {finding.detail[:200]}")
                    continue
                done.append((drawn, finding))
                say(f"[{len(done):4d}] {finding.outcome:9s} {finding.cpu_s:6.1f} s  {drawn.mutant.id}"
                    f"  {drawn.before!r} -> {drawn.after!r}  {finding.detail}")  # fmt: skip
        finally:
            trial.nursery.close()
    return done


def record(
    done: Sequence[tuple[Drawn, Finding]], number: int, seed: int, most: int, earlier: Path | None = None
) -> dict[str, object]:
    """What a run found, as it is kept with the project; `earlier` is a record whose first outcomes stay."""
    reasons, known = explained(), _first_outcomes(earlier, seed)
    rows: list[dict[str, object]] = []
    for drawn, finding in done:
        row: dict[str, object] = {
            "id": drawn.mutant.id, "area": drawn.area, "file": drawn.mutant.file, "line": drawn.line,
            "kind": drawn.kind, "before": drawn.before, "after": drawn.after, "outcome": finding.outcome,
        }  # fmt: skip
        if finding.outcome == "killed":
            row["by"] = finding.detail
        else:
            reason, equivalent = reason_of(drawn, reasons)
            row["outcome"] = "equivalent" if equivalent else "survived"
            row["reason"] = reason
        row["first"] = "equivalent" if row["outcome"] == "equivalent" else known.get(drawn.mutant.id, row["outcome"])
        rows.append(row)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    counts = Counter(str(row["outcome"]) for row in rows)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit, "seed": seed, "asked": number,
        "rounds": most, "run": len(rows), "killed": counts["killed"], "survived": counts["survived"],
        "equivalent": counts["equivalent"], "survived_first": sum(row["first"] == "survived" for row in rows),
        "unexplained": sum(row["outcome"] != "killed" and not row["reason"] for row in rows),
        "mutants": rows,
    }  # fmt: skip


def _first_outcomes(earlier: Path | None, seed: int) -> dict[str, str]:
    """Outcomes by id, as an earlier record of the same draw has them."""
    if earlier is None or not earlier.is_file():
        return {}
    found = json.loads(earlier.read_text(encoding="utf-8"))
    return {row["id"]: row["first"] for row in found["mutants"] if "first" in row} if found["seed"] == seed else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, help="of mutants")
    parser.add_argument("--seed", type=int, default=1, help="which of them")
    parser.add_argument("--only", default="", help="those whose file has this text")
    parser.add_argument("--rounds", type=int, default=3, help="of tests for each, 1 for the nearest alone")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of a processor for a round")
    parser.add_argument("--minutes", type=float, default=1e6, help="no mutant is begun after so long")
    parser.add_argument("--record", type=Path, help="write the outcome to this file (JSON)")
    usual = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ironbird-mutants"
    parser.add_argument("--cache", type=Path, default=usual, help="compiled kernels and outcomes, kept between runs")
    chosen = parser.parse_args(arguments)
    begin = time.monotonic()
    done = run(
        chosen.number, chosen.seed, chosen.cache, minutes=chosen.minutes, only=chosen.only,
        most=chosen.rounds, limit_s=chosen.limit, say=lambda text: print(text, flush=True),
    )  # fmt: skip
    found = record(done, chosen.number, chosen.seed, chosen.rounds, chosen.record)
    if chosen.record:
        chosen.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for drawn, finding in done:
        if finding.outcome != "killed" and not reason_of(drawn, explained())[0]:
            before, after = _shown(drawn)
            print(f"\nno reason: {drawn.mutant.id}\n- {before}\n+ {after}")
    told = {name: found[name] for name in ("asked", "run", "killed", "survived", "equivalent", "unexplained")}
    print(f"\n{', '.join(f'{name} {count}' for name, count in told.items())} in {time.monotonic() - begin:.0f} s")
    survived, unexplained = int(str(found["survived"])), int(str(found["unexplained"]))
    return 0 if survived <= MOST_SURVIVORS * len(done) and not unexplained else 1


if __name__ == "__main__":
    sys.exit(main())
