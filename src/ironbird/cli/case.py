"""The verb `ironbird case`: test cases as text, checked, counted, imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.campaign import SuiteArgument
from ironbird.cli.output import JsonOption, errors, print_table

case_app = typer.Typer(no_args_is_help=True, help="Test cases as text: check, count, import.")


@case_app.command("check")
def check_cases(
    files: Annotated[list[str], typer.Argument(help="Case or suite files.")], as_json: JsonOption = False
) -> None:
    """Check files: each problem with its line, key, and how to cure it. Exit code 2 if there is any."""
    from ironbird.campaign.suite import check, load_suite

    with errors():
        problems = {name: check(name) for name in files}
        if as_json:
            typer.echo(json.dumps({name: [vars(p) for p in found] for name, found in problems.items()}, indent=2))
        else:
            for name, found in problems.items():
                for problem in found:
                    typer.secho(str(problem), fg="red", err=True)
                if not found:
                    suite = load_suite(name)
                    numbers = f"{_counted(len(suite.cases), 'case')}, {_counted(suite.count(), 'flight')}"
                    typer.echo(f"{name}: {numbers}, no problems")
    if any(problems.values()):
        raise typer.Exit(2)


@case_app.command("list")
def list_cases(suite: SuiteArgument, as_json: JsonOption = False) -> None:
    """List the cases of a suite and how many flights each makes."""
    from ironbird.campaign.suite import load_suite

    with errors():
        loaded = load_suite(suite)
        if as_json:
            rows = [
                {"id": c.id, "title": c.data.get("title", ""), "flights": c.count(), "varies": list(c.variables)}
                for c in loaded.cases
            ]
            typer.echo(json.dumps(rows, indent=2))
            return
        print_table(
            {
                c.id: f"{c.data.get('title', '')}\n{_counted(c.count(), 'flight')}"
                + (f", varies {', '.join(c.variables)}" if c.variables else "")
                for c in loaded.cases
            },
            f"{loaded.title or loaded.id}: {_counted(loaded.count(), 'flight')}",
        )


@case_app.command("import")
def import_cases(
    files: Annotated[list[Path], typer.Argument(help="Aerialist's YAML, or RFlySimSafe's db.json or fault.db.")],
    out: Annotated[Path, typer.Option(help="The case file to write.")],
    map_name: Annotated[
        str, typer.Option("--map", help="Which of RFlySimSafe's three maps of fault ids the file uses: A, B or C.")
    ] = "A",
) -> None:
    """Import test cases of other tools; what has no counterpart is named, never dropped in silence."""
    from ironbird.campaign.case import case_file
    from ironbird.campaign.imports.aerialist import import_aerialist
    from ironbird.campaign.imports.rflysimsafe import import_rows, read_rows

    with errors():
        found = []
        for path in files:
            if path.suffix in (".yaml", ".yml"):
                found.append(import_aerialist(path))
            else:
                found += import_rows(read_rows(path), map_name=map_name)
        for imported in found:
            for text in imported.missing:
                typer.secho(f"{imported.case['id']}: no counterpart: {text}", fg="yellow", err=True)
        out.write_text(case_file(found))
    typer.echo(f"{_counted(len(found), 'case')}: {out}; check them with 'ironbird case check {out}'")


@case_app.command("schema")
def schema() -> None:
    """Print the JSON Schema of case files, for editors."""
    from ironbird.campaign.case import schema_text

    typer.echo(schema_text(), nl=False)


@case_app.command("suites")
def suites() -> None:
    """List the built-in suites."""
    from ironbird.campaign.suite import load_suite, suite_names

    with errors():
        rows, figures = {}, {}
        for name in suite_names():
            suite = load_suite(name)
            figures[name] = {"title": suite.title, "cases": len(suite.cases), "flights": suite.count()}
            rows[name] = f"{suite.title}\n{_counted(len(suite.cases), 'case')}, {_counted(suite.count(), 'flight')}"
        print_table(rows, "Suites", figures)


def _counted(number: int, what: str) -> str:
    """One flight, two flights."""
    return f"{number} {what}{'' if number == 1 else 's'}"
