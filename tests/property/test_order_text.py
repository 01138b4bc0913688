"""An order, its text and its record are three forms of one thing: each reads back to the others, bit for bit."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ironbird.campaign.case import FlightCase
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.flight.mission import FARTHEST_M, FASTEST_MPS, KINDS, LONGEST_HOLD_S, LONGEST_S, Mission
from ironbird.flight.order import MOST_SEED, SHORTEST_LOG_S, Order, Requirement, Weather, parse_order
from ironbird.runtime.tuning import Tuning
from ironbird.vehicles.spec import Home

LEAST, MOST = 5e-324, sys.float_info.max
REALS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
PATHS = st.sampled_from(["body.mass", "wind/gust.amplitude_N", "rotor/1/motor.health", "navigator.table", "a b.c\"d'"])
VECTORS = st.lists(REALS, min_size=1, max_size=4)
MATRICES = st.integers(1, 3).flatmap(
    lambda n: st.lists(st.lists(REALS, min_size=n, max_size=n), min_size=1, max_size=2)
)
METRES = st.floats(-FARTHEST_M, FARTHEST_M)
TIMES = st.floats(LEAST, LONGEST_S)
SIZES = st.floats(0.0, allow_nan=False, allow_infinity=False)
WEATHER = st.builds(Weather, SIZES, REALS, *[SIZES] * 5)
MISSIONS = st.builds(
    lambda head, items: Mission.model_validate({"schema": 1, **head, "item": items}),
    st.fixed_dictionaries(
        {"title": TEXT}, optional={"duration_s": TIMES, "cruise_speed_mps": st.floats(LEAST, FASTEST_MPS)}
    ),
    st.lists(
        st.fixed_dictionaries(
            {"kind": st.sampled_from(sorted(KINDS))},
            optional={
                **dict.fromkeys(("north_m", "east_m", "height_m"), METRES),
                "yaw_deg": REALS,
                "hold_s": st.floats(0.0, LONGEST_HOLD_S),
            },
        ),
        min_size=1,
        max_size=3,
    ),
)
PLACES = st.builds(
    Home,
    latitude_deg=st.floats(-89.9, 89.9),
    longitude_deg=st.floats(-180.0, 180.0),
    height_m=REALS,
    year=st.floats(2025.0, 2030.0),
)
REQUIREMENTS = st.builds(
    Requirement,
    NAMES,
    NAMES,
    st.sampled_from(["critical", "major", "minor"]),
    TEXT,
    st.dictionaries(NAMES, REALS | TEXT),
)
TUNINGS = st.builds(Tuning, st.integers(0, 2**53), PATHS, REALS | VECTORS, st.none() | st.integers(0, 511))
OPTIONS = st.dictionaries(NAMES, TEXT | st.integers(-(2**63), 2**63 - 1) | REALS | st.booleans(), max_size=3)


@st.composite
def injections(draw: st.DrawFn) -> Injection:
    fault = FAULTS[draw(st.sampled_from(sorted(FAULTS)))]
    start_s = draw(st.floats(0.0, 1e300))
    shape: dict[str, Any] = draw(
        st.just({})
        | st.fixed_dictionaries({"shape": st.just("ramp"), "rise_s": st.floats(1e-6, 1e6)})
        | st.fixed_dictionaries(
            {"shape": st.just("intermittent"), "period_s": st.floats(1e-6, 1e6), "duty": st.floats(0.01, 0.99)}
        )
    )
    return Injection(
        fault,
        instance=draw(st.integers(1, 64) | st.sampled_from(["left", "rear_2"])) if fault.counts_instances else 1,
        axis=draw(st.sampled_from([None, 0, 2])),
        severity=draw(st.floats(0.0, 1.0)) if fault.has_severity else 1.0,
        start_s=start_s,
        end_s=draw(st.just(math.inf) | st.floats(math.nextafter(start_s, math.inf), MOST)),
        when=draw(TEXT),
        **shape,
    )


@st.composite
def fields(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "vehicle": draw(NAMES),
        "control": draw(NAMES),
        "mission": draw(st.none() | MISSIONS),
        "mission_name": draw(TEXT),
        "script": draw(TEXT),
        "weather": draw(WEATHER),
        "place": draw(st.none() | PLACES),
        "settings": draw(st.dictionaries(PATHS, REALS | VECTORS | MATRICES)),
        "faults": tuple(draw(st.lists(injections(), max_size=2))),
        "requirements": tuple(draw(st.lists(REQUIREMENTS, max_size=2))),
        "seed": draw(st.integers(0, MOST_SEED)),
        "until_s": draw(st.none() | TIMES),
        "log_s": draw(st.floats(SHORTEST_LOG_S, LONGEST_S)),
        "tunings": tuple(draw(st.lists(TUNINGS, max_size=2))),
        "options": draw(OPTIONS),
    }


AWKWARD = "QGC WPL 110\n\"\"\"\t''' \\ \r\n[order]\nseed = 7\x00\x7f\u2028"
LIMITS = {
    "vehicle": "my\nquad = 1.toml",
    "control": 'python:"\n[order]',
    "script": AWKWARD,
    "weather": Weather(*[MOST, -MOST, LEAST, 1.0 - 1e-16, -0.0, 0.1 + 0.2, 1e16]),
    "settings": {"body.mass": math.nextafter(1.0, 2.0), "a.b": [-0.0, MOST], "c.d": [[LEAST], [1e22]]},
    "seed": MOST_SEED,
    "until_s": LEAST,
    "log_s": LONGEST_S,
    "options": {"port": "", "udp": 0, "priority": False, "rate": 1.0, "text": AWKWARD},
    "requirements": (Requirement("a", "b", "minor", "", {"to": "", "by": 1.0}),),
    "tunings": (Tuning(0, "body.mass", [1.0, -0.0], None), Tuning(1, "body.mass", 2.0, 0)),
}


@given(given_fields=fields())
@example(given_fields=LIMITS)
@settings(max_examples=300)
def test_an_order_reads_back_from_its_text_to_the_same_order(given_fields: dict[str, Any]) -> None:
    order = Order(**given_fields)

    read = parse_order(order.text())

    assert read == order
    assert repr(read) == repr(order)  # -0.0 is not 0.0, True is not 1, 1 is not 1.0
    assert read.text() == order.text()


@given(given_fields=fields())
@example(given_fields=LIMITS)
@settings(max_examples=100)
def test_an_order_reads_back_from_its_record_as_json(given_fields: dict[str, Any]) -> None:
    order = Order(**given_fields)

    read = Order(**Order.fields_of(json.loads(json.dumps(order.record(), allow_nan=False))))

    assert repr(read) == repr(order) and read == order


@given(
    given_fields=fields(),
    labels=st.fixed_dictionaries(
        {"id": NAMES, "case_id": NAMES, "title": TEXT, "expect": st.sampled_from([None, "pass", "fail"])},
        optional={
            "tags": st.lists(TEXT, max_size=2).map(tuple),
            "values": st.dictionaries(NAMES, REALS | TEXT, max_size=2),
        },
    ),
)
@settings(max_examples=100)
def test_a_case_reads_back_from_its_record_as_json_with_its_labels(
    given_fields: dict[str, Any], labels: dict[str, Any]
) -> None:
    case = FlightCase(**given_fields, **labels)

    read = FlightCase.from_record(json.loads(json.dumps(case.record(), allow_nan=False)))

    assert repr(read) == repr(case) and read == case
    assert parse_order(case.text()) == Order(**given_fields)  # its text is that of the flight, without labels
