"""The autopilot's log beside the truth: clocks, errors, the table."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from autopilot_files import write_px4_log

from ironbird.errors import LinkError
from ironbird.flight import autopilot_estimate
from ironbird.flight.autopilot_estimate import AutopilotEstimate, _turn, align, believe, beside
from ironbird.flight.flight import Flight, fly
from ironbird.protocols.autopilot_log import AutopilotLog, Series, read_autopilot_log
from ironbird.rotations import euler

TIME_S = np.arange(0.0, 60.0, 0.02)
VELOCITY = np.column_stack([np.sin(0.7 * TIME_S), np.cos(0.31 * TIME_S), 0.5 * np.sin(1.3 * TIME_S + 1)])
RATES = 0.5 * VELOCITY[:, ::-1]


def log_of(received: dict[str, Series], estimated: dict[str, Series] | None = None) -> AutopilotLog:
    return AutopilotLog(Path("a.ulg"), "px4", estimated or {}, received)


def seen(times_s: np.ndarray, values: np.ndarray = VELOCITY) -> np.ndarray:
    """What was true at these times of ours."""
    return np.column_stack([np.interp(times_s, TIME_S, column) for column in values.T])


@pytest.mark.parametrize("offset_s", [0.0, 0.0131, -3.217, 4.4])
def test_the_offset_of_the_clocks_is_found_to_half_a_millisecond(offset_s: float) -> None:
    ours_s = np.arange(5.0, 55.0, 0.0333)
    noise = np.random.default_rng(1).normal(0.0, 0.003, (len(ours_s), 3))  # steps of 1 cm/s on the link

    clock = align(log_of({"velocity": Series(ours_s - offset_s, seen(ours_s) + noise, "m/s")}), TIME_S, {
        "velocity": VELOCITY})  # fmt: skip

    assert clock.verified and clock.drift == 0.0
    assert clock.offset_s == pytest.approx(offset_s, abs=5e-4)  # the noise makes 0.1 ms
    assert clock.residual_s < 1e-3
    assert clock.sentence() == (
        f"clock offset {clock.offset_s:.4f} s, residual {1e3 * clock.residual_s:.2f} ms, "
        "by the true velocity that it was sent and logged"
    )


def test_an_offset_that_the_link_cannot_make_is_never_fitted() -> None:
    ours_s = np.arange(5.0, 55.0, 0.0333)
    log = log_of({"velocity": Series(ours_s + 63.0, seen(ours_s), "m/s")})

    clock = align(log, TIME_S, {"velocity": VELOCITY})

    assert not clock.verified and clock.offset_s == 0.0


def test_a_clock_that_falls_behind_is_found() -> None:
    ours_s = np.arange(5.0, 55.0, 0.02)
    theirs_s = ours_s - 0.01 - 3e-4 * (ours_s - 30.0)

    clock = align(log_of({"velocity": Series(theirs_s, seen(ours_s), "m/s")}), TIME_S, {"velocity": VELOCITY})

    assert clock.drift == pytest.approx(3e-4, rel=0.02)
    np.testing.assert_allclose(clock.simulated(theirs_s), ours_s, atol=2e-4)
    assert "falling behind by 0.30 ms a second" in clock.sentence()


def test_a_vehicle_that_never_moved_verifies_no_clock() -> None:
    still = np.zeros((len(TIME_S), 3))

    clock = align(log_of({"velocity": Series(TIME_S, still, "m/s")}), TIME_S, {"velocity": still})

    assert not clock.verified and clock.offset_s == 0.0
    assert clock.sentence().startswith("clock offset not verified: the vehicle hardly moved")


def test_rates_serve_where_velocities_say_nothing_and_the_estimate_where_nothing_was_received() -> None:
    still, ours_s = np.zeros((len(TIME_S), 3)), TIME_S[100:-100]
    turning = {
        "velocity": Series(ours_s, still[100:-100], "m/s"),
        "rates": Series(ours_s, seen(ours_s, RATES), "rad/s"),
    }
    clock = align(log_of(turning), TIME_S, {"velocity": still, "rates": RATES})
    assert clock.by == "the true rates that it was sent and logged"

    alone = log_of({}, {"velocity": Series(ours_s + 0.05, seen(ours_s), "m/s")})
    clock = align(alone, TIME_S, {"velocity": VELOCITY})
    assert clock.offset_s == pytest.approx(-0.05, abs=1e-4)
    assert clock.by == "its estimated velocity, which may lag behind the true one"


def test_another_flights_log_verifies_no_clock() -> None:
    other = np.random.default_rng(2).normal(0.0, 1.0, (len(TIME_S), 3))

    clock = align(log_of({"velocity": Series(TIME_S, other, "m/s")}), TIME_S, {"velocity": VELOCITY})

    assert not clock.verified and "does not fit the simulation's" in clock.sentence()
    assert "its log holds no motion" in align(log_of({}), TIME_S, {"velocity": VELOCITY}).sentence()


@pytest.fixture(scope="module")
def flight() -> Flight:
    return fly(
        "quad_f450", control="truth", seed=3, until_s=8.0, faults=["rotor.speed_loss@1:instance=1,severity=0.1,start=5"]
    )


def estimated(flight: Flight, path: Path) -> AutopilotEstimate:
    """A log as PX4 would have written it, beside the flight."""
    return believe(flight, read_autopilot_log(write_px4_log(flight, path), flight.vehicle.spec.home))


def test_a_log_that_begins_in_the_air_is_said_not_to_cover_the_flight(flight: Flight, tmp_path: Path) -> None:
    autopilot = estimated(flight, tmp_path / "a.ulg")
    assert autopilot.uncovered() == ""
    late = replace(autopilot.log, received={}, estimated={n: _from(s, 6.0) for n, s in autopilot.log.estimated.items()})
    assert (
        AutopilotEstimate(flight, late, autopilot.clock, None)
        .uncovered()
        .startswith("its log covers 6.0 to 8.0 s only")
    )


@pytest.mark.parametrize(
    ("begin_s", "says"), [(0.5, ""), (2.0, "a flight that did not leave the ground and ended at 8.0")]
)
def test_a_log_of_a_vehicle_that_stays_on_the_ground_begins_with_the_flight(
    begin_s: float, says: str, flight: Flight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autopilot_estimate, "AIRBORNE_M", 1e9)
    own = estimated(flight, tmp_path / "a.ulg")
    late = {name: _from(series, begin_s) for name, series in own.log.estimated.items()}
    found = AutopilotEstimate(flight, replace(own.log, received={}, estimated=late), own.clock, None).uncovered()
    assert (says in found) and bool(says) == bool(found)


def _from(series: Series, begin_s: float) -> Series:
    keep = series.time_s >= begin_s
    return Series(series.time_s[keep], series.values[keep], series.unit, series.hold)


def test_errors_of_the_estimates_are_what_they_are(flight: Flight, tmp_path: Path) -> None:
    autopilot = estimated(flight, tmp_path / "a.ulg")

    assert autopilot.clock.offset_s == pytest.approx(0.02, abs=2e-4)
    found = {error.name: error for error in autopilot.errors()}
    assert found["horizontal position"].rms == pytest.approx(1.0, abs=1e-3)
    assert found["height"].most < 0.01
    assert found["horizontal velocity"].rms_after == pytest.approx(0.5, abs=0.01)
    assert found["heading"].rms == pytest.approx(2.0, abs=0.02)
    assert found["roll and pitch"].rms < 0.1
    assert autopilot.begins_s and found["heading"].rms_before == pytest.approx(2.0, abs=0.02)
    assert [name for _, name in autopilot.modes()] == ["LOITER", "MISSION"]
    np.testing.assert_allclose([time_s for time_s, _ in autopilot.modes()], [1.02, 4.02], atol=1e-3)
    assert "horizontal position off by 1 m rms" in str(autopilot)


def test_the_table_has_both_on_our_time_base(flight: Flight, tmp_path: Path) -> None:
    autopilot = estimated(flight, tmp_path / "a.ulg")
    autopilot.write(tmp_path / "autopilot.parquet")

    table = pq.read_table(tmp_path / "autopilot.parquet")
    np.testing.assert_array_equal(table["time_s"], flight.log.time())
    np.testing.assert_array_equal(table["body.p_NB_N[0]"], flight.log["body.p_NB_N"][:, 0])
    north = np.array(table["autopilot.p_NB_N[0]"]) - np.array(table["body.p_NB_N[0]"])
    assert np.nanmax(np.abs(north - 1.0)) < 0.02
    assert np.isnan(north[0])  # the autopilot's log begins later
    assert table.schema.field("autopilot.v_NB_N[1]").metadata[b"unit"] == b"m/s"
    assert set(table["autopilot.mode"].to_pylist()) == {None, "LOITER", "MISSION"}
    assert table.schema.metadata[b"ironbird.clock"].startswith(b"clock offset 0.02")


def test_body_axes_that_stand_level_in_hover_are_turned_back(flight: Flight, tmp_path: Path) -> None:
    """A tail-sitter's autopilot has other body axes: pitched by 90 degrees."""
    c = math.sqrt(0.5)
    autopilot = estimated(flight, tmp_path / "a.ulg")
    for series in (autopilot.log.estimated["attitude"], autopilot.log.received["attitude"]):
        w, x, y, z = series.values.T
        series.values[:] = np.column_stack([c * (w - y), c * (x - z), c * (y + w), c * (z + x)])
    ours = flight.log
    turn = _turn(autopilot.log, autopilot.clock, ours.time(), ours["body.q_NB"])
    assert turn is not None
    turned = AutopilotEstimate(flight, autopilot.log, autopilot.clock, turn)
    assert {e.name: e.rms for e in turned.errors()}["heading"] == pytest.approx(2.0, abs=0.05)


