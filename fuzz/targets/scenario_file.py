"""Files of scenarios: several vehicles in one world."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

from fuzz.target import Refused, attempt, file_of, source_of
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
warnings.simplefilter("ignore", PlausibilityWarning)
# Settings of a start are taken from the compiled model, which takes seconds: not while its file is read here
WITHOUT_MODEL = patch.multiple(
    grammar,
    start_settings=lambda order, north_m, east_m, yaw_deg: {},
    _lifted=lambda order, settings, height_m: settings,
)


def check(data: bytes) -> bool | None:
    """Taken or refused."""
    with WITHOUT_MODEL:
        scenario = attempt(load_scenario, file_of(data, "scenario.toml"))
    return not isinstance(scenario, Refused) or scenario.at != "load_scenario"


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib."""
    with WITHOUT_MODEL:
        attempt(scenario_of, source_of(table, "scenario.toml"))
    return None
