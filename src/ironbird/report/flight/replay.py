"""Data of the replay in space: tracks of bodies and joints, the world around them, and what happened when.

`templates/scene.js` draws it, `templates/replay.js` plays it. Places are north, east, height in metres.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.blocks.controllers.mission_table import FAILSAFES, MODES
from ironbird.errors import IronbirdError
from ironbird.flight.flight import Flight
from ironbird.report.flight.curves import SHOWN, Json, flag_pieces, packed
from ironbird.report.flight.plots import Plots
from ironbird.report.flight.timeline import mode_rows
from ironbird.rotations import from_euler
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at
from ironbird.vehicles.shape import shape

UP = (1.0, 1.0, -1.0)  # north, east, down to north, east, height
MOST_FRAMES = 1500  # of a track
COLLISION = "collision"  # reason of a stop
GUST_MPS = 0.05  # a wind that never exceeds it is not drawn
AFLOAT = ("boat", "submarine")  # drawings of vehicles that have water around them where there is no world
SEA: Json = {
    "ground": {"height": -60.0, "slope": [0.0, 0.0], "colour": "#8d8a72"},
    "things": [], "water": {"height": 0.0, "colour": "#2f6f8f"}, "pads": [], "movers": [], "visibility": 0.0,
}  # fmt: skip


def replay(
    plots: Plots, waypoints: np.ndarray, numbers: list[str], marks: list[Json], ranges: list[list[float]]
) -> Json:
    """Everything that the page needs to play a flight again."""
    drawn = shape(plots.flight.vehicle)
    rows = _rows(plots.log)
    frames = _track(plots.log, rows, drawn["signals"])
    if at.NAVIGATOR.position_set in plots.log:
        frames["set_point"] = packed(bounded(plots.values(at.NAVIGATOR.position_set)[rows] * UP).ravel())
    if at.NAVIGATOR.mode in plots.log:
        frames["mode"] = packed(plots.log[at.NAVIGATOR.mode][rows])
    others = {}
    if plots.twin and plots.flight.twin is not None:
        twin = plots.flight.twin
        others["twin"] = _track(twin, _rows(twin), drawn["signals"])
    if at.ESTIMATOR.position in plots.log and at.ESTIMATOR.euler in plots.log:
        place = bounded(plots.values(at.ESTIMATOR.position)[rows] * UP)
        turn = from_euler(plots.values(at.ESTIMATOR.euler)[rows])
        others["estimate"] = {
            "time_s": frames["time_s"], "place": packed(place.ravel()), "attitude": packed(bounded(turn).ravel())
        }  # fmt: skip
    crashed = plots.flight.stop is not None and not plots.flight.survived
    return {
        "kind": "replay",
        "frames": frames,
        "others": others,
        "modes": list(MODES),
        "marks": marks,
        "waypoints": [[round(float(x), 3) for x in place] for place in waypoints],
        "numbers": numbers,
        "ranges": ranges,
        "shape": {key: drawn[key] for key in ("drawing", "parts", "joints", "signals")},
        "world": _world(plots, drawn["drawing"]),
        "hit": hit(plots.flight),
        "broken": _broken(plots),
        "bands": _bands(plots),
        "events": [{"time_s": t, "kind": kind, "text": text} for t, kind, text in flight_events(plots)],
        "crashed": crashed,
    }


def bounded(values: np.ndarray) -> np.ndarray:
    """Values with those of a diverged run replaced by NaN."""
    return np.where(np.abs(values) < SHOWN, values, np.nan)


def _rows(log: Log) -> np.ndarray:
    """Rows of a log that become frames; the last one is among them: the end matters most."""
    count = log.rows()
    return np.unique(np.append(np.arange(0, count, math.ceil(count / MOST_FRAMES)), count - 1))


def _wide(log: Log, signal: str) -> np.ndarray:
    """A signal as [row, size]."""
    return log[signal].reshape(-1, log.signals[signal].size)


def _track(log: Log, rows: np.ndarray, signals: list[str]) -> Json:
    """Place, attitude, joints, wind and thrusts at some rows of a log."""
    track = {
        "time_s": packed(log.time()[rows]),
        "place": packed(bounded(_wide(log, at.BODY.position)[rows] * UP).ravel()),
    }
    if at.BODY.euler in log:
        track["attitude"] = packed(bounded(from_euler(_wide(log, at.BODY.euler)[rows])).ravel())
    if any(_signal(path)[0] in log for path in signals):
        track["joints"] = packed(np.stack([_element(log, path)[rows] for path in signals], axis=1).ravel())
    if at.AIR.wind in log and float(np.nanmax(np.abs(wind := bounded(_wide(log, at.AIR.wind)[rows])))) > GUST_MPS:
        track["wind"] = packed(wind.ravel())
    thrusts = [path for rotor in at.each(at.rotor, log.signals) if (path := rotor.propeller("thrust")) in log]
    if thrusts:
        track["thrust"] = packed(np.stack([bounded(log[path][rows]) for path in thrusts], axis=1).ravel())
    return track


def _signal(path: str) -> tuple[str, int]:
    """The signal of a joint and the number of its element: `body.tilt[1]`."""
    name, _, rest = path.partition("[")
    return name, int(rest.rstrip("]") or 0)


def _element(log: Log, path: str) -> np.ndarray:
    name, column = _signal(path)
    return bounded(_wide(log, name)[:, column]) if name in log else np.zeros(log.rows())


def _world(plots: Plots, drawing: str) -> Json | None:
    """The scenery of the flight; none over flat ground."""
    if not plots.flight.order.world:
        return SEA if drawing in AFLOAT else None
    try:
        from ironbird.report.scenery import scenery_of

        return scenery_of(plots.flight.order.world)
    except IronbirdError:  # its file is not here any more
        return None


def hit(flight: Flight) -> Json | None:
    """Name of the obstacle that was hit first, and when; none without a collision, or if it was the ground."""
    log, world, stop = flight.log, flight.order.world, flight.stop
    struck = at.CLEARANCE.collision in log and bool((log[at.CLEARANCE.collision] > 0).any())
    if not world or not (struck or (stop is not None and stop.reason == COLLISION)):
        return None
    from ironbird.flight.worlds import ordered_world
    from ironbird.world.rays import Scene

    row = int(np.argmax(log[at.CLEARANCE.collision] > 0)) if struck else log.rows() - 1
    time_s, place = float(log.time()[row]), _wide(log, at.BODY.position)[row]
    if not np.isfinite(place).all():
        return None
    try:
        scene = Scene(ordered_world(world)).at(time_s)
        _, number = scene.distance(place[None, :], terrain=False)
    except IronbirdError:  # its file is not here any more
        return None
    name = scene.names[int(number[0])] if number[0] >= 0 else ""
    return {"name": name, "time_s": round(time_s, 3)} if name else None


def _broken(plots: Plots) -> list[Json]:
    """Parts that faults act on, and when."""
    found = []
    for number, injection in enumerate(plots.faults, start=1):
        places = sorted({"/".join(path.partition(".")[0].split("/")[:2]) for path in injection.targets if "/" in path})
        spans = [[round(start, 3), round(end, 3)] for start, end in plots.on_pieces(number)]
        found.append({"places": places, "spans": spans, "text": injection.fault.id.partition("@")[0]})
    return found


def _bands(plots: Plots) -> list[Json]:
    """Rows of the scrub bar: modes, then faults; each a list of start, end, text and colour."""
    rows = [("mode", row[1]) for row in mode_rows(plots)[:1]]
    faults = [
        (start, end, injection.fault.id.partition("@")[0], "var(--fault)")
        for number, injection in enumerate(plots.faults, start=1)
        for start, end in plots.on_pieces(number)
    ]
    rows += [("faults", faults)] if faults else []
    return [
        {"name": name, "spans": [[round(a, 3), round(b, 3), text, ink] for a, b, text, ink in spans]}
        for name, spans in rows
    ]


def flight_events(plots: Plots) -> list[tuple[float, str, str]]:
    """Time, kind and text of faults, failsafes, broken requirements and the end: what the keys [ and ] go to."""
    events: list[tuple[float, str, str]] = []
    for number, injection in enumerate(plots.faults, start=1):
        pieces = plots.on_pieces(number)
        if pieces:
            events.append((pieces[0][0], "fault", f"{injection.fault.id.partition('@')[0]} begins"))
            if pieces[-1][1] < plots.end - 1e-6:
                events.append((pieces[-1][1], "fault", f"{injection.fault.id.partition('@')[0]} ends"))
    if at.NAVIGATOR.failsafe in plots.log:
        for name, column in zip(FAILSAFES, plots.values(at.NAVIGATOR.failsafe).T, strict=False):
            events += [
                (a, "failsafe", f"failsafe: {name}") for a, _ in flag_pieces(plots.time_s(), column, plots.end)[:3]
            ]
    for judgement in plots.flight.judged.judgements:
        if judgement.status == "broken":  # what should have come by the end is missed at the end
            late = not plots.range[0] < judgement.time_s <= plots.flight.ended_s
            moment = plots.flight.ended_s if late else judgement.time_s
            events.append((moment, "broken", f"broken: {judgement.sentence or judgement.name}"))
    events.append((plots.flight.ended_s, "end", plots.flight.outcome))
    return sorted((round(time_s, 3), kind, text) for time_s, kind, text in events)
