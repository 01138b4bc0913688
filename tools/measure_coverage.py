"""Measure which lines and branches of the package the tests run, in Python and in C.

    python tools/measure_coverage.py --record docs/measured/coverage.json     all tests (`make coverage`)
    python tools/measure_coverage.py tests/unit/world                         some tests, printed only

Python is counted by coverage.py in the tests' own process and in every Python that they start. C is counted by gcc and
gcov: IRONBIRD_CC names this file as the compiler, which builds each text without optimisation and with counters, and
gives gcc the file of the package and the line from which each part comes. C generated from models and chips is built as
usual, without counters. Tests that fail in this build (they need the usual compiler, or its speed) run once more
in the usual build, where Python alone is counted; those that fail again are named in the record.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START = Path(__file__).resolve().parent / "coverage_start"  # begins to count in every Python
COUNTERS = [
    "-O0", "--coverage", "-fprofile-exclude-files=generated\\.c$", "-fprofile-update=prefer-atomic",
    "-fkeep-static-functions", "-fkeep-inline-functions",
]  # fmt: skip
REPLACED = {"-O0", "-O2", "-nostdlib"}  # flags that counters do without: they need the C library
KEEP = (  # for processes that end without `exit`
    '\n#line 1 "generated.c"\nextern void __gcov_dump(void);\n'
    '__attribute__((visibility("default"))) void coverage_keep(void) { __gcov_dump(); }\n'
)
SETTINGS = """[run]
branch = True
parallel = True
source = {package}
data_file = {data}
disable_warnings = no-data-collected, module-not-measured, module-not-imported, couldnt-parse, already-imported
"""
PACKAGES = Path(sys.prefix) / "coverage"  # where `make` puts coverage.py: apart from what users install
LEAST = 50  # lines of a file that is listed among the least covered
SHOWN = 10
KINDS = ("lines", "lines_run", "branches", "branches_run")
Counts = dict[str, dict[str, int]]  # by file, then by kind


# ---------------------------------------------------------------------------------------------- the compiler


def with_lines(text: str, package: Path) -> str:
    """A text with `#line` before and after each part that is a file of the package, and after it.

    Files are cut at their own `#include "…"`, which whoever joins them may leave out.
    """
    for path in c_files(package):
        line = 1
        for part in re.split(r'^(#include ".*\n)', path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if "{" in part and part in text:  # without a brace there is no code in it
                text = text.replace(part, f'#line {line} "{path}"\n{part}\n#line 1 "generated.c"\n', 1)
            line += part.count("\n")
    return text


def c_files(package: Path) -> list[Path]:
    """C files that ship with the package."""
    return sorted(path for path in package.rglob("*.[ch]"))


def compile_counted(package: Path, work: Path, arguments: Sequence[str]) -> int:
    """Do what gcc does, with counters in code of the package; what gcov needs of it stays in the folder `work`."""
    if "--version" in arguments:
        print("with counters")  # in the keys of the cache
    sources = [one for one in arguments if one.endswith(".c")]
    before = "".join(Path(one).read_text(encoding="utf-8") for one in sources)
    text = with_lines(before, package)
    others = text == before and '#include "' not in text  # nothing of the package is in it
    if others or len(sources) != 1 or "-shared" not in arguments or any("-fsanitize" in one for one in arguments):
        return subprocess.run(["gcc", *arguments]).returncode
    result = Path(arguments[arguments.index("-o") + 1])
    build = Path(tempfile.mkdtemp(dir=work))  # stays: processes write their counts here
    source = build / "text.c"
    source.write_text(f'#line 1 "generated.c"\n{text}{KEEP}', encoding="utf-8")
    exchanged = {sources[0]: str(source), str(result): str(build / "text.so")}
    kept = [exchanged.get(one, one) for one in arguments if one not in REPLACED]
    done = subprocess.run(["gcc", *COUNTERS, *kept])
    if done.returncode == 0:
        shutil.copyfile(build / "text.so", result)
        counts = build / "text.so-text.gcda"
        counts.touch()
        for path in (build, counts):  # programs of others may run as another user
            path.chmod(0o777)
    return done.returncode


# ---------------------------------------------------------------------------------------------- counts


@dataclass
class Seen:
    """Lines of a C file, and branches by line and function, with whether any build ran them."""

    lines: dict[int, bool] = field(default_factory=dict)
    branches: dict[tuple[int, str, int], bool] = field(default_factory=dict)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Take up what gcov says of one build."""
        for row in rows:
            line = row["line_number"]
            self.lines[line] = self.lines.get(line, False) or row["count"] > 0
            for place, branch in enumerate(row["branches"]):
                key = (line, row.get("function_name", ""), place)
                self.branches[key] = self.branches.get(key, False) or branch["count"] > 0

    def counts(self) -> dict[str, int]:
        """Numbers of lines and branches, and of those that ran."""
        found = (self.lines.values(), self.branches.values())
        return dict(zip(KINDS, (number for values in found for number in (len(values), sum(values))), strict=True))


