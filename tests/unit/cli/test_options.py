"""Options of the command line as parts of an order; what cannot be read says how to write it."""

from __future__ import annotations

import pytest

from ironbird.cli.options import home_of, options_of, settings_of, weather_of
from ironbird.errors import IronbirdError


def test_settings_are_numbers_and_lists() -> None:
    assert settings_of(["body.mass=1.6", "a.b=[1, 2]"]) == {"body.mass": 1.6, "a.b": [1, 2]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("body.mass", "--set 'body.mass': give PATH=VALUE"),
        ("=1", "give PATH=VALUE"),
        ("a.b=30,30,4", "write a list in brackets: [30,30,4]"),
        ("a.b=heavy", "'heavy' is not a number or a list of numbers"),
        ("a.b=" + "[" * 100_000, "is not a number or a list of numbers"),
        ("a.b=" + "9" * 10_000, "is not a number or a list of numbers"),
    ],
)
def test_settings_that_cannot_be_read_say_how(text: str, says: str) -> None:
    with pytest.raises(IronbirdError) as error:
        settings_of([text])

    assert says in str(error.value) and len(str(error.value)) < 400


def test_the_verb_tune_does_not_speak_of_an_option() -> None:
    with pytest.raises(IronbirdError, match=r"^'body\.mass': give"):
        settings_of(["body.mass"], option="")


def test_options_that_are_no_json_are_texts() -> None:
    nested = "[" * 100_000

    assert options_of(["a=1", "b=true", "c=x", f"d={nested}"]) == {"a": 1, "b": True, "c": "x", "d": nested}


@pytest.mark.parametrize("text", ["nan", "inf,3", "1,nan", "1e999", "", "1,2,3"])
def test_wind_is_finite(text: str) -> None:
    if text:
        with pytest.raises(IronbirdError, match="give SPEED or SPEED,FROM_DEG"):
            weather_of(text, 0.0)


def test_a_place_outside_the_earth_is_told_in_plain_words() -> None:
    with pytest.raises(IronbirdError) as error:
        home_of("95,8")

    assert str(error.value) == (
        "--home '95,8': latitude_deg: 95.0 is outside its bounds; write a number of at most 89.9"
    )
