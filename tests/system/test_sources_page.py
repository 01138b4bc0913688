"""docs/sources.md is what its table says, and every test, command and page that it cites is there."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from write_sources_page import PAGE, ROOT, STATES, Row, all_tests, follow, page, problems, read, summary

TESTS = all_tests()
HERE = "tests/system/test_sources_page.py"
GOOD = Row(
    "Dai-001", "§I", "a page", "works", (f"{HERE}::test_the_page_is_what_its_table_says", "ironbird fly --seed 1")
)


def changed(**fields: object) -> list[str]:
    """Problems of the good row with something changed."""
    return list(problems([dataclasses.replace(GOOD, **fields)], TESTS))  # type: ignore[arg-type]


def test_the_page_is_what_its_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read()), "run tools/write_sources_page.py"


def test_all_that_the_table_cites_is_there() -> None:
    rows = [row for document in read() for row in document.rows]

    assert len(rows) >= 402
    assert not list(problems(rows, TESTS))


def test_documents_are_those_of_the_bibliography_and_ids_their_numbers() -> None:
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)

    for document in read():
        assert document.key in keys
        assert [row.id for row in document.rows] == [f"{document.key}-{i + 1:03}" for i in range(len(document.rows))]


def test_the_summary_counts_the_rows_below_it() -> None:
    text = PAGE.read_text(encoding="utf-8")

    for document in read():
        (summary,) = re.findall(rf"^\| \[{document.key}\].*\|(.*)\|(.*)\|(.*)\|(.*)\|$", text, flags=re.MULTILINE)
        below = re.findall(rf"^\| {document.key}-\d+ \|.*$", text, flags=re.MULTILINE)
        counts = [sum(f"| {state} |" in row for row in below) for state in STATES]
        assert [int(number) for number in summary] == [*counts, len(below)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shown": (f"{HERE}::test_that_nobody_wrote",)}, "test_that_nobody_wrote is not there"),
        ({"shown": ("tests/system/test_nothing.py",)}, "no such test file"),
        ({"shown": ("ironbird soar quad_f450",)}, "no command 'soar'"),
        ({"shown": ("ironbird campaign soar",)}, "no command 'soar'"),
        ({"shown": ("ironbird fly --colour red",)}, "no option --colour"),
        ({"shown": ("make gold",)}, "no such target"),
        ({"shown": ("python bench/nothing.py",)}, "no such script"),
        ({"shown": ("python bench/hil.py --colour red",)}, "no option --colour"),
        ({"shown": (*GOOD.shown, "docs/nothing.md")}, "docs/nothing.md: no such file"),
        ({"shown": ("docs/speed.md",)}, "no test or command shows it"),
        ({"shown": ()}, "no test or command shows it"),
        ({"state": "partly"}, "does not say what is missing"),
        ({"state": "perhaps"}, "is none of works, partly, not yet"),
    ],
)
def test_a_wrong_row_is_found(fields: dict[str, object], message: str) -> None:
    assert not changed()
    assert any(message in problem and problem.startswith("Dai-001: ") for problem in changed(**fields)), changed(
        **fields
    )


def test_readme_has_the_counts_of_the_table() -> None:
    assert summary(read()) in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_a_test_that_never_runs_shows_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tests" / "test_made.py"
    file.parent.mkdir()
    file.write_text(
        "import pytest\n\n@pytest.mark.skip(reason='no')\ndef test_a(): ...\n"
        "@pytest.mark.xfail\ndef test_b(): ...\n@pytest.mark.skipif(False, reason='')\ndef test_c(): ...\n"
    )

    assert all_tests(tmp_path) == {"tests/test_made.py": {"test_c"}}


def test_a_test_that_moved_is_found_with_its_new_place() -> None:
    row = dataclasses.replace(GOOD, shown=("tests/unit/test_old.py::test_moved[1]",))

    (problem,) = problems([row], {"tests/a/test_new.py": {"test_moved"}})
    assert "moved to tests/a/test_new.py::test_moved (" in problem
    (problem,) = problems([row], {"tests/a/test_new.py": {"test_moved"}, "tests/b/test_other.py": {"test_moved"}})
    assert problem.endswith("tests of this name: tests/a/test_new.py::test_moved, tests/b/test_other.py::test_moved")


def test_an_id_that_stands_twice_is_found() -> None:
    assert list(problems([GOOD, GOOD], TESTS)) == ["Dai-001: stands twice"]


def test_citations_follow_a_test_that_moved(tmp_path: Path) -> None:
    table = tmp_path / "sources.toml"
    cited = '"tests/unit/test_old.py::test_moved", "make test"'
    row = f'{{ id = "Dai-001", at = "", asks = "", state = "works", shown = [{cited}] }}'
    table.write_text(f'[[document]]\nkey = "Dai"\ntitle = ""\nrows = [{row}]\n')

    follow(table, {"tests/a/test_new.py": {"test_moved"}, "tests/b/test_other.py": {"test_moved"}})
    assert read(table)[0].rows[0].shown[0] == "tests/unit/test_old.py::test_moved"  # two places: nobody knows which
    follow(table, {"tests/a/test_new.py": {"test_moved"}})
    assert read(table)[0].rows[0].shown == ("tests/a/test_new.py::test_moved", "make test")
