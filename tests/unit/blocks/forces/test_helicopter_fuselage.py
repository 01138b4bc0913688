"""Fuselage, fin and tail against the formulas by hand, and the directions of their effects."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from ironbird.blocks.forces.helicopter_fuselage import HelicopterFuselage
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing import check_block
from ironbird.testing.alone import alone, outputs_at

HALF = 0.5 * 1.225
PARAMS: dict[str, Any] = {
    "drag_area": [0.1, 0.22, 0.15], "fin_area": 0.012, "fin_lift_slope": 2.0, "fin_exposed": 0.2, "fin_arm": 0.91,
    "fin_height": 0.08, "tail_area": 0.01, "tail_lift_slope": 3.0, "tail_arm": 0.71, "sweep_begin": 0.0625,
    "sweep_end": 3.3125,
}  # fmt: skip


@functools.cache
def model() -> CompiledModel:
    return alone(HelicopterFuselage(), **PARAMS)


def at(velocity: list[float], rates: list[float] | None = None, **inputs: float) -> dict[str, np.ndarray]:
    values: dict[str, Any] = {
        "v_air_B": [velocity],
        "w_NB_B": [rates or [0.0, 0.0, 0.0]],
        **{k: [v] for k, v in inputs.items()},
    }
    return {name: value[0] for name, value in outputs_at(model(), values).items()}


def test_block_passes_the_public_check() -> None:
    check_block(HelicopterFuselage(), params=PARAMS, inputs={"v_air_B": [5.0, 1.0, -1.0], "main_wash": 4.0})


def test_downwash_of_a_hover_loads_the_fuselage() -> None:
    found = at([0.0, 0.0, 0.0], main_wash=4.4)

    assert found["force_B"][2] == pytest.approx(HALF * 0.15 * 4.4**2, rel=1e-12)  # 1.8 N of 80 N
    assert found["tail_force"] == 0.0  # the wash is not swept back to the tail


def test_drag_is_against_the_flow_with_an_area_for_each_axis() -> None:
    found = at([12.0, 0.0, 0.0])
    np.testing.assert_allclose(found["force_B"], [-HALF * 0.1 * 144, 0.0, 0.0], rtol=1e-12)
    side = at([0.0, 5.0, 0.0])
    np.testing.assert_allclose(side["force_B"][1] - side["fin_force"], -HALF * 0.22 * 25, rtol=1e-12)


def test_fin_and_tail_turn_into_the_flow_and_stall() -> None:
    slip = at([20.0, 0.5, 0.0])
    assert slip["fin_force"] == pytest.approx(-HALF * 0.012 * (2.0 * 20 + 0.5) * 0.5, rel=1e-12)
    np.testing.assert_allclose(slip["moment_B"], np.array([0.08, 0.0, -0.91]) * slip["fin_force"], rtol=1e-12)
    sink = at([20.0, 0.0, 0.5])
    assert sink["tail_force"] == pytest.approx(-HALF * 0.01 * (3.0 * 20 + 0.5) * 0.5, rel=1e-12)
    assert sink["moment_B"][1] == pytest.approx(0.71 * sink["tail_force"], rel=1e-12) and sink["moment_B"][1] < 0
    steep = at([8.0, 0.0, 8.0])
    assert steep["tail_force"] == pytest.approx(-HALF * 0.01 * 128.0, rel=1e-12)  # stalled: dynamic pressure only
    across = at([0.0, 6.0, 0.0])
    assert across["fin_force"] == pytest.approx(-HALF * 0.012 * 36.0, rel=1e-12)


def test_turning_is_damped_by_fin_and_tail() -> None:
    found = at([15.0, 0.0, 0.0], [0.0, 0.4, 0.6])

    sink = 0.71 * 0.4
    assert found["tail_force"] == pytest.approx(-HALF * 0.01 * (3.0 * 15 + sink) * sink, rel=1e-12)
    assert found["moment_B"][1] < 0 and found["moment_B"][2] < 0


def test_wash_of_the_tail_rotor_pushes_its_share_of_the_fin() -> None:
    found = at([0.0, 0.0, 0.0], tail_wash=8.0)

    assert found["fin_force"] == pytest.approx(HALF * 0.012 * (0.2 * 8.0) ** 2, rel=1e-12)


@pytest.mark.parametrize(("forward", "share"), [(0.2, 0.0), (6.75, 0.75), (20.0, 1.5)])
def test_main_wash_reaches_the_tail_when_it_is_swept_back(forward: float, share: float) -> None:
    found = at([forward, 0.0, 0.0], main_wash=4.0)  # sweeps 0.05, 1.6875 and 5

    sink = -share * 4.0
    lift = -HALF * 0.01 * (3.0 * forward + abs(sink)) * sink
    limit = HALF * 0.01 * (forward**2 + sink**2)
    assert found["tail_force"] == pytest.approx(min(lift, limit), rel=1e-12, abs=1e-15)
