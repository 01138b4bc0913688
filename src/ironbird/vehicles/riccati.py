"""Sampled linear-quadratic control, for templates that compute their gain from their own model."""

from __future__ import annotations

import numpy as np

from ironbird.errors import VehicleError

DOUBLINGS = 60  # each squares the closed loop: a loop with a largest eigenvalue of 1 - 1e-9 needs about 35
CONVERGED = 1e-14  # relative change at which the doubling ends
DIVERGED = 1e30  # growth at which the doubling has diverged


def zero_order_hold(A: np.ndarray, B: np.ndarray, sample_s: float) -> tuple[np.ndarray, np.ndarray]:
    """The sampled form of dx/dt = A x + B u with inputs that are held: exp of [[A, B], [0, 0]] T [VanLoan1978].

    Scaling and squaring of the Taylor series.
    """
    states, inputs = B.shape
    block = np.zeros((states + inputs, states + inputs))
    block[:states, :states], block[:states, states:] = A * sample_s, B * sample_s
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(block).sum(axis=0).max(), 1e-300)))) + 4)
    small = block / 2**halvings  # norm below 1/16: 12 terms leave less than 1e-22
    result = term = np.eye(len(block))
    for k in range(1, 13):
        term = term @ small / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result[:states, :states], result[:states, states:]


def regulator(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Gain K of u = -K x that minimises the sum of x'Q x + u'R u for x+ = A x + B u.

    The discrete algebraic Riccati equation is solved by structure-preserving doubling [Chu2004].
    """
    one = np.eye(len(A))
    F, G, X = A, B @ np.linalg.solve(R, B.T), Q
    for _ in range(DOUBLINGS):
        W = np.linalg.inv(one + G @ X)
        step = F.T @ X @ W @ F
        F, G, X = F @ W @ F, G + F @ W @ G @ F.T, X + step
        X = 0.5 * (X + X.T)
        if np.abs(step).max() <= CONVERGED * np.abs(X).max():
            return np.asarray(np.linalg.solve(R + B.T @ X @ B, B.T @ X @ A))
        if not np.abs(X).max() < DIVERGED * np.abs(Q).max():
            break
    raise VehicleError("the Riccati equation has no stabilising solution: something unstable cannot be controlled")
