"""Mission files of our own."""

from __future__ import annotations

from typing import Any

from fuzz.target import Refused, attempt, file_of, now_and_then, source_of
from ironbird.flight.mission import KINDS, Mission, load_mission, mission_of

WORDS = (
    "schema = 1\n", "[[item]]\n", *(f'kind = "{kind}"\n' for kind in KINDS), "north_m = ", "east_m = ", "height_m = ",
    "yaw_deg = ", "hold_s = ", "duration_s = ", "cruise_speed_mps = ", "title = 'x'\n",
)  # fmt: skip
MOST = 1500
FORMAT = "toml"
_look = now_and_then(16)


def check(data: bytes) -> bool | None:
    """What is accepted says itself as data that read back, and has parameters for a navigator."""
    mission = attempt(load_mission, file_of(data, "mission.toml"))
    if isinstance(mission, Refused):
        return mission.at != "load_mission"
    look(mission)
    return None


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib."""
    mission = attempt(mission_of, source_of(table, "mission.toml"))
    if not isinstance(mission, Refused) and _look():
        look(mission)
    return None


def look(mission: Mission) -> None:
    """Refuse what does not read back."""
    assert isinstance(mission, Mission)
    assert Mission.model_validate(mission.model_dump(mode="json", by_alias=True)) == mission
    attempt(mission.params, 64)
    attempt(mission.longest_s, 5.0)
