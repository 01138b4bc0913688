"""Units in requirements."""

from __future__ import annotations

import math

import pytest

from ironbird.conditions.quantity import read_unit, si_text
from ironbird.errors import ConditionError, UnknownNameError
from ironbird.units import UNITS


def test_every_unit_that_a_signal_may_have_can_be_read_and_is_si() -> None:
    assert {read_unit(unit).size for unit in UNITS} == {1.0}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("N", "kg*m/s^2"), ("W", "V*A"), ("ohm", "V/A"), ("T", "N/A/m"), ("Pa", "N/m^2"), ("J", "N*m"),
        ("A*s", "W*s/V"),
        ("Hz", "1/s"), ("rad/s/sqrt(Hz)", "rad/sqrt(s)"), ("m/s^2/sqrt(Hz)", "m*s^-2/sqrt(Hz)"),
    ],
)  # fmt: skip
def test_units_of_one_dimension_agree(left: str, right: str) -> None:
    assert read_unit(left) == read_unit(right)


@pytest.mark.parametrize(("left", "right"), [("m", "rad"), ("rad", "1"), ("rad/s", "Hz"), ("m/s", "m"), ("N", "kg")])
def test_units_of_different_dimension_differ(left: str, right: str) -> None:
    assert read_unit(left).dimension != read_unit(right).dimension


def test_sizes_in_si() -> None:
    assert read_unit("deg/s").size == pytest.approx(math.radians(1), rel=1e-15)
    assert read_unit("rpm").size == pytest.approx(2 * math.pi / 60, rel=1e-15)
    assert read_unit("km/h").size == pytest.approx(1 / 3.6, rel=1e-15)
    assert read_unit("kn").size == pytest.approx(1.852 / 3.6, rel=1e-15)
    assert read_unit("ft/min").size == pytest.approx(0.00508, rel=1e-15)  # exact by definition
    assert read_unit("hPa").size == 100.0
    assert read_unit("%").size == 0.01


@pytest.mark.parametrize("text", ["m", "N", "rad/s", "1", "m/s", "1/s", "m^2/s^2", "rad/s^2", "V", "K"])
def test_si_text_reads_back(text: str) -> None:
    assert si_text(read_unit(text).dimension) == text


def test_wrong_units_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown unit 'mtr'"):
        read_unit("mtr/s")
    with pytest.raises(ConditionError, match="cannot read the unit 'm//s'"):
        read_unit("m//s")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mm^-999999", "the power -999999 in the unit"),
        ("h^99", "too large or too small"),
        ("mm^99*mm^99", "too large or too small"),
        ("*".join(["m"] * 17), "more than 16 factors"),
        ("m^٣", "cannot read the unit"),
    ],
)
def test_units_beyond_all_measure_are_refused(text: str, says: str) -> None:
    with pytest.raises(ConditionError, match=says):
        read_unit(text)
