"""A campaign in figures."""

import math
from dataclasses import replace

from campaign_data import flight_case, flight_cases, result_of

from ironbird.campaign.result import worst_key
from ironbird.campaign.summary import by_case, exit_code, sampled_cases


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


def test_of_equal_margins_the_hardest_impact_is_the_worst() -> None:
    """no_crash has the margin -inf in every crash: 1.9 m/s in the first of them is not the worst."""
    crashes = [
        replace(result_of(case, "fail"), margin=-math.inf, impact_mps=speed, score=score, crashed=True)
        for case, speed, score in zip(flight_cases(4), (1.9, 1.0, 5.3, 5.3), (0.1, 0.0, 0.2, 0.1), strict=True)
    ]
    (summary,) = by_case(crashes)
    assert summary.worst is crashes[3]
    assert sorted(crashes, key=worst_key) == [crashes[3], crashes[2], crashes[0], crashes[1]]


def test_exit_code() -> None:
    cases = flight_cases(2)
    good = [result_of(case) for case in cases]
    assert exit_code(good) == 0
    assert exit_code([]) == 1  # nothing flown shows nothing
    for verdict in ("fail", "void", "error"):
        assert exit_code([good[0], result_of(cases[1], verdict)]) == 1
    expected = result_of(flight_case(expect="fail"), "fail")
    assert exit_code([expected]) == 0


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