def c_counts(package: Path, work: Path) -> Counts:
    """Counts of the package's C files in all builds."""
    seen: dict[str, Seen] = defaultdict(Seen)
    notes = sorted(work.glob("*/*.gcno"))
    for first in range(0, len(notes), 50):
        for build in gcov(notes[first : first + 50], work):
            for file in build["files"]:
                path = Path(file["file"])
                if path.is_relative_to(package):
                    seen[str(path.relative_to(package))].add(file["lines"])
    return {name: seen[name].counts() for name in sorted(seen) if seen[name].lines}


def gcov(notes: Sequence[Path], work: Path) -> list[dict[str, Any]]:
    """What gcov says of some builds; one whose counts a killed program left torn counts for nothing."""
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", *map(str, notes)]
    said = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if said.returncode == 0:
        return [json.loads(line) for line in said.stdout.splitlines()]
    return [build for note in notes for build in gcov([note], work)] if len(notes) > 1 else []


def python_counts(package: Path, work: Path) -> Counts:
    """Counts of the package's Python files in all processes."""
    settings, report = f"--rcfile={work / 'settings'}", work / "python.json"
    python = [sys.executable, "-m", "coverage"]
    variables = environment()
    subprocess.run([*python, "combine", settings, "--quiet"], cwd=package, env=variables, check=True)
    subprocess.run([*python, "json", settings, "--quiet", "-o", report], cwd=package, env=variables, check=True)
    names = ("num_statements", "covered_lines", "num_branches", "covered_branches")
    files = json.loads(report.read_text(encoding="utf-8"))["files"].items()
    return {
        name: dict(zip(KINDS, (row["summary"][key] for key in names), strict=True))
        for name, row in sorted(files)
        if row["summary"]["num_statements"]
    }


def total(counts: Counts) -> dict[str, int]:
    """Numbers of all files together."""
    return {"files": len(counts), **{kind: sum(row[kind] for row in counts.values()) for kind in KINDS}}


# ---------------------------------------------------------------------------------------------- the tests


def environment() -> dict[str, str]:
    """Variables of a Python that finds coverage.py."""
    if not (PACKAGES / "coverage").is_dir() and find_spec("coverage") is None:
        raise SystemExit(f"coverage.py is not in {PACKAGES}: 'make coverage' installs it")
    path = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "IRONBIRD_TEST_LIMIT": "3600"}  # s: counting takes time


