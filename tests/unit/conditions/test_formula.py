"""Text of requirements: what it means, and what is said about mistakes."""

from __future__ import annotations

import math

import pytest

from ironbird.conditions.formula import (
    Call,
    Compare,
    Edge,
    Formula,
    Interval,
    Join,
    Not,
    Number,
    Signal,
    Truth,
    Until,
    Window,
    parse_formula,
)
from ironbird.conditions.names import Names
from ironbird.errors import ConditionError

UNITS = {
    "terrain.height_above_ground": "m", "navigator.mode": "1", "navigator.item": "1", "body.p_NB_N": "m",
    "body.v_NB_N[0]": "m/s", "body.v_NB_N[1]": "m/s", "body.v_NB_N[2]": "m/s", "body.euler": "rad",
    "rotor/1/motor.speed": "rad/s", "battery.remaining": "1",
}  # fmt: skip
ALIASES = {
    "altitude": "terrain.height_above_ground", "mode": "navigator.mode", "sink": "body.v_NB_N[2]",
    "place": "body.p_NB_N",
}  # fmt: skip
WORDS = {"take-off": 1.0, "return": 4.0, "land": 5.0}


def read(text: str) -> Formula:
    return parse_formula(text, Names(UNITS, aliases=ALIASES, words=WORDS))


def compare(text: str) -> Compare:
    root = read(text).root
    assert isinstance(root, Compare)
    return root


def test_a_comparison_has_signal_number_and_unit() -> None:
    root = compare("altitude < 60 m")

    assert root.operator == "<"
    assert isinstance(root.left, Signal) and root.left.column == "terrain.height_above_ground"
    assert root.left.text == "altitude" and root.left.unit == "m"
    assert isinstance(root.right, Number) and root.right.value == 60.0 and root.right.unit == "m"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("body.euler[0] < 30 deg", math.radians(30)), ("body.euler[0] < -30 deg", -math.radians(30)),
        ("rotor/1/motor.speed < 6000 rpm", 200 * math.pi), ("sink < 36 km/h", 10.0), ("altitude < 1.2e3 ft", 365.76),
        ("battery.remaining < 20 %", 0.2), ("battery.remaining < 20%", 0.2), ("battery.remaining < .2", 0.2),
        ("body.v_NB_N[0] < 3 m/s", 3.0), ("time < 2 min", 120.0), ("altitude < 0", 0.0),
        ("mode == land", 5.0), ('mode == "take-off"', 1.0), ("mode != 'return'", 4.0),
    ],
)  # fmt: skip
def test_numbers_are_si_inside(text: str, value: float) -> None:
    right = compare(text).right

    assert isinstance(right, Number)
    assert right.value == pytest.approx(value, rel=1e-15)


def test_signals_are_those_needed_once_in_the_order_of_the_text() -> None:
    formula = read(
        "always (sink < 3 m/s or place[2] > -altitude) and mode == land and body.p_NB_N[2] < 0 and time > 3 s"
    )

    assert formula.signals == (
        "body.v_NB_N[2]", "body.p_NB_N[2]", "terrain.height_above_ground", "navigator.mode", "time",
    )  # fmt: skip


def test_binding() -> None:
    root = read(
        "altitude < 1 m or mode == land and not sink > 1 m/s implies always mode == land implies sink < 1 m/s"
    ).root

    assert isinstance(root, Join) and root.operator == "implies"
    assert isinstance(root.left, Join) and root.left.operator == "or"
    assert isinstance(root.left.right, Join) and root.left.right.operator == "and"
    assert isinstance(root.left.right.right, Not) and isinstance(root.left.right.right.child, Compare)
    assert isinstance(root.right, Join) and root.right.operator == "implies"  # the right one first
    assert isinstance(root.right.left, Window) and isinstance(root.right.left.child, Compare)


def test_until_binds_tighter_than_and() -> None:
    root = read("altitude < 1 m and sink < 1 m/s until[1, 2] mode == land").root

    assert isinstance(root, Join) and isinstance(root.right, Until)
    assert root.right.interval == Interval(1.0, 2.0)


def test_arithmetic_binds_as_usual() -> None:
    left = compare("altitude - place[0] + 2 * place[1] / 4 * -place[2] / 1 m < 3 m").left

    assert isinstance(left, Call) and left.function == "+"
    first, second = left.arguments
    assert isinstance(first, Call) and first.function == "-" and first.text == "altitude - place[0]"
    assert isinstance(second, Call) and second.function == "/"
    assert isinstance(second.arguments[0], Call) and second.arguments[0].function == "*"
    assert second.text == "2 * place[1] / 4 * -place[2] / 1 m"


