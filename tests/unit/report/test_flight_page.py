"""The page of a flight: complete, harmless, readable by a browser, and true about how to repeat the flight."""

from __future__ import annotations

import base64
import json
import math
import os
import shlex
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ironbird.blocks.controllers.navigator import FAILSAFES, MODES
from ironbird.cli.main import app
from ironbird.compiler.compiled import CompiledModel
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight, Wind, fly
from ironbird.flight.mission import Mission, load_mission
from ironbird.report.flight_page import (
    FAINT_POINTS,
    MAX_POINTS,
    MODE_INKS,
    STALE_S,
    _break_turns,
    command,
    equal_ranges,
    fault_order,
    flag_pieces,
    mission_toml,
    on_pieces,
    parameter_groups,
    runs,
    thin,
    triggered_times,
    write_flight_page,
)
from ironbird.runtime.state import Stop, start
from ironbird.runtime.step import run

FAULT = "rotor.speed_loss@1:instance=2,severity=1,start=8"
TIME_PLOTS = {
    "height", "error", "horizontal", "attitude", "rates", "rotors", "throttles", "wind", "battery", "witness-1",
}  # fmt: skip
PLOTS = TIME_PLOTS | {"timeline", "path-3d", "path-plan"}
ESTIMATES = {
    "estimate-height", "estimate-horizontal", "estimate-error", "estimate-attitude", "measured-gyro", "measured-accel",
}  # fmt: skip
TRIGGER = "altitude > 5 and mode == 'take-off'"


