"""The command `ironbird`: one word, one call. Heavy packages are loaded only by the commands that need them."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from ironbird import __version__
from ironbird.cli.completion import COMPLETE, completing_bash
from ironbird.cli.lazy import MARKUP, Branch
from ironbird.cli.output import Output, naming_extras

app = typer.Typer(
    cls=Branch,
    rich_markup_mode=MARKUP,
    help="Test control systems of unmanned vehicles: validated models, fault injection, bit-exact verdicts.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ironbird {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None: ...


def main() -> None:
    """Entry point of the command."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # it would look for some in every package that there is
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = Output.instead_of(sys.stdout)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")  # a sign that the terminal cannot show ends no command
    with completing_bash() if os.environ.get(COMPLETE) == "complete_bash" else naming_extras():
        app()


if __name__ == "__main__":
    main()
