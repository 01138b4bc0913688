"""Parts of a diagram that are exchanged for others."""

from __future__ import annotations

import numpy as np
import pytest
from parts import Counter, Gain, Lag

from ironbird import Block, Diagram, In, Out, Param
from ironbird.errors import ReplaceError, UnknownNameError, ValidationError
from ironbird.model.block import Values, View


class Amplifier(Block):
    """A gain whose ports are called otherwise."""

    signal = In(unit="1", doc="in")
    loud = Out(unit="1", doc="out")
    gain = Param(unit="1", low=-5.0, high=5.0, doc="factor")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"loud": p.gain * u.signal}


class Hearing(Block):
    """A gain with one more input, and an output of another unit."""

    u = In(unit="1", doc="in")
    noise = In(unit="1", doc="another input")
    y = Out(unit="m", doc="out")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": u.u + u.noise}


def chain() -> Diagram:
    """Three gains in a row, the middle one below a path."""
    diagram = Diagram("d")
    first = diagram.add("first", Gain(), k=2.0)
    middle = diagram.add("middle/one", Gain(), k=3.0)
    last = diagram.add("last", Gain(), k=4.0)
    diagram.connect(first.y, middle.u)
    diagram.connect(middle.y, last.u)
    diagram.export(first.u, "u")
    diagram.export(middle.y, "between")
    diagram.stop("loud", middle.y)
    return diagram


def test_a_part_replaced_by_its_like_leaves_the_diagram_as_it_was() -> None:
    diagram, same = chain(), chain()

    same.replace("middle/one", Gain())

    assert list(same.blocks) == list(diagram.blocks)
    assert list(same.links.items()) == list(diagram.links.items())
    assert same.exports == diagram.exports
    assert same.stops == diagram.stops
    assert {path: value.tolist() for path, value in same.values.items()} == {
        path: value.tolist() for path, value in diagram.values.items()
    }


def test_everything_below_a_path_goes_over_by_port_name_and_a_mapping() -> None:
    diagram = chain()

    handle = diagram.replace("middle", Amplifier(), ports={"u": "signal", "one.y": "loud"}, gain=-3.0)

    assert list(diagram.blocks) == ["first", "middle", "last"]
    assert diagram.links == {"middle.signal": ["first.y"], "last.u": ["middle.loud"]}
    assert diagram.exports["between"] == handle.loud
    assert diagram.stops == {"loud": "middle.loud"}
    diagram.validate()


def test_a_diagram_takes_the_place_of_a_block_by_its_exports() -> None:
    inner = Diagram("two")
    one, two = inner.add("one", Gain(), k=5.0), inner.add("two", Gain(), k=6.0)
    inner.connect(one.y, two.u)
    inner.export(one.u)
    inner.export(two.y)
    diagram = chain()

    diagram.replace("last", inner)

    assert diagram.links["last/one.u"] == ["middle/one.y"]
    assert diagram.links["last/two.u"] == ["last/one.y"]
    assert diagram.value("last/two.k") == 6.0
    diagram.validate()


def test_values_of_the_same_name_and_unit_are_kept_unless_given() -> None:
    diagram = chain()

    diagram.replace("first", Gain())
    diagram.replace("last", Gain(), k=-1.0)

    np.testing.assert_array_equal(diagram.value("first.k"), [2.0])
    np.testing.assert_array_equal(diagram.value("last.k"), [-1.0])


