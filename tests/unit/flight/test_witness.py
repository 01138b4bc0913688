"""The witness of a fault on logs written by hand: every figure is known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.faults.catalog import parse_fault
from ironbird.flight.witness import Witness, observe
from ironbird.model.signal import Out, Signal
from ironbird.runtime.log import Log, LogPlan

STEP_S = 0.5
SIGNAL, MODE = "air.wind_sum_N", "navigator.mode"  # of three numbers, and of one
DISARMED, FLYING = 0.0, 3.0
FAULT = "wind.steady@1:axis=1,severity=0.5,start=2,end=4"


def log_of(values: list[list[float]], modes: list[float] | None = None, first: int = 0) -> Log:
    """One lane with a row every half second, from row `first` on."""
    signals: dict[str, Signal] = {SIGNAL: Out(unit="m/s", shape=3, frame="N")}
    if modes:
        signals[MODE] = Out(unit="1")
    columns = np.array(values, float) if not modes else np.column_stack([values, modes])
    plan = LogPlan(1, np.arange(columns.shape[1]), {SIGNAL: 0, MODE: 3} if modes else {SIGNAL: 0}, signals, STEP_S)
    time_s = (first + np.arange(len(columns))) * STEP_S
    return Log(plan, 1, time_s, columns[None, :, :, None], [None])


def still(rows: int) -> list[list[float]]:
    return [[1.0, 2.0, 3.0] for _ in range(rows)]


def seen(faulted: Log, twin: Log, fault: str = FAULT, **how: float | int) -> Witness:
    return observe(parse_fault(fault), faulted, 0, twin, 0, **how)  # type: ignore[arg-type]


def moved(rows: int, change: dict[int, float], axis: int = 1) -> list[list[float]]:
    values = still(rows)
    for row, by in change.items():
        values[row][axis] += by
    return values


def test_figures_are_those_of_the_time_in_which_the_fault_was_ordered() -> None:
    # Rows 4 to 8 are 2 to 4 s; what is left of the fault after its end counts for nothing but that it acted
    faulted = log_of(moved(14, {4: 1.0, 5: 3.0, 6: 2.0, 7: 0.0, 8: 4.0, 9: 50.0, 12: 70.0}))

    found = seen(faulted, log_of(still(14)))

    assert (found.first_s, found.largest, found.mean) == (2.0, 4.0, 10.0 / 5)
    assert (found.unit, found.ended_s, found.effective) == ("m/s", 4.0, True)


def test_without_an_end_figures_go_to_the_last_row_that_is_compared() -> None:
    faulted = log_of(moved(10, {6: 8.0}))
    endless = "wind.steady@1:axis=1,severity=0.5,start=2"

    assert seen(faulted, log_of(still(10)), endless).mean == pytest.approx(8.0 / 6)  # rows 4 to 9
    early = seen(faulted, log_of(still(10)), endless, until_s=3.0)  # before 3 s: row 6 is not looked at
    assert not early.effective and early.ended_s == 2.5


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("by", [0.25, -0.25])
def test_a_change_of_any_axis_in_either_direction_is_seen(axis: int, by: float) -> None:
    found = seen(log_of(moved(10, {5: by}, axis)), log_of(still(10)))

    assert (found.first_s, found.largest) == (2.5, 0.25)


def test_equal_lanes_show_that_the_fault_did_nothing() -> None:
    changing = [[float(row), 2.0 * row, -row] for row in range(10)]
    found = seen(log_of(changing), log_of(changing))

    assert not found.effective and math.isnan(found.first_s) and found.largest == found.mean == 0.0


def test_a_twin_that_begins_later_is_compared_row_by_row() -> None:
    changing = [[float(row), 0.0, 0.0] for row in range(10)]
    twin = log_of(changing[3:], first=3)

    assert not seen(log_of(changing), twin, first_row=3).effective
    changing[7] = [7.0, 1.0, 0.0]
    assert seen(log_of(changing), twin, first_row=3).first_s == 3.5


def test_times_count_from_the_moment_at_which_the_trigger_fired() -> None:
    faulted = log_of(moved(14, {4: 9.0, 6: 1.0, 7: 3.0}))  # fired at 1 s: ordered from 3 to 5 s, rows 6 to 10

    found = seen(faulted, log_of(still(14)), triggered_s=1.0)

    assert (found.largest, found.mean, found.ended_s) == (3.0, 4.0 / 5, 5.0)


def test_what_differs_after_the_twin_has_landed_is_not_the_faults_doing() -> None:
    modes = [FLYING] * 6 + [DISARMED] * 4
    faulted = log_of(moved(10, {8: 5.0}), [FLYING] * 10)

    assert not seen(faulted, log_of(still(10), modes)).effective
    landed_later = [FLYING] * 9 + [DISARMED]
    assert seen(faulted, log_of(still(10), landed_later)).first_s == 4.0


def test_a_vehicle_without_the_signal_has_nothing_to_show() -> None:
    found = seen(log_of(still(3)), log_of(still(3)), "rotor.stuck@1:instance=1")

    assert (found.signal, found.effective) == ("", False) and "no signal" in found.effect()


def test_a_difference_that_the_part_could_not_show_is_no_effect() -> None:
    tiny = seen(log_of(moved(10, {5: 1e-10})), log_of(still(10)))  # of a wind of 2 m/s: less than rounding shows
    assert not tiny.effective and "less than 2e-09 m/s is below its own noise" in tiny.effect()
    assert seen(log_of(moved(10, {5: 1e-8})), log_of(still(10))).effective


def test_noise_of_the_healthy_signal_hides_what_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.flight.witness.NOISE_S", STEP_S)
    noisy = [[0.0, 2.0 + 0.5 * (row % 2), 0.0] for row in range(10)]
    for size, seen_at_all in ((0.004, False), (0.006, True)):  # one hundredth of 0.5 m/s is 0.005 m/s
        faulted = [list(row) for row in noisy]
        faulted[5][1] += size
        assert seen(log_of(faulted), log_of(noisy)).effective == seen_at_all


def test_next_to_nothing_is_no_fault_however_the_loop_answers() -> None:
    nothing = "wind.steady@1:axis=1,severity=0.0009,start=2,end=4"
    found = seen(log_of(moved(10, {5: 3.0})), log_of(still(10)), nothing)
    assert not found.effective and "a severity of 0.0009 is less than 0.001" in found.effect()
