"""Small pictures: well-formed, true to the numbers, harmless."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironbird.campaign.search import Map
from ironbird.report.svg_plot import HEIGHT, WIDTH, histogram_plot, line_plot, map_plot, ticks, write_map


@given(st.floats(-1e3, 1e3), st.floats(1e-2, 1e6))
def test_ticks_are_few_round_and_inside(low: float, width: float) -> None:
    high = low + width
    found = ticks(low, high)
    assert 2 <= len(found) <= 6
    assert low - 1e-6 * width <= found[0] and found[-1] <= high + 1e-6 * width
    step = found[1] - found[0]
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - m) for m in (1, 2, 2.5, 5, 10)) < 1e-3


def test_ticks_of_a_point() -> None:
    assert ticks(3.0, 3.0) == [3.0]


def test_line_runs_from_corner_to_corner() -> None:
    time = np.arange(0, 10, 0.02)
    svg = ElementTree.fromstring(line_plot("<height> & more", "m", time, 3 * time, events=[5.0, 99.0]))
    line = svg.find("polyline[@class='line']")
    assert line is not None
    points = [tuple(map(float, pair.split(","))) for pair in str(line.get("points")).split()]
    assert len(points) <= 400 and points[0][0] < points[-1][0] and points[0][1] > points[-1][1]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    events = svg.findall("line[@class='event']")
    assert len(events) == 1  # the one outside is not drawn
    assert abs(float(str(events[0].get("x1"))) - np.interp(5.0, [0, 9.98], [points[0][0], points[-1][0]])) < 1.0
    assert svg[0].text == "<height> & more (m)"


def test_lines_that_cannot_be_drawn() -> None:
    time = np.arange(3.0)
    assert line_plot("a", "m", time[:1], time[:1]) == ""
    assert line_plot("a", "m", time, np.full(3, np.nan)) == ""
    assert "nan" not in line_plot("a", "m", time, np.array([1.0, np.inf, 1.0]))  # a constant with a hole
    assert line_plot("a", "1", time, time).count("(1)") == 0


@pytest.fixture
def found() -> Map:
    x, y = [0.0, 1.0, 2.0], [10.0, 20.0, 30.0]
    verdicts = np.array([["pass"] * 3, ["pass", "void", "fail"], ["error", "fail", "fail"]])
    margins = np.array([[1.0, 1, 1], [1, np.nan, -1], [np.nan, -1, -np.inf]])
    return Map(
        "<script>alert(1)</script>", "along & up", x, y, verdicts, margins, [(0.0, 25.0), (1.0, 20.0), (2.0, 15.0)]
    )


def test_map_has_a_field_per_flight_and_the_line(found: Map) -> None:
    text = map_plot(found)
    assert "<script" not in text
    svg = ElementTree.fromstring(text)
    fields = [field for field in svg.findall("rect") if field.find("title") is not None]
    assert len(fields) == 9
    assert "along & up = 10: pass, margin 1" in str(fields[0].findtext("title"))
    line = svg.find("polyline")
    assert line is not None
    points = [tuple(map(float, pair.split(","))) for pair in str(line.get("points")).split()]
    middle = fields[4]  # the line goes through the middle of the middle field
    assert abs(points[1][0] - float(str(middle.get("x"))) - float(str(middle.get("width"))) / 2) < 0.2
    assert abs(points[1][1] - float(str(middle.get("y"))) - float(str(middle.get("height"))) / 2) < 0.2


def test_map_as_a_file(found: Map, tmp_path: Path) -> None:
    write_map(found, tmp_path / "deep" / "map.svg")
    text = (tmp_path / "deep" / "map.svg").read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text  # no ink from elsewhere


def test_a_map_says_what_it_shows_in_which_unit_and_what_its_colours_mean() -> None:
    verdicts = np.array([["pass", "pass"], ["pass", "fail"]])
    found = Map(
        "wind.speed_mps", "fault.1.severity", [0.0, 7.5], [0.2, 1.0], verdicts, np.zeros((2, 2)), [(0, 1), (7, 0.5)]
    )
    svg = ElementTree.fromstring(map_plot(found, "Hover in wind"))
    words = ["".join(text.itertext()) for text in svg.iter("text")]
    assert words[0] == "Hover in wind"
    assert {"wind.speed_mps (m/s)", "fault.1.severity (0 to 1)", "pass", "fail"} <= set(words)
    assert {"0", "7.5", "0.2", "1"} <= set(words)  # numbers at the points that were flown, no others
    assert any(word.startswith("where it turns") for word in words) and "void (nothing is verified)" not in words
    crosses = [path for path in svg.findall("path") if "stroke" in path.attrib]
    assert len(crosses) == 2  # the field that fails and its legend: not by colour alone


def test_a_histogram_counts_every_margin_once() -> None:
    values = [(-1.0, "fail"), (-0.9, "fail"), (2.0, "pass"), (math.nan, "pass"), (math.inf, "pass")]
    svg = ElementTree.fromstring(histogram_plot("height", "m", values, bins=4))
    said = [title.text or "" for title in svg.iter("title")]
    assert sum(int(text.split()[0]) for text in said) == 3 and sum("fail" in text for text in said) == 1
    assert histogram_plot("height", "m", [(math.inf, "pass")]) == ""
