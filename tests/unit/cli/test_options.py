"""Options of the command line as parts of an order."""

from __future__ import annotations

import pytest

from ironbird.cli.options import home_of, weather_of
from ironbird.errors import IronbirdError
from ironbird.flight.order import Weather


def test_wind_turbulence_and_gust_go_to_their_places() -> None:
    assert weather_of("5,270", 8.0) == Weather(speed_mps=5.0, from_deg=270.0, turbulence_mps=8.0)
    assert weather_of("5", 0.0) == Weather(speed_mps=5.0)
    assert weather_of(None, 0.0, "8,20,2,3") == Weather(
        gust_mps=8.0, gust_start_s=20.0, gust_rise_s=2.0, gust_hold_s=3.0
    )
    assert weather_of(None, 0.0, "8,20").gust_rise_s == Weather().gust_rise_s


@pytest.mark.parametrize(
    ("wind", "gust", "why"),
    [
        ("101", None, "--wind: 101 m/s is outside 0 to 100 m/s"),
        ("-1", None, "--wind: -1 m/s is outside"),
        ("5,270,3", None, "--wind '5,270,3': give SPEED"),
        ("fast", None, "--wind 'fast': give SPEED"),
        (None, "8", "--gust '8': give SPEED,START"),
        (None, "8,-1", "times are not negative"),
        (None, "8,1,0", "the rise is greater than 0"),
        (None, "8,1,1,-1", "times are not negative"),
    ],
)
def test_weather_that_cannot_be_is_refused(wind: str | None, gust: str | None, why: str) -> None:
    with pytest.raises(IronbirdError) as caught:
        weather_of(wind, 0.0, gust)
    assert why in str(caught.value)


def test_a_home_has_latitude_longitude_height_and_year() -> None:
    home = home_of("47.4,8.55,488,2027")
    assert home is not None
    assert (home.latitude_deg, home.longitude_deg, home.height_m, home.year) == (47.4, 8.55, 488.0, 2027.0)
    assert home_of(None) is None
    with pytest.raises(IronbirdError, match="--home '95,8': latitude_deg"):
        home_of("95,8")
