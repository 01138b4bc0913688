"""Commands about control systems: who may fly an order, and what can be chosen for one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ironbird.cli.completion import system_names as system_completion
from ironbird.cli.output import JsonOption, errors, print_columns, print_json, print_table
from ironbird.errors import IronbirdError

INSIDE_SUMMARIES = {
    "reference": "The reference autopilot inside Ironbird: sensors, estimator, failsafes.",
    "truth": "The same controllers on the true state, without sensors and estimator.",
}


def list_systems(as_json: JsonOption = False) -> None:
    """List the control systems that --control may name; 'system show NAME' has the options of one."""
    with errors():
        data = _all()
    if as_json:
        print_json({"systems": data}, "ironbird/systems/1")
        return
    print_columns(("name", "what flies"), [(one["name"], one["summary"]) for one in data], "Control systems")


def show_system(
    name: Annotated[
        str, typer.Argument(help="Name of a control system ('ironbird system list').", autocompletion=system_completion)
    ],
) -> None:
    """Show the options of a control system, as 'fly --control NAME' and case files take them."""
    from ironbird.cli.kind_options import spelled_out
    from ironbird.flight.systems import INSIDE, kind_of

    with errors():
        control, options = spelled_out(name, {})
        if control in INSIDE:
            print_table({"what": INSIDE_SUMMARIES[control], "options": "none"}, name)
            return
        kind = kind_of(control)
        fields = kind.options_for(options).model_fields
    rows = {"what": kind.summary, "longest flight": f"{kind.longest_s:g} s, unless --until is given"}
    for key, field in fields.items():
        default = "" if field.default in (None, "") else f" [{field.default}]"
        rows[f"--{key.replace('_', '-')}"] = f"{field.description or ''}{default}"
    figures = {"name": name, "options": {key: field.description or "" for key, field in fields.items()}}
    print_table(rows, f"{name}: {kind.title}", figures)


def _all() -> list[dict[str, Any]]:
    """All control systems, those that front ends make of `commanded` too."""
    from ironbird.flight.systems import INSIDE, OUTSIDE, kind_of
    from ironbird.systems.commanded.front import FRONTS, front_type

    data: list[dict[str, Any]] = [
        {"name": name, "title": title, "outside": False, "summary": INSIDE_SUMMARIES[name]}
        for name, title in INSIDE.items()
    ]
    for name in OUTSIDE:
        try:
            kind = kind_of(name)
        except IronbirdError as error:  # the others are listed all the same
            data.append({"name": name, "title": name, "outside": True, "summary": str(error), "options": {}})
            continue
        row = {"name": name, "title": kind.title, "outside": True, "summary": kind.summary}
        data.append({**row, "options": kind.choices()})
    for name in FRONTS:
        if name != "mission":
            text = (front_type(name).__doc__ or "").partition("\n")[0]
            data.append({"name": name, "title": name, "outside": True, "summary": f"Short for commanded: {text}"})
    return data
