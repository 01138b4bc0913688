"""Own Riccati solver and sampling against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

from ironbird.errors import VehicleError
from ironbird.vehicles.riccati import regulator, zero_order_hold


@pytest.mark.parametrize("states", [1, 3, 8, 20])
def test_sampling_and_gain_are_those_of_scipy(states: int) -> None:
    random = np.random.default_rng(states)
    A, B = 3 * random.standard_normal((states, states)), random.standard_normal((states, 2))
    Q, R = np.diag(random.uniform(0.1, 5, states)), np.diag(random.uniform(0.1, 5, 2))

    Ad, Bd = zero_order_hold(A, B, 0.02)
    gain = regulator(Ad, Bd, Q, R)

    whole = expm(0.02 * np.block([[A, B], [np.zeros((2, states + 2))]]))
    np.testing.assert_allclose(np.hstack([Ad, Bd]), whole[:states], rtol=0, atol=1e-13)
    X = solve_discrete_are(Ad, Bd, Q, R)
    exact = np.linalg.solve(R + Bd.T @ X @ Bd, Bd.T @ X @ Ad)
    np.testing.assert_allclose(gain, exact, rtol=0, atol=1e-8 * np.abs(exact).max())


def test_scalar_gain_is_the_closed_form() -> None:
    # x+ = x + u with unit weights: X^2 - X - 1 = 0, the golden ratio
    gain = regulator(np.eye(1), np.eye(1), np.eye(1), np.eye(1))

    golden = (1 + np.sqrt(5)) / 2
    np.testing.assert_allclose(gain, [[golden / (1 + golden)]], rtol=1e-14)


def test_what_cannot_be_controlled_is_refused() -> None:
    with pytest.raises(VehicleError, match="no stabilising solution"):
        regulator(np.diag([1.5, 0.5]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1))
