"""Motion of every pixel to the next image, without error. Ground truth for optical flow, no product."""

from __future__ import annotations

import numpy as np

from ironbird.world.sensors.optics import PictureSensor
from ironbird.world.sensors.sensor import Data, Sight


class FlowCamera(PictureSensor):
    """`flow_px` (height, width, 2): where what a pixel shows will be 1 / rate_hz later, less where it is.

    Right and down, in pixels; NaN for the sky and for what goes behind the camera. Moving objects carry their points
    along; later occlusion of a point is not considered.
    """

    UNITS = {"flow_px": "1"}

    def measure(self, sight: Sight) -> Data:
        """The flow image of one sample."""
        later = sight.time_s + 1.0 / self.rate_hz
        origins, directions, hits = self.look(sight)
        points = origins + hits.range_m[:, None] * directions
        scene = sight.scene
        moving = [number for number in np.unique(hits.object) if number >= scene.first_mover]
        before = {number: scene.pose_of(number) for number in moving}
        scene.at(later)
        for number in moving:
            mask = hits.object == number
            (place, turn), (next_place, next_turn) = before[number], scene.pose_of(number)
            points[mask] = (points[mask] - place) @ turn @ next_turn.T + next_place
        scene.at(sight.time_s)
        if self.readout_s > 0:
            lines = later + self.readout_s * np.arange(self.height) / (self.height - 1)
            place, R_NS = (np.repeat(part, self.width, axis=0) for part in self.poses(sight, lines))
        else:
            place, R_NS = self.poses(sight, later)
        pixels = self.project(np.einsum("nij,ni->nj", np.broadcast_to(R_NS, (len(points), 3, 3)), points - place))
        down, right = np.divmod(np.arange(len(points)), self.width)
        flow = pixels - np.stack([right, down], axis=-1)
        flow[hits.object < 0] = np.nan
        return {"flow_px": flow.reshape(self.height, self.width, 2)}
