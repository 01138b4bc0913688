"""Every fault of the catalogue acts on a vehicle that has its target, says so, and goes away when it is cleared."""

from __future__ import annotations

import numpy as np
import pytest

import ironbird as ib
from ironbird.campaign.flight import Wind, fly, inject
from ironbird.campaign.mission import load_mission
from ironbird.campaign.witness import observe
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.runtime.record import Log
from ironbird.runtime.state import RunState

START_S, END_S, UNTIL_S = 8.0, 9.0, 9.6
IDS = sorted(FAULTS)


@pytest.fixture(scope="module")
def reference() -> ib.CompiledModel:
    return ib.compile_model(ib.load_vehicle("quad_f450", control="reference").diagram)


def prepared(model: ib.CompiledModel, lanes: int) -> RunState:
    """All lanes fly the same square in the same wind with the same noise."""
    state = ib.start(model, lanes=lanes, seed=[3] * lanes)
    values = {**load_mission("square").params(16), **Wind(4.0, 200.0, 6.0).params()}
    for path, value in values.items():
        state.set_param(path, value)
    return state


@pytest.fixture(scope="module")
def flown(reference: ib.CompiledModel) -> Log:
    """One lane per fault, and the healthy twin in the last."""
    state = prepared(reference, len(IDS) + 1)
    for lane, name in enumerate(IDS):
        inject(state, Injection(FAULTS[name], start_s=START_S, end_s=END_S), lane)
    signals = sorted({FAULTS[name].witness.replace("{instance}", "1") for name in IDS})
    return ib.run(state, UNTIL_S, log=[*signals, "imu/1/accel_fault.healthy"], log_s=0.004)


@pytest.mark.parametrize("name", IDS)
def test_a_fault_acts_from_its_start_on_and_its_witness_says_so(flown: Log, name: str) -> None:
    order = Injection(FAULTS[name], start_s=START_S, end_s=END_S)
    witness = observe(order, flown, IDS.index(name), len(IDS))
    assert witness.effective, f"{name} changed nothing in {witness.signal}"
    assert START_S <= witness.first_s < END_S  # slow sensors at their next sample, spikes at random
    assert witness.largest > 0.0 and witness.mean > 0.0


@pytest.mark.parametrize("name", [n for n in IDS if n.startswith(("imu.", "mag.", "baro."))])
def test_clearing_a_sensor_fault_restores_the_healthy_signal(reference: ib.CompiledModel, name: str) -> None:
    """The tap's output equals its input again, bit for bit, once the fault is over."""
    state = prepared(reference, 2)
    inject(state, Injection(FAULTS[name], start_s=1.0, end_s=1.4), 0)
    tap = FAULTS[name].changes[0].target.replace("{instance}", "1").rpartition(".")[0]
    log = ib.run(state, 2.0, log=[f"{tap}.value", f"{tap}.healthy"], log_s=0.004)
    differs = np.abs(log[f"{tap}.value"] - log[f"{tap}.healthy"]).reshape(len(log.time_s), -1).max(axis=1) > 0
    during = (log.time_s >= 1.0) & (log.time_s < 1.4)
    assert differs[during].any() and not differs[log.time_s < 1.0].any()
    assert not differs[log.time_s > 1.4 + 0.021].any()  # one sample of the slowest of these sensors


@pytest.mark.parametrize("name", ["imu.bias@1", "gnss.jamming@1", "rotor.imbalance@1"])
def test_a_fault_without_a_target_is_reported_as_ineffective(f450: ib.CompiledModel, name: str) -> None:
    flight = fly(
        "quad_f450", mission="hover", control="truth", faults=[name], until_s=1.0, model=f450, allow_missing=True
    )
    assert not flight.witnesses[0].effective
    assert "ineffective; the vehicle has no such part" in flight.witnesses[0].sentence()


def test_the_same_seed_gives_the_same_bytes_with_faults_and_without(reference: ib.CompiledModel) -> None:
    hashes = []
    for lanes, place in ((1, 0), (11, 9)):
        for faulted in (False, True):
            state = prepared(reference, lanes)
            if faulted:
                inject(state, Injection(FAULTS["imu.accel_noise@1"], severity=0.2, start_s=1.0), place)
                inject(state, Injection(FAULTS["gnss.position_spike@1"], start_s=2.0), place)
            hashes.append(ib.run(state, 4.0, log=["body", "estimator"]).sha256(place))
    assert hashes[0] == hashes[2] and hashes[1] == hashes[3] and hashes[0] != hashes[1]


def test_a_fault_can_wait_for_a_predicate_and_follow_another(reference: ib.CompiledModel) -> None:
    orders = [
        "imu.gyro_bias@1:instance=1,severity=0.05,start=0,when=altitude > 5 and mode == 'take-off'",
        "imu.gyro_noise@1:instance=1,severity=0.05,start=2,when=altitude > 5 and mode == 'take-off'",  # 2 s after it
    ]
    flight = fly("quad_f450", faults=orders, seed=1, until_s=20.0, model=reference)
    first, second = flight.witnesses
    height = flight.log["terrain.height_above_ground"]
    crossing = flight.log.time_s[np.flatnonzero(height > 5.0)[0]]
    assert first.first_s == pytest.approx(crossing, abs=0.05)
    assert second.first_s == pytest.approx(first.first_s + 2.0, abs=0.05)
