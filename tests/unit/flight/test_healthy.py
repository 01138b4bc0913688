"""Healthy flights beside one with faults: what they change, that it is a least bit, and who shares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.errors import OrderError
from ironbird.flight import healthy
from ironbird.flight.flight import fly
from ironbird.flight.healthy import ACCEL_BIT_MPS2, GYRO_BIT_RADPS, HealthyFlights, KeptHealthy, Shown, perturbed_orders
from ironbird.flight.order import Order, make_order

FAULT = "rotor.speed_loss@1:instance=1,severity=0.3,start=5"


def order_of(seed: int = 0, *faults: str, time: str = "virtual") -> Order:
    return make_order("quad_f450", control="px4", seed=seed, faults=faults, options={"time": time})


def test_each_perturbation_changes_one_sample_of_one_sensor_by_one_least_bit() -> None:
    bits = set()
    early, late = (perturbed_orders(order_of(0, FAULT), airborne=airborne) for airborne in (False, True))
    for order in (*early, late[0]):
        (fault,) = order.faults
        signal = fault.witness
        log = fly("quad_f450", until_s=5.0, faults=[fault], log_s=0.004, ends="time").log
        differs = log[signal] - log[signal.replace(".value", ".healthy")]
        ((row, axis),) = np.argwhere(differs)
        bit = ACCEL_BIT_MPS2 if "accel" in signal else GYRO_BIT_RADPS
        assert abs(differs[row, axis]) == pytest.approx(bit, rel=1e-6)
        if fault.when:
            assert log["terrain.height_above_ground"][row] == pytest.approx(1.0, abs=0.1)
        else:
            assert log.time()[row] == pytest.approx(fault.start_s, abs=0.005)
        bits.add((signal, axis))
    assert len(bits) == len(perturbed_orders(order_of())) >= 3


def test_an_autopilot_that_forgets_what_was_early_is_perturbed_after_take_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flown: list[Order] = []

    def fake(order: Order, folder: Path, trust: object) -> Order:
        flown.append(order)
        return order

    def shown(order: Any) -> Shown:
        """Only what comes after take-off has an effect."""
        number = len(flown) if any(fault.when for fault in order.faults) else 0
        return Shown([], np.full((3, 3), float(number)))

    monkeypatch.setattr(healthy, "_flown", fake)
    monkeypatch.setattr(healthy, "own_log", lambda order: order)
    monkeypatch.setattr(healthy, "shown_by", shown)
    monkeypatch.setattr(healthy, "records_of", lambda order: None)
    _, found = healthy.fly_healthy(order_of(0, FAULT), tmp_path)
    assert len(found) == 5 and [bool(order.faults and order.faults[0].when) for order in flown] == [
        False, False, True, True, True, True,
    ]  # fmt: skip


def test_the_least_bit_is_that_of_the_units_that_px4_is_sent() -> None:
    from ironbird.autopilots.px4.messages import ACCEL_LIMIT, GYRO_LIMIT

    assert pytest.approx(ACCEL_BIT_MPS2, rel=1e-12) == ACCEL_LIMIT / 32767
    assert pytest.approx(GYRO_BIT_RADPS, rel=1e-12) == GYRO_LIMIT / 32767


def test_a_flight_that_does_not_repeat_has_no_healthy_twins() -> None:
    with pytest.raises(OrderError, match="--time virtual"):
        healthy.healthy_order(order_of(0, FAULT, time="real"))


def test_faults_of_one_order_share_its_healthy_flights(monkeypatch: pytest.MonkeyPatch) -> None:
    flown: list[Order] = []

    def fake(order: Order, folder: Path, trust: object) -> tuple[None, HealthyFlights]:
        (folder / "its.ulg").write_text("log")
        flown.append(order)
        return None, HealthyFlights(None, [])  # type: ignore[arg-type]

    monkeypatch.setattr(healthy, "fly_healthy", fake)
    kept = KeptHealthy(most=2)
    first = kept.of(order_of(1, FAULT))
    assert kept.of(order_of(1, "mag.bias@1:severity=0.5,start=9")) is first and len(flown) == 1
    kept.of(order_of(2, FAULT))
    kept.of(order_of(3, FAULT))  # the oldest goes
    assert kept.of(order_of(1, FAULT)) is not first and [order.seed for order in flown] == [1, 2, 3, 1]
