"""A step that is too long for a part is refused, with the part, the step, its limit and a cure that holds."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel, check_integration, compile_model
from ironbird.compiler.flatten import flatten
from ironbird.compiler.stability import Modes, check_step, growth, longest_steps_s
from ironbird.errors import ModelError
from ironbird.flight.order import make_order
from ironbird.flight.prepare import model_of, prepare
from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.diagram import Diagram
from ironbird.model.signal import In, Number, Out, Param, State
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle, vehicle_ids

LIGHT = """
schema = 1
base = "quad_f450"
id = "light"
[body]
mass_kg = 0.5
inertia_diag_kgm2 = [3.65e-3, 3.68e-3, 7.03e-3]
"""
LEGS = "[contact]\nstiffness_Npm = 1e4\ndamping_Nspm = 45.0\n"
STANDING: dict[str, Number] = {
    "navigator.arm_time": 100.0,
    "body.p_0": [0.0, 0.0, -0.121],
}  # disarmed, 1 mm above the ground


class Oscillator(Block):
    """x'' = -w^2 x - d x'."""

    x = State(unit="m", init=1.0)
    v = State(unit="m/s", init=0.0)
    pull = In(unit="1", default=1.0)
    position = Out(unit="m")
    frequency = Param(unit="rad/s")
    damping = Param(unit="1/s", default=0.0)

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"x": x.v, "v": -p.frequency * p.frequency * x.x * u.pull - p.damping * x.v}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"position": x.x}


def oscillator(frequency: float, damping: float) -> Diagram:
    diagram = Diagram("spring")
    diagram.add("mass", Oscillator(), frequency=frequency, damping=damping)
    return diagram


@pytest.mark.parametrize(("method", "limit"), [("euler", 2.0), ("rk2", 2.0), ("rk4", 2.785294)])
def test_the_longest_step_of_a_lag_is_that_of_textbooks(method: str, limit: float) -> None:
    longest_s = float(longest_steps_s(np.array([-100.0 + 0j]), method)[0])
    assert longest_s == pytest.approx(limit / 100, rel=0.03)  # more by what a growth of 1/s allows
    assert growth(-100.0, limit / 100, method) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("method", "limit"), [("euler", 0.0), ("rk2", 0.0), ("rk4", 2.828427)])
def test_an_oscillation_without_damping_grows_with_methods_of_low_order(method: str, limit: float) -> None:
    assert growth(100j, 0.01 * limit * 0.999, method) <= 1.0
    assert growth(100j, 0.01 * limit + 0.001, method) > 1.0


def test_what_is_refused_diverges_and_what_is_not_does_not() -> None:
    for damping, said in ((900.0, ""), (1100.0, "time constant of 1 ms")):
        flat = compile_model(oscillator(100.0, damping), step_s=1e-4).flat
        check_integration(flat.diagram, step_s=0.001, method="rk4")
        if said:
            with pytest.raises(ModelError, match="'spring' cannot be integrated with rk2 in steps of 2 ms") as refused:
                compile_model(flat.diagram, step_s=0.002, method="rk2")
            assert (
                "mass.v has a mode with a time constant of 0.917 ms, for which rk2 needs steps of at most 1.8"
                in str(refused.value)
            )
            assert "integrate with rk4@0.001 (--integration rk4@0.001" in str(refused.value)
            assert str(refused.value).endswith("or change mass.damping = 1100 1/s")
            continue
        log = run(start(compile_model(flat.diagram, step_s=0.002, method="rk2")), 1.0)
        assert np.abs(log["mass.position"]).max() == pytest.approx(1.0)


def test_what_grows_by_itself_is_no_error_of_the_step() -> None:
    compile_model(oscillator(10.0, -20.0), step_s=0.002, method="rk2")  # e^(10 t)


def test_a_model_without_states_has_no_limit() -> None:
    class Gain(Block):
        y = Out(unit="1")

        def output(self, x: View, u: View, p: View) -> Values:
            return {"y": 2.0}

    diagram = Diagram("gain")
    diagram.add("gain", Gain())
    assert math.isinf(compile_model(diagram).source.slack)


