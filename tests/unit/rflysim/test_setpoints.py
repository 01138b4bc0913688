"""What RflySim's packets ask for, on a real quadcopter with its commander: the model's inputs say what arrived."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from rflysim_vehicle import standing

from ironbird.rflysim.front import RflySimFront
from ironbird.rig.commander.commander import Commander

P_N, P_E, P_D, V_N, V_E, V_D, YAW, YAW_RATE = range(8)


def inputs(commander: Commander) -> Callable[[str], np.ndarray]:
    rows = commander.rig.state.model.flat.u
    return lambda name: commander.rig.stepper.inputs[rows.rows(name)].copy()


def full(mask: int, frame: int, values: list[float]) -> bytes:
    body = struct.pack("<4I16f", 0, 1, mask, frame, *values, *[0.0] * (16 - len(values)))
    return struct.pack("<2i", 3, 80) + body + bytes(32)


def short(mode: int, *four: float) -> bytes:
    return struct.pack("<2i4f", 1234567890, mode, *four, *[0.0] * (4 - len(four)))


@pytest.fixture(scope="module")
def bench() -> tuple[RflySimFront, Commander]:
    front, commander, _ = standing(map_north_m=100.0, map_east_m=-50.0)
    return front, commander


def given(commander: Commander) -> list[int]:
    return [place for place, on in enumerate(inputs(commander)("offboard_given")) if on]


def test_the_type_mask_says_axis_by_axis_what_is_controlled(bench: tuple[RflySimFront, Commander]) -> None:
    front, commander = bench
    seen = inputs(commander)

    front.command(commander, full(0x0BF8, 1, [1, 2, -3, 9, 9, 9, 9, 9, 9, 0.5, 9]))  # SendPosNED
    assert given(commander) == [P_N, P_E, P_D, YAW]
    assert list(seen("offboard_position")) == [1, 2, -3] and seen("offboard_yaw")[0] == pytest.approx(0.5)

    front.command(commander, full(0x07C7, 1, [9, 9, 9, 1, -1, 0.5, 9, 9, 9, 9, 0.25]))  # SendVelNED
    assert given(commander) == [V_N, V_E, V_D, YAW_RATE]
    assert list(seen("offboard_velocity")) == [1, -1, 0.5]

    front.command(commander, full(0x0BFB, 1, [9, 9, -7]))  # height alone; north and east are masked
    assert given(commander) == [P_D, YAW]


def test_what_is_no_number_is_not_controlled(bench: tuple[RflySimFront, Commander]) -> None:
    front, commander = bench

    front.command(commander, full(0x0BF8, 1, [math.nan, math.nan, -4, 0, 0, 0, 0, 0, 0, math.nan]))
    assert given(commander) == [P_D]
    front.command(commander, short(0, 1.0, math.nan, math.nan, math.nan))
    assert given(commander) == [V_N]


def test_infinite_numbers_change_nothing_and_are_counted(bench: tuple[RflySimFront, Commander]) -> None:
    front, commander = bench
    front.command(commander, short(2, 1, 2, -3, 0))
    before, refused = inputs(commander)("offboard_position"), front._set.bad

    front.command(commander, short(2, math.inf, 2, -3, 0))
    front.command(commander, full(0x0BF8, 1, [1, 2, math.inf]))

    assert np.array_equal(inputs(commander)("offboard_position"), before)
    assert front._set.bad == refused + 2


def test_a_place_in_the_body_frame_is_fixed_when_it_is_first_asked_for(
    bench: tuple[RflySimFront, Commander],
) -> None:
    front, commander = bench
    here, heading = commander.estimate().p_N, commander.estimate().rpy[2]
    front.command(commander, short(3, 4.0, 0.0, -2.0, 0.0))
    first = inputs(commander)("offboard_position")
    assert first == pytest.approx(
        [here[0] + 4 * math.cos(heading), here[1] + 4 * math.sin(heading), here[2] - 2], abs=1e-4
    )

    commander.rig.step(20)  # the estimate moves on
    front.command(commander, short(3, 4.0, 0.0, -2.0, 0.0))

    assert np.array_equal(inputs(commander)("offboard_position"), first)


def test_a_velocity_in_the_body_frame_is_turned_by_the_heading(
    bench: tuple[RflySimFront, Commander], monkeypatch: pytest.MonkeyPatch
) -> None:
    front, commander = bench
    turned = replace(commander.estimate(), rpy=np.array([0.0, 0.0, math.pi / 2]))  # it looks to the east
    monkeypatch.setattr(commander, "estimate", lambda: turned)

    front.command(commander, short(1, 3.0, 1.0, -0.5, 0.0))

    assert inputs(commander)("offboard_velocity") == pytest.approx([-1.0, 3.0, -0.5])


def test_bits_of_the_complete_model_are_set_points_in_the_frame_of_the_map(
    bench: tuple[RflySimFront, Commander],
) -> None:
    front, commander = bench
    has_pos, has_yaw, local = 1, 8, 1 << 13
    ints = [3 + 4 + 512, has_pos + has_yaw, 0, 0, 0, 0, 0, 0]
    floats = [110.0, -40.0, -5.0, *[0.0] * 8, 0.75, *[0.0] * 8]
    front.model_input(commander, struct.pack("<10i20f", 1234567897, 1, *ints, *floats))
    assert list(inputs(commander)("offboard_position")) == [10, 10, -5]  # home is at 100, -50
    assert inputs(commander)("offboard_yaw")[0] == 0.75

    ints[1] += local
    front.model_input(commander, struct.pack("<2i28d", 1234567897, 1, *ints, *floats))
    assert list(inputs(commander)("offboard_position")) == [110, -40, -5]


def test_latitude_and_longitude_are_places_from_home(bench: tuple[RflySimFront, Commander]) -> None:
    front, commander = bench
    home = front.home  # 100 m north and 50 m west of the map's origin

    front.command(commander, short(14, home.latitude_deg * 1e7, home.longitude_deg * 1e7, home.height_m + 20, 0.0))

    assert inputs(commander)("offboard_position") == pytest.approx([0, 0, -20], abs=5.0)  # floats of 32 bits


def test_a_stream_arms_and_a_disarm_in_it_is_final_until_it_pauses() -> None:
    front, commander, _ = standing()
    front.command(commander, short(2, 0, 0, -5, 0))
    front.settle(commander)
    assert not commander.armed  # the estimator settles
    while commander.time_s < 3.1:
        commander.rig.step(4)
        front.command(commander, short(2, 0, 0, -5, 0))
        front.settle(commander)
    assert commander.armed

    front.command(commander, short(9, 0.0))
    for _ in range(10):
        commander.rig.step(4)
        front.command(commander, short(2, 0, 0, -5, 0))
        front.settle(commander)
    assert not commander.armed

    commander.rig.step(100)
    for _ in range(11):
        commander.rig.step(100)
    front.command(commander, short(2, 0, 0, -5, 0))
    front.settle(commander)
    assert commander.armed


def test_a_stream_that_ends_before_the_vehicle_is_ready_arms_nothing() -> None:
    front, commander, _ = standing()
    front.command(commander, short(2, 0, 0, -5, 0))
    for _ in range(40):
        commander.rig.step(100)
        front.settle(commander)
    assert commander.time_s > 3.5 and not commander.armed
