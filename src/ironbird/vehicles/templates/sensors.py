"""Sensors of a vehicle: chips with their fault taps, at the paths of `ironbird.vehicles.places`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ironbird.blocks.sensors import products as catalogue
from ironbird.blocks.sensors.airspeed import Airspeed
from ironbird.blocks.sensors.barometer import Barometer, PressureAltitude
from ironbird.blocks.sensors.battery_monitor import BatteryMonitor
from ironbird.blocks.sensors.depth_gauge import DepthGauge, WaterHeight
from ironbird.blocks.sensors.gnss import Gnss
from ironbird.blocks.sensors.imu import Imu
from ironbird.blocks.sensors.magnetometer import Magnetometer
from ironbird.blocks.sensors.optical_flow import OpticalFlow
from ironbird.blocks.sensors.rangefinder import Rangefinder
from ironbird.blocks.sensors.rotor_speed import MeanRotorSpeed, RotorSpeed
from ironbird.blocks.sensors.signal_fault import SignalFault
from ironbird.blocks.sensors.speed_log import SpeedLog
from ironbird.model.diagram import Diagram, Handle, Port
from ironbird.model.signal import Number
from ironbird.vehicles import places as at
from ironbird.vehicles.templates.wiring import connect_ports

IMU_SAMPLE_S = 0.004
MAG_SAMPLE_S = 0.02
BARO_SAMPLE_S = 0.02
RANGE_SAMPLE_S = 0.02
FLOW_SAMPLE_S = 0.02
AIRSPEED_SAMPLE_S = 0.02
LOG_SAMPLE_S = 0.1
BATTERY_SAMPLE_S = 0.05
ROTOR_SAMPLE_S = 0.02
VIBRATION: dict[str, Number] = {  # assumed: a damped autopilot on a 450 mm frame, near hover
    "vibration_speed": 600.0,
    "accel_vibration": 0.5,
    "accel_vibration_noise": 0.3,
    "gyro_vibration": 0.01,
    "gyro_vibration_noise": 0.005,
}

BATTERY_MONITOR: dict[str, Number] = {
    "voltage_noise": 0.02,
    "current_noise": 0.2,
    "voltage_resolution": 0.01,
    "current_resolution": 0.1,
}


@dataclass(frozen=True)
class Products:
    """Product at each place; the list is repeated if there are more places."""

    imu: Sequence[str] = ("icm20689", "bmi055", "icm20602")
    magnetometer: Sequence[str] = ("ist8310", "hmc5883l")
    barometer: Sequence[str] = ("ms5611",)  # or a depth gauge
    gnss: Sequence[str] = ("ublox_m8n",)
    airspeed: Sequence[str] = ("ms4525do",)
    rangefinder: Sequence[str] = ("tfmini",)
    optical_flow: Sequence[str] = ("px4flow",)
    speed_log: Sequence[str] = ("em_log",)
    # Vibration belongs to the airframe: parameters of Imu that are the same for all chips.
    vibration: Mapping[str, Number] = field(default_factory=lambda: dict(VIBRATION))


@dataclass(frozen=True)
class Suite:
    """Number of each sensor, their products, and the estimator that reads them."""

    imus: int = 3
    magnetometers: int = 2
    gnss: int = 2
    barometers: int = 1
    estimator: str = "ekf"
    rangefinders: int = 1
    optical_flows: int = 1
    airspeeds: int = 1
    speed_logs: int = 0
    products: Products = field(default_factory=Products)
    airspeed_mps: float = 6.0  # typical in flight; 6 m/s: hover and slow flight in wind
    rotor_radps: float | None = None  # typical in flight; None: the speed at which vibration is given
    rotor_spread: float = 0.04  # assumed: standard deviation of their mean speed in wind over that in hover
    starts_in_motion: bool = False  # the estimator may begin while the vehicle flies
    finds_wind: bool = False  # the estimator gets the airspeed
    imu_position_B_m: Sequence[float] = (0.0, 0.0, 0.0)  # of all inertial units, from the centre of mass
    vibration: Mapping[str, Any] | None = None  # of this airframe, keys as in its file; None: that of the products
    imu_noise: Mapping[str, Any] | None = None  # of its inertial units, keys as in its file; None: that of the products


KINDS = (
    "accel", "gyro", "imu", "mag", "baro", "baro_altitude", "gnss_position", "gnss_velocity", "gnss", "range", "flow",
    "airspeed", "log", "battery", "rotor",
)  # fmt: skip


@dataclass
class _Wiring:
    """The diagram, the parts that sensors are connected to, and the sensors added so far."""

    diagram: Diagram
    body: Handle
    parts: Mapping[str, Handle]
    battery: Handle | None
    mean_speed: Port | None
    vibration: Mapping[str, Number]
    taps: dict[str, list[Handle]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def join(self, chip: Handle, **sources: Port | None) -> None:
        """Connect the named inputs of a chip; inputs without a source keep their defaults."""
        for name, source in sources.items():
            if source is not None:
                self.diagram.connect(source, chip[name])

    def tap(self, kind: str, tap: at.Tap, port: Port, stamp: Port, sample_s: float) -> Handle:
        """Add a fault tap after a chip's output."""
        signal = port.signal
        block = SignalFault(signal.size, signal.unit, signal.frame, sample_s=sample_s)
        added = self.diagram.add(tap.path, block)
        self.diagram.connect(port, added.value_in)
        self.diagram.connect(stamp, added.stamp_in)
        self.taps[kind].append(added)
        return added