class Page(HTMLParser):
    """What a browser would load and show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words = ""
        self.scripts: list[str] = []
        self.styles = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("src", "href", "data", "srcset", "action")]
        self.ids += [value or "" for key, value in attrs if key == "id"]
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "style":
            self.styles += data
        else:
            self.words += data

    @property
    def figures(self) -> dict[str, Any]:
        return dict(json.loads(self.scripts[1]))


def page_of(flight: Flight, folder: Path) -> Page:
    write_flight_page(flight, folder / "flight.html")
    return Page((folder / "flight.html").read_text(encoding="utf-8"))


def numbers(packed: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


@pytest.fixture(scope="module")
def flight(f450: CompiledModel) -> Flight:
    """A flight that ends in a crash because a motor stops."""
    return fly("quad_f450", model=f450, wind=Wind(4.0, 90.0, 6.0), seed=5, settings={"body.mass": 1.5}, faults=[FAULT])


@pytest.fixture(scope="module")
def healthy(f450: CompiledModel) -> Flight:
    return fly("quad_f450", model=f450, mission="hover", seed=1, until_s=3.0)


@pytest.fixture(scope="module")
def sensed() -> Flight:
    """A flight on sensors: a biased inertial unit is left out, then all receivers are jammed by a trigger."""
    return fly(
        "quad_f450", control="reference", seed=1, until_s=14.0,
        faults=[
            "imu.accel_bias@1:instance=1,axis=2,severity=0.4,start=6,end=9",
            f"environment.gnss_denied@1:start=1.5,when={TRIGGER}",
        ],
    )  # fmt: skip


@pytest.fixture(scope="module")
def sensed_page(sensed: Flight, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(sensed, tmp_path_factory.mktemp("sensed"))


@pytest.fixture(scope="module")
def page(flight: Flight, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(flight, tmp_path_factory.mktemp("page"))


def test_the_page_says_what_happened_and_how_to_repeat_it(flight: Flight, page: Page) -> None:
    assert not flight.survived
    assert '<span class="badge crash">' in page.text
    assert '<span class="badge acted">effective</span>' in page.text
    for text in (
        flight.outcome,
        flight.sha256,
        flight.model.model_hash,
        flight.witnesses[0].sentence()[len(FAULT) + 3 :],
    ):
        assert text in page.words, text
    for text in ("F450 quadcopter (Dai et al., Fig. 14)", "body.mass", "assumed", "rubber on concrete"):
        assert text in page.words, text


def test_parameters_say_where_they_come_from(flight: Flight) -> None:
    rows = {row["key"]: row for _, rows in parameter_groups(flight.vehicle.spec) for row in rows}

    assert (rows["body.mass_kg"]["value"], rows["body.mass_kg"]["kind"]) == ("1.4", "published")  # by "body.*"
    assert rows["contact.friction"]["kind"] == "assumed"
    assert rows["rotor.2.position_B_m"]["kind"] == "derived"  # by "rotor.*.position_B_m"
    assert rows["propeller.standard.reference_density_kgpm3"]["kind"] == "default"  # not in the file
    assert rows["rotor.1.spin"]["kind"] == "choice"


def test_all_plots_are_there_with_the_fault_shaded_and_the_crash_marked(flight: Flight, page: Page) -> None:
    assert flight.stop is not None
    figures = page.figures

    assert set(figures) == PLOTS <= set(page.ids)
    assert "estimates" not in page.ids and "#estimates" not in page.links  # it flew on the true state
    for name in TIME_PLOTS:
        span, stop = figures[name]["layout"]["shapes"]
        assert (span["type"], span["x0"], span["x1"]) == ("rect", 8.0, flight.ended_s), name
        assert span["fillcolor"] == "var(--fault-span)"
        assert (stop["type"], stop["x0"], stop["line"]["color"]) == ("line", flight.stop.time_s, "var(--bad)")
        texts = [label["text"] for label in figures[name]["layout"]["annotations"]]
        assert texts == ["fault 1", flight.stop.reason]
    names = [trace["name"] for trace in figures["path-3d"]["data"]]
    assert {"flight", "healthy twin", "waypoints", "start", "end", "fault 1 begins"} <= set(names)


def test_curves_hold_the_logged_values_in_degrees_and_with_height_up(flight: Flight, page: Page) -> None:
    height = page.figures["height"]["data"][0]
    pitch = page.figures["attitude"]["data"][1]

    np.testing.assert_array_equal(numbers(height["x"]), flight.log.time().astype(np.float32))
    np.testing.assert_array_equal(numbers(height["y"]), (-flight.log["body.p_NB_N"][:, 2]).astype(np.float32))
    expected = np.degrees(flight.log["body.euler"][:, 1])
    np.testing.assert_allclose(numbers(pitch["y"]), expected, rtol=1e-6, atol=1e-6)  # single precision
    twins = [trace for trace in page.figures["rotors"]["data"] if trace["name"] == "twin"]
    assert len(twins) == 1 and twins[0]["line"]["dash"] == "dash"  # of the rotor with the fault


def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    assert all(link.startswith("#") for link in page.links), page.links
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(page.tags)
    assert "url(" not in page.styles and "@import" not in page.styles
    assert "default-src 'none'" in page.text  # the browser refuses what we overlook
    assert len(page.scripts) == 3 and page.text.count("plotly.js v") == 1
    assert len(page.text) < 8e6


def test_hostile_names_are_shown_as_text(healthy: Flight, tmp_path: Path) -> None:
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    spec = healthy.vehicle.spec.model_copy(
        update={"title": hostile, "summary": hostile, "provenance": {"body.*": f"assumed: {hostile}"}}
    )
    mission = healthy.mission.model_copy(update={"title": f"{hostile}'''"})
    vehicle = replace(healthy.vehicle, spec=spec, path=Path(f"{hostile}.toml"))

    page = page_of(replace(healthy, vehicle=vehicle, mission=mission), tmp_path)

    assert len(page.scripts) == 3 and "img" not in page.tags
    assert not any("alert(1)" in script for script in page.scripts)
    assert page.words.count(hostile) >= 5  # title, heading, summary, provenance, mission


def test_a_vehicle_without_rotors_battery_and_set_points_has_a_page(healthy: Flight, tmp_path: Path) -> None:
    state = start(healthy.model, seed=1)
    log = run(state, 0.5, log=["body.p_NB_N"])

    page = page_of(replace(healthy, log=log), tmp_path)

    assert set(page.figures) == {"height", "horizontal", "path-3d", "path-plan"}
    assert set(page.figures) <= set(page.ids)


def test_a_log_without_any_shown_signal_has_a_page(healthy: Flight, tmp_path: Path) -> None:
    log = run(start(healthy.model, seed=1), 0.5, log=["gravity"])

    page = page_of(replace(healthy, log=log), tmp_path)

    assert page.figures == {}
    assert "none of the signals" in page.words


@pytest.mark.parametrize("rows", [0, 1])
def test_tiny_logs_have_a_page(flight: Flight, tmp_path: Path, rows: int) -> None:
    log = replace(flight.log, time_s=flight.log.time_s[:rows], data=flight.log.data[:, :rows])

    page = page_of(replace(flight, log=log), tmp_path)

    assert set(page.figures) == (PLOTS if rows else set())
    assert ("no rows" in page.words) == (rows == 0)


def test_a_diverged_log_has_a_page(flight: Flight, tmp_path: Path) -> None:
    data = flight.log.data.copy()
    data[:, 100:] = [[[np.inf], [-np.inf], [np.nan], [1e300]][i % 4] for i in range(data.shape[2])]

    page = page_of(replace(flight, log=replace(flight.log, data=data)), tmp_path)

    shown = numbers(page.figures["height"]["data"][0]["y"])
    assert np.isfinite(shown[:100]).all() and np.isnan(shown[100:]).all()


def test_a_fault_that_did_nothing_is_marked(f450: CompiledModel, tmp_path: Path) -> None:
    idle = fly("quad_f450", model=f450, until_s=1.0, faults=["rotor.speed_loss@1:instance=1,severity=0,start=0.5"])

    page = page_of(idle, tmp_path)

    assert '<span class="badge idle">ineffective</span>' in page.text
    assert "proves nothing" in page.words


def test_the_badge_of_an_interrupted_flight_does_not_say_survived(healthy: Flight, tmp_path: Path) -> None:
    page = page_of(replace(healthy, log=replace(healthy.log, interrupted=True)), tmp_path)

    assert '<span class="badge interrupted">' in page.text and '<span class="badge survived">' not in page.text


def test_the_command_gives_the_same_hash(f450: CompiledModel, tmp_path: Path) -> None:
    flown = fly(
        "quad_f450", model=f450, wind=Wind(2.0 / 3.0, 123.456789, 7.0), seed=11, until_s=2.5,
        settings={"body.mass": 1.4 + 1e-9, "wind/gust.amplitude_N": [1.0, 0.0, 1 / 3]},
        faults=["rotor.speed_loss@1:instance=3,severity=0.123456789,start=1,shape=ramp,rise=0.7"],
    )  # fmt: skip

    words = shlex.split(command(flown).replace("\\\n", " "))
    result = CliRunner().invoke(app, [*words[1:], "--out", str(tmp_path)])

    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "summary.json").read_text())["sha256"] == flown.sha256


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
    assert fault_order(parse_fault(order)) == order
    assert parse_fault(fault_order(parse_fault(order))) == parse_fault(order)


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


def test_thinned_curves_keep_spikes_and_ends() -> None:
    time_s = np.arange(100_000) * 0.01
    values = np.sin(time_s)
    values[[12_345, 54_321]] = [9.0, -7.0]
    values[70_000:70_500] = np.nan

    x, y = thin(time_s, values)

    assert 1000 < len(x) <= MAX_POINTS
    assert (np.diff(x) > 0).all() and x[0] == time_s[0] and x[-1] == time_s[-1]
    assert y[x == time_s[12_345]] == 9.0 and y[x == time_s[54_321]] == -7.0
    assert np.isnan(y).any()  # a hole stays a hole


def test_angles_are_not_joined_across_the_turn() -> None:
    time_s, degrees = _break_turns(np.arange(4.0), np.array([170.0, 179.0, -179.0, -170.0]))

    np.testing.assert_array_equal(degrees, [170.0, 179.0, np.nan, -179.0, -170.0])
    np.testing.assert_array_equal(time_s, [0.0, 1.0, 2.0, 2.0, 3.0])


def test_an_intermittent_fault_is_shaded_piece_by_piece() -> None:
    fault = parse_fault("battery.low_voltage@1:severity=0.1,start=5,end=8.5,shape=intermittent,period=2,duty=0.25")

    assert on_pieces(fault, 100.0) == [(5.0, 5.5), (7.0, 7.5)]
    assert on_pieces(fault, 7.2) == [(5.0, 5.5), (7.0, 7.2)]
    assert on_pieces(fault, 4.0) == []
    assert on_pieces(parse_fault(FAULT), math.inf) == [(8.0, math.inf)]


def test_axes_of_the_path_are_equal_and_never_flat() -> None:
    ranges = equal_ranges(np.array([[0.0, 0.0, 0.0], [100.0, 10.0, 0.0], [np.nan, 0.0, 0.0]]))

    widths = [high - low for low, high in ranges]
    assert widths == pytest.approx([112.0, 37.0, 37.0])  # span or a quarter of the widest, and 6 % on both sides
    assert ranges[0] == pytest.approx([-6.0, 106.0])


# ---------------------------------------------------------------------- modes and failsafes


def rows_of(page: Page) -> dict[str, list[tuple[float, float, str, str]]]:
    """The rows of the time line: start, end, text and colour of each span."""
    figure = page.figures["timeline"]
    names = [label["text"] for label in figure["layout"]["annotations"]]
    return {
        name: [
            (start, start + length, text, ink)
            for start, length, text, ink in zip(bar["base"], bar["x"], bar["text"], bar["marker"]["color"], strict=True)
        ]
        for name, bar in zip(names, figure["data"], strict=True)
    }


def test_the_time_line_shows_every_mode_in_its_colour(sensed: Flight, sensed_page: Page) -> None:
    mode, time_s = sensed.log["navigator.mode"], sensed.log.time()
    spans = rows_of(sensed_page)["Mode"]

    assert [text for _, _, text, _ in spans] == ["disarmed", "take-off", "mission", "descend"]
    for row, value in zip(time_s, mode, strict=True):
        (here,) = [(text, ink) for start, end, text, ink in spans if start <= row + 1e-3 < end]  # rounded to 0.1 ms
        assert here == (MODES[int(value)], MODE_INKS[int(value)]), row
    assert len(MODE_INKS) == len(MODES)
    assert sensed_page.figures["timeline"]["kind"] == "time"  # zooms with the others
    assert sensed_page.figures["timeline"]["layout"]["xaxis"]["range"] == sensed_page.figures["height"]["layout"][
        "xaxis"]["range"]  # fmt: skip


def test_the_time_line_shows_what_was_wrong_and_nothing_else(sensed: Flight, sensed_page: Page) -> None:
    log, rows = sensed.log, rows_of(sensed_page)

    failsafes = [name for name in rows if name.startswith("Failsafe")]
    tripped = [name for name, column in zip(FAILSAFES, log["navigator.failsafe"].T, strict=True) if column.any()]
    assert tripped == ["gnss", "estimator"] and failsafes == ["Failsafe: gnss", "Failsafe: estimator"]
    (failsafe,) = rows["Failsafe: gnss"]
    assert failsafe[0] == pytest.approx(log.time()[np.argmax(log["navigator.failsafe"][:, 1] > 0)], abs=1e-4)
    assert failsafe[1] == pytest.approx(sensed.ended_s, abs=1e-4)  # rounded to 0.1 ms
    assert [span[:2] for span in rows["Fault 1: imu.accel_bias@1, instance 1"]] == [(6.0, 9.0)]
    voted = {name for name in rows if name.startswith("Voter")}
    assert voted == {"Voter: IMU 1 left out", "Voter: GNSS receiver 1 left out", "Voter: GNSS receiver 2 left out"}
    assert 6.0 < rows["Voter: IMU 1 left out"][0][0] < 6.5
    assert rows["Estimator not healthy"][0][2] == "aligning"


def test_a_trigger_moves_the_shading_and_is_told(sensed: Flight, sensed_page: Page) -> None:
    log = sensed.log
    holds = (log["terrain.height_above_ground"] > 5) & (log["navigator.mode"] == MODES.index("take-off"))
    first = float(log.time()[np.argmax(holds)])
    assert 3.0 < first < 10.0

    assert triggered_times(sensed) == [0.0, first]
    assert f"Triggered at {first:.2f} s, when {TRIGGER} first held; the fault began 1.5 s later." in sensed_page.words
    spans = [shape for shape in sensed_page.figures["height"]["layout"]["shapes"] if shape["name"] == "fault 2"]
    assert [(span["x0"], span["x1"]) for span in spans] == [(first + 1.5, sensed.ended_s)]
    (row,) = rows_of(sensed_page)["Fault 2: environment.gnss_denied@1"]
    assert row[0] == pytest.approx(first + 1.5, abs=1e-4)


def test_a_trigger_that_never_fired_is_told(f450: CompiledModel, tmp_path: Path) -> None:
    idle = fly("quad_f450", model=f450, until_s=1.0, faults=["battery.power_off@1:when=not (altitude < 50)"])

    page = page_of(idle, tmp_path)

    assert triggered_times(idle) == [math.inf]
    assert "Its condition, not (altitude < 50), never held" in page.words
    assert all(shape.get("name") != "fault 1" for shape in page.figures["height"]["layout"]["shapes"])
    assert rows_of(page)["Fault 1: battery.power_off@1"] == []


def test_predicates_are_read_from_the_log_as_the_kernel_reads_them(f450: CompiledModel) -> None:
    orders = [
        "battery.low_voltage@1:severity=0,when=abs(body.v_NB_N[2]) * 2 - 1 >= 0.5 or battery < 0",
        "battery.low_voltage@1:severity=0,when=-body.p_NB_N[2] + 1 > 3 and item != 3 and mode <= 3",
    ]
    flown = fly("quad_f450", model=f450, until_s=5.0, faults=orders)
    log = flown.log
    climb, height = np.abs(log["body.v_NB_N"][:, 2]), -log["body.p_NB_N"][:, 2]

    expected = [float(log.time()[np.argmax(climb >= 0.75)]), float(log.time()[np.argmax(height > 2)])]
    assert 0 < expected[0] < expected[1]
    assert triggered_times(flown) == expected


def test_runs_and_flags_become_spans() -> None:
    time_s = np.arange(8.0)

    assert runs(time_s, np.array([0, 0, 3, 3, 3, 0, np.nan, np.nan]), 9.0) == [
        (0.0, 2.0, 0.0), (2.0, 5.0, 3.0), (5.0, 6.0, 0.0), (6.0, 9.0, -1.0),
    ]  # fmt: skip
    assert runs(time_s[:0], time_s[:0], 9.0) == []
    flags = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    assert flag_pieces(time_s, flags, 9.0) == [(1.0, 2.0), (3.0, 5.0), (7.0, 9.0)]
    assert flag_pieces(time_s, flags, 9.0, gap_s=1.5) == [(1.0, 5.0), (7.0, 9.0)]


# ---------------------------------------------------------------------- truth, measurement, estimate


def curves_of(page: Page, figure: str, axis: str = "y") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Curves of one small plot by name; of two with one name (a band) the upper."""
    return {
        trace["name"]: (numbers(trace["x"]), numbers(trace["y"]))
        for trace in page.figures[figure]["data"]
        if trace["yaxis"] == axis
    }


