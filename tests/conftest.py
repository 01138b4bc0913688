"""What all tests share: compiled kernels, Hypothesis without deadlines, a limit of time, the F450 compiled once."""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from time_limit import (  # noqa: F401  hooks of pytest
    pytest_configure,
    pytest_runtest_call,
    pytest_runtest_setup,
    pytest_runtest_teardown,
    pytest_unconfigure,
)

from ironbird.compiler import native
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit
from ironbird.vehicles.load import load_vehicle

settings.register_profile("ironbird", deadline=None, max_examples=25, derandomize=True)
# A mutant must be seen, and nobody reads by which smallest example (tools/mutants.py)
settings.register_profile("mutants", settings.get_profile("ironbird"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("mutants" if "IRONBIRD_MUTANTS" in os.environ else "ironbird")
# Kernels for one lane are built once and without optimisation: the same bytes in a quarter of the time (ADR 56).
# Those for blocks of lanes are optimised here too, so that the check of every block compares the builds
# (`ironbird.testing.check_block`), as do test_determinism.py and test_quick.py.
os.environ.setdefault("IRONBIRD_QUICK", "only")
# Stand-ins and their Python are in folders of root's, where nobody cannot go; test_process_owner.py changes users
os.environ.setdefault("IRONBIRD_KEEP_USER", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: Ctrl-C would end no program
    signal.signal(signal.SIGINT, signal.default_int_handler)


ROOT = Path(__file__).parents[1]
HOURS_S = 7200.0  # limit of tests that are no part of `make test`


def breadth() -> set[str]:
    """Packages that the core never imports: the first layer of the import contract."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        layers = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]["layers"]
    return {name.strip().removeprefix("ironbird.") for name in layers[0].split("|")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they are: `make test-core` leaves out those of breadth and those of whole commands."""
    packages = breadth()
    for item in items:
        room, *below = item.path.relative_to(ROOT / "tests").parts
        if room == "unit" and below[0] in packages:
            item.add_marker("breadth")
        if room == "system":
            item.add_marker("system")
        if room in ("long", "autopilots"):
            item.add_marker(pytest.mark.limit(HOURS_S))


def pytest_sessionstart() -> None:
    """One of several workers builds the kernels that fly for an hour in all with optimisation: six times as fast."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        for control in ("reference", "truth"):
            native.build(fit(make_order("quad_f450", control=control, mission="hover")).model.source.text, 1)


@pytest.fixture(autouse=True)
def restored_environment() -> Iterator[None]:
    """What a test sets in the environment (code of guides and notebooks does) is gone with it."""
    before = dict(os.environ)
    yield
    for name in {name for name in (*before, *os.environ) if before.get(name) != os.environ.get(name)}:
        if name == "PYTEST_CURRENT_TEST":  # pytest's own
            continue
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]


@pytest.fixture(scope="session")
def f450() -> CompiledModel:
    """The F450 quadcopter, compiled."""
    return compile_model(load_vehicle("quad_f450", control="truth").diagram)
