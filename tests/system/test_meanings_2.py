"""The suite of meanings: vehicles of all kinds, worlds, and commands (see test_meanings.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from meanings import ELSEWHERE, Meaning, differences, meanings


@pytest.mark.filterwarnings("ignore::ironbird.errors.PlausibilityWarning")
@pytest.mark.parametrize("meaning", meanings(ELSEWHERE))
def test_an_order_comes_out_as_an_engineer_would_judge_it(meaning: Meaning, tmp_path: Path) -> None:
    assert differences(meaning, tmp_path) == []
