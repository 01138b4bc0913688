"""Object numbers and classes of every pixel, without error. Ground truth for perception, no product."""

from __future__ import annotations

import numpy as np

from ironbird.world.sensors.optics import PictureSensor
from ironbird.world.sensors.sensor import Data, Sight


def classes_of(labels: tuple[str, ...]) -> list[str]:
    """Classes of a scene: the sky first, then in alphabetical order."""
    return ["sky", *sorted(set(labels))]


class SemanticCamera(PictureSensor):
    """`object` (height, width): the number of the object, -1 is the sky; `label`: its class, 0 is the sky."""

    UNITS = {"object": "1", "label": "1"}

    def measure(self, sight: Sight) -> Data:
        """The images of object numbers and of classes."""
        origins, directions, hits = self.look(sight)
        number = sight.scene.seen(origins, directions, hits)
        classes = classes_of(sight.scene.labels)
        table = np.array([0, *(classes.index(label) for label in sight.scene.labels)], np.uint8)
        shape = (self.height, self.width)
        return {"object": number.reshape(shape), "label": table[number + 1].reshape(shape)}
