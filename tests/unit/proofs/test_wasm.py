"""The comparison of WebAssembly modules with the kernel: two small vehicles; tests/long has all."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest

from ironbird.errors import ExportError
from ironbird.proofs.wasm import compare


@pytest.mark.parametrize("vehicle", ["boat_cybership2", "rover_differential"])
def test_flights_with_faults_have_the_kernels_bits(vehicle: str) -> None:
    if shutil.which("node") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("node is missing; in CI modules must be run")
        pytest.skip("node is not on PATH")
    [row] = compare([vehicle], faults=2, seconds=4.0)
    assert row.equal == len(row.flights) == 3 and "3 of 3 flights equal" in row.sentence()
    assert len({flight.kernel for flight in row.flights}) == 3  # the faults acted: three different flights
    assert row.packed_bytes < 0.2e6 < row.module_bytes
    for change in ({"module": "x"}, {"outputs_equal": False}, {"margins_equal": False}):
        other = replace(row, flights=(replace(row.flights[0], **change), *row.flights[1:]))
        assert other.equal == 2, change


def test_without_node_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ExportError, match="apt-get install nodejs"):
        next(compare(["boat_cybership2"]))
