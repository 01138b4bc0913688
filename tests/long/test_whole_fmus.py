"""Whole vehicles as FMUs in FMPy, from the archive to the result: the trajectory of the flight that Ironbird flies."""

from __future__ import annotations

from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from ironbird.export.job import Job
from ironbird.export.registry import export
from ironbird.flight.flight import fly

SECONDS = 20.0
SIGNALS = {"quad_f450": "body.p_NB_N", "aerosonde": "body.p_NB_N", "car_escort": "body.p_NB_N"}


@pytest.mark.parametrize("kind", ["fmu2", "fmu3"])
@pytest.mark.parametrize("vehicle", SIGNALS)
def test_a_whole_vehicle_flies_in_fmpy_as_it_does_here(vehicle: str, kind: str, tmp_path: Path) -> None:
    export(kind, Job(vehicle, "whole", seconds=0.1, targets=("linux64",)), tmp_path / "made")
    path = str(next((tmp_path / "made").glob("*.fmu")))
    assert validate_fmu(path) == []
    names = [f"{SIGNALS[vehicle]}[{axis}]" for axis in range(3)]
    result = fmpy.simulate_fmu(
        path, stop_time=SECONDS, step_size=0.001, output_interval=0.1, output=names, validate=False
    )
    flight = fly(vehicle, until_s=SECONDS, log_s=0.1, seed=1)  # the seed of an export
    theirs = np.stack([result[name] for name in names], axis=1)
    times = np.round(result["time"] / 0.1).astype(int)
    ours = flight.log[SIGNALS[vehicle]]
    assert np.ptp(ours, axis=0).max() > 5.0
    kept = times < len(ours)
    assert kept.sum() >= SECONDS * 10 - 2
    np.testing.assert_array_equal(theirs[kept], ours[times[kept]])
