"""What policies observe: signals of the vehicle, and the way to a point, in N and in body axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ironbird.errors import LinkError
from ironbird.model.signal import entry_names
from ironbird.rig.rig import Rig
from ironbird.rotations import matrix
from ironbird.vehicles import places as at

SIZES = {  # observations that a flight can give
    at.BODY.velocity: 3,
    at.BODY.attitude: 9,
    at.BODY.rates: 3,
    "to_target": 3,
    "way_B": 3,
    "velocity_B": 3,
    "down_B": 3,
}


def in_body_axes(
    velocity_N: np.ndarray, attitude: np.ndarray, way_N: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, way and the vertical in body axes, each [vehicle, 3]; `attitude` is R_NB column by column."""
    R_BN = attitude.reshape(-1, 3, 3)  # columns of R_NB are rows of its inverse
    turned = (np.einsum("nij,nj->ni", R_BN, vector) for vector in (velocity_N, way_N))
    velocity, way = turned
    return velocity, way, R_BN[:, :, 2]


class Observer:
    """The observation of a policy in a flight, by the names of its numbers.

    Position, velocity and attitude are true; the rates are those of the gyroscopes after their faults (the median of
    each axis), or true with `state="truth"`.
    """

    def __init__(self, names: Sequence[str], *, gyros: bool) -> None:
        known = [entry for name, size in SIZES.items() for entry in entry_names(name, size)]
        if strange := [name for name in names if name not in known]:
            raise LinkError(
                f"the policy observes {', '.join(strange[:3])}, which a flight does not give; it gives "
                f"{', '.join(SIZES)}"
            )
        self._rows = np.array([known.index(name) for name in names])
        self._gyros = gyros

    def observe(self, rig: Rig, target_N: np.ndarray) -> np.ndarray:
        """The numbers at this moment, in SI, with the way to a point in N."""
        R_NB = matrix(rig.truth("q"))
        velocity_N, rates = R_NB @ rig.truth("v"), rig.truth("w")
        if self._gyros:
            rates = np.median([gyro.values for gyro in rig.gyros], axis=0)
        way = target_N - rig.truth("p")
        attitude = R_NB.T.ravel()  # column by column
        body = in_body_axes(velocity_N[None], attitude[None], way[None])
        turned = (body[1][0], body[0][0], body[2][0])  # way, velocity, vertical
        return np.concatenate([velocity_N, attitude, rates, way, *turned])[self._rows]
