"""Commands about missions: the built-in ones, and what one consists of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.completion import mission_names as mission_completion
from ironbird.cli.output import JsonOption, errors, print_columns, print_json

if TYPE_CHECKING:
    from ironbird.flight.mission import Mission


def list_missions(as_json: JsonOption = False) -> None:
    """List the built-in missions for --mission; docs/reference/missions.md has the format of files."""
    from ironbird.flight.mission import load_mission, mission_names

    missions = {name: load_mission(name) for name in mission_names()}
    if as_json:
        _print(missions)
        return
    rows = [(name, str(len(mission.item)), mission.title) for name, mission in missions.items()]
    print_columns(("name", "items", "title"), rows, "Missions")


def show_mission(
    mission: Annotated[
        str, typer.Argument(help="A mission by name, or a TOML file.", autocompletion=mission_completion)
    ],
    as_json: JsonOption = False,
) -> None:
    """Show the items of a mission: what each does and where."""
    from ironbird.flight.mission import load_mission

    with errors():
        loaded = load_mission(mission)
    if as_json:
        _print({Path(mission).stem: loaded})
        return
    items = [item.model_dump(exclude_none=True, exclude_defaults=True) for item in loaded.item]
    rows = [
        (str(number), loaded.item[number - 1].kind, ", ".join(f"{k} {v}" for k, v in item.items() if k != "kind"))
        for number, item in enumerate(items, start=1)
    ]
    print_columns(("item", "kind", "values"), rows, loaded.title or mission)


def _print(missions: Mapping[str, Mission]) -> None:
    """Missions by name as JSON."""
    data = {name: mission.model_dump(by_alias=True) for name, mission in missions.items()}
    print_json({"missions": data}, "ironbird/missions/1")
