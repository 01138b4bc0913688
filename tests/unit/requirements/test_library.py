"""Ready requirements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import RequirementError, UnknownNameError
from ironbird.flight.derived import names_of
from ironbird.flight.words import ALIASES, WORDS
from ironbird.requirements.library import TEMPLATES, get
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace
from ironbird.vehicles.load import load_vehicle

NEEDED: dict[str, dict[str, float | str]] = {
    "geofence": {"radius": 100},
    "time_to_recover": {"signal": "body.p_NB_N[2] - navigator.position_set[2]", "limit": "0.5 m"},
}
UNITS = {
    "body.p_NB_N": "m", "body.v_NB_N": "m/s", "body.w_NB_B": "rad/s", "body.R_NB": "1", "body.euler": "rad",
    "navigator.position_set": "m", "navigator.mode": "1", "terrain.height_above_ground": "m", "distance": "m",
    "height": "m", "tilt": "rad", "rate": "rad/s", "position_error": "m",
}  # fmt: skip


def margin(name: str, params: dict[str, Any], **columns: list[float]) -> float:
    """Margin of one flight with rows 0.5 s apart."""
    requirement = get(name, **params)
    formula = parse_formula(requirement.formula_text, Names(UNITS, aliases=ALIASES, words=WORDS))
    values = {path.replace("__", "."): np.array([column], dtype=float) for path, column in columns.items()}
    count = len(next(iter(columns.values())))
    for name in formula.signals:
        values.setdefault(name, np.zeros((1, count)))
    return float(robustness(formula, Trace(np.arange(count) * 0.5, values, np.array([count])))[0])


def test_every_requirement_fits_the_signals_of_a_real_vehicle() -> None:
    names = names_of(compile_model(load_vehicle("quad_f450", control="truth").diagram))
    for name in TEMPLATES:
        requirement = get(name, **NEEDED.get(name, {}))
        formula = parse_formula(requirement.formula_text, names)
        assert formula.signals
        assert requirement.doc.endswith(".") and "{" not in requirement.doc + requirement.formula_text


def test_parameters_stand_in_text_and_sentence() -> None:
    requirement = get("geofence", radius=150, height="400 ft")

    assert requirement.name == "geofence" and requirement.severity == "critical"
    assert requirement.formula_text == "always (distance <= 150 m and height <= 400 ft)"
    assert requirement.doc == "The vehicle stays within 150 m of the take-off point and below 400 ft."


@pytest.mark.parametrize(
    ("name", "params", "columns", "expected"),
    [
        ("no_crash", {}, {"crashed": [0, 0, 0]}, math.inf),
        ("no_crash", {}, {"crashed": [0, 0, 1]}, -math.inf),
        ("mission_completed", {}, {"completed": [0, 0, 1]}, math.inf),
        ("mission_completed", {}, {"completed": [0, 0, 0]}, -math.inf),
        ("geofence", {"radius": 10}, {"distance": [0, 5, 0]}, 5.0),
        ("geofence", {"radius": 900}, {"height": [0, 150, 0]}, -30.0),
        ("attitude_limit", {"limit": 30}, {"tilt": [0, 0.6, 0]}, math.radians(30) - 0.6),
        ("rate_limit", {"limit": "2 rad/s"}, {"rate": [0, 2.5, 0]}, -0.5),
        ("altitude_error", {"limit": 2, "after": 1}, {"body__p_NB_N[2]": [-9, -9, -1, -1.5]}, 0.5),
        ("position_error", {"limit": 5, "after": 1}, {"position_error": [9, 9, 7, 0]}, -2.0),
        ("landing_speed", {"limit": 1},
         {"terrain__height_above_ground": [9, 0.4, 0.1], "body__v_NB_N[2]": [3, 0.75, 0]},
         0.25),
        ("landing_speed", {"limit": 1},
         {"terrain__height_above_ground": [9, 0.4, 0.1], "body__v_NB_N[2]": [3, 2.5, 0]},
         -1.5),
        ("time_to_recover", {"signal": "body.p_NB_N[0]", "limit": "1 m", "within": 1},
         {"fault_active": [0, 1, 1, 1, 1], "body__p_NB_N[0]": [0, 5, 3, 0.25, -0.5]}, 0.5),
        ("time_to_recover", {"signal": "body.p_NB_N[0]", "limit": "1 m", "within": 0.5},
         {"fault_active": [0, 1, 1, 1, 1], "body__p_NB_N[0]": [0, 5, 3, 0.25, -0.5]}, -2.0),
        ("time_to_recover", {"signal": "body.p_NB_N[0]", "limit": "1 m", "within": 1},
         {"fault_active": [0, 1, 1, 1, 1], "body__p_NB_N[0]": [0, 5, 0, 0, -7]}, -6.0),  # it did not stay so
        ("failsafe_reaction_time", {"mode": "return", "within": 1},
         {"fault_active": [0, 1, 1, 1], "navigator__mode": [3, 3, 3, 4]}, math.inf),
        ("failsafe_reaction_time", {"mode": "return", "within": 0.5},
         {"fault_active": [0, 1, 1, 1], "navigator__mode": [3, 3, 3, 4]}, -math.inf),
        ("failsafe_reaction_time", {}, {"fault_active": [0, 0, 0, 0]}, math.inf),  # no fault
    ],
)  # fmt: skip
def test_margins_by_hand(name: str, params: dict[str, Any], columns: dict[str, list[float]], expected: float) -> None:
    assert margin(name, params, **columns) == pytest.approx(expected, rel=1e-12)


def test_mistakes_are_named() -> None:
    with pytest.raises(UnknownNameError) as unknown:
        get("geofense", radius=3)
    assert str(unknown.value) == "unknown requirement 'geofense'; did you mean 'geofence'?"
    with pytest.raises(UnknownNameError) as unknown:
        get("geofence", raduis=3)
    assert str(unknown.value) == "unknown parameter 'raduis' in requirement 'geofence'; did you mean 'radius'?"
    with pytest.raises(RequirementError) as error:
        get("geofence")
    assert str(error.value) == (
        "requirement 'geofence' needs radius: greatest horizontal distance from the take-off point in m"
    )
    with pytest.raises(RequirementError) as error:
        get("geofence", radius="30 deg")
    assert str(error.value) == "radius of requirement 'geofence' is measured in m, not in deg"
    with pytest.raises(RequirementError) as error:
        get("geofence", radius="far")
    assert str(error.value) == "radius of requirement 'geofence' is a number in m, not 'far'"
    with pytest.raises(RequirementError) as error:
        get("geofence", radius=math.nan)
    assert str(error.value) == "radius of requirement 'geofence' is nan, not a finite number"


def test_two_metres_from_the_set_point_are_allowed_if_nothing_else_is_said() -> None:
    far = {"position_error": [9.0] * 10 + [0.5, 1.75, 0.5]}  # until 5 s it may be anywhere
    assert margin("position_error", {}, **far) == pytest.approx(0.25)
