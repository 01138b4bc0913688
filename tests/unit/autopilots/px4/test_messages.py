"""Every field of every message to PX4: numbers that are told apart are put into the sensors and read by pymavlink."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import common

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.messages import Messages, Outputs
from ironbird.blocks.actuators.motor import IDLE_THROTTLE
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rig.rig import Rig, make_rig

NOW_US = 8_000


@pytest.fixture
def rig() -> Iterator[Rig]:
    """A quadcopter that has not moved; its sensors are views, and tests write into them."""
    rig = make_rig("quad_f450", until_s=0.1)
    assert rig.step(4)
    yield rig


def sent(rig: Rig, now_us: int = NOW_US) -> dict[str, Any]:
    """What goes out of all that is fresh, by type: the first of each."""
    packer, reader = Packer(), common.MAVLink(None)
    Messages(rig, airframe_of(rig.vehicle), packer).add(now_us)
    found: dict[str, Any] = {}
    for message in reader.parse_buffer(packer.take()) or []:
        found.setdefault(message.get_type(), message)
    return found


def test_a_fix_has_its_fields_in_the_order_and_units_of_the_message(rig: Rig) -> None:
    home, receiver = rig.vehicle.spec.home, rig.receivers[0]
    receiver.position_N.values[:] = [100.0, -200.0, -30.0]
    receiver.velocity_N.values[:] = [-3.0, 4.0, 1.5]
    for name, value in (("eph", 1.25), ("epv", 2.75), ("fix_type", 3.0), ("satellites_used", 11.0)):
        receiver.details[name][:] = value

    fix = sent(rig)["HIL_GPS"]

    # Degrees of this latitude by the ellipsoid, to the metre: 111.0 km and 85.2 km
    assert (fix.lat / 1e7 - home.latitude_deg) * 111_030 == pytest.approx(100.0, rel=2e-3)
    east_m = 111_412.84 * math.cos(math.radians(home.latitude_deg)) - 93.5 * math.cos(
        3 * math.radians(home.latitude_deg)
    )
    assert (fix.lon / 1e7 - home.longitude_deg) * east_m == pytest.approx(-200.0, rel=1e-4)
    assert fix.alt == round(1000 * (home.height_m + 30.0))  # mm, up
    assert (fix.eph, fix.epv) == (125, 275)  # cm: across, then up
    assert (fix.vn, fix.ve, fix.vd, fix.vel) == (-300, 400, 150, 500)  # cm/s: north, east, down, over ground
    assert fix.cog == pytest.approx(100 * (90 + math.degrees(math.atan2(3, 4))), abs=1)  # north-west, from north
    assert (fix.fix_type, fix.satellites_visible, fix.time_usec) == (3, 11, NOW_US)


def test_inertial_sensors_have_their_fields_in_the_units_of_the_message(rig: Rig) -> None:
    rig.accels[0].values[:] = [1.0, 2.0, 3.0]
    rig.gyros[0].values[:] = [0.1, 0.2, 0.3]
    rig.magnetometers[0].values[:] = [1e-5, 2e-5, 3e-5]
    rig.barometers[0].values[:] = 90_000.0
    rig.airspeeds[0].values[:] = 250.0

    said = sent(rig)["HIL_SENSOR"]

    assert (said.xacc, said.yacc, said.zacc) == (1.0, 2.0, 3.0)
    assert (said.xgyro, said.ygyro, said.zgyro) == pytest.approx((0.1, 0.2, 0.3), rel=1e-6)
    assert (said.xmag, said.ymag, said.zmag) == pytest.approx((0.1, 0.2, 0.3), rel=1e-6)  # gauss
    assert said.abs_pressure == pytest.approx(900.0) and said.diff_pressure == pytest.approx(2.5)  # hPa
    assert said.pressure_alt == pytest.approx(988.5, abs=0.5)  # of 900 hPa in the standard atmosphere
    assert said.temperature == pytest.approx(15.0 - 0.0065 * 988.5, abs=0.01)
    assert said.fields_updated == 0x1FFF and said.id == 0


def test_what_has_no_new_sample_is_not_said_to_be_new(rig: Rig) -> None:
    packer, reader = Packer(), common.MAVLink(None)
    sender = Messages(rig, airframe_of(rig.vehicle), packer)
    sender.add(NOW_US)
    packer.take()
    rig.gyros[0].stamp[:] += 0.004  # one sensor alone goes on

    sender.add(NOW_US + 4000)

    (said,) = reader.parse_buffer(packer.take())
    assert (said.get_type(), said.fields_updated, said.id) == ("HIL_SENSOR", 0x0038, 0)
    assert sender.silent_gyros == sender.gyros - 1


def test_flow_and_range_have_their_fields_in_the_units_of_their_messages(rig: Rig) -> None:
    rig.flows[0].values[:] = [0.5, -0.25]
    rig.held("flow/1/chip.rotation")[:] = [0.1, 0.2]
    rig.held("flow/1/chip.quality")[:] = 1.0
    rig.gyros[0].values[2] = 0.3
    rig.rangefinders[0].values[:] = 3.21
    rig.held("range/1/chip.valid")[:] = 1.0

    found = sent(rig)
    rig.held("range/1/chip.valid")[:] = 0.0
    rig.rangefinders[0].seen = -1.0
    lost = sent(rig)["DISTANCE_SENSOR"]

    flow, passed_s = found["HIL_OPTICAL_FLOW"], 1e-6 * NOW_US  # since the last message: here since the start
    assert flow.integration_time_us == NOW_US and flow.quality == 255
    assert (flow.integrated_x, flow.integrated_y) == pytest.approx((0.5 * passed_s, -0.25 * passed_s), rel=1e-6)
    turned = (flow.integrated_xgyro, flow.integrated_ygyro, flow.integrated_zgyro)
    assert turned == pytest.approx((0.1 * passed_s, 0.2 * passed_s, 0.3 * passed_s), rel=1e-6)
    seen = found["DISTANCE_SENSOR"]
    assert (seen.current_distance, seen.signal_quality, lost.signal_quality) == (321, 100, 1)  # cm; 0 would be unknown
    assert (seen.min_distance, seen.max_distance, seen.orientation, seen.time_boot_ms) == (30, 1200, 25, 8)  # down


def test_the_true_state_is_told_in_level_axes(rig: Rig) -> None:
    half = math.radians(45.0)
    rig.truth("p")[:] = [10.0, 20.0, -30.0]
    rig.truth("q")[:] = [math.cos(half), 0.0, 0.0, math.sin(half)]  # nose to the east
    rig.truth("v")[:] = [2.0, 0.5, -1.0]  # ahead, to the right, up
    rig.truth("w")[:] = [0.01, 0.02, 0.03]

    said = sent(rig)["HIL_STATE_QUATERNION"]

    assert (said.vx, said.vy, said.vz) == (-50, 200, -100)  # cm/s: ahead is east, right is south
    assert (said.rollspeed, said.pitchspeed, said.yawspeed) == pytest.approx((0.01, 0.02, 0.03))
    assert said.attitude_quaternion == pytest.approx([math.cos(half), 0, 0, math.sin(half)])
    assert said.alt == round(1000 * (rig.vehicle.spec.home.height_m + 30.0))


def test_controls_go_to_the_actuators_in_order_and_what_is_no_number_is_zero(rig: Rig) -> None:
    outputs = Outputs(rig, airframe_of(rig.vehicle))

    outputs.place([0.1, math.nan, 7.0, -7.0, *[0.9] * 12], True, 0.0)

    inputs = [rig.stepper.inputs[rig.actuators[f"rotor/{n}"]] for n in (1, 2, 3, 4)]
    np.testing.assert_array_equal(inputs, [0.1, 0.0, 1.0, -1.0])


def test_a_motor_at_the_lowest_pulse_idles_while_armed_and_stands_otherwise(rig: Rig) -> None:
    outputs = Outputs(rig, airframe_of(rig.vehicle))
    for armed, expected in ((True, IDLE_THROTTLE), (False, 0.0)):
        outputs.place([0.0, math.nan, 0.5, 0.5, *[0.0] * 12], armed, 0.0)
        assert [rig.stepper.inputs[rig.actuators[f"rotor/{n}"]] for n in (1, 2)] == [expected, 0.0]


@pytest.mark.parametrize(("barometers", "ids"), [(1, [0]), (2, [0, 1])])
def test_a_px4_that_takes_two_barometers_gets_each_under_its_id(rig: Rig, barometers: int, ids: list[int]) -> None:
    rig.barometers.append(rig.barometers[0])
    packer, reader = Packer(), common.MAVLink(None)
    Messages(rig, airframe_of(rig.vehicle), packer, barometers=barometers).add(NOW_US)
    said = [message for message in reader.parse_buffer(packer.take()) or [] if message.get_type() == "HIL_SENSOR"]
    assert [message.id for message in said if message.fields_updated & 0x1A00 == 0x1A00] == ids
    assert len({message.abs_pressure for message in said if message.id in ids}) == 1


def test_the_second_barometer_of_a_vehicle_with_one_inertial_unit_has_a_message_of_its_own() -> None:
    rig = make_rig("quad_f450_rflysimsafe", until_s=0.1)
    assert rig.step(4) and len(rig.gyros) == 1
    rig.barometers.append(rig.barometers[0])
    packer, reader = Packer(), common.MAVLink(None)
    sender = Messages(rig, airframe_of(rig.vehicle), packer, barometers=2)
    sender.add(NOW_US)
    said = [message for message in reader.parse_buffer(packer.take()) or [] if message.get_type() == "HIL_SENSOR"]
    assert [(message.id, message.fields_updated) for message in said][1:] == [(1, 0x1A00)]
    assert sender.gyros == 1 and sender.silent_gyros == 0


def test_servos_in_position_mode_hold_the_joints_of_a_tilt_rotor() -> None:
    """Critically damped at 30 rad/s; an arm that stands upright above its joint pulls it further down."""
    rig = make_rig("tiltrotor_provant", until_s=3.0)
    outputs = Outputs(rig, airframe_of(rig.vehicle))
    joints = airframe_of(rig.vehicle).joints
    assert joints is not None
    angles = rig.truth("a")

    def go(right: float, left: float) -> None:
        end = rig.time_s + 0.4
        while rig.time_s < end and rig.step(4):
            outputs.place([0.0, 0.0, right, left], True, 0.0)

    go(0.5, -0.25)
    for angle, command in zip(angles, (0.5, -0.25), strict=True):
        torque_Nm = 2.0 * joints.gain_1prad * (command * joints.travel_rad - angle)
        assert torque_Nm == pytest.approx(-0.08094 * 9.81 * 0.05948 * math.sin(angle), rel=0.05)  # weight of the arm
        assert angle == pytest.approx(command * joints.travel_rad, rel=0.2)
    go(math.nan, 0.0)  # what is no number is upright
    assert angles == pytest.approx([0.0, 0.0], abs=0.02)
