"""Kinds of vehicles declare what the rest of Ironbird knows of them."""

from __future__ import annotations

import pytest

from ironbird.autopilots.ardupilot.channels import Fit
from ironbird.files.named_code import load_home
from ironbird.protocols.mavlink import numbers
from ironbird.vehicles.kinds import KINDS, VehicleKind, vehicle_kind
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.names import vehicle_ids


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> VehicleKind:
    return KINDS.load(request.param)


def test_every_kind_is_named_as_its_template_and_used_by_the_catalogue(kind: VehicleKind) -> None:
    assert kind.build.__module__.endswith(f".{kind.name}")
    assert kind.name in {load_spec(name).template for name in vehicle_ids()}


def test_what_is_named_for_autopilots_is_there(kind: VehicleKind) -> None:
    if kind.px4:
        assert callable(load_home(kind.px4))
    if kind.ardupilot:
        assert isinstance(load_home(kind.ardupilot), Fit)


def test_what_flies_hovers_and_changes_is_declared_by_each_kind() -> None:
    kinds = {name: KINDS.load(name) for name in KINDS}
    assert {n for n, k in kinds.items() if k.flies} == {"multicopter", "helicopter", "fixed_wing", "tilt_rotor", "vtol"}
    assert {n for n, k in kinds.items() if k.hovers} == {"multicopter", "helicopter", "tilt_rotor", "vtol"}
    assert {n for n, k in kinds.items() if k.winged} == {"fixed_wing", "vtol"}
    assert {n for n, k in kinds.items() if k.transitions} == {"vtol", "tilt_rotor"}
    for k in kinds.values():
        assert ("land" in k.abilities.modes) == k.flies  # who does not fly has nothing to land


@pytest.mark.parametrize("name", vehicle_ids())
def test_every_vehicle_has_a_type_of_mavlink_and_parts_that_can_fail(name: str) -> None:
    spec = load_spec(name)
    assert getattr(numbers, vehicle_kind(spec).mav_type_of(spec)) > 0
    patterns = vehicle_kind(spec).parts
    assert {"imu", "autopilot"} <= set(patterns)


def test_rotors_give_the_type_of_a_multicopter() -> None:
    types = {name: load_vehicle(name).kind.mav_type_of(load_spec(name)) for name in ("tri_y", "quad_f450", "octo_coax")}
    assert types == {
        "tri_y": "MAV_TYPE_TRICOPTER",
        "quad_f450": "MAV_TYPE_QUADROTOR",
        "octo_coax": "MAV_TYPE_OCTOROTOR",
    }
