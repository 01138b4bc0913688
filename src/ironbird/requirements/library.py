"""Library of ready requirements with parameters.

They use the signals of vehicles, those that `flight/derived.py` derives from them (`height`, `distance`, `tilt`,
`rate`, `position_error`), and of the columns of `conditions.names.RUN_UNITS`. A parameter is a number in its unit, or a
text with another unit (`height="400 ft"`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal

from ironbird.conditions.quantity import read_unit
from ironbird.errors import RequirementError, UnknownNameError

Severity = Literal["critical", "major", "minor"]

_AMOUNT = re.compile(r"\s*(-?\d+\.?\d*(?:[eE][+-]?\d+)?)\s*(\S*)\s*")


@dataclass(frozen=True)
class Requirement:
    """A requirement as text, to be parsed by `parse_formula`."""

    name: str
    formula_text: str
    severity: Severity
    doc: str


@dataclass(frozen=True)
class Parameter:
    """One number of a template, in `unit`; without a unit it is a piece of text."""

    doc: str
    unit: str = ""
    default: float | str | None = None


@dataclass(frozen=True)
class Template:
    """A requirement with placeholders for its parameters."""

    text: str
    severity: Severity
    doc: str
    parameters: dict[str, Parameter] = field(default_factory=dict)


TEMPLATES: dict[str, Template] = {
    "no_crash": Template("always (crashed == 0)", "critical", "The vehicle does not crash."),
    "mission_completed": Template("eventually (completed == 1)", "major", "The mission is flown to its end."),
    "geofence": Template(
        "always (distance <= {radius} and height <= {height})",
        "critical",
        "The vehicle stays within {radius} of the take-off point and below {height}.",
        {
            "radius": Parameter("greatest horizontal distance from the take-off point", "m"),
            "height": Parameter("greatest height above the take-off point", "m", 120.0),
        },
    ),
    "attitude_limit": Template(
        "always (tilt <= {limit})",
        "major",
        "The vehicle never tilts by more than {limit}.",
        {"limit": Parameter("greatest angle between the vehicle's down axis and the vertical", "deg", 60.0)},
    ),
    "rate_limit": Template(
        "always (rate <= {limit})",
        "major",
        "The vehicle never turns faster than {limit}.",
        {"limit": Parameter("greatest angular rate, all axes together", "deg/s", 360.0)},
    ),
    "altitude_error": Template(
        "always[{after}, end] (abs(body.p_NB_N[2] - navigator.position_set[2]) <= {limit})",
        "minor",
        "From {after} on the height is within {limit} of what is asked for.",
        {
            "limit": Parameter("greatest difference of height", "m", 1.0),
            "after": Parameter("start of the judgement", "s", 5.0),
        },
    ),
    "position_error": Template(
        "always[{after}, end] (position_error <= {limit})",
        "minor",
        "From {after} on the vehicle is within {limit} of where it is asked to be.",
        {
            "limit": Parameter("greatest distance from the set-point", "m", 2.0),
            "after": Parameter("start of the judgement", "s", 5.0),
        },
    ),
    "landing_speed": Template(
        "always (truth(altitude < {below}) and once truth(altitude >= {below}) implies body.v_NB_N[2] <= {limit})",
        "major",
        "Coming down below {below} above ground, the vehicle sinks no faster than {limit}.",
        {
            "limit": Parameter("greatest rate of descent", "m/s", 1.0),
            "below": Parameter("height above ground from which it counts", "m", 0.5),
        },
    ),
    "time_to_recover": Template(
        "always (rise(fault_active == 1) implies eventually[0, {within}] always (abs({signal}) <= {limit}))",
        "major",
        "Not later than {within} after the fault, abs({signal}) is at most {limit}, and stays so.",
        {
            "signal": Parameter("a signal, or an expression of signals"),
            "limit": Parameter("greatest size of it, with its unit"),
            "within": Parameter("longest time", "s", 5.0),
        },
    ),
    "failsafe_reaction_time": Template(
        'always (rise(fault_active == 1) implies eventually[0, {within}] (mode == "{mode}"))',
        "critical",
        "Not later than {within} after the fault the mode is {mode}.",
        {
            "mode": Parameter("name of the mode that the failsafe takes", default="land"),
            "within": Parameter("longest time", "s", 3.0),
        },
    ),
}


def get(name: str, **params: float | str) -> Requirement:
    """A requirement of the library with its parameters filled in."""
    template = TEMPLATES.get(name)
    if template is None:
        raise UnknownNameError("requirement", name, TEMPLATES)
    for parameter_name in params:
        if parameter_name not in template.parameters:
            raise UnknownNameError("parameter", parameter_name, template.parameters, f"requirement '{name}'")
    filled = {}
    for key, parameter in template.parameters.items():
        value = params.get(key, parameter.default)
        if value is None:
            unit = f" in {parameter.unit}" if parameter.unit else ""
            raise RequirementError(f"requirement '{name}' needs {key}: {parameter.doc}{unit}")
        filled[key] = _text(name, key, parameter, value)
    return Requirement(name, template.text.format(**filled), template.severity, template.doc.format(**filled))


def _text(name: str, key: str, parameter: Parameter, value: float | str) -> str:
    """A parameter's value as text in the formula."""
    if not parameter.unit:
        return str(value)
    unit = parameter.unit
    if isinstance(value, str):
        match = _AMOUNT.fullmatch(value)
        if match is None:
            raise RequirementError(f"{key} of requirement '{name}' is a number in {unit}, not '{value}'")
        value, own_unit = float(match[1]), match[2] or unit
        if read_unit(own_unit).dimension != read_unit(unit).dimension:
            raise RequirementError(f"{key} of requirement '{name}' is measured in {unit}, not in {own_unit}")
        unit = own_unit
    if not math.isfinite(value):
        raise RequirementError(f"{key} of requirement '{name}' is {value}, not a finite number")
    return f"{float(value)!r} {unit}".replace(".0 ", " ")