# ---------------------------------------------------------------------- vehicles


@functools.cache
def light(step_s: float, method: str, folder: Path) -> CompiledModel:
    (folder / "light.toml").write_text(LIGHT + LEGS)
    diagram = load_vehicle(folder / "light.toml", control="truth").diagram
    return compile_model(diagram, step_s=step_s, method=method)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("light")


def greatest_height_m(model: CompiledModel, legs: dict[str, float]) -> float:
    """Greatest height of a disarmed vehicle in 1 s, set down from 1 mm."""
    log = run(start(model, params={**STANDING, **legs}), 1.0, log=["body.p_NB_N"], log_s=0.002)
    return float(-log["body.p_NB_N"][:, 2].min()) - 0.12


@pytest.mark.parametrize(
    ("stiffness", "damping", "stable"),
    [
        (1e4, 45.0, True),
        (1e5, 100.0, False),
        (5e4, 150.0, False),
        (2e5, 150.0, False),
        (1e5, 200.0, False),
        (1e5, 400.0, False),
        (1e4, 0.0, False),
        (8e4, 100.0, False),  # 4.5 steps in a period: linear theory calls it stable
        (5e4, 80.0, True),
    ],
)
def test_legs_that_would_throw_a_vehicle_up_are_refused(
    folder: Path, stiffness: float, damping: float, stable: bool
) -> None:
    model = light(0.002, "rk2", folder)
    legs = {"contact.stiffness": stiffness, "contact.damping": damping}
    height_m = greatest_height_m(model, legs)  # values set by hand are not checked
    if stable:
        model.check_step(legs)
        assert height_m == pytest.approx(0.001, abs=1e-6)
        return
    with pytest.raises(
        ModelError, match=r"rk2 in steps of 2 ms: body\.\S+ has a mode .*, while contact acts"
    ) as refused:
        model.check_step(legs)
    assert height_m > 0.005
    cure = re.search(r"integrate with (rk4)@(\S+) ", str(refused.value))
    assert cure is not None
    cured = light(float(cure[2]), cure[1], folder)
    cured.check_step(legs)
    assert greatest_height_m(cured, legs) == pytest.approx(0.001, abs=1e-6)


def test_a_vehicle_on_stiff_legs_is_refused_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "stiff.toml").write_text(LIGHT + "[contact]\nstiffness_Npm = 1e5\ndamping_Nspm = 400.0\n")
    with pytest.raises(ModelError, match=r"change contact\.damping = 400 N"):
        model_of(make_order(str(tmp_path / "stiff.toml")))
    model_of(make_order(str(tmp_path / "stiff.toml"), integration="rk4@0.0005"))


def test_a_fast_motor_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text(
        'schema = 1\nbase = "quad_f450"\nid = "fast"\n[motor.standard]\ntime_constant_s = 0.0004\n'
    )
    vehicle = load_vehicle(tmp_path / "fast.toml")
    with pytest.raises(ModelError) as refused:
        check_integration(vehicle.diagram, step_s=0.002, method="rk2")
    said = str(refused.value)
    assert re.search(
        r"rotor/\d/motor.omega has a mode with a time constant of 0.4 ms, for which rk2 needs steps of at most", said
    )
    assert re.search(r"change rotor/\d/motor.time_constant = 0.0004 s$", said)


def test_settings_of_an_order_are_checked_if_they_could_matter() -> None:
    def flown(**settings: float) -> None:
        order = make_order("quad_f450", settings={name.replace("__", "."): v for name, v in settings.items()})
        prepare(model_of(order), [order])

    with pytest.raises(ModelError, match=r"change contact\.damping = 900 N"):
        flown(contact__damping=900.0)
    model = model_of(make_order("quad_f450"))
    assert 2.0 < model.source.slack < 10.0
    vars(model).pop("modes", None)
    flown(body__mass=1.6)
    assert "modes" not in vars(model)  # far from any limit: nothing was computed


