"""Set-points of ground stations as targets of the commander, without a vehicle."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ironbird.protocols.mavlink import numbers
from ironbird.rig.commander.target import Target
from ironbird.systems.commanded.mavlink.setpoints import SetPoints

START_YAW = 0.6


class Commander:
    """Keeps the last target; its vehicle turns away after the start."""

    time_s = 0.0

    def __init__(self) -> None:
        self.yaw = START_YAW
        self.target: Target | None = None

    def estimate(self) -> Any:
        return SimpleNamespace(rpy=np.array([0.0, 0.0, self.yaw]), p_N=np.zeros(3))

    def offboard(self, target: Target) -> None:
        self.target = target


def message(frame: int, forward: float, right: float, down: float, yaw: float) -> Any:
    """The same place, velocity and acceleration, times 1, 2 and 3."""
    vectors = {f"{before}{axis}": scale * value for scale, before in ((1, ""), (2, "v"), (3, "af"))
               for axis, value in zip("xyz", (forward, right, down), strict=True)}  # fmt: skip
    return SimpleNamespace(coordinate_frame=frame, type_mask=0, yaw=yaw, yaw_rate=0.0, **vectors)


@pytest.mark.parametrize(("forward", "right"), [(1.0, 0.0), (0.0, 1.0), (3.0, -2.0)])
def test_axes_of_local_frd_are_those_of_the_heading_at_the_start(forward: float, right: float) -> None:
    """Forward is north turned by the heading to the east, right is a quarter of a turn further [MAVLink2]."""
    commander = Commander()
    points = SetPoints(cast(Any, commander), cast(Any, None), cast(Any, None))
    points.remember_start()
    commander.yaw = 2.0
    points.remember_start()  # the first heading stays
    points.take_local(cast(Any, None), message(numbers.FRAME_LOCAL_FRD, forward, right, -5.0, 0.25), cast(Any, None))

    ahead = np.array([math.cos(START_YAW), math.sin(START_YAW), 0.0])
    aside = np.array([math.cos(START_YAW + math.pi / 2), math.sin(START_YAW + math.pi / 2), 0.0])
    place = forward * ahead + right * aside + [0.0, 0.0, -5.0]
    target = commander.target
    assert target is not None and target.frame == "N" and target.yaw == pytest.approx(START_YAW + 0.25)
    for scale, found in enumerate((target.position_N, target.velocity_N, target.acceleration_N), start=1):
        assert found == pytest.approx(scale * place)
