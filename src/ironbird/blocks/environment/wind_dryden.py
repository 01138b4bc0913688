"""Dryden turbulence: random wind with the spectra of MIL-F-8785C."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Noise, Out, Param, State
from ironbird.symbolic.smooth import blend
from ironbird.units import FOOT_M

LOWEST_FT, LOW_FT, MEDIUM_FT = 10.0, 1000.0, 2000.0
MEDIUM_LENGTH_FT = 1750.0
SLOWEST_MPS = 1.0  # m/s, lower bound of the filters' speed, so that a hovering vehicle meets turbulence too


class WindDryden(Block):
    """Generates Dryden turbulence as three velocity components, low and medium altitude, [MIL8785C] 3.7.2 and 3.7.3.
    Sampled.

    The turbulence part of [Dai] Eq. 6. Each filter is sampled exactly (its covariance over a sample is that of
    the continuous filter), so that the variance is right at any sample time; the first sample is drawn from the
    steady distribution and held for one more. Axes: along and across the mean wind, and down. With `angular` the
    air turns as well: roll by a filter of its own, pitch and yaw by the change of the gusts along the path (3.7.1.3),
    smoothed over the span; these are the gradients of the gusts over a wing. Not modelled: turbulence axes turning
    with the body above 2000 ft.
    """

    source = "[MIL8785C] 3.7.2, 3.7.3; [Dai] Eq. 6"

    height_above_ground = In(unit="m", doc="height above the terrain")
    airspeed = In(unit="m/s", doc="speed through the air")
    wind_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the turbulent air")
    sigma = Out(unit="m/s", shape=3, doc="standard deviations along, across, down")
    length = Out(unit="m", shape=3, doc="scale lengths along, across, down")
    white = Noise(shape=5, doc="drives the filters")
    along = State(unit="1", init=0.0, doc="first-order filter, unit variance")
    across = State(unit="1", shape=2, init=0.0, doc="second-order filter")
    down = State(unit="1", shape=2, init=0.0, doc="second-order filter")
    started = State(unit="1", init=0.0, doc="0 until the first sample, which draws the filters' steady state")

    wind_20ft = Param(
        unit="m/s",
        default=0.0,
        low=0.0,
        high=60.0,
        tunable=True,
        doc="mean wind at 20 ft, which sets the strength below 2000 ft: 7.7 light, 15 moderate, 23 severe",
    )
    sigma_medium = Param(
        unit="m/s",
        default=0.0,
        low=0.0,
        high=15.0,
        tunable=True,
        doc="standard deviation above 2000 ft, from Fig. 7 of the document for a probability of exceedance",
    )
    direction = Param(unit="rad", default=0.0, tunable=True, doc="heading to which the mean wind goes")

    span = Param(unit="m", default=1.0, low=0.01, doc="b: width of the vehicle; with `angular`")

    def __init__(self, *, angular: bool = False, sample_s: float | None = None) -> None:
        super().__init__(sample_s=sample_s)
        self.angular = angular
        if angular:
            self.declare("rates_N", Out(unit="rad/s", shape=3, frame="N", doc="angular velocity of the turbulent air"))
            self.declare("white_roll", Noise(doc="drives the rolling gust"))
            self.declare("rolling", State(unit="1", init=0.0, doc="rolling gust, unit variance"))
            self.declare("smooth", State(unit="m/s", shape=2, init=0.0, doc="gusts across and down, over the span"))

    def _turning(self, x: View, u: View, p: View) -> ca.SX:
        """Rolling, pitching and yawing of the air (rad/s), along, across, down, [MIL8785C] 3.7.1.3."""
        sigma, length = self._scales(u, p)
        _, across, down = self._gusts(x, u, p)
        # Phi_p = sigma_w^2 / L_w 0.8 (pi L_w / 4 b)^(1/3) / (1 + (4 b Omega / pi)^2), whose integral is the variance
        shape = ca.exp(ca.log(ca.pi * length[2] / (4 * p.span)) / 3)
        deviation = sigma[2] * ca.pi * ca.sqrt(0.8 * shape / (8 * p.span * length[2]))
        # Phi_q = Omega^2 Phi_w / (1 + (4 b Omega / pi)^2), Phi_r with 3 b: a gust less its mean over the span
        pitching = (down - x.smooth[1]) * ca.pi / (4 * p.span)
        yawing = -(across - x.smooth[0]) * ca.pi / (3 * p.span)
        return ca.vertcat(deviation * x.rolling, pitching, yawing)

    def _turning_step(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        assert self.sample_s is not None
        speed = ca.fmax(u.airspeed, SLOWEST_MPS)
        _, across, down = self._gusts(x, u, p)
        share = ca.pi * speed * self.sample_s / (ca.vertcat(3, 4) * p.span)
        kept, gusts = ca.exp(-share), ca.vertcat(across, down)
        roll = ca.sqrt(-ca.expm1(-2 * share[1])) * u.white_roll
        return {
            "rolling": ca.if_else(x.started, kept[1] * x.rolling + roll, u.white_roll),
            "smooth": ca.if_else(x.started, kept * x.smooth + (1 - kept) * gusts, gusts),
        }

    def _scales(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        h_ft = ca.fmax(u.height_above_ground / FOOT_M, LOWEST_FT)
        low_ft = ca.fmin(h_ft, LOW_FT)
        base = 0.177 + 0.000823 * low_ft
        log_base = ca.log(base)
        length_u = low_ft * ca.exp(-1.2 * log_base)  # [MIL8785C] 3.7.3.1: Lu = Lv = h / base^1.2, Lw = h
        sigma_w = 0.1 * p.wind_20ft  # 3.7.3.2
        sigma_u = sigma_w * ca.exp(-0.4 * log_base)
        share = blend(h_ft, LOW_FT, MEDIUM_FT)  # linear between 1000 and 2000 ft
        lengths = ca.vertcat(length_u, length_u, low_ft) * (1 - share) + MEDIUM_LENGTH_FT * share
        sigmas = ca.vertcat(sigma_u, sigma_u, sigma_w) * (1 - share) + p.sigma_medium * share
        return sigmas, lengths * FOOT_M

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        _, length = self._scales(u, p)
        speed = ca.fmax(u.airspeed, SLOWEST_MPS)
        d = speed * self.sample_s / length  # sample time over L / V
        n = u.white
        along, across, down = self._filters(x, u)
        return {
            "along": ca.if_else(x.started, ca.exp(-d[0]) * along + ca.sqrt(-ca.expm1(-2 * d[0])) * n[0], along),
            "across": ca.if_else(x.started, _second_order(across, d[1], n[1], n[2]), across),
            "down": ca.if_else(x.started, _second_order(down, d[2], n[3], n[4]), down),
            "started": ca.SX(1),
            **(self._turning_step(x, u, p) if self.angular else {}),
        }

    def _filters(self, x: View, u: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """States of the filters; at the first sample, a draw from their steady distribution."""
        n = u.white

        def steady(n1: ca.SX, n2: ca.SX) -> ca.SX:
            return ca.vertcat(n1, 0.5 * (n1 + n2))  # covariance [1 1/2; 1/2 1/2]

        return (
            ca.if_else(x.started, x.along, n[0]),
            ca.if_else(x.started, x.across, steady(n[1], n[2])),
            ca.if_else(x.started, x.down, steady(n[3], n[4])),
        )

    def _gusts(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Gust velocity (m/s) along and across the mean wind, and down."""
        sigma, _ = self._scales(u, p)
        along, across, down = self._filters(x, u)
        # (1 + sqrt3 s) / (1 + s)^2 = sqrt3 / (1 + s) + (1 - sqrt3) / (1 + s)^2, over its own deviation sqrt2
        root3 = 3.0**0.5
        c1, c2 = root3 / 2.0**0.5, (1 - root3) / 2.0**0.5
        g_u = sigma[0] * along
        g_v = sigma[1] * (c1 * across[0] + c2 * across[1])
        g_w = sigma[2] * (c1 * down[0] + c2 * down[1])
        return g_u, g_v, g_w

    def output(self, x: View, u: View, p: View) -> Values:
        sigma, length = self._scales(u, p)
        c, s = ca.cos(p.direction), ca.sin(p.direction)

        def to_north(vector: ca.SX) -> ca.SX:
            return ca.vertcat(c * vector[0] - s * vector[1], s * vector[0] + c * vector[1], vector[2])

        values = {"wind_N": to_north(ca.vertcat(*self._gusts(x, u, p))), "sigma": sigma, "length": length}
        if self.angular:
            values["rates_N"] = to_north(self._turning(x, u, p))
        return values


