"""The folder of a flight: its log, its page, its summary and files that an external control system left."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironbird.errors import IronbirdError, LinkError
from ironbird.files.json_text import json_text
from ironbird.files.whole import replacing, write_text
from ironbird.files.work import working
from ironbird.flight.flight import Flight
from ironbird.flight.systems import is_outside
from ironbird.report.flight.page import Origin, write_flight_page
from ironbird.report.ulog import write_ulog
from ironbird.runtime.tuning import write_tunings

if TYPE_CHECKING:
    from ironbird.flight.autopilot_estimate import AutopilotEstimate

SIGHT, SIGHT_MCAP = "sight", "sight.mcap"
FILES = (
    "flight.parquet", "autopilot.parquet", "order.toml", "tunings.json", "autopilot_events.json", "link.json",
    "flight.ulg", "flight.csv", "flight.html", "summary.json", "mission.plan",
)  # fmt: skip


# Logs of an autopilot as it names them: PX4 by the time of day, ArduPilot by a number
AUTOPILOT_LOG = re.compile(r"\d\d_\d\d_\d\d(_replayed)?\.ulg|\d{8}\.BIN")


def clear_flight_folder(folder: Path) -> None:
    """Remove the results of an earlier flight, so that they are not taken for those of one that fails."""
    try:
        old = [path.name for path in folder.iterdir() if AUTOPILOT_LOG.fullmatch(path.name)] if folder.is_dir() else []
        for name in (*FILES, *old):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise IronbirdError(f"cannot remove the results of an earlier flight from {folder}: {error}") from error


def write_flight_folder(
    flight: Flight,
    folder: str | Path,
    *,
    ulog: bool = False,
    csv: bool = False,
    origin: Origin | None = None,
    more: Mapping[str, str] | None = None,
    flies: bool = False,
) -> dict[str, str]:
    """Write all files of a flight: log, page, order, summary. Each file appears whole or not at all.

    Parameters
    ----------
    flight : Flight
        The flight.
    folder : str or Path
        Folder to write into; it is made if need be.
    ulog : bool, default False
        Write `flight.ulg` as well, for tools of PX4.
    csv : bool, default False
        Write `flight.csv` as well.
    origin : Origin, optional
        The campaign that the page leads back to.
    more : mapping of str, optional
        Further rows of the summary.
    flies : bool, default False
        The page flies the flight again in the reader's browser (`ironbird fly --flies`).

    Returns
    -------
    dict of str
        The summary, as the command prints it.

    Raises
    ------
    IronbirdError
        If the folder cannot be written.

    Examples
    --------
    >>> rows = ib.write_flight_folder(flight, "out/mine")  # doctest: +SKIP
    """
    folder = Path(folder)
    with working(f"writing the report of {flight.order.vehicle}"):
        return _written(flight, folder, ulog=ulog, csv=csv, origin=origin, more=more, flies=flies)


def _written(
    flight: Flight,
    folder: Path,
    *,
    ulog: bool,
    csv: bool,
    origin: Origin | None,
    more: Mapping[str, str] | None,
    flies: bool,
) -> dict[str, str]:
    planned = flight.order.has_plan_file
    optional = {
        "mission.plan": planned,
        "tunings.json": bool(flight.order.tunings),
        "autopilot_events.json": bool(flight.autopilot_events),
        "link.json": bool(flight.measured),
        "flight.ulg": ulog,
        "flight.csv": csv,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        flight.log.to_parquet(folder / "flight.parquet")
        autopilot = _autopilot_of(flight)
        logged = autopilot is not None and not isinstance(autopilot, LinkError)
        optional["autopilot.parquet"] = logged
        if autopilot is not None and not isinstance(autopilot, LinkError):
            with replacing(folder / "autopilot.parquet") as part:
                autopilot.write(part)
        write_text(folder / "order.toml", flight.order.text())
        if planned:
            write_text(folder / "mission.plan", flight.order.script)
        if flight.order.tunings:
            with replacing(folder / "tunings.json") as part:
                write_tunings(part, flight.order.tunings)
        if flight.autopilot_events:
            said = [{"time_s": h.time_s, "kind": h.kind, "text": h.text} for h in flight.autopilot_events]
            write_text(folder / "autopilot_events.json", json_text(said))
        if flight.measured:
            measured = {"verdict": flight.verdict, "sentence": flight.judged.sentence, **flight.measured}
            write_text(folder / "link.json", json_text(measured, "ironbird/link/1"))
        write_sight(flight, folder)
        if ulog:
            write_ulog(flight.log, folder / "flight.ulg")
        if csv:
            flight.log.to_csv(folder / "flight.csv")
        write_flight_page(flight, folder / "flight.html", autopilot, origin, more, flies=flies)
        rows = _summary(flight, autopilot)
        if more and any(name.startswith("caused") for name in more):  # what merely came next says less
            rows = {name: text for name, text in rows.items() if not name.startswith("afterwards ")}
        rows |= more or {}
        write_text(folder / "summary.json", summary_text(rows, flight.figures()))
        for name, written in optional.items():  # of an earlier flight in this folder
            if not written:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise IronbirdError(
            f"cannot write results to {folder}: {error.strerror or error}; give another folder by --out"
        ) from error
    return rows


def write_sight(flight: Flight, folder: Path) -> None:
    """Write samples of world sensors: `sight/NAME.parquet`, pictures, and all of it as `sight.mcap` for Foxglove."""
    place = folder / SIGHT
    if place.is_dir():  # of an earlier flight
        shutil.rmtree(place)
    (folder / SIGHT_MCAP).unlink(missing_ok=True)
    if not flight.order.sight:
        return
    from ironbird.flight.sights import sensors_of
    from ironbird.report.mcap_sight import write_sight_mcap
    from ironbird.world.outputs import write_samples

    sensors = sensors_of(flight.order.sight)
    write_samples(place, sensors, flight.samples)
    if importlib.util.find_spec("mcap_ros2") is not None:  # the extra 'logs'
        write_sight_mcap(folder / SIGHT_MCAP, sensors, flight.samples)


def _autopilot_of(flight: Flight) -> AutopilotEstimate | LinkError | None:
    """The log of an external control system compared with the truth, or the error; None if there is none."""
    if not is_outside(flight.order.control):
        return None
    from ironbird.flight.autopilot_estimate import beside

    return beside(flight)


def _summary(flight: Flight, autopilot: AutopilotEstimate | LinkError | None) -> dict[str, str]:
    """The flight's figures, and events and files of an external control system."""
    rows = flight.summary()
    if autopilot is not None:
        rows["autopilot's log"] = str(autopilot)
    if autopilot is not None and not isinstance(autopilot, LinkError):
        rows = {name: text for name, text in rows.items() if not name.startswith("afterwards ")}
        rows |= {f"afterwards {n}": reaction.sentence() for n, reaction in enumerate(autopilot.reactions(), start=1)}
    if flight.log.interrupted:
        rows["interrupted"] = "by a signal; these are the results so far"
    return rows


def summary_text(rows: Mapping[str, str], figures: Mapping[str, Any]) -> str:
    """A flight's summary.json: rows for people, and the same as numbers under `figures` (SI)."""
    return json_text({**rows, "figures": figures}, "ironbird/flight-summary/1")
