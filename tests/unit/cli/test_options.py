"""Options of the command line as parts of an order; what cannot be read says how to write it."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_data import flight_case

from ironbird.cli.campaign import with_params
from ironbird.cli.options import home_of, options_of, params_of, settings_of, sight_of, weather_of
from ironbird.errors import IronbirdError
from ironbird.flight.order import Weather
from ironbird.vehicles.spec import Home


def test_parameters_of_the_command_line_win_over_files_and_those_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PX4_PARAM_A_ONE", "1")
    monkeypatch.setenv("PX4_PARAM_A_TWO", "1")
    parm, script, table = (tmp_path / name for name in ("a.parm", "b.sh", "c.params"))
    parm.write_text("A_TWO 2  # why\nA_THREE,2\n")
    script.write_text("param set-default A_THREE 3\n")
    table.write_text("# Onboard parameters\n1\t1\tA_FOUR\t4.5\t9\n")
    told = "A_ONE=1,A_TWO=2,A_THREE=3,A_FOUR=7"
    assert params_of("px4", [parm, script, table], ["A_FOUR=7"]) == told
    assert params_of("ardupilot", [], ["A_FOUR=7"]) == "A_FOUR=7"
    with pytest.raises(IronbirdError, match="cannot read"):
        params_of("px4", [tmp_path / "none"], [])
    with pytest.raises(IronbirdError, match="is not a name and a number"):
        params_of("px4", [], ["nothing"])


def test_flights_of_a_campaign_under_autopilots_take_parameters_on_top_of_their_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PX4_PARAM_A_ONE", "1")
    monkeypatch.setenv("PX4_PARAM_A_TWO", "1")
    file = tmp_path / "own.parm"
    file.write_text("A_THREE 3\n")
    own = flight_case(control="px4", options={"time": "virtual", "params": "A_TWO=2,A_THREE=2"})
    other, inside = flight_case(control="ardupilot"), flight_case()
    px4, ardupilot, reference = with_params([own, other, inside], [file], ["A_FOUR=4"])
    assert px4.options == {"time": "virtual", "params": "A_ONE=1,A_TWO=2,A_THREE=3,A_FOUR=4"}
    assert ardupilot.options == {"params": "A_THREE=3,A_FOUR=4"} and reference == inside
    with pytest.raises(IronbirdError, match="no flight is under px4 or ardupilot"):
        with_params([inside], [], ["A_FOUR=4"])
    assert with_params([inside], [], []) == [inside]


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
        home_of("95,8", None, "quad_f450")

    assert str(error.value) == (
        "--home '95,8': latitude_deg: 95.0 is outside its bounds; write a number of at most 89.9"
    )


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


def test_a_home_has_latitude_longitude_and_height_and_the_year_is_an_option_of_its_own() -> None:
    home = home_of("47.4,8.55,488", 2027.0, "quad_f450")
    assert home is not None
    assert (home.latitude_deg, home.longitude_deg, home.height_m, home.year) == (47.4, 8.55, 488.0, 2027.0)
    assert home_of(None, None, "quad_f450") is None
    own = home_of(None, 2027.0, "quad_f450")
    assert own is not None and own.year == 2027.0 and own.latitude_deg == Home().latitude_deg
    with pytest.raises(IronbirdError, match="--home '95,8': latitude_deg"):
        home_of("95,8", None, "quad_f450")
    with pytest.raises(IronbirdError, match="a heading goes into --start 0,0,YAW, a year into --year"):
        home_of("47.4,8.55,488,2026", None, "quad_f450")
    with pytest.raises(IronbirdError, match=r"--year 1900\.0: year: 1900\.0 is outside its bounds"):
        home_of(None, 1900.0, "quad_f450")


def test_sensors_of_the_world_are_read_from_words_and_from_files(tmp_path: Path) -> None:
    assert sight_of(["ring:beams=16, rate_hz=5", "rangefinder:name=down,euler_deg=[0,-90,0]"]) == [
        {"kind": "ring", "beams": 16, "rate_hz": 5, "name": "ring"},
        {"kind": "rangefinder", "name": "down", "euler_deg": [0, -90, 0]},
    ]
    file = tmp_path / "sensors.toml"
    file.write_text('schema = 1\n[[sensor]]\nkind = "solid_state_lidar"\nname = "front"\npattern = "grid"\n')
    assert sight_of([str(file)]) == [{"kind": "solid_state_lidar", "name": "front", "pattern": "grid"}]
    with pytest.raises(IronbirdError, match="'beams' is not key=value"):
        sight_of(["ring:beams"])
