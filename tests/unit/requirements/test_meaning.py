"""Requirements that say less than they seem to are refused with the text that was probably meant."""

import pytest

from ironbird.conditions.names import Names
from ironbird.errors import ConditionError, RequirementError
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit, names_in
from ironbird.requirements.library import TEMPLATES, get
from ironbird.requirements.meaning import parse_requirement

NAMES = Names({"altitude": "m", "climb": "m/s", "tilt": "rad", "crashed": "1"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "tilt < 1 deg",
            "'tilt < 1 deg' is judged at the first row of the flight alone; write always (tilt < 1 deg), "
            "or eventually (…)",
        ),
        (
            "not altitude > 60 m",
            "'not altitude > 60 m' is judged at the first row of the flight alone; write always (not altitude > 60 m), "
            "or eventually (…)",
        ),
        (
            "altitude < 60 m and tilt < 30 deg",
            "'altitude < 60 m and tilt < 30 deg' is judged at the first row of the flight alone; "
            "write always (altitude < 60 m and tilt < 30 deg), or eventually (…)",
        ),
        (
            "always tilt < 60 deg and altitude < 1 m",
            "'altitude < 1 m' is judged at the first row of the flight alone; "
            "write brackets, as in always (A and altitude < 1 m), or eventually (…)",
        ),
        (
            "altitude < 1 m implies always (tilt < 60 deg)",
            "'altitude < 1 m' is judged at the first row of the flight alone; "
            "write brackets, as in always (A and altitude < 1 m), or eventually (…)",
        ),
        (
            "once (altitude > 5 m)",
            "'once (altitude > 5 m)' looks back from the first row of the flight, where there is no past; "
            "write always (once (altitude > 5 m)), or eventually (…)",
        ),
        (
            "historically[0, 5] (altitude > 5 m)",
            "'historically[0, 5] (altitude > 5 m)' looks back from the first row of the flight, where there is no past"
            "; write always (historically[0, 5] (altitude > 5 m)), or eventually (…)",
        ),
    ],
)
def test_what_is_judged_at_the_first_row_alone_is_refused_with_its_cure(text: str, message: str) -> None:
    with pytest.raises(RequirementError) as error:
        parse_requirement(text, NAMES)
    assert str(error.value) == f"requirement '{text}': {message}"


@pytest.mark.parametrize(
    "text",
    [
        "always (tilt < 1 deg)",
        "always (tilt < 60 deg and altitude < 1 m)",
        "always (tilt < 60 deg) and always (altitude < 1 m)",
        "not eventually (altitude > 60 m)",
        "not (eventually (crashed == 1))",
        "eventually[0, 5] always (altitude > 5 m)",
        "(altitude < 1 m) until (climb > 1 m/s)",
        "always (once (altitude > 5 m) implies altitude > 1 m)",
        "eventually (altitude > 5 m) implies always (tilt < 60 deg)",
    ],
)
def test_what_looks_at_the_whole_flight_is_taken(text: str) -> None:
    assert parse_requirement(text, NAMES).text == text


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_requirement_of_the_library_says_what_it_seems_to(name: str) -> None:
    needed: dict[str, float | str] = {"radius": 50.0, "signal": "tilt", "limit": "5 deg"}
    missing = [key for key, parameter in TEMPLATES[name].parameters.items() if parameter.default is None]
    model = fit(make_order("quad_f450", control="truth")).model

    parse_requirement(get(name, **{key: needed[key] for key in missing}).formula_text, names_in(model))


def test_a_text_that_is_no_formula_is_no_requirement() -> None:
    with pytest.raises(ConditionError):
        parse_requirement("always (altitude <", NAMES)
