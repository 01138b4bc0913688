"""A colour camera with its own renderer: rays, Lambert's law, shadows of the sun, fog; the same picture every time.

Light is added linearly and output as 8-bit sRGB. Not modelled: reflections, light from surface to surface, transparent
objects, textures beyond checkers and markers, automatic exposure.
"""

from __future__ import annotations

import functools
from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.world.native import exponential, uniforms
from ironbird.world.sensors.optics import PictureSensor
from ironbird.world.sensors.sensor import Data, Share, Sight

RENDERER_VERSION = 1  # part of the identity of a flight with cameras; a change of any pixel makes a new version


class Camera(PictureSensor):
    """`rgb` (height, width, 3), 8 bits.

    `exposure_s` blurs what moves (`exposure_steps` pictures are added); `blur_px` is the standard deviation of a lens
    out of focus; `noise` that of the reading in shares of white, `shot_noise` that of white by the number of photons;
    `gain` makes the picture brighter, `vignetting` its corners darker; `rain_mm_per_h` draws streaks, `dirt` is the
    share of the lens that is dirty. A pixel is one ray, or `antialias` squared ones.
    """

    UNITS = {"rgb": "1"}

    exposure_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    exposure_steps: Annotated[int, Field(ge=1, le=32)] = 4
    blur_px: Annotated[float, Field(ge=0, le=20)] = 0.0
    noise: Share = 0.0
    shot_noise: Share = 0.0
    gain: Annotated[float, Field(gt=0, le=100)] = 1.0
    vignetting: Share = 0.0
    rain_mm_per_h: Annotated[float, Field(ge=0, le=300)] = 0.0
    dirt: Share = 0.0
    shadows: bool = True
    antialias: Annotated[int, Field(ge=1, le=8)] = 1  # rays per pixel along each side

    @property
    def span_s(self) -> float:
        """Exposure and read-out time in s."""
        return self.exposure_s + self.readout_s

    def measure(self, sight: Sight) -> Data:
        """Render the image of one sample."""
        steps = self.exposure_steps if self.exposure_s > 0 else 1
        light = np.zeros((self.height * self.width, 3))
        for step in range(steps):
            light += self._linear(sight, self.exposure_s * step / steps)
        picture = (light / steps).reshape(self.height, self.width, 3)
        if self.rain_mm_per_h > 0:
            self._streaks(sight, picture)
        if self.dirt > 0:
            picture = picture * _lens_dirt(self.name, self.width, self.height, self.dirt, sight.seed)[:, :, None]
        if self.blur_px > 0:
            picture = _blurred(_blurred(picture, self.blur_px, 0), self.blur_px, 1)
        picture = picture * self.gain
        if self.vignetting > 0:
            cosine = self._directions[:, 0].reshape(self.height, self.width, 1)
            picture = picture * (1 - self.vignetting * (1 - cosine**4))  # partial cosine-fourth law
        if self.noise > 0 or self.shot_noise > 0:
            deviation = np.sqrt(self.noise**2 + self.shot_noise**2 * np.maximum(picture, 0.0))
            picture = picture + deviation * self.normals(sight, "noise", picture.size).reshape(picture.shape)
        return {"rgb": srgb(picture)}

    def _linear(self, sight: Sight, later_s: float) -> np.ndarray:
        origins, directions, hits = self._finer.look(sight, later_s)
        visibility = sight.scene.world.light.visibility_m
        fog = 3.912 / visibility if visibility > 0 else 0.0
        light = sight.scene.shade(origins, directions, hits, fog_per_m=fog, shadows=self.shadows)
        if self.antialias == 1:
            return light
        parts = light.reshape(self.height, self.antialias, self.width, self.antialias, 3)
        return parts.mean(axis=(1, 3)).reshape(-1, 3)

    @functools.cached_property
    def _finer(self) -> Camera:
        """The camera with a pixel for each ray of its antialiasing, from which its own pixels are averaged."""
        n = self.antialias
        return self if n == 1 else self.model_copy(update={"width": n * self.width, "height": n * self.height})

    def _streaks(self, sight: Sight, picture: np.ndarray) -> None:
        """Draw rain drops near the camera as bright lines, more in heavier rain. Number and length are assumed."""
        count = int(3 * self.rain_mm_per_h * self.width / 640)
        chance = self.uniforms(sight, "streaks", 3 * count).reshape(3, count)
        columns = (chance[0] * self.width).astype(int)
        lines = (chance[1] * self.height).astype(int)
        lengths = (self.height * (0.02 + 0.06 * chance[2])).astype(int) + 1
        for column, line, length in zip(columns, lines, lengths, strict=True):
            picture[line : line + length, column] = 0.6 * picture[line : line + length, column] + 0.3


@functools.lru_cache(maxsize=16)
def _lens_dirt(name: str, width: int, height: int, dirt: float, seed: int) -> np.ndarray:
    """Transmission of the dirt on the lens (height, width): round spots, the same in every image."""
    through = np.ones((height, width))
    down, right = np.arange(height)[:, None], np.arange(width)[None, :]
    spots = uniforms(seed, f"world/{name}/dirt", 0, 3 * 400).reshape(400, 3)
    for x, y, size in spots:
        if (through < 0.5).mean() >= dirt:
            break
        radius = width * (0.01 + 0.05 * size)
        away = ((right - x * width) ** 2 + (down - y * height) ** 2) / radius**2
        through *= 1 - 0.85 * exponential(-away * away)
    through.setflags(write=False)
    return through


def srgb(linear: np.ndarray) -> np.ndarray:
    """8-bit sRGB (IEC 61966-2-1) of linear light from 0 to 1."""
    return _levels()[(np.clip(linear, 0.0, 1.0) * 65535.0 + 0.5).astype(np.int64)]


@functools.cache
def _levels() -> np.ndarray:
    """Table of the sRGB level for 65536 brightnesses: the largest whose lower edge is not above the brightness."""
    edges = [(level - 0.5) / 255 for level in range(1, 256)]
    linear = [edge / 12.92 if edge <= 0.04045 else ((edge + 0.055) / 1.055) ** 2.4 for edge in edges]
    return np.searchsorted(np.array(linear) * 65535.0, np.arange(65536.0), side="right").astype(np.uint8)


def _blurred(picture: np.ndarray, deviation_px: float, axis: int) -> np.ndarray:
    """Gaussian filter along an axis; the rim is repeated."""
    reach = int(3 * deviation_px) + 1
    weight = exponential(-0.5 * (np.arange(-reach, reach + 1) / deviation_px) ** 2)
    weight /= weight.sum()
    pad = [(reach, reach) if a == axis else (0, 0) for a in range(3)]
    wide = np.pad(picture, pad, mode="edge")
    size = picture.shape[axis]
    out = np.zeros_like(picture)
    for place, share in enumerate(weight):
        out += share * np.take(wide, np.arange(place, place + size), axis=axis)
    return out
