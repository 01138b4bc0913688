"""All vehicles of the catalogue as WebAssembly: without a fault and with five, the kernel's bytes in Node.js."""

from __future__ import annotations

import pytest

from ironbird.proofs.wasm import compare
from ironbird.vehicles.load import vehicle_ids


@pytest.mark.parametrize("vehicle", vehicle_ids())
def test_every_flight_and_every_margin_has_the_kernels_bits(vehicle: str) -> None:
    [row] = compare([vehicle])
    assert len(row.flights) == 6
    assert row.equal == len(row.flights), [flight for flight in row.flights if flight.kernel != flight.module]
