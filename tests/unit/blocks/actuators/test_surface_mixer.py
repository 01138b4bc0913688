"""The mixer of surfaces: elevons there and back."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.actuators.surface_mixer import SurfaceMixer
from ironbird.testing.alone import alone, outputs_at


def test_elevons_make_elevator_and_aileron_as_the_book_has_it() -> None:
    # [BeardMcLain] Sec. 4.2: elevator = right + left, aileron = left - right
    there = alone(
        SurfaceMixer(("aileron", "elevator"), ("left", "right"), "rad"), matrix=[[0.5, 0.5], [-0.5, 0.5]]
    )  # fmt: skip
    left, right = (
        outputs_at(there, {"aileron_in": 0.2, "elevator_in": -0.3})[f"{s}_out"][0] for s in ("left", "right")
    )

    np.testing.assert_allclose([right + left, left - right], [-0.3, 0.2], rtol=1e-12)
    back = alone(SurfaceMixer(("left", "right"), ("aileron", "elevator"), "rad"), matrix=[[1.0, -1.0], [1.0, 1.0]])
    found = outputs_at(back, {"left_in": left, "right_in": right})
    np.testing.assert_allclose([found["aileron_out"][0], found["elevator_out"][0]], [0.2, -0.3], rtol=1e-12)
