"""Mistakes drawn by chance: what can be planted where, which tests concern a file, and a draw that is repeated."""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path

import pytest

import generated_mutants
from generated_mutants import draw, reason_of, rounds
from mutants import ROOT, Finding
from mutations import SOURCE, Mutation, mutations

PYTHON = '''"""A sum of 3 < 4."""

class Sum(Block):
    """Adds -1."""

    gain = Param(unit="1", default=2.0, low=1.0, tunable=True, doc="3 + 4")

    def output(self, x: float = 0.0) -> float:
        assert x + 1
        if x < 0 and not self.ready:
            raise ModelError(f"{x - 1} is below 0")
        return -x + self.gain * min(x, 5)

    def __repr__(self) -> str:
        return "a" * 7
'''
C = """#define N 4 + 5
/* a < b */
static double ib_sum(const double *a, int n) {
  double sum[3] = {0.0};
  for (int i = 0; i < n; ++i) sum[0] += a[i] * 2.5 - b->c;
  return "-1"[0] && !n;
}
"""


def shown(file: str, text: str) -> list[tuple[str, str, str]]:
    return [(one.kind, text[one.begin : one.end], one.new) for one in mutations(file, text)]


def test_comparisons_signs_constants_terms_and_pairs_of_python() -> None:
    assert sorted(shown("flight/a.py", PYTHON)) == sorted([
        ("constant", "2.0", "3.0"), ("constant", "0.0", "1.0"),
        ("comparison", "<", ">="), ("comparison", "<", "<="), ("constant", "0", "1"),
        ("pair", "and", "or"), ("comparison", "not ", ""),
        ("dropped", "x < 0 and not self.ready", "(x < 0)"),
        ("dropped", "x < 0 and not self.ready", "(not self.ready)"),
        ("sign", "-", ""), ("sign", "+", "-"), ("sign", "*", "/"),
        ("dropped", "-x + self.gain * min(x, 5)", "(-x)"),
        ("dropped", "-x + self.gain * min(x, 5)", "(self.gain * min(x, 5))"),
        ("dropped", "self.gain * min(x, 5)", "(self.gain)"), ("dropped", "self.gain * min(x, 5)", "(min(x, 5))"),
        ("pair", "min", "max"), ("constant", "5", "6"),
    ])  # fmt: skip
    # The bound of a range of real numbers is not mutated in blocks
    assert ("comparison", "<", "<=") not in shown("blocks/a.py", PYTHON)


def test_comparisons_signs_and_constants_of_c() -> None:
    assert sorted(shown("compiler/c/a.h", C)) == sorted([
        ("constant", "0.0", "1.0"), ("constant", "0", "1"), ("comparison", "<", ">="), ("comparison", "<", "<="),
        ("constant", "0", "1"), ("sign", "+=", "-="), ("sign", "*", "/"), ("constant", "2.5", "3.75"),
        ("sign", "-", "+"), ("dropped", "- b->c", ""), ("constant", "0", "1"), ("pair", "&&", "||"),
        ("comparison", "!", ""),
    ])  # fmt: skip


def test_a_place_that_stands_twice_takes_lines_before_it_along() -> None:
    text = "if a:\n    b = 1\nelse:\n    b = 1\n"
    at = text.rindex("1")
    assert Mutation("constant", at, at + 1, "2").replacement(text) == (
        "else:\n    b = 1", "else:\n    b = 2",
    )  # fmt: skip


def test_a_seed_gives_the_same_draw_and_every_mutant_of_python_is_a_program() -> None:
    first = list(itertools.islice(draw(7), 40))
    assert [one.mutant.id for one in first] == [one.mutant.id for one in itertools.islice(draw(7), 40)]
    assert [one.mutant.id for one in first] != [one.mutant.id for one in itertools.islice(draw(8), 40)]
    for one in first:
        text = (SOURCE / one.mutant.file).read_text(encoding="utf-8")
        assert text.count(one.mutant.old) == 1, one.mutant.id
        if one.mutant.file.endswith(".py"):
            ast.parse(text.replace(one.mutant.old, one.mutant.new))


@pytest.mark.parametrize(
    ("file", "nearest"),
    [
        ("blocks/forces/wing.py", "tests/unit/blocks/forces/test_wing.py"),
        ("boards/chips/parts/bmp388.py", "tests/unit/boards/chips/test_chips.py"),
        ("requirements/c/ib_score.c", "tests/unit/requirements/test_score.py"),
        ("blocks/forces/rotor_disc.py", "tests/unit/blocks/forces/test_main_rotor.py"),  # which is built on it
    ],
)
def test_the_nearest_tests_come_first(file: str, nearest: str) -> None:
    assert rounds(file)[0][0] == nearest
    names = [name for names in rounds(file) for name in names]
    assert len(names) == len(set(names)) and all((ROOT / name).is_file() for name in names)


def test_every_area_has_files() -> None:
    assert all(list(SOURCE.glob(pattern)) for pattern in generated_mutants.AREAS.values())


def test_a_reason_is_of_one_mutation_that_can_still_be_planted() -> None:
    entries = generated_mutants.explained()
    for entry in entries:
        text = (SOURCE / str(entry["file"])).read_text(encoding="utf-8")
        assert str(entry["before"]) in text and entry["before"] != entry["after"] and entry["reason"], entry
    drawn = next(draw(1))
    known = {"file": drawn.mutant.file, "before": drawn.mutant.old.strip(), "after": drawn.mutant.new.strip()}
    assert reason_of(drawn, [{**known, "reason": "why", "equivalent": True}]) == ("why", True)
    assert reason_of(drawn, [{**known, "after": "else", "reason": "why"}]) == ("", False)


def test_source_is_that_of_this_project() -> None:
    assert Path(ROOT / "src" / "ironbird") == SOURCE


def test_a_record_over_one_of_the_same_seed_keeps_what_came_first(tmp_path: Path) -> None:
    first, second = itertools.islice(draw(3, "requirements/score.py"), 2)
    earlier = tmp_path / "record.json"
    found = generated_mutants.record(
        [(first, Finding(first.mutant, "survived")), (second, Finding(second.mutant, "killed", detail="a::b"))], 2, 3, 1
    )
    assert (found["survived"], found["survived_first"]) == (1, 1)
    earlier.write_text(json.dumps(found), encoding="utf-8")
    killed = [(one, Finding(one.mutant, "killed", detail="a::b")) for one in (first, second)]
    again = generated_mutants.record(killed, 2, 3, 1, earlier)
    assert (again["survived"], again["survived_first"]) == (0, 1)
    assert generated_mutants.record(killed, 2, 4, 1, earlier)["survived_first"] == 0  # of another seed
