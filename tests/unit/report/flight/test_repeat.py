"""The page is true about how to repeat the flight."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from flight_pages import FAULT
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.cli.options import options_of, order_from
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import fly
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Option, Order, Requirement, Weather, load_order, make_order
from ironbird.model.signal import Number
from ironbird.report.flight.repeat import command, mission_toml, notes
from ironbird.vehicles.load import load_vehicle


def test_the_command_gives_the_same_hash(tmp_path: Path) -> None:
    weather = Weather(2.0 / 3.0, 123.456789, 7.0, 1.1, 0.3, 0.7, 0.1)
    settings: dict[str, Number] = {"body.mass": 1.4 + 1e-9, "wind/gust.amplitude_N": [1.0, 0.0, 1 / 3]}
    fault = "rotor.speed_loss@1:instance=3,severity=0.123456789,start=1,shape=ramp,rise=0.7"
    flown = fly(
        "quad_f450", control="truth", weather=weather, seed=11, until_s=2.5, settings=settings, faults=[fault],
        ends="completed or landed within 30 m of 0, 0", may_crash=True,
    )  # fmt: skip

    words = shlex.split(command(flown.order).replace("\\\n", " "))
    result = CliRunner().invoke(app, [*words[1:], "--out", str(tmp_path)])

    assert result.exit_code == 3, result.output  # cut off, as the one before
    assert json.loads((tmp_path / "summary.json").read_text())["sha256"] == flown.sha256
    assert load_order(tmp_path / "order.toml").digest() == flown.order.digest()


@pytest.mark.parametrize(
    "order",
    [
        FAULT,
        "battery.low_voltage@1:severity=0.3333333333333333,start=0.1,end=12.3456789,shape=intermittent,period=2,duty=0.4",
        "rotor.blade_damage@1:instance=4,severity=0.5,start=1,shape=ramp,rise=1e-05",
        "imu.accel_bias@1:instance=3,axis=2,severity=0.1,start=1,when=altitude > 20 and mode == 'mission'",
    ],
)
def test_fault_orders_read_back_to_the_same_fault(order: str) -> None:
    assert parse_fault(order).text() == order
    assert parse_fault(parse_fault(order).text()) == parse_fault(order)


def test_an_own_mission_is_written_so_that_it_reads_back(tmp_path: Path) -> None:
    items = [
        {"kind": "waypoint", "north_m": 1 / 3, "height_m": 5.0, "yaw_deg": 30.0, "hold_s": 2.0},
        {"kind": "land"},
    ]
    mission = Mission.model_validate(
        {"schema": 1, "title": 'a "quoted" \\ title', "cruise_speed_mps": 2.5, "item": items}
    )

    (tmp_path / "own.toml").write_text(mission_toml(mission))

    assert load_mission(tmp_path / "own.toml") == mission


def read_again(order: Order) -> Order:
    """The order that the command line makes of its command."""
    words = shlex.split(command(order).replace("\\\n", " "))
    said = dict(zip(words[3::2], words[4::2], strict=True))
    options = [value for key, value in zip(words[3::2], words[4::2], strict=True) if key == "--option"]
    return order_from(words[2], control=said["--control"], mission=said.get("--mission"), options=options_of(options))


def test_the_command_tells_a_control_system_nothing_if_the_order_does() -> None:
    told = make_order("quad_f450", control="hardware", mission="hover")
    silent = replace(told, mission=None, mission_name="")
    assert "--mission none" in command(silent) and "--mission hover" in command(told)
    assert read_again(silent) == silent and read_again(told) == told
    assert "--mission" not in command(replace(silent, script="QGC WPL 110\n"))


def test_options_of_the_command_read_back_as_they_were() -> None:
    options: dict[str, Option] = {
        "priority": True,
        "bridge": False,
        "baud": 57600,
        "patience_s": 0.5,
        "device": "/dev/tty a",
        "mode": "on",
    }
    order = make_order("quad_f450", control="hardware", mission="hover", options=options)
    assert "--option priority=true" in command(order)
    again = read_again(order).options
    assert again == options and [type(value) for value in again.values()] == [type(v) for v in options.values()]


def test_what_the_command_does_not_say_of_requirements_is_told() -> None:
    flown = fly(
        "quad_f450", control="truth", mission="hover", until_s=0.2, requirements=["no_crash", "always (tilt < 60 deg)"]
    )
    assert notes(flown) == []
    named = replace(flown.order, requirements=(Requirement("low", "always (altitude < 60 m)", "minor"),))
    (note,) = notes(replace(flown, order=named))
    assert note == "Names and severities of its requirements are in order.toml: 'ironbird repeat' keeps them."


def test_a_vehicle_that_was_an_object_is_told() -> None:
    flown = fly(load_vehicle("quad_f450", control="truth"), mission="hover", until_s=0.2)
    assert notes(flown) == ["The vehicle was an object of a Python program; the command knows its file alone."]