def test_a_chain_is_two_comparisons() -> None:
    root = read("10 m < altitude <= 60 m").root

    assert isinstance(root, Join) and root.operator == "and"
    assert isinstance(root.left, Compare) and isinstance(root.right, Compare)
    assert (root.left.operator, root.left.right.text) == ("<", "altitude")
    assert (root.right.operator, root.right.left.text) == ("<=", "altitude")


def test_equality_has_a_tolerance_or_is_of_whole_numbers() -> None:
    assert compare("altitude == 3 m within 10 cm").tolerance == pytest.approx(0.1)
    assert compare("mode == land").tolerance is None
    assert compare("3 != navigator.item").tolerance is None


@pytest.mark.parametrize(
    ("text", "interval", "horizon_s"),
    [
        ("always altitude < 3 m", Interval(), math.inf),
        ("always[0, 30] altitude < 3 m", Interval(0.0, 30.0), 30.0),
        ("eventually[20 s, end] altitude < 3 m", Interval(20.0, math.inf), math.inf),
        ("eventually [500 ms, 1 min] (altitude < 3 m)", Interval(0.5, 60.0), 60.0),
        ("always[end - 5 s, end] altitude < 3 m", Interval(0.0, math.inf, 5.0), math.inf),
        ("always[end, end] altitude < 3 m", Interval(0.0, math.inf, 0.0), math.inf),
        ("once[2, 5] altitude < 3 m", Interval(2.0, 5.0), 0.0),
        ("historically[0, end] altitude < 3 m", Interval(), 0.0),
        ("once[2, 5] always[0, 10] altitude < 3 m", Interval(2.0, 5.0), 8.0),
        ("always[0, 3] (altitude < 3 m until[1, 4] eventually[0, 2] mode == land)", Interval(0.0, 3.0), 9.0),
    ],
)
def test_intervals_and_horizons(text: str, interval: Interval, horizon_s: float) -> None:
    formula = read(text)

    assert isinstance(formula.root, Window)
    assert formula.root.interval == interval
    assert formula.horizon_s == horizon_s


def test_edges_and_truth() -> None:
    assert isinstance(read("rise(mode == land)").root, Edge)
    root = read("truth(altitude < 1 m) implies fall(sink > 1 m/s)").root
    assert isinstance(root, Join) and isinstance(root.left, Truth) and isinstance(root.right, Edge)


def test_dimensions_follow_arithmetic() -> None:
    read("altitude / time < 3 m/s")
    read("sqrt(place[0] * place[0] + place[1] * place[1]) < 3 m")
    read("norm(place[0], place[1], altitude) / 2 < 30 ft")
    read("acos(altitude / 3 m) < 30 deg")
    read("max(altitude, 3 m, 0) - min(altitude, 1 m) < 2 m")