def test_the_derivatives_are_those_of_the_pressed_feet() -> None:
    model = model_of(make_order("quad_f450"))
    (_, free), *acting = Modes(model.flat).points()
    assert free["contact.load"] == 0.0
    assert [way for way, _ in acting] == [("contact", 1), ("contact", 2), ("contact", 3)]
    for _, pressed in acting:
        assert pressed["contact.load"] == pytest.approx(4 * 2500.0 * 0.001, rel=0.05)
    friction = [np.hypot(*pressed["contact.force_B"][:2]) / pressed["contact.load"] for _, pressed in acting]
    assert friction == pytest.approx([0.0, 0.7, 0.7], abs=0.05)  # sticks, slides


def test_a_vehicle_that_starts_in_flight_is_judged_standing() -> None:
    vehicle = load_vehicle("aerosonde", control="truth")
    steps = vehicle.integration
    flat = flatten(vehicle.diagram, steps.step_s)
    (_, free), *acting = Modes(flat).points()
    assert np.linalg.norm(free["body.v_NB_N"]) == pytest.approx(25.0, abs=0.01)
    assert [way for way, _ in acting] == [("contact", 1), ("contact", 2), ("contact", 3)]
    for _, pressed in acting:
        assert np.abs(pressed["body.v_NB_N"]).max() < 1e-5 and np.abs(pressed["body.w_NB_B"]).max() < 1e-5
    assert check_step(flat, steps.method) > 1.0
    stiff = flat.values.copy()
    stiff[flat.p.rows("contact.stiffness")] *= 1e3
    with pytest.raises(ModelError, match="while contact acts"):
        check_step(flat, steps.method, stiff)


def test_feet_that_slide_fast_are_braked_by_coulomb_friction_in_long_steps() -> None:
    sliding: dict[str, Number] = {
        "navigator.arm_time": 100.0,
        "body.p_0": [0.0, 0.0, -0.119],
        "body.v_0": [20.0, 0.0, 0.0],
    }
    speeds = []
    for method, step_s in (("rk2", 0.002), ("rk4", 0.0005)):
        model = compile_model(load_vehicle("quad_f450", control="truth").diagram, step_s=step_s, method=method)
        log = run(start(model, params=sliding), 0.4, log=["body.v_NB_N", "contact.force_B"], log_s=0.002)
        assert log["contact.force_B"][:, 0].max() <= 0.0
        speeds.append(float(log["body.v_NB_N"][-1, 0]))
    assert speeds[0] == pytest.approx(speeds[1], abs=0.01)
    assert speeds[0] < 20.0 - 0.6 * 9.8 * 0.4  # friction of 0.7, from when the feet carry the weight


@pytest.mark.slow
def test_the_vehicle_with_the_least_to_spare_slides_to_rest_at_the_same_place_in_short_steps() -> None:
    """Its leg leaves 3 % of the step; sliding is faster than the step, and does not need it (ADR 76)."""
    places = []
    for method, step_s in (("rk2", 0.002), ("rk4", 0.0002)):
        model = compile_model(
            load_vehicle("tiltrotor_provant", control="external").diagram, step_s=step_s, method=method
        )
        log = run(start(model, params={"body.v_0": [3.0, 0.0, 0.0]}), 0.5, log=["body.*"], log_s=0.002)
        assert abs(log["body.v_NB_N"][-1, 0]) < 0.02
        places.append(log["body.p_NB_N"][-1])
    np.testing.assert_allclose(places[0], places[1], atol=5e-4)
    assert places[0][0] == pytest.approx(9.0 / (2 * 0.7 * 9.81), rel=0.05)  # v^2 / (2 mu g)


@pytest.mark.slow
@pytest.mark.parametrize("name", vehicle_ids())
def test_the_catalogue_is_followed_by_its_steps(name: str) -> None:
    vehicle = load_vehicle(name)
    steps = vehicle.integration
    assert check_step(flatten(vehicle.diagram, steps.step_s), steps.method) > 1.0
