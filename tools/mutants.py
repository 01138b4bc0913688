"""Mutation testing: plant one wrong thing at a time in a copy of the source; the test that is named must see it.

    python tools/mutants.py                     all of them
    python tools/mutants.py --only judge        those whose id or file has this text
    python tools/mutants.py --list              what is planted, where, and which test must fail
    python tools/mutants.py --resume            go on with a run that was stopped
    python tools/mutants.py --record FILE       keep the outcome of a whole run as JSON

Each entry of `mutants/*.toml` says which text of which file is replaced by what, which test must fail then, and why it
matters. The checkout is never touched: a copy of `src` is changed, and the tests import that. Killed is a mutant whose
test fails (exit code 1 of pytest); a mutant that does not compile or cannot be imported proves nothing and is `broken`;
one whose old text is not there exactly once is `stale`; one that runs out of time is killed only if its entry says
`hangs = true`; one whose test fails without it is `red`. An entry with `equivalent = "reason"` is listed and not run:
no test can see it. Ends with 1 unless every other mutant is killed.

Each outcome is kept when it is known (`results.jsonl` in the folder of `--cache`). `--resume` takes from there what was
found with the same source, the same entry and the same test files; whatever has changed since is tried again.

Two things save most of the time: tests run in children of a process that has loaded pytest and the packages of others
already (nothing of Ironbird), and a mutant outside of what translates models (`TRANSLATES`) takes the models that the
source without mutants has made. If it survives, it is tried again without that.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import functools
import hashlib
import importlib
import json
import os
import py_compile
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "mutants"
LIMIT_S = 180.0  # of a processor for one test under one mutant
PATIENCE = 10.0  # times as long by the wall, for machines that are busy and for programs that wait
WHOLE_S = 3600.0  # of all tests without mutants
OUTCOMES = ("killed", "survived", "stale", "broken", "timeout", "red", "equivalent")
FOUND = ("outcome", "seconds", "detail", "cpu_s")  # of a finding, as it is kept
GOOD = ("killed", "equivalent")
# Loaded before a child is made for each mutant; none of them may load Ironbird
PRELOADED = (
    "pytest", "hypothesis", "hypothesis.extra.numpy", "numpy", "numpy.testing", "casadi", "sqlalchemy", "alembic",
    "jinja2", "scipy.signal", "scipy.stats", "scipy.optimize", "scipy.integrate", "multiprocessing.pool",
)  # fmt: skip
# Where tests import Ironbird from, and which models it makes; a project without a compiler has no such number
ASKED = """import ironbird
print(ironbird.__file__)
from ironbird.compiler import model_cache
print(model_cache.package_hash())"""
TRANSLATES = ("blocks", "compiler", "model", "symbolic", "rotations.py", "vehicles")  # make models out of diagrams
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
    cpu_s: float = 0.0  # of processors, with compilers


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


@functools.cache
def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def _source_hash(root: Path) -> str:
    """Of the source that mutants are planted in, and of what all tests share."""
    files = [path for path in (root / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files += [path for path in (root / "tests").rglob("conftest.py")]
    listed = [(str(path.relative_to(root)), _file_hash(path)) for path in sorted(files) if ".egg-info" not in str(path)]
    return hashlib.sha256(repr(listed).encode()).hexdigest()


def tests_key(tests: Sequence[str], root: Path = ROOT) -> str:
    """Changes with the source and with the files of tests."""
    files = sorted({test.partition("::")[0] for test in tests})
    told = [_source_hash(root), list(tests), [(file, _file_hash(root / file)) for file in files]]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def mutant_key(mutant: Mutant, root: Path = ROOT) -> str:
    """Changes with the source, the files of its tests, and what is planted."""
    told = [tests_key(mutant.tests(), root), mutant.file, mutant.old, mutant.new, mutant.hangs]
    return hashlib.sha256(repr(told).encode()).hexdigest()


class Kept:
    """Outcomes that are known already, one line of JSON each; a line that was cut off by a kill counts as none."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        self.known: dict[str, dict[str, object]] = {}
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not resume:
            path.unlink(missing_ok=True)
        elif path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self.known[entry["key"]] = entry
                except (ValueError, KeyError, TypeError):
                    continue
            path.write_text("".join(json.dumps(entry) + "\n" for entry in self.known.values()), encoding="utf-8")

    def add(self, key: str, **entry: object) -> None:
        """Keep what was found."""
        self.known[key] = {"key": key, **entry}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.known[key]) + "\n")


