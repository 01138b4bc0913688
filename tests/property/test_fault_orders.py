"""Orders of faults read back to the same bits, as text and as tables, whatever was ordered."""

from __future__ import annotations

import math
import tomllib

from hypothesis import given
from hypothesis import strategies as st

from ironbird.faults.catalog import FAULTS, parse_fault, read_fault
from ironbird.faults.spec import SHAPES, Injection, Shape
from ironbird.files.toml_text import write_toml

PARTS = st.integers(0, 10**6) | st.from_regex(r"[A-Za-z0-9_]{0,8}[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
SECONDS = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(0.0, exclude_min=True, allow_nan=False, allow_infinity=False)
PREDICATES = st.sampled_from(["", "altitude > 20 and mode == 'mission'", "a == 1, b == 2, when=c", "x=1,start=3"])
PREDICATES |= st.text(st.characters(codec="utf-8"), max_size=20)


@st.composite
def injections(draw: st.DrawFn) -> Injection:
    """Any order of the catalogue, with the keys that its shape uses."""
    fault = FAULTS[draw(st.sampled_from(sorted(FAULTS)))]
    start_s = draw(st.floats(0.0, allow_nan=False, allow_infinity=False))
    later = st.floats(min_value=start_s, exclude_min=True) if start_s < 1.7e308 else st.just(math.inf)
    shape: Shape = draw(st.sampled_from(SHAPES))
    return Injection(
        fault,
        instance=draw(PARTS) if fault.counts_instances else 1,
        axis=draw(st.none() | st.integers(0, 8)),
        severity=draw(st.floats(0, 1)) if fault.has_severity else 1.0,
        start_s=start_s,
        end_s=draw(st.just(math.inf) | later),
        shape=shape,
        rise_s=draw(POSITIVE) if shape == "ramp" else 0.0,
        period_s=draw(POSITIVE) if shape == "intermittent" else 0.0,
        duty=draw(st.floats(0.0, 1.0, exclude_min=True, exclude_max=True)) if shape == "intermittent" else 0.5,
        when=draw(PREDICATES),
    )


@given(injections())
def test_the_text_of_an_order_reads_back_to_the_same_order(order: Injection) -> None:
    assert parse_fault(order.text()) == order


@given(injections())
def test_the_table_of_an_order_reads_back_to_the_same_order(order: Injection) -> None:
    assert read_fault(order.table()) == order
    written = write_toml({"fault": [order.table()]}, ("fault",))
    assert read_fault(tomllib.loads(written)["fault"][0]) == order
