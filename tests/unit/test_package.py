"""Tests that read the package: public names, registries, docs of every block."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import ironbird
import ironbird.blocks
import ironbird.faults
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Fault
from ironbird.model.block import Block
from ironbird.testing.checks import check_block, declaration_findings
from ironbird.vehicles import templates
from ironbird.vehicles.load import TEMPLATES

SHARED = {"surroundings", "sensors", "reference_autopilot"}  # template modules that are no template
ABSTRACT = {"RigidBodyPorts", "MotorCurve"}  # bases without equations

# Blocks that need more than their defaults to run on their own.
PARAMS: dict[str, dict[str, object]] = {
    "RigidBody": {"mass": 1.0, "inertia": [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.02]]},
    "RigidBodyWgs84": {
        "mass": 1.0, "inertia": [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.02]], "r_0": [6378137.0, 0, 100.0],
        "q_0": [1.0, 0, 0, 0],
    },
    "GravityUniform": {"acceleration": 9.8},
    "ShiftedLoad": {"mass": 1.4},
    "ErrorStateEkf": {"field_0": [2e-5, 0.0, 4e-5]},
    "ComplementaryFilter": {"field_0": [2e-5, 0.0, 4e-5]},
    "BatteryGauge": {"capacity": 1000.0, "cells": 3.0},
    "MagneticWmm": {"field_home": [2e-5, 0.0, 4e-5]},
    "Motor": {"slope": 600.0, "idle_speed": 100.0, "time_constant": 0.02},
    "MotorSecondOrder": {"slope": 600.0, "idle_speed": 100.0, "natural_frequency": 60.0, "damping_ratio": 0.8},
    "Rotor": {
        "position": [0.1, 0.1, 0.0], "spin": 1.0, "thrust_coefficient": 1e-5, "torque_coefficient": 1e-7,
        "inertia": 1e-4,
    },
    "AirframeDrag": {"drag": 0.05, "damping": 0.01},
    "GroundContact": {
        "points": [[0.1, -0.1, 0.1, -0.1], [0.1, 0.1, -0.1, -0.1], [0.1, 0.1, 0.1, 0.1]], "stiffness": 2000.0,
        "damping": 40.0, "friction": 0.7, "grip_stiffness": 2000.0, "grip_damping": 20.0,
    },
    "Battery": {
        "cells": 3.0, "capacity": 18000.0, "resistance": 0.02, "efficiency": 0.7, "electronics_power": 5.0,
    },
    "MulticopterControl": {
        "mass": 1.4, "inertia": 0.02, "position_gain": 1.0, "velocity_gain": 3.0, "velocity_integral": 0.5,
        "attitude_gain": 8.0, "rate_gain": 20.0, "rate_integral": 1.0, "max_speed": 10.0, "max_climb": 3.0,
        "max_descent": 2.0, "max_tilt": 0.6, "max_rate": 4.0, "allocation": 0.25, "max_thrust": 7.0,
        "thrust_coefficient": 1e-5, "motor_slope": 700.0, "motor_idle": 150.0,
    },
    "Navigator": {"count": 1.0, "cruise_speed": 5.0, "acceleration": 2.0},
    "CrashDetector": {"max_impact": 3.0, "max_ground_tilt": 1.0, "max_distance": 1000.0},
}  # fmt: skip
ARGUMENTS: dict[str, dict[str, object]] = {
    "GroundContact": {"points": 4},
    "WindDryden": {"sample_s": 0.01},
    "Battery": {"sample_s": 0.01},
    "CommandLatch": {"sample_s": 0.004},
    "BatteryGauge": {"sample_s": 0.05},
    "StartHeight": {"sample_s": 0.02},
    "MulticopterControl": {"rotors": 4, "sample_s": 0.004},
    "Navigator": {"items": 4, "sample_s": 0.02},
    "CrashDetector": {"sample_s": 0.01},
}


def block_classes() -> list[type[Block]]:
    found = []
    for module in pkgutil.walk_packages(ironbird.blocks.__path__, "ironbird.blocks."):
        loaded = importlib.import_module(module.name)
        found += [
            value for value in vars(loaded).values()
            if inspect.isclass(value) and issubclass(value, Block) and value.__module__ == module.name
            and value.__name__ not in ABSTRACT
        ]  # fmt: skip
    return found


@pytest.mark.parametrize("kind", block_classes(), ids=lambda kind: kind.__name__)
def test_every_block_passes_the_public_check(kind: type[Block]) -> None:
    block = kind(**ARGUMENTS.get(kind.__name__, {}))  # type: ignore[arg-type]
    check_block(block, params=PARAMS.get(kind.__name__, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", block_classes(), ids=lambda kind: kind.__name__)
def test_every_block_says_what_is_not_modelled_and_has_a_test_file(kind: type[Block]) -> None:
    doc = " ".join((inspect.getdoc(kind) or "").split())
    simple = {"WindSteady", "AirData", "GravityUniform", "Terrain"}
    assert "Not modelled" in doc or kind.__name__ in simple
    source = Path(inspect.getfile(kind))
    test = Path(__file__).parent / "blocks" / source.parent.name / f"test_{source.name}"
    assert test.exists(), f"{kind.__name__} has no {test.relative_to(Path(__file__).parent)}"


def test_check_block_finds_what_is_missing() -> None:
    from ironbird import Out
    from ironbird.model.block import Values, View

    class Bad(Block):
        v_N = Out(unit="m/s", shape=3)

        def output(self, x: View, u: View, p: View) -> Values:
            return {"v_N": [0.0, 0.0]}  # type: ignore[dict-item]

    findings = "\n".join(declaration_findings(Bad()))
    assert "Bad has no docstring" in findings and "v_N has no doc" in findings and "names no reference" in findings
    assert "v_N names a frame but does not declare it" in findings
    with pytest.raises(AssertionError, match=r"declared 3x1 but its equation gives 2x1"):
        check_block(Bad())


def test_public_names_are_these_and_load() -> None:
    assert sorted(ironbird.__all__) == [
        "Block", "Clock", "CompiledModel", "Diagram", "Flight", "In", "IronbirdError", "Log", "Noise", "Out", "Param",
        "ParamEvent", "RunState", "State", "Vehicle", "advance", "compile_model", "fly", "linearize", "load_vehicle",
        "restore", "run", "start", "trim",
    ]  # fmt: skip
    for name in ironbird.__all__:
        assert getattr(ironbird, name) is not None
    with pytest.raises(AttributeError, match=r"no attribute 'flyy'"):
        _ = ironbird.flyy


def test_every_fault_in_the_folder_is_registered() -> None:
    for module in pkgutil.iter_modules(ironbird.faults.__path__, "ironbird.faults."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Fault):
                assert FAULTS[value.id] is value


def test_every_template_in_the_folder_is_registered() -> None:
    files = {module.name for module in pkgutil.iter_modules(templates.__path__)} - SHARED
    assert files == set(TEMPLATES)
