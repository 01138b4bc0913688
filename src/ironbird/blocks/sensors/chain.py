"""Parts of a measurement chain that several sensors share: drift, delay, resolution, range."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ironbird.model.block import View

Expr = ca.SX


def markov_step(value: Expr, deviation: Expr, correlation_time: Expr, step_s: float, normal: Expr) -> Expr:
    """Exact step of a first-order Gauss-Markov process, [ChipLevel] Eq. 9-10.

    Eq. 10 gives the driving noise of a rate; a step of length T keeps exp(-T/tau) and adds what restores the
    variance, so that deviation and correlation are right at any sample time.
    """
    share = step_s / correlation_time
    return ca.exp(-share) * value + deviation * ca.sqrt(-ca.expm1(-2 * share)) * normal


def turn_on_draw(started: Expr, kept: Expr, drawn: Expr) -> Expr:
    """A value that is drawn at the first sample and kept from then on."""
    return ca.if_else(started > 0.5, kept, drawn)


def drift_now(x: View, u: View, p: View) -> Expr:
    """A Gauss-Markov drift that is drawn from its steady state at the first sample; `white[1]` drives it."""
    return turn_on_draw(x.started, x.drifted, p.drift * u.white[1])


def drift_step(x: View, u: View, p: View, step_s: float) -> Expr:
    """The drift of `drift_now` at the next sample."""
    stepped = markov_step(x.drifted, p.drift, p.correlation_time, step_s, u.white[1])
    return turn_on_draw(x.started, stepped, p.drift * u.white[1])


def second_order_step(
    value: Expr, slope: Expr, felt: Expr, natural_frequency: Expr, damping_ratio: Expr, step_s: float
) -> tuple[Expr, Expr]:
    """[ChipLevel] Eq. 12 over one sample with its input held: the distance to the input decays freely."""
    wn, zeta = natural_frequency, damping_ratio
    root = ca.sqrt(1 - zeta * zeta)
    angle = wn * root * step_s
    decay = ca.exp(-zeta * wn * step_s)
    c, s = decay * ca.cos(angle), decay * ca.sin(angle) / root
    away = value - felt
    return felt + (c + zeta * s) * away + (s / wn) * slope, (c - zeta * s) * slope - (wn * s) * away


def second_order_lag(natural_frequency: float, damping_ratio: float, step_s: float) -> float:
    """Delay (s) of the samples of `second_order_step` for an input that changes slowly.

    Behind a ramp of one unit a step the distance to the input settles at (I - M)^-1, first column and row, where M is
    the free decay over a step.
    """
    decays = [
        [float(part) for part in second_order_step(ca.SX(a), ca.SX(b), ca.SX(0), ca.SX(natural_frequency),
                                                   ca.SX(damping_ratio), step_s)]
        for a, b in ((1.0, 0.0), (0.0, 1.0))
    ]  # fmt: skip
    return step_s * float(np.linalg.inv(np.eye(2) - np.array(decays).T)[0, 0])


def rounded(value: Expr, resolution: Expr) -> Expr:
    """The value rounded to the nearest multiple of the resolution; unchanged if that is zero."""
    size = ca.if_else(resolution > 0, resolution, 1)
    return ca.if_else(resolution > 0, ca.floor(value / size + 0.5) * size, value)


def shifted(line: Expr, newest: Expr) -> Expr:
    """A delay line one sample later: `newest` enters at the top, the oldest leaves at the bottom."""
    return ca.vertcat(newest, line[: line.rows() - newest.rows()])


def filled(first: Expr, line: Expr, value: Expr) -> Expr:
    """A delay line; at the first sample filled with the value, as if it had been constant before."""
    return ca.if_else(first, ca.repmat(value, line.rows() // value.rows(), 1), line)