def test_estimates_are_set_beside_the_truth(sensed: Flight, sensed_page: Page) -> None:
    log = sensed.log
    assert set(sensed_page.figures) >= ESTIMATES and set(sensed_page.ids) >= ESTIMATES

    height = curves_of(sensed_page, "estimate-height")
    assert list(height) == ["barometer 1", "GNSS 1", "GNSS 2", "truth", "estimate"]
    np.testing.assert_array_equal(height["truth"][1], (-log["body.p_NB_N"][:, 2]).astype(np.float32))
    np.testing.assert_array_equal(height["estimate"][1], (-log["estimator.p_NB_N"][:, 2]).astype(np.float32))
    east = curves_of(sensed_page, "estimate-horizontal", "y2")
    np.testing.assert_array_equal(east["estimate"][1], log["estimator.p_NB_N"][:, 1].astype(np.float32))
    down = curves_of(sensed_page, "estimate-error", "y3")
    gap = (log["estimator.p_NB_N"] - log["body.p_NB_N"])[:, 2]
    np.testing.assert_array_equal(down["error"][1], gap.astype(np.float32))
    band = 2 * log["estimator.std_position"][:, 2]
    np.testing.assert_allclose(down["± 2 std"][1].max(), band.max(), rtol=1e-6)  # single precision
    errors = curves_of(sensed_page, "estimate-attitude", "y4")
    roll = np.degrees(log["estimator.euler"] - log["body.euler"])[:, 0]
    np.testing.assert_allclose(errors["error of roll"][1], roll, atol=1e-4)  # degrees, in single precision