def left(flight: Flight, control: str, *logs: Path) -> Flight:
    """The same flight as if it had been flown under this control system, which left these files."""
    return replace(flight, order=replace(flight.order, control=control), logs=list(logs))


def test_of_several_logs_the_largest_counts_and_without_any_there_is_a_reason(flight: Flight, tmp_path: Path) -> None:
    large = write_px4_log(flight, tmp_path / "b.ulg")
    small = tmp_path / "a.ulg"
    small.write_bytes(b"")

    autopilot = beside(left(flight, "px4", small, large))

    assert isinstance(autopilot, AutopilotEstimate)
    assert autopilot.log.path == large and autopilot.log.notes == ["it wrote 2 logs; this is the largest of them"]
    none = beside(left(flight, "px4", tmp_path / "px4.txt"))
    assert isinstance(none, LinkError) and str(none) == "PX4 left no log (.ulg); it left px4.txt"
    none = beside(left(flight, "ardupilot"))
    assert isinstance(none, LinkError) and str(none) == "ArduPilot left no log (.bin); it left nothing"


@pytest.mark.parametrize("control", ["truth", "reference", "hardware", "python:my own"])
def test_a_control_system_that_keeps_no_log_is_not_asked_for_one(flight: Flight, control: str) -> None:
    assert beside(left(flight, control)) is None


def test_euler_angles_are_roll_pitch_yaw(flight: Flight) -> None:
    np.testing.assert_allclose(euler(flight.log["body.q_NB"]), flight.log["body.euler"], atol=1e-9)