def test_a_number_before_a_keyword_needs_no_unit() -> None:
    root = read("navigator.item == 3 and mode == 5 implies navigator.item == 4 within 0.1").root

    assert isinstance(root, Join) and root.operator == "implies"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("always[0, 30] (altitud < 60 m)", (1, 16), "unknown name 'altitud'; did you mean 'altitude'?"),
        ("mode == lnd", (1, 9), "unknown name 'lnd'; did you mean 'land' or 'landed'?"),
        ('mode == "lend"', (1, 9), "unknown word 'lend'; did you mean 'land'?"),
        ("rotor/1/motor.sped > 3 rad/s", (1, 1),
         "unknown name 'rotor/1/motor.sped'; did you mean 'rotor/1/motor.speed'?"),
        ("altitude < 60 mtr", (1, 15), "unknown unit 'mtr'; did you mean 'm'?"),
        ("altitude < 30 deg", (1, 10), "cannot compare altitude [m] with 30 deg [deg]: the units differ"),
        ("altitude < 60", (1, 10), "60 has no unit, altitude has m: write '60 m'"),
        ("1 / altitude < 2", (1, 14), "2 has no unit, 1 / altitude has 1/m: write '2 * 1 m^-1'"),
        ("sqrt(altitude) < 2", (1, 16), "2 has no unit, sqrt(altitude) has m^0.5: write '2 * sqrt(1 m)'"),
        ("body.euler[1] < 1", (1, 15), "1 has no unit, body.euler[1] has rad: write '1 rad' or deg"),
        ("altitude < place[0] * 2 m", (1, 10),
         "cannot compare altitude [m] with place[0] * 2 m [m^2]: the units differ"),
        ("altitude + mode < 3 m", (1, 10), "cannot add altitude [m] and mode [1]: the units differ"),
        ("norm(altitude, sink) < 3 m", (1, 16), "norm of altitude [m] and sink [m/s]: the units differ"),
        ("acos(altitude) < 3 deg", (1, 6), "acos takes a number without unit, 'altitude' has m"),
        ("altitude/2 < 3 m", (1, 1), "unknown name 'altitude/2'; a division needs spaces around '/'"),
        ("body.v_NB_N > 3 m/s", (1, 1), "body.v_NB_N has 3 entries: write body.v_NB_N[0] to body.v_NB_N[2]"),
        ("body.v_NB_N[3] > 3 m/s", (1, 1), "body.v_NB_N has 3 entries: write body.v_NB_N[0] to body.v_NB_N[2]"),
        ("always altitude", (1, 8),
         "'always' needs a condition, but 'altitude' is a number: compare it with something"),
        ("altitude", (1, 1), "a requirement needs a condition, but 'altitude' is a number: compare it with something"),
        ("1 + (altitude < 2 m) > 3", (1, 5), "'+' works on numbers, this is a condition"),
        ("altitude == 3 m", (1, 10),
         "'==' needs a tolerance, except for words and whole numbers: write 'altitude == 3 m within ...'"),
        ("altitude == 3 m within altitude", (1, 24), "a tolerance is a number, not negative"),
        ("always[3] altitude < 3 m", (1, 1), "'always' needs two bounds: [from, to]"),
        ("always[3 s] altitude < 3 m", (1, 11), "'always' needs two bounds: [from, to]"),
        ("always[5, 2] altitude < 3 m", (1, 11), "the interval ends before it begins: 2 s, 5 s"),
        ("always[0,\n  20 m] (altitude < 3 m)", (2, 3), "a bound of 'always' is a time; '20 m' is not"),
        ("always[0, x] altitude < 3 m", (1, 11), "a bound of 'always' is a time such as '20 s', or 'end'; not 'x'"),
        ("always[0, end - 3 s] altitude < 3 m", (1, 15), "only the first bound may be a time before the end"),
        ("always[end - 3 s, 5] altitude < 3 m", (1, 19), "an interval that begins before the end must go to 'end'"),
        ("once[end - 3 s, end] altitude < 3 m", (1, 6), "an interval of 'once' cannot begin at the end"),
        ("abs(altitude, 3 m) < 3 m", (1, 1), "abs takes 1 number, here are 2"),
        ("min(altitude) < 3 m", (1, 1), "min takes 2 numbers or more, here are 1"),
        ("rise(mode == land, mode == 3)", (1, 20), "rise takes one condition"),
        ("rize(mode == land)", (1, 1), "unknown function 'rize'; did you mean 'rise'?"),
        ("(altitude < 3 m", (1, 16), "')' is missing"),
        ("(altitude < 3 m]", (1, 16), "')' is missing before ']'"),
        ("altitude < 3 m )", (1, 16), "')' is not expected here"),
        ("altitude < 3 m and", (1, 19), "it ends too early"),
        ("altitude < 3 m or implies", (1, 19), "'implies' is not expected here"),
        ("altitude $ 3 m", (1, 10), "cannot read '$'"),
        ("", (1, 1), "it ends too early"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_place(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(ConditionError) as error:
        read(text)

    first, shown, caret = str(error.value).split("\n")
    line, column = place
    assert first == f"requirement, line {line}, column {column}: {message}"
    assert shown == "    " + (text.splitlines() or [""])[line - 1]
    assert caret == "    " + " " * (column - 1) + "^"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mode == 1e9991", "'1e9991' is too large a number"),
        ("altitude < 1e308 km", "'1e308 km' is too large a number"),
        ("always[0, 1e999 s] altitude < 3 m", "'1e999 s' is too large a number"),
        ("altitude < 0 mm^-999999", "the power -999999"),
        ("(" * 2000 + "altitude", "more than 100 brackets"),
        (" < ".join(["altitude"] * 2000), "more than 100 brackets in brackets or operators in a row"),
        ("mode = land", "cannot read '='; write '==' to compare"),
        ("altitude < 3 m & mode == land", "cannot read '&'; write 'and'"),
        ("altitude < " + "3" * 200_000, "is too long"),
        ("altitude\r<\x0b3", "3 has no unit"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_texts_beyond_all_measure_are_refused_in_a_few_lines(text: str, says: str) -> None:
    with pytest.raises(ConditionError) as error:
        read(text)

    assert says in str(error.value) and len(str(error.value)) < 800
