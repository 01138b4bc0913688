"""Lines and branches are counted in Python and in C, also in processes that end at once; a rest is seen as a rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure_coverage import LEAST, least_covered, measure, share, with_lines

pytestmark = pytest.mark.slow  # builds and runs a package of its own

PYTHON = """def size(x):
    if x > 1:
        return "large"
    return "small"


def never():
    return size(0)
"""
C = """#include "missing.h"
EXPORT int64_t size(int64_t x)
{
    if (x > 1)
        return 2;
    return 1;
}
static inline int64_t never(void) { return size(0); }
EXPORT int abs(int x) { return x; }
"""
TEST = """import ctypes, os, subprocess, sys
from pathlib import Path
import pytest, tiny
from ironbird.compiler import native

TEXT = Path(tiny.__file__).with_name("size.c").read_text().replace('#include "missing.h"\\n', "")
HEAD = '#include <stdint.h>\\n#include <stdlib.h>\\n#define EXPORT __attribute__((visibility("default")))\\n'
BUILT = "int64_t generated(int64_t x) { return x ? x : 1; }\\n"


def test_small():
    assert tiny.size(0) == "small"


def test_large_in_a_child_that_ends_at_once():
    child = os.fork()
    if not child:
        tiny.size(2)
        for size in SIZES:
            library = native.load(HEAD + TEXT + BUILT, 1)
            library.abs(library.size(size))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_of_the_usual_compiler():
    assert "IRONBIRD_CC" not in os.environ
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package as small as can be, with one file of each language."""
    (tmp_path / "src/tiny").mkdir(parents=True)
    (tmp_path / "src/tiny/__init__.py").write_text(PYTHON)
    (tmp_path / "src/tiny/size.c").write_text(C)
    (tmp_path / "src/tiny/unused.h").write_text("#define UNUSED 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"), prepend=":")
    return tmp_path


@pytest.mark.parametrize(("sizes", "lines_run", "branches_run"), [((0,), 4, 1), ((0, 2), 5, 2)])
def test_what_runs_and_what_does_not_is_counted_in_both_languages(
    project: Path, sizes: tuple[int, ...], lines_run: int, branches_run: int
) -> None:
    (project / "test_it.py").write_text(TEST.replace("SIZES", str(sizes)))

    found = measure(project, project / "src/tiny", project / "work", ["test_it.py"])

    # Python: the body of `never` is left; one of the two branches is taken by the child alone
    # C: `never` is left and, without a large number, one branch and its line; generated code has no count, what the
    # C library declares too (`abs`) has one
    assert found["files"] == {
        "__init__.py": {"lines": 6, "lines_run": 5, "branches": 2, "branches_run": 2},
        "size.c": {"lines": 6, "lines_run": lines_run, "branches": 2, "branches_run": branches_run},
    }
    assert found["totals"]["C"] == {"files": 1, **found["files"]["size.c"]}
    assert found["not_counted"] == ["unused.h"]
    assert found["tests"] == {"run": 3, "skipped": 0, "in_usual_build": 1, "failed": []}


def test_lines_of_a_text_are_those_of_its_file(project: Path) -> None:
    text = with_lines("int x;\n" + C.partition("\n")[2] + "int y;\n", project / "src/tiny")

    assert text.startswith(f'int x;\n#line 2 "{project}/src/tiny/size.c"\nEXPORT int64_t size')
    assert text.endswith('\n#line 1 "generated.c"\nint y;\n')


def test_the_least_covered_files_are_large_ones_and_the_worst_comes_first() -> None:
    rows = {"good": (LEAST, LEAST), "bad": (LEAST, 1), "tiny": (LEAST - 1, 0), "worst": (LEAST, 0)}
    files = {name: {"lines": lines, "lines_run": run} for name, (lines, run) in rows.items()}

    assert list(least_covered(files)) == ["worst", "bad", "good"]


def test_a_share_of_nothing_is_no_number() -> None:
    row = {"lines": 3, "lines_run": 2, "branches": 0, "branches_run": 0}

    assert (share(row, "lines"), share(row, "branches")) == ("66.7 %", "-")