def add_sensors(
    diagram: Diagram,
    body: Handle,
    parts: Mapping[str, Handle],
    suite: Suite,
    *,
    rotors: Sequence[Handle] = (),
    battery: Handle | None = None,
) -> dict[str, list[Handle]]:
    """Add and wire all sensors; returns the taps (ports `value`, `stamp`) by kind, in order.

    Kinds: `accel`, `gyro`, `mag`, `baro` (pressure), `baro_altitude`, `gnss_position`, `gnss_velocity`, `range`,
    `flow`, `airspeed` (pressure), `log`; and, without taps, the blocks of `gnss` (accuracies, satellites, latitude),
    `imu`, `battery` and `rotor`. `parts` are those of `add_environment`; `rotors` are handles of motors.
    """
    products = suite.products
    mean_speed = None
    if rotors:
        mean = diagram.add(at.ROTOR_MEAN.path, MeanRotorSpeed(len(rotors)))
        for motor in rotors:
            diagram.connect(motor.speed, mean.speeds)
        mean_speed = mean.speed
    wiring = _Wiring(diagram, body, parts, battery, mean_speed, shaken(suite))
    for adder, names, count in (
        (_add_imu, products.imu, suite.imus),
        (_add_magnetometer, products.magnetometer, suite.magnetometers),
        (_add_barometer, products.barometer, suite.barometers),
        (_add_gnss, products.gnss, suite.gnss),
        (_add_rangefinder, products.rangefinder, suite.rangefinders),
        (_add_optical_flow, products.optical_flow, suite.optical_flows),
        (_add_airspeed, products.airspeed, suite.airspeeds),
        (_add_speed_log, products.speed_log, suite.speed_logs),
    ):
        for number in range(count):
            adder(wiring, number + 1, names[number % len(names)])
    taps = wiring.taps
    if battery is not None:
        monitor = diagram.add(at.BATTERY_MONITOR.path, BatteryMonitor(sample_s=BATTERY_SAMPLE_S), **BATTERY_MONITOR)
        wiring.join(monitor, voltage_battery=battery.voltage, current_battery=battery.current)
        taps["battery"].append(monitor)
    for number, motor in enumerate(rotors, start=1):
        # Telemetry counts in steps of 100 electrical turns a minute; 7 pole pairs.
        sensor = diagram.add(at.rotor_speed(number).path, RotorSpeed(sample_s=ROTOR_SAMPLE_S), resolution=1.5)
        wiring.join(sensor, speed_rotor=motor.speed)
        taps["rotor"].append(sensor)
    return taps


def shaken(suite: Suite) -> dict[str, Number]:
    """Parameters of `Imu` that belong to the vehicle: vibration, position of the board, measured noise."""
    vibration, params = suite.vibration, dict(suite.products.vibration)
    if vibration is not None:
        params = {
            "vibration_speed": vibration["rotor_speed_radps"],
            "accel_vibration": vibration["accel_mps2"],
            "accel_vibration_noise": vibration["accel_noise_mps2"],
            "gyro_vibration": vibration["gyro_radps"],
            "gyro_vibration_noise": vibration["gyro_noise_radps"],
        }
    for key, value in (suite.imu_noise or {}).items():
        if value is not None:
            params[key.rpartition("_")[0]] = value  # the key without its unit
    return {**params, "position": list(suite.imu_position_B_m)}


def _add_imu(wiring: _Wiring, number: int, name: str) -> None:
    place, body = at.imu(number), wiring.body
    params = catalogue.imu_params(name) | dict(wiring.vibration)
    chip = wiring.diagram.add(place.chip.path, Imu(sample_s=IMU_SAMPLE_S), **params)
    connect_ports(wiring.diagram, body, chip, "specific_force_B", "w_NB_B", "angular_acceleration_B")
    wiring.join(chip, rotor_speed=wiring.mean_speed, air_temperature=wiring.parts["atmosphere"].temperature)
    wiring.taps["imu"].append(chip)
    wiring.tap("accel", place.accel, chip.accel_B, chip.stamp, IMU_SAMPLE_S)
    wiring.tap("gyro", place.gyro, chip.gyro_B, chip.stamp, IMU_SAMPLE_S)


