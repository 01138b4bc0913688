"""Gazebo's motor model: thrust over speed and airspeed, torque, drag across."""

from __future__ import annotations

from typing import Any

import numpy as np

from ironbird.blocks.forces.puller import Puller
from ironbird.testing.alone import alone, outputs_at

# [GazeboPlane] models/plane
PARAMS: dict[str, Any] = {"motor_constant": 8.54858e-06, "moment_constant": 0.01, "drag_coefficient": 8.06428e-05}


def test_thrust_falls_to_nothing_at_25_mps_and_torque_does_not() -> None:
    speeds = np.array([0.0, 5.0, 15.0, 25.0, 40.0])
    flow = np.stack([speeds, 0 * speeds, 0 * speeds], axis=1)
    found = outputs_at(alone(Puller(), **PARAMS), {"speed": 2000.0, "v_air_B": flow})

    at_rest = 8.54858e-06 * 2000.0**2
    np.testing.assert_allclose(found["thrust"], at_rest * np.array([1.0, 0.8, 0.4, 0.0, 0.0]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["moment_B"], np.outer(np.ones(5), [-0.01 * at_rest, 0, 0]), rtol=1e-12)


def test_flow_across_the_disc_is_resisted_at_the_hub() -> None:
    model = alone(Puller(), position=[0.3, 0.0, 0.0], **PARAMS)
    found = outputs_at(model, {"speed": 1000.0, "v_air_B": [0.0, 3.0, -2.0]})

    drag = -8.06428e-05 * 1000.0 * np.array([0.0, 3.0, -2.0])
    np.testing.assert_allclose(found["force_B"][0], [8.54858, *drag[1:]], rtol=1e-12)
    np.testing.assert_allclose(found["moment_B"][0, 1:], [-0.3 * drag[2], 0.3 * drag[1]], rtol=1e-12)
