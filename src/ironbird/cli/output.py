"""What all verbs print and return: errors, exit codes, tables, progress bars, the folder of a flight."""

from __future__ import annotations

import fcntl
import functools
import inspect
import io
import json
import math
import os
import re
import signal
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, get_type_hints

import typer

from ironbird.cli.exit_codes import NOBODY_READS, WRONG, code_of
from ironbird.cli.working import Display
from ironbird.errors import IronbirdError, IronbirdWarning
from ironbird.files.extras import EXTRAS, install
from ironbird.files.json_text import json_data
from ironbird.files.work import listening, working

if TYPE_CHECKING:
    from ironbird.flight.flight import Flight

ENDS = (signal.SIGTERM, signal.SIGHUP)  # end a flight as Ctrl-C does
Handler = Callable[[int, FrameType | None], Any] | int | None
LITTLE_MEMORY = "there is too little memory: log fewer signals, fly fewer lanes or workers at once"
MINUS_ZERO = re.compile(r"(?<![\w.)])-(0(?:\.0+)?)(?![\w.]*\d|e[-+\d])")
LEAST_NAMES, LEAST_TEXT = 20, 16  # characters that a column of names, or of longer texts, should have
SHORT_CELL = 12  # characters up to which the cells of a column are not broken
BROWSER_S = 2.0  # within which whatever opens addresses reports that there is no browser
NOT_MAPPED = "failed to map segment"  # what the loader of libraries says when memory is out
_SHOWN: set[str] = set()  # warnings, each once
_BROWSERS: list[Any] = []  # programs that stay open after this one, kept so that no process waits for them
_TABLES: list[dict[str, Any]] | None = None  # what `--json` collects
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.", is_eager=True)]


def fail(error: IronbirdError) -> NoReturn:
    """Say what is wrong and end with exit code 2."""
    typer.secho(f"error: {error}", fg="red", err=True)
    raise typer.Exit(WRONG)