def serve(preloaded: Sequence[str]) -> None:
    """Run tests in children, one row of JSON for each on both sides."""
    for name in preloaded:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "ironbird" in sys.modules:
        raise RuntimeError("a package that is loaded before the tests has loaded ironbird")
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(job)
        end = time.monotonic() + PATIENCE * job["limit_s"]
        while not (ended := os.wait4(child, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # a session of its own, and whatever it has left running
        code = os.waitstatus_to_exitcode(ended[1]) if ended[0] else None
        code = None if code == -signal.SIGXCPU else code
        used = ended[2] if ended[0] else os.wait4(child, 0)[2]
        print(json.dumps((code, used.ru_utime + used.ru_stime)), flush=True)


def _child(job: dict[str, Any]) -> None:
    code = 1  # as the interpreter ends after an exception, if pytest itself raises one
    try:
        os.setsid()
        most = max(1, round(job["limit_s"]))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for handle, number in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
            os.dup2(handle, number)
        os.chdir(job["folder"])
        os.environ.update(job["environment"])
        sys.path.insert(0, job["environment"]["PYTHONPATH"])
        sys.argv = ["pytest", *job["arguments"]]
        if job["package_hash"]:
            importlib.import_module("ironbird.compiler.model_cache").package_hash = lambda: job["package_hash"]  # type: ignore[attr-defined]
        code = int(importlib.import_module("pytest").main(job["arguments"]))
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


class Nursery:
    """A copy of the source in which mutants are planted, one after the other."""

    def __init__(self, folder: Path, cache: Path, root: Path = ROOT, preloaded: Sequence[str] = PRELOADED) -> None:
        self.root, self.source, self.output = root, folder / "src", folder / "output"
        shutil.copytree(root / "src", self.source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        # Byte code that is checked by content: a mutant of equal length within the same second must not be overlooked
        compileall.compile_dir(self.source, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        self.environment = {
            "PYTHONPATH": str(self.source),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # none is needed here, and they take a second
            "IRONBIRD_CACHE": str(cache),
            "IRONBIRD_MUTANTS": "1",  # tests/conftest.py: examples that fail are not made smaller
        }
        self.cpu_s = 0.0  # of all tests so far
        variables = {**os.environ, **self.environment}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", *preloaded],
            cwd=root, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        command = [sys.executable, "-c", ASKED]
        told = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True).stdout.split()
        if not told or not Path(told[0]).is_relative_to(self.source):
            raise RuntimeError(f"tests would import {told} instead of the copy in {self.source}")
        self.package_hash = told[1] if len(told) > 1 else ""

    def close(self) -> None:
        """End the process that runs tests."""
        self.process.communicate()

    def test(
        self, tests: Sequence[str], limit_s: float, *, first: bool = True, package_hash: str = ""
    ) -> tuple[int | None, str]:
        """Exit code of pytest and its output, to the `first` failure or to the end; None if it ran out of time."""
        arguments = ["-p", "no:cacheprovider", "--durations=0", "--no-header", "--tb=short", *(["-x"] if first else [])]
        job = {
            "folder": str(self.root), "output": str(self.output), "environment": self.environment, "limit_s": limit_s,
            "package_hash": package_hash, "arguments": [*arguments, *tests],
        }  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that runs tests ended with {self.process.wait()}")
        code, used_s = json.loads(answer)
        self.cpu_s += used_s
        return code, self.output.read_text(encoding="utf-8", errors="replace")

    def try_out(self, mutant: Mutant, limit_s: float = LIMIT_S) -> Finding:
        """Plant a mutant, run its test, take it out again."""
        if mutant.equivalent:
            return Finding(mutant, "equivalent", detail=mutant.equivalent)
        if why := staleness(mutant, self.root):
            return Finding(mutant, "stale", detail=why)
        path = self.source / "ironbird" / mutant.file
        if path.suffix == ".py":
            try:
                compile(path.read_text(encoding="utf-8").replace(mutant.old, mutant.new), str(path), "exec")
            except SyntaxError as error:
                return Finding(mutant, "broken", detail=f"it does not compile: {error}")
        begin = time.monotonic()
        with self.planted(mutant):
            code, said = self.seen(mutant, mutant.tests(), limit_s)
        return judged(mutant, code, said, time.monotonic() - begin, limit_s)

    @contextlib.contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """With the mutant in the copy of the source."""
        path = self.source / "ironbird" / mutant.file
        right = path.read_text(encoding="utf-8")
        try:
            path.write_text(right.replace(mutant.old, mutant.new), encoding="utf-8")
            yield
        finally:
            path.write_text(right, encoding="utf-8")

    def seen(self, mutant: Mutant, tests: Sequence[str], limit_s: float) -> tuple[int | None, str]:
        """Exit code and output of tests under a planted mutant; one that they pass is tried without known models."""
        known = "" if mutant.file.split("/")[0] in TRANSLATES else self.package_hash
        code, said = self.test(tests, limit_s, package_hash=known)
        return self.test(tests, limit_s) if code == 0 and known else (code, said)


def judged(mutant: Mutant, code: int | None, said: str, seconds: float, limit_s: float) -> Finding:
    """What an exit code of pytest and its output say of a mutant."""
    if code is None:
        return Finding(mutant, "killed" if mutant.hangs else "timeout", seconds, f"no end within {limit_s:g} s")
    if code == 1 and (nonsense := NO_PROGRAM.search(said)):
        return Finding(mutant, "broken", seconds, nonsense.group(0))
    if code not in (0, 1):
        return Finding(mutant, "broken", seconds, f"pytest ended with {code}: {said.strip()[-300:]}")
    killer = KILLER.search(said)
    return Finding(mutant, "survived" if code == 0 else "killed", seconds, killer.group(1) if killer else "")


def red_tests(nursery: Nursery, tests: Sequence[str], kept: Kept, say: Callable[[str], None]) -> list[str]:
    """Those that fail without any mutant; raises RuntimeError if pytest itself cannot run them."""
    key = tests_key(tests, nursery.root)
    if key not in kept.known:
        begin = time.monotonic()
        code, said = nursery.test(tests, WHOLE_S, first=False)
        red = sorted({f"tests/{name}" for name in KILLER.findall(said)})
        if code not in (0, 1) or (code == 1 and not red):
            raise RuntimeError(f"the tests cannot be run without mutants (pytest ended with {code}):\n{said[-3000:]}")
        kept.add(key, red=red, seconds=round(time.monotonic() - begin, 1))
    known = kept.known[key]
    failed = [str(name) for name in cast(list[str], known["red"])]
    say(f"{len(tests)} tests or files of tests without mutants in {known['seconds']} s: {len(failed)} fail")
    return failed


def _of(name: str, test: str) -> bool:
    """Whether a test that pytest names belongs to what an entry names: a file, a function, or one of its cases."""
    return name == test or name.startswith((test + "::", test + "["))


def run(
    mutants: Sequence[Mutant],
    cache: Path,
    *,
    jobs: int = 1,
    limit_s: float = LIMIT_S,
    resume: bool = False,
    say: Callable[[str], None] = print,
    root: Path = ROOT,
    preloaded: Sequence[str] = PRELOADED,
) -> list[Finding]:
    """Try out mutants, each with a test that passes without it."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = Kept(cache / "results.jsonl", resume=resume)
    with tempfile.TemporaryDirectory(prefix="ironbird-mutants-") as folder:
        nurseries = [Nursery(Path(folder) / str(number), cache, root, preloaded) for number in range(jobs)]
        alive = [mutant for mutant in mutants if not mutant.equivalent and not staleness(mutant, root)]
        tests = list(dict.fromkeys(test for mutant in alive for test in mutant.tests()))
        red = red_tests(nurseries[0], tests, kept, say) if tests else []
        free: SimpleQueue[Nursery] = SimpleQueue()
        for nursery in nurseries:
            free.put(nursery)
        done: list[Finding] = []

        def found(mutant: Mutant) -> Finding:
            if mutant not in alive:
                return nurseries[0].try_out(mutant, limit_s)
            if failed := [name for name in red if any(_of(name, test) for test in mutant.tests())]:
                return Finding(mutant, "red", detail=f"fails without the mutant: {', '.join(failed)}")
            key = mutant_key(mutant, root)
            if (known := kept.known.get(key)) and known["outcome"] in (
                "killed",
                "survived",
            ):  # no accident of the machine
                return Finding(mutant, **{name: known[name] for name in FOUND})  # type: ignore[arg-type]
            nursery = free.get()
            try:
                before_s = nursery.cpu_s
                finding = nursery.try_out(mutant, limit_s)
                finding = replace(finding, seconds=round(finding.seconds, 1), cpu_s=round(nursery.cpu_s - before_s, 1))
            finally:
                free.put(nursery)
            entry = {name: getattr(finding, name) for name in FOUND}
            kept.add(key, id=mutant.id, **entry)
            return finding

        def work(mutant: Mutant) -> Finding:
            finding = found(mutant)
            done.append(finding)
            detail = f"  {finding.detail}" if finding.outcome != "equivalent" else ""
            took = f"{finding.seconds:5.1f} s {finding.cpu_s:5.1f} s of processors"
            say(f"[{len(done):3d}/{len(mutants)}] {finding.outcome:10s} {took}  {mutant.id}{detail}")
            return finding

        try:
            with ThreadPoolExecutor(jobs) as pool:
                findings = list(pool.map(work, mutants))
        finally:
            for nursery in nurseries:
                nursery.close()
    shutil.rmtree(cache / "models", ignore_errors=True)  # each mutant has made its own; libraries are kept by content
    return findings


def record(findings: Sequence[Finding]) -> dict[str, object]:
    """What a run found, as it is kept with the project."""
    counts = Counter(finding.outcome for finding in findings)
    groups = dict.fromkeys(finding.mutant.group for finding in findings)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "entries": len(findings),
        **{name: counts[name] for name in OUTCOMES},
        "seconds": round(sum(finding.seconds for finding in findings)),
        "processor_seconds": round(sum(finding.cpu_s for finding in findings)),
        "groups": {group: dict(Counter(f.outcome for f in findings if f.mutant.group == group)) for group in groups},
        "not_killed": [
            {"id": f.mutant.id, "outcome": f.outcome, "detail": f.detail} for f in findings if f.outcome != "killed"
        ],
    }


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
    parser.add_argument("--serve", nargs="*", help=argparse.SUPPRESS)  # the process that runs tests
    parser.add_argument("--list", action="store_true", help="show them and end")
    parser.add_argument("--resume", action="store_true", help="take what an earlier run found with the same files")
    parser.add_argument("--record", type=Path, help="write the outcome of the run to this file (JSON)")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of a processor for one test")
    usual = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ironbird-mutants"
    parser.add_argument("--cache", type=Path, default=usual, help="kernels compiled by the mutants, kept between runs")
    chosen = parser.parse_args(arguments)
    if chosen.serve is not None:
        serve(chosen.serve)
        return 0
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
            mutants, chosen.cache, jobs=chosen.jobs, limit_s=chosen.limit, resume=chosen.resume,
            say=lambda text: print(text, flush=True),
        )  # fmt: skip
    except RuntimeError as error:
        print(error)
        return 1
    if chosen.record:
        chosen.record.write_text(json.dumps(record(findings), indent=1) + "\n", encoding="utf-8")
    print(f"\n{table(findings)}\n\n{len(findings)} mutants in {time.monotonic() - begin:.0f} s")
    return 0 if all(finding.outcome in GOOD for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
