"""What all tests share: a cache of compiled kernels, Hypothesis without deadlines, the F450 compiled once."""

from __future__ import annotations

import pytest
from hypothesis import settings

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.vehicles.load import load_vehicle

settings.register_profile("ironbird", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("ironbird")


@pytest.fixture(scope="session")
def f450() -> CompiledModel:
    """The F450 quadcopter, compiled."""
    return compile_model(load_vehicle("quad_f450", control="truth").diagram)
