"""An optical flow sensor that compares two successive images to measure the motion of the ground.

Iterated Lucas-Kanade on the whole picture, from coarse to fine (B. Lucas, T. Kanade, IJCAI 1981): one motion for all
pixels, as small flow sensors do. The flow is that of the image, with the vehicle's own rotation.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.sensors.camera import Camera
from ironbird.world.sensors.sensor import Data, Sight, Three

LUMA = np.array([0.2126, 0.7152, 0.0722])
STEPS = 8  # iterations on each level


class OpticalFlow(Camera):
    """`flow_rad` (2): angles by which the picture went right and down since the sample before; `quality` 0 to 255.

    `range_m` is the distance along the optical axis (NaN: too far). A quality of 0 means that the image has no
    structure, or moved too far to be followed.
    """

    UNITS = {"flow_rad": "rad", "interval_s": "s", "quality": "1", "range_m": "m"}

    euler_deg: Three = [0.0, -90.0, 0.0]
    width: Annotated[int, Field(ge=16, le=1024)] = 64
    height: Annotated[int, Field(ge=16, le=1024)] = 64
    field_of_view_deg: Annotated[float, Field(gt=0.1, lt=170)] = 42.0
    rate_hz: Annotated[float, Field(gt=0, le=1000)] = 50.0
    antialias: Annotated[int, Field(ge=1, le=8)] = 3  # one ray per pixel would show motions of whole pixels only
    blur_px: Annotated[float, Field(ge=0, le=20)] = 1.0  # keeps edges from being sharper than the search can follow
    range_max_m: Annotated[float, Field(gt=0, le=1e4)] = 100.0

    def measure(self, sight: Sight) -> Data:
        """Flow between the image of this sample and the previous one."""
        step = 1.0 / self.rate_hz
        before = Sight(sight.scene, sight.track, sight.time_s - step, max(sight.number - 1, 0), sight.seed, sight.skip,
                       sight.turn)  # fmt: skip
        sight.scene.at(max(before.time_s, 0.0))
        old = Camera.measure(self, before)["rgb"] @ LUMA
        sight.scene.at(sight.time_s)
        new = Camera.measure(self, sight)["rgb"] @ LUMA
        shift, quality = _shift(old, new)
        origins, directions = self.rays(sight, np.array([[1.0, 0.0, 0.0]]), sight.time_s)
        hit = sight.scene.cast(origins, directions, self.range_max_m, skip=sight.skip)
        return {
            "flow_rad": shift / self.focal_px,
            "interval_s": np.array([step]),
            "quality": np.array([quality], np.uint8),
            "range_m": np.where(hit.object >= 0, hit.range_m, np.nan),
        }

    @property
    def farthest_m(self) -> float:
        """Largest range in m along the optical axis."""
        return self.range_max_m

    def nearest_m(self, data: Data) -> float:
        """Range in m along the optical axis."""
        return float(data["range_m"][0])

    def blinded(self, data: Data) -> Data:
        """The sample without structure to follow."""
        return dict(data, flow_rad=np.zeros(2), quality=np.zeros(1, np.uint8), range_m=np.array([np.nan]))

    def occluded(self, data: Data, share: float) -> Data:
        """The sample with a share of the lens covered: flow and quality decrease by that share."""
        left = 1.0 - share
        quality = (data["quality"] * left).astype(np.uint8)
        return dict(data, flow_rad=data["flow_rad"] * left, quality=quality)


def _shift(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, int]:
    """Motion (right, down) in pixels between two images, and its quality."""
    pictures = [(old, new)]
    while min(pictures[-1][0].shape) >= 32:
        pictures.append((_half(pictures[-1][0]), _half(pictures[-1][1])))
    shift = np.zeros(2)
    for level, (a, b) in enumerate(reversed(pictures)):
        shift = shift * 2 if level else shift
        down, right = np.gradient(a)
        rim = 2
        inner = (slice(rim, -rim), slice(rim, -rim))
        gx, gy, base = right[inner], down[inner], a[inner]
        normal = np.array([[(gx * gx).sum(), (gx * gy).sum()], [(gx * gy).sum(), (gy * gy).sum()]])
        least = np.linalg.eigvalsh(normal)[0] / base.size
        if least < 0.01:  # grey levels squared: no structure in one direction
            return np.zeros(2), 0
        for _ in range(STEPS):
            rest = _moved(b, shift)[inner] - base
            step = np.linalg.solve(normal, [(gx * rest).sum(), (gy * rest).sum()])
            shift = shift - step
            if np.abs(step).max() < 1e-3:
                break
    rest = np.abs(_moved(new, shift) - old)[2:-2, 2:-2].mean()
    contrast = old.std() + 1e-9
    trusted = 255 * np.clip(1.2 - rest / contrast, 0.0, 1.0)
    if np.abs(shift).max() > 0.4 * min(old.shape):
        return np.zeros(2), 0
    return shift, int(trusted)


def _half(picture: np.ndarray) -> np.ndarray:
    rows, columns = picture.shape[0] // 2 * 2, picture.shape[1] // 2 * 2
    return picture[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2).mean(axis=(1, 3))


def _moved(picture: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The image shifted by a motion, linear between pixels; the rim is repeated."""
    rows, columns = picture.shape
    x = np.clip(np.arange(columns) + shift[0], 0, columns - 1.000001)
    y = np.clip(np.arange(rows) + shift[1], 0, rows - 1.000001)
    i, j = y.astype(int), x.astype(int)
    v, u = (y - i)[:, None], (x - j)[None, :]
    top = picture[i][:, j] * (1 - u) + picture[i][:, j + 1] * u
    low = picture[i + 1][:, j] * (1 - u) + picture[i + 1][:, j + 1] * u
    return top * (1 - v) + low * v
