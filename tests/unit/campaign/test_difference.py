"""Two campaigns side by side."""

import contextlib
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign.difference import check_meaning, compare
from ironbird.campaign.identity import earlier_meaning
from ironbird.campaign.store import Store
from ironbird.errors import StoreError
from ironbird.flight.judge import Judgement


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
    assert [(c.flight_id, c.requirement, round(c.margin, 6)) for c in found.margins] == [
        (cases[1].id, "upright", -0.5), (cases[2].id, "upright", -0.15),
    ]  # fmt: skip
    assert found.redefined == {cases[3].id: []}
    assert found.only_before == [cases[4].id] and found.only_after == ["new/1", cases[5].id]
    assert found.same == 3  # the redefined one came out the same
    assert str(found) == (
        "Difference(worse: 1, other verdicts: 1, other margins: 2, redefined: 1, only before: 1, only after: 2, "
        "same: 3)"
    )
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["margins"][1] == {
        "flight": cases[2].id, "requirement": "upright", "unit": "", "before": 0.25, "after": 0.1,
    }  # fmt: skip
    assert record["verdicts"][0]["worse"] is record["worse"] is True


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


def judged(name: str, margin: float, untested: str = "") -> Judgement:
    return Judgement(name, "major", margin, math.nan, "", "always (tilt < 30 deg)", untested=untested)


def test_only_what_got_worse_is_worse() -> None:
    """A gate is red for a worse verdict, another broken requirement, a lost test or a flight that is missing."""
    case = flight_case()
    assert compare([result_of(case, "fail")], [result_of(case, "error", margin=math.nan)]).is_worse
    for before, after in (("pass", "fail"), ("pass", "void"), ("void", "fail"), ("pass", "error")):
        assert compare([result_of(case, before)], [result_of(case, after)]).is_worse, (before, after)
        better = compare([result_of(case, after)], [result_of(case, before)])
        assert not better.is_worse and better.is_any and len(better.verdicts) == 1, (after, before)
    moved = compare([result_of(case)], [result_of(case, margin=0.1)])
    assert not moved.is_worse and moved.is_any
    assert not compare([result_of(case)], [result_of(case)]).is_any
    missing = compare([result_of(c) for c in flight_cases(2)], [result_of(case)])
    assert missing.is_worse
    more = compare([result_of(case)], [result_of(c) for c in flight_cases(2)])
    assert not more.is_worse and more.is_any


def test_another_broken_requirement_is_worse_though_the_verdict_is_the_same() -> None:
    low = replace(result_of(flight_case(), "fail"), judgements=[judged("low", -1.0), judged("upright", 0.5)])
    over = replace(low, judgements=[judged("low", -1.0), judged("upright", -0.1)])
    (change,) = compare([low], [over]).worse
    assert change.newly_broken == ["upright"] and "fail, newly broken: upright" in change.sentence()
    assert not compare([over], [low]).is_worse
    idle = replace(result_of(flight_case()), judgements=[judged("upright", 0.5, "never tested")])
    tested = replace(idle, judgements=[judged("upright", 0.5)])
    (change,) = compare([tested], [idle]).worse
    assert change.newly_untested == ["upright"] and not compare([idle], [tested]).is_worse


def test_a_margin_that_moved_has_its_requirement_and_unit() -> None:
    before = replace(result_of(flight_case()), judgements=[judged("upright", 0.5), judged("steady", 0.1)])
    after = replace(before, judgements=[judged("steady", 0.1), judged("upright", 0.25)])
    (moved,) = compare([before], [after]).margins
    assert (moved.requirement, moved.unit, moved.before.margin, moved.after.margin) == ("upright", "rad", 0.5, 0.25)


def test_verdicts_of_an_earlier_meaning_are_named_and_not_mixed(tmp_path: Path) -> None:
    with contextlib.closing(Store(f"sqlite:///{tmp_path}/store.db")) as store:
        now = store.create("now", "", {}, flight_cases(2))
        before = replace(store.create("before", "", {}, flight_cases(2)), ironbird="0.1.0")
    assert earlier_meaning("0.2.0") == earlier_meaning("0.10.3") == earlier_meaning("1.0") == ""
    assert earlier_meaning("0.1.0") and earlier_meaning(None) and earlier_meaning("")
    for pair in ([before, now], [now, before]):
        with pytest.raises(
            StoreError, match=r"before has verdicts of Ironbird 0\.1\.0: a pass does .*; that compares all"
        ):
            check_meaning(pair, "that")
    check_meaning([before, before], "that")
    check_meaning([now, now], "that")
