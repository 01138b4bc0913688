"""Commands about requirements: the ready ones of the library, and how formulas are written."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ironbird.cli.completion import requirement_names
from ironbird.cli.output import JsonOption, errors, print_columns, print_json, print_table
from ironbird.errors import UnknownNameError

if TYPE_CHECKING:
    from ironbird.requirements.library import Template


def list_requirements(as_json: JsonOption = False) -> None:
    """List the ready requirements, for --require and for 'use' in cases; 'requirement show NAME' has the formula."""
    from ironbird.requirements.library import TEMPLATES

    if as_json:
        data = [_data(name, template) for name, template in TEMPLATES.items()]
        print_json({"requirements": data}, "ironbird/requirements/1")
        return
    rows = [(name, template.severity, template.doc) for name, template in TEMPLATES.items()]
    print_columns(("name", "severity", "what must hold"), rows, "Requirements")


def show_requirement(
    name: Annotated[str, typer.Argument(help="Name of a ready requirement.", autocompletion=requirement_names)],
) -> None:
    """Show a ready requirement: its formula, its parameters and their defaults."""
    from ironbird.requirements.library import TEMPLATES

    with errors():
        if name not in TEMPLATES:
            raise UnknownNameError("requirement", name, TEMPLATES, listed_by="ironbird requirement list")
    template = TEMPLATES[name]
    rows = {"what": template.doc, "formula": template.text, "severity": template.severity}
    for key, parameter in template.parameters.items():
        usual = "must be given" if parameter.default is None else f"{parameter.default} {parameter.unit}".strip()
        rows[key] = f"{parameter.doc} ({usual})"
    print_table(rows, name, _data(name, template))


def grammar() -> None:
    """Explain how formulas of requirements, triggers and stops are written."""
    from ironbird.conditions import formula

    typer.echo(inspect.cleandoc(formula.__doc__ or ""))


def _data(name: str, template: Template) -> dict[str, Any]:
    return {
        "name": name,
        "formula": template.text,
        "severity": template.severity,
        "doc": template.doc,
        "parameters": {key: vars(parameter) for key, parameter in template.parameters.items()},
    }
