"""What all time plots share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from flight_pages import PLOTS, SPECTRA, TIME_PLOTS, Page, numbers, page_of

from ironbird.flight.flight import Flight
from ironbird.report.flight.curves import FAINT_POINTS, MAX_POINTS


def test_all_plots_are_there_with_the_fault_shaded_and_the_crash_marked(flight: Flight, page: Page) -> None:
    assert flight.stop is not None
    figures = page.figures

    assert set(figures) == PLOTS | SPECTRA <= set(page.ids)
    assert "estimates" not in page.ids and "#estimates" not in page.links  # it flew on the true state
    for name in TIME_PLOTS:
        span, stop = figures[name]["layout"]["shapes"]
        assert (span["type"], span["x0"], span["x1"]) == ("rect", 8.0, flight.ended_s), name
        assert span["fillcolor"] == "var(--fault-span)"
        assert (stop["type"], stop["x0"], stop["line"]["color"]) == ("line", flight.stop.time_s, "var(--bad)")
        texts = [label["text"] for label in figures[name]["layout"]["annotations"]]
        assert texts == ["fault 1", flight.stop.reason]
    names = [trace["name"] for trace in figures["path-plan"]["data"]]
    assert {"flight", "healthy twin", "waypoints", "start", "end", "fault 1 begins"} <= set(names)


def test_a_page_with_sensors_stays_small(sensed: Flight, sensed_page: Page, tmp_path: Path) -> None:
    log = sensed.log
    data = np.repeat(log.data, 15, axis=1)  # a row every 1.3 ms
    column = log.plan.start["imu/1/accel_fault.value"]
    data[:, :, column] += np.random.default_rng(1).normal(size=data[:, :, column].shape)
    time_s = np.linspace(0.0, log.time_s[-1], data.shape[1])
    long = replace(log, time_s=time_s, data=data)

    page = page_of(replace(sensed, log=long), tmp_path)

    assert len(page.text) < 3e6
    for figure in page.figures.values():
        for trace in figure.get("data", []):
            if trace["type"] == "scatter":
                assert len(numbers(trace["x"])) <= (FAINT_POINTS if trace.get("opacity") else MAX_POINTS) + 50  # breaks
            elif trace["type"] == "bar":
                assert len(trace["x"]) <= 500
