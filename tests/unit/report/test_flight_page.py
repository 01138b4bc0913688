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

from ironbird.campaign.flight import Flight, Wind, fly
from ironbird.campaign.mission import Mission, load_mission
from ironbird.cli import app
from ironbird.compiler.compiled import CompiledModel
from ironbird.faults.catalog import parse_fault
from ironbird.report.flight_page import (
    MAX_POINTS,
    _break_turns,
    _parameters,
    command,
    equal_ranges,
    fault_order,
    mission_toml,
    on_pieces,
    thin,
    write_flight_page,
)
from ironbird.runtime.state import start
from ironbird.runtime.step import run

FAULT = "rotor.speed_loss@1:instance=2,severity=1,start=8"
TIME_PLOTS = {
    "height", "error", "horizontal", "attitude", "rates", "rotors", "throttles", "wind", "battery", "witness-1",
}  # fmt: skip


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
    rows = {row["key"]: row for _, rows in _parameters(flight) for row in rows}

    assert (rows["body.mass_kg"]["value"], rows["body.mass_kg"]["kind"]) == ("1.4", "published")  # by "body.*"
    assert rows["contact.friction"]["kind"] == "assumed"
    assert rows["rotor.2.position_B_m"]["kind"] == "derived"  # by "rotor.*.position_B_m"
    assert rows["propeller.standard.reference_density_kgpm3"]["kind"] == "default"  # not in the file
    assert rows["rotor.1.spin"]["kind"] == "choice"


def test_all_plots_are_there_with_the_fault_shaded_and_the_crash_marked(flight: Flight, page: Page) -> None:
    assert flight.stop is not None
    figures = page.figures

    assert set(figures) == TIME_PLOTS | {"path-3d", "path-plan"} <= set(page.ids)
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

    assert set(page.figures) == (TIME_PLOTS | {"path-3d", "path-plan"} if rows else set())
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


def test_a_browser_draws_the_plots(flight: Flight, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        if os.environ.get("CI") == "true":
            pytest.fail("chromium is missing; in CI the page must be opened")
        pytest.skip("chromium is not on PATH")
    write_flight_page(flight, tmp_path / "flight.html")

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
        == len(TIME_PLOTS) + 2
    )
    assert "cannot be drawn" not in rendered.words
    assert "Content Security Policy" not in done.stderr and "Uncaught" not in done.stderr
