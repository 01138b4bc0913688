"""The commands `ironbird log …`: look at logs of flights, and convert them to formats of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.completion import log_files
from ironbird.cli.options import OutOption
from ironbird.cli.output import errors, print_columns, print_report, print_table, results_folder
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.protocols.flight_log import FlightLog

MOST_ROWS = 12  # of a table on the terminal; the page has all
LOG_HELP = "ULog (.ulg, PX4), DataFlash (.BIN, ArduPilot), flight.parquet or CSV."
LogArgument = Annotated[Path, typer.Argument(metavar="FILE", help=LOG_HELP, autocompletion=log_files)]


def show(log: LogArgument, out: OutOption = None) -> None:
    """Show a log of a flight: what happened, modes, messages, extremes, signals, and a page with all plots.

    Example: ironbird log show flight.ulg
    """
    from ironbird.report.log.page import write_log_page
    from ironbird.report.log.read import read_flight_log
    from ironbird.report.log.summary import figures, sentence, summary_rows

    with errors():
        found = read_flight_log(log)
        with results_folder(out, f"log-{log.stem}") as folder:
            write_log_page(found, folder / "log.html")
        print_table(summary_rows(found), log.name, {**figures(found), "page": str(folder / "log.html")})
        _print_findings(found)
        _print_modes(found)
        _print_changed(found)
        _print_signals(found)
    typer.echo(sentence(found))
    print_report(folder / "log.html")


def _print_findings(log: FlightLog) -> None:
    """What stands out; the messages of the autopilot among it, errors and warnings first."""
    from ironbird.report.log.summary import findings

    found = findings(log)
    rows = [(one.level, "" if one.time_s != one.time_s else f"{one.time_s:.1f} s", one.text) for one in found]
    data = [{"time_s": one.time_s, "level": one.level, "text": one.text} for one in log.messages]
    title = "what stands out" if rows else "what stands out: nothing"
    print_columns(("", "at", "what"), rows[:MOST_ROWS], _cut(title, rows), {"messages": data})


def _print_modes(log: FlightLog) -> None:
    from ironbird.protocols.flight_log import spans

    found = spans(log.modes, log.length_s)
    rows = [(name, f"{start:.1f} s", f"{end - start:.1f} s") for start, end, name in found]
    data = [{"mode": name, "start_s": start, "end_s": end} for start, end, name in found]
    if rows:
        print_columns(("mode", "from", "for"), rows[:MOST_ROWS], _cut("flight modes", rows), {"modes": data})


def _print_changed(log: FlightLog) -> None:
    from ironbird.report.log.summary import setting

    rows = [
        (one.name, f"{one.time_s:.1f} s", "" if one.before is None else setting(one.before), setting(one.after))
        for one in log.changed
    ]
    data = [{"name": c.name, "time_s": c.time_s, "before": c.before, "after": c.after} for c in log.changed]
    if rows:
        head = ("parameter", "at", "before", "after")
        print_columns(head, rows[:MOST_ROWS], _cut("parameters changed while logging", rows), {"changed": data})


def _print_signals(log: FlightLog) -> None:
    """The quantities that are known, with rate and number of samples; all topics for `--json`."""
    from ironbird.protocols.flight_log import Topic

    known: dict[tuple[str, int], list[str]] = {}
    for name, series in log.series.items():
        known.setdefault((log.sources[name], len(series)), []).append(name)
    rows = []
    for (source, count), names in known.items():
        rate_hz = Topic(source, log.series[names[0]].time_s, {}).rate_hz
        rows.append((source, f"{rate_hz:.3g}", str(count), ", ".join(names).replace("_", " ")))
    data = [
        {"topic": one.name, "rate_hz": one.rate_hz, "samples": len(one.time_s), "fields": list(one.fields)}
        for one in log.topics
    ]
    title = f"signals that the page shows; the file has {len(log.topics)} topics"
    print_columns(("from", "Hz", "samples", "signals"), rows, title, {"topics": data})


def _cut(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    """A title that names what is left out: no table ends without a word."""
    return title if len(rows) <= MOST_ROWS else f"{title}, the first {MOST_ROWS} of {len(rows)}; the page has all"


def convert(
    log: LogArgument,
    to: Annotated[str, typer.Option(help="mcap (ROS 2 messages), mat (MATLAB), csv, ulg (PX4) or parquet.")],
    out: OutOption = None,
) -> None:
    """Convert a log: MCAP for Foxglove and rosbag2, MATLAB, CSV, Parquet, ULog.

    The new file is beside the log; --out is a folder, or a file whose name has an ending.

    Example: ironbird log convert flight.ulg --to mcap
    """
    from ironbird.report.log_formats import convert_log

    with errors(), working(f"converting {log.name} to {to}"):
        path = convert_log(log, to, out)
    typer.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
