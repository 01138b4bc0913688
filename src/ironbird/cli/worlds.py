"""Commands about worlds: list, content, check of files, drawing from above, picture of a camera."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ironbird.cli.completion import world_names
from ironbird.cli.options import OutOption, OutPathOption, StartOption, start_of
from ironbird.cli.output import JsonOption, errors, print_columns, print_json, print_sentence, print_table
from ironbird.errors import WorldError
from ironbird.files.work import working

if TYPE_CHECKING:
    from ironbird.world.model import World

CENTRE_M = 0.3  # height of a vehicle's centre above the ground at the start
WorldArgument = Annotated[
    str,
    typer.Argument(
        help="A name of 'ironbird world list', or a file: .toml, .sdf or .world (Gazebo), .yaml (Aerialist).",
        autocompletion=world_names,
    ),
]


def list_worlds(as_json: JsonOption = False) -> None:
    """List the worlds that `--world` may name."""
    from ironbird.world.files import WORLDS, load_world

    with errors():
        found = {name: load_world(name) for name, _ in WORLDS.loadable()}
    if as_json:
        print_json({"worlds": {name: _facts(world) for name, world in found.items()}}, "ironbird/worlds/1")
        return
    rows = [(name, str(len(world.obstacles)), world.title) for name, world in found.items()]
    print_columns(("name", "obstacles", "title"), rows, "Worlds")


def show_world(world: WorldArgument, as_json: JsonOption = False) -> None:
    """Show what a world has: terrain, obstacles, water, pads, movers, and what an import had no counterpart for."""
    from ironbird.world.files import load_world

    with errors():
        loaded = load_world(world)
    if as_json:
        print_json({"worlds": {loaded.name: _facts(loaded)}}, "ironbird/worlds/1")
        return
    facts = {key: str(value) for key, value in _facts(loaded).items() if key != "terrain_figures"}
    print_table(facts, loaded.title or loaded.name)


def check_world(
    files: Annotated[list[str], typer.Argument(help="Names or files of worlds.")],
    start: StartOption = None,
) -> None:
    """Check worlds: every key, mesh and height, and whether a vehicle can start in them."""
    from ironbird.world.files import load_world
    from ironbird.world.rays import Scene

    with errors():
        north, east, _ = start_of(start)
        for name in files:
            loaded = load_world(name)
            Scene(loaded).check_start("a vehicle", [[north, east, -CENTRE_M]])
            missing = f"; without {', '.join(loaded.missing)}" if loaded.missing else ""
            text = f"{name}: {len(loaded.obstacles)} obstacles, digest {loaded.digest[:16]}{missing}"
            print_sentence(text, name, _facts(loaded))


def draw_world(
    world: WorldArgument,
    out: OutOption = None,
) -> None:
    """Draw a world from above, as WORLD.svg or where --out says (.svg or .png)."""
    from ironbird.files.whole import replacing, write_text
    from ironbird.world.drawing import draw, extent_m, from_above
    from ironbird.world.files import load_world
    from ironbird.world.png import write_png

    with errors():
        loaded = load_world(world)
        path = out or Path(f"{loaded.name}.svg")
        if path.suffix.lower() == ".png":
            with replacing(path) as part:
                part.write_bytes(write_png(from_above(loaded, extent_m(loaded))))
        elif path.suffix.lower() == ".svg":
            write_text(path, draw(loaded))
        else:
            raise WorldError(f"a drawing is .svg or .png, not '{path.suffix}'")
    typer.echo(f"picture: {path}")


def look_into(
    world: WorldArgument,
    out: OutPathOption = Path("look.png"),
    camera: Annotated[str, typer.Option(help="Where the camera is: north,east,height in m.")] = "-30,0,10",
    turn: Annotated[str, typer.Option(help="Its roll,pitch,yaw in degrees.")] = "0,-10,0",
    moment: Annotated[float, typer.Option(help="When, in s: things that move are where they are then.", min=0)] = 0.0,
    field_of_view: Annotated[float, typer.Option(help="In degrees, across the picture.")] = 90.0,
    pixels: Annotated[str, typer.Option(help="Width,height of the picture in pixels.")] = "640,480",
) -> None:
    """Take a picture with a camera somewhere in a world."""
    import numpy as np

    from ironbird.files.whole import replacing
    from ironbird.rotations import from_euler
    from ironbird.world.files import load_world
    from ironbird.world.png import write_png
    from ironbird.world.rays import Scene
    from ironbird.world.runner import sensor_of
    from ironbird.world.sensors.sensor import Sight
    from ironbird.world.track import Track

    with errors():
        north, east, height = _three(camera)
        width, _, tall = pixels.partition(",")
        if not (width.strip().isdecimal() and tall.strip().isdecimal()):
            raise WorldError(f"--pixels '{pixels}' is not width,height; give two whole numbers such as 640,480")
        table = {"kind": "camera", "name": "look", "width": int(width), "height": int(tall), "antialias": 2}
        sensor = sensor_of(table | {"field_of_view_deg": field_of_view})
        scene = Scene(load_world(world)).at(moment)
        track = Track.still((north, east, -height), from_euler(np.radians(_three(turn))))
        with working("taking the picture"):
            data = sensor.measure(Sight(scene, track, moment, 0, 1))
        with replacing(out) as part:
            part.write_bytes(write_png(data["rgb"]))
    print_sentence(f"picture: {out}", world, {"file": str(out)})


def _three(text: str) -> tuple[float, float, float]:
    try:
        first, second, third = (float(word) for word in text.split(","))
    except ValueError:
        raise WorldError(f"'{text}' is not three numbers; write them such as 0,0,10") from None
    if not all(math.isfinite(number) and abs(number) < 1e6 for number in (first, second, third)):
        raise WorldError(f"'{text}' is not finite or too far; give metres or degrees below 1e6")
    return first, second, third


def _facts(world: World) -> dict[str, object]:
    from ironbird.world.model import Mesh, Plane

    ground = world.ground
    if isinstance(ground, Plane):
        terrain = f"plane at {ground.height_m:g} m, slopes {ground.slope_north:g} north, {ground.slope_east:g} east"
        figures: dict[str, object] = {
            "kind": "plane",
            "height_m": ground.height_m,
            "slope_north": ground.slope_north,
            "slope_east": ground.slope_east,
        }
    else:
        rows, columns = ground.heights_m.shape
        terrain = (
            f"grid of {rows} x {columns}, {ground.spacing_north_m:.4g} x {ground.spacing_east_m:.4g} m, heights "
            f"{ground.heights_m.min():.1f} to {ground.heights_m.max():.1f} m"
        )
        figures = {
            "kind": "grid",
            "points": [rows, columns],
            "spacing_m": [float(ground.spacing_north_m), float(ground.spacing_east_m)],
            "lowest_m": float(ground.heights_m.min()),
            "highest_m": float(ground.heights_m.max()),
        }
    kinds: dict[str, int] = {}
    for thing in world.obstacles:
        kinds[type(thing).__name__.lower()] = kinds.get(type(thing).__name__.lower(), 0) + 1
    facts: dict[str, object] = {
        "title": world.title,
        "terrain": terrain,
        "terrain_figures": figures,
        "obstacles": kinds,
        "triangles": sum(len(thing.triangles) for thing in world.obstacles if isinstance(thing, Mesh)),
        "water_m": None if world.water is None else world.water.height_m,
        "pads": [pad.name for pad in world.pads],
        "movers": [mover.name for mover in world.movers],
        "digest": world.digest,
    }
    if world.origin is not None:
        facts["origin"] = [world.origin.latitude_deg, world.origin.longitude_deg, world.origin.height_m]
    if world.missing:
        facts["missing"] = list(world.missing)
    return facts
