"""Places: the paths are those that vehicles have, and every constant is a part of some vehicle."""

from __future__ import annotations

import functools

import pytest

from ironbird.model.diagram import Diagram
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import put_in_world
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.multicopter import MulticopterSpec, build

PARTS = {name: part for name, part in vars(at).items() if name.isupper() and isinstance(part, at.Part)}
VEHICLES = ("quad_f450", "car_escort_trailer", "boat_otter", "zagi", "aerosonde", "vtol_standard")


@functools.cache
def diagrams() -> list[Diagram]:
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    fitted = spec.model_copy(update={"battery": spec.battery.model_copy(update={"brown_out_V": 6.0})})
    found = [load_vehicle(name, control="reference") for name in VEHICLES]
    return [*(vehicle.diagram for vehicle in found), put_in_world(found[0], wake=True, lee=True).diagram, build(fitted)]


@functools.cache
def names() -> frozenset[str]:
    """All signals and parameters of these vehicles."""
    found = [(path, block) for diagram in diagrams() for path, block in diagram.blocks.items()]
    return frozenset(f"{path}.{name}" for path, block in found for name in block.signals)


@pytest.mark.parametrize("name", PARTS)
def test_every_part_and_each_of_its_names_is_in_some_vehicle(name: str) -> None:
    part = PARTS[name]
    assert any(part.path in diagram.blocks for diagram in diagrams()), part
    for base in type(part).__mro__:
        for key, value in vars(base).items():
            if isinstance(value, at.Named):
                assert getattr(part, key) in names(), f"{name}.{key}"


def test_paths_are_spelled_as_in_logs_of_all_times() -> None:
    assert at.BODY.position == "body.p_NB_N" and at.BODY("w") == "body.w"
    assert at.imu(2).gyro.value == "imu/2/gyro_fault.value" and at.imu(2).chip("accel_B") == "imu/2/chip.accel_B"
    assert at.gnss(1).position.stamp == "gnss/1/position_fault.stamp"
    assert at.actuator("rotor/1").command.value == "rotor/1/command_fault.value" and at.rotor(1).place == "rotor/1"
    assert at.surface("aileron").servo.path == "surface/aileron/servo"


def test_instances_are_counted_in_diagrams_and_logs() -> None:
    diagram = diagrams()[0]
    assert at.each(at.imu, diagram.blocks) == [at.imu(1), at.imu(2), at.imu(3)]
    assert len(at.each(at.rotor, diagram.blocks)) == 4 and at.each(at.speed_log, diagram.blocks) == []
    assert at.each(at.gnss, ["gnss/10/position_fault.value", "gnss/2/chip.eph", "gnss_old/1/x.y"]) == [
        at.gnss(2),
        at.gnss(10),
    ]
    assert at.each(at.wheel, ["wheel/left/drive.speed"]) == []


def test_sensors_and_actuators_are_where_the_templates_put_them() -> None:
    diagram = diagrams()[0]
    for imu in at.each(at.imu, diagram.blocks):
        assert {imu.chip.path, imu.accel.path, imu.gyro.path} <= set(diagram.blocks)
    for kind in (at.magnetometer, at.barometer, at.rangefinder, at.optical_flow, at.airspeed):
        assert {kind(1).chip.path, kind(1).tap.path} <= set(diagram.blocks)
    for rotor in at.each(at.rotor, diagram.blocks):
        assert {rotor.motor.path, rotor.propeller.path, rotor.latch.path, rotor.command.path} <= set(diagram.blocks)
