"""Diagrams: connections, parameters, validation, loops."""

from __future__ import annotations

import casadi as ca
import pytest
from parts import Counter, Gain, Lag

from ironbird import Block, Diagram, In, Out, Param, State
from ironbird.blocks.actuators.motor import Motor
from ironbird.errors import ConnectError, LoopError, ModelError, UnknownNameError, ValidationError
from ironbird.model.block import Rates, Values, View
from ironbird.model.equations import check_loops, equations_of, feedthrough_edges
from ironbird.model.rates import schedule


def test_connect_names_both_ports_and_the_reason() -> None:
    quad = Diagram("quad")
    left, right = quad.add("left", Motor()), quad.add("right", Motor())

    with pytest.raises(ConnectError) as error:
        quad.connect(left.speed, right.throttle)

    assert str(error.value) == "cannot connect quad/left.speed [rad/s] to quad/right.throttle [1]: units differ"


def test_connect_refuses_other_shapes_frames_and_second_connections() -> None:
    class Vector(Block):
        a = Out(unit="m", shape=3, frame="N", doc="a")
        b = In(unit="m", shape=3, frame="B", doc="b")
        c = In(unit="m", doc="c")
        d = In(unit="m", shape=3, frame="N", doc="d")

        def output(self, x: View, u: View, p: View) -> Values:
            return {"a": ca.SX.zeros(3)}

    diagram = Diagram("d")
    one, two = diagram.add("one", Vector()), diagram.add("two", Vector())
    with pytest.raises(ConnectError, match=r"\[m x3 in N\] to d/two.b \[m x3 in B\]: frames differ"):
        diagram.connect(one.a, two.b)
    with pytest.raises(ConnectError, match=r"shapes differ"):
        diagram.connect(one.a, two.c)
    with pytest.raises(ConnectError, match=r"the second is not an input"):
        diagram.connect(one.a, two.a)
    diagram.connect(one.a, two.d)
    with pytest.raises(ConnectError, match=r"already connected to one.a"):
        diagram.connect(two.a, two.d)


def test_a_port_of_another_diagram_is_refused() -> None:
    a, b = Diagram("a"), Diagram("b")
    x, y = a.add("x", Gain()), b.add("y", Gain())
    with pytest.raises(ConnectError, match=r"belongs to diagram 'b', not to 'a'"):
        a.connect(x.y, y.u)


def test_unknown_ports_and_parameters_get_the_nearest_name() -> None:
    diagram = Diagram("d")
    motor = diagram.add("motor", Motor())
    with pytest.raises(ModelError, match=r"unknown port 'sped' in d/motor; did you mean 'speed'"):
        _ = motor.sped
    with pytest.raises(UnknownNameError, match=r"did you mean 'motor.slope'"):
        diagram.set("motor.slop", 1.0)


def test_parameters_are_checked_for_range_size_and_number() -> None:
    diagram = Diagram("d")
    diagram.add("motor", Motor())
    with pytest.raises(ModelError, match=r"motor.health = 1.5 1 is outside its range 0 .. 1"):
        diagram.set("motor.health", 1.5)
    with pytest.raises(ModelError, match=r"needs 1 value"):
        diagram.set("motor.health", [1.0, 0.5])
    with pytest.raises(ModelError, match=r"is not a number"):
        diagram.set("motor.health", float("nan"))


def test_validate_collects_all_problems() -> None:
    diagram = Diagram("d")
    diagram.add("motor", Motor())
    diagram.add("gain", Gain())

    with pytest.raises(ValidationError) as error:
        diagram.validate()

    text = str(error.value)
    assert "diagram 'd' has 5 problems" in text
    assert "input motor.throttle [1] is not connected and has no default" in text
    assert "parameter motor.slope [rad/s] has no value and no default" in text
    assert "input gain.u [1] is not connected and has no default" in text
    assert len(error.value.problems) == 5
    with pytest.raises(ValidationError, match=r"has 1 problem:"):
        diagram.validate(fail_fast=True)


def test_an_algebraic_loop_is_printed_port_by_port() -> None:
    diagram = Diagram("d")
    a, b = diagram.add("a", Gain()), diagram.add("b", Gain())
    diagram.connect(a.y, b.u)
    diagram.connect(b.y, a.u)
    with pytest.raises(LoopError) as error:
        check_loops(feedthrough_edges(diagram.blocks, diagram.links))
    assert error.value.loop in (["a.y", "b.y", "a.y"], ["b.y", "a.y", "b.y"])
    with pytest.raises(ValidationError, match=r"algebraic loop: "):
        diagram.validate()


def test_a_state_breaks_a_loop() -> None:
    diagram = Diagram("d")
    a, b = diagram.add("a", Gain()), diagram.add("b", Lag())
    diagram.connect(a.y, b.u)
    diagram.connect(b.y, a.u)
    diagram.validate()


def test_feedthrough_is_derived_per_port() -> None:
    class Partial(Block):
        a = In(unit="1", doc="a")
        b = In(unit="1", doc="b")
        fa = Out(unit="1", doc="depends on a")
        none = Out(unit="1", doc="depends on nothing: a - a")

        def output(self, x: View, u: View, p: View) -> Values:
            return {"fa": 2 * u.a, "none": u.a - u.a}

    equations = equations_of("p", Partial())
    assert equations.feedthrough("fa") == ["a"]
    assert equations.feedthrough("none") == []


