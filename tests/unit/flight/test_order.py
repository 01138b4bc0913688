"""Orders: a digest of all that matters and of nothing else, a text that reads back, and errors that say what to do."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.campaign.case import FlightCase
from ironbird.campaign.suite import load_suite
from ironbird.errors import LinkError, OrderError, RunError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.flight.flight import fly
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Order, Requirement, Weather, load_order, make_order, parse_order
from ironbird.host import process
from ironbird.runtime.tuning import Tuning
from ironbird.systems.commanded import front
from ironbird.vehicles.names import CATALOG
from ironbird.vehicles.spec import Home

FAULT = "imu.accel_bias@1:instance=2,axis=1,severity=0.25,start=3,end=9,when=altitude > 5 m"
GUST = Weather(5.0, 270.0, 2.0, 4.0, 3.0, 1.0, 2.0)
ORDER = make_order(
    "quad_f450", control="reference", mission="hover", weather=GUST, faults=[FAULT],
    requirements=[Requirement("low", "always (altitude < 60 m)", "minor")], settings={"body.mass": 1.5}, seed=1,
    until_s=9.5, place=Home(), tunings=[Tuning(10, "body.mass", 1.6)], options={"pilot": "ours"}, script="QGC WPL 110",
)  # fmt: skip


def another(value: Any, **changes: Any) -> Any:
    return dataclasses.replace(value, **changes)


def mission(**changes: Any) -> Mission:
    plain = load_mission("hover").model_dump(mode="json", by_alias=True, exclude_none=True)
    return Mission.model_validate({**plain, **changes})


MATTERS: dict[str, list[Any]] = {  # each field of an order, changed in each of its parts
    "vehicle": ["quad_h250"],
    "control": ["truth", "px4"],
    "mission": [
        None, load_mission("square"), mission(title="x"), mission(duration_s=21.0), mission(cruise_speed_mps=1.0),
        mission(item=[{"kind": "waypoint", "height_m": 10.0, "hold_s": 1.0}]), mission(item=[{"kind": "land"}]),
    ],
    "script": ["", "QGC WPL 110\n"],
    "weather": [another(GUST, **{entry.name: 0.5}) for entry in dataclasses.fields(Weather)],
    "place": [
        None, Home(latitude_deg=1.0), Home(longitude_deg=1.0), Home(height_m=1.0), Home(year=2027.0),
    ],
    "settings": [{}, {"body.mass": 1.5000000000000002}, {"body.mas": 1.5}, {"body.mass": [1.5]}],
    "faults": [
        (), (parse_fault(FAULT), parse_fault(FAULT)), (parse_fault(FAULT.replace("accel", "gyro")),),
        *(
            (another(parse_fault(FAULT), **change),)
            for change in (
                {"instance": 1}, {"axis": 0}, {"severity": 0.26}, {"start_s": 2.0}, {"end_s": 8.0}, {"when": ""},
                {"shape": "ramp", "rise_s": 1.0}, {"shape": "intermittent", "period_s": 1.0},
                {"shape": "intermittent", "period_s": 1.0, "duty": 0.4}, {"shape": "ramp", "rise_s": 2.0},
            )
        ),
    ],
    "requirements": [
        (), (Requirement("lo", "always (altitude < 60 m)", "minor"),),
        (Requirement("low", "always (altitude < 61 m)", "minor"),),
        (Requirement("low", "always (altitude < 60 m)", "major"),),
    ],
    "ends": ["completed", "completed or landed", "completed or landed within 20 m of 0, 0", "time"],
    "may_crash": [True],
    "seed": [0, 2**63 - 1],
    "until_s": [None, 9.500000000000002],
    "log_s": [0.01],
    "tunings": [
        (), (Tuning(11, "body.mass", 1.6),), (Tuning(10, "body.mas", 1.6),), (Tuning(10, "body.mass", 1.7),),
        (Tuning(10, "body.mass", 1.6, 0),),
    ],
    "options": [{}, {"pilot": "none"}, {"pilt": "ours"}],
    "world": ["field", "forest", 'schema = 1\n[terrain]\nkind = "plane"\n'],
    "sight": [],  # see below: they need a world
    "integration": ["rk4@0.001", "rk2@0.001", "rk2@0.0005"],
}  # fmt: skip


def test_the_digest_sees_every_part_of_every_field_that_matters() -> None:
    assert set(MATTERS) == {entry.name for entry in dataclasses.fields(Order)} - {"mission_name"}
    assert {entry.name for entry in dataclasses.fields(Injection)} - {"fault"} == {
        "instance", "axis", "severity", "start_s", "end_s", "shape", "rise_s", "period_s", "duty", "when",
    }  # fmt: skip
    orders = [ORDER, *(another(ORDER, **{name: value}) for name, values in MATTERS.items() for value in values)]
    seeing = [
        {"kind": "ring", "name": "a"}, {"kind": "rangefinder", "name": "a"}, {"kind": "ring", "name": "b"},
        {"kind": "ring", "name": "a", "beams": 8}, {"kind": "camera", "name": "a"},
    ]  # fmt: skip
    orders += [another(ORDER, world="field", sight=(table,)) for table in seeing]
    digests = [order.digest() for order in orders]
    for number, digest in enumerate(digests):
        assert digests.index(digest) == number, orders[number]  # all differ, from the first and from each other


def test_the_digest_does_not_see_labels_and_ways_to_write_the_same() -> None:
    same = [
        another(ORDER, mission_name="other"),
        another(ORDER, weather=Weather(5, 270, 2, 4, 3, 1, 2)),
        another(ORDER, settings={"body.mass": 1.5}, until_s=9.5),
        another(ORDER, requirements=(Requirement("low", "always (altitude < 60 m)", "minor", "geofence", {"x": 1.0}),)),
        parse_order(ORDER.text()),
        case(),
        case(id="b/0002/s1", case_id="b", title="t", expect="fail", tags=("x",), values={"y": 2.0}),
    ]
    for order in same:
        assert order.digest() == ORDER.digest(), order
    calm = another(ORDER, weather=Weather(5.0))
    later = another(ORDER, weather=Weather(5.0, gust_start_s=3.0, gust_rise_s=2.0, gust_hold_s=1.0))
    assert calm.digest() == later.digest()  # a gust of no speed is none, whenever it comes
    a, b = ({"body.mass": 1.5, "body.inertia[0]": 0.02}, {"body.inertia[0]": 0.02, "body.mass": 1.5})
    assert another(ORDER, settings=a).digest() == another(ORDER, settings=b).digest()


def test_the_digest_follows_the_content_of_a_vehicle_file(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    shutil.copy(CATALOG / "quad_f450.toml", own)
    order = another(ORDER, vehicle=str(own))
    assert order.digest() == ORDER.digest()
    own.write_text(own.read_text().replace("mass_kg = 1.4", "mass_kg = 1.41"))
    assert order.digest() != ORDER.digest()


def case(**labels: Any) -> FlightCase:
    plain = {entry.name: getattr(ORDER, entry.name) for entry in dataclasses.fields(Order)}
    return FlightCase(**{"id": "a/0001/s1", "case_id": "a", **plain, **labels})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mission": mission(title="own"), "mission_name": ""},
        {"mission": mission(title="own", cruise_speed_mps=1.5), "mission_name": "", "until_s": None},
        {"settings": {"wind/gust.amplitude_N": [1.0, 0.0, 1 / 3], "body.mass": 1.4}},
        {"weather": Weather(), "place": Home(latitude_deg=-33.3, longitude_deg=-70.7, height_m=1 / 3, year=2025.5)},
        {"requirements": (Requirement.of("no_crash"), Requirement.of("attitude_limit", limit=30.0)), "control": "truth",
         "faults": ()},
        {"faults": tuple(map(parse_fault, (
            "rotor.speed_loss@1:instance=3,severity=0.1,start=1,shape=ramp,rise=0.7",
            "battery.low_voltage@1:severity=0.3,start=0.1,end=12,shape=intermittent,period=2,duty=0.4",
        )))},
        {"seed": 2**31, "log_s": 0.01, "expect": "fail", "tags": ("x", "y"), "title": 'a "b"'},
    ],
    ids=["plain", "own mission", "no end", "vectors", "elsewhere", "library", "shapes", "labels"],
)  # fmt: skip
def test_a_case_becomes_a_file_that_flies_the_same(changes: dict[str, Any], tmp_path: Path) -> None:
    known = {"script": "", "tunings": (), "options": {}, "control": "reference", **changes}
    first = case(**known)
    (tmp_path / "one.toml").write_text(first.to_toml())

    (read,) = load_suite(tmp_path / "one.toml").flights()

    assert read.digest() == first.digest()
    assert dataclasses.replace(read, id=first.id) == first


def test_what_a_case_file_cannot_hold_is_refused() -> None:
    for changes in ({"script": "what a ground station sent", "tunings": ()}, {"script": ""}):
        with pytest.raises(OrderError) as caught:
            case(**changes).to_toml()
        assert str(caught.value) == (
            "flight a/0001/s1: a case file holds no record of a ground station and no live tunings"
        )


def test_an_order_is_kept_in_a_folder_and_found_there(tmp_path: Path) -> None:
    (tmp_path / "order.toml").write_text(ORDER.text(), encoding="utf-8")
    assert load_order(tmp_path) == load_order(tmp_path / "order.toml") == load_order(str(tmp_path)) == ORDER


TEXT = ORDER.text()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed = 1", "seed = ", "not valid TOML: Invalid value (at line 9, column 8); give the order.toml of a flight"),
        ("schema = 1", "schema = 2", "there is no [order] of schema 1; give the order.toml of a flight"),
        ("[order]", "[odrer]", "[order] lacks 'vehicle'; give the order.toml of a flight"),
        ('vehicle = "quad_f450"\n', "", "[order] lacks 'vehicle'; give the order.toml of a flight"),
        ("seed = 1", "sede = 1", "unknown key 'sede' in [order]; did you mean 'seed' or 'ends'?"),
        ("seed = 1", 'seed = "a"', "seed = 'a' is no whole number"),
        ("seed = 1", "seed = 1.5", "seed = 1.5 is no whole number"),
        ("seed = 1", "seed = -1", "seed -1 is not a whole number from 0 to 2^63 - 1"),
        ("seed = 1", f"seed = {2**63}", f"seed {2**63} is not a whole number from 0 to 2^63 - 1"),
        ("log_s = 0.02", "log_s = 0", "log_s = 0: give a time from 0.001 s to 1e+07 s"),
        ("until_s = 9.5", "until_s = nan", "until_s = nan: give a time greater than 0 and up to 1e+07 s"),
        ("until_s = 9.5", "until_s = 1e308", "until_s = 1e+308: give a time greater than 0 and up to 1e+07 s"),
        ("log_s = 0.02", "log_s = 1e-300", "log_s = 1e-300: give a time from 0.001 s to 1e+07 s"),
        ('"body.mass" = 1.5', '"body.mass" = inf', "setting body.mass = inf is not finite"),
        ('"body.mass" = 1.5', f'"body.mass" = {"9" * 400}', f"setting body.mass = {'9' * 79}… is not finite"),
        (
            '"body.mass" = 1.5',
            '"body.mass" = [[1, 2], 3]',
            "setting body.mass = [[1, 2], 3] has rows of different lengths",
        ),
        (
            "seed = 1",
            "seed = 1\nx = " + "[" * 2000,
            "not valid TOML: it is nested too deeply; the most is 32; give the order.toml of a flight",
        ),
        ("log_s = 0.02", 'log_s = "often"', "log_s = 'often' is no number"),
        ('control = "', 'control = 3 # "', "control = 3 is no text"),
        ("formula = ", "formula = 3 # ", "formula of a requirement = 3 is no text"),
        (
            '"body.mass" = 1.5',
            '"body.mass" = [1.5, "x"]',
            "setting body.mass = [1.5, 'x'] is not a number or a list of numbers",
        ),
        ("from_deg", "form_deg", "unknown key 'form_deg' in [order.wind]; did you mean 'from_deg'?"),
        ("severity = 0.25", "severity = 2.5", "imu.accel_bias@1: severity 2.5 is outside 0 .. 1 ("),
        ("severity = 0.25", "severty = 0.25", "unknown key 'severty' in [order.faults]; did you mean 'severity'?"),
        ("accel_bias", "acel_bias", "unknown fault 'imu.acel_bias@1'; did you mean 'imu.accel_bias@1' or "),
        ("formula = ", "formla = ", "unknown key 'formla' in [order.requirements]; did you mean 'formula'?"),
        ("tick = 10", "tock = 10", "unknown key 'tock' in [order.tunings]; did you mean 'tick'?"),
        ("tick = 10", "tick = 10\nlane = inf", "tuning of body.mass: lane inf is not a whole number from 0 on"),
        ("value = 1.6", "value = inf", "tuning of body.mass at tick 10: value = inf is not finite"),
        ("year = 2026.0", "year = 1926.0", "place.year: 1926.0 is outside its bounds; write a number of at least 2025"),
        (
            'kind = "waypoint"',
            'kind = "waypint"',
            "mission.item.0.kind: 'waypint' is not known here; did you mean 'waypoint'?",
        ),
    ],
)
def test_what_is_wrong_with_an_order_is_said_in_one_line(old: str, new: str, says: str) -> None:
    assert TEXT.count(old) >= 1
    with pytest.raises(OrderError) as caught:
        parse_order(TEXT.replace(old, new, 1), "out/order.toml")
    said = str(caught.value)
    assert said.startswith(f"out/order.toml: {says}") and "\n" not in said
    if not says.endswith(("(", "or ")):
        assert said == f"out/order.toml: {says}"


def test_parts_of_another_kind_are_refused_where_they_are_made() -> None:
    with pytest.raises(OrderError, match=r"params of requirement a = \[1\] is no table"):
        Requirement("a", "time > 0 s", params=[1])  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"a tuning of \['body.mass'\]: give the path of a parameter as text"):
        Tuning(3, ["body.mass"], 1.0)  # type: ignore[arg-type]
    with pytest.raises(OrderError, match=r"control = -inf is no text"):
        Order(vehicle="quad_f450", control=-math.inf)  # type: ignore[arg-type]
    empty = Order(vehicle="quad_f450", control="")
    assert parse_order(empty.text()) == empty


def test_a_file_that_is_not_there_or_is_no_text_is_named(tmp_path: Path) -> None:
    cure = "; give the folder of a flight, or its order.toml"
    with pytest.raises(OrderError) as caught:
        load_order(tmp_path)
    path = tmp_path / "order.toml"
    assert str(caught.value) == f"cannot read {path}: No such file or directory{cure}"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(OrderError) as caught:
        load_order(path)
    assert str(caught.value).startswith(f"cannot read {path}: 'utf-8' codec can't decode byte 0xff")
    assert str(caught.value).endswith(cure)


def test_an_order_in_short_is_what_the_vehicle_usually_has() -> None:
    order = make_order("quad_f450")
    assert (order.control, order.mission_name, order.mission) == ("reference", "square", load_mission("square"))
    assert (order.weather, order.faults, order.requirements, order.seed, order.until_s) == (Weather(), (), (), 0, None)
    with pytest.raises(UnknownNameError, match=r"unknown mission 'hovr'; did you mean 'hover'"):
        make_order("quad_f450", mission="hovr")


def test_requirements_are_given_by_name_or_as_a_formula() -> None:
    library, own = make_order("quad_f450", requirements=["no_crash", "always (altitude < 60 m)"]).requirements
    assert (library.use, library.formula, library.severity) == ("no_crash", "always (crashed == 0)", "critical")
    assert own == Requirement("always (altitude < 60 m)", "always (altitude < 60 m)", "major")
    assert library.text() == "no_crash" and own.text() == own.formula
    tilted = Requirement.of("attitude_limit", limit=30.0)
    assert tilted.text() == tilted.formula != "attitude_limit"  # the name alone would lose the angle


@pytest.mark.parametrize(
    "value", [(1.0, 2, 3.5), np.array([1.0, 2.0, 3.5]), [np.float64(1.0), 2, 3.5]], ids=["tuple", "array", "list"]
)
def test_settings_read_back_equal_however_they_were_given(value: Any) -> None:
    order = another(ORDER, settings={"wind/steady.velocity_N": value, "body.mass": np.float32(1.5)})
    plain = another(ORDER, settings={"wind/steady.velocity_N": [1.0, 2.0, 3.5], "body.mass": 1.5})
    assert parse_order(order.text()) == order == plain and order.digest() == plain.digest()


@pytest.mark.parametrize("value", ["x", True, None, [1.0, "x"], {"a": 1}])
def test_a_setting_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(OrderError, match=r"setting body\.mass = .* is not a number or a list of numbers"):
        another(ORDER, settings={"body.mass": value})


@pytest.mark.parametrize("key", ["until_s", "log_s"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_times_are_finite_and_greater_than_zero(key: str, value: float) -> None:
    with pytest.raises(OrderError, match=rf"{key} = {value}: give a time (greater than 0|from 0\.001 s)"):
        make_order("quad_f450", control="truth", mission="hover", **{key: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"folder": "/some/where"}, {"front": "mavlink"}])
def test_making_an_order_trusts_nothing_and_changes_nothing(options: dict[str, str]) -> None:
    before = dict(os.environ), vars(front).copy(), vars(process).copy()

    order = make_order("quad_f450", control="px4" if "folder" in options else "commanded", options=options)

    assert (dict(os.environ), vars(front), vars(process)) == before
    assert order.options == options
    with pytest.raises(LinkError, match="is named by a file alone"):  # an order alone is data, whoever made it
        fly(order)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"weather": 5.0}, "weather = 5.0 is no weather: give ib.Weather(speed_mps=5.0"),
        ({"weather": 0}, "weather = 0 is no weather"),
        ({"until_s": "5"}, "until_s = '5' is no number: give seconds, such as 5.0"),
        ({"log_s": "x"}, "log_s = 'x' is no number"),
        ({"place": (47.0, 8.0)}, "place = (47.0, 8.0) is no place: give ib.Home(latitude_deg="),
        ({"settings": ["body.mass"]}, "settings = ['body.mass'] is no table: give a dict, such as {'body.mass': 1.5}"),
        ({"options": "virtual"}, "options = 'virtual' is no table: give a dict"),
    ],
)
def test_an_argument_of_a_wrong_kind_is_refused_with_its_cure(given: dict[str, Any], says: str) -> None:
    with pytest.raises(OrderError) as refused:
        make_order("quad_f450", **given)
    assert str(refused.value).startswith(says)


def test_a_lone_fault_or_requirement_is_one() -> None:
    fault = "rotor.speed_loss@1:severity=0.2"
    alone = make_order("quad_f450", requirements="no_crash", faults=fault)

    assert alone == make_order("quad_f450", requirements=["no_crash"], faults=[fault])
    assert make_order("quad_f450", requirements=alone.requirements[0], faults=alone.faults[0]) == alone
