"""Times, seeds and values that no run can have are refused in words, before the kernel sees them."""

from __future__ import annotations

import math

import pytest

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import ModelError, RunError
from ironbird.runtime.state import start
from ironbird.runtime.step import run


@pytest.mark.parametrize("until_s", [math.nan, math.inf, -math.inf, 1e300])
def test_a_time_without_end_is_refused(f450: CompiledModel, until_s: float) -> None:
    with pytest.raises(RunError, match="until_s = "):
        run(start(f450), until_s)


@pytest.mark.parametrize("log_s", [math.nan, math.inf, 0.0, -1.0, 1e-300, 1e300])
def test_a_log_of_impossible_steps_is_refused(f450: CompiledModel, log_s: float) -> None:
    with pytest.raises(RunError, match=r"log_s = .*(is not a whole number of steps|is not finite|is too long|is not)"):
        run(start(f450), 1.0, log_s=log_s)


@pytest.mark.parametrize("seed", [-1, 2**64, [2**70], [-1]])
def test_a_seed_that_the_kernel_cannot_hold_is_refused(f450: CompiledModel, seed: int | list[int]) -> None:
    with pytest.raises(RunError, match=r"seed = .* is outside 0"):
        start(f450, seed=seed)


@pytest.mark.parametrize(
    "path",
    ["body.inertia[x]", "body.inertia[²]", "body.inertia[9]", "body.inertia[-1]", "body.inertia[", "body.inertia[0"],
)
def test_an_index_that_is_none_is_refused(f450: CompiledModel, path: str) -> None:
    with pytest.raises(ModelError, match="index"):
        start(f450).set_param(path, 1.0)


@pytest.mark.parametrize("path", ["body.mass", "body.inertia[0]"])
def test_a_parameter_does_not_become_infinite(f450: CompiledModel, path: str) -> None:
    with pytest.raises(ModelError, match="is not finite"):
        start(f450).set_param(path, math.inf)


@pytest.mark.parametrize("value", [[1.0, 2.0], "x", 10**400, None])
def test_one_entry_takes_one_number(f450: CompiledModel, value: object) -> None:
    with pytest.raises(ModelError):
        start(f450).set_param("body.inertia[0]", value)  # type: ignore[arg-type]
