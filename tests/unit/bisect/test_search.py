"""Binary search over commits: never more questions than halvings, and honest where commits cannot be tried."""

from __future__ import annotations

import math

import pytest

from ironbird.bisect.search import Outcome, search


def asked(count: int, first_bad: int, skipped: frozenset[int] = frozenset()) -> tuple[tuple[str, ...], list[int]]:
    questions: list[int] = []

    def judge(commit: str) -> Outcome:
        questions.append(int(commit))
        if int(commit) in skipped:
            return "skipped"
        return "bad" if int(commit) >= first_bad else "good"

    return search([str(n) for n in range(count)], judge).candidates, questions


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 16, 100])
def test_each_commit_is_found_with_no_more_questions_than_halvings(count: int) -> None:
    for first_bad in range(count):
        found, questions = asked(count, first_bad)
        assert found == (str(first_bad),)
        assert len(questions) <= math.ceil(math.log2(count)) if count > 1 else not questions
        assert len(set(questions)) == len(questions)


def test_commits_that_cannot_be_tried_are_gone_round_and_named_if_they_may_be_it() -> None:
    assert asked(10, 6, frozenset({4, 5}))[0] == ("4", "5", "6")
    assert asked(10, 6, frozenset({4}))[0] == ("6",)
    assert asked(10, 2, frozenset({4, 5}))[0] == ("2",)
    assert asked(4, 3, frozenset({0, 1, 2}))[0] == ("0", "1", "2", "3")
