"""A campaign in figures, and two campaigns side by side."""

import json
import math
from dataclasses import replace

import pytest
from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign.summary import by_case, compare, exit_code, sampled_cases
from ironbird.errors import StoreError


def test_by_case_counts_and_finds_the_worst() -> None:
    cases = flight_cases(5)
    verdicts = ["pass", "fail", "void", "error", "pass"]
    results = [result_of(c, v, margin=0.1 * c.seed) for c, v in zip(cases, verdicts, strict=True)]
    results[3] = result_of(cases[3], "error", margin=math.nan)
    other = result_of(flight_case(9, id="b/1", case_id="b", expect="fail"), "fail")
    first, second = by_case([*results, other])
    assert (first.case_id, first.flights, first.expected, first.as_expected) == ("hover", 5, 2, False)
    assert first.verdicts == {"pass": 2, "fail": 1, "void": 1, "error": 1}
    assert first.worst.id == cases[1].id  # not the error, whose margin is not a number
    assert (first.probability.failures, first.probability.trials) == (1, 3)  # void and error say nothing
    assert second.as_expected and second.probability.estimate == 1.0


def test_exit_code() -> None:
    cases = flight_cases(2)
    good = [result_of(case) for case in cases]
    assert exit_code(good) == 0
    assert exit_code([]) == 1  # nothing flown shows nothing
    for verdict in ("fail", "void", "error"):
        assert exit_code([good[0], result_of(cases[1], verdict)]) == 1
    expected = result_of(flight_case(expect="fail"), "fail")
    assert exit_code([expected]) == 0


def test_compare() -> None:
    cases = flight_cases(6)
    before = [result_of(case) for case in cases[:5]]
    after = [
        before[0],
        result_of(cases[1], "fail"),
        result_of(cases[2], margin=0.1, sha256="ef" * 32),
        result_of(flight_case(4, until_s=6.0)),  # same id, another definition
        result_of(cases[5]),
    ]
    after.insert(2, result_of(flight_case(7, id="new/1")))
    found = compare(before, after)
    assert [(c.flight_id, c.before.verdict, c.after.verdict) for c in found.verdicts] == [(cases[1].id, "pass", "fail")]
    assert [(c.flight_id, round(c.margin, 6)) for c in found.margins] == [(cases[2].id, -0.15)]
    assert found.redefined == {cases[3].id: []}
    assert found.only_before == [cases[4].id] and found.only_after == ["new/1", cases[5].id]
    assert found.same == 3  # the redefined one came out the same
    assert str(found) == (
        "Difference(other verdicts: 1, other margins: 1, redefined: 1, only before: 1, only after: 2, same: 3)"
    )
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["margins"] == [[cases[2].id, 0.25, 0.1]]


def test_infinite_margins_do_not_move() -> None:
    case = flight_case()
    held = result_of(case, margin=math.inf)
    assert compare([held], [held]).margins == []
    lost = compare([held], [result_of(case, margin=1.0)])
    assert lost.margins[0].margin == -math.inf and json.dumps(lost.record(), allow_nan=False)


def test_largest_movement_comes_first() -> None:
    cases = flight_cases(3)
    before = [result_of(case, margin=1.0) for case in cases]
    after = [result_of(case, margin=margin) for case, margin in zip(cases, (1.1, 3.0, 0.5), strict=True)]
    assert [change.flight_id for change in compare(before, after).margins] == [cases[1].id, cases[2].id, cases[0].id]


def test_a_changed_vehicle_does_not_part_two_flights() -> None:
    """The use of a comparison: the same cases before and after a change. A verdict that changed is red."""
    case, other = flight_case(), flight_case(settings={"body.mass": 3.9})
    before, after = result_of(case), result_of(other, "fail", margin=-2.0)
    assert before.digest != after.digest
    found = compare([before], [after], [{case.id: case}, {other.id: other}])
    assert [change.flight_id for change in found.verdicts] == [case.id]
    assert found.redefined == {case.id: ["settings"]} and found.redefinitions() == {"settings": 1}


def test_campaigns_without_a_common_flight_are_not_equal() -> None:
    with pytest.raises(StoreError, match="no flight in common"):
        compare([result_of(flight_case(id="a/1", case_id="a"))], [result_of(flight_case(id="b/1", case_id="b"))])


def test_points_are_paired_by_their_values() -> None:
    """A finer range gives its points other numbers."""
    coarse = [flight_case(1, id=f"a/000{i + 1}/s1", case_id="a", values={"x": x}) for i, x in enumerate((0.1, 0.3))]
    fine = [flight_case(1, id=f"a/000{i + 1}/s1", case_id="a", values={"x": x}) for i, x in enumerate((0.1, 0.2, 0.3))]
    later = [result_of(case, verdict) for case, verdict in zip(fine, ("pass", "fail", "pass"), strict=True)]
    found = compare([result_of(case) for case in coarse], later)
    assert found.verdicts == [] and found.only_before == [] and found.only_after == ["a/0002/s1"]


def test_two_errors_have_not_moved() -> None:
    lost = result_of(flight_case(), "error", margin=math.nan)
    assert compare([lost], [lost]).margins == []


def test_only_random_draws_are_samples() -> None:
    source = {
        "suite.toml": "[suite.defaults.plan]\nkind = 'monte_carlo'\nsamples = 3\n[[case]]\nid = 'a'\n"
        "[[case]]\nid = 'b'\nplan = { kind = 'grid' }\n",
        "quad.toml": "schema = 1\nid = 'quad'\n",
        "notes.txt": "no = [TOML",
    }
    assert sampled_cases(source) == {"a"}
    seeds = [replace(result_of(case), case_id="noise", values={}) for case in flight_cases(3)]
    varied = [result_of(case) for case in flight_cases(3)]
    assert sampled_cases({}, [*seeds, *varied]) == {"noise"}  # many seeds of one point
    (summary,) = by_case(seeds, sampled={"noise"})
    assert "confidence" in summary.failures()
    (summary,) = by_case(varied)
    assert summary.failures() == "0 of 3 failed"
