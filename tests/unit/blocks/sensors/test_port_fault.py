"""Fault at a port: neutral to the bit, and what its law says while its severity is above zero."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from sensing import event, follow

from ironbird.blocks.sensors.port_fault import PortFault
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import In
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

T = 0.004
SAMPLES = 40
SIGNAL = np.random.default_rng(5).normal(size=(SAMPLES, 3))
SIGNAL[3, 1] = -0.0
OTHER = np.random.default_rng(6).normal(size=(SAMPLES, 2))
FROM, TO = 10, 25


def laws() -> list[ca.Function]:
    """One for each entry: a sum with both entries of the other signal, the time, and a constant."""
    value, severity, time, first, second = names = [ca.SX.sym(name) for name in ("v", "s", "t", "a", "b")]
    made = (value + severity * (first + 10 * second), 2 * time, ca.SX(7.0))
    return [ca.Function("law", names, [entry]) for entry in made]


def block() -> PortFault:
    return PortFault(laws(), {"other": In(unit="m", shape=2, doc="another signal")}, unit="m/s", frame="B", sample_s=T)


@functools.cache
def model() -> CompiledModel:
    return alone(block(), step_s=T)


def through(*faults: tuple[str, float]) -> np.ndarray:
    events = [event(param, value, FROM * T, TO * T) for param, value in faults]
    return follow(model(), {"value_in": SIGNAL, "other": OTHER}, events=events)["value"]


def test_without_severity_the_value_is_the_input_to_the_last_bit() -> None:
    assert through().tobytes() == SIGNAL.tobytes()


def test_each_entry_follows_its_law_in_its_window_and_is_the_input_outside() -> None:
    made = through(("severity", 0.5))
    expected = SIGNAL.copy()
    expected[FROM:TO, 0] += 0.5 * (OTHER[FROM:TO, 0] + 10 * OTHER[FROM:TO, 1])
    expected[FROM:TO, 1] = 2 * T * np.arange(FROM, TO)
    expected[FROM:TO, 2] = 7.0
    np.testing.assert_allclose(made, expected, rtol=1e-14, atol=1e-14)  # sums in another order
    assert made[:FROM].tobytes() == SIGNAL[:FROM].tobytes() and made[TO:].tobytes() == SIGNAL[TO:].tobytes()


def test_an_entry_without_severity_stays_as_it_is_beside_one_with() -> None:
    made = through(("severity[2]", 1.0))
    assert made[:, :2].tobytes() == SIGNAL[:, :2].tobytes() and (made[FROM:TO, 2] == 7.0).all()


def test_the_block_passes_the_public_check() -> None:
    check_block(block())
