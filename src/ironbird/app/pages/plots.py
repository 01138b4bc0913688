"""Page with live plots of any signals, and sliders for every parameter that can be tuned in flight, in groups."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from ironbird.app.live_flight import LiveFlight
from ironbird.app.pages.desk import Desk, panel, selected
from ironbird.model.signal import Signal, entry_names
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at

_ALONG = (at.BODY.position, at.ESTIMATOR.position, at.gnss(1).position.value, at.NAVIGATOR.position_set)
_LABELS = ("truth", "estimate", "measured", "set-point")
PRESETS: dict[str, list[tuple[str, int, str]]] = {  # title -> signal, entry, label; those that a vehicle has
    "down": [(path, 2, label) for path, label in zip(_ALONG, _LABELS, strict=True)],
    "north": [(path, 0, label) for path, label in zip(_ALONG, _LABELS, strict=True)],
    "roll and pitch": [
        (at.BODY.euler, 0, "roll"), (at.ESTIMATOR.euler, 0, "roll, estimate"), (at.BODY.euler, 1, "pitch"),
        (at.ESTIMATOR.euler, 1, "pitch, estimate"),
    ],
    "rates": [(at.BODY.rates, entry, label) for entry, label in enumerate("pqr")],
    "rotor speeds": [(at.rotor(number).motor("speed"), 0, str(number)) for number in range(1, 9)],
    "wind": [(at.AIR.wind, entry, label) for entry, label in enumerate(("north", "east", "down"))],
}  # fmt: skip
LOOPS = (
    "MC_ROLL",
    "MC_PITCH",
    "MC_YAW",
    "MPC_XY",
    "MPC_Z",
    "FW_R",
    "FW_P",
    "ATC_RAT",
    "ATC_ANG",
    "PSC_",
    "RLL",
    "PTCH",
)
WORDS = re.compile(r"(?P<loop>\w+?)_(gain|integral|derivative|lag)$")
MOST_SHOWN = 60  # sliders of one search


def build(desk: Desk) -> None:
    """Build the page of plots and tuning."""
    with desk.frame("Plots and tuning"), ui.element("div").classes("ib-two"):
        with ui.element("div").classes("ib-column"):
            with panel("Signals"):
                choice = ui.select([], label="one more plot: any signals", multiple=True, with_input=True)
                choice.props("dense use-chips").classes("w-full")
                ui.switch("freeze").props("dense").on("update:model-value", js_handler="(on) => ironbird.freeze(on)")
            ui.element("div").props("id=ib-plots").classes("ib-plots")
        with panel("Tuning"):
            search = ui.input("search all tunable parameters", placeholder="control, rate_gain, filter…")
            search.props("dense clearable")
            outside = ui.row().classes("items-center")
            with outside:
                button = ui.button("read the autopilot's parameters", icon="download").props(
                    "dense no-caps unelevated size=sm"
                )
                button.props("id=ib-read-params")
                button.on("click", js_handler="() => ironbird.act('read_params')")
                read = ui.label().classes("ib-hint")
            box = ui.element("div").classes("ib-scroll")
    now: dict[str, Any] = {"flight": "", "known": 0}

    def draw() -> None:
        live = desk.rig.flights.get(now["flight"])
        log = live.log() if live is not None else None
        if live is None or log is None:
            return
        names = signal_names(log)
        if choice.options != names:
            choice.set_options(names)
        ui.run_javascript(f"ironbird.plot({json.dumps(wanted_plots(log, choice.value or []))})")
        tune()

    def tune() -> None:
        live = desk.rig.flights.get(now["flight"])
        box.clear()
        outside.set_visibility(live is not None and live.pilot is not None)
        if live is None or live.stand is None:
            return
        params = live.params()
        now["known"] = len(params)
        read.set_text(f"{len(params)} are known" if params else "none was read yet")
        with box:
            for group, paths in groups(params, search.value or "").items():
                ui.label(group).classes("ib-title")
                for path in paths:
                    _slider(desk, live, path, params[path])

    def look() -> None:
        """Show the parameters of an autopilot again when more have been read and no more arrive."""
        live = desk.rig.flights.get(now["flight"])
        if live is not None and live.pilot is not None and len(live.params()) != now["known"]:
            tune()

    def chosen(event: GenericEventArguments) -> None:
        now["flight"] = selected(event)
        draw()

    choice.on_value_change(draw)
    search.on_value_change(tune)
    ui.on("flight", chosen)
    outside.set_visibility(False)
    ui.timer(2.0, look)
    ui.timer(1.0, lambda: ui.run_javascript("ironbird.selected && emitEvent('flight', ironbird.selected)"), once=True)


def signal_names(log: Log) -> list[str]:
    """Every number that can be plotted, as `path` or `path[entry]`."""
    return [name for path, signal in log.plan.signals.items() for name in entry_names(path, signal.size)]


def wanted_plots(log: Log, chosen: list[str]) -> list[dict[str, Any]]:
    """The default plots for which the log has signals, and one of the chosen signals."""
    signals = log.plan.signals
    plots: list[dict[str, Any]] = []
    plots += [{"title": ", ".join(chosen)[:60], "series": [_entry(name) for name in chosen]}] if chosen else []
    plots += [
        {"title": title, "series": [{"path": p, "entry": e, "label": label} for p, e, label in series if p in signals]}
        for title, series in PRESETS.items()
    ]
    plots = [plot for plot in plots if plot["series"]]
    for plot in plots:
        plot["unit"] = _unit(signals, plot["series"][0]["path"])
    return plots


def _entry(name: str) -> dict[str, Any]:
    path, _, rest = name.partition("[")
    return {"path": path, "entry": int(rest.rstrip("]") or 0), "label": name[-28:]}


def _unit(signals: Mapping[str, Signal], path: str) -> str:
    return signals[path].unit if path in signals else ""


def groups(params: Mapping[str, float], words: str = "") -> dict[str, list[str]]:
    """Parameters in groups: the loops of the controllers first (position, velocity, attitude, rate), then by block.

    Without words only the controllers' parameters are shown; a search covers all. Names of autopilots (MPC_XY_P,
    ATC_RAT_RLL_P) are grouped by the part before their last word.
    """
    parts = words.lower().split()
    shown = [p for p in params if all(part in p.lower() for part in parts)] if parts else _control(params)
    by_group: dict[str, list[str]] = {}
    for path in shown[:MOST_SHOWN]:
        block, _, name = path.rpartition(".")
        if not block:
            by_group.setdefault(path.rpartition("_")[0] or path, []).append(path)
            continue
        loop = WORDS.match(name.partition("[")[0])
        by_group.setdefault(f"{block}: {loop['loop']}" if loop else block, []).append(path)
    return by_group


def _control(params: Mapping[str, float]) -> list[str]:
    own = [path for path in params if path.partition(".")[0].endswith("control")]
    return own or [path for path in params if path.startswith(LOOPS)]


def limits(value: float, low: float | None, high: float | None) -> tuple[float, float]:
    """Ends of a slider: up to three times the value, within the limits of the parameter."""
    size = 3 * abs(value) or 1.0
    least = 0.0 if value >= 0 else -size
    return (least if low is None else max(low, least)), (size if high is None else min(high, size))


def _slider(desk: Desk, live: LiveFlight, path: str, value: float) -> None:
    assert live.stand is not None
    signal: Any = live.stand.rig.state.model.params().get(path.partition("[")[0])  # none: it is an autopilot's own
    low, high = limits(value, getattr(signal, "low", None), getattr(signal, "high", None))
    unit = "" if signal is None or signal.unit == "1" else f" [{signal.unit}]"
    ui.label(f"{path.rpartition('.')[2]}{unit}").classes("ib-hint").tooltip(getattr(signal, "doc", "") or path)
    with ui.row().classes("w-full no-wrap items-center").style("gap:8px"):
        number = ui.number(value=value, format="%.5g").props("dense borderless").style("width:80px")
        slider = ui.slider(min=low, max=high, step=(high - low) / 200 or 0.01, value=value).classes("col")
        slider.props(f'data-path="{path}"')

    async def tune(event: GenericEventArguments) -> None:
        if isinstance(event.args, int | float):
            number.set_value(float(event.args))
            await desk.act("tune", flight=live.name, path=path, value=float(event.args))

    async def typed(event: GenericEventArguments) -> None:
        slider.set_value(number.value)
        await desk.act("tune", flight=live.name, path=path, value=float(number.value or 0.0))

    slider.on("change", tune)
    number.on("keydown.enter", typed)