def test_each_inertial_unit_is_shown_and_the_faulty_one_stands_out(sensed: Flight, sensed_page: Page) -> None:
    shown = curves_of(sensed_page, "measured-accel", "y3")

    assert list(shown) == ["IMU 1", "IMU 2", "IMU 3", "truth"]
    means = {}
    for name, (time_s, values) in shown.items():
        means[name] = float(np.nanmean(values[(time_s > 6.5) & (time_s < 8.5)]))
    assert means["IMU 1"] - means["IMU 2"] == pytest.approx(2.0, abs=0.5)  # 0.4 of 5 m/s^2; vibration is about 0.5
    assert means["IMU 3"] == pytest.approx(means["truth"], abs=0.5)
    assert list(curves_of(sensed_page, "measured-gyro")) == ["IMU 1", "IMU 2", "IMU 3", "truth", "estimate"]


def test_a_measurement_that_does_not_come_is_not_drawn(tmp_path: Path) -> None:
    lost = "gnss.position_dropout@1:instance=1,start=2,end=5"
    page = page_of(fly("quad_f450", control="reference", seed=1, until_s=6.0, faults=[lost]), tmp_path)

    time_s, north = curves_of(page, "estimate-horizontal")["GNSS 1"]

    assert np.isfinite(north[(time_s > 1.0) & (time_s < 2.0)]).all()
    assert np.isnan(north[(time_s > 2.1 + STALE_S) & (time_s < 5.0)]).all()
    assert np.isfinite(north[time_s > 5.5]).all()


