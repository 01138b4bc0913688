"""Numbers of MAVLink against pymavlink's."""

from __future__ import annotations

from pymavlink import mavutil
from pymavlink.dialects.v20 import ardupilotmega

from ironbird.protocols.mavlink import numbers

NOT_IN_THE_DIALECT = {"MAVLINK_VERSION", "MOTOR_INTERLOCK", "SWITCH_HIGH", "PX4_AUTO_MAIN"}
NOT_IN_THE_DIALECT |= {"MAV_TYPE_VTOL_FIXEDROTOR"}  # was reserved in older ones


def test_every_number_is_that_of_its_name() -> None:
    ours = {name: value for name, value in vars(numbers).items() if name.isupper() and isinstance(value, int)}
    assert len(ours) > 70 and set(ours) >= NOT_IN_THE_DIALECT
    for name in set(ours) - NOT_IN_THE_DIALECT:
        theirs = [getattr(ardupilotmega, prefix + name, None) for prefix in ("", "MAV_", "MAV_CMD_")]
        assert ours[name] in theirs, name


def test_modes_are_those_of_the_autopilots() -> None:
    theirs = {
        "copter": mavutil.mode_mapping_acm,
        "plane": mavutil.mode_mapping_apm,
        "rover": mavutil.mode_mapping_rover,
        "sub": mavutil.mode_mapping_sub,
    }
    for kind, modes in numbers.ARDUPILOT_MODES.items():
        known = {number: name for number, name in theirs[kind].items() if isinstance(number, int)}
        assert {number: modes[number] for number in modes if number in known} == {
            number: known[number] for number in modes if number in known
        }, kind
    for name, number in numbers.PX4_AUTO_MODES.items():
        if name in mavutil.px4_map:
            assert mavutil.px4_map[name][1:] == (numbers.PX4_AUTO_MAIN, number), name
    for name, number in numbers.PX4_MAIN_MODES.items():
        if name in mavutil.px4_map:
            assert mavutil.px4_map[name][1] == number, name