def _second_order(z: ca.SX, d: ca.SX, n1: ca.SX, n2: ca.SX) -> ca.SX:
    """Exact sample step of z1' = -z1 + sqrt2 w, z2' = -z2 + z1 over a scaled time d.

    The covariance of the step is [Q11 Q12; Q12 Q22], the integrals of 2 s^n exp(-2 s) from 0 to d for n = 0, 1, 2;
    their series are used where the closed forms cancel.
    """
    e = ca.exp(-d)
    e2 = e * e
    small = d < 0.02
    q11 = -ca.expm1(-2 * d)
    q12 = ca.if_else(small, d**2 * (1 - d * (4 / 3 - d * (1 - d * (8 / 15 - d * 2 / 9)))), 0.5 * (1 - e2 * (1 + 2 * d)))
    q22 = ca.if_else(
        small,
        d**3 * (2 / 3 - d * (1 - d * (4 / 5 - d * (4 / 9 - d * 4 / 21)))),
        0.5 * (1 - e2 * (1 + 2 * d + 2 * d**2)),
    )
    l11 = ca.sqrt(q11)
    l21 = q12 / l11
    l22 = ca.sqrt(ca.fmax(q22 - l21 * l21, 0))
    return ca.vertcat(e * z[0] + l11 * n1, e * (d * z[0] + z[1]) + l21 * n1 + l22 * n2)
