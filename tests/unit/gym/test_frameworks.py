"""Frameworks of learning are an extra; tests/long/test_learning_frameworks.py has the environments in their form."""

from __future__ import annotations

import sys

import pytest

import ironbird.gym as learning
from ironbird.errors import RunError


@pytest.mark.parametrize(("name", "make"), [("torch", "tensors"), ("stable_baselines3", "sb3")])
def test_without_a_framework_the_extra_is_named(name: str, make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RunError, match=rf"{name}, which is not installed: pip install 'ironbird\[learn\]'"):
        getattr(learning, make)("ironbird/Hover-v0", num_envs=2)