def test_a_page_with_sensors_stays_small(sensed: Flight, sensed_page: Page, tmp_path: Path) -> None:
    log = sensed.log
    data = np.repeat(log.data, 15, axis=1)  # a row every 1.3 ms
    column = log.plan.start["imu/1/accel_fault.value"]
    data[:, :, column] += np.random.default_rng(1).normal(size=data[:, :, column].shape)
    time_s = np.linspace(0.0, log.time_s[-1], data.shape[1])
    long = replace(log, time_s=time_s, data=data)

    page = page_of(replace(sensed, log=long), tmp_path)

    assert len(page.text) < 9e6
    for figure in page.figures.values():
        for trace in figure["data"]:
            if trace["type"] == "scatter":
                assert len(numbers(trace["x"])) <= (FAINT_POINTS if trace.get("opacity") else MAX_POINTS) + 50  # breaks
            elif trace["type"] == "bar":
                assert len(trace["x"]) <= 500


def test_a_browser_draws_the_plots(sensed: Flight, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        if os.environ.get("CI") == "true":
            pytest.fail("chromium is missing; in CI the page must be opened")
        pytest.skip("chromium is not on PATH")
    write_flight_page(sensed, tmp_path / "flight.html")

    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=10000",
            "--dump-dom", (tmp_path / "flight.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    rendered = Page(done.stdout)
    assert rendered.text.count('class="main-svg"') >= len(TIME_PLOTS)
    assert (
        rendered.text.count('class="js-plotly-plot"') + rendered.text.count("plot js-plotly-plot")
        == len(PLOTS | ESTIMATES) + 1  # two faults, two witnesses
    )
    assert "cannot be drawn" not in rendered.words
    assert "Content Security Policy" not in done.stderr and "Uncaught" not in done.stderr


def test_a_flight_that_outlasts_its_twin_has_a_page(flight: Flight, tmp_path: Path) -> None:
    middle = float(flight.log.time_s[len(flight.log.time_s) // 2])
    short = replace(flight.log, stops=[None, Stop(middle, "mission completed")])
    write_flight_page(replace(flight, log=short), tmp_path / "page.html")
    assert f"mission completed at {middle:.2f} s" in (tmp_path / "page.html").read_text()
