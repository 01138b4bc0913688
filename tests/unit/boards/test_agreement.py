"""Transactions in Python, pins in Python and pins in C are one chip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ironbird.boards.agreement import compare
from ironbird.boards.chips.catalog import CHIPS, chip_class

PAIRS = [(name, bus) for name in CHIPS for bus in chip_class(name).buses]


@pytest.mark.parametrize(("name", "bus"), PAIRS)
@pytest.mark.parametrize("fault", [False, True], ids=["whole", "broken"])
def test_models_agree_under_random_traffic(name: str, bus: str, fault: bool) -> None:
    found = compare(name, bus, 300, seed=1, fault=fault)
    assert found.differences == () and found.bits > 10_000


def test_a_million_transactions_of_all_chips_were_compared_without_a_difference() -> None:
    measured = json.loads((Path(__file__).parents[3] / "docs" / "measured" / "chip_agreement.json").read_text())

    assert {(row["chip"], row["bus"], row["faults"]) for row in measured} == {
        (*p, f) for p in PAIRS for f in (False, True)
    }
    assert all(row["transactions"] >= 20_000 and not row["differences"] for row in measured)
    assert sum(row["transactions"] for row in measured) >= 1_000_000
