"""The sensors that a vehicle carries: chips, each with its fault taps, at the same places in every vehicle.

Places: `imu/N/chip`, `imu/N/accel_fault`, `imu/N/gyro_fault`; `mag/N/chip`, `mag/N/fault`; `baro/N/chip`,
`baro/N/fault` (pressure), `baro/N/altitude`; `gnss/N/chip`, `gnss/N/position_fault`, `gnss/N/velocity_fault`;
`range/N/chip`, `range/N/fault`; `flow/N/chip`, `flow/N/fault`; `airspeed/N/chip`, `airspeed/N/fault` (pressure);
`log/N/chip`, `log/N/fault`; `monitor/battery`, `monitor/rotor/N`, `monitor/rotor_mean`. N counts from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Products:
    """Which product stands at each place; the list is gone through again if there are more places."""

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


@dataclass
class _Wiring:
    """The diagram and the parts that sensors are wired to."""

    diagram: Diagram
    body: Handle
    parts: Mapping[str, Handle]
    battery: Handle | None
    mean_speed: Port | None

    def join(self, chip: Handle, **sources: Port | None) -> None:
        """Connect the named inputs of a chip; what there is no source for keeps its default."""
        for name, source in sources.items():
            if source is not None:
                self.diagram.connect(source, chip[name])

    def tap(self, path: str, port: Port, stamp: Port, sample_s: float) -> Handle:
        """A fault tap behind a chip's output."""
        signal = port.signal
        block = SignalFault(signal.size, signal.unit, signal.frame, sample_s=sample_s)
        tap = self.diagram.add(path, block)
        self.diagram.connect(port, tap.value_in)
        self.diagram.connect(stamp, tap.stamp_in)
        return tap


def add_sensors(
    diagram: Diagram, body: Handle, parts: Mapping[str, Handle], *, rotors: Sequence[Handle] = (),
    battery: Handle | None = None, imus: int = 3, magnetometers: int = 2, gnss: int = 2, barometers: int = 1,
    rangefinders: int = 1, optical_flows: int = 1, airspeeds: int = 1, speed_logs: int = 0,
    products: Products | None = None,
) -> dict[str, list[Handle]]:  # fmt: skip
    """Add and wire all sensors; returns the taps (ports `value`, `stamp`) by kind, in order.

    Kinds: `accel`, `gyro`, `mag`, `baro` (pressure), `baro_altitude`, `gnss_position`, `gnss_velocity`, `range`,
    `flow`, `airspeed` (pressure), `log`; and, without taps, the blocks of `gnss` (accuracies, satellites, latitude),
    `imu`, `battery` and `rotor`. `parts` are those of `add_environment`; `rotors` are handles of motors.
    """
    chosen = products or Products()
    mean_speed = None
    if rotors:
        mean = diagram.add("monitor/rotor_mean", MeanRotorSpeed(len(rotors)))
        for motor in rotors:
            diagram.connect(motor.speed, mean.speeds)
        mean_speed = mean.speed
    wiring = _Wiring(diagram, body, parts, battery, mean_speed)
    found: dict[str, list[Handle]] = {
        kind: [] for kind in (
            "accel", "gyro", "imu", "mag", "baro", "baro_altitude", "gnss_position", "gnss_velocity", "gnss", "range",
            "flow", "airspeed", "log", "battery", "rotor",
        )
    }  # fmt: skip
    for adder, names, count in (
        (_add_imu, chosen.imu, imus),
        (_add_magnetometer, chosen.magnetometer, magnetometers),
        (_add_barometer, chosen.barometer, barometers),
        (_add_gnss, chosen.gnss, gnss),
        (_add_rangefinder, chosen.rangefinder, rangefinders),
        (_add_optical_flow, chosen.optical_flow, optical_flows),
        (_add_airspeed, chosen.airspeed, airspeeds),
        (_add_speed_log, chosen.speed_log, speed_logs),
    ):
        for number in range(count):
            adder(wiring, found, number + 1, names[number % len(names)], chosen)
    if battery is not None:
        monitor = diagram.add(
            "monitor/battery", BatteryMonitor(sample_s=BATTERY_SAMPLE_S), voltage_noise=0.02, current_noise=0.2,
            voltage_resolution=0.01, current_resolution=0.1,
        )  # fmt: skip
        wiring.join(monitor, voltage_battery=battery.voltage, current_battery=battery.current)
        found["battery"].append(monitor)
    for number, motor in enumerate(rotors, start=1):
        # Telemetry counts in steps of 100 electrical turns a minute; 7 pole pairs.
        sensor = diagram.add(f"monitor/rotor/{number}", RotorSpeed(sample_s=ROTOR_SAMPLE_S), resolution=1.5)
        wiring.join(sensor, speed_rotor=motor.speed)
        found["rotor"].append(sensor)
    return found


def _add_imu(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products) -> None:
    params = catalogue.imu_params(name) | dict(chosen.vibration)
    chip = wiring.diagram.add(f"imu/{number}/chip", Imu(sample_s=IMU_SAMPLE_S), **params)
    wiring.join(
        chip, specific_force_B=wiring.body.specific_force_B, w_NB_B=wiring.body.w_NB_B,
        angular_acceleration_B=wiring.body.angular_acceleration_B, rotor_speed=wiring.mean_speed,
        air_temperature=wiring.parts["atmosphere"].temperature,
    )  # fmt: skip
    found["imu"].append(chip)
    found["accel"].append(wiring.tap(f"imu/{number}/accel_fault", chip.accel_B, chip.stamp, IMU_SAMPLE_S))
    found["gyro"].append(wiring.tap(f"imu/{number}/gyro_fault", chip.gyro_B, chip.stamp, IMU_SAMPLE_S))


