"""Numbers of MAVLink against pymavlink's."""

from __future__ import annotations

import re

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import all as everything
from pymavlink.dialects.v20 import ardupilotmega

from ironbird.protocols.mavlink import numbers

NAMES = [name for enum in numbers.TABLE.read_text().splitlines()[2:] for name in re.findall(r"(\w+)=", enum)]
NOT_IN_THE_DIALECT = {"MAV_TYPE_VTOL_FIXEDROTOR"}  # PX4 adds it


def test_every_number_is_that_of_its_name() -> None:
    assert len(NAMES) > 2000 and set(NAMES) >= NOT_IN_THE_DIALECT
    for name in set(NAMES) - NOT_IN_THE_DIALECT:
        assert getattr(numbers, name) == getattr(everything, name), name
    ours, theirs = (
        set(NAMES),
        {name for enum in ardupilotmega.enums.values() for name in (e.name for e in enum.values())},
    )
    assert {name for name in theirs if not name.endswith("_ENUM_END")} <= ours


def test_what_stands_before_all_names_may_be_left_out_and_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert numbers.NAV_LAND == numbers.MAV_CMD_NAV_LAND == 21
    assert numbers.FRAME_GLOBAL_INT == numbers.MAV_FRAME_GLOBAL_INT == 5
    assert numbers.bits_of("MAV_MODE_FLAG", "SAFETY_ARMED", "AUTO_ENABLED") == 132
    wrong = "MAV_CMD_NAV_LANT"
    with pytest.raises(AttributeError, match="'MAV_CMD_NAV_LAND"):
        getattr(numbers, wrong)


def test_modes_are_those_of_the_autopilots() -> None:
    theirs = {
        "copter": mavutil.mode_mapping_acm,
        "plane": mavutil.mode_mapping_apm,
        "rover": mavutil.mode_mapping_rover,
        "sub": mavutil.mode_mapping_sub,
    }
    for kind in theirs:
        modes = numbers.ardupilot_modes(kind)
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
