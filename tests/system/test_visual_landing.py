"""A vehicle that knows a marker's number only lands on its pad by what its camera sees."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[2] / "examples" / "visual_landing.py"


def test_a_quadcopter_lands_on_the_marker_that_its_camera_finds() -> None:
    landing, off = runpy.run_path(str(EXAMPLE))["fly"]()
    assert landing.seen > 0.8 * len(landing.pictures) > 40
    assert np.hypot(*off) < 0.3  # from 3.6 m away, on a pad of 0.8 m
