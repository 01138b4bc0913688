"""RFlySimSafe's faults in our terms: complete, readable by our parser, with the severities that the formulas give."""

from __future__ import annotations

import math
import re

import pytest

from ironbird.faults.catalog import FAULTS, parse_fault
from ironbird.faults.rflysimsafe import CASES, ELSEWHERE, MAP_A, MAP_B, MAP_C

IDS_OF_MAP_A = {*range(123450, 123460), *range(123540, 123550), 125340, 125341}  # its database: table faultsontype


def test_every_id_of_map_a_is_there() -> None:
    assert set(MAP_A) == IDS_OF_MAP_A
    assert set(MAP_B) | set(MAP_C) <= IDS_OF_MAP_A


def test_every_target_is_in_our_catalogue() -> None:
    entries = {**{str(key): entry for key, entry in MAP_A.items()}, **ELSEWHERE}
    without = {key for key, entry in entries.items() if not entry.fault}
    assert without == {"123549", "125340", "125341", "B 123457 in PX4"}
    for key, entry in entries.items():
        assert entry.name and entry.translation, key
        named = {entry.fault} - {""} | set(re.findall(r"[\w.]+@\d+", entry.translation + entry.remark))
        assert named <= set(FAULTS), key


def test_every_published_case_can_be_ordered() -> None:
    assert list(CASES) == [f"ST{number:03d}" for number in range(1, 30)]
    for key, case in CASES.items():
        assert case.orders and set(case.ids) <= IDS_OF_MAP_A, key
        assert {int(text) for text in re.findall(r"\b12\d{4}\b", case.injected)} == set(case.ids), key
        targets = {text for number in case.ids for text in re.findall(r"[\w.]+@\d+", " ".join(MAP_A[number]))}
        for order in case.orders:
            assert parse_fault(f"{order},start=20").fault.id in targets, (key, order)


def test_cases_that_are_cut_say_so() -> None:
    for key in ("ST010", "ST016", "ST018", "ST023", "ST024"):
        assert "cut" in CASES[key].remark, key


@pytest.mark.parametrize(
    ("case", "axis", "amount", "unit"),
    [
        ("ST001", None, 0.2, 1.0),  # speed times 0.8
        ("ST005", None, 1.0, 1.0),
        ("ST009", None, 0.5, 0.99),  # capacity times 0.5
        ("ST011", 0, (0.3 + 0.7 * 20) * 0.2 / math.sqrt(3), 30.0),
        ("ST013", 2, (0.3 + 0.7 * 150) * 0.4 / math.sqrt(3), 30.0),
        ("ST014", None, 14 - 5, 14.0),
        ("ST019", 1, 4.0, 20.0),
        ("ST022", 0, 5 * (0.2 + 0.8 * 5) * 0.1 / math.sqrt(3), 5.0),
        ("ST022", 2, 5 * (0.2 + 0.8 * 5) * 0.2 / math.sqrt(3), 5.0),
        ("ST023", 1, 5 * (0.2 + 0.8 * 15) * 0.1 / math.sqrt(3), 5.0),
        ("ST025", None, 5 * (0.2 + 0.8 * 5) * 0.01 / math.sqrt(3), 1.0),
        ("ST027", None, 5 * (0.2 + 0.8 * 30) * 0.01 / math.sqrt(3), 1.0),
        ("ST028", None, 2 * (0.2 + 0.8 * 10) * 0.01e-4 / math.sqrt(3), 5e-5),  # gauss
        ("ST029", None, 2 * (0.2 + 0.8 * 30) * 0.01e-4 / math.sqrt(3), 5e-5),
    ],
)
def test_severities_follow_the_formulas(case: str, axis: int | None, amount: float, unit: float) -> None:
    orders = [order for order in map(parse_fault, CASES[case].orders) if order.axis == axis]

    assert orders
    for order in orders:
        assert order.severity == pytest.approx(amount / unit, rel=1e-4)  # written with five digits


def test_the_noise_of_a_case_is_that_of_the_source() -> None:
    """Severity times what the catalogue calls 1 is the deviation in the sensor's unit."""
    order = parse_fault(CASES["ST025"].orders[0])
    (change,) = order.fault.changes

    assert change.value(order.severity) == pytest.approx(5 * 4.2 * 0.01 / math.sqrt(3), rel=1e-4)  # rad/s
