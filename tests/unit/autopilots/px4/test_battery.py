"""The battery that PX4 is told of."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from pymavlink.dialects.v20 import common

from ironbird.autopilots.px4 import battery as px4_battery
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.battery import SmartBattery, has_battery, left
from ironbird.rig.rig import Rig, make_rig
from ironbird.vehicles.load import load_vehicle

INSTANCE = 3


@pytest.fixture
def payload(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """PX4's end of the payload port, wherever there is room."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind(("127.0.0.1", 0))
        port.settimeout(60)
        monkeypatch.setattr(px4_battery, "PAYLOAD_PORT", port.getsockname()[1] - INSTANCE)
        yield port


def told(port: socket.socket) -> common.MAVLink_battery_status_message:
    """The next message, read by pymavlink."""
    (message,) = common.MAVLink(None).parse_buffer(port.recv(1000))
    return message


def flown(seconds: float, factor: float = 1.0) -> Rig:
    """The F450 with all motors at half throttle, its battery at a share of its voltage."""
    rig = make_rig("quad_f450", until_s=60.0, params={"battery.voltage_factor": factor})
    for place in rig.actuators:
        rig.command(place, 0.5)
    rig.step(round(1000 * seconds))
    return rig


def test_px4_hears_what_the_power_module_measures(payload: socket.socket) -> None:
    rig = flown(1.0)
    battery = SmartBattery(rig, INSTANCE)
    battery.poll(rig.time_s)
    message = told(payload)
    battery.close()
    assert (message.get_srcSystem(), message.get_srcComponent()) == (1 + INSTANCE, 180)
    volts = float(rig.held("monitor/battery.voltage")[0])
    assert message.voltages[:4] == [round(1000 * volts / 3)] * 3 + [65535]
    assert sum(message.voltages[:3]) / 1000 == pytest.approx(12.4, abs=0.3)  # three full cells under load
    assert message.current_battery / 100 == pytest.approx(float(rig.held("monitor/battery.current")[0]), abs=0.006)
    assert message.current_battery > 200
    assert message.battery_remaining >= 99


def test_it_is_told_twice_a_second_of_simulation_time(payload: socket.socket) -> None:
    rig = flown(0.1)
    battery = SmartBattery(rig, INSTANCE)
    for step in range(251):  # one second
        battery.poll(0.004 * step)
    battery.close()
    payload.setblocking(False)
    count = 0
    while True:
        try:
            payload.recv(1000)
        except BlockingIOError:
            break
        count += 1
    assert count == 3


def test_a_weak_battery_is_empty_although_its_charge_is_not_used_up(payload: socket.socket) -> None:
    rig = flown(1.0, factor=0.6)
    battery = SmartBattery(rig, INSTANCE)
    battery.poll(0.0)
    battery.close()
    assert told(payload).battery_remaining == 0


@pytest.mark.parametrize(
    ("cell_V", "used", "share"),
    [(4.1, 0.0, 1.0), (4.1, 0.3, 0.7), (3.7251, 0.1, 0.2), (2.6, 0.1, 0.0), (4.1, 1.2, 0.0)],
)
def test_what_is_left_is_the_smaller_of_charge_and_voltage(cell_V: float, used: float, share: float) -> None:
    assert left(cell_V, used) == pytest.approx(share, abs=1e-3)


def test_px4s_own_battery_is_off_where_the_vehicle_has_one() -> None:
    with_one, without = (load_vehicle(name, control="external") for name in ("quad_f450", "aerosonde"))
    assert has_battery(with_one) and not has_battery(without)
    assert airframe_of(with_one).params["SIM_BAT_ENABLE"] == 0
    assert "SIM_BAT_ENABLE" not in airframe_of(without).params


def test_a_vehicle_with_one_inertial_unit_runs_one_estimator() -> None:
    airframe = airframe_of(load_vehicle("quad_f450_rflysimsafe", control="external"))
    assert (airframe.late["EKF2_MULTI_IMU"], airframe.late["SENS_IMU_MODE"]) == (0, 1)
    assert "EKF2_MULTI_IMU" not in airframe_of(load_vehicle("quad_f450", control="external")).late


def test_charge_and_current_are_told_in_milliampere_hours_and_centiamperes(payload: socket.socket) -> None:
    rig = make_rig("quad_f450", until_s=1.0)
    battery = SmartBattery(rig, INSTANCE)
    rig.held("monitor/battery.charge")[:] = 3600.0
    rig.held("monitor/battery.current")[:] = 12.34
    rig.held("monitor/battery.voltage")[:] = 12.0
    battery.poll(0.0)
    message = told(payload)
    battery.close()
    assert message.current_consumed == 1000  # an ampere hour is 3,600 A s
    assert message.current_battery == 1234 and message.voltages[0] == 4000
