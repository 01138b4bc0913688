"""HoverFrame: a tail-sitter with its nose up is level in hover axes, whatever its heading."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.blocks.bodies.hover_frame import HoverFrame
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

NOSE_UP = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]  # R_HB of a pitch of 90 degrees


def turn(axis: int, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[[i, j], [i, j]] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix


def test_block_passes_the_public_check() -> None:
    check_block(HoverFrame(), params={"R_HB": NOSE_UP})


@pytest.mark.parametrize("yaw", [-2.5, 0.0, 1.0, 3.0])
def test_nose_up_is_level_with_the_belly_ahead(yaw: float) -> None:
    R_NB = turn(2, yaw) @ turn(1, math.pi / 2)
    found = outputs_at(alone(HoverFrame(), R_HB=NOSE_UP), {"R_NB": R_NB.flatten(order="F"), "w_NB_B": [0.3, -0.2, 0.1]})

    R_NH = found["R_NH"][0].reshape(3, 3, order="F")
    np.testing.assert_allclose(R_NH, turn(2, yaw), rtol=0, atol=1e-15)
    np.testing.assert_allclose(R_NH @ found["w_NH_H"][0], R_NB @ [0.3, -0.2, 0.1], rtol=0, atol=1e-15)
