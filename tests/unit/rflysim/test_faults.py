"""Model inputs of RflySim as faults of the catalogue and parameters of a real quadcopter."""

from __future__ import annotations

import struct

import pytest
from rflysim_vehicle import standing

from ironbird.errors import LinkError
from ironbird.rflysim.faults import entries_of


def sil(ids: list[int], floats: list[float]) -> bytes:
    return struct.pack("<10i20f", 1234567897, 1, *[*ids, *[0] * 8][:8], *[*floats, *[0.0] * 20][:20])


def test_a_fault_that_is_sent_again_goes_on_with_its_new_parameters() -> None:
    front, commander, faults = standing()

    front.model_input(commander, sil([123450], [1.0, 0.8]))
    assert [fault.text() for fault in faults] == ["rotor.speed_loss@1:instance=2,severity=0.2,start=0"]
    front.model_input(commander, sil([123450], [1.0, 0.8]))
    assert len(faults) == 1  # clients repeat themselves
    front.model_input(commander, sil([123450], [1.0, 0.5]))
    assert [fault.severity for fault in faults] == [0.5]
    front.model_input(commander, sil([123450], [1.0, 1.0]))
    assert faults == []


def test_noise_of_their_one_sensor_is_noise_of_all_of_ours() -> None:
    front, commander, faults = standing()

    front.model_input(commander, sil([123545], [5.0]))

    assert {fault.fault.id for fault in faults} == {"imu.gyro_noise@1"}
    assert [fault.instance for fault in faults] == list(range(1, 1 + len(commander.rig.gyros)))


def test_the_map_of_ids_is_chosen() -> None:
    front, commander, faults = standing(fault_map="B")
    front.model_input(commander, sil([123543], [5.0]))  # wind noise in map A, the gyroscope in map B
    assert {fault.fault.id for fault in faults} == {"imu.gyro_noise@1"}


def test_parameters_are_changed_where_their_bit_is_set_and_named() -> None:
    front, commander, faults = standing(dyn_params="1=body.mass", init_params="2=terrain.base_z")
    mass = commander.params().get("body.mass")

    front.model_input(commander, struct.pack("<iI32d", 1234567892, 0b10, 9.0, 1.5, *[0.0] * 30))
    assert commander.params()["terrain.base_z"] == 1.5
    front.model_input(commander, struct.pack("<iiQ64d", 1234567893, -1, 0b100, *[7.0] * 64))
    assert any("DynModiParams 3 names no parameter" in note for note in front.notes)
    if mass is not None:
        front.model_input(commander, struct.pack("<iiQ64d", 1234567893, -1, 1, *[2.0] * 64))
        assert commander.params()["body.mass"] == 2.0
    front.model_input(commander, struct.pack("<iI32d", 1234567891, 1 << 3, *[15.0] * 32))
    assert [fault.text() for fault in faults] == ["wind.turbulence@1:severity=0.5,start=0"]


def test_terrain_is_the_height_of_the_ground() -> None:
    front, commander, _ = standing()
    front.model_input(commander, struct.pack("<ii20f", 1234567881, 1, -2.5, *[0.0] * 19))
    assert commander.params()["terrain.base_z"] == -2.5


def test_a_vehicle_that_was_hit_falls_and_says_so() -> None:
    front, commander, faults = standing()
    ray = struct.pack("<ii13f", 1234567890, 2, 1.0, *[0.0] * 12)

    front.model_input(commander, ray)

    assert [fault.fault.id for fault in faults] == ["battery.power_off@1"]
    assert "hit vehicle 2, as the 3D engine says" in front.notes


@pytest.mark.parametrize("text", ["1", "0=body.mass", "33=body.mass", "x=body.mass", "1="])
def test_names_of_parameters_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(LinkError, match="NUMBER=PATH"):
        entries_of(text, "init-params", 32)
