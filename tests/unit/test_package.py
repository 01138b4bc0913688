"""Tests that read the package: public names, registries, docs of every block."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from pathlib import Path

import casadi as ca
import pytest

import ironbird
import ironbird.blocks
import ironbird.faults
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Fault
from ironbird.model.block import Block
from ironbird.testing.checks import check_block, declaration_findings
from ironbird.vehicles import templates
from ironbird.vehicles.kinds import KINDS

# template modules that are no template
SHARED = {"surroundings", "sensors", "reference_autopilot", "rotorcraft", "wiring", "mission", "ground_water",
          "estimator_noise"}  # fmt: skip

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
    "RotorInAir": {
        "position": [0.1, 0.1, 0.0], "spin": 1.0, "thrust_coefficient": 1e-5, "torque_coefficient": 1e-7,
        "inertia": 1e-4, "inflow": 1e-4, "rotor_drag": 1e-4,
    },
    "RotorWakes": {
        "positions": [[0.3, -0.3], [0.0, 0.0], [0.0, 0.0]], "axes": [[0.0, 0.0], [0.0, 0.0], [-1.0, -1.0]],
        "diameters": [0.25, 0.25], "inflows": [0.2, 0.2], "climb_losses": [0.0, 0.0],
    },
    "AirframeDrag": {"drag": 0.05, "damping": 0.01},
    "GroundContact": {
        "points": [[0.1, -0.1, 0.1, -0.1], [0.1, 0.1, -0.1, -0.1], [0.1, 0.1, 0.1, 0.1]], "stiffness": 2000.0,
        "damping": 40.0, "friction": 0.7, "grip_stiffness": 2000.0, "grip_damping": 20.0,
    },
    "WheelContact": {
        "points": [[0.1, -0.1, 0.1, -0.1], [0.1, 0.1, -0.1, -0.1], [0.1, 0.1, 0.1, 0.1]], "stiffness": 2000.0,
        "damping": 40.0, "friction": 0.7, "grip_stiffness": 2000.0, "grip_damping": 20.0, "rolling_resistance": 0.03,
        "brake_friction": 0.3, "cornering": 10.0,
    },
    "DriveHeat": {
        "efficiency": 0.7, "winding_resistance": 8.28, "winding_time": 28.8, "housing_resistance": 1.57,
        "housing_time": 78.3, "controller_resistance": 10.0, "controller_time": 20.0,
    },
    "AirspeedCheck": {"trim_speed": 25.0, "pitch_trim": 0.054, "lift_angle": 0.095, "take_off_mode": 1.0},
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
    "Tyre": {
        "position": [1.0, 0.7, 0.5], "radius": 0.344, "relaxation_x": 0.2, "relaxation_y": 0.5,
        "a": [1.65, -34, 1250, 3036, 12.8, 0.005, -0.021, 0.774, 0.0023, 0.013, 0.0037, 19.2, 1.21, 6.26],
        "b": [2.37, -9.46, 1490, 130, 276, 0.0886, 0.004, -0.0615, 1.2, 0.0299, -0.176],
        "c": [
            2.34, 1.495, 6.42, -3.57, -0.088, 0.098, 0.0028, -0.000115, 0.1, -1.33, 0.0255, -0.0236, 0.0303, -0.0647,
            0.0211, 0.895, -0.0994, -3.34,
        ],
    },
    "PlanarCar": {
        "mass": 1200.0, "inertia": [[0, 0, 0], [0, 0, 0], [0, 0, 1500.0]], "front": 1.0, "rear": 1.5,
        "track": 1.4, "cg_height": 0.5, "roll_share": 0.6, "transfer_time": 0.1,
    },
    "DifferentialRover": {"mass": 1.0, "wheel_radius": 0.033, "wheel_separation": 0.16, "cg_height": 0.05},
    "WheelDrive": {
        "radius": 0.344, "inertia": 1.7, "max_drive": 1000.0, "max_power": 30000.0, "max_brake": 2000.0,
        "time_constant": 0.1, "rolling_resistance": 0.013,
    },
    "WheelServo": {"max_speed": 6.7, "time_constant": 0.05},
    "CarControl": {
        "wheelbase": 2.4, "max_angle": 0.9, "max_drive": 5.0, "max_brake": 15.0, "cross_gain": 2.0,
        "yaw_damping": 0.05, "speed_gain": 1.5, "speed_integral": 0.3, "max_lateral": 6.0,
    },
    "RoverControl": {
        "wheel_radius": 0.033, "wheel_separation": 0.16, "max_wheel_speed": 6.7, "course_gain": 4.0,
        "cross_gain": 8.0, "max_turn": 2.84,
    },
    "GroundNavigator": {
        "count": 1.0, "cruise_speed": 5.0, "acceleration": 1.5, "lateral_acceleration": 2.5, "turn_radius": 8.0,
        "arrived": 0.5,
    },
    "MarineBody": {"mass": 10.0, "inertia": [[0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.4]], "added_mass": [5.0, 8.0, 9.0]},
    "ManoeuvringDamping": {"X_u": -1.0, "X_uu": -1.0, "Y_v": -1.0, "N_r": -1.0},
    "CrossFlowDrag": {"length": 2.0, "draught": 0.2, "drag_coefficient": 1.0},
    "LiftDrag": {"span": 0.2, "area": 0.2, "drag_coefficient": 0.1},
    "Buoyancy": {"volume": 0.01},
    "WindLoads": {"frontal_area": 0.4, "lateral_area": 0.8, "length": 2.0},
    "WaveLoads": {"mass": 80.0, "length": 2.0, "beam": 1.0},
    "Hydrostatics": {"balanced_mass": 10.0},
    "ControlFin": {
        "normal": [0.0, 1.0, 0.0], "position": [-0.8, 0.0, 0.0], "area": 0.01, "lift_slope": 0.5,
    },
    "Thruster": {
        "max_speed": 100.0, "max_reverse": 90.0, "thrust_coefficient": 0.01, "reverse_coefficient": 0.006,
        "time_constant": 0.1,
    },
    "ForceActuator": {"limit": 2.0, "time_constant": 0.1},
    "MarineNavigator": {"count": 1.0, "cruise_speed": 0.3, "acceleration": 0.1, "arrived": 0.3},
    "PathNavigator": {"count": 1.0, "cruise_speed": 1.5, "arrived": 5.0, "lookahead": 6.0},
    "StationControl": {
        "mass": 20.0, "inertia": 0.5, "position_gain": 0.5, "velocity_gain": 2.0, "velocity_integral": 0.5,
        "attitude_gain": 2.0, "rate_gain": 4.0, "max_speed": 0.5, "max_acceleration": 3.0, "allocation": 0.1,
        "max_thrust": 50.0, "max_reverse": 40.0,
    },
    "CourseControl": {
        "mass": 80.0, "inertia": 40.0, "heading_gain": 0.8, "heading_integral_gain": 0.05, "rate_gain": 3.0,
        "speed_gain": 1.0, "speed_integral_gain": 0.3, "max_yaw_rate": 0.3, "allocation": 0.5, "max_thrust": 100.0,
        "max_reverse": 60.0,
    },
    "FinControl": {
        "heading_gain": 0.3, "heading_integral_gain": 0.01, "speed_gain": 0.2, "speed_integral_gain": 0.05,
        "max_yaw_rate": 0.15, "rudder_gain": 8.0, "depth_gain": 0.1, "depth_integral_gain": 0.002, "pitch_gain": 3.0,
        "pitch_rate_gain": 2.0, "max_pitch": 0.3, "travel": 0.26, "cruise_speed": 1.8, "cruise_command": 0.7,
    },
    "Servo": {"travel": 0.5, "time_constant": 0.05, "max_rate": 6.0},
    "PropellerMap": {
        "diameter": 0.508, "CT": [0.09357, -0.06044, -0.1079], "CQ": [0.00523, 0.00497, -0.01664],
        "speed_constant": 15.184, "resistance": 0.042, "idle_current": 1.5, "voltage": 44.4,
    },
    "Wing": {
        "area": 0.55, "span": 2.8956, "chord": 0.18994, "oswald": 0.9, "stall_angle": 0.47, "stall_rate": 50.0,
        "CL_0": 0.23, "CL_alpha": 5.61, "CL_q": 7.95, "CL_elevator": 0.13, "CD_p": 0.043, "CD_elevator": 0.0135,
        "Cm_0": 0.0135, "Cm_alpha": -2.74, "Cm_q": -38.21, "Cm_elevator": -0.99, "CY_beta": -0.98, "CY_aileron": 0.075,
        "CY_rudder": 0.19, "Cl_beta": -0.13, "Cl_p": -0.51, "Cl_r": 0.25, "Cl_aileron": 0.17, "Cl_rudder": 0.0024,
        "Cn_beta": 0.073, "Cn_p": 0.069, "Cn_r": -0.095, "Cn_aileron": -0.011, "Cn_rudder": -0.069,
    },
    "FixedWingControl": {
        "travel": 0.5, "trim_speed": 25.0, "elevator_trim": -0.12, "throttle_trim": 0.7, "pitch_trim": 0.05,
        "lift_angle": 0.09, "l1_period": 14.0, "max_roll": 0.8, "height_time": 3.0, "speed_time": 4.0,
        "max_climb": 5.0, "max_sink": 4.0, "min_speed": 17.0, "energy_damping": 0.5, "energy_integral": 0.3,
        "balance_damping": 1.0, "balance_integral": 0.4, "pitch_low": -0.25, "pitch_high": 0.35, "roll_gain": 0.7,
        "roll_damping": 0.02, "roll_integral": 0.2, "pitch_gain": 3.0, "pitch_damping": 0.3, "pitch_integral": 0.7,
        "yaw_damping": 0.1,
    },
    "Catapult": {
        "start": [0.0, 0.0, -1.5], "pitch": 0.2, "stroke": 5.0, "pull": 500.0, "mass": 11.0, "inertia": [0.8, 1.1, 1.8],
    },
    "SimplePropeller": {"area": 0.0314, "outflow": 20.0},
    "Puller": {"motor_constant": 8.5e-6, "moment_constant": 0.01},
    "SurfaceMixer": {"matrix": [[0.5, 0.5], [-0.5, 0.5]]},
    "WingNavigator": {"count": 1.0, "cruise_speed": 25.0, "acceptance_radius": 60.0, "loiter_radius": 120.0},
}  # fmt: skip
ARGUMENTS: dict[str, dict[str, object]] = {
    "Waves": {"sample_s": 0.02},
    "GroundContact": {"points": 4},
    "WheelContact": {"points": 4, "wheels": (1, 2, 3), "steered": (1,), "braked": (2, 3)},
    "AirspeedCheck": {"sample_s": 0.02},
    "DriveHeat": {"sample_s": 0.01},
    "RotorWakes": {"rotors": 2, "sample_s": 0.01},
    "ThrustSample": {"rotors": 2, "sample_s": 0.001},
    "WindDryden": {"sample_s": 0.01},
    "WindGust": {"sample_s": 0.01},
    "Battery": {"sample_s": 0.01},
    "CommandLatch": {"sample_s": 0.004},
    "BatteryGauge": {"sample_s": 0.05},
    "StartHeight": {"sample_s": 0.02},
    "MulticopterControl": {"rotors": 4, "sample_s": 0.004},
    "Navigator": {"items": 4, "sample_s": 0.02},
    "CrashDetector": {"sample_s": 0.01},
    "CarControl": {"sample_s": 0.01},
    "RoverControl": {"sample_s": 0.01},
    "GroundNavigator": {"items": 4, "sample_s": 0.02},
    "MarineNavigator": {"items": 4, "sample_s": 0.1},
    "PathNavigator": {"items": 4, "sample_s": 0.1},
    "StationControl": {"thrusters": 8, "sample_s": 0.02},
    "CourseControl": {"thrusters": 2, "sample_s": 0.02},
    "FinControl": {"sample_s": 0.02},
    "FixedWingControl": {"sample_s": 0.004},
    "WingNavigator": {"items": 4, "sample_s": 0.02},
    "SurfaceMixer": {"inputs": ("a", "e"), "outputs": ("left", "right"), "unit": "1"},
    "PitotAirspeed": {"sample_s": 0.02},
}


def block_classes() -> list[type[Block]]:
    found = []
    for module in pkgutil.walk_packages(ironbird.blocks.__path__, "ironbird.blocks."):
        loaded = importlib.import_module(module.name)
        found += [
            value for value in vars(loaded).values()
            if inspect.isclass(value) and issubclass(value, Block) and value.__module__ == module.name
            and value.output is not Block.output  # no bare ports that other blocks share
        ]  # fmt: skip
    return found


def file_of_tests(kind: type[Block]) -> Path:
    source = Path(inspect.getfile(kind))
    return Path(__file__).parent / "blocks" / source.parent.name / f"test_{source.name}"


def checked_elsewhere(kind: type[Block]) -> bool:
    """A block that needs more than its defaults may run the check in its own test file instead of being listed here."""
    listed = kind.__name__ in PARAMS or kind.__name__ in ARGUMENTS
    return not listed and file_of_tests(kind).exists() and "check_block(" in file_of_tests(kind).read_text()


@pytest.mark.parametrize(
    "kind", [k for k in block_classes() if not checked_elsewhere(k)], ids=lambda kind: kind.__name__
)
def test_every_block_passes_the_public_check(kind: type[Block]) -> None:
    block = kind(**ARGUMENTS.get(kind.__name__, {}))  # type: ignore[arg-type]
    check_block(block, params=PARAMS.get(kind.__name__, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", block_classes(), ids=lambda kind: kind.__name__)
def test_every_block_says_what_is_not_modelled_and_has_a_test_file(kind: type[Block]) -> None:
    doc = " ".join((inspect.getdoc(kind) or "").split())
    simple = {"WindSteady", "AirData", "GravityUniform", "Terrain"}
    assert "Not modelled" in doc or kind.__name__ in simple
    assert file_of_tests(kind).exists(), (
        f"{kind.__name__} has no {file_of_tests(kind).relative_to(Path(__file__).parent)}"
    )


@pytest.mark.parametrize("kind", block_classes(), ids=lambda kind: kind.__name__)
def test_controllers_and_estimators_are_those_of_their_folders(kind: type[Block]) -> None:
    folder = Path(inspect.getfile(kind)).parent.name
    expected = {"controllers": ("controller",), "estimators": ("estimator",)}.get(folder, ("plant", "transform"))
    assert kind.role in expected


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


def test_check_block_refuses_outputs_that_are_no_numbers() -> None:
    from ironbird import In, Out
    from ironbird.model.block import Values, View

    class Root(Block):
        """The root of a number, which a negative one does not have."""

        source = "closed form of this project"
        given = In(unit="1", doc="a number")
        root = Out(unit="1", doc="its root")

        def output(self, x: View, u: View, p: View) -> Values:
            return {"root": ca.sqrt(u.given)}

    check_block(Root(), inputs={"given": 4.0})
    with pytest.raises(AssertionError, match=r"output part.root is not finite for inputs \{'given': -4.0\}"):
        check_block(Root(), inputs={"given": -4.0})


def test_no_function_is_longer_than_a_screen() -> None:
    """80 lines, its docstring apart: beyond that it does more than one thing, and is split by what it does."""
    root = Path(ironbird.__file__).parent
    longest = {
        f"{path.relative_to(root)}:{node.name}": length
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := _length(node)) > 80
    }
    assert longest == {}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    told = ast.get_docstring(node, clean=False) is not None and first.end_lineno is not None
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1 - ((first.end_lineno or 0) - first.lineno + 1 if told else 0)


def _imports(path: Path, known: set[str]) -> set[str]:
    """Modules of the package that a file imports anywhere: at the top, inside functions, for types only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (below & known) or {node.module}
    return found & known


