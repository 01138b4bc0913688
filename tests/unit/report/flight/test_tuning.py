"""What a control engineer looks for: set-points followed, steps, limits, vibration."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flight_pages import Page, numbers, page_of

from ironbird.flight.flight import Flight
from ironbird.flight.set_points import attitude_set, rate_set, velocity_set
from ironbird.report.flight.plots import Plots
from ironbird.report.flight.tuning import Pair, amplitude_density, followed_rows, limit_rows, step_rows, steps_in


def test_set_points_are_drawn_beside_the_actual_ones(healthy: Flight, tmp_path: Path) -> None:
    page = page_of(healthy, tmp_path)

    for name, values, factor in (
        ("velocity", velocity_set(healthy), 1.0),
        ("attitude", attitude_set(healthy), math.degrees(1)),
        ("rates", rate_set(healthy), math.degrees(1)),
    ):
        asked = [trace for trace in page.figures[name]["data"] if trace["name"] == "set-point"]
        assert [trace["line"]["dash"] for trace in asked] == ["dot"] * 3, name
        assert values is not None
        for axis, trace in enumerate(asked):
            np.testing.assert_allclose(numbers(trace["y"]), factor * values[:, axis], rtol=1e-6, atol=1e-5)


def test_how_well_a_loop_is_followed_is_the_difference_to_its_set_point(healthy: Flight) -> None:
    rows = {(loop, of): (rms, most) for loop, of, rms, most in followed_rows(Plots(healthy))}

    assert {loop for loop, _ in rows} == {"position", "velocity", "attitude", "rate"}
    late = healthy.log.time() >= 1.5  # half of a flight of 3 s
    gap = (healthy.log["body.p_NB_N"] - healthy.log["navigator.position_set"])[late, 2]
    assert rows["position", "down"] == (f"{np.sqrt(np.mean(gap**2)):.3g} m", f"{np.abs(gap).max():.3g} m")


TIME = np.arange(0, 10, 0.02)


def lag(time_s: np.ndarray, from_s: float, size: float, constant_s: float) -> np.ndarray:
    return np.where(time_s < from_s, 0.0, size * (1 - np.exp(-(time_s - from_s) / constant_s)))


def test_steps_are_found_where_a_set_point_jumps_and_stays() -> None:
    asked = np.where(TIME < 2, 0.0, np.where(TIME < 6, 4.0, 1.0)) + np.where(TIME > 9, TIME - 9, 0.0)
    pair = Pair("velocity", "north", "m/s", asked, asked, 0.3, 1.0)

    found = [moment for first, last in steps_in(TIME, pair) for moment in (TIME[first], TIME[last - 1])]

    assert found == pytest.approx([2.0, 5.98, 6.0, 9.05], abs=0.011)  # until it leaves by 2 % of the step
    assert steps_in(TIME, replace(pair, asked=0.5 * TIME)) == []  # a ramp is none
    assert steps_in(TIME, replace(pair, asked=np.where(np.abs(TIME - 5) < 0.05, 4.0, 0.0))) == []  # too short
    assert steps_in(TIME, replace(pair, asked=np.where(TIME < 2, np.nan, 4.0))) == []  # from nowhere


def test_figures_of_a_step_are_those_of_the_closed_form(healthy: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    from ironbird.report.flight import tuning

    asked = np.where(TIME < 2, 0.0, 4.0)
    pair = Pair("velocity", "north", "m/s", asked, lag(TIME, 2.0, 4.0, 0.5), 0.3, 1.0)
    monkeypatch.setattr(tuning, "pairs", lambda plots: (pair,))
    plots = Plots(
        replace(healthy, log=replace(healthy.log, time_s=TIME, data=np.repeat(healthy.log.data, 10, 1)[:, :500]))
    )

    (row,) = step_rows(plots)

    assert row[:3] == ["2.00 s", "velocity, north", "+4 m/s"]
    assert float(row[3].split()[0]) == pytest.approx(0.5 * math.log(9), abs=0.02)  # rise of a first-order lag
    assert row[4] == "0.0 %"
    assert float(row[5].split()[0]) == pytest.approx(0.5 * math.log(20) + 0.02, abs=0.021)  # a row


def test_actuators_at_their_limits_are_counted(flight: Flight, page: Page) -> None:
    table = page.text.partition('id="limits"')[2].partition("</table>")[0]
    rows = {re.sub("<[^>]*>", "", cells[0]): cells for cells in (re.findall(r"<td[^>]*>(.*?)</td>", row) for row in
            re.findall(r"<tr>(<td>.*?)</tr>", table))}  # fmt: skip

    assert set(rows) == {f"rotor {n}" for n in (1, 2, 3, 4)}
    for number in (1, 2, 3, 4):
        command = flight.log[f"rotor/{number}/command_fault.value"]
        assert rows[f"rotor {number}"][3] == f"{100 * np.mean(command >= 0.999):.1f} %"
    assert max(float(row[3].split()[0]) for row in rows.values()) > 1.0  # a motor was lost: others work hard
    band = [label["text"] for label in page.figures["timeline"]["layout"]["annotations"]]
    assert "Any actuator at a limit of its command" in band


def test_motors_that_are_off_are_at_no_limit(healthy: Flight) -> None:
    log = healthy.log
    data = log.data.copy()
    data[:, :, log.plan.start["rotor/1/command_fault.value"]] = 0.0

    rows = limit_rows(Plots(replace(healthy, log=replace(log, data=data))))

    assert rows[0] == ["rotor 1", "0.000", "0.000", "0.0 %", "0.0 %", "0.00 s"]


def test_the_spectrum_of_a_vibration_has_its_frequency_and_size() -> None:
    step_s, amplitude, hertz = 0.004, 0.7, 62.5
    time_s = np.arange(0, 20, step_s)

    frequency, density = amplitude_density(amplitude * np.sin(2 * np.pi * hertz * time_s) + 3.0, step_s)

    assert frequency[density.argmax()] == pytest.approx(hertz, abs=0.5)
    power = np.sum(density**2) * (frequency[1] - frequency[0])
    assert math.sqrt(2 * power) == pytest.approx(amplitude, rel=0.01)  # Parseval: a Hann window keeps the power


def test_spectra_are_on_the_page_with_the_rate_of_the_log(sensed_page: Page) -> None:
    gyro = sensed_page.figures["spectrum-gyroscope"]

    assert gyro["layout"]["xaxis"]["type"] == gyro["layout"]["yaxis"]["type"] == "log"
    assert [trace["label"] for trace in gyro["data"]] == ["x", "y", "z"]
    assert numbers(gyro["data"][0]["x"]).max() < 25.0 and "above 25.0 Hz appears folded down" in sensed_page.words
