"""Mission files of our own."""

from __future__ import annotations

from fuzz.target import Refused, attempt, file_of
from ironbird.flight.mission import KINDS, Mission, load_mission

WORDS = (
    "schema = 1\n", "[[item]]\n", *(f'kind = "{kind}"\n' for kind in KINDS), "north_m = ", "east_m = ", "height_m = ",
    "yaw_deg = ", "hold_s = ", "duration_s = ", "cruise_speed_mps = ", "title = 'x'\n",
)  # fmt: skip
MOST = 1500


def check(data: bytes) -> None:
    """What is accepted says itself as data that read back, and has parameters for a navigator."""
    mission = attempt(load_mission, file_of(data, "mission.toml"))
    if isinstance(mission, Refused):
        return
    assert isinstance(mission, Mission)
    assert Mission.model_validate(mission.model_dump(mode="json", by_alias=True)) == mission
    attempt(mission.params, 64)
    attempt(mission.longest_s, 5.0)
