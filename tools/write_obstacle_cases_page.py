"""Fly tests of Aerialist (the format of the UAV testing competition of SBFT and ICST) and write docs/obstacle_cases.md.

    python tools/write_obstacle_cases_page.py TEST.yaml… [--px4]

Each test is flown with its boxes as real obstacles: by the reference autopilot straight along the mission; by the same
with the lidar and planner of `avoid`, to the mission's last place; with --px4 (IRONBIRD_PX4) by PX4's own mission, and
by sticks with its collision prevention (CP_DIST) fed by a ring. Obstacles that stand in a file as comments, as in the
competition's case studies, are switched on. The tests themselves are not part of this project.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ironbird.campaign.imports.aerialist import import_aerialist
from ironbird.flight.flight import fly
from ironbird.flight.mission import Mission
from ironbird.flight.order import make_order
from ironbird.scenario.run import fly_scenario
from ironbird.vehicles import places as at

PAGE = Path(__file__).parents[1] / "docs" / "obstacle_cases.md"
UNTIL_S = 150.0
KEPT_M = 2.0  # CP_DIST
RING = {"kind": "ring", "name": "around", "beams": 72, "rate_hz": 20, "max_m": 25.0}
HEAD = """# Published obstacle cases

Written by `tools/write_obstacle_cases_page.py`. The tests are those of the UAV testing competition of SBFT and ICST
(<https://github.com/skhatiri/UAV-Testing-Competition>, commit 2ba0d38: case studies 1 to 3 with the two boxes of its
README) and the sample of Aerialist (<https://github.com/skhatiri/Aerialist>, commit aa5118a), both under the MIT
licence, read by the importer of `ironbird case import`. They are not part of this project. Boxes are real obstacles
here: the hull of the F450 hits them, and the smallest distance is that between hull and box. The competition's own
system under test (PX4-Avoidance with Gazebo) was not flown. What flies here:

- **mission**: the reference autopilot along the mission's straight lines; it knows of no obstacle;
- **avoid**: the same with a lidar and the vector field histogram, to the last place of the mission;
- **PX4 mission**: PX4 1.17 with its own mission; it knows of no obstacle there;
- **PX4 by sticks**: position mode towards the same places, with PX4's collision prevention ({kept:g} m), which a ring
  of 72 beams feeds.

| case | who | outcome | smallest distance, m | nearest to the goal, m |
| --- | --- | --- | --- | --- |
"""


@dataclass
class Row:
    """The outcome of one flight."""

    case: str
    who: str
    outcome: str
    nearest_m: float
    goal_m: float

    def text(self) -> str:
        """As a row of the table."""
        near = f"{max(self.nearest_m, 0.0):.2f}" if self.nearest_m < 999 else "more than 50"
        return f"| {self.case} | {self.who} | {self.outcome} | {near} | {self.goal_m:.1f} |"


def with_obstacles(path: Path, folder: Path) -> Path:
    """The test with the obstacles that it has as comments, beside the files that it names."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    if (data.get("simulation") or {}).get("obstacles"):
        return path
    lines = path.read_text(encoding="utf-8").splitlines()
    text = "\n".join("  " + line[4:] if line.startswith("  # ") else line for line in lines)
    copy = folder / path.parent.name / path.name
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(text, encoding="utf-8")
    for other in path.parent.iterdir():
        if other.suffix in (".plan", ".csv"):
            (copy.parent / other.name).write_bytes(other.read_bytes())
    return copy


def row_of(case: str, who: str, log: Any, outcome: str, goal: np.ndarray, lane: int = 0) -> Row:
    """The figures of a flight from its log."""
    path, near = log.lane(at.BODY.position, lane), log.lane(at.CLEARANCE.min_distance, lane)
    away = np.linalg.norm((path - goal)[:, :2], axis=1)
    ended = "collision" if "collision" in outcome else "passage" if away.min() < 3.0 else "stopped before"
    return Row(case, who, f"{ended} ({outcome})", float(near.min()), float(away.min()))


def flown(path: Path, px4: bool) -> list[Row]:
    """All flights of one test."""
    study = "case_studies" in str(path)
    name = f"case study {path.stem[-1]}" if study else f"Aerialist sample {path.stem}"
    case = import_aerialist(path).case
    mission = Mission.model_validate({"schema": 1, **case["mission"]})
    places = [item for item in mission.item if item.kind == "waypoint"]
    goal = np.array([places[-1].north_m, places[-1].east_m, -places[-1].height_m])
    said: dict[str, Any] = {"world": case["world"], "mission": mission, "until_s": UNTIL_S}
    flight = fly(make_order("quad_f450", control="reference", settings=case.get("set", {}), **said))
    rows = [row_of(name, "mission", flight.log, flight.outcome, goal)]
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "scene.toml"
        (Path(folder) / "world.toml").write_text(case["world"], encoding="utf-8")
        scene.write_text(
            f'schema = 1\nworld = "world.toml"\nuntil_s = 90.0\n[[vehicle]]\nname = "one"\nvehicle = "quad_f450"\n'
            f"avoid = {{ north_m = {goal[0]}, east_m = {goal[1]}, height_m = {-goal[2]} }}\n"
            f'set = {{ "navigator.take_off_height" = {-goal[2]} }}\n',
            encoding="utf-8",
        )
        around = fly_scenario(scene, keep=False).vehicles[0]
    rows.append(row_of(name, "avoid", around.log, around.judged.outcome, goal, around.lane))
    for who, pilot, params, sight in (
        ("PX4 mission", "ours", "", ()),
        ("PX4 by sticks", "sticks", f"CP_DIST={KEPT_M:g}", (RING,)),
    ):
        if px4:
            options = {"time": "virtual", "pilot": pilot, "params": params}
            flight = fly(make_order("quad_f450", control="px4", options=options, sight=sight, **said))
            rows.append(row_of(name, who, flight.log, flight.outcome, goal))
    return rows


def main() -> None:
    """Fly and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="+", type=Path)
    parser.add_argument("--px4", action="store_true")
    chosen = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for test in chosen.tests:
            rows += flown(with_obstacles(test, Path(folder)), chosen.px4)
            for row in rows[-4 if chosen.px4 else -2 :]:
                print(row.text(), flush=True)
    PAGE.write_text(HEAD.format(kept=KEPT_M) + "\n".join(row.text() for row in rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
