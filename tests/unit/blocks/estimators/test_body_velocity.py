"""Velocity in body axes against scipy's rotation."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from ironbird.blocks.estimators.body_velocity import BodyVelocity
from ironbird.testing.alone import alone, outputs_at


def test_velocity_is_turned_into_body_axes() -> None:
    R = Rotation.from_euler("ZYX", [0.7, -0.3, 0.2])
    v = np.array([3.0, -1.0, 0.5])
    found = outputs_at(alone(BodyVelocity()), {"v_NB_N": v, "R_NB": R.as_matrix().flatten(order="F")})

    np.testing.assert_allclose(found["v_NB_B"][0], R.inv().apply(v), rtol=1e-12)
