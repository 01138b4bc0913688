"""The sensors of a vehicle: places, wiring, independence, rates, and faults at their taps."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.actuators.motor import Motor
from ironbird.blocks.power.battery import Battery
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import UnknownNameError
from ironbird.model.diagram import Diagram, Handle
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.spec import Environment, Home
from ironbird.vehicles.templates.sensors import Products, Suite, add_sensors
from ironbird.vehicles.templates.surroundings import add_body, add_environment

HOME = Home()
HEIGHT_M = 3.0
MASS_KG = 1.5


def vehicle(**choices: object) -> tuple[Diagram, dict[str, list[Handle]]]:
    """A body hanging still in the air with two motors, a battery and sensors."""
    diagram = Diagram("hanging")
    body = add_body(
        diagram, HOME, Environment(gravity=9.8), mass_kg=MASS_KG, height_above_home_m=HEIGHT_M,
        inertia_kgm2=[[0.02, 0, 0], [0, 0.02, 0], [0, 0, 0.03]],
    )  # fmt: skip
    parts = add_environment(diagram, body, HOME, Environment(gravity=9.8))
    diagram.export(body.force_B)
    battery = diagram.add(
        "battery", Battery(sample_s=0.01), cells=3, capacity=18000.0, resistance=0.02, efficiency=0.7,
        electronics_power=12.0,
    )  # fmt: skip
    motors = []
    for i in (1, 2):
        motor = diagram.add(f"rotor/{i}/motor", Motor(), slope=600.0, idle_speed=0.0, time_constant=0.02)
        diagram.export(motor.throttle, f"throttle_{i}")
        motors.append(motor)
    suite = Suite(**choices)  # type: ignore[arg-type]
    return diagram, add_sensors(diagram, body, parts, suite, rotors=motors, battery=battery)


@functools.cache
def model() -> CompiledModel:
    return compile_model(vehicle()[0])


def hang(until_s: float, *events: ParamEvent, throttle: float = 0.0, log_s: float = 0.004) -> Log:
    state = start(model(), seed=4)
    state.set_input("force_B", [0.0, 0.0, -9.8 * MASS_KG])
    state.set_input("throttle_1", throttle)
    state.set_input("throttle_2", throttle)
    for event in events:
        state.add_event(event)
    return run(state, until_s, log_s=log_s)


@functools.cache
def still() -> Log:
    return hang(4.0)


def test_sensors_are_at_their_places() -> None:
    diagram, taps = vehicle()

    expected = [
        *(f"imu/{n}/{part}" for n in (1, 2, 3) for part in ("chip", "accel_fault", "gyro_fault")),
        *(f"mag/{n}/{part}" for n in (1, 2) for part in ("chip", "fault")),
        *(f"baro/1/{part}" for part in ("chip", "fault", "altitude")),
        *(f"gnss/{n}/{part}" for n in (1, 2) for part in ("chip", "position_fault", "velocity_fault")),
        *(f"{kind}/1/{part}" for kind in ("range", "flow", "airspeed") for part in ("chip", "fault")),
        "monitor/battery", "monitor/rotor/1", "monitor/rotor/2", "monitor/rotor_mean",
    ]  # fmt: skip
    assert set(expected) <= set(diagram.blocks)
    counts = {kind: len(handles) for kind, handles in taps.items()}
    assert counts == {
        "accel": 3, "gyro": 3, "imu": 3, "mag": 2, "baro": 1, "baro_altitude": 1, "gnss_position": 2,
        "gnss_velocity": 2, "gnss": 2, "range": 1, "flow": 1, "airspeed": 1, "log": 0, "battery": 1,
        "rotor": 2,
    }  # fmt: skip
    for kind in ("accel", "gyro", "mag", "baro", "baro_altitude", "gnss_position", "gnss_velocity", "range", "flow"):
        assert all("value" in handle and "stamp" in handle for handle in taps[kind])


def test_counts_and_products_are_choices() -> None:
    diagram, taps = vehicle(imus=1, magnetometers=0, gnss=1, rangefinders=0, products=Products(gnss=["ublox_f9p"]))

    assert not taps["mag"] and not taps["range"] and "imu/2/chip" not in diagram.blocks
    assert diagram.blocks["gnss/1/position_fault"].sample_s == pytest.approx(0.1)
    with pytest.raises(UnknownNameError, match=r"unknown magnetometer 'ist8301'; did you mean 'ist8310'"):
        vehicle(products=Products(magnetometer=["ist8301"]))


def test_still_vehicle_is_measured_within_the_errors_of_its_products() -> None:
    log = still()

    for n in (1, 2, 3):
        np.testing.assert_allclose(log[f"imu/{n}/accel_fault.value"].mean(axis=0), [0, 0, -9.8], atol=0.25)
        np.testing.assert_allclose(log[f"imu/{n}/gyro_fault.value"].mean(axis=0), 0, atol=0.01)
    for n in (1, 2):
        away = log[f"mag/{n}/fault.value"].mean(axis=0) - log[f"mag/{n}/chip.field_truth_B"][0]
        np.testing.assert_allclose(away, 0, atol=2e-6)
        np.testing.assert_allclose(log[f"gnss/{n}/position_fault.value"][-1], [0, 0, -HEIGHT_M], atol=6.0)
    assert log["baro/1/altitude.value"].mean() == pytest.approx(HOME.height_m + HEIGHT_M, abs=3.0)
    assert log["baro/1/chip.altitude_truth"][0] == pytest.approx(HOME.height_m + HEIGHT_M, abs=0.01)
    assert log["range/1/fault.value"].mean() == pytest.approx(HEIGHT_M, abs=0.02)
    assert log["monitor/battery.current"].mean() == pytest.approx(log["battery.current"][0], rel=0.1)


def test_sensors_of_one_kind_are_independent() -> None:
    log = still()
    noise = [log[f"imu/{n}/chip.gyro_B"][:, 0] - log[f"imu/{n}/chip.gyro_B"][:, 0].mean() for n in (1, 3)]
    assert abs(np.corrcoef(noise)[0, 1]) < 0.15  # 1000 samples: 0.03 one deviation
    assert (log["gnss/1/position_fault.value"][-1] != log["gnss/2/position_fault.value"][-1]).all()


@pytest.mark.parametrize(
    ("stamp", "period"),
    [
        ("imu/1/accel_fault.stamp", 0.004), ("mag/1/fault.stamp", 0.02), ("baro/1/altitude.stamp", 0.02),
        ("gnss/1/position_fault.stamp", 0.2), ("range/1/fault.stamp", 0.02), ("flow/1/fault.stamp", 0.02),
        ("airspeed/1/fault.stamp", 0.02), ("monitor/battery.stamp", 0.05), ("monitor/rotor/1.stamp", 0.02),
    ],
)  # fmt: skip
def test_stamps_change_at_the_sensors_rate(stamp: str, period: float) -> None:
    log = still()
    np.testing.assert_allclose(log[stamp], np.floor(log.time_s / period + 1e-9) * period, atol=1e-9)


def test_rotors_make_inertial_sensors_vibrate() -> None:
    quiet, shaking = still(), hang(1.0, throttle=1.0)

    calm = quiet["imu/1/accel_fault.value"][:, 0].std()
    assert shaking["imu/1/accel_fault.value"][100:, 0].std() > 5 * calm
    assert shaking["monitor/rotor/2.speed"][-1] == pytest.approx(600.0 * shaking["battery.voltage_ratio"][-1], abs=1.5)


def test_fault_at_one_tap_touches_that_sensor_alone_and_ends() -> None:
    fault = ParamEvent("imu/2/accel_fault.offset[0]", 3.0, start_s=1.0, end_s=2.0)
    log, healthy = hang(3.0, fault), hang(3.0)

    inside = (log.time_s >= 1.0) & (log.time_s < 2.0)
    difference = log["imu/2/accel_fault.difference"]
    np.testing.assert_allclose(difference[inside], 3.0, rtol=1e-14)
    assert not difference[~inside].any()
    for path in log.signals:
        if not path.startswith("imu/2/accel_fault"):
            np.testing.assert_array_equal(log[path], healthy[path])


def test_products_stand_at_their_places_in_turn_and_taps_are_behind_what_chips_measure() -> None:
    diagram, _ = vehicle(imus=4)

    def noise(n: int) -> float:
        return float(diagram.value(f"imu/{n}/chip.gyro_noise")[0])

    # ICM-20689, BMI055, ICM-20602, and from the beginning again: 0.007, 0.014, 0.004 deg/s per root of Hz
    np.testing.assert_allclose([noise(n) for n in (1, 2, 3, 4)], np.radians([0.007, 0.014, 0.004, 0.007]), rtol=1e-9)
    for n in (1, 2, 3, 4):
        assert diagram.links[f"imu/{n}/gyro_fault.value_in"] == [f"imu/{n}/chip.gyro_B"]
        assert diagram.links[f"imu/{n}/accel_fault.value_in"] == [f"imu/{n}/chip.accel_B"]
    for n in (1, 2):
        assert diagram.links[f"gnss/{n}/position_fault.value_in"] == [f"gnss/{n}/chip.position_N"]
        assert diagram.links[f"gnss/{n}/velocity_fault.value_in"] == [f"gnss/{n}/chip.velocity_N"]
        for port in ("p_NB_N", "v_NB_N", "R_NB", "w_NB_B"):  # an antenna on an arm moves when the body turns
            assert diagram.links[f"gnss/{n}/chip.{port}"] == [f"body.{port}"]
