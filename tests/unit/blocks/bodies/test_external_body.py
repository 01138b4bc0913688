"""A body that is told its motion shows it in all the forms that sensors read."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.blocks.bodies.external_body import ExternalBody
from ironbird.compiler.compiled import compile_model
from ironbird.model.diagram import Diagram
from ironbird.rotations import from_euler, matrix
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing import check_block

INERTIA = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def test_the_block_passes_the_public_check() -> None:
    check_block(ExternalBody(), params={"mass": 1.0, "inertia": INERTIA})


def test_what_is_told_is_what_sensors_see() -> None:
    diagram = Diagram("told")
    body = diagram.add("body", ExternalBody())
    diagram.set("body.mass", 1.0)
    diagram.set("body.inertia", INERTIA)
    for name in ("told_p", "told_v", "told_q", "told_w", "told_specific_force"):
        diagram.export(body[name], name)
    diagram.export(body.gravity_N, "gravity")
    state = start(compile_model(diagram))
    attitude = from_euler(np.array([0.1, -0.2, 2.0]))
    velocity = np.array([3.0, -1.0, 0.5])
    told: dict[str, list[float] | np.ndarray] = {
        "told_p": [1.0, 2.0, -3.0], "told_v": velocity, "told_q": 2.0 * attitude, "told_w": [0.1, 0.2, 0.3],
        "told_specific_force": [0.0, 1.0, -9.0],
    }  # fmt: skip
    for name, value in told.items():
        state.set_input(name, value)
    log = run(state, 0.01, log_s=1e-3)
    assert log["body.p_NB_N"][-1] == pytest.approx([1.0, 2.0, -3.0])
    assert log["body.euler"][-1] == pytest.approx([0.1, -0.2, 2.0])  # a quaternion of any length
    assert log["body.v_NB_B"][-1] == pytest.approx(matrix(attitude).T @ velocity)
    assert log["body.specific_force_B"][-1] == pytest.approx([0.0, 1.0, -9.0])
    assert log["body.height"][-1] == pytest.approx(3.0)


def test_before_the_first_exchange_it_stands_level_and_at_rest_at_the_origin() -> None:
    diagram = Diagram("told")
    body = diagram.add("body", ExternalBody(), mass=1.0, inertia=INERTIA)
    diagram.export(body.gravity_N, "gravity")
    for name, value in {"p_0": [0.0] * 3, "v_0": [0.0] * 3, "q_0": [1.0, 0.0, 0.0, 0.0], "w_0": [0.0] * 3}.items():
        assert np.ravel(np.broadcast_to(diagram.value(f"body.{name}"), len(value))).tolist() == value
    log = run(start(compile_model(diagram)), 0.01, log_s=1e-3)
    for signal in ("p_NB_N", "v_NB_N", "euler", "w_NB_B"):
        assert not log[f"body.{signal}"].any(), signal
    assert log["body.specific_force_B"][-1] == pytest.approx([0.0, 0.0, -9.80665])
