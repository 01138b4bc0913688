"""Changes of an autopilot's own state, from the topics and records of its log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ironbird.protocols.autopilot_log import read_autopilot_log
from ironbird.protocols.own_states import Change, are_opposite, of_ardupilot, of_px4
from ironbird.vehicles.load import load_spec, vehicle_path

Data = Mapping[str, np.ndarray]
LOGS = Path(__file__).parents[2] / "data" / "autopilot_logs"  # what is in them: README.md there


def data(time_s: list[float], **columns: list[float]) -> dict[str, np.ndarray]:
    """A topic of PX4."""
    stamps = {"timestamp": np.round(1e6 * np.array(time_s)).astype(np.uint64)}
    return stamps | {name.replace("__", "["): np.array(values) for name, values in columns.items()}


def px4(**topics: Data) -> list[Change]:
    def find(name: str, number: int = 0) -> Data | None:
        return topics.get(f"{name}_{number}" if number else name)

    return of_px4(find)


def test_a_flag_says_when_it_changed_and_not_what_it_was_at_first() -> None:
    flags = data([1.0, 2.0, 3.0], cs_gnss_pos=[1, 1, 0], cs_mag_field_disturbed=[0, 1, 1], reject_hor_pos=[0, 1, 0])
    assert px4(estimator_status_flags=flags) == [
        Change(2.0, "estimator", "magnetic field disturbed"),
        Change(2.0, "rejection", "horizontal position rejected"),
        Change(3.0, "fusion", "GNSS position no longer fused"),
        Change(3.0, "rejection", "horizontal position accepted again"),
    ]


def test_only_the_estimator_in_charge_is_heard() -> None:
    selector = data([0.0, 5.0], primary_instance=[0, 1])
    first = data([1.0, 6.0], cs_opt_flow=[0, 1])
    second = data([1.0, 4.0, 7.0], cs_opt_flow=[1, 0, 1])
    found = px4(estimator_selector_status=selector, estimator_status_flags=first, estimator_status_flags_1=second)
    assert found == [
        Change(5.0, "estimator", "estimator 1 takes over from 0"),
        Change(7.0, "fusion", "optical flow fused"),
    ]


def test_sensors_failsafes_and_limits_are_told_but_not_links_of_ours() -> None:
    found = px4(
        sensor_selection=data([0.0, 2.0], gyro_device_id=[11, 22], accel_device_id=[5, 5]),
        failsafe_flags=data(
            [0.0, 3.0], global_position_invalid=[0, 1], gcs_connection_lost=[0, 1], mode_req_attitude=[0, 7]
        ),
        control_allocator_status={
            **data([0.0, 4.0], torque_setpoint_achieved=[1, 0]),
            "actuator_saturation[2]": np.array([0, 2]),
        },
    )
    assert found == [
        Change(2.0, "sensor", "gyroscope 22 chosen in place of 11"),
        Change(3.0, "failsafe", "global position invalid"),
        Change(4.0, "saturation", "output 3 at its upper limit"),
        Change(4.0, "saturation", "the torque that is asked for is not reached"),
    ]


def test_ardupilots_solution_timeouts_sensors_and_errors_are_told() -> None:
    def table(time_s: list[float], **columns: list[int]) -> Data:
        return {"TimeUS": 1e6 * np.array(time_s)} | {name: np.array(values) for name, values in columns.items()}

    status = table([1.0, 2.0], C=[0, 0], PI=[0, 0], SS=[8192 + 16, 262144], TS=[0, 3])
    tables = {
        "XKF4": status, "ERR": table([2.5, 3.0], Subsys=[11, 17], ECode=[2, 1]), "EV": table([2.6, 2.7], Id=[10, 62]),
    }  # fmt: skip
    sensors = {"XKF4": status, "XKFS": table([1.0, 2.2], MI=[0, 1], BI=[0, 0], GI=[0, 1], AI=[0, 0])}

    found = of_ardupilot(lambda name, **_: tables.get(name), sensors.get)

    assert [(round(change.time_s, 6), change.text) for change in found] == [
        (2.0, "absolute position valid no longer"), (2.0, "dead reckoning"), (2.0, "GNSS position no longer fused"),
        (2.0, "position timed out"), (2.0, "velocity timed out"), (2.2, "GNSS receiver 2 chosen in place of 1"),
        (2.2, "compass 2 chosen in place of 1"), (2.5, "GPS: error 2"), (2.7, "estimator's yaw reset"),
        (3.0, "estimator failsafe: error 1"),
    ]  # fmt: skip


def recorded(name: str) -> list[tuple[float, str, str]]:
    """Of a log that was recorded."""
    log = read_autopilot_log(LOGS / name, load_spec(vehicle_path("quad_f450")).home)
    assert log.notes == []
    return [(round(change.time_s, 2), change.kind, change.text) for change in log.states]


def test_a_recorded_px4_changed_its_estimator_after_the_gyroscope_was_stuck() -> None:
    assert recorded("px4_gyro_stuck.ulg")[:3] == [
        (30.72, "estimator", "estimator 2 takes over from 0"),
        (30.72, "sensor", "accelerometer 1311004 chosen in place of 1310988"),
        (30.72, "sensor", "gyroscope 1311004 chosen in place of 1310988"),
    ]


def test_a_recorded_ardupilot_lost_its_satellites_step_by_step() -> None:
    found = recorded("ardupilot_gnss_denied.BIN")
    assert found[1] == (54.73, "sensor", "GNSS receiver 2 chosen in place of 1")
    assert (58.73, "fusion", "GNSS position no longer fused") in found
    assert (61.73, "rejection", "position timed out") in found
    assert found[-1] == (62.63, "failsafe", "estimator failsafe: error 1")


@pytest.mark.parametrize(
    ("text", "other", "opposite"),
    [
        ("optical flow fused", "optical flow no longer fused", True),
        ("height accepted again", "height rejected", True),
        ("height timed out", "height accepted again", True),
        ("dead reckoning", "dead reckoning no longer", True),
        ("GNSS position fused", "optical flow no longer fused", False),
        ("optical flow fused", "optical flow fused", False),
        ("LAND", "LOITER", False),
    ],
)
def test_what_takes_a_change_back_is_its_opposite(text: str, other: str, opposite: bool) -> None:
    assert are_opposite(text, other) == are_opposite(other, text) == opposite
