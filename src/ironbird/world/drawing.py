"""Drawing of a world from above: rendered straight down, with names, pads, paths and a scale on top."""

from __future__ import annotations

import base64
import math
from html import escape

import numpy as np

from ironbird.world.model import Heightfield, Mesh, World
from ironbird.world.png import write_png
from ironbird.world.rays import Scene
from ironbird.world.sensors.camera import srgb

SIDE_PX = 720
LEAST_M, MOST_M = 20.0, 20_000.0
NAMED = 40  # most names that are drawn


def extent_m(world: World) -> float:
    """Half side in m of a square around the origin that contains all objects of the world."""
    reach = [LEAST_M, *(math.hypot(*o.p_N_m[:2]) for o in world.obstacles)]
    reach += [math.hypot(p.north_m, p.east_m) for p in world.pads if not p.mover]
    reach += [float(np.abs(m.positions_m[:, :2]).max()) for m in world.movers]
    ground = world.ground
    if isinstance(ground, Heightfield) and len(world.obstacles) < 5:
        reach.append(0.5 * min(ground.heights_m.shape[0] * ground.spacing_north_m,
                               ground.heights_m.shape[1] * ground.spacing_east_m) / 1.15)  # fmt: skip
    return min(1.15 * max(reach), MOST_M)


def from_above(world: World, half_m: float, side_px: int = SIDE_PX) -> np.ndarray:
    """Image (side, side, 3) of 8 bits, north up."""
    scene = Scene(world)
    metres = (np.arange(side_px) - (side_px - 1) / 2) * 2 * half_m / side_px
    north, east = (part.reshape(-1) for part in np.meshgrid(-metres, metres, indexing="ij"))
    top = 1.0 + max(
        [float(np.max(world.ground.height_at(north, east)))]
        + [float(np.abs(o.vertices_m).max()) - o.p_N_m[2] for o in world.obstacles if isinstance(o, Mesh)]
        + [500.0 - o.p_N_m[2] for o in world.obstacles]
    )
    origins = np.column_stack([north, east, np.full(len(north), -top)])
    down = np.tile([0.0, 0.0, 1.0], (len(north), 1))
    hits = scene.cast(origins, down)
    return srgb(scene.shade(origins, down, hits, fog_per_m=0.0, shadows=True).reshape(side_px, side_px, 3))


def draw(world: World) -> str:
    """The drawing as SVG, with the rendered image inside."""
    half = extent_m(world)
    picture = base64.b64encode(write_png(from_above(world, half))).decode()
    scale = SIDE_PX / (2 * half)

    def at(north: float, east: float) -> tuple[float, float]:
        return SIDE_PX / 2 + east * scale, SIDE_PX / 2 - north * scale

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE_PX}" height="{SIDE_PX + 46}" '
        f'viewBox="0 0 {SIDE_PX} {SIDE_PX + 46}" font-family="sans-serif" font-size="11">',
        f'<rect width="{SIDE_PX}" height="{SIDE_PX + 46}" fill="white"/>',
        f'<image width="{SIDE_PX}" height="{SIDE_PX}" href="data:image/png;base64,{picture}"/>',
    ]
    for mover in world.movers:
        points = " ".join("{:.1f},{:.1f}".format(*at(n, e)) for n, e in mover.positions_m[:, :2])
        parts.append(f'<polyline points="{points}" fill="none" stroke="#d22" stroke-width="2" stroke-dasharray="6 4"/>')
        parts.append(_text(*at(*mover.pose_at(0.0)[0][:2]), mover.name))
    for pad in world.pads:
        if not pad.mover:
            x, y = at(pad.north_m, pad.east_m)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{max(4.0, pad.radius_m * scale):.1f}" fill="none" '
                         'stroke="#06c" stroke-width="2"/>')  # fmt: skip
            parts.append(_text(x + 6, y, pad.name))
    if len(world.obstacles) <= NAMED:
        parts += [_text(*at(*thing.p_N_m[:2]), thing.name) for thing in world.obstacles]
    x, y = at(0.0, 0.0)
    parts.append(f'<path d="M{x - 8:.1f} {y:.1f}H{x + 8:.1f}M{x:.1f} {y + 8:.1f}V{y - 8:.1f}" stroke="#000"/>')
    bar = 10 ** math.floor(math.log10(half))
    parts.append(
        f'<path d="M10 {SIDE_PX + 34}h{bar * scale:.1f}" stroke="#000" stroke-width="3"/>'
        f'<text x="10" y="{SIDE_PX + 26}">{bar:g} m</text>'
        f'<text x="{SIDE_PX / 2}" y="{SIDE_PX + 30}" text-anchor="middle">{escape(world.name)}: '
        f"{escape(world.title)} (north is up)</text></svg>"
    )
    return "\n".join(parts)


def _text(x: float, y: float, text: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" stroke="#fff" stroke-width="3" paint-order="stroke" fill="#111" '
        f'text-anchor="middle">{escape(text)}</text>'
    )