def import_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; empty if none do."""
    left = {name: set(imported) - {name} for name, imported in graph.items()}
    while free := [name for name, imported in left.items() if not imported & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_module_imports_itself_by_way_of_others() -> None:
    root = Path(ironbird.__file__).parents[1]
    files = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (root / "ironbird").rglob("*.py")
    }
    assert import_cycle({name: _imports(path, set(files)) for name, path in files.items()}) == []


def test_a_circle_of_imports_is_seen() -> None:
    assert import_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]


def test_public_names_are_these_and_load() -> None:
    assert sorted(ironbird.__all__) == [
        "AsyncRemoteVehicle", "Block", "Campaign", "Clock", "CompiledModel", "ControlSystem", "Credibility",
        "Diagram", "Difference", "Episodes", "Exported", "FAULTS", "Fault", "Flight", "FlightCase",
        "FlightResult", "FunctionSystem", "Home", "Identified", "ImportedVehicle", "In", "Injection",
        "IronbirdError", "Judged", "Judgement", "Kind", "Log", "Mission", "Noise", "Options", "Order", "Out",
        "Param", "ParamEvent", "Problem", "Rates", "RemoteVehicle", "Requirement", "Rig", "RunState",
        "ScenarioFlight", "SearchResult", "Seat", "State", "Store", "Suite", "Task", "Telemetry", "Trust",
        "Tuning", "Values", "Vehicle", "View", "Weather", "Witness", "aconnect", "advance", "autotune",
        "campaign", "case_check", "compare_records", "compile_model", "connect", "export", "falsify", "fly",
        "fly_all", "fly_scenario", "fly_together", "identify", "import_vehicle", "level_trim", "linearize",
        "load_mission", "load_order", "load_suite", "load_vehicle", "load_world", "make_order", "margins",
        "modes_at", "open_campaign", "parse_fault", "parse_order", "read_log", "read_record", "rehearsal",
        "restore", "run", "run_campaign", "search", "shrink", "start", "step_response", "system_names", "trim",
        "vehicle_ids", "vehicle_path", "write_flight_folder", "write_flight_page",
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
    assert files == set(KINDS)