@contextmanager
def errors() -> Iterator[None]:
    """Every verb's body: what a user can cause and cure ends with a sentence, never with a traceback."""
    try:
        with warnings.catch_warnings(), listening(Display()):
            warnings.showwarning = _show_warning
            yield
    except IronbirdError as error:
        fail(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        fail(IronbirdError(f"cannot read or write: {where}{error.strerror or error}"))
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
        cure = install(EXTRAS[package])
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
    """Standard output that ends the command without a word when its reader is gone (`ironbird fault list | head -1`).

    A sign that its encoding does not have (° in ASCII) is replaced by a question mark.
    """

    @classmethod
    def instead_of(cls, stream: io.TextIOWrapper) -> Output:
        """An output of this class that takes the place of a text stream."""
        return cls(stream.buffer, stream.encoding, "replace", line_buffering=stream.line_buffering)

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


def progress_bar(text: str) -> AbstractContextManager[Callable[[float], None]]:
    """Work with a progress bar on a terminal and lines in a log, if it takes longer than a second."""
    return working(text)


def print_table(rows: dict[str, str], title: str, figures: Mapping[str, Any] | None = None) -> None:
    """Names and values in two columns; `figures` are the same as plain data, for `--json`."""
    rows = {name: without_minus_zero(value) for name, value in rows.items()}
    if _TABLES is not None:
        _TABLES.append({"title": title, "rows": rows, **({"figures": figures} if figures is not None else {})})
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    table = Table(title=escape(title), title_justify="left", show_header=False)
    _add_first(table, "", rows, max(console.width // 2, LEAST_NAMES))
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(escape(name), escape(value))
    console.print(table)


def print_columns(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str,
    figures: Mapping[str, Any] | None = None,
    *,
    of: int | None = None,
    optional: Sequence[str] = (),
    in_json: bool = True,
) -> None:
    """A table with named columns and the number of its rows; `figures` are the same as plain data, for `--json`.

    Columns without any value are left out, and `optional` ones, the last first, where a terminal is too narrow for all.
    `of` is the number of rows that there are, if not all are shown. With `in_json` false the table is for people alone:
    what it says is in the figures of another one.
    """
    rows = [[without_minus_zero(cell) for cell in row] for row in rows]
    if _TABLES is not None:
        data = [dict(zip(head, row, strict=True)) for row in rows]
        if in_json:
            _TABLES.append({"title": title, "rows": data, **({"figures": figures} if figures is not None else {})})
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    if not rows:
        console.print(f"{title}: none", markup=False, highlight=False)
        return
    shown = [n for n in range(len(head)) if not n or any(row[n] not in ("", "-") for row in rows)]
    widths = [_least_width(name, [row[n] for row in rows]) for n, name in enumerate(head)]
    widths[0] = min(max(len(row[0]) for row in rows), max(console.width // 2, LEAST_NAMES))
    dropped = []
    for name in reversed(optional):
        if sum(widths[n] + 3 for n in shown) + 1 > console.width and head.index(name) in shown:
            shown.remove(head.index(name))
            dropped.append(name)
    count = str(len(rows)) if of is None or of == len(rows) else f"{len(rows)} of {of:,}"
    table = Table(title=escape(f"{title} ({count})"), title_justify="left")
    left = console.width - 1 - sum(widths[n] + 3 for n in shown[1:]) - 3  # beside the other columns and the lines
    for number in shown:
        if not number:
            names = [row[0] for row in rows]
            _add_first(table, head[0], names, max(min(console.width // 2, left), LEAST_NAMES))
            continue
        _add_column(table, escape(head[number]), [row[number] for row in rows])
    for row in rows:
        table.add_row(*(escape(row[number]) for number in shown))
    console.print(table)
    if dropped:
        typer.echo(f"no room for {', '.join(reversed(dropped))}: widen the terminal, or use --json", err=True)


def _add_first(table: Any, head: str, names: Iterable[str], most: int) -> None:
    """The column of names, in at most so many characters, so that there is room for values; longer ones are folded."""
    longest = max((len(name) for name in names), default=0)
    table.add_column(
        head, style="bold", no_wrap=longest <= most, overflow="fold", max_width=most if longest > most else None
    )


def _add_column(table: Any, head: str, cells: Sequence[str]) -> None:
    """A further column; one of short cells is as narrow as these and the words of its head allow."""
    justify = "right" if all(map(_is_number, cells)) else "left"
    if _longest(cells) > SHORT_CELL:
        table.add_column(head, overflow="fold", justify=justify)
    else:
        lines = textwrap.wrap(head, _least_width(head, cells))
        table.add_column("\n".join(lines), no_wrap=True, justify=justify)


def _least_width(head: str, cells: Sequence[str]) -> int:
    """Characters that a column needs at least; texts are broken into lines."""
    longest = _longest(cells)
    if longest > SHORT_CELL:
        return min(longest, LEAST_TEXT)
    return max(longest, *map(len, head.split()), 1)


def _longest(cells: Iterable[str]) -> int:
    return max((len(line) for cell in cells for line in cell.split("\n")), default=0)


def without_minus_zero(text: str) -> str:
    """A text in which no number that is rounded to zero has a sign: -0.00 is 0.00."""
    return MINUS_ZERO.sub(r"\1", text)


def figure(value: float, digits: int = 2, unit: str = "") -> str:
    """A number for a table, with a unit: "-" if there is none (nan), "any" if it has no bound (inf), never -0.0."""
    if math.isnan(value):
        return "-"
    said = "any" if math.isinf(value) else without_minus_zero(f"{value:.{digits}f}")
    return f"{said} {unit}" if unit and not math.isinf(value) else said


def _is_number(text: str) -> bool:
    """Whether a cell of a table is a number, with a unit or without one, or a word for none."""
    first = text.replace(",", "").split(" ")[0].rstrip("°%")
    return text in ("", "-", "any", "never") or first.lstrip("~+-").replace(".", "", 1).isdigit()


def print_sentence(text: str, title: str, figures: Mapping[str, Any]) -> None:
    """A result in a sentence; `figures` are the same as plain data, for `--json`."""
    if _TABLES is not None:
        _TABLES.append({"title": title, "rows": {"result": text}, "figures": figures})
    else:
        typer.echo(text)


def print_json(data: Mapping[str, Any], schema: str) -> None:
    """Print a document with the name of its schema first, for example "ironbird/vehicles/1" (`files.json_text`).

    Numbers that JSON does not have are null; the text is plain ASCII if the terminal has no more.
    """
    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    typer.echo(json.dumps(json_data(data, schema), indent=2, ensure_ascii=plain, allow_nan=False))


def with_json(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb with the option `--json`, if it has none of its own.

    What it prints as tables is then one JSON document, the only text on standard output; all else it says goes to
    standard error. Exit codes are those without the option.
    """
    signature = inspect.signature(verb)
    if "as_json" in signature.parameters:
        return verb
    hints = get_type_hints(verb, include_extras=True)

    @functools.wraps(verb)
    def run(*args: Any, as_json: bool = False, **options: Any) -> None:
        with tables_as_json(as_json):
            verb(*args, **options)

    asked = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)
    own = [value.replace(annotation=hints[name]) for name, value in signature.parameters.items()]
    run.__signature__ = signature.replace(parameters=[*own, asked])  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, "as_json": JsonOption}
    return run


@contextmanager
def tables_as_json(wanted: bool) -> Iterator[None]:
    """Print the tables of what runs inside as one JSON document, if that is wanted; none if it failed without any."""
    global _TABLES
    if not wanted:
        yield
        return
    _TABLES, failed = [], True
    try:
        with redirect_stdout(sys.stderr):
            yield
        failed = False
    except typer.Exit as ending:
        failed = ending.exit_code == WRONG
        raise
    finally:
        tables, _TABLES = _TABLES, None
        if tables or not failed:
            print_json({"tables": tables}, "ironbird/tables/1")


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
    """The folder for the results of a command: as ordered, or a new one, out/NAME-1, out/NAME-2, …

    Another command that would write there at the same time is refused. If nothing was written into it when the
    command ends, it is removed again, and so are the folders above that were made for it.
    """
    wanted = (out or Path("out") / name).absolute()
    made = [path for path in (wanted, *wanted.parents) if not path.exists()][1:]
    folder = out or _new_folder(Path("out"), name)
    try:
        with _written_by_one(folder):
            yield folder
    finally:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            with suppress(OSError):  # others have results there
                for path in made:
                    path.rmdir()


@contextmanager
def _written_by_one(folder: Path) -> Iterator[None]:
    """Make a folder and hold its lock, which the system releases when this process ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise IronbirdError(f"cannot write results to {folder}: {error}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise IronbirdError(
            f"another command is writing its results to {folder}: wait until it has ended, or give another --out"
        ) from None
    except OSError:  # a file system without locks: results are whole, the last ones stay
        pass
    try:
        yield
    finally:
        os.close(handle)


def _new_folder(below: Path, name: str) -> Path:
    """A folder with a number that no other has, also if several commands start at once."""
    below.mkdir(parents=True, exist_ok=True)
    taken = [path.name.removeprefix(f"{name}-") for path in below.glob(f"{name}-*")]
    number = max((int(text) for text in taken if text.isdecimal() and len(text) < 9), default=0)
    while True:
        number += 1
        with suppress(FileExistsError):
            (below / f"{name}-{number}").mkdir()
            return below / f"{name}-{number}"


def print_report(page: Path) -> None:
    """Say where the page of a result is; `out/latest` leads to its folder from now on."""
    typer.echo(f"report: {page}")
    lead_to(page)


def lead_to(page: Path) -> None:
    """Let `out/latest` lead to the folder of a page: every command that writes one calls this, or `print_report`."""
    latest, part = Path("out/latest"), Path(f"out/.latest-{os.getpid()}")
    with suppress(OSError):  # a read-only folder, or a file system without links: only the short name is missing
        if not (latest.parent.is_dir() or page.resolve().is_relative_to(Path.cwd())):
            return  # results are kept in another place: no folder appears here
        latest.parent.mkdir(exist_ok=True)
        if latest.is_symlink() or not latest.exists():
            part.unlink(missing_ok=True)
            part.symlink_to(os.path.relpath(page.parent.resolve(), latest.parent.resolve()))
            part.replace(latest)


@dataclass(frozen=True)
class WrittenFlight:
    """A flight whose folder is written: what is printed of it, and the exit code of its command."""

    title: str
    rows: dict[str, str]
    figures: dict[str, Any]
    folder: Path
    problem: str  # why the exit code is not 0; empty if it is
    code: int
    also: tuple[str, ...] = ()  # endings of further files of its log: csv, ulg


def write_flight(
    flight: Flight,
    folder: Path,
    *,
    ulog: bool = False,
    csv: bool = False,
    strict: bool = False,
    more: Mapping[str, str] | None = None,
    flies: bool = False,
) -> WrittenFlight:
    """Write the flight's folder, its summary with `more` rows."""
    from ironbird.report.folder import write_flight_folder

    with on_signals(signal.SIG_IGN, (signal.SIGINT, *ENDS)):  # what was flown is not lost
        rows = write_flight_folder(flight, folder, ulog=ulog, csv=csv, more=more, flies=flies)
    ending = (more or {}).get("ending", "")
    code, problem = code_of(flight, strict=strict), ""
    if flight.verdict != "pass":
        problem = f"{flight.verdict}: {flight.judged.in_short}"
    elif code:
        problem = f"{flight.judged.verdict_text} (--strict)"
    figures = {**flight.figures(), **({"ending": ending} if ending else {}), "folder": str(folder)}
    also = (*(["csv"] if csv else []), *(["ulg"] if ulog else []))
    return WrittenFlight(flight.vehicle.spec.title, rows, figures, folder, problem, code, also)


def print_flight(written: WrittenFlight, number: int | None = None) -> None:
    """Print the summary of a flight and where its files are; `number` distinguishes several."""
    title = written.title if number is None else f"{written.title}, {number}"
    print_table(written.rows, title, written.figures)
    if written.problem:
        typer.secho(written.problem, fg="red", err=True)
    typer.echo(f"log:    {written.folder / 'flight.parquet'}")
    for ending in ("csv", "ulg"):
        if ending in written.also:
            typer.echo(f"{f'{ending}:':<8}{written.folder / f'flight.{ending}'}")
    print_report(written.folder / "flight.html")


def write_and_print(flight: Flight, folder: Path) -> int:
    """Write the flight's folder and print its summary; returns the exit code."""
    written = write_flight(flight, folder)
    print_flight(written)
    return written.code


def shown_in_browser(url: str) -> bool:
    """Open an address in a browser; whether there is one."""
    import shutil
    import subprocess
    import webbrowser

    opener = shutil.which("xdg-open") if sys.platform == "linux" else None
    if opener is None:
        return webbrowser.open(url)
    quiet = subprocess.DEVNULL
    started = subprocess.Popen([opener, url], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        return started.wait(BROWSER_S) == 0
    except subprocess.TimeoutExpired:  # the browser itself, which stays open
        _BROWSERS.append(started)
        return True
