"""Blocks that begin anew while an output is low: a computer without power."""

from __future__ import annotations

import numpy as np
import pytest
from parts import Counter, Gain, Lag

from ironbird import Block, Diagram, In, Out, Param, State, compile_model
from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.block import Values, View
from ironbird.model.rates import Group, schedule
from ironbird.runtime.state import start
from ironbird.runtime.step import run

STEP_S = 0.01


class Sum(Block):
    """Adds one to each of two numbers that begin at a parameter."""

    source = "closed form of this project"
    y = Out(unit="1", shape=2, doc="the numbers")
    n = State(unit="1", shape=2, init="n_0", doc="the numbers")
    n_0 = Param(unit="1", shape=2, doc="where they begin")

    def update(self, x: View, u: View, p: View) -> Values:
        return {"n": x.n + 1}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": x.n}


class Switch(Block):
    """Hands on its input at its samples."""

    source = "closed form of this project"
    u = In(unit="1", default=1.0, doc="1 is on")
    on = Out(unit="1", doc="as the input")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"on": u.u}


def bench() -> Diagram:
    diagram = Diagram("bench")
    switch = diagram.add("switch", Switch(sample_s=STEP_S))
    diagram.add("other", Counter(sample_s=STEP_S))
    diagram.add("counter", Counter(sample_s=2 * STEP_S))
    diagram.add("sum", Sum(sample_s=STEP_S), n_0=[5.0, -3.0])
    diagram.export(switch.u)
    return diagram


def test_a_block_is_at_its_initial_states_while_the_output_is_low_and_counts_from_there_afterwards() -> None:
    diagram = bench()
    diagram.reset(diagram.port("switch.on"), ["counter", "sum"])
    state = start(compile_model(diagram, step_s=STEP_S))
    logs = []
    for on, until_s in ((1.0, 0.2), (0.0, 0.3), (1.0, 0.5)):
        state.set_input("u", on)
        logs.append(run(state, until_s, log_s=STEP_S))

    before, dead, after = logs
    np.testing.assert_array_equal(before["sum.y"], np.arange(20)[:, None] + [5.0, -3.0])
    # At the sample at which it falls the outputs are still those of the sample before; then nothing moves
    np.testing.assert_array_equal(dead["sum.y"][1:], np.tile([5.0, -3.0], (9, 1)))
    np.testing.assert_array_equal(dead["counter.count"][2:], 0.0)
    np.testing.assert_array_equal(after["sum.y"], np.arange(20)[:, None] + [5.0, -3.0])
    np.testing.assert_array_equal(after["counter.count"][::2], np.arange(10))
    np.testing.assert_array_equal(np.concatenate([log["other.count"] for log in logs]), np.arange(50))


def test_a_diagram_without_resets_and_one_that_is_never_reset_fly_alike() -> None:
    plain, guarded = bench(), bench()
    guarded.reset(guarded.port("switch.on"), ["counter", "sum"])
    logs = [run(start(compile_model(diagram, step_s=STEP_S)), 0.3, log_s=STEP_S) for diagram in (plain, guarded)]

    for path in ("sum.y", "counter.count", "other.count"):
        np.testing.assert_array_equal(logs[0][path], logs[1][path])


def test_a_block_is_waited_for_by_those_that_it_resets() -> None:
    """Whatever the order in which parts were added, the update sees this instant's output."""
    diagram = Diagram("late")
    diagram.add("sum", Sum(sample_s=STEP_S), n_0=[0.0, 0.0])
    switch = diagram.add("switch", Switch(sample_s=2 * STEP_S))
    diagram.export(switch.u)
    diagram.reset(switch.on, ["sum"])
    jobs = [(kind, path) for group in schedule(diagram, STEP_S) for kind, path in _jobs(group)]

    assert jobs.index(("output", "switch")) < jobs.index(("update", "sum"))


def _jobs(group: Group) -> list[tuple[str, str]]:
    return [("output", path) for path in group.outputs] + [("update", path) for path in group.updates]


def test_resets_go_with_copies_parts_and_nested_diagrams() -> None:
    diagram = bench()
    diagram.reset(diagram.port("switch.on"), ["counter", "sum"])
    outer = Diagram("outer")
    outer.add("inner", diagram)

    assert diagram.copied().resets == {"counter": "switch.on", "sum": "switch.on"}
    assert diagram.subset(["switch", "sum"]).resets == {"sum": "switch.on"}
    assert diagram.subset(["sum"]).resets == {}  # nobody is left who could reset it
    assert outer.resets == {"inner/counter": "inner/switch.on", "inner/sum": "inner/switch.on"}


def test_what_cannot_be_reset_is_refused() -> None:
    diagram = bench()
    diagram.add("lag", Lag())
    diagram.add("gain", Gain())
    on = diagram.port("switch.on")
    with pytest.raises(ModelError, match=r"block lag is continuous; only sampled blocks restart"):
        diagram.reset(on, ["lag"])
    with pytest.raises(ModelError, match=r"bench/sum.y \[1 x2\] is not a scalar output"):
        diagram.reset(diagram.port("sum.y"), ["counter"])
    diagram.reset(on, ["counter"])
    with pytest.raises(ModelError, match=r"block counter is already reset by switch.on"):
        diagram.reset(on, ["counter"])
    with pytest.raises(UnknownNameError, match=r"unknown block 'contr'"):
        diagram.reset(on, ["contr"])
