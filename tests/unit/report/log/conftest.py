"""Flights that the tests of a log's page share."""

from __future__ import annotations

import pytest

from ironbird.flight.flight import Flight, fly


@pytest.fixture(scope="session")
def healthy() -> Flight:
    return fly("quad_f450", mission="hover", until_s=8)
