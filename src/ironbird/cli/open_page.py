"""The command `open`: the last page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ironbird.cli.output import errors, shown_in_browser
from ironbird.errors import IronbirdError


def open_page(
    where: Annotated[Path, typer.Argument(help="A page, or a folder of results; by default the last one.")] = Path(
        "out/latest"
    ),
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Show the page of the last flight, campaign or study in the browser.

    Example: ironbird open out/quad_f450-3
    """
    with errors():
        pages = [where] if where.is_file() else list(where.glob("*.html")) if where.is_dir() else []
        if not pages:
            hint = "fly something first, for example 'ironbird fly quad_f450'" if where == Path("out/latest") else (
                "give a page (.html) or a folder of results"
            )  # fmt: skip
            raise IronbirdError(f"there is no page in {where}: {hint}")
        page = max(pages, key=lambda path: path.stat().st_mtime).resolve()
    typer.echo(f"page: {page}")
    if not no_browser and not shown_in_browser(page.as_uri()):
        typer.echo("no browser was found on this computer: open the page above in one")
