"""The autopilot's own log on the flight page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from autopilot_files import dataflash_bytes, write_px4_log

from ironbird.errors import LinkError
from ironbird.flight.autopilot_estimate import AutopilotEstimate, believe
from ironbird.flight.flight import Flight, fly
from ironbird.protocols.autopilot_log import Series, read_autopilot_log
from ironbird.report.flight.page import write_flight_page


@pytest.fixture(scope="module")
def flight() -> Flight:
    return fly(
        "quad_f450", control="truth", seed=3, until_s=8.0, faults=["rotor.speed_loss@1:instance=1,severity=0.1,start=5"]
    )


def estimated(flight: Flight, path: Path) -> AutopilotEstimate:
    return believe(flight, read_autopilot_log(path, flight.vehicle.spec.home))


def page_of(flight: Flight, autopilot: AutopilotEstimate | LinkError | None, path: Path) -> tuple[str, dict[str, Any]]:
    """The page without the plotting library, and its figures."""
    write_flight_page(flight, path, autopilot)
    text = path.read_text(encoding="utf-8")
    figures = re.search(r'<script type="application/json" id="figures"[^>]*>(.*?)</script>', text, re.S)
    assert figures
    return text[: text.index("<script>")], json.loads(figures.group(1))


def test_the_page_sets_the_autopilots_log_beside_the_truth(flight: Flight, tmp_path: Path) -> None:
    autopilot = estimated(flight, write_px4_log(flight, tmp_path / "a.ulg"))

    text, figures = page_of(flight, autopilot, tmp_path / "flight.html")

    assert "The autopilot's estimate" in text
    assert "PX4, a.ulg: clock offset 0.02" in text and " ms, by the true velocity that it was sent and logged." in text
    row = re.search(r'<td>horizontal position</td><td data-label="unit">m</td>(.*?)</tr>', text)
    assert (
        row and re.findall(r'class="value" data-label="\w+">([^<]+)<', row.group(1))[0] == "1"
    )  # rms, then greatest, its time, …
    assert "rms before the fault" in text
    for key in ("modes", "height", "horizontal", "error", "velocity", "attitude"):
        assert f'id="autopilot-{key}"' in text and f"autopilot-{key}" in figures
    assert "autopilot-outputs" not in figures  # this log has none
    names = [curve["name"] for curve in figures["autopilot-height"]["data"]]
    assert names == ["truth", "estimate"]
    assert any(shape.get("name") == "fault 1" for shape in figures["autopilot-error"]["layout"]["shapes"])
    assert figures["autopilot-modes"]["data"][0]["text"] == ["LOITER", "MISSION"]


def test_without_a_log_the_page_says_why_and_shows_the_flight(flight: Flight, tmp_path: Path) -> None:
    text, figures = page_of(flight, LinkError("00000001.BIN is <empty>"), tmp_path / "flight.html")

    assert "There is no autopilot's log to compare with: 00000001.BIN is &lt;empty&gt;" in text
    assert "height" in figures and not any(key.startswith("autopilot") for key in figures)


def test_flights_of_our_own_have_no_such_section(flight: Flight, tmp_path: Path) -> None:
    text, _ = page_of(flight, None, tmp_path / "flight.html")

    assert "The autopilot's estimate" not in text


def test_a_log_that_holds_little_gives_what_it_has_and_an_unverified_clock(flight: Flight, tmp_path: Path) -> None:
    path = tmp_path / "a.BIN"
    path.write_bytes(dataflash_bytes([("BAT", (1e6 * t, 0, 12.0)) for t in range(1, 8)]))

    text, figures = page_of(flight, estimated(flight, path), tmp_path / "flight.html")

    assert "ArduPilot, a.BIN: clock offset not verified: its log holds no motion" in text
    assert [key for key in figures if key.startswith("autopilot")] == ["autopilot-battery"]


def test_a_log_of_a_kind_that_nobody_here_knows_has_a_page(flight: Flight, tmp_path: Path) -> None:
    autopilot = estimated(flight, write_px4_log(flight, tmp_path / "a.ulg"))
    values = np.full((len(flight.log.time()), 2), 0.25)
    outputs = Series(flight.log.time(), values, "1")
    other = replace(
        autopilot.log,
        kind="kestrel",
        outputs=["left", "right"],
        estimated={**autopilot.log.estimated, "output": outputs},
    )

    text, figures = page_of(flight, believe(flight, other), tmp_path / "flight.html")

    assert "kestrel, a.ulg: clock offset" in text and "share of full range" in text and "autopilot-outputs" in figures
