"""Commands about test cases as text: listed, counted, checked, imported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.completion import suite_names
from ironbird.cli.options import OutPathOption, check_suite
from ironbird.cli.output import JsonOption, errors, print_columns, print_json


def check_cases(
    files: Annotated[list[str], typer.Argument(help="Case or suite files.")], as_json: JsonOption = False
) -> None:
    """Check files: each problem with its line, key, and how to cure it. Exit code 2 if there is any.

    A warning says what is possible but seldom meant, such as `seeds = 3`, which is the one seed 3.
    """
    from ironbird.campaign.suite_path import suite_path

    with errors():
        for name in files:
            suite_path(name)  # a name that no suite has is refused before the grammar is loaded
        from ironbird.campaign.suite import check, load_suite

        problems = {name: check(name) for name in files}
        suites = {name: load_suite(name) for name, found in problems.items() if not found}
        warnings = {name: [str(warning) for warning in suite.warnings()] for name, suite in suites.items()}
        if as_json:
            data = {
                name: {"problems": [vars(p) for p in found], "warnings": warnings.get(name, [])}
                for name, found in problems.items()
            }
            print_json({"files": data}, "ironbird/problems/1")
        else:
            for name, found in problems.items():
                for problem in found:
                    typer.secho(str(problem), fg="red", err=True)
                for warning in warnings.get(name, []):
                    typer.secho(f"warning: {warning}", fg="yellow", err=True)
                if suite := suites.get(name):
                    numbers = f"{_counted(len(suite.cases), 'case')}, {_counted(suite.count(), 'flight')}"
                    typer.echo(f"{name}: {numbers}, no problems")
    if any(problems.values()):
        raise typer.Exit(2)


def list_cases(
    suite: Annotated[
        str | None,
        typer.Argument(help="A suite; without one, the built-in suites are listed.", autocompletion=suite_names),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the built-in suites, or the cases of one, and how many flights each makes."""
    with errors():
        if suite is not None:
            check_suite(suite)
        from ironbird.campaign.suite import load_suite

        if suite is None:
            _list_suites(as_json)
            return
        loaded = load_suite(suite)
        if as_json:
            rows = [
                {"id": c.id, "title": c.title, "flights": c.count(), "varies": list(c.variables)} for c in loaded.cases
            ]
            print_json({"cases": rows}, "ironbird/cases/1")
            return
        lines = [(c.id, str(c.count()), c.title, ", ".join(c.variables)) for c in loaded.cases]
        title = f"{loaded.title or loaded.id}: {_counted(loaded.count(), 'flight')}"
        print_columns(("case", "flights", "title", "varies"), lines, title)


def import_cases(
    files: Annotated[list[Path], typer.Argument(help="Aerialist's YAML, or RFlySimSafe's db.json or fault.db.")],
    out: OutPathOption,
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


def case_schema() -> None:
    """Print the JSON Schema of case files, for editors."""
    from ironbird.campaign.case import schema_text

    typer.echo(schema_text(), nl=False)


def _list_suites(as_json: bool) -> None:
    from ironbird.campaign.suite import load_suite
    from ironbird.campaign.suite_path import suite_names

    suites = {name: load_suite(name) for name in suite_names()}
    if as_json:
        figures = {n: {"title": s.title, "cases": len(s.cases), "flights": s.count()} for n, s in suites.items()}
        print_json({"suites": figures}, "ironbird/suites/1")
        return
    rows = [(name, str(len(suite.cases)), str(suite.count()), suite.title) for name, suite in suites.items()]
    print_columns(("suite", "cases", "flights", "title"), rows, "Built-in suites")


def _counted(number: int, what: str) -> str:
    """One flight, two flights."""
    return f"{number} {what}{'' if number == 1 else 's'}"
