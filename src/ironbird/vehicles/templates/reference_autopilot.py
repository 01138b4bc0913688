"""The reference autopilot's senses: sensors with fault taps, voting, estimation (S_sens, part of S_ctrl)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.blocks.estimators.battery_gauge import BatteryGauge
from ironbird.blocks.estimators.complementary import ComplementaryFilter
from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.blocks.estimators.imu_voter import ImuVoter
from ironbird.blocks.estimators.selector import BAROMETER, GNSS, MAGNETOMETER, Selector, numbered
from ironbird.blocks.estimators.start_height import StartHeight
from ironbird.model.diagram import Diagram, Handle
from ironbird.model.signal import Number
from ironbird.vehicles.spec import Home
from ironbird.vehicles.templates.sensors import BATTERY_SAMPLE_S, Products, add_sensors

SAMPLE_S = 0.004
ESTIMATORS = {"ekf": ErrorStateEkf, "complementary": ComplementaryFilter}
# Deviation of one inertial sample in flight, vibration and noise of `sensors.VIBRATION` together:
# sqrt(0.5^2 / 2 + 0.3^2) and sqrt(0.01^2 / 2 + 0.005^2), rounded up; the filter's own defaults are those of a chip at
# rest. GNSS wander and barometer drift are correlated over minutes, so that many samples do not average them away:
# a sample counts as much as one of a white error of about five times its size.
NOISE: dict[str, dict[str, Number]] = {
    "ekf": {
        "accel_noise": 0.5, "gyro_noise": 0.01, "min_eph": 5.0, "min_epv": 8.0, "baro_noise": 3.0,
        "min_speed_accuracy": 0.3, "gates": [3.0, 5.0, 5.0, 5.0],
    },
    "complementary": {},
}  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """How many of each sensor, and which estimator."""

    imus: int = 3
    magnetometers: int = 2
    gnss: int = 2
    barometers: int = 1
    estimator: str = "ekf"
    rangefinders: int = 1
    optical_flows: int = 1
    airspeeds: int = 1
    speed_logs: int = 0
    products: Products | None = None
    noise: Mapping[str, Number] | None = None  # parameters of the estimator other than the usual ones


@dataclass(frozen=True)
class Senses:
    """What the controller and navigator are wired to."""

    estimator: Handle
    gauge: Handle | None
    log: Handle | None = None  # velocity through the water, behind its tap


def add_senses(
    diagram: Diagram, body: Handle, parts: Mapping[str, Handle], home: Home, suite: Suite, *,
    rotors: Sequence[Handle], battery: Handle | None, capacity: float = 0.0, cells: float = 0.0,
    start_height_m: float,
) -> Senses:  # fmt: skip
    """Sensors, voters and the estimator; the paths are `imu/N/...`, `mag/N/...`, `vote/...`, `estimator`."""
    sensors = add_sensors(
        diagram, body, parts, rotors=rotors, battery=battery, imus=suite.imus, magnetometers=suite.magnetometers,
        gnss=suite.gnss, barometers=suite.barometers, rangefinders=suite.rangefinders,
        optical_flows=suite.optical_flows, airspeeds=suite.airspeeds, speed_logs=suite.speed_logs,
        products=suite.products,
    )  # fmt: skip
    imu = diagram.add("vote/imu", ImuVoter(suite.imus, sample_s=SAMPLE_S))
    for i, (accel, gyro) in enumerate(zip(sensors["accel"], sensors["gyro"], strict=True), start=1):
        diagram.connect(accel.value, imu[f"accel_{i}_B"])
        diagram.connect(gyro.value, imu[f"gyro_{i}_B"])
        diagram.connect(gyro.stamp, imu[f"stamp_{i}"])
    mag = diagram.add("vote/mag", Selector(suite.magnetometers, MAGNETOMETER, sample_s=0.02), threshold=3e-5)
    for i, tap in enumerate(sensors["mag"]):
        diagram.connect(tap.value, mag[numbered("mag_B", i)])
        diagram.connect(tap.stamp, mag[f"stamp_{i + 1}"])
    baro = diagram.add("vote/baro", Selector(suite.barometers, BAROMETER, sample_s=0.02), threshold=30.0)
    for i, altitude in enumerate(sensors["baro_altitude"]):
        height = diagram.add(f"baro/{i + 1}/height", StartHeight(sample_s=0.02), height_0=start_height_m)
        diagram.connect(altitude.value, height.altitude)
        diagram.connect(altitude.stamp, height.stamp_in)
        diagram.connect(height.baro_height, baro[numbered("baro_height", i)])
        diagram.connect(height.stamp, baro[f"stamp_{i + 1}"])
    gnss = diagram.add(
        "vote/gnss", Selector(suite.gnss, GNSS, quality="gnss_fix", sample_s=0.02), threshold=50.0, min_quality=3.0
    )
    for i, chip in enumerate(sensors["gnss"]):
        diagram.connect(sensors["gnss_position"][i].value, gnss[numbered("gnss_position_N", i)])
        diagram.connect(sensors["gnss_velocity"][i].value, gnss[numbered("gnss_velocity_N", i)])
        diagram.connect(sensors["gnss_position"][i].stamp, gnss[f"stamp_{i + 1}"])
        for given, port in (
            ("fix_type", "gnss_fix"), ("eph", "gnss_eph"), ("epv", "gnss_epv"),
            ("speed_accuracy", "gnss_speed_accuracy"),
        ):  # fmt: skip
            diagram.connect(chip[given], gnss[numbered(port, i)])
    field = local_field(home.latitude_rad, home.longitude_rad, home.height_m, home.year)["field_home"]
    estimator = diagram.add(
        "estimator", ESTIMATORS[suite.estimator](sample_s=SAMPLE_S), field_0=field,
        position_0=[0.0, 0.0, -start_height_m], **NOISE[suite.estimator] | dict(suite.noise or {}),
    )  # fmt: skip
    for source, ports in (
        (imu, ("accel_B", "gyro_B")), (mag, ("mag_B",)), (baro, ("baro_height",)),
        (gnss, tuple(GNSS)),
    ):  # fmt: skip
        for port in ports:
            if port in estimator:
                diagram.connect(source[port], estimator[port])
    for source, port in ((imu, "imu_stamp"), (mag, "mag_stamp"), (baro, "baro_stamp"), (gnss, "gnss_stamp")):
        if port in estimator:
            diagram.connect(source.stamp, estimator[port])
    gauge = None
    if battery is not None:
        gauge = diagram.add("vote/battery", BatteryGauge(sample_s=BATTERY_SAMPLE_S), capacity=capacity, cells=cells)
        diagram.connect(sensors["battery"][0].voltage, gauge.voltage)
        diagram.connect(sensors["battery"][0].charge, gauge.charge)
    return Senses(estimator, gauge, sensors["log"][0] if sensors["log"] else None)
