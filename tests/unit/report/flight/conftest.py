"""Three flights for the tests of the page, each flown once: with a crash, healthy, and on sensors."""

from __future__ import annotations

import pytest
from flight_pages import FAULT, TRIGGER, Page, page_of

from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Weather


@pytest.fixture(scope="package")
def flight() -> Flight:
    """A flight that ends in a crash because a motor stops."""
    return fly(
        "quad_f450",
        control="truth",
        weather=Weather(4.0, 90.0, 6.0),
        seed=5,
        settings={"body.mass": 1.5},
        faults=[FAULT],
    )


@pytest.fixture(scope="package")
def healthy() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", seed=1, until_s=3.0)


@pytest.fixture(scope="package")
def sensed() -> Flight:
    """A flight on sensors: a biased inertial unit is left out, then all receivers are jammed by a trigger."""
    biased = "imu.accel_bias@1:instance=1,axis=2,severity=0.4,start=6,end=9"
    jammed = f"environment.gnss_denied@1:start=1.5,when={TRIGGER}"
    return fly("quad_f450", control="reference", seed=1, until_s=14.0, faults=[biased, jammed])


@pytest.fixture(scope="package")
def sensed_page(sensed: Flight, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(sensed, tmp_path_factory.mktemp("sensed"))


@pytest.fixture(scope="package")
def page(flight: Flight, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(flight, tmp_path_factory.mktemp("page"))
