"""Motion of a vehicle: poses over time, interpolated in between."""

from __future__ import annotations

from typing import Any

import numpy as np

from ironbird.errors import WorldError
from ironbird.world.native import sine_cosine


class Track:
    """Places p_N_m (n, 3) and attitudes q_NB (n, 4) at rising times; linear in between, the shorter way round.

    Before the first and after the last time the vehicle stays where it is.
    """

    def __init__(self, times_s: Any, p_N_m: Any, q_NB: Any) -> None:
        self.times_s = np.atleast_1d(np.asarray(times_s, float))
        self.p_N_m, q = np.atleast_2d(np.asarray(p_N_m, float)), np.atleast_2d(np.array(q_NB, float))
        count = len(self.times_s)
        if self.p_N_m.shape != (count, 3) or q.shape != (count, 4) or not count:
            raise WorldError(
                f"a track has {count} times, places {self.p_N_m.shape} and attitudes {q.shape}; give n, (n, 3), (n, 4)"
            )
        if not all(np.isfinite(a).all() for a in (self.times_s, self.p_N_m, q)):
            raise WorldError("a track has numbers that are not finite; end it before the run diverged")
        if not (np.diff(self.times_s) > 0).all():
            raise WorldError("the times of a track do not rise; put its rows in order")
        length = np.sqrt((q**2).sum(axis=1))
        if not (length > 0.5).all():
            raise WorldError("a track has attitudes without length; give unit quaternions")
        q /= length[:, None]
        turned = np.cumprod(np.where((q[1:] * q[:-1]).sum(axis=1) < 0, -1.0, 1.0))
        q[1:] *= turned[:, None]  # neighbours in the same half of the sphere
        self.q_NB = q

    @classmethod
    def still(cls, p_N_m: Any, q_NB: Any = (1.0, 0.0, 0.0, 0.0)) -> Track:
        """The track of a vehicle that does not move."""
        return cls([0.0], [p_N_m], [q_NB])

    def at(self, times_s: Any) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) and rotation matrices R_NB (n, 3, 3) at times in s."""
        times = np.atleast_1d(np.asarray(times_s, float))
        place = np.stack([np.interp(times, self.times_s, self.p_N_m[:, axis]) for axis in range(3)], axis=-1)
        q = np.stack([np.interp(times, self.times_s, self.q_NB[:, axis]) for axis in range(4)], axis=-1)
        q /= np.sqrt((q**2).sum(axis=1))[:, None]
        return place, matrices(q)


def turned(euler_rad: Any) -> np.ndarray:
    """Rotation matrix of roll, pitch, yaw in rad, with the same bits on every machine."""
    (sr, sp, sy), (cr, cp, cy) = sine_cosine(np.asarray(euler_rad, float))
    return np.array(
        [
            [cp * cy, sr * sp * cy - cr * sy, cr * sp * cy + sr * sy],
            [cp * sy, sr * sp * sy + cr * cy, cr * sp * sy - sr * cy],
            [-sp, sr * cp, cr * cp],
        ]
    )


def matrices(q: np.ndarray) -> np.ndarray:
    """Rotation matrices R_NB (n, 3, 3) of unit quaternions (n, 4)."""
    w, x, y, z = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    return np.stack(
        [
            1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
        ],
        axis=-1,
    ).reshape(-1, 3, 3)  # fmt: skip
