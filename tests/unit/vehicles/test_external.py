"""Cutting a vehicle from its control system: blocks are told apart by their role, wherever they were written."""

from __future__ import annotations

import pytest
from parts import Gain, Lag

from ironbird import Block, Diagram, In, Out
from ironbird.blocks.actuators.command_latch import CommandLatch
from ironbird.errors import ModelError
from ironbird.model.block import Values, View
from ironbird.vehicles.external import cut_control, cut_vehicle
from ironbird.vehicles.load import load_vehicle


class Proportional(Block):
    """A controller that is no part of this package."""

    source = "closed form of this project"
    role = "controller"
    error = In(unit="1", doc="what is wrong")
    command = Out(unit="1", doc="what to do about it")
    angry = Out(unit="1", doc="1 if much is wrong")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"command": -2 * u.error, "angry": u.error > 10}


class Smoothed(Lag):
    """An estimator that is no part of this package."""

    role = "estimator"


class Negated(Gain):
    """Mixing or turning of axes: of either side."""

    role = "transform"


def loop(*, shortcut: bool = False) -> Diagram:
    """Plant, a transform behind it, estimator, controller, a transform behind that, latch, and back to the plant."""
    diagram = Diagram("loop")
    seen = diagram.add("seen", Negated(), k=-1.0)
    plant, command = diagram.add("plant", Lag()), diagram.add("wheel/command", CommandLatch(sample_s=0.01))
    estimator, control = diagram.add("estimator", Smoothed()), diagram.add("control", Proportional())
    mixer = diagram.add("mixer", Negated(), k=-1.0)
    for source, target in (
        (plant.y, seen.u),
        (seen.y, estimator.u),
        (estimator.y, control.error),
        (control.command, mixer.u),
        (mixer.y, command.command),
    ):
        diagram.connect(source, target)
    diagram.connect(control.command if shortcut else command.value, plant.u)
    diagram.stop("angry", control.angry)
    return diagram


def test_a_controller_of_another_package_is_cut_out_of_its_vehicle() -> None:
    bare = cut_control(loop())

    assert set(bare.blocks) == {"plant", "wheel/command", "seen"}
    assert list(bare.external_inputs()) == ["wheel"] and not bare.stops
    bare.validate()


def test_a_controller_of_another_package_is_kept_when_its_vehicle_is_cut_away() -> None:
    control, feeds, driven = cut_vehicle(loop())

    assert list(control.blocks) == ["estimator", "control", "mixer"]
    assert feeds == {"seen.y": ["estimator.u"]} and driven == {"wheel": "mixer.y"}
    assert list(control.external_inputs()) == ["estimator.u"] and not control.stops
    control.validate()


def test_a_vehicle_that_cannot_do_without_its_controller_is_refused() -> None:
    with pytest.raises(ModelError, match=r"plant\.u of 'loop' needs control\.command of the control system"):
        cut_control(loop(shortcut=True))


def test_of_two_surface_mixers_the_one_behind_the_servos_belongs_to_the_wing() -> None:
    whole = load_vehicle("zagi", control="reference").diagram

    assert "surface/back" in cut_control(whole).blocks and "surface/mixer" not in cut_control(whole).blocks
    assert "surface/mixer" in cut_vehicle(whole)[0].blocks and "surface/back" not in cut_vehicle(whole)[0].blocks
