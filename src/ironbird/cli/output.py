"""What all verbs of the command share: errors, tables, progress bars."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ironbird.errors import IronbirdError

if TYPE_CHECKING:
    from ironbird.flight.flight import Wind
    from ironbird.model.signal import Number

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


def wind_of(text: str | None, turbulence: float) -> Wind:
    """`SPEED` or `SPEED,FROM_DEG` of the command line."""
    from ironbird.flight.flight import Wind

    if not text:
        return Wind(turbulence_mps=turbulence)
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        raise IronbirdError(f"--wind '{text}': give SPEED or SPEED,FROM_DEG, for example 5,270") from None
    if len(numbers) > 2 or not 0 <= numbers[0] <= 100:
        raise IronbirdError(f"--wind '{text}': give SPEED (0 to 100 m/s) or SPEED,FROM_DEG, for example 5,270")
    return Wind(numbers[0], numbers[1] if len(numbers) == 2 else 0.0, turbulence)


def settings_of(texts: list[str]) -> dict[str, Number]:
    """`PATH=VALUE` of the command line."""
    values: dict[str, Number] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals:
            raise IronbirdError(f"--set '{text}': give PATH=VALUE, for example body.mass=1.6")
        try:
            values[path.strip()] = json.loads(value)
        except json.JSONDecodeError:
            raise IronbirdError(f"--set '{text}': '{value}' is not a number or a list of numbers") from None
    return values
