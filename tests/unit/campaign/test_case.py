"""Concrete flights: round trip through text, digests, spreads, and the schema for editors."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from ironbird.campaign.case import SCHEMA_FILE, FlightCase, Limits, Spread, schema_text
from ironbird.campaign.planned import requirement
from ironbird.campaign.suite import load_suite
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Requirement, Weather
from ironbird.vehicles.names import CATALOG
from ironbird.vehicles.spec import Home


def flight(**changes: Any) -> FlightCase:
    plain: dict[str, Any] = {
        "id": "a/0001/s1", "case_id": "a", "title": "", "vehicle": "quad_f450", "control": "reference",
        "mission": load_mission("hover"), "mission_name": "hover", "weather": Weather(5.0, 270.0), "settings": {},
        "faults": (), "requirements": (), "seed": 1, "until_s": 60.0, "log_s": 0.02, "expect": None, "tags": (),
        "values": {},
    }  # fmt: skip
    return FlightCase(**(plain | changes))


def spread(**keys: Any) -> Spread:
    return Spread.model_validate(keys)


def again(case: FlightCase, folder: Path) -> FlightCase:
    """The flight of the file that a flight writes."""
    file = folder / "again.toml"
    file.write_text(case.to_toml())
    (read,) = load_suite(file).flights()
    return read


TIMES = st.floats(0.0, 100.0)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
SPEEDS = st.floats(0, 50)
WEATHER = st.builds(Weather, SPEEDS, st.floats(-360, 360), SPEEDS, SPEEDS, TIMES, st.floats(0.001, 9), TIMES)
PLACES = st.builds(
    Home,
    latitude_deg=st.floats(-89.9, 89.9),
    longitude_deg=st.floats(-180, 180),
    height_m=st.floats(-500, 9000),
    year=st.floats(2025, 2030),
)
ON_THE_F450 = ["rotor.speed_loss@1", "imu.gyro_bias@1", "battery.power_off@1", "wind.gust@1"]


@st.composite
def injections(draw: st.DrawFn) -> Injection:
    fault = FAULTS[draw(st.sampled_from(ON_THE_F450))]
    shape: dict[str, Any] = draw(
        st.sampled_from([{}, {"shape": "ramp", "rise_s": 2.5}, {"shape": "intermittent", "period_s": 0.3, "duty": 0.1}])
    )
    start = draw(TIMES)
    return Injection(
        fault, instance=draw(st.integers(1, 3)) if fault.counts_instances else 1,
        axis=draw(st.sampled_from([None, 0, 2])) if "gyro" in fault.id or "gust" in fault.id else None,
        severity=draw(st.floats(0.0, 1.0)) if fault.has_severity else 1.0,
        start_s=start, end_s=draw(st.sampled_from([math.inf, start + 1.5])),
        when=draw(st.sampled_from(["", "altitude > 5 m and mode == 'mission'"])), **shape,
    )  # fmt: skip


@st.composite
def missions(draw: st.DrawFn) -> tuple[Mission, str]:
    if draw(st.booleans()):
        return load_mission("square"), "square"
    items = draw(
        st.lists(
            st.fixed_dictionaries({"kind": st.just("waypoint"), "north_m": TIMES, "hold_s": TIMES}),
            min_size=1,
            max_size=3,
        )
    )
    head = draw(st.sampled_from([{}, {"duration_s": 12.5}, {"cruise_speed_mps": 3.0}]))
    return Mission.model_validate({"schema": 1, "title": draw(WORDS), "item": items, **head}), ""


@st.composite
def flights(draw: st.DrawFn) -> FlightCase:
    mission, name = draw(missions())
    return flight(
        title=draw(WORDS), mission=mission, mission_name=name,
        weather=draw(WEATHER), place=draw(st.none() | PLACES),
        settings=draw(st.dictionaries(st.sampled_from(["body.mass", "body.inertia[0]"]), st.floats(0.01, 5.0))),
        faults=tuple(draw(st.lists(injections(), max_size=3))),
        requirements=draw(
            st.sampled_from(
                [(), (Requirement("low", "always (altitude < 60 m)", "minor"),),
                 (requirement({"use": "geofence", "params": {"radius": 50.0}, "name": "fence"}),)]
            )
        ),
        seed=draw(st.integers(0, 2**31)), until_s=draw(st.none() | st.floats(0.1, 1e4)),
        log_s=draw(st.integers(1, 500)) / 500, expect=draw(st.sampled_from([None, "pass", "fail"])),
        tags=tuple(draw(st.lists(WORDS, max_size=2, unique=True))),
    )  # fmt: skip


@given(case=flights())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flight_written_and_read_again_is_the_same_flight(case: FlightCase, tmp_path: Path) -> None:
    read = again(case, tmp_path)

    assert read.digest() == case.digest()
    assert dataclasses.replace(read, id=case.id) == case
    assert read.to_toml().partition("\n")[2] == case.to_toml().partition("\n")[2]


@pytest.mark.parametrize(
    "change",
    [
        {"vehicle": "quad_h250"}, {"control": "truth"}, {"mission": load_mission("square")},
        {"weather": Weather(5.0, 271.0)}, {"settings": {"body.mass": 1.5}},
        {"faults": (Injection(FAULTS["battery.power_off@1"]),)}, {"seed": 2},
        {"requirements": (Requirement("low", "always (altitude < 60 m)", "minor"),)}, {"until_s": None},
        {"log_s": 0.01},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_the_digest_sees_all_that_influences_the_result(change: dict[str, Any]) -> None:
    assert flight(**change).digest() != flight().digest()


def test_the_digest_sees_nothing_else() -> None:
    other = flight(id="b/0009/s1", case_id="b", title="x", tags=("y",), expect="fail", values={"z": 1.0})

    assert other.digest() == flight().digest()
    assert flight(weather=Weather(5, 270)).digest() == flight().digest()  # whole numbers are numbers


def test_the_digest_follows_the_content_of_a_vehicle_file_not_its_place(tmp_path: Path) -> None:
    text = (CATALOG / "quad_f450.toml").read_text()
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(text + "# a comment\n")
    two.write_text(text.replace("mass_kg = 1.4", "mass_kg = 1.5"))

    assert flight(vehicle=str(one)).digest() == flight().digest() != flight(vehicle=str(two)).digest()


def test_distributions_have_the_quantiles_that_they_should() -> None:
    shares = [0.0, 0.1, 0.5, 0.9, 1 - 2**-53]

    assert [spread(uniform=[1.0, 3.0]).at(u) for u in shares] == pytest.approx([1.0, 1.2, 2.0, 2.8, 3.0])
    assert [spread(log_uniform=[0.01, 100.0]).at(u) for u in (0.0, 0.25, 0.5)] == pytest.approx([0.01, 0.1, 1.0])
    normal = spread(normal=[2.0, 0.5])
    assert [normal.at(u) for u in shares[1:4]] == pytest.approx(
        [statistics.NormalDist(2.0, 0.5).inv_cdf(u) for u in shares[1:4]]
    )
    assert normal.at(0.0) == -1.0 and normal.extremes() == [-1.0, 5.0]  # cut at six deviations
    cut = spread(normal=[0.2, 0.1], within=[0.0, 1.0])
    values = [float(cut.at((i + 0.5) / 2000)) for i in range(2000)]
    density = [math.exp(-((x / 1000 - 0.2) ** 2) / 0.02) for x in range(1001)]  # the mean by summing the density
    mean = sum(x / 1000 * d for x, d in enumerate(density)) / sum(density)
    assert min(values) >= 0.0 and statistics.fmean(values) == pytest.approx(mean, abs=1e-3)


def test_levels_of_ranges_lists_and_distributions() -> None:
    assert Spread.model_validate({"range": [0.0, 0.3], "steps": 4}).levels() == [0.0, 0.1, 0.2, 0.3]
    assert Spread.model_validate({"set": [3, 1]}).levels() == [3.0, 1.0]
    assert spread(uniform=[0.0, 1.0], steps=4).levels() == [0.125, 0.375, 0.625, 0.875]
    assert spread(uniform=[0.0, 1.0]).levels() is None
    assert [spread(choice=["a", "b"]).at(u) for u in (0.0, 0.49, 0.5, 0.99)] == ["a", "a", "b", "b"]
    with pytest.raises(ValidationError, match="has no logarithm"):
        spread(log_uniform=[0.0, 1.0])


def test_the_schema_for_editors_is_up_to_date() -> None:
    assert SCHEMA_FILE.read_text() == schema_text(), "run tools/write_case_files.py"
    schema = json.loads(schema_text())
    fault = schema["$defs"]["FaultTable"]["properties"]
    assert fault["severity"]["oneOf"][0] == {"type": "number", "minimum": 0, "maximum": 1}
    assert '"null"' not in schema_text()  # TOML has none


def test_what_must_be_greater_than_its_bound_refuses_the_bound() -> None:
    positive, share = Limits(0, above=True), Limits(0, 1)

    assert positive.check(1e-9) == 1e-9 and share.check(0.0) == 0.0 and share.check(1.0) == 1.0
    for limits, value in ((positive, 0.0), (positive, -1.0), (share, 1.0000001), (share, -0.0000001)):
        with pytest.raises(PydanticCustomError, match="is outside its bounds"):
            limits.check(value)
    with pytest.raises(PydanticCustomError, match="0 is outside its bounds"):
        positive.check(spread(grid=[1.0, 0.0]))


@pytest.mark.parametrize("expect", [None, "pass", "fail"])
def test_the_record_of_a_flight_gives_back_all_of_it(expect: str | None) -> None:
    case = flight(expect=expect, values={"wind.speed_mps": 2.0, "mission": "hover"}, title="Hover", tags=("a", "b"))

    back = FlightCase.from_record(json.loads(json.dumps(case.record())))

    assert back == case and back.expect == expect
