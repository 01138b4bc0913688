"""Names of parameters in sixteen signs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.systems.commanded.mavlink.param_names import LONGEST, PX4_NAMES, names_of
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import vehicle_ids


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("control.rate_gain[0]", "CON_RATE_GAIN_0"),
        ("navigator.cruise_speed", "MPC_XY_CRUISE"),
        ("navigator.acceleration", "NAV_ACCELERATION"),
        ("navigator.gnss_timeout", "NAV_GNSS_TIMEOUT"),
        ("rotor/1/command_fault.spike_rate", "ROT1CF_SPK_RT"),
        ("imu/2/chip.accel_temperature_drift[1]", "IMU2C_AC_TM_DR_1"),
        ("airframe/wing/left.alpha_beta_gamma_delta_epsilon_zeta", "AIRWL_AL_BT_WHGN"),  # crc32 of the path in base 36
    ],
)
def test_a_path_has_this_name(path: str, name: str) -> None:
    assert names_of([path])[path] == name


@settings(max_examples=30)
@given(st.lists(st.from_regex(r"[a-z_/0-9]{1,20}\.[a-z_]{1,30}(\[[0-9]{1,3}\])?", fullmatch=True), unique=True))
def test_names_are_short_ascii_and_the_same_each_time(paths: list[str]) -> None:
    names = names_of(paths)
    assert names == names_of(reversed(paths))
    assert all(1 <= len(name) <= LONGEST and name.isascii() for name in names.values())


@pytest.mark.parametrize("vehicle", vehicle_ids())
def test_no_two_parameters_of_a_vehicle_have_one_name(vehicle: str) -> None:
    diagram = load_vehicle(vehicle).diagram
    paths = []
    for path in diagram.param_paths():
        size = diagram.param(path).size
        paths += [f"{path}[{place}]" for place in range(size)] if size > 1 else [path]
    names = list(names_of(paths).values())
    assert len(set(names)) == len(names) and names == sorted(names)
    assert len(set(PX4_NAMES.values())) == len(PX4_NAMES)