def _add_magnetometer(
    wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products
) -> None:
    chip = wiring.diagram.add(
        f"mag/{number}/chip", Magnetometer(sample_s=MAG_SAMPLE_S), **catalogue.magnetometer_params(name)
    )
    current = wiring.battery.current if wiring.battery is not None else None
    wiring.join(chip, field_N=wiring.parts["magnetic"].field_N, R_NB=wiring.body.R_NB, current=current)
    found["mag"].append(wiring.tap(f"mag/{number}/fault", chip.field_B, chip.stamp, MAG_SAMPLE_S))


def _add_barometer(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products) -> None:
    if name in catalogue.DEPTH_GAUGES:
        _add_depth_gauge(wiring, found, number, name)
        return
    chip = wiring.diagram.add(
        f"baro/{number}/chip", Barometer(sample_s=BARO_SAMPLE_S), **catalogue.barometer_params(name)
    )
    air = wiring.parts["atmosphere"]
    wiring.join(
        chip, pressure_air=air.pressure, density=air.density, height=wiring.body.height,
        v_air_B=wiring.parts["air"].v_air_B,
    )  # fmt: skip
    tap = wiring.tap(f"baro/{number}/fault", chip.pressure, chip.stamp, BARO_SAMPLE_S)
    altitude = wiring.diagram.add(f"baro/{number}/altitude", PressureAltitude(sample_s=BARO_SAMPLE_S))
    wiring.join(altitude, pressure=tap.value, stamp_in=tap.stamp)
    found["baro"].append(tap)
    found["baro_altitude"].append(altitude)


def _add_depth_gauge(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str) -> None:
    """Under water it stands at the barometer's place, so that the same voters and faults fit."""
    chip = wiring.diagram.add(
        f"baro/{number}/chip", DepthGauge(sample_s=BARO_SAMPLE_S), **catalogue.depth_gauge_params(name)
    )
    wiring.join(chip, depth=wiring.body.depth)
    tap = wiring.tap(f"baro/{number}/fault", chip.pressure, chip.stamp, BARO_SAMPLE_S)
    height = wiring.diagram.add(f"baro/{number}/altitude", WaterHeight(sample_s=BARO_SAMPLE_S))
    wiring.join(height, pressure=tap.value, stamp_in=tap.stamp)
    found["baro"].append(tap)
    found["baro_altitude"].append(height)


def _add_gnss(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products) -> None:
    params = catalogue.gnss_params(name)
    timing = catalogue.GNSS_TIMING[name]
    block = Gnss(
        sample_s=timing["sample_s"], period_samples=int(timing["period_samples"]),
        delay_samples=int(timing["delay_samples"]),
    )  # fmt: skip
    chip = wiring.diagram.add(f"gnss/{number}/chip", block, **params)
    body = wiring.body
    wiring.join(
        chip, p_NB_N=body.p_NB_N, v_NB_N=body.v_NB_N, R_NB=body.R_NB, w_NB_B=body.w_NB_B, latitude_body=body.latitude,
        longitude_body=body.longitude, height_body=body.height,
    )  # fmt: skip
    found["gnss"].append(chip)
    for kind, port in (("position", chip.position_N), ("velocity", chip.velocity_N)):
        tap = wiring.tap(f"gnss/{number}/{kind}_fault", port, chip.stamp, block.period_s)
        found[f"gnss_{kind}"].append(tap)


def _add_rangefinder(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products) -> None:
    params = catalogue.rangefinder_params(name)
    chip = wiring.diagram.add(f"range/{number}/chip", Rangefinder(sample_s=RANGE_SAMPLE_S), **params)
    wiring.join(chip, height_above_ground=wiring.parts["terrain"].height_above_ground, R_NB=wiring.body.R_NB)
    found["range"].append(wiring.tap(f"range/{number}/fault", chip.distance, chip.stamp, RANGE_SAMPLE_S))


def _add_optical_flow(
    wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products
) -> None:
    params = catalogue.optical_flow_params(name)
    chip = wiring.diagram.add(f"flow/{number}/chip", OpticalFlow(sample_s=FLOW_SAMPLE_S), **params)
    wiring.join(
        chip, v_NB_B=wiring.body.v_NB_B, w_NB_B=wiring.body.w_NB_B, R_NB=wiring.body.R_NB,
        height_above_ground=wiring.parts["terrain"].height_above_ground,
    )  # fmt: skip
    found["flow"].append(wiring.tap(f"flow/{number}/fault", chip.flow, chip.stamp, FLOW_SAMPLE_S))


def _add_airspeed(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products) -> None:
    params = catalogue.airspeed_params(name)
    chip = wiring.diagram.add(f"airspeed/{number}/chip", Airspeed(sample_s=AIRSPEED_SAMPLE_S), **params)
    wiring.join(chip, v_air_B=wiring.parts["air"].v_air_B, density=wiring.parts["atmosphere"].density)
    found["airspeed"].append(wiring.tap(f"airspeed/{number}/fault", chip.pressure, chip.stamp, AIRSPEED_SAMPLE_S))


def _add_speed_log(wiring: _Wiring, found: dict[str, list[Handle]], number: int, name: str, chosen: Products) -> None:
    params = catalogue.speed_log_params(name)
    chip = wiring.diagram.add(f"log/{number}/chip", SpeedLog(sample_s=LOG_SAMPLE_S), **params)
    wiring.join(chip, v_water_B=wiring.body.v_water_B)
    found["log"].append(wiring.tap(f"log/{number}/fault", chip.velocity_B, chip.stamp, LOG_SAMPLE_S))
