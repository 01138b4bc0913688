"""Waves: a random sea of given significant height, peak frequency and direction."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Noise, Out, Param, State

GRAVITY = 9.81  # m/s^2, the value of [Fossen2021], not the standard one
MODAL = 0.40  # of a fully developed sea: w_0 = 0.40 sqrt(g / Hs), [Fossen2021] Ch. 10 for Pierson-Moskowitz
SLOWEST_RADPS = 0.05  # rad/s, least frequency of encounter of a vehicle that runs with the waves


class Waves(Block):
    """Gives elevation and slope of the sea surface at the vehicle, by a linear filter of noise.
    h(s) = K s / (s^2 + 2 l w s + w^2).

    [Fossen2021] Ch. 10, after Pierson-Moskowitz; `damping` 0.26 fits that spectrum, 0.1 the narrower JONSWAP one. The
    deviation of the elevation is Hs / 4. w is the frequency of encounter w_0 - w_0^2 U cos(b) / g. Without a
    `peak_frequency` that of a fully developed sea of this height is taken. The slope follows in quadrature with the
    wave number w_0^2 / g of deep water. The filter is sampled exactly, so that its variance is right at any sample
    time; the first sample is drawn from the steady distribution. Not modelled: short crests and spreading, shallow
    water, breaking, the tail of the spectrum (the linear model's falls more slowly), groups of waves.
    """

    source = "[Fossen2021] Ch. 10"

    v_NB_N = In(unit="m/s", shape=3, frame="N", default=0.0, doc="velocity over ground, for the encounter")
    elevation = Out(unit="m", doc="of the surface above its mean, up positive")
    slope_N = Out(unit="1", shape=2, frame="N", doc="rise of the surface per metre north and east")
    deviation = Out(unit="m", doc="of the elevation: Hs / 4")
    frequency = Out(unit="rad/s", doc="at the spectrum's peak, without encounter")
    travel_N = Out(unit="1", shape=2, frame="N", doc="unit vector to which the waves run")
    white = Noise(shape=2, doc="drives the filter")
    quadrature = State(unit="1", init=0.0, doc="integral of the elevation, unit variance")
    height = State(unit="1", init=0.0, doc="elevation, unit variance")
    started = State(unit="1", init=0.0, doc="0 until the first sample, which draws the steady state")
    significant_height = Param(
        unit="m",
        default=0.0,
        low=0.0,
        high=20.0,
        tunable=True,
        doc="Hs, mean of the highest third: 0.1 smooth, 0.5 slight, 1.25 moderate, 2.5 rough sea",
    )
    peak_frequency = Param(
        unit="rad/s", default=0.0, low=0.0, high=20.0, tunable=True, doc="w_0; 0 takes that of a fully developed sea"
    )
    direction = Param(unit="rad", default=0.0, tunable=True, doc="where the waves run to: 0 north, pi/2 east")
    damping = Param(unit="1", default=0.26, low=0.01, high=0.9, doc="relative: width of the spectrum")

    def _peak(self, p: View) -> ca.SX:
        developed = MODAL * ca.sqrt(GRAVITY / ca.fmax(p.significant_height, 1e-3))
        return ca.if_else(p.peak_frequency > 0, p.peak_frequency, developed)

    def _now(self, x: View, u: View) -> tuple[ca.SX, ca.SX]:
        return ca.if_else(x.started, x.quadrature, u.white[0]), ca.if_else(x.started, x.height, u.white[1])

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        peak = self._peak(p)
        along = ca.cos(p.direction) * u.v_NB_N[0] + ca.sin(p.direction) * u.v_NB_N[1]
        met = ca.fmax(ca.fabs(peak - peak * peak * along / GRAVITY), SLOWEST_RADPS)
        # Exact step of a' = w b, b' = -w a - 2 l w b + 2 sqrt(l w) n, whose steady covariance is the unit matrix
        turn, root = met * self.sample_s, ca.sqrt(1 - p.damping * p.damping)
        fade = ca.exp(-p.damping * turn)
        c, s = ca.cos(root * turn), ca.sin(root * turn) / root
        aa, ab = fade * (c + p.damping * s), fade * s
        ba, bb = -fade * s, fade * (c - p.damping * s)
        # What the noise must add so that the covariance stays the unit matrix
        q11, q12, q22 = 1 - aa * aa - ab * ab, -aa * ba - ab * bb, 1 - ba * ba - bb * bb
        l22 = ca.sqrt(ca.fmax(q22, 1e-12))
        l12 = q12 / l22
        l11 = ca.sqrt(ca.fmax(q11 - l12 * l12, 0))
        a, b = self._now(x, u)
        n = u.white
        return {
            "quadrature": ca.if_else(x.started, aa * a + ab * b + l11 * n[0] + l12 * n[1], a),
            "height": ca.if_else(x.started, ba * a + bb * b + l22 * n[1], b),
            "started": ca.SX(1),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        peak = self._peak(p)
        deviation = p.significant_height / 4  # [Fossen2021] Ch. 10: Hs = 4 sqrt(m_0)
        a, b = self._now(x, u)
        travel = ca.vertcat(ca.cos(p.direction), ca.sin(p.direction))
        # A wave a cos(k s - w t) has the slope -(k / w) d/dt, and d/dt of a narrow band is -w^2 times its integral
        steepness = peak * peak / GRAVITY * deviation
        return {
            "elevation": deviation * b,
            "slope_N": steepness * a * travel,
            "deviation": deviation,
            "frequency": peak,
            "travel_N": travel,
        }