def test_wrong_equations_are_named() -> None:
    class Wrong(Block):
        y = Out(unit="1", shape=3, doc="y")
        x = State(unit="1", doc="x")

        def derivative(self, x: View, u: View, p: View) -> Rates:
            return {"xx": x.x}

        def output(self, x: View, u: View, p: View) -> Values:
            return {"y": x.x}

    diagram = Diagram("d")
    diagram.add("w", Wrong())
    with pytest.raises(ValidationError, match=r"w.y is declared 3x1 but its equation gives 1x1"):
        diagram.validate()


def test_missing_results_and_misspelt_names_are_named() -> None:
    class Missing(Block):
        y = Out(unit="1", doc="y")
        z = Out(unit="1", doc="z")
        k = Param(unit="1", default=1.0, doc="k")

        def output(self, x: View, u: View, p: View) -> Values:
            return {"y": p.kk}

    diagram = Diagram("d")
    diagram.add("m", Missing())
    with pytest.raises(ValidationError, match=r"unknown name 'kk' in parameters of m"):
        diagram.validate()


def test_nested_diagrams_keep_names_values_and_links() -> None:
    inner = Diagram("inner")
    gain, lag = inner.add("gain", Gain(), k=3.0), inner.add("lag", Lag())
    inner.connect(gain.y, lag.u)
    inner.export(gain.u, "command")
    inner.export(lag.y)
    outer = Diagram("outer")
    left, right = outer.add("left", inner), outer.add("right", inner)
    outer.connect(left.y, right.command)
    outer.export(left.command, "u")
    outer.validate()
    assert outer.value("right/gain.k")[0] == 3.0
    outer.set("left/gain.k", 5.0)
    assert outer.value("right/gain.k")[0] == 3.0
    assert inner.value("gain.k")[0] == 3.0
    assert outer.links["right/gain.u"] == ["left/lag.y"]


def test_sample_times_must_be_whole_numbers_of_steps() -> None:
    diagram = Diagram("d")
    diagram.add("c", Counter(sample_s=0.0015))
    with pytest.raises(ModelError, match=r"sample time 0.0015 s is not a whole number of steps of 0.001 s"):
        schedule(diagram, 1e-3)


def test_sampled_blocks_run_after_those_they_read() -> None:
    diagram = Diagram("d")
    last = diagram.add("last", Counter(sample_s=0.01))
    between = diagram.add("between", Gain())
    first = diagram.add("first", Counter(sample_s=0.005))
    diagram.connect(first.seen, between.u)
    diagram.connect(between.y, last.u)
    groups = schedule(diagram, 1e-3)
    order = [path for group in groups for path in group.outputs]
    assert order == ["first", "last"]


def test_a_sampled_block_puts_out_before_it_goes_on_although_it_waits_for_a_slower_one() -> None:
    diagram = Diagram("d")
    fast = diagram.add("fast", Counter(sample_s=0.005))  # its count needs nobody, what it has seen needs the slow one
    slow = diagram.add("slow", Counter(sample_s=0.01))
    diagram.connect(slow.count, fast.u)

    groups = schedule(diagram, 1e-3)

    outputs = next(place for place, group in enumerate(groups) if "fast" in group.outputs)
    updates = next(place for place, group in enumerate(groups) if "fast" in group.updates)
    assert outputs <= updates  # else it would show the count of the next sample


@pytest.mark.parametrize("name", ["body[0]-x!", "a b", "a.b", "", "a//b", "/a", "a/", "mass=", "größe", "a\n"])
def test_names_that_paths_cannot_carry_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match=r"is no name for a part of 'd': letters, digits, _ and / only"):
        Diagram("d").add(name, Gain())


@pytest.mark.parametrize("name", ["body", "rotor/1/motor", "2", "left_front/tyre_4"])
def test_names_of_letters_digits_underscores_and_slashes_are_taken(name: str) -> None:
    diagram = Diagram("d")
    diagram.add(name, Gain(), k=2.0)
    assert diagram.value(f"{name}.k") == [2.0]


def test_a_subset_keeps_values_links_exports_and_stops_of_its_blocks_only() -> None:
    whole = Diagram("d")
    first, middle, last = (
        whole.add("first", Gain(), k=2.0),
        whole.add("middle", Gain(), k=3.0),
        whole.add("last", Lag()),
    )
    whole.connect(first.y, middle.u)
    whole.connect(middle.y, last.u)
    whole.export(first.u, "into")
    whole.export(last.y, "out")
    whole.stop("early", first.y)
    whole.stop("late", last.y)

    part = whole.subset(["middle", "first"])

    assert list(part.blocks) == ["middle", "first"] and part.links == {"middle.u": ["first.y"]}
    assert list(part.exports) == ["into"] and part.stops == {"early": "first.y"}
    part.set("first.k", 5.0)
    assert whole.value("first.k") == [2.0]  # nothing is shared but the blocks
    with pytest.raises(UnknownNameError, match=r"unknown block 'midle'"):
        whole.subset(["midle"])
