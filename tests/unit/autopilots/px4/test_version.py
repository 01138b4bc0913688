"""Which PX4 a program is, and the names and barometers that follow; facts of v1.16.2, v1.17.0 and v1.18.0-beta2."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.process import Program
from ironbird.autopilots.px4.version import PARAMETERS, Release, release_of
from ironbird.errors import LinkError
from ironbird.systems.px4.hand_flown import stick_params
from ironbird.vehicles.load import load_vehicle

QUAD = airframe_of(load_vehicle("quad_f450", control="external"))
OLD, WRITTEN, NEW = Release("v1.16.2"), Release("v1.17.0"), Release("v1.18.0-beta2")


def build(folder: Path, version: str, names: list[str] | None) -> Program:
    """A program with a version in its text, and PX4's list of its parameters."""
    binary, etc = folder / "bin" / "px4", folder / "etc"
    binary.parent.mkdir(parents=True)
    binary.write_bytes(b"\x7fELF\0v1.9.0\0 v1.2\0" + version.encode() + b"\0rest")
    if names is not None:
        path = etc / PARAMETERS
        path.parent.mkdir(parents=True)
        path.write_bytes(
            lzma.compress(json.dumps({"parameters": [{"name": name} for name in names]}).encode(), preset=9)
        )
    return Program(binary, etc)


@pytest.mark.parametrize(
    ("version", "number", "barometers"),
    [
        ("v1.16.2", (1, 16), 1), ("v1.17.0", (1, 17), 1), ("v1.18.0-beta2", (1, 18), 2),
        ("v1.18.0-alpha1-1203-gbd62df5e3a", (1, 18), 2), ("no version", (1, 17), 1),
    ],
)  # fmt: skip
def test_the_version_stands_in_the_binary(
    version: str, number: tuple[int, int], barometers: int, tmp_path: Path
) -> None:
    found = release_of(build(tmp_path, version, ["A_ONE"]))
    assert found.text == (version if version[0] == "v" else "")
    assert (found.number, found.barometers, found.known) == (number, barometers, frozenset({"A_ONE"}))


def test_a_program_that_was_built_again_is_read_again(tmp_path: Path) -> None:
    program = build(tmp_path, "v1.16.2", None)
    assert release_of(program).text == "v1.16.2" and release_of(program).known == set()
    program.binary.write_bytes(b"\0v1.17.0-rc1\0 and more")
    assert release_of(program).text == "v1.17.0-rc1"


@pytest.mark.parametrize("broken", [b"no lzma", lzma.compress(b"{}"), lzma.compress(b"[" * 100_000)])
def test_a_list_of_parameters_that_is_none_is_not_there(broken: bytes, tmp_path: Path) -> None:
    program = build(tmp_path, "v1.17.0", [])
    (program.etc / PARAMETERS).write_bytes(broken)
    assert release_of(program) == Release("v1.17.0")


def test_the_names_of_1_17_are_written_as_they_are() -> None:
    fitted, missing = WRITTEN.fit(QUAD)
    assert fitted.script("x") == QUAD.script("x") and missing == [] and WRITTEN.note(missing) == ""
    assert Release().fit(QUAD)[0].script("x") == QUAD.script("x")  # started by hand


def test_1_18_has_a_delay_for_each_receiver_no_switch_of_the_battery_and_another_radius() -> None:
    fitted, missing = NEW.fit(QUAD)
    script = fitted.script("x")
    assert missing == [] and "EKF2_GPS_DELAY" not in script and "SIM_BAT_ENABLE" not in script
    delay = round(QUAD.late["EKF2_GPS_DELAY"])
    assert f"param set SENS_GPS0_DELAY {delay}\n" in script and f"param set SENS_GPS1_DELAY {delay}\n" in script
    assert "param set-default SIM_BAT_DRAIN 0.0\n" in script and "param set-default NAV_ACC_RAD 2.0\n" in script
    assert "NAV_ACC_RAD 2.0" not in WRITTEN.fit(QUAD)[0].script("x")
    assert "1.18" in NEW.note(missing)


def test_1_16_does_not_return_for_a_time_that_the_battery_does_not_tell() -> None:
    fitted, missing = OLD.fit(QUAD)
    assert missing == [] and fitted.params["COM_FLTT_LOW_ACT"] == 0
    assert "COM_FLTT_LOW_ACT" not in WRITTEN.fit(QUAD)[0].params
    assert OLD.fit(QUAD, {"COM_FLTT_LOW_ACT": 3})[0].params["COM_FLTT_LOW_ACT"] == 3
    bare = replace(QUAD, params={n: v for n, v in QUAD.params.items() if n != "SIM_BAT_ENABLE"})
    assert "COM_FLTT_LOW_ACT" not in OLD.fit(bare)[0].params


def test_a_radius_of_the_vehicles_own_stays() -> None:
    car = airframe_of(load_vehicle("car_escort", control="external"))
    assert NEW.fit(car)[0].params["NAV_ACC_RAD"] == car.params["NAV_ACC_RAD"]


def test_sticks_have_a_dead_zone_under_its_name_in_each_release() -> None:
    sticks = stick_params(5.0)
    old, new = OLD.fit(QUAD, sticks)[0].params, NEW.fit(QUAD, sticks)[0].params
    assert old["MPC_HOLD_DZ"] == new["MAN_DEADZONE"] == 0.02 and old["MPC_XY_MAN_EXPO"] == 0.0
    assert "MAN_DEADZONE" not in old and not {"MPC_HOLD_DZ", "MPC_XY_MAN_EXPO"} & set(new)


def test_what_a_program_does_not_have_is_left_out_and_said_and_refused_if_the_user_wants_it() -> None:
    known = frozenset(QUAD.params | QUAD.late) - {"MPC_THR_MIN"}
    release = Release("v1.17.0", known)
    fitted, missing = release.fit(QUAD)
    assert missing == ["MPC_THR_MIN"] and "MPC_THR_MIN" not in fitted.params
    assert release.note(missing) == (
        "PX4 v1.17.0: names of parameters and barometers as in 1.17; it has no MPC_THR_MIN: left out"
    )
    with pytest.raises(LinkError, match=r"PX4 v1\.17\.0 has no parameter 'MPC_THR_MIN'"):
        release.fit(QUAD, {"MPC_THR_MIN": 0.1})
    assert release.fit(QUAD, {"MPC_THR_HOVER": 0.4})[0].params["MPC_THR_HOVER"] == 0.4


def test_a_release_that_was_not_flown_is_named() -> None:
    for text in ("v1.15.4", "v1.19.0-alpha1"):
        assert Release(text).note([]).endswith("; flown with Ironbird were 1.16, 1.17, 1.18")
    assert Release("v1.16.2").note([]).endswith("as in 1.16")
