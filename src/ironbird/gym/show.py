"""Pictures of an episode: an array of colours, a page that replays it, or a window (a film in a browser).

A camera follows the first vehicle; the renderer is that of the world's sensors. The vehicle is drawn by the places of
its rotors, without its true shape; what a task marks (a target, gates, a deck) is drawn as spheres and boxes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ironbird.errors import RunError, UnknownNameError
from ironbird.gym.window import Window
from ironbird.report.flight.plots import TimePlots, ink, panels_of
from ironbird.report.picture import Picture, picture, replay_figure
from ironbird.rotations import from_matrices
from ironbird.vehicles import places as at
from ironbird.vehicles.shape import shape
from ironbird.world.model import Box, Cylinder, Material, Obstacle, Plane, World
from ironbird.world.png import write_png
from ironbird.world.rays import Scene
from ironbird.world.sensors.camera import srgb

if TYPE_CHECKING:
    from ironbird.gym.rollout import Rollout

RENDER_MODES = ("human", "rgb_array", "replay")
WIDTH, HEIGHT = 480, 360
FIELD_RAD = 1.0  # across the width
LEAST_REACH_M = 0.15  # of a vehicle's rotors from its centre: smaller ones are drawn larger
GRASS = Material("grass", colour=(0.20, 0.28, 0.14), colour_2=(0.24, 0.32, 0.17), checker_m=1.0)
FRAME = Material("frame", colour=(0.08, 0.08, 0.09))
FRONT = Material("front", colour=(0.75, 0.12, 0.05))
BACK = Material("back", colour=(0.30, 0.30, 0.33))


class Show:
    """What `render` shows of the first vehicle of a rollout; with the mode `replay` it records the episode's path."""

    def __init__(self, mode: str, rollout: Rollout) -> None:
        self.mode, self.rollout = mode, rollout
        self.shape = shape(rollout.fitted.vehicle)
        self._rows: list[tuple[float, np.ndarray, np.ndarray, float]] = []  # time, place, attitude, reward
        self._window: Window | None = None

    @staticmethod
    def of(mode: str | None, rollout: Rollout) -> Show | None:
        """Of a render mode of gymnasium; None without one."""
        if mode is not None and mode not in RENDER_MODES:
            raise UnknownNameError("render_mode", mode, RENDER_MODES)
        return None if mode is None else Show(mode, rollout)

    def begin(self) -> None:
        """Forget the path of the episode before."""
        self._rows.clear()
        self._keep(0.0)

    def step(self) -> None:
        """Take note of a decision."""
        self._keep(float(self.rollout.outcome.reward[0]))
        if self.mode == "human" and (self._window is None or self._window.due()):
            self.render()

    def _keep(self, reward: float) -> None:
        if self.mode == "replay":
            self._rows.append((self.rollout.time_s(0), *self._pose(), reward))

    def _pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Position in N and R_NB."""
        place, attitude = (self.rollout.seen[path][0].copy() for path in (at.BODY.position, at.BODY.attitude))
        return place, attitude.reshape(3, 3).T

    def render(self) -> Any:
        """As gymnasium's `render`: an array (height, width, 3), a `Picture` of the path so far, or None (a window)."""
        if self.mode == "replay":
            return self._replay()
        pixels = self._picture()
        if self.mode == "rgb_array":
            return pixels
        if self._window is None:
            self._window = Window(f"{type(self.rollout.task).__name__}, {self.rollout.task.vehicle}")
        self._window.show(write_png(pixels))
        return None

    # ------------------------------------------------------------------ a picture

    def _picture(self) -> np.ndarray:
        place, rotation = self._pose()
        marks = self.rollout.task.marks(self.rollout.memory[0], self.rollout.time_s(0))
        things: list[Obstacle] = [*marks, *self._vehicle(place, rotation)]
        scene = Scene(World("episode", terrain=Plane(material=GRASS), obstacles=tuple(things)))
        reach = 8.0 * self._reach() + 1.0
        eye = place + reach * np.array([-0.9, 0.25, -0.38])
        eye[2] = min(eye[2], -0.3)
        forward = (place - eye) / np.linalg.norm(place - eye)
        right = np.array([-forward[1], forward[0], 0.0]) / math.hypot(forward[0], forward[1])
        down = np.cross(forward, right)
        half = math.tan(FIELD_RAD / 2)
        u = (np.arange(WIDTH) - (WIDTH - 1) / 2) * 2 * half / WIDTH
        v = (np.arange(HEIGHT) - (HEIGHT - 1) / 2) * 2 * half / WIDTH
        rays = (forward + v[:, None, None] * down + u[None, :, None] * right).reshape(-1, 3)
        rays /= np.linalg.norm(rays, axis=1)[:, None]
        eyes = np.tile(eye, (len(rays), 1))
        light = scene.shade(eyes, rays, scene.cast(eyes, rays), fog_per_m=0.004, shadows=True)
        return np.asarray(srgb(light.reshape(HEIGHT, WIDTH, 3)))

    def _reach(self) -> float:
        return max([math.hypot(*rotor[:2]) for rotor in self.shape["rotors"]] + [LEAST_REACH_M])

    def _vehicle(self, place: np.ndarray, rotation: np.ndarray) -> list[Obstacle]:
        """A body, an arm and a disc for each rotor; those in front are red."""
        q, size = from_matrices(rotation[None])[0], self._reach()
        hull = (0.5 * size, 0.3 * size, 0.2 * size)
        things: list[Obstacle] = [Box("body", tuple(place), tuple(q), FRAME, size_m=hull)]
        for number, hub in enumerate(self.shape["rotors"]):
            angle, half = math.atan2(hub[1], hub[0]), math.hypot(hub[0], hub[1]) / 2
            turn = rotation @ _about_down(angle)
            arm = place + rotation @ np.array([hub[0] / 2, hub[1] / 2, hub[2] / 2])
            if half > 0.01:
                bar = (2 * half, 0.06 * size, 0.05 * size)
                things.append(Box(f"arm {number}", tuple(arm), tuple(from_matrices(turn[None])[0]), FRAME, size_m=bar))
            disc = place + rotation @ np.array([hub[0], hub[1], hub[2] - 0.06 * size])
            look = FRONT if hub[0] > 0.1 * size else BACK
            things.append(
                Cylinder(f"disc {number}", tuple(disc), tuple(q), look, radius_m=0.42 * size, height_m=0.02 * size)
            )
        return things

    # ------------------------------------------------------------------ a page

    def _replay(self) -> Picture:
        if not self._rows:
            raise RunError("no episode has begun: call reset first")
        time_s = np.array([row[0] for row in self._rows])
        place = np.array([row[1] for row in self._rows])
        q_NB = from_matrices(np.array([row[2] for row in self._rows]))
        plots = TimePlots(float(time_s[0]), float(time_s[-1]))
        names = ("north", "east", "height")
        curves = [plots.line(time_s, place[:, i] * (1, 1, -1)[i], name, ink(i), "m") for i, name in enumerate(names)]
        rewards = plots.line(time_s, np.array([row[3] for row in self._rows]), "reward", ink(0), "1")
        made = [("Position", "m", plots.figure("position", curves)), ("Reward", "1", plots.figure("reward", [rewards]))]
        marks = [
            {
                "name": mark.name,
                "symbol": "diamond",
                "ink": "var(--c1)",
                "place": (np.array(mark.p_N_m) * (1, 1, -1)).tolist(),
            }
            for mark in self.rollout.task.marks(self.rollout.memory[0], float(time_s[-1]))
        ]
        over = bool(self.rollout.outcome.terminated[0]) and not self.rollout.outcome.success[0]
        plots.figures["replay"] = replay_figure(time_s, place, q_NB, self.shape, marks, crashed=over)
        title = f"{type(self.rollout.task).__name__}, {self.rollout.task.vehicle}: {len(time_s) - 1} decisions"
        return picture(title, plots.figures, panels_of(made), time_range=plots.range)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


def _about_down(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