def run_tests(root: Path, package: Path, work: Path, tests: Sequence[str], jobs: int) -> dict[str, Any]:
    """Run the tests with counters in Python and C, failed ones again with those in Python alone; how they went."""
    (work / "c").mkdir(parents=True)
    (work / "settings").write_text(SETTINGS.format(package=package, data=work / "python"), encoding="utf-8")
    variables = environment()
    variables["PYTHONPATH"] = f"{START}{os.pathsep}{variables['PYTHONPATH']}"
    variables["COVERAGE_PROCESS_START"] = str(work / "settings")
    compiler = [sys.executable, "-I", str(Path(__file__).resolve()), "--compile", str(package), str(work / "c")]
    counted = {"IRONBIRD_CC": shlex.join(compiler), "IRONBIRD_CACHE": str(work / "cache")}
    command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={work / 'pytest'}", f"--junitxml={work / 'junit.xml'}"]
    command += ["--numprocesses", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    done = subprocess.run([*command, *tests], cwd=root, env={**variables, **counted})
    if done.returncode not in (0, 1):
        raise SystemExit(f"the tests did not run to their end: pytest ended with code {done.returncode}")
    suite = next(ET.parse(work / "junit.xml").iter("testsuite"))
    outcome: dict[str, Any] = {"run": int(suite.attrib["tests"]), "skipped": int(suite.attrib["skipped"])}
    again, left = failed(work), []
    if again:
        print(f"{len(again)} tests failed with counters in C: once more in the usual build", flush=True)
        subprocess.run([*command, "--last-failed", "--last-failed-no-failures=none", *tests], cwd=root, env=variables)
        left = failed(work)
    return {**outcome, "in_usual_build": len(again), "failed": left}


def failed(work: Path) -> list[str]:
    """Names of tests that failed when they were run last."""
    kept = work / "pytest" / "v" / "cache" / "lastfailed"
    return sorted(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else []


def measure(root: Path, package: Path, work: Path, tests: Sequence[str] = (), jobs: int = 1) -> dict[str, Any]:
    """The record of one measurement; the folder `work` is emptied."""
    shutil.rmtree(work, ignore_errors=True)
    begin = time.perf_counter()
    outcome = run_tests(root, package, work, tests, jobs)
    python, c = python_counts(package, work), c_counts(package, work / "c")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True)
    names = [str(path.relative_to(package)) for path in c_files(package)]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit.stdout.strip(),
        "minutes": round((time.perf_counter() - begin) / 60),
        "only": [str(test) for test in tests],
        "tests": outcome,
        "totals": {"Python": total(python), "C": total(c)},
        "not_counted": [name for name in names if name not in c],
        "files": {**python, **c},
    }


def share(row: dict[str, int], kind: str) -> str:
    """How much of a kind ran, in percent."""
    return f"{100 * row[kind + '_run'] / row[kind]:.1f} %" if row[kind] else "-"


def least_covered(files: Counts) -> Counts:
    """The files of some size with the smallest share of lines that ran, smallest first."""
    large = {name: row for name, row in files.items() if row["lines"] >= LEAST}
    order = sorted(large, key=lambda name: (large[name]["lines_run"] / large[name]["lines"], -large[name]["lines"]))
    return {name: large[name] for name in order[:SHOWN]}


def main() -> None:
    """Command line."""
    if sys.argv[1:2] == ["--compile"]:
        raise SystemExit(compile_counted(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, help="keep the outcome in this file (JSON)")
    parser.add_argument("--jobs", type=int, default=2, help="processes that run tests")
    parser.add_argument("--work", type=Path, help="keep the data of this run in a folder, which is emptied before")
    parser.add_argument("tests", nargs="*", help="these only; all if none is named")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ironbird-coverage-") as temporary:  # programs of another user reach it
        work = (options.work or Path(temporary)).resolve()
        found = measure(ROOT, ROOT / "src" / "ironbird", work, options.tests, options.jobs)
    for name, row in [*found["totals"].items(), *least_covered(found["files"]).items()]:
        print(f"{share(row, 'lines'):>8} of {row['lines']:6} lines, {share(row, 'branches'):>8} of branches  {name}")
    print(f"{found['tests']['run']} tests, {len(found['tests']['failed'])} failed")
    if options.record:
        text = re.sub(r"\n {3,}|\n {2}(?=\})", " ", json.dumps(found, indent=1))  # a row for each file
        options.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
