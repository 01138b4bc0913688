"""Equations of blocks as LaTeX: printed from the expressions of CasADi, with the names of the source."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import block_equations
from ironbird.blocks.actuators.motor import Motor
from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.controllers.fixed_wing_control import FixedWingControl
from ironbird.blocks.environment.wind_steady import WindSteady
from ironbird.blocks.sensors.airspeed import Airspeed
from ironbird.model.block import Block, View

a, b, c, v, M = (ca.MX.sym(name, *shape) for name, *shape in (("a",), ("b",), ("c",), ("v", 3), ("M", 3, 3)))


@pytest.mark.parametrize(
    ("expression", "latex"),
    [
        (a * b + ca.sqrt(c), r"a\,b + \sqrt{c}"),
        (a * (b - (c - 1e-6)), r"a\,\left(b - \left(c - 1 \cdot 10^{-6}\right)\right)"),
        ((a / b) ** 2, r"{\left(\frac{a}{b}\right)}^{2}"),
        (ca.fmin(ca.fmax(a, 0), 1), r"\min(1, \max(0, a))"),
        (M.T @ v, r"{M}^{\mathsf{T}}\,v"),
        (M[1, 2] * v[0], r"M_{2,3}\,v_{1}"),
        (ca.vertcat(a, v[:2]), r"\begin{bmatrix}a \\ v_{1:2}\end{bmatrix}"),
        (ca.if_else(a > b, a, b), r"\begin{cases}a & b < a \\ b & \text{otherwise}\end{cases}"),
    ],
)
def test_an_expression(expression: ca.MX, latex: str) -> None:
    (line,) = block_equations.Printer(block_equations.Traced(sides=[("y", expression)])).lines()
    assert line == f"y = {latex}"


def test_parts_have_the_names_of_the_source() -> None:
    motor = block_equations.equations(Motor)
    assert any(line.startswith(r"\mathrm{turning} = ") for line in motor)
    assert motor[-1] == r"\dot{\omega} = \mathrm{acceleration}"
    body = block_equations.equations(RigidBody)
    assert r"\mathrm{gyroscopic} = w \times (\mathrm{inertia}\,w + \mathrm{momentum}_{B})" in body
    assert block_equations.equations(WindSteady) == []  # a name tells nothing


@pytest.mark.parametrize("kind", [Motor, RigidBody, Airspeed, FixedWingControl])
def test_what_is_printed_is_what_is_compiled(kind: type[Block]) -> None:
    found, block = block_equations.traced(kind), block_equations.made(kind)
    groups = (block.states, {**block.inputs, **block.noises, **block.clocks}, block.params)
    rng = np.random.default_rng(1)
    values = {n: rng.uniform(0.1, 1.0, (s.rows, s.columns)) for group in groups for n, s in group.items()}
    views = [View({n: ca.SX(ca.DM(values[n])) for n in group}, "") for group in groups]
    step = block.update(*views) if block.sample_s is not None and block.states else block.derivative(*views)
    expected = ca.vertcat(*[ca.vec(ca.SX(x)) for x in (*block.output(*views).values(), *dict(step).values())])
    whole = ca.vertcat(*[ca.vec(side) for _, side in found.sides])
    while kept := [s for s in ca.symvar(whole) if s.name() in found.kept]:  # calls are put back
        (whole,) = ca.graph_substitute([whole], kept, [found.kept[s.name()].value for s in kept])
    symbols = ca.symvar(whole)
    result = ca.Function("f", symbols, [whole])(*[values[s.name()] for s in symbols])
    assert np.allclose(np.array(result), np.array(ca.DM(expected)), rtol=1e-12, atol=1e-12)
