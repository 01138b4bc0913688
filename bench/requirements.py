"""Speed of judging requirements, as a ratio to RTAMT on the same formula and the same values.

    python bench/requirements.py [--lanes 1000]

Prints JSON. The margins of both are compared first. `times_faster` is for the same work, the margins at all rows (RTAMT
always computes these); a verdict needs the first sample only, which is given beside it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.requirements.robustness import robustness, robustness_over_time
from ironbird.requirements.trace import Trace

STEP_S = 0.02
FORMULAS = {  # Ironbird's, RTAMT's (bounds in samples)
    "always": ("always[0, 30] (x < 60 m)", "always[0,1500](x < 60)"),
    "response": (
        "always[0, 40] (x > 1 m implies eventually[0, 5] (y < 0 m))",
        "always[0,2000]((x > 1) implies (eventually[0,250](y < 0)))",
    ),
    "until": ("(x < 60 m) until[1, 2] (y > 2 m)", "(x < 60) until[50,100] (y > 2)"),
}


def _best_of(repeats: int, work: Any) -> float:
    """Shortest time of some runs: others use this machine as well."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _specification(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # typing.io in the parser that RTAMT uses
        import rtamt
    specification: Any = rtamt.StlDiscreteTimeSpecification()
    specification.declare_var("x", "float")
    specification.declare_var("y", "float")
    specification.spec = text
    specification.parse()
    return specification


def requirements_speed(lanes: int = 1000, rows: int = 3000) -> dict[str, Any]:
    """Microseconds per flight of 60 s at 50 Hz, and how many times faster than RTAMT."""
    random = np.random.default_rng(1)
    x, y = np.cumsum(random.normal(size=(2, lanes, rows)), axis=2)
    trace = Trace(np.arange(rows) * STEP_S, {"x": x, "y": y}, np.full(lanes, rows))
    data = {"time": list(range(rows)), "x": x[0].tolist(), "y": y[0].tolist()}
    found: dict[str, Any] = {"lanes": lanes, "rows": rows}
    for name, (ours, theirs) in FORMULAS.items():
        formula, specification = parse_formula(ours, Names({"x": "m", "y": "m"})), _specification(theirs)
        expected = [margin for _, margin in specification.evaluate(data)]
        np.testing.assert_array_equal(robustness_over_time(formula, trace.lane(0))[0], expected)
        first_s = _best_of(3, lambda: robustness(formula, trace)) / lanes  # noqa: B023
        all_s = _best_of(3, lambda: robustness_over_time(formula, trace)) / lanes  # noqa: B023
        rtamt_s = _best_of(2, lambda: specification.evaluate(data))  # noqa: B023
        found[name] = {
            "us_per_lane": round(1e6 * all_s, 2),
            "us_per_lane_first_sample_only": round(1e6 * first_s, 2),
            "rtamt_us_per_lane": round(1e6 * rtamt_s),
            "times_faster": round(rtamt_s / all_s),
            "times_faster_first_sample_only": round(rtamt_s / first_s),
        }
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=1000)
    print(json.dumps(requirements_speed(parser.parse_args().lanes), indent=2))


if __name__ == "__main__":
    main()
