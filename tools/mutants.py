"""Mutation testing: plant one wrong thing at a time in a copy of the source; the test that is named must see it.

    python tools/mutants.py                     all of them
    python tools/mutants.py --only judge        those whose id or file has this text
    python tools/mutants.py --list              what is planted, where, and which test must fail

Each entry of `mutants/*.toml` says which text of which file is replaced by what, which test must fail then, and why it
matters. The checkout is never touched: a copy of `src` is changed, and the tests import that. Killed is a mutant whose
test fails (exit code 1 of pytest); a mutant that does not compile or cannot be imported proves nothing and is `broken`;
one whose old text is not there exactly once is `stale`; one that runs out of time is killed only if its entry says
`hangs = true`. An entry with `equivalent = "reason"` is listed and not run: no test can see it. Ends with 1 unless
every other mutant is killed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "mutants"
LIMIT_S = 180.0  # of one test under one mutant
OUTCOMES = ("killed", "survived", "stale", "broken", "timeout", "equivalent")
GOOD = ("killed", "equivalent")
# Errors that say that the mutant is no program at all
NO_PROGRAM = re.compile(r"^E\s+(?:[\w.]+\.)?(NameError|SyntaxError|IndentationError|ImportError|CompileError)\b", re.M)

KILLER = re.compile(r"^(?:FAILED|ERROR) tests/(.+?)(?: - .*)?$", re.M)  # the test that failed


@dataclass(frozen=True)
class Mutant:
    """One wrong thing, and the test that must see it."""

    id: str
    file: str  # below src/ironbird
    old: str
    new: str
    test: str  # below tests; several are separated by blanks
    why: str
    group: str = ""  # file of the list
    equivalent: str = ""  # why no test can see it
    hangs: bool = False  # the test may also run out of time

    def tests(self) -> list[str]:
        """As pytest takes them."""
        return [f"tests/{name}" for name in self.test.split()]


@dataclass(frozen=True)
class Finding:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str
    seconds: float = 0.0
    detail: str = ""


def load(folder: Path = LIST) -> list[Mutant]:
    """All entries; raises ValueError if one of them is not as it should be."""
    known = {entry.name for entry in fields(Mutant)} - {"group"}
    found: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            where = f"{path.name}: {table.get('id', table)}"
            if wrong := sorted(set(table) - known):
                raise ValueError(f"{where}: unknown keys {', '.join(wrong)}")
            if lacking := sorted({"id", "file", "old", "new", "test", "why"} - set(table)):
                raise ValueError(f"{where}: lacks {', '.join(lacking)}")
            if table["old"] == table["new"]:
                raise ValueError(f"{where}: old and new are the same")
            found.append(Mutant(**table, group=path.stem))
    if twice := [name for name, count in Counter(mutant.id for mutant in found).items() if count > 1]:
        raise ValueError(f"ids appear twice: {', '.join(twice)}")
    return found


def staleness(mutant: Mutant, root: Path = ROOT) -> str:
    """Why a mutant cannot be planted any more; empty if it can."""
    path = root / "src" / "ironbird" / mutant.file
    if not path.is_file():
        return f"there is no file {mutant.file}"
    if (count := path.read_text(encoding="utf-8").count(mutant.old)) != 1:
        return f"the old text is there {count} times"
    for test in mutant.tests():
        file, _, name = test.partition("::")
        if not (root / file).is_file():
            return f"there is no test file {file}"
        if name and f"def {name.partition('[')[0]}(" not in (root / file).read_text(encoding="utf-8"):
            return f"{file} has no {name}"
    return ""


class Nursery:
    """A copy of the source in which mutants are planted, one after the other."""

    def __init__(self, folder: Path, cache: Path, root: Path = ROOT) -> None:
        self.root, self.source = root, folder / "src"
        shutil.copytree(root / "src", self.source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        # Byte code that is checked by content: a mutant of equal length within the same second must not be overlooked
        compileall.compile_dir(self.source, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(self.source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # none is needed here, and they take a second
            "IRONBIRD_CACHE": str(cache),
            "IRONBIRD_MUTANTS": "1",  # tests/conftest.py: examples that fail are not made smaller
        }
        told = subprocess.run(
            [sys.executable, "-c", "import ironbird; print(ironbird.__file__)"],
            cwd=root, env=self.environment, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        if not Path(told).is_relative_to(self.source):
            raise RuntimeError(f"tests would import {told} instead of the copy in {self.source}")

    def test(self, tests: Sequence[str], limit_s: float) -> tuple[int | None, str]:
        """Exit code of pytest and its output; None if it ran out of time."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-x", "--durations=0", "--no-header"]
        process = subprocess.Popen(
            [*command, "--tb=short", *tests],
            cwd=self.root, env=self.environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = process.communicate(timeout=limit_s)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # a new session: no other process is in it
                process.communicate()

    def try_out(self, mutant: Mutant, limit_s: float = LIMIT_S) -> Finding:
        """Plant a mutant, run its test, take it out again."""
        if mutant.equivalent:
            return Finding(mutant, "equivalent", detail=mutant.equivalent)
        if why := staleness(mutant, self.root):
            return Finding(mutant, "stale", detail=why)
        path = self.source / "ironbird" / mutant.file
        right = path.read_text(encoding="utf-8")
        wrong = right.replace(mutant.old, mutant.new)
        if path.suffix == ".py":
            try:
                compile(wrong, str(path), "exec")
            except SyntaxError as error:
                return Finding(mutant, "broken", detail=f"it does not compile: {error}")
        begin = time.monotonic()
        try:
            path.write_text(wrong, encoding="utf-8")
            code, said = self.test(mutant.tests(), limit_s)
        finally:
            path.write_text(right, encoding="utf-8")
        seconds = time.monotonic() - begin
        if code is None:
            return Finding(mutant, "killed" if mutant.hangs else "timeout", seconds, f"no end within {limit_s:g} s")
        if code == 1 and (nonsense := NO_PROGRAM.search(said)):
            return Finding(mutant, "broken", seconds, nonsense.group(0))
        if code not in (0, 1):
            return Finding(mutant, "broken", seconds, f"pytest ended with {code}: {said.strip()[-300:]}")
        killer = KILLER.search(said)
        return Finding(mutant, "survived" if code == 0 else "killed", seconds, killer.group(1) if killer else "")


def run(
    mutants: Sequence[Mutant],
    cache: Path,
    *,
    jobs: int = 1,
    limit_s: float = LIMIT_S,
    say: Callable[[str], None] = print,
    root: Path = ROOT,
) -> list[Finding]:
    """Try out mutants; the tests that are named must pass without any of them."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ironbird-mutants-") as folder:
        nurseries = [Nursery(Path(folder) / str(number), cache, root) for number in range(jobs)]
        alive = [mutant for mutant in mutants if not mutant.equivalent and not staleness(mutant, root)]
        tests = list(dict.fromkeys(test for mutant in alive for test in mutant.tests()))
        begin = time.monotonic()
        if tests:
            code, said = nurseries[0].test(tests, max(1800.0, limit_s))
            if code != 0:
                raise RuntimeError(f"the tests do not pass without mutants (pytest ended with {code}):\n{said[-3000:]}")
            say(f"{len(tests)} tests or files of tests pass without mutants in {time.monotonic() - begin:.0f} s")
        free: SimpleQueue[Nursery] = SimpleQueue()
        for nursery in nurseries:
            free.put(nursery)
        done: list[Finding] = []

        def work(mutant: Mutant) -> Finding:
            nursery = free.get()
            try:
                finding = nursery.try_out(mutant, limit_s)
            finally:
                free.put(nursery)
            done.append(finding)
            detail = f"  {finding.detail}" if finding.outcome != "equivalent" else ""
            say(f"[{len(done):3d}/{len(mutants)}] {finding.outcome:10s} {finding.seconds:5.1f} s  {mutant.id}{detail}")
            return finding

        with ThreadPoolExecutor(jobs) as pool:
            findings = list(pool.map(work, mutants))
    shutil.rmtree(cache / "models", ignore_errors=True)  # each mutant has made its own; libraries are kept by content
    return findings


def table(findings: Sequence[Finding]) -> str:
    """Outcomes by group, then all that is not as it should be."""
    groups = list(dict.fromkeys(finding.mutant.group for finding in findings))
    width = max(map(len, (*groups, "together")))
    lines = [f"{'':{width}s} " + "".join(f"{name:>11s}" for name in OUTCOMES)]
    for group in (*groups, "together"):
        counts = Counter(f.outcome for f in findings if group in (f.mutant.group, "together"))
        lines.append(f"{group:{width}s} " + "".join(f"{counts[name]:11d}" for name in OUTCOMES))
    for finding in findings:
        if finding.outcome not in GOOD:
            mutant = finding.mutant
            lines += ["", f"{finding.outcome}: {mutant.id} in {mutant.file} by {mutant.test}", f"  {mutant.why}"]
            lines += [f"  {finding.detail}"] if finding.detail else []
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", "--only", default="", help="those whose id, file or group has this text")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="mutants tried at once")
    parser.add_argument("--list", action="store_true", help="show them and end")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for one test")
    usual = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ironbird-mutants"
    parser.add_argument("--cache", type=Path, default=usual, help="kernels compiled by the mutants, kept between runs")
    chosen = parser.parse_args(arguments)
    mutants = [m for m in load() if any(chosen.only in text for text in (m.id, m.file, m.group))]
    if not mutants:
        print(f"there is no mutant with '{chosen.only}'")
        return 1
    if chosen.list:
        for mutant in mutants:
            print(f"{mutant.id}  {mutant.file}  {mutant.test}\n    {mutant.why}")
        print(f"{len(mutants)} mutants")
        return 0
    begin = time.monotonic()
    try:
        findings = run(
            mutants, chosen.cache, jobs=chosen.jobs, limit_s=chosen.limit, say=lambda t: print(t, flush=True)
        )
    except RuntimeError as error:
        print(error)
        return 1
    print(f"\n{table(findings)}\n\n{len(findings)} mutants in {time.monotonic() - begin:.0f} s")
    return 0 if all(finding.outcome in GOOD for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
