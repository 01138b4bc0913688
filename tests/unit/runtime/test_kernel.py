"""The kernel: integration, rates, noise, events, stops, logs, snapshots, errors."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import Counter, Exploder, Gain, Lag, Ramp, White
from scipy import stats

from ironbird import CompiledModel, Diagram, ParamEvent, advance, compile_model, restore, run, start
from ironbird.compiler import native
from ironbird.conditions.names import Names
from ironbird.conditions.trigger import compile_trigger
from ironbird.errors import CompileError, ModelError, RunError, UnknownNameError
from ironbird.runtime.predicate import Predicate
from ironbird.runtime.state import RunState
from ironbird.runtime.step import CHUNK_TICKS


def lag_model(method: str = "rk4", step_s: float = 1e-3) -> CompiledModel:
    diagram = Diagram("lag")
    lag = diagram.add("lag", Lag())
    diagram.export(lag.u)
    return compile_model(diagram, method=method, step_s=step_s)


@pytest.fixture(scope="module")
def lag() -> CompiledModel:
    return lag_model()


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("rk2", 2), ("rk4", 4)])
def test_integrators_have_their_order(method: str, order: int) -> None:
    errors = []
    for step_s in (0.02, 0.01):
        state = start(lag_model(method, step_s))
        state.set_input("u", 1.0)
        advance(state, round(0.2 / step_s))
        errors.append(abs(state.get("lag.x")[0] - (1 - math.exp(-2.0))))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)  # the next order still shows at T/5


def test_a_lag_is_the_exact_solution(lag: CompiledModel) -> None:
    state = start(lag)
    state.set_input("u", 2.0)
    log = run(state, 0.5, log_s=1e-3)
    np.testing.assert_allclose(log["lag.y"], 2 * (1 - np.exp(-log.time_s / 0.1)), atol=1e-9)  # RK4 at T/100: 1e-10


def test_stepping_and_running_give_the_same_bytes(lag: CompiledModel) -> None:
    by_step, at_once = start(lag), start(lag)
    for _ in range(100):
        advance(by_step, inputs={"u": 1.0})
    advance(at_once, 100, inputs={"u": 1.0})
    assert by_step.x.tobytes() == at_once.x.tobytes()
    assert by_step.time_s == pytest.approx(0.1)


def test_sampled_blocks_run_at_their_rate_and_hold() -> None:
    diagram = Diagram("d")
    ramp = diagram.add("ramp", Ramp())
    gain = diagram.add("fast", Counter(sample_s=0.002))
    slow = diagram.add("slow", Counter(sample_s=0.01, offset_s=0.003))
    del ramp, gain, slow
    log = run(start(compile_model(diagram)), 0.05, log_s=1e-3)
    np.testing.assert_array_equal(log["fast.count"], np.arange(50) // 2)
    expected = np.where(np.arange(50) >= 3, (np.arange(50) - 3) // 10, 0)
    np.testing.assert_array_equal(log["slow.count"], expected)
    np.testing.assert_allclose(log["ramp.y"], np.arange(50) * 1e-3, atol=1e-15)


def test_noise_is_normal_uniform_and_independent() -> None:
    diagram = Diagram("d")
    diagram.add("a", White())
    diagram.add("b", White(sample_s=0.002))
    log = run(start(compile_model(diagram), lanes=16, seed=11), 2.0, log_s=1e-3)
    n = log.all_lanes("a.n").reshape(-1, 3)
    assert abs(n.mean()) < 4 / math.sqrt(n.size)  # four standard errors
    assert n.std() == pytest.approx(1.0, abs=4 / math.sqrt(2 * n.size))
    assert stats.kstest(n[:, 0], "norm").pvalue > 1e-3
    assert stats.kstest(log.all_lanes("a.e").ravel(), "uniform").pvalue > 1e-3
    correlation = np.corrcoef(np.column_stack([n, log.all_lanes("b.n").reshape(-1, 3)]).T)
    assert np.abs(correlation - np.eye(6)).max() < 5 / math.sqrt(len(n))
    held = log.lane("b.n", 3)
    np.testing.assert_array_equal(held[0::2], held[1::2])  # sampled every second tick, held between


def test_noise_of_a_stream_does_not_depend_on_other_blocks() -> None:
    hashes = []
    for extra in (False, True):
        diagram = Diagram("d")
        if extra:
            diagram.add("other", White())
        diagram.add("a", White())
        hashes.append(run(start(compile_model(diagram), seed=5), 0.1, log=["a"], log_s=1e-3).sha256())
    assert hashes[0] == hashes[1]


def test_events_act_in_their_window_and_shape(lag: CompiledModel) -> None:
    diagram = Diagram("d")
    gain = diagram.add("gain", Gain())
    diagram.export(gain.u)
    model = compile_model(diagram)
    state = start(model, lanes=5)
    state.set_input("u", 1.0)
    state.add_event(ParamEvent("gain.k", 3.0, start_s=0.01, end_s=0.02), 0)
    state.add_event(ParamEvent("gain.k", 0.5, start_s=0.01, effect="scale", shape="ramp", rise_s=0.01), 1)
    state.add_event(
        ParamEvent("gain.k", 2.0, start_s=0.01, effect="offset", shape="intermittent", period_s=0.01, duty=0.3), 2
    )
    state.add_event(ParamEvent("gain.k", 2.0, start_s=0.005, effect="scale"), 3)
    state.add_event(ParamEvent("gain.k", 1.0, start_s=0.01, effect="offset"), 3)
    log = run(state, 0.04, log_s=1e-3)
    tick = np.arange(40)
    np.testing.assert_array_equal(log.lane("gain.y", 0), np.where((tick >= 10) & (tick < 20), 3.0, 1.0))
    np.testing.assert_allclose(log.lane("gain.y", 1), 1 - 0.5 * np.clip((tick - 10) / 10, 0, 1), rtol=1e-15)
    on = (tick >= 10) & ((tick - 10) % 10 < 3)
    np.testing.assert_array_equal(log.lane("gain.y", 2), np.where(on, 3.0, 1.0))
    np.testing.assert_array_equal(log.lane("gain.y", 3), np.where(tick < 5, 1.0, np.where(tick < 10, 2.0, 3.0)))
    np.testing.assert_array_equal(log.lane("gain.y", 4), np.ones(40))


def test_an_event_survives_being_cut_into_pieces(lag: CompiledModel) -> None:
    event = ParamEvent("lag.gain", 4.0, start_s=0.013, end_s=0.077, shape="ramp", rise_s=0.03)
    results = []
    for pieces in ([100], [7, 13, 1, 29, 50]):
        state = start(lag)
        state.set_input("u", 1.0)
        state.add_event(event)
        for ticks in pieces:
            advance(state, ticks)
        results.append(state.x.tobytes())
    assert results[0] == results[1]


def test_wrong_events_are_refused(lag: CompiledModel) -> None:
    state = start(lag)
    with pytest.raises(RunError, match=r"x_0 is not tunable"):
        state.add_event(ParamEvent("lag.x_0", 1.0))
    with pytest.raises(UnknownNameError, match=r"did you mean 'lag.gain'"):
        state.add_event(ParamEvent("lag.gian", 1.0))
    with pytest.raises(RunError, match=r"window must not be empty"):
        state.add_event(ParamEvent("lag.gain", 1.0, start_s=2.0, end_s=1.0))
    with pytest.raises(RunError, match=r"a ramp needs rise_s > 0"):
        state.add_event(ParamEvent("lag.gain", 1.0, shape="ramp"))


def test_a_diverging_lane_stops_with_time_and_name_and_the_others_go_on() -> None:
    diagram = Diagram("d")
    diagram.add("boom", Exploder())
    model = compile_model(diagram)
    state = start(model, lanes=10)
    state.set_param("boom.rate", 0.1)
    state.set_param("boom.rate", 10.0, 4)  # blows up at 0.1 s
    log = run(state, 1.0, log_s=0.01)
    stop = log.stops[4]
    assert stop is not None and stop.time_s == pytest.approx(0.1, abs=0.01)
    assert stop.reason == "diverged: state boom.x is not a number or beyond 1e12"
    assert [s for i, s in enumerate(log.stops) if i != 4] == [None] * 9
    np.testing.assert_allclose(log.lane("boom.y", 9), 1 / (1 - 0.1 * log.time_s), rtol=1e-9)
    assert np.isfinite(log.lane("boom.y", 4)).all() and log.rows(4) == 11
    assert np.isnan(log.all_lanes("boom.y")[4, 12:]).all()
    assert np.isfinite(state.get("boom.x", 4)).all()  # the last good state is kept


def test_a_stop_condition_ends_a_lane_with_its_reason() -> None:
    diagram = Diagram("d")
    ramp = diagram.add("ramp", Ramp())
    diagram.stop("late", ramp.late)
    state = start(compile_model(diagram), lanes=3)
    log = run(state, 2.0, log_s=0.1)
    assert all(s is not None and s.time_s == pytest.approx(0.5) and s.reason == "late" for s in log.stops)
    assert state.finished and log.rows() == 6


def test_logs_are_decimated_selected_and_named(lag: CompiledModel) -> None:
    log = run(start(lag), 0.1, log=["lag.y"], log_s=0.01)
    assert list(log.signals) == ["lag.y"] and len(log.time_s) == 10
    with pytest.raises(UnknownNameError, match=r"did you mean 'lag.y'"):
        run(start(lag), 0.1, log=["lag.yy"])
    with pytest.raises(RunError, match=r"not a whole number of steps"):
        run(start(lag), 0.1, log_s=0.0155)


def test_files_hold_the_same_numbers(lag: CompiledModel, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    state = start(lag)
    state.set_input("u", 1 / 3)
    log = run(state, 0.1, log_s=0.01)
    log.to_parquet(tmp_path / "a.parquet")
    log.to_csv(tmp_path / "a.csv")
    table = pq.read_table(tmp_path / "a.parquet")
    np.testing.assert_array_equal(table["lag.y"].to_numpy(), log["lag.y"])
    assert table.schema.field("lag.y").metadata[b"unit"] == b"1"
    text = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(text[:, 1], log["lag.y"])


def test_a_snapshot_goes_on_as_if_nothing_had_happened(f450: CompiledModel, tmp_path: Path) -> None:
    state = start(f450, lanes=3, seed=4)
    state.set_param("wind/turbulence.wind_20ft", 8.0)
    state.add_event(ParamEvent("rotor/2/motor.health", 0.9, start_s=0.3))
    run(state, 0.2)
    state.save(tmp_path / "s.npz")
    branch, read = state.branch(), restore(f450, tmp_path / "s.npz")
    hashes = {run(s, 0.6).sha256(2) for s in (state, branch, read)}
    assert len(hashes) == 1
    with pytest.raises(RunError, match=r"was saved by another model"):
        restore(lag_model(), tmp_path / "s.npz")


def test_a_branch_is_independent(lag: CompiledModel) -> None:
    state = start(lag)
    branch = state.branch()
    branch.set_input("u", 1.0)
    advance(branch, 10)
    assert state.tick == 0 and state.get("lag.x")[0] == 0.0 and branch.get("lag.x")[0] > 0


@given(lanes=st.integers(2, 40), data=st.data())
def test_a_lane_depends_on_its_own_seed_and_parameters_alone(
    f450: CompiledModel, lanes: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, lanes - 1))
    seed = data.draw(st.integers(0, 2**63))
    alone = start(f450, seed=[seed])
    among = start(f450, lanes=lanes, seed=[seed if i == place else i for i in range(lanes)])
    for state, lane in ((alone, 0), (among, place)):
        state.set_param("wind/turbulence.wind_20ft", 10.0, lane)
        state.set_param("body.mass", 1.5, lane)
    assert run(alone, 0.1).sha256(0) == run(among, 0.1).sha256(place)


def test_threads_do_not_matter(f450: CompiledModel) -> None:
    hashes = {
        tuple(run(start(f450, lanes=20, seed=1), 0.2, threads=threads).sha256(i) for i in (0, 7, 8, 19))
        for threads in (1, 2, 3)
    }
    assert len(hashes) == 1


def test_initial_values_follow_their_parameter_until_the_start(lag: CompiledModel) -> None:
    state = start(lag, params={"lag.x_0": 5.0})
    assert state.get("lag.x")[0] == 5.0
    advance(state)
    with pytest.raises(RunError, match=r"can be set only before the run starts"):
        state.set_param("lag.x_0", 1.0)
    state.set_param("lag.gain", 2.0)  # tunable


def test_wrong_values_and_names_are_refused(lag: CompiledModel) -> None:
    state = start(lag)
    with pytest.raises(UnknownNameError, match=r"unknown input 'v'"):
        state.set_input("v", 1.0)
    with pytest.raises(ModelError, match=r"outside its range"):
        state.set_param("lag.time_constant", 0.0)
    with pytest.raises(RunError, match=r"lane 3 does not exist; there are 1"):
        state.set_input("u", 1.0, 3)
    with pytest.raises(RunError, match=r"lanes = 0 is outside"):
        start(lag, lanes=0)
    with pytest.raises(RunError, match=r"2 seeds for 3 lanes"):
        start(lag, lanes=3, seed=[1, 2])
    with pytest.raises(UnknownNameError, match=r"integration method 'rk5'"):
        compile_model(Diagram("d"), method="rk5")


def test_an_interruption_leaves_a_readable_log(f450: CompiledModel, tmp_path: Path) -> None:
    state = start(f450, lanes=2)
    calls = []

    def interrupt(share: float) -> None:
        calls.append(share)
        if len(calls) == 2:
            raise KeyboardInterrupt

    log = run(state, 60.0, progress=interrupt)
    assert log.interrupted and len(log.time_s) == 200
    log.to_parquet(tmp_path / "log.parquet")
    assert (tmp_path / "log.parquet").stat().st_size > 1000


def test_a_sink_takes_the_pieces_and_nothing_is_kept(f450: CompiledModel) -> None:
    rows: list[int] = []
    log = run(start(f450), 5.0, keep=False, sink=lambda piece: rows.append(len(piece.time_s)))
    assert rows == [100, 100, 50] and len(log.time_s) == 0


def test_a_log_that_cannot_fit_is_refused_with_its_size(f450: CompiledModel) -> None:
    with pytest.raises(RunError, match=r"the log would take [\d.]+ GB: make the run shorter"):
        run(start(f450, lanes=1000), 1e5)


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRONBIRD_CACHE", str(tmp_path))
    with pytest.raises(CompileError, match=r"(?s)failed with code 1.*error: use of undeclared identifier 'oops'"):
        native.build("int f(void) { return oops; }", 1)
    monkeypatch.setenv("IRONBIRD_CC", "no-such-compiler")
    native.compiler_version.cache_clear()
    with pytest.raises(CompileError, match=r"'no-such-compiler --version' does not run.*install the package ziglang"):
        native.build("int f(void) { return 1; }", 1)
    native.compiler_version.cache_clear()


def _compile_and_run(folder: str) -> str:
    os.environ["IRONBIRD_CACHE"] = folder
    state = start(lag_model(), lanes=3)
    state.set_input("u", 1.0)
    return run(state, 0.05, log_s=1e-3).sha256(1)


def test_processes_compiling_at_once_all_succeed(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        hashes = set(pool.map(_compile_and_run, [str(tmp_path)] * 6))
    assert len(hashes) == 1
    assert len(list(tmp_path.rglob("*.so"))) == 1
    assert not list(tmp_path.rglob("build-*"))


def test_a_compiled_model_serves_several_threads(f450: CompiledModel) -> None:
    hashes: list[str] = []
    threads = [
        threading.Thread(target=lambda: hashes.append(run(start(f450, lanes=9, seed=2), 0.2, threads=1).sha256(8)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hashes) == 4 and len(set(hashes)) == 1


@pytest.mark.slow
def test_gcc_gives_the_same_bytes(f450: CompiledModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import shutil

    if not shutil.which("gcc"):
        reason = "no gcc here: the other-compiler check needs one"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    reference = {lanes: run(start(f450, lanes=lanes, seed=3), 0.5, threads=1).sha256(lanes - 1) for lanes in (1, 5)}
    monkeypatch.setenv("IRONBIRD_CC", "gcc")
    monkeypatch.setenv("IRONBIRD_QUICK", "0")
    monkeypatch.setenv("IRONBIRD_CACHE", str(tmp_path))
    native.compiler_version.cache_clear()
    try:
        other = f450.built_for("x86_64_v3" if native.host_target().startswith("x86_64") else native.host_target())
        for lanes, expected in reference.items():
            assert run(start(other, lanes=lanes, seed=3), 0.5, threads=1).sha256(lanes - 1) == expected
    finally:
        native.compiler_version.cache_clear()


def trigger(model: CompiledModel, text: str) -> Predicate:
    return compile_trigger(text, Names.of(model))


def test_a_triggered_event_counts_from_the_moment_its_predicate_holds(lag: CompiledModel) -> None:
    state = start(lag, lanes=3)
    state.set_input("u", 1.0)
    event = ParamEvent("lag.gain", 5.0, start_s=0.02, end_s=0.03, when=trigger(lag, "lag.y > 0.5 and not (lag.y > 2)"))
    state.add_event(event, 1)
    state.add_event(ParamEvent("lag.gain", 5.0, when=trigger(lag, "lag.y > 0.8")), 2)
    log = run(state, 0.2, log_s=1e-3)
    reached = np.flatnonzero(log.lane("lag.y", 0) > 0.5)[0]
    fired = -(-reached // 10) * 10 + 1  # looked at every 10 ticks, acts from the next one on
    assert state.fired == [[], [fired], [state.fired[2][0]]] and state.fired[2][0] > fired
    differs = np.flatnonzero(log.lane("lag.y", 1) != log.lane("lag.y", 0))
    assert differs[0] == fired + 20 + 1  # 20 ms later, and one step until the state shows it
    again = start(lag, lanes=3)
    again.set_input("u", 1.0)
    again.add_event(event, 1)
    for _ in range(20):  # the same in pieces
        advance(again, 10)
    assert again.get("lag.x", 1).tobytes() == state.get("lag.x", 1).tobytes()


def test_a_parameter_of_one_lane_at_the_start_leaves_the_states_of_the_others(lag: CompiledModel) -> None:
    state = start(lag, lanes=3)
    for lane in range(3):
        state.set_state("lag.x", lane + 1.0, lane)
    state.set_param("lag.x_0", 7.0, 1)
    assert [state.get("lag.x", lane)[0] for lane in range(3)] == [1.0, 7.0, 3.0]


def test_poll_is_called_before_each_piece_and_may_change_the_state(lag: CompiledModel) -> None:
    seen: list[int] = []

    def poll(state: RunState) -> None:
        seen.append(state.tick)
        state.set_input("u", 1.0)

    state = start(lag)
    run(state, 4.5, poll=poll)
    assert seen == [0, CHUNK_TICKS, 2 * CHUNK_TICKS] and state.get("lag.x")[0] == pytest.approx(1.0)


def test_a_snapshot_keeps_what_waits_for_its_trigger(lag: CompiledModel, tmp_path: Path) -> None:
    state = start(lag)
    state.set_input("u", 1.0)
    state.add_event(ParamEvent("lag.gain", 5.0, when=trigger(lag, "lag.y > 0.5")))
    run(state, 0.02)
    state.save(tmp_path / "s.npz")
    read = restore(lag, tmp_path / "s.npz")
    assert run(read, 0.2).sha256() == run(state, 0.2).sha256()
    assert read.fired == state.fired == [[71]] and read.events == state.events


def test_a_snapshot_holds_no_code_and_a_damaged_one_is_refused(f450: CompiledModel, tmp_path: Path) -> None:
    good = tmp_path / "good.npz"
    state = start(f450, lanes=2, seed=4)
    state.add_event(ParamEvent("rotor/1/motor.health", 0.5, start_s=1.0, effect="scale"), 1)
    state.save(good)
    with np.load(good, allow_pickle=False) as data:
        parts = dict(data)
    head = json.loads(parts["head"].tobytes())

    def refused(says: str, **changes: object) -> None:
        bad = tmp_path / "bad.npz"
        new = {key: value for key, value in changes.items() if key in parts}
        text = json.dumps(head | {key: value for key, value in changes.items() if key not in parts}).encode()
        np.savez_compressed(bad, **parts | {"head": np.frombuffer(text, np.uint8)} | new)
        with pytest.raises(RunError, match=says):
            restore(f450, bad)

    refused(r"damaged snapshot: x is float64 \(1, 3, 8\), the model has", x=np.zeros((1, 3, 8)))
    refused("damaged snapshot: params is float32", params=parts["params"].astype(np.float32))
    refused("version 9; this version of Ironbird reads 1", snapshot=9)
    refused("saved by another model", model="0" * 64)
    refused("damaged snapshot: -5 is not a whole number", tick=-5)
    refused("damaged snapshot: events of 1 lanes, not of 2", events=head["events"][:1])
    stopped = {"stop_reason": parts["stop_reason"] + 1000, "stop_tick": parts["stop_tick"] * 0 + 1}
    refused("a stop reason is not one of the model's", **stopped)
    event = {**head["events"][1][0], "param": "rotor/9/motor.health"}
    refused("damaged snapshot: .*rotor/9/motor.health", events=[[], [event]])
    deep = {"text": "x", "code": [[1, 0]] * 40, "constants": [1.0]}
    refused("damaged snapshot: trigger 'x'", events=[[], [{**head["events"][1][0], "when": deep}]])
    objects = tmp_path / "objects.npz"
    np.savez(objects, head=np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(RunError, match="is not a snapshot"):
        restore(f450, objects)
    objects.write_bytes(good.read_bytes()[:200])
    with pytest.raises(RunError, match="is not a snapshot"):
        restore(f450, objects)
