"""Position under water as PX4 gets it, decoded by pymavlink, against the truth and the sensors' own accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import common

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.messages import Messages
from ironbird.autopilots.px4.odometry import Odometry
from ironbird.compiler.compiled import compile_model
from ironbird.errors import LinkError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.prepare import inject
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rig.rig import Rig, attach, make_rig
from ironbird.runtime.state import start
from ironbird.vehicles.load import load_vehicle


def messages(rig: Rig) -> list[Any]:
    """All ODOMETRY of a run to its end, at 250 Hz of steps."""
    packer, reader = Packer(), common.MAVLink(None)
    sender = Messages(rig, airframe_of(rig.vehicle), packer)
    found: list[Any] = []
    while rig.step(4):
        sender.add(rig.time_us)
        found += reader.parse_buffer(packer.take()) or []
    assert not any(m.get_type() == "HIL_GPS" for m in found)
    assert all(m.fields_updated & 0x1A00 == 0 for m in found if m.get_type() == "HIL_SENSOR")  # no air pressure
    return [m for m in found if m.get_type() == "ODOMETRY"]


def test_fixes_of_once_a_second_are_carried_on_ten_times_a_second() -> None:
    rig = make_rig("rov_bluerov2_heavy", until_s=10.0)
    got = messages(rig)
    steps = np.diff([m.time_usec for m in got])
    assert (steps == 100_000).all()
    assert got[0].time_usec <= 1_100_000
    depth = rig.truth("p")[2]
    assert got[-1].z == pytest.approx(depth, abs=0.15)  # by pressure, not by the fix of 0.6 m
    assert got[-1].pose_covariance[11] == pytest.approx(0.05**2)
    near = [np.hypot(m.x, m.y) for m in got]
    assert 0.05 < np.mean(near) < 2.0  # it rests at home; the fix errs by half a metre
    assert got[-1].pose_covariance[0] > 10 * 0.3**2  # ten messages share the error of one fix
    assert got[-1].pose_covariance[0] == got[-1].pose_covariance[6]
    assert [m.frame_id for m in got[:1]] == [1] and got[0].child_frame_id == 1


def test_between_fixes_it_goes_on_with_the_velocity() -> None:
    rig = make_rig("rov_bluerov2_heavy", until_s=5.0)
    rig.barometers.clear()  # then depth is of the fix too
    for n in range(5, 9):
        rig.command(f"rotor/{n}", -0.5)  # down
    got = messages(rig)
    assert rig.time_s == 5.0
    sinking = [m for m in got if m.time_usec > 4.0e6]
    assert len(sinking) == 10
    assert sinking[0].vz == pytest.approx(rig.truth("v")[2], abs=0.05)
    assert sinking[0].vz > 0.3
    moved = np.diff([m.z for m in sinking]) / 0.1
    assert np.median(moved) == pytest.approx(sinking[0].vz, abs=1e-4)
    assert sinking[-1].z == pytest.approx(rig.truth("p")[2], abs=2.5)  # the fix errs by 0.6 m
    assert sinking[-1].pose_covariance[11] > 10 * 0.3**2


def test_without_fixes_it_falls_silent() -> None:
    vehicle = load_vehicle("rov_bluerov2_heavy", control="external")
    state = start(compile_model(vehicle.diagram), seed=0)
    inject(state, parse_fault("gnss.position_dropout@1:instance=1,start=5"))
    got = messages(attach(vehicle, state, until_s=12.0))
    assert 4.5e6 < got[-1].time_usec < 6.6e6


def test_a_vehicle_without_an_acoustic_position_is_told_so() -> None:
    rig = make_rig("rov_bluerov2_heavy", until_s=1.0)
    airframe = airframe_of(rig.vehicle)
    rig.receivers.clear()
    with pytest.raises(LinkError, match="no acoustic position"):
        Messages(rig, airframe, Packer())


def test_a_fix_is_carried_on_by_its_own_latency_from_the_start() -> None:
    rig = make_rig("rov_bluerov2_heavy", until_s=1.0)
    rig.barometers.clear()
    receiver, packer, reader = rig.receivers[0], Packer(), common.MAVLink(None)
    odometry = Odometry(rig, packer, surface_Pa=101_325.0, water_Papm=10_000.0)
    receiver.position_N.values[:] = [1.0, 2.0, 3.0]
    receiver.velocity_N.values[:] = [10.0, -20.0, 30.0]
    receiver.position_N.stamp[:] = 0.5
    receiver.details["fix_type"][:] = 3.0

    odometry.add(600_000)
    odometry.add(700_000)

    # A fix shows where it was three samples of 0.1 s before; the second message is 0.1 s later
    first, second = reader.parse_buffer(packer.take())
    assert (first.x, first.y, first.z) == pytest.approx((1.0 + 3.0, 2.0 - 6.0, 3.0 + 9.0), rel=1e-6)
    assert (second.x, second.y, second.z) == pytest.approx((1.0 + 4.0, 2.0 - 8.0, 3.0 + 12.0), rel=1e-6)
