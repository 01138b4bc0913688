"""A quadcopter finds a marker with its camera and lands on it; camera, detector and control run on the processor.

    python examples/visual_landing.py

The world is a field with a pad 3 m north and 2 m west of where GNSS alone would land. Ten pictures a second are drawn
by the renderer of the world, the marker is found by `ironbird.world.marker`, and velocities go to the reference
autopilot. Prints how far from the middle of the pad the vehicle stands at the end; a page with the last pictures is in
out/visual_landing.html.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import ironbird as ib
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.target import Target
from ironbird.rotations import matrix
from ironbird.systems.commanded.front import ProgramFront, lasting, until
from ironbird.systems.commanded.kind import CommandedSystem
from ironbird.world.marker import find_markers
from ironbird.world.model import Material, Pad, Plane, World
from ironbird.world.png import write_png
from ironbird.world.rays import Scene
from ironbird.world.sensors.camera import Camera
from ironbird.world.sensors.sensor import Sight
from ironbird.world.track import Track

PAGE = Path("out") / "visual_landing.html"
PAD = Pad("pad", 3.0, -2.0, radius_m=0.8, marker=21)
GRASS = Material("grass", colour=(0.25, 0.4, 0.14), colour_2=(0.22, 0.36, 0.12), checker_m=1.0)
WORLD = World("field", terrain=Plane(material=GRASS), pads=(PAD,))
CAMERA = {"name": "down", "width": 320, "height": 240, "field_of_view_deg": 80.0,
          "euler_deg": [0.0, -90.0, 0.0], "rate_hz": 10.0, "noise": 0.01}  # fmt: skip


@dataclass
class Landing:
    """The program that flies: it knows the marker's number, nothing of where it lies."""

    scene: Scene = field(default_factory=lambda: Scene(WORLD))
    camera: Camera = field(default_factory=lambda: Camera.model_validate(CAMERA))
    pictures: list[np.ndarray] = field(default_factory=list)
    seen: int = 0

    def plan(self, vehicle: Commander) -> Iterator[None]:
        """Take off, look, come down over the marker, land."""
        yield from until(lambda: vehicle.arm() is None)
        vehicle.take_off(6.0)
        yield from until(lambda: vehicle.mode == "hold")
        vehicle.offboard(Target(velocity_N=(0.0, 0.0, 0.0)))
        vehicle.set_mode("offboard")
        height = 6.0
        while height > 0.7:
            error = self._look(vehicle)
            height = -float(vehicle.seen().p_N[2])
            if error is None:
                speed = np.zeros(3)  # wait: the picture may come back
            else:
                speed = np.append(np.clip(0.8 * error, -1.0, 1.0), 0.5 if np.hypot(*error) < 0.4 else 0.0)
            command = Target(velocity_N=(float(speed[0]), float(speed[1]), float(speed[2])), yaw=0.0)
            yield from lasting(vehicle, 0.1, lambda command=command: vehicle.offboard(command))  # type: ignore[misc]
        vehicle.land()
        yield from until(lambda: not vehicle.armed)

    def _look(self, vehicle: Commander) -> np.ndarray | None:
        """How far north and east of the vehicle the marker is, in m; None if it is not in the picture."""
        camera = self.camera
        truth, believed = vehicle.truth(), vehicle.seen()
        track = Track.still(truth.p_N, truth.q_NB)
        sight = Sight(self.scene, track, vehicle.time_s, len(self.pictures), seed=1)
        self.pictures.append(camera.measure(sight)["rgb"])
        markers = [marker for marker in find_markers(self.pictures[-1]) if marker.number == PAD.marker]
        if not markers:
            return None
        self.seen += 1
        u, v = (markers[0].centre_px - camera.centre_px) / camera.focal_px
        ray = matrix(believed.q_NB) @ np.array([-v, u, 1.0])  # the picture's upper edge is ahead, the camera looks down
        height = -float(believed.p_N[2])
        return np.asarray(ray[:2] / ray[2] * height)


def fly() -> tuple[Landing, np.ndarray]:
    """The flight: its program, and where the vehicle stands at the end, from the middle of the pad."""
    landing = Landing()
    flight = ib.fly("quad_f450", control=CommandedSystem(ProgramFront(landing.plan)), until_s=90.0)
    end = flight.log["body.p_NB_N"][-1]
    return landing, np.array([end[0] - PAD.north_m, end[1] - PAD.east_m])


def main() -> None:
    """Fly, print and show."""
    landing, off = fly()
    told = f"stands {np.hypot(*off):.2f} m from the middle of a pad of {PAD.radius_m} m radius"
    print(f"marker {PAD.marker} found in {landing.seen} of {len(landing.pictures)} pictures")
    print(told)
    PAGE.parent.mkdir(exist_ok=True)
    shown = [base64.b64encode(write_png(rgb)).decode() for rgb in landing.pictures[::12]]
    pictures = "".join(f'<img src="data:image/png;base64,{picture}" alt="camera">' for picture in shown)
    PAGE.write_text(f"<!DOCTYPE html><title>Visual landing</title><p>The vehicle {told}.</p>{pictures}")
    print(f"page: {PAGE}")


if __name__ == "__main__":
    main()
