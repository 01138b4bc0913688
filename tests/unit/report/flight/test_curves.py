"""Curves and spans for the screen."""

from __future__ import annotations

import math

import numpy as np
from flight_pages import FAULT

from ironbird.faults.catalog import parse_fault
from ironbird.report.flight.curves import MAX_POINTS, break_turns, flag_pieces, on_pieces, runs, thin


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
    time_s, degrees = break_turns(np.arange(4.0), np.array([170.0, 179.0, -179.0, -170.0]))

    np.testing.assert_array_equal(degrees, [170.0, 179.0, np.nan, -179.0, -170.0])
    np.testing.assert_array_equal(time_s, [0.0, 1.0, 2.0, 2.0, 3.0])


def test_an_intermittent_fault_is_shaded_piece_by_piece() -> None:
    fault = parse_fault("battery.low_voltage@1:severity=0.1,start=5,end=8.5,shape=intermittent,period=2,duty=0.25")

    assert on_pieces(fault, 100.0) == [(5.0, 5.5), (7.0, 7.5)]
    assert on_pieces(fault, 7.2) == [(5.0, 5.5), (7.0, 7.2)]
    assert on_pieces(fault, 4.0) == []
    assert on_pieces(parse_fault(FAULT), math.inf) == [(8.0, math.inf)]


def test_runs_and_flags_become_spans() -> None:
    time_s = np.arange(8.0)

    found = runs(time_s, np.array([0, 0, 3, 3, 3, 0, np.nan, np.nan]), 9.0)
    assert found == [(0.0, 2.0, 0.0), (2.0, 5.0, 3.0), (5.0, 6.0, 0.0), (6.0, 9.0, -1.0)]
    assert runs(time_s[:0], time_s[:0], 9.0) == []
    flags = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    assert flag_pieces(time_s, flags, 9.0) == [(1.0, 2.0), (3.0, 5.0), (7.0, 9.0)]
    assert flag_pieces(time_s, flags, 9.0, gap_s=1.5) == [(1.0, 5.0), (7.0, 9.0)]
