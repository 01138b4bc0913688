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
    seeds = [
        replace(result_of(case), case_id="noise", values={}, sha256=f"{case.seed:064}") for case in flight_cases(3)
    ]
    varied = [result_of(case) for case in flight_cases(3)]
    assert sampled_cases({}, [*seeds, *varied]) == {"noise"}  # many seeds of one point
    (summary,) = by_case(seeds, sampled={"noise"})
    assert "confidence" in summary.failures()
    (summary,) = by_case(varied)
    assert summary.failures() == "0 of 3 failed"


def test_what_is_not_independent_has_no_interval() -> None:
    """Flights that share a seed share its noise; seeds that change no bit are no draws; strata are drawn together."""
    plan = "plan = { kind = 'monte_carlo', samples = 3 }"
    source = {
        "suite.toml": "[suite]\nid = 's'\ninclude = ['more.toml']\n[suite.defaults]\n" + plan + "\n",
        "more.toml": "[[case]]\nid = 'own'\n[[case]]\nid = 'one_seed'\nseeds = 1\n[[case]]\nid = 'strata'\n"
        "plan = { kind = 'latin_hypercube', samples = 3 }\n",
    }
    assert sampled_cases(source) == {"own"}  # the defaults of the suite are those of an included file too
    same = [replace(result_of(case), case_id="calm", values={}) for case in flight_cases(3)]
    assert len({flight.sha256 for flight in same}) == 1 and sampled_cases({}, same) == set()


def test_flights_that_were_not_judged_are_in_the_statement() -> None:
    """11 of 16 failed is not all of 19 flights."""
    verdicts = ["fail"] * 2 + ["pass"] * 3 + ["error"] * 2 + ["void"]
    results = [result_of(case, verdict) for case, verdict in zip(flight_cases(8), verdicts, strict=True)]
    (summary,) = by_case(results)
    assert summary.failures() == "2 of 5 failed; 2 errors, 1 void are not counted"
    (summary,) = by_case(results[:5] + results[7:])
    assert summary.failures() == "2 of 5 failed; 1 void is not counted"
    (summary,) = by_case(results[5:7])
    assert summary.failures() == "no flight was judged; 2 errors are not counted"
