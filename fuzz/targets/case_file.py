"""Case and suite files, checked as `ironbird case check` does; what passes has flights that say themselves in text."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

from fuzz.target import Refused, attempt, file_of, now_and_then, refusals, source_of
from ironbird.campaign.case import SPREADS, FlightCase
from ironbird.campaign.suite import Suite, read_suite, suite_of
from ironbird.errors import UnitsWarning
from ironbird.faults.catalog import FAULTS
from ironbird.files.problems import Problem

WORDS = (
    "schema = 1\n", "[[case]]\n", 'id = "a"\n', 'vehicle = "quad_f450"\n', "[case.wind]\n", "[case.set]\n", "[case.vary]\n",
    "[[case.fault]]\n", "[[case.require]]\n", "[case.plan]\n", "[suite]\n", "[suite.defaults]\n", "[case.place]\n",
    'kind = "grid"\n', 'kind = "monte_carlo"\nsamples = 3\n', 'kind = "latin_hypercube"\n', 'kind = "pairwise"\n',
    "seeds = [1, 2]\n", "seeds = { first = 1, count = 3 }\n", "until_s = ", "log_s = ", "steps = 3", '"$a"',
    *(f"{{ {kind} = [0.1, 0.2] }}" for kind in SPREADS), 'use = "no_crash"\n', 'formula = "always (altitude < 60 m)"\n',
    'name = "b"\n', "include = ['*.toml']\n", "instance = ", "severity = ", "when = ", "tags = ['t']\n", *list(FAULTS)[:8],
)  # fmt: skip
warnings.simplefilter("ignore", UnitsWarning)


FORMAT = "toml"
MOST_PROBLEMS = 2  # of a table that is changed on
_look = now_and_then(64)


def check(data: bytes) -> bool | None:
    """Problems are told; without any, the flights can be made, counted, and read back."""
    suite, problems = read_suite(file_of(data, "case.toml"))
    if not _wrong(problems):
        assert isinstance(suite, Suite)
        look(suite)
    return not any(problem.message.startswith(("not valid TOML", "cannot read it")) for problem in problems)


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib; of what is accepted, some."""
    suite, problems = suite_of(source_of(table, "case.toml"))
    if not _wrong(problems) and _look():
        assert isinstance(suite, Suite)
        look(suite)
    return None


def _wrong(problems: list[Problem]) -> bool:
    assert all(str(problem) for problem in problems)
    if len(problems) > MOST_PROBLEMS:  # not worth changing on
        refusals.append(("many", 0))
    else:
        refusals.extend((problem.cure[:10], 0) for problem in problems)  # messages begin with values
    return bool(problems)


def look(suite: Suite) -> None:
    """Refuse flights that are not as their text says."""
    for case in suite.cases:
        flights = attempt(lambda case=case: list(itertools.islice(case.flights(), 3)))
        if isinstance(flights, Refused):
            continue
        for flight in flights:
            assert FlightCase.from_record(flight.record()) == flight
            again, more = read_suite(file_of(flight.to_toml().encode(), "again.toml"))
            assert not more and again is not None, f"its own text is refused: {more}"
            (one,) = again.flights()
            assert one.digest() == flight.digest(), "its own text is another flight"