def test_all_misfits_are_said_at_once_with_both_ports_and_nothing_has_changed() -> None:
    diagram = chain()
    before = diagram.copied()

    with pytest.raises(ReplaceError) as error:
        diagram.replace("middle/one", Hearing(), ports={"x": "nois"}, connect={"noise": "first.z"}, k=1.0)

    text = str(error.value)
    assert text.startswith("cannot replace d/middle/one by Hearing:\n")
    assert "unknown port 'x' in d/middle/one as it was" in text
    assert "unknown port 'nois' in d/middle/one as Hearing; did you mean 'noise'" in text
    assert "unknown parameter 'middle/one.k'" in text
    assert "cannot connect d/middle/one.y [m] to d/last.u [1]: units differ" in text
    assert "unknown port 'first.z'" in text
    assert "d/middle/one.y [1] is exported as 'between', and d/middle/one.y [m] cannot take its place: units" in text
    assert "d/middle/one.y [1] stops by 'loud', and" in text
    assert len(error.value.problems) == 7
    assert (diagram.blocks, diagram.links, diagram.stops) == (before.blocks, before.links, before.stops)


def test_an_output_that_others_use_must_be_there() -> None:
    diagram = chain()
    with pytest.raises(ReplaceError, match=r"d/first.y \[1\] feeds d/middle/one.u \[1\]: unknown output 'y' in Amp"):
        diagram.replace("first", Amplifier(), ports={"u": "signal"}, gain=1.0)


def test_an_output_that_may_be_missing_leaves_its_readers_without() -> None:
    diagram = chain()
    diagram.replace("first", Amplifier(), ports={"u": "signal", "y": ""}, gain=1.0)
    with pytest.raises(ValidationError, match=r"input middle/one.u \[1\] is not connected"):
        diagram.validate()


def test_a_value_that_the_new_part_does_not_take_is_a_misfit() -> None:
    diagram = Diagram("d")
    diagram.add("one", Gain(), k=9.0)

    class Weak(Gain):
        k = Param(unit="1", high=5.0, doc="factor")

    with pytest.raises(ReplaceError, match=r"one.k = 9 1 is outside its range -inf .. 5"):
        diagram.replace("one", Weak())
    diagram.replace("one", Weak(), k=5.0)
    assert diagram.value("one.k") == 5.0


def test_an_input_that_nothing_feeds_is_left_to_validate_unless_it_is_connected() -> None:
    class Sum(Hearing):
        y = Out(unit="1", doc="out")

    diagram = chain()
    diagram.replace("last", Sum())
    with pytest.raises(ValidationError, match=r"input last.noise \[1\] is not connected"):
        diagram.validate()

    diagram = chain()
    diagram.replace("last", Sum(), connect={"noise": "first.y", "u": "first.y"})
    assert diagram.links["last.noise"] == ["first.y"]
    assert diagram.links["last.u"] == ["first.y"]  # anew, not from the middle
    diagram.validate()


def test_resets_go_over_to_sampled_parts_and_continuous_ones_are_refused() -> None:
    diagram = Diagram("d")
    power = diagram.add("power", Gain(), k=1.0)
    diagram.add("computer", Counter(sample_s=0.01))
    diagram.reset(power.y, ["computer"])

    diagram.replace("computer", Counter(sample_s=0.02))
    assert diagram.resets == {"computer": "power.y"}

    with pytest.raises(ReplaceError, match=r"reset by d/power.y \[1\]: computer is continuous now"):
        diagram.replace("computer", Lag())


def test_an_unknown_part_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown part 'midle' in diagram 'd'; did you mean 'middle'"):
        chain().replace("midle", Gain())


class Adder(Block):
    """A sum of whatever is connected."""

    f = In(unit="1", gather=True, doc="in")
    y = Out(unit="1", doc="out")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"y": u.f}


def test_what_a_new_part_feeds_itself_is_added_to_what_fed_the_old_one() -> None:
    diagram, inner = Diagram("d"), Diagram("inner")
    first, total = diagram.add("first", Gain(), k=2.0), diagram.add("s/sum", Adder())
    diagram.connect(first.y, total.f)
    diagram.export(first.u, "u")
    own, adder = inner.add("extra", Gain(), k=1.0), inner.add("sum", Adder())
    inner.connect(own.y, adder.f)
    inner.export(adder.f, "f")
    inner.export(adder.y, "y")

    diagram.replace("s", inner)

    assert sorted(diagram.links["s/sum.f"]) == ["first.y", "s/extra.y"]
