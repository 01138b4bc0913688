"""Every fault of the catalogue acts on a vehicle that has its target, says so, and goes away when it is cleared."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import ironbird as ib
from ironbird.errors import FaultError
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.flight.fault_bench import (
    FIFO,
    USUAL,
    bench_of,
    bench_order,
    over_link,
    read_fifo,
    usual_injection,
)
from ironbird.flight.flight import fly
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.prepare import inject, targets_in
from ironbird.flight.witness import observe
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState

START_S, END_S, UNTIL_S = 8.0, 9.0, 9.6
PARTS = [name for name, fault in FAULTS.items() if fault.needs == "part"]
IDS = sorted(name for name in PARTS if bench_of(FAULTS[name]) is USUAL)
ELSEWHERE = sorted(set(FAULTS) - set(IDS))


@pytest.fixture(scope="module")
def reference() -> ib.CompiledModel:
    return ib.compile_model(ib.load_vehicle("quad_f450", control="reference").diagram)


def prepared(model: ib.CompiledModel, lanes: int) -> RunState:
    """All lanes fly the same square in the same wind with the same noise."""
    state = ib.start(model, lanes=lanes, seed=[3] * lanes)
    values = {**load_mission("square").params(16), **Weather(4.0, 200.0, 6.0).params()}
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
    witness = observe(order, flown, IDS.index(name), flown, len(IDS))
    assert witness.effective, f"{name} changed nothing in {witness.signal}"
    assert START_S <= witness.first_s < END_S  # slow sensors at their next sample, spikes at random
    assert witness.largest > 0.0 and witness.mean > 0.0


@functools.cache
def shown(vehicle: str) -> tuple[list[Injection], Log]:
    """Its faults on one vehicle, one lane each, and the healthy twin in the last."""
    orders = [usual_injection(name) for name in PARTS if name not in IDS and bench_of(FAULTS[name]).vehicle == vehicle]
    bench = bench_of(orders[0].fault)
    loaded = ib.load_vehicle(vehicle, control="truth")
    state = ib.start(ib.compile_model(loaded.diagram), lanes=len(orders) + 1, seed=[3] * (len(orders) + 1))
    values = {**load_mission(loaded.spec.mission).params(16), **bench.weather.params(), **bench.settings}
    for path, value in values.items():
        state.set_param(path, value)
    for lane, order in enumerate(orders):
        inject(state, order, lane)
    end_s = max(order.end_s for order in orders)
    return orders, ib.run(state, end_s + 0.2, log=sorted({o.witness for o in orders}), log_s=0.01)


@pytest.mark.parametrize("name", [name for name in ELSEWHERE if FAULTS[name].needs == "part"])
def test_a_fault_of_another_kind_of_vehicle_acts_there(name: str) -> None:
    vehicle = bench_of(FAULTS[name]).vehicle
    orders, log = shown(vehicle)
    lane = next(i for i, order in enumerate(orders) if order.fault.id == name)
    witness = observe(orders[lane], log, lane, log, len(orders))
    assert witness.effective, f"{name} changed nothing in {witness.signal} of {vehicle}"
    assert START_S <= witness.first_s < orders[lane].end_s
    assert witness.largest > 0.0 and witness.mean > 0.0


@pytest.mark.parametrize("name", [name for name in ELSEWHERE if FAULTS[name].needs in ("chips", "world")])
def test_a_fault_of_wires_chips_or_sight_acts_on_its_bench(name: str) -> None:
    order = usual_injection(name)
    if name.startswith(FIFO):
        assert read_fifo(order).effective
        return
    (witness,) = fly(bench_order(order)).witnesses
    assert witness.effective and order.start_s <= witness.first_s < order.end_s, witness.sentence()


@pytest.mark.parametrize("name", [name for name in ELSEWHERE if FAULTS[name].needs == "link"])
def test_a_fault_of_packets_acts_on_the_link_of_its_bench(name: str) -> None:
    run = over_link(usual_injection(name))
    assert run.witness.disturbed and run.witness.first_s >= START_S
    assert np.array_equal(run.arrived_s[run.arrived_s < START_S], run.sent_s[run.sent_s < START_S])


@pytest.mark.parametrize("vehicle", ["boat_otter", "rov_bluerov2_heavy", "boat_cybership2"])
def test_faults_of_motors_find_thrusters(vehicle: str) -> None:
    """Every fault of a motor has its targets; a ship of which only forces are known shows them by its thrust."""
    model = ib.compile_model(ib.load_vehicle(vehicle, control="truth").diagram)
    names = ["rotor.speed_loss@1", "rotor.slow_response@1", "rotor.stuck@1", "rotor.hard_over@1", "thruster.loss@1"]
    for name in names:
        assert targets_in(model, Injection(FAULTS[name]))
    assert FAULTS["thruster.loss@1"].witness.replace("{instance}", "1") in model.signals()


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


KEYS: dict[str, dict[str, Any]] = {  # further keys of an order, by name
    "instance": {"instance": 2},
    "ramp": {"shape": "ramp", "rise_s": 0.8},
    "intermittent": {"shape": "intermittent", "period_s": 1.0, "duty": 0.5},
}
SLOWEST_S = 0.25  # after which the slowest sensor has a new sample


@pytest.fixture(scope="module")
def keyed(reference: ib.CompiledModel) -> tuple[list[tuple[str, str, str]], Log]:
    """Faults of sensors with every key that they accept, one lane each: name, key, tap of the first instance."""
    taps = {name: FAULTS[name].changes[0].target.rpartition(".")[0] for name in IDS}
    numbered = [name for name in IDS if "{instance}" in taps[name]]
    inside = [name for name in numbered if f"{taps[name]}.healthy".replace("{instance}", "1") in reference.signals()]
    lanes, orders = [], []
    for name in inside:
        for key, more in KEYS.items():
            tap = taps[name].replace("{instance}", "2" if key == "instance" else "1")
            if f"{tap}.healthy" not in reference.signals():
                continue
            orders.append(Injection(FAULTS[name], start_s=1.0, end_s=3.0, **more))
            lanes.append((name, key, taps[name]))
    state = prepared(reference, len(orders))
    for lane, order in enumerate(orders):
        inject(state, order, lane)
    shown = {tap.replace("{instance}", number) for *_, tap in lanes for number in "12"}
    shown = {tap for tap in shown if f"{tap}.healthy" in reference.signals()}
    wanted = sorted(f"{tap}.{part}" for tap in shown for part in ("value", "healthy"))
    return lanes, ib.run(state, 3.6, log=wanted, log_s=0.01)


@pytest.mark.parametrize("key", KEYS)
def test_a_fault_with_a_key_changes_its_own_part_at_its_own_time_alone(
    keyed: tuple[list[tuple[str, str, str]], Log], key: str
) -> None:
    lanes, log = keyed
    time = log.time_s
    phase = np.mod(time - 1.0, 1.0)
    ordered = (time >= 1.0) & (time < 3.0 + SLOWEST_S)
    if key == "intermittent":
        ordered &= phase < 0.5 + SLOWEST_S
    checked = acted = 0
    for lane, (name, of_lane, own) in enumerate(lanes):
        if of_lane != key:
            continue
        mine = own.replace("{instance}", "2" if key == "instance" else "1")
        for path in {signal.rpartition(".")[0] for signal in log.plan.start}:
            differs = log.lane(f"{path}.value", lane) != log.lane(f"{path}.healthy", lane)
            differs = differs.reshape(len(time), -1).any(axis=1)
            if path == mine:
                assert not differs[~ordered].any(), (name, key, time[differs & ~ordered][:3])
                acted += bool(differs[ordered].any())
            elif path.rpartition("/")[0] != mine.rpartition("/")[0]:  # one fault may be of the whole sensor
                assert not differs.any(), (name, key, path)
        checked += 1
    assert checked > 30 and acted > 0.8 * checked  # the others only act in the air


@pytest.mark.parametrize("name", ["imu.bias@1", "gnss.jamming@1", "rotor.imbalance@1"])
def test_a_fault_without_a_target_is_refused_before_take_off(name: str) -> None:
    with pytest.raises(FaultError, match=rf"{name}.*(vehicle 'quad_f450' has no|unknown parameter)"):
        fly("quad_f450", mission="hover", control="truth", faults=[name], until_s=1.0)


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


def test_a_fault_can_wait_for_a_predicate_and_follow_another() -> None:
    orders = [
        "imu.gyro_bias@1:instance=1,severity=0.05,start=0,when=altitude > 5 m and mode == 'take-off'",
        "imu.gyro_noise@1:instance=1,severity=0.05,start=2,when=altitude > 5 m and mode == 'take-off'",  # 2 s after it
    ]
    flight = fly("quad_f450", faults=orders, seed=1, until_s=20.0)
    first, second = flight.witnesses
    height = flight.log["terrain.height_above_ground"]
    crossing = flight.log.time_s[np.flatnonzero(height > 5.0)[0]]
    assert first.first_s == pytest.approx(crossing, abs=0.05)
    assert second.first_s == pytest.approx(first.first_s + 2.0, abs=0.05)
