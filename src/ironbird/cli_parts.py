"""What all verbs of the command share: errors, tables, progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from ironbird.errors import IronbirdError

JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable.")]


def fail(error: IronbirdError) -> NoReturn:
    """Say what is wrong and end with exit code 2."""
    typer.secho(f"error: {error}", fg="red", err=True)
    raise typer.Exit(2)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)

        def update(share: float) -> None:
            bar.update(task, completed=share)

        yield update


def print_table(rows: dict[str, str], title: str) -> None:
    """Names and values in two columns."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(escape(name), escape(value))
    Console().print(table)
