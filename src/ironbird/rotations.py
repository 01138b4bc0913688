"""Rotations in plain numbers: quaternions q_NB (w x y z) and matrices R_NB, both of which map B to N.

Quaternions are arrays whose last axis has the four components, so that one or many may be given; inside a model the
same is done by `symbolic/`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Numbers = Sequence[float] | np.ndarray


def multiply(p: Numbers, q: Numbers) -> np.ndarray:
    """The product of quaternions: first `q`, then `p`."""
    (w, x, y, z), (a, b, c, d) = _parts(p), _parts(q)
    return np.stack(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ],
        axis=-1,
    )


def conjugate(q: Numbers) -> np.ndarray:
    """The inverse of quaternions of unit length."""
    return np.asarray(q, float) * [1.0, -1.0, -1.0, -1.0]


def rotate(q: Numbers, v: Numbers) -> np.ndarray:
    """Vectors turned by quaternions of unit length: from B to N."""
    (w, x, y, z), (a, b, c) = _parts(q), _parts(v)
    p, r, s = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack([a + w * p + y * s - z * r, b + w * r + z * p - x * s, c + w * s + x * r - y * p], axis=-1)


def rotate_one(q: Sequence[float], v: Sequence[float]) -> tuple[float, float, float]:
    """The same for one vector, to the same bits, in plain numbers: where it is done at every step."""
    (w, x, y, z), (a, b, c) = q, v
    p, r, s = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * p + y * s - z * r, b + w * r + z * p - x * s, c + w * s + x * r - y * p


def matrix(q: Numbers) -> np.ndarray:
    """R_NB of a quaternion of any length."""
    w, x, y, z = np.asarray(q, float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def from_matrix(rotation: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation matrix, by its largest component."""
    trace = rotation.trace()
    largest = int(np.argmax([trace, *rotation.diagonal()]))
    q = np.empty(4)
    if largest == 0:
        q[0] = 1 + trace
        q[1:] = (rotation - rotation.T)[[2, 0, 1], [1, 2, 0]]
    else:
        i, j, k = (largest - 1, largest % 3, (largest + 1) % 3)
        q[0] = rotation[k, j] - rotation[j, k]
        q[1 + i] = 1 + 2 * rotation[i, i] - trace
        q[1 + j], q[1 + k] = rotation[j, i] + rotation[i, j], rotation[k, i] + rotation[i, k]
    return q / np.linalg.norm(q)


def from_matrices(rotations: np.ndarray) -> np.ndarray:
    """The quaternions (n, 4) of rotation matrices (n, 3, 3), each by its largest component."""
    R = np.asarray(rotations, float)
    x, y, z = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    a, b, c = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d, e, f = R[:, 1, 0] + R[:, 0, 1], R[:, 0, 2] + R[:, 2, 0], R[:, 2, 1] + R[:, 1, 2]
    ways = np.stack(
        [
            np.stack([1 + x + y + z, a, b, c], axis=-1),
            np.stack([a, 1 + x - y - z, d, e], axis=-1),
            np.stack([b, d, 1 - x + y - z, f], axis=-1),
            np.stack([c, e, f, 1 - x - y + z], axis=-1),
        ]
    )
    q = ways[np.argmax([x + y + z, x, y, z], axis=0), np.arange(len(R))]
    return np.asarray(q / np.sqrt((q * q).sum(axis=1))[:, None])


def from_euler(angles: Numbers) -> np.ndarray:
    """The quaternions of roll, pitch and yaw: turns about z, then y, then x."""
    (cr, cp, cy), (sr, sp, sy) = (_parts(turn(np.asarray(angles, float) / 2)) for turn in (np.cos, np.sin))
    return np.stack(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ],
        axis=-1,
    )


def euler(q: Numbers) -> np.ndarray:
    """Roll, pitch and yaw of quaternions of unit length."""
    w, x, y, z = _parts(q)
    with np.errstate(invalid="ignore"):
        pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return np.stack([roll, pitch, np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))], axis=-1)


def euler_of_matrix(rotation: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a rotation matrix."""
    pitch = np.arcsin(np.clip(-rotation[2, 0], -1.0, 1.0))
    roll, yaw = np.arctan2(rotation[2, 1], rotation[2, 2]), np.arctan2(rotation[1, 0], rotation[0, 0])
    return np.array([roll, pitch, yaw])


def _parts(values: Numbers) -> list[np.ndarray]:
    array = np.asarray(values, float)
    return [array[..., place] for place in range(array.shape[-1])]