def _add_magnetometer(wiring: _Wiring, number: int, name: str) -> None:
    place = at.magnetometer(number)
    block = Magnetometer(sample_s=MAG_SAMPLE_S)
    chip = wiring.diagram.add(place.chip.path, block, **catalogue.magnetometer_params(name))
    current = wiring.battery.current if wiring.battery is not None else None
    wiring.join(chip, field_N=wiring.parts["magnetic"].field_N, R_NB=wiring.body.R_NB, current=current)
    wiring.tap("mag", place.tap, chip.field_B, chip.stamp, MAG_SAMPLE_S)


def _add_barometer(wiring: _Wiring, number: int, name: str) -> None:
    """Add a barometer; under water a depth gauge takes its place, so that the same voters and faults apply."""
    place, add = at.barometer(number), wiring.diagram.add
    if name in catalogue.DEPTH_GAUGES:
        chip = add(place.chip.path, DepthGauge(sample_s=BARO_SAMPLE_S), **catalogue.depth_gauge_params(name))
        wiring.join(chip, depth=wiring.body.depth)
    else:
        chip = add(place.chip.path, Barometer(sample_s=BARO_SAMPLE_S), **catalogue.barometer_params(name))
        air, flow = wiring.parts["atmosphere"], wiring.parts["air"]
        wiring.join(chip, pressure_air=air.pressure, density=air.density, height=wiring.body.height)
        wiring.join(chip, v_air_B=flow.v_air_B)
    tap = wiring.tap("baro", place.tap, chip.pressure, chip.stamp, BARO_SAMPLE_S)
    to_height = WaterHeight if name in catalogue.DEPTH_GAUGES else PressureAltitude
    altitude = add(place.altitude.path, to_height(sample_s=BARO_SAMPLE_S))
    wiring.join(altitude, pressure=tap.value, stamp_in=tap.stamp)
    wiring.taps["baro_altitude"].append(altitude)


def _add_gnss(wiring: _Wiring, number: int, name: str) -> None:
    place, body, timing = at.gnss(number), wiring.body, catalogue.GNSS_TIMING[name]
    samples = {key: int(timing[key]) for key in ("period_samples", "delay_samples")}
    block = Gnss(sample_s=timing["sample_s"], **samples)
    chip = wiring.diagram.add(place.chip.path, block, **catalogue.gnss_params(name))
    connect_ports(wiring.diagram, body, chip, "p_NB_N", "v_NB_N", "R_NB", "w_NB_B")
    wiring.join(chip, latitude_body=body.latitude, longitude_body=body.longitude, height_body=body.height)
    wiring.taps["gnss"].append(chip)
    wiring.tap("gnss_position", place.position, chip.position_N, chip.stamp, block.period_s)
    wiring.tap("gnss_velocity", place.velocity, chip.velocity_N, chip.stamp, block.period_s)


def _add_rangefinder(wiring: _Wiring, number: int, name: str) -> None:
    place = at.rangefinder(number)
    block = Rangefinder(sample_s=RANGE_SAMPLE_S)
    chip = wiring.diagram.add(place.chip.path, block, **catalogue.rangefinder_params(name))
    wiring.join(chip, height_above_ground=wiring.parts["terrain"].height_above_ground, R_NB=wiring.body.R_NB)
    wiring.tap("range", place.tap, chip.distance, chip.stamp, RANGE_SAMPLE_S)


def _add_optical_flow(wiring: _Wiring, number: int, name: str) -> None:
    place = at.optical_flow(number)
    block = OpticalFlow(sample_s=FLOW_SAMPLE_S)
    chip = wiring.diagram.add(place.chip.path, block, **catalogue.optical_flow_params(name))
    connect_ports(wiring.diagram, wiring.body, chip, "v_NB_B", "w_NB_B", "R_NB")
    wiring.join(chip, height_above_ground=wiring.parts["terrain"].height_above_ground)
    wiring.tap("flow", place.tap, chip.flow, chip.stamp, FLOW_SAMPLE_S)


def _add_airspeed(wiring: _Wiring, number: int, name: str) -> None:
    place = at.airspeed(number)
    block = Airspeed(sample_s=AIRSPEED_SAMPLE_S)
    chip = wiring.diagram.add(place.chip.path, block, **catalogue.airspeed_params(name))
    wiring.join(chip, v_air_B=wiring.parts["air"].v_air_B, density=wiring.parts["atmosphere"].density)
    wiring.tap("airspeed", place.tap, chip.pressure, chip.stamp, AIRSPEED_SAMPLE_S)


def _add_speed_log(wiring: _Wiring, number: int, name: str) -> None:
    place = at.speed_log(number)
    chip = wiring.diagram.add(place.chip.path, SpeedLog(sample_s=LOG_SAMPLE_S), **catalogue.speed_log_params(name))
    wiring.join(chip, v_water_B=wiring.body.v_water_B)
    wiring.tap("log", place.tap, chip.velocity_B, chip.stamp, LOG_SAMPLE_S)
