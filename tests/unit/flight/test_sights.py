"""Sensors of the world in flights: what they say is where the vehicle is, faults act on it, and all of it repeats."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ironbird.errors import FaultError, OrderError, RunError, WorldError
from ironbird.flight import sights
from ironbird.flight.flight import Flight, fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import judge
from ironbird.flight.order import Order, make_order, parse_order
from ironbird.flight.prepare import fit, give_sight, prepare
from ironbird.flight.sights import sha256_of
from ironbird.report.folder import write_flight_folder
from ironbird.rig.rig import Rig
from ironbird.rig.system import FunctionSystem
from ironbird.vehicles import places as at

WALL = """
schema = 1
[terrain]
kind = "plane"
[material.white]
reflectance = 0.9
[[box]]
name = "wall"
north_m = 12.0
size_m = [1.0, 40.0, 30.0]
material = "white"
"""
WALL_M = 11.5  # its side towards the start
RING = {"kind": "ring", "name": "around", "beams": 16, "max_m": 40.0}
DOWN = {"kind": "rangefinder", "name": "down", "euler_deg": [0, -90, 0], "rate_hz": 25, "max_m": 40.0}
UNTIL_S = 8.0


def order(*tables: dict[str, object], **more: object) -> Order:
    """A flight towards the wall; its kernel knows two sensors by their names, whatever they are."""
    said = {"control": "truth", "world": WALL, "until_s": UNTIL_S, "sight": tables or (RING, DOWN), **more}
    return make_order("quad_f450", **said)  # type: ignore[arg-type]


@functools.cache
def flown() -> Flight:
    return fly(order())


def test_ranges_are_those_of_the_pose_at_the_time_of_the_sample() -> None:
    log = flown().log
    time_s, place, turn = log.time(), log[at.BODY.position], log[at.BODY.attitude].reshape(-1, 3, 3)
    down = [sample for sample in flown().samples if sample.sensor == "down"]
    assert [sample.time_s for sample in down] == pytest.approx(np.arange(len(down)) / 25)
    for sample in down[::10]:
        height = -np.interp(sample.time_s, time_s, place[:, 2])
        slant = np.interp(sample.time_s, time_s, turn[:, 2, 2])  # how far its axis is from the vertical
        assert sample.data["range_m"][0] == pytest.approx(height / slant, abs=0.01)
    for sample in [s for s in flown().samples if s.sensor == "around"][20::10]:
        north = np.interp(sample.time_s, time_s, place[:, 0])
        pitch = np.interp(sample.time_s, time_s, log[at.BODY.euler][:, 1])
        assert sample.data["range_m"][0] == pytest.approx((WALL_M - north) / math.cos(pitch), abs=0.02)


def test_the_newest_range_is_a_signal_which_requirements_know() -> None:
    log = flown().log
    stamps = log[at.sight("down")("stamp")]
    assert log[at.sight("down")("range")][0] == pytest.approx(-log[at.BODY.position][0, 2], abs=0.01)
    slow = fly(order(RING, {**DOWN, "latency_s": 0.5}, until_s=1.0)).log
    arrived = slow[at.sight("down")("valid")] > 0
    assert slow.time()[arrived][0] == pytest.approx(0.5, abs=0.03)
    assert (slow[at.sight("down")("range")][~arrived] == 40.0).all()  # nothing seen yet, as far as it goes
    late = log.time() - stamps
    assert (late[10:] >= 0).all() and late[10:].max() < 0.04 + 0.021  # between two samples, and until the next look
    assert log[at.sight("down")("samples")][-1] == len([s for s in flown().samples if s.sensor == "down"])
    judged = fly(order(requirements=["always (sight/around.range > 11.4 m)"])).judged
    assert judged.verdict == "fail" and "sight/around.range was" in judged.sentence


def test_a_flight_with_sensors_repeats_alone_and_in_lanes() -> None:
    again = fly(parse_order(flown().order.text()))
    assert again.sha256 == flown().sha256
    assert sha256_of(again.samples) == sha256_of(flown().samples)
    noisy = [{**RING, "noise_m": 0.05}, DOWN]
    orders = [order(*noisy, seed=seed) for seed in (3, 4, 5)]
    model = fit(orders[0]).model
    together = fly_lanes(orders, model, also=[at.sight("around")("range")], threads=2)
    log, judged = together[0].log, judge(together, model)
    for lane, one in enumerate(orders):
        alone = fly(one)
        assert judged[lane].sha256 == alone.sha256
        ranges = log.lane(at.sight("around")("range"), lane)
        np.testing.assert_array_equal(ranges, alone.log[at.sight("around")("range")])
    seen = [log.lane(at.sight("around")("range"), lane) for lane in range(3)]
    assert not np.array_equal(seen[0], seen[1])  # each seed has its own noise


def test_pictures_are_equal_on_repeated_runs_and_the_renderer_is_part_of_the_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eye = {"kind": "camera", "name": "around", "width": 64, "height": 48, "rate_hz": 4, "noise": 0.01}
    seeing = replace(order(eye, DOWN), until_s=2.0)
    first, second = (fly(seeing) for _ in range(2))
    assert sum(sample.sensor == "around" for sample in first.samples) == 8
    assert sha256_of(first.samples) == sha256_of(second.samples)
    before, blind = seeing.digest(), order().digest()
    monkeypatch.setattr(sights, "RENDERER_VERSION", 10**6)
    assert seeing.digest() != before and order().digest() == blind
    assert order({**RING, "rate_hz": 5.0}, DOWN).digest() != blind


def test_faults_have_windows_triggers_and_a_witness() -> None:
    frozen = "sight.frozen@1:instance=down,start=4,end=6"
    black = "sight.black@1:instance=around,when=sight/down.range > 3 m"
    broken = fly(order(faults=[frozen, black]))
    held = [s.data["range_m"][0] for s in broken.samples if s.sensor == "down" and 4.0 <= s.time_s < 6.0]
    assert len(held) == 50 and len(set(held)) == 1
    assert [witness.effective for witness in broken.witnesses] == [True, True]
    assert broken.witnesses[0].first_s == pytest.approx(4.0) and "50 of 50 samples" in broken.witnesses[0].signal
    dark = [s.time_s for s in broken.samples if s.sensor == "around" and np.isnan(s.data["range_m"]).all()]
    rising = next(s.time_s for s in flown().samples if s.sensor == "down" and s.data["range_m"][0] > 3.0)
    assert dark and 0.0 <= dark[0] - rising < 0.15
    assert broken.log[at.sight("around")("range")][-1] == 40.0 and not broken.log[at.sight("around")("valid")][-1]
    np.testing.assert_array_equal(broken.log[at.BODY.position], flown().log[at.BODY.position])  # nobody looks
    idle = fly(order(faults=["sight.black@1:instance=down,start=100"]))
    assert idle.verdict == "void"


def test_a_trigger_on_a_sensor_fires_in_twins_too() -> None:
    """The first fault freezes nothing that the second waits for: its twin has the second fault, at the same time."""
    loss = "rotor.speed_loss@1:instance=1,severity=0.1,when=sight/down.range > 2 m"
    both = fly(order(faults=["sight.shifted@1:instance=around,start=1", loss]))
    assert all(witness.effective for witness in both.witnesses)
    fired = both.triggered_s[1]
    above = next(s.time_s for s in flown().samples if s.sensor == "down" and s.data["range_m"][0] > 2.0)
    assert 0.0 <= fired - above < 0.1
    assert both.witnesses[1].first_s == pytest.approx(fired, abs=0.05)


def test_a_python_controller_gets_arrays() -> None:
    seen: list[np.ndarray] = []

    def control(rig: Rig) -> None:
        assert rig.sight is not None
        if "around" in rig.sight.newest:
            seen.append(rig.sight.newest["around"].data["range_m"])

    flight = fly(order(until_s=0.5), control=FunctionSystem(control))
    assert len(flight.samples) == 5 + 13 and seen[-1].shape == (16,)
    assert seen[-1][0] == pytest.approx(WALL_M, abs=0.05)


def test_the_folder_of_a_flight_has_what_was_seen(tmp_path: Path) -> None:
    write_flight_folder(flown(), tmp_path)
    table = pq.read_table(tmp_path / "sight" / "down.parquet")
    assert len(table) == sum(sample.sensor == "down" for sample in flown().samples)
    assert (tmp_path / "sight.mcap").stat().st_size > 1000
    write_flight_folder(replace(flown(), order=replace(flown().order, sight=())), tmp_path)
    assert not (tmp_path / "sight").exists() and not (tmp_path / "sight.mcap").exists()


def test_what_cannot_be_is_told_in_words() -> None:
    with pytest.raises(OrderError, match="no world"):
        order(world="")
    with pytest.raises(OrderError, match="two sensors have one name among down, down"):
        order(DOWN, DOWN)
    with pytest.raises(WorldError, match="beams"):
        order({**RING, "beams": 0}, DOWN)
    with pytest.raises(FaultError, match="has sight around, down, not up"):
        fly(order(faults=["sight.black@1:instance=up"]))
    with pytest.raises(FaultError, match="no sensor of the world is ordered"):
        fly(make_order("quad_f450", control="truth", until_s=1.0, faults=["sight.black@1:instance=up"]))
    state = prepare(fit(order()).model, [order()])
    give_sight(state, [order()])
    with pytest.raises(RunError, match="cannot be saved"):
        state.save("nowhere.npz")


def test_too_many_samples_end_the_flight_before_the_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sights, "MOST_KEPT", 1000)
    with pytest.raises(WorldError, match="lower their rates"):
        fly(order())


def test_what_sensors_saw_is_kept_whoever_flies() -> None:
    system = FunctionSystem(lambda rig: None)
    flight = fly("quad_f450", control=system, world=WALL, sight=(DOWN,), until_s=1.0)
    assert len([sample for sample in flight.samples if sample.sensor == "down"]) == pytest.approx(25, abs=1)
