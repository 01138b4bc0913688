"""The suite of meanings: small orders come out as an engineer would judge them (tests/system/meanings)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from meanings import WAYS, Meaning, differences, entries, meanings

KEYS = {"id", "why", "order", "known", "says", "rows", "seeds", "broken", "untested", "early", "acts", "differs"}
KEYS |= {"expect", "as_expected", "exit", "junit", "with", *WAYS}


@pytest.mark.filterwarnings("ignore::ironbird.errors.PlausibilityWarning")
@pytest.mark.parametrize("meaning", meanings())
def test_an_order_comes_out_as_an_engineer_would_judge_it(meaning: Meaning, tmp_path: Path) -> None:
    assert differences(meaning, tmp_path) == []


def test_the_suite_is_large_varied_and_says_why() -> None:
    listed = list(entries())
    names = [f"{topic}-{meaning['id']}" for topic, meaning in listed]
    topics = Counter(topic for topic, _ in listed)

    assert len(listed) >= 500 and max(Counter(names).values()) == 1
    assert len(topics) >= 15 and max(topics.values()) <= len(listed) / 5
    for topic, meaning in listed:
        where = f"{topic}: {meaning['id']}"
        assert sum(way in meaning for way in WAYS) == 1, where
        assert meaning["why"].endswith(".") and len(meaning["why"]) >= 8, where
        assert not set(meaning) - KEYS, where
        assert "broken" in meaning or meaning.get("verdict") != "fail", where
