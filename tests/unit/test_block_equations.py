"""Equations of blocks as LaTeX: printed from the expressions of CasADi."""

from __future__ import annotations

import pytest

import block_equations
from ironbird.blocks.environment.gravity import GravityUniform
from ironbird.blocks.environment.wind_shear import WindShear
from ironbird.blocks.sensors.airspeed import Airspeed


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("((a*b)+sqrt(c))", r"a\,b + \sqrt{c}"),
        ("((a-b)/max_power)", r"\frac{a - b}{\mathrm{max\,power}}"),
        ("(a*(b-(c-1e-06)))", r"a\,\left(b - \left(c - 1 \cdot 10^{-6}\right)\right)"),
        ("fmin(fmax(alpha,0),1)", r"\min\left(\max\left(\alpha, 0\right), 1\right)"),
        ("sq(v_air_B_0)", r"{\left(\mathrm{v\,air}_{B,0}\right)}^{2}"),
        ("@1+b", None),
    ],
)
def test_an_expression(text: str, latex: str | None) -> None:
    assert block_equations._latex(text) == latex


def test_equations_of_blocks() -> None:
    assert block_equations.equations(GravityUniform) == []  # a constant tells nothing
    (shear,) = block_equations.equations(WindShear)
    assert shear.startswith(r"\mathrm{wind}_{N,i} = \frac{\ln")
    assert any("0.5" in line and "density" in line for line in block_equations.equations(Airspeed))
