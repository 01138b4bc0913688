"""Triggers: the kernel's code of a condition, old texts without units, and what is refused."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from parts import Lag

from ironbird import CompiledModel, Diagram, ParamEvent, compile_model, run, start
from ironbird.conditions import formula
from ironbird.conditions.names import Derived, Names
from ironbird.conditions.quantity import read_unit
from ironbird.conditions.trigger import compile_trigger, unit_advice
from ironbird.errors import ConditionError, RunError, UnitsWarning
from ironbird.flight.derived import DERIVED, derived, names_of
from ironbird.flight.flight import fly
from ironbird.runtime.predicate import LONGEST, STACK, Op, Predicate

WORDS = {"mission": 3.0, "take-off": 1.0}
NAMES = Names(
    {
        "body.height": "m", "body.v[0]": "m/s", "body.v[1]": "m/s", "body.angle": "rad", "mode": "1", "battery": "1",
        "ground_speed": "m/s",
    },
    words=WORDS,
    aliases={"altitude": "body.height"},
    derived={"ground_speed": Derived("m/s", "hypot(body.v[0], body.v[1])")},
    rows={"body.height": 0, "body.v[0]": 1, "body.v[1]": 2, "body.angle": 3, "mode": 4, "battery": 5},
)  # fmt: skip


@pytest.fixture(scope="module")
def lag() -> CompiledModel:
    diagram = Diagram("lag")
    block = diagram.add("lag", Lag())
    diagram.export(block.u)
    return compile_model(diagram)


def first_tick(model: CompiledModel, text: str, *, lanes: int = 1, until_s: float = 0.3) -> int:
    """The tick at which a trigger on a lag towards 1 was first seen to hold, in the last lane; -1 if never."""
    state = start(model, lanes=lanes)
    state.set_input("u", 1.0)
    names = Names.of(model, derived={"doubled": Derived("1", "lag.y + lag.y")})
    state.add_event(ParamEvent("lag.gain", 1.0, when=compile_trigger(text, names)))
    run(state, until_s)
    return state.fired[lanes - 1][0] - 1 if state.fired[lanes - 1][0] >= 0 else -1


def test_units_are_converted_and_derived_signals_expanded() -> None:
    assert compile_trigger("altitude > 100 ft", NAMES).constants[0] == pytest.approx(30.48)
    assert compile_trigger("body.angle < 30 deg", NAMES).constants[0] == pytest.approx(math.pi / 6)
    assert compile_trigger("ground_speed < 3.6 km/h", NAMES).code == (
        (Op.PUSH_SIGNAL, 1), (Op.PUSH_SIGNAL, 2), (Op.HYPOT, 0), (Op.PUSH_CONSTANT, 0), (Op.LESS, 0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("lag.y > 0.5", 0.5), ("not (lag.y <= 0.5)", 0.5), ("lag.y < 0.2 implies lag.y > 0.5", 0.2),
        ("0.3 < lag.y < 0.6", 0.3), ("truth(lag.y > 0.5)", 0.5), ("doubled > 1", 0.5), ("-lag.y < -0.5", 0.5),
        ("abs(lag.y - 1) < 0.5", 0.5), ("lag.y == 0.5 within 0.2", 0.3), ("lag.y == 1", 0.5),
        ("lag.y != 0", 0.5), ("lag.y * lag.y > 0.25", 0.5), ("1 / lag.y < 2", 0.5), ("sqrt(lag.y) > 0.7", 0.49),
        ("acos(lag.y) < 60 deg", 0.5), ("cos(lag.y * 1 rad) < 0.8", math.acos(0.8)),
        ("sin(lag.y * 1 rad) > 0.5", math.pi / 6), ("min(lag.y, 0.4, 0.9) >= 0.4", 0.4),
        ("max(lag.y, 0.1) > 0.5", 0.5), ("hypot(lag.y, 0.3) > 0.5", 0.4), ("norm(lag.y, 0.2, 0.2) > 0.3", 0.1),
    ],
)  # fmt: skip
def test_the_kernel_computes_every_operator(lag: CompiledModel, text: str, reached: float) -> None:
    exact_s = -0.1 * math.log(1 - reached)  # of a lag of 0.1 s
    looked = math.ceil(exact_s / 0.01) * 10  # every 10 ticks of 1 ms
    assert first_tick(lag, text) == first_tick(lag, text, lanes=11) == looked


def test_at_its_tolerance_a_value_is_equal(lag: CompiledModel) -> None:
    assert first_tick(lag, "lag.y == 0.25 within 0.25") == 0  # y is 0 there: exactly at the tolerance
    assert first_tick(lag, "lag.y != 0.25 within 0.25 and lag.y < 0.1") == -1


def test_or_holds_when_both_of_its_sides_do(lag: CompiledModel) -> None:
    assert first_tick(lag, "lag.y >= 0 or lag.y < 5") == 0
    assert first_tick(lag, "not (lag.y >= 0 or lag.y < 5)") == -1


def test_time_counts_from_the_start_of_the_run(lag: CompiledModel) -> None:
    assert first_tick(lag, "time >= 120 ms") == 120
    assert first_tick(lag, "time > 1 h") == -1


def test_a_value_that_is_not_a_number_makes_it_untrue(lag: CompiledModel) -> None:
    assert first_tick(lag, "not (sqrt(lag.y - 0.5) < 3) or lag.y > 0") == 70  # as soon as the root exists


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("altitude > 20", "altitude > 20 m"),
        ("altitude > 20 and mode == 'mission'", "altitude > 20 m and mode == 'mission'"),
        ("-5 < body.v[0] * 2", "-5 m/s < body.v[0] * 2"),
        ("altitude + 1 > 3", "altitude + 1 m > 3 m"),
        ("altitude > 2 * 5", "altitude > (2 * 5) * 1 m"),
        ("altitude > 20 * battery + 5", "altitude > (20 * battery + 5) * 1 m"),
        ("altitude * altitude > 9", "altitude * altitude > 9 m^2"),
        ("altitude == 5", "altitude == 5 m within 0"),
        ("battery == 0.5", "battery == 0.5 within 0"),
        ("altitude == (5)", "altitude == (5 m) within 0"),
        ("1 / altitude > 0.5", "1 / altitude > 0.5 m^-1"),
        ("sqrt(altitude) > 3", "sqrt(altitude) > (3) * sqrt(1 m)"),
        ("not altitude", "not altitude != 0 within 0"),
        ("battery and altitude > 20", "battery != 0 within 0 and altitude > 20 m"),
        ("abs(body.angle) > 0.5", "abs(body.angle) > 0.5 rad"),
        ("3 > 60 > altitude > 3", "3 m > 60 m > altitude > 3 m"),  # a unit is handed on along a chain
    ],
)
def test_old_texts_are_read_in_si_and_the_new_text_is_shown(text: str, new: str) -> None:
    formula_text = f"({text}) and time > {len(new)} s"  # no other test reads it
    with pytest.warns(UnitsWarning) as seen:
        old = compile_trigger(formula_text, NAMES)
    shown = f"({new}) and time > {len(new)} s"
    assert [str(w.message) for w in seen] == [f"trigger '{formula_text}' is read in SI units; write '{shown}'"]
    assert unit_advice(formula_text, NAMES) == shown
    assert unit_advice(shown, NAMES) is None
    if "* 1 m" not in new and "sqrt(1 m)" not in new:  # a product with 1 m more
        assert replace(old, text=shown) == compile_trigger(shown, NAMES)


def test_an_old_text_is_warned_of_once() -> None:
    with pytest.warns(UnitsWarning):
        compile_trigger("altitude > 77.125", NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_trigger("altitude > 77.125", NAMES)


@pytest.mark.parametrize(
    "text", ['mode == "mission"', "mode == mission", "altitude > 0", "battery < 0.5", "battery < 50 %"]
)
def test_texts_in_which_no_unit_is_missing_are_not_warned_of(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_trigger(text, NAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("altitud > 1 m", r"trigger, line 1, column 1: unknown name 'altitud'; did you mean 'altitude'"),
        ("altitude >", "it ends too early"),
        ("altitude", "a trigger needs a condition, but 'altitude' is a number"),
        ("(altitude > 1 m", r"'\)' is missing"),
        ("altitude > 1 m altitude", "'altitude' is not expected here"),
        ("altitude > $", r"column 12: cannot read '\$'"),
        ('mode == "flying"', "unknown word 'flying'"),
        ("altitude[3] > 1 m", "body.height is a single number: write it without an index"),
        ("body.v > 1 m/s", r"body.v has 2 entries: write body.v\[0\] to body.v\[1\]"),
        ("body.v[²] > 1 m/s", "body.v has 2 entries|cannot read"),
        ("altitude > 30 deg", "the units differ"),
        ("altitude > mission", "the units differ"),
        ("altitude > -mission", "the units differ"),
        ("altitude > 3 %", "the units differ"),
        ("altitude == 3 within 3 %", "the units differ"),
        ("mission < 3 < altitude", r"cannot compare mission \[1\] with 3 m \[m\]: the units differ"),
        ("cos(altitude) > 0.5", "cos takes an angle, 'altitude' has m"),
        ("always (altitude > 1 m)", "'always' looks at other times.* leave out 'always', and give the fault a start"),
        ("eventually[0, 5 s] altitude > 1 m", "'eventually' looks at other times"),
        ("once altitude > 1 m", "'once' looks at other times"),
        ("historically altitude > 1 m", "'historically' looks at other times"),
        ("altitude > 1 m until altitude > 2 m", "'until' looks at other times"),
        ("rise(altitude > 1 m)", r"'rise' looks at other times.* write rise\(x\) as x"),
        ("fall(altitude > 1 m)", r"write fall\(x\) as not x"),
        ("fault_active == 1", "'fault_active' cannot be used; it is known only when the flight is judged"),
        ("crashed == 1", "'crashed' cannot be used; the flight ends with a crash"),
        ("completed == 1", "'completed' cannot be used; the flight ends when its mission is completed"),
        ("(" * 2000 + "altitude > 1 m" + ")" * 2000, f"more than {formula.DEEPEST} brackets in brackets"),
        ("not " * 2000 + "altitude > 1 m", f"more than {formula.DEEPEST} brackets"),
        ("altitude > 1 m" + " and altitude > 1 m" * 2000, "operators in a row"),
        ("norm(" + ", ".join(["ground_speed"] * 200) + ") > 1 m/s", f"more than {LONGEST} steps"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(ConditionError, match=message):
        compile_trigger(text, NAMES)


def test_a_text_deeper_than_the_kernels_stack_is_refused() -> None:
    def nested(depth: int) -> str:
        return "1 m + (" * (depth - 1) + "altitude" + ")" * (depth - 1) + " > 0"

    assert compile_trigger(nested(STACK), NAMES).depth == STACK
    with pytest.raises(RunError, match=f"it needs {STACK + 1} places on the kernel's stack, there are {STACK}"):
        compile_trigger(nested(STACK + 1), NAMES)


def test_minus_signs_take_no_room_on_the_stack() -> None:
    many = compile_trigger("-" * 40 + "altitude > 1 m", NAMES)
    assert many.depth == 2


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (((Op.ADD, 0),), "ADD finds 0 values on the stack"),
        ((), "leaves 0 values on the stack"),
        (((Op.PUSH_TIME, 0),) * 2, "leaves 2 values on the stack"),
        (((Op.PUSH_CONSTANT, 1),), "has 1 constants, its code asks for 1"),
        (((Op.PUSH_TIME, 0), *((Op.NOT, 0),) * LONGEST), f"takes {LONGEST + 1} steps, the kernel allows {LONGEST}"),
    ],
)
def test_code_that_would_spoil_the_kernels_memory_cannot_be_made(
    code: tuple[tuple[Op, int], ...], message: str
) -> None:
    with pytest.raises(RunError, match=message):
        Predicate("by hand", code, (1.0,))


def test_a_trigger_of_another_model_is_refused(lag: CompiledModel) -> None:
    with pytest.raises(RunError, match="was compiled for another model: it has 1 rows, not 5"):
        start(lag).add_event(ParamEvent("lag.gain", 1.0, when=compile_trigger("battery > 0.5", NAMES)))


def test_derived_signals_have_the_units_that_they_declare(f450: CompiledModel) -> None:
    names = names_of(f450)
    assert set(names.derived) == set(DERIVED)
    for name, definition in DERIVED.items():
        unit = read_unit(definition.unit)
        assert formula.parse_number(definition.text, names).dimension == unit.dimension, name


def test_altitude_is_the_height_where_there_is_no_terrain(f450: CompiledModel, lag: CompiledModel) -> None:
    assert names_of(f450).aliases["altitude"] == "terrain.height_above_ground"
    assert "altitude" not in names_of(lag).aliases

    class Afloat:
        def signals(self) -> dict[str, object]:
            known = f450.signals()
            return {path: known[path] for path in ("body.p_NB_N", "body.v_NB_N")}

    names = names_of(Afloat())  # type: ignore[arg-type]
    assert names.aliases == {"altitude": "height"}
    assert compile_trigger("altitude > 2 m", names).code[:2] == ((Op.PUSH_SIGNAL, 2), (Op.NEGATE, 0))


def test_a_fault_waits_for_a_derived_signal() -> None:
    order = "rotor.blade_damage@1:instance=1,severity=0.2,when=speed > 1 m/s and tilt < 30 deg and altitude > 100 cm"
    flight = fly("quad_f450", mission="hover", control="truth", until_s=8.0, faults=[order], log_s=0.01)
    assert flight.twin is not None
    speed, tilt = derived(flight.twin, "speed"), derived(flight.twin, "tilt")
    altitude = flight.twin["terrain.height_above_ground"]
    begins = flight.twin.time()[np.flatnonzero((speed > 1.0) & (tilt < math.pi / 6) & (altitude > 1.0))[0]]
    assert flight.witnesses[0].first_s == pytest.approx(begins, abs=0.05)  # the blades show it some steps later
