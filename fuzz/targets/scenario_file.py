"""Files of scenarios: several vehicles in one world."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from fuzz.target import Refused, attempt, file_of, now_and_then, source_of
from ironbird.errors import PlausibilityWarning
from ironbird.scenario import grammar
from ironbird.scenario.grammar import load_scenario, scenario_of

WORDS = (
    "schema = 1\n", "[[vehicle]]\n", "name = ", "vehicle = ", "quad_f450", "rover_differential", "until_s = ", "world = ", "field",
    "control = ", "reference", "truth", "mission = ", "hover", "north_m = ", "east_m = ", "yaw_deg = ", "count = ", "spacing_m = ",
    "follow = ", "faults = ", "settings = ", "wind = ", "seed = ", "log_s = ", "require = ", "formula = ", "sight = ",
)  # fmt: skip
MOST = 1500
FORMAT = "toml"
MOST_EACH = 16
_large = now_and_then(256)  # a thousand orders take a thousand times as long
warnings.simplefilter("ignore", PlausibilityWarning)
# Settings of a start are taken from the compiled model, which takes seconds: not while its file is read here
WITHOUT_MODEL: dict[str, Any] = {
    "start_settings": lambda order, north_m, east_m, yaw_deg: {},
    "_lifted": lambda order, settings, height_m: settings,
}
MODEL = {name: getattr(grammar, name) for name in WITHOUT_MODEL}


def _attempt(reader: Callable[..., Any], *arguments: Any) -> Any:
    grammar.__dict__.update(WITHOUT_MODEL)
    try:
        return attempt(reader, *arguments)
    finally:
        grammar.__dict__.update(MODEL)


def _few(entry: Any) -> Any:
    """A table of vehicles with some of them at most, unless there are too many."""
    count = entry.get("count") if isinstance(entry, dict) else None
    if isinstance(count, int) and MOST_EACH < count <= grammar.MOST_VEHICLES:
        return {**entry, "count": 1 + count % MOST_EACH}
    return entry


def check(data: bytes) -> bool | None:
    """Taken or refused."""
    scenario = _attempt(load_scenario, file_of(data, "scenario.toml"))
    return not isinstance(scenario, Refused) or scenario.at != "load_scenario"


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib; large start grids now and then."""
    vehicles = table.get("vehicle")
    if isinstance(vehicles, list) and not _large():
        table = {**table, "vehicle": [_few(entry) for entry in vehicles]}
    _attempt(scenario_of, source_of(table, "scenario.toml"))
    return None
